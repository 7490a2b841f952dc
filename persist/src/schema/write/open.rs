use super::shown::shown;
use super::value::{As, Run};
use crate::schema::{FieldSchema, KindSchema};
use crate::value::{Record, Value};
use crate::{Error, Result};

/// The parts of a value that has some, whatever it is.
pub(super) enum Items<'r> {
    Values(&'r [Value]),
    Bytes(&'r [u8]),
    /// Pairs of key and value.
    Entries(&'r [(Value, Value)]),
    /// One of those.
    Entry(&'r (Value, Value)),
}

/// One of the parts.
#[derive(Clone, Copy)]
pub(super) enum Found<'r> {
    Value(&'r Value),
    Byte(u8),
    Entry(&'r (Value, Value)),
}

impl<'r> Items<'r> {
    pub(super) fn of(value: &'r Value) -> Option<Self> {
        Some(match value {
            Value::Seq(values) | Value::Tuple(values) => Self::Values(values),
            Value::Bytes(bytes) => Self::Bytes(bytes),
            Value::Map(entries) => Self::Entries(entries),
            _ => return None,
        })
    }

    pub(super) fn len(&self) -> usize {
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
pub(super) enum Open<'r> {
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
        kinds: &'r (KindSchema, KindSchema),
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
    pub(super) fn next(&mut self, run: &mut Run<'r>) -> Result<Option<(As<'r>, Found<'r>)>> {
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
                    return Ok(Some((As::Kind(&kinds.1), value)));
                }
                *begun += 1;
                let Some(item) = items.get(*begun - 1) else { return Ok(None) };
                let (key, found) = entry(item).map_err(|item| run.wanted(&item, kind))?;
                (*value, *start) = (Some(Found::Value(found)), run.out.len());
                Some((As::Kind(&kinds.0), Found::Value(key)))
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
    pub(super) fn end(self, run: &Run<'r>) -> Result<()> {
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
    pub(super) fn locate(&self, error: Error) -> Error {
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
