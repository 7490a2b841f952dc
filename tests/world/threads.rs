//! Worlds on several threads, and levels that are put into a world that runs.

use persist::world::Activity;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use persist::world::InstantiatedObject;
use persist::{
    Component, ComponentScope, ErrorKind, Loaded, ObjectId, Persist, Result, Saves, World,
};

#[derive(Persist, Debug, PartialEq)]
struct Door {
    key: Option<ObjectId>,
    other: ObjectId,
}

/// Counts its updates where others see them.
#[derive(Persist, Default)]
struct Counter {
    updates: Arc<Mutex<u32>>,
}

impl Component for Door {}
impl Component for Counter {
    fn on_update(&mut self, _: &mut ComponentScope<'_>) {
        *self.updates.lock().expect("nobody panicked") += 1;
    }
}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Door>().expect("a component class");
    saves.register_component::<Counter>().expect("a component class");
    saves
}

/// A room with two doors below it, one key, and a hole in the ids.
fn level() -> Result<World> {
    let mut world = World::new();
    let room = world.spawn("Room");
    let gone = world.spawn("Gone");
    let key = world.spawn("Key");
    let [left, right] = [(); 2].map(|()| world.spawn("Door"));
    world.attach(left, Door { key: Some(key), other: right })?;
    world.attach(right, Door { key: Some(gone), other: left })?;
    world.set_parent(right, Some(room))?;
    world.set_parent(left, Some(room))?;
    world.spawn_with("", (Counter::default(),))?;
    world.set_activity(key, Activity::Paused)?;
    world.remove(gone);
    Ok(world)
}

#[test]
fn a_world_that_is_loaded_on_another_thread_runs_on_this_one() -> Result<()> {
    let save = saves().to_vec(&level()?)?;
    let progress = AtomicU32::new(0);
    let mut world = thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let world = saves().from_slice::<World>(&save).map(Loaded::into_inner);
            progress.store(100, Ordering::Relaxed);
            world
        });
        loading.join().expect("it does not panic")
    })?;
    assert_eq!(progress.load(Ordering::Relaxed), 100);
    world.update(0.1);
    let counter = world.query::<&Counter>().next().expect("it is there");
    assert_eq!(*counter.updates.lock().expect("nobody panicked"), 1);
    Ok(())
}

#[test]
fn a_level_is_put_into_a_world_that_runs_with_new_ids_and_numbered_names() -> Result<()> {
    let level = level()?;
    let mut world = World::new();
    let [old_door, _, old] = ["Door", "Room", ""].map(|name| world.spawn(name));
    world.attach(old, Door { key: None, other: old_door })?;
    let before: Vec<ObjectId> = world.objects().collect();
    for _ in 0..2 {
        let placed = world.instantiate_level(&level)?;
        assert_eq!(
            placed.iter().map(|of| of.stored).collect::<Vec<_>>(),
            level.objects().collect::<Vec<_>>()
        );
        assert!(placed.is_sorted_by_key(|of| of.object));
        let new = |stored: ObjectId| {
            let found = placed.iter().find(|of| of.stored == stored);
            found.map(|of| of.object).expect("it was placed")
        };
        for InstantiatedObject { stored, object } in placed.iter().copied() {
            assert!(!before.contains(&object));
            assert_eq!(world.name(object).is_some(), level.name(stored).is_some());
            assert_eq!(world.parent(object), level.parent(stored).map(new));
            let children: Vec<ObjectId> = level.children(stored).iter().copied().map(new).collect();
            assert_eq!(world.children(object), children);
            assert_eq!(world.activity(object), level.activity(stored));
            assert_eq!(world.classes(object), level.classes(stored));
            if let Some(door) = level.get::<Door>(stored) {
                let key = door.key.filter(|key| level.contains(*key)).map(new);
                assert_eq!(world.get::<Door>(object), Some(&Door { key, other: new(door.other) }));
            }
        }
    }
    let names: Vec<&str> = world.objects().filter_map(|object| world.name(object)).collect();
    let expected =
        ["Door", "Room", "Room1", "Key", "Door1", "Door2", "Room2", "Key1", "Door3", "Door4"];
    assert_eq!(names, expected);
    assert_eq!(world.get::<Door>(old), Some(&Door { key: None, other: old_door }));
    world.update(0.1);
    Ok(())
}

/// Puts a level into its world in its first frame.
#[derive(Persist)]
struct Gate;

impl Component for Gate {
    fn on_start(&mut self, scope: &mut ComponentScope<'_>) {
        let level = level().expect("it is made");
        let placed = scope.world.instantiate_level(&level).expect("it fits");
        assert!(placed.iter().all(|placed| !scope.world.contains(placed.object)));
    }
}

#[test]
fn a_level_that_a_component_puts_in_is_there_at_the_end_of_the_phase() -> Result<()> {
    let mut world = World::new();
    world.spawn_with("Gate", (Gate,))?;
    world.update(0.1);
    assert_eq!(world.objects().len(), 1 + level()?.objects().len());
    assert!(world.find("Door1").is_some());
    Ok(())
}

#[derive(Persist, Default)]
#[persist(before_save = Shy::hide)]
struct Shy;

impl Component for Shy {}

impl Shy {
    fn hide(&mut self) {}
}

#[test]
fn a_level_that_cannot_be_copied_leaves_the_world_as_it_was() -> Result<()> {
    let mut level = level()?;
    level.spawn_with("Shy", (Shy,))?;
    let mut world = World::new();
    world.spawn("Door");
    let error = world.instantiate_level(&level).expect_err("a `before_save` hook");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!((world.objects().len(), world.find("Door1")), (1, None));
    let next = world.spawn("Door");
    assert_eq!(next.get(), 2);
    assert!(world.instantiate_level(&World::new())?.is_empty());
    Ok(())
}
