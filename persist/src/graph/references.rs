//! The references of a load that wait for their targets.

use std::collections::HashMap;
use std::ops::Range;

use crate::codec::Within;
use crate::{ErrorKind, Result};

/// A reference that has been decoded and waits for its target: the record of the
/// target, and where the reference is.
#[derive(Clone, Copy)]
pub(super) struct PendingReference(u32);

/// In which pass references are connected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// All of the object.
    Whole,
    /// References that only `&mut` reaches.
    Bare,
    /// References in cells.
    Cells,
}

const WEAK: u32 = 1 << 31;
const IN_CELL: u32 = 1 << 30;
const IN_ONCE: u32 = 1 << 29;
const TARGET: u32 = IN_ONCE - 1;

impl PendingReference {
    /// More records than this there cannot be.
    pub(super) const MOST: usize = TARGET as usize;

    /// A reference to a record, or to none.
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

    /// True if it is a strong one in a cell that can be set once.
    pub(super) fn is_lasting_once(self) -> bool {
        self.0 & (WEAK | IN_CELL | IN_ONCE) == IN_ONCE
    }

    /// True if it cannot be cut when its object is shared.
    pub(super) fn is_for_ever(self) -> bool {
        self.0 & (WEAK | IN_CELL) == 0
    }

    pub(super) fn is_late(self) -> bool {
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

/// The references, in the order of decoding, and whose each is.
#[derive(Default)]
pub(super) struct References {
    all: Vec<PendingReference>,
    /// Where those of each record begin, in the order of records, and the end.
    starts: Vec<u32>,
    /// The record whose references these are first.
    first: usize,
    /// The references of records that were filled after all others.
    late: HashMap<usize, Range<usize>>,
}

impl References {
    /// Makes room for the beginnings of that many records.
    pub(super) fn reserve(&mut self, records: usize) {
        self.starts.reserve_exact(records + 1);
    }

    #[inline]
    pub(super) fn push(&mut self, reference: PendingReference) {
        self.all.push(reference);
    }

    /// Forgets the last one.
    pub(super) fn pop(&mut self) {
        self.all.pop();
    }

    /// Forgets those after the first `len`.
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

    /// What is decoded from now on are the references of the next record.
    #[inline]
    pub(super) fn begin_record(&mut self) -> Result<()> {
        let Ok(start) = u32::try_from(self.all.len()) else {
            bail!(ErrorKind::TooLarge, "a save has at most 4294967295 references");
        };
        self.starts.push(start);
        Ok(())
    }

    /// The places of those of a record.
    pub(super) fn of(&self, record: usize) -> Range<usize> {
        let late = if self.late.is_empty() { None } else { self.late.get(&record) };
        late.cloned().unwrap_or_else(|| {
            let at = record - self.first;
            self.starts[at] as usize..self.starts[at + 1] as usize
        })
    }

    /// The places of those of the value that is loaded.
    pub(super) fn of_root(&self) -> Range<usize> {
        0..self.starts.first().map_or(0, |start| *start as usize)
    }

    /// The references of records that were filled in their order.
    pub(super) fn of_records(&self, records: Range<usize>) -> &[PendingReference] {
        let start = |record: usize| self.starts[record - self.first] as usize;
        &self.all[start(records.start)..start(records.end)]
    }

    /// The records that have begun, or that the next call of [`begin_record`](Self::begin_record) begins.
    pub(super) fn begun(&self) -> Range<usize> {
        self.first..self.first + self.starts.len()
    }

    /// Says that a record has all references since there were `start`, though it comes after all others.
    pub(super) fn end_late(&mut self, record: usize, start: usize) {
        self.late.insert(record, start..self.all.len());
    }

    /// True if a record was filled after all others.
    pub(super) fn is_late(&self, record: usize) -> bool {
        !self.late.is_empty() && self.late.contains_key(&record)
    }

    /// Marks one in a cell that can be set once as closing a cycle.
    pub(super) fn set_late(&mut self, place: usize) {
        self.all[place].0 |= IN_CELL | IN_ONCE;
    }

    /// Reorders the references since `start`: first those of `ranges[0]`, then those of `ranges[1]`, ...
    pub(super) fn reorder(&mut self, start: usize, ranges: &[Range<usize>]) {
        let ordered: Vec<PendingReference> =
            ranges.iter().flat_map(|range| &self.all[range.clone()]).copied().collect();
        self.all.truncate(start);
        self.all.extend(ordered);
    }

    /// Forgets all, which are connected; `next` is the next record.
    pub(super) fn forget(&mut self, next: usize) {
        self.first = next;
        self.starts.clear();
        self.all.clear();
    }
}
