//! The people of the town.

use persist::{Component, ComponentScope, ObjectId, Persist};

use super::places::{Bakery, Position};
use super::town::{self, Chronicle, is_night, roll, write};

/// Where somebody lives and buys.
#[derive(Persist)]
pub struct Resident {
    pub home: ObjectId,
    pub bakery: ObjectId,
}

impl Component for Resident {
    fn on_pre_update(&mut self, scope: &mut ComponentScope<'_>) {
        let person = scope.object();
        let world = &mut *scope.world;
        let hungry = world.get::<Hunger>(person).is_some_and(|hunger| hunger.0 > 40);
        if let Some(walker) = world.get_mut::<Walker>(person) {
            walker.towards = Some(if hungry { self.bakery } else { self.home });
        }
        // Once in a while there is a child, which begins to live at the end of the phase.
        if roll(world, 4000) == 0 {
            let place = world.get::<Position>(self.home).copied().unwrap_or_default();
            let child = Child { days: 0.0, home: self.home, bakery: self.bakery };
            if world.spawn_with("Eve", (place, child)).is_ok() {
                write(world, "a child is born");
            }
        }
    }
}

/// Walks to its target, one step at a time.
#[derive(Persist, Default)]
pub struct Walker {
    pub towards: Option<ObjectId>,
}

impl Component for Walker {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        let person = scope.object();
        let world = &mut *scope.world;
        let to = self.towards.and_then(|to| world.get::<Position>(to).copied());
        let (Some(to), Some(position)) = (to, world.get_mut::<Position>(person)) else { return };
        if position.step(to) {
            self.towards = None;
        }
    }
}

#[derive(Persist)]
pub struct Purse {
    pub coins: u32,
}

impl Component for Purse {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        if !is_night(scope.world) && roll(scope.world, 30) == 0 {
            let home = scope.world.get::<Resident>(scope.object());
            let Some(bakery) = home.map(|resident| resident.bakery) else { return };
            self.coins += scope.world.get_mut::<Bakery>(bakery).map_or(0, Bakery::pay);
        }
    }
}

#[derive(Persist)]
pub struct Hunger(pub u32);

impl Component for Hunger {
    fn on_post_update(&mut self, scope: &mut ComponentScope<'_>) {
        let person = scope.object();
        let world = &mut *scope.world;
        self.0 += 1;
        let Some(bakery) = world.get::<Resident>(person).map(|resident| resident.bakery) else {
            return;
        };
        let is_at_bakery = world.get::<Position>(person) == world.get::<Position>(bakery);
        if is_at_bakery && self.0 > 40 {
            let coins = world.get::<Purse>(person).map_or(0, |purse| purse.coins);
            let sold = world.get_mut::<Bakery>(bakery).and_then(|bakery| bakery.sell(coins));
            if let Some(price) = sold {
                self.0 = 0;
                if let Some(purse) = world.get_mut::<Purse>(person) {
                    purse.coins -= price;
                }
                if let Some(chronicle) = world.resource_mut::<Chronicle>() {
                    chronicle.eat();
                }
            }
        }
        if self.0 > 400 {
            let name = world.name(person).unwrap_or_default().to_owned();
            write(world, &format!("{name} has left the town, hungry"));
            world.remove(person);
        }
    }
}

/// Grows up, and is a child no more.
#[derive(Persist)]
pub struct Child {
    pub days: f64,
    pub home: ObjectId,
    pub bakery: ObjectId,
}

impl Component for Child {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        self.days += scope.step() / 48.0;
        if self.days < 6.0 {
            return;
        }
        let child = scope.object();
        let world = &mut *scope.world;
        let name = if roll(world, 2) == 0 { "Ada" } else { "Bob" };
        if town::settle(world, name, self.home, self.bakery).is_ok() {
            world.remove(child);
            write(world, "a child has grown up");
        }
    }
}
