//! The text of a lock: what it looks like, and that it is read as it was written.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use std::sync::{self, Arc, Mutex};

use persist::lock::{Lock, Values};
use persist::save::Registry;
use persist::{Arena, ErrorKind, Handle, Persist, Unknown};
use persist_tests::support::fixture_types;

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
    // As some systems check it out.
    assert_eq!(text.replace('\n', "\r\n").parse::<Lock>().unwrap(), lock());
    assert_eq!(
        again.versions().collect::<Vec<_>>(),
        ["0.1.0", "0.2.0-rc.1+\"x\"", "0.2.0", "0.3.0"]
    );
}

#[test]
fn every_version_can_be_rebuilt_from_what_changed() {
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

#[test]
fn a_class_that_did_not_change_is_not_repeated() {
    let mut lock = Lock::new();
    let mut registry = Registry::new();
    registry.register::<first::Hero>().unwrap();
    lock.update("1", &registry).unwrap();
    let before = lock.to_string();
    let mut registry = Registry::new();
    registry.register::<second::Hero>().unwrap();
    lock.update("2", &registry).unwrap();
    let text = lock.to_string();
    insta::assert_snapshot!(text.strip_prefix(&before).unwrap(), @"

    version 2

    removed class u8, id 0x7

    class quest.Hero, id 0xac763a494095e16d, version 3, struct
      name: String
      home: Option<Place>
    ");
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
    insta::assert_snapshot!(text.lines().skip(1).collect::<Vec<_>>().join("\n"), @"

    version 1

    class Twin, id 0x2, version 1, struct
      other: Option<Twin>

    object Twin in Rc<RefCell>

    version 2

    class Twin, id 0x1, version 1, struct
      other: Option<Rc<Twin#0x2>>

    class Twin, id 0x2, version 1, struct
      other: Option<Twin#0x2>

    object Twin#0x1 in Rc<RefCell>
    object Twin#0x2 in Rc
    object Twin#0x2 in Rc<RefCell>

    version 3

    removed class Twin, id 0x1
    removed object Twin#0x1 in Rc<RefCell>
    removed object Twin#0x2 in Rc

    class Twin, id 0x2, version 1, struct
      other: Option<Twin>

    object Twin in Rc<RefCell>
    ");
}

#[test]
fn locks_of_the_fixtures_are_read_as_they_were_written() {
    let mut lock = Lock::new();
    for name in fixture_types::NAMES {
        let saves = fixture_types::manager(name, false);
        lock.update(name, saves.registry()).unwrap();
    }
    assert_eq!(lock.to_string().parse::<Lock>().unwrap(), lock);
}

/// A lock with this behind its header.
fn read(text: &str) -> persist::Result<Lock> {
    let header = Lock::new().to_string();
    format!("{header}{text}").parse()
}

#[test]
fn a_text_that_is_no_lock_is_refused_with_its_line() {
    let class = "version 1\nclass A, id 0x1, version 1, struct\n";
    let texts = [
        String::from("class A, id 0x1, version 1, struct"),
        String::from("version 1\nversion 1"),
        String::from("version"),
        String::from("version \"1"),
        String::from("version \"\\q\""),
        String::from("version 1 2"),
        String::from("version 1\nklass A"),
        String::from("version 1\nclass A, id 1, version 1, struct"),
        String::from("version 1\nclass A, id 0x+1, version 1, struct"),
        String::from("version 1\nclass A, id 0x1, version 0, struct"),
        String::from("version 1\nclass A, id 0x1, version 1, union"),
        String::from("version 1\n  a: u8"),
        String::from("version 1\nremoved class A, id 0x1"),
        String::from("version 1\nobject A in Rc"),
        String::from("version 1\ntrait T\n  A"),
        String::from("version 1\nclass E, id 0x1, version 1, enum"),
        String::from("version 1\nclass E, id 0x1, version 1, enum\n  a: u8"),
        String::from("version 1\nclass E, id 0x1, version 1, enum\n    a: u8"),
        String::from("version 1\nclass V, id 0x1, version 1, value u8\n  a: u8"),
        format!("{class}  a: u8\n  a: u8"),
        format!("{class}  a u8"),
        format!("{class}  a #x: u8"),
        format!("{class}  a #4294967296: u8"),
        format!("{class}   a: u8"),
        format!("{class}\ta: u8"),
        format!("{class}  a: u8 "),
        format!("{class}  a: "),
        format!("{class}  a: B"),
        format!("{class}  a: compact u8"),
        format!("{class}  a: Vec<compact>"),
        format!("{class}  a: A"),
        format!("{class}  a: A#0x2"),
        format!("{class}  a: Option"),
        format!("{class}  a: Option<u8"),
        format!("{class}  a: Map<u8,u8>"),
        format!("{class}  a: [u8; -1]"),
        format!("{class}  a: (u8)"),
        format!("{class}  a: Rc<Vec<A>>"),
        format!("{class}  a: Box<A>"),
        format!("{class}  a: Weak<RefCell<A>"),
        format!("{class}  a: {}u8{}", "Option<".repeat(64), ">".repeat(64)),
        format!("{class}class B, id 0x1, version 1, struct"),
        format!("{class}class A, id 0x2, version 1, struct\nobject A in Rc"),
        format!("{class}object A in Box"),
        format!("{class}object A in Rc<Vec>"),
        format!("{class}object A in Rc\nobject A#0x1 in Rc"),
        format!("{class}trait T\n  A\n  A"),
        format!("{class}trait T\ntrait T"),
        format!("{class}object A in Rc\nversion 2\nremoved class A, id 0x1"),
        format!("{class}version 2\nobject A in Rc\nremoved class A, id 0x1"),
        format!("{class}<<<<<<< HEAD"),
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
    assert_eq!("".parse::<Lock>().unwrap_err().kind(), ErrorKind::Damaged);
    assert_eq!("[package]".parse::<Lock>().unwrap_err().kind(), ErrorKind::Damaged);
    let newer = header.replace("format 1", "format 2").parse::<Lock>().unwrap_err();
    assert_eq!(newer.kind(), ErrorKind::NewerFormat);
    let zero = header.replace("format 1", "format 0").parse::<Lock>().unwrap_err();
    assert_eq!(zero.kind(), ErrorKind::Damaged);
}
