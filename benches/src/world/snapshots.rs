//! Snapshots of a world of 10,000 objects, beside bincode's encoding of their components as a list.

use std::hint::black_box;

use bincode::config::standard;
use bincode::{Decode, Encode};
use persist::world::Snapshot;
use persist::{ObjectId, World};

use super::{Health, Position, Velocity, components, ours};
use crate::harness::Contender;
use crate::report::Role;
use crate::run::Run;

const OBJECTS: u32 = 10_000;

/// The neighbours that change, 1 % of all.
const FEW: std::ops::Range<usize> = 5_000..5_100;

/// An entity as a program without a world has it.
#[derive(Encode, Decode)]
struct Entity {
    id: u64,
    position: Position,
    velocity: Velocity,
    health: Health,
}

struct Game {
    world: World,
    ids: Vec<ObjectId>,
    last: Snapshot,
}

impl Game {
    fn new() -> Self {
        let world = ours::spawn_with("Orc", OBJECTS);
        let (ids, last) = (world.objects().collect(), world.snapshot().expect("plain data"));
        Self { world, ids, last }
    }

    fn change_all(&mut self) {
        let query = self.world.query_mut::<(&mut Position, &mut Velocity, &mut Health)>();
        query.expect("three types").for_each(|(position, velocity, health)| {
            position.x += 1.0;
            velocity.x += 1.0;
            health.now += 1;
        });
    }

    fn change_few(&mut self) {
        for id in &self.ids[FEW] {
            self.world.get_mut::<Position>(*id).expect("it is there").x += 1.0;
            self.world.get_mut::<Velocity>(*id).expect("it is there").x += 1.0;
            self.world.get_mut::<Health>(*id).expect("it is there").now += 1;
        }
    }

    fn take(&mut self) {
        self.last = self.world.snapshot().expect("plain data");
    }

    fn restore(&mut self) {
        self.world.restore(&self.last).expect("it was taken of this world");
    }
}

pub(super) fn run(run: &mut Run) {
    let entity = |n| {
        let (position, velocity, health) = components(n);
        Entity { id: n.into(), position, velocity, health }
    };
    let entities: Vec<Entity> = (0..OBJECTS).map(entity).collect();
    let encode = || bincode::encode_to_vec(&entities, standard()).expect("plain data");
    let bytes = encode();
    let mut games = [(); 4].map(|()| Game::new());
    let [all, few, all_back, few_back] = &mut games;
    let taken = [
        Contender::new("bincode", Role::Rival, || drop(black_box(encode()))),
        Contender::prepared("persist, all changed", Role::Ours, all, Game::change_all, Game::take),
        Contender::prepared("persist, 1 % changed", Role::Ours, few, Game::change_few, Game::take),
    ];
    let rounds = run.rounds(11);
    run.measure("snapshot of 10,000 objects, us", "10000", 1.0, taken.into(), rounds);
    let restored = [
        Contender::new("bincode", Role::Rival, || {
            let decoded = bincode::decode_from_slice::<Vec<Entity>, _>(&bytes, standard());
            drop(black_box(decoded.expect("it was encoded")));
        }),
        Contender::prepared(
            "persist, all changed",
            Role::Ours,
            all_back,
            Game::change_all,
            Game::restore,
        ),
        Contender::prepared(
            "persist, 1 % changed",
            Role::Ours,
            few_back,
            Game::change_few,
            Game::restore,
        ),
    ];
    run.measure("restore of 10,000 objects, us", "10000", 1.0, restored.into(), rounds);
}
