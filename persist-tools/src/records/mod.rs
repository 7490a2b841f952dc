//! [`RecordReader`]: a save that is read record by record, in bounded memory.
//!
//! | files | part |
//! | --- | --- |
//! | this file | the records in their order, and single ones by their positions |
//! | `check` | the first pass, which checks all of a save |
//! | `definitions`, `ids`, `pages` | what a pass over the blocks collects: classes, objects and pages by their ids |
//! | `outlines` | the objects of a page without their components |
//! | `changes` | the save written again with new values |

mod changes;
mod check;
mod definitions;
mod ids;
mod outlines;
mod pages;

pub use changes::{ChangedWorld, EncodedValue};
pub use check::{CheckedSave, ClassCount, Verified, verify};
pub use definitions::Definitions;
pub use ids::SavedIds;
pub use outlines::ObjectOutline;
use pages::SavedPages;

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Seek};
use std::num::NonZeroU64;
use std::sync::Arc;

use persist::__tools::{
    BlockReader, ClassSchema, Entry, Item, KindSchema, PageEntry, Reader, RecordLocation, Stored,
    StreamBlock, missing_page, objects_in_page, page_index, put_objects,
};
use persist::reflect::Holder;
use persist::save::{Compression, Header};
use persist::{Error, Limits, ObjectId, Record, Result, Value};

/// A whole save, read record by record.
///
/// Opening it checks all of it, as [`verify`](crate::verify()) does. Its memory is that of [`verify`](crate::verify()),
/// and of one record: the next one, or one that is asked for by its position.
pub struct RecordReader<R> {
    blocks: BlockReader<R>,
    limits: Limits,
    found: Verified,
    stored: Arc<Stored>,
    names: Arc<[Arc<str>]>,
    defined: Vec<usize>,
    compression: Compression,
    counts: Vec<ClassCount>,
    ids: SavedIds,
    pages: SavedPages,
    /// Offsets of the blocks.
    places: Vec<u64>,
    /// The position of each object, once one was asked for by its id.
    index: Option<Positions>,
    /// The block of the next record, its number plus 1, and the number of that record in it.
    block: ReadBlock,
    block_number: usize,
    next: usize,
    /// The offset of the block after it; `None` after the last one.
    after: Option<u64>,
    /// The number of records before the next one.
    number: usize,
    reader: Reader,
    cache: BlockCache,
}

/// The place of a record in a save.
///
/// It is the number of the block, and the offset of the payload in its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u64);

impl Position {
    fn new(block: usize, start: usize) -> Self {
        // The content of a block has a length of 32 bits, and a save of that many blocks is refused.
        Self((block as u64) << 32 | start as u64 & u64::from(u32::MAX))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    fn parts(self) -> (usize, usize) {
        ((self.0 >> 32) as usize, self.0 as u32 as usize)
    }
}

/// A record as it is stored.
#[derive(Clone, Copy)]
pub struct SavedRecord<'b> {
    /// Its id, class and holder.
    pub location: RecordLocation,
    /// Its number, counted from 0.
    pub number: usize,
    /// Its position, by which it is read again.
    pub position: Position,
    /// The bytes of its value.
    pub payload: &'b [u8],
}

impl<R: Read + Seek> RecordReader<R> {
    /// Opens a file that is one save, and checks all of it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`verify`](crate::verify()).
    pub fn open(file: R, limits: &Limits) -> Result<Self> {
        let save = CheckedSave::read(file, limits)?;
        let CheckedSave {
            blocks,
            places,
            classes,
            defined,
            compression,
            counts,
            ids,
            pages,
            found,
        } = save;
        let weight = weight(&found);
        let (stored, after) = (Arc::new(Stored::new(classes)), Some(blocks.first()));
        Ok(Self {
            names: stored.iter().map(|class| (&*class.name).into()).collect(),
            blocks,
            limits: *limits,
            found,
            stored,
            defined,
            compression,
            counts,
            ids,
            pages,
            places,
            index: None,
            block: ReadBlock::default(),
            block_number: 0,
            next: 0,
            after,
            number: 0,
            reader: Reader::new(limits, weight),
            cache: BlockCache::default(),
        })
    }

    /// Returns the header of the save.
    pub fn header(&self) -> &Header {
        &self.found.header
    }

    /// Returns the counts of the save.
    pub fn counts(&self) -> &Verified {
        &self.found
    }

    /// Returns the limits with which the save is read.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the classes that the save defines, in the order of their definitions.
    pub fn classes(&self) -> &[ClassSchema] {
        &self.stored
    }

    /// Returns the number of records before the definition of each class.
    pub fn defined(&self) -> &[usize] {
        &self.defined
    }

    /// Returns the records of each class.
    pub fn by_class(&self) -> &[ClassCount] {
        &self.counts
    }

    /// Returns the compression of the save's blocks. For Zstandard the level is always 3, since a save does not record
    /// it.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Returns the holder and the class of an object; `None` if there is none.
    pub fn kind_of(&self, id: ObjectId) -> Option<(Holder, usize)> {
        self.ids.object(id)
    }

    /// Returns to the first record.
    pub fn rewind(&mut self) {
        self.block = ReadBlock::default();
        (self.block_number, self.next, self.number) = (0, 0, 0);
        self.after = Some(self.blocks.first());
        self.reader = Reader::new(&self.limits, weight(&self.found));
    }

    /// Returns the next record that is no page; `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or has changed since it was opened.
    pub fn next_record(&mut self) -> Result<Option<SavedRecord<'_>>> {
        while self.go_to_next()? {
            if self.record().is_none_or(|record| !record.location.is_page()) {
                return Ok(self.record());
            }
        }
        Ok(None)
    }

    /// Goes to the next record; returns false after the last one.
    fn go_to_next(&mut self) -> Result<bool> {
        while self.next == self.block.records.len() {
            let Some(at) = self.after else { return Ok(false) };
            // In a save without blocks an earlier pass has read the trailer, which is at the same offset.
            if self.blocks.at() != at || self.block_number == 0 {
                self.blocks.go_to(at)?;
            }
            let Ok(block) = self.blocks.next_block()? else {
                self.after = None;
                return Ok(false);
            };
            self.block.read(&block, &self.limits, self.stored.len())?;
            self.block_number += 1;
            (self.next, self.after) = (0, Some(self.blocks.at()));
        }
        (self.next, self.number) = (self.next + 1, self.number + 1);
        Ok(true)
    }

    /// Returns the record that [`next_record`](Self::next_record) returned last; `None` before that.
    pub fn record(&self) -> Option<SavedRecord<'_>> {
        let location = *self.block.records.get(self.next.checked_sub(1)?)?;
        let payload = location.payload(&self.block.content);
        let position = Position::new(self.block_number - 1, location.start);
        Some(SavedRecord { location, number: self.number - 1, position, payload })
    }

    /// Reads the value of the record that [`next_record`](Self::next_record) returned last; `None` before that.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are no value of the class.
    pub fn entry(&mut self) -> Result<Option<Entry>> {
        self.reader.allow(&self.limits, weight(&self.found));
        self.entry_to_keep()
    }

    /// Reads a value like [`entry`](Self::entry), which stays in memory with those before it. All of them together may
    /// take as much memory as one otherwise.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`entry`](Self::entry), and [`ErrorKind::TooLarge`](persist::ErrorKind::TooLarge) if
    /// the values take too much memory.
    pub fn entry_to_keep(&mut self) -> Result<Option<Entry>> {
        let Some(mut entry) = self.head_to_keep()? else { return Ok(None) };
        let mut reader = std::mem::replace(&mut self.reader, Reader::new(&self.limits, 0));
        let put = self.put_pages(&mut entry, &mut reader);
        self.reader = reader;
        put.map(|()| Some(entry))
    }

    /// Reads a value like [`entry`](Self::entry), but leaves the objects of worlds in their pages. A world without its
    /// objects has the index of these pages.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`entry`](Self::entry).
    pub fn head_entry(&mut self) -> Result<Option<Entry>> {
        self.reader.allow(&self.limits, weight(&self.found));
        self.head_to_keep()
    }

    fn head_to_keep(&mut self) -> Result<Option<Entry>> {
        let place = self.next.checked_sub(1).and_then(|last| self.block.records.get(last));
        let Some(location) = place.copied() else { return Ok(None) };
        let classes = (&*self.stored, &*self.names);
        self.block.entry(&location, classes, &mut self.reader, &self.limits).map(Some)
    }

    /// Puts the objects of pages into the worlds of an entry.
    fn put_pages(&mut self, entry: &mut Entry, reader: &mut Reader) -> Result<()> {
        let id = entry.id();
        if entry.is_kept() || !self.has_pages(id) {
            return Ok(());
        }
        let stored = self.stored.clone();
        let mut objects = |page: &PageEntry| self.page_objects_by(id, page, reader).map(Some);
        put_objects(&mut entry.value, &stored, &mut objects).map(drop)
    }

    /// Returns true if the objects of a world in the object with this id lie in pages.
    pub fn has_pages(&self, id: ObjectId) -> bool {
        !self.pages.of(id.get()).is_empty()
    }

    /// Returns the index of the pages of a world that was read without its objects; `None` of any other value.
    pub fn page_index(&self, world: &Record) -> Option<Vec<PageEntry>> {
        page_index(world, &self.stored).filter(|index| !index.is_empty())
    }

    /// Reads the objects of a page of the record with this id.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`entry_at`](Self::entry_at).
    pub fn page_objects(&mut self, id: ObjectId, page: &PageEntry) -> Result<Vec<Value>> {
        // Elements without bytes count for each reader, so that a page may be read any number of times.
        let mut reader = Reader::new(&self.limits, weight(&self.found));
        self.page_objects_by(id, page, &mut reader)
    }

    fn page_objects_by(
        &mut self,
        id: ObjectId,
        page: &PageEntry,
        reader: &mut Reader,
    ) -> Result<Vec<Value>> {
        let (stored, names, limits) = (self.stored.clone(), self.names.clone(), self.limits);
        let (block, location) = self.page_at(id, page)?;
        let page_value = block.entry(&location, (&stored, &names), reader, &limits)?.value;
        objects_in_page(page_value).ok_or_else(|| missing_page(page).in_object(id.get()))
    }

    /// Passes the outlines of the objects of a page to `visit`, without reading their components. Returns false if the
    /// objects have fields of kinds that this version does not know.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`entry_at`](Self::entry_at).
    pub fn page_outlines(
        &mut self,
        id: ObjectId,
        page: &PageEntry,
        visit: &mut dyn FnMut(&ObjectOutline<'_>),
    ) -> Result<bool> {
        let (stored, limits) = (self.stored.clone(), self.limits);
        let (block, location) = self.page_at(id, page)?;
        let of = (&*stored, location.class);
        Ok(ObjectOutline::each(of, location.payload(&block.content), &limits, visit).is_some())
    }

    fn page_at(&mut self, id: ObjectId, page: &PageEntry) -> Result<(&ReadBlock, RecordLocation)> {
        let missing = || missing_page(page).in_object(id.get());
        let place = self.pages.find(id.get(), page.position).map(|page| page.place);
        self.block_at(place.ok_or_else(missing)?)?.ok_or_else(missing)
    }

    /// Reads the record at a position.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or has changed since it was opened.
    pub fn entry_at(&mut self, position: Position) -> Result<Option<Entry>> {
        let Some(mut entry) = self.head_entry_at(position)? else { return Ok(None) };
        let mut reader = Reader::new(&self.limits, weight(&self.found));
        self.put_pages(&mut entry, &mut reader)?;
        Ok(Some(entry))
    }

    /// Reads the record at a position like [`head_entry`](Self::head_entry).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`entry_at`](Self::entry_at).
    pub fn head_entry_at(&mut self, position: Position) -> Result<Option<Entry>> {
        let (weight, limits) = (weight(&self.found), self.limits);
        let classes = (self.stored.clone(), self.names.clone());
        let Some((block, location)) = self.block_at(position)? else { return Ok(None) };
        // Elements without bytes count for each reader, so that a record may be read any number of times.
        let mut reader = Reader::new(&limits, weight);
        block.entry(&location, (&classes.0, &classes.1), &mut reader, &limits).map(Some)
    }

    /// Returns the class of the record at a position, and the bytes of its value.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`entry_at`](Self::entry_at).
    pub fn payload_at(&mut self, position: Position) -> Result<Option<(usize, &[u8])>> {
        let found = self.block_at(position)?;
        Ok(found
            .map(|(block, location)| (location.class as usize, location.payload(&block.content))))
    }

    /// Finds the record at a position, in a block that was read lately or is read now.
    fn block_at(&mut self, position: Position) -> Result<Option<(&ReadBlock, RecordLocation)>> {
        let (number, start) = position.parts();
        let Some(at) = self.places.get(number) else { return Ok(None) };
        let (blocks, limits, classes) = (&mut self.blocks, &self.limits, self.stored.len());
        let block = self.cache.block(number, || {
            let mut read = ReadBlock::default();
            blocks.go_to(*at)?;
            if let Ok(block) = blocks.next_block()? {
                read.read(&block, limits, classes)?;
            }
            Ok(read)
        })?;
        let found = block.records.binary_search_by_key(&start, |record| record.start);
        Ok(found.ok().map(|record| (block, block.records[record])))
    }

    /// Reads the object with this id; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`entry_at`](Self::entry_at).
    pub fn object(&mut self, id: ObjectId) -> Result<Option<(Position, Entry)>> {
        let Some(position) = self.position(id)? else { return Ok(None) };
        Ok(self.entry_at(position)?.map(|entry| (position, entry)))
    }

    /// Returns the position of the object with this id; `None` if there is none. The first call reads the positions of
    /// all objects.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or has changed since it was opened.
    pub fn position(&mut self, id: ObjectId) -> Result<Option<Position>> {
        if self.ids.get(id.get()).is_none() {
            return Ok(None);
        }
        if self.index.is_none() {
            self.index = Some(self.read_index()?);
        }
        Ok(self.index.as_ref().and_then(|index| index.position(id.get())))
    }

    /// Reads the positions of all objects, without a change of the next record.
    fn read_index(&mut self) -> Result<Positions> {
        let mut index = Positions::new(self.found.objects);
        for (number, at) in self.places.iter().enumerate() {
            if self.blocks.at() != *at {
                self.blocks.go_to(*at)?;
            }
            let Ok(block) = self.blocks.next_block()? else { break };
            if block.compression.is_none() {
                break;
            }
            block.items(&self.limits, self.stored.len(), |_, item| {
                if let Item::Record(record) = item
                    && record.is_object()
                {
                    index.insert(record.id, Position::new(number, record.start));
                }
                Ok(())
            })?;
        }
        index.far.sort_unstable_by_key(|(id, _)| *id);
        Ok(index)
    }
}

/// Checks that a reference of a kind leads to an object of its class and holder; `found` are those of the object.
///
/// # Errors
///
/// Returns an error if it does not.
pub fn check_kind(
    stored: &Stored,
    kind: &KindSchema,
    (id, found): (Option<ObjectId>, Option<(Holder, usize)>),
) -> Result<()> {
    match *kind {
        KindSchema::Reference { holder, weak, class } => {
            stored.check_reference((holder, weak, Some(class)), id, found)
        }
        KindSchema::TraitReference { holder, weak, .. } => {
            stored.check_reference((holder, weak, None), id, found)
        }
        _ => Ok(()),
    }
}

/// The positions of the objects, by their ids: 8 bytes for each id from 1 to the number of objects, and 16 bytes for
/// each object with a greater id.
struct Positions {
    near: Vec<Option<NonZeroU64>>,
    far: Vec<(u64, Position)>,
}

impl Positions {
    fn new(objects: u64) -> Self {
        Self { near: vec![None; usize::try_from(objects).unwrap_or(0)], far: Vec::new() }
    }

    fn insert(&mut self, id: u64, position: Position) {
        let place = usize::try_from(id - 1).ok().and_then(|place| self.near.get_mut(place));
        match place {
            // A payload comes after the head of its record, so its offset is not 0.
            Some(place) => *place = NonZeroU64::new(position.0),
            None => self.far.push((id, position)),
        }
    }

    fn position(&self, id: u64) -> Option<Position> {
        let place = usize::try_from(id.checked_sub(1)?).ok()?;
        match self.near.get(place) {
            Some(position) => position.map(|position| Position(position.get())),
            None => {
                let place = self.far.binary_search_by_key(&id, |(id, _)| *id).ok()?;
                Some(self.far[place].1)
            }
        }
    }
}

/// Returns the bytes that a save counts for in limits that are relative to its size: those without compression, at most
/// 16 for each that is stored.
fn weight(found: &Verified) -> u64 {
    found.content.max(found.bytes).min(found.bytes.saturating_mul(16))
}

/// A block and its records.
#[derive(Default)]
struct ReadBlock {
    /// The offset of the first byte of the content in the save, or of a compressed block.
    at: u64,
    is_compressed: bool,
    content: Vec<u8>,
    records: Vec<RecordLocation>,
}

impl ReadBlock {
    fn read(&mut self, block: &StreamBlock<'_>, limits: &Limits, classes: usize) -> Result<()> {
        self.records.clear();
        self.content.clear();
        if block.compression.is_none() {
            return Ok(());
        }
        self.at = block.place(0);
        self.is_compressed = block.compression != Some(Compression::None);
        self.content.extend_from_slice(block.content);
        block.items(limits, classes, |_, item| {
            if let Item::Record(record) = item {
                self.records.push(record);
            }
            Ok(())
        })
    }

    fn entry(
        &self,
        location: &RecordLocation,
        (stored, names): (&Stored, &[Arc<str>]),
        reader: &mut Reader,
        limits: &Limits,
    ) -> Result<Entry> {
        let (class, start) = (location.class as usize, location.start as u64);
        let failed = |error: Error| {
            let offset = start + error.offset().unwrap_or_default();
            let place = if self.is_compressed { self.at } else { self.at + offset };
            error.moved_to(place).in_object(location.id).in_class(&*names[class])
        };
        let payload = location.payload(&self.content);
        let value = reader.payload(stored, class, payload, limits).map_err(failed)?;
        // The items of a block have no other ids.
        let id = ObjectId::new(location.id).unwrap_or(ObjectId::NULL);
        let holder = (location.holder, location.added);
        Ok(Entry::new((id, value), (class, names[class].clone()), holder))
    }

    fn size(&self) -> usize {
        self.content.len() + size_of::<RecordLocation>() * self.records.len()
    }
}

/// Blocks whose records were read by their positions.
#[derive(Default)]
struct BlockCache {
    blocks: HashMap<usize, ReadBlock>,
    /// The blocks in the order in which they were read.
    order: VecDeque<usize>,
    bytes: usize,
}

impl BlockCache {
    const MAX_BYTES: usize = 32 << 20;

    fn block(
        &mut self,
        number: usize,
        read: impl FnOnce() -> Result<ReadBlock>,
    ) -> Result<&ReadBlock> {
        if !self.blocks.contains_key(&number) {
            let block = read()?;
            self.bytes += block.size();
            while self.bytes > Self::MAX_BYTES
                && let Some(first) = self.order.pop_front()
            {
                self.bytes -= self.blocks.remove(&first).map_or(0, |block| block.size());
            }
            self.order.push_back(number);
            self.blocks.insert(number, block);
        }
        Ok(self.blocks.entry(number).or_default())
    }
}
