//! Tests and tools for saves of [`persist`]: the lock of released versions, and saves without the types of their program.
//!
//! A game names this crate under `[dev-dependencies]`, for [`assert_lock!`]. Tools depend on it like on the library.
//!
//! | | |
//! | --- | --- |
//! | [`assert_lock!`], [`lock`] | a test that reports which changes lose or break the saves of released versions |
//! | [`Document`], [`Entry`], [`dump`] | inspecting and editing a save without its Rust types |
//! | [`verify()`], [`Verified`] | checking a whole save, block by block |
//! | [`usage()`], [`SaveUsage`], [`Usage`], [`Longest`], [`BlockUsage`] | sizes by class, field and block |
//! | [`ClassSchema`], [`Form`], [`FieldSchema`], [`VariantSchema`], [`KindSchema`] | the classes that a save defines |
//! | [`JournalListing`], [`ListedEvent`], [`Occurrence`], [`ListedStep`] | a reader of journals |
//! | [`Replayed`] | a replay of a journal on its save |
//!
//! ```
//! use persist::Persist;
//! use persist_tools::{Document, Form, KindSchema};
//!
//! #[derive(Persist)]
//! struct Hero { name: String, bag: Vec<u32> }
//!
//! let save = persist::to_vec(&Hero { name: "Ada".into(), bag: vec![3] })?;
//! let document = Document::from_slice(&save)?;
//! let classes = document.classes();
//! assert_eq!(classes[0].name, "Hero");
//! let Form::Struct(fields) = &classes[0].form else { panic!() };
//! assert_eq!(fields[0].kind, KindSchema::Text);
//! assert_eq!(fields[1].kind.display(classes), "Vec<u32>");
//! # Ok::<(), persist::Error>(())
//! ```

#![forbid(unsafe_code)]

// First, since its macros must be defined before they are used.
#[macro_use]
mod error;

mod classes;
mod document;
mod journal;
pub mod lock;
mod records;
mod usage;

pub use document::{Document, dump};
pub use journal::{JournalListing, ListedEvent, ListedStep, Occurrence, Replayed};
pub use records::{Verified, verify};
pub use usage::{BlockUsage, Longest, SaveUsage, Usage, usage};

// These types are defined in the library, which reads every save by them; this is their public path.
#[doc(inline)]
pub use persist::__tools::{ClassSchema, Entry, FieldSchema, Form, KindSchema, VariantSchema};

/// Exports the items that `assert_lock!` and the command use; not for programs.
#[doc(hidden)]
pub mod __private {
    pub use crate::document::{Feed, ObjectNames, TakeObjects, WholeObjects, write_values};
    pub use persist::__tools::{PageEntry, write_file};

    pub use crate::records::{
        ChangedWorld, CheckedSave, ClassCount, Definitions, EncodedValue, ObjectOutline, Position,
        RecordReader, SavedIds, SavedRecord, check_kind,
    };

    pub use crate::lock::check::{Mode, check, check_downgrades, check_file};
}
