//! Graphs of any size come back whole: small ones, whose references lead to their targets as
//! they are decoded, and large ones, which are connected in chunks.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use persist::{ErrorKind, Limits, Persist, SaveManager, Saves};
use persist_tests::support::forge::{Forged, Item, counted};

/// On both sides of a chunk, and of the largest graph that is connected while it is decoded.
const SIZES: [usize; 8] = [1, 2, 127, 128, 129, 16_383, 16_384, 16_385];

thread_local! {
    static ALIVE: Cell<i64> = const { Cell::new(0) };
}

struct Token;

impl Default for Token {
    fn default() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

type Shared = Rc<RefCell<Node>>;

#[derive(Default, Persist)]
struct Node {
    number: u32,
    text: String,
    next: Option<Shared>,
    others: Vec<Shared>,
    back: Weak<RefCell<Node>>,
    #[persist(skip)]
    token: Token,
}

/// A value that holds a graph.
#[derive(Persist)]
struct Level {
    nodes: Vec<Shared>,
}

/// Where the references of each node lead: cycles, some targets close by and some anywhere.
fn targets(node: usize, count: usize) -> [usize; 4] {
    let anywhere = (node as u64 * 2_654_435_761 + 12_345) % count as u64;
    let anywhere = usize::try_from(anywhere).unwrap();
    [(node + 1) % count, anywhere, count - 1 - anywhere, (node + count / 2) % count]
}

fn graph(count: usize) -> Vec<Shared> {
    let nodes: Vec<Shared> = (0..count).map(|_| Shared::default()).collect();
    for (at, node) in nodes.iter().enumerate() {
        let [next, first, second, back] = targets(at, count);
        let mut node = node.borrow_mut();
        node.number = u32::try_from(at).unwrap();
        if at + 1 == count {
            node.text = "x".repeat(300);
        }
        node.next = Some(nodes[next].clone());
        node.others = vec![nodes[first].clone(), nodes[second].clone()];
        node.back = Rc::downgrade(&nodes[back]);
    }
    nodes
}

fn check(nodes: &[Shared], count: usize) {
    assert_eq!(nodes.len(), count);
    for (at, node) in nodes.iter().enumerate() {
        let node = node.borrow();
        assert_eq!(node.number as usize, at);
        let [next, first, second, back] = targets(at, count);
        assert!(Rc::ptr_eq(node.next.as_ref().unwrap(), &nodes[next]), "{at} of {count}");
        assert!(Rc::ptr_eq(&node.others[0], &nodes[first]), "{at} of {count}");
        assert!(Rc::ptr_eq(&node.others[1], &nodes[second]), "{at} of {count}");
        assert!(Rc::ptr_eq(&node.back.upgrade().unwrap(), &nodes[back]), "{at} of {count}");
    }
}

fn cut(nodes: Vec<Shared>) {
    for node in &nodes {
        let mut node = node.borrow_mut();
        (node.next, node.others) = (None, Vec::new());
    }
    drop(nodes);
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn objects_of_graphs_of_any_size_are_connected() {
    for count in SIZES {
        let nodes = graph(count);
        let mut manager = SaveManager::new();
        for node in &nodes {
            manager.add(node).unwrap();
        }
        let save = manager.to_vec().unwrap();
        drop(manager);
        cut(nodes);

        let saves = Saves::new();
        saves.register_pointer::<Shared>().unwrap();
        let loaded = saves.from_slice::<SaveManager>(&save).unwrap();
        let nodes: Vec<Shared> = loaded.pointers::<Shared>().collect();
        check(&nodes, count);
        drop(nodes);
        loaded.dismantle();
        assert_eq!(ALIVE.get(), 0, "of {count}");

        // The text of the last one refuses to be filled when all others are.
        let saves = saves.limits(Limits::new().text(299));
        let refused = saves.from_slice::<SaveManager>(&save).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TooLarge);
        assert_eq!(ALIVE.get(), 0, "of {count}, after a failure");
    }
}

#[test]
fn graphs_of_any_size_in_a_value_are_connected() {
    for count in SIZES {
        let level = Level { nodes: graph(count) };
        let save = persist::to_vec(&level).unwrap();
        cut(level.nodes);
        let level: Level = persist::from_slice(&save).unwrap();
        check(&level.nodes, count);
        cut(level.nodes);
    }
}

/// From 2^15 objects on a save looks ahead at what the next objects lead to.
const LOOKED_AHEAD: usize = 70_000;

#[test]
fn a_graph_whose_references_lead_far_comes_back_whole() {
    let level = Level { nodes: graph(LOOKED_AHEAD) };
    let save = persist::to_vec(&level).unwrap();
    cut(level.nodes);
    let level: Level = persist::from_slice(&save).unwrap();
    check(&level.nodes, LOOKED_AHEAD);
    cut(level.nodes);
}

#[test]
fn saves_write_one_graph_after_the_other_as_new_ones_do() {
    let saves = Saves::new();
    for count in [100, LOOKED_AHEAD, LOOKED_AHEAD, 3, 1000, 0] {
        let level = Level { nodes: graph(count) };
        let save = saves.to_vec(&level).unwrap();
        assert!(save == persist::to_vec(&level).unwrap(), "{count} objects");
        cut(level.nodes);
    }
}

#[test]
fn an_object_that_is_borrowed_is_refused_also_where_a_save_looks_ahead() {
    let saves = Saves::new();
    let level = Level { nodes: graph(LOOKED_AHEAD) };
    let save = saves.to_vec(&level).unwrap();
    let borrowed = level.nodes[40_000].borrow_mut();
    let error = saves.to_vec(&level).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Borrowed);
    drop(borrowed);
    assert!(save == saves.to_vec(&level).unwrap());
    cut(level.nodes);
}

#[derive(Default, Persist)]
struct Link {
    next: Option<Rc<RefCell<Link>>>,
    #[persist(skip)]
    token: Token,
}

#[derive(Default, Persist)]
struct Other {
    number: u32,
}

/// The error of a load in which the reference of one of the links leads to an object of another class.
fn wrong_target(count: usize) -> persist::Error {
    let links: Vec<Rc<RefCell<Link>>> = (0..count).map(|_| Rc::default()).collect();
    let mut manager = SaveManager::new();
    let other: Rc<RefCell<Other>> = Rc::default();
    for (at, link) in links.iter().enumerate() {
        link.borrow_mut().next = Some(links[(at * 31 + 1) % count].clone());
        manager.add(link).unwrap();
    }
    manager.add(&other).unwrap();
    let mut forged = Forged::parse(&manager.to_vec().unwrap());
    links.iter().for_each(|link| link.borrow_mut().next = None);
    drop(links);
    let last = forged.items.iter().rev().find_map(|item| match item {
        Item::Record { id, .. } => Some(*id),
        Item::Definition(_) => None,
    });
    for item in &mut forged.items {
        if let Item::Record { id: 77, payload, .. } = item {
            *payload = [&[1], &counted(last.unwrap())[..]].concat();
        }
    }
    let error = manager.from_slice(&forged.build()).map(drop).unwrap_err();
    drop(manager);
    assert_eq!(ALIVE.get(), 0, "of {count}");
    error
}

#[test]
fn a_reference_to_another_class_is_named_by_its_field_in_graphs_of_any_size() {
    for count in [100, 16_000, 17_000] {
        let error = wrong_target(count);
        assert_eq!(error.kind(), ErrorKind::WrongClass);
        assert_eq!((error.object(), error.field()), (Some(77), Some("next")), "{error}");
        assert!(
            error.message().contains("Rc<RefCell<Other>>, where Rc<RefCell<Link>> is expected"),
            "{error}"
        );
    }
}
