//! Reading, changing and comparing fields of values by their paths.
//!
//! A [`FieldChange`] is the record of an edit: an undo reverts it and a journal stores it. It can be applied to any
//! value whose class is registered: a component or a resource of a world, or a document.
//!
//! | files | part |
//! | --- | --- |
//! | `path`, `paths`, `typed_path` | paths, their caches, and paths that the compiler checks |
//! | `part`, `links`, `empty` | the innermost part on a path; its encode and decode; empty parts |
//! | `change`, `bytes` | a change with the bytes before and after it |
//! | `compare`, `diff` | the changes between two contents |
//! | `number` | numbers, changed in place |
//! | `owner`, `object_name`, `shared_name`, `prints`, `edited_world`, `sendable` | what worlds and histories share |

mod bytes;
mod change;
#[cfg(feature = "history")]
mod compare;
#[cfg(feature = "history")]
mod diff;
#[cfg(feature = "history")]
mod edited_world;
mod empty;
mod links;
#[cfg(feature = "world")]
mod number;
#[cfg(feature = "history")]
mod object_name;
mod owner;
mod part;
mod path;
mod paths;
#[cfg(feature = "history")]
mod prints;
mod sendable;
#[cfg_attr(
    not(feature = "world"),
    expect(dead_code, unreachable_pub, reason = "a world makes names")
)]
pub(crate) mod shared_name;
pub(crate) mod typed_path;

#[cfg(feature = "history")]
pub(crate) use bytes::Bytes;
#[cfg(feature = "history")]
pub use change::Merge;
#[cfg(feature = "history")]
pub(crate) use change::{ChangeState, awaken};
pub use change::{Direction, FieldChange, FieldEdit};
pub(crate) use change::{Request, Root};
#[cfg(feature = "history")]
pub(crate) use compare::{compared, content_of};
#[cfg(feature = "history")]
pub(crate) use edited_world::{EditedWorld, NumberedBytes, ObjectChange};
#[cfg(feature = "history")]
pub(crate) use links::FieldLinks;
#[cfg(feature = "world")]
pub(crate) use number::{NumberField, ReplacedNumber};
#[cfg(feature = "history")]
pub(crate) use object_name::ObjectName;
pub use owner::Owner;
pub(crate) use part::{FieldPart, PartBuffers};
#[cfg(feature = "history")]
pub(crate) use paths::AsText;
pub(crate) use paths::IntoFieldPath;
#[cfg(feature = "history")]
pub(crate) use prints::{Print, print_value};
pub use sendable::Sendable;

#[cfg(all(feature = "history", feature = "world"))]
pub(crate) use {change::validate, number::NumberFields, prints::hash_of};

// The crate root re-exports it, and documents it there.
#[doc(hidden)]
pub use path::{FieldPath, PathStep};
