//! Data without its type: a tree of values.
//!
//! Nothing in this room knows a schema or bytes; `schema` reads and writes trees.

mod convert;
mod record;
mod tree;

pub use record::Record;
pub(crate) use record::{Field, Origin};
pub use tree::{HandleValue, Value};
