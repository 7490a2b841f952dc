//! The pages of a save as values: the objects of a page in the value that they belong to, and out of it.

use super::page_classes::PageClasses;
use super::stored::PagedClass;
use super::walk::Strict;
use super::{KindSchema, Stored};
use crate::codec::pages::{LEAST_PAGED, PageCut, PageEntry};
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
pub(crate) struct EncodedPage {
    /// The entry, whose position and digest are not known yet.
    pub entry: PageEntry,
    pub head: Vec<u8>,
    pub objects: Vec<u8>,
}

impl PagedClass {
    fn field<'r>(record: &'r mut Record, name: &str) -> Option<&'r mut Value> {
        let mut fields = record.fields.iter_mut();
        fields.find(|field| &*field.name == name).map(|field| &mut field.value)
    }

    /// Returns the objects and the index of a value.
    fn lists<'r>(
        self,
        record: &'r mut Record,
        stored: &Stored,
    ) -> Option<(&'r mut Vec<Value>, Value)> {
        let fields = stored.fields(self.class, 0);
        let index = Self::field(record, &fields[self.index].name)?;
        let index = std::mem::replace(index, Value::Seq(Vec::new()));
        match Self::field(record, &fields[self.objects].name)? {
            Value::Seq(objects) => Some((objects, index)),
            _ => None,
        }
    }

    fn set_index(self, record: &mut Record, stored: &Stored, entries: &[PageEntry]) {
        let name = &stored.fields(self.class, 0)[self.index].name;
        let entry = |entry: &PageEntry| entry_value(stored, self, entry);
        if let Some(index) = Self::field(record, name) {
            *index = Value::Seq(entries.iter().map(entry).collect());
        }
    }
}

/// Writes a page that needs the classes up to a number. Returns its position and its digest.
pub(crate) type WritePage<'w> = dyn FnMut(&EncodedPage, u64) -> Result<(u64, u32)> + 'w;

/// Visits the values that may have pages, outermost first. The values in one are visited if `visit` returns true.
fn each_paged(
    value: &mut Value,
    stored: &Stored,
    visit: &mut dyn FnMut(&mut Record, PagedClass) -> Result<bool>,
) -> Result<()> {
    let classes = stored.paged();
    if classes.is_empty() {
        return Ok(());
    }
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if let Value::Struct(record) = value {
            // A value that an editor made has no class but its name.
            let is_of = |of: &&PagedClass| match record.origin() {
                Some(class) => class == of.class,
                None => record.class() == stored[of.class].name,
            };
            let found = classes.iter().find(is_of).copied();
            if let Some(of) = found
                && !visit(record, of)?
            {
                continue;
            }
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
        let index = index_of(&index);
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

/// Visits the values that may have pages.
pub(crate) fn each_world(
    value: &mut Value,
    stored: &Stored,
    visit: &mut dyn FnMut(&mut Record),
) -> Result<()> {
    each_paged(value, stored, &mut |record, _| {
        visit(record);
        Ok(true)
    })
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
        let Value::Struct(record) = entry else { return None };
        let [first, objects, position, digest] = &record.fields[..] else { return None };
        match (&first.value, &objects.value, &position.value, &digest.value) {
            (Value::U64(first), Value::U32(objects), Value::U64(position), Value::U32(digest)) => {
                let (first, objects, position, digest) = (*first, *objects, *position, *digest);
                Some(PageEntry { first, objects, position, digest })
            }
            _ => None,
        }
    };
    entries.iter().filter_map(entry).collect()
}

/// Takes the objects of large values out, as pages.
///
/// # Errors
///
/// Returns an error if an object does not fit its class, and those of `write`.
pub(crate) fn take_objects(
    value: &mut Value,
    stored: &Stored,
    target: &mut Strict<'_>,
    write: &mut WritePage<'_>,
) -> Result<()> {
    each_paged(value, stored, &mut |record, of| {
        let node = stored.node(stored.first(of.class, 0) + of.objects).first();
        let name = &stored.fields(of.class, 0)[of.objects].name;
        let Some((objects, _)) = of.lists(record, stored) else { return Ok(true) };
        let (mut held, mut bytes, mut entries) = (Vec::new(), 0, Vec::new());
        let mut next = objects.iter().enumerate().peekable();
        while next.peek().is_some() {
            let page = encode_page(&mut next, node, target);
            let page = page.map_err(|error| error.in_field(name))?;
            bytes += page.objects.len();
            held.push(page);
            if bytes < LEAST_PAGED {
                continue;
            }
            for page in held.drain(..) {
                let (position, digest) = write(&page, target.highest)?;
                entries.push(PageEntry { position, digest, ..page.entry });
            }
        }
        if bytes >= LEAST_PAGED {
            objects.clear();
            of.set_index(record, stored, &entries);
        }
        // The worlds in the objects have no pages.
        Ok(false)
    })
}

/// Encodes the next objects up to the end of a page.
fn encode_page<'v>(
    next: &mut std::iter::Peekable<impl Iterator<Item = (usize, &'v Value)>>,
    node: usize,
    target: &mut Strict<'_>,
) -> Result<EncodedPage> {
    let outer = target.begin_page(Some(PageClasses::default()));
    let (mut objects, mut entry, mut last) = (Vec::new(), PageEntry::default(), 0);
    let result = loop {
        let Some((place, object)) = next.peek() else { break Ok(()) };
        let id = match object_id(object) {
            Ok(id) => id,
            Err(error) => break Err(error.in_field(&format!("[{place}]"))),
        };
        if entry.objects > 0 && PageCut::is_between(last, id, objects.len()) {
            break Ok(());
        }
        if let Err(error) = target.write(node, object, &mut objects) {
            break Err(error.in_field(&format!("[{place}]")));
        }
        next.next();
        entry.first = if entry.objects == 0 { id } else { entry.first };
        (entry.objects, last) = (entry.objects + 1, id);
        if PageCut::is_full(objects.len()) {
            break Ok(());
        }
    };
    let page = target.begin_page(outer).unwrap_or_default();
    let head = page.head(entry.objects, |number| target.class_id(number));
    result.map(|()| EncodedPage { entry, head, objects })
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
fn entry_value(stored: &Stored, of: PagedClass, entry: &PageEntry) -> Value {
    let KindSchema::List(kind) = &stored.fields(of.class, 0)[of.index].kind else {
        return Value::Unit;
    };
    let KindSchema::Class(class) = **kind else { return Value::Unit };
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

/// Changes the positions in the indexes of a value.
///
/// # Errors
///
/// Returns no error.
pub(crate) fn move_pages(
    value: &mut Value,
    stored: &Stored,
    position: &dyn Fn(u64) -> Option<u64>,
) -> Result<()> {
    each_paged(value, stored, &mut |record, of| {
        let Some((_, index)) = of.lists(record, stored) else { return Ok(true) };
        let mut index = index_of(&index);
        for entry in &mut index {
            entry.position = position(entry.position).unwrap_or(entry.position);
        }
        of.set_index(record, stored, &index);
        Ok(true)
    })
}
