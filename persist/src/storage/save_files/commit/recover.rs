//! Loads that fall back to a backup, and preserve damaged and refused files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Locked, Temporary, lock, tidy};
use crate::storage::save_files::{
    CopyName, backups_by_age, exists, find_preserved, free_name, generation_of, has_bytes, header,
    is_save, preserved, read_save, whole,
};
use crate::storage::{Storage, folder_of, names};
use crate::{Error, ErrorKind, Limits, Result};

/// Reports how a load handled a save that was damaged or that the program refused, and which refused saves are kept.
///
/// Its [`Display`](fmt::Display) text is a sentence for the player.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The backup that was loaded, or `None` if the save itself was loaded. If [`damaged`](Self::damaged) is set, a
    /// copy of the backup has also replaced the save.
    pub backup: Option<PathBuf>,
    /// The number of saves of this slot that were made after the loaded one, if it is known.
    pub lost: Option<u64>,
    /// The file that keeps the damaged save. It is `None` if no save was damaged, or the damaged one could not be moved
    /// and is unchanged.
    pub damaged: Option<PathBuf>,
    /// The files that are kept because this program could not load them, in this load or an earlier one, sorted by
    /// name. Files with the same bytes as the loaded save are left out.
    ///
    /// They remain until the player or the program deletes them. A later version of the program may be able to load
    /// them.
    pub refused: Vec<PathBuf>,
    /// The error of the save, or an empty text if the save itself was loaded.
    pub cause: String,
    /// True if the program refused the save, and loaded a backup.
    was_refused: bool,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if self.backup.is_some() {
            separator = "; ";
            let (what, is) = match self.was_refused {
                false => ("the save was damaged, a backup was loaded in its place; ", "lost"),
                true => ("this program could not load the save, a backup was loaded; ", "newer"),
            };
            f.write_str(what)?;
            match self.lost {
                Some(0) => write!(f, "no save is {is}")?,
                Some(1) => write!(f, "1 save is {is}")?,
                Some(lost) => write!(f, "{lost} saves are {is}")?,
                None => write!(f, "it is not known how many saves are {is}")?,
            }
            match &self.damaged {
                Some(path) => write!(f, "; the damaged file is kept as {}", path.display())?,
                None if self.was_refused => f.write_str("; the save is where it was")?,
                None => f.write_str("; the damaged file is where it was")?,
            }
        }
        let Some((last, first)) = self.refused.split_last() else { return Ok(()) };
        write!(f, "{separator}what this program could not load is kept as ")?;
        for (place, path) in first.iter().enumerate() {
            write!(f, "{}{}", if place > 0 { ", " } else { "" }, path.display())?;
        }
        if !first.is_empty() {
            f.write_str(" and ")?;
        }
        write!(f, "{}", last.display())
    }
}

/// The storage, limits and options of a load.
#[derive(Clone, Copy)]
pub(crate) struct ReadRequest<'s> {
    pub storage: &'s dyn Storage,
    pub limits: &'s Limits,
    /// How long to wait for a program that is writing the save.
    pub wait: Duration,
    /// Further files that can replace the save like its backups: those of a rotation.
    pub others: &'s [PathBuf],
}

/// Loads a save for the program. A damaged save is replaced by its newest intact backup. A save that the program's
/// types refuse is preserved. If it is the program's code that refuses, the newest backup that passes is loaded.
pub(crate) fn load(
    request: ReadRequest<'_>,
    path: &Path,
    read: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Option<Recovery>> {
    load_for(request, path, true, read)
}

/// Reads a save like [`load`], for callers that do not load it into types. Nothing is refused.
pub(in crate::storage) fn fetch(
    request: ReadRequest<'_>,
    path: &Path,
    read: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    load_for(request, path, false, read).map(drop)
}

fn load_for(
    request: ReadRequest<'_>,
    path: &Path,
    is_program: bool,
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
    let error = match result {
        Ok(()) if is_program => return Ok(loaded(storage, &resolved, bytes.as_deref())),
        Ok(()) => return Ok(None),
        Err(error) => error,
    };
    let mut preserved = None;
    let is_damage = error.is_damage();
    if !is_damage {
        // A save that was read is intact, and the program cannot load it.
        if bytes.is_none() && error.kind() != ErrorKind::TooLarge {
            return Err(match error.kind() {
                ErrorKind::NotFound => missing(storage, &resolved, error),
                _ => error,
            });
        }
        if is_program && !error.kind().is_of_system() {
            preserved = keep_unloaded(request, &resolved, bytes.as_deref(), names::refused);
        }
        if !is_program || !error.is_refusal() {
            return Err(with_preserved(error.in_file(&resolved), preserved.as_deref()));
        }
    }
    let retained_files = |preserved: Option<&Path>| match preserved {
        Some(preserved) => format!("all files are kept, the save also as {}", preserved.display()),
        None => String::from("all files are kept"),
    };
    let unreadable = |why: &Error| {
        let (file, what) = (resolved.display(), error.cause());
        let retained_files = retained_files(preserved.as_deref());
        let message = format!("{file} cannot be loaded, {what}; {}; {retained_files}", why.cause());
        Err(Error::new(ErrorKind::Io, message))
    };
    let mut also = String::new();
    let backups = match replacements(request, &resolved) {
        Ok(backups) => backups,
        Err(error) => return unreadable(&error),
    };
    for (backup, generation) in backups {
        let save = read_save(storage, &backup, limits);
        match save.and_then(|save| read(&save).map(|()| save)) {
            Ok(save) => {
                let lost = header(storage, &resolved)
                    .and_then(|header| header.generation.checked_sub(generation));
                let damaged =
                    is_damage.then(|| put_back(request, &resolved, bytes.as_deref(), &save));
                return Ok(Some(Recovery {
                    backup: Some(backup),
                    lost,
                    damaged: damaged.flatten(),
                    refused: refused(storage, &resolved, Some(&save)),
                    cause: error.to_string(),
                    was_refused: !is_damage,
                }));
            }
            // This backup may be intact, and it is newer than the next.
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace) => {
                return unreadable(&error);
            }
            Err(error) => {
                let name = if error.is_damage() { names::damaged } else { names::refused };
                if is_program && is_save(storage, &backup) {
                    // Later saves would drop this backup as well.
                    keep_unloaded(request, &backup, None, name);
                }
                also.push_str(&format!("; nor can {}, {}", backup.display(), error.cause()));
            }
        }
    }
    if is_damage && is_program && is_save(storage, &resolved) {
        // Otherwise the next saves would make a backup of the damaged save, and drop that one later.
        preserved = keep_unloaded(request, &resolved, bytes.as_deref(), names::damaged);
    }
    let file = resolved.display();
    if also.is_empty() && !is_damage {
        return Err(with_preserved(error.in_file(&resolved), preserved.as_deref()));
    }
    if also.is_empty() {
        // `in_file` would add the file after the message, so it is part of the message here.
        let what = error.message().replacen("; restore a backup", "", 1);
        let what = match what.strip_prefix("this is not a save") {
            Some(why) => format!("{file} is not a save{why}; it has no backup"),
            None => format!("{file} cannot be loaded, {what}; it has no backup"),
        };
        return Err(with_preserved(error.reworded(what), preserved.as_deref()));
    }
    let retained_files = retained_files(preserved.as_deref());
    let message = format!("{file} cannot be loaded, {}{also}; {retained_files}", error.cause());
    Err(Error::new(error.kind(), message).because(error))
}

/// Returns the report of a save that was loaded itself: the refused files, if there are any.
fn loaded(storage: &dyn Storage, path: &Path, save: Option<&[u8]>) -> Option<Recovery> {
    let refused = refused(storage, path, save);
    (!refused.is_empty()).then(|| Recovery {
        backup: None,
        lost: Some(0),
        damaged: None,
        refused,
        cause: String::new(),
        was_refused: false,
    })
}

/// Returns the refused files that are preserved, except one with the bytes of the loaded save.
fn refused(storage: &dyn Storage, path: &Path, loaded: Option<&[u8]>) -> Vec<PathBuf> {
    let is_loaded = |file: &PathBuf| loaded.is_some_and(|save| has_bytes(storage, file, save));
    preserved(storage, path, names::refused).filter(|file| !is_loaded(file)).collect()
}

/// Adds to an error where the refused save is preserved.
fn with_preserved(error: Error, preserved: Option<&Path>) -> Error {
    let Some(preserved) = preserved else { return error };
    let message = format!("{}; the file is kept as {}", error.message(), preserved.display());
    error.reworded(message)
}

/// Returns the backups of a save and other files that can replace it, with their generations, the newest first.
fn replacements(request: ReadRequest<'_>, path: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found = backups_by_age(request.storage, path)?;
    for other in request.others {
        let generation = generation_of(request.storage, other)?;
        let place = found.partition_point(|(_, known)| *known > generation);
        found.insert(place, (other.clone(), generation));
    }
    Ok(found)
}

/// Preserves a save that could not be loaded, so that no later save rotates it away. Returns the name of the copy, or
/// `None` if nothing can be written.
fn keep_unloaded(
    request: ReadRequest<'_>,
    file: &Path,
    bytes: Option<&[u8]>,
    name: CopyName,
) -> Option<PathBuf> {
    let ReadRequest { storage, wait, .. } = request;
    let path = names::save_of(file)?;
    let known = || find_preserved(storage, &path, file, name);
    if let Some(known) = known() {
        return Some(known);
    }
    let lock = lock(storage, &path, wait).ok()?;
    // Another program may have saved or loaded it meanwhile.
    if bytes.is_some_and(|bytes| !has_bytes(storage, file, bytes)) {
        return None;
    }
    if let Some(known) = known() {
        return Some(known);
    }
    let name = free_name(storage, &path, name).ok()?;
    keep_as(storage, &path, file, &name, &lock).ok()?;
    // An unflushed name may be lost; then the next load preserves the file again.
    let _ = storage.sync_folder(folder_of(&path));
    Some(name)
}

/// Adds the newest backup with an intact header and trailer to the error of a missing save. The save is not restored,
/// since the player may have deleted it.
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

/// Reads a save that another program may be replacing. If files can have only one name, the save is missing for a
/// moment.
pub(super) fn read_current(
    request: ReadRequest<'_>,
    path: &Path,
    resolved: &Path,
) -> Result<Vec<u8>> {
    let ReadRequest { storage, limits, wait, .. } = request;
    read_save(storage, path, limits).or_else(|error| {
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        let _lock = if has_leftovers(storage, resolved) {
            match lock(storage, resolved, wait) {
                // If nothing can be written, no program is writing.
                Err(error) if error.kind() != ErrorKind::InUse => None,
                lock => Some(lock?),
            }
        } else {
            None
        };
        // The save may have been replaced in the meantime. Otherwise a program was killed before it renamed the old
        // save back. If there is neither, the first error is returned.
        read_save(storage, path, limits).or_else(|missing| match missing.kind() {
            ErrorKind::NotFound => match read_save(storage, &names::old(resolved), limits) {
                Err(error) if error.kind() == ErrorKind::NotFound => Err(missing),
                result => result,
            },
            _ => Err(missing),
        })
    })
}

/// Returns true if there are leftovers of a program that was killed while it saved.
fn has_leftovers(storage: &dyn Storage, path: &Path) -> bool {
    let leftovers = [names::temporary(path), names::lock(path), names::old(path)];
    leftovers.iter().any(|left| exists(storage, left))
}

/// Removes the leftovers of a program that was killed, unless a program is writing.
fn sweep(storage: &dyn Storage, path: &Path) {
    if has_leftovers(storage, path)
        && let Ok(lock) = lock(storage, path, Duration::ZERO)
        // Without locks, the files may belong to a program that is writing.
        && lock.is_held()
    {
        // If nothing can be removed, the save can be read nevertheless.
        let _ = tidy(storage, path, u32::MAX);
    }
}

/// Returns true if a save of the slot was interrupted between two renames. A load repairs that.
pub(crate) fn is_between(storage: &dyn Storage, path: &Path) -> bool {
    exists(storage, &names::old(path))
}

/// Preserves a damaged save, and replaces it by a copy of the backup. Returns the name of the preserved file.
fn put_back(
    request: ReadRequest<'_>,
    path: &Path,
    damaged: Option<&[u8]>,
    backup: &[u8],
) -> Option<PathBuf> {
    let ReadRequest { storage, limits, wait, .. } = request;
    // Another program may have saved meanwhile, and without locks also while the copy was written. An error of reading
    // the save now is no evidence of damage.
    let is_damaged = || match (read_save(storage, path, limits), damaged) {
        (Ok(found), Some(damaged)) => found == damaged,
        (Err(error), None) => error.is_damage(),
        _ => false,
    };
    let lock = lock(storage, path, wait).ok()?;
    if !is_damaged() {
        return None;
    }
    let preserved = keep(storage, path, path, &lock);
    let mut copy = Temporary::with(storage, path, path, &lock, backup).ok()?;
    copy.check_own(path).ok()?;
    if !is_damaged() {
        return None;
    }
    let preserved = match preserved {
        Some(preserved) => copy.rename(path).ok().map(|()| preserved),
        None => move_damaged(storage, path, copy),
    }?;
    // If this flush fails, the next load may find the damaged save again.
    let _ = storage.sync_folder(folder_of(path));
    Some(preserved)
}

/// Replaces a damaged save that cannot be copied: it cannot be read, and files can have only one name. The steps are
/// those of a save, so an interruption is repaired in the same way.
fn move_damaged(storage: &dyn Storage, path: &Path, copy: Temporary<'_>) -> Option<PathBuf> {
    let old = names::old(path);
    // A file that the system refuses to read may be intact.
    let is_damaged = |file: &Path| {
        let mut end = [0];
        let read = storage.open(file).and_then(|mut file| file.read(&mut end));
        read.is_err_and(|error| error.kind() == io::ErrorKind::InvalidData)
    };
    if !is_damaged(path) {
        return None;
    }
    let preserved = free_name(storage, path, names::damaged).ok()?;
    storage.rename(path, &old).ok()?;
    if copy.rename(path).is_err() {
        let _ = storage.rename(&old, path);
        return None;
    }
    storage.rename(&old, &preserved).ok().map(|()| preserved)
}

/// Iterates over the save and its backups, the newest first, as far as they can be read.
pub(crate) fn salvage_candidates<'s>(
    request: ReadRequest<'s>,
    path: &Path,
) -> impl Iterator<Item = (PathBuf, Vec<u8>)> + use<'s> {
    let ReadRequest { storage, limits, .. } = request;
    let path = storage.resolve(path).unwrap_or_else(|_| path.to_owned());
    // Backups that cannot be read would not help, so errors are ignored.
    let backups = replacements(request, &path).unwrap_or_default().into_iter();
    std::iter::once(path)
        .chain(backups.map(|(backup, _)| backup))
        .filter_map(move |file| read_save(storage, &file, limits).ok().map(|save| (file, save)))
}

/// Preserves the salvaged file, and the save if that is another file, as damaged files.
///
/// Later saves reuse their names. Returns the name of the salvaged file.
pub(crate) fn keep_copies(request: ReadRequest<'_>, path: &Path, file: &Path) -> Option<PathBuf> {
    let ReadRequest { storage, wait, .. } = request;
    let path = storage.resolve(path).unwrap_or_else(|_| path.to_owned());
    let lock = lock(storage, &path, wait).ok()?;
    let preserved = keep(storage, &path, file, &lock);
    if file != path {
        keep(storage, &path, &path, &lock);
    }
    // An unflushed name may be lost; then the next load preserves the file again.
    let _ = storage.sync_folder(folder_of(&path));
    preserved
}

/// Gives a file a second name as a damaged file, or copies it if files can have only one name.
fn keep(storage: &dyn Storage, path: &Path, file: &Path, lock: &Locked) -> Option<PathBuf> {
    if let Some(preserved) = find_preserved(storage, path, file, names::damaged) {
        return Some(preserved);
    }
    let name = free_name(storage, path, names::damaged).ok()?;
    keep_as(storage, path, file, &name, lock).ok().map(|()| name)
}

/// Gives a file of a save a second name, or copies it if files can have only one name.
fn keep_as(
    storage: &dyn Storage,
    path: &Path,
    file: &Path,
    name: &Path,
    lock: &Locked,
) -> Result<()> {
    let failed = |error: io::Error| Error::io("keep", file, error);
    if storage.link(file, name).is_ok() {
        return Ok(());
    }
    // The file may be larger than any limit, so it is copied in parts.
    let mut copy = Temporary::create(storage, path, file, lock).map_err(failed)?;
    let mut from = storage.open(file).map_err(failed)?;
    io::copy(&mut from, &mut copy).and_then(|_| copy.sync()).map_err(failed)?;
    copy.check_own(path)?;
    copy.rename(name).map_err(failed)
}
