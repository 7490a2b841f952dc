//! The tables of a save: numbers and pointers of its objects, and the queue of those to write.

use super::identity::AddressMap;
use super::object_list::ObjectList;
use crate::format::ClassNumbers;

/// The tables of a save, by the numbers of its objects. They take 32 to 48 bytes for each object.
///
/// A manager keeps the tables between its saves, so that later saves need not allocate.
#[derive(Default)]
pub(crate) struct SaveTables {
    pub(super) map: AddressMap,
    pub(super) objects: ObjectList,
    pub(super) queue: ObjectQueue,
    /// The numbers of classes.
    pub(super) numbers: ClassNumbers,
}

/// Maximum size in bytes of tables that are reused: those of more than a million objects.
const MAX_REUSED: usize = 64 << 20;

impl SaveTables {
    /// Returns the tables without their content, for the next save.
    #[must_use]
    pub(super) fn cleared(mut self) -> Self {
        let size = self.map.size() + self.objects.size() + self.queue.size();
        if size > MAX_REUSED {
            return Self::default();
        }
        self.map.clear();
        self.objects.clear();
        self.queue.clear();
        self.numbers.clear();
        self
    }
}

/// A queue of the numbers of objects, without repetition.
///
/// In most graphs the numbers are in order without a gap: every visited object is written, unless only weak pointers
/// lead to it. Then the queue is just a count.
#[derive(Default)]
pub(super) struct ObjectQueue {
    /// The queue begins with all numbers below this one.
    ordered: u32,
    /// The numbers after them.
    rest: Vec<u32>,
    /// A bit for each number, set if the number is in `rest`.
    in_rest: Vec<u64>,
}

impl ObjectQueue {
    /// Adds a number to the queue, unless it was added before.
    #[inline]
    pub(super) fn add(&mut self, number: u32) {
        if number < self.ordered {
            return;
        }
        if number == self.ordered && self.rest.is_empty() {
            self.ordered += 1;
        } else {
            self.add_to_rest(number);
        }
    }

    fn add_to_rest(&mut self, number: u32) {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.in_rest.len() {
            self.in_rest.resize(word + 1, 0);
        }
        if self.in_rest[word] & bit == 0 {
            self.in_rest[word] |= bit;
            self.rest.push(number);
        }
    }

    /// Returns true if a number was added to the queue.
    pub(super) fn has(&self, number: u32) -> bool {
        let word = self.in_rest.get(number as usize / 64).copied().unwrap_or(0);
        number < self.ordered || word >> (number % 64) & 1 == 1
    }

    /// Returns the number at this place of the queue.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<u32> {
        match place.checked_sub(self.ordered as usize) {
            None => u32::try_from(place).ok(),
            Some(place) => self.rest.get(place).copied(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.ordered = 0;
        self.rest.clear();
        self.in_rest.clear();
    }

    /// Returns the bytes of memory in use.
    pub(super) fn size(&self) -> usize {
        self.rest.capacity() * size_of::<u32>() + self.in_rest.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(numbers: &[u32]) -> Vec<u32> {
        let mut queue = ObjectQueue::default();
        numbers.iter().for_each(|number| queue.add(*number));
        (0..).map_while(|place| queue.get(place)).collect()
    }

    #[test]
    fn numbers_come_once_in_the_order_in_which_they_were_added() {
        assert_eq!(queue(&[]), [0_u32; 0]);
        assert_eq!(queue(&[0, 1, 0, 2, 1, 2]), [0, 1, 2]);
        assert_eq!(queue(&[0, 1, 3, 2, 3, 1, 2, 70, 4]), [0, 1, 3, 2, 70, 4]);
        assert_eq!(queue(&[5, 0, 5, 1]), [5, 0, 1]);
    }
}
