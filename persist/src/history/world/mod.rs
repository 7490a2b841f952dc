//! Edits of worlds, and their changes as steps of a history.

mod change;
mod edit;
mod pending;
mod structure;

pub(super) use change::restored;
