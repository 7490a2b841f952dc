//! What values take in memory, for limits.

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

/// True if a value in a box, which takes `least` bytes or more, is not counted.
pub(crate) const fn is_light_box<T>(least: usize) -> bool {
    !is_large_for::<T>(if least > 1 { least } else { 1 })
}

/// Levels of nesting that a value takes where frames hold this many bytes of what is around it: large types reach the
/// end of a stack sooner.
#[expect(clippy::cast_possible_truncation, reason = "types are far smaller than 8 TiB")]
pub(super) const fn levels(bytes: usize) -> u32 {
    1 + (bytes / 2048) as u32
}
