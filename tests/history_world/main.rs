//! Histories of worlds: what an edit records, and what an undo and a redo bring back.

mod commands;
mod derived;
mod drags;
mod failures;
mod fields;
mod identity;
mod kinds;
mod life_cycle;
mod lists;
mod names;
mod rebound;
mod refused;
mod resources;
mod scene;
mod stage;
mod structure;
mod texts;
mod unknown;
mod validated;
