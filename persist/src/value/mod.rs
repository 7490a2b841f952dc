//! Data without its type: a tree of values.
//!
//! Nothing in this room knows a schema or bytes; `schema` reads and writes trees.

mod convert;
mod parse;
#[cfg(feature = "serde")]
mod serialize;
mod text;
mod tree;

pub(crate) use parse::{first_name, first_value};
pub(crate) use text::{NameOf, write_name};
pub(crate) use tree::{Field, Origin, PartIter, Seen, next_part};
pub use tree::{HandleValue, Record, Value};

use crate::{Error, ErrorKind, Limits};

/// Levels of values for each of [`Limits::depth`]: between two boxes, lists or maps of a type there
/// may be options, tuples, structs and enums, which are levels here.
const LEVELS: u32 = 4;

/// How deep the values of a save may nest when they are read or written without their types.
///
/// The walks over them have stacks of their own, but a tree is dropped by recursion.
pub(crate) fn levels(limits: &Limits) -> usize {
    limits.depth.saturating_mul(LEVELS) as usize
}

/// The error for values of a save that nest deeper.
#[cold]
pub(crate) fn too_deep(limits: &Limits) -> Error {
    let levels = levels(limits);
    Error::new(
        ErrorKind::TooDeep,
        format!(
            "values are nested deeper than {levels} levels, {LEVELS} for each of `Limits::depth`; raise `Limits::depth`, on a thread with more stack"
        ),
    )
}
