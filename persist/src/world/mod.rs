//! Objects made of components, with names, a tree and a life cycle.
//!
//! A [`World`] keeps the components of each type in a column of its own, in the order of the ids of their
//! objects, which is the order in which those were made.

mod any_component;
mod attach;
mod bytes;
mod change;
mod children;
mod classes;
mod column;
mod commands;
mod compare;
mod component;
mod cursor;
mod directory;
mod field_links;
mod fields;
mod fragment;
mod hierarchy;
mod load;
mod names;
mod object;
mod parked;
mod part;
mod path;
mod paths;
mod phases;
mod prefab;
mod prints;
mod query;
mod recorded;
mod references;
mod resources;
mod stored;
mod taken;
mod typed_path;
mod visit;
#[expect(clippy::module_inception, reason = "the room is named after what is in it")]
mod world;
mod zipped;

pub use attach::ComponentId;
pub(crate) use bytes::Bytes;
pub(crate) use change::{Element, Splice};
pub(crate) use compare::FieldChange;
#[doc(no_inline)]
pub use component::{Component, Context};
pub(crate) use field_links::FieldLinks;
pub(crate) use fields::Owner;
pub(crate) use fragment::Fragment;
pub use object::Activity;
#[doc(no_inline)]
pub use path::FieldPath;
pub use path::IntoFieldPath;
pub use prefab::{Outside, Prefab};
pub(crate) use prints::{Print, print_value};
pub use query::{Query, QueryIter, SharedQuery};
pub(crate) use recorded::{ByteChange, changed};
#[doc(no_inline)]
pub use references::Reference;
pub(crate) use taken::{
    ComponentContent, Replaced, ReplacedResources, ResourceContent, Taken, TakenResource,
};
#[doc(hidden)]
pub use typed_path::{Identifier, TypedPath};
#[doc(no_inline)]
pub use world::World;
