use std::collections::HashSet;

use super::Parser;
use crate::Result;
use crate::value::{Record, Value};

/// A value some of whose parts are parsed.
pub(super) enum Open {
    Some {
        value: Option<Box<Value>>,
    },
    Seq {
        values: Vec<Value>,
        /// True if a comma was last.
        comma: bool,
    },
    /// A tuple, or the unit.
    Tuple {
        at: usize,
        values: Vec<Value>,
        comma: bool,
    },
    Map {
        entries: Vec<(Value, Value)>,
        /// The key whose value is next.
        key: Option<Value>,
        comma: bool,
    },
    Fields {
        record: Record,
        names: HashSet<String>,
        /// The field whose value is next, and where its name stands.
        name: (usize, String),
        comma: bool,
    },
}

impl Open {
    /// Takes what stands before the next part; true if there is none.
    pub(super) fn ends(&mut self, parser: &mut Parser<'_>) -> Result<bool> {
        match self {
            Self::Some { value: None } | Self::Map { key: Some(_), .. } => Ok(false),
            Self::Some { .. } => parser.need(")").map(|()| true),
            Self::Seq { values, comma } => ends_list("]", values, *comma, parser),
            Self::Tuple { values, comma, .. } => ends_list(")", values, *comma, parser),
            Self::Map { comma, .. } => ends_braces(*comma, parser),
            Self::Fields { name, comma, .. } => {
                if ends_braces(*comma, parser)? {
                    return Ok(true);
                }
                *name = (parser.at, parser.name()?);
                parser.need(":")?;
                Ok(false)
            }
        }
    }

    /// Adds the next part.
    pub(super) fn put(&mut self, part: Value, parser: &mut Parser<'_>) -> Result<()> {
        match self {
            Self::Some { value } => {
                *value = Some(Box::new(part));
                parser.take(",");
            }
            Self::Seq { values, comma } | Self::Tuple { values, comma, .. } => {
                values.push(part);
                *comma = parser.take(",");
            }
            Self::Map { entries, key, comma } => match key.take() {
                None => {
                    parser.need(":")?;
                    *key = Some(part);
                }
                Some(key) => {
                    entries.push((key, part));
                    *comma = parser.take(",");
                }
            },
            Self::Fields { record, names, name: (at, name), comma } => {
                if !names.insert(name.clone()) {
                    return Err(parser.bad(*at, &format!("the field {name} stands twice")));
                }
                record.push(std::mem::take(name), part);
                *comma = parser.take(",");
            }
        }
        Ok(())
    }

    /// The value, when all of its parts are there.
    pub(super) fn whole(self, parser: &Parser<'_>) -> Result<Value> {
        Ok(match self {
            Self::Some { value } => Value::Option(value),
            Self::Seq { values, .. } => Value::Seq(values),
            Self::Tuple { values, .. } if values.is_empty() => Value::Unit,
            Self::Tuple { at, values, comma: false } if values.len() == 1 => {
                return Err(parser.bad(at, "a tuple of one value is written `(value,)`"));
            }
            Self::Tuple { values, .. } => Value::Tuple(values),
            Self::Map { entries, .. } => Value::Map(entries),
            Self::Fields { record, .. } => Value::from(record),
        })
    }
}

/// True if the bracket is next; else there must be a comma before the next value.
fn ends_list(close: &str, values: &[Value], comma: bool, parser: &mut Parser<'_>) -> Result<bool> {
    let ends = parser.take(close);
    if !ends && !values.is_empty() && !comma {
        return Err(parser.expected(&format!("`,` or `{close}`")));
    }
    Ok(ends)
}

fn ends_braces(comma: bool, parser: &mut Parser<'_>) -> Result<bool> {
    let ends = parser.take("}");
    if !ends && !comma {
        return Err(parser.expected("`,` or `}`"));
    }
    Ok(ends)
}
