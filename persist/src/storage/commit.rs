//! How a save is replaced: whole, or not at all.
//!
//! The steps are those of `docs/internals/reliability.md`. The old save gets a hidden name, and becomes a backup when the
//! new one is in place: until then no backup is touched, and a save that fails leaves all as it was.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::read::{
    are_equal, are_same, free_name, header, is_free, is_there, kept_as, known_header, read_file,
    whole,
};
use super::{FileStamp, NewFile, Past, Storage, StorageLock, folder_of, names, quietly};
use crate::format::{Compression, check};
use crate::platform::{Timer, pause};
use crate::{Error, ErrorKind, Limits, Result};

/// How saves are written: backups, verification, compression, and the wait for other programs.
///
/// ```
/// use persist::{SaveOptions, Saves};
///
/// let saves = Saves::new().save_options(SaveOptions::new().backups(3).verify(true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveOptions {
    /// How many earlier saves stay beside a save, as `name.bak`, `name.bak2` and so on. Default 1.
    ///
    /// A load takes the newest good one if the save is damaged. Only header and trailer are checked when a save
    /// becomes a backup. If it is damaged in the middle, and was not loaded since, it replaces the previous backup
    /// all the same. With 2 a good one remains.
    ///
    /// A save removes the backups beyond this number, from a time when more were kept, once it is durable. On a full disk
    /// they are removed before, and the save is tried once more: it is then encoded again, with its hooks.
    pub backups: u32,
    /// Whether the new file is read back and each of its checksums checked before it replaces the old one. Default
    /// false.
    pub verify: bool,
    /// How long to wait for another program that is writing the same save. Default 5 s.
    ///
    /// Saves wait, loads of a damaged or missing save, and whatever copies, renames or deletes a slot.
    pub wait: Duration,
    /// How the blocks of a save are compressed. Loads take any. Default [`Compression::None`].
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

    /// Makes the default options.
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

/// Writes a save, with what is known of the saves before. On a full disk it is called a second time, with an empty file.
pub(crate) type WriteSave<'w> = &'w mut dyn FnMut(&mut dyn Write, &Past) -> Result<()>;

/// Writes a file through a temporary one beside it: flushed, renamed over the target, and the
/// folder flushed; the old file becomes a backup. A crash at any moment leaves the old file or
/// the new one, an error the old one. Returns false where the storage has no locks.
pub(crate) fn replace(
    storage: &dyn Storage,
    path: &Path,
    options: &SaveOptions,
    limits: &Limits,
    write: WriteSave<'_>,
) -> Result<bool> {
    replace_by(storage, path, options, limits, None, write)
}

/// A session that replaces its own save.
pub(crate) struct SessionSave<'s> {
    /// Says, under the lock, whether the save is still its own.
    pub(crate) check: &'s mut dyn FnMut() -> Result<()>,
    /// The stamp of the new save, if it was written.
    pub(crate) stamp: Option<FileStamp>,
    /// Whether the new save is in place; `None` if its rename failed, which may have happened all the same.
    pub(crate) is_in_place: Option<bool>,
}

/// Writes a file like [`replace`], for a session or for anybody else, who may not replace the save of an open session.
pub(crate) fn replace_by(
    storage: &dyn Storage,
    path: &Path,
    options: &SaveOptions,
    limits: &Limits,
    mut session: Option<&mut SessionSave<'_>>,
    write: WriteSave<'_>,
) -> Result<bool> {
    let resolved = storage.resolve(path).map_err(|e| Error::io("write the save to", path, e))?;
    let path = &*resolved;
    let failed = |doing: &'static str| move |error: io::Error| Error::io(doing, path, error);
    // 1.
    check_name(storage, path)?;
    let lock = lock(storage, path, options.wait)?;
    let is_locked = lock.is_held();
    match &mut session {
        Some(session) => (session.check)()?,
        None => check_no_session(storage, path)?,
    }
    // 2.
    tidy(storage, path, options.backups.max(1))
        .map_err(failed("remove what is left of an earlier save beside"))?;
    let past = Past::read(storage, path, options.backups)?;
    let mut place =
        || put(storage, path, options, limits, (&lock, session.as_deref_mut()), &past, write);
    let aside = place().or_else(|error| {
        if error.kind() != ErrorKind::NoSpace || !past.has_surplus() {
            return Err(error);
        }
        past.remove_surplus(storage);
        place()
    })?;
    // 7.
    if let Some(aside) = aside {
        // The names may last in another order than they were changed: without this one, only the backup might.
        if aside == Aside::Moved {
            storage
                .sync_folder(folder_of(path))
                .map_err(failed("flush the folder of the new save, which is in place,"))?;
        }
        make_backup(storage, path, options.backups)
            .map_err(failed("back up the save before the new one, which is in place,"))?;
    }
    // 8.
    storage
        .sync_folder(folder_of(path))
        .map_err(failed("flush the folder of the new save, which is in place,"))?;
    // 9.
    past.remove_surplus(storage);
    Ok(is_locked)
}

/// How the old save is set aside until the new one is in place.
#[derive(Clone, Copy, PartialEq)]
enum Aside {
    /// It has two names, and is never without one.
    Linked,
    /// Where a file has one name.
    Moved,
}

/// Steps 3 to 6: writes the new save, and puts it in its place. Returns how the old one is set aside now, if it is.
fn put(
    storage: &dyn Storage,
    path: &Path,
    options: &SaveOptions,
    limits: &Limits,
    (lock, mut session): (&Locked, Option<&mut SessionSave<'_>>),
    past: &Past,
    write: WriteSave<'_>,
) -> Result<Option<Aside>> {
    let failed = |doing: &'static str| move |error: io::Error| Error::io(doing, path, error);
    // 3.
    let mut temporary = Temporary::create(storage, path, path, lock)
        .map_err(failed("create a temporary file beside"))?;
    temporary.write(|out| write(out, past), failed("flush"))?;
    // 4.
    if options.verify {
        let save = read_file(storage, &temporary.path, limits)?;
        check(&save, limits).map_err(|error| {
            error!(
                ErrorKind::Io,
                "the save that was written is not what is read back, {error}; the old one stays"
            )
        })?;
    }
    temporary.check_own(path)?;
    if !lock.is_held() && known_header(storage, path)?.as_ref() != past.replaced() {
        return Err(in_use(path));
    }
    if let Some(session) = &mut session {
        // A program that takes no locks may have replaced it while the new one was written.
        (session.check)()?;
        // The rename changes neither the file nor its stamp.
        session.stamp = storage.stamp(&temporary.path).ok();
    }
    // 5 and 6.
    let aside = names::aside(path);
    let has_old = options.backups > 0 && !is_free(storage, path).map_err(failed("back up"))?;
    let how = match has_old {
        false => None,
        true if storage.link(path, &aside).is_ok() => Some(Aside::Linked),
        true => {
            storage.rename(path, &aside).map_err(failed("back up"))?;
            Some(Aside::Moved)
        }
    };
    let placed = temporary.replace(path);
    if let Some(session) = session {
        session.is_in_place = placed.is_ok().then_some(true);
    }
    if let Err(error) = placed {
        // The error that counts is this one.
        let _ = match how {
            None => Ok(()),
            Some(Aside::Linked) => storage.remove(&aside),
            Some(Aside::Moved) => storage.rename(&aside, path),
        };
        return Err(failed("replace")(error));
    }
    Ok(how)
}

/// Keeps a save from elsewhere as the newest backup of one that is there. A crash leaves the backup or none; the save stays
/// as it is.
pub(super) fn add_backup(
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
    // Alone, it would be taken for the save.
    if is_free(storage, path).map_err(failed)? {
        return Ok(());
    }
    let mut file = Temporary::with(storage, path, path, &lock, save).map_err(failed)?;
    file.check_own(path)?;
    // From here it is what a save that was interrupted has left, which becomes a backup.
    file.replace(&names::aside(path)).map_err(failed)?;
    make_backup(storage, path, options.backups).map_err(failed)?;
    storage.sync_folder(folder_of(path)).map_err(failed)
}

/// The error of a save that another program has replaced meanwhile, where there are no locks.
#[cold]
fn in_use(path: &Path) -> Error {
    let path = path.display();
    let message = format!(
        "{path} is in use, another program has saved it meanwhile and this system cannot lock files; load it, or save again to replace that save"
    );
    Error::new(ErrorKind::InUse, message)
}

/// Refuses a name that has no room for those of backups: else the first save would be the only one.
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

/// A number of backups or damaged saves that no slot is expected to have.
const MANY: u32 = 99;

/// A file that is removed unless it takes the place of another.
pub(super) struct Temporary<'s> {
    storage: &'s dyn Storage,
    path: PathBuf,
    file: Option<Box<dyn NewFile>>,
    /// What was written to it, where another program might write to it too.
    written: Option<Sum>,
}

impl<'s> Temporary<'s> {
    /// One that is to take the place of `of`, with the permissions of `like`.
    pub(super) fn create(
        storage: &'s dyn Storage,
        of: &Path,
        like: &Path,
        lock: &Locked,
    ) -> io::Result<Self> {
        let path = names::temporary(of);
        let file = storage.create(&path, like)?;
        let written = (!lock.is_held()).then(Sum::default);
        Ok(Self { storage, path, file: Some(file), written })
    }

    /// Like [`create`](Self::create), with this content, flushed.
    pub(super) fn with(
        storage: &'s dyn Storage,
        of: &Path,
        like: &Path,
        lock: &Locked,
        content: &[u8],
    ) -> io::Result<Self> {
        let mut file = Self::create(storage, of, like, lock)?;
        file.write(|out| out.write_all(content), |error| error)?;
        Ok(file)
    }

    /// Writes its content, once, and flushes it unless that fails.
    pub(super) fn write<E>(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
        failed: impl FnOnce(io::Error) -> E,
    ) -> Result<(), E> {
        write(self)?;
        // If a flush fails nothing is known of the file: it is not asked again, but given up.
        self.file.take().map_or(Ok(()), |mut file| file.sync()).map_err(failed)
    }

    /// An error if another program has written a file of its name, which stays.
    pub(super) fn check_own(&mut self, path: &Path) -> Result<()> {
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

    /// Takes the place of a file.
    pub(super) fn replace(mut self, path: &Path) -> io::Result<()> {
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
            // The error that counts is the one that led here.
            quietly(|| drop(self.storage.remove(&self.path)));
        }
    }
}

/// Length and CRC-32 of what was written.
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
pub(super) struct Locked(Option<StorageLock>);

impl Locked {
    pub(super) fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        quietly(|| self.0 = None);
    }
}

/// Locks a save against other writers.
pub(super) fn lock(storage: &dyn Storage, path: &Path, wait: Duration) -> Result<Locked> {
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
            // A lock is advice: without one a commit looks twice.
            Err(error) if has_no_lock(&error) => return Ok(Locked(None)),
            Err(error) => return Err(Error::io("write beside", path, error)),
        }
    }
}

/// True if there are no locks, or the file of one cannot be opened: another user may have left it. Where nothing can be
/// written at all, the first file that is created says so.
pub(crate) fn has_no_lock(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

/// Refuses to change a save that a session has open: its journal follows that save.
pub(super) fn check_no_session(storage: &dyn Storage, path: &Path) -> Result<()> {
    let name = names::session(path);
    // A save without sessions costs one look. The file of a program that was killed locks nobody.
    if is_there(storage, &name) && matches!(storage.lock(&name), Ok(None)) {
        bail!(
            ErrorKind::InUse,
            "{} is in use, a session has it open; save by that session, or close it",
            path.display()
        );
    }
    Ok(())
}

/// Removes what a program that was killed has left beside a save, which is locked.
///
/// The last of `most` backups is replaced by one that was not finished, if there is no number free.
pub(super) fn tidy(storage: &dyn Storage, path: &Path, most: u32) -> io::Result<()> {
    let (temporary, aside) = (names::temporary(path), names::aside(path));
    let was_writing = !is_free(storage, &temporary)?;
    let has_save = !is_free(storage, path)?;
    if !is_free(storage, &aside)? {
        match (has_save, was_writing) {
            // Where a file has one name, the save is without its own.
            (false, _) => storage.rename(&aside, path)?,
            // It has two names; unless another program has put a save in its place since.
            (true, true) if are_equal(storage, &aside, path)? => storage.remove(&aside)?,
            // The new save is in place; the one before is a backup that has no number yet.
            (true, _) => make_backup(storage, path, most)?,
        }
    }
    if was_writing { storage.remove(&temporary) } else { Ok(()) }
}

/// Makes a backup of the save that was moved aside, if there is one; the last of `most` is dropped. An interrupted
/// rotation continues where it was.
pub(super) fn make_backup(storage: &dyn Storage, path: &Path, most: u32) -> io::Result<()> {
    let result = rotate(storage, path, most).or_else(|_| rotate(storage, path, most));
    // What cannot be read now may be a whole save: no load may miss it, and it may push out no backup that is one. It gets a
    // free number, and beyond `most` the next save removes it.
    result
        .or_else(|_| storage.rename(&names::aside(path), &free_name(storage, path, names::backup)?))
}

/// What is no whole save would push out one that is: it is kept as damaged.
fn rotate(storage: &dyn Storage, path: &Path, most: u32) -> io::Result<()> {
    let aside = names::aside(path);
    let file = match storage.open(&aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // The storage says that it is damaged.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
        file => Some(file?),
    };
    // A wreck that was salvaged is kept already.
    if kept_as(storage, path, &aside, names::damaged).is_some() {
        return storage.remove(&aside);
    }
    let Some(old) = file.map_or(Ok(None), whole)? else {
        return storage.rename(&aside, &free_name(storage, path, names::damaged)?);
    };
    let first = names::backup(path, 1);
    // A backup that was loaded in the place of a damaged save is one already. A header alone does not tell: another device
    // may have made a save of the same generation.
    let is_backup = header(storage, &first).is_some_and(|backup| backup == old);
    if is_backup && are_same(storage, &aside, &first) {
        return storage.remove(&aside);
    }
    let mut free = 1;
    while free < most && !is_free(storage, &names::backup(path, free))? {
        free += 1;
    }
    for number in (1..free).rev() {
        storage.rename(&names::backup(path, number), &names::backup(path, number + 1))?;
    }
    storage.rename(&aside, &first)
}
