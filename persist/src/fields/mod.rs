//! Fields of values, by their paths: read, changed and compared, by the records of their classes.
//!
//! A [`FieldChange`] is what an edit records, what an undo reverts and what a journal keeps. It is made in any value
//! whose class a registry knows: a component or a resource of a world, or a document.

mod bytes;
mod change;
mod compare;
mod diff;
mod empty;
mod links;
mod number;
mod part;
mod path;
mod paths;
pub(crate) mod typed_path;

pub(crate) use bytes::Bytes;
pub use change::Merge;
pub(crate) use change::{Direction, FieldChange, FieldEdit, Request, Root, awaken, validate};
pub(crate) use compare::{compared, content_of};
pub(crate) use links::FieldLinks;
pub(crate) use number::{NumberField, NumberFields, ReplacedNumber};
pub(crate) use part::{FieldPart, PartBuffers};
pub(crate) use paths::{AsText, IntoFieldPath};

// The root shows it.
#[doc(hidden)]
pub use path::FieldPath;
pub(crate) use path::PathStep;
