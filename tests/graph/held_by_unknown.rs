//! Chains that only unknown content holds are freed without a stack: with the load, when the content is given up, and when
//! the list is saved or changed. The objects need the context of their program to show what they hold.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use persist::{Persist, SaveManager, Saves};

const LENGTH: u32 = 60_000;

thread_local! {
    static ALIVE: Cell<u32> = const { Cell::new(0) };
}

/// What the programs know.
struct Items(u32);

mod item {
    use super::Items;

    pub(super) type Stored = u32;

    pub(super) fn store(item: &u32, items: &Items) -> u32 {
        *item + items.0
    }

    pub(super) fn restore(stored: u32, items: &Items) -> Result<u32, String> {
        stored.checked_sub(items.0).ok_or_else(|| "no such item".into())
    }
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

#[derive(Persist)]
struct Link {
    /// Stored before the pointer: without the context nothing of a link shows.
    #[persist(with = item, context = Items)]
    item: u32,
    next: Option<Rc<RefCell<Link>>>,
    #[persist(skip, default = Token::new())]
    _token: Token,
}

mod newer {
    use super::{Link, Persist, Rc, RefCell};

    #[derive(Persist)]
    pub(super) struct Game {
        pub(super) day: u32,
        pub(super) links: Vec<Rc<RefCell<Link>>>,
    }
}

#[derive(Persist)]
struct Game {
    day: u32,
}

fn chain() -> Rc<RefCell<Link>> {
    let mut last = None;
    for item in 0..LENGTH {
        let next = last.take();
        last = Some(Rc::new(RefCell::new(Link { item, next, _token: Token::new() })));
    }
    last.unwrap()
}

fn saves() -> Saves {
    let saves = Saves::new().context(Arc::new(Items(7)));
    saves.register::<Link>().unwrap();
    saves
}

/// The save of a newer program, in which only a field that is gone leads to a chain.
fn save(as_object: bool) -> Vec<u8> {
    let first = chain();
    let game = newer::Game { day: 3, links: vec![first.clone()] };
    let save = if as_object {
        let mut manager = saves().manager();
        manager.add(&Rc::new(RefCell::new(game))).unwrap();
        manager.to_vec().unwrap()
    } else {
        let save = saves().to_vec(&game).unwrap();
        drop(game);
        save
    };
    assert_eq!(cut(first), LENGTH);
    assert_eq!(ALIVE.get(), 0);
    save
}

/// Cuts a chain into its links, and returns how many there were.
fn cut(first: Rc<RefCell<Link>>) -> u32 {
    let mut next = Some(first);
    let mut links = 0;
    while let Some(link) = next {
        next = link.borrow_mut().next.take();
        links += 1;
    }
    links
}

fn in_a_small_thread(run: fn()) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

fn loaded_list(saves: &Saves, save: &[u8]) -> persist::Loaded<SaveManager> {
    saves.register::<Game>().unwrap();
    let loaded = saves.from_slice::<SaveManager>(save).unwrap();
    assert_eq!(ALIVE.get(), LENGTH);
    loaded
}

#[test]
fn of_a_value() {
    in_a_small_thread(|| {
        let (saves, save) = (saves(), save(false));
        let loaded = saves.from_slice::<Game>(&save).unwrap();
        assert_eq!((loaded.day, ALIVE.get()), (3, LENGTH));
        drop(loaded);
        assert_eq!(ALIVE.get(), 0, "after it was dropped");
        let game = saves.from_slice::<Game>(&save).unwrap().into_inner();
        assert_eq!((game.day, ALIVE.get()), (3, 0), "after the unknown content was given up");
    });
}

#[test]
fn of_a_list() {
    in_a_small_thread(|| {
        let (saves, save) = (saves(), save(true));
        drop(loaded_list(&saves, &save));
        assert_eq!(ALIVE.get(), 0, "after it was dropped");
        let list = loaded_list(&saves, &save).into_inner();
        assert_eq!(ALIVE.get(), 0, "after the unknown content was given up");
        assert_eq!(list.first::<Game>().unwrap().borrow().day, 3);
        let list = loaded_list(&saves, &save);
        let again = list.to_vec().unwrap();
        assert_eq!(ALIVE.get(), LENGTH, "a save lets go of nothing");
        drop(list);
        assert_eq!(ALIVE.get(), 0, "after it was saved and dropped");
        let saves = self::saves();
        saves.register::<newer::Game>().unwrap();
        let list = saves.from_slice::<SaveManager>(&again).unwrap();
        let first = list.first::<newer::Game>().unwrap().borrow_mut().links.pop().unwrap();
        drop(list);
        assert_eq!(cut(first), LENGTH);
    });
}

#[test]
fn of_an_object_that_goes() {
    in_a_small_thread(|| {
        let (saves, save) = (saves(), save(true));
        let mut list = loaded_list(&saves, &save);
        let id = list.ids().next().unwrap();
        assert!(list.remove(id));
        list.add(&Rc::new(RefCell::new(Game { day: 4 }))).unwrap();
        list.to_vec().unwrap();
        assert_eq!(ALIVE.get(), 0, "after the object that leads to them has gone");
    });
}
