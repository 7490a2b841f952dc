//! Objects that become values: every pointer gets a copy, and a copy of what was shared
//! is reported.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use persist::save::LoadEvent;
use persist::{ErrorKind, Persist, SaveManager};

use super::harness::{
    CLAMP, LENIENT, STRICT, Shared, load, manager, row, rows, save, shared, try_load,
};

#[derive(Persist, Debug, Clone, PartialEq)]
struct Gem {
    carat: u16,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Pointers {
    first: Shared<Gem>,
    second: Shared<Gem>,
    list: Vec<Shared<Gem>>,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Values {
    first: Gem,
    second: Box<Gem>,
    list: Vec<Gem>,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Mixed {
    first: Gem,
    second: Shared<Gem>,
    list: Vec<Shared<Gem>>,
}

fn converted(field: &str) -> super::harness::Row {
    row(LoadEvent::Converted, "Case", field, 1)
}

#[test]
fn what_was_shared_is_copied_and_reported() {
    let one = shared(Gem { carat: 3 });
    let other = shared(Gem { carat: 4 });
    let save = save(Pointers {
        first: one.clone(),
        second: other.clone(),
        list: vec![one.clone(), other, one],
    });
    let (values, rows) = load::<Values>(&save);
    let gem = |carat| Gem { carat };
    let values = values.borrow();
    assert_eq!((&values.first, &*values.second), (&gem(3), &gem(4)));
    assert_eq!(values.list, [gem(3), gem(4), gem(3)]);
    let unshared = row(LoadEvent::Unshared, "Case", "list", 3);
    assert_eq!(rows, [converted("first"), converted("list"), converted("second"), unshared]);
    let error = try_load::<Values>(&save, STRICT).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::Refused, Some("Case")), "{error}");
    assert_eq!(error.field(), Some("list"));
}

#[test]
fn what_nobody_else_had_is_no_loss() {
    let gem = |carat| shared(Gem { carat });
    let save = save(Pointers { first: gem(1), second: gem(2), list: vec![gem(3)] });
    let (values, _) = try_load::<Values>(&save, STRICT).unwrap();
    assert_eq!((values.borrow().first.carat, values.borrow().list[0].carat), (1, 3));
}

#[test]
fn a_copy_of_what_stays_shared_is_reported() {
    let one = shared(Gem { carat: 3 });
    let save = save(Pointers { first: one.clone(), second: one.clone(), list: vec![one] });
    let (mixed, found) = load::<Mixed>(&save);
    let mixed = mixed.borrow();
    assert_eq!(mixed.first.carat, 3);
    assert!(Rc::ptr_eq(&mixed.second, &mixed.list[0]));
    assert_eq!(found, [converted("first"), row(LoadEvent::Unshared, "Case", "first", 1)]);
    let error = try_load::<Mixed>(&save, STRICT).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
}

#[test]
fn a_copy_of_an_added_object_is_reported() {
    let gem = |carat| shared(Gem { carat });
    let first = gem(1);
    let mut manager = SaveManager::new();
    manager.add(&shared(Pointers { first: first.clone(), second: gem(2), list: vec![] })).unwrap();
    manager.add(&first).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = self::manager::<Values>(LENIENT);
    manager.register::<Gem>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(loaded.first::<Values>().unwrap().borrow().first.carat, 1);
    assert_eq!(loaded.first::<Gem>().unwrap().borrow().carat, 1);
    let unshared = row(LoadEvent::Unshared, "Case", "first", 1);
    let all = [converted("first"), converted("list"), converted("second"), unshared];
    assert_eq!(rows(loaded.report()), all);
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Watched {
    gem: Shared<Gem>,
    watch: Weak<RefCell<Gem>>,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Unwatched {
    gem: Gem,
    watch: Weak<RefCell<Gem>>,
}

#[test]
fn a_weak_pointer_to_what_is_a_value_now_leads_nowhere() {
    let gem = shared(Gem { carat: 3 });
    let watch = Rc::downgrade(&gem);
    let (case, found) = load::<Unwatched>(&save(Watched { gem, watch }));
    assert_eq!(case.borrow().gem.carat, 3);
    assert!(case.borrow().watch.upgrade().is_none());
    assert!(found.contains(&row(LoadEvent::Unshared, "Case", "gem", 1)), "{found:?}");
}

#[derive(Persist)]
#[persist(class = "Node")]
struct Linked {
    number: u8,
    next: Option<Shared<Linked>>,
}

#[derive(Persist)]
#[persist(class = "Node")]
struct Nested {
    number: i32,
    next: Option<Box<Nested>>,
}

fn chain(length: u8) -> Option<Shared<Linked>> {
    (0..length).rev().fold(None, |next, number| Some(shared(Linked { number, next })))
}

#[test]
fn a_chain_becomes_nested_and_back() {
    let mut manager = SaveManager::new();
    manager.add(&chain(5).unwrap()).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = self::manager::<Nested>(LENIENT).from_slice(&save).unwrap();
    let expected = |field, count| row(LoadEvent::Converted, "Node", field, count);
    assert_eq!(rows(loaded.report()), [expected("next", 5), expected("number", 5)]);
    // Those inside are no objects any more.
    assert_eq!(loaded.len(), 1);
    assert_eq!(loaded.report().objects().collect::<Vec<_>>(), [("Node", 1)]);
    let nested = loaded.first::<Nested>().unwrap();
    let nested = nested.borrow();
    let mut at = Some(&*nested);
    let mut numbers = Vec::new();
    while let Some(node) = at {
        numbers.push(node.number);
        at = node.next.as_deref();
    }
    assert_eq!(numbers, [0, 1, 2, 3, 4]);

    let inner = |number, next| Nested { number, next };
    let nested = inner(7, Some(Box::new(inner(8, Some(Box::new(inner(9, None)))))));
    let (linked, found) = load::<Linked>(&super::harness::save(nested));
    let numbers: Vec<u8> = std::iter::successors(Some(linked), |node| node.borrow().next.clone())
        .map(|node| node.borrow().number)
        .collect();
    assert_eq!(numbers, [7, 8, 9]);
    assert_eq!(found, [expected("next", 3), expected("number", 3)]);
}

#[test]
fn a_circle_cannot_be_a_value() {
    let node = chain(2).unwrap();
    let last = node.borrow().next.clone().unwrap();
    last.borrow_mut().next = Some(node.clone());
    let mut manager = SaveManager::new();
    manager.add(&node).unwrap();
    let save = manager.to_vec().unwrap();
    let error = try_load::<Nested>(&save, CLAMP).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::Unsupported, Some("Node")), "{error}");
    assert!(error.message().contains("leads to itself"), "{error}");
    last.borrow_mut().next = None;
}

#[derive(Persist)]
#[persist(class = "Item")]
struct OldItem {
    wide: u64,
    watch: Weak<RefCell<Gem>>,
}

#[derive(Persist)]
#[persist(class = "Item")]
struct Item {
    watch: Weak<RefCell<Gem>>,
    wide: u8,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct OldItems {
    list: Vec<OldItem>,
    gem: Shared<Gem>,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Items {
    list: Vec<Shared<Item>>,
    gem: Shared<Gem>,
}

#[test]
fn values_that_become_objects_keep_their_references() {
    let gem = shared(Gem { carat: 3 });
    let gone = shared(Gem { carat: 4 });
    let item = |gem: &Shared<Gem>| OldItem { wide: 5, watch: Rc::downgrade(gem) };
    let list = vec![item(&gem), item(&gone), item(&gem)];
    let (case, found) = load::<Items>(&save(OldItems { list, gem }));
    let case = case.borrow();
    let watched = |i: usize| case.list[i].borrow().watch.upgrade();
    assert!(Rc::ptr_eq(&watched(0).unwrap(), &case.gem));
    assert!(watched(1).is_none());
    assert!(Rc::ptr_eq(&watched(2).unwrap(), &case.gem));
    let expected = [
        converted("list"),
        row(LoadEvent::Converted, "Item", "wide", 3),
        row(LoadEvent::Dangling, "Item", "", 1),
    ];
    assert_eq!(found, expected);
}
