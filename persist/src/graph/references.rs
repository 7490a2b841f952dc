//! The references that a load has decoded and not yet connected.

use std::collections::HashMap;
use std::ops::Range;

use crate::codec::Within;
use crate::{ErrorKind, Result};

/// A decoded reference: the record of its target, and flags that say where the reference is. It takes 4 bytes, since a
/// save may have many more references than objects.
#[derive(Clone, Copy)]
pub(super) struct PendingReference(u32);

/// Selects the references that one pass connects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// All references of the object.
    Whole,
    /// References outside of cells, which only `&mut` reaches.
    Bare,
    /// References inside cells.
    Cells,
}

const WEAK: u32 = 1 << 31;
const IN_CELL: u32 = 1 << 30;
const IN_ONCE: u32 = 1 << 29;
const TARGET: u32 = IN_ONCE - 1;

impl PendingReference {
    /// Maximum number of records: larger indices do not fit beside the flags.
    pub(super) const MAX_RECORDS: usize = TARGET as usize;

    /// Makes a reference to a record, or to none.
    pub(super) fn new(target: Option<u32>, weak: bool, within: Within) -> Self {
        let place = match within {
            Within::Bare => 0,
            Within::Cell => IN_CELL,
            Within::Once => IN_ONCE,
        };
        Self(target.unwrap_or(TARGET) | place | if weak { WEAK } else { 0 })
    }

    pub(super) fn target(self) -> Option<usize> {
        let target = self.0 & TARGET;
        (target != TARGET).then_some(target as usize)
    }

    pub(super) fn is_weak(self) -> bool {
        self.0 & WEAK != 0
    }

    pub(super) fn is_bare(self) -> bool {
        self.0 & (IN_CELL | IN_ONCE) == 0
    }

    /// Returns true if this is a strong reference in a cell that can be set only once.
    pub(super) fn is_strong_once(self) -> bool {
        self.0 & (WEAK | IN_CELL | IN_ONCE) == IN_ONCE
    }

    /// Returns true if this is a strong reference that cannot be removed once its object is shared.
    pub(super) fn is_permanent(self) -> bool {
        self.0 & (WEAK | IN_CELL) == 0
    }

    pub(super) fn closes_cycle(self) -> bool {
        self.0 & (IN_CELL | IN_ONCE) == IN_CELL | IN_ONCE
    }

    pub(super) fn is_of(self, pass: Pass) -> bool {
        match pass {
            Pass::Whole => true,
            Pass::Bare => self.is_bare(),
            Pass::Cells => !self.is_bare(),
        }
    }
}

/// All references in the order in which they were decoded, with the range of each record.
#[derive(Default)]
pub(super) struct References {
    all: Vec<PendingReference>,
    /// Index of the first reference of each record, in the order of records, then the number of references.
    starts: Vec<u32>,
    /// The record with the first entry in `starts`. Earlier records are connected and forgotten.
    first: usize,
    /// The references of records that were decoded after all others, out of order.
    deferred: HashMap<usize, Range<usize>>,
}

impl References {
    /// Reserves memory for the ranges of that many records.
    pub(super) fn reserve(&mut self, records: usize) {
        self.starts.reserve_exact(records + 1);
    }

    #[inline]
    pub(super) fn push(&mut self, reference: PendingReference) {
        self.all.push(reference);
    }

    /// Removes the last reference.
    pub(super) fn pop(&mut self) {
        self.all.pop();
    }

    /// Removes the references after the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> PendingReference {
        self.all[place]
    }

    pub(super) fn in_places(&self, places: Range<usize>) -> &[PendingReference] {
        &self.all[places]
    }

    pub(super) fn all(&self) -> &[PendingReference] {
        &self.all
    }

    /// Begins the next record: references that are pushed after this call belong to it.
    #[inline]
    pub(super) fn begin_record(&mut self) -> Result<()> {
        let Ok(start) = u32::try_from(self.all.len()) else {
            bail!(ErrorKind::TooLarge, "a save has at most 4294967295 references");
        };
        self.starts.push(start);
        Ok(())
    }

    /// Returns the range of the references of a record.
    pub(super) fn of(&self, record: usize) -> Range<usize> {
        let deferred = if self.deferred.is_empty() { None } else { self.deferred.get(&record) };
        deferred.cloned().unwrap_or_else(|| {
            let at = record - self.first;
            self.starts[at] as usize..self.starts[at + 1] as usize
        })
    }

    /// Returns the range of the references of the root value.
    pub(super) fn of_root(&self) -> Range<usize> {
        0..self.starts.first().map_or(0, |start| *start as usize)
    }

    /// Returns the references of several records that were decoded in their order.
    pub(super) fn of_records(&self, records: Range<usize>) -> &[PendingReference] {
        let start = |record: usize| self.starts[record - self.first] as usize;
        &self.all[start(records.start)..start(records.end)]
    }

    /// Returns the records that have begun, up to the one that the next call of [`begin_record`](Self::begin_record)
    /// begins.
    pub(super) fn begun(&self) -> Range<usize> {
        self.first..self.first + self.starts.len()
    }

    /// Gives a record all references from `start` on. The record is one that is decoded after all others.
    pub(super) fn end_deferred(&mut self, record: usize, start: usize) {
        self.deferred.insert(record, start..self.all.len());
    }

    /// Returns true if a record was decoded after all others.
    pub(super) fn is_deferred(&self, record: usize) -> bool {
        !self.deferred.is_empty() && self.deferred.contains_key(&record)
    }

    /// Marks a reference in a once cell as one that closes a cycle, by a combination of flags that no other reference
    /// has.
    pub(super) fn set_closes_cycle(&mut self, place: usize) {
        self.all[place].0 |= IN_CELL | IN_ONCE;
    }

    /// Reorders the references since `start`: first those of `ranges[0]`, then those of `ranges[1]`, ...
    pub(super) fn reorder(&mut self, start: usize, ranges: &[Range<usize>]) {
        let ordered: Vec<PendingReference> =
            ranges.iter().flat_map(|range| &self.all[range.clone()]).copied().collect();
        self.all.truncate(start);
        self.all.extend(ordered);
    }

    /// Forgets all references, when they are connected. The next record is `next`.
    pub(super) fn forget(&mut self, next: usize) {
        self.first = next;
        self.starts.clear();
        self.all.clear();
    }
}
