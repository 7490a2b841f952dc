//! [`RecordWriter`]: writes the records of a save from their values.

use std::borrow::Cow;

use crate::codec::Buffer;
use crate::env::Env;
use crate::format::{Header, RecordLocation, Sealer, Writer, WrittenPage};
use crate::reflect::Holder;
use crate::schema::{EncodedPage, KindSchema, Stored, Strict, move_pages, take_objects};
use crate::{Error, Limits, ObjectId, Result, Value};

/// Writes the records of a save, each after the definitions that it needs, and the pages of large worlds.
pub struct RecordWriter<'w, 's> {
    writer: Writer<'w, 's>,
    stored: &'w Stored,
    /// The number of records before the definition of each class.
    preceding: &'w [usize],
    /// The number of classes that are defined, and of the records so far.
    defined: usize,
    records: usize,
    /// The pages that were copied since the last record: their positions in the save that they come from, and here.
    copied: Vec<(u64, u64)>,
    payload: Vec<u8>,
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
            copied: Vec::new(),
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

    /// Writes a value as a record, after the pages of the worlds in it.
    ///
    /// # Errors
    ///
    /// Returns an error, with object, class and field, if the value does not fit its class, or exceeds a limit.
    pub fn value(
        &mut self,
        head: RecordHead,
        value: Cow<'_, Value>,
        target: &mut Strict<'_>,
    ) -> Result<()> {
        let (class, holder, added, id) = head;
        let stored = self.stored;
        let in_object = |error: Error| error.in_object(id).in_class(&*stored[class].name);
        let number = class as u64 + 1;
        target.highest = number;
        let mut first = None;
        let page = stored.page_class().map_or(0, |page| page as u64 + 1);
        let mut write = |encoded: &EncodedPage, highest: u64| {
            self.define(highest.max(page))?;
            self.records += 1;
            let parts = [&encoded.head[..], &encoded.objects[..]];
            let WrittenPage { position, digest, .. } = self.writer.page(page, id, parts)?;
            Ok((position - *first.get_or_insert(position), digest))
        };
        // Only a value that may have pages is changed.
        let mut value = value;
        let is_object = added || holder != Holder::VALUE;
        if is_object && stored.page_class().is_some() {
            take_objects(value.to_mut(), stored, target, &mut write).map_err(in_object)?;
        }
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        target.write(class, &value, &mut payload).map_err(in_object)?;
        let written = self.payload(head, &payload, target.highest);
        self.payload = payload;
        written
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
        self.copied.clear();
        self.writer
            .payload(class as u64 + 1, (holder, added), id, payload)
            .map_err(|error| error.in_object(id).in_class(&*self.stored[class].name))
    }

    /// Copies a page, which was at this position among the pages of its record. The record follows, by
    /// [`copied`](Self::copied).
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the output cannot be written.
    pub fn copy_page(&mut self, page: &RecordLocation, at: u64, payload: &[u8]) -> Result<()> {
        self.define(0)?;
        self.records += 1;
        let number = u64::from(page.class) + 1;
        let position = self.writer.page(number, page.id, [payload, &[]])?.position;
        self.copied.push((at, position));
        Ok(())
    }

    /// Writes a record whose pages were copied. `read` reads its value, if the pages have other positions now.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`value`](Self::value), and those of `read`.
    pub fn copied(
        &mut self,
        head: RecordHead,
        payload: &[u8],
        read: impl FnOnce() -> Result<Value>,
        limits: &Limits,
    ) -> Result<()> {
        let first = self.copied.first().map_or(0, |(_, position)| *position);
        if self.copied.iter().all(|(at, position)| *at == position - first) {
            return self.payload(head, payload, 0);
        }
        let mut value = read()?;
        let moved = std::mem::take(&mut self.copied);
        let position = |at: u64| {
            let place = moved.binary_search_by_key(&at, |(at, _)| *at).ok()?;
            Some(moved[place].1 - first)
        };
        move_pages(&mut value, self.stored, &position)?;
        let any = |_: &KindSchema, _: Option<ObjectId>| Ok(());
        let mut encoded = Vec::new();
        Strict::new(self.stored, limits, &any).write(head.0, &value, &mut encoded)?;
        self.payload(head, &encoded, 0)
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
