//! The blocks of a save, its trailer, and its digest, as bytes.

use std::io::{self, Read, Seek, SeekFrom};

use byteorder::{ByteOrder, LittleEndian};
#[cfg(feature = "history")]
use twox_hash::XxHash3_128;

use super::header::{cut_short, damaged};
use super::{BLOCK_HEAD, BLOCK_TRAILER, CRC_SIZE, Header, TRAILER_SIZE};
use crate::{Error, Limits, Result};

/// A block with a correct checksum.
pub(super) struct Block {
    pub(super) tag: u8,
    /// Offsets of its tag and of the end of its content.
    pub(super) at: usize,
    pub(super) end: usize,
}

impl Block {
    /// Returns the tag of the block at `at` and the end of its content, from its head.
    pub(super) fn head(save: &[u8], at: usize) -> Option<(u8, usize)> {
        let [tag, length @ ..] = save.get(at..)?.first_chunk::<BLOCK_HEAD>()?;
        let length = u32::from_le_bytes(*length) as usize;
        Some((*tag, (at + BLOCK_HEAD).saturating_add(length)))
    }

    /// Returns whether the checksum of a block matches its head and content, or `None` if the block is cut off.
    pub(super) fn is_whole(save: &[u8], at: usize, end: usize) -> Option<bool> {
        let crc = save.get(end..)?.first_chunk()?;
        Some(crc32fast::hash(&save[at..end]) == u32::from_le_bytes(*crc))
    }

    fn read(save: &[u8], checksums: Checksums, at: usize) -> Result<Self> {
        let head = Self::head(save, at);
        let whole = head.and_then(|(_, end)| match checksums {
            Checksums::Right => Self::is_whole(save, at, end),
            Checksums::None => save.get(end..)?.first_chunk::<CRC_SIZE>().map(|_| true),
        });
        let (Some((tag, end)), Some(is_whole)) = (head, whole) else {
            return Err(cut_short(save.len()));
        };
        if is_whole {
            return Ok(Self { tag, at, end });
        }
        let length = end - at;
        Err(damaged(
            at,
            &format!("the checksum of the block of {length} bytes here does not match"),
        ))
    }

    pub(super) fn content<'s>(&self, save: &'s [u8]) -> &'s [u8] {
        &save[self.at + BLOCK_HEAD..self.end]
    }
}

/// Says whether the blocks of a save have checksums.
#[derive(Clone, Copy)]
pub(crate) enum Checksums {
    /// They have, and a wrong checksum is an error.
    Right,
    /// They have none: the save is a snapshot in memory.
    None,
}

/// Passes each block of a save from offset `at` on to `take`, and returns the trailer with its offset.
pub(super) fn each_block(
    save: &[u8],
    checksums: Checksums,
    mut at: usize,
    take: &mut dyn FnMut(&Block) -> Result<()>,
) -> Result<(usize, Trailer)> {
    while save.get(at) != Some(&BLOCK_TRAILER) {
        let block = Block::read(save, checksums, at)?;
        take(&block)?;
        at = block.end + CRC_SIZE;
    }
    let Some(bytes) = save[at..].first_chunk() else { return Err(cut_short(save.len())) };
    let Some(trailer) = Trailer::read(bytes) else {
        return Err(damaged(at, "the checksum of the trailer does not match"));
    };
    if save.len() > at + TRAILER_SIZE {
        return Err(damaged(at + TRAILER_SIZE, "there are bytes after its end"));
    }
    check_count(at, trailer.length, save.len() as u64, "bytes")?;
    Ok((at, trailer))
}

/// Compares a count in the trailer, which is at offset `at`, with the count that was found.
pub(super) fn check_count(at: usize, expected: u64, found: u64, what: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(damaged(at, &format!("the trailer counts {expected} {what}, there are {found}")))
}

/// The trailer of a save.
#[derive(Clone, Copy)]
pub struct Trailer {
    pub(super) records: u64,
    pub(super) definitions: u64,
    /// Bytes of the whole save, including the trailer.
    pub(super) length: u64,
}

impl Trailer {
    /// Returns `None` if the bytes are no trailer, or a damaged one.
    pub(super) fn read(bytes: &[u8; TRAILER_SIZE]) -> Option<Self> {
        let (content, crc) = bytes.split_at(TRAILER_SIZE - CRC_SIZE);
        let is_whole = crc32fast::hash(content) == LittleEndian::read_u32(crc);
        let [records, definitions, length] =
            [1, 9, 17].map(|at| LittleEndian::read_u64(&content[at..]));
        let this = Self { records, definitions, length };
        (content[0] == BLOCK_TRAILER && is_whole).then_some(this)
    }

    pub(super) fn write(self) -> Vec<u8> {
        let mut bytes = vec![BLOCK_TRAILER];
        for word in [self.records, self.definitions, self.length] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// The header of a save, and whether its trailer is in place.
pub(crate) struct Ends {
    pub(crate) header: Header,
    /// True if the save ends with its trailer, so that nothing is cut off. The bytes in between may be damaged.
    pub(crate) is_whole: bool,
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
