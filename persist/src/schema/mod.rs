//! The schema of a save, and the plans that convert its records to the program's classes.
//!
//! A [`Stored`] schema is read from a save; a [`Program`] has the same description of the program's classes. Records of
//! equal classes are decoded as they are. For other classes, a plan that is made once for each class rewrites every
//! record into the program's form first.
//!
//! # Parts
//!
//! | step | file | result |
//! | --- | --- | --- |
//! | 1. describe | `describe`, `stored`, `program` | classes, fields and kinds as data, laid out as numbered nodes |
//! | 2. match classes | `matching`, `instances`, `holders` | [`Matched`]: the program's class for each stored class |
//! | 3. pair fields | `pairing` | the stored field that becomes each field of the program |
//! | 4. plan | `plan`, `fields`, `meaning`, `conversion` | a `Plan` for each class, a `Conversion` for each pair of kinds |
//! | 5. rewrite | `transcode`, `migrate`, `due`, `watched`, `skipped` | each record in the program's form, unknown data apart, rows for the report |
//! | without a program | `walk`, `check`, `read`, `write`, `strict`, `cursor`, `usage` | a stored value walked, checked, read or written as data |
//! | shared | `ops`, `event`, `number`, `empty`, `order`, `same`, `unique`, `unknown_member`, `texts` | operations of plans, rows, widths, empty values, orders and comparisons of classes, unknown fields, names in texts |
//!
//! ```text
//! save ──> Stored ──┐                                   record's bytes ──> Transcoder ──> payload of the program
//!                   ├──> Matched ──> Plans ──> Plan ──────────^   │
//! program ─> Program┘                 (on first use)              └──> unknown data, events, copies of shared objects
//! ```
//!
//! Plans are made on first use: a save may have thousands of classes, and a load mostly meets a few. A conversion
//! between two kinds is compiled once into a tree of `Conversion`s, and then runs over bytes, without values in
//! between.
//!
//! # Words
//!
//! - A *node* is the number of a kind within the layout of all classes; the parts of a kind follow it.
//! - A *member* is a stored field of one record, or a value that a migration made for it; a *piece* is a run of members
//!   that are copied together.
//! - *Unknown* data is stored content that the program has no place for. *Synthesized* values are defaults that
//!   an older program wrote for fields that it did not find (law 18 of `docs/reference/laws.md`).
//! - A *row* is a line of the load report. It is entered when a plan is made, and counted when the plan runs.

mod check;
mod conversion;
mod cursor;
mod describe;
mod due;
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
mod unknown_member;
mod usage;
mod walk;
mod watched;
mod write;

pub use check::Checker;
pub(crate) use cursor::Cursor;
pub use describe::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema, rust_type};
pub use event::LoadEvent;
pub(crate) use event::{IN_PLACE_OF_DEFAULT, Occurrences, PlannedRow, REMOVED};
pub use instances::contested;
pub(crate) use matching::Matched;
pub use order::inner_first;
pub use pairing::{Pairing, find_variant, pair};
pub use plan::Plans;
pub(crate) use program::ProgramClass;
pub use program::{FieldPlace, Program, ProgramFields};
pub use read::Reader;
pub use same::{is_same_class, same_classes};
pub(crate) use skipped::converted_length;
pub use stored::Stored;
pub(crate) use stored::StoredPointer;
pub use strict::Strict;
pub use texts::{Texts, texts_and_classes_by_place};
pub(crate) use transcode::{
    DefaultedField, InlinedObject, SharedValue, SourceRecord, UnknownLocation, UnknownValues,
    transcode,
};
pub(crate) use unknown_member::UnknownMember;
pub use usage::{Long, UsageTree};
pub(crate) use walk::length;
#[cfg(feature = "world")]
pub(crate) use walk::paths;
pub use walk::{LocalValue, locate};
pub(crate) use write::{WriteTarget, write_value};
