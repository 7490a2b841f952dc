use persist::Persist;

#[derive(Persist)]
struct Hero {
    #[persist(convert = to_text)]
    level: u32,
    #[persist(convert = of_two)]
    health: u32,
}

fn to_text(old: u8) -> String {
    old.to_string()
}

fn of_two(old: u8, more: u8) -> u32 {
    (old + more).into()
}

fn main() {}
