#[persist::dynamic]
trait Item {
    fn price(&self) -> u32;
}

struct Plain;

impl Item for Plain {
    fn price(&self) -> u32 {
        1
    }
}

fn main() {}
