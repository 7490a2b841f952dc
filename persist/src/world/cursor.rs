//! How a query goes through a column: by pages, by the words of their masks, and by runs of values.

use std::{mem, slice, vec};

use super::column::{Opened, Page};
use super::directory::WORDS;
use crate::ObjectId;

/// Goes through the pages of columns, the words of their masks, and the values of a page.
pub trait QueryCursor {
    type Item;

    /// Items of a page or a word that are asked for together: in a loop over them nothing else is left to be done.
    type Run: Iterator<Item = Self::Item>;

    /// A run without items.
    fn empty() -> Self::Run;

    /// Goes to the next page.
    #[inline]
    fn page(&mut self) {}

    /// True if all objects of the page, which are that many, have an item, and these can be had as one run.
    #[inline]
    fn has_page(&self, _: usize) -> bool {
        false
    }

    /// Goes to the next word of the page, whose first id is `first`; the bits of objects that have what is asked for.
    fn word(&mut self, word: usize, first: u64) -> u64;

    /// True if these bits are all that this has in the word, and their values are in order.
    fn is_all(&self, wanted: u64) -> bool;

    /// The next items: of these bits, which are [all](Self::is_all) of the word, or of a page that [has](Self::has_page) them
    /// all, which are that many.
    fn run(&mut self, wanted: u64, count: usize) -> Self::Run;

    /// The item of a bit; bits are asked for in ascending order, none twice.
    fn item(&mut self, bit: u32) -> Option<Self::Item>;
}

/// The pages of a column, to be read or to be changed.
pub trait Pages<'w> {
    type Item;

    type Items: Iterator<Item = Self::Item> + ExactSizeIterator + Default;

    /// The next page; `None` if it has no values.
    fn next_page(&mut self) -> Option<Opened<'w, Self::Items>>;

    /// Takes that many values from the front, or all.
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

/// The values of a column.
pub struct InColumn<'w, P: Pages<'w>> {
    pages: P,
    words: &'w [u64; WORDS],
    /// The bit among them whose value is out of its place.
    out: Option<u32>,
    items: P::Items,
    /// In place of `items` where a value is out of its place.
    ordered: Option<vec::IntoIter<P::Item>>,
    /// Bits of the word whose values are still to come.
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

    #[inline]
    fn nth(&mut self, passed: usize) -> Option<P::Item> {
        match &mut self.ordered {
            None => self.items.nth(passed),
            Some(ordered) => ordered.nth(passed),
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
            Some(Opened { words, out: None, items }) => (words, None, items, None),
            Some(Opened { words, out: Some(out), items }) => {
                let ordered = Some(out.in_order(items).into_iter());
                (words, Some(out.bit), Default::default(), ordered)
            }
        };
    }

    #[inline]
    fn word(&mut self, word: usize, _: u64) -> u64 {
        // What was not asked for is passed.
        if self.mask != 0 {
            self.nth(self.mask.count_ones() as usize - 1);
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
    fn is_all(&self, wanted: u64) -> bool {
        self.mask == wanted && self.ordered.is_none()
    }

    #[inline]
    fn run(&mut self, _: u64, count: usize) -> Self::Run {
        self.mask = 0;
        P::split(&mut self.items, count)
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<P::Item> {
        // What stands before it is passed.
        let before = self.mask & ((1 << bit) - 1);
        self.mask &= !before & !(1 << bit);
        self.nth(before.count_ones() as usize)
    }
}

/// A component that an object may have.
pub struct Maybe<C> {
    cursor: C,
    mask: u64,
}

impl<C> Maybe<C> {
    pub(super) fn new(cursor: C) -> Self {
        Self { cursor, mask: 0 }
    }
}

/// The items of [`Maybe`]: those of the bits that the column has, and none for the others.
pub struct MaybeRun<R> {
    run: R,
    mask: u64,
    wanted: u64,
}

impl<R: Iterator> Iterator for MaybeRun<R> {
    type Item = Option<R::Item>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.wanted == 0 {
            return None;
        }
        let one = self.wanted & self.wanted.wrapping_neg();
        self.wanted &= !one;
        Some(if self.mask & one == 0 { None } else { self.run.next() })
    }
}

impl<C: QueryCursor> QueryCursor for Maybe<C> {
    type Item = Option<C::Item>;
    type Run = MaybeRun<C::Run>;

    #[inline]
    fn empty() -> Self::Run {
        MaybeRun { run: C::empty(), mask: 0, wanted: 0 }
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
    fn is_all(&self, wanted: u64) -> bool {
        self.cursor.is_all(wanted & self.mask)
    }

    #[inline]
    fn run(&mut self, wanted: u64, _: usize) -> Self::Run {
        let inner = wanted & self.mask;
        let run = self.cursor.run(inner, inner.count_ones() as usize);
        MaybeRun { run, mask: self.mask, wanted }
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<Self::Item> {
        Some(if self.mask >> bit & 1 == 1 { self.cursor.item(bit) } else { None })
    }
}

/// The objects themselves.
#[derive(Default)]
pub struct Ids {
    first: u64,
}

/// The ids of the bits of a word.
pub struct IdRun {
    first: u64,
    wanted: u64,
}

impl Iterator for IdRun {
    type Item = ObjectId;

    #[inline]
    fn next(&mut self) -> Option<ObjectId> {
        if self.wanted == 0 {
            return None;
        }
        let bit = self.wanted.trailing_zeros();
        self.wanted &= self.wanted - 1;
        ObjectId::new(self.first + u64::from(bit))
    }
}

impl QueryCursor for Ids {
    type Item = ObjectId;
    type Run = IdRun;

    #[inline]
    fn empty() -> IdRun {
        IdRun { first: 0, wanted: 0 }
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
    fn run(&mut self, wanted: u64, _: usize) -> IdRun {
        IdRun { first: self.first, wanted }
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<ObjectId> {
        ObjectId::new(self.first + u64::from(bit))
    }
}
