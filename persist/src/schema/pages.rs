//! The pages of a save as values: the objects of a page in the value that they belong to, and out of it.

use super::page_classes::PageClasses;
use super::stored::PagedClass;
use super::walk::Strict;
use super::{KindSchema, Stored};
use crate::codec::pages::{PageCut, PageEntry};
use crate::codec::{Decoder, NoLinks, count};
use crate::env::Env;
use crate::value::{Record, Value};
use crate::{Error, ErrorKind, Result};

/// Returns the error for an entry of an index that is not that of a page.
#[cold]
pub fn missing_page(entry: &PageEntry) -> Error {
    let PageEntry { first, .. } = entry;
    error!(
        ErrorKind::Damaged,
        "the page of the objects from {first} on is not where the index has it, or is another one; the save was written wrongly or is malicious, restore a backup"
    )
}

/// Returns the id of the first object in the payload of a page, and the number of its objects; `None` if the bytes are
/// no page with objects.
pub fn page_head(payload: &[u8]) -> Option<(u64, u32)> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(payload, &Env::DEFAULT, &mut links);
    let classes = input.count().ok()?;
    input.take(classes.checked_mul(size_of::<u64>())?).ok()?;
    let objects = u32::try_from(input.count().ok()?).ok().filter(|objects| *objects > 0)?;
    Some((count::decode(&mut input).ok()?, objects))
}

/// A page that is encoded.
pub struct EncodedPage {
    /// The entry, whose position and digest are not known yet.
    pub entry: PageEntry,
    /// The list of classes, and the number of objects.
    pub head: Vec<u8>,
    /// The objects.
    pub objects: Vec<u8>,
}

/// Cuts the objects of a world into pages, one object after another.
#[derive(Default)]
pub struct PageCutter {
    /// The node of the objects.
    node: usize,
    entry: PageEntry,
    classes: PageClasses,
    objects: Vec<u8>,
    last: u64,
    /// The number of objects before the page.
    preceding: usize,
}

impl PageCutter {
    /// Creates a cutter of the objects of a world from one on, in a save that defines the class of pages.
    pub fn new(stored: &Stored, preceding: usize) -> Self {
        Self { node: object_node(stored), preceding, ..Self::default() }
    }

    /// Adds an object. The pages that end before it or with it are added to `ended`.
    ///
    /// # Errors
    ///
    /// Returns an error if the object does not fit its class.
    pub fn add(
        &mut self,
        object: &Value,
        target: &mut Strict<'_>,
        ended: &mut Vec<EncodedPage>,
    ) -> Result<()> {
        let place = self.preceding + self.entry.objects as usize;
        let in_place = |error: Error| error.in_field(&format!("[{place}]"));
        let id = object_id(object).map_err(in_place)?;
        self.end_before(id, target, ended);
        let outer = target.begin_page(Some(std::mem::take(&mut self.classes)));
        let written = target.write(self.node, object, &mut self.objects);
        self.classes = target.begin_page(outer).unwrap_or_default();
        written.map_err(in_place)?;
        self.entry.first = if self.entry.objects == 0 { id } else { self.entry.first };
        (self.entry.objects, self.last) = (self.entry.objects + 1, id);
        if PageCut::is_full(self.objects.len()) {
            ended.extend(self.end(target));
        }
        Ok(())
    }

    /// Ends the page if no object with this id belongs to it. Returns true if the next page has no objects yet.
    pub fn end_before(
        &mut self,
        id: u64,
        target: &Strict<'_>,
        ended: &mut Vec<EncodedPage>,
    ) -> bool {
        if PageCut::is_between(self.last, id, self.objects.len()) {
            ended.extend(self.end(target));
        }
        self.entry.objects == 0
    }

    /// Ends the page; returns `None` if it has no objects.
    pub fn end(&mut self, target: &Strict<'_>) -> Option<EncodedPage> {
        let preceding = self.preceding + self.entry.objects as usize;
        let next = Self { node: self.node, preceding, ..Self::default() };
        let page = std::mem::replace(self, next);
        let head = page.classes.head(page.entry.objects, |number| target.class_id(number));
        let page = EncodedPage { entry: page.entry, head, objects: page.objects };
        Some(page).filter(|page| page.entry.objects > 0)
    }
}

/// Returns the node of the objects in pages.
fn object_node(stored: &Stored) -> usize {
    stored.page_class().map_or(0, |page| stored.node(stored.first(page, 0) + 1).first())
}

impl PagedClass {
    fn field<'r>(record: &'r mut Record, name: &str) -> Option<&'r mut Value> {
        let mut fields = record.fields.iter_mut();
        fields.find(|field| &*field.name == name).map(|field| &mut field.value)
    }

    /// Returns the index of a value.
    fn index(self, record: &Record, stored: &Stored) -> Vec<PageEntry> {
        let index = record.get(&stored.fields(self.class, 0)[self.index].name);
        index.map(index_of).unwrap_or_default()
    }

    /// Returns the objects and the index of a value.
    fn lists<'r>(
        self,
        record: &'r mut Record,
        stored: &Stored,
    ) -> Option<(&'r mut Vec<Value>, Vec<PageEntry>)> {
        let index = self.index(record, stored);
        self.set_index(record, stored, &[]);
        match Self::field(record, &stored.fields(self.class, 0)[self.objects].name)? {
            Value::Seq(objects) => Some((objects, index)),
            _ => None,
        }
    }

    fn set_index(self, record: &mut Record, stored: &Stored, entries: &[PageEntry]) {
        let name = &stored.fields(self.class, 0)[self.index].name;
        let entry = |entry: &PageEntry| page_entry(stored, entry);
        if let Some(index) = Self::field(record, name) {
            *index = Value::Seq(entries.iter().map(entry).collect());
        }
    }
}

/// Returns the class of a record whose objects may lie in pages; `None` for other records.
fn paged_class(record: &Record, stored: &Stored) -> Option<PagedClass> {
    // A value that an editor made has no class but its name.
    let is_of = |of: &&PagedClass| match record.origin() {
        Some(class) => class == of.class,
        None => record.class() == stored[of.class].name,
    };
    stored.paged().iter().find(is_of).copied()
}

/// Returns the index of a value that has one; it is empty if the objects are in no pages.
pub fn page_index(record: &Record, stored: &Stored) -> Option<Vec<PageEntry>> {
    Some(paged_class(record, stored)?.index(record, stored))
}

/// Returns true if a value that may have pages is in a value, or is it.
pub(crate) fn has_worlds(value: &Value, stored: &Stored) -> bool {
    let mut open = if stored.paged().is_empty() { Vec::new() } else { vec![value] };
    while let Some(value) = open.pop() {
        if value.as_record().is_some_and(|record| paged_class(record, stored).is_some()) {
            return true;
        }
        open.extend(value.parts());
    }
    false
}

/// Visits the values that may have pages, outermost first. The values in one are visited if `visit` returns true.
pub(crate) fn each_paged(
    value: &mut Value,
    stored: &Stored,
    visit: &mut dyn FnMut(&mut Record, PagedClass) -> Result<bool>,
) -> Result<()> {
    let mut open = if stored.paged().is_empty() { Vec::new() } else { vec![value] };
    while let Some(value) = open.pop() {
        if let Value::Struct(record) = value
            && let Some(of) = paged_class(record, stored)
            && !visit(record, of)?
        {
            continue;
        }
        // The first part is the next one.
        let parts: Vec<_> = value.parts_mut().collect();
        open.extend(parts.into_iter().rev());
    }
    Ok(())
}

/// Puts the objects of pages into the values whose indexes name them. `objects` returns those of a page, or `None` if
/// the page is lost. Returns the entries of lost pages.
///
/// # Errors
///
/// Returns the errors of `objects`.
pub fn put_objects(
    value: &mut Value,
    stored: &Stored,
    objects: &mut dyn FnMut(&PageEntry) -> Result<Option<Vec<Value>>>,
) -> Result<Vec<PageEntry>> {
    let mut lost = Vec::new();
    each_paged(value, stored, &mut |record, of| {
        let Some((all, index)) = of.lists(record, stored) else { return Ok(true) };
        let has_pages = !index.is_empty();
        for entry in index {
            match objects(&entry)? {
                Some(mut found) => all.append(&mut found),
                None => lost.push(entry),
            }
        }
        // The worlds in pages have none: a chain of them would nest values without end.
        Ok(!has_pages)
    })?;
    Ok(lost)
}

/// Returns the objects in the value of a page.
pub fn objects_in_page(page: Value) -> Option<Vec<Value>> {
    let Value::Struct(mut record) = page else { return None };
    match record.fields.pop()?.value {
        Value::Seq(objects) => Some(objects),
        _ => None,
    }
}

/// Returns a value of a class that may have pages, with these objects and empty lists. Its numbers are larger than the
/// ids of the objects, by `ahead`; `None` if the class is another one, or has fields of other kinds.
pub(crate) fn world_of(
    stored: &Stored,
    class: usize,
    objects: Vec<Value>,
    ahead: u64,
) -> Option<Value> {
    let of = stored.paged().iter().find(|of| of.class == class)?;
    let last = objects.iter().map(|object| object_id(object).unwrap_or(0)).max()?;
    let mut record = Record::new(&*stored[class].name);
    record.set_origin(Some(class));
    let mut objects = Some(objects);
    for (place, field) in stored.fields(class, 0).iter().enumerate() {
        let value = match &field.kind {
            _ if place == of.objects => Value::Seq(objects.take()?),
            KindSchema::List(_) => Value::Seq(Vec::new()),
            KindSchema::U64 => Value::U64(last.saturating_add(ahead)),
            _ => return None,
        };
        record.push(&*field.name, value);
    }
    Some(Value::from(record))
}

/// Returns the index of a value in a payload that is read.
fn index_of(entries: &Value) -> Vec<PageEntry> {
    let Value::Seq(entries) = entries else { return Vec::new() };
    let entry = |entry: &Value| {
        let numbers: Vec<u64> = entry.parts().filter_map(Value::as_u64).collect();
        let [first, objects, position, digest] = numbers[..] else { return None };
        let [objects, digest] = [objects, digest].map(|number| u32::try_from(number).ok());
        Some(PageEntry { first, objects: objects?, position, digest: digest? })
    };
    entries.iter().filter_map(entry).collect()
}

/// Writes the objects of a world, which has an index; returns the index of their pages.
pub(crate) type WriteObjects<'w> =
    dyn FnMut(&[Value], Vec<PageEntry>) -> Result<Vec<PageEntry>> + 'w;

/// Returns a copy of a value without the objects of its worlds that lie in pages. `write` writes the objects of a world,
/// which has an index; it returns the index of their pages, which is empty if the objects stay in the world.
///
/// # Errors
///
/// Returns the errors of `write`.
pub(crate) fn without_objects(
    value: &Value,
    stored: &Stored,
    write: &mut WriteObjects<'_>,
) -> Result<Value> {
    let mut copy = |value: &Value| without_objects(value, stored, write);
    Ok(match value {
        Value::Option(Some(part)) => Value::Option(Some(Box::new(copy(part)?))),
        Value::Seq(parts) => Value::Seq(parts.iter().map(copy).collect::<Result<_>>()?),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(copy).collect::<Result<_>>()?),
        Value::Map(entries) => {
            let mut entry = |(key, value): &(Value, Value)| Ok((copy(key)?, copy(value)?));
            Value::Map(entries.iter().map(&mut entry).collect::<Result<_>>()?)
        }
        Value::Struct(record) | Value::Enum(record) => {
            let mut new = Record::new(record.class.clone());
            new.variant.clone_from(&record.variant);
            new.set_origin(record.origin());
            let of = paged_class(record, stored);
            let name = of.map(|of| &*stored.fields(of.class, 0)[of.objects].name);
            let mut pages = Vec::new();
            for field in &record.fields {
                let new_value = match (of, &field.value) {
                    (None, value) => without_objects(value, stored, write)?,
                    // The worlds in a world have no pages.
                    (Some(of), Value::Seq(objects)) if name == Some(&*field.name) => {
                        pages = write(objects, of.index(record, stored))?;
                        let stay = if pages.is_empty() { &objects[..] } else { &[] };
                        Value::Seq(stay.to_vec())
                    }
                    (Some(_), value) => value.clone(),
                };
                new.push(field.name.clone(), new_value);
            }
            if let Some(of) = of {
                of.set_index(&mut new, stored, &pages);
            }
            Value::from(new)
        }
        value => value.clone(),
    })
}

/// Returns the id of an object: its first field.
fn object_id(object: &Value) -> Result<u64> {
    match object {
        Value::Struct(record) => record.fields.first().and_then(|field| field.value.as_u64()),
        _ => None,
    }
    .ok_or_else(|| Error::new(ErrorKind::KindMismatch, "an object of a world begins with its id"))
}

/// Returns an entry of an index as a value.
pub fn page_entry(stored: &Stored, entry: &PageEntry) -> Value {
    let index = |of: &PagedClass| stored.node(stored.first(of.class, 0) + of.index).first();
    let entries = stored.paged().first().map(|of| &stored.node(index(of)).kind);
    let Some(&KindSchema::Class(class)) = entries else { return Value::Unit };
    let mut record = Record::new(&*stored[class].name);
    record.set_origin(Some(class));
    let values = [
        Value::U64(entry.first),
        Value::U32(entry.objects),
        Value::U64(entry.position),
        Value::U32(entry.digest),
    ];
    for (field, value) in stored.fields(class, 0).iter().zip(values) {
        record.push(&*field.name, value);
    }
    Value::from(record)
}

/// Replaces each page in the indexes of a value by other pages.
///
/// # Errors
///
/// Returns no error.
pub fn replace_pages(
    value: &mut Value,
    stored: &Stored,
    pages: &dyn Fn(&PageEntry) -> Vec<PageEntry>,
) -> Result<()> {
    each_paged(value, stored, &mut |record, of| {
        let index: Vec<_> = of.index(record, stored).iter().flat_map(pages).collect();
        of.set_index(record, stored, &index);
        Ok(true)
    })
}
