//! How a town begins, and what is known of it as a whole.

use std::error::Error;

use persist::{ObjectId, Persist, Saves, World};

use super::people::{Child, Hunger, Purse, Resident, Walker};
use super::places::{Bakery, Cart, Field, Lantern, Position};

pub type Done<T = ()> = Result<T, Box<dyn Error>>;

pub const TICKS_PER_DAY: u64 = 48;

/// The events of the town, with their times. It is a resource, since no object owns it.
#[derive(Persist, Default)]
pub struct Chronicle {
    ticks: u64,
    lines: Vec<String>,
    bread_eaten: u64,
}

impl Chronicle {
    pub fn day(&self) -> u64 {
        self.ticks / TICKS_PER_DAY
    }

    pub fn tick(&mut self) {
        self.ticks += 1;
    }

    pub fn write(&mut self, what: &str) {
        self.lines.push(format!("day {}: {what}", self.day()));
    }

    pub fn eat(&mut self) {
        self.bread_eaten += 1;
    }

    pub fn last(&self, lines: usize) -> impl Iterator<Item = &str> {
        self.lines[self.lines.len().saturating_sub(lines)..].iter().map(String::as_str)
    }
}

/// The town's chance: a state that is saved, so that what is to come is the same after a load.
#[derive(Persist)]
pub struct Dice(u64);

impl Dice {
    /// A number below `sides`; the generator is Marsaglia's xorshift64.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

pub fn is_night(world: &World) -> bool {
    let ticks = world.resource::<Chronicle>().map_or(0, |chronicle| chronicle.ticks);
    ticks % TICKS_PER_DAY > TICKS_PER_DAY * 2 / 3
}

/// A number by chance, from a component's method.
pub fn roll(world: &mut World, sides: u64) -> u64 {
    world.resource_mut::<Dice>().map_or(0, |dice| dice.roll(sides))
}

/// Writes into the chronicle.
pub fn write(world: &mut World, what: &str) {
    if let Some(chronicle) = world.resource_mut::<Chronicle>() {
        chronicle.write(what);
    }
}

/// Registers all classes of a town.
pub fn saves() -> Done<Saves> {
    let saves = Saves::new();
    saves.register_component::<Position>()?;
    saves.register_component::<Field>()?;
    saves.register_component::<Bakery>()?;
    saves.register_component::<Cart>()?;
    saves.register_component::<Lantern>()?;
    saves.register_component::<Resident>()?;
    saves.register_component::<Walker>()?;
    saves.register_component::<Purse>()?;
    saves.register_component::<Hunger>()?;
    saves.register_component::<Child>()?;
    saves.register_resource::<Chronicle>()?;
    saves.register_resource::<Dice>()?;
    Ok(saves)
}

/// A town of a bakery, three fields, a cart, and twelve houses with two people each.
pub fn found() -> Done<World> {
    let mut world = World::new();
    world.insert_resource(Chronicle::default())?;
    world.insert_resource(Dice(2_463_534_242))?;

    let bakery = world.spawn_with("Bakery", (Position::default(), Bakery::new()))?;
    let mut fields = Vec::new();
    for x in [-20, 0, 20] {
        fields.push(world.spawn_with("Field", (Position { x, y: 30 }, Field::default()))?);
    }
    world.spawn_with("Cart", (Position::default(), Cart::new(bakery, &fields)))?;
    for n in 0..12 {
        let house = world.spawn_with("House", (Position { x: 4 * n - 24, y: -10 },))?;
        let lantern = world.spawn_with("Lantern", (Lantern { oil: 150 },))?;
        world.set_parent(lantern, Some(house))?;
        for name in ["Ada", "Bob"] {
            settle(&mut world, name, house, bakery)?;
        }
    }
    Ok(world)
}

/// Puts a grown person into a house.
pub fn settle(world: &mut World, name: &str, home: ObjectId, bakery: ObjectId) -> Done {
    let position = world.get::<Position>(home).copied().unwrap_or_default();
    let (resident, purse) = (Resident { home, bakery }, Purse { coins: 10 });
    world.spawn_with(name, (position, resident, Walker::default(), purse, Hunger(0)))?;
    Ok(())
}
