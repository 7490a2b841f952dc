//! Snapshots of a world that has a history.

use std::sync::{Arc, Mutex};

use persist::{ErrorKind, History, Result, World};

use super::scene::{Speed, saves};

#[test]
fn entries_before_a_snapshot_are_undone_and_redone_after_its_restore() -> Result<()> {
    let (saves, mut world, mut history) = (saves(), World::new(), History::new(100));
    let ada = history.edit(&mut world, "Spawn", |edit| edit.spawn_with("Ada", (Speed(1.0),)))?;
    let bob = history.edit(&mut world, "Spawn", |edit| edit.spawn_with("Bob", (Speed(2.0),)))?;
    history.edit(&mut world, "Remove", |edit| edit.remove(ada))?;
    history.set(&mut world, bob, "Speed:0", 3.0)?;
    let (edited, bytes) = (world.snapshot()?, saves.to_vec(&world)?);
    // The game plays.
    world.get_mut::<Speed>(bob).expect("there").0 = 9.0;
    world.spawn("Ada");
    world.remove(bob);
    world.restore(&edited)?;
    assert!(saves.to_vec(&world)? == bytes);
    assert!(world.is_parked(ada));
    while history.undo(&mut world)? {}
    assert_eq!(world.objects().len(), 0);
    while history.redo(&mut world)? {}
    assert!(saves.to_vec(&world)? == bytes);
    Ok(())
}

#[test]
fn an_entry_whose_object_a_restore_brought_back_cannot_be_undone() -> Result<()> {
    let (saves, mut world, mut history) = (saves(), World::new(), History::new(100));
    let ada = history.edit(&mut world, "Spawn", |edit| edit.spawn_with("Ada", (Speed(1.0),)))?;
    let child = history.edit(&mut world, "Spawn", |edit| edit.spawn_in(ada, "Child"))?;
    let (edited, bytes) = (world.snapshot()?, saves.to_vec(&world)?);
    history.edit(&mut world, "Remove", |edit| edit.remove(ada))?;
    let other = world.spawn("Other");
    world.restore(&edited)?;
    assert!(saves.to_vec(&world)? == bytes && !world.is_parked(ada));
    let error = history.undo(&mut world).expect_err("the object is there");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(saves.to_vec(&world)? == bytes && world.contains(child));
    // A name that the removed object reserved is free, once.
    world.remove(ada);
    assert_eq!(world.spawn("Ada"), other);
    assert_eq!(world.name(other), Some("Ada"));
    Ok(())
}

#[test]
fn an_entry_whose_id_a_restore_made_free_cannot_be_redone() -> Result<()> {
    let (saves, mut world, mut history) = (saves(), World::new(), History::new(100));
    let empty = world.snapshot()?;
    let ada = history.edit(&mut world, "Spawn", |edit| edit.spawn_with("Ada", (Speed(1.0),)))?;
    history.undo(&mut world)?;
    assert!(world.is_parked(ada));
    world.restore(&empty)?;
    let other = world.spawn("Ada");
    assert_eq!((other, world.name(other)), (ada, Some("Ada")));
    let bytes = saves.to_vec(&world)?;
    history.redo(&mut world).expect_err("the object is gone");
    assert!(saves.to_vec(&world)? == bytes);
    history.clear(&mut world)?;
    history.set(&mut world, other, "Speed:0", 2.0).expect_err("it has none");
    Ok(())
}

#[test]
fn a_restore_is_reported_as_a_change_of_all_with_the_next_call() -> Result<()> {
    let (mut world, mut history) = (World::new(), History::new(100));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let _subscription = history.subscribe_changes(move |_, changes| {
        let changes = changes.iter().map(|change| format!("{change:?}"));
        log.lock().expect("nobody panicked").extend(changes);
    });
    let take = || std::mem::take(&mut *heard.lock().expect("nobody panicked"));
    let ada = history.edit(&mut world, "Spawn", |edit| edit.spawn("Ada"))?;
    let before = world.snapshot()?;
    history.edit(&mut world, "Rename", |edit| edit.rename(ada, "Eve").map(drop))?;
    take();
    world.restore(&before)?;
    history.edit(&mut world, "Rename", |edit| edit.rename(ada, "Bob").map(drop))?;
    assert_eq!(take(), ["All"]);
    Ok(())
}
