//! A bounded list with a current place.

use std::collections::VecDeque;

/// Entries in the order in which they were made; those before the position are applied.
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

    /// Notes that the next entry is applied, or the current one undone.
    pub(super) fn step(&mut self, is_redo: bool) {
        self.position = match is_redo {
            true => (self.position + 1).min(self.entries.len()),
            false => self.position.saturating_sub(1),
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

/// The six cases of adding to a circular buffer, by where its current entry stands, and its ends.
#[cfg(test)]
mod tests {
    use super::Ring;

    /// A ring to which `added` entries were added; `undone` of them were then undone.
    fn ring(capacity: usize, added: u32, undone: usize) -> Ring<u32> {
        let mut ring = Ring::new(Some(capacity));
        (1..=added).for_each(|entry| add(&mut ring, entry));
        (0..undone).for_each(|_| ring.step(false));
        ring
    }

    /// Adds as an edit does: undone entries are cut, and if there are still too many, the oldest is evicted.
    fn add(ring: &mut Ring<u32>, entry: u32) {
        while ring.next().is_some() {
            ring.remove(ring.len() - 1);
        }
        *ring.push() = entry;
        while ring.is_over() {
            ring.remove(0);
        }
    }

    /// The entries, with the indices of the current and the next one.
    fn content(ring: &Ring<u32>) -> (Vec<u32>, Option<usize>, Option<usize>) {
        (ring.iter().copied().collect(), ring.current(), ring.next())
    }

    #[test]
    fn add_to_an_empty_ring() {
        let mut ring = ring(3, 0, 0);
        assert_eq!(content(&ring), (vec![], None, None));
        add(&mut ring, 1);
        assert_eq!(content(&ring), (vec![1], Some(0), None));
    }

    #[test]
    fn add_behind_the_current_entry_at_the_end_of_a_ring_with_room() {
        let mut ring = ring(3, 2, 0);
        add(&mut ring, 3);
        assert_eq!(content(&ring), (vec![1, 2, 3], Some(2), None));
    }

    #[test]
    fn add_behind_the_current_entry_at_the_end_of_a_full_ring() {
        let mut ring = ring(3, 3, 0);
        add(&mut ring, 4);
        assert_eq!(content(&ring), (vec![2, 3, 4], Some(2), None));
        assert_eq!(ring.get(0), Some(&2), "the oldest has fallen out");
    }

    #[test]
    fn add_behind_the_current_entry_in_the_middle_of_a_ring_with_room() {
        let mut ring = ring(5, 4, 2);
        assert_eq!(content(&ring), (vec![1, 2, 3, 4], Some(1), Some(2)));
        add(&mut ring, 5);
        assert_eq!(content(&ring), (vec![1, 2, 5], Some(2), None), "the newer ones are cut");
    }

    #[test]
    fn add_behind_the_current_entry_in_the_middle_of_a_full_ring_that_has_wrapped() {
        let mut ring = ring(4, 10, 2);
        assert_eq!(content(&ring), (vec![7, 8, 9, 10], Some(1), Some(2)));
        add(&mut ring, 11);
        assert_eq!(content(&ring), (vec![7, 8, 11], Some(2), None), "nothing has fallen out");
        add(&mut ring, 12);
        add(&mut ring, 13);
        assert_eq!(content(&ring), (vec![8, 11, 12, 13], Some(3), None));
    }

    #[test]
    fn add_to_a_ring_whose_entries_are_all_undone() {
        for (capacity, added) in [(3, 2), (3, 3), (3, 10), (1, 1)] {
            let mut ring = ring(capacity, added, capacity.min(added as usize));
            assert_eq!((ring.current(), ring.next()), (None, Some(0)));
            add(&mut ring, 20);
            assert_eq!(content(&ring), (vec![20], Some(0), None));
        }
    }

    #[test]
    fn steps_end_at_both_ends() {
        let mut ring = ring(2, 2, 5);
        assert_eq!((ring.position(), ring.len()), (0, 2));
        (0..5).for_each(|_| ring.step(true));
        assert_eq!((ring.position(), ring.len()), (2, 2));
    }

    #[test]
    fn what_is_taken_out_leaves_the_current_entry_where_it_is() {
        let mut ring = ring(9, 4, 2);
        assert_eq!(ring.remove(3), Some(4));
        assert_eq!(content(&ring), (vec![1, 2, 3], Some(1), Some(2)));
        assert_eq!(ring.remove(0), Some(1));
        assert_eq!(content(&ring), (vec![2, 3], Some(0), Some(1)));
        assert_eq!(ring.remove(0), Some(2));
        assert_eq!(content(&ring), (vec![3], None, Some(0)));
        assert_eq!(ring.remove(1), None);
    }
}
