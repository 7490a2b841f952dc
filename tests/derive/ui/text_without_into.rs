//! A string after `default` is the path of a function, as in serde.

use persist::Persist;

#[derive(Persist)]
struct Hero {
    #[persist(default = "Ada")]
    name: String,
    #[persist(default = "Ada King")]
    full: String,
}

fn main() {}
