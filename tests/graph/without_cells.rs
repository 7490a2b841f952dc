//! Objects without a cell are made in the order in which they hold each other;
//! what lies in cells inside them is connected afterwards.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use persist::save::SharedPointer;
use persist::{ErrorKind, Loaded, ObjectId, Persist, SaveManager};
use persist_tests::support::disarranged::check_objects;

/// The tree of the Rust Book, chapter 15.
#[derive(Persist, Debug)]
struct Node {
    value: i32,
    parent: RefCell<Weak<Node>>,
    children: RefCell<Vec<Rc<Node>>>,
}

fn leaf(value: i32) -> Rc<Node> {
    Rc::new(Node { value, parent: Weak::new().into(), children: Vec::new().into() })
}

fn adopt(parent: &Rc<Node>, child: &Rc<Node>) {
    *child.parent.borrow_mut() = Rc::downgrade(parent);
    parent.children.borrow_mut().push(child.clone());
}

fn saved<Q: SharedPointer>(root: &Q) -> Vec<u8> {
    let mut manager = SaveManager::new();
    manager.add(root).unwrap();
    manager.to_vec().unwrap()
}

fn manager<Q: SharedPointer>() -> SaveManager {
    let manager = SaveManager::new();
    manager.saves().register_pointer::<Q>().unwrap();
    manager
}

fn reload<Q: SharedPointer>(root: &Q) -> Loaded<SaveManager> {
    let save = saved(root);
    check_objects(&save, 0, manager::<Q>);
    manager::<Q>().from_slice(&save).unwrap()
}

#[test]
fn the_tree_of_the_rust_book() {
    let (branch, first, second) = (leaf(5), leaf(3), leaf(4));
    adopt(&branch, &first);
    adopt(&branch, &second);
    adopt(&first, &leaf(9));
    for root in [&branch, &first] {
        let loaded = reload(root);
        let root = loaded.first_pointer::<Rc<Node>>().unwrap();
        let is_branch = root.value == 5;
        let first = if is_branch { root.children.borrow()[0].clone() } else { root.clone() };
        assert_eq!((first.value, first.children.borrow()[0].value), (3, 9));
        assert!(Rc::ptr_eq(&first.children.borrow()[0].parent.borrow().upgrade().unwrap(), &first));
        let parent = first.parent.borrow().upgrade();
        assert_eq!(parent.is_some_and(|parent| Rc::ptr_eq(&parent, &root)), is_branch);
        assert_eq!(loaded.report().is_clean(), is_branch);
        drop(loaded);
        // As many pointers as in the original.
        assert_eq!(
            (Rc::strong_count(&root), Rc::weak_count(&root)),
            (if is_branch { 1 } else { 2 }, if is_branch { 2 } else { 1 })
        );
    }
}

#[derive(Persist)]
struct Link {
    name: String,
    next: Option<Rc<Link>>,
    also: Vec<Rc<Link>>,
}

fn link(name: &str, next: Option<Rc<Link>>, also: &[&Rc<Link>]) -> Rc<Link> {
    Rc::new(Link { name: name.into(), next, also: also.iter().copied().cloned().collect() })
}

#[test]
fn a_diamond_keeps_its_one_tip() {
    let tip = link("tip", None, &[]);
    let left = link("left", Some(tip.clone()), &[]);
    let right = link("right", Some(tip.clone()), &[&tip, &left]);
    let top = link("top", Some(right), &[&left, &tip]);
    let loaded = reload(&top);
    assert_eq!(loaded.len(), 4);
    let top = loaded.first_pointer::<Rc<Link>>().unwrap();
    drop(loaded);
    let right = top.next.clone().unwrap();
    let (left, tip) = (&top.also[0], &top.also[1]);
    assert_eq!(
        (&*top.name, &*right.name, &*left.name, &*tip.name),
        ("top", "right", "left", "tip")
    );
    assert!(Rc::ptr_eq(&right.also[1], left) && Rc::ptr_eq(&right.also[0], tip));
    assert!(Rc::ptr_eq(right.next.as_ref().unwrap(), tip));
    assert!(Rc::ptr_eq(left.next.as_ref().unwrap(), tip));
    assert_eq!(Rc::strong_count(tip), 4);
}

/// Objects with and without cells that lead to each other.
#[derive(Persist)]
struct Town {
    name: Rc<str>,
    ruler: Rc<RefCell<Ruler>>,
    neighbour: RwLock<Option<Arc<Town>>>,
    first: OnceLock<Weak<RefCell<Ruler>>>,
    roads: Mutex<Vec<(u8, Option<Arc<Town>>)>>,
    visits: Cell<u32>,
}

#[derive(Persist)]
struct Ruler {
    town: Option<Arc<Town>>,
    towns: Vec<Arc<Town>>,
    name: Rc<str>,
}

#[test]
#[allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]
fn objects_with_and_without_cells_lead_to_each_other() {
    let name: Rc<str> = "York".into();
    let ruler = Rc::new(RefCell::new(Ruler { town: None, towns: vec![], name: name.clone() }));
    let town = |visits: u32| {
        Arc::new(Town {
            name: name.clone(),
            ruler: ruler.clone(),
            neighbour: None.into(),
            first: OnceLock::new(),
            roads: Vec::new().into(),
            visits: visits.into(),
        })
    };
    let (york, ripon) = (town(3), town(4));
    *york.neighbour.write().unwrap() = Some(ripon.clone());
    *ripon.neighbour.write().unwrap() = Some(ripon.clone());
    york.roads.lock().unwrap().extend([(1, None), (2, Some(york.clone()))]);
    york.first.set(Rc::downgrade(&ruler)).unwrap();
    ruler.borrow_mut().town = Some(york.clone());
    ruler.borrow_mut().towns = vec![ripon, york.clone()];
    for from_ruler in [false, true] {
        let loaded = if from_ruler { reload(&ruler) } else { reload(&york) };
        assert_eq!(loaded.len(), 4);
        let york = if from_ruler {
            loaded.first::<Ruler>().unwrap().borrow().town.clone().unwrap()
        } else {
            loaded.first_pointer::<Arc<Town>>().unwrap()
        };
        let ruler = york.ruler.clone();
        assert!(Arc::ptr_eq(ruler.borrow().town.as_ref().unwrap(), &york));
        assert!(Arc::ptr_eq(&ruler.borrow().towns[1], &york));
        assert!(Rc::ptr_eq(&york.first.get().unwrap().upgrade().unwrap(), &ruler));
        let ripon = york.neighbour.read().unwrap().clone().unwrap();
        assert!(Arc::ptr_eq(&ripon, &ruler.borrow().towns[0]));
        assert!(Arc::ptr_eq(&ripon, ripon.neighbour.read().unwrap().as_ref().unwrap()));
        assert!(Arc::ptr_eq(york.roads.lock().unwrap()[1].1.as_ref().unwrap(), &york));
        assert!(
            Rc::ptr_eq(&york.name, &ripon.name) && Rc::ptr_eq(&york.name, &ruler.borrow().name)
        );
        assert_eq!((york.visits.get(), ripon.visits.get(), &*york.name), (3, 4, "York"));
        loaded.dismantle();
        drop((york, ripon));
        assert_eq!(Rc::strong_count(&ruler), 1);
    }
    york.neighbour.write().unwrap().take();
    york.roads.lock().unwrap().clear();
    ruler.borrow_mut().towns[0].neighbour.write().unwrap().take();
    ruler.borrow_mut().towns.clear();
    ruler.borrow_mut().town.take();
}

#[derive(Persist)]
struct Once {
    id: u8,
    next: OnceCell<Rc<Once>>,
    up: OnceCell<Weak<Once>>,
    held: OnceCell<Held>,
}

/// Holds pointers by value, in a cell that can be set once.
#[derive(Persist)]
struct Held {
    all: Vec<Rc<Once>>,
    cell: RefCell<Option<Rc<Once>>>,
    inner: OnceCell<Rc<Once>>,
}

fn once(id: u8) -> Rc<Once> {
    Rc::new(Once { id, next: OnceCell::new(), up: OnceCell::new(), held: OnceCell::new() })
}

#[test]
fn cells_that_are_set_once_lead_up_and_down() {
    let (top, low, lowest) = (once(1), once(2), once(3));
    assert!(top.next.set(low.clone()).is_ok() && low.next.set(lowest.clone()).is_ok());
    low.up.set(Rc::downgrade(&top)).unwrap();
    lowest.up.set(Rc::downgrade(&low)).unwrap();
    let held = Held {
        all: vec![low.clone(), lowest.clone()],
        cell: Some(top.clone()).into(),
        inner: lowest.into(),
    };
    assert!(top.held.set(held).is_ok());
    let loaded = reload(&top);
    assert!(loaded.report().is_clean());
    let back = loaded.first_pointer::<Rc<Once>>().unwrap();
    let low = back.next.get().unwrap();
    let lowest = low.next.get().unwrap();
    assert_eq!((back.id, low.id, lowest.id), (1, 2, 3));
    assert!(Rc::ptr_eq(&low.up.get().unwrap().upgrade().unwrap(), &back));
    assert!(Rc::ptr_eq(&lowest.up.get().unwrap().upgrade().unwrap(), low));
    let held = back.held.get().unwrap();
    assert!(Rc::ptr_eq(&held.all[0], low) && Rc::ptr_eq(&held.all[1], lowest));
    assert!(Rc::ptr_eq(held.cell.borrow().as_ref().unwrap(), &back));
    assert!(Rc::ptr_eq(held.inner.get().unwrap(), lowest));
    assert!(back.up.get().is_none() && low.held.get().is_none());
    // The circle goes through the cell in `held`, which can be emptied.
    assert_eq!(loaded.strong_cycles(), [vec![ObjectId::new(1).unwrap()]]);
    let gone = Rc::downgrade(lowest);
    drop(back);
    loaded.dismantle();
    assert!(gone.upgrade().is_none());
    top.held.get().unwrap().cell.take();
}

#[test]
fn a_circle_of_cells_that_are_set_once_comes_back() {
    // Nothing can cut it; the test leaks two of each.
    let (one, two) = (once(1), once(2));
    assert!(one.next.set(two.clone()).is_ok() && two.next.set(one.clone()).is_ok());
    let loaded = reload(&one);
    assert_eq!(loaded.strong_cycles().len(), 1);
    let one = loaded.first_pointer::<Rc<Once>>().unwrap();
    let two = one.next.get().unwrap();
    assert_eq!((one.id, two.id), (1, 2));
    assert!(Rc::ptr_eq(two.next.get().unwrap(), &one));
}

#[test]
fn an_object_that_is_a_cell_set_once_leads_to_itself() {
    #[derive(Persist)]
    struct Loop {
        me: Option<Weak<OnceCell<Loop>>>,
        strong: Option<Rc<OnceCell<Loop>>>,
    }
    let cell = Rc::new(OnceCell::new());
    let other = Rc::new(OnceCell::new());
    assert!(other.set(Loop { me: None, strong: None }).is_ok());
    let me = Loop { me: Some(Rc::downgrade(&cell)), strong: Some(other) };
    assert!(cell.set(me).is_ok());
    let loaded = reload(&cell);
    let back = loaded.first_pointer::<Rc<OnceCell<Loop>>>().unwrap();
    let me = back.get().unwrap();
    assert!(Rc::ptr_eq(&me.me.as_ref().unwrap().upgrade().unwrap(), &back));
    assert!(me.strong.as_ref().unwrap().get().is_some_and(|other| other.me.is_none()));
    assert!(loaded.strong_cycles().is_empty());
}

#[derive(Persist)]
struct Gadget {
    me: Weak<Gadget>,
    parts: Vec<Rc<Gadget>>,
}

#[test]
fn a_circle_without_a_cell_is_refused_when_it_is_saved() {
    let own = Rc::new_cyclic(|me| Gadget { me: me.clone(), parts: vec![] });
    let up = Rc::new_cyclic(|me: &Weak<Gadget>| Gadget {
        me: Weak::new(),
        parts: vec![Rc::new(Gadget { me: me.clone(), parts: vec![] })],
    });
    for (gadget, length) in [(own, 1), (up, 2)] {
        let mut manager = SaveManager::new();
        manager.add(&gadget).unwrap();
        let error = manager.to_vec().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.class(), Some("Gadget"));
        let start = match length {
            1 => "an object without a cell, a Gadget, leads to itself",
            _ => "2 objects without a cell, one of them a Gadget, lead to each other",
        };
        assert!(error.message().starts_with(start), "{error}");
    }
    // What leads on only, weakly too, is well.
    let last = Rc::new(Gadget { me: Weak::new(), parts: vec![] });
    let first = Rc::new(Gadget { me: Rc::downgrade(&last), parts: vec![last] });
    let loaded = reload(&first);
    let first = loaded.first_pointer::<Rc<Gadget>>().unwrap();
    assert!(Rc::ptr_eq(&first.me.upgrade().unwrap(), &first.parts[0]));
}

thread_local! {
    static RAN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static ACCEPTS_BAD: Cell<bool> = const { Cell::new(false) };
}

fn ran(what: String) {
    RAN.with_borrow_mut(|all| all.push(what));
}

#[derive(Persist)]
#[persist(validate = Item::check, after_load = Item::wake)]
struct Item {
    name: String,
    part: Option<Rc<Item>>,
    cell: RefCell<Option<Inner>>,
    once: OnceCell<Inner>,
    #[persist(skip)]
    length: usize,
}

#[derive(Persist)]
#[persist(validate = Inner::check, after_load = Inner::wake)]
struct Inner {
    owner: Weak<Item>,
    #[persist(skip)]
    awake: bool,
}

impl Item {
    fn check(&self) -> Result<(), &'static str> {
        ran(format!("check {}", self.name));
        if self.name == "bad" && !ACCEPTS_BAD.get() { Err("a bad name") } else { Ok(()) }
    }

    fn wake(&mut self) {
        // What is without a cell is there already.
        let part = self.part.as_ref().map_or(0, |part| part.length);
        self.length = self.name.len() + part;
        ran(format!("wake {}", self.name));
    }
}

impl Inner {
    fn check(&self) {
        ran(format!("check of {}", self.owner.upgrade().unwrap().name));
    }

    fn wake(&mut self) {
        self.awake = true;
        ran(format!("wake of {}", self.owner.upgrade().unwrap().name));
    }
}

fn item(name: &str, part: Option<Rc<Item>>) -> Rc<Item> {
    let cell = RefCell::new(None);
    let item = Rc::new(Item { name: name.into(), part, cell, once: OnceCell::new(), length: 0 });
    *item.cell.borrow_mut() = Some(Inner { owner: Rc::downgrade(&item), awake: false });
    let inner = Inner { owner: Rc::downgrade(&item), awake: false };
    assert!(item.once.set(inner).is_ok());
    item
}

#[test]
fn hooks_run_once_and_see_what_is_connected() {
    RAN.take();
    let root = item("outer", Some(item("in", None)));
    let save = saved(&root);
    let twice = |what: &str| [what.to_owned(), what.to_owned()];
    let checks = [
        vec!["check in".to_owned()],
        twice("check of in").to_vec(),
        twice("check of outer").to_vec(),
        vec!["check outer".to_owned()],
    ]
    .concat();
    let mut ran = RAN.take();
    ran.sort();
    assert_eq!(ran, checks);
    let loaded = manager::<Rc<Item>>().from_slice(&save).unwrap();
    let outer = loaded.first_pointer::<Rc<Item>>().unwrap();
    assert_eq!((outer.length, outer.part.as_ref().unwrap().length), (7, 2));
    assert!(outer.cell.borrow().as_ref().unwrap().awake && outer.once.get().unwrap().awake);
    let mut ran = RAN.take();
    // The part is made before what holds it.
    let wakes: Vec<_> = ran.iter().filter(|what| what.starts_with("wake ")).collect();
    assert_eq!(wakes[..2], ["wake in", "wake outer"]);
    ran.sort();
    let expected = [
        checks,
        vec!["wake in".to_owned()],
        twice("wake of in").to_vec(),
        twice("wake of outer").to_vec(),
        vec!["wake outer".to_owned()],
    ];
    assert_eq!(ran, expected.concat());
}

#[test]
fn an_object_without_a_cell_may_be_refused_by_its_validate() {
    let mut manager = SaveManager::new();
    manager.add(&item("outer", Some(item("bad", None)))).unwrap();
    ACCEPTS_BAD.set(true);
    let save = manager.to_vec().unwrap();
    ACCEPTS_BAD.set(false);
    for refused in [manager.from_slice(&save).map(drop), manager.to_vec().map(drop)] {
        let error = refused.unwrap_err();
        assert_eq!((error.kind(), error.object()), (ErrorKind::Refused, Some(2)));
        assert_eq!(error.message(), "`validate` of Item refused: a bad name");
    }
}

#[derive(Persist)]
#[persist(before_save = Tidy::tidy)]
struct Tidy(u8);

impl Tidy {
    fn tidy(&mut self) {
        self.0 += 1;
    }
}

#[test]
fn a_hook_that_needs_to_change_an_object_without_a_cell_is_refused() {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(Tidy(1))).unwrap();
    let error = manager.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().starts_with("`before_save` of Tidy needs `&mut`"), "{error}");
}
