use std::any::{Any, TypeId};

use super::list::{is_large, is_large_for, large_box, levels};
use super::row::{Inline, decode_row_into};
use super::{Linked, LoadLinks, Persist, Pointed, Pointing, Shared, Within, count};
use crate::env::Env;
use crate::{Error, Limits};

/// Why a decode stopped, in one byte so that results stay in registers.
///
/// The place and the words are found afterwards, by walking the record with
/// the schema that the save itself carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fail {
    /// The bytes end inside the value.
    End,
    /// Not UTF-8.
    Text,
    /// A value that the type cannot have.
    Value,
    /// A count that is not in its shortest form or that the bytes cannot hold.
    Count,
    /// A key or an element of a set stands there twice.
    Duplicate,
    /// Nested too deep.
    Depth,
    /// Over a limit.
    Limit,
    /// The reason was left with [`Decoder::refuse`].
    Refused,
    /// The value is of a class that is not registered for the trait that is
    /// asked for; it was skipped.
    Unregistered,
}

/// The bytes that values are read from.
pub struct Decoder<'a> {
    rest: &'a [u8],
    depth: u32,
    within: Within,
    env: &'a Env<'a>,
    links: &'a mut dyn LoadLinks,
    error: Option<Error>,
    /// The class of the value that was skipped last.
    skipped: Option<u64>,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(rest: &'a [u8], env: &'a Env<'a>, links: &'a mut dyn LoadLinks) -> Self {
        Self {
            rest,
            depth: env.limits.depth,
            within: Within::Bare,
            env,
            links,
            error: None,
            skipped: None,
        }
    }

    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// The bytes that are not read yet.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Makes bytes that were taken the next ones again.
    pub(crate) fn go_back(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Takes the next `len` bytes.
    ///
    /// # Errors
    ///
    /// [`Fail::End`] if fewer are left.
    #[inline(always)]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Fail> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(Fail::End),
        }
    }

    /// Reads a value whole.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a value.
    #[inline(always)]
    pub fn value<T: Persist>(&mut self) -> Result<T, Fail> {
        let head = self.take(Inline::<T>::HEAD)?;
        self.tail(head)
    }

    /// Reads what follows the head of a value, or all of one that is not decoded in place.
    #[inline(always)]
    pub(crate) fn tail<T: Persist>(&mut self, head: &[u8]) -> Result<T, Fail> {
        if Inline::<T>::IN_PLACE { T::__decode(head, self) } else { T::persist_decode(self) }
    }

    /// Reads a value whole into an existing one, which keeps its allocations.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a value; the target then is a valid
    /// mixture of old and new.
    #[inline(always)]
    pub fn value_into<T: Persist>(&mut self, target: &mut T) -> Result<(), Fail> {
        let head = self.take(Inline::<T>::HEAD)?;
        self.tail_into(head, target)
    }

    /// Reads what follows the head of a value, or all of one that is not decoded in place, into an existing one.
    #[inline(always)]
    pub(crate) fn tail_into<T: Persist>(
        &mut self,
        head: &[u8],
        target: &mut T,
    ) -> Result<(), Fail> {
        if Inline::<T>::IN_PLACE {
            target.__decode_into(head, self)
        } else {
            decode_row_into(target, self)
        }
    }

    /// Reads a count or a length whole.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if it is not in its shortest form or not a `usize`.
    pub fn count(&mut self) -> Result<usize, Fail> {
        usize::try_from(count::decode(self)?).map_err(|_| Fail::Count)
    }

    /// Reads the rest of an element count and checks that the bytes can hold
    /// that many, before anything is allocated for them.
    #[inline(always)]
    pub(crate) fn elements<T: Persist>(&mut self, head: &[u8]) -> Result<usize, Fail> {
        let memory = const { if is_large::<T>() { size_of::<T>() } else { 0 } };
        if const { Inline::<T>::FIXED && T::__MIN > 0 } {
            return self.elements_of(head[0], T::__MIN, memory, 1);
        }
        self.elements_called(head[0], T::__MIN, memory, const { super::list::weight::<T>() })
    }

    /// Like [`elements`](Self::elements), of elements that take `least` bytes or more.
    pub(crate) fn elements_with<T>(&mut self, head: u8, least: usize) -> Result<usize, Fail> {
        let memory = if is_large_for::<T>(least) { size_of::<T>() } else { 0 };
        self.elements_called(head, least, memory, const { super::list::weight::<T>() })
    }

    /// Compiled once, for elements of any type.
    #[inline(never)]
    fn elements_called(
        &mut self,
        head: u8,
        least: usize,
        memory: usize,
        weight: usize,
    ) -> Result<usize, Fail> {
        self.elements_of(head, least, memory, weight)
    }

    /// Reads the rest of a count of elements that have `least` bytes or more. `memory` is what each takes if it is
    /// large for its bytes, `weight` how often it counts if it has none.
    #[inline(always)]
    fn elements_of(
        &mut self,
        head: u8,
        least: usize,
        memory: usize,
        weight: usize,
    ) -> Result<usize, Fail> {
        let count = count::decode_tail(head, self)?;
        let count = usize::try_from(count).map_err(|_| Fail::Count)?;
        if least == 0 {
            // These are limited in number over the whole save.
            self.charge(count.saturating_mul(weight), 0)?;
        } else if count > self.rest.len() / least {
            return Err(Fail::Count);
        } else if memory > 0 {
            self.charge(0, (count as u64).saturating_mul(memory as u64))?;
        }
        Ok(count)
    }

    /// Counts elements; see [`LoadLinks::charge`].
    #[inline(never)]
    pub(crate) fn charge(&mut self, empty: usize, memory: u64) -> Result<(), Fail> {
        let charged = self.links.charge(empty, memory, &self.env.limits);
        charged.map_err(|error| self.refuse(error))
    }

    /// What a reference to object `id` leads to; see [`LoadLinks::link`].
    pub(crate) fn link(
        &mut self,
        id: u64,
        weak: bool,
        pointed: Pointed,
    ) -> crate::Result<Linked<'_>> {
        self.links.link(id, Pointing { weak, pointed, within: self.within })
    }

    /// What [`LoadLinks::plain_link`] finds.
    #[inline]
    pub(crate) fn plain_link(&mut self, id: u64, pointee: TypeId, weak: bool) -> Option<&Shared> {
        self.links.plain_link(id, pointee, weak, self.within)
    }

    /// Leaves the reason why this value cannot be loaded.
    ///
    /// Write `return Err(input.refuse(error))`.
    #[cold]
    pub fn refuse(&mut self, error: Error) -> Fail {
        self.error.get_or_insert(error);
        Fail::Refused
    }

    /// The context of the load: a value of the program's own; [`Encoder::context`](super::Encoder::context) has an example.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the load has none, or one of another type; the error then says so.
    pub fn context<C: Any>(&mut self) -> Result<&'a C, Fail> {
        self.env.context().map_err(|error| self.refuse(error))
    }

    /// Leaves that a value was skipped, since its class, of this number in the
    /// save, is not registered for a trait.
    #[cold]
    pub(crate) fn unregistered(&mut self, class: u64, error: Error) -> Fail {
        self.refuse(error);
        self.skipped = Some(class);
        Fail::Unregistered
    }

    /// Takes the last skipped value for `None`.
    #[cold]
    pub(crate) fn forgive(&mut self) {
        if let Some(class) = self.skipped.take() {
            self.error = None;
            self.links.became_none(class);
        }
    }

    /// Decodes what lies in a cell of this sort.
    #[inline(always)]
    pub(crate) fn in_cell<T: Persist, R>(
        &mut self,
        cell: Within,
        decode: impl FnOnce(&mut Self) -> Result<R, Fail>,
    ) -> Result<R, Fail> {
        if T::__LEAF { decode(self) } else { self.within(cell, decode) }
    }

    /// Decodes references that lie in a cell of this sort.
    pub(crate) fn within<R>(
        &mut self,
        cell: Within,
        decode: impl FnOnce(&mut Self) -> Result<R, Fail>,
    ) -> Result<R, Fail> {
        let before = self.within;
        self.within = before.then(cell);
        let result = decode(self);
        self.within = before;
        result
    }

    /// Decodes one level further in, within [`Limits::depth`].
    ///
    /// # Errors
    ///
    /// [`Fail::Depth`] beyond the limit, and whatever `decode` returns.
    #[inline(always)]
    pub fn nested<T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.nested_in::<(), T>(decode)
    }

    /// Decodes inside of an `I`: one level, and one more for every 2 KiB of it,
    /// which is on the stack meanwhile.
    #[inline(always)]
    pub(crate) fn nested_in<I, T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        let levels = const { levels::<I>() };
        let Some(depth) = self.depth.checked_sub(levels) else { return Err(Fail::Depth) };
        self.depth = depth;
        let result = decode(self);
        self.depth += levels;
        result
    }

    /// Counts a value that is about to be put into a box.
    #[inline(always)]
    pub(crate) fn charge_box<T: Persist>(&mut self) -> Result<(), Fail> {
        self.charge_box_of::<T>(T::__MIN)
    }

    /// Counts a value that is about to be put into a box, and takes `least` bytes or more.
    #[inline(always)]
    pub(crate) fn charge_box_of<T>(&mut self, least: usize) -> Result<(), Fail> {
        match large_box::<T>(least) {
            Some(bytes) => self.charge(0, bytes),
            None => Ok(()),
        }
    }

    pub(crate) fn env(&self) -> &'a Env<'a> {
        self.env
    }

    pub(crate) fn limits(&self) -> &'a Limits {
        &self.env.limits
    }

    /// Who knows the objects of the save.
    pub(crate) fn links(&mut self) -> &mut dyn LoadLinks {
        self.links
    }
}
