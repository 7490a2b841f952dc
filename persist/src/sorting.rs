//! Sorts that are compiled once for all types.
//!
//! Each type that `slice::sort` sorts adds some 2,000 lines of LLVM code to the library. Lists that are sorted only
//! once are sorted here by their indices.

use std::cmp::Ordering;

/// Returns the indices of `count` items in sorted order; the sort is stable.
pub(crate) fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// Sorts stably, by `compare`.
pub(crate) fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let swaps = swaps(items.len(), &|a, b| compare(&items[a], &items[b]));
    swaps.into_iter().enumerate().for_each(|(place, from)| items.swap(place, from));
}

/// Sorts in ascending order.
pub(crate) fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Returns the index to swap with each place, from the first to the last, to sort items; empty if they are sorted.
fn swaps(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    if (1..count).all(|at| compare(at - 1, at).is_le()) {
        return Vec::new();
    }
    // `items` is the item at each place, `places` the place of each item.
    let mut items: Vec<usize> = (0..count).collect();
    let mut places = items.clone();
    let swap = |(place, item): (usize, usize)| {
        let (from, other) = (places[item], items[place]);
        items.swap(place, from);
        (places[item], places[other]) = (place, from);
        from
    };
    order(count, compare).into_iter().enumerate().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::{sort, sort_by};

    #[test]
    fn items_are_sorted_and_equal_ones_keep_their_order() {
        for count in 0..40_u32 {
            let items = (0..count).map(|at| (at.wrapping_mul(2_654_435_761) % 7, at));
            let mut sorted: Vec<_> = items.clone().collect();
            let mut expected = sorted.clone();
            sort_by(&mut sorted, |(a, _), (b, _)| a.cmp(b));
            expected.sort_by_key(|(key, _)| *key);
            assert_eq!(sorted, expected);
            let mut all: Vec<_> = items.rev().collect();
            expected.sort_unstable();
            sort(&mut all);
            assert_eq!(all, expected);
        }
    }
}
