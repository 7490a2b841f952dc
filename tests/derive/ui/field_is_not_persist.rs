use persist::Persist;

struct Texture(u32);

#[derive(Persist)]
struct Sprite {
    texture: Texture,
    layer: u8,
}

#[derive(Persist)]
enum Skin {
    Plain,
    Painted { layers: Vec<Texture> },
}

fn main() {}
