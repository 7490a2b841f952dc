//! The files of a journal: their locks, the choice of the one that follows the save, and copies of the others.
//!
//! A save replaces the journal by writing a new one under another name. So an interrupted save leaves two journals.
//! Only one of them follows the save. The digest of the save in the header of a journal decides. Any journal that has
//! edits and is not continued is copied, so that nothing is overwritten that somebody may need.

use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};

use super::frame::scan;
use super::recovered::{Recovered, ReplayStop};
use super::{Chosen, Locks};
use crate::format::Digest;
use crate::sorting::sort_by;
use crate::storage::{Storage, are_same, has_no_lock, is_beginning, is_free, names};
use crate::{Error, ErrorKind, Result};

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

/// Locks a journal, and its save against sessions with other journals.
///
/// Without support for locks, or on a full disk, the session continues without them.
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

/// Finds the journal that follows a save, and the other journals.
///
/// A journal whose header is damaged is listed in `recovered`, since it cannot be read at all.
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
            // A damaged new journal can only be an unfinished write, whose first sector still has older bytes of the
            // disk.
            Err(error) if error.is_damage() && path != journal => {}
            Err(error) if error.is_damage() && error.kind() != ErrorKind::NotASave => {
                recovered.stopped = Some(ReplayStop::new(0, &error));
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
    // A new journal is flushed before its save is put in place. So one that is not whole belongs to a save that never
    // was, and its edits are in the previous journal.
    let is_unfinished = |found: &Chosen| {
        let is_whole = !found.scan.is_torn && found.scan.damage.is_none();
        found.path != journal && found.scan.events == 0 && !is_whole && !is_of_generation(found)
    };
    found.retain(|found| !is_unfinished(found));
    let (mut chosen, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(follows);
    // If both follow it, the one of the same generation is chosen, then the longer one, then the first.
    let key = |found: &Chosen| Reverse((is_of_generation(found), found.scan.sequence));
    sort_by(&mut chosen, |a, b| key(a).cmp(&key(b)));
    let rest = chosen.split_off(chosen.len().min(1));
    others.extend(rest);
    Ok((chosen.pop(), others))
}

/// Chooses the journal of the save, and copies the others if they have edits.
///
/// Returns the paths that could not be copied because the disk is full. They must be copied before anything is written.
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
    // The previous journal is part of the save that its successor follows.
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

/// Copies a journal, unless the disk is full.
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

/// Copies a journal to a free name, for the user to inspect.
///
/// An older copy that is a beginning of the journal is replaced: otherwise each session that continues the journal
/// would leave one more copy.
pub(super) fn keep(storage: &dyn Storage, from: &Path, journal: &Path) -> io::Result<PathBuf> {
    let mut number = 1;
    let name = loop {
        let name = names::preserved_journal(journal, number);
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

/// True if the disk is full or read-only, so that another file could not be written either.
pub(super) fn cannot_write(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    [FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull].contains(&error.kind())
}
