//! Edits that fail or panic on their way, and what they leave: nothing.

use persist::world::Activity;
use std::panic::{AssertUnwindSafe, catch_unwind};

use persist::history::Edit;
use persist::world::{ExternalIds, Prefab};
use persist::{Error, ErrorKind, History, ObjectId, Result, World};

use super::scene::{
    Homing, Route, Score, Span, Speed, Tag, Thing, Transform, Weather, actor, logged, text,
    transform,
};
use super::stage::{entries, fails};

/// A world in which there is something of everything, and a history that has done and undone something.
struct Everything {
    world: World,
    history: History,
    objects: [ObjectId; 4],
    prefab: Prefab,
}

fn everything() -> Result<Everything> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let bob = world.spawn_in(ada, "Bob")?;
    let cat = world.spawn_in(bob, "Cat")?;
    let dog = world.spawn_in(ada, "Dog")?;
    for (object, x) in [ada, bob, cat, dog].into_iter().zip([1.0, 2.0, 3.0, 4.0]) {
        world.attach(object, transform(x, 0.0))?;
        world.attach(object, Tag)?;
        world.attach(object, actor("actor"))?;
    }
    world.attach(ada, Thing::sample())?;
    world.attach(bob, Homing { target: Some(cat), others: vec![ada, dog] })?;
    world.attach(cat, Span { low: 0, high: 9, steps: vec![1, 2, 3] })?;
    world
        .attach(dog, Route { name: "Tour".into(), stops: vec![], legs: vec![vec![1], vec![2]] })?;
    world.insert_resource(Score { points: 1, names: vec![] })?;
    world.update(0.1);
    world.attach(cat, Speed(1.0))?;
    world.set_activity(dog, Activity::Paused)?;
    let mut history = History::new(100);
    history.edit(&mut world, "", |edit| edit.remove(dog))?;
    history.set(&mut world, ada, "Transform:x", 7.0)?;
    history.edit(&mut world, "", |edit| edit.attach(ada, Speed(3.0)))?;
    history.go_to(&mut world, 0)?;
    let prefab = world.prefab(bob)?;
    logged();
    Ok(Everything { world, history, objects: [ada, bob, cat, dog], prefab })
}

type Change = Box<dyn Fn(&mut Edit<'_>) -> Result<()>>;

/// Changes of all kinds, of which each can be made behind those before it.
fn changes([ada, bob, cat, dog]: [ObjectId; 4], prefab: &Prefab) -> Vec<Change> {
    let (one, other) = (prefab.clone(), prefab.clone());
    vec![
        Box::new(|edit| edit.spawn("Eve").map(drop)),
        Box::new(move |edit| edit.spawn_in(bob, "Kid").map(drop)),
        Box::new(move |edit| edit.instantiate(&one, ExternalIds::Keep).map(drop)),
        Box::new(move |edit| {
            let copy = edit.instantiate(&other, ExternalIds::Clear)?;
            edit.set_parent(copy, Some(dog))
        }),
        Box::new(move |edit| edit.set(ada, "Transform:x", 50.0).map(drop)),
        Box::new(move |edit| {
            edit.get_mut::<Thing>(ada)?.mood = super::scene::Mood::Calm;
            edit.get_mut::<Transform>(ada)?.y = 8.0;
            edit.get_mut::<Homing>(bob)?.others.clear();
            Ok(())
        }),
        Box::new(move |edit| edit.insert_element(dog, "Route:legs[0]", 1, 5)),
        Box::new(move |edit| edit.move_element(dog, "Route:legs", 0, 1)),
        Box::new(move |edit| edit.remove_element(cat, "Span:steps", 1)),
        Box::new(move |edit| edit.rename(bob, "Cat").map(drop)),
        Box::new(move |edit| edit.set_parent_at(dog, Some(ada), 0)),
        Box::new(move |edit| edit.set_parent(cat, None)),
        Box::new(move |edit| edit.set_activity(dog, Activity::Active)),
        Box::new(move |edit| edit.set_activity(ada, Activity::Paused)),
        Box::new(move |edit| edit.attach(cat, transform(0.0, 0.0))),
        Box::new(move |edit| edit.attach(bob, Speed(5.0))),
        Box::new(move |edit| edit.detach::<Tag>(ada)),
        Box::new(|edit| edit.set(None, "Score:points", 5).map(drop)),
        Box::new(|edit| edit.insert_resource(Score { points: 6, names: vec!["a".into()] })),
        Box::new(|edit| edit.insert_resource(Weather(1.0))),
        Box::new(|edit| edit.remove_resource::<Score>()),
        Box::new(move |edit| edit.remove(cat)),
        Box::new(move |edit| edit.remove(bob)),
        Box::new(move |edit| edit.rename(dog, "Bob").map(drop)),
        Box::new(move |edit| edit.remove(ada)),
    ]
}

#[test]
fn an_edit_that_fails_after_any_number_of_changes_leaves_all_as_it_was() -> Result<()> {
    let Everything { mut world, mut history, objects, prefab } = everything()?;
    let changes = changes(objects, &prefab);
    for count in 0..=changes.len() {
        let error = fails(&mut world, &mut history, |edit| {
            changes[..count].iter().try_for_each(|change| change(edit))?;
            Err::<(), _>(Error::new(ErrorKind::Refused, "enough"))
        });
        assert_eq!(error.message(), "enough", "behind {count}");
    }
    // What could be redone can be.
    history.go_to(&mut world, 3)?;
    history.go_to(&mut world, 0)?;
    drop(world);
    logged();
    Ok(())
}

#[test]
fn an_edit_that_panics_after_any_number_of_changes_leaves_all_as_it_was() -> Result<()> {
    let Everything { mut world, mut history, objects, prefab } = everything()?;
    let changes = changes(objects, &prefab);
    for count in 0..=changes.len() {
        let before = (text(&world), entries(&history));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            history.edit(&mut world, "", |edit| -> Result<()> {
                changes[..count].iter().try_for_each(|change| change(edit))?;
                std::panic::resume_unwind(Box::new(count));
            })
        }));
        let panic = panicked.expect_err("it panicked");
        assert_eq!(panic.downcast_ref(), Some(&count), "the panic goes on");
        assert_eq!((text(&world), entries(&history)), before, "behind {count}");
        assert!(history.poison().is_none());
    }
    history.go_to(&mut world, 3)?;
    drop(world);
    logged();
    Ok(())
}

#[test]
fn all_changes_in_one_edit_or_in_one_each_go_back_and_forth() -> Result<()> {
    let Everything { mut world, mut history, objects, prefab } = everything()?;
    let changes = changes(objects, &prefab);
    let mut states = vec![text(&world)];
    for change in &changes {
        history.edit(&mut world, "", |edit| change(edit))?;
        states.push(text(&world));
    }
    assert_eq!(history.entries().len(), changes.len());
    for position in (0..=changes.len()).rev().chain(0..=changes.len()).chain([3, 20, 0]) {
        history.go_to(&mut world, position)?;
        assert_eq!(text(&world), states[position], "at {position}");
    }
    super::stage::there_and_back(&mut world, &mut history, |edit| {
        changes.iter().try_for_each(|change| change(edit))
    })?;
    drop(world);
    logged();
    Ok(())
}

#[test]
fn a_part_that_fails_is_taken_back_alone() -> Result<()> {
    let Everything { mut world, mut history, objects, prefab } = everything()?;
    let changes = changes(objects, &prefab);
    let [ada, ..] = objects;
    for count in 0..changes.len() {
        let before = text(&world);
        history.edit(&mut world, "", |edit| {
            edit.set(ada, "Transform:y", 77.0)?;
            edit.get_mut::<Thing>(ada)?.level = 77;
            let failed = edit.part(|edit| {
                changes[..count].iter().try_for_each(|change| change(edit))?;
                edit.part(|edit| edit.spawn("Nested").map(drop))?;
                Err::<(), _>(Error::new(ErrorKind::Refused, "enough"))
            });
            assert!(failed.is_err());
            edit.part(|edit| edit.rename(ada, "Eve").map(drop))
        })?;
        assert_eq!(history.undo_text(), "Undo Set Transform.y of Ada and 2 more");
        assert_eq!(world.get::<Transform>(ada), Some(&transform(1.0, 77.0)));
        assert_eq!(world.get::<Thing>(ada).map(|thing| thing.level), Some(77));
        history.undo(&mut world)?;
        assert_eq!(text(&world), before);
    }
    drop(world);
    logged();
    Ok(())
}

#[test]
fn a_transaction_that_is_not_committed_leaves_all_as_it_was() -> Result<()> {
    let Everything { mut world, mut history, objects, prefab } = everything()?;
    let changes = changes(objects, &prefab);
    let before = (text(&world), entries(&history));
    for count in 0..=changes.len() {
        history.begin("Build")?;
        for change in &changes[..count] {
            history.edit(&mut world, "", |edit| change(edit))?;
        }
        let missing = ObjectId::new(1 << 40).expect("not 0");
        assert!(history.edit(&mut world, "", |edit| edit.remove(missing)).is_err());
        history.rollback(&mut world)?;
        assert_eq!((text(&world), entries(&history)), before, "behind {count}");
    }
    drop(world);
    logged();
    Ok(())
}

#[test]
fn an_undo_of_many_steps_that_fails_at_any_of_them_changes_nothing() -> Result<()> {
    let Everything { mut world, mut history, objects, prefab } = everything()?;
    let changes = changes(objects, &prefab);
    let Some((_, most)) = changes.split_last() else { return Ok(()) };
    let [ada, bob, ..] = objects;
    history.edit(&mut world, "All", |edit| most.iter().try_for_each(|change| change(edit)))?;
    let spoil: [fn(&mut World, [ObjectId; 2]) -> bool; 3] = [
        |world, [ada, _]| world.detach::<Transform>(ada),
        |world, [_, bob]| world.remove(bob),
        |world, [ada, _]| world.remove(ada),
    ];
    for spoil in spoil {
        assert!(spoil(&mut world, [ada, bob]));
        let before = (text(&world), entries(&history));
        let error = history.undo(&mut world).expect_err("something is gone");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.message().starts_with("step "), "{error}");
        assert_eq!((text(&world), entries(&history)), before);
        assert!(history.poison().is_none());
    }
    history.clear(&mut world)?;
    drop(world);
    logged();
    Ok(())
}
