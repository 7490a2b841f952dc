//! A history and the worlds that it is not of.

use persist::history::{Capacity, CommandEdit};
use persist::{Command, ErrorKind, Result, World};

use super::scene::{empty, saved_and_loaded, saves, text, transform};
use super::stage::{entries, kind};

#[test]
fn a_history_refuses_another_world_and_does_nothing_to_it() -> Result<()> {
    let (mut world, mut history) = empty();
    let door = history.edit(&mut world, "", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, transform(1.0, 1.0))?;
        Ok(door)
    })?;
    history.set(&mut world, door, "Transform:x", 2.0)?;
    history.undo(&mut world)?;
    // The same ids and names, and yet another one.
    let mut other = saved_and_loaded(&saves(), &world);
    let before = (text(&other), entries(&history));
    assert_eq!(kind(history.undo(&mut other)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.redo(&mut other)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.go_to(&mut other, 0)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.set(&mut other, door, "Transform:x", 3.0)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.edit(&mut other, "", |_| Ok(()))), ErrorKind::WrongTarget);
    assert_eq!((text(&other), entries(&history)), before);
    assert!(history.redo(&mut world)?);
    // A world that moves stays what it is.
    let mut moved = Box::new(world);
    assert!(history.undo(&mut moved)?);
    Ok(())
}

#[test]
fn a_transaction_is_committed_to_its_own_world_alone() -> Result<()> {
    let (mut world, mut history) = empty();
    history.begin("Build")?;
    history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
    let mut other = World::new();
    assert_eq!(kind(history.commit(&mut other)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.rollback(&mut other)), ErrorKind::WrongTarget);
    assert!(other.objects().len() == 0);
    history.rollback(&mut world)?;
    assert!(world.objects().len() == 0);
    Ok(())
}

#[test]
fn a_history_that_is_cleared_is_still_that_of_its_world() -> Result<()> {
    let (mut world, mut history) = empty();
    let door = world.spawn("Door");
    history.edit(&mut world, "", |edit| edit.remove(door))?;
    let mut other = World::new();
    assert_eq!(kind(history.clear(&mut other)), ErrorKind::WrongTarget);
    assert!(world.is_parked(door));
    // What another world does not know falls out at the next edit of its own.
    history.edit(&mut world, "", |edit| edit.spawn("Wall"))?;
    history.set_capacity(&mut other, Some(1));
    history.set_capacity(&mut other, Capacity { bytes: Some(1), ..Capacity::default() });
    assert_eq!(history.entries().len(), 2);
    history.edit(&mut world, "", |edit| edit.spawn("Wall"))?;
    assert_eq!(history.entries().len(), 1);
    assert!(!world.is_parked(door));
    history.clear(&mut world)?;
    Ok(())
}

/// Puts another world in place of its own.
struct Swap(World);

impl Command for Swap {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        std::mem::swap(edit.target(), &mut self.0);
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        std::mem::swap(world, &mut self.0);
        Ok(())
    }
}

#[test]
fn a_transaction_whose_world_was_put_away_stays_open() -> Result<()> {
    let (mut world, mut history) = empty();
    history.begin("Build")?;
    history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
    history.apply(&mut world, Swap(World::new()))?;
    let edited = history.edit(&mut world, "", |edit| edit.spawn("Wall"));
    assert_eq!(kind(edited), ErrorKind::WrongTarget);
    assert!(world.objects().len() == 0);
    assert_eq!(kind(history.rollback(&mut world)), ErrorKind::WrongTarget);
    Ok(())
}
