mod buffer;

pub(crate) use self::buffer::left_over;
pub use self::buffer::{Buffer, decode, decode_into};

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::sync::Arc;
use std::{fmt, mem};

use super::fail::Fail;
use super::links::{Link, Referent, Within};
#[cfg(feature = "world")]
use super::pages::PagedObjects;
use super::text::copy;
use super::{ByteRun, RemainingWindows, large, large_box, levels, weight};
use crate::env::Env;
use crate::reflect::TraitName;
use crate::{Error, ErrorKind, Limits, Result};

/// Assigns ids to the shared objects that an encode visits, and numbers to classes.
pub(crate) trait SaveLinks {
    /// Returns the id of the object at `address`, which is `target`. A weak pointer reserves an id but does not make
    /// its target part of the save.
    fn link(&mut self, address: usize, link: Link, target: &dyn Referent) -> Result<u64>;

    /// Returns the number of the class of type `class`, which is registered for trait `of`. The `name` is for an error.
    fn class(&mut self, class: TypeId, of: TraitName, name: &dyn Fn() -> String) -> Result<u64>;

    /// Returns the number of a class of the save that an unknown value comes from; `schema` is the schema of that save.
    fn unknown_class(&mut self, schema: &Arc<dyn Any + Send + Sync>, index: usize) -> Result<u64>;

    /// True if keys are encoded only to be sorted. Unknown content then writes the bytes by which it is compared,
    /// because class numbers depend on the order in which classes are visited.
    fn orders_keys(&mut self) -> bool {
        false
    }

    /// Returns what the visit before the record has found for the value at an address. The objects of a small value are
    /// encoded for the top of a record alone, where the limit of nesting is far.
    #[cfg(feature = "world")]
    fn take_pages(&mut self, address: usize, is_at_top: bool) -> Option<PagedObjects> {
        let _ = (address, is_at_top);
        None
    }

    /// Counts elements without bytes, within [`Limits::empty_elements`]. Also counts the memory of elements that are
    /// large for the fewest bytes they can take, within [`Limits::expansion`]; the bare codec does not count memory.
    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()>;
}

/// Signals that an encode stopped. [`Encoder::refuse`] takes the reason, and is the only way to create one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(());

/// Writes values into a buffer.
///
/// The encoder writes to a window of the buffer, and a write that does not fit continues in the next window. Bytes
/// already written stay where they are, so that no value is encoded twice.
pub struct Encoder<'a> {
    rest: &'a mut [u8],
    state: &'a EncodeState<'a>,
}

/// State of an encode beside its cursor. It is shared by reference, so that the cursor is cheap to copy.
struct EncodeState<'a> {
    /// `None` while a call to them runs.
    links: Cell<Option<&'a mut dyn SaveLinks>>,
    next: Cell<RemainingWindows<'a>>,
    env: &'a Env<'a>,
    depth: Cell<u32>,
    within: Cell<Within>,
    empty_elements: Cell<usize>,
    large: Cell<u64>,
    /// Position of the value's first byte, and of the window's end, both counted from the first byte of the buffer.
    start: usize,
    end: Cell<usize>,
    error: Cell<Option<Error>>,
}

impl<'a> EncodeState<'a> {
    fn new(
        start: usize,
        next: RemainingWindows<'a>,
        env: &'a Env<'a>,
        links: &'a mut dyn SaveLinks,
    ) -> Self {
        Self {
            links: Cell::new(Some(links)),
            next: Cell::new(next),
            env,
            depth: Cell::new(env.limits.depth),
            within: Cell::default(),
            empty_elements: Cell::default(),
            large: Cell::default(),
            start,
            end: Cell::new(start),
            error: Cell::default(),
        }
    }

    fn ask<R>(&self, ask: impl FnOnce(&mut dyn SaveLinks) -> Result<R, Error>) -> Result<R, Error> {
        let Some(links) = self.links.take() else { return Err(Fail::Refused.into()) };
        let result = ask(links);
        self.links.set(Some(links));
        result
    }
}

impl<'a> Encoder<'a> {
    fn new(window: &'a mut [u8], state: &'a EncodeState<'a>) -> Self {
        state.end.set(state.start + window.len());
        Self { rest: window, state }
    }

    /// Returns the position where the encode ended, and how many windows it did not use.
    #[inline]
    fn finish(self, result: Result<(), Stop>) -> Result<(usize, Option<usize>), Error> {
        let state = self.state;
        // Checked first, since a type with a hand-written impl may not have passed its `Stop` on.
        if let Some(error) = state.error.take() {
            return Err(error);
        }
        result.map_err(|_| Error::from(Fail::Refused))?;
        let end = self.position();
        // A window that is left from a larger value takes an oversized value without `grow`, which checks the limit.
        if (end - state.start) as u64 > state.env.limits.bytes {
            return Err(too_large(&state.env.limits));
        }
        let (empty, large) = (state.empty_elements.get(), state.large.get());
        if empty > 0 || large > 0 {
            state.ask(|links| links.charge(empty, large, &state.env.limits))?;
        }
        Ok((end, state.next.take().len()))
    }

    /// Returns how many bytes of the buffer lie before the cursor.
    pub(crate) fn position(&self) -> usize {
        // This never goes below zero. A checked subtraction would cost a branch in each loop over elements.
        self.state.end.get().wrapping_sub(self.rest.len())
    }

    /// Returns the next `len` bytes of the buffer, to be written by the caller.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the value exceeds [`Limits::bytes`].
    #[inline(always)]
    pub fn take(&mut self, len: usize) -> Result<&'a mut [u8], Stop> {
        let mut rest = mem::take(&mut self.rest);
        if len > rest.len() {
            rest = grow(rest.len(), len, None, self.state).unwrap_or_default();
        }
        let (taken, rest) = rest.split_at_mut_checked(len).ok_or(Stop(()))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Returns the next `N` bytes, if the window has them, without moving the cursor. Bytes that are written to them
    /// stay there when they are [taken](Self::take).
    #[inline(always)]
    pub(crate) fn ahead<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        self.rest.first_chunk_mut()
    }

    /// Like [`ahead`](Self::ahead), for a number of bytes that is known at run time.
    #[cfg(feature = "world")]
    #[inline(always)]
    pub(crate) fn ahead_of(&mut self, len: usize) -> Option<&mut [u8]> {
        self.rest.get_mut(..len)
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the value exceeds [`Limits::bytes`].
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let rest = mem::take(&mut self.rest);
        if bytes.len() > rest.len() {
            return self.run(rest.len(), &ByteRun::Bytes(bytes));
        }
        let (taken, rest) = rest.split_at_mut(bytes.len());
        copy(taken, bytes);
        self.rest = rest;
        Ok(())
    }

    /// Writes `len` bytes of rows that have `row` bytes each. The function gets whole rows and their offset.
    #[inline(always)]
    pub(super) fn rows(
        &mut self,
        len: usize,
        row: usize,
        write: impl Fn(usize, &mut [u8]),
    ) -> Result<(), Stop> {
        let rest = mem::take(&mut self.rest);
        if len > rest.len() {
            return self.run(rest.len(), &ByteRun::Rows { len, row, write: &write });
        }
        let (taken, rest) = rest.split_at_mut(len);
        write(0, taken);
        self.rest = rest;
        Ok(())
    }

    /// Writes a run that does not fit the rest of the window.
    #[inline(always)]
    fn run(&mut self, left: usize, run: &ByteRun<'_>) -> Result<(), Stop> {
        self.rest = grow(left, run.len(), Some(run), self.state).ok_or(Stop(()))?;
        Ok(())
    }

    /// Returns what the visit before the record has found for the value at an address.
    #[cfg(feature = "world")]
    pub(crate) fn take_pages(&mut self, address: usize) -> Result<Option<PagedObjects>, Stop> {
        let is_at_top = self.state.depth.get() == self.state.env.limits.depth;
        self.ask(|links| Ok(links.take_pages(address, is_at_top)))
    }

    /// Records the reason why this value cannot be saved.
    ///
    /// Use it as `return Err(out.refuse(error))`.
    #[inline(always)]
    pub fn refuse(&mut self, error: Error) -> Stop {
        keep(self.state, error)
    }

    /// Returns the context of the save: a value of the program's own, such as the running game's table of items.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the save has no context, or one of another type. The error of the save then says so.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use persist::codec::{Decoder, Encoder, Fail, Prototypes, Stop};
    /// use persist::reflect::Kind;
    /// use persist::{Error, ErrorKind, Persist, Saves};
    ///
    /// /// The items of the running game.
    /// struct Items { names: Vec<String> }
    ///
    /// /// An item by its index; a save has its name.
    /// #[derive(Debug, PartialEq)]
    /// struct Item(usize);
    ///
    /// impl Persist for Item {
    ///     fn persist_kind() -> Kind {
    ///         Kind::Text
    ///     }
    ///
    ///     fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
    ///         Ok(Self(0))
    ///     }
    ///
    ///     fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
    ///         let items = out.context::<Items>()?;
    ///         out.value(&items.names[self.0])
    ///     }
    ///
    ///     fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
    ///         let items = input.context::<Items>()?;
    ///         let name: String = input.value()?;
    ///         let item = items.names.iter().position(|known| *known == name);
    ///         item.map(Self).ok_or_else(|| {
    ///             input.refuse(Error::new(ErrorKind::InvalidValue, format!("there is no item `{name}`")))
    ///         })
    ///     }
    /// }
    ///
    /// let items = Items { names: vec!["rope".into(), "lamp".into()] };
    /// let save = Saves::new().context(Arc::new(items)).to_vec(&Item(1))?;
    ///
    /// // In the next run the lamp comes first.
    /// let items = Items { names: vec!["lamp".into(), "rope".into()] };
    /// let loaded = Saves::new().context(Arc::new(items)).from_slice::<Item>(&save)?;
    /// assert_eq!(*loaded, Item(0));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn context<C: Any>(&mut self) -> Result<&'a C, Stop> {
        self.state.env.context().map_err(|error| keep(self.state, error))
    }

    /// Reports that a class has no field of some index, or the field no default.
    #[doc(hidden)]
    #[cold]
    pub fn no_field(&mut self) -> Stop {
        self.refuse(error!(
            ErrorKind::NotFound,
            "the class has no field of this index, or the field no default"
        ))
    }

    /// Encodes with a copy of the cursor. Code that is not inlined then takes the address of the copy, and the cursor
    /// itself stays in registers.
    #[inline(always)]
    pub(crate) fn fork(
        &mut self,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        // After a `Stop` the encoder has no window left, so nothing is written even if a hand-written type does not
        // pass the `Stop` on.
        let mut copy = Self { rest: mem::take(&mut self.rest), state: self.state };
        encode(&mut copy)?;
        self.rest = copy.rest;
        Ok(())
    }

    /// Encodes references inside of a cell of this sort.
    pub(crate) fn within(
        &mut self,
        cell: Within,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let outer = self.state.within.get();
        self.state.within.set(outer.then(cell));
        let result = encode(self);
        self.state.within.set(outer);
        result
    }

    /// Returns the id of the object at an address; see [`SaveLinks::link`].
    #[inline]
    pub(crate) fn link(
        &mut self,
        address: usize,
        weak: bool,
        typed: bool,
        target: &dyn Referent,
    ) -> Result<u64, Stop> {
        let link = Link { weak, typed, within: self.state.within.get() };
        self.ask(|links| links.link(address, link, target))
    }

    /// Calls the links, which assign ids to shared objects.
    pub(crate) fn ask<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn SaveLinks) -> Result<R, Error>,
    ) -> Result<R, Stop> {
        self.state.ask(ask).map_err(|error| self.refuse(error))
    }

    /// Encodes one level of nesting further in, within [`Limits::depth`].
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] beyond the limit, and any `Stop` of `encode`.
    #[inline(always)]
    pub fn nested(
        &mut self,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.nested_in::<()>(encode)
    }

    /// Encodes inside of a `T`: one level of nesting, and one more for every 2 KiB of it, which a load has on its
    /// stack.
    #[inline(always)]
    pub(crate) fn nested_in<T>(
        &mut self,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.deeper(const { levels(size_of::<T>()) }, encode)
    }

    /// Encodes that many levels of nesting further in.
    #[inline(always)]
    pub(super) fn deeper(
        &mut self,
        levels: u32,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Some(depth) = self.state.depth.get().checked_sub(levels) else {
            return Err(depth_exceeded(self.state));
        };
        self.state.depth.set(depth);
        let result = encode(self);
        self.state.depth.set(depth + levels);
        result
    }

    /// Checks the length of a long string against [`Limits::text`].
    #[inline(always)]
    pub(crate) fn check_text(&mut self, len: usize) -> Result<(), Stop> {
        if len <= self.state.env.limits.text { Ok(()) } else { Err(too_long(self.state, len)) }
    }

    /// Counts a value in a box that takes at least `min` bytes.
    #[inline(always)]
    pub(crate) fn count_box<T>(&mut self, min: usize) {
        if let Some(bytes) = large_box::<T>(min) {
            self.add_large(bytes);
        }
    }

    pub(crate) fn add_empty(&mut self, count: usize) {
        let empty = &self.state.empty_elements;
        empty.set(empty.get().saturating_add(count));
    }

    fn add_large(&mut self, bytes: u64) {
        let large = &self.state.large;
        large.set(large.get().saturating_add(bytes));
    }

    /// Counts and writes elements, and checks that they take at least `min` bytes each. A load would refuse their
    /// number otherwise.
    #[inline(always)]
    pub(super) fn filled<T>(
        &mut self,
        count: usize,
        min: usize,
        leaf: bool,
        elements: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if min == 0 {
            self.add_empty(count.saturating_mul(weight::<T>()));
        }
        if let Some(bytes) = large::<T>(count, min) {
            self.add_large(bytes);
        }
        if leaf {
            return elements(self);
        }
        let start = self.position();
        self.nested_in::<T>(elements)?;
        if self.position() - start < count.saturating_mul(min) {
            return Err(too_short(self.state, count));
        }
        Ok(())
    }

    /// Returns the limits inside of a `T` and the context, for a part that is encoded on its own.
    pub(crate) fn env_inside<T>(&self) -> Env<'a> {
        let depth = self.state.depth.get().saturating_sub(const { levels(size_of::<T>()) });
        self.state.env.within(Limits { depth, ..self.state.env.limits })
    }

    /// True if the encode only lists references, and its bytes are dropped.
    #[inline(always)]
    pub(crate) fn only_lists(&self) -> bool {
        self.state.env.only_lists
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.state.env.limits
    }
}

// The cold paths get the parts that they need, never the encoder: a cursor whose address is taken lives in memory
// instead of registers.

#[cold]
#[inline(never)]
fn keep(state: &EncodeState<'_>, error: Error) -> Stop {
    // The first error counts, since later ones may follow from it.
    let first = state.error.take();
    state.error.set(first.or(Some(error)));
    Stop(())
}

/// Returns the window after a full one. `left` bytes of the full one stay free, since the `len` bytes that are taken
/// must lie together. The returned window begins after the run, which is written first. Returns `None` if the value is
/// refused.
#[cold]
#[inline(never)]
fn grow<'a>(
    left: usize,
    len: usize,
    run: Option<&ByteRun<'_>>,
    state: &EncodeState<'a>,
) -> Option<&'a mut [u8]> {
    let start = state.end.get() - left;
    let total = (start - state.start).saturating_add(len) as u64;
    // After a `Stop` no window is left, even if a hand-written type does not pass the `Stop` on.
    let next = state.next.take();
    let window = if total > state.env.limits.bytes { None } else { next.window(start, len, run) };
    let Some((window, next)) = window else {
        keep(state, too_large(&state.env.limits));
        return None;
    };
    state.next.set(next);
    state.end.set(start + window.len());
    window.get_mut(run.map_or(0, ByteRun::len)..)
}

#[cold]
fn too_large(limits: &Limits) -> Error {
    let limit = limits.bytes;
    error!(
        ErrorKind::TooLarge,
        "one value takes more than the limit of {limit} bytes; raise `Limits::bytes`"
    )
}

#[cold]
#[inline(never)]
fn depth_exceeded(state: &EncodeState<'_>) -> Stop {
    let limit = state.env.limits.depth;
    keep(
        state,
        error!(
            ErrorKind::TooDeep,
            "the value is nested more than {limit} levels deep; raise `Limits::depth` by `Saves::limits`, or keep the parts as objects behind `Rc<RefCell<_>>`"
        ),
    )
}

#[cold]
#[inline(never)]
fn too_long(state: &EncodeState<'_>, len: usize) -> Stop {
    let limit = state.env.limits.text;
    let message =
        format!("a string of {len} bytes is over the limit of {limit}; raise `Limits::text`");
    keep(state, Error::new(ErrorKind::TooLarge, message))
}

#[cold]
#[inline(never)]
fn too_short(state: &EncodeState<'_>, count: usize) -> Stop {
    let message = format!(
        "a collection of {count} elements that are stored in no bytes cannot be saved; store their number"
    );
    keep(state, Error::new(ErrorKind::Unsupported, message))
}

impl fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("position", &self.position()).finish_non_exhaustive()
    }
}
