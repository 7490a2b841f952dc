//! Edits a second in a journal for each flush policy, and the time to recover a million of them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use persist::history::{Flush, Proof};
use persist::{Component, FieldPath, History, ObjectId, Persist, Result, Saves, Session, field};

use crate::report::Role;
use crate::run::Run;

const OBJECTS: usize = 1_000;

#[derive(Persist)]
struct Transform {
    x: f32,
    y: f32,
    z: f32,
}

impl Component for Transform {}

/// Measures edits by when they are flushed, and the recovery of a long journal.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    measure(run).map_err(|error| error.to_string())
}

fn measure(run: &mut Run) -> Result<()> {
    let folder = run.folder();
    // Each flush is measured for about this long.
    let (time, entries) = match run.is_quick() {
        true => (Duration::from_millis(100), 20_000),
        false => (Duration::from_secs(2), 1_000_000),
    };
    run.one_round();
    let policies = [
        ("`Flush::EveryEdit`", Flush::EveryEdit),
        ("`Flush::Every(100 ms)`", Flush::Every(Duration::from_millis(100))),
        ("`Flush::OnIdle`", Flush::OnIdle),
    ];
    let rate = |run: &mut Run, name, role, rate| {
        run.exact("edits a second", name, "edits", role, rate);
    };
    for (name, flush) in policies {
        let (edits, bytes) = appended(&folder, flush, time)?;
        rate(run, name, Role::Ours, edits);
        run.exact("bytes of an edit", name, "edits", Role::Ours, bytes);
    }
    rate(run, "no session", Role::Ours, unrecorded(time)?);
    rate(run, "a `File`, one `write` of 50 bytes each", Role::Floor, floor(&folder, false, time));
    rate(run, "and `sync_data` after each", Role::Floor, floor(&folder, true, time));
    recovered(run, &folder, entries)?;
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    Ok(())
}

fn files(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("level.sav"), folder.join("level.journal"))
}

fn open(folder: &Path, flush: Flush) -> Result<Session> {
    let saves = Saves::new();
    saves.register_component::<Transform>()?;
    let mut history = History::new(None);
    history.set_proof(Proof::Off);
    let (save, journal) = files(folder);
    let (session, recovered) = Session::with(saves, history).flush(flush).open(save, journal)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    Ok(session)
}

/// A session with objects that are in its save.
fn begin(folder: &Path, flush: Flush) -> Result<(Session, Vec<ObjectId>)> {
    for entry in std::fs::read_dir(folder).expect("it is there") {
        std::fs::remove_file(entry.expect("it is there").path()).expect("it can be removed");
    }
    let mut session = open(folder, flush)?;
    let objects = session.edit("Begin", |edit| {
        let transform = || Transform { x: -1.0, y: 0.0, z: 0.0 };
        let object =
            |_| edit.spawn("Object").and_then(|id| edit.attach(id, transform()).map(|()| id));
        (0..OBJECTS).map(object).collect::<Result<Vec<_>>>()
    })?;
    session.save()?;
    Ok((session, objects))
}

fn journal_size(folder: &Path) -> u64 {
    std::fs::metadata(files(folder).1).expect("the journal is there").len()
}

/// Edits a second, and bytes of each.
fn appended(folder: &Path, flush: Flush, time: Duration) -> Result<(f64, f64)> {
    let (mut session, objects) = begin(folder, flush)?;
    let (path, original, start) = (field!(Transform.x), journal_size(folder), Instant::now());
    let mut count = 0;
    while count % 64 != 0 || start.elapsed() < time {
        set(&mut session, &objects, &path, count)?;
        count += 1;
    }
    session.flush()?;
    let rate = count as f64 / start.elapsed().as_secs_f64();
    Ok((rate, (journal_size(folder) - original) as f64 / count as f64))
}

fn set(session: &mut Session, objects: &[ObjectId], path: &FieldPath, n: usize) -> Result<()> {
    session.set(objects[n % OBJECTS], path, n as f32).map(drop)
}

/// The same without a journal.
fn unrecorded(time: Duration) -> Result<f64> {
    let (mut world, mut history) = (persist::World::new(), History::new(None));
    history.set_proof(Proof::Off);
    let mut objects = Vec::new();
    for _ in 0..OBJECTS {
        let object = world.spawn("Object");
        world.attach(object, Transform { x: -1.0, y: 0.0, z: 0.0 })?;
        objects.push(object);
    }
    let (path, start, mut count) = (field!(Transform.x), Instant::now(), 0);
    while count % 64 != 0 || start.elapsed() < time {
        history.set(&mut world, objects[count % OBJECTS], &path, count as f32)?;
        count += 1;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

/// Writes a second that a file takes, each of them flushed or not.
fn floor(folder: &Path, is_flushed: bool, time: Duration) -> f64 {
    let mut file = File::create(folder.join("floor")).expect("a file");
    let (start, mut count) = (Instant::now(), 0);
    while count % 64 != 0 || start.elapsed() < time {
        file.write_all(&[7; 50]).expect("room");
        if is_flushed {
            file.sync_data().expect("a disk");
        }
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

/// The position, and where all objects are.
fn state(session: &Session, objects: &[ObjectId]) -> (usize, Vec<Option<f32>>) {
    let x = |id: &ObjectId| session.world().get::<Transform>(*id).map(|transform| transform.x);
    (session.history().position(), objects.iter().map(x).collect())
}

/// Makes that many edits, and opens the session again.
fn recovered(run: &mut Run, folder: &Path, entries: usize) -> Result<()> {
    let (mut session, objects) = begin(folder, Flush::OnIdle)?;
    let path = field!(Transform.x);
    for n in 0..entries {
        set(&mut session, &objects, &path, n)?;
    }
    let original = state(&session, &objects);
    session.flush()?;
    drop(session);
    let size = journal_size(folder);
    let start = Instant::now();
    let mut session = open(folder, Flush::OnIdle)?;
    let replayed = start.elapsed();
    assert_eq!(state(&session, &objects), original);
    // A save begins a journal with the entries themselves.
    let start = Instant::now();
    session.save()?;
    let saved = start.elapsed();
    drop(session);
    let new_size = journal_size(folder);
    let start = Instant::now();
    let mut session = open(folder, Flush::OnIdle)?;
    let restored = start.elapsed();
    assert_eq!(state(&session, &objects), original);
    // The next one names the entries where they are.
    set(&mut session, &objects, &path, entries)?;
    let before = journal_size(folder);
    let start = Instant::now();
    session.save()?;
    let named = start.elapsed();
    let grown = journal_size(folder) - before;
    let mut row = |what: &str, time: Duration, size: u64| {
        let each = time.as_secs_f64() * 1e9 / entries as f64;
        run.exact("ns of an entry", what, "entries", Role::Ours, each);
        run.exact("bytes of an entry", what, "entries", Role::Ours, size as f64 / entries as f64);
    };
    row("recovery: each entry is replayed", replayed, size);
    row("save of the session, which begins a new journal", saved, new_size);
    row("recovery after that save: the entries are read", restored, new_size);
    row("save after one more edit, which names the entries", named, grown);
    Ok(())
}
