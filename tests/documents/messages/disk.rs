//! A disk in memory on which one operation fails.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use persist::Error;
use persist::storage::{FileStamp, Memory, NewFile, Storage, StoredFile};

use crate::messages::table::Table;

#[derive(Clone, Default)]
pub(crate) struct Disk {
    memory: Memory,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// How many operations are left before the one that fails.
    left: Option<usize>,
    has_failed: bool,
    panics: bool,
    /// Whether other bytes are written than it was given.
    garbles: bool,
    /// Whether there are no locks.
    has_no_locks: bool,
    /// Whether all behind the one that fails fail, too.
    for_ever: bool,
}

impl Disk {
    /// From now on, the operation behind so many others fails.
    pub(crate) fn fail(&self, left: usize) {
        *self.state.lock().unwrap() = State { left: Some(left), ..State::default() };
    }

    /// From now on, all operations behind so many fail.
    pub(crate) fn break_down(&self, left: usize) {
        self.fail(left);
        self.state.lock().unwrap().for_ever = true;
    }

    /// From now on, nothing can be locked.
    pub(crate) fn never_lock(&self) {
        self.state.lock().unwrap().has_no_locks = true;
    }

    /// From now on, other bytes are written than it is given.
    pub(crate) fn garble(&self) {
        self.state.lock().unwrap().garbles = true;
    }

    /// From now on, files cannot be created without a panic.
    pub(crate) fn panic(&self) {
        self.state.lock().unwrap().panics = true;
    }

    /// True if an operation has failed.
    pub(crate) fn has_failed(&self) -> bool {
        let mut state = self.state.lock().unwrap();
        state.left = None;
        state.has_failed
    }

    pub(crate) fn lock_it(&self, path: &str) -> Box<dyn std::any::Any + Send> {
        self.memory.lock(Path::new(path)).unwrap().unwrap()
    }

    /// The names of its files.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.memory.list(Path::new(".")).unwrap();
        names.iter().map(|name| name.display().to_string()).collect()
    }

    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.memory.open(Path::new(path)).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = Path::new(path);
        drop(self.memory.remove(path));
        self.memory.create(path, path).unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn delete(&self, path: &str) {
        self.memory.remove(Path::new(path)).unwrap();
    }

    fn step(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let Some(left) = state.left else { return Ok(()) };
        state.left =
            if state.for_ever { Some(left.saturating_sub(1)) } else { left.checked_sub(1) };
        if left > 0 {
            return Ok(());
        }
        state.has_failed = true;
        Err(io::ErrorKind::Other.into())
    }
}

/// Does something on a new disk again and again, with one operation after the other failing, and adds each error once.
pub(crate) fn sweep<T>(
    table: &mut Table,
    what: &str,
    prepare: impl Fn() -> Disk,
    act: impl Fn(&Disk) -> Result<T, Error>,
) {
    sweep_by(Disk::fail, table, what, prepare, act);
}

/// As [`sweep`], on a disk that breaks down for ever.
pub(crate) fn sweep_all<T>(
    table: &mut Table,
    what: &str,
    prepare: impl Fn() -> Disk,
    act: impl Fn(&Disk) -> Result<T, Error>,
) {
    sweep_by(Disk::break_down, table, what, prepare, act);
}

fn sweep_by<T>(
    fail: fn(&Disk, usize),
    table: &mut Table,
    what: &str,
    prepare: impl Fn() -> Disk,
    act: impl Fn(&Disk) -> Result<T, Error>,
) {
    for number in 0.. {
        let disk = prepare();
        fail(&disk, number);
        let result = act(&disk);
        if let Err(error) = &result
            && !table.has(error)
        {
            table.error(&format!("{what}, operation {number}"), error);
        }
        if !disk.has_failed() {
            break;
        }
    }
}

struct File<F>(F, Disk);

impl<F: Read> Read for File<F> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.1.step()?;
        self.0.read(to)
    }
}

impl<F: Seek> Seek for File<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.1.step()?;
        self.0.seek(to)
    }
}

impl<F: Write> Write for File<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.step()?;
        if !self.1.state.lock().unwrap().garbles {
            return self.0.write(bytes);
        }
        let other: Vec<u8> = bytes.iter().map(|byte| byte ^ 1).collect();
        self.0.write(&other)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl NewFile for File<Box<dyn NewFile>> {
    fn sync(&mut self) -> io::Result<()> {
        self.1.step()?;
        self.0.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.1.step()?;
        self.0.truncate(length)
    }
}

impl Storage for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.step()?;
        Ok(Box::new(File(self.memory.open(path)?, self.clone())))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let panics = self.state.lock().unwrap().panics;
        if panics {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        self.step()?;
        Ok(Box::new(File(self.memory.create(path, like)?, self.clone())))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        self.step()?;
        Ok(Box::new(File(self.memory.append(path, length)?, self.clone())))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        self.memory.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        self.memory.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.memory.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step()?;
        self.memory.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.step()?;
        self.memory.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn std::any::Any + Send>>> {
        if self.state.lock().unwrap().has_no_locks {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.step()?;
        self.memory.lock(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.step()?;
        Ok(path.to_owned())
    }

    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        self.step()?;
        self.memory.stamp(path)
    }
}
