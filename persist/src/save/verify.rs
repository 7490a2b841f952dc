//! A whole save checked while it is read, without holding it.

use std::io::{Read, Seek};

use crate::format::{BlockReader, Compression, Definitions, Header, RecordLocation, StreamBlock};
use crate::reflect::Holder;
use crate::schema::{Checker, LocalValue, Stored};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

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
        kept: Vec::new(),
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
    for (id, class, place) in &pass.kept {
        let is_present = pass.ids.get(*id).is_some();
        classes[*class as usize].check_kept(*id, is_present).map_err(|error| error.at(*place))?;
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
    /// The records that were kept of objects: their ids, classes and places.
    kept: Vec<(u64, u32, u64)>,
    /// Of the classes that are defined so far, if they are all that these mention.
    checker: Option<Checker<Stored>>,
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
            self.kept.push((record.id, record.class, block.place(record.start as u64)));
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
        let ids = &mut self.ids;
        let mut meet = |met: LocalValue<'_>| {
            if let LocalValue::Reference { id, weak, class, holder } = met {
                ids.refer(id, weak, class, holder);
            }
            true
        };
        // A record that is wrong may be right when all classes are known.
        let class = record.class as usize;
        let found = self.checker.as_mut().map(|checker| checker.check(class, payload, &mut meet));
        match found {
            Some(Ok(references)) => self.found.references += references,
            _ => self.is_sure = false,
        }
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
    checker: &mut Checker<Stored>,
) -> Result<u64> {
    let mut wrong = None;
    let class = record.class as usize;
    let mut meet = |met: LocalValue<'_>| {
        let LocalValue::Reference { id, weak, class, holder } = met else { return true };
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
    let result = checker.check(class, record.payload(block.content), &mut meet);
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
fn twice(id: u64) -> Error {
    error!(ErrorKind::DuplicateId, "two records have this id; restore a backup").in_object(id)
}

/// The classes and holders of the objects of a save, by their ids: 4 bytes for each id from 1 to the number of objects,
/// and 12 for each object with another id.
struct SavedIds {
    /// The bits of an [`KnownObject`] by id, from 1 on: as numbers, so that what is not used takes no memory.
    near: Vec<u32>,
    /// SavedIds beyond those, in two halves.
    far: Vec<([u32; 2], KnownObject)>,
    /// True if the far ids are in ascending order, as they are if the objects of a world were written.
    is_sorted: bool,
    /// True if a reference was met that is wrong, or may be.
    has_doubt: bool,
    /// References that are not checked yet: a few at a time, as each is a miss of the cache in a large save, and the
    /// processor waits for several at once. It was 70 % of the time.
    waiting: Vec<(u64, KnownObject)>,
    /// So that nothing is optimized away.
    touched: u32,
}

/// References that are checked together.
const TOGETHER: usize = 64;

/// The class and the holder of an object; or, if it is not known yet, those that references to it say. All bits 0 if
/// nothing is known.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KnownObject(u32);

impl KnownObject {
    const KNOWN: u32 = 1 << 31;
    /// A strong reference leads to it.
    const WANTED: u32 = 1 << 30;
    const HOLDER: u32 = 26;
    /// Any class; there are fewer classes.
    const ANY: u32 = (1 << Self::HOLDER) - 1;

    fn new(flag: u32, class: u32, holder: Holder) -> Self {
        // The pointer is 0 to 2, the cell 0 to 6. Never 0, so that no object is as if nothing was known.
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

    /// True if what this says of an object and what a reference says is the same, as far as both say something.
    fn agrees(self, other: Self) -> bool {
        let (class, other_class) = (self.class(), other.class());
        self.holder() == other.holder()
            && (class == other_class || class == Self::ANY || other_class == Self::ANY)
    }
}

impl SavedIds {
    /// For about this many objects.
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

    /// Takes an object; false if it is known that another has its id.
    fn insert(&mut self, id: u64, class: u32, holder: Holder) -> bool {
        let object = KnownObject::new(KnownObject::KNOWN, class, holder);
        match self.near_mut(id) {
            Some(place) => {
                let before = KnownObject(std::mem::replace(place, object.0));
                self.has_doubt |= before.0 != 0 && !before.agrees(object);
                !before.is_known()
            }
            None => {
                let id = halves(id);
                self.is_sorted &= self.far.last().is_none_or(|(last, _)| *last < id);
                let is_twice = self.far.last().is_some_and(|(last, _)| *last == id);
                self.far.push((id, object));
                !is_twice
            }
        }
    }

    /// Takes a reference, which is checked now or when its object is known.
    #[inline]
    fn refer(&mut self, id: u64, weak: bool, class: Option<usize>, holder: Holder) {
        let class = class.map_or(Some(KnownObject::ANY), |class| u32::try_from(class).ok());
        // Of classes beyond the most there are no records.
        let class = class.filter(|class| *class <= KnownObject::ANY).unwrap_or(KnownObject::ANY);
        self.waiting.push((
            id,
            KnownObject::new(if weak { 0 } else { KnownObject::WANTED }, class, holder),
        ));
        if self.waiting.len() == TOGETHER {
            self.check();
        }
    }

    /// Checks the references that wait.
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
                // A weak one may lead nowhere; others may be to objects that come later.
                None => id == 0 && said.0 & KnownObject::WANTED == 0,
            };
            self.has_doubt |= !is_right;
            return;
        };
        let before = KnownObject(*place);
        if before.0 == 0 {
            *place = said.0;
        } else if !before.agrees(said) {
            self.has_doubt = true;
        } else if !before.is_known() {
            let class = before.class().min(said.class());
            let wanted = (before.0 | said.0) & KnownObject::WANTED;
            *place = KnownObject::new(wanted, class, said.holder()).0;
        }
    }

    #[inline]
    fn near_mut(&mut self, id: u64) -> Option<&mut u32> {
        self.near.get_mut(usize::try_from(id.wrapping_sub(1)).unwrap_or(usize::MAX))
    }

    /// The class and the holder of an object.
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

    /// Sorts the objects when all are known; an id that two have is an error.
    fn sort(&mut self) -> Result<(), u64> {
        self.check();
        if !self.is_sorted {
            self.far.sort_unstable_by_key(|(id, _)| *id);
            self.is_sorted = true;
            if let Some(twice) = self.far.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let [high, low] = twice[0].0;
                return Err(u64::from(high) << 32 | u64::from(low));
            }
        }
        Ok(())
    }

    /// True if every reference that was taken leads to an object of its class and holder, when all are known.
    fn are_sure(&mut self) -> bool {
        self.check();
        let is_missing = |object: &u32| {
            object & (KnownObject::KNOWN | KnownObject::WANTED) == KnownObject::WANTED
        };
        !self.has_doubt && !self.near.iter().any(is_missing)
    }
}

/// So that 12 bytes are enough.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn halves(id: u64) -> [u32; 2] {
    [(id >> 32) as u32, id as u32]
}

const _: () = assert!(size_of::<([u32; 2], KnownObject)>() == 12);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflect::{Cell, Pointer};

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
