use byteorder::{ByteOrder, LittleEndian};

use super::{
    ADDED, BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_SIZE, Blocks, ClassNumbers, Header,
    SEPARATOR, definition,
};
use crate::codec::{Buffer, Encoder, SaveLinks, Stop, count};
use crate::reflect::Holder;
use crate::schema::ClassSchema;
use crate::{Error, ErrorKind, Limits, Result};

/// Fills the blocks of a save, one after the other; it holds one block and the largest record.
pub(crate) struct Writer<'w> {
    out: &'w mut dyn Blocks,
    limits: Limits,
    buffer: &'w mut Buffer,
    /// Bytes of the buffer in use, the block's head included.
    end: usize,
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

impl<'w> Writer<'w> {
    /// Writes the header; the buffer's bytes are of no meaning before and after.
    pub(crate) fn new(
        out: &'w mut dyn Blocks,
        header: &Header,
        limits: &Limits,
        buffer: &'w mut Buffer,
    ) -> Result<Self> {
        buffer.reserve(BLOCK_HEAD);
        out.header(header)?;
        let (limits, end, defined) = (*limits, BLOCK_HEAD, Vec::new());
        Ok(Self { out, limits, buffer, end, records: 0, definitions: 0, blocks: 0, defined })
    }

    /// Writes a record, behind the definitions of its class, of all that this
    /// mentions and of those whose values are in it as trait objects.
    pub(crate) fn record(
        &mut self,
        number: u64,
        (holder, added): (Holder, bool),
        id: u64,
        links: &mut dyn RecordLinks,
        payload: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<()> {
        self.define(links.numbers())?;
        let holder = holder.code() | if added { ADDED } else { 0 };
        let limits = self.limits;
        if self.records >= limits.objects {
            return Err(too_many(limits.objects));
        }
        let start = self.end;
        self.end = self.buffer.append(start, &limits, &mut *links, |out| {
            count::encode(number, out)?;
            out.value(&holder)?;
            count::encode(id, out)?;
            let length = out.take(4)?;
            let before = out.written();
            payload(out)?;
            match item_length(out.written() - before, "this") {
                Ok(bytes) => LittleEndian::write_u32(length, bytes),
                Err(error) => return Err(out.refuse(error)),
            }
            out.value(&SEPARATOR)
        })?;
        if links.numbers().is_fresh() {
            let record = self.end - start;
            self.define(links.numbers())?;
            self.buffer.bytes_mut()[start..self.end].rotate_left(record);
        }
        self.records += 1;
        self.close_if_full()
    }

    /// Writes the definitions that are missing.
    fn define(&mut self, numbers: &mut ClassNumbers) -> Result<()> {
        for (name, body) in numbers.definitions() {
            self.define_as(&name, &body)?;
        }
        Ok(())
    }

    fn define_as(&mut self, name: &str, body: &[u8]) -> Result<()> {
        let length = item_length(body.len(), name)?;
        let limits = self.limits;
        let (start, mut links) = (self.end, crate::codec::NoLinks::default());
        self.end = self.buffer.append(start, &limits, &mut links, |out| {
            out.value(&0_u8)?;
            out.value(&length)?;
            out.bytes(body)?;
            out.value(&SEPARATOR)
        })?;
        self.defined.extend_from_slice(&self.buffer.bytes()[start..self.end]);
        self.definitions += 1;
        Ok(())
    }

    /// Writes the definition of a class whose index in its save is its number here, less one.
    pub(crate) fn definition(&mut self, class: &ClassSchema) -> Result<()> {
        let mut body = Vec::new();
        definition::write(class, &|class, _| class as u64 + 1, &mut body);
        self.define_as(&class.name, &body)
    }

    /// Writes a record whose payload is there, of a class that is defined.
    pub(crate) fn payload(
        &mut self,
        number: u64,
        (holder, added): (Holder, bool),
        id: u64,
        payload: &[u8],
    ) -> Result<()> {
        let holder = holder.code() | if added { ADDED } else { 0 };
        let limits = self.limits;
        if self.records >= limits.objects {
            return Err(too_many(limits.objects));
        }
        let length = item_length(payload.len(), "this")?;
        let mut links = crate::codec::NoLinks::default();
        self.end = self.buffer.append(self.end, &limits, &mut links, |out| {
            count::encode(number, out)?;
            out.value(&holder)?;
            count::encode(id, out)?;
            out.value(&length)?;
            out.bytes(payload)?;
            out.value(&SEPARATOR)
        })?;
        self.records += 1;
        self.close_if_full()
    }

    /// Writes the last block, the definitions once more, and the trailer; returns the length of the save, whose objects
    /// take so many bytes of memory even when they are empty.
    pub(crate) fn finish(mut self, memory: u64) -> Result<u64> {
        self.close()?;
        if self.blocks > 1
            && let Ok(length) = u32::try_from(self.defined.len())
        {
            let mut block = vec![BLOCK_DEFINITIONS];
            block.extend_from_slice(&length.to_le_bytes());
            block.append(&mut self.defined);
            self.out.block(&block)?;
        }
        self.out.finish(self.records, self.definitions, memory)
    }

    fn close_if_full(&mut self) -> Result<()> {
        if self.end >= BLOCK_SIZE { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        let end = std::mem::replace(&mut self.end, BLOCK_HEAD);
        if end == BLOCK_HEAD {
            return Ok(());
        }
        // One record fits a `u32` with room for the block before it.
        let length = u32::try_from(end - BLOCK_HEAD).unwrap_or(u32::MAX);
        let head = &mut self.buffer.bytes_mut()[..BLOCK_HEAD];
        head[0] = BLOCK_RECORDS;
        LittleEndian::write_u32(&mut head[1..], length);
        self.blocks += 1;
        self.out.block(&self.buffer.bytes()[..end])
    }
}

#[cold]
fn too_many(limit: u64) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!(
            "the save would have more objects than the limit of {limit}; raise `Limits::objects`"
        ),
    )
}

/// The largest length of one record or definition: a block with it and what
/// was before it still has a length of 32 bits.
const LONGEST_ITEM: usize = u32::MAX as usize - 2 * BLOCK_SIZE;

fn item_length(length: usize, class: &str) -> Result<u32> {
    match u32::try_from(length) {
        Ok(bytes) if length <= LONGEST_ITEM => Ok(bytes),
        _ => Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "{class} record of {length} bytes is over {LONGEST_ITEM}, the most that one record can have; split the value into objects"
            ),
        )),
    }
}
