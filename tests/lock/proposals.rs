//! What the lock proposes for each loss that it knows, pasted into a next program: the lock then passes, and the values
//! that it proposes to keep are there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::save::Registry;
use persist::{Persist, Record, SaveManager};
use persist_tools::lock::{LockReport, Verdict};

use super::{lock_of, locked, registry, report};

/// Programs, each in a module of its own.
macro_rules! programs {
    ($($program:ident { $($item:item)* })*) => {
        $(mod $program {
            #![allow(unused_imports)]
            use super::*;
            $($item)*
        })*
    };
}

/// This file, in which the proposed lines must stand.
const SOURCE: &str = include_str!("proposals.rs");

/// Text without the space that differs from one layout to another.
fn squeezed(text: &str) -> String {
    text.split_whitespace()
        .collect::<String>()
        .replace(",)", ")")
        .replace(",}", "}")
        .replace("pub(super)", "")
}

/// The text of a module of this file.
fn module(name: &str) -> &str {
    let start = format!("\n    {name} {{\n");
    let (_, rest) = SOURCE.split_once(&start).unwrap_or_else(|| panic!("no module {name}"));
    rest.split_once("\n    }\n").expect("the end of the module").0
}

/// Checks that a report proposes these lines, each of which stands in a module of this file, and that the lock of the
/// program with them passes.
#[track_caller]
fn proposes(report: &LockReport, mended: (&str, &LockReport), lines: &[&str]) {
    let (name, passed) = mended;
    assert!(!report.loads(), "{report}");
    let printed = report.to_string();
    for line in lines {
        let is_printed = squeezed(&printed).contains(&squeezed(line));
        assert!(is_printed, "not proposed: {line}\n{printed}");
        let is_pasted = squeezed(module(name)).contains(&squeezed(line));
        assert!(is_pasted, "not in {name}: {line}");
    }
    assert!(passed.loads() && passed.notes().is_empty(), "{name}: {passed}");
}

/// Loads a value of an old program by a new one.
fn turned<Old: Persist, New: Persist>(old: &Old) -> New {
    persist::from_slice(&persist::to_vec(old).unwrap()).unwrap()
}

/// Loads an object, saves it, and loads it by a third program.
fn passed_on<Old: Persist, New: Persist, Last: Persist>(old: Old) -> Rc<RefCell<Last>> {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(old))).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<New>().unwrap();
    let save = manager.from_slice(&save).unwrap().to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<Last>().unwrap();
    manager.from_slice(&save).unwrap().first::<Last>().unwrap()
}

programs! {
    hp {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) name: String, pub(super) hp: u32 }
    }
    wider {
        #[derive(Persist)]
        pub(super) struct Hero { name: String, #[persist(default)] health: u64 }
    }
    wider_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            name: String,
            #[persist(default)]
            #[persist(alias = "hp")]
            pub(super) health: u64,
        }
    }
    needed {
        #[derive(Persist)]
        pub(super) struct Hero { name: String, health: u64 }
    }
    needed_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            name: String,
            #[persist(alias = "hp")]
            pub(super) health: u64,
        }
    }
    single {
        #[derive(Persist)]
        pub(super) struct Hero { name: String, #[persist(default)] health: f32 }
    }
    single_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            name: String,
            #[persist(default)]
            #[persist(alias = "hp", convert = from_hp)]
            pub(super) health: f32,
        }
        fn from_hp(old: u32) -> f32 {
            old as f32
        }
    }
    texts {
        #[derive(Persist)]
        pub(super) struct Hero { name: String, #[persist(default)] health: Vec<u8> }
    }
    texts_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            name: String,
            #[persist(default)]
            #[persist(alias = "hp", convert = from_hp)]
            pub(super) health: Vec<u8>,
        }
        fn from_hp(old: u32) -> Vec<u8> {
            old.to_le_bytes().to_vec()
        }
    }
    mana {
        #[derive(Persist)]
        pub(super) struct Hero { name: String, hp: u32, mana: f32 }
    }
    mana_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            name: String,
            pub(super) hp: u32,
            #[persist(default)]
            mana: f32,
        }
    }
    narrowed {
        #[derive(Persist)]
        pub(super) struct Hero { name: String, hp: u16 }
    }
    narrowed_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            name: String,
            #[persist(convert = from_hp)]
            pub(super) hp: u16,
        }
        fn from_hp(old: u32) -> u16 {
            u16::try_from(old).unwrap_or(u16::MAX)
        }
    }
}

#[test]
fn a_renamed_field_has_its_values() {
    let hp = || hp::Hero { name: "Ada".into(), hp: 70_000 };
    let alias = ["#[persist(alias = \"hp\")]"];
    let mended = report::<hp::Hero, wider_mended::Hero>();
    proposes(&report::<hp::Hero, wider::Hero>(), ("wider_mended", &mended), &alias);
    assert_eq!(turned::<_, wider_mended::Hero>(&hp()).health, 70_000);
    let mended = report::<hp::Hero, needed_mended::Hero>();
    proposes(&report::<hp::Hero, needed::Hero>(), ("needed_mended", &mended), &alias);
    assert_eq!(turned::<_, needed_mended::Hero>(&hp()).health, 70_000);
    let mended = report::<hp::Hero, single_mended::Hero>();
    proposes(
        &report::<hp::Hero, single::Hero>(),
        ("single_mended", &mended),
        &["#[persist(alias = \"hp\", convert = from_hp)]", "fn from_hp(old: u32) -> f32 {"],
    );
    assert_eq!(turned::<_, single_mended::Hero>(&hp()).health, 70_000.0);
    let mended = report::<hp::Hero, texts_mended::Hero>();
    proposes(
        &report::<hp::Hero, texts::Hero>(),
        ("texts_mended", &mended),
        &["#[persist(alias = \"hp\", convert = from_hp)]", "fn from_hp(old: u32) -> Vec<u8> {"],
    );
    assert_eq!(turned::<_, texts_mended::Hero>(&hp()).health, [112, 17, 1, 0]);
    let mended = report::<hp::Hero, mana_mended::Hero>();
    proposes(
        &report::<hp::Hero, mana::Hero>(),
        ("mana_mended", &mended),
        &["#[persist(default)] mana: f32"],
    );
    assert_eq!(turned::<_, mana_mended::Hero>(&hp()).hp, 70_000);
    // A kind alone has no line, but says what to give.
    let narrowed = report::<hp::Hero, narrowed::Hero>();
    assert!(narrowed.to_string().contains("give the field a `convert`"), "{narrowed}");
    let mended = report::<hp::Hero, narrowed_mended::Hero>();
    proposes(&narrowed, ("narrowed_mended", &mended), &[]);
    assert_eq!(turned::<_, narrowed_mended::Hero>(&hp()).hp, u16::MAX);
}

programs! {
    home {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) home: Place }
        #[derive(Persist)]
        pub(super) struct Place { pub(super) x: f32, pub(super) y: f32 }
    }
    house {
        #[derive(Persist)]
        pub(super) struct Hero { #[persist(default)] house: House }
        #[derive(Persist, Default)]
        pub(super) struct House { x: f32, y: f32, #[persist(default)] rooms: u8 }
    }
    house_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            #[persist(default)]
            #[persist(alias = "home")]
            pub(super) house: House,
        }
        #[derive(Persist, Default)]
        #[persist(alias = "Place")]
        pub(super) struct House { pub(super) x: f32, y: f32, #[persist(default)] rooms: u8 }
    }
}

#[test]
fn a_field_and_its_class_that_are_renamed_together_are_the_same() {
    let mended = report::<home::Hero, house_mended::Hero>();
    proposes(
        &report::<home::Hero, house::Hero>(),
        ("house_mended", &mended),
        &[
            "#[persist(alias = \"home\")] house: House",
            "#[persist(alias = \"Place\")] struct House",
        ],
    );
    let old = home::Hero { home: home::Place { x: 7.0, y: 8.0 } };
    assert_eq!(turned::<_, house_mended::Hero>(&old).house.x, 7.0);
}

programs! {
    flat {
        #[derive(Persist)]
        pub(super) struct World { pub(super) name: String, pub(super) shops: Vec<u16>, pub(super) inns: u8 }
    }
    town {
        #[derive(Persist)]
        pub(super) struct World { name: String, #[persist(default)] town: Town }
        #[derive(Persist, Default)]
        pub(super) struct Town { #[persist(default)] shops: Vec<u16>, #[persist(default)] inns: u8 }
    }
    town_mended {
        #[derive(Persist)]
        #[persist(version = 2, migrate(1 = to_2))]
        pub(super) struct World { name: String, #[persist(default)] pub(super) town: Town }
        #[derive(Persist, Default)]
        pub(super) struct Town {
            #[persist(default)] pub(super) shops: Vec<u16>,
            #[persist(default)] pub(super) inns: u8,
        }
        // The bodies of both functions that are printed.
        fn to_2(record: &mut persist::Record, _from: u32) {
            if let Some(moved) = record.take("shops") {
                if record.get("town").is_none() {
                    record.set("town", persist::Record::new("Town"));
                }
                if let Some(inner) = record.get_mut("town").and_then(persist::Value::as_record_mut) {
                    inner.set("shops", moved);
                }
            }
            if let Some(moved) = record.take("inns") {
                if record.get("town").is_none() {
                    record.set("town", persist::Record::new("Town"));
                }
                if let Some(inner) = record.get_mut("town").and_then(persist::Value::as_record_mut) {
                    inner.set("inns", moved);
                }
            }
        }
    }
    flat_migrated {
        #[derive(Persist)]
        #[persist(version = 2, migrate(1 = nothing))]
        pub(super) struct World { pub(super) name: String, pub(super) inns: u8 }
        fn nothing(_: &mut persist::Record, _from: u32) {}
    }
    town_migrated {
        #[derive(Persist)]
        #[persist(version = 2, migrate(1 = nothing))]
        pub(super) struct World { name: String, #[persist(default)] town: Town }
        #[derive(Persist, Default)]
        pub(super) struct Town { #[persist(default)] inns: u8 }
        fn nothing(_: &mut persist::Record, _from: u32) {}
    }
    town_migrated_mended {
        #[derive(Persist)]
        #[persist(version = 3, migrate(1 = nothing, 2 = to_3))]
        pub(super) struct World { name: String, #[persist(default)] pub(super) town: Town }
        #[derive(Persist, Default)]
        pub(super) struct Town { #[persist(default)] pub(super) inns: u8 }
        fn nothing(_: &mut persist::Record, _from: u32) {}
        fn to_3(record: &mut persist::Record, _from: u32) {
            if let Some(moved) = record.take("inns") {
                if record.get("town").is_none() {
                    record.set("town", persist::Record::new("Town"));
                }
                if let Some(inner) = record.get_mut("town").and_then(persist::Value::as_record_mut) {
                    inner.set("inns", moved);
                }
            }
        }
    }
    purse {
        #[derive(Persist)]
        pub(super) struct Player { pub(super) purse: Purse }
        #[derive(Persist)]
        pub(super) struct Purse { pub(super) gold: u32, pub(super) size: u8 }
    }
    no_gold {
        #[derive(Persist)]
        pub(super) struct Player { purse: Purse, #[persist(default)] gold: u32 }
        #[derive(Persist)]
        pub(super) struct Purse { size: u8 }
    }
    no_gold_mended {
        #[derive(Persist)]
        #[persist(version = 2, migrate(1 = to_2))]
        pub(super) struct Player { purse: Purse, #[persist(default)] pub(super) gold: u32 }
        #[derive(Persist)]
        pub(super) struct Purse { size: u8 }
        fn to_2(record: &mut persist::Record, _from: u32) {
            let inner = record.get_mut("purse").and_then(persist::Value::as_record_mut);
            if let Some(moved) = inner.and_then(|inner| inner.take("gold")) {
                record.set("gold", moved);
            }
        }
    }
    into_there {
        #[derive(Persist)]
        pub(super) struct Box { pub(super) loop_: Loop, pub(super) key: String }
        #[derive(Persist)]
        pub(super) struct Loop { pub(super) size: u8 }
    }
    into_there_moved {
        #[derive(Persist)]
        pub(super) struct Box { loop_: Loop }
        #[derive(Persist)]
        pub(super) struct Loop { size: u8, #[persist(default)] key: String }
    }
    into_there_mended {
        #[derive(Persist)]
        #[persist(version = 2, migrate(1 = to_2))]
        pub(super) struct Box { pub(super) loop_: Loop }
        #[derive(Persist)]
        pub(super) struct Loop { size: u8, #[persist(default)] pub(super) key: String }
        fn to_2(record: &mut persist::Record, _from: u32) {
            if let Some(moved) = record.take("key") {
                if record.get("loop_").is_none() {
                    record.set("loop_", persist::Record::new("Loop"));
                }
                if let Some(inner) = record.get_mut("loop_").and_then(persist::Value::as_record_mut) {
                    inner.set("key", moved);
                }
            }
        }
    }
}

#[test]
fn fields_that_moved_to_another_class_are_moved_by_the_printed_functions() {
    let mended = report::<flat::World, town_mended::World>();
    let (_, bodies) = module("town_mended").split_once("_from: u32) {").unwrap();
    let (shops, inns) = bodies.rsplit_once("if let Some(moved) =").unwrap();
    let inns = inns.trim_end().trim_end_matches('}');
    proposes(
        &report::<flat::World, town::World>(),
        ("town_mended", &mended),
        &[
            "#[persist(version = 2, migrate(1 = to_2))] struct World",
            "fn to_2(record: &mut persist::Record, _from: u32) {",
            shops,
            inns,
        ],
    );
    let old = flat::World { name: "Oz".into(), shops: vec![1, 2], inns: 3 };
    let town = turned::<_, town_mended::World>(&old).town;
    assert_eq!((town.shops, town.inns), (vec![1, 2], 3));

    let mended = report::<purse::Player, no_gold_mended::Player>();
    let function = module("no_gold_mended").split_once("fn to_2").unwrap().1;
    proposes(
        &report::<purse::Player, no_gold::Player>(),
        ("no_gold_mended", &mended),
        &["#[persist(version = 2, migrate(1 = to_2))] struct Player", function],
    );
    let old = purse::Player { purse: purse::Purse { gold: 9, size: 1 } };
    assert_eq!(turned::<_, no_gold_mended::Player>(&old).gold, 9);

    // The class has a `migrate`, whose functions the lock does not know by name.
    let again = report::<flat_migrated::World, town_migrated::World>();
    let mended = report::<flat_migrated::World, town_migrated_mended::World>();
    let function = module("town_migrated_mended").split_once("fn to_3").unwrap().1;
    proposes(&again, ("town_migrated_mended", &mended), &["version = 3", "2 = to_3", function]);
    insta::assert_snapshot!(again.to_string());
    let old = flat_migrated::World { name: "Oz".into(), inns: 3 };
    assert_eq!(turned::<_, town_migrated_mended::World>(&old).town.inns, 3);

    // Into what was there.
    let mended = report::<into_there::Box, into_there_mended::Box>();
    let function = module("into_there_mended").split_once("fn to_2").unwrap().1;
    proposes(
        &report::<into_there::Box, into_there_moved::Box>(),
        ("into_there_mended", &mended),
        &["#[persist(version = 2, migrate(1 = to_2))] struct Box", function],
    );
    let old = into_there::Box { loop_: into_there::Loop { size: 1 }, key: "k".into() };
    assert_eq!(turned::<_, into_there_mended::Box>(&old).loop_.key, "k");
}

programs! {
    bags {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) bag: Vec<Bag> }
        #[derive(Persist)]
        pub(super) struct Bag { pub(super) size: u8, pub(super) colour: u8 }
        #[derive(Persist)]
        pub(super) struct Pet { pub(super) mood: Vec<Mood> }
        #[derive(Persist)]
        pub(super) enum Mood { Sad(u8, u16), Angry { since: u32, at: String } }
    }
    less {
        #[derive(Persist)]
        pub(super) struct Hero { bag: Vec<Bag> }
        #[derive(Persist)]
        pub(super) struct Bag { size: u8 }
        #[derive(Persist)]
        pub(super) struct Pet { mood: Vec<Mood> }
        #[derive(Persist)]
        pub(super) enum Mood { Sad(u8), Angry { since: u32 } }
    }
    room {
        #[derive(Persist)]
        pub(super) struct Hero { bag: Vec<Bag> }
        #[derive(Persist)]
        pub(super) struct Bag {
            size: u8,
            #[persist(unknown)]
            rest: persist::Unknown,
        }
        #[derive(Persist)]
        pub(super) struct Pet { mood: Vec<Mood> }
        #[derive(Persist)]
        pub(super) enum Mood {
            Sad(
                u8,
                #[persist(unknown, rename = "rest")]
                persist::Unknown,
            ),
            Angry {
                since: u32,
                #[persist(unknown)]
                rest: persist::Unknown,
            },
        }
    }
}

#[test]
fn a_field_that_went_from_a_value_is_kept_in_the_proposed_field() {
    let lines = ["#[persist(unknown)] rest: persist::Unknown"];
    let mended = report::<bags::Hero, room::Hero>();
    proposes(&report::<bags::Hero, less::Hero>(), ("room", &mended), &lines);
    let old = bags::Hero { bag: vec![bags::Bag { size: 1, colour: 200 }] };
    let back = passed_on::<_, room::Hero, bags::Hero>(old);
    assert_eq!((back.borrow().bag[0].size, back.borrow().bag[0].colour), (1, 200));

    let mended = report::<bags::Pet, room::Pet>();
    let all = [lines[0], "#[persist(unknown, rename = \"rest\")] persist::Unknown"];
    proposes(&report::<bags::Pet, less::Pet>(), ("room", &mended), &all);
    let old = bags::Pet {
        mood: vec![bags::Mood::Sad(1, 300), bags::Mood::Angry { since: 2, at: "sea".into() }],
    };
    let back = passed_on::<_, room::Pet, bags::Pet>(old);
    let back = back.borrow();
    assert!(
        matches!(&back.mood[..], [bags::Mood::Sad(1, 300), bags::Mood::Angry { since: 2, at }] if at == "sea")
    );
}

programs! {
    without {
        #[derive(Persist)]
        pub(super) struct Hero { name: String }
    }
    again {
        #[derive(Persist)]
        pub(super) struct Hero { name: String, #[persist(default)] hp: u64 }
    }
    again_mended {
        #[derive(Persist)]
        #[persist(removed = "hp")]
        pub(super) struct Hero {
            name: String,
            #[persist(default)]
            #[persist(rename = "new_hp")]
            pub(super) hp: u64,
        }
    }
    same_again_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            name: String,
            #[persist(default)]
            #[persist(rename = "new_hp")]
            #[persist(alias = "hp")]
            pub(super) hp: u64,
        }
    }
    numbered {
        #[derive(Persist)]
        pub(super) struct Hero {
            #[persist(id = 2)] pub(super) name: String,
            #[persist(id = 1)] pub(super) hp: u32,
        }
    }
    numbered_without {
        #[derive(Persist)]
        pub(super) struct Hero { #[persist(id = 2)] name: String }
    }
    numbered_again {
        #[derive(Persist)]
        pub(super) struct Hero { #[persist(id = 2)] name: String, #[persist(id = 1, default)] mana: u32 }
    }
    numbered_again_mended {
        #[derive(Persist)]
        #[persist(removed = "hp")]
        pub(super) struct Hero {
            #[persist(id = 2)]
            name: String,
            #[persist(default)]
            #[persist(id = 3)]
            pub(super) mana: u32,
        }
    }
}

#[test]
fn a_name_or_number_that_was_free_in_between_gets_none_of_the_old_values() {
    let lock = lock_of(&[registry::<hp::Hero>(), registry::<without::Hero>()]);
    let report = lock.compare(&registry::<again::Hero>());
    let mended = lock.compare(&registry::<again_mended::Hero>());
    proposes(
        &report,
        ("again_mended", &mended),
        &["#[persist(rename = \"new_hp\")] hp: u64", "#[persist(removed = \"hp\")]"],
    );
    let old = || hp::Hero { name: "Ada".into(), hp: 7 };
    assert_eq!(passed_on::<_, without::Hero, again_mended::Hero>(old()).borrow().hp, 0);
    let mended = lock.compare(&registry::<same_again_mended::Hero>());
    proposes(&report, ("same_again_mended", &mended), &["#[persist(alias = \"hp\")]"]);
    assert_eq!(passed_on::<_, without::Hero, same_again_mended::Hero>(old()).borrow().hp, 7);

    let lock = lock_of(&[registry::<numbered::Hero>(), registry::<numbered_without::Hero>()]);
    let report = lock.compare(&registry::<numbered_again::Hero>());
    let mended = lock.compare(&registry::<numbered_again_mended::Hero>());
    proposes(
        &report,
        ("numbered_again_mended", &mended),
        &["#[persist(id = 3)] mana: u32", "#[persist(removed = \"hp\")]"],
    );
    let old = numbered::Hero { name: "Ada".into(), hp: 7 };
    let new = passed_on::<_, numbered_without::Hero, numbered_again_mended::Hero>(old);
    assert_eq!(new.borrow().mana, 0);
}

programs! {
    third {
        #[derive(Persist)]
        #[persist(version = 3)]
        pub(super) struct Hero { pub(super) level: u32 }
    }
    second {
        #[derive(Persist)]
        #[persist(version = 2)]
        pub(super) struct Hero { level: u32 }
    }
    second_mended {
        #[derive(Persist)]
        #[persist(version = 3)]
        pub(super) struct Hero { pub(super) level: u32 }
    }
    lists {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) seen: Vec<u8> }
        #[derive(Persist)]
        pub(super) struct Grid { pub(super) fixed: [u8; 8] }
    }
    sets {
        #[derive(Persist)]
        pub(super) struct Hero { seen: BTreeSet<u8> }
        #[derive(Persist)]
        pub(super) struct Grid { #[persist(default)] fixed: [u8; 4] }
    }
    sets_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            #[persist(convert = once)]
            pub(super) seen: BTreeSet<u8>,
        }
        #[derive(Persist)]
        pub(super) struct Grid {
            #[persist(default)]
            #[persist(convert = first_four)]
            pub(super) fixed: [u8; 4],
        }
        fn once(old: Vec<u8>) -> BTreeSet<u8> {
            old.into_iter().collect()
        }
        fn first_four(old: [u8; 8]) -> [u8; 4] {
            [old[0], old[1], old[2], old[3]]
        }
    }
    texts_of_moods {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) mood: String }
    }
    moods_of_texts {
        #[derive(Persist)]
        pub(super) struct Hero { mood: Mood }
        #[derive(Persist)]
        pub(super) enum Mood { Calm, Sad }
    }
    moods_of_texts_mended {
        #[derive(Persist)]
        pub(super) struct Hero {
            #[persist(convert = from_text)]
            pub(super) mood: Mood,
        }
        #[derive(Persist, Debug, PartialEq)]
        pub(super) enum Mood { Calm, Sad }
        #[allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]
        fn from_text(old: String) -> Mood {
            if old == "Sad" { Mood::Sad } else { Mood::Calm }
        }
    }
}

#[test]
fn what_does_not_load_loads_as_the_report_says() {
    let mended = report::<third::Hero, second_mended::Hero>();
    proposes(
        &report::<third::Hero, second::Hero>(),
        ("second_mended", &mended),
        &["#[persist(version = 3)] struct Hero"],
    );
    assert_eq!(turned::<_, second_mended::Hero>(&third::Hero { level: 4 }).level, 4);

    let broken = report::<lists::Hero, sets::Hero>();
    assert!(broken.to_string().contains("give the field a `convert`"), "{broken}");
    proposes(&broken, ("sets_mended", &report::<lists::Hero, sets_mended::Hero>()), &[]);
    let new: sets_mended::Hero = turned(&lists::Hero { seen: vec![3, 3, 1] });
    assert_eq!(new.seen, BTreeSet::from([1, 3]));
    let shorter = report::<lists::Grid, sets::Grid>();
    assert!(shorter.to_string().contains("`#[persist(convert = function)]`"), "{shorter}");
    proposes(&shorter, ("sets_mended", &report::<lists::Grid, sets_mended::Grid>()), &[]);
    let new: sets_mended::Grid = turned(&lists::Grid { fixed: [1, 2, 3, 4, 5, 6, 7, 8] });
    assert_eq!(new.fixed, [1, 2, 3, 4]);

    let broken = report::<texts_of_moods::Hero, moods_of_texts::Hero>();
    assert!(
        broken.to_string().contains("give the field a `convert` that takes every text"),
        "{broken}"
    );
    let mended = report::<texts_of_moods::Hero, moods_of_texts_mended::Hero>();
    proposes(&broken, ("moods_of_texts_mended", &mended), &[]);
    let new: moods_of_texts_mended::Hero = turned(&texts_of_moods::Hero { mood: "Sad".into() });
    assert_eq!(new.mood, moods_of_texts_mended::Mood::Sad);
}

programs! {
    moods {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) mood: Vec<Mood> }
        #[derive(Persist, Debug, PartialEq)]
        pub(super) enum Mood { Calm, Angry { since: u32 }, #[persist(other)] Other }
    }
    fewer_moods {
        #[derive(Persist)]
        pub(super) struct Hero { mood: Vec<Mood> }
        #[derive(Persist)]
        pub(super) enum Mood { Calm, #[persist(other)] Other }
    }
    fewer_moods_mended {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) mood: Vec<Mood> }
        #[derive(Persist, Debug, PartialEq)]
        #[persist(removed = "Angry")]
        pub(super) enum Mood { Calm, #[persist(other)] Other }
    }
    fewer_moods_kept {
        #[derive(Persist)]
        pub(super) struct Hero { mood: Vec<Mood> }
        #[derive(Persist)]
        pub(super) enum Mood {
            Calm,
            #[persist(other)]
            Other(persist::Unknown),
        }
    }
    furious {
        #[derive(Persist)]
        pub(super) struct Hero { mood: Vec<Mood> }
        #[derive(Persist)]
        pub(super) enum Mood { Calm, Furious { since: u32 }, #[persist(other)] Other }
    }
    furious_mended {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) mood: Vec<Mood> }
        #[derive(Persist, Debug, PartialEq)]
        pub(super) enum Mood {
            Calm,
            #[persist(alias = "Angry")]
            Furious { since: u32 },
            #[persist(other)]
            Other,
        }
    }
    greys {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) colours: Vec<Colour> }
        #[derive(Persist)]
        pub(super) enum Colour { Grey, Gray, Red }
    }
    one_grey {
        #[derive(Persist)]
        pub(super) struct Hero { colours: Vec<Colour> }
        #[derive(Persist)]
        pub(super) enum Colour { #[persist(alias = "Gray")] Grey, Red }
    }
    one_grey_mended {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) colours: Vec<Colour> }
        #[derive(Persist, Debug, PartialEq)]
        #[persist(version = 2, migrate(1 = nothing))]
        pub(super) enum Colour { #[persist(alias = "Gray")] Grey, Red }
        fn nothing(_: &mut Record, _: u32) {}
    }
}

#[test]
fn variants_that_went_are_kept_or_lost_as_the_report_says() {
    let old = || moods::Hero { mood: vec![moods::Mood::Calm, moods::Mood::Angry { since: 7 }] };
    let fewer = report::<moods::Hero, fewer_moods::Hero>();
    let mended = report::<moods::Hero, fewer_moods_mended::Hero>();
    proposes(
        &fewer,
        ("fewer_moods_mended", &mended),
        &["#[persist(removed = \"Angry\")] enum Mood"],
    );
    use fewer_moods_mended::Mood as Fewer;
    assert_eq!(turned::<_, fewer_moods_mended::Hero>(&old()).mood, [Fewer::Calm, Fewer::Other]);
    let kept = report::<moods::Hero, fewer_moods_kept::Hero>();
    proposes(&fewer, ("fewer_moods_kept", &kept), &["Other(persist::Unknown)"]);
    let back = passed_on::<_, fewer_moods_kept::Hero, moods::Hero>(old());
    assert_eq!(back.borrow().mood, old().mood);

    let mended = report::<moods::Hero, furious_mended::Hero>();
    proposes(
        &report::<moods::Hero, furious::Hero>(),
        ("furious_mended", &mended),
        &["#[persist(alias = \"Angry\")] Furious"],
    );
    use furious_mended::Mood as New;
    assert_eq!(
        turned::<_, furious_mended::Hero>(&old()).mood,
        [New::Calm, New::Furious { since: 7 }]
    );

    let merged = report::<greys::Hero, one_grey::Hero>();
    assert!(
        merged.to_string().contains("accept it by a `version` and a `migrate` of enum Colour"),
        "{merged}"
    );
    proposes(&merged, ("one_grey_mended", &report::<greys::Hero, one_grey_mended::Hero>()), &[]);
    let old = greys::Hero { colours: vec![greys::Colour::Gray, greys::Colour::Red] };
    use one_grey_mended::Colour;
    assert_eq!(turned::<_, one_grey_mended::Hero>(&old).colours, [Colour::Grey, Colour::Red]);
}

programs! {
    both {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) hp: u32, pub(super) health: u32 }
    }
    one_of_both {
        #[derive(Persist)]
        pub(super) struct Hero { #[persist(alias = "hp")] health: u32 }
    }
    one_of_both_mended {
        #[derive(Persist)]
        #[persist(version = 2, migrate(1 = largest))]
        pub(super) struct Hero { #[persist(alias = "hp")] pub(super) health: u32 }
        fn largest(hero: &mut Record, _from: u32) {
            let (hp, health) = (hero.take("hp"), hero.take("health"));
            let part = |value: Option<persist::Value>| value.and_then(|value| value.as_u64()).unwrap_or(0);
            hero.set("health", part(hp).max(part(health)));
        }
    }
    cart {
        #[derive(Persist)]
        pub(super) struct Cart { pub(super) wheels: u8, pub(super) goods: Vec<u8> }
    }
    player_without_goods {
        #[derive(Persist)]
        pub(super) struct Player { #[persist(default)] level: u8 }
    }
    player {
        #[derive(Persist)]
        pub(super) struct Player { #[persist(default)] level: u8, #[persist(default)] goods: Vec<u8> }
    }
    wagon {
        #[derive(Persist)]
        pub(super) struct Wagon { wheels: u8, goods: Vec<u8> }
    }
    wagon_mended {
        #[derive(Persist)]
        #[persist(alias = "Cart")]
        pub(super) struct Wagon { pub(super) wheels: u8, goods: Vec<u8> }
    }
    numbered_cart {
        #[derive(Persist)]
        #[persist(id = 7)]
        pub(super) struct Cart { wheels: u8, goods: Vec<u8> }
    }
    numbered_cart_mended {
        #[derive(Persist)]
        #[persist(id = 7)]
        #[persist(alias = "Cart")]
        pub(super) struct Cart { pub(super) wheels: u8, goods: Vec<u8> }
    }
}

/// The registration that the report prints, with the program that has it.
fn without_cart() -> Registry {
    let mut registry = registry::<player::Player>();
    let register = |registry: &mut Registry| -> persist::Result<()> {
        registry.declare_removed_class("Cart")?;
        Ok(())
    };
    register(&mut registry).unwrap();
    registry
}

#[test]
fn two_fields_that_became_one_and_classes_that_went_are_as_the_report_says() {
    let taken = report::<both::Hero, one_of_both::Hero>();
    assert!(
        taken.to_string().contains("give the class a `version` and a `migrate` that takes both"),
        "{taken}"
    );
    proposes(
        &taken,
        ("one_of_both_mended", &report::<both::Hero, one_of_both_mended::Hero>()),
        &[],
    );
    let new: one_of_both_mended::Hero = turned(&both::Hero { hp: 9, health: 4 });
    assert_eq!(new.health, 9);

    let lock = locked(&registry::<cart::Cart>());
    let gone = lock.compare(&registry::<player_without_goods::Player>());
    assert!(gone.loads(), "{gone}");
    let gone = lock_of(&[both_of::<player_without_goods::Player, cart::Cart>()])
        .compare(&registry::<player::Player>());
    assert!(gone.to_string().contains("registry.declare_removed_class(\"Cart\")?;"), "{gone}");
    assert!(!gone.loads() && lock.compare(&without_cart()).loads());

    let mended = report::<cart::Cart, wagon_mended::Wagon>();
    proposes(
        &report::<cart::Cart, wagon::Wagon>(),
        ("wagon_mended", &mended),
        &["#[persist(alias = \"Cart\")] struct Wagon"],
    );
    let new: wagon_mended::Wagon = turned(&cart::Cart { wheels: 4, goods: vec![] });
    assert_eq!(new.wheels, 4);

    // A class that gets a number is another one, but for its old name.
    let mended = report::<cart::Cart, numbered_cart_mended::Cart>();
    proposes(
        &report::<cart::Cart, numbered_cart::Cart>(),
        ("numbered_cart_mended", &mended),
        &["#[persist(alias = \"Cart\")] struct Cart"],
    );
    let new: numbered_cart_mended::Cart = turned(&cart::Cart { wheels: 4, goods: vec![] });
    assert_eq!(new.wheels, 4);
}

programs! {
    spots {
        #[derive(Persist)]
        pub(super) enum Mood { Calm, Angry(u8) }
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) mood: Mood }
    }
    spots_between {
        #[derive(Persist)]
        pub(super) enum Mood { Calm, #[persist(alias = "Angry")] Furious(u8) }
        #[derive(Persist)]
        pub(super) struct Hero { mood: Mood }
    }
    spots_again {
        #[derive(Persist)]
        pub(super) enum Mood { Calm, Furious(u8), Angry(u8) }
        #[derive(Persist)]
        pub(super) struct Hero { mood: Mood }
    }
    spots_again_mended {
        #[derive(Persist, Debug, PartialEq)]
        pub(super) enum Mood {
            Calm,
            #[persist(alias = "Angry")]
            Furious(u8),
            #[persist(rename = "new_Angry")]
            Angry(u8),
        }
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) mood: Mood }
    }
    place {
        #[derive(Persist)]
        pub(super) struct Place { pub(super) x: f32, pub(super) y: f32 }
    }
    spot {
        #[derive(Persist)]
        #[persist(alias = "Place")]
        pub(super) struct Spot { x: f32, y: f32 }
    }
    place_again {
        #[derive(Persist)]
        pub(super) struct Spot { x: f32, y: f32 }
        #[derive(Persist)]
        pub(super) struct Place { x: f32, y: f32 }
    }
    place_again_mended {
        #[derive(Persist)]
        #[persist(alias = "Place")]
        pub(super) struct Spot { pub(super) x: f32, y: f32 }
        #[derive(Persist)]
        #[persist(class = "new.Place")]
        pub(super) struct Place { x: f32, y: f32 }
    }
}

fn both_of<A: Persist, B: Persist>() -> Registry {
    let mut registry = registry::<A>();
    registry.register::<B>().unwrap();
    registry
}

#[test]
fn variants_and_classes_whose_names_were_free_in_between_get_other_names() {
    let lock = lock_of(&[registry::<spots::Hero>(), registry::<spots_between::Hero>()]);
    let report = lock.compare(&registry::<spots_again::Hero>());
    let mended = lock.compare(&registry::<spots_again_mended::Hero>());
    proposes(
        &report,
        ("spots_again_mended", &mended),
        &["#[persist(rename = \"new_Angry\")] Angry"],
    );
    let new: spots_again_mended::Hero = turned(&spots::Hero { mood: spots::Mood::Angry(3) });
    assert_eq!(new.mood, spots_again_mended::Mood::Furious(3));

    let lock = lock_of(&[registry::<place::Place>(), registry::<spot::Spot>()]);
    let report = lock.compare(&both_of::<place_again::Spot, place_again::Place>());
    let mended = lock.compare(&both_of::<place_again_mended::Spot, place_again_mended::Place>());
    proposes(
        &report,
        ("place_again_mended", &mended),
        &["#[persist(class = \"new.Place\")] struct Place"],
    );
    let new: place_again_mended::Spot = turned(&place::Place { x: 5.0, y: 6.0 });
    assert_eq!(new.x, 5.0);
}

programs! {
    guild {
        #[derive(Persist)]
        pub(super) struct Hero { pub(super) one: Rc<RefCell<Guild>>, pub(super) two: Rc<RefCell<Guild>> }
        #[derive(Persist)]
        pub(super) struct Guild { pub(super) gold: u32 }
    }
    guild_copied {
        #[derive(Persist)]
        pub(super) struct Hero { one: Guild, two: Guild }
        #[derive(Persist)]
        pub(super) struct Guild { gold: u32 }
    }
    guild_copied_mended {
        #[derive(Persist)]
        #[persist(version = 2, migrate(1 = copy))]
        pub(super) struct Hero { pub(super) one: Guild, pub(super) two: Guild }
        #[derive(Persist)]
        pub(super) struct Guild { pub(super) gold: u32 }
        fn copy(hero: &mut Record, _: u32) {
            for field in ["one", "two"] {
                hero.get(field).unwrap();
            }
        }
    }
    guild_locked {
        #[derive(Persist)]
        pub(super) struct Hero {
            pub(super) one: Arc<Mutex<Guild>>,
            pub(super) two: Arc<Mutex<Guild>>,
        }
        #[derive(Persist)]
        pub(super) struct Guild { pub(super) gold: u32 }
    }
}

#[test]
fn objects_that_become_copies_are_accepted_by_a_migration() {
    let copied = report::<guild::Hero, guild_copied::Hero>();
    assert!(
        copied.to_string().contains(
            "or accept the copies by a `version` and a `migrate` that looks at the field"
        ),
        "{copied}"
    );
    let mended = report::<guild::Hero, guild_copied_mended::Hero>();
    proposes(&copied, ("guild_copied_mended", &mended), &[]);
    let one = Rc::new(RefCell::new(guild::Guild { gold: 3 }));
    let new: guild_copied_mended::Hero = turned(&guild::Hero { one: one.clone(), two: one });
    assert_eq!((new.one.gold, new.two.gold), (3, 3));
}

#[test]
fn objects_in_other_pointers_are_safe_and_stay_shared() {
    let moved = report::<guild::Hero, guild_locked::Hero>();
    assert!(moved.loads(), "{moved}");
    assert!(moved.differences().iter().all(|found| found.verdict == Verdict::Safe), "{moved}");
    let one = Rc::new(RefCell::new(guild::Guild { gold: 3 }));
    let new: guild_locked::Hero = turned(&guild::Hero { one: one.clone(), two: one });
    assert!(Arc::ptr_eq(&new.one, &new.two));
    assert_eq!(new.two.lock().unwrap().gold, 3);
}
