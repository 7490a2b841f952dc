use std::cell::RefCell;
use std::rc::Rc;

use persist::{Component, Persist, World};

#[derive(Persist)]
#[persist(component)]
struct Follows {
    whom: Rc<RefCell<u32>>,
}

#[derive(Persist)]
struct Leads(Rc<RefCell<u32>>);

impl Component for Leads {}

#[derive(Persist)]
struct Score(Rc<RefCell<u32>>);

#[derive(Persist)]
struct Plain(u32);

fn main() {
    let mut world = World::new();
    let _ = world.insert_resource(Score(Rc::default()));
    let _ = world.spawn_with("Orc", (Plain(1),));
    let _ = world.spawn_with("Orc", Plain(1));
}
