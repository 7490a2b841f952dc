//! A kept object with a weak reference was taken for a part of a circle: its
//! references were counted as those of the object that was written before.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use persist::{Persist, SaveManager, Unknown};

#[persist::dynamic(unknown = Missing)]
trait Item {}

#[derive(Persist)]
struct Missing {
    unknown: Unknown,
}

impl From<Unknown> for Missing {
    fn from(unknown: Unknown) -> Self {
        Self { unknown }
    }
}

impl AsRef<Unknown> for Missing {
    fn as_ref(&self) -> &Unknown {
        &self.unknown
    }
}

impl Item for Missing {}

#[derive(Persist)]
struct Curse {
    on: Weak<RefCell<Hero>>,
    word: Rc<str>,
}

#[derive(Persist)]
struct Amulet {
    curse: Rc<RefCell<Curse>>,
}

impl Item for Amulet {}

#[derive(Persist)]
struct Hero {
    word: Rc<str>,
    bag: Vec<Box<dyn Item>>,
}

#[test]
fn a_kept_object_is_not_taken_for_the_one_before_it() {
    let word: Rc<str> = "word".into();
    let hero = Rc::new(RefCell::new(Hero { word: word.clone(), bag: vec![] }));
    let curse = Rc::new(RefCell::new(Curse { on: Rc::downgrade(&hero), word }));
    hero.borrow_mut().bag.push(Box::new(Amulet { curse }));
    let mut with = SaveManager::new();
    with.register_as::<Amulet, dyn Item>().expect("the class");
    with.add(&hero).expect("the hero");
    let save = with.to_vec().expect("a save");

    let without = SaveManager::new();
    without.register::<Hero>().expect("the class");
    let loaded = without.from_slice(&save).expect("a load");
    let save = loaded.to_vec().expect("a save without the amulet's class");
    let loaded = with.from_slice(&save).expect("a load");
    let hero = loaded.first::<Hero>().expect("the hero");
    let curse = loaded.first::<Curse>().expect("the curse");
    assert!(Rc::ptr_eq(&curse.borrow().on.upgrade().expect("it is held"), &hero));
    assert!(Rc::ptr_eq(&curse.borrow().word, &hero.borrow().word));
}
