use std::mem;

use byteorder::{ByteOrder, LittleEndian};

use super::{
    ADDED, BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_SIZE, ClassNumbers, Header,
    SEPARATOR, Sealer, definition,
};
use crate::codec::{Buffer, Encoder, NoLinks, SaveLinks, Stop, count};
use crate::env::Env;
use crate::reflect::Holder;
use crate::schema::ClassSchema;
use crate::{Error, ErrorKind, Result};

/// Fills the blocks of a save, one after the other; it holds one block and the largest record.
pub(crate) struct Writer<'w, 's> {
    out: &'w mut Sealer<'s>,
    env: &'w Env<'w>,
    /// The block, its head included; before it the save so far, if that stays there.
    buffer: &'w mut Buffer,
    /// Where the block begins, if it does.
    block: Option<usize>,
    records: u64,
    definitions: u64,
    blocks: u64,
    /// The definitions so far: without them no record can be read, so that a save of several blocks has them twice.
    defined: Vec<u8>,
}

/// What the encode of a record asks of the save around it.
pub(crate) trait RecordLinks: SaveLinks {
    /// The numbers of the classes, which an encode may add to.
    fn numbers(&mut self) -> &mut ClassNumbers;
}

impl<'w, 's> Writer<'w, 's> {
    /// Writes the header; the buffer's bytes are of no meaning before.
    pub(crate) fn new(
        out: &'w mut Sealer<'s>,
        header: &Header,
        env: &'w Env<'w>,
        buffer: &'w mut Buffer,
    ) -> Result<Self> {
        let header = out.header(header)?;
        buffer.clear();
        let (block, defined) = (None, Vec::new());
        let mut writer =
            Self { out, env, buffer, block, records: 0, definitions: 0, blocks: 0, defined };
        writer.put(&header)?;
        Ok(writer)
    }

    /// Writes bytes that are there.
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.buffer.append(self.env, &mut NoLinks::default(), |out| out.bytes(bytes))
    }

    /// Begins a block, unless one has begun.
    #[inline]
    fn begin(&mut self) -> Result<()> {
        if self.block.is_some() { Ok(()) } else { self.begin_block() }
    }

    #[cold]
    fn begin_block(&mut self) -> Result<()> {
        self.block = Some(self.buffer.len());
        self.buffer.append(self.env, &mut NoLinks::default(), |out| out.take(BLOCK_HEAD).map(drop))
    }

    /// Writes a record, after the definitions of its class, of all classes that this one
    /// mentions and of those whose values are in it as trait objects.
    pub(crate) fn record(
        &mut self,
        number: u64,
        as_what: (Holder, bool),
        id: u64,
        links: &mut impl RecordLinks,
        payload: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<()> {
        self.begin()?;
        // Mostly there are none, and each record asks twice.
        if links.numbers().has_definitions() {
            let before = self.define(links.numbers())?;
            self.put_defined(before)?;
        }
        let start = self.append(number, as_what, id, links, payload)?;
        if links.numbers().has_definitions() {
            // The record turned out to need them.
            let before = self.define(links.numbers())?;
            self.buffer.insert(start, &self.defined[before..]);
        }
        self.close_if_full()
    }

    /// Appends a record; returns where it begins.
    #[inline]
    fn append(
        &mut self,
        number: u64,
        (holder, added): (Holder, bool),
        id: u64,
        links: &mut dyn SaveLinks,
        payload: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<usize> {
        let holder = holder.code() | if added { ADDED } else { 0 };
        let env = self.env;
        if self.records >= env.limits.objects {
            return Err(too_many(env.limits.objects));
        }
        let start = self.buffer.len();
        self.buffer.append(env, links, |out| {
            count::encode(number, out)?;
            out.value(&holder)?;
            count::encode(id, out)?;
            let length = out.take(4)?;
            let before = out.position();
            payload(out)?;
            match definition::item_length(out.position() - before, "this") {
                Ok(bytes) => LittleEndian::write_u32(length, bytes),
                Err(error) => return Err(out.refuse(error)),
            }
            out.value(&SEPARATOR)
        })?;
        self.records += 1;
        Ok(start)
    }

    /// Takes the definitions that are missing, and returns where in `defined` they begin.
    #[cold]
    fn define(&mut self, numbers: &mut ClassNumbers) -> Result<usize> {
        let before = self.defined.len();
        self.definitions += numbers.take_definitions(&mut self.defined)?;
        Ok(before)
    }

    /// Writes what was defined from this place on.
    fn put_defined(&mut self, before: usize) -> Result<()> {
        let defined = mem::take(&mut self.defined);
        let result = self.begin().and_then(|()| self.put(&defined[before..]));
        self.defined = defined;
        result
    }

    /// Writes the definition of a class whose index in its save is its number here, less one.
    pub(crate) fn definition(&mut self, class: &ClassSchema) -> Result<()> {
        let before = self.defined.len();
        definition::push(class, &|class, _| class as u64 + 1, &mut self.defined)?;
        self.definitions += 1;
        self.put_defined(before)
    }

    /// Writes a record whose payload is there, of a class that is defined.
    pub(crate) fn payload(
        &mut self,
        number: u64,
        as_what: (Holder, bool),
        id: u64,
        payload: &[u8],
    ) -> Result<()> {
        self.begin()?;
        self.append(number, as_what, id, &mut NoLinks::default(), |out| out.bytes(payload))?;
        self.close_if_full()
    }

    /// Writes the last block, the definitions once more, and the trailer of a save whose objects take that many bytes
    /// of memory even when they are empty.
    pub(crate) fn finish(mut self, memory: u64) -> Result<()> {
        self.close(BLOCK_RECORDS)?;
        if self.blocks > 1 && u32::try_from(self.defined.len()).is_ok() {
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
        let Some(start) = self.block.take() else { return Ok(()) };
        // One record fits a `u32` with room for the block before it.
        let length = self.buffer.len() - start - BLOCK_HEAD;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let head = self.buffer.part_mut(start, BLOCK_HEAD);
        head[0] = tag;
        LittleEndian::write_u32(&mut head[1..], length);
        self.blocks += 1;
        let pieces: Vec<_> = self.buffer.pieces(start..self.buffer.len()).collect();
        let crc = self.out.block(&pieces)?;
        if !self.out.stays() {
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
