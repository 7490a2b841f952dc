//! Reads within limits.

use std::io::{self, Read};
use std::path::Path;

use super::{Storage, StoredFile};
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
    if !begins_as_save(&start) && !Ends::is_at_end(&mut *file).map_err(failed)? {
        Header::read(&start)?;
    }
    read_open(file, path, limits)
}

/// Bytes that tell whether a file is a save.
const START: u64 = 64;

fn begins_as_save(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

fn read_open(mut file: Box<dyn StoredFile>, path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::io("read", path, error);
    let size = file.seek(io::SeekFrom::End(0)).map_err(failed)?;
    file.rewind().map_err(failed)?;
    read_whole(file, size, limits).map_err(|error| match error {
        ReadError::Io(error) => failed(error),
        ReadError::TooLarge => too_large(limits),
    })
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

enum ReadError {
    Io(io::Error),
    TooLarge,
}

fn read_whole(mut reader: impl Read, expected: u64, limits: &Limits) -> Result<Vec<u8>, ReadError> {
    if expected > limits.bytes {
        // A folder says any size, and cannot be read.
        reader.read(&mut [0]).map_err(ReadError::Io)?;
        return Err(ReadError::TooLarge);
    }
    let mut bytes = Vec::new();
    bytes.reserve_exact(usize::try_from(expected).unwrap_or_default());
    // One byte more than allowed tells a save at the limit from one beyond it.
    let most = limits.bytes.saturating_add(1);
    reader.take(most).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() as u64 > limits.bytes { Err(ReadError::TooLarge) } else { Ok(bytes) }
}

fn too_large(limits: &Limits) -> Error {
    let limit = limits.bytes;
    Error::new(
        ErrorKind::TooLarge,
        format!("the save is over the limit of {limit} bytes; raise `Limits::bytes`"),
    )
}
