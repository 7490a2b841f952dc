//! Values without their types: a tree of data.
//!
//! Nothing in this module depends on a schema or on bytes; `schema` reads and writes trees.

mod convert;
mod parse;
#[cfg(feature = "serde")]
mod serialize;
mod text;
mod tree;

#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use parse::{first_name, first_value};
pub use text::{NameOf, write_name};
pub(crate) use tree::{Field, Inspection, Origin, PartIter, Seen, next_part};
pub use tree::{HandleValue, Record, Value};

use crate::{Error, ErrorKind, Limits};

/// Levels of a tree for each level of [`Limits::depth`]. Between two boxes, lists or maps of a type there may be
/// options, tuples, structs and enums, which are levels only here.
const LEVELS: u32 = 4;

/// Returns how deep the values of a save may nest when they are read or written without their types.
///
/// The walks over them use stacks of their own, but a tree is dropped by recursion.
pub(crate) fn levels(limits: &Limits) -> usize {
    limits.depth.saturating_mul(LEVELS) as usize
}

/// Returns the error for values of a save that nest deeper.
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

fn starts_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn continues_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
