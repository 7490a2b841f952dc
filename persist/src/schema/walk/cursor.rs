//! A way into the bytes of a value, to one of its parts, and the elements of a list there.

#[cfg(any(feature = "history", feature = "world"))]
pub(super) mod parts;

use std::collections::HashSet;
use std::ops::Range;

use super::skip;
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::env::Env;
use crate::names::suggest;
#[cfg(any(feature = "history", feature = "world"))]
use crate::schema::WriteTarget;
use crate::schema::{
    FieldPlace, Form, KindSchema, Reader, Stored, Strict, dynamic, fault, tag, write_value,
};
use crate::value::Value;
use crate::{Error, ErrorKind, Limits, Result};

/// A part of a value: where its bytes begin, and the node of what they mean.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'s, 'b> {
    stored: &'s Stored,
    node: usize,
    bytes: &'b [u8],
    start: usize,
}

impl<'s, 'b> Cursor<'s, 'b> {
    /// At a value of a class.
    pub(crate) fn of_class(stored: &'s Stored, class: usize, bytes: &'b [u8]) -> Self {
        Self { stored, node: stored.root(class), bytes, start: 0 }
    }

    /// At a field of a struct (`variant` is 0) or of a variant; `None` if there is none.
    pub(crate) fn of_field(
        stored: &'s Stored,
        (class, variant, field): FieldPlace,
        bytes: &'b [u8],
    ) -> Option<Self> {
        stored.fields(class, variant).get(field)?;
        Some(Self { stored, node: stored.first(class, variant) + field, bytes, start: 0 })
    }

    /// Makes the bytes those of an element of the list, or of a value of the map, that it is at; `None` if it is none.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn of_element(self) -> Option<Self> {
        let node = match self.kind() {
            KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Array(..) => self.part(),
            KindSchema::Map(_) => self.part() + 1,
            _ => return None,
        };
        Some(Self { node, ..self })
    }

    fn kind(&self) -> &'s KindSchema {
        &self.stored.node(self.node).kind
    }

    /// The node of the first part.
    fn part(&self) -> usize {
        self.stored.node(self.node).first()
    }

    /// A key of the map that it is at, as it is stored; `None` if it is none, or not such a key.
    pub(crate) fn key_bytes(&self, key: &Value) -> Option<Vec<u8>> {
        let KindSchema::Map(_) = self.kind() else { return None };
        let mut bytes = Vec::new();
        let mut target = Strict::new(self.stored, &Limits::DEFAULT, &|_, _| Ok(()));
        write_value(&mut target, self.stored, self.part(), key, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Like [`key_bytes`](Self::key_bytes).
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if it is no map, or not such a key.
    pub(crate) fn checked_key(&self, key: &Value) -> Result<Vec<u8>> {
        let KindSchema::Map(kinds) = self.kind() else {
            return Err(self.no_part(&format!("element [{key}]")));
        };
        self.key_bytes(key).ok_or_else(|| {
            let kind = kinds[0].display(self.stored);
            missing(&format!("the map has no key [{key}]; its keys are {kind}"))
        })
    }

    /// Goes over the next field of a struct, which begins where it is; where its bytes are.
    #[cfg(feature = "history")]
    pub(crate) fn pass_field(&mut self, class: usize, field: usize) -> Result<Range<usize>> {
        let start = self.start;
        self.skip(self.stored.first(class, 0) + field)?;
        Ok(start..self.start)
    }

    /// Goes over these bytes if they are the next ones.
    #[cfg(feature = "history")]
    pub(crate) fn pass_bytes(&mut self, bytes: &[u8]) -> bool {
        let is_next = self.rest().starts_with(bytes);
        self.start += if is_next { bytes.len() } else { 0 };
        is_next
    }

    /// The bytes from where it is on.
    pub(crate) fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Reads on from where it is.
    fn take<T>(&mut self, take: impl FnOnce(&mut Decoder<'_>) -> Result<T, Fail>) -> Result<T> {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(self.rest(), &Env::DEFAULT, &mut links);
        let consumed = take(&mut input).map_err(fault)?;
        self.start = self.bytes.len() - input.rest().len();
        Ok(consumed)
    }

    fn skip(&mut self, node: usize) -> Result<()> {
        let stored = self.stored;
        if let Some(length) = stored.length(node, self.rest())
            && length <= self.rest().len()
        {
            self.start += length;
            return Ok(());
        }
        self.take(|input| skip(node, stored, input, &mut Vec::new()))
    }

    /// Passes `count` values, however many are said to have no bytes at all.
    fn skip_many(&mut self, node: usize, count: u64) -> Result<()> {
        if let Some(width) = self.stored.node(node).size.width() {
            let all = usize::try_from(count).ok().and_then(|count| count.checked_mul(width));
            if let Some(all) = all.filter(|all| *all <= self.rest().len()) {
                self.start += all;
                return Ok(());
            }
        }
        for _ in 0..count {
            let previous = self.start;
            self.skip(node)?;
            if self.start == previous {
                break;
            }
        }
        Ok(())
    }

    /// Passes all values that end within that many bytes; returns how many.
    #[cfg(feature = "history")]
    fn skip_within(&mut self, node: usize, bytes: usize) -> Result<usize> {
        let end = self.start + bytes;
        if let Some(width) = self.stored.node(node).size.width().filter(|width| *width > 0) {
            self.start = end - bytes % width;
            return Ok(bytes / width);
        }
        let mut count = 0;
        while self.start < end {
            let start = self.start;
            self.skip(node)?;
            if self.start > end || self.start == start {
                self.start = start;
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    /// Passes all entries of a map that end within that many bytes; returns how many.
    #[cfg(feature = "history")]
    fn skip_entries_within(&mut self, bytes: usize) -> Result<usize> {
        let (end, mut count) = (self.start + bytes, 0);
        loop {
            let start = self.start;
            if start < end {
                self.skip_entry()?;
            }
            if self.start > end || self.start == start {
                self.start = start;
                return Ok(count);
            }
            count += 1;
        }
    }

    /// Goes through what is around a part without a name of its own: an option, a box of a trait object.
    fn open(&mut self) -> Result<&'s KindSchema> {
        let stored = self.stored;
        loop {
            let kind = self.kind();
            self.node = match kind {
                KindSchema::Class(class) if matches!(stored[*class].form, Form::Value(_)) => {
                    stored.first(*class, 0)
                }
                KindSchema::Option(_) => {
                    if !self.take(|input| input.value::<bool>())? {
                        return Err(missing("it is none, which has no parts"));
                    }
                    self.part()
                }
                KindSchema::Dynamic(_) => stored.root(self.take(|input| dynamic(stored, input))?),
                _ => return Ok(kind),
            };
        }
    }

    /// Goes to the field of this name.
    pub(crate) fn field(&mut self, name: &str) -> Result<()> {
        let stored = self.stored;
        let class = match self.open()? {
            KindSchema::Class(class) => *class,
            KindSchema::Tuple(_) => {
                return match name.parse() {
                    Ok(index) => self.index(index),
                    Err(_) => Err(self.no_part(&format!("field `{name}`"))),
                };
            }
            _ => return Err(self.no_part(&format!("field `{name}`"))),
        };
        let form = &stored[class].form;
        let variant = if form.tag_width() > 0 { self.take(|input| tag(form, input))? } else { 0 };
        let fields = stored.fields(class, variant);
        let Some(field) = fields.iter().position(|field| field.name == name) else {
            return Err(no_field(stored, class, variant, name));
        };
        let first = stored.first(class, variant);
        (first..first + field).try_for_each(|node| self.skip(node))?;
        self.node = first + field;
        Ok(())
    }

    /// Goes to the element of this index, or the value of this key.
    pub(crate) fn index(&mut self, index: u64) -> Result<()> {
        let kind = self.open()?;
        let count = match kind {
            KindSchema::Map(_) => return self.key(&Value::U64(index)),
            KindSchema::List(_) => self.take(count::decode)?,
            KindSchema::Array(_, len) => *len as u64,
            KindSchema::Tuple(parts) => parts.len() as u64,
            _ => return Err(self.no_part(&format!("element [{index}]"))),
        };
        let Some(place) = usize::try_from(index).ok().filter(|_| index < count) else {
            let kind = kind.display(self.stored);
            return Err(missing(&format!("{kind} of {count} has no element [{index}]")));
        };
        let first = self.part();
        if let KindSchema::Tuple(_) = kind {
            (first..first + place).try_for_each(|node| self.skip(node))?;
            self.node = first + place;
        } else {
            self.skip_many(first, index)?;
            self.node = first;
        }
        Ok(())
    }

    /// Goes to the value of this key of a map.
    pub(crate) fn key(&mut self, key: &Value) -> Result<()> {
        self.open()?;
        let expected = self.checked_key(key)?;
        let first = self.part();
        for _ in 0..self.take(count::decode)? {
            let start = self.start;
            self.skip(first)?;
            if self.bytes[start..self.start] == expected {
                self.node = first + 1;
                return Ok(());
            }
            self.skip(first + 1)?;
        }
        Err(no_key(key))
    }

    /// All bytes with a value under a new key of the map, or without the key and its value.
    ///
    /// A new entry comes last, whatever the order of the keys: a map that is read orders them.
    #[cfg(feature = "history")]
    pub(crate) fn with_key(mut self, key: &Value, value: Option<&[u8]>) -> Result<Vec<u8>> {
        self.open()?;
        let expected = self.checked_key(key)?;
        let Some(map) = self.entries()? else { return Err(no_key(key)) };
        let (bytes, mut cursor, mut found) = (self.bytes, map.element, None);
        for _ in 0..map.len {
            let start = cursor.start;
            let is_key = cursor.skip_entry()? == expected;
            if is_key {
                found = Some(start..cursor.start);
            }
            if cursor.start == start {
                break;
            }
        }
        let (start, end) = (map.elements.start, cursor.start);
        let map = ListPart { elements: start..end, ..map };
        match (found, value) {
            (Some(_), Some(_)) => Err(has_key(key)),
            (None, None) => Err(no_key(key)),
            (None, Some(value)) => {
                Ok(map.with(map.len + 1, &[&bytes[start..end], &expected, value]))
            }
            (Some(entry), None) => {
                let rest = [&bytes[start..entry.start], &bytes[entry.end..end]];
                Ok(map.with(map.len.saturating_sub(1), &rest))
            }
        }
    }

    /// Goes over an entry of a map; the bytes of its key.
    #[cfg(feature = "history")]
    fn skip_entry(&mut self) -> Result<&'b [u8]> {
        let start = self.start;
        self.skip(self.node)?;
        let key = &self.bytes[start..self.start];
        self.skip(self.node + 1)?;
        Ok(key)
    }

    /// The entries of the map that it is at, if nothing follows it. `None` for anything else.
    #[cfg(feature = "history")]
    pub(crate) fn entries(mut self) -> Result<Option<ListPart<'s, 'b>>> {
        let KindSchema::Map(_) = self.open()? else { return Ok(None) };
        let start = self.start;
        let len = self.take(count::decode)?;
        self.node = self.part();
        let elements = self.start..self.bytes.len();
        Ok(Some(ListPart { element: self, len, start, elements, is_map: true }))
    }

    /// The element of a set, or key of a map, whose bytes stand twice.
    pub(crate) fn duplicate(mut self) -> Option<Value> {
        let parts = match self.open().ok()? {
            KindSchema::Set(_) => 1,
            KindSchema::Map(_) => 2,
            _ => return None,
        };
        let count = self.take(count::decode).ok()?;
        let first = self.part();
        let mut seen = HashSet::new();
        for _ in 0..count {
            let start = self.start;
            self.skip(first).ok()?;
            if !seen.insert(&self.bytes[start..self.start]) {
                (self.start, self.node) = (start, first);
                return self.read().ok().map(|(value, _)| value);
            }
            (first + 1..first + parts).try_for_each(|node| self.skip(node)).ok()?;
        }
        None
    }

    /// Where the bytes of the part are.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn range(&self) -> Result<Range<usize>> {
        let mut after = *self;
        after.skip(self.node)?;
        Ok(self.start..after.start)
    }

    /// Reads the part; also where its bytes are.
    pub(crate) fn read(&self) -> Result<(Value, Range<usize>)> {
        let mut links = NoLinks::default();
        let rest = self.rest();
        let mut input = Decoder::new(rest, &Env::DEFAULT, &mut links);
        let mut reader = Reader::new(&Limits::DEFAULT, rest.len() as u64);
        let value = reader.value(self.stored, self.node, &mut input)?;
        Ok((value, self.start..self.bytes.len() - input.rest().len()))
    }

    /// Appends a value as one of the kind of the part.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn write(
        &self,
        target: &mut dyn WriteTarget,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        write_value(target, self.stored, self.node, value, out)
    }

    /// The elements of the list that the part is.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn list(&self) -> Result<ListPart<'s, 'b>> {
        let Some(mut list) = self.last_elements(false)? else {
            return Err(
                self.no_part("elements that can be put in, taken out or moved; only lists have")
            );
        };
        let mut end = list.element;
        end.skip_many(end.node, list.len)?;
        list.elements.end = end.start;
        Ok(list)
    }

    /// Like [`list`](Self::list), if nothing follows it. It may be an array if `is_array_allowed`. `None` for anything
    /// else.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn last_elements(&self, is_array_allowed: bool) -> Result<Option<ListPart<'s, 'b>>> {
        let mut cursor = *self;
        let kind = cursor.open()?;
        let start = cursor.start;
        let len = match kind {
            KindSchema::List(_) => cursor.take(count::decode)?,
            KindSchema::Array(_, len) if is_array_allowed => *len as u64,
            _ => return Ok(None),
        };
        cursor.node = cursor.part();
        let elements = cursor.start..cursor.bytes.len();
        Ok(Some(ListPart { element: cursor, len, start, elements, is_map: false }))
    }

    #[cold]
    fn no_part(&self, part: &str) -> Error {
        missing(&format!("{} has no {part}", self.kind().display(self.stored)))
    }
}

/// The bytes of elements of a list.
#[cfg(feature = "history")]
type ElementBytes<'b> = Vec<&'b [u8]>;

/// How many bytes are the same at the beginning of both, or at the end.
#[cfg(feature = "history")]
fn alike(one: &[u8], other: &[u8], is_end: bool) -> usize {
    const CHUNK: usize = 1 << 10;
    let same = |(one, other): &(&[u8], &[u8])| one == other;
    let is_same = |(one, other): &(&u8, &u8)| one == other;
    if is_end {
        let chunks =
            one.rchunks(CHUNK).zip(other.rchunks(CHUNK)).take_while(same).map(|(one, _)| one.len());
        let len: usize = chunks.sum();
        let rest = (&one[..one.len() - len], &other[..other.len() - len]);
        len + rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(is_same).count()
    } else {
        let chunks =
            one.chunks(CHUNK).zip(other.chunks(CHUNK)).take_while(same).map(|(one, _)| one.len());
        let len: usize = chunks.sum();
        len + one[len..].iter().zip(&other[len..]).take_while(is_same).count()
    }
}

/// A list in the bytes of a value.
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) struct ListPart<'s, 'b> {
    /// At the first element, if there is one.
    element: Cursor<'s, 'b>,
    len: u64,
    /// Where its count begins.
    start: usize,
    elements: Range<usize>,
    /// True for the entries of a map: each is a key and its value.
    #[cfg_attr(not(feature = "history"), expect(dead_code, reason = "a history compares maps"))]
    is_map: bool,
}

#[cfg(any(feature = "history", feature = "world"))]
impl<'b> ListPart<'_, 'b> {
    /// Where the element of this index begins, or, if it may be the end, where the last one ends.
    fn place(&self, index: u64, may_end: bool) -> Result<usize> {
        if index > self.len || (index == self.len && !may_end) {
            return Err(missing(&format!("the list of {} has no element [{index}]", self.len)));
        }
        let mut cursor = self.element;
        cursor.skip_many(self.element.node, index)?;
        Ok(cursor.start)
    }

    /// How many elements two lists of one kind have alike at their beginnings, and the others up to where they are
    /// alike again; `None` if elements have no bytes.
    #[cfg(feature = "history")]
    pub(crate) fn differing(
        &self,
        other: &Self,
    ) -> Result<Option<(usize, ElementBytes<'b>, ElementBytes<'b>)>> {
        if [self, other].iter().any(|list| list.len > list.elements.len() as u64) {
            return Ok(None);
        }
        // Bytes say where an element ends: equal ones are passed at the speed of memory.
        let mut one = self.element;
        let alike_first = alike(one.rest(), other.element.rest(), false);
        let first = match self.is_map {
            true => one.skip_entries_within(alike_first)?,
            false => one.skip_within(one.node, alike_first)?,
        };
        let mut two = other.element;
        two.start += one.start - self.element.start;
        let last = alike(one.rest(), two.rest(), true);
        let (mut olds, mut news) = (Vec::new(), Vec::new());
        while one.rest().len() != two.rest().len() || one.rest().len() > last {
            let is_one = one.rest().len() >= two.rest().len();
            let (cursor, elements) =
                if is_one { (&mut one, &mut olds) } else { (&mut two, &mut news) };
            let start = cursor.start;
            match self.is_map {
                true => _ = cursor.skip_entry()?,
                false => cursor.skip(self.element.node)?,
            }
            if cursor.start == start {
                return Ok(None);
            }
            elements.push(&cursor.bytes[start..cursor.start]);
        }
        Ok(Some((first, olds, news)))
    }

    /// The value of the key of an entry, and the numbers of bytes of the key.
    #[cfg(feature = "history")]
    pub(crate) fn key_of(&self, entry: &[u8]) -> Result<(Value, usize)> {
        let (key, range) = Cursor { bytes: entry, start: 0, ..self.element }.read()?;
        Ok((key, range.end))
    }

    /// The number of elements.
    #[cfg(feature = "history")]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The bytes of the element of this index.
    pub(crate) fn element(&self, index: u64) -> Result<&[u8]> {
        let start = self.place(index, false)?;
        Ok(&self.element.bytes[start..self.place(index + 1, true)?])
    }

    /// All bytes with an element put in before the one of this index, or at the end.
    pub(crate) fn inserted(&self, index: u64, element: &[u8]) -> Result<Vec<u8>> {
        let (bytes, place) = (self.element.bytes, self.place(index, true)?);
        let Range { start, end } = self.elements.clone();
        Ok(self.with(self.len + 1, &[&bytes[start..place], element, &bytes[place..end]]))
    }

    /// All bytes without the element of this index.
    pub(crate) fn removed(&self, index: u64) -> Result<Vec<u8>> {
        let (bytes, place) = (self.element.bytes, self.place(index, false)?);
        let after = self.place(index + 1, true)?;
        let Range { start, end } = self.elements.clone();
        Ok(self.with(self.len - 1, &[&bytes[start..place], &bytes[after..end]]))
    }

    /// All bytes with the element of one index at another.
    pub(crate) fn moved(&self, from: u64, to: u64) -> Result<Vec<u8>> {
        let (place, end) = (self.place(from, false)?, self.place(from + 1, true)?);
        self.place(to, false)?;
        let mut elements = self.element.bytes[self.elements.clone()].to_vec();
        let at = |place: usize| place - self.elements.start;
        if to > from {
            let target = self.place(to + 1, true)?;
            elements[at(place)..at(target)].rotate_left(end - place);
        } else {
            let target = self.place(to, true)?;
            elements[at(target)..at(end)].rotate_right(end - place);
        }
        Ok(self.with(self.len, &[&elements]))
    }

    /// All bytes with other elements.
    fn with(&self, len: u64, elements: &[&[u8]]) -> Vec<u8> {
        let bytes = self.element.bytes;
        let more: usize = elements.iter().map(|elements| elements.len()).sum();
        let mut new = Vec::with_capacity(bytes.len() + more + 9);
        new.extend_from_slice(&bytes[..self.start]);
        count::push(len, &mut new);
        elements.iter().for_each(|elements| new.extend_from_slice(elements));
        new.extend_from_slice(&bytes[self.elements.end..]);
        new
    }

    /// Appends a value as an element.
    pub(crate) fn write(
        &self,
        target: &mut dyn WriteTarget,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.element.write(target, value, out)
    }
}

#[cold]
fn no_field(stored: &Stored, class: usize, variant: usize, name: &str) -> Error {
    let of = match &stored[class].form {
        Form::Enum(variants) => variants.get(variant).map(|variant| format!("::{}", variant.name)),
        _ => None,
    };
    let known = stored.fields(class, variant).iter().map(|field| &*field.name);
    let (class, of) = (&stored[class].name, of.unwrap_or_default());
    missing(&format!("{class}{of} has no field `{name}`{}", suggest(name, known)))
}

#[cold]
pub(crate) fn no_key(key: &Value) -> Error {
    missing(&format!("the map has no key [{key}]"))
}

#[cfg(any(feature = "history", feature = "world"))]
#[cold]
pub(crate) fn has_key(key: &Value) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("the map has the key [{key}] by now; remove it"))
}

#[cold]
fn missing(message: &str) -> Error {
    Error::new(ErrorKind::NotFound, message)
}
