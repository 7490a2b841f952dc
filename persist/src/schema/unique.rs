//! Whether a key of a map, or an element of a set, is there twice.

use std::cmp::Ordering;

/// Keys of a map, or elements of a set, by where they are in the payload.
pub(super) struct UniqueParts {
    /// Where the value begins, and where the part that is being read does.
    pub(super) begin: usize,
    start: usize,
    /// One for elements, two for keys with values.
    parts: u32,
    /// True if the next part is a value.
    is_value: bool,
    found: Vec<(u32, u32)>,
    /// True as long as each is greater than the one before it, by one of some orders: then none is there twice.
    orders: [bool; 3],
}

type PartOrder = fn(&[u8], &[u8]) -> Ordering;

/// Orders in which maps are often stored: by their bytes; by the value of a number; by texts, whose first byte is their
/// length.
const ORDERS: [PartOrder; 3] = [
    |a, b| a.cmp(b),
    |a, b| a.iter().rev().cmp(b.iter().rev()),
    |a, b| a.get(1..).cmp(&b.get(1..)),
];

impl UniqueParts {
    pub(super) fn new(begin: usize, start: usize, parts: u32) -> Self {
        Self { begin, start, parts, is_value: false, found: Vec::new(), orders: [true; 3] }
    }

    /// Takes the part that ends there.
    pub(super) fn take(&mut self, end: usize, payload: &[u8]) {
        let start = std::mem::replace(&mut self.start, end);
        let is_value = self.is_value;
        self.is_value = !is_value && self.parts == 2;
        if !is_value {
            let part = &payload[start..end];
            if let Some(last) = self.found.last() {
                let last = bytes(*last, payload);
                for (is_ordered, order) in self.orders.iter_mut().zip(ORDERS) {
                    *is_ordered = *is_ordered && order(last, part) == Ordering::Less;
                }
            }
            // A record has fewer bytes.
            let place = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
            self.found.push((place(start), place(end)));
        }
    }

    /// True if one of them is there twice.
    pub(super) fn has_twice(&mut self, payload: &[u8]) -> bool {
        if self.orders.contains(&true) {
            return false;
        }
        self.found.sort_unstable_by(|a, b| bytes(*a, payload).cmp(bytes(*b, payload)));
        self.found.windows(2).any(|pair| bytes(pair[0], payload) == bytes(pair[1], payload))
    }
}

fn bytes((start, end): (u32, u32), payload: &[u8]) -> &[u8] {
    &payload[start as usize..end as usize]
}
