//! Saves in which nothing but the order of fields and variants is another one.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::rc::Rc;

use persist::save::LoadPolicy;
use persist::{ErrorKind, LoadOptions, Persist, SaveManager, Saves};
use persist_tests::support::forge;

/// The same types twice: as an older program had them, and with everything in another order.
mod older {
    use super::*;

    #[derive(Persist, PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Copy, Debug)]
    pub(crate) enum Mood {
        Calm,
        Angry,
    }

    #[derive(Persist, PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Debug)]
    pub(crate) struct Item {
        pub(crate) count: u8,
        pub(crate) name: String,
        pub(crate) weight: u32,
    }

    #[derive(Persist, PartialEq, Clone, Debug)]
    pub(crate) enum Event {
        Met { who: String, at: u64 },
        Found(Item, u8),
        Slept,
    }

    #[derive(Persist, PartialEq, Clone, Debug)]
    pub(crate) struct Node {
        pub(crate) item: Item,
        pub(crate) children: Vec<Node>,
        pub(crate) next: Option<Box<Node>>,
    }

    #[derive(Persist, PartialEq, Clone, Debug)]
    #[persist(transparent)]
    pub(crate) struct Bag(pub(crate) Vec<Item>);

    #[derive(Persist, PartialEq, Debug)]
    pub(crate) struct Everything {
        pub(crate) list: Vec<Item>,
        pub(crate) deque: VecDeque<Item>,
        pub(crate) boxed: Box<[Item]>,
        pub(crate) array: [Item; 2],
        pub(crate) pair: (Item, Mood),
        pub(crate) map: HashMap<Mood, Item>,
        pub(crate) sorted: BTreeMap<Item, u8>,
        pub(crate) some: Option<Item>,
        pub(crate) none: Option<Item>,
        pub(crate) cell: RefCell<Item>,
        pub(crate) copied: Cell<u8>,
        pub(crate) moods: [Mood; 3],
        pub(crate) result: Result<Item, Mood>,
        pub(crate) events: Vec<Event>,
        pub(crate) tree: Node,
        pub(crate) bag: Bag,
        pub(crate) plain: (u8, String, [f32; 2]),
    }
}

mod newer {
    use super::*;

    #[derive(Persist, PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Copy, Debug)]
    pub(crate) enum Mood {
        Angry,
        Calm,
    }

    #[derive(Persist, PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Debug)]
    pub(crate) struct Item {
        #[persist(alias = "weight")]
        pub(crate) grams: u32,
        #[persist(default = no_default())]
        pub(crate) name: String,
        pub(crate) count: u8,
        #[persist(skip)]
        pub(crate) seen: u8,
    }

    /// Nothing is made empty or of its default on the way.
    fn no_default() -> String {
        panic!("the save has the field")
    }

    #[derive(Persist, PartialEq, Clone, Debug)]
    pub(crate) enum Event {
        Slept,
        Found(Item, u8),
        Met { at: u64, who: String },
    }

    #[derive(Persist, PartialEq, Clone, Debug)]
    pub(crate) struct Node {
        pub(crate) next: Option<Box<Node>>,
        pub(crate) children: Vec<Node>,
        pub(crate) item: Item,
    }

    #[derive(Persist, PartialEq, Clone, Debug)]
    #[persist(transparent)]
    pub(crate) struct Bag(pub(crate) Vec<Item>);

    #[derive(Persist, PartialEq, Debug)]
    pub(crate) struct Everything {
        pub(crate) plain: (u8, String, [f32; 2]),
        pub(crate) bag: Bag,
        pub(crate) tree: Node,
        pub(crate) events: Vec<Event>,
        pub(crate) result: Result<Item, Mood>,
        pub(crate) moods: [Mood; 3],
        pub(crate) copied: Cell<u8>,
        pub(crate) cell: RefCell<Item>,
        pub(crate) none: Option<Item>,
        pub(crate) some: Option<Item>,
        pub(crate) sorted: BTreeMap<Item, u8>,
        pub(crate) map: HashMap<Mood, Item>,
        pub(crate) pair: (Item, Mood),
        pub(crate) array: [Item; 2],
        pub(crate) boxed: Box<[Item]>,
        pub(crate) deque: VecDeque<Item>,
        pub(crate) list: Vec<Item>,
    }
}

fn old_item(count: u8) -> older::Item {
    older::Item { count, name: format!("item {count}"), weight: 70_000 + u32::from(count) }
}

fn item(count: u8) -> newer::Item {
    let old = old_item(count);
    newer::Item { grams: old.weight, name: old.name, count, seen: 0 }
}

fn old_node(count: u8, children: Vec<older::Node>) -> older::Node {
    older::Node { item: old_item(count), children, next: None }
}

fn node(count: u8, children: Vec<newer::Node>) -> newer::Node {
    newer::Node { next: None, children, item: item(count) }
}

fn old_everything() -> older::Everything {
    let mut tree = old_node(20, vec![old_node(21, vec![]), old_node(22, vec![])]);
    tree.next = Some(Box::new(old_node(23, vec![])));
    older::Everything {
        list: (0..3).map(old_item).collect(),
        deque: (3..5).map(old_item).collect(),
        boxed: Box::new([old_item(5)]),
        array: [old_item(6), old_item(7)],
        pair: (old_item(8), older::Mood::Angry),
        map: [(older::Mood::Calm, old_item(9)), (older::Mood::Angry, old_item(10))].into(),
        sorted: [(old_item(11), 1), (old_item(12), 2)].into(),
        some: Some(old_item(13)),
        none: None,
        cell: RefCell::new(old_item(14)),
        copied: Cell::new(15),
        moods: [older::Mood::Calm, older::Mood::Angry, older::Mood::Calm],
        result: Ok(old_item(16)),
        events: vec![
            older::Event::Slept,
            older::Event::Met { who: "Ann".into(), at: 17 },
            older::Event::Found(old_item(18), 19),
        ],
        tree,
        bag: older::Bag(vec![old_item(24)]),
        plain: (25, "plain".into(), [0.5, 1.5]),
    }
}

fn everything() -> newer::Everything {
    let mut tree = node(20, vec![node(21, vec![]), node(22, vec![])]);
    tree.next = Some(Box::new(node(23, vec![])));
    newer::Everything {
        list: (0..3).map(item).collect(),
        deque: (3..5).map(item).collect(),
        boxed: Box::new([item(5)]),
        array: [item(6), item(7)],
        pair: (item(8), newer::Mood::Angry),
        map: [(newer::Mood::Calm, item(9)), (newer::Mood::Angry, item(10))].into(),
        sorted: [(item(11), 1), (item(12), 2)].into(),
        some: Some(item(13)),
        none: None,
        cell: RefCell::new(item(14)),
        copied: Cell::new(15),
        moods: [newer::Mood::Calm, newer::Mood::Angry, newer::Mood::Calm],
        result: Ok(item(16)),
        events: vec![
            newer::Event::Slept,
            newer::Event::Met { at: 17, who: "Ann".into() },
            newer::Event::Found(item(18), 19),
        ],
        tree,
        bag: newer::Bag(vec![item(24)]),
        plain: (25, "plain".into(), [0.5, 1.5]),
    }
}

#[test]
fn values_in_another_order_are_read_in_it() {
    let save = persist::to_vec(&old_everything()).unwrap();
    assert_eq!(persist::from_slice::<newer::Everything>(&save).unwrap(), everything());
    // Nothing is lost or made up, so that a strict load takes it too.
    let saves = Saves::new().load_options(LoadOptions::new().policy(LoadPolicy::Strict));
    let loaded = saves.from_slice::<newer::Everything>(&save).unwrap();
    assert_eq!(*loaded, everything());
    assert_eq!(loaded.report().rows(), []);
}

#[test]
fn a_bare_list_is_read_in_the_order_of_its_elements() {
    let save = persist::to_vec(&vec![old_item(1), old_item(2)]).unwrap();
    assert_eq!(persist::from_slice::<Vec<newer::Item>>(&save).unwrap(), [item(1), item(2)]);
}

#[derive(Persist, PartialEq, Debug)]
#[persist(class = "Shelf")]
struct OldShelf {
    items: Vec<older::Item>,
}

#[derive(Persist, PartialEq, Debug)]
struct Shelf {
    items: Vec<newer::Item>,
}

#[derive(Persist, Debug)]
#[persist(class = "Heap")]
struct OldHeap {
    items: BinaryHeap<older::Item>,
    last: u8,
}

#[derive(Persist, Debug)]
struct Heap {
    last: u8,
    items: BinaryHeap<newer::Item>,
}

#[test]
fn heaps_in_another_order_are_read_in_it() {
    let old = OldHeap { items: (0..4).map(old_item).collect(), last: 9 };
    let save = persist::to_vec(&vec![old, OldHeap { items: [].into(), last: 8 }]).unwrap();
    let heaps = persist::from_slice::<Vec<Heap>>(&save).unwrap();
    let items: Vec<_> = heaps[0].items.clone().into_sorted_vec();
    assert_eq!(items, (0..4).map(item).collect::<Vec<_>>());
    assert_eq!((heaps[0].last, heaps[1].last, heaps[1].items.len()), (9, 8, 0));
}

#[derive(Persist, Debug)]
#[persist(class = "Door")]
struct OldDoor {
    name: String,
    key: older::Item,
}

#[derive(Persist, Debug)]
struct Door {
    key: newer::Item,
    name: String,
    #[persist(skip)]
    sound: u32,
}

#[test]
fn objects_in_another_order_keep_what_their_factory_gave_them() {
    let mut manager = SaveManager::new();
    let door = Rc::new(RefCell::new(OldDoor { name: "oak".into(), key: old_item(3) }));
    manager.add(&door).unwrap();
    let save = manager.to_vec().unwrap();

    let manager = SaveManager::new();
    let make = || Door { key: newer::Item { seen: 5, ..item(0) }, name: String::new(), sound: 77 };
    manager.saves().register_with(make).unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let door = loaded.first::<Door>().unwrap();
    let door = door.borrow();
    assert_eq!((&*door.name, door.sound), ("oak", 77));
    assert_eq!(door.key, newer::Item { seen: 5, ..item(3) });
}

#[test]
fn damage_in_another_order_is_told_as_everywhere() {
    let shelf = OldShelf { items: vec![old_item(1)] };
    let mut save = forge::Forged::parse(&persist::to_vec(&shelf).unwrap());
    // The first letter of the name, behind the number of items, the count and the length.
    save.items.last_mut().unwrap().content()[3] = 0xff;
    let error = persist::from_slice::<Shelf>(&save.build()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
    assert_eq!(error.field(), Some("items[0].name"), "{error}");
}

#[derive(Persist, Debug)]
#[persist(class = "Branch")]
enum OldBranch {
    Leaf,
    Fork { name: String, weights: [u64; 8], next: BTreeMap<u8, (OldBranch, u8)> },
}

#[derive(Persist, Debug)]
enum Branch {
    Fork { next: BTreeMap<u8, (Branch, u8)>, weights: [u64; 8], name: String },
    Leaf,
}

#[test]
fn values_in_another_order_nest_as_deep_on_a_small_stack() {
    for depth in [10, 60, 127] {
        let mut branch = OldBranch::Leaf;
        for i in 0..depth {
            let next = [(1, (branch, 2))].into();
            branch = OldBranch::Fork { name: i.to_string(), weights: [3; 8], next };
        }
        let save = persist::to_vec(&branch).unwrap();
        let load = |save: &[u8]| {
            let mut branch: Branch = persist::from_slice(save)?;
            let mut depth = 0;
            while let Branch::Fork { mut next, weights, name } = branch {
                assert_eq!(weights, [3; 8]);
                assert!(name.parse::<u8>().is_ok());
                branch = next.remove(&1).map_or(Branch::Leaf, |(branch, _)| branch);
                depth += 1;
            }
            assert!(depth == 10 || depth == 60 || depth == 127);
            Ok(())
        };
        let same = |save: &[u8]| persist::from_slice::<OldBranch>(save).map(drop);
        forge::try_load_on(1 << 20, save.clone(), same).unwrap();
        forge::try_load_on(1 << 20, save, load).unwrap();
    }
}
