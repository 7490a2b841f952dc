//! A storage that panicked again while its first panic unwound, as one with a poisoned mutex does, ended the program.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use persist::storage::{Memory, NewFile, Storage, StoredFile};
use persist::{ErrorKind, Saves};

/// Panics in the middle of a file, and everywhere from then on.
#[derive(Clone, Default)]
struct Poisoned {
    memory: Memory,
    mutex: Arc<Mutex<()>>,
    armed: Arc<AtomicBool>,
}

impl Poisoned {
    fn check(&self) {
        drop(self.mutex.lock().unwrap());
    }
}

/// What the storage hands out, and what panics when it is used or dropped.
struct Part<T>(T, Poisoned);

impl<T> Drop for Part<T> {
    fn drop(&mut self) {
        self.1.check();
    }
}

impl Write for Part<Box<dyn NewFile>> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let held = self.1.mutex.lock().unwrap();
        assert!(!self.1.armed.load(Ordering::SeqCst), "as it was told to");
        drop(held);
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl NewFile for Part<Box<dyn NewFile>> {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
}

impl Storage for Poisoned {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.check();
        self.memory.open(path)
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.check();
        Ok(Box::new(Part(self.memory.create(path, like)?, self.clone())))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check();
        self.memory.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check();
        self.memory.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.check();
        self.memory.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.check();
        self.memory.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn std::any::Any + Send>>> {
        self.check();
        let lock = self.memory.lock(path)?;
        Ok(lock.map(|lock| Box::new(Part(lock, self.clone())) as Box<dyn std::any::Any + Send>))
    }
}

#[test]
fn a_storage_that_goes_on_panicking_leaves_the_old_save() {
    for in_background in [false, true] {
        let storage = Poisoned::default();
        let saves = Saves::new().storage(storage.clone());
        saves.file("game.sav").save(&1_u8).unwrap();
        storage.armed.store(true, Ordering::SeqCst);
        if in_background {
            let error = saves.file("game.sav").save_in_background(&2_u8).unwrap().wait();
            assert_eq!(error.unwrap_err().kind(), ErrorKind::Io);
        } else {
            let panicked = catch_unwind(AssertUnwindSafe(|| saves.file("game.sav").save(&2_u8)));
            assert!(panicked.is_err());
        }
        let saves = saves.storage(storage.memory.clone());
        assert_eq!(*saves.file("game.sav").load::<u8>().unwrap(), 1);
        saves.file("game.sav").save(&3_u8).unwrap();
        assert_eq!(*saves.file("game.sav").load::<u8>().unwrap(), 3);
    }
}
