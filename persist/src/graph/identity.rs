//! Addresses to ids, for the time that the objects are held.

/// A map from addresses to small numbers, by linear probing.
///
/// The slots hold numbers and the addresses lie aside: half the memory of
/// pairs, and twice to four times as fast as the standard map on a graph of a
/// million objects.
#[derive(Default)]
pub(super) struct AddressMap {
    /// Index + 1 into `addresses`; 0 is a free slot. A power of two long.
    slots: Vec<u32>,
    addresses: Vec<usize>,
}

impl AddressMap {
    /// The number of an address, and whether it is new: numbers count up from 0.
    pub(super) fn insert(&mut self, address: usize) -> (usize, bool) {
        if self.addresses.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash(address) & mask;
        loop {
            match self.slots[slot] {
                0 => {
                    self.addresses.push(address);
                    // `Limits::objects` is checked by the caller; a `u32` holds
                    // more than fit into memory as objects.
                    self.slots[slot] = u32::try_from(self.addresses.len()).unwrap_or(u32::MAX);
                    return (self.addresses.len() - 1, true);
                }
                taken => {
                    let number = taken as usize - 1;
                    if self.addresses[number] == address {
                        return (number, false);
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let mask = size - 1;
        let mut slots = vec![0; size];
        for (number, address) in self.addresses.iter().enumerate() {
            let mut slot = hash(*address) & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = u32::try_from(number + 1).unwrap_or(u32::MAX);
        }
        self.slots = slots;
    }
}

/// Spreads addresses, which are multiples of 16 and often equally far apart,
/// by a multiplication with 2^64 / golden ratio (Knuth, TAOCP 3, 6.4).
fn hash(address: usize) -> usize {
    let product = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The high bits are the mixed ones.
    usize::try_from(product >> 32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_keeps_its_number() {
        let mut map = AddressMap::default();
        for stride in [8_usize, 16, 32, 48, 4096] {
            for i in 1..2000 {
                let address = (stride << 32) | (i * stride);
                let (number, new) = map.insert(address);
                assert!(new);
                assert_eq!(map.insert(address), (number, false));
            }
        }
    }
}
