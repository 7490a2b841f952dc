//! Events of a load, counted for its report.

use std::sync::Arc;

/// The kind of a [`ReportRow`](crate::save::ReportRow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LoadEvent {
    /// A field that the save does not have got its default.
    Defaulted,
    /// A field that the save does not have, without a default, was made empty.
    Filled,
    /// A stored field that the program does not have was skipped.
    Dropped,
    /// A value was converted to another kind without loss.
    Converted,
    /// Numbers that did not fit became the nearest that did.
    Clamped,
    /// Records of an older version were migrated by the class's `migrate` function.
    Migrated,
    /// Records were written by a newer version of the class, and loaded by the names of
    /// their fields.
    Newer,
    /// A stored variant that the program does not have became its `other` variant.
    Replaced,
    /// An object that several pointers shared was copied into each of them, which
    /// now hold values.
    Unshared,
    /// Objects of a class that is not registered were skipped.
    Unknown,
    /// Weak references whose target is not in the save dangle.
    Dangling,
    /// Trait objects of a class that is not registered for their trait became `None`.
    Unregistered,
    /// Objects, values or fields that the program does not have are kept as they are, and
    /// go back to the next save.
    Kept,
    /// Stored or kept fields were dropped, since another one took their place.
    Superseded,
    /// Fields that an older program kept came back, in place of a default that it had made up and not changed, or of
    /// what `migrate` made of its other fields.
    Restored,
    /// Handles for which the [`Remap`](crate::types::Remap) had no new id became null.
    Nulled,
    /// Handles for which the [`Remap`](crate::types::Remap) had no new id became dead.
    Dead,
    /// An element of a field with `skip_failed` was skipped, since it could not be loaded.
    Skipped,
}

impl LoadEvent {
    /// True if bytes were skipped, or taken as they are, without a look at the values in them.
    pub(crate) fn passes_over(self) -> bool {
        use LoadEvent as Event;
        match self {
            Event::Dropped
            | Event::Replaced
            | Event::Unshared
            | Event::Unknown
            | Event::Unregistered
            | Event::Kept
            | Event::Superseded
            | Event::Restored
            | Event::Skipped => true,
            Event::Defaulted
            | Event::Filled
            | Event::Converted
            | Event::Clamped
            | Event::Migrated
            | Event::Newer
            | Event::Dangling
            | Event::Nulled
            | Event::Dead => false,
        }
    }
}

/// A row that a plan adds to the report once it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlannedRow {
    pub event: LoadEvent,
    pub class: Arc<str>,
    /// Empty if it is about the whole class.
    pub field: Arc<str>,
    /// From what to what.
    pub detail: Arc<str>,
}

/// The detail of what was lost because the program's `removed` says so.
pub(crate) const REMOVED: &str = "as `removed` says";

/// The detail of a kept field that came back in place of a value that an older program synthesized.
pub(crate) const IN_PLACE_OF_DEFAULT: &str = "in place of a default";

impl PlannedRow {
    /// True for what the program says is meant to be lost.
    pub(crate) fn is_accepted(&self) -> bool {
        &*self.detail == REMOVED
    }

    /// True if only a synthesized value was lost.
    pub(crate) fn is_harmless(&self) -> bool {
        self.event == LoadEvent::Restored && &*self.detail == IN_PLACE_OF_DEFAULT
    }
}

/// How often something was done, and the id of the first object.
#[derive(Clone, Copy, Default)]
pub(crate) struct Occurrences {
    pub count: u64,
    pub first: u64,
}
