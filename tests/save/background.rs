//! Saves that another thread writes.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::SystemTime;

use persist::save::SaveOutcome;
use persist::storage::{Memory, NewFile, Storage, StoredFile};
use persist::{ErrorKind, Persist, SaveOptions, Saves};

/// Memory behind a gate: while it is shut, no file can be created.
#[derive(Clone, Default)]
struct Gate {
    memory: Memory,
    control: Arc<Control>,
}

#[derive(Default)]
struct Control {
    shut: Mutex<bool>,
    changed: Condvar,
    /// How many saves have come to the gate, and how many of those are to fail or to panic.
    arrived: AtomicUsize,
    fails: AtomicBool,
    panics: AtomicBool,
    writer: Mutex<Option<ThreadId>>,
}

impl Gate {
    fn shut(&self, shut: bool) {
        *self.control.shut.lock().unwrap() = shut;
        self.control.changed.notify_all();
    }

    /// Waits until so many saves have come.
    fn wait_for(&self, arrived: usize) {
        while self.control.arrived.load(Ordering::SeqCst) < arrived {
            thread::yield_now();
        }
    }
}

impl Storage for Gate {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.memory.open(path)
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let control = &self.control;
        *control.writer.lock().unwrap() = Some(thread::current().id());
        control.arrived.fetch_add(1, Ordering::SeqCst);
        let shut = control.shut.lock().unwrap();
        drop(control.changed.wait_while(shut, |shut| *shut).unwrap());
        assert!(!control.panics.load(Ordering::SeqCst), "as it was told to");
        if control.fails.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.memory.create(path, like)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.memory.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.memory.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.memory.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.memory.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn std::any::Any + Send>>> {
        self.memory.lock(path)
    }

    /// So that the bytes of two saves are equal.
    fn now(&self) -> Option<SystemTime> {
        None
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Game {
    level: u32,
    map: Vec<u8>,
    #[persist(skip)]
    hooks: u32,
}

fn game(level: u32) -> Game {
    Game { level, map: vec![3; 300_000], hooks: 0 }
}

fn saves() -> (Saves, Gate) {
    let gate = Gate::default();
    (Saves::new().storage(gate.clone()), gate)
}

fn level(saves: &Saves, path: &str) -> u32 {
    saves.file(path).load::<Game>().unwrap().into_inner().level
}

#[test]
fn a_save_in_the_background_is_the_save_of_its_moment() {
    let (saves, gate) = saves();
    let mut manager = saves.manager();
    gate.shut(true);
    let object = Rc::new(RefCell::new(game(1)));
    manager.add(&object).unwrap();
    let save = saves.file("game.sav").save_in_background(&manager).unwrap();
    // What changes now is not in it.
    object.borrow_mut().level = 2;
    gate.wait_for(1);
    assert!(!save.is_done());
    let progress = save.progress();
    assert_eq!((progress.done, progress.fraction()), (0, 0.0));
    assert!(progress.total > 300_000);
    gate.shut(false);
    assert_eq!(save.wait().unwrap(), SaveOutcome::Saved);
    assert_ne!(*gate.control.writer.lock().unwrap(), Some(thread::current().id()));
    let loaded = manager.load("game.sav").unwrap();
    assert_eq!(loaded.first::<Game>().unwrap().borrow().level, 1);
}

#[test]
fn the_bytes_are_those_of_a_save_in_the_foreground() {
    let (saves, gate) = saves();
    let bytes = |path: &str| {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut *gate.memory.open(Path::new(path)).unwrap(), &mut bytes)
            .unwrap();
        bytes
    };
    let saves = saves.application("quest", "2").unwrap();
    // Many blocks, and none.
    for many in [Vec::new(), vec![game(1), game(2), game(3)]] {
        saves.file(format!("{}.sav", many.len())).save(&many).unwrap();
        let path = format!("{}.background.sav", many.len());
        let save = saves.file(&path).save_in_background(&many).unwrap();
        save.wait().unwrap();
        assert!(bytes(&path) == bytes(&format!("{}.sav", many.len())));
    }
}

#[test]
fn of_saves_of_one_file_that_wait_the_newest_is_written() {
    let (saves, gate) = saves();
    gate.shut(true);
    let first = saves.file("game.sav").save_in_background(&game(1)).unwrap();
    gate.wait_for(1);
    let second = saves.file("game.sav").save_in_background(&game(2)).unwrap();
    let other = saves.file("other.sav").save_in_background(&game(10)).unwrap();
    let third = saves.file("game.sav").save_in_background(&game(3)).unwrap();
    assert!(second.is_done());
    assert_eq!(second.wait().unwrap(), SaveOutcome::Superseded);
    gate.shut(false);
    for save in [first, other, third] {
        assert_eq!(save.wait().unwrap(), SaveOutcome::Saved);
    }
    assert_eq!((level(&saves, "game.sav"), level(&saves, "other.sav")), (3, 10));
}

#[test]
fn saves_of_one_path_in_two_storages_are_both_written() {
    let (saves, gate) = saves();
    gate.shut(true);
    let first = saves.file("first.sav").save_in_background(&game(1)).unwrap();
    gate.wait_for(1);
    let here = saves.file("game.sav").save_in_background(&game(2)).unwrap();
    let elsewhere = saves.clone().storage(Memory::default());
    let there = elsewhere.file("game.sav").save_in_background(&game(3)).unwrap();
    gate.shut(false);
    for save in [first, here, there] {
        assert_eq!(save.wait().unwrap(), SaveOutcome::Saved);
    }
    assert_eq!(level(&elsewhere, "game.sav"), 3);
    assert_eq!(level(&saves, "game.sav"), 2);
}

#[test]
fn a_load_waits_for_the_saves_of_its_file() {
    let (saves, gate) = saves();
    gate.shut(true);
    drop(saves.file("game.sav").save_in_background(&game(1)).unwrap());
    gate.wait_for(1);
    drop(saves.file("game.sav").save_in_background(&game(2)).unwrap());
    let opener = gate.clone();
    thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(20));
        opener.shut(false);
    });
    assert_eq!(level(&saves, "game.sav"), 2);
}

#[test]
fn a_save_in_the_foreground_comes_behind_those_in_the_background() {
    let (saves, gate) = saves();
    gate.shut(true);
    let first = saves.file("game.sav").save_in_background(&game(1)).unwrap();
    gate.wait_for(1);
    let second = saves.file("game.sav").save_in_background(&game(2)).unwrap();
    let opener = gate.clone();
    thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(20));
        opener.shut(false);
    });
    saves.file("game.sav").save(&game(3)).unwrap();
    assert_eq!(first.wait().unwrap(), SaveOutcome::Saved);
    assert_eq!(second.wait().unwrap(), SaveOutcome::Saved);
    assert_eq!(level(&saves, "game.sav"), 3);
}

#[test]
fn a_save_in_the_foreground_that_fails_leaves_the_one_that_waits() {
    let (saves, gate) = saves();
    let mut manager = saves.manager();
    gate.shut(true);
    let object = Rc::new(RefCell::new(game(1)));
    manager.add(&object).unwrap();
    let first = saves.file("game.sav").save_in_background(&manager).unwrap();
    gate.wait_for(1);
    object.borrow_mut().level = 2;
    let second = saves.file("game.sav").save_in_background(&manager).unwrap();
    let opener = gate.clone();
    thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(20));
        opener.shut(false);
    });
    let borrow = object.borrow_mut();
    assert_eq!(manager.save("game.sav").unwrap_err().kind(), ErrorKind::Borrowed);
    drop(borrow);
    for save in [first, second] {
        assert_eq!(save.wait().unwrap(), SaveOutcome::Saved);
    }
    let loaded = manager.load("game.sav").unwrap();
    assert_eq!(loaded.first::<Game>().unwrap().borrow().level, 2);
}

#[test]
fn a_cancelled_save_leaves_the_one_before() {
    let (saves, gate) = saves();
    saves.file("game.sav").save(&game(1)).unwrap();
    gate.shut(true);
    let running = saves.file("game.sav").save_in_background(&game(2)).unwrap();
    gate.wait_for(2);
    let waiting = saves.file("game.sav").save_in_background(&game(3)).unwrap();
    running.cancel();
    waiting.cancel();
    gate.shut(false);
    assert_eq!(running.wait().unwrap(), SaveOutcome::Cancelled);
    assert_eq!(waiting.wait().unwrap(), SaveOutcome::Cancelled);
    assert_eq!(level(&saves, "game.sav"), 1);
    let names = gate.memory.list(Path::new(".")).unwrap();
    assert_eq!(names, [PathBuf::from("game.sav")]);
    // Too late.
    let save = saves.file("game.sav").save_in_background(&game(4)).unwrap();
    while !save.is_done() {
        thread::yield_now();
    }
    save.cancel();
    assert_eq!(save.wait().unwrap(), SaveOutcome::Saved);
}

#[test]
fn a_save_that_waits_for_another_program_can_be_cancelled() {
    let (saves, gate) = saves();
    let wait = std::time::Duration::from_millis(30);
    let saves = saves.save_options(SaveOptions::new().wait(wait));
    let lock = gate.memory.lock(Path::new(".game.sav.lock")).unwrap();
    let save = saves.file("game.sav").save_in_background(&game(1)).unwrap();
    save.cancel();
    assert_eq!(save.wait().unwrap(), SaveOutcome::Cancelled);
    drop(lock);
}

#[test]
fn dropping_the_last_clone_waits_for_its_saves() {
    let (saves, gate) = saves();
    for i in 0..4 {
        drop(saves.file(format!("{i}.sav")).save_in_background(&game(i)).unwrap());
    }
    drop((saves.clone(), saves));
    let saves = Saves::new().storage(gate.memory.clone());
    for i in 0..4 {
        assert_eq!(level(&saves, &format!("{i}.sav")), i);
    }
}

#[test]
fn an_error_is_told_once() {
    let (saves, gate) = saves();
    saves.file("game.sav").save(&game(1)).unwrap();
    gate.control.fails.store(true, Ordering::SeqCst);
    let save = saves.file("game.sav").save_in_background(&game(2)).unwrap();
    assert_eq!(save.wait().unwrap_err().kind(), ErrorKind::NoSpace);
    saves.wait().unwrap();
    // Nobody asks this one.
    drop(saves.file("game.sav").save_in_background(&game(3)).unwrap());
    let error = saves.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    saves.wait().unwrap();
    assert_eq!(level(&saves, "game.sav"), 1);
    // The next save is as good as before.
    gate.control.fails.store(false, Ordering::SeqCst);
    drop(saves.file("game.sav").save_in_background(&game(4)).unwrap());
    saves.wait().unwrap();
    assert_eq!(level(&saves, "game.sav"), 4);
}

#[test]
fn an_error_is_told_however_soon_somebody_asks() {
    let (saves, gate) = saves();
    gate.control.fails.store(true, Ordering::SeqCst);
    for round in 0..20_000 {
        drop(saves.file("game.sav").save_in_background(&1_u8).unwrap());
        // At any moment between the failure and the end of its thread's work.
        (0..round % 200 * 10).for_each(|_| std::hint::spin_loop());
        assert!(saves.wait().is_err(), "round {round}");
    }
}

#[test]
fn a_failed_save_is_told_by_its_handle_whoever_told_it_before() {
    let (saves, gate) = saves();
    gate.control.fails.store(true, Ordering::SeqCst);
    let save = saves.file("game.sav").save_in_background(&game(1)).unwrap();
    let told = saves.wait().unwrap_err();
    let error = save.wait().unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::NoSpace, told.to_string()));
}

#[test]
fn errors_that_were_told_take_no_room_from_those_that_were_not() {
    let (saves, gate) = saves();
    gate.control.fails.store(true, Ordering::SeqCst);
    let save = || saves.file("game.sav").save_in_background(&game(1)).unwrap();
    (0..20).for_each(|_| drop(save().wait().unwrap_err()));
    drop(save());
    assert_eq!(saves.wait().unwrap_err().kind(), ErrorKind::NoSpace);
}

#[test]
fn a_storage_that_panics_is_an_error() {
    let (saves, gate) = saves();
    gate.control.panics.store(true, Ordering::SeqCst);
    let save = saves.file("game.sav").save_in_background(&game(1)).unwrap();
    assert_eq!(save.wait().unwrap_err().kind(), ErrorKind::Io);
    gate.control.panics.store(false, Ordering::SeqCst);
    let save = saves.file("game.sav").save_in_background(&game(2)).unwrap();
    assert_eq!(save.wait().unwrap(), SaveOutcome::Saved);
}

#[derive(Persist)]
#[persist(before_save = note)]
struct Hooked {
    #[persist(skip)]
    ran_on: Option<ThreadId>,
}

fn note(hooked: &mut Hooked) {
    hooked.ran_on = Some(thread::current().id());
}

#[test]
fn hooks_run_before_the_call_returns() {
    let (saves, gate) = saves();
    let mut manager = saves.manager();
    gate.shut(true);
    let object = Rc::new(RefCell::new(Hooked { ran_on: None }));
    manager.add(&object).unwrap();
    let save = saves.file("game.sav").save_in_background(&manager).unwrap();
    assert_eq!(object.borrow().ran_on, Some(thread::current().id()));
    gate.shut(false);
    save.wait().unwrap();
}

#[test]
fn what_an_object_refuses_is_told_at_once() {
    let (saves, _) = saves();
    let mut manager = saves.manager();
    let object = Rc::new(RefCell::new(game(1)));
    manager.add(&object).unwrap();
    let borrow = object.borrow_mut();
    let error = saves.file("game.sav").save_in_background(&manager).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Borrowed);
    drop(borrow);
    assert!(manager.load("game.sav").is_err());
}
