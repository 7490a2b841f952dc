//! Objects to which a loaded value no longer leads overflowed the stack when
//! they were freed, or leaked; so did a `Loaded` whose last object held a chain.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use persist::{Persist, SaveManager};

thread_local! {
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

#[derive(Persist)]
struct Link {
    next: Option<Rc<RefCell<Link>>>,
    #[persist(skip)]
    _counted: Counted,
}

struct Counted(());

impl Default for Counted {
    fn default() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

#[derive(Persist)]
#[persist(class = "Root")]
struct Old {
    kept: Option<Rc<RefCell<Link>>>,
    gone: Option<Rc<RefCell<Link>>>,
}

#[derive(Persist)]
#[persist(class = "Root")]
struct Root {
    kept: Option<Rc<RefCell<Link>>>,
}

/// A ring, its first link last.
fn ring(length: usize) -> Rc<RefCell<Link>> {
    let link = |next| Rc::new(RefCell::new(Link { next, _counted: Counted::default() }));
    let last = link(None);
    let first = (1..length).fold(last.clone(), |next, _| link(Some(next)));
    last.borrow_mut().next = Some(first.clone());
    first
}

fn cut(ring: &Rc<RefCell<Link>>) {
    let mut next = ring.borrow_mut().next.take();
    while let Some(link) = next {
        next = link.borrow_mut().next.take();
    }
}

#[test]
fn a_ring_behind_a_field_that_is_gone_is_freed() {
    let old = Old { kept: Some(ring(3)), gone: Some(ring(100_000)) };
    let save = persist::to_vec(&old).unwrap();
    old.kept.iter().chain(&old.gone).for_each(cut);
    drop(old);
    assert_eq!(ALIVE.get(), 0);

    let root: Root = persist::from_slice(&save).unwrap();
    assert_eq!(ALIVE.get(), 3);
    root.kept.iter().for_each(cut);
    drop(root);
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn a_chain_from_the_last_object_on_is_freed_in_a_small_thread() {
    let run = || {
        let mut manager = SaveManager::new();
        let mut last = None;
        for _ in 0..100_000 {
            let link = Rc::new(RefCell::new(Link { next: last, _counted: Counted::default() }));
            manager.add(&link).unwrap();
            last = Some(link);
        }
        let save = manager.to_vec().unwrap();
        cut(&last.unwrap());
        let saves = manager.saves().clone();
        drop(manager);
        assert_eq!(ALIVE.get(), 0);
        let loaded = saves.from_slice::<SaveManager>(&save).unwrap();
        assert_eq!(loaded.len(), 100_000);
        drop(loaded);
        assert_eq!(ALIVE.get(), 0);
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}
