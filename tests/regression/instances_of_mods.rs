//! Objects of an instance of a generic class that the program does not have were kept where they could become several
//! others, or could not become the one other; and those of a mod that was switched off became another instance, which
//! the mod then refused.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::rc::Rc;

use persist::{Error, ErrorKind, LoadOptions, Loaded, Persist, SaveManager, Unknown};
use persist_tests::support::{Shared, shared};

#[derive(Persist, Debug, PartialEq)]
struct Slot<T> {
    item: T,
}

#[derive(Persist, Debug, PartialEq)]
struct Sword {
    sharp: u8,
}

fn slot<T>(item: T) -> Shared<Slot<T>> {
    shared(Slot { item })
}

fn save<T: Persist>(object: T) -> Vec<u8> {
    let mut manager = SaveManager::new();
    manager.add(&shared(object)).unwrap();
    manager.to_vec().unwrap()
}

/// A manager of a few classes.
macro_rules! manager {
    ($($class:ty),*) => {{
        let manager = SaveManager::new();
        $(manager.register::<$class>().unwrap();)*
        manager
    }};
}

fn refused(manager: &SaveManager, save: &[u8]) -> Error {
    let error = manager.from_slice(save).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch, "{error}");
    error
}

fn kept(loaded: &Loaded<SaveManager>) -> Vec<String> {
    let lines = loaded.report().rows().iter().map(ToString::to_string);
    lines.filter(|line| line.starts_with("kept as unknown")).collect()
}

#[test]
fn an_object_that_nobody_refers_to_and_could_become_several_is_refused() {
    let save = save(Slot { item: 7_u8 });
    let manager = manager!(Slot<u16>, Slot<u32>);
    let saves = manager.saves();
    insta::assert_snapshot!("several", refused(&manager, &save).to_string());
    let dropping = saves.clone().load_options(LoadOptions::new().drop_unknown(true));
    refused(&dropping.manager(), &save);

    // What the message advises.
    let loaded = manager!(Slot<u8>, Slot<u16>, Slot<u32>).from_slice(&save).unwrap();
    assert_eq!(loaded.first::<Slot<u8>>().unwrap().borrow().item, 7);
    let loaded = manager!(Slot<u32>).from_slice(&save).unwrap();
    assert_eq!(loaded.first::<Slot<u32>>().unwrap().borrow().item, 7);
    saves.declare_removed_class("Slot<u8>").unwrap();
    assert_eq!(manager.from_slice(&save).unwrap().len(), 0);
}

#[test]
fn a_removed_class_does_not_become_another_instance() {
    let manager = manager!(Slot<u16>);
    manager.saves().declare_removed_class("Slot<u8>").unwrap();
    assert_eq!(manager.from_slice(&save(Slot { item: 7_u8 })).unwrap().len(), 0);
}

#[test]
fn an_object_that_cannot_become_the_one_instance_is_refused() {
    let save = save(Slot { item: Sword { sharp: 3 } });
    insta::assert_snapshot!("no_fit", refused(&manager!(Sword, Slot<u8>), &save).to_string());
    let loaded = manager!(Slot<Sword>, Slot<u8>).from_slice(&save).unwrap();
    assert_eq!(loaded.first::<Slot<Sword>>().unwrap().borrow().item.sharp, 3);
}

#[test]
fn an_instance_of_a_class_that_the_program_does_not_have_is_unknown() {
    let save = save(Slot { item: Sword { sharp: 3 } });
    for manager in [manager!(Slot<u8>), manager!(Slot<u16>, Slot<u32>)] {
        let loaded = manager.from_slice(&save).unwrap();
        assert_eq!(kept(&loaded), ["kept as unknown: Slot<Sword>, 1 times, first in object #1"]);
        let loaded = manager!(Slot<Sword>).from_slice(&loaded.to_vec().unwrap()).unwrap();
        assert_eq!(loaded.first::<Slot<Sword>>().unwrap().borrow().item.sharp, 3);
    }
}

#[derive(Persist)]
#[persist(class = "Bag")]
struct OldBag {
    owned: Slot<u8>,
    shared: Shared<Slot<u8>>,
}

#[derive(Persist)]
struct Bag {
    owned: Slot<u16>,
    shared: Shared<Slot<u32>>,
}

#[derive(Persist)]
#[persist(class = "Bag")]
struct OwningBag {
    owned: Slot<u16>,
    shared: Slot<u32>,
}

#[test]
fn an_instance_that_is_held_by_value_alone_is_no_candidate() {
    let object = slot(2_u8);
    let mut manager = SaveManager::new();
    manager.add(&shared(OldBag { owned: Slot { item: 1 }, shared: object.clone() })).unwrap();
    manager.add(&object).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager!(Bag).from_slice(&save).unwrap();
    let bag = loaded.first::<Bag>().unwrap();
    assert_eq!((bag.borrow().owned.item, bag.borrow().shared.borrow().item), (1, 2));

    // An object that is a value now takes the arguments of its place.
    let bag = OldBag { owned: Slot { item: 1 }, shared: slot(2) };
    let mut manager = SaveManager::new();
    manager.add(&shared(bag)).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager!(OwningBag, Slot<u16>, Slot<u32>).from_slice(&save).unwrap();
    let bag = loaded.first::<OwningBag>().unwrap();
    assert_eq!((bag.borrow().owned.item, bag.borrow().shared.item), (1, 2));
}

#[derive(Persist)]
struct Node<T> {
    item: T,
    next: Option<Shared<Node<T>>>,
}

#[test]
fn objects_that_refer_to_their_own_class_are_the_programs() {
    let tail = shared(Node { item: 1_u8, next: None });
    let save = save(Node { item: 2_u8, next: Some(tail) });
    let loaded = manager!(Node<u64>).from_slice(&save).unwrap();
    let node = loaded.first::<Node<u64>>().unwrap();
    let next = node.borrow().next.clone().unwrap();
    assert_eq!((node.borrow().item, next.borrow().item), (2, 1));
    refused(&manager!(Node<u16>, Node<u64>), &save);
}

/// The game with a mod, and without it.
mod modded {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "mod.Chest")]
    pub(super) struct Chest {
        pub(super) slot: Shared<Slot<u8>>,
        pub(super) list: Shared<Vec<Shared<Slot<u8>>>>,
    }

    #[derive(Persist)]
    #[persist(class = "Hero")]
    pub(super) struct Hero {
        pub(super) chest: Shared<Chest>,
        pub(super) extra: Shared<Slot<u8>>,
        pub(super) own: Shared<Slot<u16>>,
    }
}

#[derive(Persist)]
struct Hero {
    own: Shared<Slot<u16>>,
}

#[derive(Persist)]
#[persist(class = "Hero")]
struct RoomyHero {
    own: Shared<Slot<u16>>,
    #[persist(unknown)]
    rest: Unknown,
}

#[test]
fn what_a_mod_refers_to_is_as_it_was_when_the_mod_is_back() {
    let extra = slot(3_u8);
    let chest = modded::Chest { slot: slot(1), list: shared(vec![slot(2), extra.clone()]) };
    let hero = modded::Hero { chest: shared(chest), extra, own: slot(400) };
    let first = save(hero);
    let without = [
        manager!(Hero),
        manager!(Hero, Slot<u32>),
        manager!(RoomyHero),
        manager!(RoomyHero, Slot<u32>, Slot<String>),
    ];
    for manager in without {
        let mut save = first.clone();
        for _day in 0..2 {
            let loaded = manager.from_slice(&save).unwrap();
            let kept = kept(&loaded);
            assert!(kept.iter().any(|line| line.contains("Slot<u8>, 3 times")), "{kept:?}");
            save = loaded.to_vec().unwrap();
        }
        let loaded = manager!(modded::Hero).from_slice(&save).unwrap();
        assert_eq!(kept(&loaded), [""; 0]);
        let hero = loaded.first::<modded::Hero>().unwrap();
        let hero = hero.borrow();
        let chest = hero.chest.borrow();
        let list = chest.list.borrow();
        let items: Vec<u8> = list.iter().map(|slot| slot.borrow().item).collect();
        assert_eq!((chest.slot.borrow().item, &*items), (1, &[2, 3][..]));
        assert!(Rc::ptr_eq(&list[1], &hero.extra));
        assert_eq!(hero.own.borrow().item, 400);
    }
}

/// A later version of the game, which has what the mod had.
#[derive(Persist)]
#[persist(class = "Hero")]
struct LaterHero {
    own: Shared<Slot<u16>>,
    #[persist(alias = "extra")]
    more: Shared<Slot<u16>>,
}

#[test]
fn a_kept_field_that_comes_back_is_a_place_of_the_program() {
    let chest = modded::Chest { slot: slot(1), list: shared(Vec::new()) };
    let first = save(modded::Hero { chest: shared(chest), extra: slot(3), own: slot(4) });
    for manager in [manager!(Hero), manager!(RoomyHero)] {
        let second = manager.from_slice(&first).unwrap().to_vec().unwrap();
        let loaded = manager!(LaterHero).from_slice(&second).unwrap();
        let hero = loaded.first::<LaterHero>().unwrap();
        assert_eq!((hero.borrow().own.borrow().item, hero.borrow().more.borrow().item), (4, 3));
    }
}

#[persist::dynamic]
trait Thing {
    fn number(&self) -> u64;
}

impl<T: Persist + Copy + Into<u64>> Thing for Slot<T> {
    fn number(&self) -> u64 {
        self.item.into()
    }
}

#[derive(Persist)]
struct Boxes {
    thing: Option<Box<dyn Thing>>,
}

#[derive(Persist)]
struct Pointers {
    thing: Rc<RefCell<dyn Thing>>,
}

#[test]
fn trait_objects_follow_the_same_rule() {
    let mut old = SaveManager::new();
    old.register_as::<Slot<u8>, dyn Thing>().unwrap();
    old.add(&shared(Boxes { thing: Some(Box::new(Slot { item: 5_u8 })) })).unwrap();
    let boxes = old.to_vec().unwrap();
    let mut old = old.saves().manager();
    old.add(&shared(Pointers { thing: slot(6_u8) })).unwrap();
    let pointers = old.to_vec().unwrap();

    let one = manager!(Boxes, Pointers);
    one.register_as::<Slot<u16>, dyn Thing>().unwrap();
    let loaded = one.from_slice(&boxes).unwrap();
    let found = loaded.first::<Boxes>().unwrap();
    assert_eq!(found.borrow().thing.as_ref().unwrap().number(), 5);
    let loaded = one.from_slice(&pointers).unwrap();
    assert_eq!(loaded.first::<Pointers>().unwrap().borrow().thing.borrow().number(), 6);

    let two = one;
    two.register_as::<Slot<u32>, dyn Thing>().unwrap();
    let errors = [refused(&two, &boxes), refused(&two, &pointers)].map(|error| error.to_string());
    insta::assert_snapshot!("trait_objects", errors.join("\n"));
}
