//! A weak pointer to an object that is a value in the newer program dangled, and no report said so.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use persist::save::LoadEvent;
use persist::{Persist, SaveManager};

#[derive(Persist)]
struct Boss {
    health: u32,
}

mod old {
    use super::{Boss, Persist, Rc, RefCell, Weak};

    #[derive(Persist)]
    #[persist(class = "Game")]
    pub(super) struct Game {
        pub(super) boss: Rc<RefCell<Boss>>,
        pub(super) target: Weak<RefCell<Boss>>,
    }
}

#[derive(Persist)]
struct Game {
    boss: Boss,
    target: Weak<RefCell<Boss>>,
}

#[test]
fn a_weak_pointer_to_an_object_that_became_a_value_is_reported() {
    let boss = Rc::new(RefCell::new(Boss { health: 7 }));
    let target = Rc::downgrade(&boss);
    let game = Rc::new(RefCell::new(old::Game { boss, target }));
    let mut manager = SaveManager::new();
    manager.add(&game).unwrap();
    let save = manager.to_vec().unwrap();

    let manager = SaveManager::new();
    manager.register::<Game>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let game = loaded.first::<Game>().unwrap();
    assert_eq!(game.borrow().boss.health, 7);
    assert!(game.borrow().target.upgrade().is_none());
    let dangling = loaded.report().rows().iter().find(|row| row.event == LoadEvent::Dangling);
    assert_eq!(dangling.map(|row| (&*row.class, row.count)), Some(("Game", 1)));
}
