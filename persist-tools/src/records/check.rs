//! [`verify`]: checks a whole save block by block, without holding it in memory.

use std::io::{Read, Seek};

use persist::__tools::{
    BlockReader, Checker, ClassSchema, Item, LocalValue, PageEntry, RecordLocation, Stored,
    StreamBlock, missing_page, page_fault,
};
use persist::save::{Compression, Header};
use persist::{Error, ErrorKind, Limits, ObjectId, Result};

use super::definitions::Definitions;
use super::ids::SavedIds;
use super::pages::SavedPages;

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
    /// The number of pages, which hold the objects of large worlds.
    pub pages: u64,
    /// The number of objects in worlds.
    pub world_objects: u64,
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
    CheckedSave::read(file, limits).map(|save| save.found)
}

/// A save that was checked whole, and what a reader of its records knows from that.
pub struct CheckedSave<R> {
    /// The save, from which nothing more is to be checked.
    pub blocks: BlockReader<R>,
    /// The offset of each block.
    pub places: Vec<u64>,
    /// The classes in the order of their definitions.
    pub classes: Vec<ClassSchema>,
    /// The number of records before the definition of each class.
    pub defined: Vec<usize>,
    /// The compression of the first compressed block.
    pub compression: Compression,
    /// The records of each class.
    pub counts: Vec<ClassCount>,
    /// The objects by their ids.
    pub ids: SavedIds,
    /// The pages of worlds.
    pub pages: SavedPages,
    /// The counts of the check.
    pub found: Verified,
}

/// The records of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCount {
    /// The number of records, of objects and of unknown content.
    pub records: u64,
    /// The bytes of their values, before compression. Pages count, too.
    pub bytes: u64,
    /// The number of values in other records: of objects of worlds, and of trait objects such as components.
    pub values: u64,
}

impl ClassCount {
    fn add(&mut self, payload: &[u8], is_page: bool) {
        self.records += u64::from(!is_page);
        self.bytes += payload.len() as u64;
    }
}

impl<R: Read + Seek> CheckedSave<R> {
    /// Checks a whole save, as [`verify`] describes.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`verify`].
    pub fn read(file: R, limits: &Limits) -> Result<Self> {
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
            compression: Compression::None,
            counts: Vec::new(),
            places: Vec::new(),
            plain: 0,
            block: 0,
            pages: SavedPages::default(),
            inside: Inside::default(),
            values: ValueCounts::default(),
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
            blocks.rewind()?;
            return Err(locate_duplicate(id, &mut blocks, &classes, limits)?);
        }
        for (id, class, place) in &pass.unknown {
            let is_present = pass.ids.get(*id).is_some();
            classes[*class as usize]
                .check_unknown(*id, is_present)
                .map_err(|error| error.at(*place))?;
        }
        let is_sure = pass.is_sure && pass.ids.are_sure();
        let FirstPass {
            ids,
            mut pages,
            mut values,
            mut found,
            compression,
            mut counts,
            places,
            ..
        } = pass;
        counts.resize(classes.len(), ClassCount::default());
        let defined = definitions.preceding();
        let mut checker = Checker::new(Stored::new(classes.clone()), limits);
        if is_sure {
            pages.check(checker.stored())?;
            values.put(&mut found, &mut counts);
            return Ok(Self {
                blocks,
                places,
                classes,
                defined,
                compression,
                counts,
                ids,
                pages,
                found,
            });
        }
        found.references = 0;
        pages.forget_names();
        values = ValueCounts::default();
        blocks.rewind()?;
        let mut definitions = Definitions::default();
        while let Ok(block) = blocks.next_block()? {
            definitions.items(&block, limits, |_, record| {
                found.references +=
                    check(&record, &block, (&ids, &mut pages, &mut values), &mut checker)?;
                Ok(())
            })?;
        }
        pages.check(checker.stored())?;
        values.put(&mut found, &mut counts);
        Ok(Self { blocks, places, classes, defined, compression, counts, ids, pages, found })
    }
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
    compression: Compression,
    /// The records of each class so far; classes without records may be missing at the end.
    counts: Vec<ClassCount>,
    places: Vec<u64>,
    /// The position of the block without compression, and its length.
    plain: u64,
    block: u64,
    pages: SavedPages,
    /// The contents of the record that is being checked.
    inside: Inside,
    values: ValueCounts,
    found: Verified,
}

/// The indexes and values that are found inside of a record.
#[derive(Default)]
struct Inside {
    /// The indexes of pages.
    index: Vec<PageEntry>,
    /// The classes of trait objects, and the number of objects of worlds.
    classes: Vec<u32>,
    objects: u64,
    /// True if there is any of these.
    is_used: bool,
}

/// The numbers of values inside of records: of each class, and of objects of worlds.
#[derive(Default)]
struct ValueCounts {
    by_class: Vec<u64>,
    objects: u64,
}

impl ValueCounts {
    fn put(&self, found: &mut Verified, counts: &mut [ClassCount]) {
        found.world_objects = self.objects;
        counts.iter_mut().zip(&self.by_class).for_each(|(count, values)| count.values = *values);
    }
}

impl Inside {
    /// Forgets the last record. Most have nothing of this.
    fn clear(&mut self) {
        if self.is_used {
            self.index.clear();
            self.classes.clear();
            (self.objects, self.is_used) = (0, false);
        }
    }

    #[inline(never)]
    fn visit(&mut self, value: LocalValue<'_>) {
        self.is_used = true;
        match value {
            LocalValue::Pages(entries) => self.index.extend_from_slice(entries),
            LocalValue::Objects(count) => self.objects += count,
            LocalValue::Class(class) => self.classes.extend(u32::try_from(class)),
            LocalValue::Again => self.clear(),
            LocalValue::Handle { .. } | LocalValue::Reference { .. } => {}
        }
    }

    /// Checks the indexes of a record that is right otherwise, and counts its values. A page and what was kept have no
    /// indexes with entries.
    fn end(
        &self,
        record: &RecordLocation,
        block: &StreamBlock<'_>,
        pages: &mut SavedPages,
        values: &mut ValueCounts,
    ) -> Result<()> {
        values.objects += self.objects;
        for class in &self.classes {
            let class = *class as usize;
            if values.by_class.len() <= class {
                values.by_class.resize(class + 1, 0);
            }
            values.by_class[class] += 1;
        }
        let Some(first) = self.index.first() else { return Ok(()) };
        let at = block.place(record.start as u64);
        match record.is_object() {
            true => pages.name(record.id, &self.index, at),
            false => Err(missing_page(first).at(at).in_object(record.id)),
        }
    }
}

/// The budget for reading definitions: a constant, and an amount for each byte of the save so far. All definitions are
/// read again when a new one appears, so a hostile save that defines a class between any two records would take
/// quadratic time.
const FREE_WORK: u64 = 1 << 20;
const WORK_PER_BYTE: u64 = 4;

impl FirstPass {
    fn count(&mut self, block: &StreamBlock<'_>) {
        let compression = block.compression.filter(|it| *it != Compression::None);
        if let (Compression::None, Some(compression)) = (self.compression, compression) {
            self.compression = compression;
        }
        let is_compressed = compression.is_some();
        self.places.push(block.at);
        self.plain += std::mem::replace(&mut self.block, block.plain_length());
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
        let class = record.class as usize;
        match self.counts.get_mut(class) {
            Some(count) => count.add(payload, record.is_page()),
            None => self.first_of_class(class, payload, record.is_page()),
        }
        if record.is_page() {
            self.page(record, block)?;
        } else if record.is_kept() {
            self.found.kept += 1;
            self.unknown.push((record.id, record.class, block.place(record.start as u64)));
        } else {
            self.found.objects += 1;
            if !self.ids.insert(record.id, record.class, record.holder) {
                let error = duplicate(record.id).at(block.place(record.start as u64));
                return Err(match definitions.classes(&self.limits) {
                    Ok(classes) => error.in_class(&*classes[class].name),
                    Err(_) => error,
                });
            }
        }
        if !self.is_sure {
            return Ok(());
        }
        if self.defined != definitions.count() {
            self.define(definitions);
        }
        let (ids, found) = (&mut self.ids, &mut self.inside);
        found.clear();
        let mut visit = |value: LocalValue<'_>| {
            if let LocalValue::Reference { id, weak, class, holder } = value {
                ids.refer(id, weak, class, holder);
            } else {
                found.visit(value);
            }
            true
        };
        // A record that seems wrong now may be right once all classes are known.
        let checker = self.checker.as_mut();
        match checker.map(|checker| checker.check(class, payload, &mut visit)) {
            Some(Ok(references)) => {
                self.found.references += references;
                if self.inside.is_used {
                    let (pages, values) = (&mut self.pages, &mut self.values);
                    self.is_sure &= self.inside.end(record, block, pages, values).is_ok();
                }
            }
            _ => self.is_sure = false,
        }
        Ok(())
    }

    /// Counts a page.
    fn page(&mut self, record: &RecordLocation, block: &StreamBlock<'_>) -> Result<()> {
        self.found.pages += 1;
        if self.ids.get(record.id).is_some() {
            let at = block.place(record.start as u64);
            let what = "is of another class, or stands after that object";
            return Err(page_fault(record.id, what).at(at));
        }
        let number = self.places.len() - 1;
        self.pages.add(record, block, (number, self.plain))
    }

    /// Counts a record of a class that had none.
    #[cold]
    fn first_of_class(&mut self, class: usize, payload: &[u8], is_page: bool) {
        self.counts.resize(class + 1, ClassCount::default());
        self.counts[class].add(payload, is_page);
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
    (ids, pages, values): (&SavedIds, &mut SavedPages, &mut ValueCounts),
    checker: &mut Checker<Stored>,
) -> Result<u64> {
    if record.is_page() {
        pages.see(record.id, block.place(record.start as u64));
    }
    let (mut wrong, mut inside) = (None, Inside::default());
    let class = record.class as usize;
    let mut visit = |value: LocalValue<'_>| {
        inside.visit(value);
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
        Ok(references) => {
            inside
                .end(record, block, pages, values)
                .map_err(|error| error.in_class(&*checker.stored()[class].name))?;
            return Ok(references);
        }
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

/// Returns the error for two records with one id, with the place of the second one.
#[cold]
fn locate_duplicate(
    id: u64,
    blocks: &mut BlockReader<impl Read + Seek>,
    classes: &[ClassSchema],
    limits: &Limits,
) -> Result<Error> {
    let (mut error, mut count) = (duplicate(id), 0);
    while let Ok(block) = blocks.next_block()? {
        if block.compression.is_none() {
            break;
        }
        block.items(limits, classes.len(), |_, item| {
            if let Item::Record(record) = item
                && record.id == id
                && record.is_object()
            {
                count += 1;
                if count == 2 {
                    let place = block.place(record.start as u64);
                    let class = &classes[record.class as usize].name;
                    error = duplicate(id).at(place).in_class(&**class);
                }
            }
            Ok(())
        })?;
    }
    Ok(error)
}

#[cold]
fn duplicate(id: u64) -> Error {
    error!(ErrorKind::DuplicateId, "two records have this id; restore a backup").in_object(id)
}
