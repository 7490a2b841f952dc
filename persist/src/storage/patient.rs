//! Wraps a storage: repeats calls that failed for a moment, and limits which errors may report damage.
//!
//! An error while a file is opened or read says nothing about its content. A disk or a network that fails for a moment
//! must not make a program take an intact save for a damaged one. The kind of an error says whether the call may be
//! repeated, or whether the file is damaged; [`Storage`] has the rules.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{FileStamp, Files, NewFile, SaveOptions, Storage, StorageLock, StoredFile};
use crate::platform::pause;

/// Pauses before each further attempt after an error that may pass soon, in milliseconds: 100 in total.
const PAUSES: [u64; 3] = [10, 30, 60];

/// The longest pause while another program holds a file, in milliseconds.
const LONGEST: u64 = 100;

/// Maximum number of attempts after interruptions. A storage that only reports interruptions must not hang a program.
const INTERRUPTIONS: u32 = 1000;

/// A storage whose calls are repeated after errors that may pass.
#[derive(Clone, Debug)]
pub struct Patient<S> {
    storage: S,
    /// How long a call is repeated while another program holds its file.
    wait: Duration,
}

/// The files of the system.
pub const FILES: Patient<&Files> = Patient { storage: &Files, wait: SaveOptions::DEFAULT.wait };

impl Patient<Arc<dyn Storage>> {
    pub(crate) fn new(storage: impl Storage + 'static, wait: Duration) -> Self {
        Self { storage: Arc::new(storage), wait }
    }

    /// Returns the same storage, with another limit on the time for which a call is repeated.
    pub(crate) fn with_wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }
}

impl Deref for Patient<Arc<dyn Storage>> {
    type Target = dyn Storage;

    fn deref(&self) -> &Self::Target {
        self
    }
}

/// Repeats a call after errors that may pass: three times if `may_pass` is true, and while another program holds the
/// file, until `wait` is over.
fn repeat<T>(
    wait: Duration,
    may_pass: fn(&io::Error) -> bool,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let (mut pauses, mut interruptions) = (PAUSES.iter(), 0);
    let (mut waited, mut next) = (Duration::ZERO, 1);
    loop {
        match attempt() {
            Err(error)
                if error.kind() == io::ErrorKind::Interrupted && interruptions < INTERRUPTIONS =>
            {
                interruptions += 1;
            }
            Err(error) if is_held(&error) => {
                let time = Duration::from_millis(next).min(wait.saturating_sub(waited));
                if time.is_zero() || !pause(time) {
                    return Err(error);
                }
                (waited, next) = (waited + time, (next * 2).min(LONGEST));
            }
            Err(error) if may_pass(&error) => match pauses.next() {
                Some(time) if pause(Duration::from_millis(*time)) => {}
                _ => return Err(error),
            },
            result => return result,
        }
    }
}

/// Returns true for an error which says that another program has the file open, so that nothing was done.
///
/// On Windows, a virus scanner or a sync program opens a fresh file for a moment. The system then returns 32 (sharing
/// violation) or 33 (lock violation), and 5 (access denied) for a file that is replaced or is being removed. It returns 5
/// as well if the user has no permission; the wait is in vain then.
fn is_held(error: &io::Error) -> bool {
    const HELD: &[i32] = if cfg!(windows) { &[5, 32, 33] } else { &[] };
    error.kind() == io::ErrorKind::ResourceBusy || has_code(error, HELD)
}

/// Repeats a call that reads.
fn read_again<T>(wait: Duration, attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    // An error of the device: EIO, which has no `ErrorKind` and is 5 on every Unix, and `ERROR_IO_DEVICE`. A call that
    // changes something may have done half of its work after these, so it is not repeated.
    const PASSING: &[i32] = if cfg!(windows) { &[1117] } else { &[5] };
    let may_pass = |error: &io::Error| is_undone(error) || has_code(error, PASSING);
    repeat(wait, may_pass, attempt)
}

/// Repeats a call that changes something.
///
/// "Try again" is assumed to mean *not done*, so a repeated call happens once. This assumption can fail, for example if
/// a network drive's answer is lost. The repeated call then finds its own work: the file to rename is missing, or the
/// name of a link or new file is taken. These remain errors, since another program may have caused them. A save reports
/// them, and the next save removes the leftovers. If a file to be removed is missing, the call succeeds.
fn change_again<T>(wait: Duration, attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    repeat(wait, is_undone, attempt).map_err(not_of_content)
}

/// Returns true for an error which says that nothing was done, and that a repeated call may succeed.
fn is_undone(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, StaleNetworkFileHandle, TimedOut, WouldBlock};
    // Too many open files, of the program or of the system: EMFILE and ENFILE, which have no `ErrorKind`.
    const TOO_MANY_FILES: &[i32] = if cfg!(windows) { &[4] } else { &[23, 24] };
    let kind = error.kind();
    matches!(kind, WouldBlock | TimedOut | StaleNetworkFileHandle | OutOfMemory)
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

struct PatientFile(Box<dyn StoredFile>, Duration);

impl Read for PatientFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        read_again(self.1, || self.0.read(into))
    }
}

impl Seek for PatientFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        read_again(self.1, || self.0.seek(to))
    }
}

struct PatientNewFile(Box<dyn NewFile>, Duration);

impl Write for PatientNewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A write that returns an error has written none of the bytes.
        change_again(self.1, || self.0.write(bytes))
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
        change_again(self.1, || self.0.truncate(length))
    }
}

impl<S> Storage for Patient<S>
where
    S: Deref<Target: Storage> + Send + Sync,
{
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let file = read_again(self.wait, || self.storage.open(path))?;
        Ok(Box::new(PatientFile(file, self.wait)))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let file = change_again(self.wait, || self.storage.create(path, like))?;
        Ok(Box::new(PatientNewFile(file, self.wait)))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let file = change_again(self.wait, || self.storage.append(path, length))?;
        Ok(Box::new(PatientNewFile(file, self.wait)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        change_again(self.wait, || self.storage.rename(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        change_again(self.wait, || self.storage.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut tries = 0;
        change_again(self.wait, || {
            tries += 1;
            match self.storage.remove(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries > 1 => Ok(()),
                result => result,
            }
        })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        change_again(self.wait, || self.storage.sync_folder(folder))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        read_again(self.wait, || self.storage.list(folder)).map_err(not_of_content)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        change_again(self.wait, || self.storage.lock(path))
    }

    fn lock_file(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        change_again(self.wait, || self.storage.lock_file(path))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        read_again(self.wait, || self.storage.resolve(path)).map_err(not_of_content)
    }

    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        read_again(self.wait, || self.storage.stamp(path))
    }

    fn now(&self) -> Option<SystemTime> {
        self.storage.now()
    }
}
