//! Finds the blocks of a damaged save that are whole, and the damaged parts of long ones.

use std::fmt::{self, Write as _};
use std::mem;
use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use super::super::plain::Unpacker;
use super::super::records::Item;
use super::super::{
    BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_SUMS, Block, CRC_SIZE, Compression, Header,
    LONG_BLOCK, LZ4_MAGIC, MAGIC, PIECE, Plain, SEPARATOR, Scan, TRAILER_SIZE, Trailer, ZSTD_MAGIC,
    weight,
};
use super::{definitions_in, read_definitions};
use crate::codec::{Decoder, NoLinks};
use crate::env::Env;
use crate::schema::{ClassSchema, DamagedRange, Stored, parts_in};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// Bytes that the search for whole blocks may read, for each byte of the save. Without a limit, a malicious save with
/// many overlapping block heads would take quadratic time.
const EFFORT: u64 = 16;

/// The whole parts of a damaged save.
pub struct DamagedSave<'s> {
    save: &'s [u8],
    /// `None` if it is damaged: with it go the application, the generation and the metadata.
    pub header: Option<Header>,
    /// The whole blocks, decompressed.
    unpacker: Unpacker<'s>,
    blocks: Vec<WholeBlock>,
    /// The range of the copy of all definitions, if it is right before the trailer.
    definitions: Option<Range<usize>>,
    /// The checksums of the pieces of long blocks.
    long_blocks: Vec<LongBlock>,
    /// The damaged parts of the records in long blocks, as far as they are known: the checksums of the pieces and the
    /// copy of the definitions must be whole.
    pub damaged_parts: Vec<DamagedPart>,
    trailer: Option<Trailer>,
    /// The number of damaged bytes.
    pub lost_bytes: u64,
    /// The number of places with damage.
    pub places: usize,
    /// Bytes that the search may still read.
    effort: u64,
}

/// The content of a whole block, as a range of the plain bytes. A block with zeros in place of damaged numbers is one.
struct WholeBlock {
    /// Its offset in the save.
    at: usize,
    start: usize,
    end: usize,
    is_after_damage: bool,
}

/// The checksums of the pieces of a block.
struct LongBlock {
    /// Its position after the header, and the bytes of its content.
    position: usize,
    length: usize,
    /// For each piece the checksum of all bytes of the block up to its end.
    sums: Vec<u32>,
}

impl LongBlock {
    /// Reads the content of a block of checksums; `None` if it is none for a save of `size` bytes.
    fn all(mut content: &[u8], size: usize) -> Option<Vec<Self>> {
        // Blocks that overlapped could be more than a search has time for.
        let (mut all, mut end) = (Vec::new(), 0);
        while !content.is_empty() {
            let (position, rest) = content.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let position = usize::try_from(u64::from_le_bytes(*position)).ok()?;
            let length = u32::from_le_bytes(*length) as usize;
            let is_after = (end..size).contains(&position);
            let is_inside = is_after && length > LONG_BLOCK && length < size - position;
            end = position.saturating_add(length);
            let sums = is_inside.then(|| (BLOCK_HEAD + length).div_ceil(PIECE) * CRC_SIZE)?;
            let (sums, rest) = rest.split_at_checked(sums)?;
            let sums = sums.chunks_exact(CRC_SIZE).map(LittleEndian::read_u32).collect();
            all.push(Self { position, length, sums });
            content = rest;
        }
        Some(all)
    }

    /// Returns the damaged ranges of the block, which has these bytes.
    fn damaged(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let (mut found, mut before): (Vec<Range<usize>>, u32) = (Vec::new(), 0);
        for (i, (piece, sum)) in bytes.chunks(PIECE).zip(&self.sums).enumerate() {
            let mut crc = crc32fast::Hasher::new_with_initial(before);
            crc.update(piece);
            before = *sum;
            if crc.finalize() == *sum {
                continue;
            }
            let (start, end) = (i * PIECE, i * PIECE + piece.len());
            match found.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = end,
                None => found.push(start..end),
            }
        }
        found
    }
}

/// A damaged part of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedPart {
    /// The id of the record.
    pub record: ObjectId,
    /// The name of its class.
    pub class: String,
    /// The damaged bytes of the record's value.
    pub bytes: Range<u64>,
    /// The number of all bytes of the value.
    pub length: u64,
    /// The damaged fields, such as `heights[1203..4410]` or `name to heights[20]`.
    ///
    /// If lengths or variants are damaged, it ends with `and all after it`. It is empty if nothing is known of them:
    /// after such a part.
    pub fields: String,
    /// True if the record was rescued with zeros in place of the damaged numbers. If not, the record is lost.
    pub is_zeroed: bool,
}

impl DamagedPart {
    /// Joins the paths of the first and the last damaged field.
    fn fields(DamagedRange { first, last, .. }: &DamagedRange) -> String {
        let last = last.as_deref();
        let index = |path: &'_ str| {
            let (list, index) = path.strip_suffix(']')?.rsplit_once('[')?;
            Some((list.to_owned(), index.parse::<u64>().ok()?))
        };
        match (index(first), last.map(|last| (last, index(last)))) {
            (_, None) => format!("{first} and all after it"),
            (_, Some((last, _))) if last == first => first.into(),
            (Some((list, from)), Some((_, Some((other, to))))) if list == other => {
                format!("{list}[{from}..{}]", to + 1)
            }
            (_, Some((last, _))) => format!("{first} to {last}"),
        }
    }
}

impl fmt::Display for DamagedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, class, bytes: Range { start, end }, length, fields, is_zeroed } = self;
        write!(f, "{} of the {length} bytes of {record}, a {class}", end - start)?;
        if !fields.is_empty() {
            write!(f, ": `{fields}`")?;
        }
        f.write_str(if *is_zeroed { " (now 0)" } else { "" })
    }
}

impl<'s> DamagedSave<'s> {
    /// Finds the whole blocks of a save. If `zeros_numbers`, they include long blocks whose damaged bytes are numbers,
    /// which are zeros then.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Damaged`] or the error of the header if nothing is whole, and [`ErrorKind::Unsupported`]
    /// for a compression that this program was built without.
    pub fn read(save: &'s [u8], zeros_numbers: bool, limits: &Limits) -> Result<Self> {
        let parsed = Header::parse(save);
        let mut this = Self {
            save,
            header: None,
            unpacker: Unpacker::new(save),
            blocks: Vec::new(),
            definitions: None,
            long_blocks: Vec::new(),
            damaged_parts: Vec::new(),
            trailer: None,
            lost_bytes: 0,
            places: 0,
            effort: (save.len() as u64).saturating_mul(EFFORT),
        };
        let start = match &parsed {
            Ok((_, at)) => Some(*at),
            // A damaged header that ends where it claims is followed by whole blocks.
            Err(_) => Header::length(save).filter(|at| this.is_whole(*at)),
        };
        if parsed.is_err() {
            (this.places, this.lost_bytes) = (1, start.unwrap_or(0) as u64);
        }
        this.search(start, limits)?;
        this.inspect_long_blocks(start, zeros_numbers, limits);
        if this.blocks.is_empty() {
            let nothing = || nothing_whole(this.records(), &this.damaged_parts);
            return Err(parsed.err().unwrap_or_else(nothing));
        }
        this.header = parsed.ok().map(|(header, _)| header);
        Ok(this)
    }

    /// Returns the number of records in the undamaged save, if the trailer is whole.
    pub fn records(&self) -> Option<u64> {
        self.trailer.map(|trailer| trailer.records)
    }

    /// Finds the damaged parts of the records in long blocks, and adds their whole items to the whole blocks. The first
    /// block of the save is at `first`.
    fn inspect_long_blocks(&mut self, first: Option<usize>, zeros_numbers: bool, limits: &Limits) {
        let long_blocks = mem::take(&mut self.long_blocks);
        let first = first.filter(|_| !long_blocks.is_empty());
        let copy = self.definitions.clone().map(|all| &self.save[all]);
        let classes = copy.and_then(|copy| read_definitions(copy, limits).ok());
        let (Some(first), Some(classes)) = (first, classes) else { return };
        let stored = Stored::new(classes);
        for block in &long_blocks {
            let at = first.saturating_add(block.position);
            let bytes = self.save.get(at..at.saturating_add(BLOCK_HEAD + block.length));
            let Some(bytes) = bytes else { continue };
            // Wrong sums of a whole block must not add its records twice.
            let place = self.blocks.partition_point(|block| block.at < at);
            if self.blocks.get(place).is_some_and(|block| block.at == at) {
                continue;
            }
            let damaged = block.damaged(bytes);
            if damaged.is_empty() {
                continue;
            }
            let mut bytes = bytes.to_vec();
            damaged.iter().for_each(|range| bytes[range.clone()].fill(0));
            // The last item ends there, whatever it is.
            if let Some(last) = bytes.last_mut() {
                *last = SEPARATOR;
            }
            let found = &mut self.damaged_parts;
            let items = whole_items(&mut bytes, &damaged, &stored, zeros_numbers, limits, found);
            let mut lost = bytes.len() - BLOCK_HEAD;
            for item in &items {
                let zeros = overlaps(&damaged, item).map(|it| it.len()).sum::<usize>();
                lost = lost + zeros - item.len();
            }
            let whole = (bytes.len() + CRC_SIZE) as u64;
            self.lost_bytes = self.lost_bytes.saturating_sub(whole) + lost as u64;
            // A page is looked up by its checksum, which an index has.
            let crc = block.sums.last().copied().unwrap_or_default().to_le_bytes();
            let plain = &mut self.unpacker.plain;
            let blocks = items.into_iter().map(|item| {
                let start = plain.len() + BLOCK_HEAD;
                plain.extend_from_slice(&bytes[..BLOCK_HEAD]);
                plain.extend_from_slice(&bytes[item]);
                let end = plain.len();
                plain.extend_from_slice(&crc);
                WholeBlock { at, start, end, is_after_damage: true }
            });
            self.blocks.splice(place..place, blocks);
        }
    }

    /// Returns the whole blocks, decompressed.
    pub fn plain(&self) -> Plain<'_> {
        let (bytes, stored) = (&*self.unpacker.plain, self.save.len());
        let weight = weight(bytes.len().max(stored) as u64, stored as u64);
        Plain { bytes, weight, compression: Compression::None }
    }

    /// Finds the records in the whole blocks whose classes are known.
    ///
    /// Classes are numbered in the order of their definitions. If the copy of all definitions is damaged, definitions
    /// after a lost one are useless: their numbers are unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if a whole block is malformed, or the save exceeds a limit.
    pub fn scan(&self, limits: &Limits) -> Result<(Scan<'_>, Vec<ClassSchema>)> {
        let plain = &*self.unpacker.plain;
        let content = |block: &WholeBlock| definitions_in(&plain[block.start..block.end]);
        let found: Vec<&[u8]> = self.blocks.iter().flat_map(content).collect();
        let counted = self.trailer.map(|trailer| trailer.definitions);
        let is_counted = |bodies: &Vec<&[u8]>| counted == Some(bodies.len() as u64);
        let mut scan = Scan::new(self.header.clone().unwrap_or_default(), 0);
        // The definitions must be of this save: a save inside a field has other ones, or orders them differently.
        let holds_found = |all: &Vec<&[u8]>| {
            let mut all = all.iter();
            found.iter().all(|definition| all.any(|other| other == definition))
        };
        let all = self.definitions.clone().map(|all| definitions_in(&self.save[all]));
        if let Some(all) = all.filter(|all| is_counted(all) && holds_found(all)) {
            scan.define_all(&all);
        }
        for block in &self.blocks {
            if block.is_after_damage && !is_counted(&found) {
                scan.ignore_new_classes();
            }
            // A malformed item in a block with a correct checksum was written so.
            let result = scan.items(plain, block.start..block.end, limits);
            result.map_err(|error| scan.first_fault(error, limits))?;
        }
        let classes = scan.classes(limits)?;
        Ok((scan, classes))
    }

    /// Searches for blocks from offset `start`, where a block begins. Without one, the search begins at the first byte.
    fn search(&mut self, start: Option<usize>, limits: &Limits) -> Result<()> {
        let mut at = start.unwrap_or(0);
        let mut is_damaged = start.is_none();
        let mut is_after_damage = is_damaged;
        while at < self.save.len() {
            if let Some(block) = self.block(at)
                && self.take(&block, is_after_damage, limits)?
            {
                at = block.end + CRC_SIZE;
                is_damaged = false;
            } else if let Some(trailer) = self.trailer(at) {
                self.trailer = Some(trailer);
                self.definitions.take_if(|all| all.end + CRC_SIZE != at);
                return Ok(());
            } else {
                let next = self.after(at, !is_damaged);
                self.places += usize::from(!is_damaged);
                (is_damaged, is_after_damage) = (true, true);
                self.lost_bytes += (next - at) as u64;
                at = next;
            }
        }
        // The save has no trailer, so it is cut off.
        self.places += usize::from(!is_damaged);
        Ok(())
    }

    /// Adds a whole block. Returns false if its checksum matches and its content is malformed.
    fn take(&mut self, block: &Block, is_after_damage: bool, limits: &Limits) -> Result<bool> {
        if block.tag == BLOCK_DEFINITIONS {
            self.definitions = Some(block.at + BLOCK_HEAD..block.end);
            return Ok(true);
        }
        if block.tag == BLOCK_SUMS {
            self.long_blocks =
                LongBlock::all(block.content(self.save), self.save.len()).unwrap_or_default();
            return Ok(true);
        }
        let start = self.unpacker.plain.len() + BLOCK_HEAD;
        match self.unpacker.block(block, limits) {
            Err(error) if error.kind() == ErrorKind::Damaged => return Ok(false),
            result => result?,
        }
        let end = self.unpacker.plain.len() - CRC_SIZE;
        self.blocks.push(WholeBlock { at: block.at, start, end, is_after_damage });
        Ok(true)
    }

    /// Returns the tag of a block at `at` and the end of its content, from its head.
    fn head(&self, at: usize) -> Option<(u8, usize)> {
        let is_block = |tag| {
            [BLOCK_RECORDS, BLOCK_DEFINITIONS, BLOCK_SUMS].contains(&tag)
                || Compression::from_tag(tag).is_some()
        };
        Block::head(self.save, at).filter(|(tag, _)| is_block(*tag))
    }

    /// Returns true if this content may be that of a block: its first item ends with a separator, or it is a frame. In
    /// a damaged page of numbers, a block could begin at every few bytes, and their checksums would use up the effort.
    fn begins_as_block(&self, tag: u8, content: Range<usize>) -> bool {
        let (content, end) = (&self.save[content.clone()], content.end);
        if content.is_empty() {
            return true;
        }
        if [BLOCK_RECORDS, BLOCK_DEFINITIONS].contains(&tag) {
            let mut links = NoLinks::default();
            let mut input = Decoder::new(content, &Env::DEFAULT, &mut links);
            return Item::read(&mut input, end, None).is_ok();
        }
        if tag == BLOCK_SUMS {
            return LongBlock::all(content, self.save.len()).is_some();
        }
        let frame = content.get(size_of::<u32>()..).unwrap_or_default();
        frame.starts_with(&LZ4_MAGIC) || frame.starts_with(&ZSTD_MAGIC)
    }

    /// Returns the block at `at`, if it is whole.
    fn block(&mut self, at: usize) -> Option<Block> {
        let (tag, end) = self.head(at)?;
        self.save.get(end..end.checked_add(CRC_SIZE)?)?;
        if !self.begins_as_block(tag, at + BLOCK_HEAD..end) {
            return None;
        }
        self.effort = self.effort.checked_sub((end - at) as u64)?;
        Block::is_whole(self.save, at, end)?.then_some(Block { tag, at, end })
    }

    /// Returns the trailer at `at`. It must be at the end of the file or, if bytes were appended, at the end that it
    /// states. Any other trailer belongs to a save in a field of this one.
    fn trailer(&self, at: usize) -> Option<Trailer> {
        let end = at + TRAILER_SIZE;
        let is_own = |it: &Trailer| end == self.save.len() || end as u64 == it.length;
        self.any_trailer(at).filter(is_own)
    }

    fn any_trailer(&self, at: usize) -> Option<Trailer> {
        Trailer::read(self.save.get(at..)?.first_chunk()?)
    }

    /// Returns the offset at which to continue after damage at `at`. If `begins`, a block begins at `at`, unless bytes
    /// are missing.
    fn after(&mut self, at: usize, begins: bool) -> usize {
        let block = if begins { self.after_block(at) } else { None };
        block.or_else(|| self.after_save(at)).unwrap_or(at + 1)
    }

    fn is_whole(&mut self, at: usize) -> bool {
        self.block(at).is_some() || self.trailer(at).is_some()
    }

    /// Returns the end of one or more damaged blocks, if they end where they claim and something whole follows. Their
    /// content is not searched.
    fn after_block(&mut self, mut at: usize) -> Option<usize> {
        loop {
            self.effort = self.effort.checked_sub(BLOCK_HEAD as u64)?;
            at = self.head(at)?.1.checked_add(CRC_SIZE)?;
            if self.is_whole(at) {
                return Some(at);
            }
        }
    }

    /// Returns the end of another save, which is in a field or the metadata. Its blocks do not belong to this save.
    fn after_save(&mut self, at: usize) -> Option<usize> {
        let inner = self.save.get(at..).filter(|rest| at > 0 && rest.starts_with(&MAGIC))?;
        self.effort = self.effort.checked_sub(Header::length(inner)?.min(inner.len()) as u64)?;
        let (_, length) = Header::parse(inner).ok()?;
        let mut end = at + length;
        loop {
            if let Some(block) = self.block(end) {
                end = block.end + CRC_SIZE;
            } else if let Some(next) = self.after_block(end) {
                end = next;
            } else {
                break;
            }
        }
        Some(self.any_trailer(end).map_or(end, |_| end + TRAILER_SIZE))
    }
}

/// Finds the ranges of whole items of a block, whose damaged bytes are zeros, and adds the damaged parts of its records.
///
/// If `zeros_numbers`, a record is whole if all of its damaged bytes are numbers. They are zeros then.
fn whole_items(
    block: &mut [u8],
    damaged: &[Range<usize>],
    stored: &Stored,
    zeros_numbers: bool,
    limits: &Limits,
    found: &mut Vec<DamagedPart>,
) -> Vec<Range<usize>> {
    let (mut items, mut head) = (Vec::new(), BLOCK_HEAD);
    while head < block.len() {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(&block[head..], &Env::DEFAULT, &mut links);
        let item = Item::read(&mut input, block.len(), Some(stored.len()));
        let end = block.len() - input.rest().len();
        let (body, record) = match item {
            Ok(Item::Definition(_, body)) => (body, None),
            Ok(Item::Record(record)) => (record.start..end - 1, Some(record)),
            Err(_) => break,
        };
        // A head among damaged bytes says nothing, and neither does what follows.
        if overlaps(damaged, &(head..body.start)).next().is_some() {
            break;
        }
        let inside = overlaps(damaged, &body);
        let inside: Vec<_> = inside.map(|it| it.start - body.start..it.end - body.start).collect();
        let parts = record.as_ref().map(|record| {
            parts_in(record.class as usize, stored, &block[body.clone()], &inside, limits)
        });
        let numbers = parts.iter().flatten().filter_map(|part| part.numbers.clone());
        let numbers: Vec<_> = numbers.collect();
        let is_whole = inside.is_empty() || zeros_numbers && numbers.len() == inside.len();
        if is_whole {
            // The first and the last number of a damaged range may have undamaged bytes.
            numbers.into_iter().for_each(|range| block[body.clone()][range].fill(0));
            match items.last_mut().filter(|last: &&mut Range<usize>| last.end == head) {
                Some(last) => last.end = end,
                None => items.push(head..end),
            }
        }
        let known = record.and_then(|record| ObjectId::new(record.id).zip(Some(record.class)));
        if let Some((record, class)) = known {
            let mut parts = parts.into_iter().flatten();
            found.extend(inside.into_iter().map(|range| DamagedPart {
                record,
                class: stored[class as usize].name.chars().take(LONGEST_NAME).collect(),
                bytes: range.start as u64..range.end as u64,
                length: body.len() as u64,
                fields: parts.next().map(|part| DamagedPart::fields(&part)).unwrap_or_default(),
                is_zeroed: is_whole,
            }));
        }
        head = end;
    }
    items
}

/// Returns the parts of these ascending ranges that are in another range.
fn overlaps(ranges: &[Range<usize>], other: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = *other;
    let first = ranges.partition_point(|it| it.end <= start);
    let inside = ranges[first..].iter().take_while(move |it| it.start < end);
    inside.map(move |it| it.start.max(start)..it.end.min(end))
}

/// Characters of the name of a class in a [`DamagedPart`].
const LONGEST_NAME: usize = 200;

/// Returns the words for the first damaged parts, after those for what is lost; none if there are no parts.
pub(crate) fn shown(parts: &[DamagedPart]) -> String {
    const SHOWN: usize = 3;
    let mut text = String::new();
    for part in parts.iter().take(SHOWN) {
        let start = if text.is_empty() { "; damaged are " } else { ", " };
        let _ = write!(text, "{start}{part}");
    }
    match parts.len().saturating_sub(SHOWN) {
        0 => {}
        1 => text.push_str(", and 1 other part"),
        others => drop(write!(text, ", and {others} other parts")),
    }
    text
}

/// Returns the error for a damaged save without a whole object.
pub(crate) fn nothing_whole(lost: Option<u64>, parts: &[DamagedPart]) -> Error {
    let lost = match lost {
        Some(1) => String::from("its one object is lost"),
        Some(lost) => format!("all {lost} objects are lost"),
        None => String::from("it is not known how many objects are lost"),
    };
    let what = format!("nothing of the save is whole, {lost}{}; restore a backup", shown(parts));
    Error::new(ErrorKind::Damaged, what)
}
