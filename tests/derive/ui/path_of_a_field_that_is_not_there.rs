use persist::{Persist, field};

#[derive(Persist)]
struct Transform {
    position: Place,
    path: Vec<Place>,
}

#[derive(Persist)]
struct Place {
    x: f32,
}

fn main() {
    field!(Transform.rotation);
    field!(Transform.position.z);
    field!(Transform.path[3].z);
    field!(Transform.place.x);
}
