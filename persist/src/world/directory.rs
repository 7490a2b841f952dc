//! The places of ids in the columns.
//!
//! All columns are divided into pages of neighbouring ids. The directory lists the pages that exist; a column has
//! either a page of values or nothing for each of them.

use super::Location;
use crate::ObjectId;

/// The number of 64-bit words in the mask of a page.
///
/// Larger pages make queries faster, which wait for memory at the start of each page. `for_each` over two components of
/// a million objects takes 1.1 times as long as over two arrays with 32 words, and 1.05 times with 64. Smaller pages
/// make single removals faster, which move the other values of the page: 5 us with 32 words, 8 us with 64 and 14 us with
/// 128.
pub(super) const WORDS: usize = 64;

/// The number of ids of a page.
pub(super) const WIDTH: usize = WORDS * 64;

#[expect(clippy::cast_possible_truncation, reason = "there are few words")]
pub(super) fn first_bit(word: usize) -> u32 {
    word as u32 * u64::BITS
}

/// The pages of a world, in ascending order of their ids. All columns have the same pages, so that every column is in
/// the order of the ids, which is the order of creation.
#[derive(Default)]
pub(super) struct Directory {
    /// The first id of each page, divided by [`WIDTH`].
    keys: Vec<u64>,
}

/// Returns the key of the page of an id, and the bit of the id in that page.
#[expect(clippy::cast_possible_truncation, reason = "a remainder of a page's width")]
fn split(id: ObjectId) -> (u64, u32) {
    (id.get() / WIDTH as u64, (id.get() % WIDTH as u64) as u32)
}

impl Directory {
    /// Returns the place of an id; `None` if its page does not exist.
    #[inline]
    pub(super) fn location(&self, id: ObjectId) -> Option<Location> {
        let (key, bit) = split(id);
        Some(Location { page: self.find(key).ok()?, bit })
    }

    #[inline]
    fn find(&self, key: u64) -> Result<usize, usize> {
        // If no page was dropped, the keys are consecutive, and the index follows from the key.
        let first = self.keys.first().copied().unwrap_or(0);
        let guess = usize::try_from(key.wrapping_sub(first)).unwrap_or(usize::MAX);
        match self.keys.get(guess) {
            Some(found) if *found == key => Ok(guess),
            _ => self.keys.binary_search(&key),
        }
    }

    /// Returns the place of an id, whose page is added if it does not exist. The second value is true if the page is
    /// new: the columns then need it, too.
    pub(super) fn enter(&mut self, id: ObjectId) -> (Location, bool) {
        let (key, bit) = split(id);
        match self.find(key) {
            Ok(page) => (Location { page, bit }, false),
            Err(page) => {
                self.keys.insert(page, key);
                (Location { page, bit }, true)
            }
        }
    }

    pub(super) fn id(&self, page: usize, bit: u32) -> Option<ObjectId> {
        ObjectId::new(self.keys.get(page)? * WIDTH as u64 + u64::from(bit))
    }

    /// Returns the first id of a page, as a number.
    pub(super) fn first(&self, page: usize) -> u64 {
        self.keys.get(page).map_or(0, |key| key * WIDTH as u64)
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn retain_pages(&mut self, keep: &[bool]) {
        let mut keep = keep.iter();
        self.keys.retain(|_| keep.next().is_none_or(|keep| *keep));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_the_order_of_ids_whatever_the_order_of_entries() {
        let width = WIDTH as u64;
        let id = |number| ObjectId::new(number).expect("not 0");
        let mut directory = Directory::default();
        for number in [5 * width - 1, 1, 3 * width, width, width - 1] {
            directory.enter(id(number));
        }
        let check = |directory: &Directory, numbers: &[u64]| {
            let places =
                numbers.iter().map(|number| directory.location(id(*number)).expect("entered"));
            let places: Vec<(usize, u32)> =
                places.map(|location| (location.page, location.bit)).collect();
            assert!(places.is_sorted());
            let ids = places.iter().map(|(page, bit)| directory.id(*page, *bit));
            assert!(ids.eq(numbers.iter().map(|number| Some(id(*number)))));
        };
        check(&directory, &[1, width - 1, width, 3 * width, 5 * width - 1]);
        assert_eq!(directory.location(id(2 * width)), None);
        directory.retain_pages(&[true, false, true, true]);
        assert_eq!(directory.location(id(width)), None);
        check(&directory, &[1, width - 1, 3 * width, 5 * width - 1]);
    }
}
