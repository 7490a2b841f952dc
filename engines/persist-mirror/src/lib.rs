//! What `persist-hecs` and `persist-bevy` share: a [`World`](persist::World) that mirrors the world of an engine.
//!
//! This crate is not for programs: it changes with those two.
//!
//! An engine's entity is an object of the mirror, and each of its registered components a component there. A save of
//! the mirror is a save like any other, which all tools of `persist` read. It may be written on another thread, since
//! nothing in it belongs to the engine.
//!
//! | | |
//! | --- | --- |
//! | [`Mirror`] | the world, and which object stands for which entity |
//! | [`Target`] | the world itself, or an edit of it that a history records |
//! | [`Form`], [`Itself`], [`As`] | as what a component is kept |
//! | [`store`], [`restore`] | fields that hold entities, as ids of objects |

#![forbid(unsafe_code)]

mod entities;
mod form;
mod ids;
mod mirror;
mod target;

pub use entities::{restore, store};
pub use form::{As, Form, Itself};
pub use ids::{Entity, Ids};
pub use mirror::{Copies, Mirror, outward};
pub use target::{Recorded, Target};
