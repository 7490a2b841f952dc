//! Graphs of objects come back as they were: who points to whom, and nothing
//! twice, whatever the pointers are kept in.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::{Rc, Weak};

use persist::save::LoadEvent;
use persist::{Loaded, Persist, SaveManager};
use persist_tests::support::disarranged::check_objects;
use persist_tests::support::{Shared, shared};

#[derive(Persist)]
struct Node {
    id: u32,
    next: Option<Shared<Node>>,
    others: Vec<Shared<Node>>,
    back: Weak<RefCell<Node>>,
}

fn node(id: u32) -> Shared<Node> {
    shared(Node { id, next: None, others: Vec::new(), back: Weak::new() })
}

fn id(node: &Shared<Node>) -> u32 {
    node.borrow().id
}

fn next(node: &Shared<Node>) -> Shared<Node> {
    node.borrow().next.clone().expect("it has a next")
}

fn unlink(node: &Shared<Node>) {
    let mut node = node.borrow_mut();
    node.next = None;
    node.others.clear();
}

fn reload(manager: &mut SaveManager) -> Loaded<SaveManager> {
    let save = manager.to_vec().unwrap();
    manager.from_slice(&save).unwrap()
}

/// Saves what the object leads to and loads it.
fn trip<T: Persist>(object: &Shared<T>) -> (Shared<T>, Loaded<SaveManager>) {
    let mut manager = SaveManager::new();
    manager.add(object).unwrap();
    check_objects(&manager.to_vec().unwrap(), 0, || {
        let manager = SaveManager::new();
        manager.register::<T>().unwrap();
        manager
    });
    let loaded = reload(&mut manager);
    (loaded.first::<T>().unwrap(), loaded)
}

#[test]
fn two_that_hold_each_other() {
    let (ada, bors) = (node(1), node(2));
    ada.borrow_mut().next = Some(bors.clone());
    bors.borrow_mut().next = Some(ada.clone());
    let (loaded, all) = trip(&ada);
    assert_eq!((all.len(), id(&loaded), id(&next(&loaded))), (2, 1, 2));
    assert!(Rc::ptr_eq(&next(&next(&loaded)), &loaded));
    assert!(!Rc::ptr_eq(&loaded, &ada));
    [ada, loaded].iter().for_each(unlink);
}

#[test]
fn one_that_holds_itself() {
    let node = node(1);
    node.borrow_mut().next = Some(node.clone());
    node.borrow_mut().back = Rc::downgrade(&node);
    let (loaded, all) = trip(&node);
    assert_eq!(all.len(), 1);
    assert!(Rc::ptr_eq(&next(&loaded), &loaded));
    assert!(Rc::ptr_eq(&loaded.borrow().back.upgrade().unwrap(), &loaded));
    [node, loaded].iter().for_each(unlink);
}

#[test]
fn a_diamond_keeps_its_one_tip() {
    let (top, left, right, tip) = (node(1), node(2), node(3), node(4));
    left.borrow_mut().next = Some(tip.clone());
    right.borrow_mut().others = vec![tip.clone(), tip.clone()];
    top.borrow_mut().others = vec![left, right, tip];
    let (top, all) = trip(&top);
    let top = top.borrow();
    assert_eq!(all.len(), 4);
    assert!(Rc::ptr_eq(&next(&top.others[0]), &top.others[2]));
    for i in 0..2 {
        assert!(Rc::ptr_eq(&top.others[1].borrow().others[i], &top.others[2]));
    }
    // Three inner pointers and the one looked through; none is left behind.
    drop(all);
    assert_eq!(Rc::strong_count(&top.others[2]), 4);
}

#[test]
fn a_weak_target_that_is_not_saved_dangles_and_is_reported() {
    let (seen, unseen) = (node(1), node(2));
    seen.borrow_mut().back = Rc::downgrade(&unseen);
    let (loaded, all) = trip(&seen);
    assert!(loaded.borrow().back.upgrade().is_none());
    let [finding] = all.report().rows() else { panic!("{}", all.report()) };
    assert_eq!((finding.event, &*finding.class, finding.count), (LoadEvent::Dangling, "Node", 1));
    assert_eq!(finding.object.map(persist::ObjectId::get), Some(1));
}

#[test]
fn a_weak_target_that_is_gone_stays_gone_without_a_word() {
    let seen = node(1);
    seen.borrow_mut().back = Rc::downgrade(&node(2));
    let (loaded, all) = trip(&seen);
    assert!(loaded.borrow().back.upgrade().is_none());
    assert!(all.report().is_clean());
    assert_eq!(all.report().references(), 1);
}

#[test]
fn a_weak_pointer_may_be_met_before_the_owner() {
    let (first, last, target) = (node(1), node(2), node(3));
    first.borrow_mut().back = Rc::downgrade(&target);
    first.borrow_mut().next = Some(last.clone());
    last.borrow_mut().next = Some(target);
    let (first, all) = trip(&first);
    assert!(all.report().is_clean());
    drop(all);
    let target = next(&next(&first));
    assert_eq!(id(&target), 3);
    assert!(Rc::ptr_eq(&first.borrow().back.upgrade().unwrap(), &target));
    assert_eq!((Rc::strong_count(&target), Rc::weak_count(&target)), (2, 1));
}

/// Every container, each with pointers to some of the same few nodes.
#[derive(Persist)]
struct Shelf {
    bare: Shared<Node>,
    boxed: Box<Shared<Node>>,
    maybe: [Option<Shared<Node>>; 2],
    tuple: (u8, Shared<Node>, Weak<RefCell<Node>>),
    array: [Shared<Node>; 3],
    queue: VecDeque<Shared<Node>>,
    nested: Vec<Vec<Option<Weak<RefCell<Node>>>>>,
    case: Vec<Case>,
    ordered: BTreeMap<String, Shared<Node>>,
    hashed: HashMap<i32, Shared<Node>>,
    pairs: HashMap<String, Pair>,
    deep: HashMap<u8, HashMap<u16, Vec<Shared<Node>>>>,
}

#[derive(Persist)]
enum Case {
    None,
    One(Shared<Node>),
    Two { first: Shared<Node>, second: Weak<RefCell<Node>> },
}

#[derive(Persist)]
struct Pair {
    left: Shared<Node>,
    note: String,
    right: Option<Shared<Node>>,
}

const NODES: usize = 7;

fn shelf(nodes: &[Shared<Node>]) -> Shelf {
    let pick = |i: usize| nodes[i % NODES].clone();
    let weak = |i: usize| Rc::downgrade(&nodes[i % NODES]);
    Shelf {
        bare: pick(3),
        boxed: Box::new(pick(4)),
        maybe: [Some(pick(5)), None],
        tuple: (8, pick(6), weak(1)),
        array: [pick(0), pick(2), pick(0)],
        queue: [1, 2, 3].map(pick).into(),
        nested: vec![vec![], vec![Some(weak(2)), None, Some(weak(0))], vec![None]],
        case: vec![Case::Two { first: pick(1), second: weak(6) }, Case::None, Case::One(pick(2))],
        ordered: (0..50).map(|i| (format!("key {i}"), pick(i))).collect(),
        // The order on disk is neither that of the numbers nor that of the hasher.
        hashed: (-300..300).map(|i: i32| (i, pick(i.unsigned_abs() as usize))).collect(),
        pairs: (0..200)
            .map(|i| {
                let right = (i % 3 > 0).then(|| pick(i * 5 + 1));
                (format!("{}", i * 7919), Pair { left: pick(i), note: format!("#{i}"), right })
            })
            .collect(),
        deep: (0..20)
            .map(|i: u8| {
                let inner = |j: u16| (j * 251, (0..j % 4).map(|k| pick((j + k).into())).collect());
                (i, (0..u16::from(i)).map(inner).collect())
            })
            .collect(),
    }
}

/// Every pointer of a shelf, as the index of its target.
fn targets(shelf: &Shelf) -> Vec<(String, Option<usize>)> {
    // Nodes by id, each found at one address only.
    let mut seen: HashMap<usize, u32> = HashMap::new();
    let mut out = Vec::new();
    let mut see = |place: String, node: Option<Shared<Node>>| {
        let index = node.map(|node| {
            let address = Rc::as_ptr(&node).addr();
            assert_eq!(*seen.entry(address).or_insert(id(&node)), id(&node));
            usize::try_from(id(&node)).unwrap()
        });
        out.push((place, index));
    };
    let strong = |node: &Shared<Node>| Some(node.clone());
    see("bare".into(), strong(&shelf.bare));
    see("boxed".into(), strong(&shelf.boxed));
    shelf.maybe.iter().for_each(|node| see("maybe".into(), node.clone()));
    see("tuple.1".into(), strong(&shelf.tuple.1));
    see("tuple.2".into(), shelf.tuple.2.upgrade());
    shelf.array.iter().for_each(|node| see("array".into(), strong(node)));
    shelf.queue.iter().for_each(|node| see("queue".into(), strong(node)));
    for weak in shelf.nested.iter().flatten() {
        see("nested".into(), weak.as_ref().map(|weak| weak.upgrade().unwrap()));
    }
    for case in &shelf.case {
        match case {
            Case::None => see("none".into(), None),
            Case::One(node) => see("one".into(), strong(node)),
            Case::Two { first, second } => {
                see("first".into(), strong(first));
                see("second".into(), second.upgrade());
            }
        }
    }
    for (key, node) in &shelf.ordered {
        see(format!("ordered {key}"), strong(node));
    }
    let hashed: BTreeMap<_, _> = shelf.hashed.iter().collect();
    for (key, node) in hashed {
        see(format!("hashed {key}"), strong(node));
    }
    let pairs: BTreeMap<_, _> = shelf.pairs.iter().collect();
    for (key, Pair { left, note, right }) in pairs {
        see(format!("left {key} {note}"), strong(left));
        see(format!("right {key} {note}"), right.clone());
    }
    let deep: BTreeMap<_, _> = shelf.deep.iter().collect();
    for (key, inner) in deep {
        let inner: BTreeMap<_, _> = inner.iter().collect();
        for (place, nodes) in inner {
            nodes.iter().for_each(|node| see(format!("deep {key} {place}"), strong(node)));
        }
    }
    assert_eq!(seen.len(), NODES);
    out
}

fn nodes() -> Vec<Shared<Node>> {
    (0..NODES).map(|id| node(u32::try_from(id).unwrap())).collect()
}

#[test]
fn pointers_in_every_container_lead_to_the_same_objects() {
    let nodes = nodes();
    let shelf = shared(shelf(&nodes));
    let (loaded, all) = trip(&shelf);
    assert_eq!(all.len(), 1 + NODES);
    assert!(all.report().is_clean());
    let expected = targets(&shelf.borrow());
    assert!(expected.len() > 1000);
    assert_eq!(targets(&loaded.borrow()), expected);
}

#[test]
fn pointers_in_a_value_are_saved_with_it() {
    let nodes = nodes();
    let original = shelf(&nodes);
    let save = persist::to_vec(&original).unwrap();
    let loaded: Shelf = persist::from_slice(&save).unwrap();
    assert_eq!(targets(&loaded), targets(&original));
    // Nobody else holds on to them.
    let pair: (Shared<u8>, Shared<u8>) = {
        let one = shared(5_u8);
        persist::from_slice(&persist::to_vec(&(one.clone(), one)).unwrap()).unwrap()
    };
    assert!(Rc::ptr_eq(&pair.0, &pair.1));
    assert_eq!((Rc::strong_count(&pair.0), *pair.1.borrow()), (2, 5));
}

#[test]
fn what_several_roots_share_is_saved_once() {
    let (ada, bors, common) = (node(1), node(2), node(3));
    ada.borrow_mut().next = Some(common.clone());
    bors.borrow_mut().next = Some(common);
    bors.borrow_mut().back = Rc::downgrade(&ada);
    let mut manager = SaveManager::new();
    let ids = [&bors, &ada].map(|root| manager.add(root).unwrap());
    let loaded = reload(&mut manager);
    assert_eq!(loaded.len(), 3);
    let [bors, ada] = ids.map(|id| loaded.get::<Node>(id).unwrap());
    assert_eq!((id(&bors), id(&ada)), (2, 1));
    assert!(Rc::ptr_eq(&next(&ada), &next(&bors)));
    assert!(Rc::ptr_eq(&bors.borrow().back.upgrade().unwrap(), &ada));
}

#[test]
fn a_long_chain_needs_no_stack() {
    const LENGTH: u32 = 100_000;
    let run = || {
        let mut last = node(LENGTH - 1);
        for id in (0..LENGTH - 1).rev() {
            let node = node(id);
            node.borrow_mut().next = Some(last);
            last = node;
        }
        let mut manager = SaveManager::new();
        manager.add(&last).unwrap();
        let save = manager.to_vec().unwrap();
        manager = manager.saves().manager();
        let lengths = [walk(last), walk(manager.from_slice(&save).unwrap().first().unwrap())];
        assert_eq!(lengths, [LENGTH, LENGTH]);
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

/// Counts a chain while taking it apart.
fn walk(first: Shared<Node>) -> u32 {
    let mut current = Some(first);
    let mut count = 0;
    while let Some(node) = current {
        assert_eq!(id(&node), count);
        count += 1;
        current = node.borrow_mut().next.take();
    }
    count
}
