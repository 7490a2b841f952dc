//! The save file: a header, blocks of definitions and records, and a trailer.
//!
//! `docs/reference/format.md` is the normative description, and names the constants here. This module handles bytes and
//! schemas, not Rust types. `Writer` fills blocks and `Sealer` compresses and checksums them; `Plain` decompresses a
//! save and `Scan` finds its records.
//!
//! | files | part |
//! | --- | --- |
//! | `header` | the header, and the saves that a save continues |
//! | `definition`, `numbers` | class definitions, and the numbers of classes in a save |
//! | `sealer` with `writer`, `compression` | a save is written: records, blocks, how blocks are compressed |
//! | this file, `blocks`, `plain`, `scan`, `records` | a save is read: blocks and their compression, its ends, decompressed content, structure, places of records |
//! | `scan/stream`, `scan/salvage` | a save is read block by block; the whole blocks of a damaged one |

mod blocks;
mod compression;
mod definition;
mod header;
mod numbers;
mod plain;
mod records;
mod scan;
mod sealer;

use std::io;

use byteorder::{ByteOrder, LittleEndian};

#[cfg(feature = "history")]
pub use blocks::Digest;
pub(crate) use blocks::{Checksums, Ends};
pub use compression::Compression;
pub use definition::{KIND_DEPTH, SCALARS};
pub use header::{Header, Lineage};
pub(crate) use header::{LONGEST_DEVICE, Latest, VersionVector};
pub(crate) use numbers::{ClassNumbers, FirstNumbers};
pub use plain::Plain;
pub(crate) use plain::{unpacked, weight};
pub(crate) use records::Records;
pub use records::{Item, RecordLocation};
pub use scan::DamagedSave;
pub use scan::{BlockReader, DamagedPart, StreamBlock, read_definitions, scan, too_many};
pub(crate) use scan::{Definition, Scan, check, nothing_whole, shown};
pub(crate) use sealer::WrittenPage;
pub(crate) use sealer::{EncodedSave, PagesBetween, RecordLinks, with_header, write_again};
pub use sealer::{Sealer, Writer};

use crate::{Error, ErrorKind, Limits, Result};

/// The first bytes of every save. The first byte is not ASCII text, the line ends reveal a transfer that converted
/// them, and 0x1A ends a listing on old systems.
pub(crate) const MAGIC: [u8; 8] = *b"\x89PST\r\n\x1a\n";

/// The format that this library writes, and the newest it reads.
const FORMAT_VERSION: u16 = 1;

/// Minimum bytes of a record: class, holder, id, length and separator.
const MIN_RECORD: usize = 8;

/// Header fields with tags from here on must be understood by a reader.
const CRITICAL_FIELD: u8 = 0x80;
const FIELD_APPLICATION: u8 = 1;
const FIELD_APPLICATION_VERSION: u8 = 2;
const FIELD_METADATA: u8 = 3;
const FIELD_GENERATION: u8 = 4;
const FIELD_VERSION: u8 = 5;

const BLOCK_RECORDS: u8 = 0x01;
const BLOCK_LZ4: u8 = 0x02;
const BLOCK_ZSTD: u8 = 0x03;
/// A copy of all definitions, right before the trailer.
const BLOCK_DEFINITIONS: u8 = 0x04;
/// The checksums of the pieces of long blocks.
const BLOCK_SUMS: u8 = 0x05;
const BLOCK_TRAILER: u8 = 0x7f;

/// The first bytes of frames.
const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Bytes of tag and length before the content of a block.
const BLOCK_HEAD: usize = 5;

/// A block is closed by the first item with which it reaches this size.
const BLOCK_SIZE: usize = 64 << 10;

/// A block with more content than this is long: it has a checksum for each piece, so that damage in it can be located.
const LONG_BLOCK: usize = 2 * PIECE;

/// Bytes of a piece of a long block.
const PIECE: usize = 64 << 10;

/// Bytes of class number 0 and length before the body of a definition.
const DEFINITION_HEAD: usize = 5;

/// Bytes of a checksum.
pub(crate) const CRC_SIZE: usize = 4;

/// Bytes of block tag, three counts and checksum.
const TRAILER_SIZE: usize = 1 + 3 * 8 + CRC_SIZE;

/// The byte that ends every definition and record: ASCII's record separator.
const SEPARATOR: u8 = 0x1e;

/// The bit of a record's holder byte that marks an object that the program added. Other objects are only referred to.
const ADDED: u8 = 0x80;

/// The bit of a reference's holder byte that marks it weak.
const WEAK: u8 = 0x80;

/// The largest object id. It is half of the maximum of a word, so that counting up never overflows.
pub(crate) const MAX_ID: u64 = u64::MAX >> 1;

/// A block with a correct checksum.
struct Block {
    tag: u8,
    /// Offsets of its tag and of the end of its content.
    at: usize,
    end: usize,
}

impl Block {
    /// Returns the tag of the block at `at` and the end of its content, from its head.
    fn head(save: &[u8], at: usize) -> Option<(u8, usize)> {
        let [tag, length @ ..] = save.get(at..)?.first_chunk::<BLOCK_HEAD>()?;
        let length = u32::from_le_bytes(*length) as usize;
        Some((*tag, (at + BLOCK_HEAD).saturating_add(length)))
    }

    /// Returns whether the checksum of a block matches its head and content, or `None` if the block is cut off.
    fn is_whole(save: &[u8], at: usize, end: usize) -> Option<bool> {
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

    fn content<'s>(&self, save: &'s [u8]) -> &'s [u8] {
        &save[self.at + BLOCK_HEAD..self.end]
    }
}

/// Passes each block of a save from offset `at` on to `take`, and returns the trailer with its offset.
fn each_block(
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
///
/// # Errors
///
/// Returns an error if they differ.
pub fn check_count(at: usize, expected: u64, found: u64, what: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(damaged(at, &format!("the trailer counts {expected} {what}, there are {found}")))
}

/// The trailer of a save.
#[derive(Clone, Copy)]
pub struct Trailer {
    /// The number of records in the save.
    pub records: u64,
    /// The number of definitions in the save.
    pub definitions: u64,
    /// Bytes of the whole save, including the trailer.
    length: u64,
}

impl Trailer {
    /// Returns `None` if the bytes are no trailer, or a damaged one.
    fn read(bytes: &[u8; TRAILER_SIZE]) -> Option<Self> {
        let (content, crc) = bytes.split_at(TRAILER_SIZE - CRC_SIZE);
        let is_whole = crc32fast::hash(content) == LittleEndian::read_u32(crc);
        let [records, definitions, length] =
            [1, 9, 17].map(|at| LittleEndian::read_u64(&content[at..]));
        let this = Self { records, definitions, length };
        (content[0] == BLOCK_TRAILER && is_whole).then_some(this)
    }

    fn write(self) -> Vec<u8> {
        let mut bytes = vec![BLOCK_TRAILER];
        for word in [self.records, self.definitions, self.length] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// Returns the error for a save that ends too early.
fn cut_short(length: usize) -> Error {
    error!(
        ErrorKind::Truncated,
        "the save is cut short, it ends after {length} bytes; restore a backup"
    )
    .at(length as u64)
}

/// Returns the error for damage at an offset.
pub fn damaged(at: usize, what: &str) -> Error {
    error!(ErrorKind::Damaged, "the save is damaged: {what}; restore a backup").at(at as u64)
}

fn newer(at: u64, what: &str, number: u64) -> Error {
    error!(
        ErrorKind::NewerFormat,
        "the save uses {what} {number:#x}, which this version of the library does not know; load it with a newer version of the program"
    )
    .at(at)
}

impl Compression {
    /// The level at which a document is written if it was read from a save, which does not record its level.
    #[cfg(feature = "zstd")]
    const USUAL_LEVEL: i32 = 3;

    /// Returns the compression of blocks with this tag, or the name of the feature that it lacks. Returns `None` for
    /// other tags.
    fn from_tag(tag: u8) -> Option<Result<Self, &'static str>> {
        match tag {
            #[cfg(feature = "lz4")]
            BLOCK_LZ4 => Some(Ok(Self::Lz4)),
            #[cfg(not(feature = "lz4"))]
            BLOCK_LZ4 => Some(Err("lz4")),
            #[cfg(feature = "zstd")]
            BLOCK_ZSTD => Some(Ok(Self::Zstd(Self::USUAL_LEVEL))),
            #[cfg(not(feature = "zstd"))]
            BLOCK_ZSTD => Some(Err("zstd")),
            _ => None,
        }
    }
}

/// Returns the maximum number of bytes that one byte of a frame can stand for. A frame that claims more is refused
/// before memory is allocated for it.
fn max_ratio(compression: Compression) -> u64 {
    match compression {
        // Each further length byte adds at most 255 bytes to a match.
        #[cfg(feature = "lz4")]
        Compression::Lz4 => 255,
        // A block of four bytes can stand for 128 KiB.
        _ => 32 << 10,
    }
}

/// Compresses and decompresses frames. The memory that Zstandard allocates for one frame is reused for the next.
#[derive(Default)]
struct Codec {
    /// The number of bytes that the compressed blocks so far hold, decompressed.
    contents: u64,
    #[cfg(feature = "zstd")]
    compressor: Option<zstd::bulk::Compressor<'static>>,
    #[cfg(feature = "zstd")]
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

#[cfg_attr(
    not(any(feature = "lz4", feature = "zstd")),
    allow(
        unused_variables,
        clippy::unused_self,
        clippy::ptr_arg,
        reason = "without these features nothing is compressed"
    )
)]
impl Codec {
    /// Appends one frame with the bytes of all pieces, and returns the tag of its block, or `None` without compression.
    fn compress(
        &mut self,
        compression: Compression,
        pieces: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> io::Result<Option<u8>> {
        match compression {
            Compression::None => Ok(None),
            #[cfg(feature = "lz4")]
            Compression::Lz4 => {
                use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
                let info =
                    FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked);
                let mut encoder = FrameEncoder::with_frame_info(info, out);
                pieces.iter().try_for_each(|piece| io::Write::write_all(&mut encoder, piece))?;
                encoder.finish().map_err(io::Error::from)?;
                Ok(Some(BLOCK_LZ4))
            }
            #[cfg(feature = "zstd")]
            Compression::Zstd(level) => {
                let compressor = match &mut self.compressor {
                    Some(compressor) => compressor,
                    none => none.insert(zstd::bulk::Compressor::new(level.clamp(1, 22))?),
                };
                let (bytes, start) = (pieces.concat(), out.len());
                out.resize(start + zstd::zstd_safe::compress_bound(bytes.len()), 0);
                let length = compressor.compress_to_buffer(&bytes, &mut out[start..])?;
                out.truncate(start + length);
                Ok(Some(BLOCK_ZSTD))
            }
        }
    }

    /// Fills `out` from one frame. Returns an error if the frame does not hold exactly that many bytes.
    fn decompress(
        &mut self,
        compression: Compression,
        frame: &[u8],
        out: &mut [u8],
    ) -> io::Result<()> {
        let is_whole = match compression {
            Compression::None => false,
            #[cfg(feature = "lz4")]
            Compression::Lz4 => {
                use io::Read;
                let mut decoder = lz4_flex::frame::FrameDecoder::new(frame);
                is_one_lz4_frame(frame) && {
                    decoder.read_exact(out)?;
                    decoder.read(&mut [0])? == 0
                }
            }
            #[cfg(feature = "zstd")]
            Compression::Zstd(_) => {
                use zstd::zstd_safe::{find_frame_compressed_size, get_frame_content_size};
                let decompressor = match &mut self.decompressor {
                    Some(decompressor) => decompressor,
                    none => none.insert(zstd::bulk::Decompressor::new()?),
                };
                // Without these checks, the decompressor would accept several frames, and skip some.
                frame.starts_with(&ZSTD_MAGIC)
                    && find_frame_compressed_size(frame).is_ok_and(|length| length == frame.len())
                    && matches!(get_frame_content_size(frame), Ok(Some(size)) if size == out.len() as u64)
                    && decompressor.decompress_to_buffer(frame, &mut out[..])? == out.len()
            }
        };
        if is_whole { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

/// Returns true if an LZ4 frame ends with its end mark, and nothing follows. The decoder alone accepts a frame that is
/// cut off between two parts, and a second frame after the first.
#[cfg(feature = "lz4")]
fn is_one_lz4_frame(frame: &[u8]) -> bool {
    // The descriptor that `docs/reference/format.md` fixes: the magic number; version 1, linked parts, no checksums;
    // parts of at most 64 KiB; its own checksum.
    let frame =
        frame.strip_prefix(&LZ4_MAGIC).and_then(|rest| rest.strip_prefix(&[0x40, 0x40, 0xc0]));
    let Some(mut rest) = frame else { return false };
    while let Some((size, after)) = rest.split_first_chunk() {
        let size = u32::from_le_bytes(*size);
        if size == 0 {
            return after.is_empty();
        }
        // The highest bit marks a part that is not compressed. Such a part may be empty.
        match after.get((size & 0x7fff_ffff) as usize..) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    false
}

/// Bytes after the last block of a save.
const AFTER_BLOCK: usize = CRC_SIZE + TRAILER_SIZE;

/// Appends the decompressed content of a block in a save of `stored` bytes. The codec counts the bytes of all blocks.
/// After an error, the appended bytes have no meaning.
fn decompress(
    compression: Compression,
    content: &[u8],
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
    if u64::from(length) > max_ratio(compression).saturating_mul(frame.len() as u64) {
        return Err(bad("the compressed block here cannot hold as much as it says"));
    }
    codec.contents += u64::from(length);
    limits
        .check_decompressed(codec.contents)
        .and_then(|()| limits.check_ratio(stored, codec.contents))
        .map_err(|error| error.at(at as u64))?;
    let start = out.len();
    // Reserve room for the checksum as well: appending it would double the memory of a large block.
    out.reserve(length as usize + AFTER_BLOCK);
    out.resize(start + length as usize, 0);
    let result = codec.decompress(compression, frame, &mut out[start..]);
    result.map_err(|_| bad("the compressed block here is malformed"))
}

#[cold]
fn switched_off(feature: &str) -> Error {
    error!(
        ErrorKind::Unsupported,
        "the save is compressed by {feature}, which this program was built without; build it with the feature `{feature}` of persist"
    )
}
