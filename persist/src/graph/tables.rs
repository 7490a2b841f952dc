//! The objects that a save meets, by their addresses and numbers.

use crate::codec::Shared;
use crate::format::ClassNumbers;

/// The tables of a save. A manager keeps them between its saves, so that those after the first find their memory there.
#[derive(Default)]
pub(crate) struct SaveTables {
    pub(super) objects: ObjectTable,
    /// Of classes.
    pub(super) numbers: ClassNumbers,
}

/// Objects whose tables are kept at most.
const KEPT: usize = 1 << 20;

impl SaveTables {
    /// The tables without their content, for the next save.
    #[must_use]
    pub(super) fn cleared(mut self) -> Self {
        if self.objects.all.capacity() > KEPT {
            return Self::default();
        }
        self.objects.clear();
        self.numbers.clear();
        self
    }
}

/// Objects by their numbers, and those by the addresses of the objects: a hash table with linear probing, 36 to 72 bytes
/// for each.
#[derive(Default)]
pub(super) struct ObjectTable {
    /// Each the number + 1 of an object, with a mark if it is in the queue; 0 if it is free. There are `2^bits`, or none
    /// yet, and at most half of them are taken.
    slots: Vec<u32>,
    bits: u32,
    /// Held, so that no address comes back for another object while the save runs.
    all: Vec<Shared>,
    /// The numbers of those that are written, in this order.
    queue: Vec<u32>,
}

/// The mark of an object that is in the queue.
const QUEUED: u32 = 1 << 31;

/// Low bits that are mostly 0 in the address of an object.
const ALIGNED: u32 = align_of::<usize>().trailing_zeros();

/// The objects in `2^NEAR` times `2^EACH` words have their homes in `2^NEAR` slots, in order: objects that were made one
/// after the other are mostly met so, too. With homes all over the slots, a save of 10^6 objects took 1.6 times as long.
const NEAR: u32 = 6;

/// An allocation has at least `2^EACH` words, so that no two objects of these have one home.
const EACH: u32 = 2;

/// 2^64 / golden ratio (Knuth, TAOCP 3, 6.4), which spreads what is equally far apart.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// `bits` of 256 KiB of slots.
const LARGE: u32 = 16;

/// `bits` of the smallest table that has slots.
const LEAST: u32 = NEAR + 2;

impl ObjectTable {
    /// There are fewer numbers than this.
    pub(super) const MOST: u32 = QUEUED - 1;

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &Shared {
        &self.all[number as usize]
    }

    /// The numbers of the objects that are written, from a place in their order on.
    #[inline]
    pub(super) fn queued(&self, from: usize) -> &[u32] {
        self.queue.get(from..).unwrap_or_default()
    }

    /// The number of the object at an address, and whether it is new: numbers count up from 0. One that is wanted comes
    /// into the queue.
    #[inline]
    pub(super) fn meet(
        &mut self,
        address: usize,
        is_wanted: bool,
        share: impl FnOnce() -> Shared,
    ) -> (u32, bool) {
        if self.all.len() >= self.slots.len() / 2 {
            self.grow();
        }
        let place = self.place(address);
        let slot = &mut self.slots[place];
        let is_new = *slot == 0;
        if is_new {
            self.all.push(share());
            // There are fewer than slots.
            *slot = u32::try_from(self.all.len()).unwrap_or(Self::MOST);
        }
        if is_wanted && *slot & QUEUED == 0 {
            self.queue.push(*slot - 1);
            *slot |= QUEUED;
        }
        ((*slot & !QUEUED) - 1, is_new)
    }

    /// Where the search for an address begins.
    #[inline]
    fn home(&self, address: usize) -> usize {
        let each = address >> (ALIGNED + EACH);
        let spread = ((each >> NEAR) as u64).wrapping_mul(SPREAD) >> (64 + NEAR - self.bits);
        // It is below the number of slots.
        usize::try_from(spread).unwrap_or(0) << NEAR | each & ((1 << NEAR) - 1)
    }

    /// The slot of an address, or the free one that it can take.
    #[inline]
    fn place(&self, address: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = self.home(address);
        while let Some(slot) = self.slots.get(place)
            && *slot != 0
            && self.get((slot & !QUEUED) - 1).address() != address
        {
            place = (place + 1) & mask;
        }
        place
    }

    #[cold]
    fn grow(&mut self) {
        self.bits = (self.bits + 1).max(LEAST);
        let old = std::mem::replace(&mut self.slots, vec![0; 1 << self.bits]);
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let place = self.place(self.get((slot & !QUEUED) - 1).address());
            self.slots[place] = slot;
        }
    }

    /// Reads what the searches for these addresses read first, one right after the other. Of such short steps the
    /// processor does several at a time, so that their cache misses overlap.
    pub(super) fn touch(&self, addresses: impl Iterator<Item = usize>) {
        let slots = addresses.filter_map(|address| self.slots.get(self.home(address)));
        let found = slots.filter_map(|slot| self.all.get((slot & !QUEUED) as usize));
        std::hint::black_box(found.filter(|shared| shared.is_boxed()).count());
    }

    /// True if the slots hardly stay in the cache next to all else.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.bits > LARGE
    }

    /// Takes all out. There are as many slots as before, unless those were few of them.
    fn clear(&mut self) {
        // What one large graph needed is not cleared after each small one.
        while self.bits > LEAST && self.all.len() >> (self.bits - 3) == 0 {
            self.bits -= 1;
        }
        self.slots.truncate(1 << self.bits);
        self.slots.fill(0);
        self.all.clear();
        self.queue.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::rc::Rc;

    use super::*;
    use crate::codec::Object;

    /// Meets objects in an order without a pattern, many of them twice, and holds the table against the standard map.
    fn check(table: &mut ObjectTable, objects: &[Rc<dyn Object>]) {
        let (mut known, mut queue) = (HashMap::new(), Vec::new());
        let mut meet = |table: &mut ObjectTable, at: usize, is_wanted: bool| {
            let shared = Shared::from(objects[at].clone());
            let next = u32::try_from(known.len()).unwrap();
            let (number, is_queued) = known.entry(at).or_insert((next, false));
            let is_new = *number == next;
            if is_wanted && !std::mem::replace(is_queued, true) {
                queue.push(*number);
            }
            let found = table.meet(shared.address(), is_wanted, || shared.clone());
            assert_eq!(found, (*number, is_new));
            assert_eq!(table.get(*number).address(), shared.address());
        };
        for i in 0..objects.len() {
            meet(table, i, i % 3 == 0);
            meet(table, i * 7919 % objects.len(), i % 5 == 0);
        }
        (0..objects.len()).rev().for_each(|i| meet(table, i, true));
        assert_eq!((table.len(), table.queued(0)), (objects.len(), &queue[..]));
        assert!(table.queued(queue.len() + 1).is_empty());
    }

    #[test]
    fn every_object_keeps_its_number() {
        check(
            &mut ObjectTable::default(),
            &(0..20_000_u32).map(|i| Rc::new(i) as _).collect::<Vec<_>>(),
        );
        let of_sizes = |i: u64| -> Rc<dyn Object> {
            match i % 3 {
                0 => Rc::new([i; 2]),
                1 => Rc::new([i; 25]),
                _ => Rc::new([i; 600]),
            }
        };
        check(&mut ObjectTable::default(), &(0..3000).map(of_sizes).collect::<Vec<_>>());
    }

    #[test]
    fn a_table_that_was_cleared_knows_nothing() {
        let mut table = ObjectTable::default();
        let objects: Vec<Rc<dyn Object>> = (0..5000_u32).map(|i| Rc::new(i) as _).collect();
        for count in [10_usize, 5000, 5000, 10, 0, 3000] {
            check(&mut table, &objects[..count]);
            let slots = table.slots.len();
            table.clear();
            assert!(table.slots.len() <= slots.min(32 * count.max(16)));
            assert!(table.slots.iter().all(|slot| *slot == 0) && table.len() == 0);
        }
    }
}
