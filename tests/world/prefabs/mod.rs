//! Parts of a world as values: copied, put into worlds, saved.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod copies;
mod files;
mod hostile;
mod ids;
mod placing;
mod random;
mod unknown;

use std::sync::{Arc, Mutex};

use persist::{Component, ObjectId, Persist, Saves, World};

/// Leads to objects.
#[derive(Persist, Clone, Debug, PartialEq)]
struct Target {
    whom: ObjectId,
    next: Option<ObjectId>,
}

impl Component for Target {}

/// A shared target; equal to one that leads to the same.
#[derive(Persist, Clone, Debug)]
#[persist(transparent)]
struct Locked(Arc<Mutex<Target>>);

impl Locked {
    fn new(target: Target) -> Self {
        Self(Arc::new(Mutex::new(target)))
    }

    fn target(&self) -> Target {
        self.0.lock().expect("nobody panicked").clone()
    }
}

impl PartialEq for Locked {
    fn eq(&self, other: &Self) -> bool {
        self.target() == other.target()
    }
}

/// The dead id that an id becomes when it is cleared.
fn dead(id: ObjectId) -> ObjectId {
    let dead = ObjectId::new(id.get() | 1 << 63).unwrap();
    assert!(dead.is_dead());
    dead
}

/// All that a save has of a world.
fn bytes(world: &World) -> Vec<u8> {
    Saves::new().to_vec(world).unwrap()
}
