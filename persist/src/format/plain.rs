//! Saves whose compressed blocks are made plain ones, before anything else reads them.

use super::blocks::{Block, Checksums, Trailer, each_block};
use super::compression::{Codec, most_for_each};
use super::header::damaged;
use super::{BLOCK_HEAD, BLOCK_RECORDS, CRC_SIZE, Compression, Header, TRAILER_SIZE};
use crate::{Error, ErrorKind, Limits, Result};

/// A save without compressed blocks.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'s> {
    pub(crate) bytes: &'s [u8],
    /// The bytes by which limits in proportion to the save count.
    pub(crate) weight: u64,
    pub(crate) compression: Compression,
}

/// For how many bytes of a save without compression one stored byte stands at most, where limits are in
/// proportion to the save.
const WEIGHT: u64 = 16;

/// The bytes by which limits in proportion to a save count: those that it has without compression, but
/// no more than a save that is compressed as well as most can be.
pub(crate) fn weight(plain: u64, stored: u64) -> u64 {
    plain.min(stored.saturating_mul(WEIGHT))
}

/// Reads a save, whose compressed blocks are first made plain ones, if it has any. Errors have offsets in the
/// save as it is; in a compressed block, that of the block.
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

/// Makes the compressed blocks of a save plain ones; `None` if it has none.
fn unpack<'s>(save: &'s [u8], limits: &Limits) -> Result<Option<Unpacker<'s>>> {
    let stored = save.len() as u64;
    if stored > limits.bytes {
        let limit = limits.bytes;
        bail!(
            ErrorKind::TooLarge,
            "the save has {stored} bytes, over the limit of {limit}; raise `Limits::bytes`"
        );
    }
    if !is_compressed(save) {
        return Ok(None);
    }
    let (_, at) = Header::parse(save)?;
    let mut unpacker = Unpacker::new(save);
    unpacker.plain.extend_from_slice(&save[..at]);
    let (at, trailer) =
        each_block((save, Checksums::Right), at, &mut |block| unpacker.block(block, limits))?;
    unpacker.places.push((unpacker.plain.len(), at, false));
    let length = (unpacker.plain.len() + TRAILER_SIZE) as u64;
    unpacker.plain.extend(Trailer { length, ..trailer }.write());
    Ok(Some(unpacker))
}

/// True if there is a compressed block, as far as the lengths can be trusted.
fn is_compressed(save: &[u8]) -> bool {
    let Some(mut at) = Header::length(save) else { return false };
    while let Some((tag, end)) = Block::head(save, at) {
        if tag != BLOCK_RECORDS {
            return Compression::of(tag).is_some();
        }
        at = end.saturating_add(CRC_SIZE);
    }
    false
}

/// The plain blocks of a save.
pub(super) struct Unpacker<'s> {
    save: &'s [u8],
    pub(super) plain: Vec<u8>,
    /// Where blocks begin, plain and as stored, and whether they are compressed there.
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

    /// An error of the plain blocks, with its offset in the save.
    fn place(&self, error: Error) -> Error {
        let Some(offset) = error.offset() else { return error };
        let next = self.places.partition_point(|(plain, ..)| *plain as u64 <= offset);
        let (plain, at, is_compressed) =
            next.checked_sub(1).map_or((0, 0, false), |place| self.places[place]);
        let inside = if is_compressed { 0 } else { offset - plain as u64 };
        error.moved_to((at as u64 + inside).min(self.save.len() as u64))
    }

    /// Takes a block; one that is an error leaves nothing.
    pub(super) fn block(&mut self, block: &Block, limits: &Limits) -> Result<()> {
        let compression = Compression::of(block.tag);
        self.places.push((self.plain.len(), block.at, compression.is_some()));
        let compression = match compression {
            Some(Ok(compression)) => compression,
            Some(Err(feature)) => return Err(switched_off(feature).at(block.at as u64)),
            None => {
                // Tags that nobody knows are the scan's to refuse.
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
        let block_of = (block.tag, compression, content);
        decompress(block_of, block.at, &mut self.codec, stored, limits, &mut self.plain)
            .inspect_err(|_| self.plain.truncate(start))?;
        // No more than 32 bits say.
        let length = u32::try_from(self.plain.len() - start - BLOCK_HEAD).unwrap_or(u32::MAX);
        self.plain[start] = BLOCK_RECORDS;
        self.plain[start + 1..start + BLOCK_HEAD].copy_from_slice(&length.to_le_bytes());
        let crc = crc32fast::hash(&self.plain[start..]);
        self.plain.extend_from_slice(&crc.to_le_bytes());
        Ok(())
    }
}

/// Bytes that follow the last block of a save.
const AFTER_BLOCK: usize = CRC_SIZE + TRAILER_SIZE;

/// Appends what a compressed block of a save of `stored` bytes holds; the codec counts the bytes of all of them. If it
/// is an error, what is appended has no meaning.
pub(super) fn decompress(
    (tag, compression, content): (u8, Compression, &[u8]),
    at: usize,
    codec: &mut Codec,
    stored: u64,
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<()> {
    let bad = |what| damaged(at, what);
    let Some((head, frame)) = content.split_first_chunk() else {
        return Err(bad("the compressed block here has no length"));
    };
    let length = u32::from_le_bytes(*head);
    if length as usize <= content.len() {
        return Err(bad("the compressed block here is not smaller than what it holds"));
    }
    if u64::from(length) > most_for_each(tag).saturating_mul(frame.len() as u64) {
        return Err(bad("the compressed block here cannot hold as much as it says"));
    }
    codec.contents += u64::from(length);
    limits
        .check_decompressed(codec.contents)
        .and_then(|()| limits.check_ratio(stored, codec.contents))
        .map_err(|error| error.at(at as u64))?;
    let start = out.len();
    // With room for what follows, or a checksum would double the memory of a large block.
    out.reserve(length as usize + AFTER_BLOCK);
    out.resize(start + length as usize, 0);
    let result = codec.decompress(compression, frame, &mut out[start..]);
    result.map_err(|_| bad("the compressed block here is malformed"))
}

#[cold]
pub(super) fn switched_off(feature: &str) -> Error {
    error!(
        ErrorKind::Unsupported,
        "the save is compressed by {feature}, which this program was built without; build it with the feature `{feature}` of persist"
    )
}
