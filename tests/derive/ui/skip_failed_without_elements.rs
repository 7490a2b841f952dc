//! `skip_failed` on a field that has no elements.

use persist::Persist;

#[derive(Persist)]
struct Hero {
    #[persist(skip_failed)]
    level: u32,
    #[persist(skip_failed)]
    names: [String; 2],
    #[persist(skip_failed)]
    items: Vec<u8>,
}

fn main() {}
