//! A whole save checked while it is read, without holding it.

use std::io::{Read, Seek};

use super::document::{check_reference, reference};
use super::ids::SavedIds;
use crate::format::{BlockReader, Compression, Definitions, Header, RecordLocation, StreamBlock};
use crate::schema::{Checker, LocalValue, Stored};
use crate::{Error, ErrorKind, Limits, Result};

/// What [`verify`] has counted in a whole save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// What the save says of itself.
    pub header: Header,
    /// Bytes of the save.
    pub bytes: u64,
    /// Its blocks, without the trailer.
    pub blocks: u64,
    /// How many of the blocks are compressed.
    pub compressed: u64,
    /// Bytes of all blocks, decompressed.
    pub content: u64,
    /// Classes that it defines.
    pub classes: u64,
    /// Objects; a value that was saved on its own is one.
    pub objects: u64,
    /// Values that programs kept of objects, as they did not know them.
    pub kept: u64,
    /// References from one object to another, weak ones that lead nowhere too.
    pub references: u64,
    /// Bytes of the largest record.
    pub largest: u64,
}

/// Checks all of a save, as [`Document::within`](crate::Document::within) does: every checksum, every value by its class
/// and every reference. The save is read block by block and not held.
///
/// Memory is bounded by the largest block, 16 bytes for each object and what the definitions take. The library writes
/// blocks of 64 KiB, or of one record if that is larger. A second pass reads the save again if the first one was not sure:
/// when something is wrong with a value or a reference, so that the error says where, and when classes are defined after
/// records that need them, or references lead to ids far beyond the number of objects.
///
/// The limit of memory for each byte ([`Limits::expansion`]) holds for compressed blocks alone, since no values are built.
///
/// # Errors
///
/// The first fault that is found, with object, class and field if it is in a value; those of
/// [`Document::within`](crate::Document::within), and [`ErrorKind::Io`].
///
/// # Example
///
/// ```
/// use std::io::Cursor;
///
/// use persist::{ErrorKind, Limits};
///
/// let mut save = persist::to_vec(&vec![String::from("Ada")])?;
/// let found = persist::save::verify(Cursor::new(&save), &Limits::DEFAULT)?;
/// assert_eq!((found.objects, found.bytes), (1, save.len() as u64));
///
/// save[20] ^= 1;
/// let error = persist::save::verify(Cursor::new(&save), &Limits::DEFAULT).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Damaged);
/// # Ok::<(), persist::Error>(())
/// ```
pub fn verify(file: impl Read + Seek, limits: &Limits) -> Result<Verified> {
    let (header, mut blocks) = BlockReader::open(file, limits)?;
    let bytes = blocks.length();
    let mut pass = FirstPass {
        limits: *limits,
        ids: SavedIds::new(blocks.records_hint()?),
        checker: None,
        defined: 0,
        work: 0,
        is_sure: true,
        found: Verified { header, bytes, ..Verified::default() },
    };
    let mut definitions = Definitions::default();
    let trailer = loop {
        let block = match blocks.next()? {
            Ok(block) => block,
            Err(trailer) => break trailer,
        };
        pass.count(&block);
        definitions.items(&block, limits, |definitions, record| {
            pass.record(&record, &block, definitions)
        })?;
    };
    definitions.check(trailer, blocks.at())?;
    let classes = definitions.classes(limits)?;
    pass.found.classes = classes.len() as u64;
    if let Err(id) = pass.ids.sort() {
        return Err(twice(id));
    }
    if pass.is_sure && pass.ids.are_sure() {
        return Ok(pass.found);
    }
    let FirstPass { ids, mut found, .. } = pass;
    found.references = 0;
    let mut checker = Checker::new(Stored::new(classes), limits);
    blocks.rewind()?;
    let mut definitions = Definitions::default();
    while let Ok(block) = blocks.next()? {
        definitions.items(&block, limits, |_, record| {
            found.references += check(&record, &block, &ids, &mut checker)?;
            Ok(())
        })?;
    }
    Ok(found)
}

/// The first pass over a save: what it does not know yet, the second one finds.
struct FirstPass {
    limits: Limits,
    ids: SavedIds,
    /// Of the classes that are defined so far, if they are all that these mention.
    checker: Option<Checker>,
    /// How many those are.
    defined: usize,
    /// Bytes of definitions that were read, each as often as it was.
    work: u64,
    /// True if all records so far are right.
    is_sure: bool,
    found: Verified,
}

/// Bytes of definitions that are read again when there are more of them, at least, and for each byte of the save so far: a
/// hostile save may define one class after the other between records.
const FREE_WORK: u64 = 1 << 20;
const WORK_PER_BYTE: u64 = 4;

impl FirstPass {
    fn count(&mut self, block: &StreamBlock<'_>) {
        let is_compressed = !matches!(block.compression, None | Some(Compression::None));
        self.found.blocks += 1;
        self.found.compressed += u64::from(is_compressed);
        self.found.content += block.content.len() as u64;
    }

    fn record(
        &mut self,
        record: &RecordLocation,
        block: &StreamBlock<'_>,
        definitions: &Definitions,
    ) -> Result<()> {
        let payload = record.payload(block.content);
        self.found.largest = self.found.largest.max(payload.len() as u64);
        if record.is_kept() {
            self.found.kept += 1;
        } else {
            self.found.objects += 1;
            if !self.ids.insert(record.id, record.class, record.holder) {
                return Err(twice(record.id).at(block.place(record.start as u64)));
            }
        }
        if !self.is_sure {
            return Ok(());
        }
        if self.defined != definitions.len() {
            self.define(definitions);
        }
        let (ids, references) = (&mut self.ids, &mut self.found.references);
        let meet = |met: LocalValue<'_>| {
            if let LocalValue::Reference { id, weak, class, holder } = met {
                *references += 1;
                ids.refer(id, weak, class, holder);
            }
            true
        };
        // A record that is wrong may be right when all classes are known.
        self.is_sure = match &mut self.checker {
            Some(checker) => checker.check(record.class as usize, payload, meet).is_ok(),
            None => false,
        };
        Ok(())
    }

    /// Reads the definitions so far.
    fn define(&mut self, definitions: &Definitions) {
        self.work += definitions.size() as u64;
        let empty = self.checker.take().map_or(0, |checker| checker.empty_elements());
        if self.work > FREE_WORK + self.found.content * WORK_PER_BYTE {
            return;
        }
        let Ok(classes) = definitions.classes(&self.limits) else { return };
        self.defined = definitions.len();
        let mut checker = Checker::new(Stored::new(classes), &self.limits);
        checker.count_empty_elements_from(empty);
        self.checker = Some(checker);
    }
}

/// Checks a record when all classes and objects are known; returns how many references are in it.
fn check(
    record: &RecordLocation,
    block: &StreamBlock<'_>,
    ids: &SavedIds,
    checker: &mut Checker,
) -> Result<u64> {
    let (mut references, mut wrong) = (0, None);
    let class = record.class as usize;
    let result = checker.check(class, record.payload(block.content), |met| {
        let LocalValue::Reference { id, weak, class, holder } = met else { return true };
        references += 1;
        let is_right = match ids.get(id) {
            Some((found, in_holder)) => {
                in_holder == holder && class.is_none_or(|class| class == found as usize)
            }
            None => weak,
        };
        if !is_right {
            wrong = reference(&met);
        }
        is_right
    });
    let Err(mut error) = result else { return Ok(references) };
    let stored = checker.stored();
    if let Some((kind, id)) = wrong {
        let found = id.and_then(|id| ids.get(id.get()));
        let found = found.map(|(class, holder)| (holder, class as usize));
        if let Err(wrong) = check_reference(&kind, id, found, stored) {
            let at = error.offset().unwrap_or_default();
            error = wrong.in_field(error.field().unwrap_or_default()).at(at);
        }
    }
    let offset = record.start as u64 + error.offset().unwrap_or_default();
    let place = block.place(offset);
    Err(error.moved_to(place).in_object(record.id).in_class(&*stored[class].name))
}

#[cold]
fn twice(id: u64) -> Error {
    error!(ErrorKind::DuplicateId, "two records have this id; restore a backup").in_object(id)
}
