//! The blocks of a save, its trailer, and its digest, as bytes.

use std::io::{self, Read, Seek, SeekFrom};

#[cfg(feature = "history")]
use byteorder::{ByteOrder, LittleEndian};
#[cfg(feature = "history")]
use twox_hash::XxHash3_128;

#[cfg(feature = "history")]
use super::cut_short;
use super::{Header, TRAILER_SIZE, Trailer};
use crate::{Error, Limits, Result};

/// Says whether the blocks of a save have checksums.
#[derive(Clone, Copy)]
pub(crate) enum Checksums {
    /// They have, and a wrong checksum is an error.
    Right,
    /// They have none: the save is a snapshot in memory.
    None,
}

/// The header of a save, and whether its trailer is in place.
pub(crate) struct Ends {
    pub header: Header,
    /// True if the save ends with its trailer, so that nothing is cut off. The bytes in between may be damaged.
    pub is_whole: bool,
}

impl Ends {
    /// Reads the header and the trailer of a save.
    pub(crate) fn read(
        mut file: &mut (impl Read + Seek + ?Sized),
        limits: &Limits,
    ) -> Result<Self> {
        let failed = |error| Error::of_reading("the end of the save", error);
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let header = Header::from_file(&mut file, size, limits)?;
        let is_whole = Self::is_at_end(file).map_err(failed)?;
        Ok(Self { header, is_whole })
    }

    /// Returns true if a file ends with a trailer that has the length of the file.
    pub(crate) fn is_at_end(file: &mut (impl Read + Seek + ?Sized)) -> io::Result<bool> {
        let size = file.seek(SeekFrom::End(0))?;
        let Some(start) = size.checked_sub(TRAILER_SIZE as u64) else { return Ok(false) };
        file.seek(SeekFrom::Start(start))?;
        let mut trailer = [0; TRAILER_SIZE];
        file.read_exact(&mut trailer)?;
        Ok(Trailer::read(&trailer).is_some_and(|trailer| trailer.length == size))
    }
}

/// Identifies the save that a journal follows, by a digest of its blocks and its generation.
///
/// The digest of the blocks identifies the content. It does not change if only the header is rewritten, as when two
/// devices are reconciled. The generation distinguishes two saves of the same content.
#[cfg(feature = "history")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub(crate) [u8; Self::SIZE]);

#[cfg(feature = "history")]
impl Digest {
    /// Bytes of a digest: a hash of all bytes between header and trailer, their number, and the generation.
    pub(crate) const SIZE: usize = 16 + 8 + 8;

    /// Returns the digest of a whole save.
    ///
    /// # Errors
    ///
    /// Returns an error if the save is cut short or damaged.
    pub fn from_save(save: &[u8]) -> Result<Self> {
        let (Header { generation, .. }, start) = Header::parse(save)?;
        let Some((blocks, _)) = save[start..].split_last_chunk::<TRAILER_SIZE>() else {
            return Err(cut_short(save.len()));
        };
        let mut digest = [0; Self::SIZE];
        // 128 bits, so that two saves do not collide by chance.
        LittleEndian::write_u128(&mut digest, XxHash3_128::oneshot(blocks));
        LittleEndian::write_u64(&mut digest[16..], blocks.len() as u64);
        LittleEndian::write_u64(&mut digest[24..], generation);
        Ok(Self(digest))
    }

    pub(crate) fn generation(&self) -> u64 {
        LittleEndian::read_u64(&self.0[24..])
    }

    /// Returns true if both digests are of saves with the same content.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        self.0[..24] == other.0[..24]
    }
}
