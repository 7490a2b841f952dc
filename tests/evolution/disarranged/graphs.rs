//! Random graphs: cycles, weak pointers, trait objects, generic classes and every holder that they need.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::{Persist, SaveManager, Saves};
use persist_tests::support::disarranged::check_objects;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Shared, seeds, shared};

#[persist::dynamic]
trait Thing {}

#[derive(Persist, Clone, Debug)]
struct Stone {
    name: String,
    grams: u32,
    hard: i8,
}

#[derive(Persist, Clone, Debug)]
enum Cloth {
    Rag,
    Coat { size: u16, colour: [u8; 3], owner: Option<Box<Stone>> },
    Bolt(f64, Vec<i32>),
}

/// Leads back into the graph.
#[derive(Persist)]
struct Leash {
    length: u16,
    held_by: Weak<std::cell::RefCell<Node>>,
    other: Option<Shared<Node>>,
}

impl Thing for Stone {}

impl Thing for Cloth {}

impl Thing for Leash {}

#[derive(Persist, Clone)]
struct Tagged<T> {
    tag: u16,
    item: T,
}

#[derive(Persist)]
enum State {
    Idle,
    Near(Shared<Node>, u8),
    Holding { what: Shared<dyn Thing>, since: i64, again: Weak<std::cell::RefCell<dyn Thing>> },
}

#[derive(Persist)]
struct Node {
    number: u32,
    next: Option<Shared<Node>>,
    others: Vec<Tagged<Shared<Node>>>,
    weak: Weak<std::cell::RefCell<Node>>,
    by_name: BTreeMap<u16, (Weak<std::cell::RefCell<Node>>, f32)>,
    locked: Option<Arc<Mutex<Tagged<i32>>>>,
    name: Option<Rc<str>>,
    plain: Rc<Tagged<[i16; 2]>>,
    things: Vec<Box<dyn Thing>>,
    held: Option<Shared<dyn Thing>>,
    state: State,
}

fn manager() -> SaveManager {
    let saves = Saves::new();
    saves.register::<Node>().unwrap();
    saves.register_as::<Stone, dyn Thing>().unwrap();
    saves.register_as::<Cloth, dyn Thing>().unwrap();
    saves.register_as::<Leash, dyn Thing>().unwrap();
    saves.manager()
}

/// Nodes with an edge for each triple: from, to and of which sort.
fn graph(size: usize, edges: &[(usize, usize, u8)]) -> Vec<Shared<Node>> {
    let plain = Rc::new(Tagged { tag: 7, item: [-1, 300] });
    let locked = Arc::new(Mutex::new(Tagged { tag: 1, item: -40_000 }));
    let nodes: Vec<Shared<Node>> = (0..size)
        .map(|i| {
            shared(Node {
                number: u32::try_from(i * i * 40).unwrap(),
                next: None,
                others: Vec::new(),
                weak: Weak::new(),
                by_name: BTreeMap::new(),
                locked: (i % 3 == 0).then(|| locked.clone()),
                name: (i % 2 == 0).then(|| Rc::from(format!("node {}", i / 4))),
                plain: plain.clone(),
                things: Vec::new(),
                held: None,
                state: State::Idle,
            })
        })
        .collect();
    for (from, to, sort) in edges {
        let (to, number) = (&nodes[to % size], u16::from(*sort) * 9);
        let leash = Leash { length: number, held_by: Rc::downgrade(to), other: Some(to.clone()) };
        let mut node = nodes[from % size].borrow_mut();
        match sort % 12 {
            0 => node.next = Some(to.clone()),
            1 | 2 => node.others.push(Tagged { tag: number, item: to.clone() }),
            3 => node.weak = Rc::downgrade(to),
            4 => drop(node.by_name.insert(number, (Rc::downgrade(to), -1.5))),
            5 => node.things.push(Box::new(leash)),
            6 => node.held = Some(shared(leash)),
            7 => node.state = State::Near(to.clone(), *sort),
            8 => {
                let stone: Shared<dyn Thing> =
                    shared(Stone { name: "flint".into(), grams: 70_000, hard: -7 });
                let again = Rc::downgrade(&stone);
                node.state = State::Holding { what: stone, since: -1 - i64::from(number), again };
            }
            9 => {
                let owner = Stone { name: String::new(), grams: number.into(), hard: 1 };
                let (size, owner) = (number, Some(Box::new(owner)));
                node.things.push(Box::new(Cloth::Coat { size, colour: [1, 2, 255], owner }));
            }
            10 => node.held = Some(shared(Cloth::Bolt(2.0, vec![-3, number.into()]))),
            _ => node.things.push(Box::new(Cloth::Rag)),
        }
    }
    nodes
}

/// Lets go of everything that cycles hold.
fn cut(nodes: &[Shared<Node>]) {
    for node in nodes {
        let mut node = node.borrow_mut();
        node.next = None;
        node.others.clear();
        node.things.clear();
        node.held = None;
        node.state = State::Idle;
    }
}

fn saved(nodes: &[Shared<Node>]) -> Vec<u8> {
    let mut manager = manager();
    // The others are met through pointers, or not at all.
    for node in nodes.iter().step_by(3) {
        manager.add(node).unwrap();
    }
    let save = manager.to_vec().unwrap();
    cut(nodes);
    save
}

#[test]
fn a_graph_with_every_sort_of_edge_comes_back() {
    let edges: Vec<_> = (0..240_u8).map(|i| (usize::from(i), usize::from(i) * 7 + 1, i)).collect();
    let save = saved(&graph(30, &edges));
    let tally = seeds(|seed| check_objects(&save, seed, manager));
    assert!(tally.moved > 200 && tally.wider > 80 && tally.narrower > 60, "{tally:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn graphs_come_back(
        size in 1..20_usize,
        edges in vec(any::<(u8, u8, u8)>(), 0..60),
        seed in any::<u64>(),
    ) {
        let edges: Vec<_> =
            edges.into_iter().map(|(from, to, sort)| (from.into(), to.into(), sort)).collect();
        let tally = check_objects(&saved(&graph(size, &edges)), seed, manager);
        prop_assert!(tally.moved >= 8, "{:?}", tally);
    }
}
