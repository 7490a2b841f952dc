//! Long sessions: entries that there is no memory for are in files.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::fs;
use std::path::{Path, PathBuf};

use persist::history::{CommandContext, End};
use persist::{
    Command, Component, ErrorKind, History, ObjectId, Persist, Result, SaveManager, Session, World,
};

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Place {
    x: u64,
    text: String,
}

impl Component for Place {}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A world with an object, and a history that has this much memory.
fn door(folder: &Path, bytes: usize) -> Result<(World, History, ObjectId)> {
    let (mut world, mut history) = (World::new(), History::unlimited());
    history.spill_to(folder.join("spill"), bytes);
    let door = history.edit(&mut world, "Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, Place::default())?;
        Ok(door)
    })?;
    Ok((world, history, door))
}

#[test]
fn undoing_100_000_steps_ends_at_the_start_with_bounded_memory() -> Result<()> {
    const STEPS: u64 = 100_000;
    const MEMORY: usize = 200_000;
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut history, door) = door(folder.path(), MEMORY)?;
    history.set_proof(persist::history::Proof::Off);
    let empty = history.bytes() / history.len();
    let mut most = 0;
    let mut look = |history: &History| {
        most = most.max(history.bytes().saturating_sub(empty.min(300) * history.len()));
    };
    for step in 1..=STEPS {
        history.set_barrier();
        history.set(&mut world, door, "Place:x", step)?;
        look(&history);
    }
    assert!(!files(folder.path()).is_empty());
    for step in (0..STEPS).rev() {
        assert!(history.undo(&mut world)?);
        look(&history);
        if step % 1000 == 0 {
            assert_eq!(world.get::<Place>(door).unwrap().x, step);
        }
    }
    assert!(history.undo(&mut world)?);
    assert!(world.is_empty() && !history.undo(&mut world)?);
    for _ in 0..=STEPS / 10 {
        assert!(history.redo(&mut world)?);
        look(&history);
    }
    assert_eq!(world.get::<Place>(door).unwrap().x, STEPS / 10);
    assert!(most < 2 * MEMORY, "{most} bytes of steps were in memory");
    drop(history);
    assert!(files(folder.path()).is_empty(), "the files end with the history");
    Ok(())
}

#[test]
fn entries_come_back_as_they_were_with_their_labels() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut spilled, door) = door(folder.path(), 2_000)?;
    let (mut twin_world, mut twin) = (World::new(), History::unlimited());
    let twin_door = twin.edit(&mut twin_world, "Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, Place::default())?;
        Ok(door)
    })?;
    assert_eq!(door, twin_door);
    let list = |history: &History| -> Vec<(String, u64, bool)> {
        let entries = history.entries();
        entries.map(|entry| (entry.label.to_string(), entry.state, entry.is_applied)).collect()
    };
    for (step, number) in (0..300_usize).zip(0_u64..) {
        for (history, world) in [(&mut spilled, &mut world), (&mut twin, &mut twin_world)] {
            history.set_barrier();
            match step % 5 {
                0 => drop(history.set(world, door, "Place:text", "x".repeat(step))?),
                1 => history.edit(world, "Call", |edit| {
                    edit.rename(door, &format!("Door {step}")).map(drop)
                })?,
                2 => drop(history.edit(world, "", |edit| edit.spawn_in(door, "Part"))?),
                3 => history.edit(world, "Delete", |edit| match edit.children(door).first() {
                    Some(part) => edit.remove(*part),
                    None => Ok(()),
                })?,
                _ => history.edit(world, "Both", |edit| {
                    edit.get_mut::<Place>(door)?.x = number;
                    edit.set(door, "Place:text", "y").map(drop)
                })?,
            }
        }
        if step % 37 == 36 {
            let to = (step * 7) % spilled.len();
            spilled.go_to(&mut world, to)?;
            twin.go_to(&mut twin_world, to)?;
        }
        assert_eq!(list(&spilled), list(&twin));
        assert_eq!(spilled.undo_text(), twin.undo_text());
        assert_eq!(world.get::<Place>(door), twin_world.get::<Place>(door));
        assert_eq!(world.children(door), twin_world.children(door));
        assert_eq!(world.name(door), twin_world.name(door));
    }
    assert!(files(folder.path()).len() > 1);
    Ok(())
}

#[test]
fn a_file_that_cannot_be_read_ends_undo_there_with_a_reason() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut history, door) = door(folder.path(), 2_000)?;
    for step in 1..200_u64 {
        history.set_barrier();
        history.set(&mut world, door, "Place:x", step)?;
    }
    let kept: Vec<(PathBuf, Vec<u8>)> = files(folder.path())
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    for (path, bytes) in &kept {
        let mut bytes = bytes.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    let error = loop {
        match history.undo(&mut world) {
            Ok(is_done) => assert!(is_done),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(history.poison().is_none() && !history.can_undo() && history.can_redo());
    assert!(history.lost().unwrap().contains("spill"), "{:?}", history.lost());
    let (position, x) = (history.position(), world.get::<Place>(door).unwrap().x);
    assert_eq!(x + 1, position as u64);

    for (path, bytes) in kept {
        fs::write(path, bytes).unwrap();
    }
    history.retry_spilled();
    history.go_to(&mut world, 0)?;
    assert!(world.is_empty());
    Ok(())
}

#[test]
fn a_disk_that_takes_no_files_leaves_the_entries_in_memory() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut history, door) = door(&folder.path().join("missing"), 2_000)?;
    for step in 1..200_u64 {
        history.set_barrier();
        history.set(&mut world, door, "Place:x", step)?;
    }
    history.go_to(&mut world, 0)?;
    assert!(world.is_empty());
    Ok(())
}

#[derive(Persist)]
struct Add {
    number: u64,
}

impl Command<Vec<u64>> for Add {
    fn apply(&mut self, context: &mut CommandContext<'_, Vec<u64>>) -> Result<()> {
        context.target().push(self.number);
        Ok(())
    }

    fn undo(&mut self, numbers: &mut Vec<u64>) -> Result<()> {
        numbers.pop();
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        100
    }

    fn finalize(&mut self, numbers: &mut Vec<u64>, end: End) {
        // The list that it was told of is not in the file.
        numbers.push(1000 + self.number + u64::from(end == End::Undone) * 1000);
    }
}

#[test]
fn commands_that_are_dropped_while_they_are_in_a_file_end_as_well() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut numbers, mut history) = (Vec::new(), History::unlimited());
    history.register::<Add>()?;
    history.spill_to(folder.path().join("spill"), 1_000);
    for number in 0..50 {
        history.apply(&mut numbers, Add { number })?;
    }
    assert!(!files(folder.path()).is_empty());
    history.set_capacity(&mut numbers, Some(40));
    let mut ended = numbers.split_off(50);
    ended.sort_unstable();
    assert_eq!(ended, (1000..1010).collect::<Vec<u64>>());

    history.go_to(&mut numbers, 0)?;
    history.apply(&mut numbers, Add { number: 99 })?;
    let mut ended: Vec<u64> = numbers.iter().copied().filter(|number| *number >= 1000).collect();
    ended.sort_unstable();
    assert_eq!(ended, (2010..2050).collect::<Vec<u64>>());
    assert!(files(folder.path()).is_empty());
    Ok(())
}

#[test]
fn a_session_with_little_memory_saves_and_recovers_all_entries() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let open = || {
        let mut saves = SaveManager::new();
        saves.register_component::<Place>()?;
        let session = Session::<World>::with(saves, History::unlimited()).memory(2_000);
        Ok::<_, persist::Error>(session.open(path("level.sav"), path("level.journal"))?.0)
    };
    let mut session = open()?;
    let door = session.edit("Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, Place::default())?;
        Ok(door)
    })?;
    for step in 1..=300_u64 {
        session.set_barrier();
        session.set(door, "Place:x", step)?;
        if step == 150 {
            session.save()?;
        }
    }
    let left = folder.path().join("level.journal.spill.77");
    drop(session);
    fs::write(&left, "of a process that was killed").unwrap();
    let mut session = open()?;
    assert!(!left.exists());
    assert_eq!((session.history().len(), session.history().saved_position()), (301, Some(151)));
    assert!(files(folder.path()).len() > 2, "{:?}", files(folder.path()));
    session.go_to(0)?;
    assert!(session.target().is_empty());

    let kept: Vec<_> = files(folder.path())
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("spill"))
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    kept.iter().for_each(|(path, _)| fs::write(path, "damaged").unwrap());
    assert!(session.go_to(301).is_err());
    assert!(session.lost().is_some() && !session.can_redo());
    kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    session.retry_spilled();
    session.go_to(301)?;
    assert_eq!(session.lost(), None);
    Ok(())
}

#[test]
fn what_falls_out_is_not_read_back_where_nothing_ends_with_it() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut history, door) = door(folder.path(), 10_000)?;
    let add = |world: &mut World, history: &mut History, steps: std::ops::Range<u64>| {
        steps.into_iter().try_for_each(|step| {
            history.set_barrier();
            history.set(world, door, "Place:x", step).map(drop)
        })
    };
    add(&mut world, &mut history, 1..1_000)?;
    history.set_capacity(&mut world, Some(999));
    // Nobody can read them any more.
    let spilled = files(folder.path());
    assert!(!spilled.is_empty());
    spilled.iter().for_each(|path| fs::write(path, b"something else").unwrap());
    let count = spilled.iter().filter(|path| path.exists()).count();
    add(&mut world, &mut history, 1_000..3_000)?;
    assert_eq!((history.len(), history.lost()), (999, None));
    // Those whose entries all fell out are gone.
    assert_eq!(spilled.iter().filter(|path| path.exists()).count(), 0, "of {count}");
    for _ in 0..998 {
        assert!(history.undo(&mut world)?);
    }
    assert_eq!(world.get::<Place>(door).map(|place| place.x), Some(2_001));
    Ok(())
}

#[test]
fn a_large_budget_goes_to_many_files_of_a_bounded_size() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut history, door) = door(folder.path(), 1_000_000)?;
    for step in 0..200_u64 {
        history.set_barrier();
        history.set(&mut world, door, "Place:text", "x".repeat(10_000) + &step.to_string())?;
    }
    let sizes: Vec<u64> =
        files(folder.path()).iter().map(|path| fs::metadata(path).unwrap().len()).collect();
    assert!(sizes.len() > 10 && sizes.iter().all(|size| *size < 100_000), "{sizes:?}");
    while history.undo(&mut world)? {}
    assert!(world.is_empty());
    assert!(files(folder.path()).len() < 100);
    Ok(())
}
