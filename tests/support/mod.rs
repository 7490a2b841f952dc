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
pub mod host;
pub mod items;
pub mod paged;
pub mod shapes;
pub mod slot_store;

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::Registry;
use persist::{Persist, Record, Value};

/// True with `PERSIST_LONG_TESTS=1`: tests that have a long form take it.
pub fn is_long() -> bool {
    std::env::var_os("PERSIST_LONG_TESTS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// How much a test does: in every run, and in a long campaign.
pub fn short_or_long<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

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

/// The parent of an object in the save of a world, and the index of the object there.
#[must_use]
pub fn parent(object: u64, index: u32) -> Value {
    let mut parent = Record::new("persist.Parent");
    parent.push("object", object.into());
    parent.push("index", index.into());
    Value::Option(Some(Box::new(parent.into())))
}

/// Bytes that all entries of a history take.
#[must_use]
pub fn bytes<T: 'static>(history: &persist::History<T>) -> usize {
    history.entries().map(|entry| entry.bytes).sum()
}
