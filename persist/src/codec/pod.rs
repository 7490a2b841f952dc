//! Values whose memory is their encoding: numbers, and classes with `#[persist(pod)]`. They are copied as one block,
//! alone and in lists.

use bytemuck::{AnyBitPattern, NoUninit};

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::persist::{Persist, decode_each, decode_fixed_into, encode_each};

/// True on targets whose byte order is that of the format. On others, such values are coded like any other.
pub const IS_BLOCK: bool = cfg!(target_endian = "little");

/// A type that is copied as one block. Any bytes are a valid value, and no byte of a value is padding. The derived code
/// has these bounds here alone, so that rustc reports a type without bytemuck's derives once.
pub trait PodBlock: NoUninit + AnyBitPattern {}

/// Writes one value.
#[inline(always)]
pub fn encode_head<T: PodBlock>(value: &T, head: &mut [u8]) {
    head.copy_from_slice(bytemuck::bytes_of(value));
}

/// Reads one value.
#[inline(always)]
pub fn decode_fixed<T: PodBlock>(head: &[u8], bad: &mut bool) -> T {
    bytemuck::try_pod_read_unaligned(head).unwrap_or_else(|_| {
        *bad = true;
        bytemuck::Zeroable::zeroed()
    })
}

/// Number of values that are copied through a buffer at once, where they are not aligned in the bytes.
const GROUP: usize = 64;

/// Writes values one after the other.
#[inline(always)]
pub fn encode_slice<T: Persist + PodBlock>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    if IS_BLOCK { out.bytes(bytemuck::must_cast_slice(items)) } else { encode_each(items, out) }
}

/// Reads `count` values.
#[inline(always)]
pub fn decode_list<T: Persist + PodBlock>(
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<Vec<T>, Fail> {
    if !IS_BLOCK {
        return decode_each(count, input);
    }
    let bytes = input.take(count.checked_mul(size_of::<T>()).ok_or(Fail::End)?)?;
    Ok(match bytemuck::try_cast_slice(bytes) {
        Ok(items) => items.to_vec(),
        Err(_) => unaligned(bytes),
    })
}

/// Reads values that are not aligned in the bytes. The memory is not set to zero first, which would go through it
/// twice.
fn unaligned<T: PodBlock>(bytes: &[u8]) -> Vec<T> {
    if bytes.len() < size_of::<T>() * GROUP {
        let items = bytes.chunks_exact(size_of::<T>());
        return items.map(bytemuck::pod_read_unaligned).collect();
    }
    let mut items = Vec::with_capacity(bytes.len() / size_of::<T>());
    let mut group = [T::zeroed(); GROUP];
    for bytes in bytes.chunks(size_of::<T>() * GROUP) {
        let group = &mut group[..bytes.len() / size_of::<T>()];
        bytemuck::must_cast_slice_mut(group).copy_from_slice(bytes);
        items.extend_from_slice(group);
    }
    items
}

/// Reads `count` values over those of a list, which keeps its allocation.
#[inline(always)]
pub fn decode_list_into<T: Persist + PodBlock>(
    items: &mut Vec<T>,
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    if !IS_BLOCK {
        return decode_fixed_into(items, count, input);
    }
    let bytes = input.take(count.checked_mul(size_of::<T>()).ok_or(Fail::End)?)?;
    items.resize(count, T::zeroed());
    bytemuck::must_cast_slice_mut(items).copy_from_slice(bytes);
    Ok(())
}
