//! What a save says of its own classes, and how it meets the program's.
//!
//! The same description is made from the program's classes and read from a
//! save. Where the two are equal, records are decoded straight; where they
//! differ, a plan made once per class rewrites each record into the
//! program's form first.

mod alone;
mod check;
mod conversion;
mod cursor;
mod describe;
mod empty;
mod event;
mod fields;
mod holders;
mod instances;
mod matching;
mod meaning;
mod migrate;
mod number;
mod ops;
mod order;
mod pairing;
mod plan;
mod program;
mod read;
mod same;
mod skipped;
mod stored;
mod strict;
mod texts;
mod transcode;
mod unique;
#[cfg(feature = "tools")]
mod usage;
mod walk;
mod write;

pub(crate) use alone::Alone;
pub(crate) use check::Checker;
pub(crate) use cursor::Cursor;
pub(crate) use describe::rust_type;
pub use describe::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema};
pub use event::LoadEvent;
pub(crate) use event::{IN_PLACE_OF_DEFAULT, Occurrences, PlannedRow, REMOVED};
pub(crate) use instances::contested;
pub(crate) use matching::Matched;
pub(crate) use order::inner_first;
pub(crate) use pairing::{Pairing, find_variant, pair};
pub(crate) use plan::Plans;
pub(crate) use program::{FieldPlace, Program, ProgramClass, ProgramFields};
pub(crate) use read::Reader;
pub(crate) use same::{is_same_class, same_classes};
pub(crate) use skipped::converted_length;
pub(crate) use stored::{Stored, StoredPointer};
pub(crate) use strict::Strict;
pub(crate) use texts::{Texts, texts_and_classes_by_place};
pub(crate) use transcode::{
    DefaultedField, InlinedObject, Keeps, KeptLocation, SharedValue, SourceRecord, transcode,
};
#[cfg(feature = "tools")]
pub(crate) use usage::{Long, UsageTree};
pub(crate) use walk::{LocalValue, length, locate, paths};
pub(crate) use write::{WriteTarget, write_value};
