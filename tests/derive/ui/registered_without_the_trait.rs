use persist::Persist;
use persist::save::Registry;

#[persist::dynamic]
trait Item {
    fn price(&self) -> u32;
}

#[derive(Persist)]
struct Plain;

#[derive(Persist)]
struct Sword;

impl Item for Sword {
    fn price(&self) -> u32 {
        10
    }
}

fn main() {
    let mut registry = Registry::new();
    registry.register_as::<Sword, dyn Item>().unwrap();
    registry.register_as::<Plain, dyn Item>().unwrap();
}
