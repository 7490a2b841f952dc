//! Values without their types as bytes of a kind.
//!
//! A value need not be of the very kind: what it can be without loss is written,
//! such as a `u8` as a `u32`; the rest is an error.

use super::number::{Fit, Number, Width};
use super::{ClassSchema, FieldSchema, Form, KindSchema};
use crate::codec::count;
use crate::types::{Arena as _, WorldObjects};
use crate::value::{Field, HandleValue, Record, Value, levels, too_deep};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// How records meet the classes that they are written as.
///
/// Classes, variants and fields are given by their indices; `variant` is 0 for a struct.
pub(crate) trait Target {
    /// Checks that a record may be written as a class.
    fn check_class(&self, class: usize, record: &Record) -> Result<()>;

    /// The variant of this name.
    fn variant(&self, class: usize, name: &str) -> Option<usize>;

    /// The record's field for one of a class.
    fn find<'r>(
        &self,
        class: usize,
        variant: usize,
        field: usize,
        record: &'r Record,
    ) -> Option<&'r Field>;

    /// Appends a field that the record does not have, unless there must be one.
    fn missing(
        &mut self,
        class: usize,
        variant: usize,
        field: usize,
        out: &mut Vec<u8>,
    ) -> Result<()>;

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

    /// Appends one of the parts of an [`Unknown`](crate::Unknown), if it is of a class that the
    /// target does not have; else false.
    fn kept(&mut self, _part: &Value, _out: &mut Vec<u8>) -> Result<bool> {
        Ok(false)
    }

    fn limits(&self) -> &Limits;

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

/// Appends a value as one of a kind.
pub(crate) fn write_value(
    target: &mut dyn Target,
    classes: &[ClassSchema],
    kind: &KindSchema,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<()> {
    Run { target, classes, out }.all(As::Kind(kind), value)
}

/// What a value is to be written as.
#[derive(Clone, Copy)]
enum As<'r> {
    Kind(&'r KindSchema),
    /// A trait object of one of these kinds.
    Dynamic(&'r KindSchema),
}

struct Run<'r> {
    target: &'r mut dyn Target,
    classes: &'r [ClassSchema],
    out: &'r mut Vec<u8>,
}

impl<'r> Run<'r> {
    /// Appends a value. What is open is on a stack of its own: a value may nest deeper than the
    /// calls of a small thread.
    fn all(&mut self, of: As<'r>, value: &'r Value) -> Result<()> {
        let mut open = Vec::new();
        let result = self.parts(of, value, &mut open);
        result.map_err(|error| open.iter().rev().fold(error, |error, open| open.locate(error)))
    }

    fn parts(&mut self, of: As<'r>, value: &'r Value, open: &mut Vec<Open<'r>>) -> Result<()> {
        self.begin(of, Found::Value(value), open)?;
        while let Some(last) = open.last_mut() {
            if let Some((of, part)) = last.next(self)? {
                self.begin(of, part, open)?;
            } else if let Some(last) = open.pop() {
                last.end(self)?;
            }
        }
        Ok(())
    }

    /// Appends a value without parts, or the beginning of one whose parts are next.
    fn begin(&mut self, of: As<'r>, found: Found<'r>, open: &mut Vec<Open<'r>>) -> Result<()> {
        let value = match (found, of) {
            (Found::Value(value), _) => value,
            (Found::Byte(byte), of) => {
                // No byte lies in it in its turn.
                let (target, out) = (&mut *self.target, &mut *self.out);
                return Run { target, classes: self.classes, out }.all(of, &Value::U8(byte));
            }
            (Found::Entry(entry), As::Kind(KindSchema::Tuple(kinds))) if kinds.len() == 2 => {
                open.push(Open::Tuple { kinds, items: Items::Entry(entry), begun: 0 });
                return Ok(());
            }
            (Found::Entry(_), As::Kind(kind) | As::Dynamic(kind)) => {
                return Err(self.wanted("a key with its value", kind));
            }
        };
        if let As::Kind(kind) = of
            && !kind.has_parts()
        {
            return self.scalar(kind, value);
        }
        if open.len() >= levels(self.target.limits()) {
            return Err(too_deep(self.target.limits()));
        }
        let begun = match of {
            As::Kind(KindSchema::Class(class)) => self.class(*class, value)?,
            As::Kind(kind @ KindSchema::Dynamic(_)) | As::Dynamic(kind) => {
                self.dynamic(kind, value)?
            }
            As::Kind(kind) => self.kind(kind, value)?,
        };
        open.extend(begun);
        Ok(())
    }

    /// Begins a value of a kind whose parts are no fields.
    fn kind(&mut self, kind: &'r KindSchema, value: &'r Value) -> Result<Option<Open<'r>>> {
        Ok(Some(match kind {
            KindSchema::Option(inner) => {
                let value = match value {
                    Value::Option(None) => {
                        self.out.push(0);
                        return Ok(None);
                    }
                    Value::Option(Some(value)) => value,
                    // What is there is present.
                    value => value,
                };
                self.out.push(1);
                Open::One { part: Some((As::Kind(inner), value)) }
            }
            KindSchema::List(part) | KindSchema::Set(part) => {
                let items = self.items(kind, None, value)?;
                count::push(items.len() as u64, self.out);
                let is_set = matches!(kind, KindSchema::Set(_));
                return self.elements(part, items, is_set);
            }
            KindSchema::Array(part, len) => {
                let items = self.items(kind, Some(*len), value)?;
                return self.elements(part, items, false);
            }
            KindSchema::Tuple(kinds) if kinds.is_empty() && matches!(value, Value::Unit) => {
                return Ok(None);
            }
            KindSchema::Tuple(kinds) => {
                let items = self.items(kind, Some(kinds.len()), value)?;
                Open::Tuple { kinds, items, begun: 0 }
            }
            KindSchema::Map(kinds) => {
                let items = self.items(kind, None, value)?;
                count::push(items.len() as u64, self.out);
                let keys = Vec::with_capacity(items.len());
                Open::Map { kind, kinds, items, begun: 0, value: None, start: 0, keys }
            }
            _ => {
                let Value::Seq(values) = value else { return Err(self.mismatch(kind, value)) };
                count::push(values.len() as u64, self.out);
                Open::Unknown { kind, values, begun: 0 }
            }
        }))
    }

    /// The parts of a value; there must be `wanted`, if that is given.
    fn items(
        &self,
        kind: &KindSchema,
        wanted: Option<usize>,
        value: &'r Value,
    ) -> Result<Items<'r>> {
        let Some(items) = Items::of(value) else { return Err(self.mismatch(kind, value)) };
        match wanted {
            Some(wanted) if wanted != items.len() => {
                let (value, kind) = (shown(value), kind.display(self.classes));
                Err(Error::new(
                    ErrorKind::KindMismatch,
                    format!("the value is {value}, {kind} has {wanted} parts"),
                ))
            }
            _ => Ok(items),
        }
    }

    fn elements(
        &mut self,
        kind: &'r KindSchema,
        items: Items<'r>,
        is_set: bool,
    ) -> Result<Option<Open<'r>>> {
        let start = self.out.len();
        if let (Items::Bytes(bytes), KindSchema::U8) = (&items, kind) {
            self.out.extend_from_slice(bytes);
            if is_set {
                let ranges = (start..self.out.len()).map(|at| (at, at + 1));
                self.check_different(ranges.collect(), "an element")?;
            }
            return Ok(None);
        }
        let starts = is_set.then(Vec::new);
        Ok(Some(Open::Elements { kind, items, begun: 0, starts }))
    }

    /// Checks that no element of a set, or key of a map, stands twice.
    fn check_different(&self, mut ranges: Vec<(usize, usize)>, what: &str) -> Result<()> {
        let out = &self.out[..];
        ranges.sort_unstable_by_key(|(start, end)| &out[*start..*end]);
        let twice =
            |pair: &[(usize, usize)]| out[pair[0].0..pair[0].1] == out[pair[1].0..pair[1].1];
        if ranges.windows(2).any(twice) {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                format!("{what} stands twice; remove one"),
            ));
        }
        Ok(())
    }

    fn class(&mut self, class: usize, value: &'r Value) -> Result<Option<Open<'r>>> {
        if self.target.stored(class, value, self.out)? {
            return Ok(None);
        }
        let classes = self.classes;
        let form = &classes[class].form;
        let (variant, fields, record) = match (form, value) {
            (Form::Value(kind), value) => {
                return Ok(Some(Open::One { part: Some((As::Kind(kind), value)) }));
            }
            (Form::Struct(fields), Value::Struct(record)) => {
                self.target.check_class(class, record)?;
                (0, fields, record)
            }
            (Form::Enum(variants), Value::Enum(record)) => {
                self.target.check_class(class, record)?;
                let variant = self.tag(class, record.variant().unwrap_or_default())?;
                (variant, &variants[variant].fields, record)
            }
            // A variant without fields may be given by its name.
            (Form::Enum(variants), Value::Text(name)) => {
                let variant = self.tag(class, name)?;
                for (i, field) in variants[variant].fields.iter().enumerate() {
                    let missing = self.target.missing(class, variant, i, self.out);
                    missing.map_err(|error| error.in_field(&field.name))?;
                }
                let record = Record::of_variant(&*classes[class].name, &**name);
                self.target.check_rest(class, variant, 0, &record)?;
                return Ok(None);
            }
            _ => return Err(self.wanted(&shown(value), &KindSchema::Class(class))),
        };
        Ok(Some(Open::Fields { class, variant, fields, record, begun: 0, found: 0 }))
    }

    /// Appends the tag of a variant.
    fn tag(&mut self, class: usize, name: &str) -> Result<usize> {
        let known = &self.classes[class];
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

    fn dynamic(&mut self, kind: &KindSchema, value: &'r Value) -> Result<Option<Open<'r>>> {
        let Some(record) = value.as_record() else { return Err(self.mismatch(kind, value)) };
        let (class, number) = self.target.class_of(record)?;
        count::push(number, self.out);
        match (&self.classes[class].form, record.get("")) {
            (Form::Value(kind), Some(value)) => {
                Ok(Some(Open::One { part: Some((As::Kind(kind), value)) }))
            }
            (Form::Value(_), None) => Err(self.wanted(&shown(value), kind)),
            _ => self.class(class, value),
        }
    }

    /// Appends a value that no others lie in.
    #[inline(never)]
    fn scalar(&mut self, kind: &KindSchema, value: &Value) -> Result<()> {
        if let Some(width) = Width::of(kind) {
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
        let start = self.out.len();
        let fit = width.write(number, self.out);
        // A NaN may lose some of its bits and fit nevertheless.
        let float = matches!(number, Number::Float(_)) && width.is_float();
        let lost = float && width.read(&self.out[start..]) != number;
        let is_exact = matches!(fit, Fit::Exact) && !lost;
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
        self.wanted(&shown(value), kind)
    }

    #[cold]
    fn wanted(&self, what: &str, kind: &KindSchema) -> Error {
        let kind = kind.display(self.classes);
        Error::new(ErrorKind::KindMismatch, format!("the value is {what}, {kind} is wanted"))
    }
}

/// The parts of a value that has some, whatever it is.
enum Items<'r> {
    Values(&'r [Value]),
    Bytes(&'r [u8]),
    /// Pairs of key and value.
    Entries(&'r [(Value, Value)]),
    /// One of those.
    Entry(&'r (Value, Value)),
}

/// One of the parts.
#[derive(Clone, Copy)]
enum Found<'r> {
    Value(&'r Value),
    Byte(u8),
    Entry(&'r (Value, Value)),
}

impl<'r> Items<'r> {
    fn of(value: &'r Value) -> Option<Self> {
        Some(match value {
            Value::Seq(values) | Value::Tuple(values) => Self::Values(values),
            Value::Bytes(bytes) => Self::Bytes(bytes),
            Value::Map(entries) => Self::Entries(entries),
            _ => return None,
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Entries(entries) => entries.len(),
            Self::Entry(_) => 2,
        }
    }

    fn get(&self, i: usize) -> Option<Found<'r>> {
        match (self, i) {
            (Self::Values(values), i) => values.get(i).map(Found::Value),
            (Self::Bytes(bytes), i) => bytes.get(i).copied().map(Found::Byte),
            (Self::Entries(entries), i) => entries.get(i).map(Found::Entry),
            (Self::Entry((key, _)), 0) => Some(Found::Value(key)),
            (Self::Entry((_, value)), 1) => Some(Found::Value(value)),
            (Self::Entry(_), _) => None,
        }
    }
}

/// A value some of whose parts are written; `begun` counts them.
enum Open<'r> {
    One {
        /// Taken when it is written.
        part: Option<(As<'r>, &'r Value)>,
    },
    Elements {
        kind: &'r KindSchema,
        items: Items<'r>,
        begun: usize,
        /// Where the elements of a set begin, and where the last one ends.
        starts: Option<Vec<usize>>,
    },
    Tuple {
        kinds: &'r [KindSchema],
        items: Items<'r>,
        begun: usize,
    },
    Map {
        kind: &'r KindSchema,
        kinds: &'r [KindSchema; 2],
        items: Items<'r>,
        begun: usize,
        /// What the key that is being written leads to.
        value: Option<Found<'r>>,
        /// Where that key begins.
        start: usize,
        keys: Vec<(usize, usize)>,
    },
    Fields {
        class: usize,
        variant: usize,
        fields: &'r [FieldSchema],
        record: &'r Record,
        begun: usize,
        /// How many of them the record has.
        found: usize,
    },
    /// A list of trait objects; the target may be able to write some of them.
    Unknown {
        kind: &'r KindSchema,
        values: &'r [Value],
        begun: usize,
    },
}

impl<'r> Open<'r> {
    /// The next part, and what it is written as; `None` if there is none.
    fn next(&mut self, run: &mut Run<'r>) -> Result<Option<(As<'r>, Found<'r>)>> {
        Ok(match self {
            Self::One { part } => part.take().map(|(of, value)| (of, Found::Value(value))),
            Self::Elements { kind, items, begun, starts } => {
                if let Some(starts) = starts {
                    starts.push(run.out.len());
                }
                *begun += 1;
                items.get(*begun - 1).map(|item| (As::Kind(kind), item))
            }
            Self::Tuple { kinds, items, begun } => {
                *begun += 1;
                kinds.get(*begun - 1).map(As::Kind).zip(items.get(*begun - 1))
            }
            Self::Map { kind, kinds, items, begun, value, start, keys } => {
                if let Some(value) = value.take() {
                    keys.push((*start, run.out.len()));
                    return Ok(Some((As::Kind(&kinds[1]), value)));
                }
                *begun += 1;
                let Some(item) = items.get(*begun - 1) else { return Ok(None) };
                let (key, found) = entry(item).map_err(|item| run.wanted(&item, kind))?;
                (*value, *start) = (Some(Found::Value(found)), run.out.len());
                Some((As::Kind(&kinds[0]), Found::Value(key)))
            }
            Self::Fields { class, variant, fields, record, begun, found } => loop {
                let Some(field) = fields.get(*begun) else { break None };
                *begun += 1;
                if let Some(value) = run.target.find(*class, *variant, *begun - 1, record) {
                    *found += 1;
                    break Some((As::Kind(&field.kind), Found::Value(&value.value)));
                }
                run.target.missing(*class, *variant, *begun - 1, run.out)?;
            },
            Self::Unknown { kind, values, begun } => loop {
                let Some(value) = values.get(*begun) else { break None };
                *begun += 1;
                if !run.target.kept(value, run.out)? {
                    break Some((As::Dynamic(kind), Found::Value(value)));
                }
            },
        })
    }

    /// Checks the whole when all parts are written.
    fn end(self, run: &Run<'r>) -> Result<()> {
        match self {
            Self::Elements { starts: Some(starts), .. } => {
                let ranges = starts.windows(2).map(|pair| (pair[0], pair[1]));
                run.check_different(ranges.collect(), "an element")
            }
            Self::Map { keys, .. } => run.check_different(keys, "a key"),
            Self::Fields { class, variant, record, found, .. } => {
                run.target.check_rest(class, variant, found, record)
            }
            _ => Ok(()),
        }
    }

    /// Says of an error in which part it is.
    fn locate(&self, error: Error) -> Error {
        match self {
            Self::One { .. } => error,
            Self::Map { begun, value: Some(_), .. } => {
                error.in_field("key").in_field(&format!("[{}]", begun.saturating_sub(1)))
            }
            Self::Elements { begun, .. }
            | Self::Map { begun, .. }
            | Self::Unknown { begun, .. } => error.in_element(begun.saturating_sub(1)),
            Self::Tuple { begun, .. } => error.in_field(&begun.saturating_sub(1).to_string()),
            Self::Fields { fields, begun, .. } => {
                let field = begun.checked_sub(1).and_then(|field| fields.get(field));
                error.in_field(field.map_or("", |field| &field.name))
            }
        }
    }
}

/// Key and value of an entry of a map; else what it is.
fn entry(item: Found<'_>) -> Result<(&Value, &Value), String> {
    match item {
        Found::Entry((key, value)) => Ok((key, value)),
        Found::Value(Value::Tuple(pair) | Value::Seq(pair)) if pair.len() == 2 => {
            Ok((&pair[0], &pair[1]))
        }
        Found::Value(other) => Err(shown(other)),
        Found::Byte(byte) => Err(shown(&Value::U8(byte))),
    }
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
        None | Some(ObjectId::NOWHERE) => HandleValue::Null,
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

/// What a value is, in a few words.
fn shown(value: &Value) -> String {
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
