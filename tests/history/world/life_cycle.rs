//! When components are started and released that a history holds.

use persist::{History, Result, World};

use super::scene::{Actor, Prop, Tag, actor, empty, logged, text};

fn prop(name: &str) -> Prop {
    Prop { name: name.into() }
}

/// A world in which Ada acts.
fn stage(capacity: usize) -> (World, History, persist::ObjectId) {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, actor("Ada")).expect("there");
    world.update(0.1);
    logged();
    (world, History::new(capacity), ada)
}

#[test]
fn a_removed_object_is_released_once_when_its_entry_falls_out() -> Result<()> {
    let (mut world, mut history, ada) = stage(2);
    history.edit(&mut world, "", |edit| edit.remove(ada))?;
    for _ in 0..2 {
        history.undo(&mut world)?;
        history.redo(&mut world)?;
    }
    history.edit(&mut world, "", |edit| edit.spawn("Bob"))?;
    world.update(0.1);
    assert!(logged().is_empty(), "it can come back");
    history.edit(&mut world, "", |edit| edit.spawn("Eve"))?;
    assert_eq!(logged(), ["release Ada"]);
    assert!(!world.is_parked(ada));
    history.clear(&mut world)?;
    drop((world, history));
    assert!(logged().is_empty());
    Ok(())
}

#[test]
fn what_was_made_is_released_once_when_its_undone_entry_is_cut() -> Result<()> {
    let (mut world, mut history, _) = stage(10);
    let bob = history.edit(&mut world, "", |edit| {
        let bob = edit.spawn("Bob")?;
        edit.attach(bob, actor("Bob"))?;
        Ok(bob)
    })?;
    history.edit(&mut world, "", |edit| edit.attach(bob, prop("hat")))?;
    history.undo(&mut world)?;
    history.undo(&mut world)?;
    assert!(logged().is_empty());
    history.edit(&mut world, "", |edit| edit.spawn("Eve"))?;
    let mut log = logged();
    log.sort_unstable();
    assert_eq!(log, ["drop hat", "release Bob", "release hat"]);
    Ok(())
}

#[test]
fn detached_and_replaced_components_are_released_once_when_the_history_is_cleared() -> Result<()> {
    let (mut world, mut history, ada) = stage(10);
    history.edit(&mut world, "", |edit| edit.attach(ada, prop("old")))?;
    history.edit(&mut world, "", |edit| edit.attach(ada, prop("new")))?;
    history.edit(&mut world, "", |edit| edit.detach::<Prop>(ada))?;
    history.edit(&mut world, "", |edit| edit.attach(ada, prop("third")))?;
    history.undo(&mut world)?;
    assert!(logged().is_empty());
    history.clear(&mut world)?;
    let mut log = logged();
    log.sort_unstable();
    let gone = ["drop new", "drop old", "drop third", "release new", "release old"];
    assert_eq!(log, [&gone[..], &["release third"]].concat());
    drop(world);
    assert_eq!(logged(), ["release Ada"]);
    Ok(())
}

#[test]
fn removed_objects_are_released_once_by_the_drop_of_the_world_whatever_is_dropped_first()
-> Result<()> {
    for history_first in [true, false] {
        let (mut world, mut history, ada) = stage(10);
        let bob = world.spawn("Bob");
        world.attach(bob, actor("Bob"))?;
        world.attach(ada, prop("hat"))?;
        history.edit(&mut world, "", |edit| edit.remove(bob))?;
        history.edit(&mut world, "", |edit| edit.remove(ada))?;
        history.undo(&mut world)?;
        if history_first {
            drop(history);
            drop(world);
        } else {
            drop(world);
            drop(history);
        }
        let mut log = logged();
        log.sort_unstable();
        assert_eq!(log, ["drop hat", "release Ada", "release Bob", "release hat"]);
    }
    Ok(())
}

#[test]
fn nothing_is_started_again_when_it_comes_back() -> Result<()> {
    let (mut world, mut history, ada) = stage(10);
    history.edit(&mut world, "", |edit| edit.attach(ada, prop("hat")))?;
    world.update(0.1);
    assert_eq!(logged(), ["start hat", "update Ada"]);
    history.edit(&mut world, "", |edit| edit.detach::<Prop>(ada))?;
    history.edit(&mut world, "", |edit| edit.remove(ada))?;
    for position in [0, 3, 1, 2, 0, 1] {
        history.go_to(&mut world, position)?;
        world.update(0.1);
    }
    assert_eq!(logged(), ["update Ada"; 5]);
    Ok(())
}

#[test]
fn what_was_not_started_before_it_went_is_started_once_when_it_is_back() -> Result<()> {
    let (mut world, mut history, ada) = stage(10);
    // The one before it in the object is started while it is away.
    world.detach::<Actor>(ada);
    logged();
    history.edit(&mut world, "", |edit| edit.attach(ada, prop("hat")))?;
    history.edit(&mut world, "", |edit| edit.attach(ada, actor("Ada")))?;
    history.edit(&mut world, "", |edit| edit.detach::<Prop>(ada))?;
    world.update(0.1);
    assert_eq!(logged(), ["start Ada", "update Ada"]);
    history.undo(&mut world)?;
    world.update(0.1);
    assert_eq!(logged(), ["start hat", "update Ada"]);
    for position in [0, 3, 1, 2, 3, 2] {
        history.go_to(&mut world, position)?;
        world.update(0.1);
    }
    assert_eq!(logged(), ["update Ada"; 4], "of all that come back none starts again");
    Ok(())
}

#[test]
fn started_ones_stay_so_when_they_come_back_behind_ones_that_were_not() -> Result<()> {
    let (mut world, mut history, ada) = stage(10);
    history.edit(&mut world, "", |edit| edit.attach(ada, prop("hat")))?;
    world.update(0.1);
    logged();
    history.edit(&mut world, "", |edit| edit.detach::<Prop>(ada))?;
    // Beside the history.
    world.detach::<Actor>(ada);
    world.attach(ada, Tag)?;
    world.attach(ada, actor("new"))?;
    logged();
    history.undo(&mut world)?;
    world.update(0.1);
    assert_eq!(logged(), ["start new", "update new"]);
    Ok(())
}

#[test]
fn an_edit_that_fails_releases_what_it_had_attached_and_nothing_else() -> Result<()> {
    let (mut world, mut history, ada) = stage(10);
    history.edit(&mut world, "", |edit| edit.attach(ada, prop("hat")))?;
    let before = text(&world);
    let refuse = || persist::Error::new(persist::ErrorKind::Refused, "no");
    let failed: Result<()> = history.edit(&mut world, "", |edit| {
        edit.attach(ada, prop("new hat"))?;
        let bob = edit.spawn("Bob")?;
        edit.attach(bob, actor("Bob"))?;
        edit.remove(ada)?;
        Err(refuse())
    });
    assert!(failed.is_err());
    assert_eq!(text(&world), before);
    let mut log = logged();
    log.sort_unstable();
    assert_eq!(log, ["drop new hat", "release Bob", "release new hat"]);
    assert_eq!(world.spawn("Bob").get(), 3, "the id of the failed edit is used up");
    assert_eq!(world.find("Bob1"), None, "its name is free again");
    Ok(())
}

#[test]
fn a_component_that_never_came_into_an_object_is_dropped_and_not_released() -> Result<()> {
    let (mut world, mut history) = empty();
    let gone = world.spawn("Ada");
    world.remove(gone);
    let failed = history.edit(&mut world, "", |edit| edit.attach(gone, prop("hat")));
    assert!(failed.is_err());
    assert_eq!(logged(), ["drop hat"]);
    Ok(())
}

#[test]
fn components_are_updated_in_their_order_behind_an_undo_too() -> Result<()> {
    let (mut world, mut history) = empty();
    let all = ["a", "b", "c"].map(|name| {
        let object = world.spawn(name);
        world.attach(object, actor(name)).expect("there");
        object
    });
    history.edit(&mut world, "", |edit| edit.remove(all[0]))?;
    history.edit(&mut world, "", |edit| edit.remove(all[1]))?;
    history.go_to(&mut world, 0)?;
    world.update(0.1);
    assert_eq!(logged(), ["start a", "start b", "start c", "update a", "update b", "update c"]);
    drop(world);
    logged();
    Ok(())
}
