//! A bounded list with a current place.

use std::collections::VecDeque;

/// Entries in the order in which they were made, of which those before the position are applied.
///
/// It is a circular buffer of exactly its capacity: a full one takes a new entry by dropping the oldest. The count of applied entries is
/// kept, not the index of the current one, so that an empty ring and one whose entries are all undone differ.
pub(super) struct Ring<E> {
    entries: VecDeque<E>,
    /// How many are applied, from the first on.
    position: usize,
    /// `None` if it is unlimited.
    capacity: Option<usize>,
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

    pub(super) fn capacity(&self) -> Option<usize> {
        self.capacity
    }

    pub(super) fn set_capacity(&mut self, capacity: Option<usize>) {
        self.capacity = capacity;
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

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &E> + ExactSizeIterator {
        self.entries.iter()
    }

    /// Index of the entry that was applied last, which the next undo takes back.
    pub(super) fn current(&self) -> Option<usize> {
        self.position.checked_sub(1)
    }

    /// Index of the entry that the next redo applies.
    pub(super) fn next(&self) -> Option<usize> {
        Some(self.position).filter(|next| *next < self.entries.len())
    }

    /// Notes that the current entry is undone.
    pub(super) fn step_back(&mut self) {
        self.position = self.position.saturating_sub(1);
    }

    /// Notes that the next entry is applied.
    pub(super) fn step_on(&mut self) {
        self.position = (self.position + 1).min(self.entries.len());
    }

    /// Puts an entry behind the current one, where none may be, as the current one.
    pub(super) fn push(&mut self, entry: E) {
        debug_assert_eq!(
            self.position,
            self.entries.len(),
            "entries that are undone are cut first"
        );
        self.entries.push_back(entry);
        self.position = self.entries.len();
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
