//! Records of older versions, by the functions of the program; with everything else that changes.

#![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use persist::save::LoadEvent;
use persist::{ErrorKind, Persist, Record, SaveManager, Unknown, Value};

use super::harness::{
    CLAMP, LENIENT, STRICT, Shared, check, load, manager, refused, row, rows, save, shared,
    try_load,
};
use super::nest::{PLACES, Thing, everywhere};

macro_rules! thing {
    ($($name:ty),*) => {$(
        impl Thing for $name {
            fn as_any(&self) -> &dyn Any {
                self
            }
        }
    )*};
}

#[derive(Persist, Debug)]
#[persist(class = "Case")]
struct First {
    gold: u16,
    name: String,
    gone: u8,
    gem: Option<Gem>,
}

#[derive(Persist, Debug)]
#[persist(class = "Gem")]
struct Gem {
    carat: u16,
}

#[derive(Persist, Debug)]
#[persist(class = "Case", version = 2)]
struct Second {
    silver: u32,
    name: String,
    gem: Option<Gem>,
}

#[derive(Persist, Debug)]
#[persist(class = "Case", version = 3, migrate(1 = to_silver, 2 = to_names))]
struct Third {
    #[persist(default = 1)]
    more: u8,
    names: Vec<String>,
    silver: u64,
    gem: Shared<NewGem>,
}

#[derive(Persist, Debug)]
#[persist(class = "Gem", version = 2, migrate(1 = to_grams))]
struct NewGem {
    grams: u32,
}

thing!(First, Second, Third);

fn to_silver(record: &mut Record, from: u32) -> Result<(), String> {
    assert_eq!(from, 1);
    let gold = record.take("gold").and_then(|gold| gold.as_u64()).ok_or("no gold")?;
    record.set("silver", gold * 10);
    record.take("gone");
    Ok(())
}

fn to_names(record: &mut Record, from: u32) {
    assert_eq!(from, 2);
    let name = record.take("name").unwrap_or(Value::Unit);
    record.set("names", Value::Seq(vec![name]));
}

fn to_grams(record: &mut Record, _: u32) {
    let carat = record.take("carat").and_then(|carat| carat.as_u64()).unwrap_or(0);
    record.set("grams", u32::try_from(carat).unwrap_or(0) * 5);
}

fn first(i: u64) -> First {
    let gold = u16::try_from(i).unwrap();
    First { gold, name: format!("name {i}"), gone: 9, gem: Some(Gem { carat: gold + 100 }) }
}

fn second(i: u64) -> Second {
    let First { gold, name, gem, .. } = first(i);
    Second { silver: u32::from(gold) * 10, name, gem }
}

fn third(i: u64) -> Third {
    let grams = (u32::try_from(i).unwrap() + 100) * 5;
    let gem = shared(NewGem { grams });
    Third { more: 1, names: vec![format!("name {i}")], silver: i * 10, gem }
}

#[test]
fn records_are_migrated_step_by_step_wherever_they_are() {
    let expected = [
        row(LoadEvent::Defaulted, "Case", "more", PLACES),
        row(LoadEvent::Converted, "Case", "gem", PLACES),
        row(LoadEvent::Migrated, "Case", "", PLACES),
        row(LoadEvent::Migrated, "Gem", "", PLACES),
    ];
    assert_eq!(everywhere(first, third), expected);
    let found = everywhere(second, third);
    let conversion = row(LoadEvent::Converted, "Case", "silver", PLACES);
    assert_eq!(
        found.iter().filter(|row| **row != conversion).cloned().collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn a_newer_version_is_loaded_by_the_names_of_its_fields() {
    #[derive(Persist)]
    #[persist(class = "Case", version = 2)]
    struct Back {
        name: String,
    }
    #[derive(Persist)]
    #[persist(class = "Case", version = 9)]
    struct Newer {
        name: String,
        more: u8,
    }
    let newer = || save(Newer { name: "a".into(), more: 1 });
    let (back, found) = load::<Back>(&newer());
    assert_eq!(back.borrow().name, "a");
    let mut expected =
        [row(LoadEvent::Newer, "Case", "", 1), row(LoadEvent::Kept, "Case", "more", 1)];
    expected.sort();
    assert_eq!(found, expected);
    let error = try_load::<Back>(&newer(), STRICT).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    // Also where something is kept of it.
    let loaded = manager::<Back>(LENIENT).from_slice(&newer()).unwrap();
    assert!(loaded.to_vec().is_ok());
}

mod kept {
    use super::*;

    /// Does not know `gold` and `gem`.
    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Less {
        pub(super) name: String,
        pub(super) gone: u8,
    }

    #[derive(Persist)]
    #[persist(class = "Holder")]
    pub(super) struct OldHolder {
        pub(super) case: First,
    }

    #[derive(Persist)]
    #[persist(class = "Holder")]
    pub(super) struct LessHolder {
        pub(super) case: LessInside,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct LessInside {
        #[persist(unknown)]
        pub(super) rest: Unknown,
        pub(super) name: String,
    }

    #[derive(Persist)]
    #[persist(class = "Holder")]
    pub(super) struct NewHolder {
        pub(super) case: Third,
    }
}

#[test]
fn what_is_kept_is_migrated_with_the_rest() {
    let loaded = manager::<kept::Less>(LENIENT).from_slice(&save(first(4))).unwrap();
    assert_eq!(loaded.first::<kept::Less>().unwrap().borrow().gone, 9);
    let (found, rows) = load::<Third>(&loaded.to_vec().unwrap());
    assert_eq!(format!("{:?}", found.borrow()), format!("{:?}", third(4)));
    let expected = [
        row(LoadEvent::Defaulted, "Case", "more", 1),
        row(LoadEvent::Converted, "Case", "gem", 1),
        row(LoadEvent::Migrated, "Case", "", 1),
        row(LoadEvent::Migrated, "Gem", "", 1),
    ];
    assert_eq!(rows, expected);

    let loaded = manager::<kept::LessHolder>(LENIENT)
        .from_slice(&save(kept::OldHolder { case: first(5) }))
        .unwrap();
    let holder = loaded.first::<kept::LessHolder>().unwrap();
    assert_eq!(holder.borrow().case.rest.names().count(), 3);
    assert_eq!(holder.borrow().case.name, "name 5");
    let (found, rows) = load::<kept::NewHolder>(&loaded.to_vec().unwrap());
    assert_eq!(format!("{:?}", found.borrow().case), format!("{:?}", third(5)));
    assert_eq!(rows, expected);
}

#[test]
fn a_record_that_its_owner_changes_gets_back_what_was_kept_of_it() {
    #[derive(Persist)]
    #[persist(class = "Holder", version = 2, migrate(1 = rename_case))]
    struct Owner {
        case: Later,
    }
    #[derive(Persist)]
    #[persist(class = "Case")]
    struct Later {
        name: String,
        gold: u16,
        #[persist(unknown)]
        others: Unknown,
    }
    fn rename_case(holder: &mut Record, _: u32) {
        let case = holder.get_mut("case").and_then(Value::as_record_mut).unwrap();
        case.set("name", "changed");
    }
    let loaded = manager::<kept::LessHolder>(LENIENT)
        .from_slice(&save(kept::OldHolder { case: first(5) }))
        .unwrap();
    let (found, _) = load::<Owner>(&loaded.to_vec().unwrap());
    let found = found.borrow();
    let others = found.case.others.names().count();
    assert_eq!((&*found.case.name, found.case.gold, others), ("changed", 5, 2));
}

#[derive(Persist, Debug)]
#[persist(class = "Case")]
enum OldShape {
    Dot,
    Circle(u8),
    Square { side: u16, name: String },
}

#[derive(Persist, Debug)]
#[persist(class = "Case", version = 2, migrate(1 = to_rects))]
enum NewShape {
    Rect { name: String, wide: u32, high: u16 },
    Round { radius: f32 },
    Dot,
}

thing!(OldShape, NewShape);

fn to_rects(record: &mut Record, _: u32) {
    match record.variant() {
        Some("Square") => {
            record.set_variant("Rect");
            let side = record.take("side").unwrap_or(Value::Unit);
            record.set("wide", u32::try_from(side.as_u64().unwrap_or(0)).unwrap_or(0));
            record.set("high", side);
        }
        Some("Circle") => {
            record.set_variant("Round");
            record.rename("0", "radius");
        }
        _ => {}
    }
}

#[test]
fn variants_are_migrated() {
    let old = |i: u64| match i % 3 {
        0 => OldShape::Dot,
        1 => OldShape::Circle(u8::try_from(i).unwrap()),
        _ => OldShape::Square { side: u16::try_from(i).unwrap(), name: "a".into() },
    };
    let new = |i: u64| match i % 3 {
        0 => NewShape::Dot,
        1 => NewShape::Round { radius: f32::from(u8::try_from(i).unwrap()) },
        _ => {
            let side = u16::try_from(i).unwrap();
            NewShape::Rect { name: "a".into(), wide: side.into(), high: side }
        }
    };
    let found = everywhere(old, new);
    assert!(found.contains(&row(LoadEvent::Migrated, "Case", "", PLACES)), "{found:?}");
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Text {
    value: String,
    list: Vec<String>,
}

#[derive(Persist, Debug)]
#[persist(class = "Case")]
struct Parsed {
    #[persist(convert = parse)]
    value: u8,
    #[persist(convert = parse_all, alias = "list")]
    numbers: Vec<u8>,
}

fn parse(old: String) -> Result<u8, std::num::ParseIntError> {
    old.parse()
}

fn parse_all(old: Vec<String>) -> Vec<u8> {
    old.iter().filter_map(|text| text.parse().ok()).collect()
}

#[test]
fn a_conversion_of_the_program_is_asked_where_there_is_none_of_ours() {
    let text = |value: &str| Text { value: value.into(), list: vec!["1".into(), "x".into()] };
    let (parsed, found) = load::<Parsed>(&save(text("42")));
    assert_eq!((parsed.borrow().value, &*parsed.borrow().numbers), (42, &[1][..]));
    let converted = |field| row(LoadEvent::Converted, "Case", field, 1);
    assert_eq!(found, [converted("list"), converted("value")]);
    let error = refused::<_, Parsed>(text("400"), CLAMP);
    assert_eq!((error.kind(), error.class()), (ErrorKind::Refused, Some("Case")), "{error}");
    assert!(error.message().contains("number too large"), "{error}");

    #[derive(Persist)]
    #[persist(class = "Case")]
    struct Number {
        value: u32,
        list: Vec<u8>,
    }
    // A kind between the text and the field may have meant something else.
    let error = refused::<_, Parsed>(Number { value: 42, list: vec![3] }, LENIENT);
    check(
        &error,
        ErrorKind::KindMismatch,
        "value",
        &["u32", "u8", "String", "convert(parse, as u32)"],
    );

    #[derive(Persist)]
    #[persist(class = "Case")]
    struct Other {
        value: bool,
        list: Vec<u8>,
    }
    let error = refused::<_, Parsed>(Other { value: true, list: vec![] }, LENIENT);
    check(&error, ErrorKind::KindMismatch, "value", &["bool", "u8", "convert"]);
}

#[derive(Persist, Debug)]
#[persist(class = "Case", version = 2, migrate(1 = never))]
struct Never {
    #[persist(default)]
    name: String,
}

fn never(_: &mut Record, from: u32) -> Result<(), String> {
    Err(format!("not from {from}"))
}

#[derive(Persist, Debug)]
#[persist(class = "Case", version = 2, migrate(1 = wrong))]
struct Wrong {
    name: u8,
    #[persist(default)]
    other: u8,
}

fn wrong(record: &mut Record, _: u32) {
    record.take("other");
    record.set("name", "text");
}

#[derive(Persist, Debug)]
#[persist(class = "Case", version = 2, migrate(1 = forgotten))]
struct Forgotten {
    fame: u8,
}

fn forgotten(_: &mut Record, _: u32) {}

#[test]
fn a_migration_that_does_not_come_out_says_so() {
    let error = refused::<_, Never>(first(1), LENIENT);
    assert_eq!(
        (error.kind(), error.class(), error.object()),
        (ErrorKind::Refused, Some("Case"), Some(1))
    );
    assert!(error.message().contains("not from 1"), "{error}");
    let error = refused::<_, Wrong>(first(1), LENIENT);
    check(&error, ErrorKind::KindMismatch, "name", &["u8"]);
    let error = refused::<_, Forgotten>(first(1), LENIENT);
    check(&error, ErrorKind::MissingField, "fame", &["fame of Case", "default"]);
}

#[test]
fn references_pass_through_a_migration() {
    #[derive(Persist)]
    #[persist(class = "Case")]
    struct Old {
        right: Option<Shared<Old>>,
        left: Option<Shared<Old>>,
        number: u8,
    }
    #[derive(Persist)]
    #[persist(class = "Case", version = 2, migrate(1 = swap))]
    struct New {
        number: u16,
        left: Option<Shared<New>>,
        right: Option<Shared<New>>,
    }
    fn swap(record: &mut Record, _: u32) {
        record.rename("left", "x");
        record.rename("right", "left");
        let left = record.take("x").unwrap_or(Value::Unit);
        record.set("right", left);
    }
    let node = |number| shared(Old { right: None, left: None, number });
    let root = node(1);
    root.borrow_mut().left = Some(node(2));
    root.borrow_mut().right = Some(node(3));
    root.borrow().left.as_ref().unwrap().borrow_mut().right = Some(root.clone());
    let mut manager = SaveManager::new();
    manager.add(&root).unwrap();
    let loaded = self::manager::<New>(LENIENT).from_slice(&manager.to_vec().unwrap()).unwrap();
    let new = loaded.first::<New>().unwrap();
    let number = |node: &Option<Shared<New>>| node.as_ref().unwrap().borrow().number;
    assert_eq!((number(&new.borrow().left), number(&new.borrow().right)), (3, 2));
    assert!(Rc::ptr_eq(new.borrow().right.as_ref().unwrap().borrow().left.as_ref().unwrap(), &new));
    assert!(rows(loaded.report()).contains(&row(LoadEvent::Migrated, "Case", "", 3)));
    let _: &RefCell<New> = &new;
    loaded.dismantle();
    let left = root.borrow_mut().left.take();
    drop(left);
}
