//! The components of one type, in the order of their objects.

use std::any::Any;

use super::any_component::AnyComponent;
use super::component::Component;
use super::directory::Place;

/// Values by place. Each page has the values of 64 neighbouring ids, close together, and says by a bit for each
/// whether it is there: a column takes the memory of what is in it, and goes through it in order.
pub(super) struct Column<T> {
    pub(super) pages: Vec<Page<T>>,
}

/// The values of 64 neighbouring ids.
pub(super) struct Page<T> {
    /// A bit for each id that has a value.
    pub(super) mask: u64,
    /// As many as there are bits, in their order.
    pub(super) items: Vec<T>,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { mask: 0, items: Vec::new() }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T> Page<T> {
    pub(super) fn has(&self, bit: u32) -> bool {
        self.mask >> bit & 1 == 1
    }

    /// How many values are before the one of a bit.
    fn rank(&self, bit: u32) -> usize {
        (self.mask & ((1 << bit) - 1)).count_ones() as usize
    }

    pub(super) fn get(&self, bit: u32) -> Option<&T> {
        if self.has(bit) { self.items.get(self.rank(bit)) } else { None }
    }

    fn get_mut(&mut self, bit: u32) -> Option<&mut T> {
        let rank = self.rank(bit);
        if self.has(bit) { self.items.get_mut(rank) } else { None }
    }
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
    pub(super) fn insert(&mut self, place: Place, value: T) -> Option<T> {
        if self.pages.len() <= place.page {
            self.pages.resize_with(place.page + 1, Page::default);
        }
        let page = &mut self.pages[place.page];
        let rank = page.rank(place.bit);
        if page.has(place.bit) {
            return Some(std::mem::replace(&mut page.items[rank], value));
        }
        page.mask |= 1 << place.bit;
        page.items.insert(rank, value);
        None
    }

    pub(super) fn remove(&mut self, place: Place) -> Option<T> {
        let page = self.pages.get_mut(place.page)?;
        if !page.has(place.bit) {
            return None;
        }
        let rank = page.rank(place.bit);
        page.mask &= !(1 << place.bit);
        Some(page.items.remove(rank))
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
pub(super) trait AnyColumn: Any {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn has(&self, place: Place) -> bool;
    fn get(&self, place: Place) -> Option<&dyn AnyComponent>;
    fn get_mut(&mut self, place: Place) -> Option<&mut dyn AnyComponent>;
    fn remove(&mut self, place: Place) -> Option<Box<dyn AnyComponent>>;
    fn insert_page(&mut self, page: usize);
    fn retain_pages(&mut self, keep: &[bool]);
    fn pages(&self) -> usize;
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
}
