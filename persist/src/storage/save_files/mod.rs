//! The files of a save. This file reads them within limits, reads their headers and ends, and finds backups. Below it,
//! `commit` writes them.

pub(crate) mod commit;
pub(super) mod past;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Storage, StoredFile, names};
use crate::format::{Ends, Header, MAGIC};
use crate::{Error, ErrorKind, Limits, Result};

/// Reads a whole file, if it is within the limit.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or is larger than the limits.
pub fn read_file(storage: &dyn Storage, path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let file = storage.open(path).map_err(|error| Error::of_opening(path, error))?;
    read_open(file, path, limits)
}

/// Reads a whole save, if it is within the limit. If the file neither begins nor ends like a save, only its ends are
/// read.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or is larger than the limits allow.
pub fn read_save(storage: &dyn Storage, path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::io("read", path, error);
    let mut file = storage.open(path).map_err(|error| Error::of_opening(path, error))?;
    let mut start = Vec::new();
    (&mut *file).take(START).read_to_end(&mut start).map_err(failed)?;
    if !start.starts_with(&MAGIC) && !Ends::is_at_end(&mut *file).map_err(failed)? {
        Header::read(&start)?;
    }
    read_open(file, path, limits)
}

/// Returns true if a file begins or ends like a save.
fn is_save(storage: &dyn Storage, path: &Path) -> bool {
    let read = |file: io::Result<Box<dyn StoredFile>>| {
        let (mut file, mut start) = (file?, Vec::new());
        (&mut *file).take(START).read_to_end(&mut start)?;
        Ok::<_, io::Error>(start.starts_with(&MAGIC) || Ends::is_at_end(&mut *file)?)
    };
    read(storage.open(path)).unwrap_or(false)
}

/// Bytes at the start that show whether a file is a save.
const START: u64 = 64;

fn read_open(mut file: Box<dyn StoredFile>, path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::io("read", path, error);
    let size = file.seek(io::SeekFrom::End(0)).map_err(failed)?;
    file.rewind().map_err(failed)?;
    if size > limits.bytes {
        // A folder reports any size, and cannot be read.
        file.read(&mut [0]).map_err(failed)?;
    }
    limits.check_total(size)?;
    let mut bytes = Vec::new();
    bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
    // One byte more than allowed distinguishes a save at the limit from a larger one.
    (&mut *file).take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    limits.check_total(bytes.len() as u64)?;
    Ok(bytes)
}

/// Returns true if there certainly is no file. A file that may not be read, or is damaged, exists.
pub(crate) fn is_free(storage: &dyn Storage, path: &Path) -> io::Result<bool> {
    match storage.open(path) {
        Ok(_) => Ok(false),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(true),
            io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidData => Ok(false),
            _ => Err(error),
        },
    }
}

/// Returns true if there is a file, as far as the system reports.
fn exists(storage: &dyn Storage, path: &Path) -> bool {
    is_free(storage, path).is_ok_and(|free| !free)
}

/// Returns true if two open files have the same bytes.
pub(crate) fn have_same_bytes(
    one: &mut dyn StoredFile,
    other: &mut dyn StoredFile,
) -> io::Result<bool> {
    const PART: u64 = 64 << 10;
    one.rewind()?;
    other.rewind()?;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    loop {
        left.clear();
        right.clear();
        one.take(PART).read_to_end(&mut left)?;
        other.take(PART).read_to_end(&mut right)?;
        if left != right || left.is_empty() {
            return Ok(left == right);
        }
    }
}

/// Returns true if two files have the same bytes.
fn are_equal(storage: &dyn Storage, one: &Path, other: &Path) -> io::Result<bool> {
    have_same_bytes(&mut *storage.open(one)?, &mut *storage.open(other)?)
}

/// Returns true if two files could be read and have the same bytes.
pub(crate) fn are_same(storage: &dyn Storage, one: &Path, other: &Path) -> bool {
    are_equal(storage, one, other).unwrap_or(false)
}

/// Returns true if both files could be read, and one begins with the bytes of the other.
#[cfg(feature = "history")]
pub(crate) fn is_beginning(storage: &dyn Storage, beginning: &Path, of: &Path) -> bool {
    let compare = || -> io::Result<bool> {
        let (mut beginning, mut whole) = (storage.open(beginning)?, storage.open(of)?);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        loop {
            left.clear();
            right.clear();
            (&mut *beginning).take(64 << 10).read_to_end(&mut left)?;
            (&mut *whole).take(left.len() as u64).read_to_end(&mut right)?;
            if left != right || left.is_empty() {
                return Ok(left == right);
            }
        }
    };
    compare().unwrap_or(false)
}

/// Returns the header of a save, or `None` if it is damaged.
fn header_in(mut file: Box<dyn StoredFile>) -> Result<Option<Header>> {
    match Header::within(&mut *file, &Limits::WHOLE_HEADER) {
        Err(error) if error.kind().is_of_system() => Err(error),
        header => Ok(header.ok()),
    }
}

/// Returns the header of a save, if it can be read.
fn header(storage: &dyn Storage, path: &Path) -> Option<Header> {
    header_in(storage.open(path).ok()?).ok().flatten()
}

/// Returns the header of a save, or `None` if it is damaged, missing, or may not be read. A disk that fails is an
/// error: counts that continue an unknown header might be used twice.
fn known_header(storage: &dyn Storage, path: &Path) -> Result<Option<Header>> {
    use io::ErrorKind::{InvalidData, NotFound, PermissionDenied};
    match storage.open(path) {
        Err(error) if [InvalidData, NotFound, PermissionDenied].contains(&error.kind()) => Ok(None),
        file => header_in(file.map_err(|error| Error::of_opening(path, error))?),
    }
}

/// The age of the save in a slot. A rotation replaces the smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SlotAge {
    /// Its header is damaged. A save that replaces it preserves the file.
    Damaged,
    Generation(u64),
    /// A newer version of the library wrote it, possibly after all others.
    Newer,
}

/// Returns the age of a save.
pub(crate) fn slot_age(storage: &dyn Storage, path: &Path) -> Result<SlotAge> {
    let mut file = match storage.open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(SlotAge::Damaged),
        file => file.map_err(|error| Error::of_opening(path, error))?,
    };
    match Header::within(&mut *file, &Limits::WHOLE_HEADER) {
        Ok(header) => Ok(SlotAge::Generation(header.generation)),
        Err(error) if error.kind().is_of_system() => Err(error),
        Err(error) if error.kind() == ErrorKind::NewerFormat => Ok(SlotAge::Newer),
        Err(_) => Ok(SlotAge::Damaged),
    }
}

/// Returns the generation of a save, or 0 if its header is damaged.
pub(crate) fn generation_of(storage: &dyn Storage, path: &Path) -> Result<u64> {
    let header = match storage.open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
        file => header_in(file.map_err(|error| Error::of_opening(path, error))?)?,
    };
    Ok(header.map_or(0, |header| header.generation))
}

/// Returns the header of a save whose header and trailer are intact, or `None` if one is not.
fn whole(mut file: Box<dyn StoredFile>) -> io::Result<Option<Header>> {
    match Ends::read(&mut *file, &Limits::WHOLE_HEADER) {
        Ok(ends) => Ok(ends.is_whole.then_some(ends.header)),
        Err(error) if error.kind().is_of_system() => Err(io::Error::other(error)),
        // A save of a newer program may be intact.
        Err(error) if error.kind() == ErrorKind::NewerFormat => Ok(Some(Header::default())),
        Err(_) => Ok(None),
    }
}

/// Number of missing backups in a row after which the search ends. An interrupted rotation leaves a gap of one.
const GAP: u32 = 2;

/// Returns the backups of a save with their numbers, in ascending order.
fn backups(storage: &dyn Storage, path: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let (mut found, mut missing) = (Vec::new(), 0);
    for number in 1.. {
        let backup = names::backup(path, number);
        if !is_free(storage, &backup).map_err(|error| Error::io("open", &backup, error))? {
            found.push((number, backup));
            missing = 0;
        } else {
            missing += 1;
            if missing == GAP {
                break;
            }
        }
    }
    Ok(found)
}

/// Returns the backups of a save and their generations, the newest first. A backup that cannot be read is an error,
/// since it may be the newest.
pub(super) fn backups_by_age(storage: &dyn Storage, path: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found: Vec<(PathBuf, u64)> = Vec::new();
    for (_, backup) in backups(storage, path)? {
        let generation = generation_of(storage, &backup)?;
        // Among equal generations, the lowest number is the newest.
        let place = found.partition_point(|(_, known)| *known >= generation);
        found.insert(place, (backup, generation));
    }
    Ok(found)
}

/// Function that names the preserved files of a save: damaged ones, or refused ones.
type CopyName = fn(&Path, u32) -> PathBuf;

/// Iterates over the preserved files of a save.
fn preserved(storage: &dyn Storage, path: &Path, name: CopyName) -> impl Iterator<Item = PathBuf> {
    let names = (1..).map(move |number| name(path, number));
    names.take_while(|name| exists(storage, name))
}

/// Returns a free name for a file to preserve.
fn free_name(storage: &dyn Storage, path: &Path, name: CopyName) -> io::Result<PathBuf> {
    for number in 1..u32::MAX {
        let name = name(path, number);
        if is_free(storage, &name)? {
            return Ok(name);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns the preserved file with the same bytes as another file, if there is one.
fn find_preserved(
    storage: &dyn Storage,
    path: &Path,
    file: &Path,
    name: CopyName,
) -> Option<PathBuf> {
    preserved(storage, path, name).find(|name| are_same(storage, file, name))
}

/// Returns true if a file could be read and has exactly these bytes.
fn has_bytes(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> bool {
    let read = |file: io::Result<Box<dyn StoredFile>>| -> io::Result<bool> {
        let (mut file, mut rest, mut part) = (file?, bytes, vec![0; 64 << 10]);
        loop {
            match file.read(&mut part) {
                Ok(0) => return Ok(rest.is_empty()),
                Ok(length) => match rest.strip_prefix(&part[..length]) {
                    Some(after) => rest = after,
                    None => return Ok(false),
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    read(storage.open(path)).unwrap_or(false)
}
