//! What a program does with a storage, on any host: the same on the disk, in memory, and in a browser's page.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use persist::history::Flush;
use persist::save::SaveOutcome;
use persist::storage::Storage;
use persist::{
    Component, History, Persist, SaveManager, SaveOptions, Saves, Session, World, field,
};

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

fn saves_in<S: Storage + Clone + 'static>(storage: &S) -> Saves {
    Saves::new().storage(storage.clone()).save_options(SaveOptions::new().wait(Duration::ZERO))
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
    let saves = saves_in(storage);
    for level in 1..=3 {
        assert_eq!(saves.file(&path).save(&game(level)).unwrap(), SaveOutcome::Saved);
    }
    assert_eq!(saves_in(storage).file(&path).load::<Game>().unwrap().into_inner(), game(3));
    assert!(storage.list(folder).unwrap().contains(&"game.sav.bak".into()));

    let (mut manager, path) = (saves.manager(), folder.join("graph.sav"));
    let target = shared(7_u32);
    let holder = shared(vec![Rc::clone(&target), target]);
    manager.add(&holder).unwrap();
    manager.save(&path).unwrap();
    let loaded = manager.load(&path).unwrap();
    let holder = loaded.first::<Vec<super::Shared<u32>>>().unwrap();
    assert!(Rc::ptr_eq(&holder.borrow()[0], &holder.borrow()[1]));
}

/// Where there are no threads, a save in the background is done when the call returns.
fn background<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let path = folder.join("background.sav");
    let saves = saves_in(storage);
    let save = saves.file(&path).save_in_background(&game(4)).unwrap();
    assert_eq!(save.wait().unwrap(), SaveOutcome::Saved);
    drop(saves.file(&path).save_in_background(&game(5)).unwrap());
    saves.wait().unwrap();
    assert_eq!(saves.file(&path).load::<Game>().unwrap().into_inner(), game(5));
}

fn slots<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let (mut manager, level) = (saves_in(storage).manager(), shared(1_u32));
    manager.add(&level).unwrap();
    let slots = manager.saves().slots(folder);
    slots.slot("Ada").save(&manager).unwrap();
    slots.slot("quick").save(&manager).unwrap();
    slots.auto(2).save(&manager).unwrap();
    assert!(slots.auto(2).path().unwrap().ends_with("auto1.sav"));
    slots.copy("Ada", "Bob").unwrap();
    slots.rename("Bob", "Cid").unwrap();
    slots.slot("Ada").delete().unwrap();
    let names: Vec<_> = slots.list().unwrap().into_iter().map(|slot| slot.name).collect();
    for name in ["Cid", "quick", "auto1"] {
        assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
    }
    assert!(!names.iter().any(|name| name == "Ada" || name == "Bob"));
    assert_eq!(
        *slots.slot("Cid").load::<SaveManager>().unwrap().first::<u32>().unwrap().borrow(),
        1
    );
}

/// A save that is damaged: its backup is loaded.
fn damage<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let path = folder.join("game.sav");
    let mut bytes = read(storage, &path);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    storage.remove(&path).unwrap();
    write(storage, &path, &bytes);
    let loaded = saves_in(storage).file(&path).load::<Game>().unwrap();
    assert_eq!(*loaded, game(2));
    assert!(loaded.recovery().is_some());
}

/// A session that ends in the middle, and one that finds its edits and their undo.
fn sessions<S: Storage + Clone + 'static>(storage: &S, folder: &Path) {
    let (save, journal) = (folder.join("world.sav"), folder.join("world.journal"));
    let open = |flush| {
        let mut history = History::<World>::new(100);
        history.set_merge_window(Some(Duration::from_secs(3_600)));
        let saves = saves_in(storage);
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
    assert_eq!(
        saves_in(storage).file(&save).load::<World>().unwrap().into_inner().objects().len(),
        1
    );
}
