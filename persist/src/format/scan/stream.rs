//! Reads a save block by block, with one block in memory at a time.

use std::io::{self, Read, Seek, SeekFrom};

use super::super::plain::check_length;
use super::super::records::Item;
use super::super::{
    BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_SUMS, BLOCK_TRAILER, Block, CRC_SIZE,
    Codec, Compression, Header, MIN_RECORD, TRAILER_SIZE, Trailer, check_count, cut_short, damaged,
    decompress, newer, switched_off,
};
use super::{Scan, check_after_sums};
use crate::codec::{Decoder, NoLinks};
use crate::env::Env;
use crate::schema::ClassSchema;
use crate::{Error, Limits, Result};

/// Reads the blocks of a save, one after another.
pub struct BlockReader<R> {
    file: R,
    limits: Limits,
    /// Bytes of the save, and the offsets of its first and its next block.
    length: u64,
    first: u64,
    at: u64,
    /// The head of the next block, which was read together with the last one.
    head: Vec<u8>,
    stored: Vec<u8>,
    plain: Vec<u8>,
    codec: Codec,
    /// True if the copy of the definitions was read. Only the trailer may follow.
    is_closed: bool,
    /// True if the last block was the sums of long blocks.
    has_sums: bool,
}

/// A block with a correct checksum, decompressed.
pub struct StreamBlock<'b> {
    /// The offset of the block in the save.
    pub at: u64,
    /// The number of bytes that the block takes in the save.
    pub stored: u64,
    /// `None` for the copy of all definitions.
    pub compression: Option<Compression>,
    /// The bytes before compression.
    pub content: &'b [u8],
}

impl<R: Read + Seek> BlockReader<R> {
    /// Opens a file that is one save, and reads its header.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is no save.
    pub fn open(mut file: R, limits: &Limits) -> Result<(Header, Self)> {
        let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
        check_length(length, limits)?;
        file.rewind().map_err(failed)?;
        let header = Header::bytes_of(&mut file, length, &|_| Ok(()))?;
        let (header, first) = Header::parse(&header)?;
        limits.check_metadata(header.metadata_length())?;
        let first = first as u64;
        let mut blocks = Self {
            file,
            limits: *limits,
            length,
            first,
            at: first,
            head: Vec::new(),
            stored: Vec::new(),
            plain: Vec::new(),
            codec: Codec::default(),
            is_closed: false,
            has_sums: false,
        };
        blocks.rewind()?;
        Ok((header, blocks))
    }

    /// Returns to the first block.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn rewind(&mut self) -> Result<()> {
        self.go_to(self.first)
    }

    /// Goes to the block at this offset, where one was read before.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn go_to(&mut self, at: u64) -> Result<()> {
        self.file.seek(SeekFrom::Start(at)).map_err(failed)?;
        (self.at, self.codec.contents) = (at, 0);
        (self.is_closed, self.has_sums) = (false, false);
        let head = (self.length - at).min(BLOCK_HEAD as u64);
        self.head.clear();
        (&mut self.file).take(head).read_to_end(&mut self.head).map_err(failed)?;
        // The file may have become shorter since it was opened.
        if self.head.len() as u64 == head { Ok(()) } else { Err(cut_short(self.head.len())) }
    }

    /// Returns the bytes of the save.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the offset of the first block.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns the offset of the next block or the trailer.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the number of records in the trailer, limited by the size of the save. Nothing is checked yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn records_hint(&mut self) -> Result<u64> {
        let Some(start) = self.length.checked_sub(TRAILER_SIZE as u64) else { return Ok(0) };
        let mut bytes = [0; TRAILER_SIZE];
        self.file.seek(SeekFrom::Start(start)).map_err(failed)?;
        self.file.read_exact(&mut bytes).map_err(failed)?;
        self.rewind()?;
        let records = Trailer::read(&bytes).map_or(0, |trailer| trailer.records);
        let max_bytes = self.limits.max_expanded(self.length).max(self.length);
        let max_records = max_bytes / MIN_RECORD as u64;
        Ok(records.min(max_records).min(self.limits.objects))
    }

    /// Reads the next block, or the trailer after the last one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or the block is damaged.
    pub fn next_block(&mut self) -> Result<Result<StreamBlock<'_>, Trailer>> {
        let (tag, at, end) = loop {
            if self.head.first() == Some(&BLOCK_TRAILER) {
                return self.trailer().map(Err);
            }
            let block = self.read_block()?;
            if block.0 != BLOCK_SUMS {
                break block;
            }
        };
        let whole = (end + CRC_SIZE) as u64;
        let content = &self.stored[BLOCK_HEAD..end];
        let compression = match (tag, Compression::from_tag(tag)) {
            (BLOCK_RECORDS, _) => Compression::None,
            (BLOCK_DEFINITIONS, _) => {
                return Ok(Ok(StreamBlock { at, stored: whole, compression: None, content }));
            }
            (_, Some(Ok(compression))) => compression,
            (_, Some(Err(feature))) => return Err(switched_off(feature).at(at)),
            _ => return Err(newer(at, "block tag", u64::from(tag))),
        };
        let mut content = content;
        if compression != Compression::None {
            self.plain.clear();
            let (codec, plain) = (&mut self.codec, &mut self.plain);
            decompress(compression, content, 0, codec, self.length, &self.limits, plain)
                .map_err(|error| error.moved_to(at))?;
            content = &self.plain;
        }
        Ok(Ok(StreamBlock { at, stored: whole, compression: Some(compression), content }))
    }

    /// Reads a block into `stored`. Returns its tag, its offset, and the end of its content in `stored`.
    fn read_block(&mut self) -> Result<(u8, u64, usize)> {
        let cut = || cut_short(usize::try_from(self.length).unwrap_or(usize::MAX));
        let at = self.at;
        let left = self.length - at;
        let (tag, end) = Block::head(&self.head, 0).ok_or_else(cut)?;
        let whole = end as u64 + CRC_SIZE as u64;
        // Also read the head of the next block: a block then takes one read.
        let next = left.checked_sub(whole).ok_or_else(cut)?.min(BLOCK_HEAD as u64);
        // The size fits, since it is at most that of the file.
        let size = usize::try_from(whole + next).unwrap_or(usize::MAX);
        if self.stored.len() < size {
            self.stored.clear();
            self.stored.resize(size, 0);
        }
        let bytes = &mut self.stored[..size];
        bytes[..BLOCK_HEAD].copy_from_slice(&self.head);
        self.file.read_exact(&mut bytes[BLOCK_HEAD..]).map_err(failed)?;
        if Block::is_whole(bytes, 0, end) != Some(true) {
            let what = format!("the checksum of the block of {end} bytes here does not match");
            return Err(damaged(0, &what).moved_to(at));
        }
        self.head.clear();
        self.head.extend_from_slice(&bytes[end + CRC_SIZE..]);
        self.at += whole;
        check_after_sums(&mut self.has_sums, tag, 0).map_err(|error| error.moved_to(at))?;
        if std::mem::replace(&mut self.is_closed, tag == BLOCK_DEFINITIONS) {
            let what = "there is more than the definitions of the blocks before";
            return Err(damaged(0, what).moved_to(at));
        }
        Ok((tag, at, end))
    }

    fn trailer(&mut self) -> Result<Trailer> {
        let mut bytes = [0; TRAILER_SIZE];
        let left = self.length - self.at;
        if left < TRAILER_SIZE as u64 {
            return Err(cut_short(usize::try_from(self.length).unwrap_or(usize::MAX)));
        }
        bytes[..BLOCK_HEAD].copy_from_slice(&self.head);
        self.file.read_exact(&mut bytes[BLOCK_HEAD..]).map_err(failed)?;
        let Some(trailer) = Trailer::read(&bytes) else {
            let what = "the checksum of the trailer does not match";
            return Err(damaged(0, what).moved_to(self.at));
        };
        if left > TRAILER_SIZE as u64 {
            let what = "there are bytes after its end";
            return Err(damaged(0, what).moved_to(self.at + TRAILER_SIZE as u64));
        }
        check_count(0, trailer.length, self.length, "bytes")
            .map_err(|error| error.moved_to(self.at))?;
        Ok(trailer)
    }
}

fn failed(error: io::Error) -> Error {
    Error::of_reading("the save", error)
}

impl StreamBlock<'_> {
    /// Converts an offset in the content to one in the save. In a compressed block, it is the offset of the block.
    pub fn place(&self, offset: u64) -> u64 {
        match self.compression {
            Some(Compression::None) => self.at + BLOCK_HEAD as u64 + offset,
            _ => self.at,
        }
    }

    /// Returns the checksum of the block without compression.
    pub fn digest(&self) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&[BLOCK_RECORDS]);
        // The length fits, since it was read from 32 bits.
        let length = u32::try_from(self.content.len()).unwrap_or(u32::MAX);
        crc.update(&length.to_le_bytes());
        crc.update(self.content);
        crc.finalize()
    }

    /// Returns the bytes of the block without compression.
    pub fn plain_length(&self) -> u64 {
        (BLOCK_HEAD + self.content.len() + CRC_SIZE) as u64
    }

    /// Passes each item to `take`, with the offset of its head in the content. `defined` is the number of classes that
    /// are defined before the block.
    ///
    /// # Errors
    ///
    /// Returns an error if an item is malformed, and those of `take`.
    pub fn items(
        &self,
        limits: &Limits,
        mut defined: usize,
        mut take: impl FnMut(usize, Item) -> Result<()>,
    ) -> Result<()> {
        let mut links = NoLinks::default();
        let env = Env::bare(limits);
        let mut input = Decoder::new(self.content, &env, &mut links);
        let end = self.content.len();
        while !input.rest().is_empty() {
            let at = end - input.rest().len();
            let item = Item::read(&mut input, end, Some(defined));
            let item = item.map_err(|error| self.locate(error))?;
            defined += usize::from(matches!(item, Item::Definition(..)));
            take(at, item)?;
        }
        Ok(())
    }

    /// Converts the offset of an error from the content to the save.
    fn locate(&self, error: Error) -> Error {
        match error.offset() {
            Some(offset) => error.moved_to(self.place(offset)),
            None => error,
        }
    }
}

/// Decodes definitions with their heads like `Scan::classes`.
///
/// # Errors
///
/// Returns an error if the definitions contradict each other or exceed the limits.
pub fn read_definitions(definitions: &[u8], limits: &Limits) -> Result<Vec<ClassSchema>> {
    let mut scan = Scan::new(Header::default(), 0);
    scan.items(definitions, 0..definitions.len(), limits)?;
    scan.classes(limits)
}
