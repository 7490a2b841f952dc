//! Saves made by hand of objects that lead to each other: circles that cannot be made,
//! chains in every order, trait objects in trait objects.

use std::cell::OnceCell;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::{ErrorKind, Persist, Result, SaveManager, Saves};
use persist_tests::support::forge::{
    self, ADDED, Item, Load, SMALL, class, counted, record, refused, save, text, try_load, value,
};

/// Leads on outside of cells.
#[derive(Persist)]
struct Link {
    next: Option<Rc<Link>>,
    also: Weak<Link>,
}

/// A strong and a weak reference to class 1 in holder `10`.
const LINK: &[(&str, &[u8])] = &[("next", &[0x10, 0x17, 0x10, 1]), ("also", &[0x17, 0x90, 1])];

/// The bytes of a link.
fn link(next: u64, also: u64) -> Vec<u8> {
    let next = if next == 0 { vec![0] } else { [vec![1], counted(next)].concat() };
    [next, counted(also)].concat()
}

/// A save of links with the ids from 1, the first of which was added.
fn links(payloads: &[Vec<u8>]) -> Vec<u8> {
    let records = payloads
        .iter()
        .zip(1..)
        .map(|(payload, id)| record(1, if id == 1 { 0x90 } else { 0x10 }, id, payload));
    save(&[class("Link", LINK)].into_iter().chain(records).collect::<Vec<_>>())
}

fn load_links(save: &[u8]) -> Result<()> {
    let manager = SaveManager::new();
    manager.saves().register_pointer::<Rc<Link>>()?;
    manager.from_slice(save).map(drop)
}

#[test]
fn a_circle_without_cells_is_refused() {
    let circle = |length: u64, weak: bool| {
        let payload = |id: u64| {
            let next = id % length + 1;
            if weak && next == 1 { link(0, next) } else { link(next, 0) }
        };
        links(&(1..=length).map(payload).collect::<Vec<_>>())
    };
    let all_weak =
        |length: u64| links(&(1..=length).map(|id| link(0, id % length + 1)).collect::<Vec<_>>());
    for length in [1, 2, 3, 1000, 50_000] {
        for save in [circle(length, false), circle(length, true), all_weak(length)] {
            let error = refused(save, load_links);
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let start = match length {
                1 => "an object without a cell, a Link, leads to itself".to_owned(),
                _ => format!("{length} objects without a cell, one of them a Link, lead to"),
            };
            assert!(error.message().starts_with(&start), "{error}");
            assert_eq!(error.class(), Some("Link"));
            assert!(error.object().is_some_and(|id| (1..=length).contains(&id)), "{error}");
        }
    }
}

#[test]
fn a_circle_behind_a_chain_is_found() {
    // 1 to 100 lead on; the last two lead to each other.
    let mut payloads: Vec<_> = (2..=101).map(|next| link(next, 0)).collect();
    payloads.push(link(0, 102));
    payloads.push(link(101, 0));
    let error = refused(links(&payloads), load_links);
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().starts_with("2 objects without a cell"), "{error}");
    assert!(error.object().is_some_and(|id| id == 101 || id == 102), "{error}");
}

#[test]
fn a_circle_that_a_value_does_not_lead_to_is_no_error() {
    type Root = Option<Rc<Link>>;
    let items = [
        forge::bare("Option<Rc<Link>>", &[0x10, 0x17, 0x10, 2]),
        class("Link", &[("next", &[0x10, 0x17, 0x10, 2]), ("also", &[0x17, 0x90, 2])]),
        record(1, forge::VALUE, 1, &[1, 2]),
        record(2, 0x10, 2, &link(0, 3)),
        record(2, 0x10, 3, &link(4, 0)),
        record(2, 0x10, 4, &link(3, 0)),
    ];
    try_load(save(&items), value::<Root>).unwrap();
}

const LENGTH: u64 = 100_000;

/// A chain of records in this order.
fn chain(order: &[u64]) -> Vec<u8> {
    let records = order.iter().map(|id| {
        let next = if *id == LENGTH { 0 } else { id + 1 };
        record(1, if *id == 1 { 0x90 } else { 0x10 }, *id, &link(next, next))
    });
    save(&[class("Link", LINK)].into_iter().chain(records).collect::<Vec<_>>())
}

#[test]
fn a_chain_without_cells_loads_in_every_order() {
    let ascending: Vec<u64> = (1..=LENGTH).collect();
    let descending = ascending.iter().rev().copied().collect();
    let mut shuffled = ascending.clone();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for i in (1..shuffled.len()).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        shuffled.swap(i, usize::try_from(random >> 33).unwrap() % (i + 1));
    }
    for order in [ascending, descending, shuffled] {
        try_load(chain(&order), load_links).unwrap();
        // A chain whose end is not there is freed, too.
        let cut: Vec<u64> = order.into_iter().filter(|id| *id != LENGTH - 1).collect();
        let error = refused(chain(&cut), load_links);
        assert_eq!(error.kind(), ErrorKind::MissingObject);
        assert_eq!((error.object(), error.field()), (Some(LENGTH - 2), Some("next")));
    }
}

/// Set once, so that a circle of these can be made.
#[derive(Persist)]
struct Once {
    next: OnceCell<Rc<Once>>,
    open: Option<Arc<Mutex<Once>>>,
}

const ONCE: &[(&str, &[u8])] =
    &[("next", &[0x10, 0x17, 0x10, 1]), ("open", &[0x10, 0x17, 0x23, 1])];

fn load_once(save: &[u8]) -> Result<()> {
    let manager = SaveManager::new();
    manager.saves().register_pointer::<Rc<Once>>()?;
    let loaded = manager.from_slice(save)?;
    assert_eq!(loaded.strong_cycles().len(), 1);
    loaded.dismantle();
    Ok(())
}

#[test]
fn a_circle_through_a_lock_loads_and_can_be_taken_apart() {
    let records = (1..=1000_u64).map(|id| {
        let (to, open) = (counted(id % 1000 + 1), id % 2 == 0);
        let payload = if open { [vec![1], to, vec![0]] } else { [vec![0], vec![1], to] };
        record(1, if open { 0x23 } else { 0x10 }, id, &payload.concat())
    });
    let items: Vec<Item> = [class("Once", ONCE)].into_iter().chain(records).collect();
    let saves = Saves::new();
    saves.register_pointer::<Rc<Once>>().unwrap();
    // Every second one is in a lock, and the references go to and fro.
    try_load(save(&items), load_once).unwrap();
}

#[persist::dynamic]
trait Toy {}
#[derive(Persist)]
struct Doll {
    inside: Option<Box<dyn Toy>>,
}

/// As large as one level of nesting may be.
#[derive(Persist)]
struct Crate {
    weights: [u64; 250],
    inside: Option<Box<dyn Toy>>,
}

impl Toy for Doll {}
impl Toy for Crate {}

fn toys() -> Vec<Item> {
    let inside = [&[0x10, 0x18], &text("Toy")[..]].concat();
    let weights = [vec![0x14], counted(250), vec![6]].concat();
    vec![
        class("Doll", &[("inside", &inside)]),
        class("Crate", &[("weights", &weights), ("inside", &inside)]),
        class("Lost", &[("inside", &inside)]),
    ]
}

fn load_toys(save: &[u8]) -> Result<()> {
    let manager = SaveManager::new();
    manager.register_as::<Doll, dyn Toy>()?;
    manager.register_as::<Crate, dyn Toy>()?;
    manager.register::<Doll>()?;
    manager.from_slice(save).map(drop)
}

/// A doll with so many in it, each in the next.
fn dolls(depth: usize, number: u8) -> Vec<u8> {
    let payload = [[1, number].repeat(depth), vec![0]].concat();
    save(&[toys(), vec![record(1, ADDED, 1, &payload)]].concat())
}

#[test]
fn trait_objects_nested_beyond_the_limit_are_refused_on_a_small_stack() {
    for depth in [0, 1, 100, 128] {
        try_load(dolls(depth, 1), load_toys).unwrap();
    }
    for depth in [129, 1_000, 100_000] {
        let error = refused(dolls(depth, 1), load_toys);
        assert_eq!(error.kind(), ErrorKind::TooDeep, "{depth} levels: {error}");
        assert_eq!((error.object(), error.class()), (Some(1), Some("Doll")));
    }
}

#[test]
fn large_trait_objects_nest_to_the_limit_on_the_stack_of_a_thread() {
    let filled = [&[1, 2][..], &[7; 2000]].concat();
    let crates = |depth: usize| {
        let payload = [filled.repeat(depth), vec![0]].concat();
        save(&[toys(), vec![record(1, ADDED, 1, &payload)]].concat())
    };
    // What the standard library gives a thread.
    let load = |depth| forge::try_load_on(2 << 20, crates(depth), load_toys);
    load(128).unwrap();
    for depth in [129, 1_000] {
        assert_eq!(load(depth).unwrap_err().kind(), ErrorKind::TooDeep);
    }
}

#[test]
fn lost_trait_objects_are_passed_over_without_recursion() {
    for depth in [1, 1_000, 100_000] {
        // Each of a class that the program does not have: the first becomes `None`.
        try_load(dolls(depth, 3), load_toys).unwrap();
    }
    // One within reach, in which the rest is lost.
    let payload = [vec![1, 1], [1, 3].repeat(100_000), vec![0]].concat();
    try_load(save(&[toys(), vec![record(1, ADDED, 1, &payload)]].concat()), load_toys).unwrap();
}

#[test]
fn trait_objects_nested_beyond_the_limit_are_not_saved_on_a_small_stack() {
    let run = || {
        for (depth, expected) in
            [(128, None), (129, Some(ErrorKind::TooDeep)), (10_000, Some(ErrorKind::TooDeep))]
        {
            let doll = (0..depth)
                .fold(Doll { inside: None }, |doll, _| Doll { inside: Some(Box::new(doll)) });
            let saves = Saves::new();
            saves.register_as::<Doll, dyn Toy>().unwrap();
            let error = saves.to_vec(&doll).err().map(|error| error.kind());
            assert_eq!(error, expected, "{depth}");
            // A plain drop would recurse.
            std::mem::forget(doll);
        }
    };
    std::thread::Builder::new().stack_size(SMALL).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_hundred_thousand_tools_are_loaded_in_proportion() {
    let list = [&[0x11, 0x18], &text("Toy")[..]].concat();
    let items = [
        class("Chest", &[("toys", &list)]),
        class("Doll", &[("inside", &[&[0x10, 0x18], &text("Toy")[..]].concat())]),
        record(1, ADDED, 1, &[counted(100_000), [2, 0].repeat(100_000)].concat()),
    ];
    #[derive(Persist)]
    struct Chest {
        toys: Vec<Box<dyn Toy>>,
    }
    let load: Load = |save| {
        let manager = SaveManager::new();
        manager.register_as::<Doll, dyn Toy>()?;
        manager.register::<Chest>()?;
        let loaded = manager.from_slice(save)?;
        assert_eq!(loaded.first::<Chest>()?.borrow().toys.len(), 100_000);
        Ok(())
    };
    try_load(save(&items), load).unwrap();
}
