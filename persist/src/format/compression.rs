use super::{BLOCK_LZ4, BLOCK_ZSTD};

/// How the blocks of a save are compressed, each on its own, so that damage stays where it is.
///
/// A save says how each of its blocks is compressed: what is set here is for saving only. A program
/// without the feature of a save's compression gets [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported),
/// which names the feature.
///
/// The same state gives the same bytes as long as the compressing crate stays the same.
///
/// Without their features `Lz4` and `Zstd` are not there: `persist = { version = "...", features = ["lz4"] }` in `Cargo.toml`.
///
/// # Example
///
/// ```
/// use persist::save::Compression;
/// use persist::{SaveManager, SaveOptions};
///
/// let mut saves = SaveManager::new();
/// # #[cfg(feature = "lz4")]
/// saves.set_save_options(SaveOptions { compression: Compression::Lz4, ..SaveOptions::default() });
/// let save = saves.value_to_vec(&vec![7_u32; 10_000])?;
/// assert_eq!(persist::from_slice::<Vec<u32>>(&save)?, [7; 10_000]);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// By LZ4: fast both ways, in safe Rust. With the feature `lz4`.
    #[cfg(feature = "lz4")]
    Lz4,
    /// By Zstandard at a level from 1, fast, to 22, small; 3 is usual, and a level beyond either end is
    /// taken as that end. Smaller than LZ4, and slower. With the feature `zstd`, which builds a library in C: it
    /// needs a C compiler, and what is promised of safe Rust does not hold for it.
    #[cfg(feature = "zstd")]
    Zstd(i32),
}

impl Compression {
    /// The level at which a document writes what was written at an unknown one.
    #[cfg(feature = "zstd")]
    const USUAL_LEVEL: i32 = 3;

    /// The compression of blocks with this tag, `None` if it is no tag of one; else the
    /// feature that is off.
    pub(super) fn of(tag: u8) -> Option<Result<Self, &'static str>> {
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

/// The most bytes that a frame can hold for each of its own: what says that it holds more is refused before
/// anything is allocated.
pub(super) fn most_for_each(tag: u8) -> u64 {
    match tag {
        // A match grows by 255 with each byte of its length.
        BLOCK_LZ4 => 255,
        // 128 KiB are a block of four bytes.
        _ => 32 << 10,
    }
}

/// One LZ4 frame, with the descriptor that `docs/reference/format.md` fixes.
#[cfg(feature = "lz4")]
pub(super) mod lz4 {
    use std::io::{self, Read, Write};

    use byteorder::{ByteOrder, LittleEndian};
    use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

    /// Magic; version 1, linked parts, no checksums; parts of at most 64 KiB; its checksum.
    const HEAD: [u8; 7] = [0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0xc0];

    /// Appends the frame of some bytes, which come in pieces.
    pub(in crate::format) fn compress<'p>(
        mut pieces: impl Iterator<Item = &'p [u8]>,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked);
        let mut encoder = FrameEncoder::with_frame_info(info, out);
        pieces.try_for_each(|piece| encoder.write_all(piece))?;
        encoder.finish().map(drop).map_err(io::Error::from)
    }

    /// Fills `out` from a frame that holds exactly as much.
    pub(in crate::format) fn decompress(frame: &[u8], out: &mut [u8]) -> io::Result<()> {
        if !is_one(frame) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut decoder = FrameDecoder::new(frame);
        decoder.read_exact(out)?;
        match decoder.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// True if the parts of the frame end with its end mark, and nothing follows. The decoder
    /// takes a frame that is cut off between two parts, and a second one after it.
    fn is_one(frame: &[u8]) -> bool {
        let Some(mut rest) = frame.strip_prefix(&HEAD) else { return false };
        while let Some((size, after)) = rest.split_at_checked(4) {
            // The highest bit marks a part that is not compressed.
            let size = LittleEndian::read_u32(size) & 0x7fff_ffff;
            match (size, after.get(size as usize..)) {
                (0, _) => return after.is_empty(),
                (_, Some(after)) => rest = after,
                _ => return false,
            }
        }
        false
    }
}

/// One Zstandard frame.
#[cfg(feature = "zstd")]
pub(super) mod zstd {
    use std::io;

    use zstd::bulk::{Compressor, Decompressor};
    use zstd::zstd_safe::{compress_bound, find_frame_compressed_size, get_frame_content_size};

    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

    /// Appends the frame of some bytes.
    pub(in crate::format) fn compress(
        compressor: &mut Compressor<'_>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let start = out.len();
        out.resize(start + compress_bound(bytes.len()), 0);
        let length = compressor.compress_to_buffer(bytes, &mut out[start..])?;
        out.truncate(start + length);
        Ok(())
    }

    /// Fills `out` from a frame that holds exactly as much.
    pub(in crate::format) fn decompress(
        decompressor: &mut Decompressor<'_>,
        frame: &[u8],
        out: &mut [u8],
    ) -> io::Result<()> {
        // Else it would take several frames, and skip some.
        let is_one = frame.starts_with(&MAGIC)
            && find_frame_compressed_size(frame).is_ok_and(|length| length == frame.len())
            && matches!(get_frame_content_size(frame), Ok(Some(size)) if size == out.len() as u64);
        if is_one && decompressor.decompress_to_buffer(frame, &mut out[..])? == out.len() {
            return Ok(());
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}
