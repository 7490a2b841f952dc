use persist::Persist;

struct Texture(u32);

#[derive(Persist)]
struct Hero {
    texture: Texture,
}

#[derive(Persist)]
enum Skin {
    Plain,
    Painted { layers: Vec<Texture> },
}

fn main() {}
