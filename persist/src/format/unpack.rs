use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use super::broken::damaged;
use super::compression::most_for_each;
use super::ends::Trailer;
use super::reader::{Block, trailer};
use super::{
    BLOCK_HEAD, BLOCK_RECORDS, BLOCK_TRAILER, CRC_SIZE, Compression, Header, TRAILER_SIZE,
};
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
    if save.len() as u64 > limits.bytes {
        let (length, limit) = (save.len(), limits.bytes);
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "the save has {length} bytes, over the limit of {limit}; raise `Limits::bytes`"
            ),
        ));
    }
    let stored = save.len() as u64;
    if !is_compressed(save) {
        let compression = Compression::None;
        return read(Plain { bytes: save, weight: stored, compression });
    }
    let unpacked = Unpacker::run(save, limits)?;
    let weight = weight(unpacked.plain.len() as u64, stored);
    let plain = Plain { bytes: &unpacked.plain, weight, compression: unpacked.compression };
    read(plain).map_err(|error| match error.offset() {
        Some(offset) => error.moved_to(unpacked.stored_at(offset)),
        None => error,
    })
}

/// True if there is a compressed block, as far as the lengths can be trusted.
fn is_compressed(save: &[u8]) -> bool {
    let Some(mut at) = Header::length(save) else { return false };
    while let Some(head) = save.get(at..).and_then(|rest| rest.get(..BLOCK_HEAD)) {
        match head[0] {
            BLOCK_RECORDS => {
                let length = LittleEndian::read_u32(&head[1..]) as usize;
                at = at.saturating_add(length).saturating_add(BLOCK_HEAD + CRC_SIZE);
            }
            tag => return Compression::of(tag).is_some(),
        }
    }
    false
}

pub(super) struct Unpacker<'s> {
    save: &'s [u8],
    plain: Vec<u8>,
    /// Where blocks begin, plain and as stored, and whether they are compressed there.
    places: Vec<(usize, usize, bool)>,
    compression: Compression,
    /// Bytes that the compressed blocks so far hold.
    contents: u64,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl<'s> Unpacker<'s> {
    pub(super) fn new(save: &'s [u8]) -> Self {
        Self {
            save,
            plain: Vec::new(),
            places: vec![(0, 0, false)],
            compression: Compression::None,
            contents: 0,
            #[cfg(feature = "zstd")]
            zstd: None,
        }
    }

    /// Takes a part of the save as it is.
    fn copy(&mut self, part: Range<usize>) {
        self.plain.extend_from_slice(&self.save[part]);
    }

    pub(super) fn plain(&self) -> &[u8] {
        &self.plain
    }

    pub(super) fn into_plain(self) -> Vec<u8> {
        self.plain
    }

    fn run(save: &'s [u8], limits: &Limits) -> Result<Self> {
        let (_, mut at) = Header::parse(save)?;
        let mut unpacker = Self::new(save);
        unpacker.copy(0..at);
        while save.get(at) != Some(&BLOCK_TRAILER) {
            let block = Block::read(save, at)?;
            unpacker.block(&block, limits)?;
            at = block.end + CRC_SIZE;
        }
        unpacker.places.push((unpacker.plain.len(), at, false));
        let length = (unpacker.plain.len() + TRAILER_SIZE) as u64;
        let trailer = Trailer { length, ..trailer(save, at)? };
        unpacker.plain.extend(trailer.write());
        Ok(unpacker)
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
                self.copy(block.at..block.end + CRC_SIZE);
                return Ok(());
            }
        };
        if self.compression == Compression::None {
            self.compression = compression;
        }
        let bad = |what| damaged(block.at, what);
        let content = &self.save[block.at + BLOCK_HEAD..block.end];
        let Some((length, frame)) = content.split_at_checked(4) else {
            return Err(bad("the compressed block here has no length"));
        };
        let length = LittleEndian::read_u32(length);
        if length as usize <= content.len() {
            return Err(bad("the compressed block here is not smaller than what it holds"));
        }
        if u64::from(length) > most_for_each(block.tag).saturating_mul(frame.len() as u64) {
            return Err(bad("the compressed block here cannot hold as much as it says"));
        }
        self.contents += u64::from(length);
        limits
            .check_decompressed(self.contents)
            .and_then(|()| limits.check_ratio(self.save.len() as u64, self.contents))
            .map_err(|error| error.at(block.at as u64))?;

        let start = self.plain.len();
        self.plain.push(BLOCK_RECORDS);
        self.plain.extend_from_slice(&length.to_le_bytes());
        let inside = self.plain.len();
        self.plain.resize(inside + length as usize, 0);
        if self.decompress(compression, frame, inside).is_err() {
            self.plain.truncate(start);
            return Err(bad("the compressed block here is malformed"));
        }
        let crc = crc32fast::hash(&self.plain[start..]);
        self.plain.extend_from_slice(&crc.to_le_bytes());
        Ok(())
    }

    /// Fills what is behind `start`.
    fn decompress(
        &mut self,
        compression: Compression,
        frame: &[u8],
        start: usize,
    ) -> std::io::Result<()> {
        let out = &mut self.plain[start..];
        match compression {
            Compression::None => {
                let _ = (frame, out);
                Ok(())
            }
            #[cfg(feature = "lz4")]
            Compression::Lz4 => super::compression::lz4::decompress(frame, out),
            #[cfg(feature = "zstd")]
            Compression::Zstd(_) => {
                let decompressor = match &mut self.zstd {
                    Some(decompressor) => decompressor,
                    none => none.insert(zstd::bulk::Decompressor::new()?),
                };
                super::compression::zstd::decompress(decompressor, frame, out)
            }
        }
    }

    /// Where in the save as it is stored an offset of the plain one lies.
    fn stored_at(&self, offset: u64) -> u64 {
        let next = self.places.partition_point(|(plain, ..)| *plain as u64 <= offset);
        let (plain, stored, compressed) =
            next.checked_sub(1).map_or((0, 0, false), |place| self.places[place]);
        let inside = if compressed { 0 } else { offset - plain as u64 };
        (stored as u64 + inside).min(self.save.len() as u64)
    }
}

#[cold]
fn switched_off(feature: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "the save is compressed by {feature}, which this program was built without; build it with the feature `{feature}` of persist"
        ),
    )
}
