//! Values of the kinds without parts.

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::compact::zigzag;
use crate::codec::count;
use crate::reflect::Integer;
use crate::schema::KindSchema;

/// Bytes of an ordinary small value; others have different ones, as far as the kind allows.
pub(super) fn plain(kind: &KindSchema, nth: u8) -> Vec<u8> {
    let number = u32::from(nth) + 1;
    match kind {
        KindSchema::Bool => vec![1 - nth % 2],
        KindSchema::Char => (u32::from(b'a') + u32::from(nth)).to_le_bytes().to_vec(),
        KindSchema::F32 => (f32::from(nth) + 1.0).to_le_bytes().to_vec(),
        KindSchema::F64 => (f64::from(nth) + 1.0).to_le_bytes().to_vec(),
        KindSchema::Text => text(&char::from(b'a' + nth % 26).to_string()),
        KindSchema::Compact(integer) => compacted(*integer, &plain(&(*integer).into(), nth)),
        kind => u128::from(number).to_le_bytes()[..kind.width()].to_vec(),
    }
}

/// The boundary values: what a report calls them, and their bytes.
pub(super) fn boundaries(kind: &KindSchema) -> Vec<(String, Vec<u8>)> {
    macro_rules! numbers {
        ($type:ty, $values:expr) => {
            $values
                .into_iter()
                .map(|value: $type| (format!("{value:?}"), value.to_le_bytes().to_vec()))
                .collect()
        };
    }
    macro_rules! signed {
        ($type:ty) => {
            numbers!($type, [0, -1, <$type>::MIN, <$type>::MAX])
        };
    }
    macro_rules! unsigned {
        ($type:ty) => {
            numbers!($type, [0, <$type>::MAX])
        };
    }
    macro_rules! floats {
        ($type:ty) => {
            numbers!(
                $type,
                [
                    0.0,
                    -0.0,
                    <$type>::NAN,
                    <$type>::INFINITY,
                    <$type>::NEG_INFINITY,
                    <$type>::MIN,
                    <$type>::MAX,
                    <$type>::MIN_POSITIVE,
                    // A signalling NaN, and the smallest number at all.
                    <$type>::from_bits(<$type>::INFINITY.to_bits() + 1),
                    <$type>::from_bits(1),
                ]
            )
        };
    }
    match kind {
        KindSchema::Bool => vec![(String::from("false"), vec![0])],
        KindSchema::Char => {
            let chars = ['\0', '\u{e9}', '\u{d7ff}', '\u{e000}', char::MAX];
            chars.map(|c| (format!("{c:?}"), u32::from(c).to_le_bytes().to_vec())).into()
        }
        KindSchema::U8 => unsigned!(u8),
        KindSchema::U16 => unsigned!(u16),
        KindSchema::U32 => unsigned!(u32),
        KindSchema::U64 => unsigned!(u64),
        KindSchema::U128 => unsigned!(u128),
        KindSchema::I8 => signed!(i8),
        KindSchema::I16 => signed!(i16),
        KindSchema::I32 => signed!(i32),
        KindSchema::I64 => signed!(i64),
        KindSchema::I128 => signed!(i128),
        KindSchema::F32 => floats!(f32),
        KindSchema::F64 => floats!(f64),
        KindSchema::Compact(integer) => boundaries(&(*integer).into())
            .into_iter()
            .map(|(name, bytes)| (name, compacted(*integer, &bytes)))
            .collect(),
        KindSchema::Text => vec![
            (String::from("\"\""), text("")),
            (String::from("a text that is not ASCII"), text("Gr\u{fc}\u{df}e \u{1f980} \0\n\"")),
            (String::from("a text of 400 bytes"), text(&"0123456789".repeat(40))),
        ],
        _ => Vec::new(),
    }
}

/// The compact form of a number.
fn compacted(integer: Integer, bytes: &[u8]) -> Vec<u8> {
    let count = if integer.is_signed() {
        zigzag(LittleEndian::read_int(bytes, bytes.len()))
    } else {
        LittleEndian::read_uint(bytes, bytes.len())
    };
    let mut compact = Vec::new();
    count::push(count, &mut compact);
    compact
}

pub(super) fn text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    count::push(text.len() as u64, &mut bytes);
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// The states of a handle: what a report calls them, and their bytes.
pub(super) fn handle(choice: usize) -> (&'static str, [u8; 9]) {
    let (name, state, bits) = match choice {
        0 => ("a null handle", 0, 0),
        1 => ("a live handle", 1, 1),
        2 => ("a dead handle", 2, 1),
        _ => ("a live handle with all bits", 1, u64::MAX),
    };
    let mut bytes = [state; 9];
    bytes[1..].copy_from_slice(&u64::to_le_bytes(bits));
    (name, bytes)
}
