//! What was removed or taken back is the same when it is there again.

use persist::world::Activity;
use persist::{ErrorKind, ObjectId, Result, World, field};

use super::scene::{
    Homing, Mood, Place, Speed, Tag, Thing, Transform, actor, empty, logged, saves, text, transform,
};
use super::stage::{fails, there_and_back};

#[test]
fn create_set_undo_undo_redo_redo_hits_the_same_object() -> Result<()> {
    let (mut world, mut history) = empty();
    let door = history.edit(&mut world, "Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, transform(0.0, 0.0))?;
        Ok(door)
    })?;
    history.set(&mut world, door, field!(Transform.x), 50.0)?;
    let after = text(&world);
    for _ in 0..3 {
        history.undo(&mut world)?;
        history.undo(&mut world)?;
        assert!(world.objects().len() == 0);
        assert_eq!(world.find("Door"), None);
        history.redo(&mut world)?;
        assert_eq!(world.get(door), Some(&transform(0.0, 0.0)));
        history.redo(&mut world)?;
        assert_eq!(world.objects().collect::<Vec<_>>(), [door]);
        assert_eq!(
            (world.name(door), world.get(door)),
            (Some("Door"), Some(&transform(50.0, 0.0)))
        );
        assert_eq!(text(&world), after);
    }
    Ok(())
}

/// A world with a town below which there are houses with doors, and many who know them from outside.
struct Town {
    world: World,
    town: ObjectId,
    houses: Vec<ObjectId>,
    doors: Vec<ObjectId>,
    guard: ObjectId,
}

fn town() -> Result<Town> {
    let mut world = World::new();
    let town = world.spawn("Town");
    let (mut houses, mut doors) = (Vec::new(), Vec::new());
    for x in [1.0, 2.0, 3.0] {
        let house = world.spawn_in(town, "House")?;
        world.attach(house, Speed(x))?;
        world.attach(house, transform(x, x))?;
        world.attach(house, Tag)?;
        for y in [1.0, 2.0] {
            let door = world.spawn_in(house, "Door")?;
            world.attach(door, transform(x, y))?;
            world.attach(door, Homing { target: Some(house), others: doors.clone() })?;
            doors.push(door);
        }
        houses.push(house);
    }
    let guard = world.spawn("Guard");
    world.attach(guard, Homing { target: Some(doors[2]), others: houses.clone() })?;
    world.attach(
        guard,
        Thing {
            mood: Mood::Angry { cause: Place { x: 0.0, y: 0.0 }, at: Some(doors[3]) },
            ..Thing::sample()
        },
    )?;
    Ok(Town { world, town, houses, doors, guard })
}

#[test]
fn a_removed_subtree_comes_back_with_ids_names_orders_and_references_from_outside() -> Result<()> {
    let Town { mut world, town, houses, doors, guard } = town()?;
    let mut history = persist::History::new(100);
    // Of the components some have been started, some not.
    world.attach(houses[1], actor("first"))?;
    world.update(0.0);
    world.attach(doors[2], actor("second"))?;
    world.attach(doors[3], super::scene::Light::Off)?;
    world.set_activity(doors[3], Activity::Paused)?;
    let references = world.references_to(doors[3])?;
    assert!(references.len() > 2);

    there_and_back(&mut world, &mut history, |edit| edit.remove(houses[1]))?;
    assert!(!world.contains(doors[2]));
    history.undo(&mut world)?;
    assert_eq!(world.children(town), houses);
    assert_eq!(world.children(houses[1]), [doors[2], doors[3]]);
    assert_eq!(world.classes(houses[1]), ["Speed", "Transform", "Tag", "Actor"]);
    assert_eq!(world.references_to(doors[3])?, references);
    let at = world.get::<Homing>(guard).and_then(|homing| homing.target);
    assert_eq!(at.and_then(|door| world.name(door)), Some("Door2"));

    // A save and a load see no difference either.
    let before = saves().to_vec(&world)?;
    history.redo(&mut world)?;
    history.undo(&mut world)?;
    assert!(saves().to_vec(&world)? == before, "byte by byte, ids counters and all");
    logged();
    Ok(())
}

#[test]
fn parts_that_are_removed_one_by_one_come_back_in_any_nesting() -> Result<()> {
    let Town { mut world, town, houses, doors, .. } = town()?;
    let mut history = persist::History::new(100);
    let mut states = vec![text(&world)];
    for gone in [doors[3], houses[0], houses[1], doors[5], doors[4], houses[2], town] {
        history.edit(&mut world, "", |edit| edit.remove(gone))?;
        states.push(text(&world));
    }
    assert_eq!(world.objects().len(), 1);
    for position in [0, 7, 3, 5, 1, 6, 2, 4, 0, 7, 0] {
        history.go_to(&mut world, position)?;
        assert_eq!(text(&world), states[position], "at {position}");
    }
    Ok(())
}

#[test]
fn what_was_moved_out_of_an_object_before_its_removal_stays() -> Result<()> {
    let Town { mut world, houses, doors, .. } = town()?;
    let mut history = persist::History::new(100);
    there_and_back(&mut world, &mut history, |edit| {
        edit.set_parent_at(doors[2], Some(houses[0]), 1)?;
        edit.remove(houses[1])?;
        edit.set_parent(doors[2], None)?;
        edit.set(doors[2], "Transform:x", 50.0)
    })?;
    assert!(world.contains(doors[2]) && !world.contains(doors[3]));
    Ok(())
}

#[test]
fn a_reference_to_a_removed_object_is_refused_until_it_is_back() -> Result<()> {
    let Town { mut world, houses, doors, guard, .. } = town()?;
    let mut history = persist::History::new(100);
    history.edit(&mut world, "", |edit| edit.remove(houses[1]))?;
    for gone in [houses[1], doors[3]] {
        for error in [
            fails(&mut world, &mut history, |edit| {
                edit.set(guard, field!(Homing.target), gone).map(drop)
            }),
            fails(&mut world, &mut history, |edit| {
                edit.set(guard, field!(Homing.others[0]), gone).map(drop)
            }),
            fails(&mut world, &mut history, |edit| {
                edit.insert_element(guard, field!(Homing.others), 0, gone)
            }),
            fails(&mut world, &mut history, |edit| {
                edit.set(guard, field!(Homing.others), vec![doors[0], gone]).map(drop)
            }),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            let message = format!("object #{gone} is not in the world");
            assert!(error.message().starts_with(&message.replace("##", "#")), "{error}");
        }
    }
    // What was there before stays, and can be left as it is.
    history.set(&mut world, guard, "Homing:others[0]", houses[2])?;
    history.undo(&mut world)?;
    history.undo(&mut world)?;
    let was = history.set(&mut world, guard, field!(Homing.target), doors[3])?;
    assert_eq!(was.as_object_id(), Some(doors[2]));
    history.undo(&mut world)?;
    assert_eq!(world.get::<Homing>(guard).and_then(|homing| homing.target), Some(doors[2]));
    Ok(())
}

#[test]
fn a_reference_to_an_object_that_was_made_comes_and_goes_with_it() -> Result<()> {
    let (mut world, mut history) = empty();
    let guard = world.spawn("Guard");
    world.attach(guard, Homing { target: None, others: Vec::new() })?;
    let door = there_and_back(&mut world, &mut history, |edit| {
        let door = edit.spawn("Door")?;
        edit.set(guard, field!(Homing.target), door)?;
        edit.get_mut::<Homing>(guard)?.others.push(door);
        Ok(door)
    })?;
    history.undo(&mut world)?;
    assert_eq!(world.get::<Homing>(guard).and_then(|homing| homing.target), None);
    history.redo(&mut world)?;
    assert_eq!(world.get::<Homing>(guard).map(|homing| homing.others.clone()), Some(vec![door]));
    Ok(())
}
