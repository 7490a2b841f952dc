//! Counts, lengths and ids as bytes of variable number.
//!
//! A count up to 247 is one byte. A larger one is the byte `247 + n`, then the `n` lowest bytes, little-endian, without
//! a leading zero byte.
//!
//! Only the shortest form is valid, so that equal values have equal bytes.

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::{is_large_for, weight};

/// The largest count that one byte holds. The eight larger values of a byte say how many bytes follow: 1 to 8.
pub(crate) const SHORT: u64 = 247;

/// Returns the first byte of `count`.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "compared first")]
pub(crate) fn head(count: u64) -> u8 {
    if count <= SHORT { count as u8 } else { long_head(count) }
}

/// Returns the first byte of a long count. It is a function of its own, since most lengths of texts are short.
#[cold]
#[inline(never)]
fn long_head(count: u64) -> u8 {
    head_of(width(count))
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a width is at most 8")]
fn head_of(width: usize) -> u8 {
    (SHORT as usize + width) as u8
}

/// Writes the rest of `count` after its first byte.
#[inline(always)]
pub(crate) fn encode_tail(count: u64, out: &mut Encoder<'_>) -> Result<(), Stop> {
    if count > SHORT {
        store_long(count, out.take(width(count))?);
    }
    Ok(())
}

/// Writes `count`: its first byte and the rest.
#[inline(always)]
pub(crate) fn encode(count: u64, out: &mut Encoder<'_>) -> Result<(), Stop> {
    // Most ids of objects are long. Two stores write them, and the following value overwrites the surplus bytes.
    if count > SHORT
        && let Some(next) = out.ahead::<9>()
    {
        let width = store(count, next);
        return out.take(width).map(drop);
    }
    out.take(1)?[0] = head(count);
    encode_tail(count, out)
}

/// Writes `count` to the front of at least nine bytes, and returns how many of them it takes. The bytes after it change
/// too.
#[inline(always)]
pub(crate) fn store(count: u64, out: &mut [u8]) -> usize {
    if count <= SHORT {
        out[0] = head(count);
        return 1;
    }
    let width = width(count);
    out[0] = head_of(width);
    out[1..9].copy_from_slice(&count.to_le_bytes());
    1 + width
}

/// Appends `count` to a growing buffer.
pub(crate) fn push(count: u64, out: &mut Vec<u8>) {
    out.push(head(count));
    if count > SHORT {
        out.extend_from_slice(&count.to_le_bytes()[..width(count)]);
    }
}

/// Takes the bytes rather than the encoder, whose cursor then can stay in registers.
#[inline(never)]
fn store_long(count: u64, tail: &mut [u8]) {
    // Most ids of objects are long, and a loop of a few steps is faster than a call to copy.
    for (byte, value) in tail.iter_mut().zip(count.to_le_bytes()) {
        *byte = value;
    }
}

/// Returns the number of bytes of `count` without leading zeros: 1 to 8 for a count above zero.
#[inline(always)]
fn width(count: u64) -> usize {
    count.ilog2() as usize / 8 + 1
}

/// Reads the count that begins with `head`.
#[inline(always)]
pub(crate) fn decode_tail(head: u8, input: &mut Decoder<'_>) -> Result<u64, Fail> {
    if u64::from(head) <= SHORT {
        Ok(u64::from(head))
    } else {
        let width = usize::from(head) - 247;
        let Some(next) = input.rest().first_chunk() else { return load_last(width, input) };
        // One load of eight bytes; the mask removes those that belong to the following value.
        let count = u64::from_le_bytes(*next) & (u64::MAX >> (64 - 8 * width));
        input.take(width)?;
        checked(count, width)
    }
}

/// Reads a count: its first byte and the rest.
#[inline(always)]
pub(crate) fn decode(input: &mut Decoder<'_>) -> Result<u64, Fail> {
    let head = input.take(1)?[0];
    decode_tail(head, input)
}

/// Reads the rest of a count that ends less than eight bytes before the end.
#[inline(never)]
fn load_last(width: usize, input: &mut Decoder<'_>) -> Result<u64, Fail> {
    let tail = input.take(width)?;
    // The references of an object are often its last fields, so the short widths are unrolled.
    let count = match *tail {
        [one] => u64::from(one),
        [one, two] => u64::from(u16::from_le_bytes([one, two])),
        [one, two, three] => u64::from(u32::from_le_bytes([one, two, three, 0])),
        _ => tail.iter().rev().fold(0, |count, byte| count << 8 | u64::from(*byte)),
    };
    checked(count, width)
}

/// Returns the count, if it needs all of its bytes.
#[inline(always)]
fn checked(count: u64, width: usize) -> Result<u64, Fail> {
    if count <= SHORT || self::width(count) != width { Err(Fail::Count) } else { Ok(count) }
}

impl Encoder<'_> {
    /// Writes a count or a length.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the value exceeds `Limits::bytes`.
    pub fn count(&mut self, count: usize) -> Result<(), Stop> {
        encode(count as u64, self)
    }

    /// Writes the rest of a count of elements, and the elements, which take at least `min` bytes each. Elements that
    /// are no leaves are nested.
    #[inline(always)]
    pub(crate) fn elements<T>(
        &mut self,
        count: usize,
        min: usize,
        leaf: bool,
        elements: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        encode_tail(count as u64, self)?;
        self.filled::<T>(count, min, leaf, elements)
    }
}

impl Decoder<'_> {
    /// Reads the number of a class in the save.
    #[inline]
    pub(crate) fn class_number(&mut self) -> Result<u64, Fail> {
        let number = decode(self)?;
        let Some(numbers) = self.numbers() else { return Ok(number) };
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        place.and_then(|place| numbers.get(place)).copied().ok_or(Fail::Value)
    }

    /// Reads a count or a length.
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the count is not in its shortest form, or exceeds a `usize`.
    #[inline]
    pub fn count(&mut self) -> Result<usize, Fail> {
        usize::try_from(decode(self)?).map_err(|_| Fail::Count)
    }

    /// Reads the rest of a count of elements that take at least `min` bytes each.
    pub(crate) fn elements_with<T>(&mut self, head: u8, min: usize) -> Result<usize, Fail> {
        let memory = if is_large_for::<T>(min) { size_of::<T>() } else { 0 };
        self.elements_called(head, min, memory, const { weight::<T>() })
    }

    /// Like [`elements_of`](Self::elements_of), compiled once for elements of all types.
    #[inline(never)]
    pub(super) fn elements_called(
        &mut self,
        head: u8,
        min: usize,
        memory: usize,
        weight: usize,
    ) -> Result<usize, Fail> {
        self.elements_of(head, min, memory, weight)
    }

    /// Reads the rest of a count of elements, and refuses a count that the rest of the bytes cannot hold.
    ///
    /// Each element takes at least `min` bytes. `memory` is its size in memory if that is large for its bytes, else 0.
    /// `weight` says how many elements without bytes it counts as.
    #[inline(always)]
    pub(super) fn elements_of(
        &mut self,
        head: u8,
        min: usize,
        memory: usize,
        weight: usize,
    ) -> Result<usize, Fail> {
        let count = decode_tail(head, self)?;
        let count = usize::try_from(count).map_err(|_| Fail::Count)?;
        if min == 0 {
            // Elements without bytes are limited in number over the whole save.
            self.charge(count.saturating_mul(weight), 0)?;
        } else if count > self.rest().len() / min {
            return Err(Fail::Count);
        } else if memory > 0 {
            self.charge(0, (count as u64).saturating_mul(memory as u64))?;
        }
        Ok(count)
    }
}
