//! Saving and loading as a program asks for it.

// First, so that its methods come first in the documentation.
mod manager;

mod background;
mod document;
mod followed;
#[cfg(persist_forced_plan)]
mod forced;
mod loaded;
mod objects;
mod output;
mod prefab;
mod reconcile;
mod remap;
mod report;
mod salvage;
mod slots;
mod source;
mod value;

pub use background::{BackgroundSave, Progress};
pub use document::{Document, Entry, dump};
pub use loaded::Loaded;
pub use manager::SaveManager;
pub use output::SaveOutcome;
pub use reconcile::{Comparison, Keep};
pub use report::{Finding, LoadReport};
pub use salvage::Salvage;
#[cfg(feature = "directories")]
pub use slots::slots_folder;
pub use slots::{Health, Slot, Slots};
pub use value::{from_slice, load, save, save_mut, to_vec, to_vec_mut};
