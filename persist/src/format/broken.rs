//! The errors for bytes that are no save, or no longer one.

use crate::{Error, ErrorKind};

/// The save ends too early.
pub(super) fn cut_short(length: usize) -> Error {
    Error::new(
        ErrorKind::Truncated,
        format!("the save is cut short, it ends after {length} bytes; restore a backup"),
    )
    .at(length as u64)
}

/// Something at a place is not what was written.
pub(super) fn damaged(at: usize, what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the save is damaged: {what}; restore a backup"))
        .at(at as u64)
}
