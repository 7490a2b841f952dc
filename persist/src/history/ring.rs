//! A bounded list with a current place.

use std::collections::VecDeque;

use crate::fields::Direction;

/// Entries in the order in which they were made; those before the position are applied.
///
/// It is a circular buffer of exactly its capacity: a full one takes a new entry by dropping the oldest. The count of applied entries is
/// kept, not the index of the current one, so that an empty ring and one whose entries are all undone differ.
pub(super) struct Ring<E> {
    entries: VecDeque<E>,
    /// How many are applied, from the first on.
    position: usize,
    /// `None` if it is unlimited.
    pub(super) capacity: Option<usize>,
}

impl<E> Ring<E> {
    pub(super) fn new(capacity: Option<usize>) -> Self {
        Self { entries: VecDeque::new(), position: 0, capacity }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// True if there are more than there is room for.
    pub(super) fn is_over(&self) -> bool {
        self.capacity.is_some_and(|capacity| self.entries.len() > capacity)
    }

    pub(super) fn get(&self, index: usize) -> Option<&E> {
        self.entries.get(index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut E> {
        self.entries.get_mut(index)
    }

    /// How many entries, from the first on, this is true for; after the first for which it is false, it is false for all.
    pub(super) fn partition(&self, holds: impl FnMut(&E) -> bool) -> usize {
        self.entries.partition_point(holds)
    }

    /// Index of the entry that was applied last, which the next undo reverts.
    pub(super) fn current(&self) -> Option<usize> {
        self.position.checked_sub(1)
    }

    /// Index of the entry that the next redo applies.
    pub(super) fn next(&self) -> Option<usize> {
        Some(self.position).filter(|next| *next < self.entries.len())
    }

    /// Index of the entry that the next undo or redo is of.
    pub(super) fn toward(&self, direction: Direction) -> Option<usize> {
        if direction == Direction::Undo { self.current() } else { self.next() }
    }

    /// Notes that the current entry is undone, or the next one applied.
    pub(super) fn step(&mut self, direction: Direction) {
        self.position = match direction {
            Direction::Undo => self.position.saturating_sub(1),
            Direction::Redo => (self.position + 1).min(self.entries.len()),
        };
    }

    /// Appends an empty entry after the current one, as the current one; no other entry may follow.
    ///
    /// It is filled where it stays: an entry that is pushed is copied just after it was written, which takes longer than
    /// the rest of a small edit.
    #[inline]
    pub(super) fn push(&mut self) -> &mut E
    where
        E: Default,
    {
        debug_assert_eq!(
            self.position,
            self.entries.len(),
            "entries that are undone are cut first"
        );
        let last = self.entries.len();
        self.position = last + 1;
        self.entries.resize_with(self.position, E::default);
        &mut self.entries[last]
    }

    /// Puts an entry at the end, applied or not.
    pub(super) fn put(&mut self, entry: E) {
        self.entries.push_back(entry);
    }

    /// Says how many of the entries are applied.
    pub(super) fn set_position(&mut self, position: usize) {
        self.position = position.min(self.entries.len());
    }

    /// Takes an entry out; the current one stays the current one, or the one before becomes it.
    pub(super) fn remove(&mut self, index: usize) -> Option<E> {
        let entry = self.entries.remove(index)?;
        self.position -= usize::from(index < self.position);
        Some(entry)
    }
}

/// How much a [`History`](super::History) keeps: by default everything.
///
/// # Example
///
/// ```
/// use persist::history::Capacity;
/// use persist::{History, World};
///
/// let mut world = World::new();
/// let mut history = History::new(Capacity { entries: Some(1_000), bytes: Some(64 << 20) });
/// history.set_capacity(&mut world, 200); // at most 200 entries, of any size
/// # history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// How many entries, at most. With 0, nothing can be undone.
    pub entries: Option<usize>,
    /// How many [bytes](super::HistoryEntry::bytes) the entries may take in all; the current one is kept, however large.
    /// Those in [files](super::SessionOptions::memory) count as in memory.
    ///
    /// Entries are dropped when one is added, or another limit is set. An undo or a redo may lead over this limit until then, since what it
    /// takes out of the target is held: it drops nothing.
    pub bytes: Option<usize>,
}

impl From<usize> for Capacity {
    fn from(entries: usize) -> Self {
        Self::from(Some(entries))
    }
}

impl From<Option<usize>> for Capacity {
    fn from(entries: Option<usize>) -> Self {
        Self { entries, bytes: None }
    }
}
