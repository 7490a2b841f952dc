//! Reads within limits.

use std::io::{self, Read};
use std::path::Path;

use super::{Storage, StoredFile};
use crate::format::{Ends, Header, MAGIC};
use crate::{Error, Limits, Result};

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
    file.take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    limits.check_total(bytes.len() as u64)?;
    Ok(bytes)
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
