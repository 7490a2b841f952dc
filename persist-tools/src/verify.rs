//! [`verify`]: checks a whole save block by block, without holding it in memory.

use std::io::{Read, Seek};

use persist::__tools::{
    BlockReader, Checker, Definitions, LocalValue, RecordLocation, Stored, StreamBlock,
};
use persist::reflect::Holder;
use persist::save::{Compression, Header};
use persist::{Error, ErrorKind, Limits, ObjectId, Result};

/// The counts of an intact save; [`verify`] returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The header of the save.
    pub header: Header,
    /// The size of the save in bytes.
    pub bytes: u64,
    /// The number of blocks, without the trailer.
    pub blocks: u64,
    /// The number of compressed blocks.
    pub compressed: u64,
    /// The size of all blocks in bytes, decompressed.
    pub content: u64,
    /// The number of classes that the save defines.
    pub classes: u64,
    /// The number of objects. A value that was saved on its own is one object.
    pub objects: u64,
    /// The number of records with unknown content of objects, which a program kept.
    pub kept: u64,
    /// The number of references between objects, including dangling weak ones.
    pub references: u64,
    /// The size of the largest record in bytes.
    pub largest: u64,
}

/// Checks a whole save: every checksum, every value by its class, and every reference.
///
/// The checks are those of [`Document::within`](crate::Document::within), but the save is read block by block and is
/// never held in memory as a whole. The memory in use is the largest block, 16 bytes for each object, and the class
/// definitions. The library writes blocks of 64 KiB, or of one record if that is larger.
///
/// Most saves are read once. A second pass follows if the first one found a fault, to locate it for the error message.
/// It also follows if a class is defined after a record that needs it, or if ids are far greater than the number of
/// objects.
///
/// The memory limit for each byte of the save ([`Limits::expansion`]) applies only to compressed blocks, since no
/// values are built.
///
/// # Errors
///
/// Returns the first fault that is found, with object, class and field if it is in a value. The kinds are the same as
/// for [`Document::within`](crate::Document::within), and [`ErrorKind::Io`] if the save cannot be read.
///
/// # Example
///
/// ```
/// use std::io::Cursor;
///
/// use persist::{ErrorKind, Limits};
///
/// let mut save = persist::to_vec(&vec![String::from("Ada")])?;
/// let found = persist_tools::verify(Cursor::new(&save), &Limits::DEFAULT)?;
/// assert_eq!((found.objects, found.bytes), (1, save.len() as u64));
///
/// save[20] ^= 1;
/// let error = persist_tools::verify(Cursor::new(&save), &Limits::DEFAULT).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Damaged);
/// # Ok::<(), persist::Error>(())
/// ```
pub fn verify(file: impl Read + Seek, limits: &Limits) -> Result<Verified> {
    let (header, mut blocks) = BlockReader::open(file, limits)?;
    let bytes = blocks.length();
    let mut pass = FirstPass {
        limits: *limits,
        ids: SavedIds::new(blocks.records_hint()?),
        unknown: Vec::new(),
        checker: None,
        defined: 0,
        work: 0,
        is_sure: true,
        found: Verified { header, bytes, ..Verified::default() },
    };
    let mut definitions = Definitions::default();
    let trailer = loop {
        let block = match blocks.next_block()? {
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
        return Err(duplicate(id));
    }
    for (id, class, place) in &pass.unknown {
        let is_present = pass.ids.get(*id).is_some();
        classes[*class as usize]
            .check_unknown(*id, is_present)
            .map_err(|error| error.at(*place))?;
    }
    if pass.is_sure && pass.ids.are_sure() {
        return Ok(pass.found);
    }
    let FirstPass { ids, mut found, .. } = pass;
    found.references = 0;
    let mut checker = Checker::new(Stored::new(classes), limits);
    blocks.rewind()?;
    let mut definitions = Definitions::default();
    while let Ok(block) = blocks.next_block()? {
        definitions.items(&block, limits, |_, record| {
            found.references += check(&record, &block, &ids, &mut checker)?;
            Ok(())
        })?;
    }
    Ok(found)
}

/// The first pass over a save. It may remain unsure about a record, which a second pass then decides.
struct FirstPass {
    limits: Limits,
    ids: SavedIds,
    /// The records of unknown content: the ids of their objects, their classes and their offsets.
    unknown: Vec<(u64, u32, u64)>,
    /// The checker for the classes that are defined so far; `None` if they refer to classes that are not defined yet.
    checker: Option<Checker<Stored>>,
    /// The number of classes that the checker knows.
    defined: usize,
    /// Bytes of definitions that were read, counted each time that they were read.
    work: u64,
    /// True if all records so far have been checked and are right.
    is_sure: bool,
    found: Verified,
}

/// The budget for reading definitions: a constant, and an amount for each byte of the save so far. All definitions are
/// read again when a new one appears, so a hostile save that defines a class between any two records would take
/// quadratic time.
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
            self.unknown.push((record.id, record.class, block.place(record.start as u64)));
        } else {
            self.found.objects += 1;
            if !self.ids.insert(record.id, record.class, record.holder) {
                return Err(duplicate(record.id).at(block.place(record.start as u64)));
            }
        }
        if !self.is_sure {
            return Ok(());
        }
        if self.defined != definitions.count() {
            self.define(definitions);
        }
        let ids = &mut self.ids;
        let mut visit = |value: LocalValue<'_>| {
            if let LocalValue::Reference { id, weak, class, holder } = value {
                ids.refer(id, weak, class, holder);
            }
            true
        };
        // A record that seems wrong now may be right once all classes are known.
        let class = record.class as usize;
        let found = self.checker.as_mut().map(|checker| checker.check(class, payload, &mut visit));
        match found {
            Some(Ok(references)) => self.found.references += references,
            _ => self.is_sure = false,
        }
        Ok(())
    }

    /// Creates the checker for the definitions so far, unless the budget is used up.
    fn define(&mut self, definitions: &Definitions) {
        self.work += definitions.size() as u64;
        let empty = self.checker.take().map_or(0, |checker| checker.empty_elements());
        if self.work > FREE_WORK + self.found.content * WORK_PER_BYTE {
            return;
        }
        let Ok(classes) = definitions.classes(&self.limits) else { return };
        self.defined = definitions.count();
        let mut checker = Checker::new(Stored::new(classes), &self.limits);
        checker.count_empty_elements_from(empty);
        self.checker = Some(checker);
    }
}

/// Checks a record in the second pass, when all classes and objects are known. Returns the number of its references.
fn check(
    record: &RecordLocation,
    block: &StreamBlock<'_>,
    ids: &SavedIds,
    checker: &mut Checker<Stored>,
) -> Result<u64> {
    let mut wrong = None;
    let class = record.class as usize;
    let mut visit = |value: LocalValue<'_>| {
        let LocalValue::Reference { id, weak, class, holder } = value else { return true };
        let is_right = match ids.get(id) {
            Some((found, in_holder)) => {
                in_holder == holder && class.is_none_or(|class| class == found as usize)
            }
            None => weak,
        };
        if !is_right {
            wrong = Some(((holder, weak, class), id));
        }
        is_right
    };
    let result = checker.check(class, record.payload(block.content), &mut visit);
    let mut error = match result {
        Ok(references) => return Ok(references),
        Err(error) => error,
    };
    let stored = checker.stored();
    if let Some((pointer, id)) = wrong {
        let found = ids.get(id).map(|(class, holder)| (holder, class as usize));
        if let Err(wrong) = stored.check_reference(pointer, ObjectId::new(id), found) {
            let at = error.offset().unwrap_or_default();
            error = wrong.in_field(error.field().unwrap_or_default()).at(at);
        }
    }
    let offset = record.start as u64 + error.offset().unwrap_or_default();
    let place = block.place(offset);
    Err(error.moved_to(place).in_object(record.id).in_class(&*stored[class].name))
}

#[cold]
fn duplicate(id: u64) -> Error {
    error!(ErrorKind::DuplicateId, "two records have this id; restore a backup").in_object(id)
}

/// The classes and holders of the objects of a save, by id.
///
/// It takes 4 bytes for each id from 1 to the number of objects, and 12 bytes for each object with a greater id.
struct SavedIds {
    /// The bits of a [`KnownObject`] for each id from 1 on. They are plain numbers, so that `vec![0; n]` gets zeroed
    /// pages from the system and unused ids take no memory.
    near: Vec<u32>,
    /// Objects with greater ids, each id in two halves.
    far: Vec<([u32; 2], KnownObject)>,
    /// True if the far ids are in ascending order, which is the order that a world is written in.
    is_sorted: bool,
    /// True if some reference is wrong, or may be.
    has_doubt: bool,
    /// References that are not checked yet. They are checked in batches: in a large save each check is a cache miss,
    /// and the processor can wait for several misses at once. Single checks took 70 % of the time.
    waiting: Vec<(u64, KnownObject)>,
    /// Combines the words that a batch loads ahead, so that the compiler does not remove the loads.
    touched: u32,
}

/// The number of references that are checked in a batch.
const TOGETHER: usize = 64;

/// The class and the holder of an object. For an object that has not been read yet, they are taken from the references
/// to it. All bits are 0 if nothing is known.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KnownObject(u32);

impl KnownObject {
    const KNOWN: u32 = 1 << 31;
    /// A strong reference leads to the object, so it must exist.
    const REQUIRED: u32 = 1 << 30;
    const HOLDER: u32 = 26;
    /// The class number for any class, greater than the number of classes.
    const ANY: u32 = (1 << Self::HOLDER) - 1;

    fn new(flag: u32, class: u32, holder: Holder) -> Self {
        // The pointer is 0 to 2 and the cell 0 to 6, packed into 4 bits. The result is never 0, which means unknown.
        let (pointer, cell) = (u32::from(holder.code() >> 4), u32::from(holder.code() & 7));
        let holder = if pointer == 0 { 15 } else { (pointer - 1) * 7 + cell + 1 };
        Self(flag | holder << Self::HOLDER | class)
    }

    fn is_known(self) -> bool {
        self.0 & Self::KNOWN != 0
    }

    fn class(self) -> u32 {
        self.0 & Self::ANY
    }

    fn holder(self) -> Holder {
        let code = (self.0 >> Self::HOLDER & 15).saturating_sub(1);
        let code = if code == 14 { 0 } else { ((code / 7 + 1) << 4) | (code % 7) };
        u8::try_from(code).ok().and_then(Holder::from_code).unwrap_or(Holder::VALUE)
    }

    /// Returns true if both agree on the holder and, where both know it, the class.
    fn agrees(self, other: Self) -> bool {
        let (class, other_class) = (self.class(), other.class());
        self.holder() == other.holder()
            && (class == other_class || class == Self::ANY || other_class == Self::ANY)
    }
}

impl SavedIds {
    /// Creates a table for about this many objects.
    fn new(objects: u64) -> Self {
        let near = usize::try_from(objects).unwrap_or(0);
        Self {
            near: vec![0; near],
            far: Vec::new(),
            is_sorted: true,
            has_doubt: false,
            waiting: Vec::with_capacity(TOGETHER),
            touched: 0,
        }
    }

    /// Adds an object. Returns false if another object is known to have its id; [`sort`](Self::sort) finds the others.
    fn insert(&mut self, id: u64, class: u32, holder: Holder) -> bool {
        let object = KnownObject::new(KnownObject::KNOWN, class, holder);
        match self.near_mut(id) {
            Some(place) => {
                let previous = KnownObject(std::mem::replace(place, object.0));
                self.has_doubt |= previous.0 != 0 && !previous.agrees(object);
                !previous.is_known()
            }
            None => {
                let id = halves(id);
                self.is_sorted &= self.far.last().is_none_or(|(last, _)| *last < id);
                let is_duplicate = self.far.last().is_some_and(|(last, _)| *last == id);
                self.far.push((id, object));
                !is_duplicate
            }
        }
    }

    /// Adds a reference. It is checked against its object, or the object against it once that is added.
    #[inline]
    fn refer(&mut self, id: u64, weak: bool, class: Option<usize>, holder: Holder) {
        let class = class.map_or(Some(KnownObject::ANY), |class| u32::try_from(class).ok());
        // A class number above the maximum has no records.
        let class = class.filter(|class| *class <= KnownObject::ANY).unwrap_or(KnownObject::ANY);
        self.waiting.push((
            id,
            KnownObject::new(if weak { 0 } else { KnownObject::REQUIRED }, class, holder),
        ));
        if self.waiting.len() == TOGETHER {
            self.check();
        }
    }

    /// Checks the waiting references. The first loop loads all their words, so that the cache misses overlap.
    fn check(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for (id, _) in &waiting {
            self.touched ^= self.near_mut(*id).map_or(0, |place| *place);
        }
        waiting.drain(..).for_each(|(id, said)| self.check_one(id, said));
        self.waiting = waiting;
    }

    fn check_one(&mut self, id: u64, said: KnownObject) {
        let Some(place) = self.near_mut(id) else {
            let is_right = match self.get(id) {
                Some((class, holder)) => KnownObject::new(0, class, holder).agrees(said),
                // A null weak reference is right. A reference to another id may lead to an object that comes later.
                None => id == 0 && said.0 & KnownObject::REQUIRED == 0,
            };
            self.has_doubt |= !is_right;
            return;
        };
        let known = KnownObject(*place);
        if known.0 == 0 {
            *place = said.0;
        } else if !known.agrees(said) {
            self.has_doubt = true;
        } else if !known.is_known() {
            let class = known.class().min(said.class());
            let required = (known.0 | said.0) & KnownObject::REQUIRED;
            *place = KnownObject::new(required, class, said.holder()).0;
        }
    }

    #[inline]
    fn near_mut(&mut self, id: u64) -> Option<&mut u32> {
        self.near.get_mut(usize::try_from(id.wrapping_sub(1)).unwrap_or(usize::MAX))
    }

    /// Returns the class and the holder of an object.
    fn get(&self, id: u64) -> Option<(u32, Holder)> {
        let place = usize::try_from(id.wrapping_sub(1)).unwrap_or(usize::MAX);
        let object = match self.near.get(place) {
            Some(object) => Some(KnownObject(*object)),
            None if self.is_sorted => {
                let place = self.far.binary_search_by_key(&halves(id), |(id, _)| *id).ok();
                place.map(|place| self.far[place].1)
            }
            None => None,
        };
        object.filter(|object| object.is_known()).map(|object| (object.class(), object.holder()))
    }

    /// Sorts the far objects once all are known. The error is an id that two objects have.
    fn sort(&mut self) -> Result<(), u64> {
        self.check();
        if !self.is_sorted {
            self.far.sort_unstable_by_key(|(id, _)| *id);
            self.is_sorted = true;
            if let Some(pair) = self.far.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let [high, low] = pair[0].0;
                return Err(u64::from(high) << 32 | u64::from(low));
            }
        }
        Ok(())
    }

    /// Returns true if every reference leads to an object of its class and holder. Call it once all objects are known.
    fn are_sure(&mut self) -> bool {
        self.check();
        let is_missing = |object: &u32| {
            object & (KnownObject::KNOWN | KnownObject::REQUIRED) == KnownObject::REQUIRED
        };
        !self.has_doubt && !self.near.iter().any(is_missing)
    }
}

/// Splits an id into two halves, so that a far entry has an alignment of 4 and takes 12 bytes instead of 16.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn halves(id: u64) -> [u32; 2] {
    [(id >> 32) as u32, id as u32]
}

const _: () = assert!(size_of::<([u32; 2], KnownObject)>() == 12);

#[cfg(test)]
mod tests {
    use super::*;
    use persist::__tools::{Cell, Pointer};

    const RC: Holder = Holder::new(Pointer::Rc, Cell::RefCell);
    const ARC: Holder = Holder::new(Pointer::Arc, Cell::OnceLock);

    #[test]
    fn holders_and_classes_come_back() {
        for pointer in [Pointer::Rc, Pointer::Arc] {
            for cell in [Cell::None, Cell::RefCell, Cell::RwLock, Cell::OnceLock] {
                let object = KnownObject::new(KnownObject::KNOWN, 7, Holder::new(pointer, cell));
                assert_eq!((object.class(), object.holder()), (7, Holder::new(pointer, cell)));
            }
        }
        assert_eq!(KnownObject::new(KnownObject::KNOWN, 0, Holder::VALUE).holder(), Holder::VALUE);
    }

    #[test]
    fn references_to_later_objects_are_checked_when_those_come() {
        let mut ids = SavedIds::new(3);
        ids.refer(2, false, Some(1), RC);
        ids.refer(2, false, None, RC);
        ids.refer(0, true, Some(1), RC);
        assert!(!ids.are_sure());
        assert!(ids.insert(2, 1, RC) && ids.are_sure());
        ids.refer(3, true, Some(1), RC);
        assert!(ids.are_sure(), "a weak reference may lead nowhere");
        assert!(ids.insert(3, 1, ARC) && !ids.are_sure());
    }

    #[test]
    fn ids_beyond_the_count_are_found_too() {
        let mut ids = SavedIds::new(1);
        assert!(ids.insert(1 << 40, 4, ARC) && ids.insert(9, 5, RC));
        assert_eq!(ids.get(9), None);
        assert_eq!(ids.sort(), Ok(()));
        assert_eq!(ids.get(9), Some((5, RC)));
        assert_eq!(ids.get(1 << 40), Some((4, ARC)));
        assert!(ids.insert(9, 5, RC));
        assert_eq!(ids.sort(), Err(9));
    }
}
