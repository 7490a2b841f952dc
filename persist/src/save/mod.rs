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
mod reconcile;
mod remapping;
mod report;
mod salvage;
mod settings;
mod slot_name;
mod slots;
mod value;
mod world;

pub use background::{BackgroundSave, Progress};
pub use document::dump;
pub use entry::Entry;
#[cfg(feature = "directories")]
pub use folder::slots_folder;
pub use outcome::SaveOutcome;
pub use reconcile::{Comparison, Keep};
pub use remapping::Remapping;
pub use report::{LoadReport, ReportRow};
pub use salvage::Salvage;
pub use slots::{Health, Slot, slot_path};
pub use value::{from_reader, save_mut, to_vec_mut, to_writer};

// What these rooms define is shown here, where a program meets it.
pub use crate::format::{Compression, FORMAT_VERSION, Header, Lineage};
pub use crate::graph::{Counted, Registry};
pub use crate::options::LoadPolicy;
pub use crate::schema::LoadEvent;
pub use crate::storage::recover::Recovery;
pub use crate::types::{Missing, Remap};

// What the root shows.
#[doc(no_inline)]
pub use crate::options::LoadOptions;
#[doc(no_inline)]
pub use crate::storage::commit::SaveOptions;
#[doc(no_inline)]
pub use document::Document;
#[doc(no_inline)]
pub use loaded::Loaded;
#[doc(no_inline)]
pub use manager::SaveManager;
#[doc(no_inline)]
pub use value::{from_slice, load, save, to_vec};
