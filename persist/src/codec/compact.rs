//! Integers in as few bytes as they need, for fields with `#[persist(compact)]`.
//!
//! An integer is stored like a [count](super::count). A signed integer becomes a count by zigzag: 0, -1, 1, -2 are
//! stored as 0, 1, 2, 3.

use super::count;
use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::persist::Generic;
use super::persist::Persist;
use super::type_set::{FieldCodec, TypeSet};
use super::with::Adapter;
use crate::reflect::{Integer, Kind};

/// Returns the count that a signed integer is stored as.
#[inline(always)]
pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

/// Returns the signed integer that a count stands for.
#[inline(always)]
pub(crate) fn unzigzag(count: u64) -> i64 {
    (count >> 1).cast_signed() ^ -(count & 1).cast_signed()
}

impl Integer {
    /// Reads the count of a number, and refuses one that is out of the type's range.
    #[inline]
    pub(crate) fn count(self, input: &mut Decoder<'_>) -> Result<u64, Fail> {
        let count = count::decode(input)?;
        // Zigzag turns the most negative number into the count with all bits set, so one bound fits both signs.
        if count <= u64::MAX >> (64 - 8 * self.bytes()) { Ok(count) } else { Err(Fail::Value) }
    }
}

/// Stores a value with its integers in as few bytes as they need. A value without integers is stored as usual.
pub enum Compact {}

impl<T: Persist> Adapter<T> for Compact {
    const MIN: usize = T::COMPACT_MIN;
    const LEAF: bool = T::LEAF;
    const IS_ADAPTER: bool = false;
    const PART: FieldCodec = FieldCodec::with::<T, Self>(T::COMPACT_MIN, T::LEAF);

    fn kind() -> Kind {
        T::__compact_kind()
    }

    fn name() -> String {
        T::persist_name()
    }

    fn reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    #[inline(always)]
    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        value.__encode_compact(out)
    }

    #[inline(always)]
    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail> {
        T::__decode_compact(input)
    }

    #[inline(always)]
    fn decode_into(target: &mut T, input: &mut Decoder<'_>) -> Result<(), Fail> {
        if T::COMPACT {
            Self::replace(target, Self::decode(input)?);
            return Ok(());
        }
        input.value_into(target)
    }

    #[inline]
    fn replace(target: &mut T, mut new: T) {
        new.__keep_skipped(target);
        *target = new;
    }

    // Visits know no compact form.
    fn encode_key(key: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_maps_small_numbers_to_small_counts() {
        let numbers = [0, -1, 1, -2, 2, i64::MAX, i64::MIN];
        let counts = [0, 1, 2, 3, 4, u64::MAX - 1, u64::MAX];
        assert_eq!(numbers.map(zigzag), counts);
        assert_eq!(counts.map(unzigzag), numbers);
        for (number, bits) in [(i64::from(i16::MIN), 16), (i64::from(i32::MIN), 32)] {
            assert_eq!(zigzag(number), u64::MAX >> (64 - bits));
        }
    }
}
