//! Reading, changing and comparing fields of values by their paths.
//!
//! A [`FieldChange`] is the record of an edit: an undo reverts it and a journal stores it. It can be applied to any
//! value whose class is registered: a component or a resource of a world, or a document.

mod bytes;
mod change;
#[cfg(feature = "history")]
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
#[cfg(feature = "history")]
pub(crate) use compare::{compared, content_of};
pub(crate) use links::FieldLinks;
pub(crate) use number::{NumberField, NumberFields, ReplacedNumber};
pub(crate) use part::{FieldPart, PartBuffers};
pub(crate) use paths::{AsText, IntoFieldPath};

// The crate root re-exports it, and documents it there.
#[doc(hidden)]
pub use path::FieldPath;
pub(crate) use path::PathStep;
