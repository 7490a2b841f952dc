use persist::Persist;

#[persist::dynamic]
struct Sword {
    sharp: u32,
}

#[persist::dynamic]
trait Holds<T> {
    type Key;
}

// The mistakes are the only errors: its trait objects can be saved.
#[persist::dynamic(nam = "quest.Item", name = "", unknown)]
trait Item {}

#[derive(Persist)]
struct Bag {
    items: Vec<Box<dyn Item>>,
}

fn main() {}
