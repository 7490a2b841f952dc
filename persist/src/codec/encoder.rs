use std::mem;

use super::{Persist, SaveLinks, copy::copy, count};
use crate::{Error, ErrorKind, Limits};

/// An encode cannot go on.
///
/// Either the buffer is full, and the caller repeats the value in a larger
/// one, or a reason was left with [`Encoder::refuse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop;

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
    error: Option<Error>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(
        rest: &'a mut [u8],
        limits: &'a Limits,
        links: &'a mut dyn SaveLinks,
    ) -> Self {
        Self { rest, depth: limits.depth, limits, links, empty_elements: 0, error: None }
    }

    /// Bytes of the window that are still free.
    pub(crate) fn free(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// The next `len` bytes of the buffer, to be written by the caller.
    ///
    /// # Errors
    ///
    /// [`Stop`] if fewer are left.
    #[inline(always)]
    pub fn take(&mut self, len: usize) -> Result<&'a mut [u8], Stop> {
        match mem::take(&mut self.rest).split_at_mut_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(Stop),
        }
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
    #[cold]
    pub fn refuse(&mut self, error: Error) -> Stop {
        self.error.get_or_insert(error);
        Stop
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
        let Some(depth) = self.depth.checked_sub(1) else { return Err(self.too_deep()) };
        self.depth = depth;
        let result = encode(self);
        self.depth += 1;
        result
    }

    #[cold]
    fn too_deep(&mut self) -> Stop {
        let limit = self.limits.depth;
        self.refuse(Error::new(
            ErrorKind::TooDeep,
            format!("the value is nested more than {limit} levels deep; raise `Limits::depth` or keep the parts as objects behind `Rc<RefCell<_>>`"),
        ))
    }

    /// Checks the length of a string that is not short.
    #[cold]
    pub(crate) fn check_text(&mut self, len: usize) -> Result<(), Stop> {
        let limit = self.limits.text;
        if len <= limit {
            return Ok(());
        }
        Err(self.refuse(Error::new(
            ErrorKind::TooLarge,
            format!("a string of {len} bytes is over the limit of {limit}; raise `Limits::text`"),
        )))
    }

    /// Counts elements that may have no bytes, which are limited in number.
    #[inline(always)]
    pub(crate) fn count_empty<T: Persist>(&mut self, count: usize) {
        if T::MIN == 0 {
            self.add_empty(count);
        }
    }

    pub(crate) fn add_empty(&mut self, count: usize) {
        self.empty_elements = self.empty_elements.saturating_add(count);
    }

    /// Elements counted by [`count_empty`](Self::count_empty).
    pub(crate) fn empty_elements(&self) -> usize {
        self.empty_elements
    }

    pub(crate) fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// Who gives shared objects their ids.
    pub(crate) fn links(&mut self) -> &mut dyn SaveLinks {
        self.links
    }
}
