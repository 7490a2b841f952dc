//! The weight of values in memory, for limits.

/// Returns as how many elements an element without bytes counts: as one, and as one more for every 64 bytes of its
/// size. This bounds the memory that a few bytes of a save can request.
pub(super) const fn weight<T>() -> usize {
    1 + size_of::<T>() / 64
}

/// Returns the memory of `count` elements in bytes, if they are large for at least `min` bytes each in a save. For
/// example, an absent `Option` of a large type is one byte.
#[inline(always)]
pub(super) fn large<T>(count: usize, min: usize) -> Option<u64> {
    is_large_for::<T>(min).then(|| (count as u64).saturating_mul(size_of::<T>() as u64))
}

/// True if an element that takes at least `min` bytes in a save has more than 256 times as many in memory.
pub(super) const fn is_large_for<T>(min: usize) -> bool {
    min > 0 && size_of::<T>() > 256 * min
}

/// Returns the memory of a value in a box, if that is large for the fewest bytes it can take. A box takes one byte at
/// least, or a list would refuse any number of boxes.
#[inline(always)]
pub(super) fn large_box<T>(min: usize) -> Option<u64> {
    is_large_for::<T>(min.max(1)).then_some(size_of::<T>() as u64)
}

/// True if a value in a box, which takes at least `min` bytes, is not counted.
#[cfg(feature = "world")]
pub(crate) const fn is_light_box<T>(min: usize) -> bool {
    !is_large_for::<T>(if min > 1 { min } else { 1 })
}

/// Returns how many levels of nesting a value counts as, where a stack frame holds this many bytes of the type around
/// it. Large types use up a stack sooner.
#[expect(clippy::cast_possible_truncation, reason = "types are far smaller than 8 TiB")]
pub(super) const fn levels(bytes: usize) -> u32 {
    1 + (bytes / 2048) as u32
}
