//! The contenders of this library.

use persist::{Saves, World};

use super::{Health, Position, Velocity, components};

pub(crate) fn spawn(objects: u32) -> World {
    let mut world = World::new();
    for n in 0..objects {
        let (position, velocity, health) = components(n);
        let orc = world.spawn("Orc");
        world.attach(orc, position).expect("it is there");
        world.attach(orc, velocity).expect("it is there");
        world.attach(orc, health).expect("it is there");
    }
    world
}

pub(crate) fn spawn_with(name: &str, objects: u32) -> World {
    let mut world = World::new();
    for n in 0..objects {
        world.spawn_with(name, components(n)).expect("three types");
    }
    world
}

pub(crate) fn step(world: &mut World) {
    let query = world.query_mut::<(&mut Position, &Velocity)>().expect("two types");
    for (position, velocity) in query {
        position.x += velocity.x * 0.1;
        position.y += velocity.y * 0.1;
        position.z += velocity.z * 0.1;
    }
}

pub(crate) fn step_each(world: &mut World) {
    let query = world.query_mut::<(&mut Position, &Velocity)>().expect("two types");
    query.for_each(|(position, velocity)| {
        position.x += velocity.x * 0.1;
        position.y += velocity.y * 0.1;
        position.z += velocity.z * 0.1;
    });
}

pub(crate) fn sum(world: &World) -> f32 {
    let mut sum = 0.0;
    for (position, _, health) in world.query::<(&Position, &Velocity, &Health)>() {
        sum += position.x + health.now as f32;
    }
    sum
}

pub(crate) fn sum_each(world: &World) -> f32 {
    let mut sum = 0.0;
    world.query::<(&Position, &Velocity, &Health)>().for_each(|(position, _, health)| {
        sum += position.x + health.now as f32;
    });
    sum
}

/// With the components registered, to be kept between saves.
pub(crate) fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Position>().expect("a component");
    saves.register_component::<Velocity>().expect("a component");
    saves.register_component::<Health>().expect("a component");
    saves
}
