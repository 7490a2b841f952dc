//! Worlds of objects with components.

use persist::{Component, ObjectId, Persist, Saves, World};
use rand::Rng;

use crate::random;

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) struct Bag {
    pub(crate) items: Vec<String>,
    pub(crate) owner: Option<ObjectId>,
}

impl Component for Place {}
impl Component for Bag {}

pub(crate) fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Place>().unwrap();
    saves.register_component::<Bag>().unwrap();
    saves
}

pub(crate) fn any_object(world: &World, random: &mut impl Rng) -> Option<ObjectId> {
    let objects: Vec<ObjectId> = world.objects().collect();
    (!objects.is_empty()).then(|| objects[random.gen_range(0..objects.len())])
}

/// All that a program sees of a world.
pub(crate) fn seen(world: &World) -> Vec<String> {
    let of = |object: ObjectId| {
        let (place, bag) = (world.get::<Place>(object), world.get::<Bag>(object));
        format!("{object:?} {:?} {:?} {place:?} {bag:?}", world.name(object), world.parent(object))
    };
    world.objects().map(of).collect()
}

pub(crate) fn change(world: &mut World, random: &mut impl Rng) {
    let Some(object) = any_object(world, random).filter(|_| random.gen_range(0..4) > 0) else {
        let object = world.spawn("Thing");
        world.attach(object, Place { x: random.r#gen(), y: 0.5 }).unwrap();
        return;
    };
    match random.gen_range(0..5) {
        0 => {
            world.remove(object);
        }
        1 => {
            world.spawn_in(object, "Part").unwrap();
        }
        2 => {
            let owner = any_object(world, random);
            let items = vec![format!("item {}", random.gen_range(0..100)); 3];
            world.attach(object, Bag { items, owner }).unwrap();
        }
        3 => {
            world.rename(object, &format!("Name {}", random.gen_range(0..1000))).unwrap();
        }
        _ => {
            if let Some(place) = world.get_mut::<Place>(object) {
                place.y += 1.0;
            }
        }
    }
}

pub(crate) fn random_worlds_come_back() {
    let mut random = random(4);
    for _ in 0..20 {
        let mut world = World::new();
        for _ in 0..200 {
            change(&mut world, &mut random);
        }
        let save = saves().to_vec(&world).unwrap();
        let loaded = saves().from_slice::<World>(&save).unwrap();
        assert_eq!(seen(&loaded), seen(&world));
        assert!(saves().to_vec(&loaded).unwrap() == save);
    }
}

pub(crate) fn a_world_returns_to_its_snapshot() {
    let mut random = random(5);
    let mut world = World::new();
    for _ in 0..100 {
        change(&mut world, &mut random);
        let (before, snapshot) = (seen(&world), world.snapshot().unwrap());
        for _ in 0..10 {
            change(&mut world, &mut random);
        }
        world.restore(&snapshot).unwrap();
        assert_eq!(seen(&world), before);
    }
}
