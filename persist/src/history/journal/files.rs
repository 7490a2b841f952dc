//! Which of the journals that there are is that of the save, and what becomes of the others.

use std::path::{Path, PathBuf};

use super::reader::{Scan, scan};
use super::recovered::{Recovered, Stopped, Torn};
use crate::format::Digest;
use crate::storage::{Storage, exists, names};
use crate::{Error, ErrorKind, Result};

/// The journal that a session goes on with.
pub(super) struct Chosen {
    pub(super) path: PathBuf,
    pub(super) scan: Scan,
}

/// The journals that there are.
pub(super) struct Files {
    /// That of the save.
    pub(super) chosen: Option<Chosen>,
    /// Those that are in the way; of one whose header is damaged nothing is known.
    pub(super) others: Vec<Chosen>,
}

pub(super) fn resolve(
    storage: &dyn Storage,
    save: &Path,
    journal: &Path,
) -> Result<(PathBuf, PathBuf)> {
    let of = |path: &Path| storage.resolve(path).map_err(|e| Error::io("open", path, e));
    let (save, journal) = (of(save)?, of(journal)?);
    if save == journal {
        let message = format!("{} cannot be the save and its journal", save.display());
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

/// Looks for the journal that follows a save.
pub(super) fn find(
    storage: &dyn Storage,
    journal: &Path,
    digest: Option<&Digest>,
    recovered: &mut Recovered,
) -> Result<Files> {
    let mut found = Vec::new();
    for path in [journal.to_owned(), names::next_journal(journal)] {
        match scan(storage, &path) {
            Ok(scan) => found.push(Chosen { path, scan }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // Of the new one, only an unfinished write can have left that.
            Err(error) if error.is_damage() && error.kind() != ErrorKind::NotASave => {
                if path == journal {
                    recovered.stopped = Some(stopped(0, &error));
                    recovered.kept.push(path);
                }
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
        found.scan.follows.map(|follows| follows.generation)
            == digest.map(|digest| digest.generation)
    };
    let (mut chosen, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(follows);
    // Of two, that of the very save; else the one that goes further, and of those the first.
    chosen.sort_by_key(|found| std::cmp::Reverse((is_of_generation(found), found.scan.sequence)));
    let rest = chosen.split_off(chosen.len().min(1));
    others.extend(rest);
    Ok(Files { chosen: chosen.pop(), others })
}

/// Chooses the journal of the save; others that have something in them are kept aside.
pub(super) fn choose(
    storage: &dyn Storage,
    journal: &Path,
    digest: Option<&Digest>,
    recovered: &mut Recovered,
) -> Result<Option<Chosen>> {
    let Files { chosen, others } = find(storage, journal, digest, recovered)?;
    for damaged in std::mem::take(&mut recovered.kept) {
        recovered.kept.push(keep(storage, &damaged, journal)?);
    }
    let next = names::next_journal(journal);
    // The journal before is in the save that its successor follows.
    let has_successor = chosen.as_ref().is_some_and(|chosen| chosen.path == next);
    for other in others {
        let is_unfinished = other.path == next && other.scan.events == 0;
        let is_in_save = has_successor && other.path == journal;
        if !is_unfinished && !is_in_save {
            recovered.kept.push(keep(storage, &other.path, journal)?);
        }
    }
    Ok(chosen)
}

pub(super) fn torn(scan: &Scan) -> Option<Torn> {
    scan.is_torn.then(|| Torn { offset: scan.end, bytes: scan.size - scan.end })
}

pub(super) fn stopped(offset: u64, error: &Error) -> Stopped {
    Stopped { offset, kind: error.kind(), cause: error.to_string() }
}

/// Copies a journal to a name that is free, for the user to look at.
pub(super) fn keep(storage: &dyn Storage, from: &Path, journal: &Path) -> Result<PathBuf> {
    let failed = |error| Error::io("keep a copy of", from, error);
    let free = (1..u32::MAX).map(|number| names::kept_journal(journal, number));
    let Some(name) = free.into_iter().find(|name| !exists(storage, name)) else {
        return Err(failed(std::io::ErrorKind::AlreadyExists.into()));
    };
    let mut file = storage.create(&name, from).map_err(failed)?;
    let copied = storage.open(from).and_then(|mut from| std::io::copy(&mut from, &mut file));
    let result = copied.and_then(|_| file.sync());
    if let Err(error) = result {
        drop(file);
        let _ = storage.remove(&name);
        return Err(failed(error));
    }
    Ok(name)
}
