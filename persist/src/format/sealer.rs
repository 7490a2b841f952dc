//! What becomes of the blocks that a [`Writer`](super::Writer) fills.

use std::io::{self, Write};

use byteorder::{ByteOrder, LittleEndian};

use super::blocks::{Checksums, Trailer, each_block};
use super::compression::Codec;
use super::plain::weight;
use super::{BLOCK_HEAD, BLOCK_RECORDS, CRC_SIZE, Compression, Header, TRAILER_SIZE};
use crate::{Error, ErrorKind, Limits, Result};

/// Bytes that are written before the next are put into the checksum, so that they are in cache for both.
const CACHED: usize = 256 << 10;

/// Takes the parts of a save in order: compresses the blocks, adds their checksums, and writes them.
///
/// A save may also stay in the buffer in which its blocks are filled. Then each method returns the bytes that go there:
/// the header, what follows a block, the trailer.
pub(crate) struct Sealer<'w> {
    /// `None` if the save stays in the buffer.
    out: Option<&'w mut dyn Write>,
    limits: &'w Limits,
    /// False for a snapshot, which gets its checksums when it is written again.
    has_checksums: bool,
    /// In place of the one that is given, for a save of a slot.
    header: Option<Header>,
    compression: Compression,
    codec: Codec,
    /// A compressed block, whose memory is used again.
    packed: Vec<u8>,
    /// Bytes by which the save is shorter than without compression.
    spared: u64,
    written: u64,
    memory: u64,
}

impl<'w> Sealer<'w> {
    pub(crate) fn new(
        out: &'w mut dyn Write,
        compression: Compression,
        limits: &'w Limits,
    ) -> Self {
        Self { out: Some(out), compression, ..Self::in_place(limits) }
    }

    /// For a save that stays in the buffer in which it is written, without compression.
    pub(crate) fn in_place(limits: &'w Limits) -> Self {
        Self {
            out: None,
            limits,
            has_checksums: true,
            header: None,
            compression: Compression::None,
            codec: Codec::default(),
            packed: Vec::new(),
            spared: 0,
            written: 0,
            memory: 0,
        }
    }

    /// For a snapshot in memory: the checksums of its blocks are zeros, so that a game waits for none.
    pub(crate) fn snapshot(limits: &'w Limits) -> Self {
        Self { has_checksums: false, ..Self::in_place(limits) }
    }

    /// Writes the save under the header that follows those before it in a slot.
    pub(crate) fn set_header(&mut self, header: Header) {
        self.header = Some(header);
    }

    pub(super) fn stays(&self) -> bool {
        self.out.is_none()
    }

    /// Bytes of memory that the objects of the save take even when they are empty, once it is written.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    fn emit(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        self.count(bytes.len())?;
        let Some(out) = &mut self.out else { return Ok(bytes) };
        out.write_all(&bytes).map_err(write_error)?;
        Ok(Vec::new())
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.written += bytes as u64;
        self.limits.check_total(self.written)
    }

    pub(super) fn header(&mut self, header: &Header) -> Result<Vec<u8>> {
        self.limits.check_metadata(header.metadata_length())?;
        let bytes = self.header.as_ref().unwrap_or(header).write();
        self.emit(bytes)
    }

    /// Takes a block in pieces, its tag and length included, which are at the beginning of the first.
    pub(super) fn block(&mut self, pieces: &[&[u8]]) -> Result<Vec<u8>> {
        let is_packed = self.pack(pieces)?;
        let packed = [&self.packed[..]];
        let pieces = if is_packed { &packed[..] } else { pieces };
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        self.written += (length + CRC_SIZE) as u64;
        self.limits.check_total(self.written)?;
        if !self.has_checksums {
            return Ok(vec![0; CRC_SIZE]);
        }
        let mut crc = crc32fast::Hasher::new();
        for piece in pieces.iter().flat_map(|piece| piece.chunks(CACHED)) {
            crc.update(piece);
            if let Some(out) = &mut self.out {
                out.write_all(piece).map_err(write_error)?;
            }
        }
        let crc = crc.finalize().to_le_bytes();
        let Some(out) = &mut self.out else { return Ok(crc.to_vec()) };
        out.write_all(&crc).map_err(write_error)?;
        Ok(Vec::new())
    }

    /// Compresses a block, unless it is to be written as it is: then false.
    fn pack(&mut self, pieces: &[&[u8]]) -> Result<bool> {
        let Some((first, others)) = pieces.split_first() else { return Ok(false) };
        // A decompressor that is missing costs no definition.
        if self.compression == Compression::None || first[0] != BLOCK_RECORDS {
            return Ok(false);
        }
        let items = [&[&first[BLOCK_HEAD..]], others].concat();
        let before = items.iter().map(|piece| piece.len()).sum::<usize>();
        self.packed.clear();
        self.packed.resize(BLOCK_HEAD, 0);
        // A record fits a `u32` with room for the block before it.
        let length = u32::try_from(before).unwrap_or(u32::MAX);
        self.packed.extend_from_slice(&length.to_le_bytes());
        let tag = self.codec.compress(self.compression, &items, &mut self.packed);
        let Some(tag) = tag.map_err(|error| failed("compress", error))? else { return Ok(false) };
        let after = self.packed.len() - BLOCK_HEAD;
        let contents = self.codec.contents + before as u64;
        // What a load could take for an attack is written as it is.
        let most = self.limits.most_expanded(self.written + self.packed.len() as u64);
        if after >= before || contents > most {
            return Ok(false);
        }
        self.limits.check_decompressed(contents)?;
        self.codec.contents = contents;
        self.spared += (before - after) as u64;
        self.packed[0] = tag;
        let length = u32::try_from(after).unwrap_or(u32::MAX);
        LittleEndian::write_u32(&mut self.packed[1..], length);
        Ok(true)
    }

    /// Ends the save, whose objects take that many bytes of memory even when they are empty.
    pub(super) fn finish(
        &mut self,
        records: u64,
        definitions: u64,
        memory: u64,
    ) -> Result<Vec<u8>> {
        let length = self.written + TRAILER_SIZE as u64;
        let trailer = self.emit(Trailer { records, definitions, length }.write())?;
        if let Some(out) = &mut self.out {
            // A buffered writer would swallow what it cannot write when it is dropped.
            out.flush().map_err(write_error)?;
        }
        self.memory = memory;
        self.limits.check_expansion(weight(length + self.spared, length), memory)?;
        Ok(trailer)
    }
}

/// A whole save with another header.
pub(crate) fn with_header(save: &[u8], header: &Header, limits: &Limits) -> Result<Vec<u8>> {
    let mut changed = Vec::with_capacity(save.len());
    let mut sealer = Sealer::new(&mut changed, Compression::None, limits);
    write_again((save, Checksums::Right), header, 0, &mut sealer, &mut |_| Ok(()))?;
    Ok(changed)
}

/// Writes a save again, under another header; blocks that are compressed stay as they are. Its objects take that many
/// bytes of memory even when they are empty. `go_on` gets the number of bytes that were read since the last call. Returns
/// the bytes of the save if it stays in a buffer, else none.
pub(crate) fn write_again(
    (save, checksums): (&[u8], Checksums),
    header: &Header,
    memory: u64,
    out: &mut Sealer<'_>,
    go_on: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<Vec<u8>> {
    let (_, start) = Header::parse(save)?;
    let mut stays = out.header(header)?;
    go_on(start as u64)?;
    let (_, trailer) = each_block((save, checksums), start, &mut |block| {
        let bytes = &save[block.at..block.end];
        let crc = out.block(&[bytes])?;
        if out.stays() {
            stays.extend_from_slice(bytes);
            stays.extend_from_slice(&crc);
        }
        go_on((block.end + CRC_SIZE - block.at) as u64)
    })?;
    stays.append(&mut out.finish(trailer.records, trailer.definitions, memory)?);
    go_on(TRAILER_SIZE as u64)?;
    Ok(stays)
}

#[cold]
fn failed(doing: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::of(&error), format!("cannot {doing} the save: {error}")).because(error)
}

fn write_error(error: io::Error) -> Error {
    failed("write", error)
}
