//! Data without its type: a tree of values.
//!
//! Nothing in this room knows a schema or bytes; `schema` reads and writes trees.

mod convert;
mod parse;
mod record;
#[cfg(feature = "serde")]
mod serialize;
mod text;
mod tree;

pub(crate) use parse::{first_name, first_value};
pub(crate) use record::Field;
pub use record::Record;
pub(crate) use text::{NameOf, write_name};
pub use tree::{HandleValue, Value};

use crate::{Error, ErrorKind};

/// Values nest this deep when they are read, written or parsed: each is a call, and the
/// stack of a thread may have 2 MiB.
pub(crate) const NESTING: u32 = 512;

#[cold]
pub(crate) fn too_deep() -> Error {
    Error::new(ErrorKind::TooDeep, format!("values are nested deeper than {NESTING} levels"))
}
