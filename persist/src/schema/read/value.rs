use std::mem::size_of;

use super::Reader;
use super::open::{Around, Open};
use crate::codec::{Decoder, Fail, count};
use crate::reflect::Integer;
use crate::schema::layout::Shape;
use crate::schema::walk::{check_count, dynamic, fault, tag};
use crate::schema::{Form, KindSchema, Stored};
use crate::value::{Field, HandleValue, Record, Value, levels, too_deep};
use crate::{ObjectId, Result};

/// A value that is being read.
pub(super) struct Run<'r, 'i, 'd> {
    pub(super) reader: &'r mut Reader,
    pub(super) stored: &'r Stored,
    pub(super) input: &'i mut Decoder<'d>,
}

/// What a value is to be read as.
#[derive(Clone, Copy)]
pub(super) enum As<'r> {
    /// A kind, and its node unless it lies in a run of fixed width.
    Kind(&'r KindSchema, Option<usize>),
    Class(usize),
    /// A trait object: the record of its class, whose number is next.
    Dynamic,
}

impl<'r, 'd> Run<'r, '_, 'd> {
    fn read_compact<T: crate::Persist>(&mut self) -> Result<T> {
        T::__decode_compact(self.input).map_err(fault)
    }

    fn read<T: crate::Persist>(&mut self) -> Result<T> {
        self.input.value().map_err(fault)
    }

    /// Reads a value. What is open is on a stack of its own: a value may nest deeper than the
    /// calls of a small thread.
    pub(super) fn value(&mut self, of: As<'r>) -> Result<Value> {
        let mut open = Vec::new();
        let value = self.parts(of, &mut open);
        value.map_err(|error| open.iter().rev().fold(error, |error, open| open.locate(error)))
    }

    fn parts(&mut self, of: As<'r>, open: &mut Vec<Open<'r, 'd>>) -> Result<Value> {
        let mut whole = self.begin(of, open)?;
        loop {
            let part = match (whole.take(), open.last_mut()) {
                (Some(value), None) => return Ok(value),
                (Some(value), Some(last)) => {
                    last.put(value, self)?;
                    last.next(self)
                }
                (None, Some(last)) => last.next(self),
                // A value is whole, or open.
                (None, None) => return Err(fault(Fail::Value)),
            };
            match part {
                Some(part) => whole = self.begin(part, open)?,
                None => whole = open.pop().map(Open::whole).transpose()?,
            }
        }
    }

    /// Reads a value without parts, or opens one whose parts are next.
    fn begin(&mut self, of: As<'r>, open: &mut Vec<Open<'r, 'd>>) -> Result<Option<Value>> {
        if let As::Kind(kind, _) = of
            && !kind.has_parts()
        {
            return self.scalar(kind).map(Some);
        }
        if open.len() >= levels(self.input.limits()) {
            return Err(too_deep(self.input.limits()));
        }
        let begun = match of {
            As::Kind(KindSchema::Class(class), _) => self.class(*class)?,
            As::Class(class) => self.class(class)?,
            As::Kind(kind, node) => return self.kind(kind, node, open),
            As::Dynamic => self.dynamic()?,
        };
        open.push(begun);
        Ok(None)
    }

    /// Opens a value of a kind whose parts are no fields.
    fn kind(
        &mut self,
        kind: &'r KindSchema,
        node: Option<usize>,
        open: &mut Vec<Open<'r, 'd>>,
    ) -> Result<Option<Value>> {
        let stored = self.stored;
        // The node of the first part; there is none where all have a fixed width.
        let node = match node.map(|node| stored.node(node).shape) {
            Some(
                Shape::Option(part)
                | Shape::List(part)
                | Shape::Map(part)
                | Shape::Array(part, _)
                | Shape::Tuple { first: part, .. },
            ) => Some(part),
            _ => None,
        };
        let least = |node: usize| stored.node(node).least;
        let begun = match kind {
            KindSchema::Option(kind) => {
                if !self.read::<bool>()? {
                    return Ok(Some(Value::Option(None)));
                }
                self.reader.charge(1, size_of::<Value>())?;
                Open::One { part: Some(As::Kind(kind, node)), value: None, around: Around::Option }
            }
            KindSchema::List(part) | KindSchema::Set(part) => {
                let least = node.map_or(1, least);
                let count = self.count(least)?;
                let is_set = matches!(kind, KindSchema::Set(_));
                if **part == KindSchema::U8 && count > 0 {
                    return self.bytes(count, is_set).map(Some);
                }
                let sure = if least == 0 { 0 } else { count };
                self.elements(As::Kind(part, node), count, sure, is_set)?
            }
            KindSchema::Map(parts) => {
                let least = |node| least(node).saturating_add(least(node + 1));
                let count = self.count(node.map_or(1, least))?;
                Open::Entries {
                    parts: [
                        As::Kind(&parts.0, node),
                        As::Kind(&parts.1, node.map(|node| node + 1)),
                    ],
                    count,
                    entries: Vec::new(),
                    key: None,
                    seen: Vec::new(),
                    before: self.input.rest(),
                }
            }
            KindSchema::Array(part, len) if **part == KindSchema::U8 && *len > 0 => {
                return self.bytes(*len, false).map(Some);
            }
            KindSchema::Array(part, len) => self.elements(As::Kind(part, node), *len, 0, false)?,
            KindSchema::Tuple(kinds) => {
                self.reader.charge(kinds.len(), size_of::<Value>())?;
                Open::Tuple { kinds, first: node, values: Vec::with_capacity(kinds.len()) }
            }
            KindSchema::Dynamic(_) => self.dynamic()?,
            // Parts that a program did not have: a list of trait objects.
            _ => {
                let count = self.count(1)?;
                self.elements(As::Dynamic, count, count, false)?
            }
        };
        open.push(begun);
        Ok(None)
    }

    /// Reads a count of elements of at least `least` bytes each.
    fn count(&mut self, least: u32) -> Result<usize> {
        let count = count::decode(self.input).map_err(fault)?;
        check_count(count, u64::from(least), self.input).map_err(fault)?;
        usize::try_from(count).map_err(|_| fault(Fail::Count))
    }

    fn bytes(&mut self, count: usize, is_set: bool) -> Result<Value> {
        let bytes = self.input.take(count).map_err(fault)?;
        if is_set {
            self.reader.charge(count, size_of::<&[u8]>())?;
            check_different(bytes.chunks(1).collect())?;
        }
        Ok(Value::Bytes(bytes.to_vec()))
    }

    /// Opens elements; the bytes of `sure` of them are known to be present.
    fn elements(
        &mut self,
        part: As<'r>,
        count: usize,
        sure: usize,
        is_set: bool,
    ) -> Result<Open<'r, 'd>> {
        self.reader.charge(sure, size_of::<Value>())?;
        Ok(Open::Elements {
            part,
            count,
            sure,
            values: Vec::with_capacity(sure),
            seen: is_set.then(Vec::new),
            before: self.input.rest(),
        })
    }

    fn class(&mut self, class: usize) -> Result<Open<'r, 'd>> {
        let stored = self.stored;
        let form = &stored[class].form;
        let (variant, fields) = match form {
            Form::Struct(fields) => (0, fields),
            Form::Enum(variants) => {
                let variant = tag(form, self.input).map_err(fault)?;
                (variant, &variants.get(variant).ok_or_else(|| fault(Fail::Value))?.fields)
            }
            Form::Value(kind) => {
                let part = Some(As::Kind(kind, Some(stored.first(class, 0))));
                return Ok(Open::One { part, value: None, around: Around::Nothing });
            }
        };
        let names = self.reader.names(stored, class);
        self.reader.charge(fields.len(), size_of::<Field>())?;
        let record = Record {
            class: names.class.clone(),
            variant: names.variants[variant].name.clone(),
            fields: Vec::with_capacity(fields.len()),
            origin: Some(class),
        };
        Ok(Open::Fields { fields, first: stored.first(class, variant), names, variant, record })
    }

    /// Opens a trait object: the record of its class.
    fn dynamic(&mut self) -> Result<Open<'r, 'd>> {
        let class = dynamic(self.stored, self.input).map_err(fault)?;
        if let Form::Value(_) = self.stored[class].form {
            // No library writes one. It would lose its class, so that it becomes a field.
            let mut record = Record::new(self.reader.names(self.stored, class).class.clone());
            record.origin = Some(class);
            let part = Some(As::Class(class));
            return Ok(Open::One { part, value: None, around: Around::Record(record) });
        }
        self.class(class)
    }

    /// The bytes that were read since these were all that was left.
    pub(super) fn read_since(&self, before: &'d [u8]) -> &'d [u8] {
        &before[..before.len() - self.input.rest().len()]
    }

    /// Reads a value that no others lie in.
    #[inline(never)]
    fn scalar(&mut self, kind: &KindSchema) -> Result<Value> {
        Ok(match kind {
            KindSchema::Bool => Value::Bool(self.read()?),
            KindSchema::Char => Value::Char(self.read()?),
            KindSchema::U8 => Value::U8(self.read()?),
            KindSchema::U16 => Value::U16(self.read()?),
            KindSchema::U32 => Value::U32(self.read()?),
            KindSchema::U64 => Value::U64(self.read()?),
            KindSchema::U128 => Value::U128(self.read()?),
            KindSchema::I8 => Value::I8(self.read()?),
            KindSchema::I16 => Value::I16(self.read()?),
            KindSchema::I32 => Value::I32(self.read()?),
            KindSchema::I64 => Value::I64(self.read()?),
            KindSchema::I128 => Value::I128(self.read()?),
            KindSchema::F32 => Value::F32(self.read()?),
            KindSchema::F64 => Value::F64(self.read()?),
            KindSchema::Compact(integer) => match integer {
                Integer::U16 => Value::U16(self.read_compact()?),
                Integer::U32 => Value::U32(self.read_compact()?),
                Integer::U64 => Value::U64(self.read_compact()?),
                Integer::I16 => Value::I16(self.read_compact()?),
                Integer::I32 => Value::I32(self.read_compact()?),
                Integer::I64 => Value::I64(self.read_compact()?),
            },
            KindSchema::Text => Value::Text(self.read()?),
            KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
                Value::Ref(ObjectId::new(count::decode(self.input).map_err(fault)?))
            }
            KindSchema::Handle(_) => Value::Handle(self.handle()?),
            _ => Value::Unit,
        })
    }

    fn handle(&mut self) -> Result<HandleValue> {
        let before = self.input.rest();
        match (self.read::<u8>()?, self.read::<u64>()?) {
            (0, 0) => Ok(HandleValue::Null),
            (1, bits) => Ok(HandleValue::Live(bits)),
            (2, bits) => Ok(HandleValue::Dead(bits)),
            _ => {
                self.input.go_back(before);
                Err(fault(Fail::Value))
            }
        }
    }
}

/// Checks that no key of a map and no element of a set stands twice, by their bytes.
pub(super) fn check_different(mut seen: Vec<&[u8]>) -> Result<()> {
    seen.sort_unstable();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(fault(Fail::Duplicate));
    }
    Ok(())
}
