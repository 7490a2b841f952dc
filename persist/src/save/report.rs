use std::fmt;

use crate::ObjectId;
use crate::format::Header;
use crate::graph::Outcome;

/// What a load did besides making objects: nothing is silent.
///
/// Its [`Display`](fmt::Display) is a page for the developer.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    header: Header,
    findings: Vec<Finding>,
    objects: Vec<(String, u64)>,
    references: u64,
    remapped: u64,
}

/// One thing that a load did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What was done.
    pub change: Change,
    /// Name of the class.
    pub class: String,
    /// The field, where it is about one.
    pub field: Option<String>,
    /// How often.
    pub count: u64,
    /// The first object in which it happened.
    pub object: Option<ObjectId>,
}

/// What a [`Finding`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// A field that the save does not have got its default.
    Defaulted,
    /// A stored field that the program does not have was skipped.
    Dropped,
    /// Objects of a class that is not registered were skipped.
    Unknown,
    /// Weak references whose target is not in the save dangle.
    Dangling,
    /// Trait objects of a class that is not registered for their trait became `None`.
    Unregistered,
    /// Values of a class that is not registered are kept as they are, by a stand-in
    /// or for one, and go back to the next save.
    Kept,
    /// Handles for which the [`Remap`](crate::Remap) had no new id became null.
    Nulled,
    /// Handles for which the [`Remap`](crate::Remap) had no new id became dead.
    Dead,
}

impl LoadReport {
    pub(crate) fn new(outcome: Outcome) -> Self {
        let mut findings: Vec<Finding> = outcome
            .events
            .into_iter()
            .map(|(event, run)| Finding {
                change: if event.defaulted { Change::Defaulted } else { Change::Dropped },
                class: event.class,
                field: Some(event.field),
                count: run.count,
                object: ObjectId::new(run.first),
            })
            .collect();
        for (change, rows) in [
            (Change::Unknown, outcome.skipped),
            (Change::Dangling, outcome.dangling),
            (Change::Unregistered, outcome.nones),
            (Change::Kept, outcome.kept),
            (Change::Nulled, outcome.nulled),
            (Change::Dead, outcome.dead),
        ] {
            findings.extend(rows.into_iter().map(|(class, count, first)| Finding {
                change,
                class,
                field: None,
                count,
                object: ObjectId::new(first),
            }));
        }
        Self {
            header: outcome.header,
            findings,
            objects: outcome.objects,
            references: outcome.references,
            remapped: outcome.remapped,
        }
    }

    /// What was done, a row for each class and field.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// True if the save came back exactly as it was written, but for handles that were
    /// [`remapped`](Self::remapped).
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// What the save says of the program that wrote it.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Classes and how many objects of each were made.
    pub fn objects(&self) -> impl Iterator<Item = (&str, u64)> {
        self.objects.iter().map(|(class, count)| (&**class, *count))
    }

    /// How many references the objects held, dangling ones included.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.references
    }

    /// How many handles got a new id from the [`Remap`](crate::Remap) of the load.
    #[must_use]
    pub fn remapped(&self) -> u64 {
        self.remapped
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, count) in &self.objects {
            writeln!(f, "{count} {class}")?;
        }
        writeln!(f, "{} references", self.references)?;
        if self.remapped > 0 {
            writeln!(f, "{} remapped handles", self.remapped)?;
        }
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.change {
            Change::Defaulted => "defaulted",
            Change::Dropped => "dropped",
            Change::Unknown => "skipped, not registered",
            Change::Dangling => "dangling weak reference",
            Change::Kept => "kept as unknown",
            Change::Unregistered => "set to `None`, not registered for its trait",
            Change::Nulled => "handle set to null, not in the remap",
            Change::Dead => "dead handle, not in the remap",
        };
        write!(f, "{what}: {}", self.class)?;
        if let Some(field) = &self.field {
            write!(f, ".{field}")?;
        }
        write!(f, ", {} times", self.count)?;
        if let Some(object) = self.object {
            write!(f, ", first in object {object}")?;
        }
        Ok(())
    }
}
