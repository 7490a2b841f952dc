use std::collections::HashMap;

use persist::Persist;

struct Foreign;

mod m {
    pub type Stored = u8;

    pub fn store(_: &super::Foreign) -> Stored {
        0
    }

    pub fn restore(_: Stored) -> Result<super::Foreign, String> {
        Ok(super::Foreign)
    }
}

#[derive(Persist)]
struct Hero {
    #[persist(with = "Vec<Option<m>>")]
    list: Option<Vec<Foreign>>,
    #[persist(with = "HashMap<_, m>")]
    map: HashMap<Foreign, Foreign>,
}

fn main() {}
