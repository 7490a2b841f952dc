//! Empty values, for new elements of a list and for options that are switched on.

use persist::reflect::{HandleValue, Kind, VariantRecord};
use persist::save::Registry;
use persist::{Record, Value};

/// The maximum nesting depth of an empty value. A type may be recursive.
const MAX_DEPTH: u32 = 16;

/// The maximum number of elements of an empty array.
const MAX_ELEMENTS: usize = 1 << 16;

/// Creates an empty value of a kind, whose numbers are `number`: 0, or 1 for types that refuse 0.
///
/// Returns `None` if a kind has no empty value, such as a shared pointer.
pub(crate) fn empty(kind: Kind, registry: Option<&Registry>, number: u8) -> Option<Value> {
    at_depth(kind, registry, number, 0)
}

fn at_depth(kind: Kind, registry: Option<&Registry>, number: u8, depth: u32) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let part = |kind: fn() -> Kind| at_depth(kind(), registry, number, depth + 1);
    Some(match kind {
        Kind::Unit => Value::Unit,
        Kind::Bool => Value::Bool(false),
        Kind::Char => Value::Char(' '),
        Kind::F32 => Value::F32(number.into()),
        Kind::F64 => Value::F64(number.into()),
        Kind::Text => Value::Text(String::new()),
        Kind::Option(_) => Value::Option(None),
        Kind::List(_) | Kind::Set(_) => Value::Seq(Vec::new()),
        Kind::Map(..) => Value::Map(Vec::new()),
        Kind::Array(element, len) if len <= MAX_ELEMENTS => {
            (0..len).map(|_| part(element)).collect::<Option<Vec<_>>>()?.into()
        }
        Kind::Tuple(parts) => {
            Value::Tuple(parts.iter().map(|element| part(*element)).collect::<Option<_>>()?)
        }
        Kind::Class(class) => {
            let class = class();
            // The registry creates it with the default values of its fields.
            if number == 0
                && let Some(value) = registry.and_then(|known| known.empty(&class.name()).ok())
            {
                return Some(value);
            }
            let mut record = match class.variants() {
                [] => Record::new(class.name()),
                variants => {
                    let first = variants.iter().filter(|variant| !variant.other);
                    let first = first.min_by_key(|variant| variant.fields.len())?;
                    return variant(&class.name(), first, registry, number, depth);
                }
            };
            for field in class.fields() {
                record.set(field.name, at_depth(field.kind(), registry, number, depth + 1)?);
            }
            record.into()
        }
        Kind::Handle(_) => Value::Handle(HandleValue::Null),
        Kind::U8 => Value::U8(number),
        Kind::U16 => Value::U16(number.into()),
        Kind::U32 => Value::U32(number.into()),
        Kind::U64 => Value::U64(number.into()),
        Kind::U128 => Value::U128(number.into()),
        Kind::I8 => Value::I8(i8::try_from(number).ok()?),
        Kind::I16 => Value::I16(number.into()),
        Kind::I32 => Value::I32(number.into()),
        Kind::I64 => Value::I64(number.into()),
        Kind::I128 => Value::I128(number.into()),
        // A compact number takes a value of any width that fits.
        Kind::Compact(_) => Value::U8(number),
        _ => return None,
    })
}

/// Creates a variant of an enum, with empty fields.
pub(crate) fn empty_variant(
    class: &str,
    chosen: &VariantRecord,
    registry: Option<&Registry>,
) -> Option<Value> {
    variant(class, chosen, registry, 0, 0)
}

fn variant(
    class: &str,
    chosen: &VariantRecord,
    registry: Option<&Registry>,
    number: u8,
    depth: u32,
) -> Option<Value> {
    let mut record = Record::with_variant(class, chosen.name);
    for field in chosen.fields {
        record.set(field.name, at_depth(field.kind(), registry, number, depth + 1)?);
    }
    Some(Value::Enum(record))
}
