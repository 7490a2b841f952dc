//! Operations on values that the library does not have.

use std::cmp::Ordering;

pub(crate) use persist::debug::label::{Hop, part, parts};
use persist::{Record, Value};

use crate::condition::order;

/// Replaces the part of a value at the end of some hops; false if they lead nowhere, or the part does not fit there.
pub(crate) fn replace(mut at: &mut Value, hops: &[Hop], new: Value) -> bool {
    for hop in hops {
        let next = match (at, hop) {
            (Value::Struct(record) | Value::Enum(record), Hop::Field(name)) => record.get_mut(name),
            (Value::Option(Some(inner)), Hop::Some) => Some(&mut **inner),
            (Value::Seq(values) | Value::Tuple(values), Hop::Item(item)) => values.get_mut(*item),
            (Value::Map(entries), Hop::Entry(entry)) => {
                entries.get_mut(*entry).map(|(_, value)| value)
            }
            (Value::Bytes(bytes), Hop::Byte(byte)) => {
                let new = new.as_u64().and_then(|new| u8::try_from(new).ok());
                return bytes.get_mut(*byte).zip(new).map(|(byte, new)| *byte = new).is_some();
            }
            _ => None,
        };
        let Some(next) = next else { return false };
        at = next;
    }
    *at = new;
    true
}

/// Returns the number of an integer of any width.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    Some(match value {
        Value::U8(number) => (*number).into(),
        Value::U16(number) => (*number).into(),
        Value::U32(number) => (*number).into(),
        Value::U64(number) => (*number).into(),
        Value::U128(number) => i128::try_from(*number).ok()?,
        Value::I8(number) => (*number).into(),
        Value::I16(number) => (*number).into(),
        Value::I32(number) => (*number).into(),
        Value::I64(number) => (*number).into(),
        Value::I128(number) => *number,
        _ => return None,
    })
}

/// Returns whether a value is an integer or a float.
pub(crate) fn is_number(value: &Value) -> bool {
    integer(value).is_some() || matches!(value, Value::U128(_) | Value::F32(_) | Value::F64(_))
}

/// The form that equal spellings of a key share.
pub(crate) fn key_text(key: &Value) -> String {
    match integer(key) {
        Some(number) => number.to_string(),
        None => key.to_string(),
    }
}

/// Returns whether two keys of a map are equal, whatever the widths of their numbers.
pub(crate) fn is_same_key(one: &Value, other: &Value) -> bool {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other || words(one).zip(words(other)).is_some_and(|(one, other)| one == other),
    }
}

/// Returns the word that stands for a value: a text, a character or a variant without fields. Returns `None` for other
/// values.
pub(crate) fn words(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Char(character) => Some(character.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Enum(record) if record.is_empty() => record.variant().map(str::to_owned),
        _ => None,
    }
}

/// Reads a value as a person types it: its text, in which numbers need no types, texts and characters no quotes and
/// variants without fields no class. If the text is no value, the error says what is expected.
pub(crate) fn typed(text: &str, old: &Value) -> Result<Value, String> {
    let parsed = text.parse::<Value>();
    let is_option = matches!(old, Value::Option(_));
    match (innermost(old), &parsed) {
        // `7`, `true` and `none` are texts, too.
        (Value::Text(_), Ok(Value::Text(_))) => {}
        (Value::Text(_), Ok(Value::Option(_))) if is_option => {}
        (Value::Text(_), _) => return Ok(like(old, Value::from(text))),
        (Value::Char(_), Ok(Value::Char(_) | Value::Text(_) | Value::Option(_))) => {}
        (Value::Char(_), _) if text.chars().count() == 1 => {
            return Ok(like(old, Value::from(text)));
        }
        (Value::Enum(old_record), Err(_)) if is_word(text) => {
            return Ok(like(old, Record::with_variant(old_record.class(), text).into()));
        }
        // Through 64 bits it could be rounded twice.
        (Value::F32(_), Ok(Value::F64(number))) if number.is_finite() => {
            let narrow = text.trim().replace('_', "").parse::<f32>();
            if let Some(number) = narrow.ok().filter(|number| number.is_finite()) {
                return Ok(like(old, number.into()));
            }
        }
        _ => {}
    }
    let new = parsed.map_err(|error| {
        let (short, expected) =
            (text.chars().take(60).collect::<String>(), expected(innermost(old)));
        // The library would report that a word begins a class.
        match is_word(text) {
            true => format!("`{short}` is no value; {expected}"),
            false => format!("`{short}` is no value: {error}; {expected}"),
        }
    })?;
    Ok(like(old, new))
}

/// Returns a map with a new key, and the value as a person types it.
pub(crate) fn with_entry(map: &Value, key: &Value, text: &str) -> Result<Value, String> {
    let Value::Map(entries) = map else { return Err(String::from("it is no map")) };
    let mut entries = entries.clone();
    let (key, value) = match entries.first() {
        Some((Value::Enum(known), value)) if key.as_text().is_some() => {
            let name = key.as_text().unwrap_or_default();
            (Record::with_variant(known.class(), name).into(), typed(text, value)?)
        }
        Some((known, value)) => (like(known, key.clone()), typed(text, value)?),
        // The kinds of an empty map are not in it.
        None => (key.clone(), text.parse().unwrap_or_else(|_| Value::from(text))),
    };
    // Programs write most maps in the order of their keys.
    let is_after = |(known, _): &(Value, Value)| order(known, &key).is_some_and(Ordering::is_gt);
    let at = entries.iter().position(is_after).unwrap_or(entries.len());
    entries.insert(at, (key, value));
    Ok(Value::Map(entries))
}

/// Describes how to write a value that replaces another one.
fn expected(old: &Value) -> &'static str {
    match old {
        Value::Bool(_) => "write true or false",
        Value::Char(_) => "write a character, as 'x'",
        Value::Text(_) => "write a text, as \"Ada\"",
        Value::Bytes(_) => "write bytes, as b\"0aff\"",
        Value::Option(_) => "it is none now, which may become any value: a text needs its quotes",
        Value::Seq(_) => "write a list, as [1, 2]",
        Value::Tuple(_) => "write a tuple, as (1, \"a\")",
        Value::Map(_) => "write a map, as { \"key\": 1 }",
        Value::Struct(_) | Value::Enum(_) => "write class and fields, as `persist get` prints them",
        Value::Ref(_) => "write the id of an object, as #17",
        Value::Handle(_) => "write a handle, as handle(live 3) or handle(null)",
        Value::Unit => "write ()",
        _ => "write a number",
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Follows nested options to their value.
pub(crate) fn innermost(mut value: &Value) -> &Value {
    while let Value::Option(Some(inner)) = value {
        value = inner;
    }
    value
}

/// Converts the numbers in a new value to the widths of the old value, if they fit. The library refuses values that do
/// not fit.
pub(crate) fn like(old: &Value, mut new: Value) -> Value {
    let mut open = vec![(old, &mut new)];
    while let Some((old, new)) = open.pop() {
        if matches!(old, Value::Option(_)) && !matches!(new, Value::Option(_)) {
            let part = std::mem::replace(new, Value::Unit);
            *new = Value::Option(Some(Box::new(part)));
        }
        match (old, new) {
            (Value::Option(Some(old)), Value::Option(Some(new))) => open.push((old, new)),
            (Value::Struct(old) | Value::Enum(old), Value::Struct(new) | Value::Enum(new)) => {
                open.extend(new.fields_mut().filter_map(|(name, new)| Some((old.get(name)?, new))));
            }
            (Value::Seq(old) | Value::Tuple(old), Value::Seq(parts) | Value::Tuple(parts)) => {
                let last = old.last();
                let olds = old.iter().map(Some).chain(std::iter::repeat(last));
                open.extend(parts.iter_mut().zip(olds).filter_map(|(new, old)| Some((old?, new))));
            }
            (Value::Map(old), Value::Map(entries)) => {
                let Some((key, value)) = old.first() else { continue };
                for (new_key, new_value) in entries {
                    open.push((key, new_key));
                    open.push((value, new_value));
                }
            }
            (old, scalar) => *scalar = like_scalar(old, std::mem::replace(scalar, Value::Unit)),
        }
    }
    new
}

/// Converts a number to the width of the old one, if it fits.
fn like_scalar(old: &Value, new: Value) -> Value {
    macro_rules! fit {
        ($($variant:ident)*) => {
            match (old, integer(&new)) {
                $((Value::$variant(_), Some(number)) => number.try_into().ok().map(Value::$variant),)*
                (Value::F64(_), Some(number)) => exact(number).map(Value::F64),
                (Value::F32(_), Some(number)) => exact(number).and_then(narrow).map(Value::F32),
                _ => None,
            }
        };
    }
    let fitted = fit!(U8 U16 U32 U64 U128 I8 I16 I32 I64 I128);
    let fitted = fitted.or_else(|| match (old, &new) {
        (Value::F32(_), Value::F64(number)) => narrow(*number).map(Value::F32),
        (Value::F64(_), Value::F32(number)) => Some(Value::F64((*number).into())),
        (Value::Char(_), Value::Text(text)) => {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none()).map(Value::Char)
        }
        (Value::Text(_), Value::Char(character)) => Some(character.to_string().into()),
        _ => None,
    });
    fitted.unwrap_or(new)
}

/// Returns an integer as a float, if the float is exact.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "it is compared")]
fn exact(number: i128) -> Option<f64> {
    let float = number as f64;
    (float as i128 == number).then_some(float)
}

/// Returns the nearest narrow float, unless that is infinite.
#[expect(clippy::cast_possible_truncation, reason = "the nearest is what is wanted")]
fn narrow(number: f64) -> Option<f32> {
    let near = number as f32;
    (near.is_finite() == number.is_finite()).then_some(near)
}
