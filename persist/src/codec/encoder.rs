use std::any::{Any, TypeId};
use std::cell::Cell;
use std::fmt;
use std::mem;
use std::sync::Arc;

use super::fail::Fail;
use super::links::{Link, Referent, Within};
use super::text::copy;
use super::weight::{large, large_box, levels, weight};
use super::windows::{ByteRun, RemainingWindows};
use crate::env::Env;
use crate::reflect::TraitName;
use crate::{Error, ErrorKind, Limits, Result};

/// Gives ids to the shared objects that an encode meets, and numbers to classes.
pub(crate) trait SaveLinks {
    /// The id of the object at `address`, which is `target`. A weak pointer reserves an id but does not make its
    /// target part of the save.
    fn link(&mut self, address: usize, link: Link, target: &dyn Referent) -> Result<u64>;

    /// The number of the class of type `class`, which is registered for trait `of`; its
    /// `name` is for an error.
    fn class(&mut self, class: TypeId, of: TraitName, name: &dyn Fn() -> String) -> Result<u64>;

    /// The number of a class of the save that an unknown value comes from; `schema`
    /// is that save's.
    fn foreign_class(&mut self, schema: &Arc<dyn Any + Send + Sync>, index: usize) -> Result<u64>;

    /// True if keys are written to be put in order: what is kept then has the bytes by which it is compared, since the
    /// numbers of classes depend on the order in which they are met.
    fn orders_keys(&mut self) -> bool {
        false
    }

    /// Bytes of definitions that will be put before the value that is encoded.
    fn ahead(&self) -> usize {
        0
    }

    /// Counts elements without bytes, within [`Limits::empty_elements`], and the memory of elements that are large for
    /// the fewest bytes that they can take, within [`Limits::expansion`]; the bare codec does not count the latter.
    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()>;
}

/// Stops an encode. [`Encoder::refuse`] has the reason, and is the only way to make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(());

/// The place that values are written to: a window of a buffer.
///
/// A write that does not fit continues in the next window. What was written stays where it is, so that no value is
/// encoded twice.
pub struct Encoder<'a> {
    rest: &'a mut [u8],
    state: &'a EncodeState<'a>,
}

/// What an encode knows beside its cursor. It stands apart and is shared, so that the cursor is quickly copied.
pub(super) struct EncodeState<'a> {
    /// `None` while they are asked.
    links: Cell<Option<&'a mut dyn SaveLinks>>,
    next: Cell<RemainingWindows<'a>>,
    env: &'a Env<'a>,
    depth: Cell<u32>,
    within: Cell<Within>,
    empty_elements: Cell<usize>,
    large: Cell<u64>,
    /// Where the value begins, and where the window ends, both counted from the first byte of the buffer.
    start: usize,
    end: Cell<usize>,
    error: Cell<Option<Error>>,
}

impl<'a> EncodeState<'a> {
    pub(super) fn new(
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
    pub(super) fn new(window: &'a mut [u8], state: &'a EncodeState<'a>) -> Self {
        state.end.set(state.start + window.len());
        Self { rest: window, state }
    }

    /// Returns where the encode ended, and how many windows it did not reach.
    #[inline]
    pub(super) fn finish(self, result: Result<(), Stop>) -> Result<(usize, Option<usize>), Error> {
        let state = self.state;
        // Asked first: a type written by hand may not have passed its `Stop` on.
        if let Some(error) = state.error.take() {
            return Err(error);
        }
        result.map_err(|_| Error::from(Fail::Refused))?;
        let end = self.position();
        // A window that is there from a larger value takes it without growing.
        if (end - state.start) as u64 > state.env.limits.bytes {
            return Err(too_large(&state.env.limits));
        }
        let (empty, large) = (state.empty_elements.get(), state.large.get());
        if empty > 0 || large > 0 {
            state.ask(|links| links.charge(empty, large, &state.env.limits))?;
        }
        Ok((end, state.next.take().len()))
    }

    /// Bytes of the buffer that are before the cursor.
    pub(crate) fn position(&self) -> usize {
        // Never below zero; a check would be one in each loop over elements.
        self.state.end.get().wrapping_sub(self.rest.len())
    }

    /// The next `len` bytes of the buffer, to be written by the caller.
    ///
    /// # Errors
    ///
    /// [`Stop`] if the value is over [`Limits::bytes`].
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

    /// The next `N` bytes, if the window has them: what is written to them stays when they are [taken](Self::take).
    #[inline(always)]
    pub(crate) fn ahead<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        self.rest.first_chunk_mut()
    }

    /// Like [`ahead`](Self::ahead), for a number of bytes that is known later.
    #[inline(always)]
    pub(crate) fn ahead_of(&mut self, len: usize) -> Option<&mut [u8]> {
        self.rest.get_mut(..len)
    }

    /// Writes these bytes.
    ///
    /// # Errors
    ///
    /// [`Stop`] if the value is over [`Limits::bytes`].
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

    /// Writes rows of that many bytes each by a function, which gets whole rows and their offset.
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

    /// Writes a run that does not fit what is left of the window.
    #[inline(always)]
    fn run(&mut self, left: usize, run: &ByteRun<'_>) -> Result<(), Stop> {
        self.rest = grow(left, run.len(), Some(run), self.state).ok_or(Stop(()))?;
        Ok(())
    }

    /// Has parts of the value appended to a window.
    pub(super) fn append(
        &mut self,
        parts: usize,
        mut append: impl FnMut(usize, &Env<'_>, &mut dyn SaveLinks, &mut Vec<u8>) -> Result<()>,
    ) -> Result<(), Stop> {
        let state = self.state;
        let start = self.position();
        let ahead = self.ask(|links| Ok(links.ahead()))?;
        self.rest = &mut [];
        let append = |to: &mut Vec<u8>, room: usize| {
            (0..parts).try_for_each(|part| {
                state.ask(|links| append(part, state.env, links, to))?;
                let len = start - state.start + to.len() - room;
                if len as u64 > state.env.limits.bytes {
                    return Err(too_large(&state.env.limits));
                }
                Ok(())
            })
        };
        let window = state.next.take().appended(start, ahead, append);
        let (len, window, next) = window.map_err(|error| keep(state, error))?.ok_or(Stop(()))?;
        state.next.set(next);
        state.end.set(start + len + window.len());
        self.rest = window;
        Ok(())
    }

    /// How deep in the value and in which cell this is.
    pub(super) fn level(&self) -> (u32, Within) {
        (self.state.depth.get(), self.state.within.get())
    }

    /// Encodes what is on a level of another encode.
    pub(super) fn enter(&mut self, (depth, within): (u32, Within)) {
        self.state.depth.set(depth);
        self.state.within.set(within);
    }

    /// Leaves the reason why this value cannot be saved.
    ///
    /// Write `return Err(out.refuse(error))`.
    #[inline(always)]
    pub fn refuse(&mut self, error: Error) -> Stop {
        keep(self.state, error)
    }

    /// The context of the save: a value of the program's own, such as the running game's table of items.
    ///
    /// # Errors
    ///
    /// [`Stop`] if the save has none, or one of another type; the error then says so.
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

    /// Says that a class has no field, or no default of a field, of some index.
    #[doc(hidden)]
    #[cold]
    pub fn no_field(&mut self) -> Stop {
        self.refuse(error!(
            ErrorKind::NotFound,
            "the class has no field of this index, or the field no default"
        ))
    }

    /// Encodes with a copy of the cursor. Code that is not inlined here then takes the address of the copy, and this
    /// cursor stays in registers.
    #[inline(always)]
    pub(crate) fn apart(
        &mut self,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        // After a `Stop` nothing is left to write to, even if a hand-written type does not pass it on.
        let mut copy = Self { rest: mem::take(&mut self.rest), state: self.state };
        encode(&mut copy)?;
        self.rest = copy.rest;
        Ok(())
    }

    /// Encodes references that lie in a cell of this sort.
    pub(crate) fn within(
        &mut self,
        cell: Within,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let before = self.state.within.get();
        self.state.within.set(before.then(cell));
        let result = encode(self);
        self.state.within.set(before);
        result
    }

    /// The id of the object at an address; see [`SaveLinks::link`].
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

    /// Asks who gives shared objects their ids.
    pub(crate) fn ask<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn SaveLinks) -> Result<R, Error>,
    ) -> Result<R, Stop> {
        self.state.ask(ask).map_err(|error| self.refuse(error))
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
        self.deeper(const { levels(size_of::<T>()) }, encode)
    }

    /// Encodes that many levels further in.
    #[inline(always)]
    pub(super) fn deeper(
        &mut self,
        levels: u32,
        encode: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Some(depth) = self.state.depth.get().checked_sub(levels) else {
            return Err(too_deep(self.state));
        };
        self.state.depth.set(depth);
        let result = encode(self);
        self.state.depth.set(depth + levels);
        result
    }

    /// Checks the length of a string that is not short.
    #[inline(always)]
    pub(crate) fn check_text(&mut self, len: usize) -> Result<(), Stop> {
        if len <= self.state.env.limits.text { Ok(()) } else { Err(too_long(self.state, len)) }
    }

    /// Counts elements that take `least` bytes or more.
    #[inline(always)]
    pub(crate) fn count_elements<T>(&mut self, count: usize, least: usize) {
        if least == 0 {
            self.add_empty(count.saturating_mul(weight::<T>()));
        }
        if let Some(bytes) = large::<T>(count, least) {
            self.add_large(bytes);
        }
    }

    /// Counts a value in a box that takes `least` bytes or more.
    #[inline(always)]
    pub(crate) fn count_box<T>(&mut self, least: usize) {
        if let Some(bytes) = large_box::<T>(least) {
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

    /// Writes that many elements, and checks that each has `least` bytes, or a loader would not accept their number.
    #[inline(always)]
    pub(crate) fn filled(
        &mut self,
        count: usize,
        least: usize,
        elements: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let before = self.position();
        elements(self)?;
        if self.position() - before < count.saturating_mul(least) {
            return Err(too_short(self.state, count));
        }
        Ok(())
    }

    /// The limits inside of a `T`, and the context, for a part that is encoded on its own.
    pub(crate) fn env_inside<T>(&self) -> Env<'a> {
        let depth = self.state.depth.get().saturating_sub(const { levels(size_of::<T>()) });
        self.state.env.within(Limits { depth, ..self.state.env.limits })
    }

    /// True if references are only listed.
    #[inline(always)]
    pub(crate) fn only_lists(&self) -> bool {
        self.state.env.only_lists
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.state.env.limits
    }
}

// The cold paths get the parts that they need, never the encoder: a cursor
// whose address is taken lives in memory instead of registers.

#[cold]
#[inline(never)]
fn keep(state: &EncodeState<'_>, error: Error) -> Stop {
    // The first one: later ones may follow from it.
    let first = state.error.take();
    state.error.set(first.or(Some(error)));
    Stop(())
}

/// The window after a full one. `left` bytes of that stay free, since the `len` bytes that are taken lie together.
/// The window begins after the run, which is written first. `None` if the value is refused.
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
    // Nothing follows a `Stop`, even if a hand-written type does not pass it on.
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
fn too_deep(state: &EncodeState<'_>) -> Stop {
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
