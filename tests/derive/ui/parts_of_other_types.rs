//! Parts whose types are not those of the fields, and parts of what is no such struct.

use persist::Persist;

#[derive(Persist)]
struct World {
    size: u32,
}

#[derive(Persist)]
struct Simulation {
    world: Box<World>,
    tick: u64,
    name: String,
    tiles: [u8; 4],
}

#[derive(Persist)]
#[persist(save_as = Simulation)]
struct OfOtherTypes<'a> {
    world: &'a World,
    tick: &'a u32,
    name: &'a [u8],
    tiles: &'a [u8],
}

#[derive(Persist)]
#[persist(save_as = Simulation)]
struct WithAnotherName<'a> {
    world: &'a Box<World>,
    ticks: u64,
    name: &'a str,
    tiles: &'a [u8; 4],
}

#[derive(Persist)]
enum Mood {
    Calm,
    Angry { since: u32 },
}

#[derive(Persist)]
#[persist(save_as = Mood)]
struct OfAnEnum<'a> {
    since: &'a u32,
}

struct Bare {
    since: u32,
}

#[derive(Persist)]
#[persist(save_as = Bare)]
struct OfNoClass<'a> {
    since: &'a u32,
}

fn main() {}
