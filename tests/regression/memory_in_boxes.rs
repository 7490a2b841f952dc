//! Small saves that asked for gigabytes: values in boxes, and in empty objects, whose
//! fields are mostly not saved.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::rc::Rc;

use persist::{ErrorKind, Limits, Persist, SaveManager, Saves};

#[persist::dynamic]
trait Thing {}

#[derive(Persist)]
struct Cached {
    id: u8,
    #[persist(skip, default = [0; 8192])]
    cache: [u8; 8192],
}

impl Thing for Cached {}

fn cached(id: u8) -> Box<Cached> {
    Box::new(Cached { id, cache: [id; 8192] })
}

#[derive(Persist)]
struct Boxes {
    plain: Vec<Box<Cached>>,
    maybe: Vec<Option<Box<Cached>>>,
    things: Vec<Box<dyn Thing>>,
}

fn is_bounded(boxes: impl Fn(usize) -> Boxes) {
    let with = |count: usize, expansion: u64| {
        let mut manager = Saves::new().limits(Limits::new().expansion(expansion)).manager();
        manager.register_as::<Cached, dyn Thing>().unwrap();
        manager.add(&Rc::new(RefCell::new(boxes(count)))).unwrap();
        manager
    };
    let manager = with(2000, 256);
    let save = manager.to_vec().unwrap();
    let back = manager.from_slice(&save).unwrap().first::<Boxes>().unwrap();
    let back = back.borrow();
    let boxed = back.plain.iter().chain(back.maybe.iter().flatten());
    let loaded = boxed.filter(|one| (one.id, one.cache[0]) == (7, 0)).count();
    assert_eq!(loaded + back.things.len(), 2000);
    // 10,000 of 8 KiB each are over the 64 MiB that are always allowed.
    let saved = with(10_000, 256).to_vec();
    assert_eq!(saved.unwrap_err().kind(), ErrorKind::TooLarge);
    let save = with(10_000, 1 << 20).to_vec().unwrap();
    let error = manager.from_slice(&save).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.message().ends_with("raise `Limits::expansion`"), "{error}");
}

fn none() -> Boxes {
    Boxes { plain: Vec::new(), maybe: Vec::new(), things: Vec::new() }
}

#[test]
fn large_values_in_boxes_are_bounded_on_both_sides() {
    is_bounded(|count| Boxes { plain: (0..count).map(|_| cached(7)).collect(), ..none() });
    is_bounded(|count| Boxes { maybe: (0..count).map(|_| Some(cached(7))).collect(), ..none() });
}

#[test]
fn large_trait_objects_in_boxes_are_bounded_on_both_sides() {
    let thing = |_| cached(7) as Box<dyn Thing>;
    is_bounded(|count| Boxes { things: (0..count).map(thing).collect(), ..none() });
}

#[derive(Persist)]
struct Holder {
    one: Box<Cached>,
}

#[test]
fn an_empty_object_counts_with_what_its_boxes_do_not_save() {
    let mut manager = Saves::new().limits(Limits::new().expansion(1 << 20)).manager();
    for _ in 0..10_000 {
        manager.add(&Rc::new(RefCell::new(Holder { one: cached(7) }))).unwrap();
    }
    let save = manager.to_vec().unwrap();
    let saves = manager.saves().clone().limits(Limits::default());
    assert_eq!(saves.to_vec(&manager).unwrap_err().kind(), ErrorKind::TooLarge);
    let error = saves.from_slice::<SaveManager>(&save).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}
