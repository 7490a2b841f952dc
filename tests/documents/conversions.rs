//! The tables of `docs/reference/conversions.md` are what loads do: each row is made by loading its example.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt::Debug;
use std::num::NonZero;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, RwLock, Weak as SyncWeak};
use std::time::{Duration, SystemTime};

use persist::save::LoadEvent;
use persist::{LoadOptions, Persist, Saves};

use crate::repository::read;

#[derive(Persist, Debug)]
struct Level(u8);

#[derive(Persist, Debug)]
struct Rank(u8);

#[derive(Persist, Debug)]
struct Pair(u8, char);

#[derive(Persist, Debug)]
struct Tile {
    #[persist(alias = "0")]
    x: u8,
    #[persist(alias = "1")]
    letter: char,
}

#[derive(Persist, Debug)]
struct Gem {
    carat: u8,
}

#[derive(Persist, Debug)]
struct Stone {
    carat: u8,
}

#[derive(Persist, Debug)]
struct Slot<T>(T, T);

#[derive(Persist, Debug)]
enum Side {
    North,
    South,
}

#[derive(Persist, Debug)]
enum Shape {
    Dot,
    Circle(u8),
}

#[persist::dynamic]
trait Item: Debug {}

#[derive(Persist, Debug)]
struct Sword(u8);

impl Item for Sword {}

/// What became of one example, and what the report has of it.
type Outcome = (String, Vec<LoadEvent>);

/// Loads what one program saved into the field of another.
fn load<Old: Persist, New: Persist>(
    old: &Old,
    options: LoadOptions,
    show: impl Fn(&New) -> String,
) -> Outcome {
    let saves = Saves::new();
    saves.register_as::<Sword, dyn Item>().expect("a class of its own");
    let save = saves.to_vec(old).expect("a value that can be saved");
    let saves = Saves::new().load_options(options);
    saves.register_as::<Sword, dyn Item>().expect("a class of its own");
    match saves.from_slice::<New>(&save) {
        Ok(loaded) => (show(&loaded), loaded.report().rows().iter().map(|row| row.event).collect()),
        Err(error) => {
            assert_eq!(error.class(), Some("Case"), "{error}");
            (String::new(), Vec::new())
        }
    }
}

/// A row of the page.
fn row(stored: &str, now: &str, examples: &[(&str, Outcome)]) -> String {
    let shown = |(value, (result, _)): &(&str, Outcome)| match &**result {
        "" => format!("`{value}`: error"),
        result => format!("`{value}` → `{result}`"),
    };
    let shown: Vec<_> = examples.iter().map(shown).collect();
    let events: BTreeSet<_> = examples.iter().flat_map(|(_, (_, events))| events).collect();
    let events: Vec<_> = events.iter().map(|event| format!("`{event:?}`")).collect();
    let events = if events.is_empty() { "-".to_owned() } else { events.join(", ") };
    format!("| `{stored}` | `{now}` | {} | {events} |", shown.join(", "))
}

/// Makes a row for each pair of types, from the values in it.
macro_rules! rows {
    ($options:expr; $($old:ty => $new:ty: $($value:expr),+;)*) => {
        [$({
            mod old {
                use super::*;

                #[derive(Persist)]
                #[persist(class = "Case")]
                pub(super) struct Case {
                    pub(super) value: $old,
                }
            }
            mod new {
                use super::*;

                #[derive(Persist)]
                #[persist(class = "Case")]
                pub(super) struct Case {
                    pub(super) value: $new,
                }
            }
            let examples = [$((
                stringify!($value),
                load::<_, new::Case>(&old::Case { value: $value }, $options, |case| format!("{:?}", case.value)),
            )),+];
            row(stringify!($old), stringify!($new), &examples)
        }),*]
    };
}

/// The rows of the tables below a heading.
fn page(heading: &str) -> Vec<String> {
    let page = read("docs/reference/conversions.md");
    let after = page.split(&format!("\n## {heading}\n")).nth(1).expect("the page has that heading");
    let section = after.split("\n## ").next().expect("a section");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(str::to_owned).collect()
}

#[track_caller]
fn check(heading: &str, rows: &[String]) {
    let rows = rows.join("\n");
    assert!(
        page(heading).join("\n") == rows,
        "the table in \"{heading}\" is not what loads do:\n{rows}"
    );
}

const PLAIN: fn() -> LoadOptions = LoadOptions::default;

#[test]
fn numbers_convert_as_the_page_says() {
    check(
        "Numbers",
        &rows! { PLAIN();
            u8 => u32: 7;
            i8 => i64: -7;
            u8 => i16: 7;
            u16 => f32: 7;
            f32 => f64: 0.25;
            u32 => u8: 7, 300;
            i32 => u32: 7, -1;
            f64 => f32: 0.25, 0.1;
            u64 => f64: 7, 9007199254740993;
            u8 => NonZero<u8>: 7, 0;
            f64 => u32: 7.0;
            bool => u8: true;
            char => u32: 'a';
        },
    );
}

#[test]
fn numbers_clamp_as_the_page_says() {
    let clamp = LoadOptions::new().clamp(true);
    check(
        "Numbers that do not fit",
        &rows! { clamp;
            u32 => u8: 300;
            i32 => u32: -1;
            f64 => f32: 0.1;
            u8 => NonZero<u8>: 0;
            f64 => u32: 7.0;
        },
    );
}

#[test]
fn wrappers_convert_as_the_page_says() {
    check(
        "Options, boxes, cells and newtypes",
        &rows! { PLAIN();
            u8 => Option<u8>: 7;
            Option<u8> => u8: Some(7), None;
            Option<u8> => Option<Option<u8>>: Some(7), None;
            u8 => Box<u8>: 7;
            u8 => Cell<u8>: 7;
            Option<u8> => OnceCell<u8>: Some(7);
            u8 => Level: 7;
            Level => u8: Level(7);
            Level => Rank: Level(7);
        },
    );
}

#[test]
fn lists_sets_and_maps_convert_as_the_page_says() {
    check(
        "Lists, sets and maps",
        &rows! { PLAIN();
            u8 => Vec<u8>: 7;
            Vec<u8> => u8: vec![7];
            Vec<u8> => Vec<Vec<u8>>: vec![1, 2];
            Vec<u8> => VecDeque<u16>: vec![1, 2];
            [u8; 2] => Vec<u8>: [1, 2];
            Vec<u8> => [u8; 2]: vec![1, 2], vec![1];
            [u8; 2] => [u8; 4]: [1, 2];
            [u8; 4] => [u8; 2]: [1, 2, 3, 4];
            BTreeSet<u8> => Vec<u8>: BTreeSet::from([1, 2]);
            Vec<u8> => BTreeSet<u8>: vec![1, 2], vec![1, 1];
            HashMap<u8, u8> => BTreeMap<u8, u16>: HashMap::from([(1, 2)]);
            BTreeMap<u8, u8> => Vec<(u8, u8)>: BTreeMap::from([(1, 2)]);
            Vec<(u8, u8)> => BTreeMap<u8, u8>: vec![(1, 2)], vec![(1, 2), (1, 3)];
            BTreeSet<u8> => BTreeMap<u8, ()>: BTreeSet::from([1]);
        },
    );
}

#[test]
fn text_and_enums_convert_as_the_page_says() {
    check(
        "Text and enums",
        &rows! { PLAIN();
            String => PathBuf: "a".into();
            String => Side: "North".into(), "West".into();
            Side => String: Side::South;
            String => Shape: "Dot".into(), "Circle".into();
            Shape => String: Shape::Dot;
            String => u32: "7".into();
            Side => Shape: Side::North;
        },
    );
    // The other variants are part of the examples, too.
    assert!(matches!((Shape::Circle(1), Side::North), (Shape::Circle(_), Side::North)));
}

#[test]
fn tuples_structs_and_generic_types_convert_as_the_page_says() {
    check(
        "Tuples, structs and generic types",
        &rows! { PLAIN();
            (u8, char) => (u32, char): (7, 'a');
            (u8, char) => (u8, char, u8): (7, 'a');
            (u8, char) => Pair: (7, 'a');
            Pair => (u8, char): Pair(7, 'a');
            (u8, char) => Tile: (7, 'a');
            Tile => (u8, char): Tile { x: 7, letter: 'a' };
            Gem => Stone: Gem { carat: 7 };
            Slot<u8> => Slot<u16>: Slot(7, 8);
            Result<u8, u8> => Result<u16, u16>: Ok(7);
            Range<u8> => Range<u16>: 1..7;
            Range<u8> => RangeInclusive<u8>: 1..7;
            SystemTime => Duration: SystemTime::UNIX_EPOCH;
        },
    );
}

#[test]
fn pointers_convert_as_the_page_says() {
    let shared = || {
        let one = Rc::new(RefCell::new(7));
        vec![one.clone(), one]
    };
    check(
        "Pointers and trait objects",
        &rows! { PLAIN();
            u8 => Rc<RefCell<u8>>: 7;
            Rc<RefCell<u8>> => u8: Rc::new(RefCell::new(7));
            Vec<Rc<RefCell<u8>>> => Vec<u8>: shared();
            Rc<RefCell<u8>> => Rc<RefCell<u16>>: Rc::new(RefCell::new(7));
            Rc<RefCell<u8>> => Arc<Mutex<u8>>: Rc::new(RefCell::new(7));
            Vec<Rc<RefCell<u8>>> => Vec<Arc<u8>>: shared();
            Weak<RefCell<u8>> => SyncWeak<RwLock<u8>>: Weak::new();
            Weak<RefCell<u8>> => Rc<RefCell<u8>>: Weak::new();
            Rc<RefCell<u8>> => Weak<RefCell<u8>>: Rc::new(RefCell::new(7));
            Sword => Box<dyn Item>: Sword(7);
            Box<dyn Item> => Sword: Box::new(Sword(7));
        },
    );
}
