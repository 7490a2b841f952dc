use byteorder::{ByteOrder, LittleEndian};

use super::{BLOCK_HEAD, BLOCK_RECORDS, Compression, weight};
use crate::{Error, ErrorKind, Limits, Result};

/// Compresses blocks of items if that makes them smaller.
pub(super) struct Packer {
    compression: Compression,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::bulk::Compressor<'static>>,
    /// A compressed block, whose memory is used again.
    packed: Vec<u8>,
    /// Bytes that the compressed blocks so far hold.
    contents: u64,
    /// Bytes by which the save is shorter than without compression.
    spared: u64,
}

impl Packer {
    pub(super) fn new(compression: Compression) -> Self {
        Self {
            compression,
            #[cfg(feature = "zstd")]
            zstd: None,
            packed: Vec::new(),
            contents: 0,
            spared: 0,
        }
    }

    /// The compressed block, unless it is to be written as it is; `written` bytes of the save are before it.
    pub(super) fn pack(
        &mut self,
        pieces: &[&[u8]],
        written: u64,
        limits: &Limits,
    ) -> Result<Option<&[u8]>> {
        let Some((first, behind)) = pieces.split_first() else { return Ok(None) };
        // A decompressor that is missing costs no definition.
        if self.compression == Compression::None || first[0] != BLOCK_RECORDS {
            return Ok(None);
        }
        let first = &first[BLOCK_HEAD..];
        let before = first.len() + behind.iter().map(|piece| piece.len()).sum::<usize>();
        let mut items = std::iter::once(first).chain(behind.iter().copied());
        let Some(tag) = self.compress(&mut items, before).map_err(failed)? else { return Ok(None) };
        let after = self.packed.len() - BLOCK_HEAD;
        let contents = self.contents + before as u64;
        let most = limits.most_expanded(written + self.packed.len() as u64);
        // What a load could take for an attack is written as it is.
        if after >= before || contents > most {
            return Ok(None);
        }
        limits.check_decompressed(contents)?;
        self.contents = contents;
        self.spared += (before - after) as u64;
        self.packed[0] = tag;
        let length = u32::try_from(after).unwrap_or(u32::MAX);
        LittleEndian::write_u32(&mut self.packed[1..], length);
        Ok(Some(&self.packed))
    }

    /// The bytes that a save of `written` bytes counts for, in limits in proportion to it.
    pub(super) fn weight(&self, written: u64) -> u64 {
        weight(written + self.spared, written)
    }

    /// Leaves a head, the length of the items and their frame in `packed`, and returns the block's tag.
    #[cfg_attr(
        not(any(feature = "lz4", feature = "zstd")),
        allow(unused_variables, reason = "without these features nothing is compressed")
    )]
    fn compress(
        &mut self,
        items: &mut dyn Iterator<Item = &[u8]>,
        length: usize,
    ) -> std::io::Result<Option<u8>> {
        self.packed.clear();
        self.packed.resize(BLOCK_HEAD, 0);
        // A record fits a `u32` with room for the block before it.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.packed.extend_from_slice(&length.to_le_bytes());
        match self.compression {
            Compression::None => Ok(None),
            #[cfg(feature = "lz4")]
            Compression::Lz4 => {
                super::compression::lz4::compress(items, &mut self.packed)?;
                Ok(Some(super::BLOCK_LZ4))
            }
            #[cfg(feature = "zstd")]
            Compression::Zstd(level) => {
                let compressor = match &mut self.zstd {
                    Some(compressor) => compressor,
                    none => none.insert(zstd::bulk::Compressor::new(level.clamp(1, 22))?),
                };
                let items = items.collect::<Vec<_>>().concat();
                super::compression::zstd::compress(compressor, &items, &mut self.packed)?;
                Ok(Some(super::BLOCK_ZSTD))
            }
        }
    }
}

#[cold]
fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::of(&error), format!("cannot compress the save: {error}")).because(error)
}
