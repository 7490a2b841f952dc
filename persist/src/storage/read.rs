//! Files read within limits, what the ends of saves say, and which backups a save has.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Storage, StoredFile, names};
use crate::format::{Ends, Header, MAGIC};
use crate::{Error, ErrorKind, Limits, Result};

/// Reads a file whole, if it is within the limit.
pub(crate) fn read_file(storage: &dyn Storage, path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let file = storage.open(path).map_err(|error| Error::of_opening(path, error))?;
    read_open(file, path, limits)
}

/// Reads a save whole, if it is within the limit. Of what neither begins nor ends as one only the ends are read.
pub(crate) fn read_save(storage: &dyn Storage, path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::io("read", path, error);
    let mut file = storage.open(path).map_err(|error| Error::of_opening(path, error))?;
    let mut start = Vec::new();
    (&mut *file).take(START).read_to_end(&mut start).map_err(failed)?;
    if !start.starts_with(&MAGIC) && !Ends::is_at_end(&mut *file).map_err(failed)? {
        Header::read(&start)?;
    }
    read_open(file, path, limits)
}

/// True if a file begins or ends as a save does.
pub(super) fn is_save(storage: &dyn Storage, path: &Path) -> bool {
    let read = |file: io::Result<Box<dyn StoredFile>>| {
        let (mut file, mut start) = (file?, Vec::new());
        (&mut *file).take(START).read_to_end(&mut start)?;
        Ok::<_, io::Error>(start.starts_with(&MAGIC) || Ends::is_at_end(&mut *file)?)
    };
    read(storage.open(path)).unwrap_or(false)
}

/// Bytes that tell whether a file is a save.
const START: u64 = 64;

fn read_open(mut file: Box<dyn StoredFile>, path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::io("read", path, error);
    let size = file.seek(io::SeekFrom::End(0)).map_err(failed)?;
    file.rewind().map_err(failed)?;
    if size > limits.bytes {
        // A folder says any size, and cannot be read.
        file.read(&mut [0]).map_err(failed)?;
    }
    limits.check_total(size)?;
    let mut bytes = Vec::new();
    bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
    // One byte more than allowed tells a save at the limit from one beyond it.
    (&mut *file).take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    limits.check_total(bytes.len() as u64)?;
    Ok(bytes)
}

/// True if there is surely no file; what may not be read, or is damaged, is there.
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

/// True if there is a file, as far as the system says.
pub(super) fn is_there(storage: &dyn Storage, path: &Path) -> bool {
    is_free(storage, path).is_ok_and(|free| !free)
}

/// True if two files have the same bytes.
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

/// True if two files have the same bytes.
pub(super) fn are_equal(storage: &dyn Storage, one: &Path, other: &Path) -> io::Result<bool> {
    have_same_bytes(&mut *storage.open(one)?, &mut *storage.open(other)?)
}

/// True if two files surely have the same bytes.
pub(crate) fn are_same(storage: &dyn Storage, one: &Path, other: &Path) -> bool {
    are_equal(storage, one, other).unwrap_or(false)
}

/// True if a file surely begins with the bytes of another one.
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

/// The header of a save; `None` if it is damaged.
fn header_in(mut file: Box<dyn StoredFile>) -> Result<Option<Header>> {
    match Header::within(&mut *file, &Limits::WHOLE_HEADER) {
        Err(error) if error.kind().is_of_system() => Err(error),
        header => Ok(header.ok()),
    }
}

/// The header of a save, as far as it can be read.
pub(super) fn header(storage: &dyn Storage, path: &Path) -> Option<Header> {
    header_in(storage.open(path).ok()?).ok().flatten()
}

/// The header of a save; `None` if it is damaged, not there, or may not be read. A disk that fails is an error: what is
/// counted on from an unknown header may have been counted before.
pub(super) fn known_header(storage: &dyn Storage, path: &Path) -> Result<Option<Header>> {
    use io::ErrorKind::{InvalidData, NotFound, PermissionDenied};
    match storage.open(path) {
        Err(error) if [InvalidData, NotFound, PermissionDenied].contains(&error.kind()) => Ok(None),
        file => header_in(file.map_err(|error| Error::of_opening(path, error))?),
    }
}

/// How old the save of a slot is, from the one that a rotation replaces first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SlotAge {
    /// Its header is damaged. A save in its place keeps the file.
    Damaged,
    Generation(u64),
    /// A newer version of the library wrote it, which may have made it after all others.
    Newer,
}

/// How old a save is.
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

/// The generation of a save; 0 if its header is damaged.
pub(crate) fn generation_of(storage: &dyn Storage, path: &Path) -> Result<u64> {
    let header = match storage.open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
        file => header_in(file.map_err(|error| Error::of_opening(path, error))?)?,
    };
    Ok(header.map_or(0, |header| header.generation))
}

/// The header of a save that begins and ends as a whole one, if it does.
pub(super) fn whole(mut file: Box<dyn StoredFile>) -> io::Result<Option<Header>> {
    match Ends::read(&mut *file, &Limits::WHOLE_HEADER) {
        Ok(ends) => Ok(ends.is_whole.then_some(ends.header)),
        Err(error) if error.kind().is_of_system() => Err(io::Error::other(error)),
        // What a newer program wrote may be whole.
        Err(error) if error.kind() == ErrorKind::NewerFormat => Ok(Some(Header::default())),
        Err(_) => Ok(None),
    }
}

/// How many backups may be missing between two; a rotation that is cut short leaves one.
const GAP: u32 = 2;

/// The backups of a save with their numbers, in ascending order.
pub(super) fn backups(storage: &dyn Storage, path: &Path) -> Result<Vec<(u32, PathBuf)>> {
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

/// The backups of a save and their generations, the newest first. One that cannot be read may be the newest: that is an
/// error.
pub(super) fn backups_by_age(storage: &dyn Storage, path: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found: Vec<(PathBuf, u64)> = Vec::new();
    for (_, backup) in backups(storage, path)? {
        let generation = generation_of(storage, &backup)?;
        // Of equal ones the first is the newest.
        let place = found.partition_point(|(_, known)| *known >= generation);
        found.insert(place, (backup, generation));
    }
    Ok(found)
}

/// How the files are named that are kept of a save: damaged ones, or refused ones.
pub(super) type KeptName = fn(&Path, u32) -> PathBuf;

/// The files that are kept of a save.
pub(super) fn kept(
    storage: &dyn Storage,
    path: &Path,
    name: KeptName,
) -> impl Iterator<Item = PathBuf> {
    let names = (1..).map(move |number| name(path, number));
    names.take_while(|name| is_there(storage, name))
}

/// A name for a file to be kept that no other has.
pub(super) fn free_name(storage: &dyn Storage, path: &Path, name: KeptName) -> io::Result<PathBuf> {
    for number in 1..u32::MAX {
        let name = name(path, number);
        if is_free(storage, &name)? {
            return Ok(name);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The file of the same bytes as another, if one is kept.
pub(super) fn kept_as(
    storage: &dyn Storage,
    path: &Path,
    file: &Path,
    name: KeptName,
) -> Option<PathBuf> {
    kept(storage, path, name).find(|name| are_same(storage, file, name))
}

/// True if a file surely has these bytes.
pub(super) fn has_bytes(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> bool {
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
