//! What becomes of the blocks that a [`Writer`](super::Writer) fills: bytes of a save, or a snapshot
//! that becomes one elsewhere.

use std::io::Write;

use byteorder::{ByteOrder, LittleEndian, WriteBytesExt};

use super::pack::Packer;
use super::reader::{Block, trailer};
use super::{BLOCK_HEAD, BLOCK_TRAILER, CRC_SIZE, Compression, Header, TRAILER_SIZE};
use crate::{Error, ErrorKind, Limits, Result};

/// Bytes that are written before the next are put into the checksum.
const CACHED: usize = 256 << 10;

/// Takes the parts of a save in order.
pub(crate) trait Blocks {
    fn header(&mut self, header: &Header) -> Result<()>;

    /// Takes a block in pieces, its tag and length included, which are at the beginning of the first.
    fn block(&mut self, pieces: &[&[u8]]) -> Result<()>;

    /// Ends the save, whose objects take that many bytes of memory even when they are empty.
    fn finish(&mut self, records: u64, definitions: u64, memory: u64) -> Result<()>;
}

/// Compresses the blocks, puts checksums to them and writes them.
pub(crate) struct Sealer<'w> {
    out: &'w mut dyn Write,
    limits: &'w Limits,
    packer: Packer,
    written: u64,
    /// In place of the one that is given, for a save of a file.
    of_file: Option<Header>,
}

impl<'w> Sealer<'w> {
    pub(crate) fn new(
        out: &'w mut dyn Write,
        compression: Compression,
        limits: &'w Limits,
    ) -> Self {
        Self { out, limits, packer: Packer::new(compression), written: 0, of_file: None }
    }

    /// These blocks under the header that the save has in a file.
    pub(crate) fn of_file(mut self, header: Header) -> Self {
        self.of_file = Some(header);
        self
    }

    fn emit(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        check_total(self.written, self.limits)?;
        self.out.write_all(bytes).map_err(write_error)
    }
}

impl Blocks for Sealer<'_> {
    fn header(&mut self, header: &Header) -> Result<()> {
        self.limits.check_metadata(header.metadata_length())?;
        let bytes = self.of_file.as_ref().unwrap_or(header).write();
        self.emit(&bytes)
    }

    fn block(&mut self, pieces: &[&[u8]]) -> Result<()> {
        let packed = self.packer.pack(pieces, self.written, self.limits)?;
        let packed = packed.as_slice();
        let pieces = if packed.is_empty() { pieces } else { packed };
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        self.written += (length + CRC_SIZE) as u64;
        check_total(self.written, self.limits)?;
        let mut crc = crc32fast::Hasher::new();
        // A piece is still in the cache when it is written.
        for piece in pieces.iter().flat_map(|piece| piece.chunks(CACHED)) {
            crc.update(piece);
            self.out.write_all(piece).map_err(write_error)?;
        }
        self.out.write_all(&crc.finalize().to_le_bytes()).map_err(write_error)
    }

    fn finish(&mut self, records: u64, definitions: u64, memory: u64) -> Result<()> {
        let total = self.written + TRAILER_SIZE as u64;
        let mut trailer = vec![BLOCK_TRAILER];
        for word in [records, definitions, total] {
            trailer.write_u64::<LittleEndian>(word).map_err(write_error)?;
        }
        let crc = crc32fast::hash(&trailer);
        trailer.write_u32::<LittleEndian>(crc).map_err(write_error)?;
        self.emit(&trailer)?;
        // A buffered writer would swallow what it cannot write when it is dropped.
        self.out.flush().map_err(write_error)?;
        self.limits.check_expansion(self.packer.weight(total), memory)
    }
}

/// The blocks of a save in memory, as they were filled: what takes time is still to be done.
#[derive(Default)]
pub(crate) struct Snapshot {
    header: Header,
    blocks: Vec<u8>,
    count: u64,
    records: u64,
    definitions: u64,
    memory: u64,
    compression: Compression,
    limits: Limits,
}

impl Snapshot {
    /// An empty one, in memory that another has used.
    pub(crate) fn new(mut memory: Vec<u8>, compression: Compression, limits: &Limits) -> Self {
        memory.clear();
        Self { blocks: memory, compression, limits: *limits, ..Self::default() }
    }

    /// The memory, for another.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.blocks
    }

    /// Bytes of the blocks.
    pub(crate) fn size(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// The header that it was given, without what only the file can tell.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Writes the save under its final header; `go_on` gets the number of bytes of each block.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        header: &Header,
        mut go_on: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut sealer = Sealer::new(out, self.compression, &self.limits);
        sealer.header(header)?;
        let mut rest = &self.blocks[..];
        while let Some(head) = rest.get(..BLOCK_HEAD) {
            let length = BLOCK_HEAD + LittleEndian::read_u32(&head[1..]) as usize;
            let (block, behind) = rest.split_at(length);
            sealer.block(&[block])?;
            go_on(length as u64)?;
            rest = behind;
        }
        sealer.finish(self.records, self.definitions, self.memory)
    }
}

impl Blocks for Snapshot {
    fn header(&mut self, header: &Header) -> Result<()> {
        self.limits.check_metadata(header.metadata_length())?;
        self.header = header.clone();
        Ok(())
    }

    fn block(&mut self, pieces: &[&[u8]]) -> Result<()> {
        self.count += 1;
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if self.compression == Compression::None {
            check_total(self.size() + length as u64, &self.limits)?;
        }
        self.blocks.reserve(length);
        pieces.iter().for_each(|piece| self.blocks.extend_from_slice(piece));
        Ok(())
    }

    fn finish(&mut self, records: u64, definitions: u64, memory: u64) -> Result<()> {
        (self.records, self.definitions, self.memory) = (records, definitions, memory);
        let ends = self.header.write().len() + TRAILER_SIZE;
        let total = self.size() + self.count * CRC_SIZE as u64 + ends as u64;
        if self.compression == Compression::None {
            check_total(total, &self.limits)?;
        }
        self.limits.check_expansion(total, memory)
    }
}

/// Writes a save without compressed blocks again, under another header.
pub(crate) fn write_again(save: &[u8], header: &Header, out: &mut dyn Blocks) -> Result<()> {
    let (_, mut at) = Header::parse(save)?;
    out.header(header)?;
    while save.get(at) != Some(&BLOCK_TRAILER) {
        let block = Block::read(save, at)?;
        out.block(&[&save[at..block.end]])?;
        at = block.end + CRC_SIZE;
    }
    let trailer = trailer(save, at)?;
    let [records, definitions] = [1, 9].map(|word| LittleEndian::read_u64(&trailer[word..]));
    // What its objects take has been checked when it was written or loaded.
    out.finish(records, definitions, 0)
}

fn write_error(error: std::io::Error) -> Error {
    Error::new(ErrorKind::of(&error), format!("cannot write the save: {error}")).because(error)
}

pub(super) fn check_total(written: u64, limits: &Limits) -> Result<()> {
    if written <= limits.bytes {
        return Ok(());
    }
    let limit = limits.bytes;
    Err(Error::new(
        ErrorKind::TooLarge,
        format!("the save is over the limit of {limit} bytes; raise `Limits::bytes`"),
    ))
}
