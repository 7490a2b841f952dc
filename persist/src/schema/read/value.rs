use std::mem::size_of;

use super::Reader;
use crate::codec::{Decoder, Fail, LoadLinks, count};
use crate::schema::layout::Shape;
use crate::schema::walk::{check_count, dynamic, fault, tag};
use crate::schema::{FieldSchema, Form, KindSchema, Stored};
use crate::value::{Field, HandleValue, Record, Value, too_deep};
use crate::{ObjectId, Result};

/// A value that is being read.
pub(super) struct Run<'r, 'i, 'd> {
    pub(super) reader: &'r mut Reader,
    pub(super) stored: &'r Stored,
    pub(super) input: &'i mut Decoder<'d>,
    pub(super) depth: u32,
}

/// A kind, and its node unless it lies in a run of fixed width.
type Place<'k> = (&'k KindSchema, Option<usize>);

impl<'d> Run<'_, '_, 'd> {
    fn read<T: crate::Persist>(&mut self) -> Result<T> {
        self.input.value().map_err(fault)
    }

    pub(super) fn value(&mut self, (kind, node): Place<'_>) -> Result<Value> {
        match kind {
            KindSchema::Option(_)
            | KindSchema::List(_)
            | KindSchema::Set(_)
            | KindSchema::Map(_)
            | KindSchema::Array(..)
            | KindSchema::Tuple(_)
            | KindSchema::Dynamic(_)
            | KindSchema::Unknown => self.nested(|run| run.parts((kind, node))),
            KindSchema::Class(class) => self.class(*class),
            _ => self.scalar(kind),
        }
    }

    /// Reads one level further in.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Value>) -> Result<Value> {
        self.depth = self.depth.checked_sub(1).ok_or_else(too_deep)?;
        let value = read(self);
        self.depth += 1;
        value
    }

    /// Reads a value that others lie in.
    fn parts(&mut self, (kind, node): Place<'_>) -> Result<Value> {
        let stored = self.stored;
        let shape = node.map(|node| stored.node(node).shape);
        // The node of the first part; there is none where all have a fixed width.
        let part = match shape {
            Some(
                Shape::Option(part)
                | Shape::List(part)
                | Shape::Map(part)
                | Shape::Array(part, _)
                | Shape::Tuple { first: part, .. },
            ) => Some(part),
            _ => None,
        };
        match kind {
            KindSchema::Option(inner) => self.option((inner, part)),
            KindSchema::List(inner) | KindSchema::Set(inner) => {
                let least = part.map_or(1, |part| stored.node(part).least);
                let count = self.count(least)?;
                let sure = if least == 0 { 0 } else { count };
                if matches!(kind, KindSchema::List(_)) {
                    return self.elements((inner, part), count, sure, None);
                }
                let mut seen = Vec::new();
                let set = self.elements((inner, part), count, sure, Some(&mut seen))?;
                check_different(seen)?;
                Ok(set)
            }
            KindSchema::Map(parts) => self.entries(parts, part),
            KindSchema::Array(inner, len) => self.elements((inner, part), *len, 0, None),
            KindSchema::Tuple(parts) => self.tuple(parts, part),
            KindSchema::Dynamic(_) => self.dynamic(),
            _ => self.unknown(),
        }
    }

    /// Reads a count of elements of at least so many bytes each.
    fn count(&mut self, least: u32) -> Result<usize> {
        let count = count::decode(self.input).map_err(fault)?;
        check_count(count, u64::from(least), self.input).map_err(fault)?;
        usize::try_from(count).map_err(|_| fault(Fail::Count))
    }

    #[inline(never)]
    fn option(&mut self, inner: Place<'_>) -> Result<Value> {
        if !self.read::<bool>()? {
            return Ok(Value::Option(None));
        }
        self.reader.charge(1, size_of::<Value>())?;
        Ok(Value::Option(Some(Box::new(self.value(inner)?))))
    }

    /// Reads elements, of which so many are known to have bytes that are there; those of a set are
    /// noted.
    #[inline(never)]
    fn elements(
        &mut self,
        part: Place<'_>,
        count: usize,
        sure: usize,
        mut seen: Option<&mut Vec<&'d [u8]>>,
    ) -> Result<Value> {
        if *part.0 == KindSchema::U8 && count > 0 {
            let bytes = self.input.take(count).map_err(fault)?;
            if let Some(seen) = seen {
                self.reader.charge(count, size_of::<&[u8]>())?;
                seen.extend(bytes.chunks(1));
            }
            return Ok(Value::Bytes(bytes.to_vec()));
        }
        self.reader.charge(sure, size_of::<Value>())?;
        let mut values = Vec::with_capacity(sure);
        for i in 0..count {
            let before = self.input.rest();
            let value = match self.value(part) {
                Ok(value) => value,
                Err(error) => return Err(error.in_element(i)),
            };
            if let Some(seen) = &mut seen {
                self.reader.charge(1, size_of::<&[u8]>())?;
                seen.push(self.read_since(before));
            }
            if self.input.rest().len() == before.len() {
                LoadLinks::charge(&mut self.reader.empty, 1, 0, self.input.limits())?;
            } else if i >= sure {
                self.reader.charge(1, size_of::<Value>())?;
            }
            values.push(value);
        }
        Ok(Value::Seq(values))
    }

    #[inline(never)]
    fn entries(&mut self, parts: &(KindSchema, KindSchema), first: Option<usize>) -> Result<Value> {
        let least = |part: usize| self.stored.node(part).least;
        let least = first.map_or(1, |part| least(part).saturating_add(least(part + 1)));
        let count = self.count(least)?;
        let (mut entries, mut seen) = (Vec::new(), Vec::new());
        for i in 0..count {
            let before = self.input.rest();
            let key = self
                .value((&parts.0, first))
                .map_err(|error| error.in_field("key").in_field(&format!("[{i}]")))?;
            seen.push(self.read_since(before));
            let value = self
                .value((&parts.1, first.map(|first| first + 1)))
                .map_err(|error| error.in_element(i))?;
            if self.input.rest().len() == before.len() {
                LoadLinks::charge(&mut self.reader.empty, 1, 0, self.input.limits())?;
            }
            self.reader.charge(1, 2 * size_of::<Value>() + size_of::<&[u8]>())?;
            entries.push((key, value));
        }
        check_different(seen)?;
        Ok(Value::Map(entries))
    }

    /// The bytes that were read since these were all that was left.
    fn read_since(&self, before: &'d [u8]) -> &'d [u8] {
        &before[..before.len() - self.input.rest().len()]
    }

    #[inline(never)]
    fn tuple(&mut self, parts: &[KindSchema], first: Option<usize>) -> Result<Value> {
        self.reader.charge(parts.len(), size_of::<Value>())?;
        let mut values = Vec::with_capacity(parts.len());
        for (i, kind) in parts.iter().enumerate() {
            match self.value((kind, first.map(|first| first + i))) {
                Ok(value) => values.push(value),
                Err(error) => return Err(error.in_field(&i.to_string())),
            }
        }
        Ok(Value::Tuple(values))
    }

    pub(super) fn class(&mut self, class: usize) -> Result<Value> {
        self.nested(|run| run.form(class))
    }

    #[inline(never)]
    fn form(&mut self, class: usize) -> Result<Value> {
        let stored = self.stored;
        let form = &stored[class].form;
        match form {
            Form::Struct(fields) => self.record(class, 0, fields).map(Value::Struct),
            Form::Enum(variants) => {
                let variant = tag(form, self.input).map_err(fault)?;
                let fields = &variants.get(variant).ok_or_else(|| fault(Fail::Value))?.fields;
                self.record(class, variant, fields).map(Value::Enum)
            }
            Form::Value(kind) => self.value((kind, Some(stored.first(class, 0)))),
        }
    }

    #[inline(never)]
    fn record(&mut self, class: usize, variant: usize, fields: &[FieldSchema]) -> Result<Record> {
        let names = self.reader.names(self.stored, class);
        self.reader.charge(fields.len(), size_of::<Field>())?;
        let of_variant = &names.variants[variant];
        let mut record = Record {
            class: names.class.clone(),
            variant: of_variant.name.clone(),
            fields: Vec::with_capacity(fields.len()),
            origin: Some(class),
        };
        let first = self.stored.first(class, variant);
        for ((field, name), node) in fields.iter().zip(&of_variant.fields).zip(first..) {
            let value = match self.value((&field.kind, Some(node))) {
                Ok(value) => value,
                Err(error) => return Err(error.in_field(name)),
            };
            record.fields.push(Field { name: name.clone(), value, origin: None });
        }
        Ok(record)
    }

    /// A trait object: the record of its class.
    #[inline(never)]
    fn dynamic(&mut self) -> Result<Value> {
        let class = dynamic(self.stored, self.input).map_err(fault)?;
        if let Form::Value(_) = self.stored[class].form {
            // No library writes one. It would lose its class, so that it becomes a field.
            let mut record = Record::new(self.reader.names(self.stored, class).class.clone());
            record.origin = Some(class);
            record.set("", self.class(class)?);
            return Ok(Value::Struct(record));
        }
        self.class(class)
    }

    /// Parts that a program did not have: a list of trait objects.
    #[inline(never)]
    fn unknown(&mut self) -> Result<Value> {
        let count = self.count(1)?;
        self.reader.charge(count, size_of::<Value>())?;
        let mut values = Vec::with_capacity(count);
        for i in 0..count {
            values.push(self.dynamic().map_err(|error| error.in_element(i))?);
        }
        Ok(Value::Seq(values))
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
fn check_different(mut seen: Vec<&[u8]>) -> Result<()> {
    seen.sort_unstable();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(fault(Fail::Duplicate));
    }
    Ok(())
}
