//! Values as JSON for the page, cut where they are too long or too deep to look at.

use persist::Value;
use persist::reflect::HandleValue;
use serde_json::{Value as Json, json};

use super::data::Pool;
use crate::objects::Objects;

/// Parts of a list or map, and bytes, that the page gets.
const MAX_PARTS: usize = 400;
/// Characters of a text.
const MAX_TEXT: usize = 4000;
/// Levels of a value: a page shows no more, and a browser draws them by recursion.
const MAX_LEVELS: u32 = 40;
/// The largest integer up to which a double has all.
const MAX_EXACT: i128 = 1 << 53;

/// Encodes values of a save.
pub(crate) struct Encoder<'o, 'd> {
    pub(crate) objects: &'o Objects<'d>,
}

impl Encoder<'_, '_> {
    /// A value of an object.
    pub(crate) fn value(&self, object: usize, value: &Value, pool: &mut Pool) -> Json {
        self.nested(object, value, pool, MAX_LEVELS)
    }

    fn nested(&self, object: usize, value: &Value, pool: &mut Pool, levels: u32) -> Json {
        let Some(levels) = levels.checked_sub(1) else { return json!({ "deep": true }) };
        let mut list = |values: &[Value]| {
            let parts = values.iter().take(MAX_PARTS);
            let parts = parts.map(|value| self.nested(object, value, pool, levels)).collect();
            let parts = Json::Array(parts);
            if values.len() > MAX_PARTS { json!({ "l": parts, "n": values.len() }) } else { parts }
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
                    bytes.iter().take(MAX_PARTS).map(|byte| format!("{byte:02x}")).collect();
                json!({ "x": hex, "n": bytes.len() })
            }
            Value::Option(None) => Json::Null,
            Value::Option(Some(value)) => self.nested(object, value, pool, levels),
            Value::Seq(values) | Value::Tuple(values) => list(values),
            Value::Map(entries) => {
                let parts: Vec<_> = entries
                    .iter()
                    .take(MAX_PARTS)
                    .map(|(key, value)| {
                        let key = self.nested(object, key, pool, levels);
                        (key, self.nested(object, value, pool, levels))
                    })
                    .collect();
                if entries.len() > MAX_PARTS {
                    json!({ "m": parts, "n": entries.len() })
                } else {
                    json!({ "m": parts })
                }
            }
            Value::Struct(_) if self.objects.target(object, value).is_some() => {
                json!({ "r": self.objects.target(object, value) })
            }
            Value::Struct(record) | Value::Enum(record) => {
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
            Value::Ref(_) => reference(self.objects.target(object, value)),
            Value::Handle(handle) => match (self.objects.target(object, value), handle) {
                (Some(target), _) => reference(Some(target)),
                (None, HandleValue::Null) => json!({ "h": "null" }),
                (None, HandleValue::Live(bits)) => json!({ "h": format!("live {bits}") }),
                (None, HandleValue::Dead(bits)) => json!({ "h": format!("dead {bits}") }),
            },
            _ => json!({ "deep": true }),
        }
    }
}

fn reference(target: Option<usize>) -> Json {
    match target {
        Some(target) => json!({ "r": target }),
        None => json!({ "r": -1 }),
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
