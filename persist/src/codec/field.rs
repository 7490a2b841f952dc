//! [`Field`]: the code that the derive calls for a field. [`Inline`]: which values are encoded in place.

use std::marker::PhantomData;
use std::mem::needs_drop;

use super::boxed::{is_bulky, unboxed};
use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::generic::Generic;
use super::index::Index;
use super::index::short::_0;
use super::persist::{Persist, bad_part};
use super::row::{At, Row, cut, cut_mut};
use super::type_set::FieldCodec;
use super::visitor::Visitor;
use crate::Result;

/// Codes a field of type `T` in a row. The derive's code has it from [`Persist::__FIELD`].
///
/// Where `T` is not `Persist`, all these calls fail at that constant, by one and the same error, which rustc shows
/// once. As functions of a second trait, each would add a note that names itself, and rustc would show them all. So the
/// bound is at the functions: an impl with the bound would not be found, which is another error.
pub struct Field<T>(PhantomData<fn() -> T>);

impl<T> Field<T> {
    /// The one value.
    pub(super) const NEW: Self = Self(PhantomData);

    /// Describes the field, for a layout.
    #[must_use]
    pub const fn part(self) -> FieldCodec
    where
        T: Persist,
    {
        T::PART
    }

    /// Writes the head of field `I` of a struct, if it lies in the first segment.
    #[inline(always)]
    pub fn put_head<R: Row<_0>, I: Index>(self, value: &T, segment: &mut &mut [u8])
    where
        T: Persist,
    {
        if At::<R, _0, I>::FIRST && Inline::<T>::IN_PLACE {
            value.__encode_head(cut_mut(segment, T::HEAD));
        }
    }

    /// Writes the rest of field `I` of a struct after `put_head`.
    #[inline(always)]
    pub fn put_rest<'o, R: Row<_0>, I: Index>(
        self,
        value: &T,
        segment: &mut &'o mut [u8],
        out: &mut Encoder<'o>,
    ) -> Result<(), Stop>
    where
        T: Persist,
    {
        if At::<R, _0, I>::FIRST {
            out.tail(value)
        } else {
            self.put::<R, _0, I>(value, segment, out)
        }
    }

    /// Writes field `I` of a row.
    #[inline(always)]
    pub fn put<'o, R: Row<V>, V, I: Index>(
        self,
        value: &T,
        segment: &mut &'o mut [u8],
        out: &mut Encoder<'o>,
    ) -> Result<(), Stop>
    where
        T: Persist,
    {
        if At::<R, V, I>::BEGINS {
            *segment = out.take(At::<R, V, I>::SEGMENT)?;
        }
        if Inline::<T>::IN_PLACE {
            value.__encode_head(cut_mut(segment, T::HEAD));
        }
        out.tail(value)
    }

    /// Reads field `I` of a row. On failure it sets `fails` and returns `None`.
    ///
    /// In a `Result`, the byte of a [`Fail`] would share its place with the value. The compiler then writes and reads
    /// the value in pieces of other sizes, and a struct in place had to wait for memory.
    #[inline(always)]
    pub fn get<'s, 'i: 's, R: Row<V>, V, I: Index>(
        self,
        segment: &mut &'s [u8],
        input: &mut Decoder<'i>,
        fails: &mut Fail,
    ) -> Option<T>
    where
        T: Persist,
    {
        if At::<R, V, I>::BEGINS {
            match input.take(At::<R, V, I>::SEGMENT) {
                Ok(next) => *segment = next,
                Err(fail) => {
                    *fails = fail;
                    return None;
                }
            }
        }
        let head = cut(segment, Inline::<T>::HEAD);
        if const { is_bulky::<T>() } {
            return unboxed(input.tail_boxed(head)).map_err(|fail| *fails = fail).ok();
        }
        if Inline::<T>::FIXED {
            let mut bad = false;
            let value = T::__decode_fixed(head, &mut bad);
            if !bad {
                return Some(value);
            }
            *fails = bad_part::<T>(head, input);
            return None;
        }
        match input.tail(head) {
            Ok(value) => Some(value),
            Err(fail) => {
                *fails = fail;
                None
            }
        }
    }

    /// Reads field `I` of a row into a box, for a row that is too large for the stack.
    #[inline(always)]
    pub fn get_boxed<'s, 'i: 's, R: Row<V>, V, I: Index>(
        self,
        segment: &mut &'s [u8],
        input: &mut Decoder<'i>,
    ) -> Result<Box<T>, Fail>
    where
        T: Persist,
    {
        T::get_boxed::<R, V, I>(segment, input)
    }

    /// Reads over field `I` of a struct.
    #[inline(always)]
    pub fn get_into<'s, 'i: 's, R: Row<_0>, I: Index>(
        self,
        target: &mut T,
        segment: &mut &'s [u8],
        input: &mut Decoder<'i>,
    ) -> Result<(), Fail>
    where
        T: Persist,
    {
        if At::<R, _0, I>::BEGINS {
            *segment = input.take(At::<R, _0, I>::SEGMENT)?;
        }
        input.tail_into(cut(segment, Inline::<T>::HEAD), target)
    }

    /// Reads a field of a row whose fields are all head.
    #[inline(always)]
    pub fn get_fixed(self, segment: &mut &[u8], bad: &mut bool) -> T
    where
        T: Persist,
    {
        if Inline::<T>::FIXED {
            return T::__decode_fixed(cut(segment, T::HEAD), bad);
        }
        unreachable!("only rows that are all head are read so")
    }

    /// Visits a field, and names it in an error.
    #[inline(always)]
    pub fn visit(self, value: &mut T, name: &str, visitor: &mut Visitor<'_>) -> Result<()>
    where
        T: Persist,
    {
        value.visit_named(name, visitor)
    }

    /// Visits a field through `&`, and names it in an error.
    #[inline(always)]
    pub fn visit_shared(self, value: &T, name: &str, visitor: &mut Visitor<'_>) -> Result<()>
    where
        T: Persist,
    {
        value.visit_named_shared(name, visitor)
    }
}

/// The largest cost of a value that is encoded in place. Measured on a crate of 200 structs, and by the instructions of
/// the public data sets: 12 and 32 took longer to build and saved nothing.
pub(crate) const BUDGET: usize = 6;

/// The budget for values of fixed width. They are plain moves, so that a triangle of twelve numbers is copied as one
/// block.
const FIXED_BUDGET: usize = 32;

/// The budget for values without memory of their own: enums of numbers. A failed decode has nothing to drop in them,
/// and a call would take longer than the work itself. 1.2 million such values are a fourth of the data set `game`.
const PLAIN_BUDGET: usize = 16;

/// The budget for the elements of lists: the one loop of each type takes most of the time. With 16, the data set `mk48`
/// took 8 % more instructions to decode.
const LIST_BUDGET: usize = 32;

/// The cost of a call.
pub(super) const CALL: usize = 2;

/// Decides how a value of a type is coded among its neighbours. These are constants of the type so that each is
/// evaluated once, not in every function that uses it.
pub(crate) struct Inline<T>(PhantomData<T>);

impl<T: Persist> Inline<T> {
    /// True if values are encoded in place.
    pub(crate) const IN_PLACE: bool = T::COST
        <= if T::FIXED {
            FIXED_BUDGET
        } else if needs_drop::<T>() {
            BUDGET
        } else {
            PLAIN_BUDGET
        };

    /// True if elements of a list are encoded in its loop, without a call.
    pub(crate) const IN_LIST: bool = T::COST <= LIST_BUDGET;

    /// True if values are all head where they are encoded in place.
    pub(crate) const FIXED: bool = T::FIXED && Self::IN_PLACE;

    /// Number of bytes of a value in the segment that it shares with its neighbours.
    pub(crate) const HEAD: usize = if Self::IN_PLACE { T::HEAD } else { 0 };

    /// The cost of a value as part of another.
    pub(crate) const COST: usize = if Self::IN_PLACE { T::COST } else { CALL };
}
