//! A damaged save: what of it is whole.

use std::borrow::Cow;

use super::reader::{Block, Scanner};
use super::search::{Search, is_block};
use super::unpack::Unpacker;
use super::{BLOCK_HEAD, BLOCK_RECORDS, CRC_SIZE, Header, SEPARATOR, Scan};
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

impl Wreck {
    /// The save with its whole compressed blocks made plain ones; what is damaged stays as it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for a compression that this program was built without.
    pub(crate) fn unpacked<'s>(save: &'s [u8], limits: &Limits) -> Result<Cow<'s, [u8]>> {
        let mut unpacker = Unpacker::new(save);
        let mut search = Search::new(save);
        let start = search.start();
        let (mut at, mut begins, mut copied) = (start.unwrap_or(0), start.is_some(), 0);
        while at < save.len() {
            let Some(end) = search.block(at, is_block) else {
                at = search.behind(at, begins);
                begins = false;
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
            begins = true;
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
        let blocks = Blocks::find(save, parsed.is_ok());
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
    fn find(save: &[u8], has_header: bool) -> Self {
        let mut search = Search::new(save);
        let start = search.start();
        let mut at = start.unwrap_or(0);
        let (places, lost_bytes) = if has_header { (0, 0) } else { (1, at as u64) };
        let mut this = Self { whole: Vec::new(), lost_bytes, places, trailer: None };
        let mut is_damaged = start.is_none();
        // A header that ends where it says has taken no block with it.
        let mut is_behind_damage = is_damaged;
        while at < save.len() {
            if let Some(end) = search.block(at, |tag| tag == BLOCK_RECORDS) {
                this.whole.push(Found { start: at + BLOCK_HEAD, end, is_behind_damage });
                at = end + CRC_SIZE;
                is_damaged = false;
            } else if let Some(trailer) = search.trailer(at) {
                this.trailer = Some(trailer);
                return this;
            } else {
                let next = search.behind(at, !is_damaged);
                if !is_damaged {
                    this.places += 1;
                }
                (is_damaged, is_behind_damage) = (true, true);
                this.lost_bytes += (next - at) as u64;
                at = next;
            }
        }
        // It is cut off.
        if !is_damaged {
            this.places += 1;
        }
        this
    }
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
