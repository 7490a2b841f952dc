//! Makes a backup of the old save when a new one replaces it.
//!
//! It is moved aside under a hidden name, and becomes a backup when the new one is in place: until then
//! no backup is touched, and a save that fails leaves all as it was.

use std::io;
use std::path::{Path, PathBuf};

use super::{Storage, StoredFile, have_same_bytes, names};
use crate::format::{Ends, Header};
use crate::{Error, ErrorKind, Limits, Result};

/// The old save, moved aside.
pub(super) struct Aside<'s> {
    storage: &'s dyn Storage,
    path: &'s Path,
    /// False where a file has one name, so that the save is without its own now.
    has_both: bool,
}

impl<'s> Aside<'s> {
    /// Puts the save aside if there is one.
    pub(super) fn put(storage: &'s dyn Storage, path: &'s Path) -> io::Result<Option<Self>> {
        if is_free(storage, path)? {
            return Ok(None);
        }
        let name = names::aside(path);
        let has_both = storage.link(path, &name).is_ok();
        if !has_both {
            storage.rename(path, &name)?;
        }
        Ok(Some(Self { storage, path, has_both }))
    }

    /// Leaves it as it was. The error that counts is the one that led here.
    pub(super) fn take_back(self) {
        let name = names::aside(self.path);
        let _ = if self.has_both {
            self.storage.remove(&name)
        } else {
            self.storage.rename(&name, self.path)
        };
    }
}

/// Makes a backup of the save that was moved aside, if there is one; the last of `most` is dropped. An interrupted
/// rotation continues where it was.
pub(super) fn make_backup(storage: &dyn Storage, path: &Path, most: u32) -> io::Result<()> {
    let result = rotate(storage, path, most).or_else(|_| rotate(storage, path, most));
    // What cannot be read, and may be a whole save, is no backup, and is not lost.
    result.or_else(|_| storage.rename(&names::aside(path), &free_damaged(storage, path)?))
}

/// What is no whole save would push out one that is: it is kept as damaged.
fn rotate(storage: &dyn Storage, path: &Path, most: u32) -> io::Result<()> {
    let aside = names::aside(path);
    let file = match storage.open(&aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    // A wreck that was salvaged is kept already.
    if kept_as_damaged(storage, path, &aside).is_some() {
        return storage.remove(&aside);
    }
    let Some(old) = whole(file)? else {
        return storage.rename(&aside, &free_damaged(storage, path)?);
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

/// The generation of a save; 0 if its header is damaged.
pub(crate) fn generation_of(storage: &dyn Storage, path: &Path) -> Result<u64> {
    let mut file = storage.open(path).map_err(|error| Error::of_opening(path, error))?;
    match Header::within(&mut *file, &Limits::WHOLE_HEADER) {
        Ok(header) => Ok(header.generation),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(_) => Ok(0),
    }
}

/// The header of a save; `None` if it is damaged, not there, or may not be read. A disk that fails is an error: what is
/// counted on from an unknown header may have been counted before.
pub(super) fn known_header(storage: &dyn Storage, path: &Path) -> Result<Option<Header>> {
    use io::ErrorKind::{NotFound, PermissionDenied};
    let mut file = match storage.open(path) {
        Err(error) if [NotFound, PermissionDenied].contains(&error.kind()) => return Ok(None),
        file => file.map_err(|error| Error::of_opening(path, error))?,
    };
    match Header::within(&mut *file, &Limits::WHOLE_HEADER) {
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        header => Ok(header.ok()),
    }
}

/// The header of a save, as far as it can be read.
pub(super) fn header(storage: &dyn Storage, path: &Path) -> Option<Header> {
    Header::within(&mut *storage.open(path).ok()?, &Limits::WHOLE_HEADER).ok()
}

/// The header of a save that begins and ends as a whole one, if it does.
pub(super) fn whole(file: Box<dyn StoredFile>) -> io::Result<Option<Header>> {
    match Ends::read(file, &Limits::WHOLE_HEADER) {
        Ok(ends) => Ok(ends.is_whole.then_some(ends.header)),
        Err(error) if error.kind() == ErrorKind::Io => Err(io::Error::other(error)),
        // What a newer program wrote may be whole.
        Err(error) if error.kind() == ErrorKind::NewerFormat => Ok(Some(Header::default())),
        Err(_) => Ok(None),
    }
}

/// True if there is surely no file; what may not be read is there.
pub(crate) fn is_free(storage: &dyn Storage, path: &Path) -> io::Result<bool> {
    match storage.open(path) {
        Ok(_) => Ok(false),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(true),
            io::ErrorKind::PermissionDenied => Ok(false),
            _ => Err(error),
        },
    }
}

/// A name for a damaged save that no other has.
pub(super) fn free_damaged(storage: &dyn Storage, path: &Path) -> io::Result<PathBuf> {
    for number in 1..u32::MAX {
        let name = names::damaged(path, number);
        if is_free(storage, &name)? {
            return Ok(name);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// True if two files surely have the same bytes.
pub(crate) fn are_same(storage: &dyn Storage, one: &Path, other: &Path) -> bool {
    let files = storage.open(one).and_then(|one| Ok((one, storage.open(other)?)));
    files.and_then(|(mut one, mut other)| have_same_bytes(&mut *one, &mut *other)).unwrap_or(false)
}

/// The damaged save of the same bytes as a file, if one is kept.
pub(super) fn kept_as_damaged(storage: &dyn Storage, path: &Path, file: &Path) -> Option<PathBuf> {
    let damaged = (1..).map(|number| names::damaged(path, number));
    let mut damaged = damaged.take_while(|name| is_free(storage, name).is_ok_and(|free| !free));
    damaged.find(|name| are_same(storage, file, name))
}
