//! Where people live and work.

use persist::{Component, ComponentScope, ObjectId, Persist};

use super::town::{Chronicle, is_night, roll, write};

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[persist(component)]
pub struct Position {
    pub x: i32,
    pub y: i32,
}

impl Position {
    /// A step nearer to another place; true if it is reached.
    pub fn step(&mut self, to: Self) -> bool {
        self.x += (to.x - self.x).signum();
        self.y += (to.y - self.y).signum();
        *self == to
    }
}

/// Grain grows by itself; it is counted in twentieths.
#[derive(Persist, Default)]
pub struct Field {
    grain: u32,
}

impl Component for Field {
    fn on_pre_update(&mut self, scope: &mut ComponentScope<'_>) {
        self.grain += if is_night(scope.world) { 1 } else { 8 };
    }
}

impl Field {
    pub fn harvest(&mut self) -> u32 {
        let whole = self.grain / 20;
        self.grain %= 20;
        whole
    }
}

/// Makes bread of grain, and keeps the time of the town.
#[derive(Persist)]
pub struct Bakery {
    grain: u32,
    bread: u32,
    coins: u32,
}

impl Bakery {
    pub fn new() -> Self {
        Self { grain: 0, bread: 30, coins: 0 }
    }

    pub fn deliver(&mut self, grain: u32) {
        self.grain += grain;
    }

    /// Sells a loaf for what a customer has, if that is enough; returns the price.
    pub fn sell(&mut self, coins: u32) -> Option<u32> {
        let price = if self.bread > 20 { 1 } else { 2 };
        if self.bread == 0 || coins < price {
            return None;
        }
        self.bread -= 1;
        self.coins += price;
        Some(price)
    }

    /// Pays for a day's work.
    pub fn pay(&mut self) -> u32 {
        let wage = self.coins.min(2);
        self.coins -= wage;
        wage
    }
}

impl Component for Bakery {
    fn on_start(&mut self, scope: &mut ComponentScope<'_>) {
        write(scope.world, "the bakery opens");
    }

    fn on_update(&mut self, _: &mut ComponentScope<'_>) {
        if self.grain > 0 {
            self.grain -= 1;
            self.bread += 1;
        }
    }

    fn on_post_update(&mut self, scope: &mut ComponentScope<'_>) {
        if let Some(chronicle) = scope.world.resource_mut::<Chronicle>() {
            chronicle.tick();
        }
    }
}

/// Goes between fields and the bakery.
#[derive(Persist)]
pub struct Cart {
    bakery: ObjectId,
    fields: Vec<ObjectId>,
    towards: ObjectId,
    load: u32,
}

impl Cart {
    pub fn new(bakery: ObjectId, fields: &[ObjectId]) -> Self {
        Self { bakery, fields: fields.to_vec(), towards: bakery, load: 0 }
    }
}

impl Component for Cart {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        let cart = scope.object();
        let world = &mut *scope.world;
        let Some(to) = world.get::<Position>(self.towards).copied() else { return };
        if !world.get_mut::<Position>(cart).is_some_and(|position| position.step(to)) {
            return;
        }
        if self.towards == self.bakery {
            if let Some(bakery) = world.get_mut::<Bakery>(self.bakery) {
                bakery.deliver(std::mem::take(&mut self.load));
            }
            let next = roll(world, self.fields.len() as u64);
            self.towards = usize::try_from(next).map_or(self.bakery, |next| self.fields[next]);
        } else {
            self.load += world.get_mut::<Field>(self.towards).map_or(0, Field::harvest);
            self.towards = self.bakery;
        }
    }
}

/// Burns at night; it is below its house in the tree.
#[derive(Persist)]
pub struct Lantern {
    pub oil: u32,
}

impl Component for Lantern {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        if !is_night(scope.world) {
            return;
        }
        self.oil = self.oil.saturating_sub(1);
        if self.oil == 0 {
            // It reads as there until the end of the phase.
            let lantern = scope.object();
            scope.world.remove(lantern);
        }
    }

    fn on_release(&mut self, scope: &mut ComponentScope<'_>) {
        // Also when the whole town goes, where nobody is left to write for.
        if self.oil == 0 {
            write(scope.world, "a lantern has burnt down");
        }
    }
}
