//! What the type does not have is kept in an `Unknown`, and nowhere else.

use persist::{Persist, Unknown};

type Kept = Unknown;

#[derive(Persist)]
enum Mapper {
    Nrom,
    #[persist(other)]
    None(()),
}

#[derive(Persist)]
struct Settings {
    #[persist(unknown)]
    rest: Vec<Unknown>,
}

#[derive(Persist)]
struct Right {
    #[persist(unknown)]
    rest: Kept,
}

#[derive(Persist)]
enum AlsoRight {
    A,
    #[persist(other)]
    Other,
}

fn main() {}
