//! The programs: what the lock and the loads of each pair of them say must agree.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::{Rc, Weak};

use persist::{Persist, Record, Saves, Unknown};

/// A program with a class `Case`, and what it does to values on purpose.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) saves: fn() -> Saves,
}

macro_rules! programs {
    ($($program:ident { $($item:item)* })*) => {
        $(mod $program {
            #![allow(unused_imports)]
            use super::*;
            $(#[derive(persist::Persist)] $item)*
        })*

        pub(crate) fn programs() -> Vec<Program> {
            vec![$(Program { name: stringify!($program), saves: saves::<$program::Case> }),*]
        }
    };
}

fn saves<T: Persist>() -> Saves {
    let saves = Saves::new();
    saves.register::<T>().unwrap();
    saves
}

fn nothing(_: &mut Record, _: u32) {}

// What a migration takes the place of is lost, as it says; these take no places.

fn rename_to(record: &mut Record, from: &str, to: &str) {
    if record.get(to).is_none() {
        record.rename(from, to);
    }
}

fn rename(case: &mut Record, _: u32) {
    rename_to(case, "a", "aa");
    rename_to(case, "b", "bb");
}

fn swap(case: &mut Record, _: u32) {
    case.rename("a", "t");
    case.rename("c", "a");
    case.rename("t", "c");
}

fn move_in(case: &mut Record, _: u32) {
    let Some(moved) = case.get("b").cloned() else { return };
    let inner = case.get_mut("d").and_then(persist::Value::as_record_mut);
    if let Some(inner) = inner.filter(|inner| inner.get("b").is_none()) {
        inner.set("b", moved);
        case.take("b");
    }
}

fn move_out(case: &mut Record, _: u32) {
    if case.get("y").is_some() {
        return;
    }
    let inner = case.get_mut("d").and_then(persist::Value::as_record_mut);
    if let Some(moved) = inner.and_then(|inner| inner.take("y")) {
        case.set("y", moved);
    }
}

fn inner_rename(inner: &mut Record, _: u32) {
    rename_to(inner, "x", "z");
}

programs! {
    plain {
        pub(super) struct Case {
            a: u8,
            b: String,
            c: Vec<u16>,
            d: Inner,
            e: Mood,
            f: Option<Rc<RefCell<Node>>>,
        }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
        pub(super) struct Node { value: u16, next: Option<Rc<RefCell<Node>>>, inner: Inner }
    }
    wide {
        pub(super) struct Case {
            e: Mood,
            a: i64,
            b: Option<String>,
            c: Vec<u32>,
            d: Inner,
            #[persist(default)] g: u8,
            f: Option<Rc<RefCell<Node>>>,
        }
        pub(super) struct Inner { y: f64, x: i16, #[persist(default)] z: u8 }
        pub(super) enum Mood { Happy, Sad(u16, String), Calm, Angry { since: Option<u8> } }
        pub(super) struct Node {
            value: Option<u32>,
            next: Option<Rc<RefCell<Node>>>,
            inner: Inner,
            #[persist(default)] b: String,
        }
    }
    narrow {
        pub(super) struct Case { a: i8, b: char, c: Vec<u8>, d: Inner, e: Mood, f: Option<Rc<RefCell<Node>>> }
        pub(super) struct Inner { x: u8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: bool }, Sad(u8, String) }
        pub(super) struct Node { value: u8, next: Option<Weak<RefCell<Node>>>, inner: Inner }
    }
    fewer {
        pub(super) struct Case { a: u8, d: Inner, f: Option<Rc<RefCell<Node>>> }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) struct Node { value: u16 }
    }
    fewer_inside {
        pub(super) struct Case { a: u8, b: String, c: Vec<u16>, d: Inner, e: Mood }
        pub(super) struct Inner { x: i8 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8) }
    }
    with_room {
        pub(super) struct Case { a: u8, d: Inner, e: Mood, #[persist(unknown)] rest: Unknown }
        pub(super) struct Inner { x: i8, #[persist(unknown)] rest: Unknown }
        pub(super) enum Mood {
            Calm,
            Angry { #[persist(unknown)] rest: Unknown },
            #[persist(other)] Other(Unknown),
        }
    }
    with_default {
        pub(super) struct Case { a: u8, #[persist(default)] bb: String, c: Vec<u16>, d: Inner, e: Mood }
        pub(super) struct Inner { x: i8, #[persist(default)] yy: f32 }
        pub(super) enum Mood {
            Calm,
            Angry { #[persist(default)] at: u8 },
            Sad(u8, String),
            #[persist(other)] Other,
        }
    }
    aliased {
        pub(super) struct Case {
            #[persist(alias = "a")] aa: u16,
            #[persist(alias = "b", default)] bb: String,
            #[persist(alias = "g", default)] c: Vec<u16>,
            #[persist(alias = "dd")] d: Inner,
            e: Mood,
            #[persist(default)] f: Option<Rc<RefCell<Node>>>,
        }
        #[persist(alias = "Within")]
        pub(super) struct Inner { #[persist(alias = "z")] x: i8, y: f32 }
        pub(super) enum Mood { Calm, #[persist(alias = "Angry")] Furious { since: u8 }, Sad(u8, String) }
        pub(super) struct Node { value: u16, next: Option<Rc<RefCell<Node>>>, inner: Inner }
    }
    numbered {
        pub(super) struct Case {
            #[persist(id = 1)] a: u8,
            #[persist(id = 2)] b: String,
            #[persist(id = 3)] c: Vec<u16>,
            #[persist(id = 4)] d: Inner,
        }
        pub(super) struct Inner { #[persist(id = 1)] x: i8, #[persist(id = 2)] y: f32 }
    }
    renumbered {
        pub(super) struct Case {
            #[persist(id = 1)] aa: u32,
            #[persist(id = 2, default)] bb: String,
            #[persist(id = 4)] c: Inner,
            #[persist(id = 3, default)] d: Vec<u32>,
        }
        pub(super) struct Inner { #[persist(id = 2)] x: f32, #[persist(id = 1)] y: i8 }
    }
    half_numbered {
        pub(super) struct Case {
            #[persist(id = 1)] a: u8,
            #[persist(default)] b: String,
            #[persist(id = 3, alias = "cc", default)] c: Vec<u16>,
            d: Inner,
            e: Mood,
        }
        pub(super) struct Inner { x: i8, #[persist(id = 2, default)] y: f32 }
        pub(super) enum Mood { Calm, Angry { #[persist(id = 1)] since: u8 }, Sad(u8, String) }
    }
    sets {
        pub(super) struct Case {
            a: u8,
            b: String,
            c: BTreeSet<u16>,
            d: Inner,
            e: Mood,
            #[persist(default)] g: BTreeMap<u16, String>,
        }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    lists {
        pub(super) struct Case {
            a: Vec<u8>,
            b: Vec<String>,
            c: Vec<Option<u16>>,
            d: Vec<Inner>,
            e: Option<Mood>,
            #[persist(default)] g: Vec<(u16, String)>,
        }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    arrays {
        pub(super) struct Case {
            #[persist(default)] a: [u8; 4],
            b: BTreeMap<u8, String>,
            #[persist(default)] c: [u16; 2],
            d: (Inner, u8),
        }
        pub(super) struct Inner { x: i8, y: f32 }
    }
    pairs {
        pub(super) struct Case {
            #[persist(default)] a: [u8; 2],
            b: Vec<(u8, String)>,
            c: Vec<u16>,
            d: (Inner, u16),
        }
        pub(super) struct Inner { x: i8, y: f32 }
    }
    moved {
        pub(super) struct Case { a: u8, d: Inner, e: Mood, f: Option<Rc<RefCell<Node>>> }
        pub(super) struct Inner {
            x: i8,
            y: f32,
            #[persist(default)] b: String,
            #[persist(default)] c: Vec<u16>,
        }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
        pub(super) struct Node { value: u16, next: Option<Rc<RefCell<Node>>>, inner: Inner }
    }
    shared {
        pub(super) struct Case {
            a: u8,
            b: String,
            c: Vec<u16>,
            d: Rc<RefCell<Inner>>,
            e: Mood,
            #[persist(default)] f: Vec<Rc<RefCell<Node>>>,
        }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
        pub(super) struct Node { value: u16, inner: Rc<RefCell<Inner>>, next: Weak<RefCell<Node>> }
    }
    unshared {
        pub(super) struct Case { a: u8, b: String, d: Inner, f: Option<Node> }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) struct Node { value: u16, inner: Inner }
    }
    renamed_inside {
        pub(super) struct Case { a: u8, b: String, c: Vec<u16>, dd: Within, e: Mood }
        pub(super) struct Within { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    removed {
        #[persist(removed = "b", removed = "bb", removed = "f")]
        pub(super) struct Case { a: u8, #[persist(default)] c: Vec<u16>, d: Inner, e: Mood }
        #[persist(removed = "y")]
        pub(super) struct Inner { x: i8 }
        #[persist(removed = "Sad")]
        pub(super) enum Mood {
            Calm,
            #[persist(removed = "at")] Angry { #[persist(default)] since: u8 },
            #[persist(other)] Other,
        }
    }
    newtypes {
        pub(super) struct Case { a: Level, b: Name, c: Vec<Level>, d: Inner, e: Vec<Mood> }
        pub(super) struct Level(u16);
        pub(super) struct Name(String);
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    migrated {
        #[persist(version = 2, migrate(1 = rename))]
        pub(super) struct Case {
            #[persist(default)] aa: u8,
            #[persist(default)] bb: String,
            #[persist(default)] c: Vec<u16>,
            d: Inner,
            e: Mood,
            #[persist(default)] f: Option<Rc<RefCell<Node>>>,
        }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
        pub(super) struct Node { value: u16, next: Option<Rc<RefCell<Node>>>, inner: Inner }
    }
    migrated_for_nothing {
        #[persist(version = 3, migrate(1 = nothing, 2 = nothing))]
        pub(super) struct Case { a: u8, b: String, #[persist(default)] g: u16, d: Inner, e: Mood }
        pub(super) struct Inner { x: i8 }
        #[persist(version = 2)]
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    swapped {
        #[persist(version = 2, migrate(1 = swap))]
        pub(super) struct Case { a: Vec<u16>, b: String, c: u8, #[persist(default)] d: Option<Inner> }
        pub(super) struct Inner { x: i8, y: f32 }
    }
    moved_in {
        #[persist(version = 2, migrate(1 = move_in))]
        pub(super) struct Case { a: u8, c: Vec<u16>, d: Inner, e: Mood }
        pub(super) struct Inner { x: i8, y: f32, #[persist(default)] b: String }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    moved_out {
        #[persist(version = 2, migrate(1 = move_out))]
        pub(super) struct Case {
            a: u8,
            b: String,
            c: Vec<u16>,
            d: Inner,
            #[persist(default)] y: f32,
            e: Mood,
        }
        pub(super) struct Inner { x: i8 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    inner_migrated {
        pub(super) struct Case {
            a: u8,
            b: String,
            c: Vec<u16>,
            d: Inner,
            e: Mood,
            #[persist(default)] f: Option<Rc<RefCell<Node>>>,
        }
        #[persist(version = 2, migrate(1 = inner_rename))]
        pub(super) struct Inner { z: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
        pub(super) struct Node { value: u16, next: Option<Rc<RefCell<Node>>>, inner: Inner }
    }
    texts {
        pub(super) struct Case { a: String, b: String, c: Vec<String>, d: Inner, e: String }
        pub(super) struct Inner { x: i8, y: f32 }
    }
    choices {
        pub(super) struct Case { a: u8, b: Mood, c: Vec<u16>, d: Inner, e: Vec<Mood> }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry, #[persist(alias = "Joyful")] Happy }
    }
    kinds {
        pub(super) struct Case {
            a: (u8,),
            b: (String, u32),
            c: [u16; 3],
            d: HashMap<String, Inner>,
            e: Option<Option<Mood>>,
            g: bool,
            h: u128,
            i: i128,
            j: char,
            k: (),
        }
        pub(super) struct Inner { x: f64, y: u64 }
        pub(super) enum Mood { Calm, Angry { since: i32 }, Sad(Inner) }
    }
    kinds_of_old {
        pub(super) struct Case {
            a: u8,
            b: (String, u64),
            c: Vec<u16>,
            d: Vec<(String, Inner)>,
            e: Option<Mood>,
            g: u8,
            h: f64,
            i: f32,
            j: String,
            #[persist(default)] k: u8,
        }
        pub(super) struct Inner { x: f64, y: f64 }
        pub(super) enum Mood { Calm, Angry { since: i64 }, Sad(Inner), #[persist(other)] Other(Unknown) }
    }
    tuples {
        pub(super) struct Case(u8, String, #[persist(default)] Vec<u16>, #[persist(default)] Option<Pair>);
        pub(super) struct Pair(i8, f32);
    }
    named_tuples {
        pub(super) struct Case {
            #[persist(alias = "0")] a: u8,
            #[persist(alias = "1")] b: String,
            #[persist(alias = "2", default)] c: Vec<u16>,
            #[persist(alias = "3", default)] d: Option<Pair>,
        }
        pub(super) struct Pair { #[persist(alias = "0")] x: i8, #[persist(alias = "1")] y: f32 }
    }
    one_mood {
        pub(super) struct Case {
            a: u8,
            b: String,
            #[persist(default)] c: Vec<u16>,
            #[persist(default)] d: Option<Inner>,
            e: Mood,
        }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { #[persist(alias = "Angry", alias = "Sad")] Calm, #[persist(other)] Other }
    }
    without_moods {
        pub(super) struct Case { a: u8, b: String, c: Vec<u16>, d: Inner, #[persist(default)] e: u8 }
        pub(super) struct Inner { x: i8, y: f32 }
    }
    node_by_value {
        pub(super) struct Case {
            a: u8,
            b: String,
            c: Vec<u16>,
            d: Inner,
            #[persist(default)] f: Vec<Node>,
            #[persist(default)] g: Option<Rc<RefCell<Node>>>,
        }
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) struct Node { #[persist(default)] value: u16, inner: Inner }
    }
    node_without_inner {
        pub(super) struct Case {
            a: u8,
            b: String,
            c: Vec<u16>,
            d: Inner,
            #[persist(default)] g: Option<Rc<RefCell<Node>>>,
            f: Option<Rc<RefCell<Node>>>,
        }
        pub(super) struct Inner { x: i8, y: f32, #[persist(default)] value: u16 }
        pub(super) struct Node { #[persist(default)] next: Option<Rc<RefCell<Node>>> }
    }
}
