//! Values as text and back.

use crate::trees::tree;
use persist::reflect::HandleValue;
use persist::{ErrorKind, ObjectId, Record, Value};
use proptest::prelude::*;

fn parse(text: &str) -> persist::Result<Value> {
    text.parse()
}

/// The text of each value, which must be its only one.
#[test]
fn values_look_like_rust() {
    let mut hero = Record::new("Hero");
    hero.set("name", "Ada \"the\" 1st\n");
    hero.set("pos", Value::Tuple(vec![1.0_f32.into(), (-2.5_f32).into()]));
    let mut slot = Record::new("Slot<Sword>");
    slot.set("a b", 1_u8);
    let mut fire = Record::with_variant("Spell", "Fire");
    fire.set("0", 3_u8);
    let some = Some(Some(1_i128));
    for (value, text) in [
        (().into(), "()"),
        (true.into(), "true"),
        ('c'.into(), "'c'"),
        ('\''.into(), r"'\''"),
        (5_u8.into(), "5u8"),
        (i64::MIN.into(), "-9223372036854775808i64"),
        (u128::MAX.into(), "340282366920938463463374607431768211455u128"),
        (1.0_f32.into(), "1.0f32"),
        (0.1_f64.into(), "0.1f64"),
        (1e300.into(), "1e300f64"),
        ((-0.0_f64).into(), "-0.0f64"),
        (f32::INFINITY.into(), "inf_f32"),
        (f64::NEG_INFINITY.into(), "-inf_f64"),
        (f32::from_bits(0x7fc0_0001).into(), "nan(0x7fc00001)f32"),
        (f64::from_bits(0xfff8_0000_0000_0000).into(), "nan(0xfff8000000000000)f64"),
        ("a\u{1f600}\\".into(), "\"a\u{1f600}\\\\\""),
        (vec![10_u8, 11, 255].into(), "b\"0a0bff\""),
        (Value::Bytes(vec![]), "b\"\""),
        (Value::Seq(vec![1_u8.into()]), "[1u8]"),
        (vec![true, false].into(), "[true, false]"),
        (Value::Seq(vec![]), "[]"),
        (Value::Tuple(vec![]), "(,)"),
        (Value::Tuple(vec![1_u16.into()]), "(1u16,)"),
        (Value::Map(vec![]), "{}"),
        (Value::Map(vec![("a".into(), 1_i8.into())]), "{ \"a\": 1i8 }"),
        (some.into(), "some(some(1i128))"),
        (None::<u8>.into(), "none"),
        (hero.into(), r#"Hero { name: "Ada \"the\" 1st\n", pos: (1.0f32, -2.5f32) }"#),
        (slot.into(), "`Slot<Sword>` { `a b`: 1u8 }"),
        (Record::new("Marker").into(), "Marker {}"),
        (Record::new("none").into(), "`none` {}"),
        (Record::new("`").into(), "`\\`` {}"),
        (fire.into(), "Spell::Fire { 0: 3u8 }"),
        (Record::with_variant("Spell", "none").into(), "Spell::none"),
        (ObjectId::new(4).unwrap().into(), "#4"),
        (Value::Ref(None), "#none"),
        (Value::Handle(HandleValue::Null), "handle(null)"),
        (Value::Handle(HandleValue::Live(7)), "handle(live 7)"),
        (Value::Handle(HandleValue::Dead(u64::MAX)), "handle(dead 18446744073709551615)"),
    ] {
        assert_eq!(value.to_string(), text);
        assert_eq!(parse(text).unwrap(), value, "{text}");
    }
}

#[test]
fn what_is_long_stands_on_several_lines() {
    let mut hero = Record::new("Hero");
    hero.set("name", "x".repeat(90));
    hero.set("short", vec![1_u16, 2]);
    hero.set("long", (0..20_u64).collect::<Vec<_>>());
    hero.set("one", Value::Tuple(vec!["y".repeat(100).into()]));
    let value = Value::from(hero);
    let text = format!("{value:#}");
    assert_eq!(parse(&text).unwrap(), value);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Hero {");
    assert_eq!(lines[2], "    short: [1u16, 2u16],");
    assert_eq!(&lines[3..5], ["    long: [", "        0u64,"]);
    assert_eq!(lines.last(), Some(&"}"));
}

#[test]
fn people_may_leave_out_types_and_add_commas() {
    for (text, value) in [
        ("5", Value::I64(5)),
        ("-5", Value::I64(-5)),
        ("9_223_372_036_854_775_808", Value::U64(1 << 63)),
        ("1.5", Value::F64(1.5)),
        ("2e3", Value::F64(2000.0)),
        ("inf", Value::F64(f64::INFINITY)),
        ("5_u8", Value::U8(5)),
        ("5f32", Value::F32(5.0)),
        (" [ 1 , 2 , ] ", Value::Seq(vec![Value::I64(1), Value::I64(2)])),
        ("{\"a\":()}", Value::Map(vec![("a".into(), Value::Unit)])),
    ] {
        assert_eq!(parse(text).unwrap(), value, "{text}");
    }
}

#[test]
fn other_text_is_refused_where_it_goes_wrong() {
    for (text, offset, says) in [
        ("", 0, "expected a value"),
        ("[1u8 2u8]", 5, "expected `,` or `]`"),
        ("300u8", 0, "300u8 is no number"),
        ("1e400f64", 0, "no number"),
        ("-", 0, "no number"),
        ("1.5u8", 0, "no number"),
        ("(1u8)", 1, "(value,)"),
        ("Hero", 4, "expected `::` or `{`"),
        ("Hero { a: 1, a: 2 }", 13, "stands twice"),
        ("nan(0x1)f32", 6, "not the bits of a NaN"),
        ("#0", 0, "#1"),
        ("handle(alive 7)", 7, "null, live or dead"),
        ("b\"0\"", 1, "pairs"),
        ("b\"+1\"", 1, "pairs"),
        ("'ab'", 0, "one character"),
        ("\"a", 2, "closing"),
        ("\"\\q\"", 1, "escape"),
        ("'\\u{d800}'", 1, "escape"),
        ("true false", 5, "the end"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{text}: {error}");
        assert!(error.message().contains(says), "{text}: {error}");
        assert_eq!(error.offset(), Some(offset), "{text}: {error}");
    }
    let error = parse("[\n\n  x]").unwrap_err();
    assert!(error.message().contains("line 3"), "{error}");
}

/// On the stack that a thread has without a wish of its own.
#[test]
fn deep_text_is_refused_and_deep_values_come_back() {
    let run = || {
        for (open, close) in [("[", "]"), ("(", ",)"), ("some(", ")"), ("{0:", "}"), ("A{a:", "}")]
        {
            let deep = |depth| format!("{}0{}", open.repeat(depth), close.repeat(depth));
            let value = parse(&deep(512)).unwrap();
            assert_eq!(parse(&value.to_string()).unwrap(), value);
            assert_eq!(parse(&format!("{value:#}")).unwrap(), value.clone());
            for depth in [513, 1_000_000] {
                let error = parse(&deep(depth)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TooDeep, "{open}");
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn every_value_comes_back_from_its_text(value in tree()) {
        prop_assert_eq!(&parse(&value.to_string()).unwrap(), &value);
        prop_assert_eq!(&parse(&format!("{value:#}")).unwrap(), &value);
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn changed_text_is_parsed_or_refused(value in tree(), place: usize, with in "[-\\[\\](){}:,.\"'`#0-9a-z\\\\ é]{0,3}", length in 0_usize..4) {
        let text = value.to_string();
        let chars: Vec<char> = text.chars().collect();
        let start = place % (chars.len() + 1);
        let end = (start + length).min(chars.len());
        let changed: String =
            chars[..start].iter().copied().chain(with.chars()).chain(chars[end..].iter().copied()).collect();
        if let Ok(value) = parse(&changed) {
            prop_assert_eq!(parse(&value.to_string()).unwrap(), value);
        }
    }
}
