use std::mem::size_of;
use std::sync::Arc;

use super::Names;
use super::value::{As, Run, check_different};
use crate::codec::LoadLinks;
use crate::schema::{FieldSchema, KindSchema};
use crate::value::{Field, Origin, Record, Value};
use crate::{Error, Result};

/// A value some of whose parts are read.
pub(super) enum Open<'r, 'd> {
    One {
        /// Taken when it is read.
        part: Option<As<'r>>,
        value: Option<Value>,
        around: Around,
    },
    Elements {
        part: As<'r>,
        count: usize,
        /// How many are known to have bytes that are there; they are charged.
        sure: usize,
        values: Vec<Value>,
        /// The bytes of each element of a set.
        seen: Option<Vec<&'d [u8]>>,
        /// What was left before the next element.
        before: &'d [u8],
    },
    Entries {
        /// Key and value.
        parts: [As<'r>; 2],
        count: usize,
        entries: Vec<(Value, Value)>,
        /// The key whose value is next.
        key: Option<Value>,
        /// The bytes of each key.
        seen: Vec<&'d [u8]>,
        /// What was left before the next key.
        before: &'d [u8],
    },
    Tuple {
        kinds: &'r [KindSchema],
        first: Option<usize>,
        values: Vec<Value>,
    },
    Fields {
        fields: &'r [FieldSchema],
        /// The node of the first field.
        first: usize,
        names: Arc<Names>,
        variant: usize,
        record: Record,
    },
}

/// What there is around the one part of a value.
pub(super) enum Around {
    Option,
    /// The record of a trait object whose class is a bare value.
    Record(Record),
    Nothing,
}

impl<'r, 'd> Open<'r, 'd> {
    /// What the next part is read as; `None` if there is none.
    pub(super) fn next(&mut self, run: &Run<'r, '_, 'd>) -> Option<As<'r>> {
        match self {
            Self::One { part, .. } => part.take(),
            Self::Elements { part, count, values, before, .. } => {
                *before = run.input.rest();
                (values.len() < *count).then_some(*part)
            }
            Self::Entries { parts, key: Some(_), .. } => Some(parts[1]),
            Self::Entries { parts, count, entries, before, .. } => {
                *before = run.input.rest();
                (entries.len() < *count).then_some(parts[0])
            }
            Self::Tuple { kinds, first, values } => {
                let node = first.map(|first| first + values.len());
                kinds.get(values.len()).map(|kind| As::Kind(kind, node))
            }
            Self::Fields { fields, first, record, .. } => {
                let node = Some(*first + record.len());
                fields.get(record.len()).map(|field| As::Kind(&field.kind, node))
            }
        }
    }

    /// Adds the next part.
    pub(super) fn put(&mut self, part: Value, run: &mut Run<'r, '_, 'd>) -> Result<()> {
        match self {
            Self::One { value, .. } => *value = Some(part),
            Self::Elements { sure, values, seen, before, .. } => {
                let bytes = run.read_since(before);
                if let Some(seen) = seen {
                    run.reader.charge(1, size_of::<&[u8]>())?;
                    seen.push(bytes);
                }
                if bytes.is_empty() {
                    LoadLinks::charge(&mut run.reader.empty, 1, 0, run.input.limits())?;
                } else if values.len() >= *sure {
                    run.reader.charge(1, size_of::<Value>())?;
                }
                values.push(part);
            }
            Self::Entries { key: key @ None, seen, before, .. } => {
                seen.push(run.read_since(before));
                *key = Some(part);
            }
            Self::Entries { entries, key, before, .. } => {
                if run.read_since(before).is_empty() {
                    LoadLinks::charge(&mut run.reader.empty, 1, 0, run.input.limits())?;
                }
                run.reader.charge(1, 2 * size_of::<Value>() + size_of::<&[u8]>())?;
                entries.extend(key.take().map(|key| (key, part)));
            }
            Self::Tuple { values, .. } => values.push(part),
            Self::Fields { fields, names, variant, record, .. } => {
                let place = record.len();
                let name = names.variants[*variant].fields[place].clone();
                let (number, origin) = (fields[place].id, Origin::Written);
                record.fields.push(Field { name, number, value: part, origin, place: Some(place) });
            }
        }
        Ok(())
    }

    /// The value, when all of its parts are there.
    pub(super) fn whole(self) -> Result<Value> {
        Ok(match self {
            Self::One { value, around: Around::Option, .. } => Value::Option(value.map(Box::new)),
            Self::One { value, around: Around::Record(mut record), .. } => {
                record.push("", value.unwrap_or(Value::Unit));
                Value::Struct(record)
            }
            Self::One { value, around: Around::Nothing, .. } => value.unwrap_or(Value::Unit),
            Self::Elements { values, seen, .. } => {
                check_different(seen.unwrap_or_default())?;
                Value::Seq(values)
            }
            Self::Entries { entries, seen, .. } => {
                check_different(seen)?;
                Value::Map(entries)
            }
            Self::Tuple { values, .. } => Value::Tuple(values),
            Self::Fields { record, .. } => Value::from(record),
        })
    }

    /// Says of an error in which part it is.
    pub(super) fn locate(&self, error: Error) -> Error {
        match self {
            Self::One { .. } => error,
            Self::Elements { values, .. } => error.in_element(values.len()),
            Self::Entries { entries, key: Some(_), .. } => error.in_element(entries.len()),
            Self::Entries { entries, .. } => {
                error.in_field("key").in_field(&format!("[{}]", entries.len()))
            }
            Self::Tuple { values, .. } => error.in_field(&values.len().to_string()),
            Self::Fields { fields, record, .. } => match fields.get(record.len()) {
                Some(field) => error.in_field(&field.name),
                None => error,
            },
        }
    }
}
