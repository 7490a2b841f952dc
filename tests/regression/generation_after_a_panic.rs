//! A panic of the program in the middle of a save left the generation of that save in the manager, and later saves
//! into memory had it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use persist::storage::Memory;
use persist::{Persist, Saves};

#[derive(Persist)]
#[persist(before_save = check)]
struct Bomb {
    armed: bool,
}

fn check(bomb: &mut Bomb) {
    assert!(!bomb.armed, "as it was told to");
}

#[test]
fn a_save_into_memory_has_no_generation_after_a_panic() {
    let bomb = Rc::new(RefCell::new(Bomb { armed: true }));
    let mut manager = Saves::new().storage(Memory::default()).manager();
    manager.add(&bomb).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| manager.save("game.sav"))).is_err());
    bomb.borrow_mut().armed = false;
    let save = manager.to_vec().unwrap();
    assert_eq!(manager.from_slice(&save).unwrap().report().header().generation, 0);
}
