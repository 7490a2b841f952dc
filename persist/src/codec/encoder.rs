use std::mem;

use super::list::{large, large_box, levels};
use super::{Persist, SaveLinks, Within, copy::copy, count};
use crate::{Error, ErrorKind, Limits};

/// An encode cannot go on.
///
/// Either the buffer is full, and the caller repeats the value in a larger
/// one, or a reason was left with [`Encoder::refuse`], which is the only way to
/// make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(());

/// The place that values are written to: a window of a buffer.
///
/// A write that does not fit returns [`Stop`] instead of growing anything; a
/// cursor that can only leave on overflow stays in registers. Whoever owns the
/// buffer grows it and encodes the value again.
pub struct Encoder<'a> {
    rest: &'a mut [u8],
    depth: u32,
    limits: &'a Limits,
    links: &'a mut dyn SaveLinks,
    empty_elements: usize,
    large: u64,
    error: &'a mut Option<Error>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(
        rest: &'a mut [u8],
        limits: &'a Limits,
        links: &'a mut dyn SaveLinks,
        error: &'a mut Option<Error>,
    ) -> Self {
        Self { rest, depth: limits.depth, limits, links, empty_elements: 0, large: 0, error }
    }

    /// Bytes of the window that are still free.
    pub(crate) fn free(&self) -> usize {
        self.rest.len()
    }

    /// The next `len` bytes of the buffer, to be written by the caller.
    ///
    /// # Errors
    ///
    /// [`Stop`] if fewer are left.
    #[inline(always)]
    pub fn take(&mut self, len: usize) -> Result<&'a mut [u8], Stop> {
        if len > self.rest.len() {
            return Err(Stop(()));
        }
        let (taken, rest) = mem::take(&mut self.rest).split_at_mut(len);
        self.rest = rest;
        Ok(taken)
    }

    /// Writes these bytes.
    ///
    /// # Errors
    ///
    /// [`Stop`] if they do not fit.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        copy(self.take(bytes.len())?, bytes);
        Ok(())
    }

    /// Writes a value whole: its head, then its tail.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit or refuses.
    #[inline(always)]
    pub fn value<T: Persist>(&mut self, value: &T) -> Result<(), Stop> {
        value.encode_head(self.take(T::HEAD)?);
        if T::FIXED { Ok(()) } else { value.encode_tail(self) }
    }

    /// Writes a count or a length whole.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit.
    pub fn count(&mut self, count: usize) -> Result<(), Stop> {
        count::encode(count as u64, self)
    }

    /// Leaves the reason why this value cannot be saved.
    ///
    /// Write `return Err(out.refuse(error))`.
    #[inline(always)]
    pub fn refuse(&mut self, error: Error) -> Stop {
        keep(self.error, error)
    }

    /// Says that a class has no field, or no default of a field, of some index.
    #[cold]
    pub fn no_field(&mut self) -> Stop {
        self.refuse(Error::new(
            ErrorKind::NotFound,
            "the class has no field of this index, or the field no default",
        ))
    }

    /// Encodes with a copy of the cursor. Code that is not inlined here then
    /// takes the address of the copy, and this cursor stays in registers.
    #[inline(always)]
    pub(crate) fn apart(
        &mut self,
        encode: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let whole = mem::take(&mut self.rest);
        let mut copy = Encoder {
            rest: &mut *whole,
            depth: self.depth,
            limits: self.limits,
            links: &mut *self.links,
            empty_elements: self.empty_elements,
            large: self.large,
            error: &mut *self.error,
        };
        encode(&mut copy)?;
        let (free, empty, large) = (copy.rest.len(), copy.empty_elements, copy.large);
        (self.empty_elements, self.large) = (empty, large);
        let used = whole.len() - free;
        self.rest = whole.get_mut(used..).unwrap_or_default();
        Ok(())
    }

    /// Encodes what lies in a cell of this sort.
    #[inline(always)]
    pub(crate) fn in_cell<T: Persist>(
        &mut self,
        cell: Within,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if T::LEAF {
            return encode(self);
        }
        let before = self.links.enter_cell(cell);
        let result = encode(self);
        self.links.leave_cell(before);
        result
    }

    /// Encodes one level further in, within [`Limits::depth`].
    ///
    /// # Errors
    ///
    /// [`Stop`] beyond the limit, and whatever `encode` returns.
    #[inline(always)]
    pub fn nested(
        &mut self,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.nested_in::<()>(encode)
    }

    /// Encodes inside of a `T`: one level, and one more for every 2 KiB of it,
    /// which a loader has on its stack.
    #[inline(always)]
    pub(crate) fn nested_in<T>(
        &mut self,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let levels = const { levels::<T>() };
        let Some(depth) = self.depth.checked_sub(levels) else {
            return Err(too_deep(self.error, self.limits));
        };
        self.depth = depth;
        let result = encode(self);
        self.depth += levels;
        result
    }

    /// Checks the length of a string that is not short.
    #[inline(always)]
    pub(crate) fn check_text(&mut self, len: usize) -> Result<(), Stop> {
        if len <= self.limits.text { Ok(()) } else { Err(too_long(self.error, self.limits, len)) }
    }

    /// Counts elements that may have no bytes, which are limited in number.
    #[inline(always)]
    pub(crate) fn count_empty<T: Persist>(&mut self, count: usize) {
        if T::MIN == 0 {
            self.add_empty(count.saturating_mul(super::list::weight::<T>()));
        }
        if let Some(bytes) = large::<T>(count) {
            self.large = self.large.saturating_add(bytes);
        }
    }

    /// Counts a value in a box, as a loader does.
    #[inline(always)]
    pub(crate) fn count_box<T: Persist>(&mut self) {
        if let Some(bytes) = large_box::<T>() {
            self.large = self.large.saturating_add(bytes);
        }
    }

    pub(crate) fn add_empty(&mut self, count: usize) {
        self.empty_elements = self.empty_elements.saturating_add(count);
    }

    /// Elements counted by [`count_empty`](Self::count_empty).
    pub(crate) fn empty_elements(&self) -> usize {
        self.empty_elements
    }

    /// Memory of the elements that are large for their bytes.
    pub(crate) fn large(&self) -> u64 {
        self.large
    }

    /// Writes so many elements, and checks that a loader would believe their
    /// number: that they have at least as many bytes as their types say.
    #[inline(always)]
    pub(crate) fn filled<T: Persist>(
        &mut self,
        count: usize,
        elements: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let before = self.rest.len();
        elements(self)?;
        if before - self.rest.len() < count.saturating_mul(T::MIN) {
            return Err(too_short(self.error, count));
        }
        Ok(())
    }

    /// The limits inside of a `T`, for a part that is encoded on its own.
    pub(crate) fn limits_inside<T>(&self) -> Limits {
        Limits { depth: self.depth.saturating_sub(const { levels::<T>() }), ..*self.limits }
    }

    pub(crate) fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// Who gives shared objects their ids.
    pub(crate) fn links(&mut self) -> &mut dyn SaveLinks {
        self.links
    }
}

// The cold paths get the parts that they need, never the encoder: a cursor
// whose address is taken lives in memory instead of registers.

#[cold]
#[inline(never)]
fn keep(slot: &mut Option<Error>, error: Error) -> Stop {
    slot.get_or_insert(error);
    Stop(())
}

#[cold]
#[inline(never)]
fn too_deep(slot: &mut Option<Error>, limits: &Limits) -> Stop {
    let limit = limits.depth;
    keep(
        slot,
        Error::new(
            ErrorKind::TooDeep,
            format!(
                "the value is nested more than {limit} levels deep; raise `Limits::depth` of a `SaveManager`, or keep the parts as objects behind `Rc<RefCell<_>>`"
            ),
        ),
    )
}

#[cold]
#[inline(never)]
fn too_long(slot: &mut Option<Error>, limits: &Limits, len: usize) -> Stop {
    let limit = limits.text;
    let message =
        format!("a string of {len} bytes is over the limit of {limit}; raise `Limits::text`");
    keep(slot, Error::new(ErrorKind::TooLarge, message))
}

#[cold]
#[inline(never)]
fn too_short(slot: &mut Option<Error>, count: usize) -> Stop {
    let message = format!(
        "a collection of {count} boxes of values without bytes cannot be saved; store their number"
    );
    keep(slot, Error::new(ErrorKind::Unsupported, message))
}
