use persist::Persist;

struct Texture(u32);

#[derive(Persist)]
struct Sprite {
    texture: Texture,
    layer: u8,
}

fn main() {}
