//! Types of serde in saves, and saves in documents of serde.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::collections::{BTreeMap, HashMap};

use persist::serde::Saved;
use persist::{ErrorKind, LoadOptions, Persist, Saves};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
struct Foreign {
    name: String,
    size: (u8, i64),
    ratio: f32,
    tags: Vec<Tag>,
    by_place: BTreeMap<(i32, i32), Option<char>>,
    raw: serde_bytes_like::Bytes,
    large: i128,
    huge: u128,
    nothing: (),
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
enum Tag {
    #[default]
    Plain,
    Number(u32),
    Pair(u8, Box<Tag>),
    Named {
        text: String,
        again: Option<Box<Tag>>,
    },
}

/// Bytes as serde's own types of bytes have them.
mod serde_bytes_like {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct Bytes(pub(crate) Vec<u8>);

    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&self.0)
        }
    }

    impl<'de> Deserialize<'de> for Bytes {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;

            impl serde::de::Visitor<'_> for Visitor {
                type Value = Bytes;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("bytes")
                }

                fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                    Ok(Bytes(bytes.to_owned()))
                }
            }

            deserializer.deserialize_bytes(Visitor)
        }
    }
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Level {
    id: u32,
    #[persist(serde)]
    foreign: Foreign,
    #[persist(serde)]
    json: serde_json::Value,
}

#[derive(Persist, Clone, Debug, PartialEq)]
enum Shape {
    Empty,
    Foreign(#[persist(serde)] HashMap<String, u32>),
}

fn foreign() -> Foreign {
    Foreign {
        name: "Ada".into(),
        size: (3, -4),
        ratio: f32::NAN.max(0.5),
        tags: vec![
            Tag::Plain,
            Tag::Number(7),
            Tag::Pair(1, Box::new(Tag::Plain)),
            Tag::Named { text: "a".into(), again: Some(Box::new(Tag::Number(2))) },
        ],
        by_place: BTreeMap::from([((1, -2), Some('x')), ((3, 4), None)]),
        raw: serde_bytes_like::Bytes(vec![0, 255]),
        large: i128::MIN,
        huge: u128::MAX,
        nothing: (),
    }
}

fn round_trip<T: Persist>(value: &T) -> persist::Result<T> {
    persist::from_slice(&persist::to_vec(value)?)
}

#[test]
fn a_field_of_serde_comes_back() {
    let level = Level {
        id: 1,
        foreign: foreign(),
        json: serde_json::json!({ "volume": 0.5, "keys": ["w", null, true, -3], "deep": { "er": {} } }),
    };
    assert_eq!(round_trip(&level).unwrap(), level);
    for shape in [Shape::Empty, Shape::Foreign(HashMap::from([("a".into(), 1)]))] {
        assert_eq!(round_trip(&shape).unwrap(), shape);
    }
}

#[test]
fn a_field_of_serde_evolves_by_the_rules_of_serde() {
    mod then {
        #[derive(serde::Serialize, serde::Deserialize, Default)]
        pub(super) struct Window {
            pub(super) width: u8,
            pub(super) title: String,
            pub(super) gone: Vec<u32>,
        }

        #[derive(persist::Persist)]
        pub(super) struct Settings {
            #[persist(serde)]
            pub(super) window: Window,
        }
    }

    #[derive(Serialize, Deserialize, Debug, PartialEq, Default)]
    struct Window {
        title: Option<String>,
        #[serde(alias = "width")]
        columns: u64,
        #[serde(default)]
        rows: u32,
    }

    #[derive(Persist, Debug, PartialEq)]
    struct Settings {
        #[persist(serde)]
        window: Window,
    }

    let window = then::Window { width: 80, title: "quest".into(), gone: vec![1, 2] };
    let save = persist::to_vec(&then::Settings { window }).unwrap();
    let settings: Settings = persist::from_slice(&save).unwrap();
    let window = Window { title: Some("quest".into()), columns: 80, rows: 0 };
    assert_eq!(settings, Settings { window });
}

#[derive(Persist, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
struct Window {
    width: u32,
}

/// A form with serde, for the functions that convert from it and to it.
#[derive(Persist, Default)]
#[persist(transparent)]
struct InSerde(#[persist(serde)] Window);

#[test]
fn a_field_comes_to_serde_and_leaves_it_by_convert() {
    fn left(old: InSerde) -> Window {
        old.0
    }
    fn come(old: Window) -> InSerde {
        InSerde(old)
    }
    #[derive(Persist)]
    #[persist(class = "Settings")]
    struct Plain {
        window: Window,
    }
    #[derive(Persist)]
    #[persist(class = "Settings")]
    struct WithSerde {
        #[persist(serde)]
        window: Window,
    }
    #[derive(Persist)]
    #[persist(class = "Settings")]
    struct Left {
        #[persist(convert = left)]
        window: Window,
    }
    #[derive(Persist)]
    #[persist(class = "Settings")]
    struct Come {
        #[persist(convert = come)]
        window: InSerde,
    }
    let window = Window { width: 80 };
    let plain = persist::to_vec(&Plain { window: window.clone() }).unwrap();
    let serde = persist::to_vec(&WithSerde { window: window.clone() }).unwrap();
    assert_eq!(persist::from_slice::<Left>(&serde).unwrap().window, window);
    assert_eq!(persist::from_slice::<Come>(&plain).unwrap().window.0, window);
    // Without `convert` the errors say so.
    let left = persist::from_slice::<Plain>(&serde).map(drop).unwrap_err();
    let come = persist::from_slice::<WithSerde>(&plain).map(drop).unwrap_err();
    insta::assert_snapshot!(format!("{left}\n{come}"));
}

#[test]
fn what_serde_refuses_is_an_error_that_names_the_field() {
    #[derive(Persist, Debug)]
    struct Old {
        #[persist(serde)]
        count: String,
    }
    mod now {
        #[derive(persist::Persist, Debug)]
        #[persist(class = "Old")]
        pub(super) struct New {
            #[persist(serde)]
            pub(super) count: u32,
        }
    }

    let save = persist::to_vec(&Old { count: "many".into() }).unwrap();
    let error = persist::from_slice::<now::New>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!((error.class(), error.field()), (Some("Old"), Some("count")));

    struct Never;
    impl Serialize for Never {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("never"))
        }
    }
    impl<'de> Deserialize<'de> for Never {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            Ok(Self)
        }
    }
    #[derive(Persist)]
    struct Holder {
        #[persist(serde, empty = Never)]
        never: Never,
    }
    let error = persist::to_vec(&Holder { never: Never }).unwrap_err();
    assert_eq!(error.message(), "serde says why it cannot be saved: never");
}

#[test]
fn values_that_nest_too_deep_for_serde_are_refused_on_both_sides() {
    let mut json = serde_json::Value::Null;
    for _ in 0..2_000 {
        json = serde_json::Value::Array(vec![json]);
    }
    let level = Level { json, ..Level::default() };
    let error = persist::to_vec(&level).unwrap_err();
    assert!(error.message().contains("nested deeper than `Limits::depth`"), "{error}");
    // The value itself is dropped by recursion.
    std::mem::forget(level);
}

#[test]
fn a_tool_sees_inside_of_a_field_of_serde() {
    let saves = Saves::new().load_options(LoadOptions::default());
    let level = Level { id: 1, foreign: foreign(), ..Level::default() };
    let text =
        persist_tools::Document::from_slice(&saves.to_vec(&level).unwrap()).unwrap().to_string();
    assert!(text.contains("\"ratio\"") && text.contains("Named"), "{text}");
}

#[test]
fn a_save_is_a_field_in_a_document_of_serde() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Upload {
        player: u64,
        level: Saved<Level>,
    }

    let level = Level { id: 7, foreign: foreign(), json: serde_json::json!([1]) };
    let upload = Upload { player: 3, level: Saved(level) };
    let json = serde_json::to_string(&upload).unwrap();
    assert_eq!(serde_json::from_str::<Upload>(&json).unwrap(), upload);
    // And as bytes, in a format that is not for people: a field of ours.
    #[derive(Persist, Debug, PartialEq)]
    struct Outer {
        #[persist(serde, empty = Saved(Level::default()))]
        inner: Saved<Level>,
    }
    let outer = Outer { inner: upload.level };
    assert_eq!(round_trip(&outer).unwrap(), outer);

    let error = serde_json::from_str::<Saved<Level>>(r#""xyz""#).unwrap_err();
    assert!(error.to_string().contains("two hexadecimal digits"), "{error}");
    let error = serde_json::from_str::<Saved<Level>>(r#""00ff""#).unwrap_err();
    assert!(error.to_string().contains("save"), "{error}");
}

/// Stores one value and loads another in its place.
fn misread<A, B>(value: A) -> String
where
    A: Serialize + serde::de::DeserializeOwned + Default + 'static,
    B: Serialize + serde::de::DeserializeOwned + Default + 'static,
{
    #[derive(Persist)]
    #[persist(class = "Holder")]
    struct Of<T: Serialize + serde::de::DeserializeOwned + Default + 'static> {
        #[persist(serde)]
        value: T,
    }

    let mut buffer = persist::codec::Buffer::new();
    let bytes = buffer.encode(&Of { value }).unwrap();
    persist::codec::decode::<Of<B>>(bytes).map(drop).unwrap_err().message().to_owned()
}

/// A map that gives its first value without a key.
#[derive(Default)]
struct Keyless;

impl Serialize for Keyless {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        serde::ser::SerializeMap::serialize_value(&mut map, &1)?;
        serde::ser::SerializeMap::end(map)
    }
}

impl<'de> Deserialize<'de> for Keyless {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

/// A map that gives that many keys, and no value.
#[derive(Default, Deserialize)]
struct Valueless(u8);

impl Serialize for Valueless {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in 0..self.0 {
            serde::ser::SerializeMap::serialize_key(&mut map, &key)?;
        }
        serde::ser::SerializeMap::end(map)
    }
}

/// A map of which the first entry is read, or `BY_VALUE` its value without its key.
#[derive(Default)]
struct First<const BY_VALUE: bool>;

impl<const BY_VALUE: bool> Serialize for First<BY_VALUE> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de, const BY_VALUE: bool> Deserialize<'de> for First<BY_VALUE> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<const BY_VALUE: bool>;

        impl<'de, const BY_VALUE: bool> serde::de::Visitor<'de> for Visitor<BY_VALUE> {
            type Value = First<BY_VALUE>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<First<BY_VALUE>, A::Error> {
                if BY_VALUE {
                    map.next_value::<u8>()?;
                } else {
                    map.next_entry::<u8, u8>()?;
                }
                Ok(First)
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

/// A list that says that it has another number of items.
#[derive(Default, Deserialize)]
struct Miscounted(Vec<u64>);

impl Serialize for Miscounted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(3))?;
        for item in &self.0 {
            serde::ser::SerializeSeq::serialize_element(&mut list, item)?;
        }
        serde::ser::SerializeSeq::end(list)
    }
}

/// Why a value cannot be saved.
fn unsaved<T: Serialize + serde::de::DeserializeOwned + Default + 'static>(value: T) -> String {
    #[derive(Persist)]
    struct Of<T: Serialize + serde::de::DeserializeOwned + Default + 'static> {
        #[persist(serde)]
        value: T,
    }

    let mut buffer = persist::codec::Buffer::new();
    buffer.encode(&Of { value }).map(drop).unwrap_err().message().to_owned()
}

#[test]
fn what_is_read_as_something_else_says_so() {
    #[derive(Serialize, Deserialize, Default)]
    enum Unit {
        #[default]
        Plain,
        Number,
    }
    #[derive(Serialize, Deserialize, Default)]
    enum Full {
        #[default]
        Nothing,
        Plain(u8),
    }
    let map = BTreeMap::from([(1_u8, 2_u8), (3, 4)]);
    let messages = [
        misread::<String, u32>("many".into()),
        misread::<u8, Tag>(3),
        misread::<u128, Tag>(u128::MAX),
        misread::<Unit, Full>(Unit::Plain),
        misread::<Tag, Unit>(Tag::Number(3)),
        misread::<Vec<u8>, (u8, u8)>(vec![1, 2, 3]),
        misread::<BTreeMap<u8, u8>, First<false>>(map.clone()),
        misread::<BTreeMap<u8, u8>, First<true>>(map),
        unsaved(Keyless),
        unsaved(Valueless(1)),
        unsaved(Valueless(2)),
        unsaved(Miscounted((0..10_000).collect())),
        serde_json::from_str::<Saved<Level>>("3").unwrap_err().to_string(),
        serde_json::from_str::<Saved<Level>>("\"xyz\"").unwrap_err().to_string(),
    ];
    let _ = Unit::Number;
    insta::assert_snapshot!(messages.join("\n"));
}

#[derive(Persist, Debug, PartialEq)]
struct Golden {
    #[persist(serde)]
    value: (bool, u8, i16, Option<String>, Tag),
}

#[test]
fn the_bytes_of_a_field_of_serde_are_golden() {
    let golden = Golden { value: (true, 3, -2, Some("ab".into()), Tag::Number(300)) };
    let mut buffer = persist::codec::Buffer::new();
    let bytes = buffer.encode(&golden).unwrap().to_vec();
    insta::assert_snapshot!(format!("{bytes:?}"));
    assert_eq!(persist::codec::decode::<Golden>(&bytes).unwrap(), golden);
}

/// Deserializes a value, or takes its default if it is refused.
fn lenient<'de, D: serde::Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(deserializer).unwrap_or_default())
}

/// Reads nothing.
fn careless<'de, D: serde::Deserializer<'de>>(_: D) -> Result<u8, D::Error> {
    Ok(7)
}

/// A list of numbers that leaves out what is none, and a map that looks at its keys alone.
#[derive(Default, Debug, PartialEq)]
struct Picky(Vec<u32>);

impl<'de> Deserialize<'de> for Picky {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Picky;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list or a map")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<Picky, A::Error> {
                let mut all = Vec::new();
                loop {
                    match items.next_element::<(u32, u32)>() {
                        Ok(None) => return Ok(Picky(all)),
                        Ok(Some((number, _))) => all.push(number),
                        Err(_) => {}
                    }
                }
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Picky, A::Error> {
                let mut all = Vec::new();
                while let Some(key) = map.next_key()? {
                    all.push(key);
                }
                Ok(Picky(all))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Picky {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[test]
fn what_a_type_leaves_or_refuses_does_not_shift_what_follows() {
    mod then {
        #[derive(serde::Serialize, serde::Deserialize, Default)]
        pub(super) struct Things {
            pub(super) mixed: Vec<(u32, Option<String>)>,
            pub(super) pairs: Vec<Vec<u32>>,
            pub(super) keys: std::collections::BTreeMap<u32, Vec<String>>,
            pub(super) left: Vec<(u8, String)>,
            pub(super) unknown: super::Foreign,
            pub(super) tag: Vec<super::Tag>,
            pub(super) last: String,
        }
        #[derive(persist::Persist)]
        #[persist(class = "Holder")]
        pub(super) struct Holder {
            #[persist(serde)]
            pub(super) things: Things,
            pub(super) after: u32,
        }
    }

    #[derive(Serialize, Deserialize, Default, Debug, PartialEq)]
    struct Things {
        #[serde(deserialize_with = "lenient")]
        mixed: Vec<(u32, Option<u8>)>,
        pairs: Picky,
        keys: Picky,
        #[serde(deserialize_with = "careless")]
        left: u8,
        #[serde(deserialize_with = "lenient")]
        tag: Vec<Plain>,
        last: String,
    }

    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    enum Plain {
        Plain,
        Number,
    }

    #[derive(Persist)]
    #[persist(class = "Holder")]
    struct Holder {
        #[persist(serde)]
        things: Things,
        after: u32,
    }

    let things = then::Things {
        mixed: vec![(1, None), (2, Some("two".into())), (3, None)],
        pairs: vec![vec![1, 2], vec![1], vec![], vec![3, 4], vec![5, 6, 7]],
        keys: [(4, vec!["a".into()]), (9, vec![])].into(),
        left: vec![(1, "a".into()); 3],
        unknown: foreign(),
        tag: vec![Tag::Plain, Tag::Pair(1, Box::new(Tag::Number(3)))],
        last: "last".into(),
    };
    let save = persist::to_vec(&then::Holder { things, after: 77 }).unwrap();
    let holder: Holder = persist::from_slice(&save).unwrap();
    let expected = Things {
        mixed: vec![],
        pairs: Picky(vec![1, 3]),
        keys: Picky(vec![4, 9]),
        left: 7,
        tag: vec![],
        last: "last".into(),
    };
    assert_eq!((holder.things, holder.after), (expected, 77));
    let _ = Plain::Number;
}

#[test]
fn maps_and_lists_of_unknown_or_wrong_length_come_back() {
    /// Says nothing, or something wrong, of its length.
    #[derive(Default, Debug, PartialEq, Clone)]
    struct Counted(Vec<u32>, Option<usize>);

    impl Serialize for Counted {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut list = serializer.serialize_seq(self.1)?;
            for item in &self.0 {
                serde::ser::SerializeSeq::serialize_element(&mut list, item)?;
            }
            serde::ser::SerializeSeq::end(list)
        }
    }

    impl<'de> Deserialize<'de> for Counted {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Deserialize::deserialize(deserializer).map(|list| Self(list, None))
        }
    }

    #[derive(Serialize, Deserialize, Default, Debug, PartialEq, Clone)]
    struct Flat {
        first: Vec<Counted>,
        #[serde(flatten)]
        rest: BTreeMap<String, Vec<u16>>,
        last: u8,
    }

    #[derive(Persist, Debug, PartialEq)]
    struct Holder {
        #[persist(serde)]
        flat: Flat,
        after: u32,
    }

    for guess in [None, Some(0), Some(3), Some(300), Some(70_000)] {
        let lists = [0, 3, 247, 248, 300].map(|len| Counted((0..len).collect(), guess));
        let rest = (0..300).map(|key| (format!("key {key}"), vec![key; 3])).collect();
        let flat = Flat { first: lists.into(), rest, last: 9 };
        let save = persist::to_vec(&Holder { flat: flat.clone(), after: 77 }).unwrap();
        let mut expected = Holder { flat, after: 77 };
        expected.flat.first.iter_mut().for_each(|list| list.1 = None);
        assert_eq!(persist::from_slice::<Holder>(&save).unwrap(), expected, "{guess:?}");
        persist_tools::Document::from_slice(&save).unwrap();
    }
}

#[test]
fn texts_over_the_limit_are_refused_in_a_field_of_serde_too() {
    let limits = persist::Limits::new().text(1000);
    let level = Level { json: serde_json::json!(["x".repeat(1001)]), ..Level::default() };
    let saves = Saves::new().limits(limits);
    let error = saves.to_vec(&level).unwrap_err();
    assert!(error.message().contains("1001"), "{error}");
    let save = persist::to_vec(&level).unwrap();
    let error = saves.from_slice::<Level>(&save).map(drop).unwrap_err();
    assert!(error.message().contains("over its limit in `Limits`"), "{error}");
}

proptest! {
    #[test]
    fn hostile_bytes_for_serde_are_errors_or_values(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = persist::codec::decode::<Golden>(&bytes);
        let _ = persist::codec::decode::<Level>(&bytes);
    }
}
