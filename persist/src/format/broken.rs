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

/// The error for a damaged save without a whole object.
pub(crate) fn nothing_whole(lost: Option<u64>) -> Error {
    let lost = match lost {
        Some(1) => String::from("its one object is lost"),
        Some(lost) => format!("all {lost} objects are lost"),
        None => String::from("it is not known how many objects are lost"),
    };
    let what = format!("nothing of the save is whole, {lost}; restore a backup");
    Error::new(ErrorKind::Damaged, what)
}
