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
//! | 2. match classes | `matching`, `instances` | [`Matched`]: the program's class for each stored class |
//! | 3. pair fields | `pairing` | the stored field that becomes each field of the program |
//! | 4. plan | `plan`, with `fields`, `meaning`, `conversion` and `ops` | a `Plan` for each class, a `Conversion` for each pair of kinds |
//! | 5. rewrite | `plan/transcode`, `plan/due` with `migrate`, `plan/skipped` | each record in the program's form, unknown data apart, rows for the report |
//! | without a program | `walk`, with `check`, `read`, `write`, `strict`, `cursor` and `usage` | a stored value walked, checked, read or written as data |
//! | pages | `pages`, `page_classes` | the objects of pages in the values that they belong to, and out of them |
//! | shared | `event`, `number`, `empty`, `order`, `same`, `plan/texts` | rows, widths, empty values, orders and comparisons of classes, names in texts |
//!
//! Code that several files of a folder use is in the `mod.rs` of the folder: the frames of walks and their errors here,
//! the walk in `walk`, the plans of classes and of records in `plan`, the `Transcoder` in `plan/transcode`.
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

mod describe;
mod empty;
mod event;
mod instances;
mod matching;
mod number;
mod order;
mod page_classes;
mod pages;
mod pairing;
mod plan;
mod program;
mod same;
mod stored;
mod walk;

use std::fmt::Write as _;

use crate::codec::{Decoder, Fail, left_over};
use crate::types::{Arena as _, WorldObjects};
use crate::{Error, ErrorKind};

pub use describe::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema, rust_type};
pub use event::LoadEvent;
pub(crate) use event::{IN_PLACE_OF_DEFAULT, Occurrences, PlannedRow, REMOVED};
pub use instances::contested;
pub(crate) use matching::Matched;
pub use order::inner_first;
pub(crate) use page_classes::PageClasses;
pub use pages::{
    EncodedPage, PageCutter, missing_page, objects_in_page, page_entry, page_head, page_index,
    put_objects, replace_pages,
};
pub(crate) use pages::{each_paged, has_worlds, without_objects, world_of};
pub use pairing::{Pairing, find_variant, pair};
pub(crate) use plan::{
    DefaultedField, InlinedObject, KeptPart, RecordExtras, SharedValue, SourceRecord,
    UnknownLocation, UnknownValues, converted_length, transcode,
};
pub use plan::{Plans, Texts, texts_and_classes_by_place};
pub(crate) use program::ProgramClass;
pub use program::{FieldPlace, Program, ProgramFields};
pub use same::{is_same_class, same_classes};
pub use stored::{Stored, page_fault};
pub(crate) use stored::{StoredPointer, UnknownMember};
#[cfg(feature = "world")]
pub(crate) use walk::paths;
pub use walk::{Checker, LocalValue, Long, Reader, Strict, UsageTree, length};
pub(crate) use walk::{
    Cursor, DamagedRange, WriteTarget, locate, parts_in, renumbered, write_value,
};
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use walk::{CursorParts, has_key, no_key};

/// An open value of a walk, with its next part: by nodes, or by conversions where it is rewritten.
///
/// It is small, since a value may be as deep as it has bytes.
#[derive(Clone, Copy)]
struct WalkFrame {
    next: u64,
    /// How many parts there are; of entries keys and values.
    count: u64,
    first: u32,
    /// Of fields.
    class: u32,
    variant: u16,
    parts: FrameParts,
    /// True if no part may be there twice.
    is_unique: bool,
    /// How many levels are open with it.
    levels: u32,
}

/// The sort of the parts, which decides how a path names them.
#[derive(Clone, Copy, PartialEq)]
enum FrameParts {
    /// One without a name.
    One,
    Fields,
    Numbered,
    Elements,
    Entries,
}

impl WalkFrame {
    fn new(parts: FrameParts, first: usize, count: u64) -> Self {
        // A definition has fewer bytes.
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        Self { next: 0, count, first, class: 0, variant: 0, parts, is_unique: false, levels: 0 }
    }

    fn one(node: usize) -> Self {
        Self::new(FrameParts::One, node, 1)
    }

    fn fields(stored: &Stored, class: usize, variant: usize) -> Self {
        let (first, count) = (stored.first(class, variant), stored.fields(class, variant).len());
        Self {
            class: u32::try_from(class).unwrap_or(u32::MAX),
            variant: u16::try_from(variant).unwrap_or(u16::MAX),
            ..Self::new(FrameParts::Fields, first, count as u64)
        }
    }

    fn parts(first: usize, len: usize) -> Self {
        Self::new(FrameParts::Numbered, first, len as u64)
    }

    fn elements(node: usize, count: u64) -> Self {
        Self::new(FrameParts::Elements, node, count)
    }

    /// Of entries whose values are of the node after that of the keys.
    fn entries(key: usize, count: u64) -> Self {
        Self::new(FrameParts::Entries, key, count.saturating_mul(2))
    }

    /// The node of the first part.
    fn first(&self) -> usize {
        self.first as usize
    }

    /// The variant whose fields the parts are.
    fn variant(&self) -> usize {
        self.variant.into()
    }

    /// The node of the next part.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        let part = self.next;
        self.next += 1;
        if part >= self.count {
            return None;
        }
        Some(match self.parts {
            FrameParts::Elements => self.first(),
            FrameParts::Entries => self.first() + usize::from(part % 2 == 1),
            // There are as many nodes.
            _ => self.first() + usize::try_from(part).unwrap_or(0),
        })
    }

    /// Adds the part that is being walked to a path.
    fn name(&self, stored: &Stored, path: &mut String) {
        let Some(part) = self.next.checked_sub(1) else { return };
        // Writing to a `String` cannot fail.
        let _ = match self.parts {
            FrameParts::One => Ok(()),
            FrameParts::Fields => {
                let fields = stored.fields(self.class as usize, self.variant());
                let field = usize::try_from(part).ok().and_then(|part| fields.get(part));
                return push_name(field.map_or("", |field| &field.name), path);
            }
            FrameParts::Numbered => return push_name(&part.to_string(), path),
            FrameParts::Elements => write!(path, "[{part}]"),
            FrameParts::Entries if part % 2 == 0 => write!(path, "[{}].key", part / 2),
            FrameParts::Entries => write!(path, "[{}]", part / 2),
        };
    }
}

/// True if a live handle of this arena may have these bits.
fn is_key(arena: &str, bits: u64) -> bool {
    arena != WorldObjects::NAME || WorldObjects::from_bits(bits).is_some()
}

/// Adds the name of a field to a path.
fn push_name(name: &str, path: &mut String) {
    if !path.is_empty() && !name.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Bytes of a path that is made; an error keeps fewer.
const LONGEST_PATH: usize = 1000;

/// The path of the part that is being walked.
fn path<'f>(stored: &Stored, frames: impl IntoIterator<Item = &'f WalkFrame>) -> String {
    let mut path = String::new();
    for frame in frames {
        if path.len() <= LONGEST_PATH {
            frame.name(stored, &mut path);
        }
    }
    path
}

/// Reads which class the value of a trait object is of.
fn dynamic(stored: &Stored, input: &mut Decoder<'_>) -> Result<usize, Fail> {
    let number = usize::try_from(input.class_number()?).map_err(|_| Fail::Count)?;
    number.checked_sub(1).filter(|class| *class < stored.len()).ok_or(Fail::Value)
}

/// Reads which variant of an enum follows.
fn tag(form: &Form, input: &mut Decoder<'_>) -> Result<usize, Fail> {
    if form.tag_width() == 2 {
        input.value::<u16>().map(usize::from)
    } else {
        input.value::<u8>().map(usize::from)
    }
}

/// Checks that the bytes can hold `count` elements of at least `min` bytes
/// each; for elements without bytes, checks the limit.
fn check_count(count: u64, min: u64, input: &Decoder<'_>) -> Result<(), Fail> {
    match (input.rest().len() as u64).checked_div(min) {
        Some(max) if count > max => Err(Fail::Count),
        None if count > input.limits().empty_elements as u64 => Err(Fail::Limit),
        _ => Ok(()),
    }
}

/// The error for a payload that is not what its class says.
fn fault(fail: Fail) -> Error {
    let error = Error::from(fail);
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::Truncated => not_as_written(&error),
        _ => error,
    }
}

/// The error for bytes after the last field.
fn surplus(bytes: usize) -> Error {
    not_as_written(&left_over(bytes))
}

/// Describes damage in a block whose checksum is right, so that the disk is not to blame.
fn not_as_written(error: &Error) -> Error {
    let message = error.message();
    Error::new(
        error.kind(),
        format!("{message}; the save was written wrongly or is malicious, restore a backup"),
    )
}
