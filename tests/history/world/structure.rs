//! Objects and components that are made, removed, moved and named.

use persist::world::Activity;
use persist::world::ExternalIds;
use persist::{ErrorKind, ObjectId, Result, World};

use super::scene::{
    Homing, Light, Pair, Span, Speed, Tag, Thing, Transform, empty, text, transform,
};
use super::stage::{fails, kind, there_and_back};

/// A world with a house of two rooms, of which the first has two doors.
fn house() -> Result<(World, [ObjectId; 5])> {
    let mut world = World::new();
    let house = world.spawn("House");
    let first = world.spawn_in(house, "Room")?;
    let second = world.spawn_in(house, "Room")?;
    let [one, other] = [world.spawn_in(first, "Door")?, world.spawn_in(first, "Door")?];
    let all = [house, first, second, one, other];
    for (object, x) in all.into_iter().zip([1.0, 2.0, 3.0, 4.0, 5.0]) {
        world.attach(object, transform(x, 0.0))?;
    }
    Ok((world, all))
}

#[test]
fn objects_that_are_made_are_gone_behind_the_undo_and_back_with_their_ids_behind_the_redo()
-> Result<()> {
    let (mut world, mut history) = empty();
    let (house, door) = there_and_back(&mut world, &mut history, |edit| {
        let house = edit.spawn("House")?;
        let door = edit.spawn_in(house, "Door")?;
        edit.attach(door, transform(1.0, 2.0))?;
        edit.attach(house, Homing { target: Some(door), others: vec![house] })?;
        edit.set(door, "Transform:x", 7.0)?;
        edit.set_activity(door, Activity::Paused)?;
        Ok((house, door))
    })?;
    assert_eq!(world.objects().collect::<Vec<_>>(), [house, door]);
    assert_eq!(world.get(door), Some(&transform(7.0, 2.0)));
    history.undo(&mut world)?;
    assert!(world.objects().len() == 0);
    assert!(world.is_parked(house) && !world.contains(door));
    let other = world.spawn("Other");
    assert!(other > door, "their ids stay theirs");
    Ok(())
}

#[test]
fn objects_that_are_made_with_components_come_and_go_with_them() -> Result<()> {
    let (mut world, mut history) = empty();
    let house = there_and_back(&mut world, &mut history, |edit| {
        edit.spawn_with("House", (transform(1.0, 2.0), Tag))
    })?;
    let doors = there_and_back(&mut world, &mut history, |edit| {
        let doors = (0..3).map(|_| (Homing { target: Some(house), others: vec![] }, Speed(1.0)));
        let doors = edit.spawn_many("Door", doors)?;
        edit.get_mut::<Speed>(doors[1])?.0 = 5.0;
        edit.set_parent(doors[2], Some(house))?;
        edit.detach::<Homing>(doors[0])?;
        edit.spawn_with("", ())?;
        Ok(doors)
    })?;
    assert_eq!(world.get(doors[1]), Some(&Speed(5.0)));
    let labels: Vec<_> = history.entries().map(|entry| entry.label.to_string()).collect();
    assert_eq!(labels[0], "Create House");

    // They are what attachments make.
    let (mut twin, mut by_hand) = empty();
    by_hand.edit(&mut twin, "", |edit| {
        let house = edit.spawn("House")?;
        edit.attach(house, transform(1.0, 2.0))?;
        edit.attach(house, Tag)?;
        for _ in 0..3 {
            let door = edit.spawn("Door")?;
            edit.attach(door, Homing { target: Some(house), others: vec![] })?;
            edit.attach(door, Speed(1.0))?;
        }
        edit.set(doors[1], "Speed:0", 5.0)?;
        edit.set_parent(doors[2], Some(house))?;
        edit.detach::<Homing>(doors[0])?;
        edit.spawn("").map(drop)
    })?;
    assert_eq!(text(&world), text(&twin));
    history.go_to(&mut world, 0)?;
    assert!(world.objects().len() == 0 && world.is_parked(house));
    Ok(())
}

#[test]
fn objects_whose_components_are_refused_are_not_made() -> Result<()> {
    let (mut world, mut history) = empty();
    let span = |low| Span { low, high: 5, steps: vec![] };
    let refused = fails(&mut world, &mut history, |edit| edit.spawn_with("A", (Tag, span(6))));
    assert_eq!((refused.kind(), refused.class()), (ErrorKind::Refused, Some("Span")));
    let twice = fails(&mut world, &mut history, |edit| edit.spawn_with("A", (Tag, Tag)));
    assert_eq!(twice.kind(), ErrorKind::AlreadyExists);
    // An edit may continue without them.
    there_and_back(&mut world, &mut history, |edit| {
        let spans = [(span(4),), (span(6),)];
        assert_eq!(kind(edit.spawn_many("A", spans)), ErrorKind::Refused);
        edit.spawn_with("B", (span(5),))
    })?;
    assert_eq!(world.objects().filter_map(|object| world.name(object)).collect::<Vec<_>>(), ["B"]);
    Ok(())
}

#[test]
fn a_prefab_comes_and_goes_as_one() -> Result<()> {
    let (mut world, [house, first, ..]) = house()?;
    let mut history = persist::History::new(100);
    let prefab = world.prefab(first)?;
    let copy = there_and_back(&mut world, &mut history, |edit| {
        edit.instantiate(&prefab, ExternalIds::Keep)
    })?;
    let inner = there_and_back(&mut world, &mut history, |edit| {
        let copy = edit.instantiate(&prefab, ExternalIds::Clear)?;
        edit.set_parent(copy, Some(house))?;
        Ok(copy)
    })?;
    assert_eq!(world.objects().len(), 11);
    assert_eq!(world.children(house).last(), Some(&inner));
    history.undo(&mut world)?;
    history.undo(&mut world)?;
    assert_eq!(world.objects().len(), 5);
    history.go_to(&mut world, 2)?;
    assert_eq!(world.subtree(copy).len(), 3);
    assert_eq!(world.get(copy), Some(&transform(2.0, 0.0)));
    Ok(())
}

#[test]
fn components_come_go_and_are_replaced_in_their_order() -> Result<()> {
    let (mut world, mut history) = empty();
    let ada = world.spawn("Ada");
    world.attach(ada, transform(1.0, 1.0))?;
    world.attach(ada, Speed(1.0))?;
    world.attach(ada, Tag)?;
    world.register_component::<Light>()?;
    let classes = |world: &World| world.classes(ada).join(" ");
    there_and_back(&mut world, &mut history, |edit| edit.attach(ada, Pair(1, "one".into())))?;
    assert_eq!(classes(&world), "Transform Speed Tag Pair");
    there_and_back(&mut world, &mut history, |edit| edit.detach::<Speed>(ada))?;
    assert_eq!(classes(&world), "Transform Tag Pair");
    there_and_back(&mut world, &mut history, |edit| edit.attach(ada, transform(2.0, 2.0)))?;
    assert_eq!(classes(&world), "Tag Pair Transform");
    there_and_back(&mut world, &mut history, |edit| {
        edit.attach(ada, Speed(5.0))?;
        edit.get_mut::<Speed>(ada)?.0 = 6.0;
        edit.attach(ada, Speed(7.0))?;
        edit.detach_class(ada, "Tag")?;
        edit.attach_class(ada, "Light")?;
        edit.attach_class(ada, "Transform")
    })?;
    assert_eq!(classes(&world), "Pair Speed Light Transform");
    assert_eq!(world.get(ada), Some(&Transform::default()));
    history.go_to(&mut world, 0)?;
    assert_eq!(classes(&world), "Transform Speed Tag");
    assert_eq!(world.get(ada), Some(&Speed(1.0)));
    Ok(())
}

#[test]
fn a_component_that_comes_back_is_the_very_same() -> Result<()> {
    let (mut world, mut history) = empty();
    let ada = world.spawn("Ada");
    // Also what no record has.
    world.attach(ada, Thing { cache: vec![7; 3], ..Thing::sample() })?;
    let place = std::ptr::from_ref(&*world.get::<Thing>(ada).expect("it is there").name);
    history.edit(&mut world, "", |edit| edit.detach::<Thing>(ada))?;
    history.undo(&mut world)?;
    history.edit(&mut world, "", |edit| edit.remove(ada))?;
    history.undo(&mut world)?;
    let thing = world.get::<Thing>(ada).expect("it is there");
    assert_eq!((&*thing.cache, std::ptr::from_ref(&*thing.name)), (&[7, 7, 7][..], place));
    Ok(())
}

#[test]
fn names_places_and_activities_go_back() -> Result<()> {
    let (mut world, [house, first, second, one, other]) = house()?;
    let mut history = persist::History::new(100);
    let before = text(&world);
    there_and_back(&mut world, &mut history, |edit| {
        assert_eq!(edit.rename(one, "Room")?, "Room2");
        Ok(())
    })?;
    there_and_back(&mut world, &mut history, |edit| edit.rename(house, "Home").map(drop))?;
    there_and_back(&mut world, &mut history, |edit| edit.rename(second, "House").map(drop))?;
    there_and_back(&mut world, &mut history, |edit| edit.set_activity(first, Activity::Paused))?;
    there_and_back(&mut world, &mut history, |edit| edit.set_parent(one, Some(second)))?;
    there_and_back(&mut world, &mut history, |edit| edit.set_parent(first, None))?;
    there_and_back(&mut world, &mut history, |edit| edit.set_parent_at(first, Some(house), 0))?;
    there_and_back(&mut world, &mut history, |edit| edit.set_parent_at(second, Some(house), 0))?;
    assert_eq!(world.children(house), [second, first]);
    there_and_back(&mut world, &mut history, |edit| edit.set_parent_at(other, Some(one), 9))?;
    there_and_back(&mut world, &mut history, |edit| {
        edit.set_activity(first, Activity::Active)?;
        edit.set_parent(house, Some(other)).expect_err("it is below the house");
        edit.set_activity(house, Activity::Paused)
    })?;
    for position in [0, history.entries().len(), 3, 7, 0] {
        history.go_to(&mut world, position)?;
    }
    assert_eq!(text(&world), before);
    Ok(())
}

#[test]
fn an_object_may_be_changed_behind_those_below_and_beside_it() -> Result<()> {
    let (mut world, [house, first, second, one, other]) = house()?;
    let mut history = persist::History::new(100);
    let prefab = world.prefab(second)?;
    there_and_back(&mut world, &mut history, |edit| {
        edit.spawn_in(house, "Cellar")?;
        edit.rename(house, "Home").map(drop)
    })?;
    there_and_back(&mut world, &mut history, |edit| {
        let copy = edit.instantiate(&prefab, ExternalIds::Keep)?;
        edit.set_parent(copy, Some(first))?;
        edit.remove(one)?;
        edit.set_activity(first, Activity::Paused)?;
        edit.set(other, "Transform:x", 50.0)
    })?;
    there_and_back(&mut world, &mut history, |edit| {
        edit.remove(first)?;
        edit.set(second, "Transform:x", 50.0)?;
        edit.attach(house, Tag)
    })?;
    Ok(())
}

#[test]
fn objects_are_moved_among_many_siblings_and_back() -> Result<()> {
    let (mut world, mut history) = empty();
    let top = world.spawn("Top");
    let all: Vec<ObjectId> = (0..6).map(|_| world.spawn_in(top, "Leaf")).collect::<Result<_>>()?;
    let before = text(&world);
    for (object, index) in [(0, 5), (5, 0), (2, 2), (3, 1), (1, 4), (4, 4)] {
        history.edit(&mut world, "", |edit| {
            edit.set_parent_at(all[object], Some(top), index)?;
            edit.set_parent_at(all[index], Some(top), object)
        })?;
    }
    let after = text(&world);
    history.go_to(&mut world, 0)?;
    assert_eq!(text(&world), before);
    history.go_to(&mut world, history.entries().len())?;
    assert_eq!(text(&world), after);
    Ok(())
}

#[test]
fn what_is_not_there_cannot_be_changed() -> Result<()> {
    let (mut world, [house, first, .., other]) = house()?;
    let mut history = persist::History::new(100);
    history.edit(&mut world, "", |edit| edit.remove(first))?;
    history.edit(&mut world, "", |edit| edit.spawn("Bob"))?;
    history.undo(&mut world)?;
    for gone in [first, other, ObjectId::new(999).expect("not 0")] {
        for error in [
            fails(&mut world, &mut history, |edit| edit.remove(gone)),
            fails(&mut world, &mut history, |edit| edit.rename(gone, "Eve").map(drop)),
            fails(&mut world, &mut history, |edit| edit.set_activity(gone, Activity::Paused)),
            fails(&mut world, &mut history, |edit| edit.set_activity(gone, Activity::Active)),
            fails(&mut world, &mut history, |edit| edit.set_parent(gone, None)),
            fails(&mut world, &mut history, |edit| edit.set_parent(house, Some(gone))),
            fails(&mut world, &mut history, |edit| edit.spawn_in(gone, "Eve")),
            fails(&mut world, &mut history, |edit| edit.attach(gone, Tag)),
            fails(&mut world, &mut history, |edit| edit.attach_class(gone, "Transform")),
            fails(&mut world, &mut history, |edit| edit.detach::<Transform>(gone)),
            fails(&mut world, &mut history, |edit| edit.get::<Transform>(gone).map(drop)),
            fails(&mut world, &mut history, |edit| edit.get_mut::<Transform>(gone).map(drop)),
            fails(&mut world, &mut history, |edit| edit.set(gone, "Transform:x", 1.0)),
            fails(&mut world, &mut history, |edit| edit.remove_element(gone, "Route:stops", 0)),
        ] {
            assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, Some(gone.get())));
        }
    }
    for error in [
        fails(&mut world, &mut history, |edit| edit.detach::<Tag>(house)),
        fails(&mut world, &mut history, |edit| edit.get::<Tag>(house).map(drop)),
        fails(&mut world, &mut history, |edit| edit.get_mut::<Tag>(house).map(drop)),
        fails(&mut world, &mut history, |edit| edit.set(house, "Tag", 1)),
        fails(&mut world, &mut history, |edit| edit.attach_class(house, "Nothing")),
        fails(&mut world, &mut history, |edit| edit.detach_class(house, "Nothing")),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    let error = fails(&mut world, &mut history, |edit| edit.set_parent(house, Some(house)));
    assert_eq!(error.kind(), ErrorKind::Circular);
    assert!(history.can_redo());
    Ok(())
}

#[test]
fn what_was_removed_beside_the_history_is_an_error_of_the_undo_and_no_more() -> Result<()> {
    let (mut world, [house, first, second, ..]) = house()?;
    let mut history = persist::History::new(100);
    history.edit(&mut world, "", |edit| {
        edit.rename(house, "Home")?;
        edit.rename(second, "Bath")?;
        edit.set_parent(first, Some(second))?;
        edit.set(second, "Transform:x", 9.0)
    })?;
    world.remove(first);
    let now = text(&world);
    assert_eq!(kind(history.undo(&mut world)), ErrorKind::NotFound);
    assert_eq!((text(&world), history.position()), (now, 1));
    assert!(history.poison().is_none());

    let mut history = persist::History::new(100);
    history.edit(&mut world, "", |edit| edit.remove(second))?;
    // Parked objects can be removed for good.
    assert!(world.remove(second));
    assert_eq!(kind(history.undo(&mut world)), ErrorKind::NotFound);
    history.clear(&mut world)?;
    assert_eq!(world.objects().len(), 1);
    Ok(())
}
