//! Columns: values in the order of their objects' ids. A world has a column of objects and one for each component type.

mod blocks;
mod cursor;
pub(super) mod query;
mod zipped;

use std::cell::Cell;
use std::{iter, slice};

use super::Location;
use super::directory::{WIDTH, WORDS, first_bit};

/// Values by place, in pages.
///
/// A page stores the values of neighbouring ids contiguously and in order, and has a bit for each id that says whether
/// it has a value. So a column takes memory only for its values, and iterating over it reads memory sequentially.
pub(super) struct Column<T> {
    pages: Vec<Option<Box<Page<T>>>>,
    /// Memory for the values of the next pages. Several are allocated at once, so that neighbouring pages are mostly
    /// adjacent in memory: at a jump in memory a query waits for about a microsecond.
    spare: Vec<Vec<T>>,
}

/// The maximum number of bytes that a column allocates for spare pages at once.
const MAX_SPARE: usize = 4 << 20;

/// A page is scattered when this many of its values were moved since they were last read in order. That takes about as
/// long as to scatter them, and to put them in order again.
const MAX_MOVED: usize = 4 * WIDTH;

/// The values of neighbouring ids.
pub struct Page<T> {
    /// One value for each bit, in order, without the one that is out.
    items: Vec<T>,
    /// The places of the values if they are not in order.
    disorder: Option<Disorder>,
    /// The number of values that were moved since they were last read in order.
    moved: Cell<usize>,
    index: Occupancy,
}

/// The mark of a block that may have changed since the last save or snapshot.
const CHANGED: u64 = 0;

/// The number of words in the mask of a block.
///
/// Smaller blocks make snapshots smaller after a change of few objects, and larger ones faster after a change of all.
const BLOCK_WORDS: usize = 4;

/// The number of blocks of a page.
pub(super) const BLOCKS: usize = WORDS / BLOCK_WORDS;

/// The number of ids of a block.
pub(super) const BLOCK: usize = WIDTH / BLOCKS;

/// The ids of a block that have values.
pub(super) type BlockMask = [u64; BLOCK_WORDS];

/// The ids of a page that have values, and when these changed.
pub(super) struct Occupancy {
    /// For each block, the number of the save or snapshot that first saw it as it is; `CHANGED` since a value of it was
    /// handed out mutably.
    seen: [Cell<u64>; BLOCKS],
    /// A bit for each id that has a value.
    mask: [u64; WORDS],
    /// The rank of each word: the number of bits in all words before it. An entry is valid only if its word has bits
    /// itself, so that appending a value updates no entries of later words.
    ranks: [u16; WORDS],
    /// No bit below this one has a value. Bit 0 of the first page never has one, since no id is 0.
    first: u32,
    /// No bit from this one on has a value. `u32::MAX` while the page is scattered, so that no value is appended, and
    /// none is found by its distance from the first one.
    end: u32,
}

/// The places of a page's values while they are not in the order of their bits.
enum Disorder {
    Out(Displaced),
    Scattered(Box<Scattered>),
}

/// A value that is out of its place for a while: the component whose method is running. The last value of the page has
/// been swapped into its place.
#[derive(Clone, Copy)]
struct Displaced {
    bit: u32,
    rank: u32,
}

/// The places of values in no order, in which an insertion or a removal moves one value.
///
/// A page is scattered when many values were moved in a row: objects are removed, or come back, one by one. A query
/// with `&mut` puts it in order. One with `&` cannot, so the next change does; the read before it took as long.
struct Scattered {
    /// The place of the value of each bit that has one.
    places: [u16; WIDTH],
    /// The bit of each value.
    bits: Vec<u16>,
    /// True if the values were read in order.
    is_read: Cell<bool>,
}

/// A page during iteration: the words of its mask, and its values, which are in the order of their bits unless there is
/// a disorder.
pub struct Opened<'p, I> {
    words: &'p [u64; WORDS],
    disorder: Option<&'p Disorder>,
    items: I,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { items: Vec::new(), disorder: None, moved: Cell::new(0), index: Occupancy::default() }
    }
}

impl Default for Occupancy {
    fn default() -> Self {
        let seen = [const { Cell::new(CHANGED) }; BLOCKS];
        Self { seen, mask: [0; WORDS], ranks: [0; WORDS], first: 0, end: 0 }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), spare: Vec::new() }
    }
}

fn split(bit: u32) -> (usize, u64) {
    (bit as usize / 64, 1 << (bit % 64))
}

/// Iterates over the bits of a mask that are set, in ascending order.
fn set_bits(mut words: [u64; WORDS]) -> impl Iterator<Item = u32> {
    let mut at = 0;
    iter::from_fn(move || {
        while *words.get(at)? == 0 {
            at += 1;
        }
        let bit = words[at].trailing_zeros();
        words[at] &= words[at] - 1;
        Some(first_bit(at) + bit)
    })
}

impl Occupancy {
    fn has(&self, bit: u32) -> bool {
        let (word, one) = split(bit);
        self.mask[word] & one != 0
    }

    /// Returns the number of values before the value of a bit, which must have one.
    fn rank(&self, bit: u32) -> usize {
        let (word, one) = split(bit);
        usize::from(self.ranks[word]) + (self.mask[word] & (one - 1)).count_ones() as usize
    }

    /// Sets a bit after all `len` other bits, which needs no counting.
    #[expect(clippy::cast_possible_truncation, reason = "a page has few bits")]
    fn append(&mut self, bit: u32, len: usize) {
        let (word, one) = split(bit);
        if self.mask[word] == 0 {
            self.ranks[word] = len as u16;
        }
        self.mask[word] |= one;
        self.end = bit + 1;
    }

    /// Sets a bit, and returns the number of values before it.
    #[expect(clippy::cast_possible_truncation, reason = "a page has few bits")]
    fn insert(&mut self, bit: u32) -> usize {
        let (word, one) = split(bit);
        if self.mask[word] == 0 {
            self.ranks[word] = self.mask[..word].iter().map(|word| word.count_ones() as u16).sum();
        }
        self.mask[word] |= one;
        self.first = self.first.min(bit);
        self.end = self.end.max(bit + 1);
        // Entries of words without bits are invalid, and may wrap.
        self.ranks[word + 1..].iter_mut().for_each(|count| *count = count.wrapping_add(1));
        self.rank(bit)
    }

    fn clear(&mut self, bit: u32) {
        let (word, one) = split(bit);
        self.mask[word] &= !one;
        self.ranks[word + 1..].iter_mut().for_each(|count| *count = count.wrapping_sub(1));
    }

    /// Derives everything else from the mask.
    #[expect(clippy::cast_possible_truncation, reason = "a page has few bits")]
    fn recount(&mut self) {
        let mut rank = 0;
        for (word, to) in self.mask.iter().zip(&mut self.ranks) {
            *to = rank;
            rank += word.count_ones() as u16;
        }
        let first = self.mask.iter().position(|word| *word != 0);
        self.first = first.map_or(0, |at| first_bit(at) + self.mask[at].trailing_zeros());
        let last = self.mask.iter().rposition(|word| *word != 0);
        self.end = last.map_or(0, |at| first_bit(at + 1) - self.mask[at].leading_zeros());
    }

    /// Returns the number of bits below one.
    pub(super) fn count_below(&self, bit: u32) -> usize {
        let (word, one) = split(bit);
        let words = self.mask[..word].iter().map(|word| word.count_ones() as usize);
        words.sum::<usize>() + (self.mask[word] & (one - 1)).count_ones() as usize
    }

    /// Marks the block of a bit as changed. Values change through `&mut` alone, so that this is called before one is
    /// handed out.
    #[inline]
    fn mark(&self, bit: u32) {
        self.seen[bit as usize / BLOCK % BLOCKS].set(CHANGED);
    }

    /// Returns the number of the first save or snapshot that saw the page as it is. That is this one if the page is
    /// marked.
    pub(super) fn seen(&self, save: u64) -> u64 {
        (0..BLOCKS).map(|block| self.block_seen(block, save)).fold(CHANGED, u64::max)
    }

    /// Returns the number of the first save or snapshot that saw a block as it is, like [`seen`](Self::seen).
    pub(super) fn block_seen(&self, block: usize, save: u64) -> u64 {
        if self.seen[block].get() == CHANGED {
            self.seen[block].set(save);
        }
        self.seen[block].get()
    }

    /// Returns true if a block may have changed since a save or snapshot.
    pub(super) fn has_changed(&self, block: usize, since: u64) -> bool {
        let seen = self.seen[block].get();
        seen == CHANGED || seen > since
    }

    /// Returns the ids of a block that have values.
    pub(super) fn block(&self, block: usize) -> BlockMask {
        let words = self.mask.as_chunks().0;
        words[block]
    }
}

impl Disorder {
    /// Returns the bit of the value that is out.
    fn out(&self) -> Option<u32> {
        match self {
            Self::Out(out) => Some(out.bit),
            Self::Scattered(_) => None,
        }
    }

    /// Returns the values of a page with this mask in the order of their bits.
    fn in_order<R>(&self, words: &[u64; WORDS], items: impl Iterator<Item = R>) -> Vec<R> {
        match self {
            Self::Out(out) => {
                let mut items: Vec<R> = items.collect();
                out.restore_last(&mut items);
                items
            }
            Self::Scattered(scattered) => {
                let mut items: Vec<Option<R>> = items.map(Some).collect();
                let in_order = set_bits(*words);
                in_order.filter_map(|bit| items.get_mut(scattered.place(bit))?.take()).collect()
            }
        }
    }
}

impl Displaced {
    /// Moves the last value, which has the place of the value that is out, back to the end.
    fn restore_last<R>(self, items: &mut Vec<R>) {
        if (self.rank as usize) < items.len() {
            let item = items.remove(self.rank as usize);
            items.push(item);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a page has few bits and values")]
impl Scattered {
    /// Creates the places of values that are in the order of these bits.
    fn new(bits: impl Iterator<Item = u32>) -> Box<Self> {
        let empty = Self { places: [0; WIDTH], bits: Vec::new(), is_read: Cell::new(false) };
        let mut scattered = Box::new(empty);
        bits.for_each(|bit| scattered.add(bit));
        scattered
    }

    fn add(&mut self, bit: u32) {
        self.places[bit as usize] = self.bits.len() as u16;
        self.bits.push(bit as u16);
    }

    /// Returns the place of the value of a bit, which must have one.
    fn place(&self, bit: u32) -> usize {
        self.places[bit as usize].into()
    }

    fn insert<T>(&mut self, bit: u32, items: &mut Vec<T>, value: T) {
        self.add(bit);
        items.push(value);
    }

    fn remove<T>(&mut self, bit: u32, items: &mut Vec<T>) -> T {
        let place = self.place(bit);
        self.bits.swap_remove(place);
        if let Some(moved) = self.bits.get(place) {
            self.places[usize::from(*moved)] = place as u16;
        }
        items.swap_remove(place)
    }

    /// Sorts the values by their bits, which are passed in order.
    fn sort<T>(mut self, bits: impl Iterator<Item = u32>, items: &mut [T]) {
        for (rank, bit) in bits.enumerate() {
            let place = self.place(bit);
            self.places[usize::from(self.bits[rank])] = place as u16;
            self.bits.swap(rank, place);
            items.swap(rank, place);
        }
    }
}

impl<T> Page<T> {
    /// Returns the bits of a word that have values in their place.
    #[inline]
    fn word(&self, word: usize) -> u64 {
        let mask = self.index.mask[word];
        match self.out() {
            Some(out) if out as usize / 64 == word => mask & !split(out).1,
            _ => mask,
        }
    }

    /// Marks the block of a bit as changed.
    pub(super) fn mark(&self, bit: u32) {
        self.index.mark(bit);
    }

    pub(super) fn occupancy(&self) -> &Occupancy {
        &self.index
    }

    /// Returns the number of values, including one that is out.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.items.len() + usize::from(self.out().is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn out(&self) -> Option<u32> {
        self.disorder.as_ref()?.out()
    }

    pub(super) fn bits(&self) -> impl Iterator<Item = u32> + use<T> {
        set_bits(std::array::from_fn(|word| self.word(word)))
    }

    /// Returns the values, which are in the order of their bits if the page [is in order](Self::is_ordered).
    #[inline]
    pub(super) fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns true if the values are in the order of their bits, for a caller that reads them in that order.
    #[inline]
    pub(super) fn is_ordered(&self) -> bool {
        self.moved.set(0);
        if let Some(Disorder::Scattered(scattered)) = &self.disorder {
            scattered.is_read.set(true);
        }
        self.disorder.is_none()
    }

    #[inline]
    fn open(&self) -> Opened<'_, slice::Iter<'_, T>> {
        self.is_ordered();
        let disorder = self.disorder.as_ref();
        Opened { words: &self.index.mask, disorder, items: self.items.iter() }
    }

    #[inline]
    fn open_mut(&mut self) -> Opened<'_, slice::IterMut<'_, T>> {
        self.settle();
        self.index.seen.iter().for_each(|seen| seen.set(CHANGED));
        let disorder = self.disorder.as_ref();
        Opened { words: &self.index.mask, disorder, items: self.items.iter_mut() }
    }

    /// Puts the values of a scattered page in order.
    #[inline]
    fn settle(&mut self) {
        self.moved.set(0);
        let scattered = self.disorder.take_if(|it| matches!(it, Disorder::Scattered(_)));
        if let Some(Disorder::Scattered(scattered)) = scattered {
            self.sort(*scattered);
        }
    }

    #[cold]
    fn sort(&mut self, scattered: Scattered) {
        scattered.sort(self.bits(), &mut self.items);
        self.index.recount();
    }

    /// Puts the values in order if they were read in order since they were scattered.
    #[inline]
    fn settle_after_read(&mut self) {
        // Only a scattered page has this end, which the caller looks at anyway.
        if self.index.end == u32::MAX {
            self.settle_if_read();
        }
    }

    #[cold]
    fn settle_if_read(&mut self) {
        if let Some(Disorder::Scattered(scattered)) = &self.disorder
            && scattered.is_read.get()
        {
            self.settle();
        }
    }

    /// Notes that values in order were moved, and scatters them after many.
    fn note_moved(&mut self, count: usize) {
        let moved = self.moved.get() + count;
        self.moved.set(moved);
        if moved > MAX_MOVED {
            self.disorder = Some(Disorder::Scattered(Scattered::new(self.bits())));
            self.index.end = u32::MAX;
        }
    }

    /// Returns the index of the value of a bit.
    #[inline]
    pub(super) fn place(&self, bit: u32) -> Option<usize> {
        let Occupancy { first, end, .. } = self.index;
        if self.items.len() == (end - first) as usize {
            // Every bit from the first to the last has a value, and none is out.
            return (first..end).contains(&bit).then(|| (bit - first) as usize);
        }
        if !self.index.has(bit) {
            return None;
        }
        let rank = self.index.rank(bit);
        match &self.disorder {
            None => Some(rank),
            Some(Disorder::Scattered(scattered)) => Some(scattered.place(bit)),
            Some(Disorder::Out(out)) if out.bit == bit => None,
            // This is the last value, which was swapped into the place of the value that is out.
            Some(Disorder::Out(out)) if rank == self.items.len() => Some(out.rank as usize),
            Some(Disorder::Out(_)) => Some(rank),
        }
    }

    #[inline]
    fn get(&self, bit: u32) -> Option<&T> {
        self.items.get(self.place(bit)?)
    }

    #[inline]
    fn get_mut(&mut self, bit: u32) -> Option<&mut T> {
        self.settle_after_read();
        let place = self.place(bit)?;
        self.index.mark(bit);
        self.items.get_mut(place)
    }

    #[inline]
    fn insert(&mut self, bit: u32, value: T) -> Option<T> {
        self.index.mark(bit);
        if bit < self.index.end || self.disorder.is_some() {
            return self.insert_between(bit, value);
        }
        // Ids ascend, so new values mostly come after all others, and nothing has to move.
        self.index.append(bit, self.items.len());
        self.items.push(value);
        None
    }

    fn insert_between(&mut self, bit: u32, value: T) -> Option<T> {
        // The value comes back: it is swapped with the last value, which had its place.
        if let Some(Disorder::Out(Displaced { bit: out, rank })) = self.disorder
            && out == bit
        {
            self.disorder = None;
            let last = self.items.len();
            self.items.push(value);
            self.items.swap(rank as usize, last);
            return None;
        }
        if let Some(here) = self.get_mut(bit) {
            return Some(std::mem::replace(here, value));
        }
        if let Some(Disorder::Scattered(scattered)) = &mut self.disorder {
            self.index.insert(bit);
            scattered.insert(bit, &mut self.items, value);
            return None;
        }
        self.forget_out();
        let rank = self.index.insert(bit);
        self.items.insert(rank, value);
        self.note_moved(self.items.len() - rank);
        None
    }

    fn remove(&mut self, bit: u32) -> Option<T> {
        self.settle_after_read();
        self.place(bit)?;
        self.index.mark(bit);
        if let Some(Disorder::Scattered(scattered)) = &mut self.disorder {
            self.index.clear(bit);
            return Some(scattered.remove(bit, &mut self.items));
        }
        self.forget_out();
        let rank = self.index.rank(bit);
        self.index.clear(bit);
        let value = self.items.remove(rank);
        self.note_moved(self.items.len() - rank);
        Some(value)
    }

    /// Removes the entry of the value that is out, which does not come back, and restores the order of the others.
    fn forget_out(&mut self) {
        let Some(Disorder::Out(out)) = self.disorder.take_if(|it| it.out().is_some()) else {
            return;
        };
        self.index.mark(out.bit);
        out.restore_last(&mut self.items);
        self.index.clear(out.bit);
    }

    /// Takes a value out for a while, in constant time; [`insert`](Self::insert) puts it back. A page has room for one
    /// such value, so a second one is removed.
    #[expect(clippy::cast_possible_truncation, reason = "a page has few values")]
    fn take(&mut self, bit: u32) -> Option<T> {
        if self.disorder.is_some() {
            self.settle();
            // A settled page may still have another value out.
            if self.disorder.is_some() {
                return self.remove(bit);
            }
        }
        let rank = self.place(bit)?;
        self.index.mark(bit);
        self.disorder = Some(Disorder::Out(Displaced { bit, rank: rank as u32 }));
        Some(self.items.swap_remove(rank))
    }
}

impl<T> Column<T> {
    /// Returns the pages; `None` for a page without values that was never used.
    pub(super) fn pages(&self) -> &[Option<Box<Page<T>>>] {
        &self.pages
    }

    fn pages_mut(&mut self) -> &mut [Option<Box<Page<T>>>] {
        &mut self.pages
    }

    #[inline]
    pub(super) fn page(&self, page: usize) -> Option<&Page<T>> {
        self.pages.get(page)?.as_deref()
    }

    #[inline]
    fn page_mut(&mut self, page: usize) -> Option<&mut Page<T>> {
        self.pages.get_mut(page)?.as_deref_mut()
    }

    #[inline]
    pub(super) fn get(&self, location: Location) -> Option<&T> {
        self.page(location.page)?.get(location.bit)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, location: Location) -> Option<&mut T> {
        self.page_mut(location.page)?.get_mut(location.bit)
    }

    pub(super) fn has(&self, location: Location) -> bool {
        self.get(location).is_some()
    }

    /// Inserts a value, and returns the previous one.
    #[inline]
    pub(super) fn insert(&mut self, location: Location, value: T) -> Option<T> {
        match self.page_mut(location.page) {
            Some(page) => page.insert(location.bit, value),
            None => self.insert_first(location, value),
        }
    }

    /// Inserts the first value of a page.
    #[cold]
    fn insert_first(&mut self, location: Location, value: T) -> Option<T> {
        if self.pages.len() <= location.page {
            self.pages.resize_with(location.page + 1, || None);
        }
        let mut page = Box::<Page<T>>::default();
        page.index.first = location.bit;
        // If the previous page is at least half full, this one probably will be, and its memory is allocated at once.
        let previous = location.page.checked_sub(1).and_then(|previous| self.page(previous));
        if previous.is_some_and(|previous| previous.len() >= WIDTH / 2) {
            page.items = self.spare.pop().unwrap_or_else(|| {
                let max = MAX_SPARE / (WIDTH * size_of::<T>().max(1));
                // A quarter of the pages so far, so that the spare memory grows with the column.
                let count = max.min(location.page / 4);
                // Allocations mostly have ascending addresses, so the first one is used first.
                let first = Vec::with_capacity(WIDTH);
                self.spare.extend(iter::repeat_with(|| Vec::with_capacity(WIDTH)).take(count));
                self.spare.reverse();
                first
            });
        }
        self.pages[location.page].insert(page).insert(location.bit, value)
    }

    pub(super) fn remove(&mut self, location: Location) -> Option<T> {
        self.page_mut(location.page)?.remove(location.bit)
    }

    /// Takes a value out for a while, until [`insert`](Self::insert) puts it back. Neither moves the other values.
    pub(super) fn take(&mut self, location: Location) -> Option<T> {
        self.page_mut(location.page)?.take(location.bit)
    }

    /// Takes all values out, in order. None of them may be out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Location, T)> + use<T> {
        let pages = std::mem::take(&mut self.pages).into_iter().enumerate();
        pages.filter_map(|(at, page)| Some((at, page?))).flat_map(|(at, mut page)| {
            page.settle();
            let bits = page.bits();
            let places = bits.map(move |bit| Location { page: at, bit });
            places.zip(page.items)
        })
    }

    /// Inserts an entry for a page that was added to the directory.
    pub(super) fn insert_page(&mut self, page: usize) {
        if page < self.pages.len() {
            self.pages.insert(page, None);
        }
    }

    /// Drops the pages that were removed from the directory.
    pub(super) fn retain_pages(&mut self, keep: &[bool]) {
        let mut keep = keep.iter();
        self.pages.retain(|_| keep.next().is_none_or(|keep| *keep));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Disorder, Page, WIDTH};

    /// Returns the values as an iteration by shared references yields them.
    fn read(page: &Page<u64>) -> Vec<u64> {
        let opened = page.open();
        match opened.disorder {
            Some(disorder) => {
                disorder.in_order(opened.words, opened.items).into_iter().copied().collect()
            }
            None => opened.items.copied().collect(),
        }
    }

    /// Compares random changes with those of an ordered map, with reads in between.
    #[test]
    fn values_are_in_the_order_of_their_bits_however_they_come_and_go() {
        for (reads, sorts) in [(2_000, 50_000), (50_000, 3_000), (1_500, 700), (7, 50_000)] {
            let (mut page, mut twin) = (Page::default(), BTreeMap::new());
            let (mut random, mut scattered) = (7_u64, 0);
            for step in 1..40_000_u64 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let width = u32::try_from(WIDTH).expect("a page is small");
                let bit = (random >> 40) as u32 % width;
                match (random >> 33) % 8 {
                    0 => assert_eq!(page.get_mut(bit), twin.get_mut(&bit)),
                    1 if step % 100 == 0 => {
                        let value = page.take(bit);
                        assert_eq!(value, twin.get(&bit).copied());
                        assert_eq!((page.get(bit), page.len()), (None, twin.len()));
                        value.into_iter().for_each(|it| _ = page.insert(bit, it));
                    }
                    // Few are left after a while of more removals, and many after a while of more insertions.
                    change if (change < 5) == (step / 5_000 % 2 == 0) => {
                        assert_eq!(page.insert(bit, step), twin.insert(bit, step));
                    }
                    _ => assert_eq!(page.remove(bit), twin.remove(&bit)),
                }
                assert_eq!((page.get(bit), page.len()), (twin.get(&bit), twin.len()));
                scattered += u64::from(matches!(page.disorder, Some(Disorder::Scattered(_))));
                if step % reads == 0 {
                    assert!(read(&page).iter().eq(twin.values()), "step {step}");
                    assert!(page.bits().eq(twin.keys().copied()));
                }
                if step % sorts == 0 {
                    assert!(page.open_mut().disorder.is_none());
                    assert!(page.items().iter().eq(twin.values()), "step {step}");
                }
            }
            assert!(read(&page).iter().eq(twin.values()));
            let is_scattered = reads > 7;
            assert_eq!(scattered > 0, is_scattered, "{scattered} steps, read each {reads}");
        }
    }
}
