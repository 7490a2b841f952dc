//! Which of the journals that there are is that of the save, and what becomes of the others.

use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};

use super::frame::{JournalScan, scan};
use super::recovered::{Recovered, Stopped};
use crate::format::Digest;
use crate::sorting::sort_by;
use crate::storage::{Storage, StorageLock, are_same, has_no_lock, is_beginning, is_free, names};
use crate::{Error, ErrorKind, Result};

/// What a session has locked while it is open: its journal, and its save against sessions with other journals.
pub(super) struct Locks {
    pub(super) journal: Option<StorageLock>,
    pub(super) _save: Option<StorageLock>,
    /// The file of the journal itself, which may have other names.
    pub(super) file: Option<StorageLock>,
}

/// The journal that a session continues.
pub(super) struct Chosen {
    pub(super) path: PathBuf,
    pub(super) scan: JournalScan,
}

pub(super) fn resolve(
    storage: &dyn Storage,
    save: &Path,
    journal: &Path,
) -> Result<(PathBuf, PathBuf)> {
    let of = |path: &Path| storage.resolve(path).map_err(|e| Error::io("open", path, e));
    let (save, journal) = (of(save)?, of(journal)?);
    if save == journal {
        let message = format!(
            "{} cannot be both the save and its journal; give the journal another path",
            save.display()
        );
        return Err(Error::new(ErrorKind::InvalidValue, message));
    }
    Ok((save, journal))
}

#[cold]
pub(super) fn in_use(journal: &Path) -> Error {
    Error::new(
        ErrorKind::InUse,
        format!(
            "the journal {} is in use, another session has it open; close that, or look at it with `inspect`",
            journal.display()
        ),
    )
}

/// Locks a journal, and its save against sessions with other journals. Where there are no locks, or no room for their
/// files, the session goes without.
pub(super) fn lock(storage: &dyn Storage, save: &Path, journal: &Path) -> Result<Locks> {
    let take = |of: &Path, name: PathBuf| match storage.lock(&name) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(in_use(of)),
        Err(error) if has_no_lock(&error) || cannot_write(&error) => Ok(None),
        Err(error) => Err(Error::io("lock", of, error)),
    };
    let locked = take(journal, names::lock(journal))?;
    let save = take(save, names::session(save))?;
    let file = match storage.lock_file(journal) {
        Ok(None) => return Err(in_use(journal)),
        lock => lock.ok().flatten(),
    };
    Ok(Locks { journal: locked, _save: save, file })
}

/// Looks for the journal that follows a save; also those that are in the way. Nothing is known of one whose header is
/// damaged.
pub(super) fn find(
    storage: &dyn Storage,
    journal: &Path,
    digest: Option<&Digest>,
    recovered: &mut Recovered,
) -> Result<(Option<Chosen>, Vec<Chosen>)> {
    let mut found = Vec::new();
    for path in [journal.to_owned(), names::next_journal(journal)] {
        match scan(storage, &path) {
            Ok(scan) => found.push(Chosen { path, scan }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // Of the new one, only an unfinished write can have left that: its first sector may be what was on the disk
            // before.
            Err(error) if error.is_damage() && path != journal => {}
            Err(error) if error.is_damage() && error.kind() != ErrorKind::NotASave => {
                recovered.stopped = Some(Stopped::at(0, &error));
                recovered.kept.push(path);
            }
            Err(error) => return Err(error),
        }
    }
    let follows = |found: &Chosen| match (&found.scan.follows, digest) {
        (Some(follows), Some(digest)) => follows.has_content_of(digest),
        (None, None) => true,
        _ => false,
    };
    let is_of_generation = |found: &Chosen| {
        found.scan.follows.map(|follows| follows.generation()) == digest.map(Digest::generation)
    };
    // A new journal is flushed before its save takes its place. One that is not whole is that of a save that has not, and what
    // it says is in the journal before.
    let is_unfinished = |found: &Chosen| {
        let is_whole = !found.scan.is_torn && found.scan.damage.is_none();
        found.path != journal && found.scan.events == 0 && !is_whole && !is_of_generation(found)
    };
    found.retain(|found| !is_unfinished(found));
    let (mut chosen, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(follows);
    // Of two, that of the very save; else the one that goes further, and of those the first.
    let key = |found: &Chosen| Reverse((is_of_generation(found), found.scan.sequence));
    sort_by(&mut chosen, |a, b| key(a).cmp(&key(b)));
    let rest = chosen.split_off(chosen.len().min(1));
    others.extend(rest);
    Ok((chosen.pop(), others))
}

/// Chooses the journal of the save. Of others that have something in them copies are kept; those for which there is no room
/// now are returned, to be kept before anything is written.
pub(super) fn choose(
    storage: &dyn Storage,
    journal: &Path,
    digest: Option<&Digest>,
    recovered: &mut Recovered,
) -> Result<(Option<Chosen>, Vec<PathBuf>)> {
    let (chosen, others) = find(storage, journal, digest, recovered)?;
    let mut unkept = Vec::new();
    for damaged in std::mem::take(&mut recovered.kept) {
        keep_if_room(storage, &damaged, journal, recovered, &mut unkept)?;
    }
    let next = names::next_journal(journal);
    // The journal before is in the save that its successor follows.
    let has_successor = chosen.as_ref().is_some_and(|chosen| chosen.path == next);
    for other in others {
        let is_unfinished = other.path == next && other.scan.events == 0;
        let is_in_save = has_successor && other.path == journal;
        if !is_unfinished && !is_in_save {
            keep_if_room(storage, &other.path, journal, recovered, &mut unkept)?;
        }
    }
    if let Some(chosen) = chosen.as_ref().filter(|chosen| chosen.scan.is_garbled) {
        keep_if_room(storage, &chosen.path, journal, recovered, &mut unkept)?;
    }
    Ok((chosen, unkept))
}

/// Keeps a copy of a journal, unless the disk is full.
pub(super) fn keep_if_room(
    storage: &dyn Storage,
    from: &Path,
    journal: &Path,
    recovered: &mut Recovered,
    unkept: &mut Vec<PathBuf>,
) -> Result<()> {
    match keep(storage, from, journal) {
        Ok(name) => recovered.kept.push(name),
        Err(error) if cannot_write(&error) => unkept.push(from.to_owned()),
        Err(error) => return Err(Error::io("keep a copy of", from, error)),
    }
    Ok(())
}

/// Copies a journal to a name that is free, for the user to look at, or over a copy of its beginning: each session that
/// continues it would keep one more.
pub(super) fn keep(storage: &dyn Storage, from: &Path, journal: &Path) -> io::Result<PathBuf> {
    let mut number = 1;
    let name = loop {
        let name = names::kept_journal(journal, number);
        if is_free(storage, &name)? {
            break name;
        }
        if are_same(storage, from, &name) {
            return Ok(name);
        }
        if is_beginning(storage, &name, from) {
            storage.remove(&name)?;
            break name;
        }
        number += 1;
    };
    let mut file = storage.create(&name, from)?;
    let copied = storage.open(from).and_then(|mut from| io::copy(&mut from, &mut file));
    let result = copied.and_then(|_| file.sync());
    if let Err(error) = result {
        drop(file);
        let _ = storage.remove(&name);
        return Err(error);
    }
    Ok(name)
}

/// True if the disk is full or cannot be written at all, so that another file would not help.
pub(super) fn cannot_write(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    [FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull].contains(&error.kind())
}
