//! How many edits a second go into a journal, by when it waits for the disk, and how long a million of them take to come back.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use persist::history::{Flush, Proof};
use persist::{
    Component, FieldPath, History, ObjectId, Persist, Result, SaveManager, Session, field,
};

const OBJECTS: usize = 1_000;

/// Each flush is measured for about this long.
const TIME: Duration = Duration::from_secs(2);

#[derive(Persist)]
struct Transform {
    x: f32,
    y: f32,
    z: f32,
}

impl Component for Transform {}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    // In a folder of the user's: that for temporary files may be memory.
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "target/journal".into()));
    let entries = arguments.next().and_then(|entries| entries.parse().ok()).unwrap_or(1_000_000);
    std::fs::create_dir_all(&folder).expect("the folder can be made");

    println!("| journal | edits a second | bytes of an edit |\n|---|---|---|");
    let policies = [
        ("`Flush::EveryEdit`", Some(Flush::EveryEdit)),
        ("`Flush::Every(100 ms)`", Some(Flush::Every(Duration::from_millis(100)))),
        ("`Flush::OnIdle`", Some(Flush::OnIdle)),
        ("no session", None),
    ];
    for (name, flush) in policies {
        let (rate, bytes) = match flush {
            Some(flush) => appended(&folder, flush)?,
            None => unrecorded()?,
        };
        println!("| {name} | {rate:.0} | {bytes:.1} |");
    }
    let (written, flushed) = floor(&folder);
    println!("| a `File`, one `write` of 50 bytes each | {written:.0} | |");
    println!("| and `sync_data` behind each | {flushed:.0} | |");
    println!();
    recovered(&folder, entries)?;
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    Ok(())
}

fn files(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("level.sav"), folder.join("level.journal"))
}

fn open(folder: &Path, flush: Flush) -> Result<Session> {
    let mut saves = SaveManager::new();
    saves.register_component::<Transform>()?;
    let mut history = History::unlimited();
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
fn appended(folder: &Path, flush: Flush) -> Result<(f64, f64)> {
    let (mut session, objects) = begin(folder, flush)?;
    let (path, before, start) = (field!(Transform.x), journal_size(folder), Instant::now());
    let mut count = 0;
    while count % 64 != 0 || start.elapsed() < TIME {
        set(&mut session, &objects, &path, count)?;
        count += 1;
    }
    session.flush()?;
    let rate = count as f64 / start.elapsed().as_secs_f64();
    Ok((rate, (journal_size(folder) - before) as f64 / count as f64))
}

fn set(session: &mut Session, objects: &[ObjectId], path: &FieldPath, n: usize) -> Result<()> {
    session.set(objects[n % OBJECTS], path, n as f32).map(drop)
}

/// The same without a journal.
fn unrecorded() -> Result<(f64, f64)> {
    let (mut world, mut history) = (persist::World::new(), History::unlimited());
    history.set_proof(Proof::Off);
    let mut objects = Vec::new();
    for _ in 0..OBJECTS {
        let object = world.spawn("Object");
        world.attach(object, Transform { x: -1.0, y: 0.0, z: 0.0 })?;
        objects.push(object);
    }
    let (path, start, mut count) = (field!(Transform.x), Instant::now(), 0);
    while count % 64 != 0 || start.elapsed() < TIME {
        history.set(&mut world, objects[count % OBJECTS], &path, count as f32)?;
        count += 1;
    }
    Ok((count as f64 / start.elapsed().as_secs_f64(), 0.0))
}

/// Writes a second that a file takes, and those of them that last.
fn floor(folder: &Path) -> (f64, f64) {
    let path = folder.join("floor");
    let rate = |is_flushed: bool| {
        let mut file = File::create(&path).expect("a file");
        let (start, mut count) = (Instant::now(), 0);
        while count % 64 != 0 || start.elapsed() < TIME {
            file.write_all(&[7; 50]).expect("room");
            if is_flushed {
                file.sync_data().expect("a disk");
            }
            count += 1;
        }
        f64::from(count) / start.elapsed().as_secs_f64()
    };
    (rate(false), rate(true))
}

/// The position, and where all objects are.
fn state(session: &Session, objects: &[ObjectId]) -> (usize, Vec<Option<f32>>) {
    let x = |id: &ObjectId| session.world().get::<Transform>(*id).map(|transform| transform.x);
    (session.position(), objects.iter().map(x).collect())
}

/// Edits that many times, and opens the session anew.
fn recovered(folder: &Path, entries: usize) -> Result<()> {
    let (mut session, objects) = begin(folder, Flush::OnIdle)?;
    let path = field!(Transform.x);
    for n in 0..entries {
        set(&mut session, &objects, &path, n)?;
    }
    let before = state(&session, &objects);
    session.flush()?;
    drop(session);
    let size = journal_size(folder);
    let start = Instant::now();
    let mut session = open(folder, Flush::OnIdle)?;
    let replayed = start.elapsed();
    assert_eq!(state(&session, &objects), before);
    // A save begins a journal with the entries themselves.
    let start = Instant::now();
    session.save()?;
    let saved = start.elapsed();
    drop(session);
    let new_size = journal_size(folder);
    let start = Instant::now();
    let session = open(folder, Flush::OnIdle)?;
    let restored = start.elapsed();
    assert_eq!(state(&session, &objects), before);
    let row = |what: &str, time: Duration, size: u64| {
        let (seconds, each) = (time.as_secs_f64(), time.as_secs_f64() * 1e9 / entries as f64);
        println!("| {what} | {seconds:.2} | {each:.0} | {:.1} |", size as f64 / entries as f64);
    };
    println!("| {entries} entries | s | ns each | bytes each |\n|---|---|---|---|");
    row("recovery, each done again", replayed, size);
    row("save of the session", saved, new_size);
    row("recovery behind the save", restored, new_size);
    Ok(())
}
