//! Reads the structure of a save: every checksum and record head, but no payload.
//!
//! `stream` does so block by block, for saves that are not in memory. `salvage` finds the whole blocks of a damaged one.

mod salvage;
mod stream;

pub use self::stream::{BlockReader, StreamBlock, read_definitions};

pub use self::salvage::{DamagedPart, DamagedSave};
pub(crate) use self::salvage::{nothing_whole, shown};

use std::collections::HashSet;

use byteorder::{ByteOrder, LittleEndian};

use super::blocks::Checksums;
use super::records::{Item, Records};
use super::{
    BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_SUMS, BLOCK_TRAILER, Block, CRC_SIZE,
    DEFINITION_HEAD, Header, MIN_RECORD, TRAILER_SIZE, check_count, damaged, definition,
    each_block, newer, unpacked,
};
use crate::codec::{Decoder, NoLinks};
use crate::env::Env;
use crate::schema::{ClassSchema, KindSchema, inner_first};
use crate::{Error, ErrorKind, Limits, Result};

/// A save whose structure is valid. Its definitions are decoded when they are needed.
pub struct Scan<'s> {
    pub(crate) header: Header,
    pub(crate) definitions: Vec<Definition<'s>>,
    /// All records, in file order.
    pub records: Records,
    /// Records of classes from this index on are skipped, since their class numbers are unknown.
    ignored: usize,
    /// True if further definitions are skipped.
    is_closed: bool,
}

/// A definition that is not decoded yet.
#[derive(Clone, Copy)]
pub(crate) struct Definition<'s> {
    /// Offset of its head.
    pub at: usize,
    /// Offset of the end of its body.
    end: usize,
    pub body: &'s [u8],
}

/// Reads the structure of a save and its definitions.
///
/// # Errors
///
/// Returns an error if a block, a definition or the head of a record is damaged.
pub fn scan<'s>(save: &'s [u8], limits: &Limits) -> Result<(Scan<'s>, Vec<ClassSchema>)> {
    let scan = Scan::read(save, limits)?;
    let classes = scan.classes(limits)?;
    Ok((scan, classes))
}

/// Checks all of a save except its payloads, and returns its header.
pub(crate) fn check(save: &[u8], limits: &Limits) -> Result<Header> {
    unpacked(save, limits, |save| scan(save.bytes, limits).map(|(scan, _)| scan.header))
}

impl<'s> Scan<'s> {
    pub(crate) fn read(save: &'s [u8], limits: &Limits) -> Result<Self> {
        let (header, at) = Header::parse(save)?;
        limits.check_metadata(header.metadata_length())?;
        // The count of records in the trailer, limited by the bytes of the save, since nothing is checked yet. It only
        // reserves memory.
        let counted =
            save.last_chunk::<TRAILER_SIZE>().map_or(0, |t| LittleEndian::read_u64(&t[1..]));
        let max = save.len() / MIN_RECORD;
        let mut scan = Self::new(header, usize::try_from(counted).map_or(max, |n| n.min(max)));
        let mut has_sums = false;
        let found = each_block(save, Checksums::Right, at, &mut |block| {
            check_after_sums(&mut has_sums, block.tag, block.at)?;
            match block.tag {
                BLOCK_RECORDS => scan.items(save, block.at + BLOCK_HEAD..block.end, limits),
                BLOCK_DEFINITIONS => scan.check_copies(save, block),
                BLOCK_SUMS => Ok(()),
                tag => Err(newer(block.at as u64, "block tag", u64::from(tag))),
            }
        });
        let found = found.and_then(|(at, trailer)| {
            check_count(at, trailer.records, scan.records.len() as u64, "records")?;
            check_count(at, trailer.definitions, scan.definitions.len() as u64, "definitions")
        });
        found.map_err(|error| scan.first_fault(error, limits))?;
        Ok(scan)
    }

    /// Makes an empty scan with memory for `records` records.
    fn new(header: Header, records: usize) -> Self {
        let records = Records::with_capacity(records);
        Self { header, definitions: Vec::new(), records, ignored: usize::MAX, is_closed: false }
    }

    /// Sets the definitions of all classes. Later definitions are skipped.
    fn define_all(&mut self, bodies: &[&'s [u8]]) {
        let definitions = bodies.iter().map(|body| Definition { at: 0, end: body.len(), body });
        self.definitions.extend(definitions);
        self.ignore_new_classes();
    }

    /// Skips all later definitions, and their records.
    fn ignore_new_classes(&mut self) {
        (self.ignored, self.is_closed) = (self.definitions.len(), true);
    }

    /// Decodes the definitions, and checks the rules that concern several: ids are unique, and all mentioned classes
    /// are defined and finite.
    pub(crate) fn classes(&self, limits: &Limits) -> Result<Vec<ClassSchema>> {
        let classes = self.read_each(limits)?;
        let mut ids = HashSet::new();
        for (class, definition) in classes.iter().zip(&self.definitions) {
            let at = definition.at;
            if !ids.insert(class.id) {
                return Err(error!(
                    ErrorKind::DuplicateId,
                    "class id {} is defined twice in the save; restore a backup", class.id
                )
                .at(at as u64)
                .in_class(&*class.name));
            }
            if let Some(number) = class.kinds().find_map(|kind| undefined(kind, classes.len())) {
                let what = format!("class number {number} is mentioned, but not defined");
                return Err(damaged(at, &what).in_class(&*class.name));
            }
        }
        // This library writes no class that contains itself by value.
        if let Err(class) = inner_first(&classes) {
            let what = "a class is defined as holding itself by value, without an end";
            let at = self.definitions[class].at;
            return Err(damaged(at, what).in_class(&*classes[class].name));
        }
        Ok(classes)
    }

    fn read_each(&self, limits: &Limits) -> Result<Vec<ClassSchema>> {
        let read = |it: &Definition<'_>| definition::read(it.body, it.end, limits);
        self.definitions.iter().map(read).collect()
    }

    /// Returns the first error of a scan that failed: a definition before that place may be malformed.
    #[cold]
    fn first_fault(&self, error: Error, limits: &Limits) -> Error {
        self.read_each(limits).err().unwrap_or(error)
    }

    /// Checks the copy of the definitions, which comes right before the trailer.
    fn check_copies(&self, save: &[u8], block: &Block) -> Result<()> {
        let mut rest = block.content(save);
        for Definition { at, body, .. } in &self.definitions {
            let definition = &save[*at..at + DEFINITION_HEAD + body.len() + 1];
            let other = || damaged(block.at, "the definitions are not the same the second time");
            rest = rest.strip_prefix(definition).ok_or_else(other)?;
        }
        let is_last = matches!(save.get(block.end + CRC_SIZE), None | Some(&BLOCK_TRAILER));
        if rest.is_empty() && is_last {
            return Ok(());
        }
        Err(damaged(block.at, "there is more than the definitions of the blocks before"))
    }

    /// Reads the items of a block with this content.
    fn items(
        &mut self,
        save: &'s [u8],
        content: std::ops::Range<usize>,
        limits: &Limits,
    ) -> Result<()> {
        let end = content.end;
        let mut links = NoLinks::default();
        let env = Env::bare(limits);
        let mut input = Decoder::new(&save[content], &env, &mut links);
        while !input.rest().is_empty() {
            let defined = (self.ignored == usize::MAX).then_some(self.definitions.len());
            let at = end - input.rest().len();
            match Item::read(&mut input, end, defined)? {
                Item::Definition(..) if self.is_closed => {}
                Item::Definition(at, body) => {
                    let end = body.end;
                    self.definitions.push(Definition { at, end, body: &save[body] });
                }
                Item::Record(record) if record.class as usize >= self.ignored => {}
                Item::Record(record) if (self.records.len() as u64) < limits.objects => {
                    self.records.push(record);
                }
                Item::Record(_) => return Err(too_many(limits.objects).at(at as u64)),
            }
        }
        Ok(())
    }
}

/// Checks that a block with this tag may follow. Nothing follows the sums of long blocks but the copy of the definitions.
fn check_after_sums(has_sums: &mut bool, tag: u8, at: usize) -> Result<()> {
    if std::mem::replace(has_sums, tag == BLOCK_SUMS) && tag != BLOCK_DEFINITIONS {
        return Err(damaged(at, "a block follows the sums of long blocks"));
    }
    Ok(())
}

/// Returns the bodies of the definitions in a block, up to the first malformed item.
fn definitions_in(content: &[u8]) -> Vec<&[u8]> {
    let mut scan = Scan { ignored: 0, ..Scan::new(Header::default(), 0) };
    // A malformed item is reported when the records are read.
    let _ = scan.items(content, 0..content.len(), &Limits::DEFAULT);
    scan.definitions.iter().map(|definition| definition.body).collect()
}

/// Returns the error for a save with more objects than the limit.
#[cold]
pub fn too_many(limit: u64) -> Error {
    let what =
        format!("the save has more objects than the limit of {limit}; raise `Limits::objects`");
    Error::new(ErrorKind::TooLarge, what)
}

/// Returns the number of a class that the kind mentions and that is not defined.
fn undefined(kind: &KindSchema, classes: usize) -> Option<usize> {
    let mut found = None;
    kind.visit(&mut |part| match part {
        KindSchema::Class(class) | KindSchema::Reference { class, .. } if *class >= classes => {
            found = found.or(Some(class.saturating_add(1)));
        }
        _ => {}
    });
    found
}
