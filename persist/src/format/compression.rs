//! Compression of blocks.

use std::io;

use super::{BLOCK_LZ4, BLOCK_ZSTD};

/// How the blocks of a save are compressed. Each block is compressed on its own, so that damage in one does not spread.
///
/// This setting is for saving only: a save itself says how each of its blocks is compressed. Loading a save whose
/// compression needs a feature that the program was built without returns
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported). The message names the feature.
///
/// Equal states give equal bytes as long as the version of the compressing crate does not change.
///
/// The variants `Lz4` and `Zstd` exist only with their features: `persist = { version = "...", features = ["lz4"] }` in
/// `Cargo.toml`.
///
/// # Example
///
/// ```
/// use persist::save::Compression;
/// use persist::{SaveOptions, Saves};
///
/// # let compression = Compression::None;
/// # #[cfg(feature = "lz4")]
/// let compression = Compression::Lz4;
/// let saves = Saves::new().save_options(SaveOptions::new().compression(compression));
/// let save = saves.to_vec(&vec![7_u32; 10_000])?;
/// assert_eq!(persist::from_slice::<Vec<u32>>(&save)?, [7; 10_000]);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Blocks are not compressed.
    #[default]
    None,
    /// LZ4: compresses and decompresses fast, in safe Rust. Needs the feature `lz4`.
    #[cfg(feature = "lz4")]
    Lz4,
    /// Zstandard at a level from 1 (fast) to 22 (small). Level 3 is usual, and other numbers count as the nearest
    /// level.
    ///
    /// The result is smaller than with LZ4, and takes longer. Needs the feature `zstd`, which builds a library in C: it
    /// requires a C compiler, and the promise of safe Rust does not cover it.
    #[cfg(feature = "zstd")]
    Zstd(i32),
}

impl Compression {
    /// The level at which a document is written if it was read from a save, which does not record its level.
    #[cfg(feature = "zstd")]
    const USUAL_LEVEL: i32 = 3;

    /// Returns the name in documents; `None` without compression.
    #[doc(hidden)]
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            #[cfg(feature = "lz4")]
            Self::Lz4 => Some("lz4"),
            #[cfg(feature = "zstd")]
            Self::Zstd(_) => Some("zstd"),
        }
    }

    /// Returns the compression of this name.
    #[doc(hidden)]
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            #[cfg(feature = "lz4")]
            "lz4" => Some(Self::Lz4),
            #[cfg(feature = "zstd")]
            "zstd" => Some(Self::Zstd(Self::USUAL_LEVEL)),
            _ => None,
        }
    }

    /// Returns the compression of blocks with this tag, or the name of the feature that it lacks. Returns `None` for
    /// other tags.
    pub(super) fn from_tag(tag: u8) -> Option<Result<Self, &'static str>> {
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
pub(super) fn max_ratio(compression: Compression) -> u64 {
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
pub(super) struct Codec {
    /// The number of bytes that the compressed blocks so far hold, decompressed.
    pub(super) contents: u64,
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
    pub(super) fn compress(
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
    pub(super) fn decompress(
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
                frame.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
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
    let Some(mut rest) = frame.strip_prefix(&[0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0xc0]) else {
        return false;
    };
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
