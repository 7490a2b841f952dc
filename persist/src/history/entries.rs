//! The entries of a history, as the program sees them.

use std::fmt;
use std::ops::Range;

use super::journal::Spill;
use super::{Label, Ring, UndoEntry};

/// An entry of a [`History`](super::History), as it was when it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// The index of the entry. [`History::go_to`](super::History::go_to) with `index + 1` leads to the state after it.
    pub index: usize,
    /// The label of the entry.
    pub label: Label,
    /// The number of the state after it.
    pub state: u64,
    /// The bytes of memory that it takes, roughly.
    ///
    /// If there is [a limit](super::Capacity::bytes) on them, the objects, components and resources that it keeps
    /// outside the world count as well, with their sizes in a save.
    pub bytes: usize,
    /// True if the entry is applied, and false if it is undone.
    pub is_applied: bool,
    /// True if the state after it is the saved one.
    pub is_saved: bool,
}

/// An iterator over the entries of a [`History`](super::History): see [`History::entries`](super::History::entries).
pub struct Entries<'h, T: 'static> {
    ring: &'h Ring<UndoEntry<T>>,
    /// The files with labels of entries that are not in memory.
    spill: Option<&'h Spill>,
    range: Range<usize>,
    saved: Option<usize>,
}

impl<'h, T: 'static> Entries<'h, T> {
    /// The first `len` entries of the list. The state after `saved` of them is the saved one.
    pub(super) fn new(
        (ring, spill): (&'h Ring<UndoEntry<T>>, Option<&'h Spill>),
        len: usize,
        saved: Option<usize>,
    ) -> Self {
        Self { ring, spill, range: 0..len, saved }
    }

    fn entry(&self, index: usize) -> Option<HistoryEntry> {
        let (label, state, bytes) = match self.ring.get(index) {
            Some(entry) => (entry.label(), entry.state, entry.size),
            None => {
                let far = self.ring.far(index)?;
                let label = self.spill.map(|spill| spill.label(far.at)).unwrap_or_default();
                (label, far.state, far.held as usize)
            }
        };
        Some(HistoryEntry {
            index,
            label,
            state,
            bytes,
            is_applied: index < self.ring.position(),
            is_saved: self.saved == Some(index + 1),
        })
    }
}

impl<T: 'static> Iterator for Entries<'_, T> {
    type Item = HistoryEntry;

    fn next(&mut self) -> Option<HistoryEntry> {
        self.nth(0)
    }

    fn nth(&mut self, n: usize) -> Option<HistoryEntry> {
        let index = self.range.nth(n)?;
        self.entry(index)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl<T: 'static> DoubleEndedIterator for Entries<'_, T> {
    fn next_back(&mut self) -> Option<HistoryEntry> {
        self.nth_back(0)
    }

    fn nth_back(&mut self, n: usize) -> Option<HistoryEntry> {
        let index = self.range.nth_back(n)?;
        self.entry(index)
    }
}

impl<T: 'static> ExactSizeIterator for Entries<'_, T> {}

impl<T: 'static> fmt::Debug for Entries<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.range.clone().filter_map(|index| self.entry(index))).finish()
    }
}
