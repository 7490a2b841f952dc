use persist::Persist;

#[derive(Persist)]
#[persist(validate = check)]
struct Hero {
    level: u32,
}

fn check(hero: &Hero) -> bool {
    hero.level > 0
}

fn main() {}
