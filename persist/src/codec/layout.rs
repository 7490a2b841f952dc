//! How the fields of a struct or variant share segments.
//!
//! A field's head (all of it, if its width is fixed) is written into a segment
//! that it shares with its neighbours, behind one bounds check. A field with a
//! tail ends its segment; the next field begins another. The bytes are those of
//! the fields one after the other, as if there were no segments.

use super::Persist;

/// What the layout needs to know of a field.
#[derive(Clone, Copy)]
pub struct Part {
    head: usize,
    fixed: bool,
    min: usize,
    leaf: bool,
}

impl Part {
    /// Of a field stored as its own type, by the type's consts. They are handed
    /// in one by one, so that a type that has none is one error, not two.
    #[must_use]
    pub const fn new(head: usize, fixed: bool, min: usize, leaf: bool) -> Self {
        Self { head, fixed, min, leaf }
    }

    /// Of a field stored through a `with` module, as `T`.
    #[must_use]
    pub const fn with<T: Persist>() -> Self {
        // What the module stores may be a box without bytes. Nothing of `T` is
        // looked at, since it may hold the type itself.
        Self { head: 0, fixed: false, min: 0, leaf: true }
    }
}

/// Segments of `N` fields.
#[derive(Clone, Copy)]
pub struct Layout<const N: usize> {
    /// Bytes of the first segment.
    pub head: usize,
    /// True if no field has a tail.
    pub fixed: bool,
    /// The fewest bytes that the fields can take.
    pub min: usize,
    /// True if no field can hold a class.
    pub leaf: bool,
    /// True where the field's head lies in the first segment.
    pub first: [bool; N],
    /// Bytes of the segment that begins with this field, for fields after one
    /// with a tail; else `None`.
    pub begins: [Option<usize>; N],
}

impl<const N: usize> Layout<N> {
    /// Lays out fields in declaration order.
    #[must_use]
    pub const fn new(parts: [Part; N]) -> Self {
        let mut layout =
            Self { head: 0, fixed: true, min: 0, leaf: true, first: [false; N], begins: [None; N] };
        let mut i = 0;
        let mut start = 0;
        while i < N {
            if layout.fixed {
                layout.first[i] = true;
                layout.head += parts[i].head;
            } else {
                if !parts[i - 1].fixed {
                    start = i;
                    layout.begins[i] = Some(0);
                }
                if let Some(bytes) = layout.begins[start] {
                    layout.begins[start] = Some(bytes + parts[i].head);
                }
            }
            layout.fixed &= parts[i].fixed;
            layout.leaf &= parts[i].leaf;
            layout.min += parts[i].min;
            i += 1;
        }
        layout
    }
}

/// Cuts the first `len` bytes off a segment that is written.
#[inline(always)]
pub fn cut_mut<'a>(segment: &mut &'a mut [u8], len: usize) -> &'a mut [u8] {
    let (head, rest) = std::mem::take(segment).split_at_mut(len);
    *segment = rest;
    head
}

/// Cuts the first `len` bytes off a segment that is read.
#[inline(always)]
pub fn cut<'a>(segment: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (head, rest) = segment.split_at(len);
    *segment = rest;
    head
}
