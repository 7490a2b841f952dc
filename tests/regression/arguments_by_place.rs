//! A generic class with other arguments was another class, with advice that nobody could follow.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use persist::save::LoadEvent;
use persist::{ErrorKind, Persist, SaveManager, Saves};
use persist_tests::support::Shared;

#[derive(Persist, Debug, PartialEq)]
struct Slot<T> {
    item: T,
}

#[derive(Persist, Debug, PartialEq)]
struct Sword {
    sharp: u8,
}

macro_rules! bags {
    ($($name:ident { $($field:ident: $ty:ty),* })*) => {$(
        #[derive(Persist, Debug, PartialEq)]
        #[persist(class = "Bag")]
        struct $name {
            $($field: $ty),*
        }
    )*};
}

bags! {
    OldBag { slots: Vec<Slot<u8>>, rings: Option<Slot<Vec<u8>>>, last: Result<u8, Slot<u8>> }
    Bag { slots: Vec<Slot<u16>>, rings: Option<Slot<VecDeque<i32>>>, last: Result<u64, Slot<i16>> }
    OldShared { first: Shared<Slot<u8>>, second: Shared<Slot<u8>> }
    NewShared { first: Shared<Slot<u32>>, second: Shared<Slot<u32>> }
    TwoShared { first: Shared<Slot<u32>>, second: Shared<Slot<u64>> }
    Nothing {}
    OldSword { slot: Slot<Sword> }
}

fn slot<T>(item: T) -> Slot<T> {
    Slot { item }
}

fn shared<T>(item: T) -> Shared<Slot<T>> {
    Rc::new(RefCell::new(slot(item)))
}

#[test]
fn an_owned_value_takes_the_arguments_of_its_place() {
    let old = OldBag {
        slots: vec![slot(1), slot(200)],
        rings: Some(slot(vec![3, 4])),
        last: Err(slot(5)),
    };
    let bag: Bag = persist::from_slice(&persist::to_vec(&old).unwrap()).unwrap();
    let rings = Some(slot(VecDeque::from([3, 4])));
    assert_eq!(bag, Bag { slots: vec![slot(1), slot(200)], rings, last: Err(slot(5)) });
    let save = persist::to_vec(&slot(7_u8)).unwrap();
    assert_eq!(persist::from_slice::<Slot<u128>>(&save).unwrap(), slot(7));
}

#[test]
fn contents_that_do_not_convert_are_an_error_in_an_owned_value() {
    let save = persist::to_vec(&OldSword { slot: slot(Sword { sharp: 3 }) }).unwrap();
    #[derive(Persist)]
    #[persist(class = "Bag")]
    struct Now {
        slot: Slot<u8>,
    }
    let error = persist::from_slice::<Now>(&save).map(|now| now.slot.item).unwrap_err();
    insta::assert_snapshot!("contents_of_another_instance", error.to_string());
}

fn objects() -> Vec<u8> {
    let mut manager = SaveManager::new();
    let first = shared(1_u8);
    manager.add(&Rc::new(RefCell::new(OldShared { first: first.clone(), second: first }))).unwrap();
    manager.add(&shared(2_u8)).unwrap();
    manager.to_vec().unwrap()
}

#[test]
fn objects_become_the_one_instance_that_the_program_has() {
    let manager = SaveManager::new();
    manager.register::<NewShared>().unwrap();
    let loaded = manager.from_slice(&objects()).unwrap();
    let bag = loaded.first::<NewShared>().unwrap();
    let bag = bag.borrow();
    assert!(Rc::ptr_eq(&bag.first, &bag.second));
    assert_eq!(*bag.first.borrow(), slot(1));
    let slots: Vec<u32> = loaded.iter::<Slot<u32>>().map(|slot| slot.borrow().item).collect();
    assert_eq!(slots.len(), 2);
}

#[test]
fn objects_that_could_become_several_instances_are_an_error_that_names_them() {
    let manager = SaveManager::new();
    manager.register::<TwoShared>().unwrap();
    let error = manager.from_slice(&objects()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    insta::assert_snapshot!("several_instances", error.to_string());
}

#[test]
fn objects_that_cannot_become_the_one_instance_are_kept() {
    let mut manager = SaveManager::new();
    manager.add(&shared(Sword { sharp: 9 })).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<Slot<u8>>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let [finding] = loaded.report().rows() else { panic!("{}", loaded.report()) };
    assert_eq!((finding.event, &*finding.class), (LoadEvent::Kept, "Slot<Sword>"));
    let again = SaveManager::new();
    again.register::<Slot<Sword>>().unwrap();
    let loaded = again.from_slice(&loaded.to_vec().unwrap()).unwrap();
    assert_eq!(loaded.first::<Slot<Sword>>().unwrap().borrow().item, Sword { sharp: 9 });
}

#[test]
fn objects_of_a_generic_class_that_is_gone_are_kept() {
    let manager = SaveManager::new();
    manager.register::<Nothing>().unwrap();
    let loaded = manager.from_slice(&objects()).unwrap();
    let kept: Vec<&str> = loaded.report().rows().iter().map(|f| &*f.class).collect();
    assert!(kept.contains(&"Slot<u8>"), "{}", loaded.report());
}

macro_rules! boards {
    ($($name:ident $ty:ty, $($attribute:meta)?;)*) => {$(
        #[derive(Persist, Debug, PartialEq)]
        #[persist(class = "Board")]
        struct $name {
            $(#[$attribute])?
            cells: $ty,
            level: u8,
        }
    )*};
}

boards! {
    Small [u8; 2], ;
    Large [u16; 4], persist(default = [7; 4]);
    Plain [u8; 4], ;
    Texts [String; 1], ;
    MoreTexts [String; 3], persist(default = ["a", "b", "c"].map(String::from));
}

#[test]
fn a_longer_array_ends_as_its_default() {
    let save = persist::to_vec(&Small { cells: [1, 2], level: 3 }).unwrap();
    let board = Saves::new().from_slice::<Large>(&save).unwrap();
    assert_eq!(*board, Large { cells: [1, 2, 7, 7], level: 3 });
    let rows: Vec<_> = board
        .report()
        .rows()
        .iter()
        .map(|row| (row.event, row.field.as_deref(), row.detail.as_deref()))
        .collect();
    assert_eq!(
        rows,
        [
            (LoadEvent::Defaulted, Some("cells"), Some("elements 2 to 3")),
            (LoadEvent::Converted, Some("cells"), Some("[u8; 2] to [u16; 4]")),
        ]
    );
    let texts = Texts { cells: [String::from("x")], level: 3 };
    let more: MoreTexts = persist::from_slice(&persist::to_vec(&texts).unwrap()).unwrap();
    assert_eq!(more.cells, ["x", "b", "c"]);
    // Without a default nobody knows the rest, and nothing is cut off.
    let error = persist::from_slice::<Plain>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch, "{error}");
    let save = persist::to_vec(&Large { cells: [1; 4], level: 3 }).unwrap();
    let error = persist::from_slice::<Small>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch, "{error}");
}

#[derive(Persist)]
#[persist(class = "Chest")]
struct OldChest {
    slot: Slot<u8>,
}

/// The slot has moved to another field, and the program has two instances.
#[derive(Persist, Debug, PartialEq)]
#[persist(class = "Chest", version = 2, migrate(1 = move_slot))]
struct Chest {
    large: Slot<u32>,
    small: Slot<u16>,
}

fn move_slot(chest: &mut persist::Record, _from: u32) {
    let slot = chest.take("slot").unwrap();
    chest.set("large", slot.clone());
    chest.set("small", slot);
}

#[test]
fn a_value_that_a_migration_moves_takes_the_arguments_of_its_new_place() {
    let save = persist::to_vec(&OldChest { slot: slot(7) }).unwrap();
    let chest: Chest = persist::from_slice(&save).unwrap();
    assert_eq!(chest, Chest { large: slot(7), small: slot(7) });
}

#[derive(Persist)]
#[persist(class = "Pair")]
struct Pair<T> {
    #[persist(alias = "first")]
    left: T,
    #[persist(default = 9)]
    right: u8,
}

#[derive(Persist)]
#[persist(class = "Pair")]
struct OldPair<T> {
    first: T,
}

#[derive(Persist)]
#[persist(class = "Box")]
struct OldBox {
    pair: OldPair<u8>,
}

#[derive(Persist)]
#[persist(class = "Box", version = 2, migrate(1 = move_pair))]
struct NewBox {
    large: Pair<u32>,
    small: Pair<u16>,
}

fn move_pair(chest: &mut persist::Record, _from: u32) {
    let pair = chest.take("pair").unwrap();
    chest.set("large", pair.clone());
    chest.set("small", pair);
}

#[test]
fn a_moved_value_finds_its_fields_by_alias_and_default() {
    let save = persist::to_vec(&OldBox { pair: OldPair { first: 5 } }).unwrap();
    let new: NewBox = persist::from_slice(&save).unwrap();
    assert_eq!((new.large.left, new.large.right), (5, 9));
    assert_eq!((new.small.left, new.small.right), (5, 9));
}
