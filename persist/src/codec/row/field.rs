//! [`FieldCoder`]: the code that the derive calls for a field.

use super::{At, FieldCoder, Row, cut, cut_mut};
use crate::Result;
use crate::codec::boxed::{is_bulky, unboxed};
use crate::codec::decoder::Decoder;
use crate::codec::encoder::{Encoder, Stop};
use crate::codec::fail::Fail;
use crate::codec::index::Index;
use crate::codec::index::short::_0;
use crate::codec::persist::{Generic, Persist, bad_part};
use crate::codec::type_set::FieldCodec;
use crate::codec::visitor::Visitor;

impl<T> FieldCoder<T> {
    /// Describes the field, for a layout.
    #[must_use]
    pub const fn part(self) -> FieldCodec
    where
        T: Persist,
    {
        const { FieldCodec::new::<T>() }
    }

    /// Writes the head of field `I` of a struct, if it lies in the first segment.
    #[inline(always)]
    pub fn put_head<R: Row<_0>, I: Index>(self, value: &T, segment: &mut &mut [u8])
    where
        T: Persist,
    {
        if At::<R, _0, I>::FIRST && T::IN_PLACE {
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
        if T::IN_PLACE {
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
        let head = cut(segment, T::PLACED_HEAD);
        if const { is_bulky::<T>() } {
            return unboxed(input.tail_boxed(head)).map_err(|fail| *fails = fail).ok();
        }
        if T::PLACED_FIXED {
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
    #[inline(never)]
    pub fn get_boxed<'s, 'i: 's, R: Row<V>, V, I: Index>(
        self,
        segment: &mut &'s [u8],
        input: &mut Decoder<'i>,
    ) -> Result<Box<T>, Fail>
    where
        T: Persist,
    {
        if At::<R, V, I>::BEGINS {
            *segment = input.take(At::<R, V, I>::SEGMENT)?;
        }
        input.tail_boxed(cut(segment, T::PLACED_HEAD))
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
        input.tail_into(cut(segment, T::PLACED_HEAD), target)
    }

    /// Reads a field of a row whose fields are all head.
    #[inline(always)]
    pub fn get_fixed(self, segment: &mut &[u8], bad: &mut bool) -> T
    where
        T: Persist,
    {
        if T::PLACED_FIXED {
            return T::__decode_fixed(cut(segment, T::HEAD), bad);
        }
        unreachable!("only rows that are all head are read so")
    }

    /// Visits a field, and names it in an error.
    pub fn visit(self, value: &mut T, name: &str, visitor: &mut Visitor<'_>) -> Result<()>
    where
        T: Persist,
    {
        if T::LEAF { Ok(()) } else { visited(value.__visit(visitor), name) }
    }

    /// Visits a field through `&`, and names it in an error.
    pub fn visit_shared(self, value: &T, name: &str, visitor: &mut Visitor<'_>) -> Result<()>
    where
        T: Persist,
    {
        if T::LEAF { Ok(()) } else { visited(value.__visit_shared(visitor), name) }
    }
}

/// Names a field in the error of its visit. Compiled once.
fn visited(result: Result<()>, name: &str) -> Result<()> {
    result.map_err(|error| error.in_field(name))
}
