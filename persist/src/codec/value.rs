//! Whole values: creating empty ones, writing and reading, in place or by a call.

use std::any::{Any, TypeId};

use super::boxed::{is_bulky, out_of_line};
use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::field_access::FieldAccess;
use super::links::{Factory, Prototypes, Within};
use super::persist::Generic;
use super::persist::Persist;
use super::type_set::FieldCodec;
use super::visitor::Visitor;
use super::{is_large_for, levels, weight};
use crate::Result;

impl Prototypes<'_> {
    /// Creates an empty value of an object: by the program's factory, if there is one.
    pub(crate) fn object<T: Persist>(&self) -> Result<T> {
        match self.factory_of::<T>() {
            Some(factory) => Ok((factory.0)()),
            None => T::persist_empty(self),
        }
    }

    /// Creates an empty value of an object in a box, for one that is too large for the stack.
    pub(super) fn boxed_object<T: Persist>(&self) -> Result<Box<T>> {
        match self.factory_of::<T>() {
            Some(factory) => Ok(out_of_line(|| Box::new((factory.0)()))),
            None => empty_box(self),
        }
    }

    fn factory_of<T: Persist>(&self) -> Option<&Factory<T>> {
        self.factory(TypeId::of::<T>())?.downcast_ref()
    }
}

impl FieldAccess {
    /// Describes a field that is stored as its own type.
    #[must_use]
    pub const fn new<F: Persist>() -> Self {
        Self {
            encode: F::encode_field,
            decode: F::decode_field,
            list: F::__LAYOUT.list,
            map: F::__LAYOUT.map,
            walk: F::__LAYOUT.walk,
            has_adapter: false,
            is_plain: true,
            visit: if F::LEAF { None } else { Some(visit::<F>) },
        }
    }
}

impl FieldCodec {
    /// Describes a field that is stored as its own type.
    #[must_use]
    pub const fn new<T: Persist>() -> Self {
        Self {
            head: T::PLACED_HEAD,
            fixed: T::PLACED_FIXED,
            min: T::MIN,
            leaf: T::LEAF,
            cost: T::PLACED_COST,
            on_stack: T::ON_STACK,
            reach: T::__reach,
            access: const { &FieldAccess::new::<T>() },
        }
    }
}

impl<'a> Encoder<'a> {
    /// Writes a value whole: its head, then its tail.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the value refuses.
    #[inline(always)]
    pub fn value<T: Persist>(&mut self, value: &T) -> Result<(), Stop> {
        if T::IN_PLACE {
            value.__encode_head(self.take(T::HEAD)?);
        }
        self.tail(value)
    }

    /// Writes the tail of a value, or all of one that is not encoded in place.
    #[inline(always)]
    pub(crate) fn tail<T: Persist>(&mut self, value: &T) -> Result<(), Stop> {
        if T::PLACED_FIXED {
            Ok(())
        } else if T::IN_PLACE {
            value.__encode_tail(self)
        } else {
            value.persist_encode(self)
        }
    }

    /// Encodes the content of a box of a `T`; see [`Decoder::in_box`].
    #[inline(always)]
    pub(crate) fn in_box<T: Persist>(
        &mut self,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.deeper(const { levels(T::ON_STACK) }, encode)
    }

    /// Encodes the content of a cell of this sort.
    #[inline(always)]
    pub(crate) fn in_cell<T: Persist>(
        &mut self,
        cell: Within,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if T::LEAF { encode(self) } else { self.within(cell, encode) }
    }
}

impl Decoder<'_> {
    /// Reads a value whole.
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the bytes are not such a value.
    #[inline(always)]
    pub fn value<T: Persist>(&mut self) -> Result<T, Fail> {
        let head = self.take(T::PLACED_HEAD)?;
        self.tail(head)
    }

    /// Reads the tail of a value, or all of one that is not decoded in place.
    #[inline(always)]
    pub(crate) fn tail<T: Persist>(&mut self, head: &[u8]) -> Result<T, Fail> {
        if T::IN_PLACE { T::__decode(head, self) } else { T::persist_decode(self) }
    }

    /// Reads a value whole into a box.
    #[inline(always)]
    pub(crate) fn boxed<T: Persist>(&mut self) -> Result<Box<T>, Fail> {
        let head = self.take(T::PLACED_HEAD)?;
        self.tail_boxed(head)
    }

    /// Reads the tail of a value into a box, or all of one that is not decoded in place.
    #[inline(always)]
    pub(crate) fn tail_boxed<T: Persist>(&mut self, head: &[u8]) -> Result<Box<T>, Fail> {
        if const { !is_bulky::<T>() } {
            return self.tail(head).map(Box::new);
        }
        if T::IN_PLACE {
            return T::__decode_boxed(head, self);
        }
        let head = self.take(T::HEAD)?;
        T::__decode_boxed(head, self)
    }

    /// Reads a value whole into an existing one, which keeps its allocations.
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the bytes are not such a value. The target then is a valid mixture of old and new.
    #[inline(always)]
    pub fn value_into<T: Persist>(&mut self, target: &mut T) -> Result<(), Fail> {
        let head = self.take(T::PLACED_HEAD)?;
        self.tail_into(head, target)
    }

    /// Reads the tail of a value, or all of one that is not decoded in place, into an existing one.
    #[inline(always)]
    pub(crate) fn tail_into<T: Persist>(
        &mut self,
        head: &[u8],
        target: &mut T,
    ) -> Result<(), Fail> {
        if T::IN_PLACE { target.__decode_into(head, self) } else { decode_row_into(target, self) }
    }

    /// Reads the rest of an element count, and checks that the bytes can hold that many before anything is allocated
    /// for them.
    #[inline(always)]
    pub(crate) fn elements<T: Persist>(&mut self, head: &[u8]) -> Result<usize, Fail> {
        let memory = const { if is_large_for::<T>(T::MIN) { size_of::<T>() } else { 0 } };
        if const { T::PLACED_FIXED && T::MIN > 0 } {
            return self.elements_of(head[0], T::MIN, memory, 1);
        }
        self.elements_called(head[0], T::MIN, memory, const { weight::<T>() })
    }

    /// Decodes the content of a box of an `I`: like [`nested_in`](Self::nested_in), but for a value that is created in
    /// its box.
    #[inline(always)]
    pub(crate) fn in_box<I: Persist, T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.deeper(const { levels(I::ON_STACK) }, decode)
    }

    /// Decodes the content of a cell of this sort.
    #[inline(always)]
    pub(crate) fn in_cell<T: Persist, R>(
        &mut self,
        cell: Within,
        decode: impl FnOnce(&mut Self) -> Result<R, Fail>,
    ) -> Result<R, Fail> {
        if T::LEAF { decode(self) } else { self.within(cell, decode) }
    }
}

/// Creates an empty value in a box.
pub(crate) fn empty_box<T: Persist>(prototypes: &Prototypes<'_>) -> Result<Box<T>> {
    if const { is_bulky::<T>() } {
        return T::__empty_boxed(prototypes);
    }
    T::persist_empty(prototypes).map(Box::new)
}

/// Reads over a value whole, by a call.
#[inline(never)]
fn decode_row_into<T: Persist>(value: &mut T, input: &mut Decoder<'_>) -> Result<(), Fail> {
    value.__decode_into(input.take(T::HEAD)?, input)
}

fn visit<T: Persist>(field: &dyn Any, visitor: &mut Visitor<'_>) -> crate::Result<()> {
    field.downcast_ref::<T>().map_or(Ok(()), |field| field.__visit_shared(visitor))
}
