//! A change that the lock calls safe is safe: for every pair of programs of which it says so, the samples of the
//! one, loaded and saved by the other, come back with every value.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use persist::{LoadOptions, Persist, SaveManager, Saves, Unknown};
use persist_tools::lock::{Values, Verdict};

use super::locked;

/// Programs with a class `Case`.
macro_rules! programs {
    ($($program:ident { $($item:item)* })*) => {
        $(mod $program {
            #![allow(unused_imports)]
            use super::*;
            $(#[derive(persist::Persist)] $item)*
        })*

        fn programs() -> Vec<Program> {
            vec![$(Program { name: stringify!($program), saves: saves::<$program::Case> }),*]
        }
    };
}

struct Program {
    name: &'static str,
    saves: fn() -> Saves,
}

fn saves<T: Persist>() -> Saves {
    let saves = Saves::new();
    saves.register::<T>().unwrap();
    saves
}

programs! {
    plain {
        pub(super) struct Case { a: u8, b: String, c: Vec<u16>, d: Inner, e: Mood, f: Option<Rc<RefCell<Case>>> }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    wide {
        pub(super) struct Case {
            e: Mood,
            a: i64,
            b: Option<String>,
            c: VecDeque<u32>,
            d: Inner,
            #[persist(default)] g: u8,
            f: Option<Rc<RefCell<Case>>>,
        }
        #[derive(Default)]
        pub(super) struct Inner { y: f64, x: i16, #[persist(default)] z: u8 }
        pub(super) enum Mood { Happy, Sad(u16, String), Calm, Angry { since: Option<u8> } }
    }
    narrow {
        pub(super) struct Case { a: i8, b: char, c: Vec<u8>, d: Inner, e: Mood, f: Option<Rc<RefCell<Case>>> }
        #[derive(Default)]
        pub(super) struct Inner { x: u8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: bool }, Sad(u8, String) }
    }
    fewer {
        pub(super) struct Case { a: u8, d: Inner, f: Option<Rc<RefCell<Case>>> }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32 }
    }
    fewer_inside {
        pub(super) struct Case { a: u8, b: String, c: Vec<u16>, d: Inner, e: Mood }
        #[derive(Default)]
        pub(super) struct Inner { x: i8 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    with_room {
        pub(super) struct Case { a: u8, d: Inner, e: Mood, #[persist(unknown)] rest: Unknown }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, #[persist(unknown)] rest: Unknown }
        pub(super) enum Mood {
            Calm,
            Angry { #[persist(unknown)] rest: Unknown },
            #[persist(other)] Other(Unknown),
        }
    }
    with_default {
        pub(super) struct Case { a: u8, #[persist(default)] bb: String, c: Vec<u16>, d: Inner, e: Mood }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, #[persist(default)] yy: f32 }
        pub(super) enum Mood { Calm, Angry { #[persist(default)] at: u8 }, Sad(u8, String), #[persist(other)] Other }
    }
    renamed {
        pub(super) struct Case {
            #[persist(alias = "a")] aa: u16,
            b: String,
            c: Vec<u16>,
            d: Inner,
            e: Mood,
            f: Option<Rc<RefCell<Case>>>,
        }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, #[persist(alias = "Angry")] Furious { since: u8 }, Sad(u8, String) }
    }
    sets {
        pub(super) struct Case { a: u8, b: String, c: BTreeSet<u16>, d: Inner, e: Mood }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    lists {
        pub(super) struct Case { a: Vec<u8>, b: Vec<String>, c: Vec<Option<u16>>, d: Vec<Inner>, e: Option<Mood> }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    maps {
        pub(super) struct Case { a: [u8; 4], b: BTreeMap<u8, String>, c: [u16; 2], d: (Inner, u8) }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32 }
    }
    pairs {
        pub(super) struct Case { a: [u8; 2], b: Vec<(u8, String)>, c: Vec<u16>, d: (Inner, u16) }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32 }
    }
    moved {
        pub(super) struct Case { a: u8, d: Inner, e: Mood, f: Option<Rc<RefCell<Case>>> }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32, #[persist(default)] b: String, #[persist(default)] c: Vec<u16> }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    shared {
        pub(super) struct Case { a: u8, b: String, c: Vec<u16>, d: Rc<RefCell<Inner>>, e: Mood }
        #[derive(Default)]
        pub(super) struct Inner { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
    renamed_inside {
        pub(super) struct Case { a: u8, b: String, c: Vec<u16>, #[persist(default)] dd: Within, e: Mood }
        #[derive(Default)]
        pub(super) struct Within { x: i8, y: f32 }
        pub(super) enum Mood { Calm, Angry { since: u8 }, Sad(u8, String) }
    }
}

/// What a program makes of a save: without what it does not know.
fn view(program: &Program, save: &[u8]) -> Result<Vec<u8>, String> {
    let saves = (program.saves)().load_options(LoadOptions::new().drop_unknown(true));
    let loaded = saves.from_slice::<SaveManager>(save).map_err(|error| error.to_string())?;
    Ok(loaded.to_vec().unwrap())
}

/// The save of a program that has loaded another's.
fn passed_on(program: &Program, save: &[u8]) -> Result<Vec<u8>, String> {
    let loaded =
        (program.saves)().from_slice::<SaveManager>(save).map_err(|error| error.to_string())?;
    Ok(loaded.to_vec().unwrap())
}

#[test]
fn what_is_called_safe_comes_back_with_every_value() {
    let programs = programs();
    let mut safe = Vec::new();
    for old in &programs {
        let lock = locked(&(old.saves)().registry());
        for new in &programs {
            let report = lock.compare(&(new.saves)().registry());
            if report.differences().iter().any(|found| found.verdict != Verdict::Safe) {
                continue;
            }
            let mut has_way_back = true;
            for values in [Values::Plain, Values::Boundary] {
                let sample = lock.sample("0.1.0", values).unwrap();
                let pair = format!("{} to {}, {values:?}\n{report}", old.name, new.name);
                let there = passed_on(new, &sample).unwrap_or_else(|error| panic!("{pair}{error}"));
                // Not every new kind becomes the old one by itself.
                match view(old, &there) {
                    Ok(back) => assert!(back == view(old, &sample).unwrap(), "{pair}"),
                    Err(_) => has_way_back = false,
                }
            }
            let back = if has_way_back { "" } else { ", without a way back" };
            safe.push(format!("{} to {}{back}", old.name, new.name));
        }
    }
    // It says so of some pairs.
    insta::assert_snapshot!(safe.join("\n"));
}
