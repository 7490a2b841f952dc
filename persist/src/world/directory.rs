//! Where in the columns an id has its place.

use crate::ObjectId;

/// 64-bit words in the mask of a page. At the start of a page a query waits for memory: `for_each` over two components of a million
/// objects takes it 1.1 times as long as one array each with 32 words, and 1.05 times with 64. To take an object out from between
/// others moves those of its page: 5 us with 32 words, 8 with 64 and 14 with 128.
pub(super) const WORDS: usize = 64;

/// Ids of a page.
pub(super) const WIDTH: usize = WORDS * 64;

#[expect(clippy::cast_possible_truncation, reason = "there are few words")]
pub(super) fn first_bit(word: usize) -> u32 {
    word as u32 * u64::BITS
}

/// Which pages there are, in the order of their ids; all columns have the same ones, so that the order of
/// every column is that of the ids, which is the order of creation.
#[derive(Default)]
pub(super) struct Directory {
    /// The first id of each page, divided by how many are on it.
    keys: Vec<u64>,
}

/// A place in every column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) page: usize,
    pub(super) bit: u32,
}

/// The number of the page of an id, and its bit there.
#[expect(clippy::cast_possible_truncation, reason = "a remainder of a page's width")]
fn split(id: ObjectId) -> (u64, u32) {
    (id.get() / WIDTH as u64, (id.get() % WIDTH as u64) as u32)
}

impl Directory {
    /// The place of an id, if there is its page.
    #[inline]
    pub(super) fn location(&self, id: ObjectId) -> Option<Location> {
        let (key, bit) = split(id);
        Some(Location { page: self.find(key).ok()?, bit })
    }

    #[inline]
    fn find(&self, key: u64) -> Result<usize, usize> {
        // Mostly no page has been dropped, and the number says where it is.
        let first = self.keys.first().copied().unwrap_or(0);
        let guess = usize::try_from(key.wrapping_sub(first)).unwrap_or(usize::MAX);
        match self.keys.get(guess) {
            Some(found) if *found == key => Ok(guess),
            _ => self.keys.binary_search(&key),
        }
    }

    /// The place of an id, and whether its page is new and other columns need it too.
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

    /// The number of the first id of a page.
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
