//! Objects that refer to one another: who they are, how they are saved and how
//! they come back.

mod components;
mod connect;
mod handles;
mod identity;
mod ids;
mod kept;
mod links;
mod load;
mod outcome;
mod passes;
mod pending;
mod registry;
mod resolve;
mod save;
mod table;
mod targets;

pub use registry::{Counted, Registry};

pub(crate) use components::Edges;
pub(crate) use connect::Emptying;
pub(crate) use load::Loader;
pub(crate) use outcome::{LoadedObject, LoadedObjects, Outcome};
pub(crate) use registry::Implementors;
pub(crate) use save::Saver;
pub(crate) use targets::Targets;

use std::fmt;
use std::num::NonZeroU64;

/// The number by which a save knows an object; never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(NonZeroU64);

impl ObjectId {
    /// The id with this number, unless it is 0.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({})", self.0)
    }
}
