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
//! | `compare` | the changes between two contents |
//! | `number` | numbers, changed in place |
//! | `owner`, `object_name`, `shared_name`, `prints`, `edited_world`, `sendable` | what worlds and histories share |

mod bytes;
mod change;
#[cfg(feature = "history")]
mod compare;
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

use crate::codec::{Buffer, FieldAccess, Portable};
use crate::graph::Registry;
use part::AccessStep;

#[cfg(feature = "history")]
pub(crate) use bytes::Bytes;
#[cfg(feature = "history")]
pub use change::Merge;
pub(crate) use change::Request;
#[cfg(feature = "history")]
pub(crate) use change::{ChangeState, awaken};
pub use change::{Direction, FieldChange, FieldEdit};
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

/// The schema of a part: class, variant and index of a field, and the depth of the part in its nested elements.
#[cfg(feature = "history")]
type SchemaKey = ((usize, usize, usize), usize);

/// Buffers that are reused from one part to the next.
#[derive(Default)]
pub(crate) struct PartBuffers {
    hops: Vec<AccessStep>,
    buffer: Buffer,
    /// The bytes that a change puts into a part.
    new: Vec<u8>,
}

/// The innermost part on a path that can be borrowed: a field, an element of a list or a value of a map.
pub(crate) struct FieldPart<'p> {
    registry: &'p Registry,
    /// The index of the class of the whole value.
    class: usize,
    buffers: &'p mut PartBuffers,
    /// How the part is encoded and decoded; `None` for the whole value.
    access: Option<&'static FieldAccess>,
    /// Class, variant and index of the last field on the path, and the depth of the part in its nested elements.
    place: Option<(usize, usize, usize)>,
    depth: usize,
    steps: &'p [PathStep],
    /// The number of steps that led to the part. The other steps are followed in its bytes.
    taken: usize,
}

/// A value whose fields are read and changed, with the registry that knows its class.
pub(crate) struct Root<'r> {
    pub(crate) registry: &'r Registry,
    pub(crate) value: &'r mut dyn Portable,
    pub(crate) buffers: &'r mut PartBuffers,
}
