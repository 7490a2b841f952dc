//! Malicious older saves: through everything that a load does about what has
//! changed, an answer in time, in proportion, and without a panic.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod changed;
mod work;

use std::time::{Duration, Instant};

use persist::{ErrorKind, Persist, SaveManager, Saves};
use persist_tests::support::forge::{
    ADDED, Item, MET, class, count, record, refused, save, try_load,
};
use persist_tests::support::{Shared, shared};

fn manager<T: Persist>() -> SaveManager {
    let saves = Saves::new();
    saves.register::<T>().unwrap();
    saves.manager()
}

fn load<T: Persist>(save: &[u8]) -> persist::Result<()> {
    let loaded = manager::<T>().from_slice(save)?;
    loaded.dismantle();
    Ok(())
}

#[derive(Persist)]
#[persist(class = "Node")]
struct Linked {
    next: Option<Shared<Linked>>,
}

#[derive(Persist)]
#[persist(class = "Node")]
struct Nested {
    next: Option<Box<Nested>>,
}

const NODE: &[u8] = &[0x10, 0x17, 0x11, 1];

/// A chain of so many nodes, each behind those that lead to it, or before.
fn chain(length: u64, backwards: bool) -> Vec<u8> {
    let mut items = vec![class("Node", &[("next", NODE)])];
    let nodes = (1..=length).map(|id| {
        let mut payload = vec![u8::from(id < length)];
        if id < length {
            count(id + 1, &mut payload);
        }
        record(1, if id == 1 { ADDED } else { MET }, id, &payload)
    });
    let mut nodes: Vec<Item> = nodes.collect();
    if backwards {
        nodes.reverse();
    }
    items.append(&mut nodes);
    save(&items)
}

#[test]
fn a_long_chain_does_not_become_a_deep_value() {
    for backwards in [false, true] {
        try_load(chain(100, backwards), load::<Nested>).unwrap();
        let start = Instant::now();
        let error = refused(chain(100_000, backwards), load::<Nested>);
        assert_eq!(error.kind(), ErrorKind::TooDeep, "{error}");
        assert_eq!(error.class(), Some("Node"));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

#[test]
fn a_chain_of_chains_is_no_slower_than_it_is_long() {
    // Each as deep as may be, three hundred times over.
    let mut items = vec![class("Node", &[("next", NODE)])];
    for start in (1..=15_000_u64).step_by(50) {
        for id in start..start + 50 {
            let mut payload = vec![u8::from(id + 1 < start + 50)];
            if payload[0] == 1 {
                count(id + 1, &mut payload);
            }
            items.push(record(1, ADDED, id, &payload));
        }
    }
    try_load(save(&items), load::<Nested>).unwrap();
}

#[derive(Persist)]
#[persist(class = "Tree")]
struct Tree {
    left: Option<Box<Tree>>,
    right: Option<Box<Tree>>,
}

#[derive(Persist)]
#[persist(class = "Tree")]
struct ListTree {
    kids: Vec<ListTree>,
}

#[test]
fn shared_objects_that_double_are_too_large() {
    let reference: &[u8] = &[0x10, 0x17, 0x11, 1];
    let double = |list: bool| {
        let fields: &[(&str, &[u8])] = match list {
            true => &[("kids", &[0x11, 0x17, 0x11, 1])],
            false => &[("left", reference), ("right", reference)],
        };
        let mut items = vec![class("Tree", fields)];
        for id in 1..=60_u64 {
            let next = u8::try_from(id).unwrap() + 1;
            let payload = match (list, id < 60) {
                (true, true) => vec![2, next, next],
                (true, false) => vec![0],
                (false, true) => vec![1, next, 1, next],
                (false, false) => vec![0, 0],
            };
            items.push(record(1, if id == 1 { ADDED } else { MET }, id, &payload));
        }
        save(&items)
    };
    for list in [false, true] {
        let start = Instant::now();
        let load = if list { load::<ListTree> } else { load::<Tree> };
        let result = std::thread::spawn(move || load(&double(list))).join().unwrap();
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
    // A program that has them can load them.
    assert!(Tree { left: None, right: None }.left.is_none());
    assert!(ListTree { kids: vec![] }.kids.is_empty());
    assert!(Linked { next: None }.next.is_none() && Nested { next: None }.next.is_none());
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Many {
    list: Vec<Shared<u8>>,
}

#[test]
fn many_values_become_as_many_objects_in_time() {
    let mut payload = Vec::new();
    count(200_000, &mut payload);
    payload.extend(vec![7; 200_000]);
    let items = [class("Case", &[("list", &[0x11, 0x03])]), record(1, ADDED, 1, &payload)];
    let start = Instant::now();
    // Each is an object of its own now, which takes more than its byte.
    manager::<Many>().from_slice(&save(&items)).unwrap().dismantle();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(Many { list: vec![shared(1)] }.list.len(), 1);
}

type Lists<T> = Vec<Vec<T>>;

#[derive(Persist)]
#[persist(class = "Case")]
struct Deep {
    list: Lists<Lists<Lists<String>>>,
}

#[test]
fn kinds_that_could_meet_in_many_ways_are_refused_in_time() {
    let kind = [vec![0x11; 60], vec![0x10, 0x02]].concat();
    let items = [class("Case", &[("list", &kind)]), record(1, ADDED, 1, &[0])];
    let error = refused(save(&items), load::<Deep>);
    assert_eq!(error.kind(), ErrorKind::KindMismatch, "{error}");
    assert!(Deep { list: vec![] }.list.is_empty());
}
