//! A trait object in an `Option` became `None` when a class inside of it was not
//! registered, with the rest of its bytes still to be read.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{ErrorKind, Persist, SaveManager};

#[persist::dynamic]
trait Outer {}

#[persist::dynamic]
trait Inner {}

#[derive(Persist)]
struct Gem {
    worth: u32,
}

impl Inner for Gem {}

#[derive(Persist)]
struct Other {
    worth: u32,
}

impl Inner for Other {}

#[derive(Persist)]
struct Ring {
    twin: Rc<RefCell<Other>>,
    gem: Box<dyn Inner>,
    carved: u8,
}

impl Outer for Ring {}

#[derive(Persist)]
struct Hand {
    ring: Option<Box<dyn Outer>>,
    glove: Rc<RefCell<Other>>,
    fingers: Vec<u8>,
}

#[test]
fn an_option_is_not_none_for_what_is_inside_of_its_value() {
    let other = |worth| Rc::new(RefCell::new(Other { worth }));
    let ring = Ring { twin: other(1), gem: Box::new(Gem { worth: 7 }), carved: 2 };
    let hand = Hand { ring: Some(Box::new(ring)), glove: other(2), fingers: vec![9] };
    let mut manager = SaveManager::new();
    manager.register_as::<Ring, dyn Outer>().expect("the class");
    manager.register_as::<Gem, dyn Inner>().expect("the class");
    manager.add(&Rc::new(RefCell::new(hand))).expect("the hand");
    let save = manager.to_vec().expect("a save");

    let manager = SaveManager::new();
    manager.register::<Hand>().expect("the class");
    manager.register_as::<Ring, dyn Outer>().expect("the class");
    manager.register_as::<Other, dyn Inner>().expect("the class");
    let error = manager.from_slice(&save).map(drop).expect_err("a class that is not there");
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    assert!(error.message().starts_with("class Gem is not registered for trait Inner"), "{error}");
    assert_eq!(error.field(), Some("ring.gem"));
}
