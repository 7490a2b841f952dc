//! Measures bevy_save with 100,000 entities with five components, in Bevy 0.16: `cargo run --release`.

#[path = "../../src/rounds.rs"]
mod rounds;

use bevy::ecs::reflect::AppTypeRegistry;
use bevy::prelude::*;
use bevy_save::prelude::*;
use bevy_save::reflect::SnapshotDeserializer;
use rounds::{fastest, row};

const COUNT: u32 = 100_000;

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Position {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Velocity {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Health {
    now: u32,
    most: u32,
}

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Title(String);

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Hunts(#[entities] Entity);

fn empty() -> World {
    let mut app = App::new();
    app.add_plugins(SavePlugins)
        .register_type::<Position>()
        .register_type::<Velocity>()
        .register_type::<Health>()
        .register_type::<Title>()
        .register_type::<Hunts>();
    std::mem::take(app.world_mut())
}

fn full() -> World {
    let mut world = empty();
    let mut last = Entity::PLACEHOLDER;
    for i in 0..COUNT {
        #[expect(clippy::cast_precision_loss)]
        let x = i as f32;
        let five = (
            Position { x, y: 1.0, z: 2.0 },
            Velocity { x: 0.5, y: x, z: 0.0 },
            Health { now: i % 100, most: 100 },
            Title(format!("unit {i}")),
            Hunts(last),
        );
        last = world.spawn(five).id();
    }
    world
}

fn snapshot(world: &World) -> Snapshot {
    Snapshot::builder(world)
        .extract_entities_matching(|entity| entity.contains::<Position>())
        .build()
}

fn save<F: Format>(world: &World) -> Vec<u8> {
    let registry = world.resource::<AppTypeRegistry>().read();
    let mut save = Vec::new();
    F::serialize(&mut save, &snapshot(world).serializer(&registry)).expect("it serializes");
    save
}

fn load<F: Format>(save: &[u8], world: &mut World) {
    let registry = world.resource::<AppTypeRegistry>().clone();
    let types = registry.read();
    let seed = SnapshotDeserializer::new(&types);
    let snapshot: Snapshot = F::deserialize(save, seed).expect("it was saved");
    drop(types);
    snapshot.applier(world).apply().expect("it fits");
}

fn both<F: Format>(name: &str, world: &World) {
    let bytes = save::<F>(world);
    let time = fastest(|| (), |()| save::<F>(world));
    row(&format!("bevy_save in {name}, save"), time, Some(bytes.len()));
    let time = fastest(empty, |mut world| {
        load::<F>(&bytes, &mut world);
        world
    });
    row(&format!("bevy_save in {name}, load"), time, None);
}

fn main() {
    let world = full();
    println!("| {COUNT} entities of five components | time | bytes |");
    println!("| --- | --- | --- |");
    both::<bevy_save::format::RMPFormat>("MessagePack", &world);
    both::<bevy_save::format::JSONFormat>("JSON", &world);
    let time = fastest(|| (), |()| snapshot(&world));
    row("bevy_save, stall: the snapshot", time, None);
}
