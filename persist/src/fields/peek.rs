//! [`Peek`]: a field, of whose large containers only some elements are read.

use std::any::Any;
use std::mem;
use std::ops::Range;

use super::change::key_of;
use super::links::FieldLinks;
use super::path::{FieldPath, PathStep, located};
use super::{FieldPart, PartBuffers};
use crate::codec::{Buffer, Encoder, Fail, FieldAccess, ListAccess, Portable, WalkAccess};
use crate::graph::Registry;
use crate::schema::{Cursor, CursorParts};
use crate::{Record, Result, Value};

/// Values that are nested deeper are read whole, without recursion.
const MAX_DEPTH: usize = 64;

/// A field, of whose large containers only some elements were read.
///
/// [`World::peek_field`](crate::World::peek_field) and [`History::peek_field`](crate::History::peek_field) return it.
#[derive(Clone, Debug)]
pub struct Peek {
    /// The value of the field, without the elements and entries that were not read.
    pub value: Value,
    /// The containers with missing elements: the path of each, and its number of elements in the target.
    pub cut: Vec<(FieldPath, usize)>,
}

impl Peek {
    /// Reads the value at a path. Of a container there, only the elements in the range are read. A container inside the
    /// value is read if it is no longer than the range.
    pub(crate) fn new(
        registry: &Registry,
        root: &dyn Portable,
        path: &FieldPath,
        range: Range<usize>,
    ) -> Result<Self> {
        let mut buffers = PartBuffers::default();
        let (mut part, value) = FieldPart::reach(&mut buffers, registry, root, path.steps())?;
        let steps = path.steps().to_vec();
        let max = range.len();
        let mut walk = PeekWalk {
            registry,
            root,
            buffer: Buffer::default(),
            steps,
            range: Some(range),
            max,
            depth: 0,
            cut: Vec::new(),
        };
        let value = if part.is_end() {
            walk.value(value, part.access, part.start_of(&[])?)?
        } else {
            part.encode(root, value)?;
            walk.stored(&mut part.cursor()?).map_err(located(path.steps()))?
        };
        let located = |(steps, len): (Vec<PathStep>, _)| {
            (FieldPath::from_steps(path.class().to_owned(), &steps), len)
        };
        Ok(Self { value, cut: walk.cut.into_iter().map(located).collect() })
    }
}

/// A walk over a value that passes over elements of large containers.
struct PeekWalk<'r> {
    registry: &'r Registry,
    root: &'r dyn Portable,
    buffer: Buffer,
    /// The steps to the current place.
    steps: Vec<PathStep>,
    /// The elements to read of the next container, if it is the one at the path.
    range: Option<Range<usize>>,
    /// Other containers with more elements are read without elements. `usize::MAX` if all are read.
    max: usize,
    depth: usize,
    /// The steps to each container with missing elements, and its length.
    cut: Vec<(Vec<PathStep>, usize)>,
}

impl PeekWalk<'_> {
    /// Reads a value that can be borrowed. `at` is its place in the schema.
    fn value(
        &mut self,
        value: &dyn Any,
        access: Option<&'static FieldAccess>,
        at: Cursor<'_, '_>,
    ) -> Result<Value> {
        if !self.is_whole() && access.is_none_or(|access| !access.has_adapter()) {
            self.depth += 1;
            let read = self.parts(value, access, at);
            self.depth -= 1;
            if let Some(read) = read? {
                return Ok(read);
            }
        }
        let (mut buffer, mut links) = (mem::take(&mut self.buffer), FieldLinks::new(self.registry));
        let root = self.root;
        let write = |out: &mut Encoder<'_>| match access {
            Some(access) => access.encode(value, out),
            None => root.encode(out),
        };
        let bytes = buffer.encode_with(&self.registry.env(), &mut links, write);
        let read = bytes.and_then(|bytes| self.stored(&mut at.over(bytes)));
        self.buffer = buffer;
        read.map_err(located(&self.steps))
    }

    /// Reads the fields or the elements of a value; `None` if they cannot be borrowed.
    fn parts(
        &mut self,
        value: &dyn Any,
        access: Option<&'static FieldAccess>,
        at: Cursor<'_, '_>,
    ) -> Result<Option<Value>> {
        if self.registry.entry(value).is_some() {
            return self.fields(value);
        }
        let Some(access) = access else { return Ok(None) };
        match (access.list(), access.walk()) {
            (Some(list), _) => self.list(value, list, at).map(Some),
            (None, Some(walk)) => self.items(value, walk, at),
            (None, None) => Ok(None),
        }
    }

    fn fields(&mut self, value: &dyn Any) -> Result<Option<Value>> {
        let Some((class, target)) = self.registry.entry(value) else { return Ok(None) };
        let variant = target.access.variant(value).unwrap_or(0);
        let of_variant = target.class.variants().get(variant);
        let fields = of_variant.map_or(target.class.fields(), |variant| variant.fields);
        let is_other = of_variant.is_some_and(|variant| variant.other);
        if is_other || (0..fields.len()).any(|field| target.access.field(value, field).is_none()) {
            return Ok(None);
        }
        self.range = None;
        let name = target.class.name();
        let mut record = match of_variant {
            Some(variant) => Record::with_variant(name, variant.name),
            None => Record::new(name),
        };
        let layout = self.registry.program().layout();
        for (index, field) in fields.iter().enumerate() {
            let place = Cursor::of_field(layout, (class, variant, index), &[]);
            let (Some(inner), Some(place)) = (target.access.field(value, index), place) else {
                return Err(Fail::Value.into());
            };
            let (step, access) = (field.name.into(), target.access.access(variant, index));
            let read = |this: &mut Self| this.value(inner, access, place);
            record.push(field.name, self.inside(PathStep::Field(step), read)?);
        }
        Ok(Some(record.into()))
    }

    fn list(
        &mut self,
        value: &dyn Any,
        list: &'static dyn ListAccess,
        at: Cursor<'_, '_>,
    ) -> Result<Value> {
        let (len, at) = (list.len(value).ok_or(Fail::Value)?, at.of_element().ok_or(Fail::Value)?);
        let mut elements = Vec::new();
        for index in self.select(len) {
            let element = list.get(value, index).ok_or(Fail::Value)?;
            elements.push(self.inside(PathStep::Index(index as u64), |this| {
                this.value(element, Some(list.element()), at)
            })?);
        }
        Ok(sequence(elements, at.is_byte()))
    }

    /// Reads a map, a set or an array; `None` for a whole hashed one, whose stored order is another.
    fn items(
        &mut self,
        value: &dyn Any,
        walk: &'static dyn WalkAccess,
        at: Cursor<'_, '_>,
    ) -> Result<Option<Value>> {
        let len = walk.len(value).ok_or(Fail::Value)?;
        let range = self.range.clone();
        let selected = self.select(len);
        if walk.is_hashed() && selected.len() == len {
            self.range = range;
            return Ok(None);
        }
        let (of_item, access) = (at.of_element().ok_or(Fail::Value)?, Some(walk.item()));
        let (mut index, mut entries, mut elements) = (selected.start as u64, vec![], vec![]);
        walk.visit(value, selected, &mut |key, item| {
            if let (Some(key), Some(of_key)) = (key, at.of_key()) {
                let key = self.whole(|this| this.value(key, walk.key(), of_key))?;
                let item = self.entry(&key, at, |this| this.value(item, access, of_item))?;
                entries.push((key, item));
            } else if at.is_set() {
                elements.push(self.whole(|this| this.value(item, access, of_item))?);
            } else {
                let step = PathStep::Index(index);
                elements.push(self.inside(step, |this| this.value(item, access, of_item))?);
            }
            index += 1;
            Ok(())
        })?;
        Ok(Some(match walk.key() {
            Some(_) => Value::Map(entries),
            None => sequence(elements, of_item.is_byte()),
        }))
    }

    /// Reads a value from its bytes, and moves to their end.
    fn stored(&mut self, at: &mut Cursor<'_, '_>) -> Result<Value> {
        let map = *at;
        if self.is_whole() {
            return at.pass();
        }
        let Some(parts) = at.open_parts()? else { return at.pass() };
        self.depth += 1;
        let read = self.stored_parts(&parts, at, map);
        self.depth -= 1;
        read
    }

    fn stored_parts(
        &mut self,
        parts: &CursorParts<'_>,
        at: &mut Cursor<'_, '_>,
        map: Cursor<'_, '_>,
    ) -> Result<Value> {
        match *parts {
            CursorParts::Content => Ok(Value::Option(Some(Box::new(self.stored(at)?)))),
            CursorParts::Fields { class, variant, fields } => {
                self.range = None;
                let mut record = match variant {
                    Some(variant) => Record::with_variant(class, variant),
                    None => Record::new(class),
                };
                for (index, field) in fields.iter().enumerate() {
                    let step = PathStep::Field(field.name.clone().into());
                    record.push(&*field.name, self.stored_part(at, index, step)?);
                }
                Ok(record.into())
            }
            CursorParts::Tuple(len) => {
                self.range = None;
                let part = |index| self.stored_part(at, index, PathStep::Index(index as u64));
                Ok(Value::Tuple((0..len).map(part).collect::<Result<_>>()?))
            }
            CursorParts::Elements { len, is_set } => {
                let (selected, mut elements) = (self.select(len), Vec::new());
                at.pass_elements(selected.start)?;
                for index in selected.clone() {
                    elements.push(if is_set {
                        at.pass()?
                    } else {
                        self.stored_part(at, 0, PathStep::Index(index as u64))?
                    });
                }
                at.pass_elements(len - selected.end)?;
                Ok(sequence(elements, at.is_byte()))
            }
            CursorParts::Entries(len) => {
                let (selected, mut entries) = (self.select(len), Vec::new());
                at.pass_entries(selected.start)?;
                for _ in selected.clone() {
                    let key = at.pass()?;
                    let (start, mut end) = (at.part_at(1), at.part_at(1));
                    let value = self.entry(&key, map, |this| {
                        end = start;
                        this.stored(&mut end)
                    })?;
                    at.go_after(&end);
                    entries.push((key, value));
                }
                at.pass_entries(len - selected.end)?;
                Ok(Value::Map(entries))
            }
        }
    }

    /// Reads the next part of a value from its bytes. Its node is the one of this index.
    fn stored_part(
        &mut self,
        at: &mut Cursor<'_, '_>,
        index: usize,
        step: PathStep,
    ) -> Result<Value> {
        let mut part = at.part_at(index);
        let value = self.inside(step, |this| this.stored(&mut part))?;
        at.go_after(&part);
        Ok(value)
    }

    /// Returns true if the value at the current place is read with all elements.
    fn is_whole(&self) -> bool {
        self.max == usize::MAX || self.depth >= MAX_DEPTH
    }

    /// Selects the elements to read of a container with this many, and notes it if some are missing.
    fn select(&mut self, len: usize) -> Range<usize> {
        let range = match self.range.take() {
            Some(range) => range.start.min(len)..range.end.min(len).max(range.start.min(len)),
            None if len > self.max => 0..0,
            None => 0..len,
        };
        if range.len() < len {
            self.cut.push((self.steps.clone(), len));
        }
        range
    }

    /// Reads the part at a step. After an error, the steps lead to the failed part.
    fn inside(
        &mut self,
        step: PathStep,
        read: impl FnOnce(&mut Self) -> Result<Value>,
    ) -> Result<Value> {
        self.steps.push(step);
        let value = read(self)?;
        self.steps.pop();
        Ok(value)
    }

    /// Reads the value of a key of a map.
    fn entry(
        &mut self,
        key: &Value,
        map: Cursor<'_, '_>,
        mut read: impl FnMut(&mut Self) -> Result<Value>,
    ) -> Result<Value> {
        let (step, cut) = (PathStep::from_key(key), self.cut.len());
        let in_path = key_of(std::slice::from_ref(&step)).map(|(key, _)| key);
        let value = self.inside(step, &mut read)?;
        let is_same = |in_path| {
            let bytes = map.key_bytes(&in_path);
            bytes.is_some() && bytes == map.key_bytes(key)
        };
        if self.cut.len() == cut || in_path.is_ok_and(is_same) {
            return Ok(value);
        }
        // No path leads to the elements that are missing.
        self.cut.truncate(cut);
        self.whole(read)
    }

    /// Reads a part to which no path leads, such as a key of a map or an element of a set.
    fn whole(&mut self, read: impl FnOnce(&mut Self) -> Result<Value>) -> Result<Value> {
        let max = mem::replace(&mut self.max, usize::MAX);
        let value = read(self);
        self.max = max;
        value
    }
}

/// A read of a whole value has no bytes for an empty list of bytes either.
fn sequence(elements: Vec<Value>, is_bytes: bool) -> Value {
    let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
    match elements.iter().map(byte).collect() {
        Some(bytes) if is_bytes && !elements.is_empty() => Value::Bytes(bytes),
        _ => Value::Seq(elements),
    }
}
