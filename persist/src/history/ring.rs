//! A list of entries with a current position.

use std::collections::VecDeque;

use crate::fields::Direction;

/// Entries in the order in which they were created. The entries before the position are applied.
///
/// It is a circular buffer that grows: `History::trim` evicts entries beyond the capacity. It stores the number of
/// applied entries, not the index of the current one, so that an empty list and one whose entries are all undone
/// differ.
pub(super) struct Ring<E> {
    entries: VecDeque<E>,
    /// The number of applied entries, from the first on.
    position: usize,
    /// The maximum number of entries. `None` for no limit.
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

    /// True if there are more entries than the capacity.
    pub(super) fn is_over(&self) -> bool {
        self.capacity.is_some_and(|capacity| self.entries.len() > capacity)
    }

    pub(super) fn get(&self, index: usize) -> Option<&E> {
        self.entries.get(index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut E> {
        self.entries.get_mut(index)
    }

    /// The number of entries, from the first on, for which `holds` is true. It must be false for all others.
    pub(super) fn partition(&self, holds: impl FnMut(&E) -> bool) -> usize {
        self.entries.partition_point(holds)
    }

    /// Index of the last applied entry, which the next undo reverts.
    pub(super) fn current(&self) -> Option<usize> {
        self.position.checked_sub(1)
    }

    /// Index of the entry that the next redo applies.
    pub(super) fn next(&self) -> Option<usize> {
        Some(self.position).filter(|next| *next < self.entries.len())
    }

    /// Index of the entry that the next undo or redo runs.
    pub(super) fn toward(&self, direction: Direction) -> Option<usize> {
        if direction == Direction::Undo { self.current() } else { self.next() }
    }

    /// Moves the position after an undo or a redo.
    pub(super) fn step(&mut self, direction: Direction) {
        self.position = match direction {
            Direction::Undo => self.position.saturating_sub(1),
            Direction::Redo => (self.position + 1).min(self.entries.len()),
        };
    }

    /// Appends an empty entry and makes it the current one. All entries must be applied.
    ///
    /// The caller fills the entry in place. A push of a filled entry would copy it right after it was written, which
    /// takes longer than the rest of a small edit.
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

    /// Puts an entry at the end, without a change of the position.
    pub(super) fn put(&mut self, entry: E) {
        self.entries.push_back(entry);
    }

    /// Sets the number of applied entries.
    pub(super) fn set_position(&mut self, position: usize) {
        self.position = position.min(self.entries.len());
    }

    /// Removes an entry. If it is the current one, the entry before it becomes the current one.
    pub(super) fn remove(&mut self, index: usize) -> Option<E> {
        let entry = self.entries.remove(index)?;
        self.position -= usize::from(index < self.position);
        Some(entry)
    }
}

/// The limits of a [`History`](super::History). There are none by default.
///
/// # Example
///
/// ```
/// # #[cfg(feature = "world")] {
/// use persist::history::Capacity;
/// use persist::{History, World};
///
/// let mut world = World::new();
/// let mut history = History::new(Capacity { entries: Some(1_000), bytes: Some(64 << 20) });
/// history.set_capacity(&mut world, 200); // at most 200 entries, of any size
/// # history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
/// # }
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// The maximum number of entries. With 0, nothing can be undone.
    pub entries: Option<usize>,
    /// The maximum number of [bytes](super::HistoryEntry::bytes) of all entries.
    ///
    /// The current entry is kept, however large it is. Entries in [files](super::SessionOptions::memory) count like
    /// those in memory. Entries are evicted when one is added or another limit is set. An undo or a redo evicts
    /// nothing, although the objects that it takes out of the target may lead over the limit.
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
