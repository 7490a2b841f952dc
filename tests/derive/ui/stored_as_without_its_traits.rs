use persist::Persist;

#[derive(Default)]
struct Foreign;

struct NoDefault;

struct NotWith;

#[derive(Persist)]
struct Stored(u8);

mod m {
    pub type Stored = u8;

    pub fn store(_: &super::NoDefault) -> Stored {
        0
    }

    pub fn restore(_: Stored) -> Result<super::NoDefault, String> {
        Ok(super::NoDefault)
    }
}

#[derive(Persist)]
struct Hero {
    #[persist(with = NotWith)]
    a: Foreign,
    #[persist(via = "Stored")]
    b: Foreign,
    #[persist(with = m)]
    c: NoDefault,
}

#[derive(Persist)]
#[persist(via = "Stored")]
struct Level;

fn main() {}
