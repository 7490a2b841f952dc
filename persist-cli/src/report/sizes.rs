//! The bytes that values take in a save.

use persist::Value;

use crate::world::record_of;

/// The bytes of a value, as a save writes its kind without `compact`.
pub(crate) fn size(value: &Value) -> u64 {
    let (mut bytes, mut open) = (0, vec![value]);
    while let Some(value) = open.pop() {
        bytes += match value {
            Value::Unit => 0,
            Value::Bool(_) | Value::U8(_) | Value::I8(_) => 1,
            Value::U16(_) | Value::I16(_) => 2,
            Value::U32(_) | Value::I32(_) | Value::F32(_) | Value::Char(_) => 4,
            Value::U64(_) | Value::I64(_) | Value::F64(_) => 8,
            Value::U128(_) | Value::I128(_) => 16,
            Value::Text(text) => counted(text.len()),
            Value::Bytes(bytes) => counted(bytes.len()),
            Value::Option(inner) => {
                open.extend(inner.as_deref());
                1
            }
            Value::Seq(values) => {
                open.extend(values);
                count(values.len() as u64)
            }
            Value::Tuple(values) => {
                open.extend(values);
                0
            }
            Value::Map(entries) => {
                open.extend(entries.iter().flat_map(|(key, value)| [key, value]));
                count(entries.len() as u64)
            }
            // A world in a field is an object of its own.
            Value::Struct(_) if record_of(value).is_some() => 0,
            Value::Struct(record) => {
                open.extend(record.fields().map(|(_, value)| value));
                0
            }
            Value::Enum(record) => {
                open.extend(record.fields().map(|(_, value)| value));
                1
            }
            Value::Ref(id) => count(id.map_or(0, |id| id.get())),
            Value::Handle(_) => 9,
            _ => 0,
        };
    }
    bytes
}

/// Bytes of that many bytes and their count.
fn counted(bytes: usize) -> u64 {
    bytes as u64 + count(bytes as u64)
}

/// Bytes of a count.
fn count(count: u64) -> u64 {
    match count {
        0..248 => 1,
        248..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}
