//! [`EncodedValue`]: the new value of a record, with which a save is written again.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek, Write};

use persist::__tools::{
    Checker, EncodedPage, Entry, Env, KindSchema, PageCutter, PageEntry, Reader, RecordLocation,
    RecordWriter, Sealer, Strict, objects_in_page, replace_pages,
};
use persist::codec::Buffer;
use persist::save::{Compression, Header};
use persist::{Error, ObjectId, Result, Value};

use super::{Position, RecordReader, SavedRecord, check_kind, weight};

/// The new value of a record, as it will be stored.
pub struct EncodedValue {
    payload: Vec<u8>,
    /// The number of the last class that must be defined before it.
    highest: u64,
    /// The new pages, by the positions of those that they replace; `None` if the value has all of its objects.
    pages: Option<HashMap<u64, Vec<EncodedPage>>>,
}

/// A world whose objects lie in pages, and its new objects.
pub struct ChangedWorld {
    /// The fields that lead to the world, for messages.
    pub fields: Vec<String>,
    /// The pages of the world.
    pub index: Vec<PageEntry>,
    /// The new objects, by their places among those of the world.
    pub objects: BTreeMap<usize, Value>,
}

impl<R: Read + Seek> RecordReader<R> {
    /// Encodes a new value of an object. The second value is the one that the save will have: its numbers have the
    /// widths of their fields.
    ///
    /// # Errors
    ///
    /// Returns an error, with object, class and field, if the value does not fit the class, refers to an object that
    /// is not in the save, or exceeds a limit.
    pub fn encode(&self, object: Entry) -> Result<(EncodedValue, Value)> {
        let class = object.class_index();
        let in_object = |error: Error| self.in_record(&object, error);
        let check_reference = self.reference_check();
        let mut target = Strict::new(&self.stored, &self.limits, &check_reference);
        target.highest = class as u64 + 1;
        let mut payload = Vec::new();
        target.write(class, &object.value, &mut payload).map_err(in_object)?;
        let highest = target.highest;
        let (id, name) = (object.id().get(), self.names[class].clone());
        // A world is one value: two of them would take twice the memory.
        drop(object);
        let value = self.read_again(class, &payload);
        let value = value.map_err(|error| error.in_object(id).in_class(&*name))?;
        Ok((EncodedValue { payload, highest, pages: None }, value))
    }

    /// Encodes new objects of worlds whose objects lie in pages, with the record without these objects. The pages in
    /// which objects change are cut again, and those after them up to one that ends as before. The new objects become
    /// those that the save will have.
    ///
    /// It returns `None` if the objects of a world may take too few bytes for pages.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`encode`](Self::encode).
    pub fn encode_pages(
        &mut self,
        head: Entry,
        worlds: &mut [ChangedWorld],
    ) -> Result<Option<(EncodedValue, Value)>> {
        let (id, class) = (head.id(), head.class_index());
        let (mut new_pages, mut highest) = (HashMap::new(), 0);
        for world in worlds {
            let in_world = |error: Error| {
                let fields = world.fields.iter().rev();
                let error =
                    fields.fold(error.in_field("objects"), |error, name| error.in_field(name));
                error.in_object(id.get())
            };
            let (pages, needs) = match self.new_pages(id, &world.index, &world.objects) {
                Ok(pages) => pages,
                Err(error) => return Err(in_world(error).in_class(&*self.names[class])),
            };
            if !self.takes_pages(id, &world.index, &pages)? {
                return Ok(None);
            }
            let mut places = 0;
            for entry in &world.index {
                // The pages of a run hold the objects of those that they replace.
                let mut place = places;
                for page in pages.get(&entry.position).into_iter().flatten() {
                    let payload = [&page.head[..], &page.objects[..]].concat();
                    let page_class = self.stored.page_class().unwrap_or_default();
                    let value = self.read_again(page_class, &payload).map_err(in_world)?;
                    for object in objects_in_page(value).unwrap_or_default() {
                        if let Some(new) = world.objects.get_mut(&place) {
                            *new = object;
                        }
                        place += 1;
                    }
                }
                places += entry.objects as usize;
            }
            new_pages.extend(pages);
            highest = needs.max(highest);
        }
        let (mut encoded, value) = self.encode(head)?;
        encoded.pages = Some(new_pages);
        encoded.highest = encoded.highest.max(highest);
        Ok(Some((encoded, value)))
    }

    /// Cuts the objects of changed pages again. Returns the new pages by the positions of the old ones, and the number
    /// of the last class that they need.
    fn new_pages(
        &mut self,
        id: ObjectId,
        index: &[PageEntry],
        objects: &BTreeMap<usize, Value>,
    ) -> Result<(HashMap<u64, Vec<EncodedPage>>, u64)> {
        let (mut pages, mut highest) = (HashMap::new(), 0);
        let (mut place, mut run) = (0, None);
        for (number, entry) in index.iter().enumerate() {
            let places = place..place + entry.objects as usize;
            place = places.end;
            if run.is_none() && objects.range(places.clone()).next().is_none() {
                continue;
            }
            let old = self.page_objects(id, entry)?;
            let check_reference = self.reference_check();
            let mut target = Strict::new(&self.stored, &self.limits, &check_reference);
            let (first, mut cutter) =
                run.take().unwrap_or((entry.position, PageCutter::new(&self.stored, places.start)));
            pages.entry(entry.position).or_insert_with(Vec::new);
            let ended: &mut Vec<EncodedPage> = pages.entry(first).or_default();
            for (place, object) in places.zip(&old) {
                cutter.add(objects.get(&place).unwrap_or(object), &mut target, ended)?;
            }
            match index.get(number + 1) {
                Some(next) if cutter.end_before(next.first, &target, ended) => {}
                Some(_) => run = Some((first, cutter)),
                None => ended.extend(cutter.end(&target)),
            }
            highest = target.highest.max(highest);
        }
        Ok((pages, highest))
    }

    /// Returns true if the objects of a world surely take as many bytes as a world with pages has.
    fn takes_pages(
        &mut self,
        id: ObjectId,
        index: &[PageEntry],
        new: &HashMap<u64, Vec<EncodedPage>>,
    ) -> Result<bool> {
        const MIN_BYTES: usize = 64 << 10;
        let mut bytes: usize = new.values().flatten().map(|page| page.objects.len()).sum();
        // The list of classes of a page, with both counts.
        let head = 8 * self.stored.len() + 18;
        for entry in index.iter().filter(|entry| !new.contains_key(&entry.position)) {
            if bytes >= MIN_BYTES {
                break;
            }
            let (block, location) = self.page_at(id, entry)?;
            bytes += location.payload(&block.content).len().saturating_sub(head);
        }
        Ok(bytes >= MIN_BYTES)
    }

    /// Checks a payload that was written, and reads it again. The check finds any fault that writing did not.
    fn read_again(&self, class: usize, payload: &[u8]) -> Result<Value> {
        Checker::new(&*self.stored, &self.limits).check(class, payload, &mut |_| true)?;
        Reader::new(&self.limits, weight(&self.found)).payload(
            &self.stored,
            class,
            payload,
            &self.limits,
        )
    }

    fn reference_check(&self) -> impl Fn(&KindSchema, Option<ObjectId>) -> Result<()> {
        |kind, id| check_kind(&self.stored, kind, (id, id.and_then(|id| self.kind_of(id))))
    }

    fn in_record(&self, object: &Entry, error: Error) -> Error {
        error.in_object(object.id().get()).in_class(&*self.names[object.class_index()])
    }

    /// Writes the save again, with this header and compression, and with new values for some records. An unchanged save
    /// is written with the same bytes, unless it was compressed by Zstandard at a level other than 3.
    ///
    /// # Errors
    ///
    /// Returns an error if the save cannot be read or written.
    pub fn write(
        &mut self,
        out: &mut dyn Write,
        (header, compression): (&Header, Compression),
        changed: &HashMap<Position, EncodedValue>,
    ) -> Result<()> {
        let mut changed_ids = HashMap::new();
        for (position, new) in changed {
            let found = self.block_at(*position)?.map(|(_, location)| location);
            changed_ids.extend(found.filter(RecordLocation::is_object).map(|it| (it.id, new)));
        }
        self.rewind();
        let (limits, stored, preceding) = (self.limits, self.stored.clone(), self.defined.clone());
        let (mut buffer, weight) = (Buffer::new(), weight(&self.found));
        let mut sealer = Sealer::new(out, compression, &limits);
        let env = Env::bare(&limits);
        let classes = (&*stored, &preceding[..]);
        let mut writer = RecordWriter::new(&mut sealer, header, classes, (&env, &mut buffer))?;
        let any = |_: &KindSchema, _: Option<ObjectId>| Ok(());
        let mut target = Strict::new(&stored, &limits, &any);
        // The pages of the next record, by their old positions.
        let mut pages: HashMap<u64, Vec<PageEntry>> = HashMap::new();
        while self.go_to_next()? {
            let Some(SavedRecord { location, position, payload, .. }) = self.record() else {
                break;
            };
            let RecordLocation { id, class, holder, added, .. } = location;
            if location.is_page() {
                let new = changed_ids.get(&id);
                let Some(entry) = self.pages.at(id, position) else { continue };
                let new = match new.map(|new| (&new.pages, new.highest)) {
                    Some((None, _)) => continue,
                    Some((Some(new), highest)) => new.get(&entry.position).map(|it| (it, highest)),
                    None => None,
                };
                let written = match new {
                    Some((new, highest)) => {
                        let written = new.iter().map(|page| {
                            writer.page(id, page.entry, [&page.head, &page.objects], highest)
                        });
                        written.collect::<Result<_>>()?
                    }
                    None => vec![writer.page(id, entry, [payload, &[]], 0)?],
                };
                pages.insert(entry.position, written);
                continue;
            }
            let head = (class as usize, holder, added, id);
            let read = |payload: &[u8]| {
                Reader::new(&limits, weight).payload(&stored, class as usize, payload, &limits)
            };
            let new = changed.get(&position);
            let (payload, highest) = new.map_or((payload, 0), |new| (&new.payload, new.highest));
            let is_whole = new.is_some_and(|new| new.pages.is_none());
            if is_whole && stored.page_class().is_some() {
                // Its worlds may be large enough for pages.
                writer.value(head, &read(payload)?, &mut target)?;
            } else if pages
                .iter()
                .all(|(at, new)| matches!(&new[..], [page] if page.position == *at))
                && new.is_none()
            {
                writer.payload(head, payload, highest)?;
            } else {
                let mut value = read(payload)?;
                let now = |page: &PageEntry| pages.get(&page.position).cloned().unwrap_or_default();
                replace_pages(&mut value, &stored, &now)?;
                let mut payload = Vec::new();
                target.write(head.0, &value, &mut payload)?;
                writer.payload(head, &payload, highest)?;
            }
            pages.clear();
        }
        writer.finish()
    }
}
