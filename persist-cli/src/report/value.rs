//! Values as JSON for the page, cut where they are too long or too deep to look at.

use persist::Value;
use persist::reflect::HandleValue;
use serde_json::{Value as Json, json};

use super::data::Pool;
use super::index::Index;
use crate::objects::{Objects, Target};

/// Characters of a text.
const MAX_TEXT: usize = 4000;
/// Levels of a value: a page shows no more, and a browser draws them by recursion.
const MAX_LEVELS: u32 = 40;
/// The largest integer up to which a double has all.
const MAX_EXACT: i128 = 1 << 53;

/// Encodes values of a save.
pub(crate) struct Encoder<'o, 'd> {
    pub(crate) objects: &'o Objects<'d>,
    /// All objects of the save.
    pub(crate) index: &'o Index,
    /// The numbers that the objects have in the index.
    pub(crate) numbers: &'o [usize],
    /// Parts of a list or map, and bytes, that the page gets.
    pub(crate) max_parts: usize,
}

impl Encoder<'_, '_> {
    /// Returns the target of a value of an object; `None` if the value is no reference to an object.
    pub(crate) fn reference(&self, object: usize, value: &Value) -> Option<Reached> {
        let target = self.objects.refers_to(object, value)?;
        if let Some(place) = self.objects.target(object, value) {
            return Some(Reached::Shown(place));
        }
        let (number, id) = match target {
            Target::Entry(id) => (self.index.entry(id), id),
            Target::Member(world, id) => (self.index.member(self.numbers[world], id), id),
            Target::Place(_) => return None,
        };
        number.map(|_| Reached::Elsewhere(id))
    }

    /// A value of an object.
    pub(crate) fn value(&self, object: usize, value: &Value, pool: &mut Pool) -> Json {
        self.nested(object, value, pool, MAX_LEVELS)
    }

    fn nested(&self, object: usize, value: &Value, pool: &mut Pool, levels: u32) -> Json {
        let Some(levels) = levels.checked_sub(1) else { return json!({ "deep": true }) };
        let mut list = |values: &[Value]| {
            let parts = values.iter().take(self.max_parts);
            let parts = parts.map(|value| self.nested(object, value, pool, levels)).collect();
            let parts = Json::Array(parts);
            if values.len() > self.max_parts {
                json!({ "l": parts, "n": values.len() })
            } else {
                parts
            }
        };
        match value {
            Value::Unit => Json::Null,
            Value::Bool(value) => Json::from(*value),
            Value::Char(value) => Json::from(value.to_string()),
            Value::U8(value) => Json::from(*value),
            Value::U16(value) => Json::from(*value),
            Value::U32(value) => Json::from(*value),
            Value::U64(value) => integer(i128::from(*value)),
            Value::U128(value) => match i128::try_from(*value) {
                Ok(value) => integer(value),
                Err(_) => json!({ "d": value.to_string() }),
            },
            Value::I8(value) => Json::from(*value),
            Value::I16(value) => Json::from(*value),
            Value::I32(value) => Json::from(*value),
            Value::I64(value) => integer(i128::from(*value)),
            Value::I128(value) => integer(*value),
            // By its text: the same digits as a program shows, not those of the double next to it.
            Value::F32(value) => float(&value.to_string()),
            Value::F64(value) => float(&value.to_string()),
            Value::Text(text) => match text.char_indices().nth(MAX_TEXT) {
                Some((end, _)) => json!({ "t": text[..end], "n": text.chars().count() }),
                None => Json::from(text.as_str()),
            },
            Value::Bytes(bytes) => {
                let hex: String =
                    bytes.iter().take(self.max_parts).map(|byte| format!("{byte:02x}")).collect();
                json!({ "x": hex, "n": bytes.len() })
            }
            Value::Option(None) => Json::Null,
            Value::Option(Some(value)) => self.nested(object, value, pool, levels),
            Value::Seq(values) | Value::Tuple(values) => list(values),
            Value::Map(entries) => {
                let parts: Vec<_> = entries
                    .iter()
                    .take(self.max_parts)
                    .map(|(key, value)| {
                        let key = self.nested(object, key, pool, levels);
                        (key, self.nested(object, value, pool, levels))
                    })
                    .collect();
                if entries.len() > self.max_parts {
                    json!({ "m": parts, "n": entries.len() })
                } else {
                    json!({ "m": parts })
                }
            }
            Value::Struct(record) | Value::Enum(record) => {
                if let Some(reached) = self.reference(object, value) {
                    return reached.json();
                }
                let shape = pool.shape(record);
                let fields: Vec<_> = record
                    .fields()
                    .map(|(_, value)| self.nested(object, value, pool, levels))
                    .collect();
                if fields.is_empty() {
                    json!({ "s": shape })
                } else {
                    json!({ "s": shape, "f": fields })
                }
            }
            Value::Ref(_) => match self.reference(object, value) {
                Some(reached) => reached.json(),
                None => json!({ "r": -1 }),
            },
            Value::Handle(handle) => match (self.reference(object, value), handle) {
                (Some(reached), _) => reached.json(),
                (None, HandleValue::Null) => json!({ "h": "null" }),
                (None, HandleValue::Live(bits)) => json!({ "h": format!("live {bits}") }),
                (None, HandleValue::Dead(bits)) => json!({ "h": format!("dead {bits}") }),
            },
            _ => json!({ "deep": true }),
        }
    }
}

/// An object that a value refers to.
pub(crate) enum Reached {
    /// An object of the page, by its place.
    Shown(usize),
    /// An object that only the save has, by its id.
    Elsewhere(u64),
}

impl Reached {
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Shown(place) => json!({ "r": place }),
            Self::Elsewhere(id) => json!({ "o": integer((*id).into()) }),
        }
    }
}

/// An integer, as text if a double does not hold it.
pub(crate) fn integer(value: i128) -> Json {
    match i64::try_from(value) {
        Ok(exact) if value.abs() <= MAX_EXACT => Json::from(exact),
        _ => json!({ "d": value.to_string() }),
    }
}

/// A float by its digits, as text if JSON has no such number.
fn float(text: &str) -> Json {
    let number = text.parse().ok().and_then(serde_json::Number::from_f64);
    match number {
        // JavaScript would show it as 0.
        Some(_) if text == "-0" => json!({ "d": text }),
        Some(number) => Json::Number(number),
        None => json!({ "d": text }),
    }
}
