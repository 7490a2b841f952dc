//! Objects that lead to one another, however many, need no stack: not to be saved or
//! loaded, not when they are freed, and not when their load fails. All in threads
//! of 256 KiB, as consoles give.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::save::SharedPointer;
use persist::{ErrorKind, Persist, SaveManager};

/// So many that a call for each would need far more stack than there is.
const LENGTH: u32 = if cfg!(debug_assertions) { 60_000 } else { 1_000_000 };

thread_local! {
    static ALIVE: Cell<i64> = const { Cell::new(0) };
    static REFUSE: Cell<Option<Stage>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Validate,
    AfterLoad,
}

/// Counts itself.
struct Token;

impl Token {
    fn new() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

fn in_a_small_thread(run: fn()) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

/// The bytes of what a pointer leads to, and nothing else left of it.
fn save<Q: SharedPointer>(root: &Q) -> Vec<u8> {
    let mut manager = SaveManager::new();
    manager.add(root).unwrap();
    manager.to_vec().unwrap()
}

fn manager<Q: SharedPointer>() -> SaveManager {
    let manager = SaveManager::new();
    manager.saves().register_pointer::<Q>().unwrap();
    manager
}

/// Loads that fail, and one that is taken apart.
fn come_and_go<Q: SharedPointer + Persist>(save: &[u8], objects: usize) {
    let manager = manager::<Q>();
    for stage in [Stage::Validate, Stage::AfterLoad] {
        REFUSE.set(Some(stage));
        let error = manager.from_slice(save).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert_eq!(ALIVE.get(), 0, "after a failure in {stage:?}");
    }
    REFUSE.set(None);
    // The last record is cut off from its first byte: the fill fails.
    let broken = broken(save);
    assert!(manager.from_slice(&broken).is_err());
    assert_eq!(ALIVE.get(), 0, "after a failure in the fill");
    let loaded = manager.from_slice(save).unwrap();
    assert_eq!((loaded.len(), ALIVE.get()), (objects, i64::try_from(objects).unwrap()));
    let weak = loaded.first_pointer::<Q>().unwrap();
    drop(weak);
    loaded.dismantle();
    assert_eq!(ALIVE.get(), 0, "after it was taken apart");
    // What nobody holds is freed with the `Loaded`.
    drop(manager.from_slice(save).unwrap());
    assert_eq!(ALIVE.get(), 0, "after it was dropped");
}

/// The save with a `bool` in its last record that is neither true nor false.
fn broken(save: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(save[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 16 + word(12) + 4;
    let end = loop {
        let end = at + 5 + word(at + 1);
        // The definitions once more, or the trailer.
        if save[end + 4] != 1 {
            break end;
        }
        at = end + 4;
    };
    let mut broken = save.to_vec();
    // Of the last record: the flag, the references, the separator.
    let last = (at..end - 2).rev().find(|at| save[*at..*at + 2] == MARK).unwrap();
    broken[last + 2] = 9;
    let sum = crc32fast::hash(&broken[at..end]).to_le_bytes();
    broken[end..end + 4].copy_from_slice(&sum);
    broken
}

const MARK: [u8; 2] = [0xab, 0xcd];

fn check(last: bool) -> Result<(), &'static str> {
    if last && REFUSE.get() == Some(Stage::Validate) { Err("not valid") } else { Ok(()) }
}

fn wake(last: bool) -> Result<(), &'static str> {
    if last && REFUSE.get() == Some(Stage::AfterLoad) { Err("not awake") } else { Ok(()) }
}

macro_rules! node {
    ($name:ident { $($field:ident: $ty:ty),+ }) => {
        #[derive(Persist)]
        #[persist(validate = $name::check, after_load = $name::wake)]
        struct $name {
            mark: [u8; 2],
            last: bool,
            $($field: $ty,)+
            #[persist(skip, default = Token::new())]
            _token: Token,
        }

        impl $name {
            fn check(&self) -> Result<(), &'static str> {
                check(self.last)
            }

            fn wake(&mut self) -> Result<(), &'static str> {
                wake(self.last)
            }
        }
    };
}

node! { Open { next: Option<Rc<RefCell<Open>>>, back: Weak<RefCell<Open>> } }

#[test]
fn a_chain_in_cells() {
    in_a_small_thread(|| {
        let make = |last: bool, next: Option<Rc<RefCell<Open>>>| {
            let node = Open { mark: MARK, last, next, back: Weak::new(), _token: Token::new() };
            Rc::new(RefCell::new(node))
        };
        let mut first = make(true, None);
        for _ in 1..LENGTH {
            let node = make(false, Some(first.clone()));
            first.borrow_mut().back = Rc::downgrade(&node);
            first = node;
        }
        let save = save(&first);
        let mut rest = Some(first);
        while let Some(node) = rest {
            rest = node.borrow_mut().next.take();
        }
        assert_eq!(ALIVE.get(), 0);
        come_and_go::<Rc<RefCell<Open>>>(&save, LENGTH as usize);
    });
}

#[test]
fn a_ring_in_cells() {
    in_a_small_thread(|| {
        let all: Vec<_> = (0..LENGTH / 4)
            .map(|i| {
                let last = i == LENGTH / 4 - 1;
                let back = Weak::new();
                let node = Open { mark: MARK, last, next: None, back, _token: Token::new() };
                Rc::new(RefCell::new(node))
            })
            .collect();
        for (i, node) in all.iter().enumerate() {
            node.borrow_mut().next = Some(all[(i + 1) % all.len()].clone());
        }
        let save = save(&all[0]);
        all.iter().for_each(|node| node.borrow_mut().next = None);
        drop(all);
        // Only `dismantle` frees a circle.
        let manager = manager::<Rc<RefCell<Open>>>();
        for stage in [Stage::Validate, Stage::AfterLoad] {
            REFUSE.set(Some(stage));
            assert!(manager.from_slice(&save).is_err());
            assert_eq!(ALIVE.get(), 0, "after a failure in {stage:?}");
        }
        REFUSE.set(None);
        let loaded = manager.from_slice(&save).unwrap();
        assert_eq!(loaded.strong_cycles()[0].len(), LENGTH as usize / 4);
        let kept = loaded.first::<Open>().unwrap();
        loaded.dismantle();
        assert!(kept.borrow().next.is_none());
        drop(kept);
        assert_eq!(ALIVE.get(), 0);
    });
}

node! { Bare { next: Option<Rc<Bare>>, extra: Vec<Rc<Bare>> } }

#[test]
fn a_chain_without_cells() {
    in_a_small_thread(|| {
        let node = |last: bool, next: Option<Rc<Bare>>| {
            Rc::new(Bare { mark: MARK, last, next, extra: Vec::new(), _token: Token::new() })
        };
        let mut all = vec![node(true, None)];
        for i in 1..LENGTH as usize {
            all.push(node(false, Some(all[i - 1].clone())));
        }
        let save = save(&all[all.len() - 1]);
        // Each while the one that it holds is held here.
        while all.pop().is_some() {}
        assert_eq!(ALIVE.get(), 0);
        come_and_go::<Rc<Bare>>(&save, LENGTH as usize);
    });
}

node! { Tree { up: RefCell<Weak<Tree>>, down: RefCell<Vec<Rc<Tree>>> } }

#[test]
fn a_tree_of_weak_parents() {
    const NODES: usize = 100_000;
    in_a_small_thread(|| {
        let all: Vec<Rc<Tree>> = (0..NODES)
            .map(|i| {
                let (up, down) = (Weak::new().into(), Vec::new().into());
                let _token = Token::new();
                Rc::new(Tree { mark: MARK, last: i == NODES - 1, up, down, _token })
            })
            .collect();
        // Deep on one side, wide on the other.
        for i in 1..NODES {
            let parent = if i < NODES / 2 { i - 1 } else { i - NODES / 2 };
            *all[i].up.borrow_mut() = Rc::downgrade(&all[parent]);
            all[parent].down.borrow_mut().push(all[i].clone());
        }
        let save = save(&all[0]);
        all.iter().for_each(|node| node.down.borrow_mut().clear());
        drop(all);
        come_and_go::<Rc<Tree>>(&save, NODES);
        let loaded = manager::<Rc<Tree>>().from_slice(&save).unwrap();
        let mut seen = 0;
        for node in loaded.pointers::<Rc<Tree>>() {
            for child in node.down.borrow().iter() {
                assert!(Rc::ptr_eq(&child.up.borrow().upgrade().unwrap(), &node));
                seen += 1;
            }
        }
        assert_eq!(seen, NODES - 1);
        loaded.dismantle();
        assert_eq!(ALIVE.get(), 0);
    });
}

node! { Mixed { bare: Option<Arc<Mixed>>, cell: Option<Arc<Mutex<Mixed>>> } }

#[test]
#[allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]
fn a_chain_with_and_without_cells_in_turn() {
    in_a_small_thread(|| {
        let node = |last: bool, bare: Option<Arc<Mixed>>, cell: Option<Arc<Mutex<Mixed>>>| Mixed {
            mark: MARK,
            last,
            bare,
            cell,
            _token: Token::new(),
        };
        let mut cell = Arc::new(Mutex::new(node(true, None, None)));
        let mut all = vec![cell.clone()];
        for _ in 1..LENGTH / 4 {
            let bare = Arc::new(node(false, None, Some(cell)));
            cell = Arc::new(Mutex::new(node(false, Some(bare), None)));
            all.push(cell.clone());
        }
        let save = save(&cell);
        drop(cell);
        while let Some(cell) = all.pop() {
            cell.lock().unwrap().bare = None;
        }
        assert_eq!(ALIVE.get(), 0);
        come_and_go::<Arc<Mutex<Mixed>>>(&save, LENGTH as usize / 2 - 1);
    });
}
