//! Saving and loading as a program asks for it.

mod background;
mod document;
mod entry;
mod file;
#[cfg(feature = "directories")]
mod folder;
mod followed;
#[cfg(persist_forced_plan)]
mod forced;
mod loaded;
mod manager;
mod metadata;
mod outcome;
mod prefab;
mod reconcile;
mod remap;
mod report;
mod salvage;
mod settings;
mod slot_name;
mod slots;
mod value;
mod world;

pub use background::{BackgroundSave, Progress};
pub use document::{Document, dump};
pub use entry::Entry;
#[cfg(feature = "directories")]
pub use folder::slots_folder;
pub use loaded::Loaded;
pub use manager::SaveManager;
pub use outcome::SaveOutcome;
pub use reconcile::{Comparison, Keep};
pub use report::{Finding, LoadReport};
pub use salvage::Salvage;
pub use slots::{Health, Slot, Slots};
pub use value::{from_slice, load, save, save_mut, to_vec, to_vec_mut};
