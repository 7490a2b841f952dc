//! [`Writer`]: writes definitions and records into blocks.

use std::mem;
use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian};

use super::super::{
    ADDED, BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_SIZE, CRC_SIZE, ClassNumbers,
    Header, SEPARATOR, Sealer, definition,
};
use crate::codec::pages::PageBlock;
use crate::codec::{Buffer, Encoder, NoLinks, SaveLinks, Stop, count};
use crate::env::Env;
use crate::reflect::Holder;
use crate::schema::ClassSchema;
use crate::{Error, ErrorKind, Result};

/// Fills the blocks of a save, one after another. It holds one block and the largest record in memory.
pub struct Writer<'w, 's> {
    out: &'w mut Sealer<'s>,
    env: &'w Env<'w>,
    /// The current block with its head. If the save remains in memory, the earlier blocks come before it.
    buffer: &'w mut Buffer,
    /// Offset of the current block in the buffer, if one has begun.
    block: Option<usize>,
    records: u64,
    definitions: u64,
    blocks: u64,
    /// Bytes of the blocks so far, without compression.
    content: u64,
    /// All definitions so far. A save of several blocks has a copy of them at its end: without them no record can be
    /// decoded.
    defined: Vec<u8>,
}

/// A page in a save.
pub struct WrittenPage {
    /// The bytes of the blocks before it, without compression.
    pub position: u64,
    /// The checksum of its block, without compression.
    pub digest: u32,
    pub(crate) block: Option<Arc<PageBlock>>,
}

/// The access of a record's encoder to the save around it.
pub(crate) trait RecordLinks: SaveLinks {
    /// Returns the numbers of the classes. Encoding may add to them.
    fn numbers(&mut self) -> &mut ClassNumbers;
}

impl<'w, 's> Writer<'w, 's> {
    /// Writes the header. The previous content of the buffer is discarded.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn new(
        out: &'w mut Sealer<'s>,
        header: &Header,
        env: &'w Env<'w>,
        buffer: &'w mut Buffer,
    ) -> Result<Self> {
        let header = out.header(header)?;
        buffer.clear();
        let (block, defined) = (None, Vec::new());
        let mut writer = Self {
            out,
            env,
            buffer,
            block,
            records: 0,
            definitions: 0,
            blocks: 0,
            content: 0,
            defined,
        };
        writer.put(&header)?;
        Ok(writer)
    }

    /// Appends bytes to the buffer.
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.buffer.append(self.env, &mut NoLinks::default(), |out| out.bytes(bytes))
    }

    /// Begins a block, unless one is open.
    #[inline]
    fn begin(&mut self) -> Result<()> {
        if self.block.is_some() { Ok(()) } else { self.begin_block() }
    }

    #[cold]
    fn begin_block(&mut self) -> Result<()> {
        self.block = Some(self.buffer.len());
        self.buffer.append(self.env, &mut NoLinks::default(), |out| out.take(BLOCK_HEAD).map(drop))
    }

    /// Writes a record. Before it come the definitions of its class, of all classes that this one mentions, and of the
    /// classes of trait objects in it.
    pub(crate) fn record(
        &mut self,
        number: u64,
        holder: Holder,
        added: bool,
        id: u64,
        links: &mut impl RecordLinks,
        payload: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<()> {
        self.begin()?;
        // Most records need no new definitions, and each record makes this check twice.
        self.define_new(links.numbers())?;
        let start = self.append(number, holder, added, id, links, payload)?;
        if links.numbers().has_definitions() {
            // The payload has trait objects of new classes, whose definitions go before the record.
            let from = self.define(links.numbers())?;
            self.buffer.insert(start, &self.defined[from..]);
        }
        self.close_if_full()
    }

    /// Writes the definitions of new classes.
    #[inline]
    pub(crate) fn define_new(&mut self, numbers: &mut ClassNumbers) -> Result<()> {
        if !numbers.has_definitions() {
            return Ok(());
        }
        let from = self.define(numbers)?;
        self.put_defined(from)
    }

    /// Writes a page of the record with this id, in a block of its own. Its classes are defined already. Returns the
    /// position of the block in the blocks so far, and its digest, both without compression. The block comes with it, if
    /// the save keeps its pages.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn page(&mut self, number: u64, id: u64, payload: [&[u8]; 2]) -> Result<WrittenPage> {
        self.close(BLOCK_RECORDS)?;
        let length = payload.iter().map(|part| part.len()).sum();
        let length = definition::item_length(length, "this")?;
        let head = |out: &mut Encoder<'_>| {
            count::encode(number, out)?;
            out.value(&Holder::PAGE.code())?;
            count::encode(id, out)?;
            out.value(&length)?;
            out.bytes(payload[0])
        };
        if self.out.retains_pages() {
            let mut buffer = Buffer::new();
            let head = buffer.encode_with(self.env, &mut NoLinks::default(), head)?;
            let content = head.len() + payload[1].len() + 1;
            let mut bytes = Vec::with_capacity(BLOCK_HEAD + content);
            bytes.push(BLOCK_RECORDS);
            bytes.extend_from_slice(&u32::try_from(content).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(head);
            bytes.extend_from_slice(payload[1]);
            bytes.push(SEPARATOR);
            let block = Arc::new(PageBlock { digest: crc32fast::hash(&bytes), bytes });
            return self.saved_page(&block);
        }
        self.count_record()?;
        self.begin_block()?;
        let position = self.content;
        self.buffer.append(self.env, &mut NoLinks::default(), head)?;
        self.buffer.extend(payload[1]);
        self.put(&[SEPARATOR])?;
        self.seal(BLOCK_RECORDS, true)?;
        Ok(WrittenPage { position, digest: self.out.digest, block: None })
    }

    /// Writes a page whose block is there.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub(crate) fn saved_page(&mut self, block: &Arc<PageBlock>) -> Result<WrittenPage> {
        self.close(BLOCK_RECORDS)?;
        self.count_record()?;
        let position = self.content;
        self.blocks += 1;
        self.content += (block.bytes.len() + CRC_SIZE) as u64;
        let in_place = self.out.page(block, self.buffer.len())?;
        self.put(&in_place)?;
        Ok(WrittenPage { position, digest: block.digest, block: Some(Arc::clone(block)) })
    }

    /// Returns true if the save keeps its pages, for later saves.
    pub(crate) fn retains_pages(&self) -> bool {
        self.out.retains_pages()
    }

    /// Counts a record.
    #[inline]
    fn count_record(&mut self) -> Result<()> {
        if self.records >= self.env.limits.objects {
            return Err(too_many(self.env.limits.objects));
        }
        self.records += 1;
        Ok(())
    }

    /// Appends a record, and returns its offset.
    #[inline]
    fn append(
        &mut self,
        number: u64,
        holder: Holder,
        added: bool,
        id: u64,
        links: &mut dyn SaveLinks,
        payload: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<usize> {
        let holder = holder.code() | if added { ADDED } else { 0 };
        let env = self.env;
        self.count_record()?;
        let start = self.buffer.len();
        self.buffer.append(env, links, |out| {
            count::encode(number, out)?;
            out.value(&holder)?;
            count::encode(id, out)?;
            let length = out.take(4)?;
            let from = out.position();
            payload(out)?;
            match definition::item_length(out.position() - from, "this") {
                Ok(bytes) => LittleEndian::write_u32(length, bytes),
                Err(error) => return Err(out.refuse(error)),
            }
            out.value(&SEPARATOR)
        })?;
        Ok(start)
    }

    /// Collects the new definitions, and returns their offset in `defined`.
    #[cold]
    fn define(&mut self, numbers: &mut ClassNumbers) -> Result<usize> {
        let from = self.defined.len();
        self.definitions += numbers.take_definitions(&mut self.defined)?;
        Ok(from)
    }

    /// Writes the definitions from an offset of `defined` on.
    fn put_defined(&mut self, from: usize) -> Result<()> {
        let defined = mem::take(&mut self.defined);
        let result = self.begin().and_then(|()| self.put(&defined[from..]));
        self.defined = defined;
        result
    }

    /// Writes the definition of a class whose number is its index plus 1.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn definition(&mut self, class: &ClassSchema) -> Result<()> {
        let from = self.defined.len();
        definition::push(class, &|class, _| class as u64 + 1, &mut self.defined)?;
        self.definitions += 1;
        self.put_defined(from)
    }

    /// Writes a record with an encoded payload, whose class is defined already.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn payload(
        &mut self,
        number: u64,
        as_what: (Holder, bool),
        id: u64,
        payload: &[u8],
    ) -> Result<()> {
        self.begin()?;
        let (holder, added) = as_what;
        self.append(number, holder, added, id, &mut NoLinks::default(), |out| out.bytes(payload))?;
        self.close_if_full()
    }

    /// Writes the last block, the copy of the definitions, and the trailer. The objects of the save take `memory` bytes
    /// even when they are empty.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn finish(mut self, memory: u64) -> Result<()> {
        self.close(BLOCK_RECORDS)?;
        let sums = self.out.finish_sums()?;
        self.put(&sums)?;
        if (self.blocks > 1 || self.out.has_long) && u32::try_from(self.defined.len()).is_ok() {
            self.put_defined(0)?;
            self.close(BLOCK_DEFINITIONS)?;
        }
        let trailer = self.out.finish(self.records, self.definitions, memory)?;
        self.put(&trailer)
    }

    fn close_if_full(&mut self) -> Result<()> {
        let start = self.block.unwrap_or_default();
        if self.buffer.len() - start >= BLOCK_SIZE { self.close(BLOCK_RECORDS) } else { Ok(()) }
    }

    fn close(&mut self, tag: u8) -> Result<()> {
        self.seal(tag, false)
    }

    /// Ends the block, if one has begun.
    fn seal(&mut self, tag: u8, is_page: bool) -> Result<()> {
        let Some(start) = self.block.take() else { return Ok(()) };
        // The length fits: a record is limited so that a block with it has a length of 32 bits.
        let length = self.buffer.len() - start - BLOCK_HEAD;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let head = self.buffer.part_mut(start, BLOCK_HEAD);
        head[0] = tag;
        LittleEndian::write_u32(&mut head[1..], length);
        self.blocks += 1;
        self.content += u64::from(length) + (BLOCK_HEAD + CRC_SIZE) as u64;
        let pieces: Vec<_> = self.buffer.pieces(start..self.buffer.len()).collect();
        let crc = self.out.block(&pieces, is_page)?;
        if !self.out.is_in_place() {
            self.buffer.clear();
        }
        self.put(&crc)
    }
}

#[cold]
fn too_many(limit: u64) -> Error {
    error!(
        ErrorKind::TooLarge,
        "the save would have more objects than the limit of {limit}; raise `Limits::objects`"
    )
}
