//! A damaged save: what of it is whole.

use std::borrow::Cow;

use byteorder::{ByteOrder, LittleEndian};

use super::reader::{Block, Scanner};
use super::unpack::Unpacker;
use super::{
    BLOCK_HEAD, BLOCK_RECORDS, BLOCK_TRAILER, CRC_SIZE, Compression, Header, SEPARATOR, Scan,
    TRAILER_SIZE,
};
use crate::codec::{Decoder, NoLinks, count};
use crate::reflect::ClassId;
use crate::schema::{ClassSchema, Form, KindSchema};
use crate::{Error, ErrorKind, Limits, Result};

/// What is whole of a damaged save.
pub(crate) struct Wreck {
    pub(crate) scan: Scan,
    /// The offsets of the definitions.
    pub(crate) definitions: Vec<usize>,
    /// Bytes that are not whole, and in how many places they are.
    pub(crate) lost_bytes: u64,
    pub(crate) places: usize,
    /// How many records there were, if the trailer is whole.
    pub(crate) records: Option<u64>,
}

/// How the name of a class begins that stands in for a lost one.
const LOST: &str = "lost class ";

/// No definition has fewer bytes: length, class id and separator are 14.
const LEAST: u64 = 14;

/// How many bytes a search for the next whole block may look at, for each byte of the save.
const EFFORT: u64 = 16;

impl Wreck {
    /// The save with its whole compressed blocks made plain ones; what is damaged stays as it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for a compression that this program was built without.
    pub(crate) fn unpacked<'s>(save: &'s [u8], limits: &Limits) -> Result<Cow<'s, [u8]>> {
        let mut unpacker = Unpacker::new(save);
        let mut effort = (save.len() as u64).saturating_mul(EFFORT);
        let (mut at, mut copied) = (Header::parse(save).map_or(0, |(_, at)| at), 0);
        while at < save.len() {
            let is_block = |tag| tag == BLOCK_RECORDS || Compression::of(tag).is_some();
            let Some(end) = whole_block(save, at, is_block, &mut effort) else {
                at += 1;
                continue;
            };
            if save[at] != BLOCK_RECORDS {
                unpacker.copy(copied..at);
                // What is malformed behind a true checksum is lost.
                match unpacker.block(&Block { tag: save[at], at, end }, limits) {
                    Err(error) if error.kind() == ErrorKind::Damaged => copied = at,
                    result => {
                        result?;
                        copied = end + CRC_SIZE;
                    }
                }
            }
            at = end + CRC_SIZE;
        }
        if copied == 0 {
            return Ok(Cow::Borrowed(save));
        }
        unpacker.copy(copied..save.len());
        Ok(Cow::Owned(unpacker.into_plain()))
    }

    /// Finds the whole blocks of a save, and the records in them whose classes are known.
    ///
    /// Classes are numbered in the order of their definitions: where some may be lost, those that are
    /// defined behind are of no use, unless the trailer says how many are missing in the one place.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] or that of the header if nothing is whole.
    pub(crate) fn scan(save: &[u8], limits: &Limits) -> Result<Self> {
        let parsed = Header::parse(save);
        let blocks = Blocks::find(save, parsed.as_ref().map_or(0, |(_, at)| *at));
        if blocks.whole.is_empty() {
            return Err(parsed.err().unwrap_or_else(|| {
                Error::new(ErrorKind::Damaged, "no block of the save is whole; restore a backup")
            }));
        }
        let header = parsed.map_or_else(|_| Header::default(), |(header, _)| header);
        let scan = Scan { header, classes: Vec::new(), records: Vec::new() };
        let mut scanner = Scanner::new(scan);
        let found: u64 = blocks.whole.iter().map(|block| definitions_in(save, block)).sum();
        let missing = blocks.trailer.map(|[_, definitions]| definitions.saturating_sub(found));
        let mut first_lost = usize::MAX;
        for block in &blocks.whole {
            if block.is_behind_damage && first_lost == usize::MAX && missing != Some(0) {
                first_lost = scanner.classes();
                match missing {
                    Some(missing) if blocks.places == 1 && missing <= blocks.lost_bytes / LEAST => {
                        (0..missing).for_each(|_| scanner.define(lost_class(scanner.classes())));
                    }
                    _ => scanner.ignore_classes_from(first_lost),
                }
            }
            // What is malformed behind a true checksum was made so.
            scanner.block(save, block.start, block.end, limits)?;
        }
        scanner.check_classes()?;
        let (mut scan, definitions) = scanner.into_parts();
        if first_lost < scan.classes.len() {
            let useless = useless(&scan.classes);
            scan.records.retain(|record| !useless[record.class as usize]);
        }
        let records = blocks.trailer.map(|[records, _]| records);
        let Blocks { lost_bytes, places, .. } = blocks;
        Ok(Self { scan, definitions, lost_bytes, places, records })
    }
}

/// The content of a whole block.
struct Found {
    start: usize,
    end: usize,
    is_behind_damage: bool,
}

struct Blocks {
    whole: Vec<Found>,
    lost_bytes: u64,
    places: usize,
    /// Records and definitions that it counts.
    trailer: Option<[u64; 2]>,
}

impl Blocks {
    fn find(save: &[u8], mut at: usize) -> Self {
        let mut this = Self { whole: Vec::new(), lost_bytes: 0, places: 0, trailer: None };
        if at == 0 {
            this.places = 1;
        }
        let mut effort = (save.len() as u64).saturating_mul(EFFORT);
        let mut is_damaged = at == 0;
        while at < save.len() {
            if let Some(end) = whole_block(save, at, |tag| tag == BLOCK_RECORDS, &mut effort) {
                let start = at + BLOCK_HEAD;
                this.whole.push(Found { start, end, is_behind_damage: this.places > 0 });
                at = end + CRC_SIZE;
                is_damaged = false;
            } else if let Some(trailer) = whole_trailer(save, at) {
                this.trailer = Some(trailer);
                return this;
            } else {
                if !is_damaged {
                    this.places += 1;
                    is_damaged = true;
                }
                this.lost_bytes += 1;
                at += 1;
            }
        }
        // It is cut off.
        if !is_damaged {
            this.places += 1;
        }
        this
    }
}

/// The end of the content of a block, if there is a whole one.
fn whole_block(
    save: &[u8],
    at: usize,
    is_block: impl Fn(u8) -> bool,
    effort: &mut u64,
) -> Option<usize> {
    let head = save.get(at..at + BLOCK_HEAD).filter(|head| is_block(head[0]))?;
    let end = (at + BLOCK_HEAD).checked_add(LittleEndian::read_u32(&head[1..]) as usize)?;
    let crc = save.get(end..end.checked_add(CRC_SIZE)?)?;
    *effort = effort.checked_sub((end - at) as u64)?;
    (crc32fast::hash(&save[at..end]) == LittleEndian::read_u32(crc)).then_some(end)
}

fn whole_trailer(save: &[u8], at: usize) -> Option<[u64; 2]> {
    let trailer = save.get(at..at + TRAILER_SIZE).filter(|found| found[0] == BLOCK_TRAILER)?;
    let (content, crc) = trailer.split_at(TRAILER_SIZE - CRC_SIZE);
    let word = |i: usize| LittleEndian::read_u64(&content[1 + 8 * i..]);
    (crc32fast::hash(content) == LittleEndian::read_u32(crc)).then(|| [word(0), word(1)])
}

/// How many definitions a block has.
fn definitions_in(save: &[u8], block: &Found) -> u64 {
    let (limits, mut links) = (Limits::DEFAULT, NoLinks::default());
    let mut input = Decoder::new(&save[block.start..block.end], &limits, &mut links);
    let mut found = 0;
    let mut next = || {
        let number = count::decode(&mut input).ok()?;
        if number > 0 {
            input.take(1).ok()?;
            count::decode(&mut input).ok()?;
        }
        let length: u32 = input.value().ok()?;
        input.take(length as usize).ok()?;
        (input.take(1) == Ok(&[SEPARATOR])).then_some(number == 0)
    };
    while let Some(is_definition) = next() {
        found += u64::from(is_definition);
    }
    found
}

/// Stands in for a class whose definition is lost.
fn lost_class(number: usize) -> ClassSchema {
    let name = format!("{LOST}{}", number + 1);
    ClassSchema { id: ClassId::of(&name), name, version: 1, form: Form::Struct(Vec::new()) }
}

/// For each class, whether its records cannot be read: it is lost, leads to one that is, or holds
/// one that cannot be read.
fn useless(classes: &[ClassSchema]) -> Vec<bool> {
    let is_lost =
        |class: usize| classes.get(class).is_none_or(|class| class.name.starts_with(LOST));
    let mut useless: Vec<bool> = (0..classes.len()).map(is_lost).collect();
    let mut holders = vec![Vec::new(); classes.len()];
    for (class, schema) in classes.iter().enumerate() {
        for kind in schema.kinds() {
            mentioned(kind, &mut |other, by_value| {
                if by_value && other < classes.len() {
                    holders[other].push(class);
                } else {
                    useless[class] |= is_lost(other);
                }
            });
        }
    }
    let mut next: Vec<usize> = (0..classes.len()).filter(|class| useless[*class]).collect();
    while let Some(class) = next.pop() {
        for holder in std::mem::take(&mut holders[class]) {
            if !std::mem::replace(&mut useless[holder], true) {
                next.push(holder);
            }
        }
    }
    useless
}

/// Shows the classes that a kind mentions, and whether by value.
fn mentioned(kind: &KindSchema, found: &mut impl FnMut(usize, bool)) {
    match kind {
        KindSchema::Option(part)
        | KindSchema::List(part)
        | KindSchema::Set(part)
        | KindSchema::Array(part, _) => mentioned(part, found),
        KindSchema::Map(parts) => {
            mentioned(&parts.0, found);
            mentioned(&parts.1, found);
        }
        KindSchema::Tuple(parts) => parts.iter().for_each(|part| mentioned(part, found)),
        KindSchema::Class(class) => found(*class, true),
        KindSchema::Reference { class, .. } => found(*class, false),
        _ => {}
    }
}
