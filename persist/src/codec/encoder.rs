use std::mem;

use super::list::{large, large_box, levels};
use super::row::Inline;
use super::{Persist, Pointed, Pointing, SaveLinks, Shared, Within, copy::copy, count};
use crate::{Error, ErrorKind, Limits};

/// An encode cannot go on. The reason was left with [`Encoder::refuse`], which is the only way to make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(());

/// The place that values are written to: a window of a buffer.
///
/// A write that does not fit continues in a [`Chunk`] of its own. What was written stays where it is, so that no value
/// is encoded twice.
pub struct Encoder<'a> {
    rest: &'a mut [u8],
    /// Where the next chunk goes; `None` after a [`Stop`].
    next: Option<&'a mut NextChunk>,
    links: &'a mut dyn SaveLinks,
    state: &'a mut EncodeState,
}

/// What an encode knows beside its cursor. It stands apart, so that a cursor is quickly copied.
pub(crate) struct EncodeState {
    limits: Limits,
    depth: u32,
    within: Within,
    empty_elements: usize,
    large: u64,
    /// Bytes of all windows, without those at the end of full ones that were left free.
    room: usize,
    pub(crate) error: Option<Error>,
}

/// Where the chunk behind a window goes when that is full.
pub(crate) type NextChunk = Option<Box<Chunk>>;

/// A window behind a full one.
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// Bytes at the end of the full window that were left free: what is taken at once lies together.
    pub(crate) left: usize,
    pub(crate) next: NextChunk,
}

impl EncodeState {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            depth: limits.depth,
            within: Within::Bare,
            empty_elements: 0,
            large: 0,
            room: 0,
            error: None,
        }
    }

    /// Tells a save of the elements that were counted.
    pub(crate) fn charge(&self, links: &mut dyn SaveLinks) -> Result<(), Error> {
        links.charge(self.empty_elements, self.large, &self.limits)
    }
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(
        rest: &'a mut [u8],
        next: &'a mut NextChunk,
        links: &'a mut dyn SaveLinks,
        state: &'a mut EncodeState,
    ) -> Self {
        state.room = rest.len();
        Self { rest, next: Some(next), links, state }
    }

    /// Bytes of the last window that are still free.
    pub(crate) fn free(&self) -> usize {
        self.rest.len()
    }

    /// Bytes that were written.
    pub(crate) fn written(&self) -> usize {
        self.state.room.wrapping_sub(self.rest.len())
    }

    /// The next `len` bytes of the buffer, to be written by the caller.
    ///
    /// # Errors
    ///
    /// [`Stop`] if the value is over [`Limits::bytes`].
    #[inline(always)]
    pub fn take(&mut self, len: usize) -> Result<&'a mut [u8], Stop> {
        let rest = mem::take(&mut self.rest);
        let (taken, rest) = if len <= rest.len() {
            rest.split_at_mut(len)
        } else {
            let chunk = grow(rest.len(), len, self.next.take(), self.state)?;
            self.next = Some(&mut chunk.next);
            chunk.bytes.split_at_mut_checked(len).ok_or(Stop(()))?
        };
        self.rest = rest;
        Ok(taken)
    }

    /// Writes these bytes.
    ///
    /// # Errors
    ///
    /// [`Stop`] if the value is over [`Limits::bytes`].
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        copy(self.take(bytes.len())?, bytes);
        Ok(())
    }

    /// Writes a value whole: its head, then its tail.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it refuses.
    #[inline(always)]
    pub fn value<T: Persist>(&mut self, value: &T) -> Result<(), Stop> {
        if Inline::<T>::IN_PLACE {
            value.__encode_head(self.take(T::__HEAD)?);
        }
        self.tail(value)
    }

    /// Writes what follows the head of a value, or all of one that is not encoded in place.
    #[inline(always)]
    pub(crate) fn tail<T: Persist>(&mut self, value: &T) -> Result<(), Stop> {
        if Inline::<T>::FIXED {
            Ok(())
        } else if Inline::<T>::IN_PLACE {
            value.__encode_tail(self)
        } else {
            value.persist_encode(self)
        }
    }

    /// Writes a count or a length whole.
    ///
    /// # Errors
    ///
    /// [`Stop`] if the value is over [`Limits::bytes`].
    pub fn count(&mut self, count: usize) -> Result<(), Stop> {
        count::encode(count as u64, self)
    }

    /// Leaves the reason why this value cannot be saved.
    ///
    /// Write `return Err(out.refuse(error))`.
    #[inline(always)]
    pub fn refuse(&mut self, error: Error) -> Stop {
        keep(self.state, error)
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
        let Some(next) = self.next.take() else { return Err(Stop(())) };
        let mut copy = Encoder {
            rest: &mut *whole,
            next: Some(&mut *next),
            links: &mut *self.links,
            state: &mut *self.state,
        };
        encode(&mut copy)?;
        let free = copy.free();
        let (window, next) = if next.is_none() { (whole, next) } else { last_window(whole, next) };
        let used = window.len().wrapping_sub(free);
        self.rest = window.split_at_mut_checked(used).ok_or(Stop(()))?.1;
        self.next = Some(next);
        Ok(())
    }

    /// Encodes what lies in a cell of this sort.
    #[inline(always)]
    pub(crate) fn in_cell<T: Persist>(
        &mut self,
        cell: Within,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if T::__LEAF { encode(self) } else { self.within(cell, encode) }
    }

    /// Encodes references that lie in a cell of this sort.
    pub(crate) fn within(
        &mut self,
        cell: Within,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let before = self.state.within;
        self.state.within = before.then(cell);
        let result = encode(self);
        self.state.within = before;
        result
    }

    /// The id of the object at an address; see [`SaveLinks::link`].
    #[inline]
    pub(crate) fn link(
        &mut self,
        address: usize,
        weak: bool,
        pointed: Pointed,
        target: &dyn Fn() -> Shared,
    ) -> Result<u64, Stop> {
        let reference = Pointing { weak, pointed, within: self.state.within };
        match self.links.link(address, reference, target) {
            Ok(id) => Ok(id),
            Err(error) => Err(self.refuse(error)),
        }
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
        let Some(depth) = self.state.depth.checked_sub(levels) else {
            return Err(too_deep(self.state));
        };
        self.state.depth = depth;
        let result = encode(self);
        self.state.depth += levels;
        result
    }

    /// Checks the length of a string that is not short.
    #[inline(always)]
    pub(crate) fn check_text(&mut self, len: usize) -> Result<(), Stop> {
        if len <= self.state.limits.text { Ok(()) } else { Err(too_long(self.state, len)) }
    }

    /// Counts elements that may have no bytes, which are limited in number.
    #[inline(always)]
    pub(crate) fn count_empty<T: Persist>(&mut self, count: usize) {
        if T::__MIN == 0 {
            self.add_empty(count.saturating_mul(super::list::weight::<T>()));
        }
        if let Some(bytes) = large::<T>(count) {
            self.state.large = self.state.large.saturating_add(bytes);
        }
    }

    /// Counts a value in a box, as a loader does.
    #[inline(always)]
    pub(crate) fn count_box<T: Persist>(&mut self) {
        if let Some(bytes) = large_box::<T>() {
            self.state.large = self.state.large.saturating_add(bytes);
        }
    }

    pub(crate) fn add_empty(&mut self, count: usize) {
        self.state.empty_elements = self.state.empty_elements.saturating_add(count);
    }

    /// Writes so many elements, and checks that a loader would believe their
    /// number: that they have at least as many bytes as their types say.
    #[inline(always)]
    pub(crate) fn filled<T: Persist>(
        &mut self,
        count: usize,
        elements: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let before = self.written();
        elements(self)?;
        if self.written() - before < count.saturating_mul(T::__MIN) {
            return Err(too_short(self.state, count));
        }
        Ok(())
    }

    /// The limits inside of a `T`, for a part that is encoded on its own.
    pub(crate) fn limits_inside<T>(&self) -> Limits {
        let depth = self.state.depth.saturating_sub(const { levels::<T>() });
        Limits { depth, ..self.state.limits }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.state.limits
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
fn keep(state: &mut EncodeState, error: Error) -> Stop {
    state.error.get_or_insert(error);
    Stop(())
}

/// The chunk behind a full window, with room for `len` bytes.
#[cold]
#[inline(never)]
fn grow<'a>(
    left: usize,
    len: usize,
    next: Option<&'a mut NextChunk>,
    state: &mut EncodeState,
) -> Result<&'a mut Chunk, Stop> {
    let Some(next) = next else { return Err(Stop(())) };
    let written = state.room - left;
    if written.saturating_add(len) as u64 > state.limits.bytes {
        return Err(too_large(state));
    }
    // As much again, so that a small value takes little and a large one few chunks. Together they are hardly more than
    // the value.
    let size = written.clamp(SMALLEST_CHUNK, LARGEST_CHUNK).max(len);
    state.room = written + size;
    Ok(next.insert(Box::new(Chunk { bytes: vec![0; size], left, next: None })))
}

const SMALLEST_CHUNK: usize = 256;
const LARGEST_CHUNK: usize = 1 << 20;

/// The window behind which nothing follows, and where a chunk behind it goes.
#[cold]
#[inline(never)]
fn last_window<'a>(
    mut window: &'a mut [u8],
    mut next: &'a mut NextChunk,
) -> (&'a mut [u8], &'a mut NextChunk) {
    while let Some(chunk) = next {
        (window, next) = (&mut chunk.bytes, &mut chunk.next);
    }
    (window, next)
}

#[cold]
#[inline(never)]
fn too_large(state: &mut EncodeState) -> Stop {
    let limit = state.limits.bytes;
    let message =
        format!("one value takes more than the limit of {limit} bytes; raise `Limits::bytes`");
    keep(state, Error::new(ErrorKind::TooLarge, message))
}

#[cold]
#[inline(never)]
fn too_deep(state: &mut EncodeState) -> Stop {
    let limit = state.limits.depth;
    keep(
        state,
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
fn too_long(state: &mut EncodeState, len: usize) -> Stop {
    let limit = state.limits.text;
    let message =
        format!("a string of {len} bytes is over the limit of {limit}; raise `Limits::text`");
    keep(state, Error::new(ErrorKind::TooLarge, message))
}

#[cold]
#[inline(never)]
fn too_short(state: &mut EncodeState, count: usize) -> Stop {
    let message = format!(
        "a collection of {count} elements that are stored in no bytes cannot be saved; store their number"
    );
    keep(state, Error::new(ErrorKind::Unsupported, message))
}
