//! A class that says which versions of it may read what it writes: an older program refuses it by name, and never guesses.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use persist::world::{ExternalIds, Prefab};
use persist::{Component, Error, ErrorKind, Persist, SaveManager, Saves, Unknown, World};

use crate::matrix::harness::{LENIENT, load, manager, pass, save, shared, try_load};

/// Money in cents.
mod cents {
    #[derive(persist::Persist, Clone, Debug, Default, PartialEq)]
    pub(super) struct Purse {
        pub(super) money: u64,
    }
}

/// Money in gold, of 100 cents.
mod gold {
    #[derive(persist::Persist, Clone, Debug, Default, PartialEq)]
    #[persist(version = 2, since = 2)]
    pub(super) struct Purse {
        #[persist(convert(1 = to_gold))]
        pub(super) money: u32,
    }

    fn to_gold(cents: u64) -> u32 {
        u32::try_from(cents / 100).unwrap_or(u32::MAX)
    }
}

/// Later something was added that any program may ignore.
mod later {
    #[derive(persist::Persist, Clone, Debug, Default, PartialEq)]
    #[persist(version = 3, since = 2)]
    pub(super) struct Purse {
        pub(super) money: u32,
        #[persist(default)]
        pub(super) colour: u8,
    }
}

impl Component for cents::Purse {}
impl Component for gold::Purse {}

#[derive(Persist, Debug)]
#[persist(class = "Game")]
struct Game<P: Persist> {
    #[persist(default)]
    day: u32,
    #[persist(default)]
    all: P,
}

#[track_caller]
fn check_refused(error: &Error) {
    assert_eq!((error.kind(), error.class()), (ErrorKind::NewerFormat, Some("Purse")), "{error}");
    assert!(error.message().contains("only programs with version 2 or later"), "{error}");
}

fn refused<New: Persist, Old: Persist>(value: &New) -> Error {
    let bytes = persist::to_vec(value).unwrap();
    persist::from_slice::<Old>(&bytes).map(drop).unwrap_err()
}

#[test]
fn an_older_program_refuses_objects_and_values() {
    let purse = gold::Purse { money: 250 };
    let error = refused::<_, cents::Purse>(&purse);
    check_refused(&error);
    insta::assert_snapshot!(error);
    check_refused(&try_load::<cents::Purse>(&save(purse.clone()), LENIENT).unwrap_err());
    check_refused(&refused::<_, Vec<cents::Purse>>(&vec![purse.clone()]));
    check_refused(&refused::<_, (u8, Option<cents::Purse>)>(&(1_u8, Some(purse.clone()))));
    let by_name = BTreeMap::from([(String::from("Ada"), purse.clone())]);
    check_refused(&refused::<_, BTreeMap<String, cents::Purse>>(&by_name));
    let game = |purse: gold::Purse| Game { day: 1, all: vec![purse] };
    check_refused(&refused::<_, Game<Vec<cents::Purse>>>(&game(purse.clone())));
    let behind = Game { day: 1, all: vec![Rc::new(RefCell::new(purse))] };
    check_refused(&refused::<_, Game<Vec<Rc<RefCell<cents::Purse>>>>>(&behind));
}

#[test]
fn it_reads_what_does_not_hold_one() {
    let empty = persist::to_vec(&Game::<Vec<gold::Purse>> { day: 7, all: Vec::new() }).unwrap();
    let game = persist::from_slice::<Game<Vec<cents::Purse>>>(&empty).unwrap();
    assert_eq!((game.day, game.all.len()), (7, 0));
}

#[test]
fn versions_from_that_one_on_read_it_and_older_saves_load() {
    let (purse, _) = load::<gold::Purse>(&save(later::Purse { money: 250, colour: 3 }));
    assert_eq!(purse.borrow().money, 250);
    check_refused(&refused::<_, cents::Purse>(&later::Purse { money: 250, colour: 3 }));
    let (purse, _) = load::<gold::Purse>(&save(cents::Purse { money: 250 }));
    assert_eq!(purse.borrow().money, 2);
}

#[test]
fn a_load_that_skips_elements_skips_none_of_them() {
    #[derive(Persist)]
    #[persist(class = "Bag")]
    struct New {
        all: Vec<gold::Purse>,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Bag")]
    struct Old {
        #[persist(skip_failed)]
        all: Vec<cents::Purse>,
    }

    check_refused(&refused::<_, Old>(&New { all: vec![gold::Purse { money: 1 }] }));
}

mod enums {
    #[derive(persist::Persist, Debug, PartialEq)]
    #[persist(class = "Purse")]
    pub(super) enum Old {
        Empty,
        Cents(u64),
        #[persist(other)]
        Other(persist::Unknown),
    }

    #[derive(persist::Persist, Debug, PartialEq)]
    #[persist(class = "Purse", version = 2, since = 2)]
    pub(super) enum New {
        Empty,
        Cents(u64),
        Gold(u32),
    }

    /// It knows the version, but not the variant.
    #[derive(persist::Persist, Debug, PartialEq)]
    #[persist(class = "Purse", version = 2, since = 2)]
    pub(super) enum Between {
        Empty,
        #[persist(other)]
        Other(persist::Unknown),
    }
}

#[test]
fn an_enum_says_so_for_all_its_variants() {
    for value in [enums::New::Empty, enums::New::Cents(1), enums::New::Gold(2)] {
        check_refused(&refused::<_, enums::Old>(&value));
    }
    let bytes = persist::to_vec(&enums::New::Gold(2)).unwrap();
    let between = persist::from_slice::<enums::Between>(&bytes).unwrap();
    let again = persist::to_vec(&between).unwrap();
    assert_eq!(persist::from_slice::<enums::New>(&again).unwrap(), enums::New::Gold(2));
    check_refused(&persist::from_slice::<enums::Old>(&again).unwrap_err());
}

#[test]
fn worlds_and_prefabs_refuse_it_too() {
    let new = Saves::new();
    new.register_component::<gold::Purse>().unwrap();
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, gold::Purse { money: 250 }).unwrap();
    let bytes = new.to_vec(&world).unwrap();
    let prefab = new.to_vec(&world.prefab(ada).unwrap()).unwrap();
    let old = Saves::new();
    old.register_component::<cents::Purse>().unwrap();
    check_refused(&old.from_slice::<World>(&bytes).unwrap_err());
    let loaded = old.from_slice::<Prefab>(&prefab).map(drop);
    check_refused(&loaded.unwrap_err());
    let loaded = new.from_slice::<Prefab>(&prefab).unwrap();
    let mut world = World::new();
    assert!(world.instantiate(&loaded, ExternalIds::Clear).is_ok());
}

/// Programs that hold a purse in a field, or in an object, or not at all.
mod holders {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Hero")]
    pub(super) struct New {
        pub(super) name: String,
        pub(super) purse: gold::Purse,
    }

    #[derive(Persist)]
    #[persist(class = "Hero")]
    pub(super) struct Old {
        pub(super) name: String,
        pub(super) purse: cents::Purse,
    }

    #[derive(Persist)]
    #[persist(class = "Hero")]
    pub(super) struct Without {
        pub(super) name: String,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }
}

#[test]
fn unknown_data_comes_forward_again_and_stays_refused() {
    let hero = holders::New { name: "Ada".into(), purse: gold::Purse { money: 250 } };
    let first = save(hero);
    let mut second = first.clone();
    for _ in 0..2 {
        second = pass::<holders::Without>(&second, |hero| assert!(!hero.rest.is_empty()));
    }
    assert_eq!(load::<holders::New>(&second).0.borrow().purse.money, 250);
    check_refused(&try_load::<holders::Old>(&second, LENIENT).map(drop).unwrap_err());

    // Whole objects, too.
    let mut objects = SaveManager::new();
    objects.add(&shared(gold::Purse { money: 250 })).unwrap();
    objects.add(&shared(enums::Old::Empty)).unwrap_err();
    let first = objects.to_vec().unwrap();
    let second = manager::<holders::Without>(LENIENT).from_slice(&first).unwrap().to_vec().unwrap();
    assert_eq!(load::<gold::Purse>(&second).0.borrow().money, 250);
    check_refused(&try_load::<cents::Purse>(&second, LENIENT).map(drop).unwrap_err());
}

#[test]
fn a_program_that_has_the_class_elsewhere_keeps_what_it_does_not_read() {
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct New {
        purse: gold::Purse,
        spare: gold::Purse,
    }

    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Old {
        #[persist(default)]
        chest: cents::Purse,
        #[persist(unknown)]
        rest: Unknown,
    }

    let hero = New { purse: gold::Purse { money: 1 }, spare: gold::Purse { money: 2 } };
    let second = pass::<Old>(&save(hero), |hero| hero.chest.money = 700);
    let (hero, _) = load::<New>(&second);
    assert_eq!((hero.borrow().purse.money, hero.borrow().spare.money), (1, 2));
}
