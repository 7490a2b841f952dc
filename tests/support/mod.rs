//! What the tests of several rooms need.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "it is part of the tests"
)]

pub mod disarranged;
pub mod disk;
pub mod fixture_types;
pub mod forge;
pub mod game;
pub mod shapes;

use std::cell::RefCell;
use std::rc::Rc;

use persist::Persist;
use persist::save::Registry;

/// An object, as programs usually hold it.
pub type Shared<T> = Rc<RefCell<T>>;

pub fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

/// A registry of one class and those that it leads to.
pub fn registry<T: Persist>() -> Registry {
    let mut registry = Registry::new();
    registry.register::<T>().unwrap();
    registry
}
