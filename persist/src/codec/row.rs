//! Fields one after the other: how they share segments, and how they are read and written.
//!
//! A field's head (all of it, if its width is fixed) is written into a segment that it shares with its neighbours,
//! after one bounds check. A field with a tail ends its segment; the next field begins another. The bytes are those
//! of the fields one after the other, as if there were no segments.
//!
//! A field is encoded in place only while all of its code is within [`BUDGET`]; else it is called. So the code of a
//! type grows with its own fields, never with what they hold.

use std::any::Any;
use std::marker::PhantomData;
use std::mem::needs_drop;

use super::index::Index;
use super::with::Adapter;
use super::{Decoder, Encoder, Fail, FieldAccess, Persist, Stop, TypeSet};

/// The cost of what is still encoded in place. Measured on a crate of 200 structs, with the instructions of the public
/// data sets beside it: 12 and 32 took longer to build and saved nothing.
pub(crate) const BUDGET: usize = 6;

/// The budget for values of fixed width. They are straight moves, so that a triangle of twelve numbers is copied as one.
const FIXED_BUDGET: usize = 32;

/// The budget for values without memory of their own: enums of numbers. There is nothing to drop in them where a decode
/// fails, and a call would take longer than what it does: 1.2 million of them were a fourth of the data set `game`.
const PLAIN_BUDGET: usize = 16;

/// The budget for the elements of lists: one loop for each type takes most of the time. With 16 the data
/// set `mk48` took 8 % more instructions to decode.
const LIST_BUDGET: usize = 32;

/// What a call costs.
const CALL: usize = 2;

/// How a value of a type is coded among its neighbours. These are constants of the type so that each is evaluated once,
/// not in every function that asks.
pub(crate) struct Inline<T>(PhantomData<T>);

impl<T: Persist> Inline<T> {
    /// True if values are encoded in place.
    pub(crate) const IN_PLACE: bool = T::__COST
        <= if T::__FIXED {
            FIXED_BUDGET
        } else if needs_drop::<T>() {
            BUDGET
        } else {
            PLAIN_BUDGET
        };

    /// True if the elements of a list are encoded in its loop.
    pub(crate) const IN_LIST: bool = T::__COST <= LIST_BUDGET;

    /// True if values are all head where they are encoded in place.
    pub(crate) const FIXED: bool = T::__FIXED && Self::IN_PLACE;

    /// Bytes of a value in the segment before it.
    pub(crate) const HEAD: usize = if Self::IN_PLACE { T::__HEAD } else { 0 };

    /// What a value costs as part of another.
    pub(crate) const COST: usize = if Self::IN_PLACE { T::__COST } else { CALL };
}

/// What is known of a field's type: what the layout needs, and what reaches and codes it by itself.
#[derive(Clone, Copy)]
pub struct Part {
    head: usize,
    fixed: bool,
    min: usize,
    leaf: bool,
    cost: usize,
    reach: fn(&mut TypeSet),
    access: &'static FieldAccess,
}

impl Part {
    /// Of a field stored as its own type.
    #[must_use]
    pub const fn of<T: Persist>() -> Self {
        Self {
            head: Inline::<T>::HEAD,
            fixed: Inline::<T>::FIXED,
            min: T::__MIN,
            leaf: T::__LEAF,
            cost: Inline::<T>::COST,
            reach: T::__reach,
            access: const { &FieldAccess::of::<T>() },
        }
    }

    /// Of a field of type `F` that an adapter stores in `min` bytes or more.
    #[must_use]
    pub const fn with<F: Any, A: Adapter<F>>(min: usize, leaf: bool) -> Self {
        Self {
            head: 0,
            fixed: false,
            min,
            leaf,
            cost: CALL,
            reach: A::reach_field,
            access: const { &FieldAccess::with::<F, A>() },
        }
    }

    /// How the field is written and read by itself.
    #[must_use]
    pub fn access(&self) -> &'static FieldAccess {
        self.access
    }
}

/// Segments of fields.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Bytes of the first segment.
    pub head: usize,
    /// True if no field has a tail.
    pub fixed: bool,
    /// The fewest bytes that the fields can take.
    pub min: usize,
    /// True if no field can hold a class.
    pub leaf: bool,
    /// What the fields cost together.
    pub cost: usize,
}

impl Layout {
    const fn of(parts: &[Part]) -> Self {
        let mut layout = Self { head: 0, fixed: true, min: 0, leaf: true, cost: 0 };
        let mut i = 0;
        while i < parts.len() {
            if layout.fixed {
                layout.head += parts[i].head;
            }
            layout.fixed &= parts[i].fixed;
            layout.leaf &= parts[i].leaf;
            layout.min += parts[i].min;
            layout.cost = layout.cost.saturating_add(parts[i].cost);
            i += 1;
        }
        layout
    }
}

/// The stored fields of a struct, or of variant `V`; the derive implements it.
pub trait Row<V> {
    /// The fields, in declaration order.
    const PARTS: &'static [Part];

    /// Their segments.
    const LAYOUT: Layout = Layout::of(Self::PARTS);
}

/// Enters what the fields of a class reach.
pub fn reach(types: &mut TypeSet, rows: &[&[Part]]) {
    for part in rows.iter().copied().flatten() {
        (part.reach)(types);
    }
}

/// Where field `I` of a row stands.
pub(super) struct At<R: ?Sized, V, I>(PhantomData<(V, I, R)>);

impl<R: ?Sized + Row<V>, V, I: Index> At<R, V, I> {
    /// True if the field's head lies in the first segment.
    pub(super) const FIRST: bool = {
        let mut first = true;
        let mut i = 0;
        while i < I::INDEX {
            first &= R::PARTS[i].fixed;
            i += 1;
        }
        first
    };

    /// True if a segment begins with this field, which it does after one with a tail. A `bool` of its own, on which the
    /// compiler leaves out what is not asked for.
    pub(super) const BEGINS: bool =
        I::INDEX > 0 && !R::PARTS[I::INDEX - 1].fixed && Self::SEGMENT > 0;

    /// Bytes of the segment that begins with this field.
    pub(super) const SEGMENT: usize = {
        let mut bytes = R::PARTS[I::INDEX].head;
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
    let (head, rest) = std::mem::take(segment).split_at_mut(len);
    *segment = rest;
    head
}

/// Cuts the first `len` bytes off a segment that is read.
#[inline(always)]
pub(crate) fn cut<'a>(segment: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (head, rest) = segment.split_at(len);
    *segment = rest;
    head
}

/// Decodes a value of fixed width on its own.
#[inline(always)]
pub fn checked<T: Persist>(head: &[u8]) -> Result<T, Fail> {
    let mut bad = false;
    let value = T::__decode_fixed(head, &mut bad);
    if bad { Err(Fail::Value) } else { Ok(value) }
}

/// Writes a value whole, where it is called.
#[inline(always)]
pub fn encode_row<T: Persist>(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
    value.__encode_head(out.take(T::__HEAD)?);
    if T::__FIXED { Ok(()) } else { value.__encode_tail(out) }
}

/// Reads a value whole, where it is called.
#[inline(always)]
pub fn decode_row<T: Persist>(input: &mut Decoder<'_>) -> Result<T, Fail> {
    T::__decode(input.take(T::__HEAD)?, input)
}

/// Reads over a value whole, where it is called.
#[inline(never)]
pub(crate) fn decode_row_into<T: Persist>(
    value: &mut T,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    value.__decode_into(input.take(T::__HEAD)?, input)
}
