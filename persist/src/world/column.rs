//! The components of one type, in the order of their objects.

use std::any::Any;

use super::any_component::AnyComponent;
use super::component::Component;
use super::directory::Place;
use crate::codec::row::Inline;
use crate::codec::{Decoder, Encoder, Fail, Stop, count};

/// Values by place. Each page has the values of neighbouring ids, close together and in their order, and says by a bit for
/// each whether it is there: a column takes the memory of what is in it, and is gone through as memory is read best.
pub(super) struct Column<T> {
    pub(super) pages: Vec<Page<T>>,
}

/// 64-bit words in the mask of a page. At the start of a page a query waits for memory: a million objects took it 1.3 times as long
/// with 8 words as with 32, and with 1 about 2.5 times.
pub(super) const WORDS: usize = 32;

/// Ids of a page.
pub(super) const WIDTH: usize = WORDS * 64;

/// The first bit of a word.
#[expect(clippy::cast_possible_truncation, reason = "there are few words")]
pub(super) fn first_bit(word: usize) -> u32 {
    word as u32 * u64::BITS
}

/// The values of neighbouring ids; a page without any takes the memory of a pointer.
pub(super) struct Page<T>(Option<Box<Filled<T>>>);

struct Filled<T> {
    /// A bit for each id that has a value.
    mask: [u64; WORDS],
    /// How many bits the words before each have; counts only where the word has bits itself. So a value that comes after
    /// all others changes no count of the words after it.
    before: [u16; WORDS],
    /// No bit from this one on has a value.
    end: u32,
    /// One value for each bit, in order, except for those that are out.
    items: Vec<T>,
    out: Option<Out>,
}

/// A value that is out of its place for a while. The last of the page is in its place.
#[derive(Clone, Copy)]
struct Out {
    bit: u32,
    rank: usize,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Default for Filled<T> {
    fn default() -> Self {
        Self { mask: [0; WORDS], before: [0; WORDS], end: 0, items: Vec::new(), out: None }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

fn split(bit: u32) -> (usize, u64) {
    (bit as usize / 64, 1 << (bit % 64))
}

impl<T> Page<T> {
    pub(super) fn has(&self, bit: u32) -> bool {
        self.0.as_ref().is_some_and(|page| page.has(bit))
    }

    /// The bits of a word that have values.
    #[inline]
    pub(super) fn word(&self, word: usize) -> u64 {
        self.0.as_ref().map_or(0, |page| page.word(word))
    }

    /// How many values there are, with one that is out of its place.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |page| page.items.len() + usize::from(page.out.is_some()))
    }

    /// The words of its mask, and its values, by the order of their bits if none is out.
    #[inline]
    pub(super) fn parts_mut(&mut self) -> (&[u64; WORDS], &mut [T]) {
        match &mut self.0 {
            Some(page) => (&page.mask, &mut page.items),
            None => (&[0; WORDS], &mut []),
        }
    }

    /// The bit of the value that is out of its place.
    #[inline]
    pub(super) fn out(&self) -> Option<u32> {
        Some(self.0.as_ref()?.out?.bit)
    }

    /// The bits that have values.
    pub(super) fn bits(&self) -> impl Iterator<Item = u32> + use<T> {
        let mut words: [u64; WORDS] = std::array::from_fn(|word| self.word(word));
        let mut at = 0;
        std::iter::from_fn(move || {
            while *words.get(at)? == 0 {
                at += 1;
            }
            let bit = words[at].trailing_zeros();
            words[at] &= words[at] - 1;
            Some(first_bit(at) + bit)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|page| page.items.is_empty() && page.out.is_none())
    }

    /// True if all values are where their bits say.
    #[inline]
    pub(super) fn is_in_order(&self) -> bool {
        self.0.as_ref().is_none_or(|page| page.out.is_none())
    }

    /// The values, by the order of their bits if none is out.
    #[inline]
    pub(super) fn items(&self) -> &[T] {
        self.0.as_ref().map_or(&[], |page| &page.items)
    }

    /// The words of its mask, and its values in the order of their bits, where one is out.
    pub(super) fn ordered_mut(&mut self) -> (&[u64; WORDS], Vec<&mut T>) {
        match &mut self.0 {
            Some(page) => {
                let out = page.out;
                (&page.mask, in_order(&mut page.items, out))
            }
            None => (&[0; WORDS], Vec::new()),
        }
    }

    #[inline]
    pub(super) fn get(&self, bit: u32) -> Option<&T> {
        self.0.as_ref()?.get(bit)
    }

    #[inline]
    fn get_mut(&mut self, bit: u32) -> Option<&mut T> {
        self.0.as_mut()?.get_mut(bit)
    }
}

impl<T> Filled<T> {
    fn holds(&self, bit: u32) -> bool {
        let (word, one) = split(bit);
        self.mask[word] & one != 0
    }

    fn has(&self, bit: u32) -> bool {
        self.holds(bit) && self.out.is_none_or(|out| out.bit != bit)
    }

    /// The bits of a word that have values.
    #[inline]
    fn word(&self, word: usize) -> u64 {
        let mask = self.mask.get(word).copied().unwrap_or(0);
        match self.out {
            Some(out) if out.bit as usize / 64 == word => mask & !split(out.bit).1,
            _ => mask,
        }
    }

    /// How many values are before that of a bit that has one.
    fn rank(&self, bit: u32) -> usize {
        let (word, one) = split(bit);
        usize::from(self.before[word]) + (self.mask[word] & (one - 1)).count_ones() as usize
    }

    /// Counts the bits before a word that has none.
    #[expect(clippy::cast_possible_truncation, reason = "a page has few bits")]
    fn count_before(&mut self, word: usize) {
        self.before[word] = self.mask[..word].iter().map(|word| word.count_ones() as u16).sum();
    }

    /// Where the value of a bit is.
    fn place(&self, bit: u32) -> Option<usize> {
        if !self.holds(bit) {
            return None;
        }
        let rank = self.rank(bit);
        match self.out {
            None => Some(rank),
            Some(out) if out.bit == bit => None,
            // The last one has moved.
            Some(out) if rank == self.items.len() => Some(out.rank),
            Some(_) => Some(rank),
        }
    }

    fn get(&self, bit: u32) -> Option<&T> {
        self.items.get(self.place(bit)?)
    }

    fn get_mut(&mut self, bit: u32) -> Option<&mut T> {
        let place = self.place(bit)?;
        self.items.get_mut(place)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a page has few bits")]
    fn insert(&mut self, bit: u32, value: T) -> Option<T> {
        if bit < self.end || self.out.is_some() {
            return self.insert_between(bit, value);
        }
        // After all others, as objects are mostly made: nothing is to be counted or moved.
        let (word, one) = split(bit);
        if self.mask[word] == 0 {
            self.before[word] = self.items.len() as u16;
        }
        self.mask[word] |= one;
        self.end = bit + 1;
        self.items.push(value);
        None
    }

    fn insert_between(&mut self, bit: u32, value: T) -> Option<T> {
        if let Some(here) = self.get_mut(bit) {
            return Some(std::mem::replace(here, value));
        }
        if let Some(out) = self.out.take() {
            self.items.push(value);
            let last = self.items.len() - 1;
            self.items.swap(out.rank, last);
            if out.bit == bit {
                return None;
            }
            // Another one than what is out: what is out stays away for good.
            let value = self.items.remove(out.rank);
            self.clear(out.bit);
            return self.insert(bit, value);
        }
        let (word, one) = split(bit);
        if self.mask[word] == 0 {
            self.count_before(word);
        }
        let rank = self.rank(bit);
        self.mask[word] |= one;
        self.end = self.end.max(bit + 1);
        self.before[word + 1..].iter_mut().for_each(|before| *before = before.wrapping_add(1));
        self.items.insert(rank, value);
        None
    }

    fn remove(&mut self, bit: u32) -> Option<T> {
        self.place(bit)?;
        if let Some(out) = self.out.take() {
            // What is out stays away for good.
            let last = self.items.len().saturating_sub(1);
            if out.rank < last {
                let moved = self.items.remove(out.rank);
                self.items.push(moved);
            }
            self.clear(out.bit);
        }
        let rank = self.rank(bit);
        self.clear(bit);
        Some(self.items.remove(rank))
    }

    fn clear(&mut self, bit: u32) {
        let (word, one) = split(bit);
        self.mask[word] &= !one;
        self.before[word + 1..].iter_mut().for_each(|before| *before = before.wrapping_sub(1));
    }

    /// Takes a value out for a while, in constant time; [`insert`](Self::insert) puts it back.
    fn take(&mut self, bit: u32) -> Option<T> {
        if self.out.is_some() {
            return self.remove(bit);
        }
        let rank = self.place(bit)?;
        self.out = Some(Out { bit, rank });
        Some(self.items.swap_remove(rank))
    }
}

/// Values in the order of their bits, where one is out.
fn in_order<T>(items: &mut [T], out: Option<Out>) -> Vec<&mut T> {
    let mut items: Vec<&mut T> = items.iter_mut().collect();
    if let Some(out) = out
        && out.rank < items.len()
    {
        let last = items.remove(out.rank);
        items.push(last);
    }
    items
}

impl<T> Column<T> {
    pub(super) fn get(&self, place: Place) -> Option<&T> {
        self.pages.get(place.page)?.get(place.bit)
    }

    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut T> {
        self.pages.get_mut(place.page)?.get_mut(place.bit)
    }

    pub(super) fn has(&self, place: Place) -> bool {
        self.pages.get(place.page).is_some_and(|page| page.has(place.bit))
    }

    /// Puts a value in, and returns the one that was there.
    #[inline]
    pub(super) fn insert(&mut self, place: Place, value: T) -> Option<T> {
        if let Some(Page(Some(page))) = self.pages.get_mut(place.page) {
            return page.insert(place.bit, value);
        }
        self.insert_first(place, value)
    }

    /// Puts the first value into a page.
    #[cold]
    fn insert_first(&mut self, place: Place, value: T) -> Option<T> {
        if self.pages.len() <= place.page {
            self.pages.resize_with(place.page + 1, Page::default);
        }
        // Where neighbours are full this one will be, and takes its memory at once.
        let is_dense = || place.page > 0 && self.pages[place.page - 1].items().len() >= WIDTH / 2;
        if self.pages[place.page].0.is_none() {
            let mut page = Box::<Filled<T>>::default();
            if is_dense() {
                page.items.reserve_exact(WIDTH);
            }
            self.pages[place.page].0 = Some(page);
        }
        self.pages[place.page].0.as_mut()?.insert(place.bit, value)
    }

    pub(super) fn remove(&mut self, place: Place) -> Option<T> {
        self.pages.get_mut(place.page)?.0.as_mut()?.remove(place.bit)
    }

    /// Takes a value out for a while: it is not there until [`insert`](Self::insert) puts it back, which costs
    /// nothing in between.
    pub(super) fn take(&mut self, place: Place) -> Option<T> {
        self.pages.get_mut(place.page)?.0.as_mut()?.take(place.bit)
    }

    /// Makes room for a page that came into the directory.
    pub(super) fn insert_page(&mut self, page: usize) {
        if page < self.pages.len() {
            self.pages.insert(page, Page::default());
        }
    }

    /// Drops the pages that left the directory.
    pub(super) fn retain_pages(&mut self, keep: &[bool]) {
        let mut keep = keep.iter();
        self.pages.retain(|_| keep.next().is_none_or(|keep| *keep));
    }
}

/// A column whose type is known at run time only.
pub(super) trait AnyColumn: Any + Send {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn has(&self, place: Place) -> bool;
    fn get(&self, place: Place) -> Option<&dyn AnyComponent>;
    fn get_mut(&mut self, place: Place) -> Option<&mut dyn AnyComponent>;
    fn remove(&mut self, place: Place) -> Option<Box<dyn AnyComponent>>;
    fn insert_page(&mut self, page: usize);
    fn retain_pages(&mut self, keep: &[bool]);
    fn pages(&self) -> usize;
    /// The components of a page, one after the other; `None` if one of them is out of its place, or there are none.
    fn items(&self, page: usize) -> Option<Box<dyn Items + '_>>;
    /// Writes the component of a place after the number of its class, as a box holds it; `None` if there is none.
    fn encode(&self, place: Place, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>>;
    /// Reads the component of a place; false, without reading, if there is one.
    fn decode(&mut self, place: Place, input: &mut Decoder<'_>) -> Result<bool, Fail>;
}

/// Writes a component as a box holds it: the number of its class, and the value.
#[inline]
fn encode<T: Component>(component: &T, number: u64, out: &mut Encoder<'_>) -> Result<(), Stop> {
    out.count_box::<T>();
    // Both at once, where both have a fixed width.
    if Inline::<T>::FIXED
        && let Ok(short) = u8::try_from(number)
        && number <= count::SHORT
    {
        return out.nested_in::<T>(|out| {
            if let [first, value @ ..] = out.take(1 + T::__HEAD)? {
                *first = short;
                component.__encode_head(value);
            }
            Ok(())
        });
    }
    count::encode(number, out)?;
    out.nested_in::<T>(|out| out.value(component))
}

/// Components of a type that is known at run time only, to be written one after the other.
pub(super) trait Items {
    /// Writes the next one after the number of its class, as a box holds it; `None` if there is none.
    fn encode_next(&mut self, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>>;
}

impl<T: Component> Items for std::slice::Iter<'_, T> {
    fn encode_next(&mut self, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>> {
        self.next().map(|component| encode(component, number, out))
    }
}

impl<T: Component> AnyColumn for Column<T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn has(&self, place: Place) -> bool {
        self.has(place)
    }

    fn get(&self, place: Place) -> Option<&dyn AnyComponent> {
        self.get(place).map(|component| component as &dyn AnyComponent)
    }

    fn get_mut(&mut self, place: Place) -> Option<&mut dyn AnyComponent> {
        self.get_mut(place).map(|component| component as &mut dyn AnyComponent)
    }

    fn remove(&mut self, place: Place) -> Option<Box<dyn AnyComponent>> {
        self.remove(place).map(|component| Box::new(component) as Box<dyn AnyComponent>)
    }

    fn insert_page(&mut self, page: usize) {
        self.insert_page(page);
    }

    fn retain_pages(&mut self, keep: &[bool]) {
        self.retain_pages(keep);
    }

    fn pages(&self) -> usize {
        self.pages.len()
    }

    fn items(&self, page: usize) -> Option<Box<dyn Items + '_>> {
        let page = self.pages.get(page).filter(|page| !page.is_empty() && page.is_in_order())?;
        Some(Box::new(page.items().iter()))
    }

    fn encode(&self, place: Place, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>> {
        self.get(place).map(|component| encode(component, number, out))
    }

    fn decode(&mut self, place: Place, input: &mut Decoder<'_>) -> Result<bool, Fail> {
        if self.has(place) {
            return Ok(false);
        }
        charge_pages(self.pages.len(), place, input)?;
        input.charge_box::<T>()?;
        // What is not registered is inside: this component has not been passed over.
        let component = input.nested_in::<T, _>(|input| match input.value::<T>() {
            Err(Fail::Unregistered) => Err(Fail::Refused),
            result => result,
        })?;
        self.insert(place, component);
        Ok(true)
    }
}

/// A component on a page of its own takes all pages before in its column.
#[inline]
pub(super) fn charge_pages(
    pages: usize,
    place: Place,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let pages = (place.page + 1).saturating_sub(pages);
    if pages > 1 {
        input.charge(0, (pages * size_of::<Page<u8>>()) as u64)?;
    }
    Ok(())
}
