//! Decompresses the blocks of a save before anything else reads them.

use super::blocks::Checksums;
use super::{
    BLOCK_HEAD, BLOCK_RECORDS, Block, CRC_SIZE, Codec, Compression, Header, TRAILER_SIZE, Trailer,
    decompress, each_block, switched_off,
};
use crate::{Error, ErrorKind, Limits, Result};

/// A save without compressed blocks.
#[derive(Clone, Copy)]
pub struct Plain<'s> {
    /// Its bytes, with decompressed blocks.
    pub bytes: &'s [u8],
    /// The size of the save for limits that are relative to it.
    pub weight: u64,
    /// The compression of its blocks in the file.
    pub compression: Compression,
}

/// Maximum number of plain bytes for which one stored byte counts in limits that are relative to the size of a save.
const WEIGHT: u64 = 16;

/// Returns the size of a save for limits that are relative to it: its size without compression. A save that is
/// compressed better than most data can be counts as smaller, so that a small malicious file cannot raise the limits.
pub(crate) fn weight(plain: u64, stored: u64) -> u64 {
    plain.min(stored.saturating_mul(WEIGHT))
}

/// Decompresses the blocks of a save if it has compressed ones, and passes the result to `read`. Errors have offsets in
/// the stored save. In a compressed block, it is the offset of the block.
///
/// # Errors
///
/// Returns an error if a block is damaged, or the save is larger than the limits allow.
pub(crate) fn unpacked<T>(
    save: &[u8],
    limits: &Limits,
    read: impl FnOnce(Plain<'_>) -> Result<T>,
) -> Result<T> {
    let weight = save.len() as u64;
    match unpack(save, limits)? {
        None => read(Plain { bytes: save, weight, compression: Compression::None }),
        Some(unpacker) => read(unpacker.plain()).map_err(|error| unpacker.place(error)),
    }
}

/// Checks that a save has no more bytes than the limit.
pub(super) fn check_length(stored: u64, limits: &Limits) -> Result<()> {
    let limit = limits.bytes;
    if stored > limit {
        bail!(
            ErrorKind::TooLarge,
            "the save has {stored} bytes, over the limit of {limit}; raise `Limits::bytes`"
        );
    }
    Ok(())
}

/// Returns the save with plain blocks, or `None` if no block is compressed.
fn unpack<'s>(save: &'s [u8], limits: &Limits) -> Result<Option<Unpacker<'s>>> {
    check_length(save.len() as u64, limits)?;
    if !is_compressed(save) {
        return Ok(None);
    }
    let (_, at) = Header::parse(save)?;
    let mut unpacker = Unpacker::new(save);
    unpacker.plain.extend_from_slice(&save[..at]);
    let (at, trailer) =
        each_block(save, Checksums::Right, at, &mut |block| unpacker.block(block, limits))?;
    unpacker.places.push((unpacker.plain.len(), at, false));
    let length = (unpacker.plain.len() + TRAILER_SIZE) as u64;
    unpacker.plain.extend(Trailer { length, ..trailer }.write());
    Ok(Some(unpacker))
}

/// Returns true if there is a compressed block, as far as the lengths of blocks can be trusted.
fn is_compressed(save: &[u8]) -> bool {
    let Some(mut at) = Header::length(save) else { return false };
    while let Some((tag, end)) = Block::head(save, at) {
        if tag != BLOCK_RECORDS {
            return Compression::from_tag(tag).is_some();
        }
        at = end.saturating_add(CRC_SIZE);
    }
    false
}

/// The plain blocks of a save.
pub(super) struct Unpacker<'s> {
    save: &'s [u8],
    pub plain: Vec<u8>,
    /// The offsets of blocks in the plain and the stored save, and whether they are compressed.
    places: Vec<(usize, usize, bool)>,
    compression: Compression,
    codec: Codec,
}

impl<'s> Unpacker<'s> {
    pub(super) fn new(save: &'s [u8]) -> Self {
        Self {
            save,
            plain: Vec::new(),
            places: vec![(0, 0, false)],
            compression: Compression::None,
            codec: Codec::default(),
        }
    }

    fn plain(&self) -> Plain<'_> {
        let weight = weight(self.plain.len() as u64, self.save.len() as u64);
        Plain { bytes: &self.plain, weight, compression: self.compression }
    }

    /// Converts the offset of an error from the plain save to the stored one.
    fn place(&self, error: Error) -> Error {
        let Some(offset) = error.offset() else { return error };
        let next = self.places.partition_point(|(plain, ..)| *plain as u64 <= offset);
        let (plain, at, is_compressed) =
            next.checked_sub(1).map_or((0, 0, false), |place| self.places[place]);
        let inside = if is_compressed { 0 } else { offset - plain as u64 };
        error.moved_to((at as u64 + inside).min(self.save.len() as u64))
    }

    /// Appends a block. If it returns an error, nothing is appended.
    pub(super) fn block(&mut self, block: &Block, limits: &Limits) -> Result<()> {
        let compression = Compression::from_tag(block.tag);
        self.places.push((self.plain.len(), block.at, compression.is_some()));
        let compression = match compression {
            Some(Ok(compression)) => compression,
            Some(Err(feature)) => return Err(switched_off(feature).at(block.at as u64)),
            None => {
                // The scan refuses unknown tags.
                self.plain.extend_from_slice(&self.save[block.at..block.end + CRC_SIZE]);
                return Ok(());
            }
        };
        if self.compression == Compression::None {
            self.compression = compression;
        }
        let start = self.plain.len();
        self.plain.extend([0; BLOCK_HEAD]);
        let content = block.content(self.save);
        let stored = self.save.len() as u64;
        let (codec, plain) = (&mut self.codec, &mut self.plain);
        decompress(compression, content, block.at, codec, stored, limits, plain)
            .inspect_err(|_| self.plain.truncate(start))?;
        // The length fits, since it was read from 32 bits.
        let length = u32::try_from(self.plain.len() - start - BLOCK_HEAD).unwrap_or(u32::MAX);
        self.plain[start] = BLOCK_RECORDS;
        self.plain[start + 1..start + BLOCK_HEAD].copy_from_slice(&length.to_le_bytes());
        let crc = crc32fast::hash(&self.plain[start..]);
        self.plain.extend_from_slice(&crc.to_le_bytes());
        Ok(())
    }
}
