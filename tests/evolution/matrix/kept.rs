//! What a program does not know goes back to the next save, over any number of programs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::save::LoadEvent;
use persist::{Persist, SaveManager, Saves, Unknown};

use super::harness::{DROP, LENIENT, Shared, load, manager, row, rows, save, shared};

#[derive(Persist, Debug, Clone, PartialEq)]
struct Gem {
    carat: u16,
}

/// The whole.
#[derive(Persist)]
#[persist(class = "Case")]
struct All {
    number: u32,
    text: String,
    gems: Vec<Gem>,
    pet: Option<Shared<Pet>>,
    seen: Weak<RefCell<Pet>>,
    map: BTreeMap<String, Arc<Mutex<Gem>>>,
    inner: Inner,
}

#[derive(Persist)]
struct Pet {
    name: String,
    owner: Weak<RefCell<All>>,
    friend: Option<Shared<Pet>>,
}

#[derive(Persist, Debug, Clone, PartialEq)]
struct Inner {
    left: u8,
    right: String,
    side: Side,
}

#[derive(Persist, Debug, Clone, PartialEq)]
enum Side {
    North,
    South { far: u64, gem: Gem },
    West(String),
}

/// A program that knows next to nothing.
mod none {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        pub(super) inner: Inner,
    }

    #[derive(Persist)]
    #[persist(class = "Inner")]
    pub(super) struct Inner {
        #[persist(unknown)]
        pub(super) rest: Unknown,
        pub(super) side: Side,
    }

    #[derive(Persist)]
    #[persist(class = "Side")]
    pub(super) enum Side {
        East,
        #[persist(other)]
        Other(Unknown),
    }
}

/// One that knows half, with other types.
mod half {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        pub(super) pet: Option<Shared<Pet>>,
        pub(super) number: u64,
        pub(super) gems: Vec<Gem>,
        #[persist(default = 9)]
        pub(super) own: u16,
        pub(super) inner: Inner,
    }

    #[derive(Persist)]
    #[persist(class = "Pet")]
    pub(super) struct Pet {
        pub(super) friend: Option<Shared<Pet>>,
    }

    #[derive(Persist)]
    #[persist(class = "Inner")]
    pub(super) struct Inner {
        pub(super) left: u16,
        #[persist(unknown)]
        pub(super) rest: Unknown,
        pub(super) side: Side,
    }

    #[derive(Persist)]
    #[persist(class = "Side")]
    pub(super) enum Side {
        #[persist(other)]
        Other { rest: Unknown },
        South {
            far: u128,
            #[persist(unknown)]
            rest: Unknown,
        },
    }
}

fn all(side: Side) -> Shared<All> {
    let friend = shared(Pet { name: "Rex".into(), owner: Weak::new(), friend: None });
    let pet = shared(Pet { name: "Tom".into(), owner: Weak::new(), friend: Some(friend.clone()) });
    let all = shared(All {
        number: 7,
        text: "text".into(),
        gems: vec![Gem { carat: 1 }, Gem { carat: 2 }],
        pet: Some(pet.clone()),
        seen: Rc::downgrade(&friend),
        map: [("a".into(), Arc::new(Mutex::new(Gem { carat: 3 })))].into(),
        inner: Inner { left: 5, right: "right".into(), side },
    });
    pet.borrow_mut().owner = Rc::downgrade(&all);
    all
}

fn check(all: &Shared<All>, side: &Side) {
    let it = all.borrow();
    assert_eq!((it.number, &*it.text), (7, "text"));
    assert_eq!(it.gems, [Gem { carat: 1 }, Gem { carat: 2 }]);
    let pet = it.pet.as_ref().unwrap().borrow();
    assert_eq!(pet.name, "Tom");
    assert!(Rc::ptr_eq(&pet.owner.upgrade().unwrap(), all));
    assert!(Rc::ptr_eq(pet.friend.as_ref().unwrap(), &it.seen.upgrade().unwrap()));
    assert_eq!(pet.friend.as_ref().unwrap().borrow().name, "Rex");
    assert_eq!(it.map["a"].lock().unwrap().carat, 3);
    assert_eq!(it.inner, Inner { left: 5, right: "right".into(), side: side.clone() });
}

/// Loads and saves again, so often.
pub(super) fn through<T: Persist>(mut save: Vec<u8>, times: usize, look: impl Fn(&T)) -> Vec<u8> {
    for _ in 0..times {
        let loaded = manager::<T>(LENIENT).from_slice(&save).unwrap();
        look(&loaded.first::<T>().unwrap().borrow());
        save = loaded.to_vec().unwrap();
        // The same state gives the same bytes.
        assert_eq!(loaded.to_vec().unwrap(), save);
    }
    save
}

fn sides() -> [Side; 3] {
    [Side::North, Side::South { far: 300, gem: Gem { carat: 4 } }, Side::West("w".into())]
}

#[test]
fn generations_of_programs_lose_nothing() {
    for side in sides() {
        let mut manager = SaveManager::new();
        let whole = all(side.clone());
        manager.add(&whole).unwrap();
        let first = manager.to_vec().unwrap();
        let by_none = |save, times| {
            through::<none::Case>(save, times, |case| {
                assert!(!case.inner.rest.is_empty());
                assert!(!matches!(case.inner.side, none::Side::East));
            })
        };
        let by_half = |save, times| {
            through::<half::Case>(save, times, |case| {
                assert_eq!((case.number, case.gems.len(), case.own), (7, 2, 9));
                assert!(case.pet.as_ref().unwrap().borrow().friend.is_some());
                assert_eq!(case.inner.left, 5);
                assert!(!case.inner.rest.is_empty());
                match &case.inner.side {
                    half::Side::South { far, rest } => assert!(*far == 300 && !rest.is_empty()),
                    half::Side::Other { rest } => assert!(!rest.is_empty()),
                }
            })
        };
        for save in [
            by_none(first.clone(), 1),
            by_none(first.clone(), 3),
            by_half(first.clone(), 1),
            by_half(first.clone(), 2),
            by_half(by_none(first.clone(), 2), 1),
            by_half(by_none(first.clone(), 1), 2),
            by_none(by_half(first.clone(), 1), 1),
            by_none(by_half(by_none(by_half(first.clone(), 2), 2), 1), 2),
        ] {
            let loaded = self::manager::<All>(LENIENT).from_slice(&save).unwrap();
            check(&loaded.first().unwrap(), &side);
            assert_eq!(loaded.len(), 4);
        }
    }
}

#[test]
fn a_value_that_is_loaded_keeps_what_is_unknown() {
    for side in sides() {
        let whole = all(side.clone());
        let mut first = Vec::new();
        {
            let mut it = whole.borrow_mut();
            it.pet.as_ref().unwrap().borrow_mut().owner = Weak::new();
            first.extend(persist::to_vec(&*it).unwrap());
            it.pet = None;
        }
        let saves = Saves::new();
        for _ in 0..2 {
            let loaded = saves.from_slice::<none::Case>(&first).unwrap();
            first = saves.to_vec(&loaded).unwrap();
        }
        let saves = Saves::new();
        let loaded = saves.from_slice::<half::Case>(&first).unwrap();
        assert_eq!((loaded.number, loaded.gems.len()), (7, 2));
        let last = saves.to_vec(&loaded).unwrap();
        let value = persist::from_slice::<All>(&last).unwrap();
        assert_eq!((value.number, &*value.text, value.gems.len()), (7, "text", 2));
        let pet = value.pet.as_ref().unwrap().borrow();
        assert_eq!(pet.name, "Tom");
        assert!(Rc::ptr_eq(pet.friend.as_ref().unwrap(), &value.seen.upgrade().unwrap()));
        assert_eq!(value.map["a"].lock().unwrap().carat, 3);
        assert_eq!(value.inner, Inner { left: 5, right: "right".into(), side });
    }
}

#[test]
fn every_finding_about_what_is_kept() {
    let mut manager = SaveManager::new();
    manager.add(&all(Side::West("w".into()))).unwrap();
    let first = manager.to_vec().unwrap();
    let loaded = self::manager::<none::Case>(LENIENT).from_slice(&first).unwrap();
    let kept = |class: &str, field: &str, count| row(LoadEvent::Kept, class, field, count);
    let mut expected = vec![
        kept("Case", "gems", 1),
        kept("Case", "map", 1),
        kept("Case", "number", 1),
        kept("Case", "pet", 1),
        kept("Case", "seen", 1),
        kept("Case", "text", 1),
        kept("Gem", "", 1),
        kept("Inner", "left", 1),
        kept("Inner", "right", 1),
        kept("Pet", "", 2),
        kept("Side", "West", 1),
    ];
    assert_eq!(rows(loaded.report()), expected);
    let loaded = self::manager::<none::Case>(DROP).from_slice(&first).unwrap();
    expected.retain(|row| row.1 == "Side");
    expected.splice(
        0..0,
        ["gems", "map", "number", "pet", "seen", "text"]
            .map(|field| row(LoadEvent::Dropped, "Case", field, 1)),
    );
    assert_eq!(loaded.len(), 1);
    let dropped: Vec<_> = rows(loaded.report());
    assert!(
        dropped.iter().any(|row| (row.0, &*row.1) == (LoadEvent::Unknown, "Pet")),
        "{dropped:?}"
    );
    for row in expected.iter().filter(|row| row.1 == "Case") {
        assert!(dropped.contains(row), "{row:?} in {dropped:?}");
    }
}

/// An object that is kept something of, and is a value in the next program.
mod inlined {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct First {
        pub(super) item: Shared<Item>,
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Item")]
    pub(super) struct Item {
        pub(super) number: u8,
        pub(super) text: String,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Second {
        pub(super) item: Shared<Less>,
    }

    #[derive(Persist)]
    #[persist(class = "Item")]
    pub(super) struct Less {
        pub(super) number: u8,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Third {
        pub(super) item: Item,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Fourth {
        pub(super) item: Less,
    }
}

#[test]
fn what_is_kept_of_an_object_comes_into_the_value() {
    let item = inlined::Item { number: 3, text: "text".into() };
    let first = save(inlined::First { item: shared(item) });
    let second = through::<inlined::Second>(first, 2, |case| {
        assert_eq!(case.item.borrow().number, 3);
    });
    let (third, found) = load::<inlined::Third>(&second);
    let item = inlined::Item { number: 3, text: "text".into() };
    assert_eq!(third.borrow().item, item);
    assert_eq!(found, [row(LoadEvent::Converted, "Case", "item", 1)]);
    let (fourth, found) = load::<inlined::Fourth>(&second);
    assert_eq!(fourth.borrow().item.number, 3);
    let expected =
        [row(LoadEvent::Converted, "Case", "item", 1), row(LoadEvent::Kept, "Item.text", "", 1)];
    assert_eq!(found, expected);
    // It stays under the field from now on.
    let fourth = through::<inlined::Fourth>(second, 1, |case| assert_eq!(case.item.number, 3));
    let (third, _) = load::<inlined::Third>(&fourth);
    assert_eq!(third.borrow().item, inlined::Item { number: 3, text: "text".into() });
}
