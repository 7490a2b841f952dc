//! Measures 100,000 entities with five components in Bevy: `cargo run --release --bin bevy --features bevy`.

mod rounds;

use bevy_app::App;
use bevy_asset::{AssetPath, LoadFromPath, UntypedHandle};
use bevy_ecs::entity::{EntityCloner, EntityHashMap};
use bevy_ecs::prelude::*;
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_reflect::Reflect;
use bevy_world_serialization::serde::WorldDeserializer;
use bevy_world_serialization::{DynamicWorld, DynamicWorldBuilder};
use persist::Persist;
use persist_bevy::{PersistApp, PersistWorld, Saved, entity};
use ron::de::Deserializer;
use rounds::{fastest, row};
use serde::de::DeserializeSeed;

const COUNT: u32 = 100_000;

#[derive(Component, Reflect, Persist, Clone)]
#[reflect(Component)]
#[persist(component)]
struct Position {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Component, Reflect, Persist, Clone)]
#[reflect(Component)]
#[persist(component)]
struct Velocity {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Component, Reflect, Persist, Clone)]
#[reflect(Component)]
#[persist(component)]
struct Health {
    now: u32,
    most: u32,
}

#[derive(Component, Reflect, Persist, Clone)]
#[reflect(Component)]
#[persist(component)]
struct Title(String);

#[derive(Component, Reflect, Persist, Clone)]
#[reflect(Component)]
#[persist(component)]
struct Hunts(
    #[entities]
    #[persist(with = entity)]
    Entity,
);

type Five = (Position, Velocity, Health, Title, Hunts);

/// Creates a world without entities, into which both libraries can load.
fn empty() -> World {
    let mut app = app();
    let mut world = std::mem::take(app.world_mut());
    world.init_resource::<AppTypeRegistry>();
    let registry = world.resource::<AppTypeRegistry>();
    let mut types = registry.write();
    types.register::<Position>();
    types.register::<Velocity>();
    types.register::<Health>();
    types.register::<Title>();
    types.register::<Hunts>();
    drop(types);
    world
}

fn app() -> App {
    let mut app = App::new();
    app.persist_component::<Position>()
        .persist_component::<Velocity>()
        .persist_component::<Health>()
        .persist_component::<Title>()
        .persist_component::<Hunts>();
    app
}

fn full() -> World {
    let mut world = empty();
    let mut last = Entity::PLACEHOLDER;
    for i in 0..COUNT {
        #[expect(clippy::cast_precision_loss)]
        let x = i as f32;
        let five: Five = (
            Position { x, y: 1.0, z: 2.0 },
            Velocity { x: 0.5, y: x, z: 0.0 },
            Health { now: i % 100, most: 100 },
            Title(format!("unit {i}")),
            Hunts(last),
        );
        last = world.spawn((five, Saved)).id();
    }
    world
}

fn entities(world: &mut World) -> Vec<Entity> {
    world.query_filtered::<Entity, With<Position>>().iter(world).collect()
}

/// An asset loader that is never called: no component has a handle of an asset.
struct NoHandles;

impl LoadFromPath for NoHandles {
    fn load_from_path_erased(
        &mut self,
        _: std::any::TypeId,
        _: AssetPath<'static>,
    ) -> UntypedHandle {
        unreachable!()
    }
}

fn to_ron(world: &World, entities: &[Entity]) -> String {
    let registry = world.resource::<AppTypeRegistry>().read();
    let dynamic = DynamicWorldBuilder::from_world(world, &registry)
        .deny_all_resources()
        .extract_entities(entities.iter().copied())
        .build();
    dynamic.serialize(&registry).expect("it serializes")
}

fn from_ron(save: &str, world: &mut World) {
    let registry = world.resource::<AppTypeRegistry>().clone();
    let types = registry.read();
    let mut input = Deserializer::from_str(save).expect("it is RON");
    let seed = WorldDeserializer { type_registry: &types, load_from_path: &mut NoHandles };
    let dynamic: DynamicWorld = seed.deserialize(&mut input).expect("it was saved");
    drop(types);
    dynamic.write_to_world(world, &mut EntityHashMap::default()).expect("it fits");
}

fn main() {
    let mut world = full();
    let all = entities(&mut world);
    println!("| {COUNT} entities of five components | time | bytes |");
    println!("| --- | --- | --- |");

    let theirs = to_ron(&world, &all);
    let time = fastest(|| (), |()| to_ron(&world, &all));
    row("DynamicWorld in RON, save", time, Some(theirs.len()));
    let time = fastest(empty, |mut world| {
        from_ron(&theirs, &mut world);
        world
    });
    row("DynamicWorld in RON, load", time, None);

    let ours = world.save_to_vec().expect("it saves");
    let time = fastest(full, |mut world| {
        world.save_to_vec().expect("it saves");
        world
    });
    row("persist-bevy, first save", time, Some(ours.len()));
    let time = fastest(|| (), |()| world.save_to_vec().expect("it saves"));
    row("persist-bevy, save of the same", time, None);
    let time = fastest(empty, |mut world| {
        world.load_from_slice(&ours).expect("it loads");
        world
    });
    row("persist-bevy, load", time, None);

    println!("| stall of the frame | | |");
    let time = fastest(full, |mut world| {
        let mut cloner = EntityCloner::build_opt_in(&mut world);
        cloner.allow::<Five>();
        let mut cloner = cloner.finish();
        for entity in entities(&mut world) {
            cloner.spawn_clone(&mut world, entity);
        }
        world
    });
    row("Bevy's EntityCloner, of all", time, None);
    let time = fastest(full, |mut world| {
        let mut query = world.query::<(&Position, &Velocity, &Health, &Title, &Hunts)>();
        let copies: Vec<Five> = query
            .iter(&world)
            .map(|(a, b, c, d, e)| (a.clone(), b.clone(), c.clone(), d.clone(), e.clone()))
            .collect();
        (world, copies)
    });
    row("Clone of each component into a Vec", time, None);
    let time = fastest(full, |mut world| {
        world.mirrored(|_| ()).expect("it copies");
        world
    });
    row("persist-bevy, the first save", time, None);
    let again = |world: &mut World| world.mirrored(|_| ()).expect("it copies");
    again(&mut world);
    let time = fastest(|| (), |()| again(&mut world));
    row("persist-bevy, nothing has changed", time, None);
    let mut world = full();
    again(&mut world);
    let mut best = std::time::Duration::MAX;
    for _ in 0..15 {
        for mut position in world.query::<&mut Position>().iter_mut(&mut world).step_by(10) {
            position.x += 1.0;
        }
        let start = std::time::Instant::now();
        again(&mut world);
        best = best.min(start.elapsed());
    }
    row("persist-bevy, a tenth has moved", best, None);
    let mut best = std::time::Duration::MAX;
    for _ in 0..15 {
        for (mut position, mut velocity, mut health, mut title, mut hunts) in world
            .query::<(&mut Position, &mut Velocity, &mut Health, &mut Title, &mut Hunts)>()
            .iter_mut(&mut world)
        {
            position.x += 1.0;
            velocity.x += 1.0;
            health.now += 1;
            title.set_changed();
            hunts.set_changed();
        }
        let start = std::time::Instant::now();
        again(&mut world);
        best = best.min(start.elapsed());
    }
    row("persist-bevy, all has changed", best, None);
}
