use persist::Persist;

#[derive(Default)]
struct Foreign;

mod by_number {
    pub type Stored = u8;

    pub fn store(_: &super::Foreign) -> u16 {
        0
    }

    pub fn restore(_: Stored) -> Option<super::Foreign> {
        None
    }
}

mod by_itself {
    pub type Stored = super::Foreign;

    pub fn store(_: &super::Foreign) -> Stored {
        super::Foreign
    }

    pub fn restore(stored: Stored) -> Result<super::Foreign, String> {
        Ok(stored)
    }
}

mod nothing {}

#[derive(Persist)]
struct Hero {
    #[persist(with = by_number)]
    a: Foreign,
    #[persist(with = by_itself)]
    b: Foreign,
    #[persist(with = nothing)]
    c: Foreign,
}

fn main() {}
