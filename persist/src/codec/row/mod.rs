//! Rows: the stored fields of a struct or variant, and how they share segments.
//!
//! A field's head (all of it, if its width is fixed) is written into a segment that it shares with its neighbours,
//! after one bounds check. A field with a tail ends its segment, and the next field begins another. The bytes are those
//! of the fields one after the other, as if there were no segments. The [map](super) has a drawing.
//!
//! A field is encoded in place only while all of its code is within [`BUDGET`]; otherwise its code is called. So the
//! code of a type grows with its own fields, never with the fields of their types. `field` has the code of one field.

#[allow(clippy::missing_errors_doc, reason = "not for programs")]
mod field;

use std::marker::PhantomData;

use super::index::Index;
use super::layout::Layout;
use super::type_set::{FieldCodec, TypeSet};

/// Lists the stored fields of a struct, or of variant `V`. The derive implements it.
pub trait Row<V> {
    /// The fields, in declaration order.
    const PARTS: &'static [FieldCodec];

    /// The sums over the fields.
    const LAYOUT: Layout = Layout::of_row(Self::PARTS);

    /// Number of bytes of the first segment.
    const HEAD: usize = Self::LAYOUT.head;
}

/// Adds the types that the fields of a class reach.
pub fn reach(types: &mut TypeSet, rows: &[&[FieldCodec]]) {
    for part in rows.iter().copied().flatten() {
        (part.reach)(types);
    }
}

/// Codes a field of type `T` in a row. Derived code has it from [`Persist::__FIELD`](super::Persist::__FIELD).
///
/// Where `T` is not `Persist`, all calls fail at that constant, by one and the same error, which rustc shows once. As
/// functions of a second trait, each would add a note that names itself, and rustc would show them all. For the same
/// reason the functions have the bound, and not their impl: functions that are not found are errors of their own. The
/// type is invariant in `T`, or rustc would give `Box<dyn Trait>` another lifetime in each call, and show each error.
pub struct FieldCoder<T>(PhantomData<fn(T) -> T>);

impl<T> FieldCoder<T> {
    /// The one value.
    pub const NEW: Self = Self(PhantomData);
}

/// Position of field `I` in a row.
struct At<R: ?Sized, V, I>(PhantomData<(V, I, R)>);

impl<R: ?Sized + Row<V>, V, I: Index> At<R, V, I> {
    /// True if the field's head lies in the first segment.
    const FIRST: bool = {
        let mut first = true;
        let mut i = 0;
        while i < I::INDEX {
            first &= R::PARTS[i].fixed;
            i += 1;
        }
        first
    };

    /// True if a segment begins with this field, because the field before it has a tail. A `bool` of its own, by which
    /// the compiler leaves out dead code.
    const BEGINS: bool = I::INDEX > 0 && !R::PARTS[I::INDEX - 1].fixed && Self::SEGMENT > 0;

    /// Number of bytes of the segment that begins with this field.
    const SEGMENT: usize = {
        let mut bytes = R::PARTS[I::INDEX].head;
        // Up to and including the next field with a tail, whose head ends the segment.
        let mut i = I::INDEX;
        while R::PARTS[i].fixed && i + 1 < R::PARTS.len() {
            i += 1;
            bytes += R::PARTS[i].head;
        }
        bytes
    };
}

/// Cuts the first `len` bytes off a segment that is written.
#[inline(always)]
pub(crate) fn cut_mut<'a>(segment: &mut &'a mut [u8], len: usize) -> &'a mut [u8] {
    // Taken out, since a reborrow of `segment` would not live for `'a`.
    let (head, rest) = std::mem::take(segment).split_at_mut(len);
    *segment = rest;
    head
}

/// Writes `N` bytes over a segment of `N` bytes.
///
/// An array is assigned because `copy_from_slice` is a call where rustc does not inline it. In some builds of 16
/// codegen units, a save of a mesh executed 11 times as many instructions.
#[inline(always)]
pub(crate) fn put<const N: usize>(segment: &mut [u8], bytes: [u8; N]) {
    debug_assert_eq!(segment.len(), N);
    if let Some(segment) = segment.first_chunk_mut() {
        *segment = bytes;
    }
}

/// Cuts the first `len` bytes off a segment that is read.
#[inline(always)]
pub(crate) fn cut<'a>(segment: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (head, rest) = segment.split_at(len);
    *segment = rest;
    head
}
