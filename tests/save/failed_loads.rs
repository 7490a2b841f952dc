//! A load that fails leaves nothing behind: no object of a half-made graph,
//! however its pointers go round, and no deep recursion while it is freed.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use persist::{Error, ErrorKind, Persist, SaveManager};
use persist_tests::support::Shared;

thread_local! {
    static ALIVE: Cell<i64> = const { Cell::new(0) };
    static MOOD: Cell<Mood> = const { Cell::new(Mood::Fine) };
}

#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Fine,
    Invalid,
    Angry,
}

/// Counts itself.
struct Token;

impl Token {
    fn new() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Token
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

#[derive(Persist)]
#[persist(validate = Ring::check, after_load = Ring::wake)]
struct Ring {
    last: bool,
    next: Option<Shared<Ring>>,
    back: Weak<RefCell<Ring>>,
    all: Vec<Shared<Ring>>,
    #[persist(skip, default = Token::new())]
    _token: Token,
}

impl Ring {
    fn new(last: bool) -> Shared<Self> {
        let ring =
            Self { last, next: None, back: Weak::new(), all: Vec::new(), _token: Token::new() };
        Rc::new(RefCell::new(ring))
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.last && MOOD.get() == Mood::Invalid { Err("not valid") } else { Ok(()) }
    }

    fn wake(&mut self) -> Result<(), &'static str> {
        if self.last && MOOD.get() == Mood::Angry { Err("not awake") } else { Ok(()) }
    }
}

const LENGTH: usize = 20_000;

/// The save of a ring, none of which is left.
fn ring(save: impl FnOnce(&Shared<Ring>) -> Vec<u8>) -> Vec<u8> {
    let all: Vec<_> = (0..LENGTH).map(|i| Ring::new(i == LENGTH - 1)).collect();
    for (i, one) in all.iter().enumerate() {
        let next = &all[(i + 1) % LENGTH];
        next.borrow_mut().back = Rc::downgrade(one);
        one.borrow_mut().next = Some(next.clone());
    }
    // The middle one knows some, itself among them.
    all[LENGTH / 2].borrow_mut().all = all[LENGTH / 2 - 5..LENGTH / 2 + 5].to_vec();
    let save = save(&all[0]);
    all.iter().for_each(cut);
    drop(all);
    assert_eq!(ALIVE.get(), 0);
    save
}

fn cut(one: &Shared<Ring>) {
    let mut one = one.borrow_mut();
    one.next = None;
    one.all.clear();
}

/// Runs where a recursion of a few thousand calls would not fit.
fn on_a_small_stack(run: fn()) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

fn assert_fails<T>(result: Result<T, Error>, mood: Mood) {
    let error = result.map(drop).expect_err("the load fails");
    let message = if mood == Mood::Invalid { "not valid" } else { "not awake" };
    assert!(error.message().ends_with(message), "{error}");
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn of_a_ring_of_objects() {
    on_a_small_stack(|| {
        let save = ring(|first| {
            let mut manager = SaveManager::new();
            manager.add(first).unwrap();
            manager.to_vec().unwrap()
        });
        let manager = SaveManager::new();
        manager.register::<Ring>().unwrap();
        for mood in [Mood::Invalid, Mood::Angry] {
            MOOD.set(mood);
            assert_fails(manager.from_slice(&save), mood);
        }
        // The count counts: a load that succeeds makes a ring.
        MOOD.set(Mood::Fine);
        let loaded = manager.from_slice(&save).unwrap();
        assert_eq!(ALIVE.get(), 20_000);
        loaded.iter::<Ring>().for_each(|one| cut(&one));
        drop(loaded);
        assert_eq!(ALIVE.get(), 0);
    });
}

#[test]
fn of_a_value_that_points_into_a_ring() {
    on_a_small_stack(|| {
        let save = ring(|first| persist::to_vec(&vec![first.clone(), first.clone()]).unwrap());
        for mood in [Mood::Invalid, Mood::Angry] {
            MOOD.set(mood);
            assert_fails(persist::from_slice::<Vec<Shared<Ring>>>(&save), mood);
        }
    });
}

#[test]
fn of_a_ring_with_a_wrong_byte() {
    on_a_small_stack(|| {
        let mut save = ring(|first| persist::to_vec(&vec![first.clone()]).unwrap());
        let whole: Vec<Shared<Ring>> = persist::from_slice(&save).unwrap();
        assert_eq!(ALIVE.get(), 20_000);
        let mut next = whole.first().cloned();
        drop(whole);
        while let Some(one) = next {
            next = one.borrow_mut().next.take();
            cut(&one);
        }
        assert_eq!(ALIVE.get(), 0);

        // The last record's `last` becomes neither true nor false. Blocks are
        // sealed again: tag, length, content, checksum.
        let mut at = 16 + word(&save, 12) + 4;
        let end = loop {
            let end = at + 5 + word(&save, at + 1);
            if save[end + 4] != 1 {
                break end;
            }
            at = end + 4;
        };
        let last = (at..end).rev().find(|at| save[*at..].starts_with(&[1, 1])).unwrap();
        save[last] = 2;
        let sum = crc32fast::hash(&save[at..end]).to_le_bytes();
        save[end..end + 4].copy_from_slice(&sum);
        let error = persist::from_slice::<Vec<Shared<Ring>>>(&save).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.field()), (ErrorKind::InvalidValue, Some("last")));
        assert_eq!(ALIVE.get(), 0);
    });
}

fn word(bytes: &[u8], at: usize) -> usize {
    let word = bytes[at..at + 4].try_into().expect("four bytes");
    usize::try_from(u32::from_le_bytes(word)).expect("a length")
}
