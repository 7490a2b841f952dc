use std::fmt::Display;

use super::list::{large, large_box, levels};
use super::{LoadLinks, Order, Persist, Within, count};
use crate::{Error, ErrorKind, Limits};

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
    limits: &'a Limits,
    links: &'a mut dyn LoadLinks,
    error: Option<Error>,
    /// The class of the value that was skipped last.
    skipped: Option<u64>,
    /// The order in which a record has what is in it, if that is another one.
    order: Option<Order<'a>>,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(rest: &'a [u8], limits: &'a Limits, links: &'a mut dyn LoadLinks) -> Self {
        Self { rest, depth: limits.depth, limits, links, error: None, skipped: None, order: None }
    }

    /// The same for a record in another order. It may nest half as deep: frames are larger, and
    /// what is deeper can be rewritten.
    pub(crate) fn in_order(self, order: Option<Order<'a>>) -> Self {
        Self { order, depth: self.depth / 2, ..self }
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
        let head = self.take(T::HEAD)?;
        T::decode(head, self)
    }

    /// Reads a value whole into an existing one, which keeps its allocations.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a value; the target then is a valid
    /// mixture of old and new.
    #[inline(always)]
    pub fn value_into<T: Persist>(&mut self, target: &mut T) -> Result<(), Fail> {
        let head = self.take(T::HEAD)?;
        target.decode_into(head, self)
    }

    /// Reads the value of a record.
    pub(crate) fn record<T: Persist>(&mut self) -> Result<T, Fail> {
        match self.order {
            Some(order) => T::decode_ordered(order, self),
            None => self.value(),
        }
    }

    /// Reads the value of a record into an existing one.
    pub(crate) fn record_into<T: Persist>(&mut self, target: &mut T) -> Result<(), Fail> {
        match self.order {
            Some(order) => target.decode_ordered_into(order, self),
            None => self.value_into(target),
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
    /// so many, before anything is allocated for them.
    #[inline(always)]
    pub(crate) fn elements<T: Persist>(&mut self, head: &[u8]) -> Result<usize, Fail> {
        let count = count::decode_tail(head[0], self)?;
        let count = usize::try_from(count).map_err(|_| Fail::Count)?;
        if T::MIN == 0 {
            // These are limited in number over the whole save.
            let charge = count.saturating_mul(super::list::weight::<T>());
            return match self.links.charge_empty(charge, self.limits) {
                Ok(()) => Ok(count),
                Err(error) => Err(self.refuse(error)),
            };
        }
        if count > self.rest.len() / T::MIN {
            return Err(Fail::Count);
        }
        if let Some(bytes) = large::<T>(count)
            && let Err(error) = self.links.charge_memory(bytes, self.limits)
        {
            return Err(self.refuse(error));
        }
        Ok(count)
    }

    /// Leaves the reason why this value cannot be loaded.
    ///
    /// Write `return Err(input.refuse(error))`.
    #[cold]
    pub fn refuse(&mut self, error: Error) -> Fail {
        self.error.get_or_insert(error);
        Fail::Refused
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
            self.links.note_none(class);
        }
    }

    /// Decodes what lies in a cell of this sort.
    #[inline(always)]
    pub(crate) fn in_cell<T: Persist, R>(
        &mut self,
        cell: Within,
        decode: impl FnOnce(&mut Self) -> Result<R, Fail>,
    ) -> Result<R, Fail> {
        if T::LEAF {
            return decode(self);
        }
        let before = self.links.enter_cell(cell);
        let result = decode(self);
        self.links.leave_cell(before);
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
        match large_box::<T>() {
            Some(bytes) => {
                let charged = self.links.charge_memory(bytes, self.limits);
                charged.map_err(|error| self.refuse(error))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// Who knows the objects of the save.
    pub(crate) fn links(&mut self) -> &mut dyn LoadLinks {
        self.links
    }
}

/// What the `restore` function of a `with` module gave.
#[doc(hidden)]
pub fn restored<T, E: Display>(
    result: Result<T, E>,
    module: &str,
    input: &mut Decoder<'_>,
) -> Result<T, Fail> {
    result.map_err(|error| {
        input.refuse(Error::new(ErrorKind::Refused, format!("`{module}` refused: {error}")))
    })
}
