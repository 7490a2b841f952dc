//! Loads that fall back to a backup.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::commit::{Locked, Temporary, lock, tidy};
use super::read::{
    KeptName, backups_by_age, free_name, generation_of, has_bytes, header, is_save, is_there, kept,
    kept_as, read_save, whole,
};
use super::{Storage, folder_of, names};
use crate::{Error, ErrorKind, Limits, Result};

/// What a load did about a save that was damaged or that the program refused, and which refused saves are kept.
///
/// Its [`Display`](fmt::Display) is a sentence for the player.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The backup that was loaded; `None` if the save itself was. Unless [`damaged`](Self::damaged) is `None` the backup is
    /// the save now, too.
    pub backup: Option<PathBuf>,
    /// How many saves of this slot were made after the one that was loaded, as far as that can be read.
    pub lost: Option<u64>,
    /// Where the damaged save is kept; `None` if there is none, or it could not be moved and is where it was.
    pub damaged: Option<PathBuf>,
    /// Files that are kept since this program could not load them, in this load or an earlier one, in the order of their
    /// names. Those with the same bytes as the save that was loaded are left out.
    ///
    /// They stay until the player or the program deletes them. A later version of the program may be able to load them.
    pub refused: Vec<PathBuf>,
    /// What was wrong with the save; empty if the save itself was loaded.
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

/// What a load asks of the files, besides the path.
#[derive(Clone, Copy)]
pub(crate) struct ReadRequest<'s> {
    pub(crate) storage: &'s dyn Storage,
    pub(crate) limits: &'s Limits,
    /// How long to wait for a program that is writing the save.
    pub(crate) wait: Duration,
    /// Other files that stand in for the save as its backups do, those of a rotation.
    pub(crate) others: &'s [PathBuf],
}

/// Loads a save for the program: a damaged one is replaced by its newest good backup, and one that the program's types
/// refuse is kept. If it is the program's code that refuses, its newest backup that passes is loaded.
pub(crate) fn load(
    request: ReadRequest<'_>,
    path: &Path,
    read: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Option<Recovery>> {
    load_for(request, path, true, read)
}

/// Reads a save like [`load`], for whoever does not load it into types: nothing is refused.
pub(super) fn fetch(
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
    let mut kept = None;
    let is_damage = error.is_damage();
    if !is_damage {
        // Else it is whole, and the program cannot load it.
        if bytes.is_none() && error.kind() != ErrorKind::TooLarge {
            return Err(match error.kind() {
                ErrorKind::NotFound => missing(storage, &resolved, error),
                _ => error,
            });
        }
        if is_program && !error.kind().is_of_system() {
            kept = keep_unloaded(request, &resolved, bytes.as_deref(), names::refused);
        }
        if !is_program || !error.is_refusal() {
            return Err(with_kept(error.in_file(&resolved), kept.as_deref()));
        }
    }
    let all_kept = |kept: Option<&Path>| match kept {
        Some(kept) => format!("all files are kept, the save also as {}", kept.display()),
        None => String::from("all files are kept"),
    };
    let unread = |unread: &Error| {
        let (file, what) = (resolved.display(), error.cause());
        let all_kept = all_kept(kept.as_deref());
        let message = format!("{file} cannot be loaded, {what}; {}; {all_kept}", unread.cause());
        Err(Error::new(ErrorKind::Io, message))
    };
    let mut also = String::new();
    let backups = match stand_ins(request, &resolved) {
        Ok(backups) => backups,
        Err(error) => return unread(&error),
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
            // It may be good, and a newer one than the next.
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace) => {
                return unread(&error);
            }
            Err(error) => {
                let name = if error.is_damage() { names::damaged } else { names::refused };
                if is_program && is_save(storage, &backup) {
                    // Later saves would drop it, too.
                    keep_unloaded(request, &backup, None, name);
                }
                also.push_str(&format!("; nor can {}, {}", backup.display(), error.cause()));
            }
        }
    }
    if is_damage && is_program && is_save(storage, &resolved) {
        // Else the next saves would make a backup of it, and drop that.
        kept = keep_unloaded(request, &resolved, bytes.as_deref(), names::damaged);
    }
    let file = resolved.display();
    if also.is_empty() && !is_damage {
        return Err(with_kept(error.in_file(&resolved), kept.as_deref()));
    }
    if also.is_empty() {
        // The place is behind the message.
        let what = error.message().replacen("; restore a backup", "", 1);
        let what = match what.strip_prefix("this is not a save") {
            Some(why) => format!("{file} is not a save{why}; it has no backup"),
            None => format!("{file} cannot be loaded, {what}; it has no backup"),
        };
        return Err(with_kept(error.reworded(what), kept.as_deref()));
    }
    let all_kept = all_kept(kept.as_deref());
    let message = format!("{file} cannot be loaded, {}{also}; {all_kept}", error.cause());
    Err(Error::new(error.kind(), message).because(error))
}

/// What is reported of a save that was loaded itself: the files that are kept since the program could not load them.
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

/// The refused saves that are kept, but for the one that was loaded.
fn refused(storage: &dyn Storage, path: &Path, loaded: Option<&[u8]>) -> Vec<PathBuf> {
    let is_loaded = |file: &PathBuf| loaded.is_some_and(|save| has_bytes(storage, file, save));
    kept(storage, path, names::refused).filter(|file| !is_loaded(file)).collect()
}

/// Says where a refused save is kept.
fn with_kept(error: Error, kept: Option<&Path>) -> Error {
    let Some(kept) = kept else { return error };
    let message = format!("{}; the file is kept as {}", error.message(), kept.display());
    error.reworded(message)
}

/// The backups of a save and what else stands in for it, with their generations, the newest first.
fn stand_ins(request: ReadRequest<'_>, path: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found = backups_by_age(request.storage, path)?;
    for other in request.others {
        let generation = generation_of(request.storage, other)?;
        let place = found.partition_point(|(_, known)| *known > generation);
        found.insert(place, (other.clone(), generation));
    }
    Ok(found)
}

/// Keeps a save that could not be loaded, so that no later save rotates it away; returns where. Where nothing can be
/// written, it stays where it is.
fn keep_unloaded(
    request: ReadRequest<'_>,
    file: &Path,
    bytes: Option<&[u8]>,
    kept_name: KeptName,
) -> Option<PathBuf> {
    let ReadRequest { storage, wait, .. } = request;
    let path = names::save_of(file)?;
    let known = || kept_as(storage, &path, file, kept_name);
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
    let name = free_name(storage, &path, kept_name).ok()?;
    keep_as(storage, (&path, file), &name, &lock).ok()?;
    // If it is not flushed, the next load keeps it again.
    let _ = storage.sync_folder(folder_of(&path));
    Some(name)
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
    let ReadRequest { storage, limits, wait, .. } = request;
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
    let ReadRequest { storage, limits, wait, .. } = request;
    // Another program may have saved meanwhile; without locks, also while the copy was written. That it cannot be read now
    // says nothing.
    let is_damaged = || match (read_save(storage, path, limits), damaged) {
        (Ok(found), Some(damaged)) => found == damaged,
        (Err(error), None) => error.is_damage(),
        _ => false,
    };
    let lock = lock(storage, path, wait).ok()?;
    if !is_damaged() {
        return None;
    }
    let kept = keep(storage, path, path, &lock);
    let mut copy = Temporary::with(storage, path, path, &lock, backup).ok()?;
    copy.check_own(path).ok()?;
    if !is_damaged() {
        return None;
    }
    let kept = match kept {
        Some(kept) => copy.replace(path).ok().map(|()| kept),
        None => move_damaged(storage, path, copy),
    }?;
    // If it is not flushed, the next load finds the damaged save again.
    let _ = storage.sync_folder(folder_of(path));
    Some(kept)
}

/// Replaces a damaged save that has one name and cannot be read, so that it cannot be copied. The steps are those of a
/// save, and one that is interrupted is completed in the same way.
fn move_damaged(storage: &dyn Storage, path: &Path, copy: Temporary<'_>) -> Option<PathBuf> {
    let aside = names::aside(path);
    // A file that the system refuses to read may be whole.
    let is_damaged = |file: &Path| {
        let mut end = [0];
        let read = storage.open(file).and_then(|mut file| file.read(&mut end));
        read.is_err_and(|error| error.kind() == io::ErrorKind::InvalidData)
    };
    if !is_damaged(path) {
        return None;
    }
    let kept = free_name(storage, path, names::damaged).ok()?;
    storage.rename(path, &aside).ok()?;
    if copy.replace(path).is_err() {
        let _ = storage.rename(&aside, path);
        return None;
    }
    storage.rename(&aside, &kept).ok().map(|()| kept)
}

/// The save and its backups, the newest first, as far as they can be read.
pub(crate) fn wrecks<'s>(
    request: ReadRequest<'s>,
    path: &Path,
) -> impl Iterator<Item = (PathBuf, Vec<u8>)> + use<'s> {
    let ReadRequest { storage, limits, .. } = request;
    let path = storage.resolve(path).unwrap_or_else(|_| path.to_owned());
    // A backup that the system does not let be looked at is none that could help.
    let backups = stand_ins(request, &path).unwrap_or_default().into_iter();
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
    let kept = keep(storage, &path, wreck, &lock);
    if wreck != path {
        keep(storage, &path, &path, &lock);
    }
    // If it is not flushed, the next load keeps it again.
    let _ = storage.sync_folder(folder_of(&path));
    kept
}

/// Gives a file a second name as a damaged save, or a copy where files have one name.
fn keep(storage: &dyn Storage, path: &Path, file: &Path, lock: &Locked) -> Option<PathBuf> {
    if let Some(kept) = kept_as(storage, path, file, names::damaged) {
        return Some(kept);
    }
    let name = free_name(storage, path, names::damaged).ok()?;
    keep_as(storage, (path, file), &name, lock).ok().map(|()| name)
}

/// Gives a file of a save a second name, or a copy where files have one name.
fn keep_as(
    storage: &dyn Storage,
    (path, file): (&Path, &Path),
    name: &Path,
    lock: &Locked,
) -> Result<()> {
    let failed = |error: io::Error| Error::io("keep", file, error);
    if storage.link(file, name).is_ok() {
        return Ok(());
    }
    // It may be larger than any limit: it is never in memory as a whole.
    let mut copy = Temporary::create(storage, path, file, lock).map_err(failed)?;
    copy.write(
        |out| io::copy(&mut storage.open(file).map_err(failed)?, out).map(drop).map_err(failed),
        failed,
    )?;
    copy.check_own(path)?;
    copy.replace(name).map_err(failed)
}
