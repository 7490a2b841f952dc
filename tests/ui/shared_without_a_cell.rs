use std::rc::Rc;

use persist::Persist;

#[derive(Persist)]
struct Hero {
    home: Rc<Place>,
}

#[derive(Persist)]
struct Place {
    x: f32,
}

fn main() {}
