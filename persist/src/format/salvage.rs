//! A damaged save: what of it is whole.

use byteorder::{ByteOrder, LittleEndian};

use super::broken::nothing_whole;
use super::ends::Trailer;
use super::reader::{Block, Scanner};
use super::unpack::Unpacker;
use super::{
    BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, CRC_SIZE, Compression, Header, MAGIC, SEPARATOR,
    Scan, TRAILER_SIZE, weight,
};
use crate::codec::{Decoder, NoLinks, count};
use crate::env::Env;
use crate::{ErrorKind, Limits, Result};

/// What is whole of a damaged save.
pub(crate) struct Wreck {
    /// Its whole blocks, without compression, in which the records are.
    pub(crate) blocks: Vec<u8>,
    /// The bytes by which limits in proportion to the save count.
    pub(crate) weight: u64,
    pub(crate) scan: Scan,
    /// The offsets of the definitions.
    pub(crate) definitions: Vec<usize>,
    /// Bytes that are not whole, and in how many places they are.
    pub(crate) lost_bytes: u64,
    pub(crate) places: usize,
    /// How many records there were, if the trailer is whole.
    pub(crate) records: Option<u64>,
}

impl Wreck {
    /// Finds the whole blocks of a save, and the records in them whose classes are known.
    ///
    /// Classes are numbered in the order of their definitions. If the block that has all of them is not whole, those
    /// after a lost one are of no use: their numbers are in doubt.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] or that of the header if nothing is whole; [`ErrorKind::Unsupported`] for a compression
    /// that this program was built without.
    pub(crate) fn read(save: &[u8], limits: &Limits) -> Result<Self> {
        let parsed = Header::parse(save);
        let Found { unpacker, whole, definitions, lost_bytes, places, trailer } =
            Found::find(save, parsed.is_ok(), limits)?;
        let records = trailer.map(|trailer| trailer.records);
        if whole.is_empty() {
            return Err(parsed.err().unwrap_or_else(|| nothing_whole(records)));
        }
        let header = parsed.map_or_else(|_| Header::default(), |(header, _)| header);
        let blocks = unpacker.into_plain();
        let mut scanner = Scanner::new(header, 0);
        let content = |block: &Whole| definitions_in(&blocks[block.start..block.end]);
        let found: Vec<&[u8]> = whole.iter().flat_map(content).collect();
        let counted = trailer.map(|trailer| trailer.definitions);
        let is_known = counted == Some(found.len() as u64);
        let all = definitions.map(|(start, end)| definitions_in(&save[start..end]));
        if let Some(all) = all.filter(|all| counted == Some(all.len() as u64) && holds(all, &found))
        {
            scanner.define_all(&all);
        }
        for block in &whole {
            if block.is_after_damage && !is_known {
                scanner.ignore_classes_from(scanner.classes());
            }
            // What is malformed behind a true checksum was made so.
            let result = scanner.block(&blocks, block.start, block.end, limits);
            result.map_err(|error| scanner.outline.first_fault(error, limits))?;
        }
        let (scan, definitions) = scanner.outline.read(limits)?;
        let weight = weight(blocks.len().max(save.len()) as u64, save.len() as u64);
        Ok(Self { blocks, weight, scan, definitions, lost_bytes, places, records })
    }
}

/// The content of a whole block, among the plain ones.
struct Whole {
    start: usize,
    end: usize,
    is_after_damage: bool,
}

/// What a search through a save has found.
struct Found<'s> {
    unpacker: Unpacker<'s>,
    whole: Vec<Whole>,
    /// Where in the save a block has all definitions, if it is right before the trailer.
    definitions: Option<(usize, usize)>,
    lost_bytes: u64,
    places: usize,
    trailer: Option<Trailer>,
}

impl<'s> Found<'s> {
    fn find(save: &'s [u8], has_header: bool, limits: &Limits) -> Result<Self> {
        let mut search = Search { save, effort: (save.len() as u64).saturating_mul(EFFORT) };
        let start = search.start();
        let mut at = start.unwrap_or(0);
        let (places, lost_bytes) = if has_header { (0, 0) } else { (1, at as u64) };
        let unpacker = Unpacker::new(save);
        let (whole, definitions, trailer) = (Vec::new(), None, None);
        let mut this = Self { unpacker, whole, definitions, lost_bytes, places, trailer };
        let mut is_damaged = start.is_none();
        // A header that ends where it says has taken no block with it.
        let mut is_after_damage = is_damaged;
        while at < save.len() {
            if let Some(end) = search.block(at)
                && this.take(&Block { tag: save[at], at, end }, is_after_damage, limits)?
            {
                at = end + CRC_SIZE;
                is_damaged = false;
            } else if let Some(trailer) = search.trailer(at) {
                this.trailer = Some(trailer);
                this.definitions.take_if(|(_, end)| *end + CRC_SIZE != at);
                return Ok(this);
            } else {
                let next = search.after(at, !is_damaged);
                this.places += usize::from(!is_damaged);
                (is_damaged, is_after_damage) = (true, true);
                this.lost_bytes += (next - at) as u64;
                at = next;
            }
        }
        // It is cut off.
        this.places += usize::from(!is_damaged);
        Ok(this)
    }

    /// Takes a whole block; false if its checksum is right and its content malformed.
    fn take(&mut self, block: &Block, is_after_damage: bool, limits: &Limits) -> Result<bool> {
        if block.tag == BLOCK_DEFINITIONS {
            self.definitions = Some((block.at + BLOCK_HEAD, block.end));
            return Ok(true);
        }
        let start = self.unpacker.plain().len() + BLOCK_HEAD;
        match self.unpacker.block(block, limits) {
            Err(error) if error.kind() == ErrorKind::Damaged => return Ok(false),
            result => result?,
        }
        let end = self.unpacker.plain().len() - CRC_SIZE;
        self.whole.push(Whole { start, end, is_after_damage });
        Ok(true)
    }
}

/// How many bytes a search for the next whole block may look at, for each byte of the save.
const EFFORT: u64 = 16;

/// The search for what is whole.
struct Search<'s> {
    save: &'s [u8],
    effort: u64,
}

impl Search<'_> {
    /// Where the first block begins: after a header that is whole or ends where it says; else `None`.
    fn start(&mut self) -> Option<usize> {
        if let Ok((_, at)) = Header::parse(self.save) {
            return Some(at);
        }
        Header::length(self.save).filter(|at| self.is_whole(*at))
    }

    /// Where the content of a block at `at` ends, by its head.
    fn end(&self, at: usize) -> Option<usize> {
        let is_block = |tag| {
            [BLOCK_RECORDS, BLOCK_DEFINITIONS].contains(&tag) || Compression::of(tag).is_some()
        };
        let head = self.save.get(at..)?.get(..BLOCK_HEAD).filter(|head| is_block(head[0]))?;
        (at + BLOCK_HEAD).checked_add(LittleEndian::read_u32(&head[1..]) as usize)
    }

    /// The end of the content of a block, if there is a whole one.
    fn block(&mut self, at: usize) -> Option<usize> {
        let end = self.end(at)?;
        let crc = self.save.get(end..end.checked_add(CRC_SIZE)?)?;
        self.effort = self.effort.checked_sub((end - at) as u64)?;
        (crc32fast::hash(&self.save[at..end]) == LittleEndian::read_u32(crc)).then_some(end)
    }

    /// The trailer, if it is there: at the end of the file, or, if something was appended, where it says that it is. One
    /// that is elsewhere belongs to a save in a field of this one.
    fn trailer(&self, at: usize) -> Option<Trailer> {
        let end = at + TRAILER_SIZE;
        let is_own = |it: &Trailer| end == self.save.len() || end as u64 == it.length;
        self.any_trailer(at).filter(is_own)
    }

    fn any_trailer(&self, at: usize) -> Option<Trailer> {
        Trailer::read(self.save.get(at..)?.first_chunk()?)
    }

    /// Where to continue after a part at `at` that is not whole; a block `begins` there unless bytes are missing.
    fn after(&mut self, at: usize, begins: bool) -> usize {
        let block = if begins { self.after_block(at) } else { None };
        block.or_else(|| self.after_save(at)).unwrap_or(at + 1)
    }

    fn is_whole(&mut self, at: usize) -> bool {
        self.block(at).is_some() || self.trailer(at).is_some()
    }

    /// The end of damaged blocks that end where they say: something whole follows. What is in them is not looked at.
    fn after_block(&mut self, mut at: usize) -> Option<usize> {
        loop {
            self.effort = self.effort.checked_sub(BLOCK_HEAD as u64)?;
            at = self.end(at)?.checked_add(CRC_SIZE)?;
            if self.is_whole(at) {
                return Some(at);
            }
        }
    }

    /// The end of another save, which a field or the metadata holds: its blocks are none of this one.
    fn after_save(&mut self, at: usize) -> Option<usize> {
        let inner = self.save.get(at..).filter(|rest| at > 0 && rest.starts_with(&MAGIC))?;
        self.effort = self.effort.checked_sub(Header::length(inner)?.min(inner.len()) as u64)?;
        let (_, length) = Header::parse(inner).ok()?;
        let mut end = at + length;
        loop {
            if let Some(next) = self.block(end) {
                end = next + CRC_SIZE;
            } else if let Some(next) = self.after_block(end) {
                end = next;
            } else {
                break;
            }
        }
        Some(self.any_trailer(end).map_or(end, |_| end + TRAILER_SIZE))
    }
}

/// The bodies of the definitions in a block.
fn definitions_in(content: &[u8]) -> Vec<&[u8]> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(content, &Env::DEFAULT, &mut links);
    let mut found = Vec::new();
    let mut next = || {
        let number = count::decode(&mut input).ok()?;
        if number > 0 {
            input.take(1).ok()?;
            count::decode(&mut input).ok()?;
        }
        let length: u32 = input.value().ok()?;
        let end = content.len() - input.take(length as usize).map(|_| input.rest().len()).ok()?;
        let body = &content[end - length as usize..end];
        (input.take(1) == Ok(&[SEPARATOR])).then_some((number == 0).then_some(body))
    };
    while let Some(definition) = next() {
        found.extend(definition);
    }
    found
}

/// True if definitions are some of all, in their order: else they are of another save.
fn holds(all: &[&[u8]], some: &[&[u8]]) -> bool {
    let mut all = all.iter();
    some.iter().all(|definition| all.any(|other| other == definition))
}
