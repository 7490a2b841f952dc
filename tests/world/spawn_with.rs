//! Objects that are spawned with their components.

use persist::{Component, ComponentScope, ErrorKind, ObjectId, Persist, Result, World};

use super::actor::{actor, enter, logged, prop, saved_and_loaded};

#[derive(Persist, Debug, PartialEq, Clone, Copy)]
struct Place(u32);

#[derive(Persist, Debug, PartialEq, Clone, Copy)]
struct Speed(u32);

impl Component for Place {}
impl Component for Speed {}

#[test]
fn an_object_spawned_with_components_is_one_to_which_they_were_attached() -> Result<()> {
    let (mut one, mut other) = (World::new(), World::new());
    for n in 0..5_000 {
        let name = if n % 3 == 0 { "" } else { "Orc" };
        let object = match n % 4 {
            0 => one.spawn_with(name, ())?,
            1 => one.spawn_with(name, (Place(n),))?,
            2 => one.spawn_with(name, (Speed(n), Place(n)))?,
            _ => one.spawn_with(name, (Place(n), Speed(n)))?,
        };
        assert_eq!(other.spawn(name), object);
        match n % 4 {
            0 => {}
            1 => other.attach(object, Place(n))?,
            2 => {
                other.attach(object, Speed(n))?;
                other.attach(object, Place(n))?;
            }
            _ => {
                other.attach(object, Place(n))?;
                other.attach(object, Speed(n))?;
            }
        }
        if n % 7 == 0 {
            one.remove(object);
            other.remove(object);
        }
    }
    let columns = |world: &World| -> Vec<(ObjectId, Option<Place>, Option<Speed>)> {
        let found = world.query::<(ObjectId, Option<&Place>, Option<&Speed>)>();
        found.map(|(id, place, speed)| (id, place.copied(), speed.copied())).collect()
    };
    assert_eq!(columns(&one), columns(&other));
    let again = saved_and_loaded(&one);
    for object in one.objects() {
        assert_eq!(one.name(object), other.name(object));
        assert_eq!(one.classes(object), other.classes(object));
        assert_eq!(one.classes(object), again.classes(object));
    }
    assert_eq!(columns(&one), columns(&again));
    Ok(())
}

#[test]
fn a_tuple_with_a_type_twice_is_refused_and_makes_nothing() {
    let mut world = World::new();
    let refused = world.spawn_with("Orc", (Place(1), Speed(2), Place(3))).expect_err("twice");
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    insta::assert_snapshot!(refused);
    let refused = world.spawn_many("Orc", [(Place(1), Place(3))]).expect_err("twice");
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert!(world.objects().len() == 0);
    assert_eq!(world.find("Orc"), None);
}

#[test]
fn many_are_spawned_in_their_order_with_numbered_names() -> Result<()> {
    let mut world = World::new();
    let orcs = world.spawn_many("Orc", (0..3).map(|n| (Place(n),)))?;
    assert_eq!(world.objects().collect::<Vec<_>>(), orcs);
    let names: Vec<_> = orcs.iter().filter_map(|orc| world.name(*orc)).collect();
    assert_eq!(names, ["Orc", "Orc1", "Orc2"]);
    assert_eq!(world.query::<&Place>().map(|place| place.0).collect::<Vec<_>>(), [0, 1, 2]);
    Ok(())
}

/// Spawns others in its first frame.
#[derive(Persist)]
struct Nest;

impl Component for Nest {
    fn on_start(&mut self, scope: &mut ComponentScope<'_>) {
        let world = &mut *scope.world;
        let one = world.spawn_with("Rat", (Place(1), Speed(1))).expect("two types");
        let many = world.spawn_many("Rat", [(Place(2),), (Place(3),)]).expect("one type");
        assert!(!world.contains(one) && many.iter().all(|rat| !world.contains(*rat)));
        world.attach(one, Speed(5)).expect("it comes");
    }
}

#[test]
fn what_a_method_spawns_with_components_is_there_at_the_end_of_the_phase() -> Result<()> {
    let mut world = World::new();
    world.spawn_with("Nest", (Nest,))?;
    world.update(0.1);
    let found = world.query::<(&Place, Option<&Speed>)>();
    let found: Vec<_> = found.map(|(place, speed)| (place.0, speed.map(|s| s.0))).collect();
    assert_eq!(found, [(1, Some(5)), (2, None), (3, None)]);
    assert!(world.find("Rat2").is_some());
    Ok(())
}

#[test]
fn components_that_an_object_was_spawned_with_are_started_and_released() -> Result<()> {
    let mut world = World::new();
    let gone = enter(&mut world, "Bob");
    world.remove(gone);
    let _ = logged();
    let ada = world.spawn_with("Ada", (actor("Ada"), prop("hat")))?;
    world.update(0.1);
    world.remove(ada);
    let log = logged();
    assert!(log.contains(&String::from("start Ada")), "{log:?}");
    assert!(log.contains(&String::from("release Ada")), "{log:?}");
    Ok(())
}
