//! How a query goes through a column: by pages, by the words of their masks, and by runs of values.

use std::{mem, slice, vec};

use super::column::Page;
use super::directory::{WORDS, first_bit};
use crate::ObjectId;

/// Goes through the pages of columns, the words of their masks, and the values of a page.
pub trait Cursor {
    /// What it gives for each object.
    type Item;

    /// Items of a page or a word that are asked for together: in a loop over them nothing else is left to be done.
    type Run: Iterator<Item = Self::Item>;

    /// A run without items.
    fn empty() -> Self::Run;

    /// Goes to the next page.
    fn page(&mut self);

    /// True if all objects of the page, which are that many, have an item, and these can be had as one run.
    fn has_page(&self, objects: usize) -> bool;

    /// The items of the page, which [has](Self::has_page) one for each object; then it has none left.
    fn page_run(&mut self) -> Self::Run;

    /// Goes to the next word of the page, whose first id is `first`; the bits of objects that have what is asked for.
    fn word(&mut self, word: usize, first: u64) -> u64;

    /// True if these bits are all that this has in the word, and their values are in order.
    fn is_all(&self, wanted: u64) -> bool;

    /// The items of these bits, which are all of the word.
    fn run(&mut self, wanted: u64) -> Self::Run;

    /// The item of a bit; bits are asked for in ascending order, none twice.
    fn item(&mut self, bit: u32) -> Option<Self::Item>;
}

/// The values of a column, to be read.
pub struct Shared<'w, T> {
    pages: slice::Iter<'w, Option<Box<Page<T>>>>,
    page: Option<&'w Page<T>>,
    items: slice::Iter<'w, T>,
    /// Bits of the word whose values `items` still has.
    mask: u64,
    /// The first bit of the word.
    first: u32,
}

/// The values of a column, to be changed.
pub struct Exclusive<'w, T> {
    pages: slice::IterMut<'w, Option<Box<Page<T>>>>,
    /// The words of the page.
    words: &'w [u64; WORDS],
    /// The bit among them whose value is out of its place.
    out: Option<u32>,
    items: slice::IterMut<'w, T>,
    /// In place of `items` where a value is out of its place.
    ordered: Option<vec::IntoIter<&'w mut T>>,
    mask: u64,
}

impl<'w, T> Shared<'w, T> {
    pub(super) fn new(pages: &'w [Option<Box<Page<T>>>]) -> Self {
        Self { pages: pages.iter(), page: None, items: [].iter(), mask: 0, first: 0 }
    }
}

impl<'w, T> Exclusive<'w, T> {
    pub(super) fn new(pages: &'w mut [Option<Box<Page<T>>>]) -> Self {
        let (words, items) = (&[0; WORDS], [].iter_mut());
        Self { pages: pages.iter_mut(), words, out: None, items, ordered: None, mask: 0 }
    }
}

/// How many values stand before that of a bit of a word; what was passed is no longer in the mask.
#[inline]
fn pass(mask: &mut u64, bit: u32) -> usize {
    let before = *mask & ((1 << bit) - 1);
    *mask &= !before & !(1 << bit);
    before.count_ones() as usize
}

impl<'w, T> Cursor for Shared<'w, T> {
    type Item = &'w T;
    type Run = slice::Iter<'w, T>;

    #[inline]
    fn empty() -> Self::Run {
        [].iter()
    }

    #[inline]
    fn has_page(&self, objects: usize) -> bool {
        self.items.len() == objects && self.page.is_some_and(|page| page.out().is_none())
    }

    #[inline]
    fn page_run(&mut self) -> Self::Run {
        mem::take(&mut self.items)
    }

    #[inline]
    fn page(&mut self) {
        self.page = self.pages.next().and_then(Option::as_deref);
        self.items = self.page.map_or(&[][..], Page::items).iter();
        self.mask = 0;
    }

    #[inline]
    fn word(&mut self, word: usize, _: u64) -> u64 {
        // What was not asked for is passed.
        if self.mask != 0 {
            self.items.nth(self.mask.count_ones() as usize - 1);
        }
        self.mask = self.page.map_or(0, |page| page.word(word));
        self.first = first_bit(word);
        self.mask
    }

    #[inline]
    fn is_all(&self, wanted: u64) -> bool {
        self.mask == wanted && self.page.is_none_or(|page| page.out().is_none())
    }

    #[inline]
    fn run(&mut self, wanted: u64) -> Self::Run {
        self.mask = 0;
        let items = self.items.as_slice();
        let (run, rest) = items.split_at(items.len().min(wanted.count_ones() as usize));
        self.items = rest.iter();
        run.iter()
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<&'w T> {
        let page = self.page?;
        if page.out().is_none() {
            self.items.nth(pass(&mut self.mask, bit))
        } else {
            page.get(self.first + bit)
        }
    }
}

impl<'w, T> Cursor for Exclusive<'w, T> {
    type Item = &'w mut T;
    type Run = slice::IterMut<'w, T>;

    #[inline]
    fn empty() -> Self::Run {
        [].iter_mut()
    }

    #[inline]
    fn has_page(&self, objects: usize) -> bool {
        self.items.len() == objects && self.ordered.is_none()
    }

    #[inline]
    fn page_run(&mut self) -> Self::Run {
        mem::take(&mut self.items)
    }

    #[inline]
    fn page(&mut self) {
        self.mask = 0;
        (self.items, self.ordered, self.words) = (Default::default(), None, &[0; WORDS]);
        let Some(Some(page)) = self.pages.next() else { return };
        self.out = page.out();
        if self.out.is_none() {
            let (words, items) = page.parts_mut();
            (self.words, self.items) = (words, items.iter_mut());
        } else {
            let (words, items) = page.ordered_mut();
            (self.words, self.ordered) = (words, Some(items.into_iter()));
        }
    }

    #[inline]
    fn word(&mut self, word: usize, _: u64) -> u64 {
        if self.mask != 0 {
            let passed = self.mask.count_ones() as usize - 1;
            match &mut self.ordered {
                None => drop(self.items.nth(passed)),
                Some(ordered) => drop(ordered.nth(passed)),
            }
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
    fn run(&mut self, wanted: u64) -> Self::Run {
        self.mask = 0;
        let items = mem::take(&mut self.items).into_slice();
        let (run, rest) = items.split_at_mut(items.len().min(wanted.count_ones() as usize));
        self.items = rest.iter_mut();
        run.iter_mut()
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<&'w mut T> {
        let passed = pass(&mut self.mask, bit);
        match &mut self.ordered {
            None => self.items.nth(passed),
            Some(ordered) => ordered.nth(passed),
        }
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

impl<C: Cursor> Cursor for Maybe<C> {
    type Item = Option<C::Item>;
    type Run = MaybeRun<C::Run>;

    #[inline]
    fn empty() -> Self::Run {
        MaybeRun { run: C::empty(), mask: 0, wanted: 0 }
    }

    #[inline]
    fn has_page(&self, _: usize) -> bool {
        false
    }

    #[inline]
    fn page_run(&mut self) -> Self::Run {
        Self::empty()
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
    fn run(&mut self, wanted: u64) -> Self::Run {
        MaybeRun { run: self.cursor.run(wanted & self.mask), mask: self.mask, wanted }
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

impl Cursor for Ids {
    type Item = ObjectId;
    type Run = IdRun;

    #[inline]
    fn empty() -> IdRun {
        IdRun { first: 0, wanted: 0 }
    }

    #[inline]
    fn has_page(&self, _: usize) -> bool {
        false
    }

    #[inline]
    fn page_run(&mut self) -> IdRun {
        Self::empty()
    }

    #[inline]
    fn page(&mut self) {}

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
    fn run(&mut self, wanted: u64) -> IdRun {
        IdRun { first: self.first, wanted }
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<ObjectId> {
        ObjectId::new(self.first + u64::from(bit))
    }
}
