//! Histories of worlds: what an edit records, and what an undo and a redo bring back.

mod changes;
mod commands;
mod derived;
mod drags;
mod failures;
mod fields;
mod held;
mod identity;
mod kinds;
mod life_cycle;
mod lists;
pub(crate) mod naive;
mod names;
mod property;
mod rebound;
mod refused;
mod reports;
mod resources;
mod restored;
pub(crate) mod scene;
mod stage;
mod stored_as;
mod structure;
mod texts;
mod unknown;
mod validated;
