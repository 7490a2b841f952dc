//! Addresses to numbers, for the time that the objects are held.

use std::collections::HashMap;

/// A map from addresses to small numbers, by linear probing.
///
/// A slot is one word, so that a look-up is one cache miss. It holds the number, how far the slot is from the home of
/// its address, and what the home does not say of the address. Addresses that no slot can hold are in a standard map;
/// programs rarely have any.
#[derive(Default)]
pub(super) struct AddressMap {
    /// From the top: `WIDTH - bits` bits of the hash, `FAR` bits of distance, `bits` bits of the number + 1. 0 is a
    /// free slot.
    slots: Vec<u64>,
    /// There are `2^bits` slots, or none yet.
    bits: u32,
    len: u32,
    others: HashMap<usize, u32>,
}

/// Low bits that are 0 in the address of an object, before which there are two words of counts.
const ALIGNED: u32 = align_of::<usize>().trailing_zeros();

/// Bits of the rest of an address that a slot can hold. Systems use at most 57 of 64 address bits, most of them 47.
const WIDTH: u32 = 54;

/// Bits of a distance. One above 10 is rare, since at most half of the slots are taken.
const FAR: u32 = 64 - WIDTH;

/// 2^64 / golden ratio (Knuth, TAOCP 3, 6.4), which spreads addresses that are equally far apart. `FAR` bits of 0
/// follow an odd number, so that products have a permutation of the other factor's `WIDTH` bits on top.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c00;

/// Multiplied by this, what is on top of a product is the other factor again.
const GATHER: u64 = {
    let odd = SPREAD >> FAR;
    // Newton's iteration: each step doubles the bits that are right, three at first.
    let (mut inverse, mut step) = (odd, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
};

/// The hash of an address, all of which is in the top `WIDTH` bits; `None` if it has more.
#[inline]
fn hash(address: usize) -> Option<u64> {
    // A bit that should be 0 comes out on top.
    let rest = (address as u64).rotate_right(ALIGNED);
    (rest >> WIDTH == 0).then(|| rest.wrapping_mul(SPREAD))
}

/// The address that has this hash.
fn address(hash: u64) -> usize {
    let rest = (hash >> FAR).wrapping_mul(GATHER) & (u64::MAX >> FAR);
    usize::try_from(rest << ALIGNED).unwrap_or_default()
}

impl AddressMap {
    /// The number of an address, and whether it is new: numbers count up from 0.
    #[inline]
    pub(super) fn insert(&mut self, address: usize) -> (u32, bool) {
        match hash(address).map(|hash| self.find(hash)) {
            Some(Found::Number(number)) => (number, false),
            _ => self.insert_slowly(address),
        }
    }

    #[inline]
    fn find(&self, hash: u64) -> Found {
        let mask = self.slots.len().wrapping_sub(1);
        // In two steps: before there are slots, `bits` is 0.
        let home = (hash >> 1 >> (63 - self.bits)) as usize;
        // The slot without its number.
        let mut wanted = hash << self.bits;
        for place in home..home + (1 << FAR) {
            let place = place & mask;
            let Some(slot) = self.slots.get(place) else { break };
            // Only the number is left if all else is as wanted.
            let number = slot ^ wanted;
            if number.wrapping_sub(1) < mask as u64 {
                return Found::Number(number as u32 - 1);
            }
            if *slot == 0 {
                return Found::Free(place, wanted);
            }
            wanted = wanted.wrapping_add(mask as u64 + 1);
        }
        Found::Nothing
    }

    #[inline(never)]
    fn insert_slowly(&mut self, address: usize) -> (u32, bool) {
        if let Some(number) = self.others.get(&address) {
            return (*number, false);
        }
        let number = self.len;
        self.len += 1;
        if self.len as usize * 2 > self.slots.len() {
            self.grow();
        }
        self.place(address, number);
        (number, true)
    }

    fn place(&mut self, address: usize, number: u32) {
        match hash(address).map(|hash| self.find(hash)) {
            Some(Found::Free(place, slot)) => self.slots[place] = slot | (u64::from(number) + 1),
            _ => drop(self.others.insert(address, number)),
        }
    }

    #[cold]
    fn grow(&mut self) {
        let (old, bits) = (std::mem::take(&mut self.slots), self.bits);
        self.bits = (bits + 1).max(6);
        self.slots = vec![0; 1 << self.bits];
        for (place, slot) in old.iter().enumerate().filter(|(_, slot)| **slot != 0) {
            let distance = (slot >> bits) as usize & ((1 << FAR) - 1);
            let home = place.wrapping_sub(distance) & (old.len() - 1);
            // In order of their homes, which stays: the new slots are written from the first to the last.
            let hash = (home as u64) << (64 - bits) | slot >> (FAR + bits) << FAR;
            let number = slot & (old.len() as u64 - 1);
            self.place(address(hash), number as u32 - 1);
        }
    }
}

/// Where the search for an address ended.
enum Found {
    Number(u32),
    /// At this free slot, which the address can take by this value.
    Free(usize, u64),
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An [`AddressMap`], and the standard map that it has to agree with.
    #[derive(Default)]
    struct Twins {
        map: AddressMap,
        known: HashMap<usize, u32>,
    }

    impl Twins {
        fn insert(&mut self, address: usize) {
            let next = u32::try_from(self.known.len()).unwrap();
            let new = !self.known.contains_key(&address);
            let number = *self.known.entry(address).or_insert(next);
            assert_eq!(self.map.insert(address), (number, new), "{address:#x}");
        }

        /// Asks for each address again, in no particular order.
        fn check(mut self) -> AddressMap {
            let addresses: Vec<usize> = self.known.keys().copied().collect();
            addresses.into_iter().for_each(|address| self.insert(address));
            self.map
        }
    }

    /// Numbers without a pattern (xorshift; Marsaglia 2003).
    fn random() -> impl Iterator<Item = u64> {
        std::iter::successors(Some(0x9e37_79b9_7f4a_7c15), |last: &u64| {
            let x = last ^ last << 13;
            let x = x ^ x >> 7;
            Some(x ^ x << 17)
        })
    }

    #[test]
    fn every_address_keeps_its_number() {
        for stride in [8, 16, 32, 48, 112, 4096, 1 << 20] {
            let mut twins = Twins::default();
            for i in 1..5000 {
                twins.insert(0x7f12_3456_0000 + i * stride);
                twins.insert(0x7f12_3456_0000 + i / 2 * stride);
            }
            assert!(twins.check().others.is_empty());
        }
    }

    #[test]
    fn addresses_without_a_pattern_keep_their_numbers() {
        let mut twins = Twins::default();
        for bits in random().take(20_000) {
            // Of one address space, many of them twice.
            twins.insert(usize::try_from(bits >> 50 << 4).unwrap());
            twins.insert(usize::try_from(bits >> 17 << 3).unwrap());
        }
        assert!(twins.check().others.is_empty());
    }

    #[test]
    fn addresses_that_are_odd_or_too_high_have_numbers_of_their_own() {
        let mut twins = Twins::default();
        for bits in random().take(5000) {
            twins.insert(usize::try_from(bits).unwrap());
            twins.insert(usize::try_from(bits >> 8 << 3).unwrap());
            twins.insert(usize::try_from((bits >> 8 << 3) + 1).unwrap());
        }
        twins.insert(0);
        twins.insert(usize::MAX);
        assert!(twins.check().others.len() > 5000);
    }

    #[test]
    fn addresses_with_one_home_stay_apart() {
        // All have the same top bits of the hash, and more of them than a distance can count.
        let mut twins = Twins::default();
        for low in 0..3 << FAR {
            twins.insert(address(low << FAR));
            // From the last home the search goes on at the first.
            twins.insert(address(u64::MAX << FAR ^ low << FAR));
        }
        assert!(!twins.check().others.is_empty());
    }

    #[test]
    fn those_too_far_from_home_are_found_when_the_map_has_grown() {
        let mut twins = Twins::default();
        for low in 0..2 << FAR {
            twins.insert(address(low << FAR));
        }
        for bits in random().take(40_000) {
            twins.insert(usize::try_from(bits >> 17 << 3).unwrap());
        }
        twins.check();
    }

    #[test]
    fn an_address_is_known_by_its_hash() {
        for bits in random().take(1000) {
            let one = usize::try_from(bits >> FAR << ALIGNED).unwrap();
            assert_eq!(hash(one).map(address), Some(one));
        }
    }
}
