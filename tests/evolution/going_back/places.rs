//! Made-up values in all places, and of all sorts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use persist::save::LoadEvent;
use persist::{ErrorKind, LoadOptions, Persist, Record, Unknown, Value};

use crate::matrix::harness::{STRICT, load, pass, row, save, try_load};

mod variants {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Mood")]
    pub(super) enum Old {
        Calm,
        Angry {
            #[persist(unknown)]
            rest: Unknown,
            #[persist(default = 1)]
            hp: u32,
        },
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Mood")]
    pub(super) enum New {
        Calm,
        Angry {
            #[persist(alias = "hp")]
            health: u32,
            #[persist(unknown)]
            rest: Unknown,
        },
    }
}

#[test]
fn in_a_variant() {
    let first = save(variants::New::Angry { health: 77, rest: Unknown::default() });
    let second = pass::<variants::Old>(&first, |mood| {
        assert!(matches!(mood, variants::Old::Angry { hp: 1, .. }));
    });
    let (mood, _) = load::<variants::New>(&second);
    assert!(matches!(*mood.borrow(), variants::New::Angry { health: 77, .. }));
    // Another variant has nothing of it.
    let second = pass::<variants::Old>(&first, |mood| *mood = variants::Old::Calm);
    assert!(matches!(*load::<variants::New>(&second).0.borrow(), variants::New::Calm));
    let third = pass::<variants::Old>(&second, |mood| {
        *mood = variants::Old::Angry { rest: Unknown::default(), hp: 1 };
    });
    let (mood, _) = load::<variants::New>(&third);
    assert!(matches!(*mood.borrow(), variants::New::Angry { health: 1, .. }));
}

mod defaults {
    use super::*;

    static LAST: AtomicU32 = AtomicU32::new(100);

    /// Another one each time.
    fn next() -> u32 {
        LAST.fetch_add(1, Ordering::Relaxed)
    }

    fn many() -> HashMap<String, u32> {
        (0..20).map(|i| (i.to_string(), i)).collect()
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct Old {
        #[persist(default = next())]
        pub(super) seed: u32,
        #[persist(default = many())]
        pub(super) bag: HashMap<String, u32>,
        #[persist(default = f32::NAN)]
        pub(super) heat: f32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
        pub(super) level: Option<Vec<String>>,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct New {
        #[persist(alias = "level")]
        pub(super) ranks: Option<Vec<String>>,
        #[persist(alias = "seed")]
        pub(super) start: u32,
        #[persist(alias = "bag")]
        pub(super) items: HashMap<String, u32>,
        #[persist(alias = "heat")]
        pub(super) warmth: f32,
    }
}

#[test]
fn defaults_of_all_sorts() {
    let items = || HashMap::from([(String::from("key"), 7)]);
    let ranks = || Some(vec![String::from("captain")]);
    let new = defaults::New { ranks: ranks(), start: 77, items: items(), warmth: 2.5 };
    let mut last = save(new);
    let mut seeds = Vec::new();
    for _ in 0..3 {
        last = pass::<defaults::Old>(&last, |hero| {
            assert_eq!((hero.bag.len(), hero.level.is_none()), (20, true));
            seeds.push(hero.seed);
        });
    }
    assert!(seeds.iter().all(|seed| *seed == seeds[0]), "{seeds:?}");
    let (hero, rows) = load::<defaults::New>(&last);
    let hero = hero.borrow();
    assert_eq!((&hero.ranks, hero.start, &hero.items), (&ranks(), 77, &items()));
    assert!((hero.warmth - 2.5).abs() < f32::EPSILON);
    let restored = |field| row(LoadEvent::Restored, "Hero", field, 1);
    assert_eq!(rows, ["items", "ranks", "start", "warmth"].map(restored));

    // Each field on its own.
    let last = pass::<defaults::Old>(&last, |hero| hero.bag.clear());
    let (hero, _) = load::<defaults::New>(&last);
    assert_eq!((hero.borrow().start, hero.borrow().items.len()), (77, 0));
}

mod filled {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct Old {
        pub(super) hp: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct New {
        #[persist(alias = "hp")]
        pub(super) health: u32,
    }
}

#[test]
fn a_field_that_was_made_empty() {
    let first = save(filled::New { health: 77 });
    let options = LoadOptions::new().fill(true);
    let loaded =
        crate::matrix::harness::manager::<filled::Old>(options).from_slice(&first).unwrap();
    assert_eq!(loaded.first::<filled::Old>().unwrap().borrow().hp, 0);
    let second = loaded.to_vec().unwrap();
    assert_eq!(try_load::<filled::New>(&second, STRICT).unwrap().0.borrow().health, 77);
}

/// The field became wider in a program that does not know its newest name.
mod between {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct First {
        #[persist(default = 1)]
        pub(super) hp: u16,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct Wider {
        #[persist(default = 2)]
        pub(super) hp: u64,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct Last {
        #[persist(alias = "hp")]
        pub(super) health: u64,
    }
}

#[test]
fn a_made_up_value_that_was_converted_is_still_made_up() {
    let first = save(between::Last { health: 77 });
    let narrow = pass::<between::First>(&first, |_| {});
    let wide = pass::<between::Wider>(&narrow, |hero| assert_eq!(hero.hp, 1));
    assert_eq!(load::<between::Last>(&wide).0.borrow().health, 77);
    let chosen = pass::<between::Wider>(&narrow, |hero| hero.hp = 9);
    assert_eq!(load::<between::Last>(&chosen).0.borrow().health, 9);
}

/// A migration of the class that holds a hero changes that.
mod held {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct OldHero {
        #[persist(default = 1)]
        pub(super) hp: u32,
        pub(super) name: String,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    pub(super) struct NewHero {
        pub(super) name: String,
        #[persist(alias = "hp")]
        pub(super) health: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Team")]
    pub(super) struct Old {
        pub(super) hero: OldHero,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Team")]
    pub(super) struct First {
        pub(super) hero: NewHero,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Team", version = 2, migrate(1 = shout))]
    pub(super) struct New {
        pub(super) hero: NewHero,
    }

    fn shout(team: &mut Record, _: u32) {
        if let Some(hero) = team.get_mut("hero").and_then(Value::as_record_mut) {
            hero.set("name", "ADA");
        }
    }
}

#[test]
fn in_a_value_that_a_migration_changes() {
    let hero = held::NewHero { name: "Ada".into(), health: 77, rest: Unknown::default() };
    let first = save(held::First { hero });
    let second = pass::<held::Old>(&first, |team| assert_eq!(team.hero.hp, 1));
    let (team, _) = load::<held::New>(&second);
    let team = team.borrow();
    assert_eq!((&*team.hero.name, team.hero.health), ("ADA", 77));
    let second = pass::<held::Old>(&first, |team| team.hero.hp = 50);
    assert_eq!(load::<held::New>(&second).0.borrow().hero.health, 50);
}

/// A class with `since` in what a migration of an older program changes.
mod newer_inside {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Purse", version = 2, since = 2)]
    pub(super) struct NewPurse {
        pub(super) money: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Purse")]
    pub(super) struct OldPurse {
        pub(super) money: u64,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Team")]
    pub(super) struct First {
        pub(super) purse: NewPurse,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Team", version = 2, migrate(1 = double))]
    pub(super) struct Migrates {
        pub(super) purse: OldPurse,
    }

    fn double(team: &mut Record, _: u32) {
        if let Some(purse) = team.get_mut("purse").and_then(Value::as_record_mut) {
            let money = purse.get("money").and_then(Value::as_u64).unwrap_or(0);
            purse.set("money", 2 * money);
        }
    }
}

#[test]
fn a_migration_of_an_older_program_gets_no_value_of_a_class_that_it_may_not_read() {
    let first = save(newer_inside::First { purse: newer_inside::NewPurse { money: 250 } });
    let options = LoadOptions::new();
    let error = try_load::<newer_inside::Migrates>(&first, options).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::NewerFormat, Some("Purse")), "{error}");
}
