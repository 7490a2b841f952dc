use persist::Persist;

#[derive(Persist)]
struct Item {
    number: u32,
}

#[derive(Persist)]
struct Bag {
    #[persist(compact)]
    items: Vec<Item>,
    #[persist(compact)]
    name: String,
}

#[derive(Persist)]
#[persist(compact)]
struct Place {
    x: f32,
    y: f32,
}

fn main() {}
