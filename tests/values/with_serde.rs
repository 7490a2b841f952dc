//! Values through serde.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use crate::trees::tree;
use persist::reflect::HandleValue;
use persist::{ObjectId, Record, Value};
use proptest::prelude::*;

fn through_json(value: &Value) -> Value {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

#[test]
fn values_are_tagged_by_their_kinds() {
    let mut hero = Record::new("Hero");
    hero.set("name", "Ada");
    hero.set("bag", vec![1_u8, 2]);
    hero.set("far", f32::NEG_INFINITY);
    hero.set("odd", f64::from_bits(0x7ff8_0000_0000_0001));
    hero.set("pet", ObjectId::new(4).unwrap());
    hero.set("key", Value::Handle(HandleValue::Dead(7)));
    hero.set("spell", Record::with_variant("Spell", "None"));
    let json = concat!(
        r#"{"Struct":{"class":"Hero","variant":null,"fields":{"#,
        r#""name":{"Text":"Ada"},"bag":{"Bytes":[1,2]},"#,
        r#""far":{"F32":"-inf_f32"},"odd":{"F64":"nan(0x7ff8000000000001)f64"},"#,
        r#""pet":{"Ref":4},"key":{"Handle":{"Dead":7}},"#,
        r#""spell":{"Enum":{"class":"Spell","variant":"None","fields":{}}}}}}"#
    );
    let hero = Value::from(hero);
    assert_eq!(serde_json::to_string(&hero).unwrap(), json);
    assert_eq!(serde_json::from_str::<Value>(json).unwrap(), hero);
}

#[test]
fn whole_numbers_are_floats_where_those_are_wanted() {
    let value: Value = serde_json::from_str("{\"F32\":-3}").unwrap();
    assert_eq!(value, Value::F32(-3.0));
    let value: Value = serde_json::from_str("{\"F64\":3}").unwrap();
    assert_eq!(value, Value::F64(3.0));
}

#[test]
fn what_is_no_value_is_refused() {
    for (json, says) in [
        ("{\"F32\":\"inf_f64\"}", "another type"),
        ("{\"F32\":\"far\"}", "expected"),
        ("{\"F32\":1e300}", "too large"),
        ("{\"U8\":300}", "300"),
        ("{\"Ref\":0}", "nonzero"),
        ("{\"Wings\":2}", "Wings"),
        (
            r#"{"Struct":{"class":"A","variant":null,"fields":{"a":"Unit","a":"Unit"}}}"#,
            "the field a stands twice",
        ),
    ] {
        let error = serde_json::from_str::<Value>(json).unwrap_err().to_string();
        assert!(error.contains(says), "{json}: {error}");
    }
}

proptest! {
    #[test]
    fn every_value_comes_back_from_json(value in tree()) {
        prop_assert_eq!(through_json(&value), value);
    }
}
