//! Replaces a save: completely, or not at all.
//!
//! The steps are those of `docs/internals/reliability.md`. The new save is written to a temporary file. The old save
//! then gets a hidden name, and becomes a backup only when the new one is in place. Until then no backup is touched,
//! and a save that fails leaves everything as it was.

pub(crate) mod recover;
pub(crate) mod slots;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{
    are_equal, are_same, exists, find_preserved, free_name, header, is_free, known_header,
    read_file, whole,
};
use crate::format::{Compression, check};
use crate::platform::{Timer, pause};
use crate::storage::{
    FILES, FileStamp, NewFile, Past, Storage, StorageLock, folder_of, names, quietly,
};
use crate::{Error, ErrorKind, Limits, Result};

/// Options of saves: backups, verification, compression, and the wait for other programs.
///
/// ```
/// use persist::{SaveOptions, Saves};
///
/// let saves = Saves::new().save_options(SaveOptions::new().backups(3).verify(true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveOptions {
    /// The number of earlier saves that are kept as `name.bak`, `name.bak2` and so on. The default is 1.
    ///
    /// If the save is damaged, a load falls back to the newest backup that is intact. When a save becomes a backup,
    /// only its header and trailer are checked. So a save with damage in the middle, which nobody loaded since,
    /// replaces the previous backup. With 2 backups an intact one remains.
    ///
    /// Once a save is durable, it removes backups beyond this number, which remain from a time when more were kept. If
    /// the disk is full, it removes them first and tries once more. The value is then encoded again, and its hooks run
    /// again.
    pub backups: u32,
    /// Whether the new file is read back, and its checksums are checked, before it replaces the old one. The default is
    /// false.
    pub verify: bool,
    /// How long to wait for another program that is writing the same save, or has a file of it open in a way that
    /// prevents a call. The default is 5 s.
    ///
    /// For a writer, these calls wait: saves; loads of a damaged or missing save; and copying, renaming and deleting a
    /// slot. For a file that is held, every call waits: see [`Storage`](crate::storage::Storage#what-a-storage-reports).
    pub wait: Duration,
    /// How the blocks of a save are compressed. Loads accept any compression. The default is [`Compression::None`].
    pub compression: Compression,
}

impl SaveOptions {
    /// The default options.
    pub const DEFAULT: Self = Self {
        backups: 1,
        verify: false,
        wait: Duration::from_secs(5),
        compression: Compression::None,
    };

    /// Returns the default options.
    #[must_use]
    pub const fn new() -> Self {
        Self::DEFAULT
    }

    /// Sets [`backups`](Self::backups).
    #[must_use]
    pub const fn backups(self, backups: u32) -> Self {
        Self { backups, ..self }
    }

    /// Sets [`verify`](Self::verify).
    #[must_use]
    pub const fn verify(self, verify: bool) -> Self {
        Self { verify, ..self }
    }

    /// Sets [`wait`](Self::wait).
    #[must_use]
    pub const fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Sets [`compression`](Self::compression).
    #[must_use]
    pub const fn compression(self, compression: Compression) -> Self {
        Self { compression, ..self }
    }
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A session that replaces its own save.
pub(crate) struct SessionSave<'s> {
    /// Returns an error, called under the lock, if another program has replaced the save.
    pub check: &'s mut dyn FnMut() -> Result<()>,
    /// The stamp of the new save, if it was written.
    pub stamp: Option<FileStamp>,
    /// Whether the new save is in place. `None` if the rename failed: it may have happened nevertheless.
    pub is_in_place: Option<bool>,
}

/// A save that is being replaced. The new one is written to a temporary file, and the old one keeps its name until
/// [`commit`](Self::commit). A guard that is dropped before removes the file.
pub(crate) struct NewSave<'s, 'c> {
    storage: &'s dyn Storage,
    /// As the storage resolves it.
    path: PathBuf,
    options: &'s SaveOptions,
    limits: &'s Limits,
    session: Option<&'s mut SessionSave<'c>>,
    past: Past,
    temporary: Option<Temporary<'s>>,
    has_made_room: bool,
    is_in_place: bool,
    // Dropped last, so that no other program writes beside the temporary file.
    lock: Locked,
}

/// How the old save is held until the new one is in place.
#[derive(Clone, Copy, PartialEq)]
enum OldSave {
    /// The old save has two names, and is never without its own.
    Linked,
    /// The storage allows one name for a file, so the old save was renamed.
    Moved,
}

/// Replaces a file that is no save, as a save is replaced, without backups.
///
/// # Errors
///
/// Returns the errors of a save.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let options = SaveOptions { backups: 0, ..SaveOptions::DEFAULT };
    let mut new = begin(&FILES, path, &options, &Limits::DEFAULT, None)?;
    let written = new.file()?.write_all(bytes);
    written.map_err(|error| Error::io("write", path, error))?;
    new.commit()?;
    Ok(())
}

/// Begins to replace a save: locks it, and reads the headers of earlier saves. A caller without a session may not
/// replace the save of an open session.
pub(crate) fn begin<'s, 'c>(
    storage: &'s dyn Storage,
    path: &Path,
    options: &'s SaveOptions,
    limits: &'s Limits,
    mut session: Option<&'s mut SessionSave<'c>>,
) -> Result<NewSave<'s, 'c>> {
    let path = storage.resolve(path).map_err(|e| Error::io("write the save to", path, e))?;
    // Step 1: check the name, and lock the save.
    check_name(storage, &path)?;
    let lock = lock(storage, &path, options.wait)?;
    match &mut session {
        Some(session) => (session.check)()?,
        None => check_no_session(storage, &path)?,
    }
    // Step 2: remove the leftovers of a killed program, and read the headers of earlier saves.
    tidy(storage, &path, options.backups.max(1))
        .map_err(|e| Error::io("remove what is left of an earlier save beside", &path, e))?;
    let past = Past::read(storage, &path, options.backups)?;
    Ok(NewSave {
        storage,
        path,
        options,
        limits,
        session,
        past,
        temporary: None,
        has_made_room: false,
        is_in_place: false,
        lock,
    })
}

impl<'s> NewSave<'s, '_> {
    /// Writes the new save and commits it. If the disk is full, the surplus backups are removed, and `write` is called
    /// a second time with an empty file. It gets the headers of earlier saves.
    pub(crate) fn write_and_commit(
        mut self,
        mut write: impl FnMut(&mut dyn Write, &Past) -> Result<()>,
    ) -> Result<bool> {
        loop {
            let created = self.file().map(drop);
            let written = created.and_then(|()| {
                self.temporary.as_mut().map_or(Ok(()), |file| write(file, &self.past))
            });
            match written.and_then(|()| self.commit()) {
                Err(error) if error.kind() == ErrorKind::NoSpace && self.make_room() => {}
                is_locked => return is_locked,
            }
        }
    }

    fn create(&self) -> Result<Temporary<'s>> {
        Temporary::create(self.storage, &self.path, &self.path, &self.lock)
            .map_err(|error| Error::io("create a temporary file beside", &self.path, error))
    }

    /// Returns the file of the new save, which is created at the first call.
    fn file(&mut self) -> Result<&mut dyn Write> {
        let file = match self.temporary.take() {
            Some(file) => file,
            None => self.create()?,
        };
        Ok(self.temporary.insert(file))
    }

    /// Deletes what was written, and frees space on a full disk by removing surplus backups, once. Returns false if
    /// there are none, or if the new save is in place and only its backup could not be made.
    fn make_room(&mut self) -> bool {
        if self.is_in_place || self.has_made_room || !self.past.has_surplus() {
            return false;
        }
        self.has_made_room = true;
        self.temporary = None;
        self.past.remove_surplus(self.storage);
        true
    }

    /// Flushes the new save, renames it over the old one, and flushes the folder. The old save becomes a backup.
    /// Returns false if the storage has no locks.
    ///
    /// A crash at any moment leaves the old save or the new one, and an error leaves the old one.
    fn commit(&mut self) -> Result<bool> {
        let old = self.put_in_place()?;
        self.is_in_place = true;
        let (storage, backups) = (self.storage, self.options.backups);
        let path = &*self.path;
        let failed = |doing: &'static str| move |error: io::Error| Error::io(doing, path, error);
        // Step 7: make a backup of the old save.
        if let Some(old) = old {
            // Renames may become durable out of order. Without this flush, only the backup might survive.
            if old == OldSave::Moved {
                storage
                    .sync_folder(folder_of(path))
                    .map_err(failed("flush the folder of the new save, which is in place,"))?;
            }
            make_backup(storage, path, backups)
                .map_err(failed("back up the save before the new one, which is in place,"))?;
        }
        // Step 8: flush the names in the folder.
        storage
            .sync_folder(folder_of(path))
            .map_err(failed("flush the folder of the new save, which is in place,"))?;
        // Step 9: remove backups beyond the number to keep.
        self.past.remove_surplus(storage);
        Ok(self.lock.is_held())
    }

    /// Steps 3 to 6: flushes the new save, and puts it in place. Returns how the old save is held, if there is one.
    fn put_in_place(&mut self) -> Result<Option<OldSave>> {
        self.file()?;
        let (storage, path) = (self.storage, &*self.path);
        let failed = |doing: &'static str| move |error: io::Error| Error::io(doing, path, error);
        let Some(mut temporary) = self.temporary.take() else { return Ok(None) };
        // Step 3: flush the temporary file.
        temporary.sync().map_err(failed("flush"))?;
        // Step 4: read it back, if asked to, and check that no other program has saved meanwhile.
        if self.options.verify {
            let save = read_file(storage, &temporary.path, self.limits)?;
            check(&save, self.limits).map_err(|error| {
                error!(
                    ErrorKind::Io,
                    "the save that was written is not what is read back, {error}; the old one stays"
                )
            })?;
        }
        temporary.check_own(path)?;
        if !self.lock.is_held() && known_header(storage, path)?.as_ref() != self.past.replaced() {
            return Err(in_use(path));
        }
        if let Some(session) = &mut self.session {
            // A program that takes no locks may have replaced the save while the new one was written.
            (session.check)()?;
            // The rename changes neither the file nor its stamp.
            session.stamp = storage.stamp(&temporary.path).ok();
        }
        // Steps 5 and 6: give the old save a hidden name, and rename the new one over it.
        let old = names::old(path);
        let has_old =
            self.options.backups > 0 && !is_free(storage, path).map_err(failed("back up"))?;
        let how = match has_old {
            false => None,
            true if storage.link(path, &old).is_ok() => Some(OldSave::Linked),
            true => {
                storage.rename(path, &old).map_err(failed("back up"))?;
                Some(OldSave::Moved)
            }
        };
        let placed = temporary.rename(path);
        if let Some(session) = &mut self.session {
            session.is_in_place = placed.is_ok().then_some(true);
        }
        if let Err(error) = placed {
            // Report the first error, not one of the cleanup.
            let _ = match how {
                None => Ok(()),
                Some(OldSave::Linked) => storage.remove(&old),
                Some(OldSave::Moved) => storage.rename(&old, path),
            };
            return Err(failed("replace")(error));
        }
        Ok(how)
    }
}

/// Adds a save from elsewhere as the newest backup of an existing save. A crash leaves the backup or none, and the save
/// does not change.
pub(in crate::storage) fn add_backup(
    storage: &dyn Storage,
    path: &Path,
    options: &SaveOptions,
    save: &[u8],
) -> Result<()> {
    let resolved = storage.resolve(path).map_err(|e| Error::io("write the save to", path, e))?;
    let path = &*resolved;
    let failed = |error: io::Error| Error::io("back up", path, error);
    let lock = lock(storage, path, options.wait)?;
    check_no_session(storage, path)?;
    tidy(storage, path, options.backups.max(1)).map_err(failed)?;
    // Without a save, a load would take the backup for the save.
    if is_free(storage, path).map_err(failed)? {
        return Ok(());
    }
    let mut file = Temporary::with(storage, path, path, &lock, save).map_err(failed)?;
    file.check_own(path)?;
    // From here the file looks like the leftover of an interrupted save, which becomes a backup.
    file.rename(&names::old(path)).map_err(failed)?;
    make_backup(storage, path, options.backups).map_err(failed)?;
    storage.sync_folder(folder_of(path)).map_err(failed)
}

/// Returns the error for a save that another program has replaced meanwhile, on a storage without locks.
#[cold]
fn in_use(path: &Path) -> Error {
    let path = path.display();
    let message = format!(
        "{path} is in use, another program has saved it meanwhile and this system cannot lock files; load it, or save again to replace that save"
    );
    Error::new(ErrorKind::InUse, message)
}

/// Returns an error for a name that is too long for the names of backups. Otherwise the first save would work, and the
/// second would fail.
fn check_name(storage: &dyn Storage, path: &Path) -> Result<()> {
    let longest = names::damaged(path, MANY);
    match storage.open(&longest) {
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => {
            let length = |path: &Path| path.file_name().map_or(0, std::ffi::OsStr::len);
            let (own, more) = (length(path), length(&longest) - length(path));
            Err(error!(
                ErrorKind::InvalidValue,
                "cannot write the save to {}: its name has {own} bytes, and with {more} more for its backups it is too long; most systems take 255, so choose one of at most {} bytes",
                path.display(), 255 - more
            )
            .because(error))
        }
        _ => Ok(()),
    }
}

/// A number of backups or damaged files that no slot should reach.
const MANY: u32 = 99;

/// A temporary file, which is removed when it is dropped, unless it has replaced another file.
struct Temporary<'s> {
    storage: &'s dyn Storage,
    path: PathBuf,
    file: Option<Box<dyn NewFile>>,
    /// Checksum of the written bytes, if there is no lock that keeps other programs from writing to the file.
    written: Option<Sum>,
}

impl<'s> Temporary<'s> {
    /// Creates a file that will replace `of`, with the permissions of `like`.
    fn create(storage: &'s dyn Storage, of: &Path, like: &Path, lock: &Locked) -> io::Result<Self> {
        let path = names::temporary(of);
        let file = storage.create(&path, like)?;
        let written = (!lock.is_held()).then(Sum::default);
        Ok(Self { storage, path, file: Some(file), written })
    }

    /// Creates a file like [`create`](Self::create), writes `content` to it, and flushes it.
    fn with(
        storage: &'s dyn Storage,
        of: &Path,
        like: &Path,
        lock: &Locked,
        content: &[u8],
    ) -> io::Result<Self> {
        let mut file = Self::create(storage, of, like, lock)?;
        file.write_all(content)?;
        file.sync()?;
        Ok(file)
    }

    /// Flushes the content to the disk, once.
    ///
    /// After a failed flush the state of the file is unknown, and a second flush may succeed without the bytes. So the
    /// file is given up.
    fn sync(&mut self) -> io::Result<()> {
        self.file.take().map_or(Ok(()), |mut file| file.sync())
    }

    /// Returns an error if another program has written a file of the same name. That file is not removed.
    fn check_own(&mut self, path: &Path) -> Result<()> {
        let Some(written) = &self.written else { return Ok(()) };
        let mut found = Sum::default();
        let read =
            self.storage.open(&self.path).and_then(|mut file| io::copy(&mut file, &mut found));
        if read.is_ok() && *written == found {
            return Ok(());
        }
        self.path = PathBuf::new();
        Err(in_use(path))
    }

    /// Renames the file over another one.
    fn rename(mut self, path: &Path) -> io::Result<()> {
        self.storage.rename(&self.path, path)?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Write for Temporary<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let written = file.write(bytes)?;
        if let Some(sum) = &mut self.written {
            sum.write_all(&bytes[..written])?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        quietly(|| self.file = None);
        if !self.path.as_os_str().is_empty() {
            // Report the error that led here, not one of the cleanup.
            quietly(|| drop(self.storage.remove(&self.path)));
        }
    }
}

/// Length and CRC-32 of the written bytes.
#[derive(Default)]
struct Sum {
    length: u64,
    crc: crc32fast::Hasher,
}

impl PartialEq for Sum {
    fn eq(&self, other: &Self) -> bool {
        let sum = |sum: &Self| (sum.length, sum.crc.clone().finalize());
        sum(self) == sum(other)
    }
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len() as u64;
        self.crc.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lock of a save, if the storage has locks.
struct Locked(Option<StorageLock>);

impl Locked {
    fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        quietly(|| self.0 = None);
    }
}

/// Locks a save against other writers.
fn lock(storage: &dyn Storage, path: &Path, wait: Duration) -> Result<Locked> {
    let start = Timer::start();
    loop {
        match storage.lock(&names::lock(path)) {
            Ok(Some(lock)) => return Ok(Locked(Some(lock))),
            Ok(None) if start.elapsed() < wait && pause(Duration::from_millis(10)) => {}
            Ok(None) => {
                bail!(
                    ErrorKind::InUse,
                    "{} is in use, another program has been writing it for {} ms; try again, or raise `SaveOptions::wait`",
                    path.display(),
                    wait.as_millis()
                );
            }
            // Locks are advisory. Without one, a commit checks the save before and after it writes.
            Err(error) if has_no_lock(&error) => return Ok(Locked(None)),
            Err(error) => return Err(Error::io("write beside", path, error)),
        }
    }
}

/// Returns true if the storage has no locks, or the lock file cannot be opened, because another user may have left it.
/// If nothing can be written at all, creating the first file reports it.
pub(crate) fn has_no_lock(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

/// Returns an error if a session has the save open, since the session's journal follows that save.
fn check_no_session(storage: &dyn Storage, path: &Path) -> Result<()> {
    let name = names::session(path);
    // For a save without sessions this is one call. The lock file of a program that was killed locks nothing.
    if exists(storage, &name) && matches!(storage.lock(&name), Ok(None)) {
        bail!(
            ErrorKind::InUse,
            "{} is in use, a session has it open; save by that session, or close it",
            path.display()
        );
    }
    Ok(())
}

/// Removes the leftovers of a program that was killed beside a save. The caller holds the lock of the save.
///
/// If there is no free number, an unfinished backup replaces the last of `max` backups.
fn tidy(storage: &dyn Storage, path: &Path, max: u32) -> io::Result<()> {
    let (temporary, old) = (names::temporary(path), names::old(path));
    let was_writing = !is_free(storage, &temporary)?;
    let has_save = !is_free(storage, path)?;
    if !is_free(storage, &old)? {
        match (has_save, was_writing) {
            // Files can have only one name, and the program was killed while the save had no name of its own.
            (false, _) => storage.rename(&old, path)?,
            // The old save has two names, unless another program has replaced the save since.
            (true, true) if are_equal(storage, &old, path)? => storage.remove(&old)?,
            // The new save is in place. The old one is a backup without a number.
            (true, _) => make_backup(storage, path, max)?,
        }
    }
    if was_writing { storage.remove(&temporary) } else { Ok(()) }
}

/// Makes a backup of the old save, if there is one, and drops the last of `max` backups. An interrupted rotation
/// continues where it stopped.
fn make_backup(storage: &dyn Storage, path: &Path, max: u32) -> io::Result<()> {
    let result = rotate(storage, path, max).or_else(|_| rotate(storage, path, max));
    // An old save that cannot be read now may be intact. Loads must be able to find it, and it must not displace an
    // intact backup. So it gets a free number. If that is beyond `max`, the next save removes it.
    result.or_else(|_| storage.rename(&names::old(path), &free_name(storage, path, names::backup)?))
}

/// Rotates the backups. A damaged save would displace an intact backup, so it is renamed to a damaged file.
fn rotate(storage: &dyn Storage, path: &Path, max: u32) -> io::Result<()> {
    let old = names::old(path);
    let file = match storage.open(&old) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // The storage reports that the file is damaged.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
        file => Some(file?),
    };
    // A damaged save that was salvaged has a copy already.
    if find_preserved(storage, path, &old, names::damaged).is_some() {
        return storage.remove(&old);
    }
    let Some(own) = file.map_or(Ok(None), whole)? else {
        return storage.rename(&old, &free_name(storage, path, names::damaged)?);
    };
    let first = names::backup(path, 1);
    // A backup that a load put in place of a damaged save is a backup already. The header alone does not identify it:
    // another device may have made a save with the same generation.
    let is_backup = header(storage, &first).is_some_and(|backup| backup == own);
    if is_backup && are_same(storage, &old, &first) {
        return storage.remove(&old);
    }
    let mut free = 1;
    while free < max && !is_free(storage, &names::backup(path, free))? {
        free += 1;
    }
    for number in (1..free).rev() {
        storage.rename(&names::backup(path, number), &names::backup(path, number + 1))?;
    }
    storage.rename(&old, &first)
}
