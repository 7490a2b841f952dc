//! Compresses, checksums and writes the blocks that a [`Writer`](super::Writer) fills.

mod writer;

pub(crate) use self::writer::RecordLinks;
pub use self::writer::Writer;
pub(crate) use self::writer::WrittenPage;

use std::io::{self, Write};
use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian};

use super::blocks::Checksums;
use super::plain::weight;
use super::{
    BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_SUMS, CRC_SIZE, Codec, Compression, Header,
    LONG_BLOCK, PIECE, TRAILER_SIZE, Trailer, each_block,
};
use crate::codec::pages::PageBlock;
use crate::{Error, ErrorKind, Limits, Result};

/// Bytes that are checksummed and then written in one step, so that they are in the cache for both.
const CACHED: usize = 256 << 10;

/// Receives the parts of a save in order: compresses the blocks, adds their checksums, and writes them.
///
/// A save may also remain in the buffer in which its blocks are filled. Then each method returns the bytes to append
/// there: the header, the checksum after a block, and the trailer.
pub struct Sealer<'w> {
    /// The output, or `None` if the save remains in the buffer.
    out: Option<&'w mut dyn Write>,
    limits: &'w Limits,
    /// False for a snapshot, which gets its checksums when it is written to a file.
    has_checksums: bool,
    /// Replaces the header of the writer, for a save of a slot.
    header: Option<Header>,
    compression: Compression,
    codec: Codec,
    /// Buffer for a compressed block.
    packed: Vec<u8>,
    /// Bytes that compression has saved so far.
    saved_bytes: u64,
    written: u64,
    memory: u64,
    /// The checksum of the last page, without compression.
    digest: u32,
    /// The pages of a snapshot, each with the length of the buffer before it.
    pages: Option<PagesBetween>,
    /// Bytes of the header.
    header_length: u64,
    /// True if a block is long, and not compressed.
    has_long: bool,
    /// The entries of the long blocks that are not compressed: position, length, and the checksums at the ends of the
    /// pieces.
    sums: Vec<u8>,
}

/// Pages, each with the number of bytes of the other blocks before it.
pub(crate) type PagesBetween = Vec<(usize, Arc<PageBlock>)>;

impl<'w> Sealer<'w> {
    /// Creates a sealer that writes blocks as they are full.
    pub fn new(out: &'w mut dyn Write, compression: Compression, limits: &'w Limits) -> Self {
        Self { out: Some(out), compression, ..Self::in_place(limits) }
    }

    /// Makes a sealer for a save that remains in the buffer in which it is written, without compression.
    pub(crate) fn in_place(limits: &'w Limits) -> Self {
        Self {
            out: None,
            limits,
            has_checksums: true,
            header: None,
            compression: Compression::None,
            codec: Codec::default(),
            packed: Vec::new(),
            saved_bytes: 0,
            written: 0,
            memory: 0,
            digest: 0,
            pages: None,
            header_length: 0,
            has_long: false,
            sums: Vec::new(),
        }
    }

    /// Makes a sealer for a snapshot in memory. The checksums of its blocks are zeros, so that a game does not wait for
    /// them. Its pages are not in the buffer: the next snapshot may share them.
    pub(crate) fn snapshot(limits: &'w Limits) -> Self {
        Self { has_checksums: false, pages: Some(Vec::new()), ..Self::in_place(limits) }
    }

    /// Returns true if pages do not go into the buffer.
    pub(crate) fn retains_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// Takes the pages of a snapshot.
    pub(crate) fn take_pages(&mut self) -> PagesBetween {
        self.pages.take().unwrap_or_default()
    }

    /// Sets the header of the save: the one that follows those of earlier saves of the slot.
    pub(crate) fn set_header(&mut self, header: Header) {
        self.header = Some(header);
    }

    fn is_in_place(&self) -> bool {
        self.out.is_none()
    }

    /// Returns the bytes of memory that the objects of the save take even when they are empty, once the save is
    /// written.
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

    fn header(&mut self, header: &Header) -> Result<Vec<u8>> {
        self.limits.check_metadata(header.metadata_length())?;
        let bytes = self.header.as_ref().unwrap_or(header).write();
        self.header_length = bytes.len() as u64;
        self.emit(bytes)
    }

    /// Seals a block. The first piece begins with the tag and length of the block. The digest of a page is kept.
    fn block(&mut self, pieces: &[&[u8]], is_page: bool) -> Result<Vec<u8>> {
        let plain = pieces;
        let is_packed = self.pack(pieces)?;
        let packed = [&self.packed[..]];
        let pieces = if is_packed { &packed[..] } else { pieces };
        if is_page && (is_packed || !self.has_checksums) {
            let mut digest = crc32fast::Hasher::new();
            plain.iter().for_each(|piece| digest.update(piece));
            self.digest = digest.finalize();
        }
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let is_long = length > BLOCK_HEAD + LONG_BLOCK && pieces[0][0] == BLOCK_RECORDS;
        self.has_long |= is_long;
        if is_long && self.has_checksums {
            let position = self.written - self.header_length;
            self.sums.extend_from_slice(&position.to_le_bytes());
            self.sums.extend_from_slice(&pieces[0][1..BLOCK_HEAD]);
        }
        self.written += (length + CRC_SIZE) as u64;
        self.limits.check_total(self.written)?;
        if !self.has_checksums {
            return Ok(vec![0; CRC_SIZE]);
        }
        let (mut crc, mut left) = (crc32fast::Hasher::new(), PIECE);
        for piece in pieces.iter().flat_map(|piece| piece.chunks(CACHED)) {
            let mut rest = piece;
            // The sum of a piece includes all before it, so that it is a by-product of that of the block.
            while is_long && rest.len() >= left {
                let (end, next) = rest.split_at(left);
                crc.update(end);
                self.sums.extend_from_slice(&crc.clone().finalize().to_le_bytes());
                (rest, left) = (next, PIECE);
            }
            crc.update(rest);
            left -= if is_long { rest.len() } else { 0 };
            if let Some(out) = &mut self.out {
                out.write_all(piece).map_err(write_error)?;
            }
        }
        let crc = crc.finalize();
        if is_long && left < PIECE {
            self.sums.extend_from_slice(&crc.to_le_bytes());
        }
        if is_page && !is_packed {
            self.digest = crc;
        }
        let crc = crc.to_le_bytes();
        let Some(out) = &mut self.out else { return Ok(crc.to_vec()) };
        out.write_all(&crc).map_err(write_error)?;
        Ok(Vec::new())
    }

    /// Seals the block of a page, whose checksum is known. Returns the bytes to append to the buffer.
    fn page(&mut self, page: &Arc<PageBlock>, at: usize) -> Result<Vec<u8>> {
        self.digest = page.digest;
        if let Some(pages) = &mut self.pages {
            pages.push((at, Arc::clone(page)));
            self.count(page.bytes.len() + CRC_SIZE)?;
            return Ok(Vec::new());
        }
        // The checksums of the pieces of a long block are not retained.
        if self.compression != Compression::None || page.bytes.len() > BLOCK_HEAD + LONG_BLOCK {
            let crc = self.block(&[&page.bytes], false)?;
            let bytes = if self.is_in_place() { &page.bytes[..] } else { &[] };
            return Ok([bytes, &crc].concat());
        }
        let bytes = [&page.bytes[..], &page.digest.to_le_bytes()].concat();
        self.emit(bytes)
    }

    /// Compresses a block into `packed`. Returns false if the block is to be written without compression.
    fn pack(&mut self, pieces: &[&[u8]]) -> Result<bool> {
        let Some((first, others)) = pieces.split_first() else { return Ok(false) };
        // Definitions are never compressed, so that programs without the decompressor can read them.
        if self.compression == Compression::None || first[0] != BLOCK_RECORDS {
            return Ok(false);
        }
        let items = [&[&first[BLOCK_HEAD..]], others].concat();
        let plain_length = items.iter().map(|piece| piece.len()).sum::<usize>();
        self.packed.clear();
        self.packed.resize(BLOCK_HEAD, 0);
        // The length fits: the writer limits a record so that a block with it has a length of 32 bits.
        let length = u32::try_from(plain_length).unwrap_or(u32::MAX);
        self.packed.extend_from_slice(&length.to_le_bytes());
        let tag = self.codec.compress(self.compression, &items, &mut self.packed);
        let Some(tag) = tag.map_err(|error| failed("compress", error))? else { return Ok(false) };
        let packed_length = self.packed.len() - BLOCK_HEAD;
        let contents = self.codec.contents + plain_length as u64;
        // A load could take a block that expands this much for an attack.
        let max_contents = self.limits.max_expanded(self.written + self.packed.len() as u64);
        if packed_length >= plain_length || contents > max_contents {
            return Ok(false);
        }
        self.limits.check_decompressed(contents)?;
        self.codec.contents = contents;
        self.saved_bytes += (plain_length - packed_length) as u64;
        self.packed[0] = tag;
        let length = u32::try_from(packed_length).unwrap_or(u32::MAX);
        LittleEndian::write_u32(&mut self.packed[1..], length);
        Ok(true)
    }

    /// Writes the checksums of the pieces of long blocks, unless it has done so.
    fn finish_sums(&mut self) -> Result<Vec<u8>> {
        if self.sums.is_empty() {
            return Ok(Vec::new());
        }
        let mut block = vec![BLOCK_SUMS];
        let length = u32::try_from(self.sums.len()).unwrap_or(u32::MAX);
        block.extend_from_slice(&length.to_le_bytes());
        block.append(&mut self.sums);
        let crc = crc32fast::hash(&block);
        block.extend_from_slice(&crc.to_le_bytes());
        self.emit(block)
    }

    /// Ends the save. Its objects take `memory` bytes even when they are empty.
    fn finish(&mut self, records: u64, definitions: u64, memory: u64) -> Result<Vec<u8>> {
        let mut end = self.finish_sums()?;
        let length = self.written + TRAILER_SIZE as u64;
        let pages = self.pages.iter().flatten();
        let of_pages: usize = pages.map(|(_, page)| page.bytes.len() + CRC_SIZE).sum();
        let in_buffer = Trailer { records, definitions, length: length - of_pages as u64 };
        end.append(&mut self.emit(in_buffer.write())?);
        if let Some(out) = &mut self.out {
            // A buffered writer ignores errors of its last write when it is dropped.
            out.flush().map_err(write_error)?;
        }
        self.memory = memory;
        self.limits.check_expansion(weight(length + self.saved_bytes, length), memory)?;
        Ok(end)
    }
}

/// Returns a whole save with another header.
pub(crate) fn with_header(save: &[u8], header: &Header, limits: &Limits) -> Result<Vec<u8>> {
    let mut changed = Vec::with_capacity(save.len());
    let mut sealer = Sealer::new(&mut changed, Compression::None, limits);
    write_again(EncodedSave::whole(save), header, 0, &mut sealer, &mut |_| Ok(()))?;
    Ok(changed)
}

/// A save that is encoded already.
#[derive(Clone, Copy)]
pub(crate) struct EncodedSave<'s> {
    pub bytes: &'s [u8],
    pub checksums: Checksums,
    /// The pages that are not among the bytes.
    pub pages: &'s [(usize, Arc<PageBlock>)],
}

impl<'s> EncodedSave<'s> {
    /// Makes a save whose bytes are whole.
    pub(crate) fn whole(bytes: &'s [u8]) -> Self {
        Self { bytes, checksums: Checksums::Right, pages: &[] }
    }
}

/// Writes a save again with another header. Compressed blocks are copied unchanged. Its objects take `memory` bytes
/// even when they are empty. `go_on` gets the number of bytes that were read since the last call. Returns the bytes of
/// the save if it remains in a buffer, and otherwise none.
pub(crate) fn write_again(
    save: EncodedSave<'_>,
    header: &Header,
    memory: u64,
    out: &mut Sealer<'_>,
    go_on: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<Vec<u8>> {
    let EncodedSave { bytes: save, checksums, pages } = save;
    let (_, start) = Header::parse(save)?;
    let mut in_place = out.header(header)?;
    go_on(start as u64)?;
    let (mut blocks, has_pages) = (0, !pages.is_empty());
    let mut pages = pages.iter().peekable();
    let mut pages_until = |at, out: &mut Sealer<'_>, go_on: &mut dyn FnMut(u64) -> Result<()>| {
        while let Some((_, page)) = pages.next_if(|(before, _)| *before <= at) {
            out.page(page, 0)?;
            go_on((page.bytes.len() + CRC_SIZE) as u64)?;
        }
        Ok::<(), Error>(())
    };
    let (_, trailer) = each_block(save, checksums, start, &mut |block| {
        pages_until(block.at, out, go_on)?;
        match block.tag {
            // The sealer writes its own.
            BLOCK_SUMS => return Ok(()),
            // Compression has made the only block a short one.
            BLOCK_DEFINITIONS if blocks < 2 && !has_pages && !out.has_long => return Ok(()),
            BLOCK_DEFINITIONS => in_place.append(&mut out.finish_sums()?),
            _ => blocks += 1,
        }
        let bytes = &save[block.at..block.end];
        let crc = out.block(&[bytes], false)?;
        if out.is_in_place() {
            in_place.extend_from_slice(bytes);
            in_place.extend_from_slice(&crc);
        }
        go_on((block.end + CRC_SIZE - block.at) as u64)
    })?;
    pages_until(usize::MAX, out, go_on)?;
    in_place.append(&mut out.finish(trailer.records, trailer.definitions, memory)?);
    go_on(TRAILER_SIZE as u64)?;
    Ok(in_place)
}

#[cold]
fn failed(doing: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::from_io(&error), format!("cannot {doing} the save: {error}"))
        .because(error)
}

fn write_error(error: io::Error) -> Error {
    failed("write", error)
}
