//! What a program does with a storage, on any host: the same on the disk, in memory, and in a browser's page.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use persist::history::Flush;
use persist::save::SaveOutcome;
use persist::storage::Storage;
use persist::{Component, History, Persist, SaveManager, SaveOptions, Session, World, field};

use super::shared;

#[derive(Persist, Clone, Debug, PartialEq)]
struct Game {
    level: u32,
    tiles: Vec<u8>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Position {
    x: f32,
    y: f32,
}

impl Component for Position {}

fn game(level: u32) -> Game {
    Game { level, tiles: vec![3; 5_000] }
}

/// Everything, in an empty folder.
///
/// # Panics
///
/// If a storage does not do what its trait says, or a program does not find what it has saved.
pub fn check<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    files(storage, folder);
    saves(storage, folder);
    background(storage, folder);
    slots(storage, folder);
    damage(storage, folder);
    sessions(storage, folder);
    let left = storage.list(folder).unwrap();
    assert!(left.iter().all(|name| name.extension().is_none_or(|end| end != "lock")), "{left:?}");
}

fn manager<S: Storage + Clone + 'static>(storage: &S) -> SaveManager {
    let mut saves = SaveManager::new();
    saves.set_storage(storage.clone());
    saves.set_save_options(SaveOptions { wait: Duration::ZERO, ..SaveOptions::default() });
    saves
}

fn read(storage: &impl Storage, path: &Path) -> Vec<u8> {
    let (mut file, mut bytes) = (storage.open(path).unwrap(), Vec::new());
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

fn write(storage: &impl Storage, path: &Path, bytes: &[u8]) {
    let mut file = storage.create(path, path).unwrap();
    file.write_all(bytes).unwrap();
    file.sync().unwrap();
}

/// The calls of the trait, one by one.
fn files(storage: &impl Storage, folder: &Path) {
    let (one, two) = (folder.join("one"), folder.join("two"));
    let missing = |error: io::Error| assert_eq!(error.kind(), io::ErrorKind::NotFound);
    storage.open(&one).map(drop).map_err(missing).unwrap_err();
    storage.remove(&one).map_err(missing).unwrap_err();

    write(storage, &one, b"0123456789");
    let taken = storage.create(&one, &one).map(drop).unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    let mut file = storage.open(&one).unwrap();
    file.seek(SeekFrom::End(-3)).unwrap();
    let mut last = [0; 3];
    file.read_exact(&mut last).unwrap();
    assert_eq!(&last, b"789");
    drop(file);

    match storage.append(&one, 4) {
        Ok(mut file) => {
            file.write_all(b"abc").unwrap();
            file.sync().unwrap();
            drop(file);
            assert_eq!(read(storage, &one), b"0123abc");
            storage.append(&one, 100).map(drop).unwrap_err();
        }
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
    }

    write(storage, &two, b"two");
    storage.rename(&two, &one).unwrap();
    assert_eq!(read(storage, &one), b"two");
    storage.open(&two).map(drop).map_err(missing).unwrap_err();
    match storage.link(&one, &two) {
        Ok(()) => {
            assert_eq!(read(storage, &two), b"two");
            storage.link(&one, &two).unwrap_err();
            storage.remove(&two).unwrap();
        }
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
    }
    storage.sync_folder(folder).unwrap();
    assert_eq!(storage.list(folder).unwrap(), [Path::new("one")]);

    let lock = storage.lock(&two).unwrap().expect("nobody has it");
    assert!(storage.lock(&two).unwrap().is_none(), "two have one lock");
    drop(lock);
    drop(storage.lock(&two).unwrap().expect("it was given back"));
    storage.remove(&one).unwrap();
    assert!(storage.list(folder).unwrap().is_empty());
}

/// Values and graphs, with their backups.
fn saves<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let path = folder.join("game.sav");
    let mut saves = manager(storage);
    for level in 1..=3 {
        assert_eq!(saves.save_value(&path, &game(level)).unwrap(), SaveOutcome::Saved);
    }
    assert_eq!(manager(storage).load_value::<Game>(&path).unwrap().0, game(3));
    assert!(storage.list(folder).unwrap().contains(&"game.sav.bak".into()));

    let (mut saves, path) = (manager(storage), folder.join("graph.sav"));
    let target = shared(7_u32);
    let holder = shared(vec![Rc::clone(&target), target]);
    saves.add(&holder).unwrap();
    saves.save(&path).unwrap();
    let loaded = saves.load(&path).unwrap();
    let holder = loaded.first::<Vec<super::Shared<u32>>>().unwrap();
    assert!(Rc::ptr_eq(&holder.borrow()[0], &holder.borrow()[1]));
}

/// Where there are no threads, a save in the background is done when the call returns.
fn background<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let path = folder.join("background.sav");
    let mut saves = manager(storage);
    let save = saves.save_value_in_background(&path, &game(4)).unwrap();
    assert_eq!(save.wait().unwrap(), SaveOutcome::Saved);
    drop(saves.save_value_in_background(&path, &game(5)).unwrap());
    saves.wait_for_saves().unwrap();
    assert_eq!(saves.load_value::<Game>(&path).unwrap().0, game(5));
}

fn slots<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let (mut saves, level) = (manager(storage), shared(1_u32));
    saves.add(&level).unwrap();
    let mut slots = saves.slots(folder);
    slots.save("Ada").unwrap();
    slots.save("quick").unwrap();
    assert_eq!(slots.auto_save(2).unwrap().0, "auto1");
    slots.copy("Ada", "Bob").unwrap();
    slots.rename("Bob", "Cid").unwrap();
    slots.delete("Ada").unwrap();
    let names: Vec<_> = slots.list().unwrap().into_iter().map(|slot| slot.name).collect();
    for name in ["Cid", "quick", "auto1"] {
        assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
    }
    assert!(!names.iter().any(|name| name == "Ada" || name == "Bob"));
    assert_eq!(*slots.load("Cid").unwrap().first::<u32>().unwrap().borrow(), 1);
}

/// A save that is damaged: its backup is loaded.
fn damage<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let path = folder.join("game.sav");
    let mut bytes = read(storage, &path);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    storage.remove(&path).unwrap();
    write(storage, &path, &bytes);
    let (found, loaded) = manager(storage).load_value::<Game>(&path).unwrap();
    assert_eq!(found, game(2));
    assert!(loaded.report().recovery().is_some());
}

/// A session that ends in the middle, and one that finds its edits and their undo.
fn sessions<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let (save, journal) = (folder.join("world.sav"), folder.join("world.journal"));
    let open = |flush| {
        let mut history = History::<World>::new(100);
        history.set_merge_window(Some(Duration::from_secs(3_600)));
        let mut saves = manager(storage);
        saves.register_component::<Position>().unwrap();
        Session::with(saves, history).flush(flush).open(&save, &journal).unwrap()
    };
    let door = {
        let (mut session, _) = open(Flush::Every(Duration::from_secs(3_600)));
        let spawned = session.edit("Add door", |edit| {
            let door = edit.spawn("Door")?;
            edit.attach(door, Position { x: 0.0, y: 0.0 })?;
            Ok(door)
        });
        let door = spawned.unwrap();
        session.save().unwrap();
        session.set(door, field!(Position.x), 5.0_f32).unwrap();
        session.set(door, field!(Position.y), 6.0_f32).unwrap();
        session.tick().unwrap();
        door
    };
    let (mut session, _) = open(Flush::EveryEdit);
    assert_eq!(session.target().get::<Position>(door), Some(&Position { x: 5.0, y: 6.0 }));
    while session.undo().unwrap() {}
    assert!(!session.target().contains(door));
    while session.redo().unwrap() {}
    session.save().unwrap();
    session.flush().unwrap();
    drop(session);
    assert_eq!(manager(storage).load_value::<World>(&save).unwrap().0.objects().len(), 1);
}
