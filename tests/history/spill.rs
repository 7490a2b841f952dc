//! Long sessions: entries that there is no memory for are in files.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use persist_tests::support::bytes;
use std::fs;
use std::path::{Path, PathBuf};

use persist::history::{Capacity, CommandEdit, Edit, FinalState, Flush, Proof};
use persist::{
    Command, Component, ErrorKind, History, ObjectId, Persist, Result, Saves, Session, World,
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
    files.retain(|path| path.to_string_lossy().contains("spill"));
    files.sort();
    files
}

/// A session of a world with an object, which has this much memory for entries.
fn door(folder: &Path, bytes: usize) -> Result<(Session, ObjectId)> {
    let saves = Saves::new();
    saves.register_component::<Place>()?;
    let mut history: History = History::new(None);
    history.set_proof(Proof::Off);
    let options = Session::with(saves, history).memory(bytes).flush(Flush::OnIdle);
    let (mut session, _) = options.open(folder.join("save"), folder.join("journal"))?;
    let door = session.edit("Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, Place::default())?;
        Ok(door)
    })?;
    Ok((session, door))
}

/// A number in more digits than lie in an entry: what does, no file would free.
fn long(number: u64) -> String {
    format!("{number:040}")
}

fn number(session: &Session, door: ObjectId) -> u64 {
    session.world().get::<Place>(door).unwrap().text.parse().unwrap_or(0)
}

#[test]
fn undoing_100_000_steps_ends_at_the_start_with_bounded_memory() -> Result<()> {
    const STEPS: u64 = 100_000;
    const MEMORY: usize = 200_000;
    let folder = tempfile::tempdir().unwrap();
    let (mut session, door) = door(folder.path(), MEMORY)?;
    let empty = bytes(session.history());
    let mut most = 0;
    let mut look = |history: &History| {
        // All entries are looked at, and the labels of most are read from files.
        if history.position() % 10_000 != 0 {
            return;
        }
        most = most.max(bytes(history).saturating_sub(empty.min(300) * history.entries().len()));
    };
    let x = |session: &Session| number(session, door);
    for step in 1..=STEPS {
        session.set(door, "Place:text", long(step))?;
        look(session.history());
    }
    assert!(!files(folder.path()).is_empty());
    for step in (0..STEPS).rev() {
        assert!(session.undo()?);
        look(session.history());
        if step % 1000 == 0 {
            assert_eq!(x(&session), step);
        }
    }
    assert!(session.undo()?);
    assert!(session.world().objects().len() == 0 && !session.undo()?);
    for _ in 0..=STEPS / 10 {
        assert!(session.redo()?);
        look(session.history());
    }
    assert_eq!(x(&session), STEPS / 10);
    assert!(most < 2 * MEMORY, "{most} bytes of steps were in memory");
    drop(session);
    assert!(files(folder.path()).is_empty(), "the files end with the session");
    Ok(())
}

#[test]
fn entries_come_back_as_they_were_with_their_labels() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut spilled, door) = door(folder.path(), 2_000)?;
    let (mut twin_world, mut twin) = (World::new(), History::new(None));
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
        let label = ["", "Call", "", "Delete", "Both"][step % 5];
        let act = |edit: &mut Edit<'_>| match step % 5 {
            0 => edit.set(door, "Place:text", "x".repeat(step)).map(drop),
            1 => edit.rename(door, &format!("Door {step}")).map(drop),
            2 => edit.spawn_in(door, "Part").map(drop),
            3 => match edit.children(door).first().copied() {
                Some(part) => edit.remove(part),
                None => Ok(()),
            },
            _ => {
                edit.get_mut::<Place>(door)?.x = number;
                edit.set(door, "Place:text", "y").map(drop)
            }
        };
        spilled.edit(label, act)?;
        twin.edit(&mut twin_world, label, act)?;
        if step % 37 == 36 {
            let to = (step * 7) % twin.entries().len();
            spilled.go_to(to)?;
            twin.go_to(&mut twin_world, to)?;
        }
        assert_eq!(list(spilled.history()), list(&twin));
        assert_eq!(spilled.history().undo_text(), twin.undo_text());
        let world = spilled.world();
        assert_eq!(world.get::<Place>(door), twin_world.get::<Place>(door));
        assert_eq!(world.children(door), twin_world.children(door));
        assert_eq!(world.name(door), twin_world.name(door));
    }
    assert!(!files(folder.path()).is_empty());
    Ok(())
}

#[test]
fn a_file_that_cannot_be_read_ends_undo_there_with_a_reason() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, door) = door(folder.path(), 2_000)?;
    for step in 1..200_u64 {
        session.set(door, "Place:text", long(step))?;
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
        match session.undo() {
            Ok(is_done) => assert!(is_done),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.message().contains("spill"), "{error}");
    assert!(session.history().poison().is_none() && session.history().can_redo());
    assert_eq!(session.undo().unwrap_err().to_string(), error.to_string());
    let x = number(&session, door);
    assert_eq!(x + 1, session.history().position() as u64);

    for (path, bytes) in kept {
        fs::write(path, bytes).unwrap();
    }
    session.go_to(0)?;
    assert!(session.world().objects().len() == 0);
    Ok(())
}

#[test]
fn a_disk_that_takes_no_files_leaves_the_entries_in_memory() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, door) = door(folder.path(), 2_000)?;
    for number in 0..200 {
        fs::create_dir(folder.path().join(format!("journal.spill.{number}"))).unwrap();
    }
    for step in 1..200_u64 {
        session.set(door, "Place:text", long(step))?;
    }
    session.go_to(0)?;
    assert!(session.world().objects().len() == 0);
    Ok(())
}

#[derive(Persist)]
struct Add {
    number: u64,
}

#[derive(Persist, Default)]
struct Numbers(Vec<u64>);

impl Command<Numbers> for Add {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Numbers>) -> Result<()> {
        edit.target().0.push(self.number);
        Ok(())
    }

    fn undo(&mut self, numbers: &mut Numbers) -> Result<()> {
        numbers.0.pop();
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        100
    }

    fn finalize(&mut self, numbers: &mut Numbers, end: FinalState) {
        // The list that it was told of is not in the file.
        numbers.0.push(1000 + self.number + u64::from(end == FinalState::Undone) * 1000);
    }
}

#[test]
fn commands_that_are_dropped_while_they_are_in_a_file_end_as_well() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = Session::<Numbers>::with(Saves::new(), History::new(None));
    let options = options.register_command::<Add>()?.memory(1_000);
    let (mut session, _) = options.flush(Flush::OnIdle).open(path("save"), path("journal"))?;
    for number in 0..50 {
        session.apply(Add { number })?;
    }
    assert!(!files(folder.path()).is_empty());
    session.set_capacity(Some(40));
    let mut ended = session.target().0[50..].to_vec();
    ended.sort_unstable();
    assert_eq!(ended, (1000..1010).collect::<Vec<u64>>());

    session.go_to(0)?;
    session.apply(Add { number: 99 })?;
    let all = session.target().0.iter();
    let mut ended: Vec<u64> = all.copied().filter(|number| *number >= 2000).collect();
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
        let saves = Saves::new();
        saves.register_component::<Place>()?;
        let session = Session::<World>::with(saves, History::new(None)).memory(2_000);
        Ok::<_, persist::Error>(session.open(path("level.sav"), path("level.journal"))?.0)
    };
    let mut session = open()?;
    let door = session.edit("Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, Place::default())?;
        Ok(door)
    })?;
    for step in 1..=300_u64 {
        session.set(door, "Place:text", long(step))?;
        if step == 150 {
            session.save()?;
        }
    }
    let left = folder.path().join("level.journal.spill.77");
    drop(session);
    fs::write(&left, "of a process that was killed").unwrap();
    let mut session = open()?;
    assert!(!left.exists());
    assert_eq!(
        (session.history().entries().len(), session.history().saved_position()),
        (301, Some(151))
    );
    assert!(!files(folder.path()).is_empty());
    session.go_to(0)?;
    assert!(session.target().objects().len() == 0);

    let kept: Vec<_> = files(folder.path())
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("spill"))
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    kept.iter().for_each(|(path, _)| fs::write(path, "damaged").unwrap());
    assert_eq!(session.go_to(301).unwrap_err().kind(), ErrorKind::Damaged);
    kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    session.go_to(301)?;
    Ok(())
}

#[test]
fn what_falls_out_is_not_read_back_where_nothing_ends_with_it() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, door) = door(folder.path(), 10_000)?;
    let add = |session: &mut Session, steps: std::ops::Range<u64>| {
        steps.into_iter().try_for_each(|step| session.set(door, "Place:text", long(step)).map(drop))
    };
    add(&mut session, 1..1_000)?;
    session.set_capacity(Some(999));
    // Nobody can read them any more.
    let spilled = files(folder.path());
    assert!(!spilled.is_empty());
    spilled.iter().for_each(|path| fs::write(path, b"something else").unwrap());
    let count = spilled.iter().filter(|path| path.exists()).count();
    add(&mut session, 1_000..3_000)?;
    assert_eq!(session.history().entries().len(), 999);
    // Those whose entries all fell out are gone.
    assert_eq!(spilled.iter().filter(|path| path.exists()).count(), 0, "of {count}");
    for _ in 0..998 {
        assert!(session.undo()?);
    }
    assert_eq!(number(&session, door), 2_001);
    Ok(())
}

#[test]
fn a_large_budget_goes_to_many_files_of_a_bounded_size() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, door) = door(folder.path(), 1_000_000)?;
    for step in 0..200_u64 {
        session.set(door, "Place:text", "x".repeat(10_000) + &step.to_string())?;
    }
    let sizes: Vec<u64> =
        files(folder.path()).iter().map(|path| fs::metadata(path).unwrap().len()).collect();
    assert!(sizes.len() > 10 && sizes.iter().all(|size| *size < 100_000), "{sizes:?}");
    while session.undo()? {}
    assert!(session.world().objects().len() == 0);
    assert!(files(folder.path()).len() < 100);
    Ok(())
}

#[test]
fn entries_in_files_count_in_a_limit_of_bytes_so_that_the_next_session_has_the_same() -> Result<()>
{
    let folder = tempfile::tempdir().unwrap();
    let open = |memory| -> Result<Session<World>> {
        let saves = Saves::new();
        saves.register_component::<Place>()?;
        let mut history: History = History::new(Capacity { entries: None, bytes: Some(20_000) });
        history.set_proof(Proof::Off);
        let options = Session::with(saves, history).memory(memory).flush(Flush::OnIdle);
        Ok(options.open(folder.path().join("save"), folder.path().join("journal"))?.0)
    };
    let labels = |session: &Session| -> Vec<String> {
        session.history().entries().map(|entry| entry.label.to_string()).collect()
    };
    let mut session = open(1_000)?;
    let door = session.edit("Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, Place::default())?;
        Ok(door)
    })?;
    for step in 0..300_u64 {
        session.edit(format!("Write {step}"), |edit| {
            edit.set(door, "Place:text", long(step).repeat(4)).map(drop)
        })?;
    }
    assert!(!files(folder.path()).is_empty());
    let before = labels(&session);
    assert!(before.len() < 100, "{} entries take 20 kB", before.len());
    drop(session);
    for memory in [1_000, usize::MAX] {
        let mut session = open(memory)?;
        assert_eq!(labels(&session), before);
        while session.undo()? {}
        while session.redo()? {}
    }
    Ok(())
}

/// Small sets take no memory besides the list itself, so the list has to leave it.
#[test]
fn small_edits_leave_memory_as_well_and_all_that_can_be_seen_of_them_stays() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, door) = door(folder.path(), 10_000)?;
    let (mut twin_world, mut twin) = (World::new(), History::new(None));
    twin.set_proof(Proof::Off);
    let twin_door = twin.edit(&mut twin_world, "Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, Place::default())?;
        Ok(door)
    })?;
    let list = |history: &History| -> Vec<(String, u64, bool, bool)> {
        let entries = history.entries();
        let seen = |entry: persist::history::HistoryEntry| {
            (entry.label.to_string(), entry.state, entry.is_applied, entry.is_saved)
        };
        entries.map(seen).collect()
    };
    for number in 1..=5_000_u64 {
        session.set(door, "Place:x", number)?;
        twin.set(&mut twin_world, twin_door, "Place:x", number)?;
        if number == 2_345 {
            session.set_modified(false)?;
            twin.set_modified(false)?;
        }
    }
    let in_memory = |history: &History| history.entries().map(|entry| entry.bytes).sum::<usize>();
    assert!(in_memory(session.history()) < 12_000, "{}", in_memory(session.history()));
    let count = files(folder.path()).len();
    assert!((1..40).contains(&count), "{count} files");
    assert_eq!(session.history().saved_position(), Some(2_346));
    assert_eq!(list(session.history()), list(&twin));
    for position in [4_990, 100, 3_000, 0, 1, 5_001, 2_500] {
        session.go_to(position)?;
        twin.go_to(&mut twin_world, position)?;
        let history = session.history();
        assert_eq!(
            (history.undo_text(), history.redo_text()),
            (twin.undo_text(), twin.redo_text())
        );
        assert_eq!(list(history), list(&twin), "at {position}");
        assert!(in_memory(history) < 12_000, "{} at {position}", in_memory(history));
        let x = |world: &World| world.get::<Place>(door).map(|place| place.x);
        assert_eq!(x(session.world()), x(&twin_world));
    }
    // Those that could be redone fall out, and the oldest.
    session.set(door, "Place:x", 9_u64)?;
    twin.set(&mut twin_world, twin_door, "Place:x", 9_u64)?;
    session.set_capacity(Some(2_000));
    twin.set_capacity(&mut twin_world, Some(2_000));
    assert_eq!(list(session.history()), list(&twin));
    session.save()?;
    drop(session);
    let saves = Saves::new();
    saves.register_component::<Place>()?;
    let options = Session::<World>::with(saves, History::new(None)).memory(10_000);
    let (mut session, _) =
        options.open(folder.path().join("save"), folder.path().join("journal"))?;
    let labels = |history: &History| -> Vec<String> {
        history.entries().map(|entry| entry.label.to_string()).collect()
    };
    assert_eq!(labels(session.history()), labels(&twin));
    assert!(in_memory(session.history()) < 12_000);
    while session.undo()? {}
    while twin.undo(&mut twin_world)? {}
    assert_eq!(number_x(&session, door), twin_world.get::<Place>(door).map(|place| place.x));
    Ok(())
}

fn number_x(session: &Session, door: ObjectId) -> Option<u64> {
    session.world().get::<Place>(door).map(|place| place.x)
}

/// Files that are lost lose the undos of their entries alone: the program steps over them, in both directions, and
/// goes on.
#[test]
fn entries_whose_files_are_lost_are_stepped_over() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, door) = door(folder.path(), 2_000)?;
    for step in 1..=200_u64 {
        session.set(door, "Place:text", long(step))?;
    }
    let spilled = files(folder.path());
    let lost = &spilled[spilled.len() / 2];
    fs::write(lost, "of something else").unwrap();
    let len = session.history().entries().len();
    let listed = |history: &History| history.entries().filter(|entry| entry.index < len).count();
    let mut skipped = 0;
    while session.history().can_undo() {
        match session.undo() {
            Ok(is_done) => assert!(is_done),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Damaged);
                assert_eq!(session.history().undo_text(), "Undo");
                session.skip_entry()?;
                skipped += 1;
            }
        }
        assert_eq!(listed(session.history()), len);
    }
    assert!(skipped > 0 && skipped < 200, "{skipped}");
    assert_eq!(session.history().position(), 0);
    let mut redone = 0;
    while session.history().can_redo() {
        match session.redo() {
            Ok(is_done) => redone += usize::from(is_done),
            Err(error) if error.kind() == ErrorKind::Damaged => session.skip_entry()?,
            // The object that the lost entries would have changed has another text.
            Err(error) => return Err(error),
        }
    }
    assert_eq!((session.history().position(), redone + skipped), (len, len));
    session.set(door, "Place:text", long(300))?;
    assert_eq!(number(&session, door), 300);
    assert!(session.undo()?);
    assert_eq!(number(&session, door), 200);

    // An edit may follow an entry that is lost.
    session.go_to(0).or_else(|_| session.skip_entry())?;
    while session.history().can_undo() {
        session.undo().map(drop).or_else(|_| session.skip_entry())?;
    }
    files(folder.path()).iter().for_each(|path| fs::write(path, "lost").unwrap());
    while session.history().can_redo() {
        session.redo().map(drop).or_else(|_| session.skip_entry())?;
    }
    assert_eq!(session.history().undo_text(), "Undo");
    let position = session.history().position();
    let lamp = session.edit("Add lamp", |edit| edit.spawn("Lamp"))?;
    assert_eq!(session.history().position(), position + 1);
    assert!(session.undo()? && session.world().name(lamp).is_none());
    assert!(session.redo()? && session.world().name(lamp) == Some("Lamp"));
    assert_eq!(session.history().entries().last().unwrap().label.to_string(), "Add lamp");
    Ok(())
}
