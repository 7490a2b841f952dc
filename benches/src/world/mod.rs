//! Compares worlds of a thousand to a million objects with hecs, which has entities and components, but no names, order
//! or life cycle; and the save of the largest with one of hecs's own, through serde. Snapshots are compared with bincode.

mod hecs_save;
pub(crate) mod ours;
mod snapshots;

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use bincode::{Decode, Encode};
use persist::{Persist, World};
use serde::{Deserialize, Serialize};

use crate::harness::Contender;
use crate::report::Role;
use crate::run::Run;

/// Objects of the world.
const OBJECTS: u32 = 1_000_000;

#[derive(Persist, Serialize, Deserialize, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[persist(component)]
pub(crate) struct Position {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) z: f32,
}

#[derive(Persist, Serialize, Deserialize, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[persist(component)]
pub(crate) struct Velocity {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) z: f32,
}

#[derive(Persist, Serialize, Deserialize, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[persist(component)]
pub(crate) struct Health {
    pub(crate) now: u32,
    pub(crate) most: u32,
}

/// The name of an object as a component, for hecs, which has no names.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub(crate) struct Name(pub(crate) String);

/// glibc defers the work of small frees until the next large request. This makes the contender that freed the memory
/// pay for it.
fn settle_frees() {
    drop(black_box(Vec::<u8>::with_capacity(1 << 20)));
}

pub(crate) fn components(n: u32) -> (Position, Velocity, Health) {
    let at = n as f32;
    (
        Position { x: at, y: at * 0.5, z: -at },
        Velocity { x: 1.0, y: 0.25, z: at * 0.125 },
        Health { now: n % 100, most: 100 },
    )
}

fn spawn_hecs(objects: u32) -> hecs::World {
    let mut world = hecs::World::new();
    for n in 0..objects {
        world.spawn(components(n));
    }
    world
}

/// With a table of unique names, as a program has it that finds entities by their names.
fn spawn_hecs_found(objects: u32) -> (hecs::World, HashMap<Arc<str>, hecs::Entity>) {
    let (mut world, mut by_name) = (hecs::World::new(), HashMap::new());
    for n in 0..objects {
        let (position, velocity, health) = components(n);
        let name: Arc<str> = format!("Orc{n}").into();
        let entity = world.spawn((Arc::clone(&name), position, velocity, health));
        by_name.insert(name, entity);
    }
    (world, by_name)
}

fn spawn_hecs_named(objects: u32) -> hecs::World {
    let mut world = hecs::World::new();
    for n in 0..objects {
        let (position, velocity, health) = components(n);
        world.spawn((Name(format!("Orc{n}")), position, velocity, health));
    }
    world
}

/// The world that is measured, as the tables name it.
const SET: &str = "1000000";

/// Worlds that are spawned, to see that an object costs the same in all of them.
const SPAWNED: [(u32, &str); 3] = [(1_000, "1000"), (30_000, "30000"), (OBJECTS, SET)];

/// Worlds that are queried: one that lies in the caches, and one that waits for the memory.
const QUERIED: [(u32, &str); 2] = [
    (30_000, "query of two components of 30,000 objects, one changed, ms"),
    (OBJECTS, "query of two components, one changed, ms"),
];

/// Measures spawning, queries, and a save and a load.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    let table = |run: &mut Run, title, contenders: Vec<Contender<'_>>| {
        let rounds = run.rounds(11);
        run.measure(title, SET, 1000.0, contenders, rounds);
    };
    for (objects, set) in SPAWNED {
        let spawned = [
            Contender::new("hecs", Role::Rival, move || drop(black_box(spawn_hecs(objects)))),
            Contender::new("hecs, with a name each", Role::Rival, move || {
                drop(black_box(spawn_hecs_named(objects)));
                settle_frees();
            }),
            Contender::new("hecs, with a table of names", Role::Rival, move || {
                drop(black_box(spawn_hecs_found(objects)));
                settle_frees();
            }),
            Contender::new("persist, `spawn_with`, no names", Role::Ours, move || {
                drop(black_box(ours::spawn_with("", objects)));
            }),
            Contender::new("persist, `spawn_with`", Role::Ours, move || {
                drop(black_box(ours::spawn_with("Orc", objects)));
            }),
            Contender::new("persist, `spawn` and `attach`", Role::Ours, move || {
                drop(black_box(ours::spawn(objects)));
            }),
        ];
        let rounds = run.rounds(11);
        run.measure("spawn and drop, ms", set, 1000.0, spawned.into(), rounds);
    }

    for (objects, title) in QUERIED {
        let (mut theirs, mut ours) = (spawn_hecs(objects), ours::spawn(objects));
        let queried = [
            Contender::new("hecs", Role::Rival, move || {
                for (position, velocity) in theirs.query_mut::<(&mut Position, &Velocity)>() {
                    position.x += velocity.x * 0.1;
                    position.y += velocity.y * 0.1;
                    position.z += velocity.z * 0.1;
                }
            }),
            Contender::new("persist", Role::Ours, move || ours::step(&mut ours)),
            Contender::new("persist, for_each", Role::Ours, {
                let mut world = ours::spawn(objects);
                move || ours::step_each(&mut world)
            }),
        ];
        table(run, title, queried.into());
    }

    let (theirs, ours) = (spawn_hecs(OBJECTS), ours::spawn(OBJECTS));
    let read = [
        Contender::new("hecs", Role::Rival, || {
            let mut sum = 0.0;
            for (position, _, health) in &mut theirs.query::<(&Position, &Velocity, &Health)>() {
                sum += position.x + health.now as f32;
            }
            black_box(sum);
        }),
        Contender::new("persist", Role::Ours, || {
            black_box(ours::sum(&ours));
        }),
        Contender::new("persist, for_each", Role::Ours, || {
            black_box(ours::sum_each(&ours));
        }),
    ];
    table(run, "query of three components, ms", read.into());

    let (theirs, saves) = (spawn_hecs_named(OBJECTS), ours::saves());
    let save = hecs_save::save(&theirs);
    let file = saves.to_vec(&ours).expect("it can be saved");
    assert_eq!(hecs_save::save(&hecs_save::load(&save)), save, "hecs lost something");
    let loaded = saves.from_slice::<World>(&file).expect("it was saved");
    assert_eq!(saves.to_vec(&*loaded).expect("it can be saved"), file, "persist lost something");
    drop(loaded);
    run.kilobytes("size, kB", "hecs, postcard", SET, Role::Rival, save.len());
    run.kilobytes("size, kB", "persist", SET, Role::Ours, file.len());
    let saved = [
        Contender::new("hecs, postcard", Role::Rival, || drop(black_box(hecs_save::save(&theirs)))),
        Contender::new("persist", Role::Ours, || {
            drop(black_box(saves.to_vec(&ours).expect("it can be saved")));
        }),
    ];
    table(run, "save into memory, ms", saved.into());
    let loaded = [
        Contender::new("hecs, postcard", Role::Rival, || drop(black_box(hecs_save::load(&save)))),
        Contender::new("persist", Role::Ours, || {
            drop(black_box(saves.from_slice::<World>(&file).expect("it was saved")));
        }),
    ];
    table(run, "load and drop, ms", loaded.into());
    snapshots::run(run);
    Ok(())
}
