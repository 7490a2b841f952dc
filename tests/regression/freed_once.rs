//! What a `Loaded` freed was emptied once for each reference to it: a save of many
//! references to one object of a costly class was slow to drop.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use persist::{Persist, SaveManager};

thread_local! {
    static MADE: Cell<u32> = const { Cell::new(0) };
}

#[derive(Persist)]
struct Costly {
    next: Option<Rc<RefCell<Costly>>>,
    #[persist(skip, default = make())]
    cache: Vec<u8>,
}

fn make() -> Vec<u8> {
    MADE.set(MADE.get() + 1);
    vec![0; 1000]
}

#[derive(Persist)]
struct Crowd {
    all: Vec<Rc<RefCell<Costly>>>,
}

#[test]
fn an_object_is_freed_once_however_many_references_lead_to_it() {
    let one = Rc::new(RefCell::new(Costly { next: None, cache: make() }));
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(Crowd { all: vec![one; 1000] }))).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let costly = loaded.first::<Costly>().unwrap();
    assert_eq!((costly.borrow().next.is_none(), costly.borrow().cache.len()), (true, 1000));
    drop(costly);
    MADE.set(0);
    drop(loaded);
    assert_eq!(MADE.get(), 1);
}
