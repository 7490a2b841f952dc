//! A panic of the program in the middle of a save left the generation of that save in the manager, and later saves
//! into memory had it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use persist::storage::Memory;
use persist::{Persist, SaveManager};

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
    let mut saves = SaveManager::new();
    saves.set_storage(Memory::default());
    saves.add(&bomb).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| saves.save("game.sav"))).is_err());
    bomb.borrow_mut().armed = false;
    let save = saves.to_vec().unwrap();
    assert_eq!(saves.from_slice(&save).unwrap().report().header().generation, 0);
}
