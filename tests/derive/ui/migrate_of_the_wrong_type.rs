use persist::{Persist, Record};

#[derive(Persist)]
#[persist(version = 2, migrate(1 = done))]
struct Hero;

#[derive(Persist)]
#[persist(version = 2, migrate(1 = by_value))]
struct Monster;

fn done(_: &mut Record, _: u32) -> bool {
    true
}

fn by_value(_: Record, _: u32) {}

fn main() {}
