//! Objects made of components, with names, a tree and a life cycle.
//!
//! A [`World`] stores its objects by [`ObjectId`](crate::ObjectId), and each type of component in a column of its own.
//! Queries and updates visit the objects in the order in which they were spawned.
//!
//! ```
//! use persist::{Component, ObjectId, Persist, World};
//!
//! #[derive(Persist)]
//! struct Health(u32);
//! impl Component for Health {}
//!
//! let mut world = World::new();
//! let rat = world.spawn("Rat");
//! world.attach(rat, Health(3))?;
//! for (object, health) in world.query_mut::<(ObjectId, &mut Health)>()? {
//!     assert_eq!(object, rat);
//!     health.0 -= 1;
//! }
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`World`], [`Activity`] | spawns, changes, pauses and removes objects |
//! | [`Bundle`] | components that an object is spawned with |
//! | [`Component`], [`ComponentScope`] | a type that objects have, its `on_start`, `on_update` and other hooks |
//! | [`Query`] | iterates over the objects that have certain components |
//! | [`Reference`] | a field that holds the id of an object |
//! | [`FieldPath`](crate::FieldPath) | a field by its name: `Transform:position.x` |
//! | [`Prefab`], [`ExternalIds`], [`InstantiatedObject`] | an object with its descendants, copied and placed any number of times |

// A map of the files that are not public.
//
// - Data: `world` (the types), `object` and `children` (the tree), `names`, `column` and `directory` (values by
//   object), `resources`.
// - Use: `public` and `objects` (operations), `fields` (by path), `query` with `cursor`, `zipped` and `visit`
//   (iteration), `phases` (the life cycle), `references`, `bundle`.
// - Save: `saving` and `stored` with `head` (encode), `load` (decode), `prefab`.
// - Histories: `edits` and `change` (edits as data), `detached`, `parked` and `recorded` (what an undo brings back).
// - Tools: `untyped` (the world of a save, without its types).

mod bundle;
#[cfg(feature = "history")]
pub(crate) mod change;
pub(crate) mod children;
mod column;
mod cursor;
#[cfg(feature = "history")]
pub(crate) mod detached;
mod directory;
#[cfg(feature = "history")]
mod edits;
mod fields;
mod head;
mod load;
mod names;
mod object;
mod objects;
#[cfg(feature = "history")]
pub(crate) mod parked;
mod phases;
mod prefab;
mod public;
mod query;
#[cfg(feature = "history")]
mod recorded;
mod references;
mod resources;
mod saving;
mod stored;
mod visit;
#[expect(clippy::module_inception, reason = "the room is named after what is in it")]
pub(crate) mod world;
mod zipped;

pub use bundle::Bundle;
#[cfg(feature = "history")]
pub(crate) use change::WorldChange;
#[cfg(feature = "history")]
pub(crate) use detached::Detached;
pub use object::Activity;
pub use prefab::{ExternalIds, InstantiatedObject, Prefab};
pub use query::Query;

// The crate root re-exports these, and documents them there.
#[doc(hidden)]
pub use crate::fields::{
    Sendable,
    shared_name::{read_name, write_name},
};
#[doc(hidden)]
pub use {
    references::Reference,
    resources::assert_sendable,
    world::{Component, ComponentScope, World},
};
