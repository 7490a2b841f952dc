//! Random changes of a world, in its components' methods too, against the naive one.

use std::cell::RefCell;

use persist::world::Activity;
use persist::{Component, ComponentScope, ObjectId, Persist, Saves, World};
use persist_tests::support::short_or_long;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use super::naive::{Naive, Op, Plan};
use super::park::Park as _;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static PLAN: RefCell<Plan> = RefCell::new(Plan::new());
}

/// One of the types of components; `OF` says which.
#[derive(Persist, Debug, PartialEq)]
struct Piece<const OF: usize> {
    serial: u64,
    /// Its own object, as a component would refer to one.
    owner: ObjectId,
}

fn call(method: &'static str, serial: u64, world: &mut World) {
    LOG.with_borrow_mut(|log| log.push(format!("{method} {serial}")));
    let ops = PLAN.with_borrow_mut(|plan| plan.remove(&(method, serial)));
    for op in ops.unwrap_or_default() {
        let result = run(world, &op);
        LOG.with_borrow_mut(|log| log.push(format!("{op:?} {result}")));
    }
}

impl<const OF: usize> Component for Piece<OF> {
    fn on_start(&mut self, scope: &mut ComponentScope<'_>) {
        assert_eq!(self.owner, scope.object());
        call("start", self.serial, scope.world);
    }

    fn on_pre_update(&mut self, scope: &mut ComponentScope<'_>) {
        call("pre", self.serial, scope.world);
    }

    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        assert!(scope.world.get::<Self>(self.owner).is_none());
        call("update", self.serial, scope.world);
    }

    fn on_post_update(&mut self, scope: &mut ComponentScope<'_>) {
        call("post", self.serial, scope.world);
    }

    fn on_release(&mut self, scope: &mut ComponentScope<'_>) {
        assert_eq!(self.owner, scope.object());
        call("release", self.serial, scope.world);
    }
}

fn id(number: u64) -> ObjectId {
    ObjectId::new(number).expect("not 0")
}

fn run(world: &mut World, op: &Op) -> bool {
    match *op {
        Op::Spawn(name) => world.spawn(name).get() > 0,
        Op::SpawnIn(parent, name) => world.spawn_in(id(parent), name).is_ok(),
        Op::Attach(object, of, serial) => {
            let owner = id(object);
            match of {
                0 => world.attach(owner, Piece::<0> { serial, owner }).is_ok(),
                1 => world.attach(owner, Piece::<1> { serial, owner }).is_ok(),
                2 => world.attach(owner, Piece::<2> { serial, owner }).is_ok(),
                _ => world.attach(owner, Piece::<3> { serial, owner }).is_ok(),
            }
        }
        Op::Detach(object, of) => match of {
            0 => world.detach::<Piece<0>>(id(object)),
            1 => world.detach::<Piece<1>>(id(object)),
            2 => world.detach::<Piece<2>>(id(object)),
            _ => world.detach::<Piece<3>>(id(object)),
        },
        Op::Remove(object) => world.remove(id(object)),
        Op::Move(object, parent, index) => {
            world.set_parent_at(id(object), parent.map(id), index).is_ok()
        }
        Op::Rename(object, name) => world.rename(id(object), name).is_ok(),
        Op::Change(object, Activity::Active) => {
            world.set_activity(id(object), Activity::Active).is_ok()
        }
        Op::Change(object, Activity::Paused) => {
            world.set_activity(id(object), Activity::Paused).is_ok()
        }
        Op::Change(object, _) => world.set_activity(id(object), Activity::Expired).is_ok(),
    }
}

const NAMES: [&str; 6] = ["orc", "orc", "orc1", "elf", "elf12", ""];

struct Random {
    random: Lcg64Xsh32,
    serial: u64,
}

impl Random {
    /// An object that is there, was there, or will be.
    fn object(&mut self, naive: &Naive) -> u64 {
        match naive.things.choose(&mut self.random) {
            Some(thing) if self.random.gen_ratio(9, 10) => thing.id,
            _ => self.random.gen_range(1..=naive.last_id + 3),
        }
    }

    fn name(&mut self) -> &'static str {
        NAMES.choose(&mut self.random).expect("there are some")
    }

    fn op(&mut self, naive: &Naive) -> Op {
        let object = self.object(naive);
        match self.random.gen_range(0..20) {
            0..2 => Op::Spawn(self.name()),
            2..5 => Op::SpawnIn(object, self.name()),
            5..10 => {
                self.serial += 1;
                Op::Attach(object, self.random.gen_range(0..4), self.serial)
            }
            10..12 => Op::Detach(object, self.random.gen_range(0..4)),
            12 => Op::Remove(object),
            13..15 => {
                let parent = self.random.gen_ratio(2, 3).then(|| self.object(naive));
                Op::Move(object, parent, self.random.gen_range(0..5))
            }
            15 => Op::Rename(object, self.name()),
            16..18 => Op::Change(object, Activity::Active),
            18 => Op::Change(object, Activity::Paused),
            _ => Op::Change(object, Activity::Expired),
        }
    }

    /// What some of the components will do; not in their starts, whose order among objects that are resumed
    /// in between is nobody's business.
    fn plan(&mut self, naive: &Naive) -> Plan {
        let parts = naive.things.iter().flat_map(|thing| &thing.parts);
        let serials: Vec<u64> = parts.map(|part| part.serial).collect();
        let mut plan = Plan::new();
        for _ in 0..self.random.gen_range(0..5) {
            let Some(serial) = serials.choose(&mut self.random) else { break };
            let methods = ["pre", "update", "post", "release"];
            let method = methods.choose(&mut self.random).expect("there are some");
            let count = self.random.gen_range(1..4);
            let ops = (0..count).map(|_| self.op(naive)).collect();
            plan.insert((*method, *serial), ops);
        }
        plan
    }
}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Piece<0>>().expect("a component class");
    saves.register_component::<Piece<1>>().expect("a component class");
    saves.register_component::<Piece<2>>().expect("a component class");
    saves.register_component::<Piece<3>>().expect("a component class");
    saves
}

fn serials<const OF: usize>(world: &World) -> Vec<(u64, usize, u64)> {
    let found = world.query::<(ObjectId, &Piece<OF>)>();
    found.map(|(id, piece)| (id.get(), OF, piece.serial)).collect()
}

fn compare(world: &World, naive: &Naive) {
    let ids: Vec<u64> = world.objects().map(ObjectId::get).collect();
    assert_eq!(ids, naive.things.iter().map(|thing| thing.id).collect::<Vec<_>>());
    assert_eq!(world.objects().len(), ids.len());
    for thing in &naive.things {
        let object = id(thing.id);
        let name = Some(&*thing.name).filter(|name| !name.is_empty());
        assert_eq!(world.name(object), name);
        assert_eq!(name.and_then(|name| world.find(name)), name.map(|_| object));
        assert_eq!(world.parent(object).map(ObjectId::get), thing.parent);
        let children: Vec<u64> = world.children(object).iter().map(|child| child.get()).collect();
        assert_eq!(children, thing.children, "children of {object}");
        assert_eq!(world.activity(object), Some(thing.activity));
        let classes = thing.parts.iter().map(|part| format!("Piece<{}>", part.of));
        assert_eq!(world.classes(object), classes.collect::<Vec<_>>());
    }
    let mut found =
        [serials::<0>(world), serials::<1>(world), serials::<2>(world), serials::<3>(world)]
            .concat();
    found.sort_unstable();
    let parts = |thing: &super::naive::Thing| {
        let id = thing.id;
        thing.parts.clone().into_iter().map(move |part| (id, part.of, part.serial))
    };
    let mut expected: Vec<_> = naive.things.iter().flat_map(parts).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let is_parked = |object: &u64| world.is_parked(id(*object));
    let parked: Vec<u64> = (1..=naive.last_id).filter(is_parked).collect();
    assert_eq!(parked, naive.parked.keys().copied().collect::<Vec<_>>());
}

/// Lets the world and the naive one do the same, step by step; returns how many methods were called.
fn play(seed: u64, steps: u32) -> usize {
    let mut random = Random { random: Lcg64Xsh32::seed_from_u64(seed), serial: 0 };
    let (mut world, mut naive) = (World::new(), Naive::default());
    world.register_component::<Piece<0>>().expect("a component class");
    let mut calls = 0;
    for step in 0..steps {
        let plan = random.plan(&naive);
        PLAN.set(plan.clone());
        naive.plan = plan;
        let object = random.object(&naive);
        let (done, expected) = match random.random.gen_range(0..20) {
            0..5 => {
                world.update(0.1);
                naive.update();
                (true, true)
            }
            5..7 => (world.park(id(object)).is_ok(), naive.park(object)),
            7..9 => {
                let parked: Vec<u64> = naive.parked.keys().copied().collect();
                let object = *parked.choose(&mut random.random).unwrap_or(&object);
                (world.unpark(id(object)).is_ok(), naive.unpark(object))
            }
            9 if step % 4 == 0 => {
                PLAN.take();
                let saves = saves();
                let save = saves.to_vec(&world).expect("a save");
                let loaded = saves.from_slice::<World>(&save).expect("a world");
                assert!(loaded.report().is_clean(), "{}", loaded.report());
                assert_eq!(saves.to_vec(&loaded).expect("a save"), save);
                world = loaded.into_inner();
                LOG.take();
                naive.load();
                (true, true)
            }
            _ => {
                let op = random.op(&naive);
                (run(&mut world, &op), naive.run(&op))
            }
        };
        assert_eq!(done, expected, "step {step} of {seed}");
        let log = LOG.take();
        assert_eq!(log, std::mem::take(&mut naive.log), "step {step} of {seed}");
        calls += log.len();
        compare(&world, &naive);
    }

    // In the end each component that is left is released once.
    PLAN.take();
    let things = naive.things.iter().chain(naive.parked.values().flat_map(|(things, _)| things));
    let mut expected: Vec<String> = things
        .flat_map(|thing| &thing.parts)
        .map(|part| format!("release {}", part.serial))
        .collect();
    drop(world);
    let mut released = LOG.take();
    released.sort_unstable();
    expected.sort_unstable();
    assert_eq!(released, expected, "the drop of {seed}");
    calls
}

#[test]
fn a_world_does_what_the_naive_one_does() {
    let calls: usize = (0..short_or_long(30, 120)).map(|seed| play(seed, 250)).sum();
    assert!(
        calls > short_or_long(12_000, 50_000),
        "{calls} calls of methods are too few to find anything"
    );
}
