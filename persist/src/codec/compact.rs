//! Integers in as few bytes as they need, for fields that say `#[persist(compact)]`.
//!
//! The form is that of [counts](super::count). A signed integer is a count after zigzag: 0, -1, 1, -2 are 0, 1, 2, 3.

use super::index::Index;
use super::index::short::_0;
use super::row::Row;
use super::{Decoder, Encoder, Fail, Persist, Stop, count};
use crate::reflect::Integer;

/// The count that a signed integer is stored as.
#[inline(always)]
pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

/// The signed integer that a count stands for.
#[inline(always)]
pub(crate) fn unzigzag(count: u64) -> i64 {
    (count >> 1).cast_signed() ^ -(count & 1).cast_signed()
}

impl Integer {
    /// Reads a number as its count, which is one that the type has.
    #[inline]
    pub(crate) fn count(self, input: &mut Decoder<'_>) -> Result<u64, Fail> {
        let count = count::decode(input)?;
        // Zigzag of the most negative one has all bits, too.
        if count <= u64::MAX >> (64 - 8 * self.bytes()) { Ok(count) } else { Err(Fail::Value) }
    }
}

/// How the values inside of a collection are coded.
pub(crate) trait Coding {
    /// The fewest bytes of a value.
    fn least<T: Persist>() -> usize;

    /// Writes a value.
    fn encode<T: Persist>(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads a value.
    fn decode<T: Persist>(input: &mut Decoder<'_>) -> Result<T, Fail>;
}

/// As it is.
pub(crate) struct Plain;

/// With its integers in as few bytes as they need.
pub(crate) struct Compact;

impl Coding for Plain {
    #[inline(always)]
    fn least<T: Persist>() -> usize {
        T::__MIN
    }

    #[inline(always)]
    fn encode<T: Persist>(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(value)
    }

    #[inline(always)]
    fn decode<T: Persist>(input: &mut Decoder<'_>) -> Result<T, Fail> {
        input.value()
    }
}

impl Coding for Compact {
    #[inline(always)]
    fn least<T: Persist>() -> usize {
        T::__COMPACT_MIN
    }

    #[inline(always)]
    fn encode<T: Persist>(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        value.__encode_compact(out)
    }

    #[inline(always)]
    fn decode<T: Persist>(input: &mut Decoder<'_>) -> Result<T, Fail> {
        T::__decode_compact(input)
    }
}

// The derive's code for a field that says `compact`. On a type without integers it is that of any other field.

/// Like [`Persist::__put_head`].
#[inline(always)]
pub fn put_head<R: Row<_0>, I: Index, T: Persist>(value: &T, segment: &mut &mut [u8]) {
    if !T::__COMPACT {
        value.__put_head::<R, I>(segment);
    }
}

/// Like [`Persist::__put_rest`].
///
/// # Errors
///
/// Returns what that returns.
#[inline(always)]
pub fn put_rest<'o, R: Row<_0>, I: Index, T: Persist>(
    value: &T,
    segment: &mut &'o mut [u8],
    out: &mut Encoder<'o>,
) -> Result<(), Stop> {
    if T::__COMPACT {
        return value.__encode_compact(out);
    }
    value.__put_rest::<R, I>(segment, out)
}

/// Like [`Persist::__put`].
///
/// # Errors
///
/// Returns what that returns.
#[inline(always)]
pub fn put<'o, R: Row<V>, V, I: Index, T: Persist>(
    value: &T,
    segment: &mut &'o mut [u8],
    out: &mut Encoder<'o>,
) -> Result<(), Stop> {
    if T::__COMPACT {
        return value.__encode_compact(out);
    }
    value.__put::<R, V, I>(segment, out)
}

/// Like [`Persist::__get`].
#[inline(always)]
pub fn get<'s, 'i: 's, R: Row<V>, V, I: Index, T: Persist>(
    segment: &mut &'s [u8],
    input: &mut Decoder<'i>,
    fails: &mut Fail,
) -> Option<T> {
    if T::__COMPACT {
        return T::__decode_compact(input).map_err(|fail| *fails = fail).ok();
    }
    T::__get::<R, V, I>(segment, input, fails)
}

/// Like [`Persist::__get_into`].
///
/// # Errors
///
/// Returns what that returns.
#[inline(always)]
pub fn get_into<'s, 'i: 's, R: Row<_0>, I: Index, T: Persist>(
    value: &mut T,
    segment: &mut &'s [u8],
    input: &mut Decoder<'i>,
) -> Result<(), Fail> {
    if T::__COMPACT {
        let mut new = T::__decode_compact(input)?;
        new.__keep_skipped(value);
        *value = new;
        return Ok(());
    }
    value.__get_into::<R, I>(segment, input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_gives_small_numbers_small_counts() {
        let numbers = [0, -1, 1, -2, 2, i64::MAX, i64::MIN];
        let counts = [0, 1, 2, 3, 4, u64::MAX - 1, u64::MAX];
        assert_eq!(numbers.map(zigzag), counts);
        assert_eq!(counts.map(unzigzag), numbers);
        for (number, bits) in [(i64::from(i16::MIN), 16), (i64::from(i32::MIN), 32)] {
            assert_eq!(zigzag(number), u64::MAX >> (64 - bits));
        }
    }
}
