use persist::Persist;

#[derive(Persist)]
#[persist(pod)]
struct Vertex {
    position: [f32; 3],
}

fn main() {}
