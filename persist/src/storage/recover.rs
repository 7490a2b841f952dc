//! Loads that fall back to a backup.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::commit::{Locked, Temporary, lock, tidy};
use super::read::{
    backups_by_age, free_damaged, header, is_there, kept_as_damaged, read_file, read_save, whole,
};
use super::{Storage, folder_of, names};
use crate::{Error, ErrorKind, Limits, Result};

/// What a load did about a save that was damaged.
///
/// Its [`Display`](fmt::Display) is a sentence for the player.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The backup that was loaded. Unless [`damaged`](Self::damaged) is `None` it is the save now, too.
    pub backup: PathBuf,
    /// How many saves of this slot were made after the backup, as far as that can be read.
    pub lost: Option<u64>,
    /// Where the damaged save is kept; `None` if it could not be moved and is where it was.
    pub damaged: Option<PathBuf>,
    /// What was wrong with it.
    pub cause: String,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the save was damaged, a backup was loaded in its place; ")?;
        match self.lost {
            Some(0) => f.write_str("no save is lost")?,
            Some(1) => f.write_str("1 save is lost")?,
            Some(lost) => write!(f, "{lost} saves are lost")?,
            None => f.write_str("it is not known how many saves are lost")?,
        }
        match &self.damaged {
            Some(path) => write!(f, "; the damaged file is kept as {}", path.display()),
            None => f.write_str("; the damaged file is where it was"),
        }
    }
}

/// What a load asks of the files, besides the path.
#[derive(Clone, Copy)]
pub(crate) struct ReadRequest<'s> {
    pub(crate) storage: &'s dyn Storage,
    pub(crate) limits: &'s Limits,
    /// How long to wait for a program that is writing the save.
    pub(crate) wait: Duration,
}

/// Reads a save; a damaged one is replaced by its newest good backup.
pub(crate) fn load(
    request: ReadRequest<'_>,
    path: &Path,
    read: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Option<Recovery>> {
    let ReadRequest { storage, limits, .. } = request;
    let resolved = storage.resolve(path).unwrap_or_else(|_| path.to_owned());
    sweep(storage, &resolved);
    let mut bytes = None;
    let result = read_current(request, path, &resolved).and_then(|save| {
        let result = read(&save);
        bytes = Some(save);
        result
    });
    let damage = match result {
        Ok(()) => return Ok(None),
        Err(error) if error.is_damage() => error,
        // It is whole, and the program cannot load it.
        Err(error) if bytes.is_some() || error.kind() == ErrorKind::TooLarge => {
            return Err(error.in_file(&resolved));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(missing(storage, &resolved, error));
        }
        Err(error) => return Err(error),
    };
    let unread = |error: &Error| {
        let (file, what) = (resolved.display(), damage.cause());
        let message =
            format!("{file} cannot be loaded, {what}; {}; all files are kept", error.cause());
        Err(Error::new(ErrorKind::Io, message))
    };
    let mut also = String::new();
    let backups = match backups_by_age(storage, &resolved) {
        Ok(backups) => backups,
        Err(error) => return unread(&error),
    };
    for (backup, generation) in backups {
        let save = read_save(storage, &backup, limits);
        match save.and_then(|save| read(&save).map(|()| save)) {
            Ok(save) => {
                let lost = header(storage, &resolved)
                    .and_then(|header| header.generation.checked_sub(generation));
                let damaged = put_back(request, &resolved, bytes.as_deref(), &save);
                let cause = damage.to_string();
                return Ok(Some(Recovery { backup, lost, damaged, cause }));
            }
            // It may be good, and a newer one than the next.
            Err(error) if error.kind() == ErrorKind::Io => return unread(&error),
            Err(error) => {
                also.push_str(&format!("; nor can {}, {}", backup.display(), error.cause()));
            }
        }
    }
    let file = resolved.display();
    if also.is_empty() {
        // The place is behind the message.
        let what = damage.message().replacen("; restore a backup", "", 1);
        let what = match what.strip_prefix("this is not a save") {
            Some(why) => format!("{file} is not a save{why}; it has no backup"),
            None => format!("{file} cannot be loaded, {what}; it has no backup"),
        };
        return Err(damage.reworded(what));
    }
    let what = format!("{file} cannot be loaded, {}", damage.cause());
    let message = format!("{what}{also}; all files are kept");
    Err(Error::new(damage.kind(), message).because(damage))
}

/// A save that is gone altogether stays so: the player may have deleted it.
fn missing(storage: &dyn Storage, path: &Path, error: Error) -> Error {
    let backups = backups_by_age(storage, path).unwrap_or_default();
    let is_good = |(backup, _): &&(PathBuf, u64)| {
        storage.open(backup).is_ok_and(|file| matches!(whole(file), Ok(Some(_))))
    };
    match backups.iter().find(is_good) {
        None => error,
        Some((backup, _)) => {
            let backup = backup.display();
            let message = format!(
                "{}; it has a backup: load {backup}, or give that the name of the save",
                error.message()
            );
            error.reworded(message)
        }
    }
}

/// Reads a save that may be replaced meanwhile: where a file has one name, it is without one for a moment.
pub(super) fn read_current(
    request: ReadRequest<'_>,
    path: &Path,
    resolved: &Path,
) -> Result<Vec<u8>> {
    let ReadRequest { storage, limits, wait } = request;
    read_save(storage, path, limits).or_else(|error| {
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        let _lock = if has_leftovers(storage, resolved) {
            match lock(storage, resolved, wait) {
                // Where nothing can be written, nobody is writing.
                Err(error) if error.kind() != ErrorKind::InUse => None,
                lock => Some(lock?),
            }
        } else {
            None
        };
        // It may have been replaced since; else a program was killed before it gave the old one back its name.
        // If there is neither, the error is that of the save.
        read_save(storage, path, limits).or_else(|missing| match missing.kind() {
            ErrorKind::NotFound => match read_save(storage, &names::aside(resolved), limits) {
                Err(error) if error.kind() == ErrorKind::NotFound => Err(missing),
                result => result,
            },
            _ => Err(missing),
        })
    })
}

/// True if there is what a program leaves that is killed while it saves.
fn has_leftovers(storage: &dyn Storage, path: &Path) -> bool {
    let leftovers = [names::temporary(path), names::lock(path), names::aside(path)];
    leftovers.iter().any(|left| is_there(storage, left))
}

/// Removes what a program that was killed has left, unless one is writing.
fn sweep(storage: &dyn Storage, path: &Path) {
    if has_leftovers(storage, path)
        && let Ok(lock) = lock(storage, path, Duration::ZERO)
        // Without locks another program may be writing them.
        && lock.is_held()
    {
        // Where nothing can be removed, the save can be read all the same.
        let _ = tidy(storage, path, u32::MAX);
    }
}

/// True if a save of the slot was cut off between two renames, which a load sets right.
pub(crate) fn is_between(storage: &dyn Storage, path: &Path) -> bool {
    is_there(storage, &names::aside(path))
}

/// Keeps a damaged save, and puts a copy of the backup in its place; returns where it is kept.
fn put_back(
    request: ReadRequest<'_>,
    path: &Path,
    damaged: Option<&[u8]>,
    backup: &[u8],
) -> Option<PathBuf> {
    let ReadRequest { storage, limits, wait } = request;
    // Another program may have saved meanwhile; without locks, also while the copy was written.
    let is_damaged = || read_save(storage, path, limits).ok().as_deref() == damaged;
    let lock = lock(storage, path, wait).ok()?;
    let kept = is_damaged().then(|| keep(request, path, path, &lock))??;
    let mut copy = Temporary::with(storage, path, path, &lock, backup).ok()?;
    copy.check_own(path).ok()?;
    is_damaged().then(|| copy.replace(path))?.ok()?;
    // If it is not flushed, the next load finds the damaged save again.
    let _ = storage.sync_folder(folder_of(path));
    Some(kept)
}

/// The save and its backups, the newest first, as far as they can be read.
pub(crate) fn wrecks<'s>(
    request: ReadRequest<'s>,
    path: &Path,
) -> impl Iterator<Item = (PathBuf, Vec<u8>)> + use<'s> {
    let ReadRequest { storage, limits, .. } = request;
    let path = storage.resolve(path).unwrap_or_else(|_| path.to_owned());
    // A backup that the system does not let be looked at is none that could help.
    let backups = backups_by_age(storage, &path).unwrap_or_default().into_iter();
    std::iter::once(path)
        .chain(backups.map(|(backup, _)| backup))
        .filter_map(move |file| read_save(storage, &file, limits).ok().map(|save| (file, save)))
}

/// Keeps the file that was salvaged, and the save if that is another file, as damaged saves.
///
/// The next saves get their names. Returns where the salvaged file is kept.
pub(crate) fn keep_wreck(request: ReadRequest<'_>, path: &Path, wreck: &Path) -> Option<PathBuf> {
    let ReadRequest { storage, wait, .. } = request;
    let path = storage.resolve(path).unwrap_or_else(|_| path.to_owned());
    let lock = lock(storage, &path, wait).ok()?;
    let kept = keep(request, &path, wreck, &lock);
    if wreck != path {
        keep(request, &path, &path, &lock);
    }
    // If it is not flushed, the next load keeps it again.
    let _ = storage.sync_folder(folder_of(&path));
    kept
}

/// Gives a file a second name as a damaged save, or a copy where files have one name.
fn keep(request: ReadRequest<'_>, path: &Path, file: &Path, lock: &Locked) -> Option<PathBuf> {
    let ReadRequest { storage, limits, .. } = request;
    if let Some(kept) = kept_as_damaged(storage, path, file) {
        return Some(kept);
    }
    let name = free_damaged(storage, path).ok()?;
    if storage.link(file, &name).is_err() {
        let save = read_file(storage, file, limits).ok()?;
        let mut copy = Temporary::with(storage, path, file, lock, &save).ok()?;
        copy.check_own(path).ok()?;
        copy.replace(&name).ok()?;
    }
    Some(name)
}
