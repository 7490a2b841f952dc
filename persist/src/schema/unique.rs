//! Whether a key of a map, or an element of a set, is there twice.

use std::cmp::Ordering;
use std::ops::Range;

use crate::sorting::sort;

/// Keys of a map, or elements of a set, by where they are in some bytes.
pub(super) struct Unique {
    /// Where the value begins.
    pub(super) begin: usize,
    /// Where each part begins, and where the last one ends.
    marks: Vec<u32>,
    /// From one element to the next, and how many parts are compared of each.
    step: usize,
    span: usize,
}

type PartOrder = fn(&[u8], &[u8]) -> Ordering;

/// Orders in which maps are often stored: by their bytes; by the value of a number; by texts, whose first byte is their
/// length. Where each part is greater than the one before it, none is there twice.
const ORDERS: [PartOrder; 3] = [
    |a, b| a.cmp(b),
    |a, b| a.iter().rev().cmp(b.iter().rev()),
    |a, b| a.get(1..).cmp(&b.get(1..)),
];

impl Unique {
    /// Of every part, or of every other one.
    pub(super) fn new(begin: usize, step: usize) -> Self {
        Self { begin, marks: Vec::new(), step, span: 1 }
    }

    /// Of pairs of parts.
    pub(super) fn of_pairs(begin: usize) -> Self {
        Self { span: 2, ..Self::new(begin, 2) }
    }

    /// Notes that a part begins there, or that the last one ends.
    pub(super) fn mark(&mut self, at: usize) {
        // A record has fewer bytes.
        self.marks.push(u32::try_from(at).unwrap_or(u32::MAX));
    }

    /// True if one of them is there twice.
    pub(super) fn has_duplicate(&self, bytes: &[u8]) -> bool {
        let last = self.marks.len().saturating_sub(self.span);
        let range = |at: usize| self.marks[at] as usize..self.marks[at + self.span] as usize;
        let parts = (0..last).step_by(self.step).map(range);
        let part = |range: Range<usize>| &bytes[range];
        let pairs = || parts.clone().map(part).zip(parts.clone().map(part).skip(1));
        let is_in = |order: PartOrder| pairs().all(|(a, b)| order(a, b) == Ordering::Less);
        if ORDERS.into_iter().any(is_in) {
            return false;
        }
        let mut parts: Vec<&[u8]> = parts.clone().map(part).collect();
        sort(&mut parts);
        parts.windows(2).any(|pair| pair[0] == pair[1])
    }
}
