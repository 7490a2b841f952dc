//! Variants: by their names, in any order; and those that a program does not have.

use std::collections::{BTreeMap, BTreeSet};

use persist::save::LoadEvent;
use persist::{ErrorKind, Persist, Unknown};

use super::harness::{LENIENT, STRICT, check, load, refused, row, save, try_load};

mod old {
    use super::*;

    #[derive(Persist, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    #[persist(class = "Side")]
    pub(super) enum Side {
        North,
        South,
        West(u8, String),
        Deep { down: u16 },
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        pub(super) one: Side,
        pub(super) list: Vec<Side>,
        pub(super) keys: BTreeMap<Side, u8>,
    }
}

macro_rules! cases {
    ($($module:ident { $($side:tt)* })*) => {$(
        mod $module {
            use super::*;

            #[derive(Persist, Debug)]
            #[persist(class = "Side")]
            pub(super) enum Side {
                $($side)*
            }

            #[derive(Persist)]
            #[persist(class = "Case")]
            pub(super) struct Case {
                pub(super) one: Side,
                pub(super) list: Vec<Side>,
            }
        }
    )*};
}

cases! {
    holds {
        Deep { down: u16 },
        #[persist(other)]
        Other(Unknown),
        North,
    }
    forgets {
        #[persist(other)]
        Other,
        Deep { down: u64 },
    }
    removed {
        Deep { down: u16 },
        North,
    }
    renamed {
        #[persist(alias = "North", alias = "South")]
        Up,
        #[persist(alias = "West")]
        East { #[persist(alias = "1")] name: String, #[persist(alias = "0")] far: u32 },
        Deep { #[persist(default = 7)] more: u8 },
    }
}

fn case() -> old::Case {
    use old::Side::*;
    let list = vec![South, North, West(1, "w".into()), Deep { down: 9 }, West(2, "v".into())];
    old::Case { one: West(3, "u".into()), list, keys: BTreeMap::new() }
}

fn change(change: LoadEvent, field: &str, count: u64) -> super::harness::Row {
    row(change, "Side", field, count)
}

fn keys() -> super::harness::Row {
    row(LoadEvent::Kept, "Case", "keys", 1)
}

#[test]
fn unknown_variants_are_held_and_given_back() {
    let first = save(case());
    let loaded = super::harness::manager::<holds::Case>(LENIENT).from_slice(&first).unwrap();
    let expected =
        [keys(), change(LoadEvent::Kept, "South", 1), change(LoadEvent::Kept, "West", 3)];
    assert_eq!(super::harness::rows(loaded.report()), expected);
    {
        let case = loaded.first::<holds::Case>().unwrap();
        let holds::Side::Other(unknown) = &case.borrow().one else { panic!("another variant") };
        assert_eq!(unknown.class(), "Side::West");
        assert!(matches!(case.borrow().list[1], holds::Side::North));
        assert!(matches!(case.borrow().list[3], holds::Side::Deep { down: 9 }));
    }
    // What is kept can be moved.
    loaded.first::<holds::Case>().unwrap().borrow_mut().list.reverse();
    let again = loaded.to_vec().unwrap();
    let (back, found) = load::<old::Case>(&again);
    let mut list = case().list;
    list.reverse();
    assert_eq!((&back.borrow().one, &back.borrow().list), (&case().one, &list));
    assert_eq!(found, []);
}

#[test]
fn a_unit_variant_for_others_loses_them() {
    let (loaded, found) = load::<forgets::Case>(&save(case()));
    assert!(matches!(loaded.borrow().one, forgets::Side::Other));
    assert!(matches!(loaded.borrow().list[3], forgets::Side::Deep { down: 9 }));
    let mut expected = [
        keys(),
        change(LoadEvent::Converted, "Deep.down", 1),
        change(LoadEvent::Replaced, "North", 1),
        change(LoadEvent::Replaced, "South", 1),
        change(LoadEvent::Replaced, "West", 3),
    ];
    expected.sort();
    assert_eq!(found, expected);
    let error = try_load::<forgets::Case>(&save(case()), STRICT).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
}

#[test]
fn a_removed_variant_is_refused_where_it_is_met() {
    let error = refused::<_, removed::Case>(case(), LENIENT);
    let words = ["no variant West", "alias", "#[persist(other)]"];
    check(&error, ErrorKind::NotFound, "one", &words);
    let one = old::Side::North;
    let error = refused::<_, removed::Case>(old::Case { one, ..case() }, LENIENT);
    check(&error, ErrorKind::NotFound, "list[0]", &["no variant South"]);
    let list = vec![old::Side::Deep { down: 3 }];
    let good = old::Case { one: old::Side::North, list, keys: BTreeMap::new() };
    assert_eq!(load::<removed::Case>(&save(good)).1, [keys()]);
}

#[test]
fn variants_are_renamed_and_their_fields_too() {
    let (loaded, found) = load::<renamed::Case>(&save(case()));
    let list = format!("{:?}", loaded.borrow().list);
    assert_eq!(
        list,
        "[Up, Up, East { name: \"w\", far: 1 }, Deep { more: 7 }, East { name: \"v\", far: 2 }]"
    );
    let mut expected = [
        keys(),
        change(LoadEvent::Converted, "West.0", 3),
        change(LoadEvent::Defaulted, "Deep.more", 1),
        change(LoadEvent::Dropped, "Deep.down", 1),
    ];
    expected.sort();
    assert_eq!(found, expected);
}

#[derive(Persist, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[persist(class = "Side")]
enum Few {
    Deep { down: u32 },
    South,
    North,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Keyed {
    keys: BTreeMap<Few, u8>,
}

#[test]
fn keys_change_too() {
    use old::Side::*;
    let keys = [(North, 1), (South, 2), (Deep { down: 3 }, 3)].into();
    let (keyed, _) = load::<Keyed>(&save(old::Case { keys, ..case() }));
    let keys = [(Few::North, 1), (Few::South, 2), (Few::Deep { down: 3 }, 3)].into();
    assert_eq!(keyed.borrow().keys, keys);
    let keys = [(West(1, String::new()), 1)].into();
    let error = refused::<_, Keyed>(old::Case { keys, ..case() }, LENIENT);
    check(&error, ErrorKind::NotFound, "keys[0].key", &["no variant West"]);
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Texts {
    one: String,
    set: BTreeSet<String>,
}

#[derive(Persist, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    #[persist(alias = "Ja")]
    Yes,
    No,
    #[persist(other)]
    Other,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Words {
    one: Word,
    set: BTreeSet<Word>,
}

#[test]
fn an_unknown_text_becomes_the_other_variant_and_is_reported() {
    let texts = || Texts { one: "Ja".into(), set: ["Yes".into(), "What".into()].into() };
    let (words, found) = load::<Words>(&save(texts()));
    assert_eq!(
        (&words.borrow().one, &words.borrow().set),
        (&Word::Yes, &[Word::Yes, Word::Other].into())
    );
    let converted = |field| row(LoadEvent::Converted, "Case", field, 1);
    let mut expected =
        [converted("one"), converted("set"), row(LoadEvent::Replaced, "Case", "set", 1)];
    expected.sort();
    assert_eq!(found, expected);
    let error = refused::<_, Words>(texts(), STRICT);
    check(&error, ErrorKind::Refused, "set", &[]);
    let good = Texts { one: "No".into(), set: BTreeSet::new() };
    assert_eq!(try_load::<Words>(&save(good), STRICT).unwrap().0.borrow().one, Word::No);
}
