//! A forgotten `register` read as if the save had no such object.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{Persist, SaveManager};

#[derive(Persist, Debug)]
struct World {
    turn: u32,
}

#[test]
fn a_forgotten_registration_is_named() {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(World { turn: 3 }))).unwrap();
    let save = manager.to_vec().unwrap();

    let loaded = SaveManager::new().from_slice(&save).unwrap();
    let error = loaded.first::<World>().unwrap_err();
    assert!(error.message().contains("were not made (1 World): register them"), "{error}");
    let world = manager.from_slice(&save).unwrap().first::<World>().unwrap();
    assert_eq!(world.borrow().turn, 3);
}
