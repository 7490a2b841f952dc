//! A damaged save: what of it is whole.

use std::borrow::Cow;

use super::reader::{Block, Scanner};
use super::search::{Search, is_block};
use super::unpack::Unpacker;
use super::{BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, CRC_SIZE, Header, SEPARATOR, Scan};
use crate::codec::{Decoder, NoLinks, count};
use crate::env::Env;
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
    /// Classes are numbered in the order of their definitions. If the block that has all of them is not whole, those
    /// after a lost one are of no use: their numbers are in doubt.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] or that of the header if nothing is whole.
    pub(crate) fn scan(save: &[u8], limits: &Limits) -> Result<Self> {
        let parsed = Header::parse(save);
        let blocks = Blocks::find(save, parsed.is_ok());
        if blocks.whole.is_empty() {
            let records = blocks.trailer.map(|[records, _]| records);
            return Err(parsed.err().unwrap_or_else(|| nothing_whole(records)));
        }
        let header = parsed.map_or_else(|_| Header::default(), |(header, _)| header);
        let mut scanner = Scanner::new(header, 0);
        let found: Vec<&[u8]> =
            blocks.whole.iter().flat_map(|block| definitions_in(save, block)).collect();
        let counted = blocks.trailer.map(|[_, definitions]| definitions);
        let is_known = counted == Some(found.len() as u64);
        let all = blocks.definitions.as_ref().map(|block| definitions_in(save, block));
        if let Some(all) = all.filter(|all| counted == Some(all.len() as u64) && holds(all, &found))
        {
            scanner.define_all(&all);
        }
        for block in &blocks.whole {
            if block.is_behind_damage && !is_known {
                scanner.ignore_classes_from(scanner.classes());
            }
            // What is malformed behind a true checksum was made so.
            let result = scanner.block(save, block.start, block.end, limits);
            result.map_err(|error| scanner.outline.first_fault(error, limits))?;
        }
        let (scan, definitions) = scanner.outline.read(limits)?;
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
    /// The one that has all definitions, if it is right before the trailer.
    definitions: Option<Found>,
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
        let mut this =
            Self { whole: Vec::new(), definitions: None, lost_bytes, places, trailer: None };
        let mut is_damaged = start.is_none();
        // A header that ends where it says has taken no block with it.
        let mut is_behind_damage = is_damaged;
        while at < save.len() {
            if let Some(end) =
                search.block(at, |tag| [BLOCK_RECORDS, BLOCK_DEFINITIONS].contains(&tag))
            {
                let block = Found { start: at + BLOCK_HEAD, end, is_behind_damage };
                match save[at] {
                    BLOCK_DEFINITIONS => this.definitions = Some(block),
                    _ => this.whole.push(block),
                }
                at = end + CRC_SIZE;
                is_damaged = false;
            } else if let Some(trailer) = search.trailer(at) {
                this.trailer = Some(trailer);
                this.definitions.take_if(|block| block.end + CRC_SIZE != at);
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

/// The error for a damaged save without a whole object.
pub(crate) fn nothing_whole(lost: Option<u64>) -> Error {
    let lost = match lost {
        Some(1) => String::from("its one object is lost"),
        Some(lost) => format!("all {lost} objects are lost"),
        None => String::from("it is not known how many objects are lost"),
    };
    let what = format!("nothing of the save is whole, {lost}; restore a backup");
    Error::new(ErrorKind::Damaged, what)
}

/// The bodies of the definitions in a block.
fn definitions_in<'s>(save: &'s [u8], block: &Found) -> Vec<&'s [u8]> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(&save[block.start..block.end], &Env::DEFAULT, &mut links);
    let mut found = Vec::new();
    let mut next = || {
        let number = count::decode(&mut input).ok()?;
        if number > 0 {
            input.take(1).ok()?;
            count::decode(&mut input).ok()?;
        }
        let length: u32 = input.value().ok()?;
        let end = block.end - input.take(length as usize).map(|_| input.rest().len()).ok()?;
        let body = &save[end - length as usize..end];
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
