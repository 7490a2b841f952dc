//! [`RecordWriter`]: writes the records of a save from their values.

use crate::codec::Buffer;
use crate::codec::pages::{LEAST_PAGED, PageEntry};
use crate::env::Env;
use crate::format::{Header, Sealer, Writer, WrittenPage};
use crate::reflect::Holder;
use crate::schema::{EncodedPage, PageCutter, Stored, Strict, has_worlds, without_objects};
use crate::{Error, Result, Value};

/// Writes the records of a save, each after the definitions that it needs, and the pages of large worlds.
pub struct RecordWriter<'w, 's> {
    writer: Writer<'w, 's>,
    stored: &'w Stored,
    /// The number of records before the definition of each class.
    preceding: &'w [usize],
    /// The number of classes that are defined, and of the records so far.
    defined: usize,
    records: usize,
    /// The position of the first page since the last record, and the pages since then.
    first: Option<u64>,
    written: Vec<PageEntry>,
    payload: Vec<u8>,
}

/// The objects of a world that are written one after another. They are in pages once they take enough bytes.
pub struct WrittenObjects {
    cutter: PageCutter,
    /// The pages that are not written yet.
    held: Vec<EncodedPage>,
    bytes: usize,
    /// The index of the pages so far; it is empty as long as the objects are not in pages.
    pub index: Vec<PageEntry>,
}

impl WrittenObjects {
    /// Creates a list for a world in a save that defines the class of pages.
    pub fn new(stored: &Stored) -> Self {
        Self { cutter: PageCutter::new(stored, 0), held: Vec::new(), bytes: 0, index: Vec::new() }
    }
}

/// The head of a record: its class, the holder of the object, whether the program added it, and its id.
pub type RecordHead = (usize, Holder, bool, u64);

impl<'w, 's> RecordWriter<'w, 's> {
    /// Writes the header. `preceding` is the number of records before the definition of each class.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn new(
        out: &'w mut Sealer<'s>,
        header: &Header,
        (stored, preceding): (&'w Stored, &'w [usize]),
        (env, buffer): (&'w Env<'w>, &'w mut Buffer),
    ) -> Result<Self> {
        let writer = Writer::new(out, header, env, buffer)?;
        Ok(Self {
            writer,
            stored,
            preceding,
            defined: 0,
            records: 0,
            first: None,
            written: Vec::new(),
            payload: Vec::new(),
        })
    }

    /// Writes the definitions that stand before the next record, and those up to a class that it needs.
    fn define(&mut self, highest: u64) -> Result<()> {
        while self.defined < self.stored.len() {
            let is_due = self.preceding.get(self.defined).is_none_or(|it| *it <= self.records);
            if !is_due && self.defined as u64 >= highest {
                break;
            }
            self.writer.definition(&self.stored[self.defined])?;
            self.defined += 1;
        }
        Ok(())
    }

    /// Counts a record that is not in the save any more.
    pub fn skip(&mut self) {
        self.records += 1;
    }

    /// Writes a value as a record, after the pages of the worlds in it. A world may have the index of an [`WrittenObjects`]
    /// that was ended since the last record.
    ///
    /// # Errors
    ///
    /// Returns an error, with object, class and field, if the value does not fit its class, or exceeds a limit.
    pub fn value(
        &mut self,
        head: RecordHead,
        value: &Value,
        target: &mut Strict<'_>,
    ) -> Result<()> {
        let (class, holder, added, id) = head;
        let stored = self.stored;
        let in_object = |error: Error| error.in_object(id).in_class(&*stored[class].name);
        target.highest = target.highest.max(class as u64 + 1);
        // Only a value that may have pages is copied, without the objects in them.
        let mut copy = None;
        if (added || holder != Holder::VALUE) && has_worlds(value, stored) {
            let mut write = |objects: &[Value], index: Vec<PageEntry>| {
                let place =
                    |it: &PageEntry| self.written.partition_point(|of| of.position < it.position);
                let is_written = |it: &PageEntry| self.written.get(place(it)) == Some(it);
                if objects.is_empty() && index.iter().all(is_written) {
                    return Ok(index);
                }
                let mut list = WrittenObjects::new(stored);
                for object in objects.iter().map(Some).chain([None]) {
                    self.object(&mut list, id, object, target)?;
                }
                Ok(list.index)
            };
            copy = Some(without_objects(value, stored, &mut write).map_err(in_object)?);
        }
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        target.write(class, copy.as_ref().unwrap_or(value), &mut payload).map_err(in_object)?;
        let written = self.payload(head, &payload, target.highest);
        self.payload = payload;
        written
    }

    /// Writes the next object of a world in the record with this id, which follows; `None` ends the list.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`value`](Self::value).
    pub fn object(
        &mut self,
        list: &mut WrittenObjects,
        id: u64,
        object: Option<&Value>,
        target: &mut Strict<'_>,
    ) -> Result<()> {
        let held = list.held.len();
        match object.map(|object| list.cutter.add(object, target, &mut list.held)) {
            Some(added) => added.map_err(|error| error.in_field("objects"))?,
            None => list.held.extend(list.cutter.end(target)),
        }
        list.bytes += list.held[held..].iter().map(|page| page.objects.len()).sum::<usize>();
        if list.bytes >= LEAST_PAGED {
            for EncodedPage { entry, head, objects } in list.held.drain(..) {
                list.index.push(self.page(id, entry, [&head, &objects], target.highest)?);
            }
        }
        Ok(())
    }

    /// Writes a page of the record with this id, which follows. The page needs the classes up to a number.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn page(
        &mut self,
        id: u64,
        entry: PageEntry,
        payload: [&[u8]; 2],
        highest: u64,
    ) -> Result<PageEntry> {
        let number = self.stored.page_class().map_or(0, |page| page as u64 + 1);
        self.define(highest.max(number))?;
        self.records += 1;
        let WrittenPage { position, digest, .. } = self.writer.page(number, id, payload)?;
        let position = position - *self.first.get_or_insert(position);
        self.written.push(PageEntry { position, digest, ..entry });
        Ok(PageEntry { position, digest, ..entry })
    }

    /// Writes a record whose value is encoded, and needs the classes up to the number `highest`.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn payload(
        &mut self,
        (class, holder, added, id): RecordHead,
        payload: &[u8],
        highest: u64,
    ) -> Result<()> {
        self.define(highest)?;
        self.records += 1;
        self.first = None;
        self.written.clear();
        self.writer
            .payload(class as u64 + 1, (holder, added), id, payload)
            .map_err(|error| error.in_object(id).in_class(&*self.stored[class].name))
    }

    /// Writes the definitions that are left, and the end of the save.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.define(u64::MAX)?;
        self.writer.finish(0)
    }
}
