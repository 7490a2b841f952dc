//! [`Disorder`]: the values of a page while they are not in the order of their bits.

use std::cell::Cell;

use super::set_bits;
use crate::world::directory::{WIDTH, WORDS};

/// The places of a page's values while they are not in the order of their bits.
pub(super) enum Disorder {
    Out(Displaced),
    Scattered(Box<Scattered>),
}

/// A value that is out of its place for a while: the component whose method is running. The last value of the page has
/// been swapped into its place.
#[derive(Clone, Copy)]
pub(super) struct Displaced {
    pub(super) bit: u32,
    pub(super) rank: u32,
}

/// The places of values in no order, in which an insertion or a removal moves one value.
///
/// A page is scattered when many values were moved in a row, for objects that are removed or come back one by one. It
/// is put in order before the values are handed out mutably in order, and at the next change after they were read in
/// order: the read has taken as long.
pub(super) struct Scattered {
    /// The place of the value of each bit that has one.
    places: [u16; WIDTH],
    /// The bit of each value.
    bits: Vec<u16>,
    /// True if the values were read in order.
    pub(super) is_read: Cell<bool>,
}

impl Disorder {
    /// Returns the bit of the value that is out.
    pub(super) fn out(&self) -> Option<u32> {
        match self {
            Self::Out(out) => Some(out.bit),
            Self::Scattered(_) => None,
        }
    }

    /// Returns the values of a page with this mask in the order of their bits.
    pub(super) fn in_order<R>(
        &self,
        words: &[u64; WORDS],
        items: impl Iterator<Item = R>,
    ) -> Vec<R> {
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
    pub(super) fn restore_last<R>(self, items: &mut Vec<R>) {
        if (self.rank as usize) < items.len() {
            let item = items.remove(self.rank as usize);
            items.push(item);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a page has few bits and values")]
impl Scattered {
    /// Creates the places of values that are in the order of these bits.
    pub(super) fn new(bits: impl Iterator<Item = u32>) -> Box<Self> {
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
    pub(super) fn place(&self, bit: u32) -> usize {
        self.places[bit as usize].into()
    }

    pub(super) fn insert<T>(&mut self, bit: u32, items: &mut Vec<T>, value: T) {
        self.add(bit);
        items.push(value);
    }

    pub(super) fn remove<T>(&mut self, bit: u32, items: &mut Vec<T>) -> T {
        let place = self.place(bit);
        self.bits.swap_remove(place);
        if let Some(moved) = self.bits.get(place) {
            self.places[usize::from(*moved)] = place as u16;
        }
        items.swap_remove(place)
    }

    /// Sorts the values by their bits, which are passed in order.
    pub(super) fn sort<T>(mut self, bits: impl Iterator<Item = u32>, items: &mut [T]) {
        for (rank, bit) in bits.enumerate() {
            let place = self.place(bit);
            self.places[usize::from(self.bits[rank])] = place as u16;
            self.bits.swap(rank, place);
            items.swap(rank, place);
        }
    }
}
