//! Maps the addresses of objects to numbers while a save holds the objects.

use std::collections::HashMap;

/// A map from addresses to small numbers: a hash table with linear probing.
///
/// A slot is one word, so that a look-up is one cache miss. It holds the number, the distance from the address's home
/// slot, and those bits of the address that the home does not determine. A standard map holds the addresses that do not
/// fit a slot; programs rarely have any.
///
/// An address hashes to its home by a multiplication that can be inverted. So a slot need not store the whole address,
/// and [`grow`](Self::grow) recomputes each address from its slot.
pub(super) struct AddressMap {
    /// From the top: `WIDTH - bits` bits of the address, `FAR` bits of distance, and `bits` bits of the number + 1. The
    /// value 0 marks a free slot.
    slots: Vec<u64>,
    /// There are `2^bits` slots, or none before the first insertion.
    bits: u32,
    len: u32,
    others: HashMap<usize, u32>,
}

/// Low bits that are 0 in the address of every object: the value in an `Rc` or `Arc` comes after two words of counts.
const ALIGNED: u32 = align_of::<usize>().trailing_zeros();

/// Bits of an aligned address that a slot can hold. Systems use at most 57 of 64 address bits, and most of them 47.
const WIDTH: u32 = 54;

/// Bits of a distance. Distances above 100 are rare, since at most half of the slots are in use.
const FAR: u32 = 64 - WIDTH;

/// Objects within `2^NEAR` times `2^EACH` words of memory have their homes in `2^NEAR` adjacent slots, in order.
/// Objects that were created one after another are mostly visited in that order too, so their slots share cache lines.
/// With homes spread over all slots, a save of 10^6 objects took 1.6 times as long.
const NEAR: u32 = 6;

/// An allocation has at least `2^EACH` words, so no two objects within those words share a home.
const EACH: u32 = 2;

/// Bits of the position of an object within those `2^INNER` words.
const INNER: u32 = NEAR + EACH;

/// 2^64 / golden ratio (Knuth, TAOCP 3, 6.4), which spreads evenly spaced addresses. Its low `FAR + INNER` bits are 0
/// and the rest is odd, so that the high bits of a product are a permutation of the other factor, and can be inverted.
const SPREAD: u64 = (0x9e37_79b9_7f4a_7c15 >> (FAR + INNER) | 1) << (FAR + INNER);

/// The inverse of [`SPREAD`]: multiplying the high bits of a product by this gives the other factor.
const GATHER: u64 = {
    let odd = SPREAD >> (FAR + INNER);
    // Newton's iteration doubles the number of correct bits in each step. It starts with three.
    let (mut inverse, mut step) = (odd, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
};

/// A whole address, split as slots need it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hash {
    /// In the `WIDTH - NEAR` upper bits: the hash of the block of `2^INNER` words, then the low `EACH` bits of the
    /// position in it.
    spread: u64,
    /// The high `NEAR` bits of the position in the block.
    near: u64,
}

impl Hash {
    /// Returns `None` if the address has bits that a slot cannot hold.
    #[inline]
    fn from_address(address: usize) -> Option<Self> {
        // The rotation moves the alignment bits to the top, so that the check for `WIDTH` bits below finds those that
        // are not 0.
        let rest = (address as u64).rotate_right(ALIGNED);
        let inner = rest & ((1 << INNER) - 1);
        let last = (inner & ((1 << EACH) - 1)) << (FAR + NEAR);
        let hash =
            Self { spread: (rest >> INNER).wrapping_mul(SPREAD) | last, near: inner >> EACH };
        (rest >> WIDTH == 0).then_some(hash)
    }

    fn address(self) -> usize {
        let upper = (self.spread >> (FAR + INNER)).wrapping_mul(GATHER) << (FAR + INNER) >> FAR;
        let last = self.spread >> (FAR + NEAR) & ((1 << EACH) - 1);
        let rest = upper | self.near << EACH | last;
        usize::try_from(rest << ALIGNED).unwrap_or_default()
    }
}

impl Default for AddressMap {
    fn default() -> Self {
        Self { slots: Vec::new(), bits: MIN_BITS - 1, len: 0, others: HashMap::new() }
    }
}

/// The `bits` of a map whose slots take 512 KiB.
const LARGE: u32 = 16;

/// The `bits` of the smallest map that has slots.
const MIN_BITS: u32 = NEAR + 2;

#[expect(
    clippy::cast_possible_truncation,
    reason = "places and numbers are below the number of slots"
)]
impl AddressMap {
    /// Returns the number of an address, and whether the address is new. Numbers count up from 0.
    #[inline]
    pub(super) fn insert(&mut self, address: usize) -> (u32, bool) {
        match Hash::from_address(address).map(|hash| self.find(hash)) {
            Some(AddressSearch::Number(number)) => (number, false),
            Some(AddressSearch::Free(place, slot)) if self.has_room() => {
                self.len += 1;
                self.slots[place] = slot | u64::from(self.len);
                (self.len - 1, true)
            }
            _ => self.insert_slowly(address),
        }
    }

    /// Returns the home slot of an address, and the value of a slot there without the number.
    #[inline]
    fn home(&self, hash: Hash) -> (usize, u64) {
        let spread = self.bits - NEAR;
        let home = hash.spread >> (64 - spread) << NEAR | hash.near;
        (home as usize, hash.spread << spread)
    }

    /// Reads the home slots of addresses, one right after another. The processor executes several such short steps at
    /// once, so that their cache misses overlap.
    pub(super) fn touch(&self, addresses: impl Iterator<Item = usize>) {
        let slot = |address| self.slots.get(self.home(Hash::from_address(address)?).0);
        std::hint::black_box(addresses.filter_map(slot).fold(0, |sum, slot| sum ^ slot));
    }

    /// Returns true if the slots rarely stay in the cache beside everything else.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.bits > LARGE
    }

    #[inline]
    fn find(&self, hash: Hash) -> AddressSearch {
        let mask = self.slots.len().wrapping_sub(1);
        let (mut place, mut expected) = self.home(hash);
        // A slot cannot store a larger distance, so no address is further from its home.
        for _ in 0..1 << FAR {
            place &= mask;
            let Some(slot) = self.slots.get(place) else { break };
            // The number remains if all other bits are equal. Subtracting 1 also rules out 0, which is no number.
            let number = slot ^ expected;
            if number.wrapping_sub(1) < mask as u64 {
                return AddressSearch::Number(number as u32 - 1);
            }
            if *slot == 0 {
                return AddressSearch::Free(place, expected);
            }
            // In the next slot, the distance is larger by one.
            expected = expected.wrapping_add(mask as u64 + 1);
            place += 1;
        }
        AddressSearch::Nothing
    }

    /// Returns true if a new address can take the free slot that was found. Once `others` is in use, a new address must
    /// first be looked up there.
    #[inline]
    fn has_room(&self) -> bool {
        (self.len as usize) < self.slots.len() / 2 && self.others.is_empty()
    }

    #[cold]
    #[inline(never)]
    fn insert_slowly(&mut self, address: usize) -> (u32, bool) {
        if let Some(number) = self.others.get(&address) {
            return (*number, false);
        }
        let number = self.len;
        self.len += 1;
        if number as usize >= self.slots.len() / 2 {
            self.grow();
        }
        self.place(address, number);
        (number, true)
    }

    /// Removes all addresses. The number of slots stays, unless few of them were used.
    pub(super) fn clear(&mut self) {
        // Otherwise, every small save after one large save would clear the slots of the large one.
        while self.bits > MIN_BITS && self.len >> (self.bits - 3) == 0 {
            self.bits -= 1;
        }
        self.slots.truncate(1 << self.bits);
        self.slots.fill(0);
        self.others = HashMap::new();
        self.len = 0;
    }

    /// Returns the bytes of memory in use.
    pub(super) fn size(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
            + self.others.capacity() * size_of::<(usize, u32)>()
    }

    fn place(&mut self, address: usize, number: u32) {
        match Hash::from_address(address).map(|hash| self.find(hash)) {
            Some(AddressSearch::Free(place, slot)) => {
                self.slots[place] = slot | (u64::from(number) + 1);
            }
            _ => drop(self.others.insert(address, number)),
        }
    }

    #[cold]
    fn grow(&mut self) {
        let (old, bits) = (std::mem::take(&mut self.slots), self.bits);
        self.bits += 1;
        self.slots = vec![0; 1 << self.bits];
        for (place, slot) in old.iter().enumerate().filter(|(_, slot)| **slot != 0) {
            let distance = (slot >> bits) as usize & ((1 << FAR) - 1);
            let home = place.wrapping_sub(distance) & (old.len() - 1);
            // Slots are in the order of their homes, and stay in it: the loop writes the new slots from first to last.
            let rest = slot >> (FAR + bits) << (FAR + NEAR);
            let spread = (home as u64) >> NEAR << (64 - (bits - NEAR)) | rest;
            let hash = Hash { spread, near: home as u64 & ((1 << NEAR) - 1) };
            let number = slot & (old.len() as u64 - 1);
            self.place(hash.address(), number as u32 - 1);
        }
    }
}

/// The result of a search for an address.
enum AddressSearch {
    /// The address has this number.
    Number(u32),
    /// The address is absent. It can take this free slot, with this value and its number.
    Free(usize, u64),
    /// The address is in no slot, and no free slot is near enough.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An [`AddressMap`], and the standard map that it must agree with.
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

        /// Looks up each address again, in no particular order.
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

    fn with_hash(spread: u64) -> usize {
        Hash { spread, near: spread >> 63 << NEAR >> 1 }.address()
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
            // Both use the same address space, and many addresses come twice.
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
            twins.insert(with_hash(low << (FAR + NEAR)));
            // From the last home, the search continues at the first slot.
            twins.insert(with_hash(u64::MAX << (FAR + NEAR) ^ low << (FAR + NEAR)));
        }
        assert!(!twins.check().others.is_empty());
    }

    #[test]
    fn those_too_far_from_home_are_found_when_the_map_has_grown() {
        let mut twins = Twins::default();
        for low in 0..2 << FAR {
            twins.insert(with_hash(low << (FAR + NEAR)));
        }
        for bits in random().take(40_000) {
            twins.insert(usize::try_from(bits >> 17 << 3).unwrap());
        }
        twins.check();
    }

    #[test]
    fn a_map_that_was_cleared_knows_nothing() {
        let mut map = AddressMap::default();
        for count in [10_usize, 5000, 5000, 10, 0, 3000] {
            for i in 0..count {
                assert!(map.insert(i * 16 + 1).1);
                assert!(map.insert(i * 16).1);
            }
            let slots = map.slots.len();
            map.clear();
            assert!(map.slots.len() <= slots.min(32 * count.max(16)));
            assert!(map.slots.iter().all(|slot| *slot == 0) && map.others.is_empty());
        }
    }

    #[test]
    fn an_address_is_known_by_its_hash() {
        for bits in random().take(1000) {
            let one = usize::try_from(bits >> FAR << ALIGNED).unwrap();
            assert_eq!(Hash::from_address(one).map(Hash::address), Some(one));
        }
    }
}
