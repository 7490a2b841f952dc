//! The text of a lock: what it looks like, and that it is read as it was written.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use std::sync::{self, Arc, Mutex};

use persist::save::Registry;
use persist::{Arena, ErrorKind, Handle, Persist, Unknown, Value};
use persist_tests::support::fixture_types;
use persist_tools::lock::{Lock, Values};

struct Monsters;

impl Arena for Monsters {
    type Key = u64;
    const NAME: &'static str = "the monsters";

    fn to_bits(key: u64) -> u64 {
        key
    }

    fn from_bits(bits: u64) -> Option<u64> {
        Some(bits)
    }
}

#[persist::dynamic(name = "quest.Item")]
trait Item {}

#[derive(Persist)]
struct Sword {
    sharp: u8,
}

impl Item for Sword {}

mod first {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "quest.Hero", version = 2)]
    pub(super) struct Hero {
        name: String,
        #[persist(rename = "hit points: \"now\"")]
        hp: u32,
        home: (i8, Option<Place>),
        seen: BTreeMap<u8, Vec<bool>>,
        set: BTreeSet<char>,
        grid: [[f32; 2]; 3],
        unit: (),
        mood: Mood,
    }

    #[derive(Persist)]
    pub(super) struct Place(f64, i128);

    #[derive(Persist)]
    #[persist(class = "u8", id = 7)]
    pub(super) enum Mood {
        Calm,
        Angry { at: Weak<RefCell<Hero>>, since: (u64,) },
    }

    #[derive(Persist)]
    pub(super) struct Slot<T> {
        inside: T,
        once: Rc<OnceCell<u16>>,
        other: sync::Weak<Mutex<Hero>>,
        text: Arc<str>,
        item: Option<Box<dyn Item>>,
        shared: Rc<RefCell<dyn Item>>,
        handle: Handle<Monsters>,
        #[persist(unknown)]
        rest: Unknown,
    }
}

mod second {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "quest.Hero", version = 3)]
    pub(super) struct Hero {
        name: String,
        home: Option<first::Place>,
    }
}

fn first_registry() -> Registry {
    let mut registry = Registry::new();
    registry.register::<first::Hero>().unwrap();
    registry.register::<first::Slot<u8>>().unwrap();
    registry.register_as::<Sword, dyn Item>().unwrap();
    registry
}

/// One version with everything, one with less of it, one that is the same, one with all again.
fn lock() -> Lock {
    let mut less = Registry::new();
    less.register::<Sword>().unwrap();
    let mut lock = Lock::new();
    lock.update("0.1.0", &first_registry()).unwrap();
    lock.update("0.2.0-rc.1+\"x\"", &less).unwrap();
    lock.update("0.2.0", &less).unwrap();
    lock.update("0.3.0", &first_registry()).unwrap();
    lock
}

#[test]
fn a_lock_is_text_for_people() {
    insta::assert_snapshot!(lock().to_string());
}

#[test]
fn a_lock_is_read_as_it_was_written() {
    let text = lock().to_string();
    let again: Lock = text.parse().unwrap();
    assert_eq!((&again, again.to_string()), (&lock(), text.clone()));
    assert!(again.is_current("0.3.0", &first_registry()));
    // As some systems check it out, and as a value like any other.
    assert_eq!(text.replace('\n', "\r\n").parse::<Lock>().unwrap(), lock());
    assert_eq!(text.parse::<Value>().unwrap().to_string().parse::<Lock>().unwrap(), lock());
    assert_eq!(
        again.versions().collect::<Vec<_>>(),
        ["0.1.0", "0.2.0-rc.1+\"x\"", "0.2.0", "0.3.0"]
    );
}

#[test]
fn samples_of_a_lock_that_was_read_are_those_of_the_one_that_was_written() {
    let lock = lock();
    let alone = |version: &str| {
        let mut alone = Lock::new();
        alone.update(version, &first_registry()).unwrap();
        alone
    };
    for values in [Values::Plain, Values::Boundary] {
        let again: Lock = lock.to_string().parse().unwrap();
        let whole = alone("0.1.0").sample("0.1.0", values).unwrap();
        assert_eq!(again.sample("0.1.0", values).unwrap(), whole);
        assert_eq!(again.sample("0.3.0", values).unwrap(), whole);
        assert_eq!(
            again.sample("0.2.0", values).unwrap(),
            lock.sample("0.2.0-rc.1+\"x\"", values).unwrap()
        );
    }
}

#[derive(Persist)]
#[persist(class = "Twin", id = 1)]
struct OneTwin {
    other: Option<Rc<OtherTwin>>,
}

#[derive(Persist)]
#[persist(class = "Twin", id = 2)]
struct OtherTwin {
    other: Option<Box<OtherTwin>>,
}

#[test]
fn classes_of_one_name_are_told_apart() {
    let mut registry = Registry::new();
    registry.register::<OtherTwin>().unwrap();
    let mut lock = Lock::new();
    lock.update("1", &registry).unwrap();
    registry.register::<OneTwin>().unwrap();
    lock.update("2", &registry).unwrap();
    let mut alone = Registry::new();
    alone.register::<OtherTwin>().unwrap();
    lock.update("3", &alone).unwrap();
    let text = lock.to_string();
    assert_eq!(text.parse::<Lock>().unwrap(), lock);
    insta::assert_snapshot!(text);
}

#[test]
fn locks_of_the_fixtures_are_read_as_they_were_written() {
    let mut lock = Lock::new();
    for name in fixture_types::NAMES {
        let manager = fixture_types::manager(name, false);
        lock.update(name, &manager.saves().registry()).unwrap();
    }
    assert_eq!(lock.to_string().parse::<Lock>().unwrap(), lock);
}

/// A lock with these versions.
fn read(versions: &str) -> persist::Result<Lock> {
    format!("Lock {{ format: 3, versions: [{versions}] }}").parse()
}

#[test]
fn a_text_that_is_no_lock_is_refused_with_its_place() {
    let version = |name: &str, after: &str, schemas: &str| {
        format!("Version {{ name: \"{name}\", after: [{after}], schemas: [{schemas}] }}")
    };
    let one = |schemas: &str| version("1", "", schemas);
    let fields = |fields: &str| {
        one(&format!("Class {{ name: \"A\", id: \"0x1\", version: 1, fields: {{ {fields} }} }}"))
    };
    let variants = |variants: &str| {
        one(&format!(
            "Class {{ name: \"E\", id: \"0x1\", version: 1, variants: {{ {variants} }} }}"
        ))
    };
    let class = "Class { name: \"A\", id: \"0x1\", version: 1, fields: {} }";
    let object = "Object { class: A {}, holder: \"Rc\" }";
    let texts = [
        String::from("Class { name: \"A\" }"),
        format!("{}, {}", one(""), one("")),
        String::from("Version { after: [], schemas: [] }"),
        String::from("Version { name: 1, after: [], schemas: [] }"),
        String::from("Version { name: \"1, after: [], schemas: [] }"),
        String::from("Version { name: \"\\q\", after: [], schemas: [] }"),
        String::from("Version { name: \"1\" }"),
        String::from("Version { name: \"1\", schemas: [] }"),
        String::from("Version { name: \"1\", after: [], schemas: [], gone: [] }"),
        version("1", "1", ""),
        version("1", "\"1\"", ""),
        format!("{}, {}", version("1", "\"2\"", ""), version("2", "\"1\"", "")),
        format!(
            "{}, {}, {}",
            version("1", "\"3\"", ""),
            version("2", "\"1\"", ""),
            version("3", "\"2\"", "")
        ),
        one("Klass { name: \"A\" }"),
        one("3"),
        one("Class { name: \"A\", id: 1, version: 1, fields: {} }"),
        one("Class { name: \"A\", id: \"1\", version: 1, fields: {} }"),
        one("Class { name: \"A\", id: \"0x+1\", version: 1, fields: {} }"),
        one("Class { name: \"A\", id: \"0x1\", version: 0, fields: {} }"),
        one("Class { name: \"A\", id: \"0x1\", version: 1 }"),
        one("Class { name: \"A\", id: \"0x1\", version: 1, fields: {}, variants: {} }"),
        one(object),
        one("Object { class: 3, holder: \"Rc\" }"),
        one("Object { holder: \"Rc\" }"),
        one("Trait { name: \"T\", classes: [A {}] }"),
        variants(""),
        variants("\"B\": [\"u8\"]"),
        variants("\"B\": {}, \"B\": {}"),
        variants("\"B\": { \"a\": \"u9\" }"),
        fields("\"a\": \"u8\", \"a\": \"u8\""),
        fields("\"a\" \"u8\""),
        fields("(\"a\", \"x\"): \"u8\""),
        fields("(\"a\", 4294967296): \"u8\""),
        fields("\"a\": "),
        fields("\"a\": B {}"),
        fields("\"a\": \"compact u8\""),
        fields("\"a\": A {}"),
        fields("\"a\": A { id: \"0x2\" }"),
        fields("\"a\": none"),
        fields("\"a\": {}"),
        fields("\"a\": [\"u8\", -1]"),
        fields("\"a\": [\"u8\", 1, 2]"),
        fields("\"a\": (\"u8\")"),
        fields("\"a\": kind::Strong { holder: \"Rc\", to: [A {}] }"),
        fields("\"a\": kind::Strong { holder: \"Box\", to: A {} }"),
        fields("\"a\": kind::Strong { holder: \"Rc<Vec>\", to: A {} }"),
        fields("\"a\": kind::Weak { holder: \"Rc\" }"),
        fields("\"a\": kind::Dyn"),
        fields("\"a\": kind::Bag { of: \"u8\" }"),
        fields("\"a\": Kind::Set { of: \"u8\" }"),
        fields(&format!("\"a\": {}\"u8\"{}", "some(".repeat(64), ")".repeat(64))),
        one(&format!("{class}, {}", class.replace("\"A\"", "\"B\""))),
        one(&format!("{class}, {}, {object}", class.replace("0x1", "0x2"))),
        one(&format!("{class}, {object}, Object {{ class: A {{ id: \"0x1\" }}, holder: \"Rc\" }}")),
        one(&format!("{class}, {object}, {object}")),
        one(&format!("{class}, Trait {{ name: \"T\", classes: [A {{}}, A {{}}] }}")),
        one(&format!("{class},\n<<<<<<< HEAD")),
    ];
    let messages = texts.map(|text| {
        let error = read(&text).expect_err(&text);
        assert_eq!(error.kind(), ErrorKind::Damaged, "{text}");
        assert!(error.message().ends_with("restore it from version control, or mend it by hand"));
        let (message, _) = error.message().rsplit_once(';').unwrap();
        message.to_owned()
    });
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn another_file_and_a_newer_format_are_refused() {
    let header = Lock::new().to_string();
    assert_eq!("Save {}".parse::<Lock>().unwrap_err().kind(), ErrorKind::Damaged);
    assert_eq!("".parse::<Lock>().unwrap_err().kind(), ErrorKind::Damaged);
    assert_eq!("[package]".parse::<Lock>().unwrap_err().kind(), ErrorKind::Damaged);
    let newer = header.replace("format: 3", "format: 4").parse::<Lock>().unwrap_err();
    assert_eq!(newer.kind(), ErrorKind::NewerFormat);
    let older = header.replace("format: 3", "format: 2").parse::<Lock>().unwrap_err();
    assert_eq!(older.kind(), ErrorKind::Unsupported);
    let zero = header.replace("format: 3", "format: 0").parse::<Lock>().unwrap_err();
    assert_eq!(zero.kind(), ErrorKind::Damaged);
}
