//! Saves of older programs that the types of today do not take.

#![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]
#![allow(dead_code, reason = "many of these types are never made")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

use persist::save::LoadPolicy;
use persist::{Limits, LoadOptions, Persist, Record, SaveManager, Saves, Value};

use crate::messages::table::Table;
use persist_tests::support::forge::{self, ADDED, class, record, text};

type Shared<T> = Rc<RefCell<T>>;

fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

const LENIENT: LoadOptions = LoadOptions::new();
const FILL: LoadOptions = LENIENT.fill(true);
const STRICT: LoadOptions = LENIENT.policy(LoadPolicy::Strict);

fn refused<New: Persist, Old: Persist>(old: Old, options: LoadOptions) -> persist::Result<()> {
    let mut manager = SaveManager::new();
    manager.add(&shared(old)).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = Saves::new().load_options(options).manager();
    manager.register::<New>()?;
    manager.from_slice(&save).map(drop)
}

/// Adds what a load of one class says whose field was of one type and is of another.
macro_rules! changed {
    ($table:ident, $what:literal, $old:ty = $value:expr, $(#[$meta:meta])* $new:ty) => {{
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
                $(#[$meta])*
                value: $new,
            }
        }
        $table.add($what, refused::<new::Case, _>(old::Case { value: $value }, LENIENT));
    }};
}

#[derive(Persist, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Gem {
    carat: u16,
}

#[derive(Persist, Debug)]
struct Stone {
    carat: u16,
}

#[derive(Persist, Debug)]
struct Place {
    x: u8,
    y: u8,
}

#[derive(Persist, Debug)]
enum Side {
    North,
    Deep(u8),
}

fn parse(old: String) -> Result<u8, std::num::ParseIntError> {
    old.parse()
}

#[test]
fn fields_of_another_type() {
    let mut table = Table::new();
    changed!(table, "a text for a number", String = "1".into(), u8);
    changed!(table, "another struct", Gem = Gem { carat: 1 }, Stone);
    let gem = Rc::new(Gem { carat: 1 });
    changed!(
        table,
        "another pointer in one of two places",
        (Rc<Gem>, Rc<Gem>) = (gem.clone(), gem.clone()),
        (Rc<Gem>, std::sync::Arc<Gem>)
    );
    changed!(table, "a weak pointer for a strong one", Rc<Gem> = gem.clone(), std::rc::Weak<Gem>);
    changed!(table, "a tuple for a struct", (u8, u8) = (1, 2), Place);
    changed!(table, "a number that does not fit", u32 = 300, u8);
    changed!(table, "a float that is none", f64 = 1e300, f32);
    changed!(table, "a whole number", i64 = (1 << 60) + 1, f64);
    changed!(table, "none without an option", Option<u8> = None, u8);
    changed!(table, "a list for an array", Vec<u8> = vec![1, 2, 3], [u8; 2]);
    changed!(table, "a text that is no variant", String = "West".into(), Side);
    changed!(table, "pairs of one key", Vec<(u8, u8)> = vec![(1, 2), (1, 3)], BTreeMap<u8, u8>);
    changed!(
        table,
        "a convert from another type",
        bool = true,
        #[persist(convert = parse)]
        u8
    );
    changed!(
        table,
        "a convert that refuses",
        String = "far".into(),
        #[persist(convert = parse)]
        u8
    );
    changed!(table, "elements of one set", Vec<u8> = vec![1, 1], BTreeSet<u8>);
    insta::assert_snapshot!(table.text());
}

mod forms {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Little {
        pub(super) before: u8,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Placed {
        pub(super) place: Place,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) enum Enum {
        Before,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct More {
        before: u8,
        value: String,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Pointed {
        before: u8,
        value: Shared<Gem>,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Tools {
        before: u8,
        value: [Box<dyn Tool>; 1],
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Defaulted {
        before: u8,
        #[persist(default = Some(shared(Gem { carat: 1 })))]
        value: Option<Shared<Gem>>,
    }

    #[derive(Persist)]
    #[persist(class = "Side")]
    pub(super) enum Fewer {
        Deep(u8),
    }
}

#[persist::dynamic]
trait Tool {}

#[derive(Persist)]
struct Hammer(u8);

impl Tool for Hammer {}

#[test]
fn fields_and_variants_that_are_gone_or_new() {
    let mut table = Table::new();
    let little = || forms::Little { before: 1 };
    table.add("an enum that was a struct", refused::<forms::Enum, _>(little(), LENIENT));
    table.add(
        "a struct that was an enum",
        refused::<forms::Little, _>(forms::Enum::Before, LENIENT),
    );
    table.add("a field without a default", refused::<forms::More, _>(little(), LENIENT));
    table.add("an empty pointer", refused::<forms::Pointed, _>(little(), FILL));
    table.add("an empty trait object", refused::<forms::Tools, _>(little(), FILL));
    table.add("a pointer by default", refused::<forms::Defaulted, _>(little(), LENIENT));
    table.add("a variant that is gone", refused::<forms::Fewer, _>(Side::North, LENIENT));
    insta::assert_snapshot!(table.text());
}

mod migrated {
    use super::*;

    macro_rules! to {
        ($name:ident, $migrate:ident, { $($fields:tt)* }) => {
            #[derive(Persist)]
            #[persist(class = "Case", version = 2, migrate(1 = $migrate))]
            pub(super) struct $name {
                $($fields)*
            }
        };
    }

    to!(Never, never, { #[persist(default)] before: u8 });
    to!(Forgotten, forgotten, { fame: u8 });
    to!(Wrong, wrong, { before: u8 });
    to!(Other, other, { place: Place });
    to!(Boxed, boxed, { tool: Box<dyn Tool> });
    to!(Half, half, { place: Place });
    to!(Beyond, beyond, { place: Place });
    to!(Kind, wrong, { #[persist(convert = from_flag)] before: u8 });
    to!(Older, older, { #[persist(convert = of_place)] at: u32 });

    fn beyond(record: &mut Record, _: u32) {
        record.set("place", Record::new("Place").at_version(9));
    }

    fn from_flag(flag: bool) -> u8 {
        flag.into()
    }

    #[derive(Persist)]
    #[persist(class = "Place")]
    pub(super) struct Wide {
        x: u32,
        y: u8,
    }

    fn of_place(place: Wide) -> u32 {
        place.x
    }

    fn older(record: &mut Record, _: u32) {
        let place = record.take("place").unwrap();
        record.set("at", place);
    }

    fn never(_: &mut Record, from: u32) -> Result<(), String> {
        Err(format!("not from {from}"))
    }

    fn forgotten(_: &mut Record, _: u32) {}

    fn wrong(record: &mut Record, _: u32) {
        record.set("before", "text");
    }

    fn other(record: &mut Record, _: u32) {
        record.set("place", Record::new("Gem"));
    }

    fn half(record: &mut Record, _: u32) {
        record.set("place", Record::new("Place"));
    }

    fn boxed(record: &mut Record, _: u32) {
        record.set("tool", Record::new("Lost"));
    }
}

#[test]
fn migrations() {
    let mut table = Table::new();
    let little = || forms::Little { before: 1 };
    table.add("one that refuses", refused::<migrated::Never, _>(little(), LENIENT));
    table.add("one that forgets a field", refused::<migrated::Forgotten, _>(little(), LENIENT));
    table.add("one that makes another type", refused::<migrated::Wrong, _>(little(), LENIENT));
    table.add("one that makes another class", refused::<migrated::Other, _>(little(), LENIENT));
    let mut manager = SaveManager::new();
    manager.add(&shared(little())).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register_as::<Hammer, dyn Tool>().unwrap();
    manager.register::<migrated::Boxed>().unwrap();
    table.add("one that makes a class that nobody has", manager.from_slice(&save));
    table.add("one that makes half a value", refused::<migrated::Half, _>(little(), LENIENT));
    table.add("one that makes a later version", refused::<migrated::Beyond, _>(little(), LENIENT));
    table.add(
        "one that makes what no convert takes",
        refused::<migrated::Kind, _>(little(), LENIENT),
    );
    let placed = forms::Placed { place: Place { x: 1, y: 2 } };
    table.add(
        "one that moves a value as it is stored to where a convert takes it",
        refused::<migrated::Older, _>(placed, LENIENT),
    );
    insta::assert_snapshot!(table.text());
}

mod numbered {
    #[derive(persist::Persist)]
    #[persist(id = 7)]
    pub(super) struct Cart {
        pub(super) load: u32,
    }

    #[derive(persist::Persist)]
    #[persist(id = 7)]
    pub(super) struct Sword {
        sharp: u8,
    }

    #[derive(persist::Persist)]
    #[persist(id = 7)]
    pub(super) enum Mood {
        Calm,
    }
}

#[test]
fn a_number_of_a_class_that_was_another() {
    let mut table = Table::new();
    let cart = || numbered::Cart { load: 3 };
    table.add("another struct", refused::<numbered::Sword, _>(cart(), LENIENT));
    table.add("an enum", refused::<numbered::Mood, _>(cart(), LENIENT));
    let save = persist::to_vec(&cart()).unwrap();
    table.add("another value", persist::from_slice::<numbered::Sword>(&save));
    insta::assert_snapshot!(table.text());
}

mod strict {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct More {
        pub(super) before: u8,
        pub(super) more: u8,
    }

    #[derive(Persist)]
    #[persist(class = "Case", version = 9)]
    pub(super) struct Newer {
        pub(super) before: u8,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Wide {
        pub(super) before: u32,
    }

    #[derive(Persist)]
    #[persist(class = "Side")]
    pub(super) enum Other {
        #[persist(other)]
        Unknown,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Gems {
        pub(super) all: Vec<Shared<Gem>>,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Values {
        all: Vec<Gem>,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Weaks {
        pub(super) all: Vec<Weak<RefCell<Gem>>>,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Belt {
        pub(super) before: u8,
        pub(super) tool: Option<Box<dyn Tool>>,
    }
}

#[test]
fn what_a_strict_load_refuses() {
    let mut table = Table::new();
    let little = || forms::Little { before: 1 };
    let more = || strict::More { before: 1, more: 2 };
    table.add("a field that was made up", refused::<strict::More, _>(little(), STRICT.fill(true)));
    table.add("a field that is kept", refused::<forms::Little, _>(more(), STRICT));
    table.add(
        "a field that is dropped",
        refused::<forms::Little, _>(more(), STRICT.drop_unknown(true)),
    );
    table.add(
        "a number that was clamped",
        refused::<forms::Little, _>(strict::Wide { before: 300 }, STRICT.clamp(true)),
    );
    table.add(
        "a record of a newer version",
        refused::<forms::Little, _>(strict::Newer { before: 1 }, STRICT),
    );
    table.add("a variant", refused::<strict::Other, _>(Side::North, STRICT));
    let gem = shared(Gem { carat: 1 });
    let gems = strict::Gems { all: vec![gem.clone(), gem] };
    table.add("an object that became two", refused::<strict::Values, _>(gems, STRICT));
    table.add("a class", refused::<Place, _>(Gem { carat: 1 }, STRICT));
    let mut manager = SaveManager::new();
    manager.register_as::<Hammer, dyn Tool>().unwrap();
    manager.add(&shared(strict::Belt { before: 1, tool: Some(Box::new(Hammer(1))) })).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = Saves::new().load_options(STRICT).manager();
    manager.register::<strict::Belt>().unwrap();
    table.add("a class of a trait", manager.from_slice(&save));
    // The program has the class, but not for the trait.
    manager.register::<Hammer>().unwrap();
    table.add("a class without its trait", manager.from_slice(&save));
    insta::assert_snapshot!(table.text());
}

mod values {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Node")]
    pub(super) struct Linked {
        pub(super) next: Option<Shared<Linked>>,
    }

    #[derive(Persist)]
    #[persist(class = "Node")]
    pub(super) struct Nested {
        next: Option<Box<Nested>>,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Values {
        pub(super) all: Vec<Gem>,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Pointers {
        pub(super) all: Vec<Shared<Gem>>,
    }
}

#[test]
fn objects_that_become_values_and_values_that_become_objects() {
    let mut table = Table::new();
    let node = shared(values::Linked { next: None });
    node.borrow_mut().next = Some(node.clone());
    let load = |node: &Shared<values::Linked>| {
        let mut manager = SaveManager::new();
        manager.add(node).unwrap();
        let save = manager.to_vec().unwrap();
        let manager = SaveManager::new();
        manager.register::<values::Nested>().unwrap();
        manager.from_slice(&save)
    };
    table.add("an object in itself", load(&node));
    node.borrow_mut().next = None;
    let mut chain = node;
    for _ in 0..200 {
        chain = shared(values::Linked { next: Some(chain) });
    }
    table.add("a chain", load(&chain));
    let mut manager = SaveManager::new();
    manager.add(&shared(values::Values { all: vec![Gem { carat: 1 }; 9] })).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = Saves::new().limits(Limits::new().objects(5)).manager();
    manager.register::<values::Pointers>().unwrap();
    table.add("more objects than the limit", manager.from_slice(&save));
    let gem = class("Gem", &[("carat", &[4])]);
    let case = class("Case", &[("all", &[0x11, 0x17, 0x11, 2])]);
    let hostile = forge::save(&[case, gem, record(1, ADDED, 1, &[1, 9])]);
    let manager = SaveManager::new();
    manager.register::<values::Values>().unwrap();
    table.add("an object that is not there", manager.from_slice(&hostile));
    insta::assert_snapshot!(table.text());
}

#[test]
fn values_that_are_edited() {
    let mut manager = SaveManager::new();
    let gem = shared(Gem { carat: 1 });
    manager.add(&shared(strict::Gems { all: vec![gem] })).unwrap();
    manager.add(&shared(Place { x: 1, y: 2 })).unwrap();
    let mut document = persist_tools::Document::from_slice(&manager.to_vec().unwrap()).unwrap();
    let mut table = Table::new();
    let mut set = |what: &str, id: Option<u64>| {
        let id = id.and_then(persist::ObjectId::new);
        let first = document.entries_mut().next().unwrap();
        first.value.as_record_mut().unwrap().set("all", Value::Seq(vec![Value::Ref(id)]));
        table.add(what, document.to_vec());
    };
    set("a pointer to nobody", None);
    set("a pointer to what is not there", Some(99));
    set("a pointer to another class", Some(2));
    // Two classes of one name, and a field for any class of a trait.
    let named = |id: u8| forge::with_id(id.into(), "Coin", 1, 0, &forge::fields(&[("n", &[3])]));
    let kind = [&[0x18], &text("Item")[..]].concat();
    let purse = class("Purse", &[("item", &kind)]);
    let save = forge::save(&[purse, named(7), named(8), record(1, ADDED, 1, &[2, 5])]);
    let mut document = persist_tools::Document::from_slice(&save).unwrap();
    for (what, class) in [("a class that is not there", "Nobody"), ("one of two classes", "Coin")] {
        let first = document.entries_mut().next().unwrap();
        first.value.as_record_mut().unwrap().set("item", Record::new(class));
        table.add(what, document.to_vec());
    }
    insta::assert_snapshot!(table.text());
}
