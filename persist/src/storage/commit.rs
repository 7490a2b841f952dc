//! Files that are replaced whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Lock, NewFile, Past, Storage, StoredFile, exists, folder_of, names, read_file};
use crate::format::{self, Ends, Header};
use crate::{Error, ErrorKind, Limits, Result};

/// How saves are written to a storage.
///
/// # Example
///
/// ```
/// use persist::SaveManager;
/// use persist::storage::SaveOptions;
///
/// let mut saves = SaveManager::new();
/// saves.set_save_options(SaveOptions { backups: 3, ..SaveOptions::default() });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveOptions {
    /// How many earlier saves stay beside a save, as `name.bak`, `name.bak2` and so on. A load takes
    /// the newest good one if the save is damaged. Default 1.
    pub backups: u32,
    /// Whether the new file is read back and each checksum in it checked before it takes the place of the old
    /// one. Default false.
    pub verify: bool,
    /// How long to wait for another program that is writing the same save. Default 5 s.
    pub wait: Duration,
}

impl SaveOptions {
    /// The default options.
    pub const DEFAULT: Self = Self { backups: 1, verify: false, wait: Duration::from_secs(5) };
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Writes a file through a temporary one beside it: flushed, renamed over the target, and the
/// folder flushed; the old file becomes a backup. A crash at any moment leaves the old file or
/// the new one, an error the old one. `write` gets what is known of the saves before.
pub(crate) fn replace<T>(
    storage: &dyn Storage,
    path: &Path,
    options: &SaveOptions,
    limits: &Limits,
    write: impl FnOnce(&mut dyn Write, &Past) -> Result<T>,
) -> Result<T> {
    let resolved = storage.resolve(path).map_err(|e| Error::io("write the save to", path, e))?;
    let path = &*resolved;
    let failed = |doing: &'static str| move |error: io::Error| Error::io(doing, path, error);
    let _lock = lock(storage, path, options.wait)?;
    tidy(storage, path).map_err(failed("remove what is left of an earlier save beside"))?;
    let past = Past::read(storage, path, options.backups);

    let mut temporary =
        Temporary::create(storage, path).map_err(failed("create a temporary file beside"))?;
    let result = temporary.write(|file| Ok(write(file, &past))).map_err(failed("flush"))??;
    if options.verify {
        let save = read_file(storage, &temporary.path, limits)?;
        format::unpacked(&save, limits, |save| format::scan(save.bytes, limits)).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                format!(
                    "the save that was written is not what is read back, {error}; the old one stays"
                ),
            )
        })?;
    }
    rotate(storage, path, options.backups).map_err(failed("back up"))?;
    if let Err(error) = temporary.replace(path) {
        if !exists(storage, path) {
            // It has another name now, as a backup or as damaged. The error that counts is the first.
            let _ = restore(storage, path, 1);
        }
        return Err(failed("replace")(error));
    }
    storage
        .sync_folder(folder_of(path))
        .map_err(failed("flush the folder of the new save, which is in place,"))?;
    Ok(result)
}

/// A file that is removed unless it takes the place of another.
pub(super) struct Temporary<'s> {
    storage: &'s dyn Storage,
    path: PathBuf,
    file: Option<Box<dyn NewFile>>,
}

impl<'s> Temporary<'s> {
    pub(super) fn create(storage: &'s dyn Storage, of: &Path) -> io::Result<Self> {
        let path = names::temporary(of);
        let file = storage.create(&path, of)?;
        Ok(Self { storage, path, file: Some(file) })
    }

    /// Writes its content, once, and makes it last unless that fails.
    pub(super) fn write<T, E>(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<Result<T, E>>,
    ) -> io::Result<Result<T, E>> {
        // If a flush fails nothing is known of the file: it is not asked again, but given up.
        let Some(mut file) = self.file.take() else { return Err(io::ErrorKind::NotFound.into()) };
        let result = write(&mut *file)?;
        if result.is_ok() {
            file.sync()?;
        }
        Ok(result)
    }

    pub(super) fn replace(mut self, path: &Path) -> io::Result<()> {
        self.storage.rename(&self.path, path)?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        self.file = None;
        if !self.path.as_os_str().is_empty() {
            // The error that counts is the one that led here.
            let _ = self.storage.remove(&self.path);
        }
    }
}

/// Locks a save against other writers.
pub(super) fn lock(storage: &dyn Storage, path: &Path, wait: Duration) -> Result<Lock> {
    let start = Instant::now();
    loop {
        match storage.lock(&names::lock(path)) {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) if start.elapsed() < wait => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                return Err(Error::new(
                    ErrorKind::InUse,
                    format!(
                        "{} is in use, another program has been writing it for {} ms; try again, or raise `SaveOptions::wait`",
                        path.display(),
                        wait.as_millis()
                    ),
                ));
            }
            Err(error) => return Err(Error::io("lock", path, error)),
        }
    }
}

/// Removes what a program that was killed has left beside a save, which is locked.
pub(super) fn tidy(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    let temporary = names::temporary(path);
    if exists(storage, &temporary) {
        if !exists(storage, path) && exists(storage, &names::backup(path, 1)) {
            // It was killed between the two renames that it takes where a file has one name.
            restore(storage, path, 1)?;
        }
        storage.remove(&temporary)?;
    }
    match storage.remove(&names::link(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Puts a backup in the place of the save, which is missing.
pub(super) fn restore(storage: &dyn Storage, path: &Path, number: u32) -> io::Result<()> {
    let backup = names::backup(path, number);
    storage.link(&backup, path).or_else(|_| storage.rename(&backup, path))
}

/// The header of a save, if it can be read.
pub(super) fn header(storage: &dyn Storage, path: &Path) -> Option<Header> {
    Header::within(&mut *storage.open(path).ok()?, &Limits::WHOLE_HEADER).ok()
}

/// The header of a save that begins and ends as a whole one, if it does.
fn whole(file: Box<dyn StoredFile>) -> io::Result<Option<Header>> {
    match Ends::read(file, &Limits::WHOLE_HEADER) {
        Ok(ends) => Ok(ends.is_whole.then_some(ends.header)),
        // What cannot be read may be whole.
        Err(error) if error.kind() == ErrorKind::Io => Err(io::Error::other(error)),
        Err(_) => Ok(None),
    }
}

/// Makes a backup of the save, and moves the older ones on.
fn rotate(storage: &dyn Storage, path: &Path, backups: u32) -> io::Result<()> {
    let missing_is_fine = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    let file = match storage.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let Some(old) = whole(file)? else {
        // What is not a whole save would push out one that is.
        if backups > 0 && exists(storage, &names::backup(path, 1)) {
            storage.rename(path, &free_damaged(storage, path))?;
        }
        return Ok(());
    };
    let first = names::backup(path, 1);
    // Two devices may have made saves of one generation, so that it alone does not tell.
    let is_there =
        header(storage, &first).is_some_and(|backup| backup.generation > 0 && backup == old);
    // A save that was killed after this has made the backup already.
    if backups == 0 || is_there {
        return Ok(());
    }
    for number in (1..backups).rev() {
        let from = names::backup(path, number);
        missing_is_fine(storage.rename(&from, &names::backup(path, number + 1)))?;
    }
    let link = names::link(path);
    if storage.link(path, &link).is_ok() {
        let result = storage.rename(&link, &first);
        if result.is_err() {
            // The error that counts is the first.
            let _ = storage.remove(&link);
        }
        return result;
    }
    storage.rename(path, &first)
}

/// A name for a damaged save that no other has.
pub(super) fn free_damaged(storage: &dyn Storage, path: &Path) -> PathBuf {
    let mut number = 1;
    loop {
        let name = names::damaged(path, number);
        if number == u32::MAX || !exists(storage, &name) {
            return name;
        }
        number += 1;
    }
}
