//! Reads that are tried again.
//!
//! An error while a file is opened or read says nothing of what is in it. A disk or a network that fails for a moment must
//! not make a program take a good save for a damaged one. What is written and flushed is never tried again here: after a
//! flush that failed, the next may succeed without the bytes.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Files, NewFile, Storage, StorageLock, StoredFile};
use crate::platform::pause;

/// Milliseconds before each further try: 100 together.
const PAUSES: [u64; 3] = [10, 30, 60];

/// How often an interrupted call is tried again: a storage that says nothing else must not hang a program.
const INTERRUPTIONS: u32 = 1000;

/// A storage whose opens and reads are tried again.
#[derive(Clone, Debug)]
pub(crate) struct Patient<S>(S);

/// The files of the system.
pub(crate) const FILES: Patient<Files> = Patient(Files);

impl<S: Storage> Patient<S> {
    pub(crate) fn new(storage: S) -> Self {
        Self(storage)
    }
}

/// Tries again what may pass.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let (mut pauses, mut interruptions) = (PAUSES.iter(), 0);
    loop {
        match attempt() {
            Err(error)
                if error.kind() == io::ErrorKind::Interrupted && interruptions < INTERRUPTIONS =>
            {
                interruptions += 1;
            }
            Err(error) if may_pass(&error) => match pauses.next() {
                Some(time) if pause(Duration::from_millis(*time)) => {}
                _ => return Err(error),
            },
            result => return result,
        }
    }
}

/// True for an error that the next try may not have: EAGAIN, ESTALE, EIO, and their like on Windows.
fn may_pass(error: &io::Error) -> bool {
    use io::ErrorKind::{StaleNetworkFileHandle, WouldBlock};
    // EIO has no `ErrorKind`; it is 5 on every Unix. On Windows: a sharing or lock violation, as by a virus scanner, and
    // an error of the device.
    const PASSING: &[i32] = if cfg!(windows) { &[32, 33, 1117] } else { &[5] };
    matches!(error.kind(), WouldBlock | StaleNetworkFileHandle)
        || error.raw_os_error().is_some_and(|code| PASSING.contains(&code))
}

struct PatientFile(Box<dyn StoredFile>);

impl Read for PatientFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        patiently(|| self.0.read(into))
    }
}

impl Seek for PatientFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl<S: Storage> Storage for Patient<S> {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let file = patiently(|| self.0.open(path))?;
        Ok(Box::new(PatientFile(file)))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.create(path, like)
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        self.0.append(path, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        patiently(|| self.0.list(folder))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        self.0.lock(path)
    }

    fn lock_file(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        self.0.lock_file(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        patiently(|| self.0.resolve(path))
    }
}
