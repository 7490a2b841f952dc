#[persist::dynamic]
trait Item {
    fn price<T>(&self, of: T) -> u32;
}

fn main() {}
