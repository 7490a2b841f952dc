//! Saving and loading: files, slots, and reports about loads.
//!
//! [`save`] and [`load`] handle one value. A [`Saves`] holds the program's classes and settings, and saves
//! values to files, slots and stores. A [`SaveManager`] is a list of objects that are saved together.
//!
//! ```
//! use persist::save::SlotInfo;
//! use persist::{Persist, Saves};
//!
//! #[derive(Persist)]
//! struct Game { day: u32 }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let saves = Saves::new();
//! let slots = saves.slots(folder);
//! slots.slot("Ada's farm").info(SlotInfo::new("The Mill")).save(&Game { day: 1 })?;
//!
//! let mut game = slots.slot("Ada's farm").load::<Game>()?;
//! assert_eq!(game.report().summary(), "everything was loaded");
//! game.day += 1;
//! slots.slot("Ada's farm").save(&game)?;
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! A [`Slot`] is the place of a save, and [`Content`] is what you pass to be saved. A save first prepares the content:
//! it registers the classes, runs the `before_save` hooks, and calls `validate`. It then takes a lock and derives the
//! header from the header of the previous save. Finally it encodes the content into a temporary file, which replaces
//! the old save. A load reads the file or a backup, decodes it, and returns a [`Loaded`] with the report.
//!
//! | | |
//! | --- | --- |
//! | [`Saves`], [`Registry`], [`SharedPointer`] | the classes and settings of a program |
//! | [`SaveManager`] | a list of objects, saved with everything they lead to |
//! | [`Slot`], [`Slots`], [`SlotEntry`], [`Health`], [`slot_name`] | the place of one save; the slots of a folder or store, listed for a menu |
//! | [`SlotInfo`], [`Header`] | the metadata that a menu shows, read without loading the save |
//! | [`Content`], [`Loadable`], [`Loaded`] | what can be saved and loaded, and what a load returns |
//! | [`SaveOptions`], [`Compression`], [`SaveOutcome`] | how a file is written, and whether it is locked |
//! | [`BackgroundSave`], [`Progress`] | a save on another thread |
//! | [`LoadOptions`](crate::LoadOptions), [`LoadPolicy`], [`Remap`], [`UnmappedHandle`] | how strict a load is, and new ids for handles |
//! | [`LoadReport`], [`ReportRow`], [`LoadCounts`], [`LoadEvent`] | what a load changed |
//! | [`Recovery`], [`Salvage`] | what was done about a damaged or refused save |
//! | [`Lineage`], [`Comparison`], [`Keep`] | which of two devices has the newer save |
//!
//! The crate `persist-tools` reads, checks and measures saves without the types of their program.

// A map of the files that are not public.
//
// - A call goes from `saves`, `calls`, `slot` or `objects::manager` to `objects::content` (what is saved or loaded) and
//   `output` or `source` (where to, where from). `storage::save_files` writes the file, or chooses a backup.
// - `objects` has the objects of a manager, `objects::loaded` and `report` the result of a load, `salvage` the objects
//   of a damaged save. `followed` has the saves under a journal, `background` the worker, `reconcile` copies of two
//   devices.
// - `info` and `slots` read headers alone. `untyped` has the values of a save without types, which a salvage mends, with
//   `pages` for those of worlds. `record_writer` writes them.
// - This file has what they share: the classes and the buffers of a save, and its destination.

// This module is declared first, so that rustdoc lists its methods of `Saves` first.
pub(crate) mod saves;

mod background;
mod calls;
#[cfg(feature = "history")]
mod followed;
mod info;
pub(crate) mod objects;
mod output;
mod pages;
mod reconcile;
pub(crate) mod record_writer;
mod report;
pub(crate) mod salvage;
mod slot;
mod slots;
mod source;
pub(crate) mod untyped;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::codec::Buffer;
use crate::format::PagesBetween;
use crate::storage::{Patient, SaveOptions, SlotStore, Storage};
use crate::{Limits, storage};

pub use crate::format::DamagedPart;
pub use background::{BackgroundSave, Progress};
pub use info::SlotInfo;
pub use objects::content::{Content, Loadable};
pub use output::SaveOutcome;
pub use pages::LostPage;
pub use reconcile::{Comparison, Keep};
pub use report::{LoadCounts, LoadReport, ReportRow};
pub use salvage::Salvage;
pub use slot::Slot;
#[cfg(feature = "directories")]
pub use slots::slots_folder;
pub use slots::{Health, SlotEntry, Slots};

// These types are defined in private modules; this is their public path.
pub use crate::format::{Compression, Header, Lineage};
pub use crate::graph::{Registry, SharedPointer};
pub use crate::options::LoadPolicy;
pub use crate::schema::LoadEvent;
pub use crate::storage::save_files::commit::recover::Recovery;
pub use crate::storage::slot_name;
pub use crate::types::{Remap, UnmappedHandle};

// The crate root re-exports these, and documents them there.
#[doc(hidden)]
pub use {
    calls::{from_slice, load, save, to_vec},
    objects::{loaded::Loaded, manager::SaveManager},
    saves::Saves,
};

/// An encoded save in memory. The final header is made when it is written, since it depends on the file that it
/// replaces.
struct UnwrittenSave {
    header: Header,
    /// The save without the pages of its worlds.
    save: Buffer,
    pages: PagesBetween,
    /// The bytes of memory that its objects take even when they are empty.
    memory: u64,
}

/// The state of a save before its first byte is written: the classes, and the class of the value.
// Derived code names it, and no program does.
#[doc(hidden)]
pub struct Prepared {
    pub(crate) registry: Arc<Registry>,
    /// The index of the value's class; 0 for a list of objects.
    pub(crate) class: usize,
}

/// Buffers and sizes that one save leaves for the next.
#[derive(Default)]
struct Scratch {
    /// A buffer that has grown to the size of the earlier saves.
    buffer: Buffer,
    /// Bytes of the last two saves in memory, without their long lists. They predict the size of the next one.
    last_sizes: [usize; 2],
}

/// The settings for writing a save: the storage, the options, the limits and the name of the device.
#[derive(Clone)]
pub(crate) struct Output {
    storage: Patient<Arc<dyn Storage>>,
    options: SaveOptions,
    limits: Limits,
    device: Option<String>,
    /// How long a save may take before it is reported as slow.
    slow_after: Duration,
}

/// The folder or store of slots.
#[derive(Clone)]
enum Home {
    Folder(PathBuf),
    Store(Arc<dyn SlotStore>),
}

impl Home {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder(folder), Self::Folder(other)) => folder == other,
            (Self::Store(store), Self::Store(other)) => Arc::ptr_eq(store, other),
            _ => false,
        }
    }

    /// Returns the location of the slot with a name.
    fn location(&self, name: &str) -> SaveLocation {
        match self {
            Self::Folder(folder) => SaveLocation::File(storage::slots::path(folder, name)),
            Self::Store(store) => SaveLocation::Store(Arc::clone(store), name.to_owned()),
        }
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.fmt(f),
            Self::Store(_) => f.write_str("a store"),
        }
    }
}

/// The location of one save.
#[derive(Clone)]
enum SaveLocation {
    File(PathBuf),
    Store(Arc<dyn SlotStore>, String),
}

impl SaveLocation {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(path), Self::File(other)) => path == other,
            (Self::Store(store, slot), Self::Store(of, other)) => {
                Arc::ptr_eq(store, of) && slot == other
            }
            _ => false,
        }
    }

    /// Returns the path if the location is a file.
    fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Store(..) => None,
        }
    }
}

/// The destination of a save: one location, or a rotation whose slot is chosen later.
#[derive(Clone)]
enum Destination {
    One(SaveLocation),
    /// The next of the slots `auto1`, `auto2` and so on.
    Rotation(Home, u32),
}

impl Destination {
    /// Returns the path if it is known before the save.
    fn file(&self) -> Option<&Path> {
        match self {
            Self::One(location) => location.file(),
            Self::Rotation(..) => None,
        }
    }
}

/// How a damaged save was recovered.
#[derive(Clone, Debug, Default)]
struct Rescue {
    recovery: Option<Recovery>,
    salvage: Option<Salvage>,
}
