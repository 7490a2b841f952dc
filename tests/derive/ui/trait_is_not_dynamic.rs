use std::cell::RefCell;
use std::rc::Rc;

use persist::Persist;
use persist::save::Registry;

trait Item {}

#[derive(Persist)]
struct Sword;

impl Item for Sword {}

#[derive(Persist)]
struct Bag {
    first: Box<dyn Item>,
    second: Rc<RefCell<dyn Item>>,
}

fn main() {
    let mut registry = Registry::new();
    registry.register_as::<Sword, dyn Item>().unwrap();
}
