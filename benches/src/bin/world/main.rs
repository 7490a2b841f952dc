//! Compares a world of a million objects with hecs, which has entities and components, but no names, order
//! or life cycle; and its save with one of hecs's own, through serde.
#![forbid(unsafe_code)]

#[path = "../../harness.rs"]
mod harness;

mod hecs_save;
mod ours;

use std::hint::black_box;

use harness::{Contender, measure};
use persist::{Component, Persist};
use serde::{Deserialize, Serialize};

/// Objects of the world.
const OBJECTS: u32 = 1_000_000;

#[derive(Persist, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) z: f32,
}

#[derive(Persist, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Velocity {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) z: f32,
}

#[derive(Persist, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Health {
    pub(crate) now: u32,
    pub(crate) most: u32,
}

/// What objects are called where the library has no names.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub(crate) struct Name(pub(crate) String);

impl Component for Position {}
impl Component for Velocity {}
impl Component for Health {}

pub(crate) fn components(n: u32) -> (Position, Velocity, Health) {
    let at = n as f32;
    (
        Position { x: at, y: at * 0.5, z: -at },
        Velocity { x: 1.0, y: 0.25, z: at * 0.125 },
        Health { now: n % 100, most: 100 },
    )
}

fn spawn_hecs() -> hecs::World {
    let mut world = hecs::World::new();
    for n in 0..OBJECTS {
        world.spawn(components(n));
    }
    world
}

fn spawn_hecs_named() -> hecs::World {
    let mut world = hecs::World::new();
    for n in 0..OBJECTS {
        let (position, velocity, health) = components(n);
        world.spawn((Name(format!("Orc{n}")), position, velocity, health));
    }
    world
}

fn main() {
    let (mut rounds, mut csv) = (11, false);
    for argument in std::env::args().skip(1) {
        match argument.parse() {
            Ok(given) => rounds = given,
            Err(_) if argument == "--csv" => csv = true,
            Err(_) => panic!("{argument} is neither --csv nor a number of rounds"),
        }
    }
    let table = |title, contenders, rounds| table(title, contenders, rounds, csv);
    harness::steady_heap();
    let spawned = [
        Contender::new("hecs", || drop(black_box(spawn_hecs()))),
        Contender::new("hecs, with a name each", || drop(black_box(spawn_hecs_named()))),
        Contender::new("persist", || drop(black_box(ours::spawn(OBJECTS)))),
    ];
    table("spawn and drop", spawned.into(), rounds);

    let (mut theirs, mut ours) = (spawn_hecs(), ours::spawn(OBJECTS));
    let queried = [
        Contender::new("hecs", move || {
            for (position, velocity) in theirs.query_mut::<(&mut Position, &Velocity)>() {
                position.x += velocity.x * 0.1;
                position.y += velocity.y * 0.1;
                position.z += velocity.z * 0.1;
            }
        }),
        Contender::new("persist, for", move || ours::step(&mut ours)),
        Contender::new("persist, for_each", {
            let mut world = ours::spawn(OBJECTS);
            move || ours::step_each(&mut world)
        }),
    ];
    table("query, one of two components changed", queried.into(), rounds);

    let (theirs, ours) = (spawn_hecs(), ours::spawn(OBJECTS));
    let read = [
        Contender::new("hecs", || {
            let mut sum = 0.0;
            for (position, _, health) in &mut theirs.query::<(&Position, &Velocity, &Health)>() {
                sum += position.x + health.now as f32;
            }
            black_box(sum);
        }),
        Contender::new("persist, for", || {
            black_box(ours::sum(&ours));
        }),
        Contender::new("persist, for_each", || {
            black_box(ours::sum_each(&ours));
        }),
    ];
    table("query of three components", read.into(), rounds);

    let theirs = spawn_hecs_named();
    let mut saver = ours::Saver::new(&ours);
    let (save, file) = (hecs_save::save(&theirs), saver.save(&ours));
    if csv {
        println!("\"world, size, bytes\",\"hecs columns, postcard\",{OBJECTS},{},", save.len());
        println!("\"world, size, bytes\",\"persist\",{OBJECTS},{},", file.len());
    } else {
        println!("bytes of the save: hecs and postcard {}, persist {}\n", save.len(), file.len());
    }
    assert_eq!(hecs_save::load(&save).len(), OBJECTS);
    let saved = [
        Contender::new("hecs columns, postcard", || drop(black_box(hecs_save::save(&theirs)))),
        Contender::new("persist", || drop(black_box(saver.save(&ours)))),
    ];
    table("save into memory", saved.into(), rounds);
    let mut saver = ours::Saver::new(&ours);
    let loaded = [
        Contender::new("hecs columns, postcard", || drop(black_box(hecs_save::load(&save)))),
        Contender::new("persist", || drop(black_box(saver.load(&file)))),
    ];
    table("load and drop", loaded.into(), rounds);
}

fn table(title: &str, contenders: Vec<Contender<'_>>, rounds: u32, csv: bool) {
    if !csv {
        println!("| {title}, ms | | ratio |\n|---|---|---|");
    }
    let mut first = None;
    for (name, micros) in measure(contenders, rounds) {
        let (millis, ratio) = (micros / 1000.0, micros / *first.get_or_insert(micros));
        if csv {
            println!("\"world, {title}, ms\",\"{name}\",{OBJECTS},{millis:.3},{ratio:.4}");
        } else {
            println!("| {name} | {millis:.2} | {ratio:.2} |");
        }
    }
    if !csv {
        println!();
    }
}
