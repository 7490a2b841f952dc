//! Slices in place of fields that are not stored as lists, and parts of a struct that needs a whole.

use persist::Persist;

mod joined {
    pub type Stored = String;

    pub fn store(names: &Vec<String>) -> Stored {
        names.join(",")
    }

    pub fn restore(stored: Stored) -> Result<Vec<String>, String> {
        Ok(stored.split(',').map(String::from).collect())
    }
}

#[derive(Persist)]
struct Simulation {
    #[persist(with = joined)]
    names: Vec<String>,
    #[persist(compact)]
    tiles: Vec<u16>,
}

#[derive(Persist)]
#[persist(save_as = Simulation)]
struct Slices<'a> {
    names: &'a [String],
    tiles: &'a [u16],
}

#[derive(Persist)]
#[persist(before_save = Hero::tidy)]
struct Hero {
    name: String,
}

impl Hero {
    fn tidy(&mut self) {}
}

#[derive(Persist)]
#[persist(save_as = Hero)]
struct HeroRef<'a> {
    name: &'a str,
}

fn main() {}
