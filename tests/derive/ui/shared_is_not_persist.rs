use std::rc::Rc;

use persist::Persist;

#[derive(Persist)]
struct Hero {
    home: Rc<Place>,
}

struct Place {
    x: f32,
}

fn main() {}
