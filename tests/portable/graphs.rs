//! Graphs of objects with cycles.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use persist::{Persist, SaveManager, Saves};
use rand::Rng as _;

use crate::random;

#[derive(Persist, Default)]
struct Node {
    number: u32,
    next: Option<Rc<RefCell<Node>>>,
    friends: Vec<Weak<RefCell<Node>>>,
}

type Shared = Rc<RefCell<Node>>;

fn manager() -> SaveManager {
    let manager = Saves::new().manager();
    manager.register::<Node>().unwrap();
    manager
}

/// The numbers of a node, and of those that it leads to.
fn shape(nodes: &[Shared]) -> Vec<(u32, Option<u32>, Vec<Option<u32>>)> {
    let number = |node: &Shared| node.borrow().number;
    let of = |node: &Shared| {
        let node = node.borrow();
        let friends = node.friends.iter().map(|friend| friend.upgrade().as_ref().map(number));
        (node.number, node.next.as_ref().map(number), friends.collect())
    };
    nodes.iter().map(of).collect()
}

fn come_back(nodes: &[Shared]) {
    let mut saved = manager();
    let ids: Vec<_> = nodes.iter().map(|node| saved.add(node).unwrap()).collect();
    let save = saved.to_vec().unwrap();
    let loaded = manager().from_slice(&save).unwrap();
    assert!(loaded.report().is_clean());
    let again: Vec<Shared> = ids.into_iter().map(|id| loaded.get::<Node>(id).unwrap()).collect();
    assert_eq!(shape(&again), shape(nodes));
    assert!(loaded.to_vec().unwrap() == save);
    // Cycles of strong pointers are not freed by themselves.
    again.iter().chain(nodes).for_each(|node| node.borrow_mut().next = None);
}

pub(crate) fn random_graphs_come_back() {
    let mut random = random(2);
    for _ in 0..60 {
        let count = random.gen_range(1..40);
        let nodes: Vec<Shared> = (0..count)
            .map(|number| Rc::new(RefCell::new(Node { number, ..Node::default() })))
            .collect();
        for node in &nodes {
            let mut any = || &nodes[random.gen_range(0..nodes.len())];
            let (next, friends) = (Rc::clone(any()), [Rc::downgrade(any()), Rc::downgrade(any())]);
            let mut node = node.borrow_mut();
            node.next = (node.number % 3 > 0).then_some(next);
            node.friends.extend(friends);
        }
        come_back(&nodes);
    }
}

pub(crate) fn a_long_chain_needs_no_stack() {
    let mut nodes = vec![Rc::new(RefCell::new(Node::default()))];
    for number in 1..100_000 {
        let next = nodes.last().cloned();
        nodes.push(Rc::new(RefCell::new(Node { number, next, ..Node::default() })));
    }
    come_back(&nodes);
}
