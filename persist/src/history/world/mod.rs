//! Edits of worlds.

mod edit;
mod label;
mod pending;
mod structure;

pub(super) use pending::Handed;
