//! Wraps a storage: repeats calls that failed for a moment, and limits which errors may report damage.
//!
//! An error while a file is opened or read says nothing about its content. A disk or a network that fails for a moment
//! must not make a program take an intact save for a damaged one. The kind of an error says whether the call may be
//! repeated, or whether the file is damaged; [`Storage`] has the rules.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{FileStamp, Files, NewFile, Storage, StorageLock, StoredFile};
use crate::platform::pause;

/// Pauses before each further attempt, in milliseconds: 100 in total.
const PAUSES: [u64; 3] = [10, 30, 60];

/// Maximum number of attempts after interruptions. A storage that only reports interruptions must not hang a program.
const INTERRUPTIONS: u32 = 1000;

/// A storage whose calls are repeated after errors that may pass.
#[derive(Clone, Debug)]
pub struct Patient<S>(S);

/// The files of the system.
pub const FILES: Patient<Files> = Patient(Files);

impl<S: Storage> Patient<S> {
    pub(crate) fn new(storage: S) -> Self {
        Self(storage)
    }
}

/// Repeats a call after the errors for which `may_pass` is true.
fn repeat<T>(
    may_pass: fn(&io::Error) -> bool,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
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

/// Repeats a call that reads.
fn read_again<T>(attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    // EIO has no `ErrorKind`; it is 5 on every Unix. The Windows codes are a sharing violation or lock violation, as by
    // a virus scanner, and an error of the device. A call that changes something may have done half of its work after
    // these, so it is not repeated.
    const PASSING: &[i32] = if cfg!(windows) { &[32, 33, 1117] } else { &[5] };
    let may_pass = |error: &io::Error| is_undone(error) || has_code(error, PASSING);
    repeat(may_pass, attempt)
}

/// Repeats a call that changes something.
///
/// "Try again" is assumed to mean *not done*, so a repeated call happens once. This assumption can fail, for example if
/// a network drive's answer is lost. The repeated call then finds its own work: the file to rename is missing, or the
/// name of a link or new file is taken. These remain errors, since another program may have caused them. A save reports
/// them, and the next save removes the leftovers. If a file to be removed is missing, the call succeeds.
fn change_again<T>(attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    repeat(is_undone, attempt).map_err(not_of_content)
}

/// Returns true for an error which says that nothing was done, and that a repeated call may succeed.
fn is_undone(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, ResourceBusy, StaleNetworkFileHandle, TimedOut, WouldBlock};
    // Too many open files, of the program or of the system: EMFILE and ENFILE, which have no `ErrorKind`.
    const TOO_MANY_FILES: &[i32] = if cfg!(windows) { &[4] } else { &[23, 24] };
    let kind = error.kind();
    matches!(kind, WouldBlock | TimedOut | ResourceBusy | StaleNetworkFileHandle | OutOfMemory)
        || has_code(error, TOO_MANY_FILES)
}

fn has_code(error: &io::Error, codes: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Converts an error of a call that does not read content, so that it cannot report damage.
fn not_of_content(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => io::Error::other(error),
        _ => error,
    }
}

struct PatientFile(Box<dyn StoredFile>);

impl Read for PatientFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        read_again(|| self.0.read(into))
    }
}

impl Seek for PatientFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        read_again(|| self.0.seek(to))
    }
}

struct PatientNewFile(Box<dyn NewFile>);

impl Write for PatientNewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A write that returns an error has written none of the bytes.
        change_again(|| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(not_of_content)
    }
}

impl NewFile for PatientNewFile {
    /// Flushes once only: after a failed flush, the next one may succeed without the bytes.
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync().map_err(not_of_content)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        change_again(|| self.0.truncate(length))
    }
}

impl<S: Storage> Storage for Patient<S> {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let file = read_again(|| self.0.open(path))?;
        Ok(Box::new(PatientFile(file)))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let file = change_again(|| self.0.create(path, like))?;
        Ok(Box::new(PatientNewFile(file)))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let file = change_again(|| self.0.append(path, length))?;
        Ok(Box::new(PatientNewFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        change_again(|| self.0.rename(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        change_again(|| self.0.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut tries = 0;
        change_again(|| {
            tries += 1;
            match self.0.remove(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries > 1 => Ok(()),
                result => result,
            }
        })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        change_again(|| self.0.sync_folder(folder))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        read_again(|| self.0.list(folder)).map_err(not_of_content)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        change_again(|| self.0.lock(path))
    }

    fn lock_file(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        change_again(|| self.0.lock_file(path))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        read_again(|| self.0.resolve(path)).map_err(not_of_content)
    }

    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        read_again(|| self.0.stamp(path))
    }

    fn now(&self) -> Option<SystemTime> {
        self.0.now()
    }
}
