//! Reading, changing and comparing fields of values by their paths.
//!
//! A [`FieldChange`] is the record of an edit: an undo reverts it and a journal stores it. It can be applied to any
//! value whose class is registered: a component or a resource of a world, or a document.

mod bytes;
mod change;
#[cfg(feature = "history")]
mod compare;
#[cfg(feature = "history")]
mod diff;
mod empty;
mod links;
mod number;
mod part;
mod path;
mod paths;
pub(crate) mod typed_path;

#[cfg(feature = "history")]
pub(crate) use bytes::Bytes;
#[cfg(feature = "history")]
pub use change::Direction;
pub use change::FieldChange;
#[cfg(feature = "history")]
pub use change::FieldEdit;
#[cfg(feature = "history")]
pub use change::Merge;
pub(crate) use change::{Request, Root};
#[cfg(feature = "history")]
pub(crate) use change::{awaken, validate};
#[cfg(feature = "history")]
pub(crate) use compare::{compared, content_of};
#[cfg(feature = "history")]
pub(crate) use links::FieldLinks;
#[cfg(feature = "history")]
pub(crate) use number::NumberFields;
pub(crate) use number::{NumberField, ReplacedNumber};
pub(crate) use part::{FieldPart, PartBuffers};
pub(crate) use paths::{AsText, IntoFieldPath};

// The crate root re-exports it, and documents it there.
#[doc(hidden)]
pub use path::{FieldPath, PathStep};
