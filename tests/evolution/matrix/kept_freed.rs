//! What is kept is freed: circles and long chains, which nobody else could take apart.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use persist::{Persist, SaveManager};

use super::harness::{LENIENT, Shared, load, manager, save, shared, try_load};
use super::kept::through;

#[derive(Persist)]
#[persist(class = "Case")]
struct Linked {
    number: u8,
    next: Option<Shared<Node>>,
}

#[derive(Persist)]
struct Node {
    next: Option<Shared<Node>>,
    back: Weak<RefCell<Node>>,
}

thread_local! {
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

#[derive(Persist, Default)]
#[persist(class = "Case", empty = Self::default())]
struct Counted {
    number: u8,
    #[persist(skip)]
    _alive: Alive,
}

struct Alive;

impl Default for Alive {
    fn default() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

/// A circle that is kept, and leads back to an object that the program has.
#[derive(Persist)]
#[persist(class = "Case")]
struct Circle {
    number: u8,
    ring: Option<Shared<Ring>>,
}

#[derive(Persist)]
struct Ring {
    next: Option<Shared<Ring>>,
    owner: Option<Shared<Circle>>,
}

fn circle() -> Vec<u8> {
    let case = shared(Circle { number: 3, ring: None });
    let ring = |next| shared(Ring { next, owner: Some(case.clone()) });
    let last = ring(None);
    let first = ring(Some(ring(Some(last.clone()))));
    last.borrow_mut().next = Some(first.clone());
    case.borrow_mut().ring = Some(first);
    let mut manager = SaveManager::new();
    manager.add(&case).unwrap();
    let save = manager.to_vec().unwrap();
    last.borrow_mut().next = None;
    case.borrow_mut().ring = None;
    save
}

#[test]
fn kept_circles_are_freed() {
    let save = circle();
    {
        let loaded = manager::<Counted>(LENIENT).from_slice(&save).unwrap();
        assert_eq!(loaded.first::<Counted>().unwrap().borrow().number, 3);
        loaded.dismantle();
    }
    assert_eq!(ALIVE.get(), 0, "dismantled");
    {
        let manager = manager::<Counted>(LENIENT);
        let loaded = manager.from_slice(&save).unwrap();
        let again = loaded.to_vec().unwrap();
        let (case, _) = load::<Circle>(&again);
        let ring = case.borrow_mut().ring.take().unwrap();
        assert!(Rc::ptr_eq(ring.borrow().owner.as_ref().unwrap(), &case));
        let third = ring.borrow().next.as_ref().unwrap().borrow().next.clone().unwrap();
        assert!(Rc::ptr_eq(third.borrow().next.as_ref().unwrap(), &ring));
        third.borrow_mut().next = None;
        drop(loaded);
        assert_eq!(ALIVE.get(), 0, "the saved list is dropped");
        let _loaded = manager.from_slice(&save).unwrap();
        drop(manager);
        assert!(ALIVE.get() > 0, "the manager of the load is dropped");
    }
    assert_eq!(ALIVE.get(), 0, "the loaded list is dropped");
    {
        let loaded = manager::<Counted>(LENIENT).from_slice(&save).unwrap();
        drop(loaded);
    }
    assert_eq!(ALIVE.get(), 0, "dropped");
    {
        let manager = manager::<Counted>(LENIENT);
        let mut loaded = manager.from_slice(&save).unwrap();
        assert!(loaded.to_vec().is_ok());
        loaded = manager.from_slice(&save).unwrap();
        assert!(loaded.to_vec().is_ok());
    }
    assert_eq!(ALIVE.get(), 0, "replaced by another load");
}

#[test]
fn a_failed_load_frees_what_it_kept() {
    #[derive(Persist, Default)]
    #[persist(class = "Case", validate = Strict::never, empty = Self::default())]
    struct Strict {
        number: u8,
        #[persist(skip)]
        _alive: Alive,
    }
    impl Strict {
        fn never(&self) -> Result<(), &'static str> {
            if self.number == 3 { Err("never") } else { Ok(()) }
        }
    }
    assert!(try_load::<Strict>(&circle(), LENIENT).is_err());
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn a_long_kept_chain_comes_and_goes() {
    let mut next = None;
    for _ in 0..20_000 {
        let node = shared(Node { next: None, back: Weak::new() });
        if let Some(old) = &next {
            Node::link(&node, old);
        }
        next = Some(node);
    }
    let save = save(Linked { number: 1, next: next.clone() });
    #[derive(Persist)]
    #[persist(class = "Case")]
    struct Case {
        number: u8,
    }
    let again = through::<Case>(save, 2, |case| assert_eq!(case.number, 1));
    let loaded = manager::<Linked>(LENIENT).from_slice(&again).unwrap();
    assert_eq!(loaded.len(), 20_001);
    assert_eq!(loaded.first::<Linked>().unwrap().borrow().number, 1);
    loaded.dismantle();
    while let Some(node) = next {
        next = node.borrow_mut().next.take();
    }
}

impl Node {
    fn link(node: &Shared<Self>, next: &Shared<Self>) {
        next.borrow_mut().back = Rc::downgrade(node);
        node.borrow_mut().next = Some(next.clone());
    }
}
