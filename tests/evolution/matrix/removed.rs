//! What the program says is gone for good, `removed`: it is dropped wherever it stands, and reported.

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::LoadEvent;
use persist::{Persist, Record, SaveManager, Unknown};

use super::harness::{LENIENT, Row, STRICT, load, manager, row, rows, save, shared, try_load};

macro_rules! programs {
    ($($program:ident { $($item:item)* })*) => {
        $(mod $program {
            #![allow(unused_imports)]
            use super::*;
            $(#[derive(persist::Persist, Debug)] $item)*
        })*
    };
}

programs! {
    old {
        pub(super) struct Case {
            pub(super) name: String,
            pub(super) hp: u32,
            pub(super) inner: Inner,
            pub(super) moods: Vec<Mood>,
        }
        pub(super) struct Inner { pub(super) left: u8, pub(super) right: u16 }
        pub(super) enum Mood { Calm, Angry { since: u32, at: String }, Sad(u8) }
    }
    // Keeps what it does not know.
    between {
        pub(super) struct Case {
            name: String,
            inner: Inner,
            moods: Vec<Mood>,
            #[persist(unknown)]
            pub(super) rest: Unknown,
        }
        pub(super) struct Inner { left: u8, #[persist(unknown)] pub(super) rest: Unknown }
        pub(super) enum Mood {
            Calm,
            Angry { since: u32, #[persist(unknown)] rest: Unknown },
            #[persist(other)] Other(Unknown),
        }
    }
    // The same, but for what it says is gone.
    gone {
        #[persist(removed = "hp")]
        pub(super) struct Case {
            name: String,
            inner: Inner,
            moods: Vec<Mood>,
            #[persist(unknown)]
            pub(super) rest: Unknown,
        }
        #[persist(removed = "right")]
        pub(super) struct Inner { left: u8, #[persist(unknown)] pub(super) rest: Unknown }
        #[persist(removed = "Sad")]
        pub(super) enum Mood {
            Calm,
            #[persist(removed = "at")]
            Angry { since: u32, #[persist(unknown)] rest: Unknown },
            #[persist(other)] Other(Unknown),
        }
    }
    // Without room for anything.
    plain {
        #[persist(removed = "hp", removed = "rest")]
        pub(super) struct Case { name: String, inner: Inner, moods: Vec<Mood> }
        #[persist(removed = "right")]
        pub(super) struct Inner { left: u8 }
        #[persist(removed = "Sad")]
        pub(super) enum Mood { Calm, #[persist(removed = "at")] Angry { since: u32 }, #[persist(other)] Other }
    }
    migrated {
        #[persist(version = 2, migrate(1 = touch), removed = "hp")]
        pub(super) struct Case {
            name: String,
            inner: Inner,
            moods: Vec<Mood>,
            #[persist(unknown)]
            pub(super) rest: Unknown,
        }
        #[persist(removed = "right")]
        pub(super) struct Inner { left: u8, #[persist(unknown)] pub(super) rest: Unknown }
        #[persist(removed = "Sad")]
        pub(super) enum Mood {
            Calm,
            #[persist(removed = "at")]
            Angry { since: u32, #[persist(unknown)] rest: Unknown },
            #[persist(other)] Other(Unknown),
        }
    }
}

/// Has the inner one made anew.
fn touch(case: &mut Record, _: u32) {
    if let Some(inner) = case.take("inner") {
        case.set("inner", inner);
    }
    let moods = case.take("moods").unwrap();
    case.set("moods", moods);
}

fn case() -> old::Case {
    let angry = old::Mood::Angry { since: 3, at: "home".into() };
    old::Case {
        name: "Ada".into(),
        hp: 7,
        inner: old::Inner { left: 1, right: 2 },
        moods: vec![old::Mood::Calm, angry, old::Mood::Sad(4)],
    }
}

fn expected() -> Vec<Row> {
    let mut rows = vec![
        row(LoadEvent::Dropped, "Case", "hp", 1),
        row(LoadEvent::Dropped, "Inner", "right", 1),
        row(LoadEvent::Dropped, "Mood", "Angry.at", 1),
        row(LoadEvent::Replaced, "Mood", "Sad", 1),
    ];
    rows.sort();
    rows
}

/// What a program makes of a save, whatever its policy is, and what a save of it has then.
fn removes<New: Persist>(save: &[u8]) -> Vec<u8> {
    let mut again = Vec::new();
    for options in [LENIENT, STRICT] {
        let loaded = manager::<New>(options).from_slice(save).unwrap();
        let mut found = rows(loaded.report());
        found.retain(|row| !matches!(row.0, LoadEvent::Migrated | LoadEvent::Defaulted));
        assert_eq!(found, expected());
        let first = loaded.report().rows().iter().find(|row| row.event == LoadEvent::Dropped);
        assert_eq!(first.unwrap().detail.as_deref(), Some("as `removed` says"));
        again = loaded.to_vec().unwrap();
    }
    again
}

/// A save that holds nothing of what is removed.
fn is_rid(save: &[u8]) {
    let has = |name: &str| save.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(!has("hp") && !has("right") && !has("home") && !has("Sad"), "{save:?}");
}

#[test]
fn what_is_removed_is_dropped_and_reported() {
    is_rid(&removes::<plain::Case>(&save(case())));
}

#[test]
fn what_is_removed_is_not_kept_in_a_field_for_what_is_unknown() {
    is_rid(&removes::<gone::Case>(&save(case())));
}

#[test]
fn what_a_migration_leaves_is_removed_all_the_same() {
    is_rid(&removes::<migrated::Case>(&save(case())));
}

#[test]
fn what_an_earlier_program_kept_is_removed() {
    let loaded = manager::<between::Case>(LENIENT).from_slice(&save(case())).unwrap();
    let kept = loaded.to_vec().unwrap();
    is_rid(&removes::<gone::Case>(&kept));
    is_rid(&removes::<migrated::Case>(&kept));
}

#[derive(Persist, Debug)]
#[persist(class = "Case")]
struct OldHero {
    hp: u32,
    name: String,
}

#[derive(Persist, Debug)]
#[persist(class = "Case")]
struct Hero {
    name: String,
}

#[derive(Persist, Debug)]
#[persist(class = "Case", removed = "hp")]
struct HeroWithout {
    name: String,
}

#[test]
fn what_was_kept_with_an_object_is_removed() {
    let first = save(OldHero { hp: 3, name: "Ada".into() });
    let loaded = manager::<Hero>(LENIENT).from_slice(&first).unwrap();
    let kept = loaded.to_vec().unwrap();
    assert_eq!(load::<OldHero>(&kept).0.borrow().hp, 3);
    for save in [first, kept] {
        for options in [LENIENT, STRICT, LENIENT.drop_unknown(true)] {
            let (hero, rows) = try_load::<HeroWithout>(&save, options).unwrap();
            assert_eq!(rows, [row(LoadEvent::Dropped, "Case", "hp", 1)]);
            assert_eq!(hero.borrow().name, "Ada");
        }
        let loaded = manager::<HeroWithout>(LENIENT).from_slice(&save).unwrap();
        assert_eq!(load::<HeroWithout>(&loaded.to_vec().unwrap()).1, []);
    }
}

#[derive(Persist)]
struct Cart {
    wheels: u8,
    driver: Option<Rc<RefCell<Hero>>>,
}

#[test]
fn objects_of_a_class_that_is_removed_are_dropped() {
    let hero = shared(Hero { name: "Ada".into() });
    let mut manager = SaveManager::new();
    manager.add(&shared(Cart { wheels: 4, driver: Some(hero.clone()) })).unwrap();
    manager.add(&hero).unwrap();
    let save = manager.to_vec().unwrap();
    for options in [LENIENT, STRICT] {
        let manager = self::manager::<Hero>(options);
        manager.saves().declare_removed_class("Cart").unwrap();
        let loaded = manager.from_slice(&save).unwrap();
        assert_eq!(rows(loaded.report()), [row(LoadEvent::Unknown, "Cart", "", 1)]);
        let again = loaded.to_vec().unwrap();
        assert!(
            self::manager::<Cart>(LENIENT).from_slice(&again).unwrap().first::<Cart>().is_err()
        );
    }
}

#[test]
fn what_a_removed_field_alone_referred_to_is_removed_with_it() {
    use std::cell::RefCell;
    use std::rc::{Rc, Weak};

    #[derive(Persist, Clone)]
    #[persist(class = "Gem")]
    struct Gem {
        carat: u8,
        name: Rc<str>,
    }
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Old {
        title: Rc<str>,
        gem: Rc<RefCell<Gem>>,
        gems: Vec<Rc<Gem>>,
        weak: Weak<RefCell<Gem>>,
        hp: u32,
    }
    #[derive(Persist, Debug)]
    #[persist(removed = "title", removed = "gem", removed = "gems", removed = "weak")]
    struct Hero {
        hp: u32,
    }
    let gem = Gem { carat: 1, name: "ruby".into() };
    let shared = Rc::new(RefCell::new(gem.clone()));
    let weak = Rc::downgrade(&shared);
    let old = Old { title: "Sir".into(), gem: shared, gems: vec![Rc::new(gem)], weak, hp: 7 };
    let save = persist::to_vec(&old).unwrap();
    let strict = persist::Saves::new().load_options(STRICT);
    // A class with a name is removed by its name.
    assert!(strict.from_slice::<Hero>(&save).is_err());
    strict.declare_removed_class("Gem").unwrap();
    let loaded = strict.from_slice::<Hero>(&save).unwrap();
    assert_eq!(loaded.hp, 7);
    assert!(loaded.report().by_class().all(|(_, counts)| counts.lost == 0), "{}", loaded.report());
    assert!(loaded.report().rows().iter().all(|row| row.is_declared), "{}", loaded.report());
}

#[test]
fn an_object_without_a_class_of_its_own_is_removed_with_the_only_field_that_leads_to_it() {
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Old {
        title: Rc<str>,
        names: Vec<Rc<RefCell<Vec<String>>>>,
        hp: u32,
    }
    #[derive(Persist)]
    #[persist(removed = "title", removed = "names")]
    struct Hero {
        hp: u32,
    }
    #[derive(Persist)]
    #[persist(class = "Hero", removed = "names")]
    struct Half {
        hp: u32,
    }
    let names = vec![Rc::new(RefCell::new(vec!["Ada".to_owned()]))];
    let save = persist::to_vec(&Old { title: "Sir".into(), names, hp: 7 }).unwrap();
    let strict = persist::Saves::new().load_options(STRICT);
    let loaded = strict.from_slice::<Hero>(&save).unwrap();
    assert_eq!(loaded.hp, 7);
    assert!(loaded.report().rows().iter().all(|row| row.is_declared), "{}", loaded.report());
    assert!(strict.from_slice::<Half>(&save).is_err());
}
