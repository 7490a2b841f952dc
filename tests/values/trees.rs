//! Random trees of values, shared by the tests of them.

use persist::reflect::HandleValue;
use persist::{ObjectId, Record, Value};
use proptest::prelude::*;

/// Names that are words, and any others.
fn name() -> BoxedStrategy<String> {
    const WORDS: [&str; 13] = [
        "Hero",
        "none",
        "true",
        "inf_f32",
        "b",
        "Slot<Sword>",
        "",
        "0",
        "7",
        "a b",
        "`",
        "\\",
        "é",
    ];
    prop_oneof![
        4 => "[a-z_][a-z0-9_]{0,6}",
        2 => proptest::sample::select(&WORDS[..]).prop_map(String::from),
        1 => any::<String>(),
    ]
    .boxed()
}

fn scalar() -> BoxedStrategy<Value> {
    let handle = any::<(u8, u64)>().prop_map(|(state, bits)| match state % 3 {
        0 => HandleValue::Null,
        1 => HandleValue::Live(bits),
        _ => HandleValue::Dead(bits),
    });
    prop_oneof![
        Just(Value::Unit),
        Just(Value::Option(None)),
        any::<bool>().prop_map(Value::Bool),
        any::<char>().prop_map(Value::Char),
        any::<u8>().prop_map(Value::U8),
        any::<u16>().prop_map(Value::U16),
        any::<u32>().prop_map(Value::U32),
        any::<u64>().prop_map(Value::U64),
        any::<u128>().prop_map(Value::U128),
        any::<i8>().prop_map(Value::I8),
        any::<i16>().prop_map(Value::I16),
        any::<i32>().prop_map(Value::I32),
        any::<i64>().prop_map(Value::I64),
        any::<i128>().prop_map(Value::I128),
        // By their bits: all NaNs too.
        any::<u32>().prop_map(|bits| Value::F32(f32::from_bits(bits))),
        any::<u64>().prop_map(|bits| Value::F64(f64::from_bits(bits))),
        proptest::num::f32::ANY.prop_map(Value::F32),
        proptest::num::f64::ANY.prop_map(Value::F64),
        any::<String>().prop_map(Value::Text),
        proptest::collection::vec(any::<u8>(), 0..5).prop_map(Value::Bytes),
        any::<u64>().prop_map(|id| Value::Ref(ObjectId::new(id))),
        Just(Value::Ref(None)),
        handle.prop_map(Value::Handle),
    ]
    .boxed()
}

/// A tree of up to six levels.
pub(crate) fn tree() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 80, 6, |inner| {
        let list = || proptest::collection::vec(inner.clone(), 0..6);
        let fields = proptest::collection::vec((name(), inner.clone()), 0..5);
        let fill = |mut record: Record, fields: Vec<(String, Value)>| {
            for (name, value) in fields {
                record.set(&name, value);
            }
            Value::from(record)
        };
        prop_oneof![
            inner.clone().prop_map(|value| Value::Option(Some(Box::new(value)))),
            list().prop_map(Value::Seq),
            list().prop_map(Value::Tuple),
            proptest::collection::vec((inner.clone(), inner.clone()), 0..4).prop_map(Value::Map),
            (name(), fields.clone())
                .prop_map(move |(class, fields)| fill(Record::new(class), fields)),
            (name(), name(), fields).prop_map(move |(class, variant, fields)| {
                fill(Record::with_variant(class, variant), fields)
            }),
        ]
    })
}
