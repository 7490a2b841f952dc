//! Many values of one type, one after the other.

use super::row::{Inline, decode_row, encode_row};
use super::{Decoder, Encoder, Fail, Persist, Stop};

/// How often an element without bytes counts: once for every 64 bytes of its
/// size, which bounds the memory that a few bytes of a save can ask for.
pub(super) const fn weight<T>() -> usize {
    1 + size_of::<T>() / 64
}

/// Bytes in memory of `count` elements, if those are large where they take `least` bytes or more: an absent
/// `Option` of a large type is one byte.
#[inline(always)]
pub(super) fn large<T>(count: usize, least: usize) -> Option<u64> {
    is_large_for::<T>(least).then(|| (count as u64).saturating_mul(size_of::<T>() as u64))
}

/// True if an element is large for the fewest bytes that it can take.
pub(super) const fn is_large<T: Persist>() -> bool {
    is_large_for::<T>(T::__MIN)
}

/// True if an element is large where it takes `least` bytes or more.
pub(super) const fn is_large_for<T>(least: usize) -> bool {
    least > 0 && size_of::<T>() > 256 * least
}

/// Bytes in memory of a value in a box, if those are many for the fewest bytes that
/// it can take. A box takes one byte, or a list would refuse that many.
#[inline(always)]
pub(super) fn large_box<T>(least: usize) -> Option<u64> {
    is_large_for::<T>(least.max(1)).then_some(size_of::<T>() as u64)
}

/// True if a value in a box is not counted.
pub(crate) const fn is_light_box<T: Persist>() -> bool {
    !is_large_for::<T>(if T::__MIN > 1 { T::__MIN } else { 1 })
}

/// Levels of nesting that a value takes inside of a `T`: frames hold whole values,
/// so that large types reach the end of a stack sooner.
#[expect(clippy::cast_possible_truncation, reason = "types are far smaller than 8 TiB")]
pub(super) const fn levels<T>() -> u32 {
    1 + (size_of::<T>() / 2048) as u32
}

/// Writes the items; those of fixed width in one segment.
#[inline(always)]
pub(crate) fn encode_each<T: Persist>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    if const { Inline::<T>::FIXED && T::__HEAD > 0 } {
        // What overflows does not fit either.
        let len = items.len().saturating_mul(T::__HEAD);
        out.rows(len, T::__HEAD, |offset, rows| {
            let items = &items[offset / T::__HEAD..];
            for (item, head) in items.iter().zip(rows.chunks_exact_mut(T::__HEAD)) {
                item.__encode_head(head);
            }
        })?;
    } else {
        out.apart(|out| {
            items.iter().try_for_each(|item| {
                if Inline::<T>::IN_LIST { encode_row(item, out) } else { out.value(item) }
            })
        })?;
    }
    Ok(())
}

/// Reads what follows the head of a list.
#[inline(always)]
pub(crate) fn decode_vec<T: Persist>(head: &[u8], input: &mut Decoder<'_>) -> Result<Vec<T>, Fail> {
    if Inline::<T>::FIXED { decode_items(head, input) } else { T::__decode_called(head, input) }
}

/// Reads the elements of a list into a `Vec`; [`decode_vec`] may call or inline it.
#[inline(always)]
pub(super) fn decode_items<T: Persist>(
    head: &[u8],
    input: &mut Decoder<'_>,
) -> Result<Vec<T>, Fail> {
    let count = input.elements::<T>(head)?;
    if T::__LEAF {
        T::__decode_list(count, input)
    } else {
        input.nested_in::<T, _>(|input| T::__decode_list(count, input))
    }
}

/// Reads `count` items; those of fixed width in one segment.
#[inline(always)]
pub(crate) fn decode_each<T: Persist>(
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<Vec<T>, Fail> {
    if const { Inline::<T>::FIXED && T::__HEAD > 0 } {
        let before = input.rest();
        let segment = input.take(count.checked_mul(T::__HEAD).ok_or(Fail::End)?)?;
        let mut bad = false;
        // Not by an `extend`, which first asks for more room than that.
        let items =
            segment.chunks_exact(T::__HEAD).map(|head| T::__decode_fixed(head, &mut bad)).collect();
        return if bad { Err(bad_item::<T>(before, count, input)) } else { Ok(items) };
    }
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| Fail::Limit)?;
    for _ in 0..count {
        // Never so; knowing it, the compiler leaves out the growth in `push` and
        // builds the item where it belongs.
        if items.len() == items.capacity() {
            return Err(Fail::Count);
        }
        items.push(if Inline::<T>::IN_LIST { decode_row(input)? } else { input.value()? });
    }
    Ok(items)
}

/// Reads `count` items of fixed width over those of a list.
#[inline(always)]
pub(super) fn decode_fixed_into<T: Persist>(
    items: &mut Vec<T>,
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    items.clear();
    extend_fixed(items, count, input)
}

/// Reads `count` items of fixed width to the end of a list.
#[inline(always)]
pub(crate) fn extend_fixed<T: Persist>(
    items: &mut impl Extend<T>,
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let before = input.rest();
    let segment = input.take(count.checked_mul(T::__HEAD).ok_or(Fail::End)?)?;
    let mut bad = false;
    items.extend(segment.chunks_exact(T::__HEAD).map(|head| T::__decode_fixed(head, &mut bad)));
    if bad { Err(bad_item::<T>(before, count, input)) } else { Ok(()) }
}

/// Why one of many values of fixed width cannot be read: one by one they say it. The first such one comes next then.
#[cold]
#[inline(never)]
fn bad_item<'a, T: Persist>(items: &'a [u8], count: usize, input: &mut Decoder<'a>) -> Fail {
    input.go_back(items);
    for _ in 0..count {
        let before = input.rest();
        if let Err(fail) = input.value::<T>() {
            input.go_back(before);
            return fail;
        }
    }
    Fail::Value
}

/// The fault in the parts of a value that is all head.
#[cold]
#[inline(never)]
pub(crate) fn bad_part<T: Persist>(parts: &[u8], input: &mut Decoder<'_>) -> Fail {
    let mut parts = parts.chunks_exact(T::__HEAD.max(1));
    parts.find_map(|part| input.tail::<T>(part).err()).unwrap_or(Fail::Value)
}
