//! Values of single kinds that a sample has.

use persist::__tools::KindSchema;
use persist::Value;
use persist::reflect::HandleValue;

/// The states of a handle, and what a report calls them.
pub(super) const HANDLES: [(&str, HandleValue); 4] = [
    ("a null handle", HandleValue::Null),
    ("a live handle", HandleValue::Live(1)),
    ("a dead handle", HandleValue::Dead(1)),
    ("a live handle with all bits", HandleValue::Live(u64::MAX)),
];

/// An ordinary small value; others have different ones, as far as the kind allows.
pub(super) fn plain(kind: &KindSchema, element: u8) -> Value {
    match kind {
        KindSchema::Unit => Value::Unit,
        KindSchema::Bool => Value::Bool(element.is_multiple_of(2)),
        KindSchema::Char => {
            Value::Char(char::from_u32(u32::from(b'a') + u32::from(element)).unwrap_or('a'))
        }
        KindSchema::F32 => Value::F32(f32::from(element) + 1.0),
        KindSchema::F64 => Value::F64(f64::from(element) + 1.0),
        KindSchema::Text => char::from(b'a' + element % 26).to_string().into(),
        // Written as what the kind is.
        KindSchema::U8 | KindSchema::I8 => Value::U8(element.wrapping_add(1)),
        _ => Value::U16(u16::from(element) + 1),
    }
}

/// The boundary values, and what a report calls them.
pub(super) fn boundaries(kind: &KindSchema) -> Vec<(String, Value)> {
    fn named<T: std::fmt::Debug + Into<Value>, const N: usize>(
        values: [T; N],
    ) -> Vec<(String, Value)> {
        values.into_iter().map(|value| (format!("{value:?}"), value.into())).collect()
    }
    macro_rules! floats {
        ($type:ident) => {
            named([
                0.0,
                -0.0,
                $type::NAN,
                $type::INFINITY,
                $type::NEG_INFINITY,
                $type::MIN,
                $type::MAX,
                $type::MIN_POSITIVE,
                // A signalling NaN, and the smallest number at all.
                $type::from_bits($type::INFINITY.to_bits() + 1),
                $type::from_bits(1),
            ])
        };
    }
    match kind {
        KindSchema::Bool => named([false]),
        KindSchema::Char => named(['\0', '\u{e9}', '\u{d7ff}', '\u{e000}', char::MAX]),
        KindSchema::U8 => named([0, u8::MAX]),
        KindSchema::U16 => named([0, u16::MAX]),
        KindSchema::U32 => named([0, u32::MAX]),
        KindSchema::U64 => named([0, u64::MAX]),
        KindSchema::U128 => named([0, u128::MAX]),
        KindSchema::I8 => named([0, -1, i8::MIN, i8::MAX]),
        KindSchema::I16 => named([0, -1, i16::MIN, i16::MAX]),
        KindSchema::I32 => named([0, -1, i32::MIN, i32::MAX]),
        KindSchema::I64 => named([0, -1, i64::MIN, i64::MAX]),
        KindSchema::I128 => named([0, -1, i128::MIN, i128::MAX]),
        KindSchema::F32 => floats!(f32),
        KindSchema::F64 => floats!(f64),
        KindSchema::Compact(integer) => boundaries(&(*integer).into()),
        KindSchema::Text => vec![
            (String::from("\"\""), "".into()),
            (String::from("a text that is not ASCII"), "Gr\u{fc}\u{df}e \u{1f980} \0\n\"".into()),
            (String::from("a text of 400 bytes"), "0123456789".repeat(40).into()),
        ],
        _ => Vec::new(),
    }
}
