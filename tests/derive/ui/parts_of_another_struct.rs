//! Parts that are not the fields of the struct as which they are saved.

use persist::Persist;

#[derive(Persist)]
struct World {
    size: u32,
}

#[derive(Persist)]
struct Simulation {
    world: World,
    tick: u64,
    name: String,
    #[persist(skip)]
    cache: Vec<u8>,
    tiles: Vec<u8>,
}

#[derive(Persist)]
#[persist(save_as = Simulation)]
struct InAnotherOrder<'a> {
    tick: u64,
    world: &'a World,
    name: &'a str,
    tiles: &'a [u8],
}

#[derive(Persist)]
#[persist(save_as = Simulation)]
struct WithoutTheLast<'a> {
    world: &'a World,
    tick: u64,
    name: &'a str,
}

#[derive(Persist)]
#[persist(save_as = Simulation)]
struct WithoutOneInside<'a> {
    world: &'a World,
    name: &'a str,
    tiles: &'a [u8],
}

#[derive(Persist)]
#[persist(save_as = Simulation)]
struct WithASkippedOne<'a> {
    world: &'a World,
    tick: u64,
    name: &'a str,
    cache: &'a [u8],
    tiles: &'a [u8],
}

fn main() {}
