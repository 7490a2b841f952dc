use std::mem;
use std::ops::Range;

use super::super::boxed::{is_bulky, unboxed};
use super::super::decoder::{Decoder, NoLinks};
use super::super::fail::Fail;
use super::super::persist::Persist;
use super::super::row::cut_mut;
use super::super::{MAX_WINDOWS, PIECE, RemainingWindows, SMALLEST, Window};
use super::{EncodeState, Encoder, SaveLinks, Stop};
use crate::env::Env;
use crate::{Error, ErrorKind, Result};

/// Windows of this many bytes or more are moved out of their buffer instead of being copied.
const LONG: usize = 64 << 10;

/// Bytes are appended to no more windows than these. The others are enough for any value.
const MAX_EXTENDED: usize = MAX_WINDOWS - 40;

/// A reusable buffer that values are encoded into, one at a time.
///
/// The buffer stays initialised at its full size, so that a warm encode neither allocates nor clears anything. A value
/// that does not fit continues in further windows, so that no value is encoded twice.
///
/// # Example
///
/// ```
/// use persist::codec::{self, Buffer};
///
/// let mut buffer = Buffer::new();
/// assert_eq!(buffer.encode(&(1_i32, 16_u8))?, [0x01, 0, 0, 0, 0x10]);
/// assert_eq!(buffer.encode(&"hi".to_string())?, [2, b'h', b'i']);
/// assert_eq!(codec::decode::<String>(&[2, b'h', b'i'])?, "hi");
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Buffer {
    first: Vec<u8>,
    /// The windows after the first one, reused for the next value. Empty until one is needed.
    table: Vec<Window>,
    /// Number of windows of `table` that hold bytes.
    used: usize,
    len: usize,
}

impl Buffer {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Encodes `value` and returns its bytes, which are valid until the next call.
    ///
    /// # Errors
    ///
    /// Returns an error if the value refuses: a string or nesting exceeds the default [`Limits`](crate::Limits), or it
    /// holds a shared pointer. Only a whole save has object ids.
    pub fn encode<T: Persist>(&mut self, value: &T) -> Result<&[u8]> {
        self.encode_with(&Env::DEFAULT, &mut NoLinks::default(), |out| out.value(value))
    }

    /// Returns the bytes that `write` writes, valid until the next call.
    pub(crate) fn encode_with(
        &mut self,
        env: &Env<'_>,
        links: &mut dyn SaveLinks,
        write: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<&[u8]> {
        self.clear();
        self.append(env, links, write)?;
        Ok(self.gather())
    }

    /// Appends the bytes that `write` writes.
    pub(crate) fn append(
        &mut self,
        env: &Env<'_>,
        links: &mut dyn SaveLinks,
        write: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<()> {
        let start = self.len;
        let (window, next) = self.window();
        let state = EncodeState::new(start, next, env, links);
        let mut out = Encoder::new(window, &state);
        let result = write(&mut out);
        let (end, left) = out.finish(result)?;
        self.len = end;
        self.used = left.map_or(0, |left| self.table.len() - left);
        Ok(())
    }

    /// Appends bytes to memory that is not cleared first, and that grows with them. For memory outside of the cache,
    /// clearing takes as long as writing.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        if self.used >= MAX_EXTENDED {
            self.gather();
        }
        self.table.resize_with(MAX_WINDOWS, Window::default);
        let last = self.used.checked_sub(1).filter(|last| self.table[*last].grows);
        let at = last.unwrap_or_else(|| {
            let Window { bytes, start, room, expected, grows } = &mut self.table[self.used];
            (*start, *grows) = (self.len, true);
            *room = if self.len <= LONG { self.len } else { 0 };
            bytes.clear();
            bytes.reserve_exact(*expected);
            bytes.resize(*room, 0);
            self.used += 1;
            self.used - 1
        });
        let window = &mut self.table[at];
        window.bytes.truncate(window.room + self.len - window.start);
        window.bytes.extend_from_slice(bytes);
        self.len += bytes.len();
        // The bytes after them are mostly few: the end of a record, and the next one.
        window.bytes.resize(window.bytes.len() + PIECE, 0);
    }

    /// Returns the free rest of the last window, and the windows after it.
    #[inline]
    fn window(&mut self) -> (&mut [u8], RemainingWindows<'_>) {
        if self.first.is_empty() {
            self.first = Self::with_size(0).first;
        }
        let Some(last) = self.used.checked_sub(1) else {
            return (&mut self.first[self.len..], RemainingWindows::All(&mut self.table));
        };
        let (used, rest) = self.table.split_at_mut(self.used);
        let Window { bytes, start, room, .. } = &mut used[last];
        (&mut bytes[*room + self.len - *start..], RemainingWindows::Rest(rest))
    }

    /// Returns the number of bytes written since the last [`clear`](Self::clear).
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn clear(&mut self) {
        (self.len, self.used) = (0, 0);
    }

    /// Iterates over a range of the written bytes, window by window. No piece is empty.
    pub(crate) fn pieces(&self, part: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let used = &self.table[..self.used];
        let windows = std::iter::once((&self.first, 0, 0));
        let windows = windows.chain(used.iter().map(|it| (&it.bytes, it.start, it.room)));
        let ends = used.iter().map(|window| window.start).chain([self.len]);
        windows.zip(ends).filter_map(move |((bytes, start, room), end)| {
            let from = part.start.max(start);
            let len = part.end.min(end).checked_sub(from).filter(|len| *len > 0)?;
            bytes.get(room + from - start..)?.get(..len)
        })
    }

    /// Gathers the written bytes in the first window, which gets room for a somewhat larger value.
    pub(crate) fn gather(&mut self) -> &[u8] {
        if self.used > 0 {
            self.gather_windows();
        }
        self.bytes()
    }

    #[cold]
    fn gather_windows(&mut self) {
        let mut whole = vec![0; self.len + self.len / 2];
        let mut rest = &mut whole[..];
        for piece in self.pieces(0..self.len) {
            cut_mut(&mut rest, piece.len()).copy_from_slice(piece);
        }
        (self.first, self.table, self.used) = (whole, Vec::new(), 0);
    }

    /// Returns the written bytes if they lie in the first window: after [`gather`](Self::gather), or if no other window
    /// was needed.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.first.get(..self.len).unwrap_or_default()
    }

    /// Moves the written bytes out of the buffer if a window of its own holds most of them. The other bytes are copied
    /// to it. Also returns how many bytes were copied.
    pub(crate) fn take_run(&mut self) -> Option<(Vec<u8>, usize)> {
        let used = &mut self.table[..self.used];
        let is_run = |window: &Window| {
            window.room == window.start && window.bytes.len() - window.room >= LONG
        };
        let place = used.iter().rposition(is_run)?;
        let end = used.get(place + 1).map_or(self.len, |next| next.start);
        let start = used[place].start;
        let mut whole = mem::take(&mut used[place].bytes);
        whole.truncate(end);
        let mut front = &mut whole[..start];
        for piece in self.pieces(0..start) {
            cut_mut(&mut front, piece.len()).copy_from_slice(piece);
        }
        self.pieces(end..self.len).for_each(|piece| whole.extend_from_slice(piece));
        let rest = self.len - (end - start);
        self.table[place].expected = whole.len() + SMALLEST;
        self.clear();
        Some((whole, rest))
    }

    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        if let Some((whole, _)) = self.take_run() {
            return whole;
        }
        if self.used > 0 {
            return self.pieces(0..self.len).collect::<Vec<_>>().concat();
        }
        self.first.truncate(self.len);
        self.first
    }

    pub(crate) fn with_size(size: usize) -> Self {
        Self { first: vec![0; size.max(SMALLEST)], ..Self::default() }
    }

    /// Returns the memory of all windows, in bytes.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn size(&self) -> usize {
        self.first.len() + self.table.iter().map(|window| window.bytes.len()).sum::<usize>()
    }

    /// Returns `len` bytes that were written as one run at `at`.
    pub(crate) fn part_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        let window = self.table[..self.used].iter_mut().rev().find(|window| window.start <= at);
        let (bytes, from) = match window {
            Some(window) => (&mut window.bytes, window.room + at - window.start),
            None => (&mut self.first, at),
        };
        &mut bytes[from..][..len]
    }

    /// Inserts bytes between the written ones.
    pub(crate) fn insert(&mut self, at: usize, bytes: &[u8]) {
        // Only the bytes of the first window move; the other windows just start later.
        if self.table[..self.used].first().is_some_and(|window| window.start < at) {
            self.gather();
        }
        let windows = &mut self.table[..self.used];
        let first_len = windows.first().map_or(self.len, |window| window.start);
        let end = first_len + bytes.len();
        if self.first.len() < end {
            self.first.resize(end + end / 4, 0);
        }
        self.first.copy_within(at..first_len, at + bytes.len());
        self.first[at..][..bytes.len()].copy_from_slice(bytes);
        windows.iter_mut().for_each(|window| window.start += bytes.len());
        self.len += bytes.len();
    }
}

/// Decodes a value from `bytes`. The value must use up all of them.
///
/// # Errors
///
/// Returns an error if the bytes are not such a value: [`ErrorKind::InvalidValue`], [`ErrorKind::Truncated`] or a
/// related kind. The offset in the error is approximate.
pub fn decode<T: Persist>(bytes: &[u8]) -> Result<T> {
    if const { is_bulky::<T>() } {
        return unboxed(whole(bytes, |input| input.boxed()));
    }
    whole(bytes, |input| input.value())
}

/// Decodes a value from `bytes` into an existing one, which keeps its allocations. The value must use up all of them.
///
/// # Errors
///
/// Returns the same errors as [`decode`]. After an error, `target` is a valid mixture of old and new.
pub fn decode_into<T: Persist>(target: &mut T, bytes: &[u8]) -> Result<()> {
    whole(bytes, |input| input.value_into(target))
}

fn whole<T>(bytes: &[u8], read: impl FnOnce(&mut Decoder<'_>) -> Result<T, Fail>) -> Result<T> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(bytes, &Env::DEFAULT, &mut links);
    let result = read(&mut input);
    let offset = (bytes.len() - input.rest().len()) as u64;
    match result {
        Ok(value) if input.rest().is_empty() => Ok(value),
        Ok(_) => Err(left_over(input.rest().len()).at(offset)),
        Err(fail) => Err(input.take_error().unwrap_or_else(|| fail.into()).at(offset)),
    }
}

/// Returns the error of a value that ends before its bytes do.
#[cold]
pub(crate) fn left_over(bytes: usize) -> Error {
    let noun = if bytes == 1 { "byte is" } else { "bytes are" };
    error!(ErrorKind::Damaged, "{bytes} {noun} left after the value")
}
