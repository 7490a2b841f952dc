//! Saving and loading: files, slots and what a load reports.
//!
//! [`save`] and [`load`] are for one value. A [`SaveManager`] knows the program's classes and settings, and saves
//! graphs of objects.
//!
//! ```
//! use std::cell::RefCell;
//! use std::rc::Rc;
//!
//! use persist::{Persist, SaveManager};
//!
//! #[derive(Persist)]
//! struct Hero { name: String, friend: Option<Rc<RefCell<Hero>>> }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("game.sav");
//! let ada = Rc::new(RefCell::new(Hero { name: "Ada".into(), friend: None }));
//! let mut saves = SaveManager::new();
//! saves.add(&ada)?;
//! saves.save(&path)?;
//!
//! let loaded = saves.load(&path)?;
//! assert_eq!(loaded.report().summary(), "everything was loaded");
//! assert_eq!(loaded.first::<Hero>()?.borrow().name, "Ada");
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`SaveManager`], [`Registry`], [`Counted`] | the classes of a program, and the objects to save |
//! | [`ValueSaver`] | the classes and settings alone, which may go to other threads |
//! | [`SaveOptions`](crate::SaveOptions), [`Compression`], [`SaveOutcome`] | how a file is written, and whether it is locked |
//! | [`BackgroundSave`], [`Progress`] | a save on another thread |
//! | [`LoadOptions`](crate::LoadOptions), [`LoadPolicy`], [`Remap`], [`Missing`] | how strict a load is, and new ids for handles |
//! | [`Loaded`], [`LoadReport`], [`ReportRow`], [`LoadEvent`] | what a load made, and what it changed |
//! | [`Recovery`], [`Salvage`] | what was done about a damaged save |
//! | [`Slot`], [`Health`] | the saves of a folder, for a menu |
//! | [`Header`], [`Lineage`], [`Comparison`], [`Keep`] | which of two devices has the newer save |
//!
//! The feature `tools` adds:
//!
//! | | |
//! | --- | --- |
//! | [`Document`], [`Entry`], [`dump`] | a save without its types: looked at, changed, written again |
//! | [`verify`], [`Verified`] | a whole save checked while it is read |
//! | [`usage()`], [`SaveUsage`], [`Usage`], [`Longest`], [`BlockUsage`] | where the bytes of a save go |
//! | [`ClassSchema`], [`Form`], [`FieldSchema`], [`VariantSchema`], [`KindSchema`] | the classes that a save defines |

// First, so that its methods come first in the documentation.
mod manager;

#[cfg(feature = "tools")]
mod as_value;
mod background;
mod document;
mod followed;
mod loaded;
mod objects;
mod output;
mod prefab;
mod reconcile;
mod report;
mod salvage;
mod slots;
mod source;
#[cfg(feature = "tools")]
mod usage;
mod value_saver;
#[cfg(feature = "tools")]
mod verify;

pub use background::{BackgroundSave, Progress};
#[cfg(feature = "tools")]
pub use document::{Entry, dump};
pub use output::SaveOutcome;
pub use reconcile::{Comparison, Keep};
pub use report::{LoadReport, ReportRow};
pub use salvage::Salvage;
#[cfg(feature = "directories")]
pub use slots::slots_folder;
pub use slots::{Health, Slot, Slots};
#[cfg(feature = "tools")]
pub use usage::{BlockUsage, Longest, SaveUsage, Usage, usage};
pub use value_saver::{ValueSaver, save_mut, to_vec_mut};
#[cfg(feature = "tools")]
pub use verify::{Verified, verify};

// What these rooms define is shown here, where a program meets it.
pub use crate::format::{Compression, Header, Lineage};
pub use crate::graph::{Counted, Registry};
pub use crate::options::LoadPolicy;
pub use crate::schema::LoadEvent;
#[cfg(feature = "tools")]
pub use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema};
pub use crate::storage::recover::Recovery;
pub use crate::types::{Missing, Remap};

// The root shows these.
#[cfg(feature = "tools")]
#[doc(hidden)]
pub use document::Document;
#[doc(hidden)]
pub use {
    loaded::Loaded,
    manager::SaveManager,
    value_saver::{from_slice, load, save, to_vec},
};
