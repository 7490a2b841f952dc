//! What becomes of the blocks that a [`Writer`](super::Writer) fills: bytes of a save, or a snapshot
//! that becomes one elsewhere.

use std::io::Write;
use std::mem;

use super::ends::Trailer;
use super::pack::Packer;
use super::reader::{self, Block};
use super::{BLOCK_TRAILER, CRC_SIZE, Compression, Header, TRAILER_SIZE};
use crate::codec::Buffer;
use crate::{Error, ErrorKind, Limits, Result};

/// Bytes that are written before the next are put into the checksum, so that they are in cache for both.
const CACHED: usize = 256 << 10;

/// Takes the parts of a save in order.
///
/// A save may stay in the buffer in which its blocks are filled. Then each method returns the bytes that stand there:
/// the header, what follows a block, the trailer.
pub(crate) trait Blocks {
    fn header(&mut self, header: &Header) -> Result<Option<Vec<u8>>>;

    /// Takes a block in pieces, its tag and length included, which are at the beginning of the first.
    fn block(&mut self, pieces: &[&[u8]]) -> Result<Option<Vec<u8>>>;

    /// Ends the save, whose objects take that many bytes of memory even when they are empty.
    fn finish(&mut self, records: u64, definitions: u64, memory: u64) -> Result<Option<Vec<u8>>>;

    /// May move what stays out of the buffer: after each block, and after the trailer.
    fn keep(&mut self, _: &mut Buffer) {}
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
        self.limits.check_total(self.written)?;
        self.out.write_all(bytes).map_err(write_error)
    }
}

impl Blocks for Sealer<'_> {
    fn header(&mut self, header: &Header) -> Result<Option<Vec<u8>>> {
        self.limits.check_metadata(header.metadata_length())?;
        let bytes = self.of_file.as_ref().unwrap_or(header).write();
        self.emit(&bytes).map(|()| None)
    }

    fn block(&mut self, pieces: &[&[u8]]) -> Result<Option<Vec<u8>>> {
        let packed = self.packer.pack(pieces, self.written, self.limits)?;
        let packed = packed.as_slice();
        let pieces = if packed.is_empty() { pieces } else { packed };
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        self.written += (length + CRC_SIZE) as u64;
        self.limits.check_total(self.written)?;
        let mut crc = crc32fast::Hasher::new();
        for piece in pieces.iter().flat_map(|piece| piece.chunks(CACHED)) {
            crc.update(piece);
            self.out.write_all(piece).map_err(write_error)?;
        }
        self.out.write_all(&crc.finalize().to_le_bytes()).map_err(write_error)?;
        Ok(None)
    }

    fn finish(&mut self, records: u64, definitions: u64, memory: u64) -> Result<Option<Vec<u8>>> {
        let length = self.written + TRAILER_SIZE as u64;
        self.emit(&Trailer { records, definitions, length }.write())?;
        // A buffered writer would swallow what it cannot write when it is dropped.
        self.out.flush().map_err(write_error)?;
        self.limits.check_expansion(self.packer.weight(length), memory).map(|()| None)
    }
}

/// Puts checksums to the blocks where they are, of a save in memory.
pub(crate) struct InMemory<'l> {
    limits: &'l Limits,
    written: u64,
    /// True if the blocks stay in the buffer until the save ends, else they are moved out of it one by one.
    stays: bool,
    ended: bool,
    save: Vec<u8>,
    cleared: usize,
}

impl<'l> InMemory<'l> {
    /// A save in whose buffer is room for the whole of it.
    pub(crate) fn in_place(limits: &'l Limits) -> Self {
        let save = Vec::new();
        Self { limits, written: 0, stays: true, ended: false, save, cleared: 0 }
    }

    /// A save of about that many bytes, without long lists.
    pub(crate) fn with_capacity(size: usize, limits: &'l Limits) -> Self {
        Self { stays: false, save: Vec::with_capacity(size), ..Self::in_place(limits) }
    }

    /// The save, and how many of its bytes lay in memory that was cleared first: all but those of long lists.
    pub(crate) fn into_save(self) -> (Vec<u8>, usize) {
        (self.save, self.cleared)
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.written += bytes as u64;
        self.limits.check_total(self.written)
    }
}

impl Blocks for InMemory<'_> {
    fn header(&mut self, header: &Header) -> Result<Option<Vec<u8>>> {
        self.limits.check_metadata(header.metadata_length())?;
        let bytes = header.write();
        self.count(bytes.len())?;
        Ok(Some(bytes))
    }

    fn block(&mut self, pieces: &[&[u8]]) -> Result<Option<Vec<u8>>> {
        self.count(pieces.iter().map(|piece| piece.len()).sum::<usize>() + CRC_SIZE)?;
        let mut crc = crc32fast::Hasher::new();
        pieces.iter().for_each(|piece| crc.update(piece));
        Ok(Some(crc.finalize().to_le_bytes().to_vec()))
    }

    fn finish(&mut self, records: u64, definitions: u64, memory: u64) -> Result<Option<Vec<u8>>> {
        self.count(TRAILER_SIZE)?;
        self.limits.check_expansion(self.written, memory)?;
        self.ended = true;
        Ok(Some(Trailer { records, definitions, length: self.written }.write()))
    }

    fn keep(&mut self, buffer: &mut Buffer) {
        if self.stays && !self.ended {
            return;
        }
        let taken = if self.save.is_empty() { buffer.take_run() } else { None };
        if let Some(taken) = taken {
            (self.save, self.cleared) = taken;
            return;
        }
        self.cleared += buffer.len();
        if self.stays {
            self.save = mem::take(buffer).into_bytes();
            return;
        }
        // A large one mostly is the last.
        self.save.reserve(buffer.len() + TRAILER_SIZE);
        buffer.pieces(0..buffer.len()).for_each(|piece| self.save.extend_from_slice(piece));
        buffer.clear();
    }
}

/// The blocks of a save in the buffer in which they were filled: what takes time is still to be done.
#[derive(Default)]
pub(crate) struct Snapshot {
    header: Header,
    buffer: Buffer,
    /// Where the blocks end.
    ends: Vec<usize>,
    records: u64,
    definitions: u64,
    memory: u64,
    compression: Compression,
    limits: Limits,
}

impl Snapshot {
    pub(crate) fn new(compression: Compression, limits: &Limits) -> Self {
        Self { compression, limits: *limits, ..Self::default() }
    }

    /// Takes the buffer in which its blocks were filled.
    pub(crate) fn take(&mut self, buffer: Buffer) {
        self.buffer = buffer;
    }

    /// The buffer, for another.
    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }

    /// Bytes of the blocks.
    pub(crate) fn size(&self) -> u64 {
        self.ends.last().map_or(0, |end| *end as u64)
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
        let mut start = 0;
        for end in &self.ends {
            sealer.block(&self.buffer.pieces(start..*end).collect::<Vec<_>>())?;
            go_on((end - start) as u64)?;
            start = *end;
        }
        sealer.finish(self.records, self.definitions, self.memory).map(drop)
    }

    fn check_total(&self, total: u64) -> Result<()> {
        if self.compression == Compression::None { self.limits.check_total(total) } else { Ok(()) }
    }
}

impl Blocks for Snapshot {
    fn header(&mut self, header: &Header) -> Result<Option<Vec<u8>>> {
        self.limits.check_metadata(header.metadata_length())?;
        self.header = header.clone();
        Ok(Some(Vec::new()))
    }

    fn block(&mut self, pieces: &[&[u8]]) -> Result<Option<Vec<u8>>> {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let end = self.ends.last().unwrap_or(&0) + length;
        self.check_total(end as u64)?;
        self.ends.push(end);
        Ok(Some(Vec::new()))
    }

    fn finish(&mut self, records: u64, definitions: u64, memory: u64) -> Result<Option<Vec<u8>>> {
        (self.records, self.definitions, self.memory) = (records, definitions, memory);
        let ends = self.header.write().len() + TRAILER_SIZE;
        let total = self.size() + (self.ends.len() * CRC_SIZE + ends) as u64;
        self.check_total(total)?;
        self.limits.check_expansion(total, memory).map(|()| None)
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
    let trailer = reader::trailer(save, at)?;
    // What its objects take has been checked when it was written or loaded.
    out.finish(trailer.records, trailer.definitions, 0).map(drop)
}

fn write_error(error: std::io::Error) -> Error {
    Error::new(ErrorKind::of(&error), format!("cannot write the save: {error}")).because(error)
}
