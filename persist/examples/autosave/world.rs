//! A world of regions, each an object, so that a save has many blocks.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{Loaded, Persist, Result, SaveManager};

const ANIMALS: usize = 200;

/// All regions of the game.
#[derive(Debug, PartialEq)]
pub struct World {
    regions: Vec<Rc<RefCell<Region>>>,
}

/// A part of the world.
#[derive(Persist, Debug, PartialEq)]
struct Region {
    ticks: u64,
    animals: Vec<Animal>,
}

#[derive(Persist, Debug, PartialEq)]
struct Animal {
    name: String,
    place: (i32, i32),
    speed: (i32, i32),
    hunger: u16,
    tracks: Vec<(i32, i32)>,
}

impl World {
    /// Creates a world of `regions` regions.
    pub fn new(regions: usize) -> Self {
        let region = |seed: usize| Rc::new(RefCell::new(Region::new(seed)));
        Self { regions: (0..regions).map(region).collect() }
    }

    pub fn register(manager: &SaveManager) -> Result<()> {
        manager.register::<Region>()
    }

    pub fn add_to(&self, manager: &mut SaveManager) -> Result<()> {
        self.regions.iter().try_for_each(|region| manager.add(region).map(drop_id))
    }

    /// The world of a save.
    pub fn of(loaded: &Loaded<SaveManager>) -> std::result::Result<Self, &'static str> {
        let regions: Vec<_> = loaded.iter::<Region>().collect();
        if regions.is_empty() { Err("the save has no regions") } else { Ok(Self { regions }) }
    }

    /// How long it has been played.
    pub fn ticks(&self) -> u64 {
        self.regions.first().map_or(0, |region| region.borrow().ticks)
    }

    /// Lets time go on.
    pub fn tick(&mut self) {
        self.regions.iter().for_each(|region| region.borrow_mut().tick());
    }
}

fn drop_id(_: persist::ObjectId) {}

impl Region {
    fn new(seed: usize) -> Self {
        let animal = |i: usize| {
            let number = i32::try_from((seed * ANIMALS + i) % 10_007).unwrap_or(0);
            Animal {
                name: format!("animal {number}"),
                place: (number * 13 % 997, number * 7 % 991),
                speed: (number % 7 - 3, number % 5 - 2),
                hunger: 0,
                tracks: Vec::new(),
            }
        };
        Self { ticks: 0, animals: (0..ANIMALS).map(animal).collect() }
    }

    fn tick(&mut self) {
        self.ticks += 1;
        for animal in &mut self.animals {
            let Animal { place, speed, hunger, tracks, .. } = animal;
            *place = (place.0 + speed.0, place.1 + speed.1);
            for (at, speed) in [(place.0, &mut speed.0), (place.1, &mut speed.1)] {
                if !(0..1_000).contains(&at) {
                    *speed = -*speed;
                }
            }
            *hunger = hunger.wrapping_add(1);
            if self.ticks.is_multiple_of(16) {
                tracks.push(*place);
            }
        }
    }
}
