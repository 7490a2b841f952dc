//! Cursors: how a query iterates over a column, by pages, by the words of their masks, and by runs of values.
//!
//! The aim is an inner loop like that over a slice. If all objects of a page have the queried components, the page is
//! one run. Otherwise each word of the mask whose objects all have them is a run. Only in other words is each bit
//! tested.

use std::{mem, slice, vec};

use super::{Opened, Page};
use crate::ObjectId;
use crate::world::directory::WORDS;

/// Iterates over the pages of columns, the words of their masks, and the values of a page.
pub trait QueryCursor {
    type Item;

    /// The items of a page or a word, as an iterator that does nothing but yield them.
    type Run: Iterator<Item = Self::Item>;

    /// Returns a run without items.
    fn empty() -> Self::Run;

    /// Moves to the next page.
    #[inline]
    fn page(&mut self) {}

    /// Returns true if all objects of the page have an item, and the items can be returned as one run. The argument is
    /// the number of objects of the page.
    #[inline]
    fn has_page(&self, _: usize) -> bool {
        false
    }

    /// Moves to the next word of the page, whose first id is `first`, and returns the bits of objects that have an
    /// item.
    fn word(&mut self, word: usize, first: u64) -> u64;

    /// Returns true if these bits are all bits of the word that have an item, and the items are in order.
    fn is_all(&self, bits: u64) -> bool;

    /// Returns the next `count` items: those of these bits, which are [all](Self::is_all) of the word, or those of a
    /// page that [has](Self::has_page) all.
    fn run(&mut self, bits: u64, count: usize) -> Self::Run;

    /// Returns the item of a bit. Bits must be passed in ascending order, each at most once.
    fn item(&mut self, bit: u32) -> Option<Self::Item>;
}

/// The pages of a column, by shared or exclusive reference.
pub trait Pages<'w> {
    type Item;

    type Items: Iterator<Item = Self::Item> + ExactSizeIterator + Default;

    /// Moves to the next page; `None` if it has no values.
    fn next_page(&mut self) -> Option<Opened<'w, Self::Items>>;

    /// Takes `count` values from the front, or all if there are fewer.
    fn split(items: &mut Self::Items, count: usize) -> Self::Items;
}

impl<'w, T> Pages<'w> for slice::Iter<'w, Option<Box<Page<T>>>> {
    type Item = &'w T;
    type Items = slice::Iter<'w, T>;

    #[inline]
    fn next_page(&mut self) -> Option<Opened<'w, Self::Items>> {
        Some(self.next()?.as_ref()?.open())
    }

    #[inline]
    fn split(items: &mut Self::Items, count: usize) -> Self::Items {
        let all = items.as_slice();
        let (run, rest) = all.split_at(all.len().min(count));
        *items = rest.iter();
        run.iter()
    }
}

impl<'w, T> Pages<'w> for slice::IterMut<'w, Option<Box<Page<T>>>> {
    type Item = &'w mut T;
    type Items = slice::IterMut<'w, T>;

    #[inline]
    fn next_page(&mut self) -> Option<Opened<'w, Self::Items>> {
        Some(self.next()?.as_mut()?.open_mut())
    }

    #[inline]
    fn split(items: &mut Self::Items, count: usize) -> Self::Items {
        let all = mem::take(items).into_slice();
        let (run, rest) = all.split_at_mut(all.len().min(count));
        *items = rest.iter_mut();
        run.iter_mut()
    }
}

/// A cursor over the values of a column.
pub struct InColumn<'w, P: Pages<'w>> {
    pages: P,
    words: &'w [u64; WORDS],
    /// The bit of the page whose value is out.
    out: Option<u32>,
    items: P::Items,
    /// The values in order, in place of `items`, if those of the page are not.
    ordered: Option<vec::IntoIter<P::Item>>,
    /// The bits of the word whose values have not been returned yet.
    mask: u64,
}

const NO_WORDS: &[u64; WORDS] = &[0; WORDS];

impl<'w, P: Pages<'w>> InColumn<'w, P> {
    pub(super) fn new(pages: P) -> Self {
        Self {
            pages,
            words: NO_WORDS,
            out: None,
            items: Default::default(),
            ordered: None,
            mask: 0,
        }
    }

    /// Skips some values, and returns the next one.
    #[inline]
    fn next_after(&mut self, skipped: usize) -> Option<P::Item> {
        match &mut self.ordered {
            None => self.items.nth(skipped),
            Some(ordered) => ordered.nth(skipped),
        }
    }
}

impl<'w, P: Pages<'w>> QueryCursor for InColumn<'w, P> {
    type Item = P::Item;
    type Run = P::Items;

    #[inline]
    fn empty() -> Self::Run {
        Default::default()
    }

    #[inline]
    fn has_page(&self, objects: usize) -> bool {
        self.items.len() == objects && self.ordered.is_none()
    }

    #[inline]
    fn page(&mut self) {
        self.mask = 0;
        (self.words, self.out, self.items, self.ordered) = match self.pages.next_page() {
            None => (NO_WORDS, None, Default::default(), None),
            Some(Opened { words, disorder: None, items }) => (words, None, items, None),
            Some(Opened { words, disorder: Some(disorder), items }) => {
                let ordered = Some(disorder.in_order(words, items).into_iter());
                (words, disorder.out(), Default::default(), ordered)
            }
        };
    }

    #[inline]
    fn word(&mut self, word: usize, _: u64) -> u64 {
        // Skip the values of the previous word that the query did not request.
        if self.mask != 0 {
            self.next_after(self.mask.count_ones() as usize - 1);
        }
        self.mask = self.words[word];
        if let Some(out) = self.out
            && out as usize / 64 == word
        {
            self.mask &= !(1 << (out % 64));
        }
        self.mask
    }

    #[inline]
    fn is_all(&self, bits: u64) -> bool {
        self.mask == bits && self.ordered.is_none()
    }

    #[inline]
    fn run(&mut self, _: u64, count: usize) -> Self::Run {
        self.mask = 0;
        P::split(&mut self.items, count)
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<P::Item> {
        // Skip the values of lower bits that the query did not request.
        let skipped = self.mask & ((1 << bit) - 1);
        self.mask &= !skipped & !(1 << bit);
        self.next_after(skipped.count_ones() as usize)
    }
}

/// A cursor for a component that an object may have or not.
pub struct Maybe<C> {
    cursor: C,
    mask: u64,
}

impl<C> Maybe<C> {
    pub(super) fn new(cursor: C) -> Self {
        Self { cursor, mask: 0 }
    }
}

/// A run of [`Maybe`]: `Some` for the bits that the column has, and `None` for the others.
pub struct MaybeRun<R> {
    run: R,
    mask: u64,
    bits: u64,
}

impl<R: Iterator> Iterator for MaybeRun<R> {
    type Item = Option<R::Item>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.bits == 0 {
            return None;
        }
        let one = self.bits & self.bits.wrapping_neg();
        self.bits &= !one;
        Some(if self.mask & one == 0 { None } else { self.run.next() })
    }
}

impl<C: QueryCursor> QueryCursor for Maybe<C> {
    type Item = Option<C::Item>;
    type Run = MaybeRun<C::Run>;

    #[inline]
    fn empty() -> Self::Run {
        MaybeRun { run: C::empty(), mask: 0, bits: 0 }
    }

    #[inline]
    fn page(&mut self) {
        self.cursor.page();
    }

    #[inline]
    fn word(&mut self, word: usize, first: u64) -> u64 {
        self.mask = self.cursor.word(word, first);
        u64::MAX
    }

    #[inline]
    fn is_all(&self, bits: u64) -> bool {
        self.cursor.is_all(bits & self.mask)
    }

    #[inline]
    fn run(&mut self, bits: u64, _: usize) -> Self::Run {
        let inner = bits & self.mask;
        let run = self.cursor.run(inner, inner.count_ones() as usize);
        MaybeRun { run, mask: self.mask, bits }
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<Self::Item> {
        Some(if self.mask >> bit & 1 == 1 { self.cursor.item(bit) } else { None })
    }
}

/// A cursor for the ids of objects.
#[derive(Default)]
pub struct Ids {
    first: u64,
}

/// A run of the ids of a word's bits.
pub struct IdRun {
    first: u64,
    bits: u64,
}

impl Iterator for IdRun {
    type Item = ObjectId;

    #[inline]
    fn next(&mut self) -> Option<ObjectId> {
        if self.bits == 0 {
            return None;
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        ObjectId::new(self.first + u64::from(bit))
    }
}

impl QueryCursor for Ids {
    type Item = ObjectId;
    type Run = IdRun;

    #[inline]
    fn empty() -> IdRun {
        IdRun { first: 0, bits: 0 }
    }

    #[inline]
    fn word(&mut self, _: usize, first: u64) -> u64 {
        self.first = first;
        u64::MAX
    }

    #[inline]
    fn is_all(&self, _: u64) -> bool {
        true
    }

    #[inline]
    fn run(&mut self, bits: u64, _: usize) -> IdRun {
        IdRun { first: self.first, bits }
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<ObjectId> {
        ObjectId::new(self.first + u64::from(bit))
    }
}
