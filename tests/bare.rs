//! A program on a target without a clock, without waiting and without threads, as a web page is.
//!
//! `RUSTFLAGS="--cfg persist_bare"` makes such a target of any other.

#![cfg(persist_bare)]

use persist::history::MergeWindow;
use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use persist::storage::{Memory, NewFile, Storage, StoredFile};
use persist::{Component, History, Persist, SaveManager, Saves, World, field};
use persist_tests::support::host;

#[derive(Persist)]
struct Position {
    x: f32,
}

impl Component for Position {}

#[test]
fn a_page_does_with_memory_what_a_program_does_with_files() {
    host::check(&Memory::default(), Path::new("saves"));
}

#[test]
fn a_lock_that_is_held_is_an_error_at_once() {
    let cell = std::sync::Arc::new(Mutex::new(7_u32));
    let mut manager = SaveManager::new();
    manager.add(&cell).unwrap();
    let held = cell.lock().unwrap();
    assert_eq!(manager.to_vec().unwrap_err().kind(), persist::ErrorKind::Borrowed);
    drop(held);
    manager.to_vec().unwrap();

    let saves = Saves::new().storage(Held(Memory::default()));
    let error = saves.file("game.sav").save(&1_u32).unwrap_err();
    assert_eq!(error.kind(), persist::ErrorKind::InUse);
}

/// A storage whose locks another program has.
struct Held(Memory);

impl Storage for Held {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.0.open(path)
    }
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.create(path, like)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.sync_folder(folder)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(folder)
    }
    fn lock(&self, _: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        Ok(None)
    }
}

#[test]
fn a_merge_window_merges_by_the_clock_of_the_program_alone() {
    static NOW: AtomicU64 = AtomicU64::new(0);
    let (mut world, mut history) = (World::new(), History::<World>::new(100));
    let door = world.spawn("Door");
    world.attach(door, Position { x: 0.0 }).unwrap();
    let mut x = 0.0_f32;
    let mut entries = |history: &mut History, world: &mut World| {
        let before = history.entries().len();
        for _ in 0..3 {
            x += 1.0;
            history.set(world, door, field!(Position.x), x).unwrap();
        }
        history.entries().len() - before
    };
    assert_eq!(entries(&mut history, &mut world), 3, "nothing is merged unasked");
    history.set_merge_window(Some(Duration::from_secs(1)));
    assert_eq!(entries(&mut history, &mut world), 3, "with one there is no clock to measure it");
    let clock = || Duration::from_millis(NOW.fetch_add(1, Ordering::Relaxed));
    history.set_merge_window(MergeWindow::with_clock(Duration::from_secs(1), clock));
    assert_eq!(entries(&mut history, &mut world), 1);
}
