//! Values without their types as bytes of a kind.
//!
//! A value of another kind is written if nothing is lost, such as a `u8` as a `u32`; all other values are an error.

use std::collections::HashMap;
use std::slice;

use super::Unique;
use crate::codec::count;
use crate::schema::number::{Number, Width};
use crate::schema::{FieldPlace, Form, FrameParts, KindSchema, Stored, WalkFrame, path};
use crate::types::{Arena as _, WorldObjects};
use crate::value::{Field, HandleValue, PartIter, Record, Value, levels, too_deep};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// The places of a record's fields by their names, once they are asked for.
pub(crate) type FieldsByName<'r> = Option<HashMap<&'r str, usize>>;

/// How records meet the classes that they are written as.
///
/// Classes, variants and fields are given by their indices; `variant` is 0 for a struct.
pub(crate) trait WriteTarget {
    /// Checks that a record may be written as a class.
    fn check_class(&self, class: usize, record: &Record) -> Result<()>;

    /// The variant of this name.
    fn variant(&self, class: usize, name: &str) -> Option<usize>;

    /// The record's field for one of a class; `by_name` is kept from one field of the record to the next.
    fn find<'r>(
        &self,
        place: FieldPlace,
        record: &'r Record,
        by_name: &mut FieldsByName<'r>,
    ) -> Option<&'r Field>;

    /// Appends a field that the record does not have, unless there must be one.
    fn missing(&mut self, place: FieldPlace, out: &mut Vec<u8>) -> Result<()>;

    /// Checks the fields that the record has and the class does not; `found` of the
    /// class's are there.
    fn check_rest(&self, class: usize, variant: usize, found: usize, record: &Record)
    -> Result<()>;

    /// The class of a record that stands as a trait object, and its number in the save.
    fn class_of(&mut self, record: &Record) -> Result<(usize, u64)>;

    /// Appends a record in the form in which it was stored, if the target can make this class of
    /// that; else false.
    fn stored(&mut self, _class: usize, _value: &Value, _out: &mut Vec<u8>) -> Result<bool> {
        Ok(false)
    }

    /// Appends a value as the field of a node, if the field makes it of another one; else false.
    fn field(&mut self, _node: usize, _value: &Value, _out: &mut Vec<u8>) -> Result<bool> {
        Ok(false)
    }

    /// Appends one of the parts of an [`Unknown`](crate::Unknown), if it is of a class that the
    /// target does not have; else false.
    fn unknown(&mut self, _part: &Value, _out: &mut Vec<u8>) -> Result<bool> {
        Ok(false)
    }

    fn limits(&self) -> &Limits;

    /// True if a value becomes an option, a list, a set or a newtype that holds it, and an option what it holds, as a
    /// stored value does.
    fn wraps(&self) -> bool {
        false
    }

    /// Checks that a value that stands without a newtype may become it.
    fn check_bare(&self, _class: usize) -> Result<()> {
        Ok(())
    }

    /// True if floats are rounded to those of the kind.
    fn rounds(&self) -> bool {
        false
    }

    /// Checks that a handle may lead there.
    fn check_handle(&self, _arena: &str, _handle: HandleValue) -> Result<()> {
        Ok(())
    }

    /// Checks that a reference of this kind may lead there.
    fn check_reference(&self, _kind: &KindSchema, _id: Option<ObjectId>) -> Result<()> {
        Ok(())
    }
}

/// Appends a value as one of the kind of a node.
pub(crate) fn write_value(
    target: &mut dyn WriteTarget,
    stored: &Stored,
    node: usize,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<()> {
    ValueWriter { target, stored, out }.all(node, value)
}

struct ValueWriter<'r> {
    target: &'r mut dyn WriteTarget,
    stored: &'r Stored,
    out: &'r mut Vec<u8>,
}

impl<'r> ValueWriter<'r> {
    /// Appends a value. Open values are on a heap stack, since a value may nest deeper than the calls of a small thread
    /// can.
    fn all(&mut self, node: usize, value: &'r Value) -> Result<()> {
        let mut open = Vec::new();
        let result = self.parts(node, value, &mut open);
        result.map_err(|error| {
            error.in_field(&path(self.stored, open.iter().map(|open| &open.frame)))
        })
    }

    fn parts(
        &mut self,
        node: usize,
        value: &'r Value,
        open: &mut Vec<WriteFrame<'r>>,
    ) -> Result<()> {
        self.begin(node, value, open)?;
        while let Some(last) = open.last_mut() {
            if let Some((node, part)) = last.next(self)? {
                self.begin(node, part, open)?;
            } else if let Some(last) = open.pop() {
                last.end(self)?;
            }
        }
        Ok(())
    }

    /// Appends a value without parts, or the beginning of one whose parts are next.
    fn begin(
        &mut self,
        mut node: usize,
        value: &'r Value,
        open: &mut Vec<WriteFrame<'r>>,
    ) -> Result<()> {
        if self.target.field(node, value, self.out)? {
            return Ok(());
        }
        let stored = self.stored;
        let (mut value, wraps) = (value, self.target.wraps());
        let (kind, first) = loop {
            let at = stored.node(node);
            if let Value::Option(Some(held)) = value
                && wraps
                && !matches!(at.kind, KindSchema::Option(_))
            {
                value = held;
            }
            match &at.kind {
                KindSchema::Class(class) if self.target.stored(*class, value, self.out)? => {
                    return Ok(());
                }
                KindSchema::Class(class) if matches!(stored[*class].form, Form::Value(_)) => {
                    node = stored.first(*class, 0);
                }
                kind => break (kind, at.first()),
            }
        };
        if !kind.has_parts() {
            return self.scalar(kind, value);
        }
        if open.len() >= levels(self.target.limits()) {
            return Err(too_deep(self.target.limits()));
        }
        let begun = match kind {
            KindSchema::Class(class)
                if wraps
                    && stored[*class].newtype().is_some()
                    && !matches!(value, Value::Struct(_)) =>
            {
                self.target.check_bare(*class)?;
                let frame = WalkFrame::fields(stored, *class, 0);
                Some(WriteFrame::new(frame, RemainingParts::One(Some(value))))
            }
            KindSchema::List(_) | KindSchema::Set(_) if wraps && !is_list(value) => {
                count::push(1, self.out);
                let frame = WalkFrame::elements(first, 1);
                Some(WriteFrame::new(frame, RemainingParts::One(Some(value))))
            }
            KindSchema::Class(class) => self.class(*class, value)?,
            KindSchema::Dynamic(_) => self.dynamic(kind, value)?,
            KindSchema::Option(_) => {
                let value = match value {
                    Value::Option(None) => {
                        self.out.push(0);
                        return Ok(());
                    }
                    Value::Option(Some(value)) => value,
                    // A value without an option around it is present.
                    value => value,
                };
                self.out.push(1);
                Some(WriteFrame::new(WalkFrame::one(first), RemainingParts::One(Some(value))))
            }
            KindSchema::Tuple(kinds) if kinds.is_empty() && matches!(value, Value::Unit) => None,
            KindSchema::Tuple(kinds) => {
                let (Value::Tuple(values) | Value::Seq(values)) = value else {
                    return Err(self.mismatch(kind, value));
                };
                self.check_length(kind, kinds.len(), values.len(), value)?;
                let frame = WalkFrame::parts(first, kinds.len());
                Some(WriteFrame::new(frame, RemainingParts::Parts(value.parts())))
            }
            KindSchema::Unknown => {
                let Value::Seq(values) = value else { return Err(self.mismatch(kind, value)) };
                let count = values.len() as u64;
                count::push(count, self.out);
                let frame = WalkFrame::elements(first, count);
                Some(WriteFrame::new(frame, RemainingParts::Unknown(values.iter())))
            }
            _ => self.elements(kind, first, value)?,
        };
        open.extend(begun);
        Ok(())
    }

    fn check_length(
        &self,
        kind: &KindSchema,
        expected: usize,
        found: usize,
        value: &Value,
    ) -> Result<()> {
        if expected == found {
            return Ok(());
        }
        let (value, kind) = (shown(value), kind.display(self.stored));
        Err(Error::new(
            ErrorKind::KindMismatch,
            format!("the value is {value}, {kind} has {expected} parts"),
        ))
    }

    /// Begins a list, set, array or map: a map is a list of tuples, and the other way round.
    fn elements(
        &mut self,
        kind: &'r KindSchema,
        first: usize,
        value: &'r Value,
    ) -> Result<Option<WriteFrame<'r>>> {
        let len = match value {
            Value::Seq(values) | Value::Tuple(values) => values.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Map(entries) => entries.len(),
            _ => return Err(self.mismatch(kind, value)),
        };
        match kind {
            KindSchema::Array(_, expected) => self.check_length(kind, *expected, len, value)?,
            _ => count::push(len as u64, self.out),
        }
        let (is_map, is_set) =
            (matches!(kind, KindSchema::Map(_)), matches!(kind, KindSchema::Set(_)));
        let part = self.stored.node(first);
        let is_pair = |kind: &KindSchema| matches!(kind, KindSchema::Tuple(it) if it.len() == 2);
        let mut frame = WalkFrame::elements(first, len as u64);
        let mut items = RemainingParts::Parts(value.parts());
        match value {
            Value::Bytes(bytes) if is_map && !bytes.is_empty() => {
                return Err(self.mismatch(kind, &Value::U8(bytes[0])).in_element(0));
            }
            Value::Bytes(bytes) => return self.bytes(first, bytes, is_set),
            Value::Map(_) => {
                let key = if is_map { first } else { part.first() };
                if !is_map && !is_pair(&part.kind) && len > 0 {
                    let error = self.mismatch_of("a key with its value", &part.kind);
                    return Err(error.in_element(0));
                }
                frame = WalkFrame::entries(key, len as u64);
            }
            _ if is_map => {
                let is_pair = |part: &Value| match part {
                    Value::Tuple(pair) | Value::Seq(pair) => pair.len() == 2,
                    _ => false,
                };
                if let Some((i, part)) = value.parts().enumerate().find(|(_, it)| !is_pair(it)) {
                    return Err(self.mismatch(kind, part).in_element(i));
                }
                frame = WalkFrame::entries(first, len as u64);
                items = RemainingParts::Parts(Box::new(value.parts().flat_map(Value::parts)));
            }
            _ => {}
        }
        let is_entries = frame.parts == FrameParts::Entries;
        let unique = match (is_map, is_set) {
            (true, _) => Some(Unique::new(0, 2)),
            (_, true) if is_entries => Some(Unique::of_pairs(0)),
            (_, true) => Some(Unique::new(0, 1)),
            _ => None,
        };
        let unique = unique.map(|unique| (unique, if is_map { "a key" } else { "an element" }));
        Ok(Some(WriteFrame { unique, ..WriteFrame::new(frame, items) }))
    }

    /// Appends bytes as elements.
    fn bytes(&mut self, node: usize, bytes: &[u8], is_set: bool) -> Result<Option<WriteFrame<'r>>> {
        let mut unique = Unique::new(0, 1);
        if self.stored.node(node).kind == KindSchema::U8 && !is_set {
            self.out.extend_from_slice(bytes);
            return Ok(None);
        }
        for (i, byte) in bytes.iter().enumerate() {
            unique.mark(self.out.len());
            let (target, out) = (&mut *self.target, &mut *self.out);
            // A byte has no parts, so this recursion ends at once.
            ValueWriter { target, stored: self.stored, out }
                .all(node, &Value::U8(*byte))
                .map_err(|error| error.in_element(i))?;
        }
        unique.mark(self.out.len());
        if is_set { self.check_different(&unique, "an element").map(|()| None) } else { Ok(None) }
    }

    /// Checks that no element of a set, or key of a map, stands twice.
    fn check_different(&self, unique: &Unique, what: &str) -> Result<()> {
        if unique.has_duplicate(self.out) {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                format!("{what} stands twice; remove one"),
            ));
        }
        Ok(())
    }

    fn class(&mut self, class: usize, value: &'r Value) -> Result<Option<WriteFrame<'r>>> {
        let stored = self.stored;
        let (variant, record) = match (&stored[class].form, value) {
            (Form::Struct(_), Value::Struct(record)) => {
                self.target.check_class(class, record)?;
                (0, record)
            }
            (Form::Enum(_), Value::Enum(record)) => {
                self.target.check_class(class, record)?;
                (self.tag(class, record.variant().unwrap_or_default())?, record)
            }
            // A variant without fields may be given by its name.
            (Form::Enum(variants), Value::Text(name)) => {
                self.target.check_bare(class)?;
                let variant = self.tag(class, name)?;
                for (i, field) in variants[variant].fields.iter().enumerate() {
                    let missing = self.target.missing((class, variant, i), self.out);
                    missing.map_err(|error| error.in_field(&field.name))?;
                }
                let record = Record::with_variant(&*stored[class].name, &**name);
                self.target.check_rest(class, variant, 0, &record)?;
                return Ok(None);
            }
            _ => return Err(self.mismatch_of(&shown(value), &KindSchema::Class(class))),
        };
        let frame = WalkFrame::fields(stored, class, variant);
        Ok(Some(WriteFrame::new(
            frame,
            RemainingParts::Fields { class, variant, record, by_name: None, found: 0 },
        )))
    }

    /// Appends the tag of a variant.
    fn tag(&mut self, class: usize, name: &str) -> Result<usize> {
        let known = &self.stored[class];
        let index =
            self.target.variant(class, name).and_then(|i| Some((i, u16::try_from(i).ok()?)));
        let Some((variant, tag)) = index else {
            let class = &known.name;
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("{class} has no variant {}", short(name)),
            ));
        };
        self.out.extend_from_slice(&tag.to_le_bytes()[..known.form.tag_width()]);
        Ok(variant)
    }

    fn dynamic(&mut self, kind: &KindSchema, value: &'r Value) -> Result<Option<WriteFrame<'r>>> {
        let Some(record) = value.as_record() else { return Err(self.mismatch(kind, value)) };
        let (class, number) = self.target.class_of(record)?;
        count::push(number, self.out);
        match (&self.stored[class].form, record.get("")) {
            (Form::Value(_), Some(value)) => {
                let frame = WalkFrame::one(self.stored.first(class, 0));
                Ok(Some(WriteFrame::new(frame, RemainingParts::One(Some(value)))))
            }
            (Form::Value(_), None) => Err(self.mismatch(kind, value)),
            _ if self.target.stored(class, value, self.out)? => Ok(None),
            _ => self.class(class, value),
        }
    }

    /// Appends a value that no others lie in.
    #[inline(never)]
    fn scalar(&mut self, kind: &KindSchema, value: &Value) -> Result<()> {
        if let Some(width) = Width::from_kind(kind) {
            return self.number(kind, width, value);
        }
        match (kind, value) {
            (KindSchema::Unit, Value::Unit) => {}
            (KindSchema::Bool, Value::Bool(value)) => self.out.push(u8::from(*value)),
            (KindSchema::Char, Value::Char(value)) => {
                self.out.extend_from_slice(&u32::from(*value).to_le_bytes());
            }
            (KindSchema::Text, Value::Text(text)) => {
                self.check_text(text.len())?;
                count::push(text.len() as u64, self.out);
                self.out.extend_from_slice(text.as_bytes());
            }
            (KindSchema::Reference { .. } | KindSchema::TraitReference { .. }, Value::Ref(id)) => {
                self.target.check_reference(kind, *id)?;
                count::push(id.map_or(0, ObjectId::get), self.out);
            }
            // An object of a world is given by its id, too.
            (KindSchema::Handle(arena), Value::Ref(id)) if **arena == *WorldObjects::NAME => {
                return self.scalar(kind, &Value::Handle(object(*id)));
            }
            (KindSchema::Handle(arena), Value::Handle(handle)) => {
                self.target.check_handle(arena, *handle)?;
                let (state, bits) = match handle {
                    HandleValue::Null => (0, 0),
                    HandleValue::Live(bits) => (1, *bits),
                    HandleValue::Dead(bits) => (2, *bits),
                };
                self.out.push(state);
                self.out.extend_from_slice(&bits.to_le_bytes());
            }
            _ => return Err(self.mismatch(kind, value)),
        }
        Ok(())
    }

    /// Appends a number, if it is one of the kind too.
    fn number(&mut self, kind: &KindSchema, width: Width, value: &Value) -> Result<()> {
        let Some(number) = number(value) else { return Err(self.mismatch(kind, value)) };
        let number = if width.is_float() { number } else { number.whole() };
        let start = self.out.len();
        let is_same = width.write(number, self.out);
        // A NaN may lose some of its bits and fit nevertheless.
        let float = matches!(number, Number::Float(_)) && width.is_float();
        let lost = float && width.read(&self.out[start..]) != number;
        let is_exact = is_same && !lost;
        let is_rounded = || float && self.target.rounds() && is_in_range(number);
        if is_exact || is_rounded() { Ok(()) } else { Err(self.mismatch(kind, value)) }
    }

    fn check_text(&self, length: usize) -> Result<()> {
        let limit = self.target.limits().text;
        if length <= limit || length as u64 <= count::SHORT {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::TooLarge,
            format!("a text of {length} bytes is over the limit of {limit}; raise `Limits::text`"),
        ))
    }

    #[cold]
    fn mismatch(&self, kind: &KindSchema, value: &Value) -> Error {
        self.mismatch_of(&shown(value), kind)
    }

    #[cold]
    fn mismatch_of(&self, what: &str, kind: &KindSchema) -> Error {
        let kind = kind.display(self.stored);
        Error::new(ErrorKind::KindMismatch, format!("the value is {what}, {kind} is wanted"))
    }
}

/// The parts of a value, in the order of the bytes.
enum RemainingParts<'r> {
    One(Option<&'r Value>),
    Parts(PartIter<'r>),
    Fields {
        class: usize,
        variant: usize,
        record: &'r Record,
        by_name: FieldsByName<'r>,
        /// How many of the fields the record has.
        found: usize,
    },
    /// Trait objects; the target may be able to write some of them.
    Unknown(slice::Iter<'r, Value>),
}

/// A value some of whose parts are written.
struct WriteFrame<'r> {
    frame: WalkFrame,
    items: RemainingParts<'r>,
    /// The elements of a set or the keys of a map, which must be distinct.
    unique: Option<(Unique, &'static str)>,
}

impl<'r> WriteFrame<'r> {
    fn new(frame: WalkFrame, items: RemainingParts<'r>) -> Self {
        Self { frame, items, unique: None }
    }

    /// The next part, and the node that it is written as; `None` if there is none.
    fn next(&mut self, run: &mut ValueWriter<'r>) -> Result<Option<(usize, &'r Value)>> {
        if let Some((unique, _)) = &mut self.unique {
            unique.mark(run.out.len());
        }
        while let Some(node) = self.frame.next() {
            let part = match &mut self.items {
                RemainingParts::One(value) => value.take(),
                RemainingParts::Parts(parts) => parts.next(),
                RemainingParts::Fields { class, variant, record, by_name, found } => {
                    let field = node - run.stored.first(*class, *variant);
                    let place = (*class, *variant, field);
                    let value = run.target.find(place, record, by_name);
                    match value {
                        Some(_) => *found += 1,
                        None => run.target.missing(place, run.out)?,
                    }
                    value.map(|field| &field.value)
                }
                RemainingParts::Unknown(parts) => match parts.next() {
                    Some(part) if run.target.unknown(part, run.out)? => None,
                    part => part,
                },
            };
            if let Some(part) = part {
                return Ok(Some((node, part)));
            }
        }
        Ok(None)
    }

    /// Checks the whole when all parts are written.
    fn end(self, run: &ValueWriter<'r>) -> Result<()> {
        if let RemainingParts::Fields { class, variant, record, found, .. } = self.items {
            run.target.check_rest(class, variant, found, record)?;
        }
        self.unique.map_or(Ok(()), |(unique, what)| run.check_different(&unique, what))
    }
}

/// True for a value whose parts are those of a list, a set or a map.
fn is_list(value: &Value) -> bool {
    matches!(value, Value::Seq(_) | Value::Tuple(_) | Value::Bytes(_) | Value::Map(_))
}

/// True if a float has a nearest one of any width: it is not larger than all of them.
#[expect(clippy::cast_possible_truncation, reason = "it is what is asked for")]
fn is_in_range(number: Number) -> bool {
    let Number::Float(bits) = number else { return false };
    let number = f64::from_bits(bits);
    number.is_finite() == (number as f32).is_finite()
}

/// The handle of an object of a world.
fn object(id: Option<ObjectId>) -> HandleValue {
    match id {
        None | Some(ObjectId::NULL) => HandleValue::Null,
        Some(id) if id.is_dead() => HandleValue::Dead(id.get() & !ObjectId::DEAD),
        Some(id) => HandleValue::Live(id.get()),
    }
}

/// The number that a value is.
fn number(value: &Value) -> Option<Number> {
    Some(match value {
        Value::U8(number) => Number::Natural((*number).into()),
        Value::U16(number) => Number::Natural((*number).into()),
        Value::U32(number) => Number::Natural((*number).into()),
        Value::U64(number) => Number::Natural((*number).into()),
        Value::U128(number) => Number::Natural(*number),
        Value::I8(number) => Number::from(i128::from(*number)),
        Value::I16(number) => Number::from(i128::from(*number)),
        Value::I32(number) => Number::from(i128::from(*number)),
        Value::I64(number) => Number::from(i128::from(*number)),
        Value::I128(number) => Number::from(*number),
        Value::F32(number) => Width::F32.read(&number.to_le_bytes()),
        Value::F64(number) => Number::Float(number.to_bits()),
        _ => return None,
    })
}

/// Describes a value in a few words, for messages.
pub(in crate::schema) fn shown(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => format!("a list of {} bytes", bytes.len()),
        Value::Option(Some(_)) => String::from("an option"),
        Value::Seq(values) => format!("a list of {}", values.len()),
        Value::Tuple(values) => format!("a tuple of {}", values.len()),
        Value::Map(entries) => format!("a map of {}", entries.len()),
        Value::Struct(record) => format!("of class {}", short(record.class())),
        Value::Enum(record) => {
            let variant = record.variant().unwrap_or_default();
            format!("of class {}, variant {}", short(record.class()), short(variant))
        }
        Value::Text(text) => format!("text {:?}", short(text)),
        scalar => scalar.to_string(),
    }
}

/// The beginning of a text.
fn short(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
