//! A string after `default` may name a function that is not there: it was meant as a text.

use persist::Persist;

#[derive(Persist)]
struct Pet {
    #[persist(default = "rex")]
    name: String,
    #[persist(default = "pets::first")]
    other: String,
    #[persist(empty = "number")]
    fits: String,
}

fn number() -> u32 {
    7
}

fn main() {}
