//! The walk over the bytes of a value by its schema, without its type.
//!
//! With an explicit stack: neither deep values nor deep schemas can exhaust
//! the thread's.
//!
//! The walks in `check`, `read` and `usage` are steps of [`Walk`]. `write` goes the other way, `strict` writes what an
//! editor enters, and `cursor` goes to one field.

mod check;
mod cursor;
mod read;
mod strict;
mod usage;
mod write;

pub use self::usage::{Long, UsageTree};

pub use self::strict::Strict;

pub use self::read::Reader;

pub(crate) use self::cursor::Cursor;
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use self::cursor::{has_key, no_key, parts::CursorParts};

pub use self::check::Checker;

pub(in crate::schema) use self::write::shown;
pub(crate) use self::write::{FieldsByName, WriteTarget, write_value};

use std::cmp::Ordering;
use std::ops::Range;

use super::stored::Node;
use super::{
    Form, KindSchema, LONGEST_PATH, Stored, UnknownMember, WalkFrame, check_count, dynamic, fault,
    is_key, path, surplus, tag,
};
use crate::codec::pages::PageEntry;
use crate::codec::{Decoder, Fail, NoLinks, charge_empty, count};
use crate::env::Env;
use crate::reflect::{Holder, Integer};
use crate::sorting::sort;
use crate::value::{levels, too_deep};
use crate::{Error, Limits, Result};

/// A value that has a meaning within one save only.
#[derive(Clone, Copy)]
pub enum LocalValue<'s> {
    /// A reference to an object.
    Reference {
        /// The id of the object, or 0.
        id: u64,
        /// True if the reference does not own the object.
        weak: bool,
        /// The index of the class that the object must have, or `None` for any.
        class: Option<usize>,
        /// The pointer and the cell that hold the object.
        holder: Holder,
    },
    /// A live handle into an arena.
    Handle {
        /// The name of the arena.
        arena: &'s str,
        /// The handle as it is stored.
        bits: u64,
    },
    /// The index of a class whose value follows.
    Class(usize),
    /// An index of pages.
    Pages(&'s [PageEntry]),
    /// The number of objects of a world that follow.
    Objects(u64),
    /// The record is visited again, from its beginning.
    Again,
}

/// Called with what a walk meets, and how many bytes were left before and after it;
/// says whether it may be there.
type Visit<'t> = dyn FnMut(LocalValue<'_>, usize, usize) -> bool + 't;

/// Takes a value of this kind from the input and checks its bytes but for texts; where it
/// fails, the frames say in which part.
pub(super) fn skip(
    node: usize,
    stored: &Stored,
    input: &mut Decoder<'_>,
    frames: &mut Vec<WalkFrame>,
) -> Result<(), Fail> {
    if stored.length(node, input.rest()).is_some_and(|length| input.take(length).is_ok()) {
        return Ok(());
    }
    // The decoder checks the values that are copied.
    let mut walk = Walk::new(stored, input, Checks::Bytes);
    let result = walk.all(node, input, &mut |_, _, _| true);
    *frames = walk.open;
    result
}

/// Returns how many of these bytes a value of a class takes. In a page, its classes have these numbers in the save.
///
/// # Errors
///
/// Returns an error if the bytes do not begin with a value of the class.
pub fn length(
    (class, stored): (usize, &Stored),
    bytes: &[u8],
    numbers: Option<&[u64]>,
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Result<usize> {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(bytes, &env, &mut links).in_page(numbers);
    let nodes = match stored.unknown_member(class) {
        None => stored.root(class)..stored.root(class) + 1,
        Some(UnknownMember::Field { node, .. }) => node..node + 1,
        Some(UnknownMember::Variant { variant, first, .. }) => {
            // Its tag; there is no other.
            if input.value::<u8>().map_err(fault)? != 0 {
                return Err(fault(Fail::Value));
            }
            first..first + variant.fields.len()
        }
    };
    for node in nodes {
        Walk::new(stored, &input, Checks::Texts).all(node, &mut input, visit).map_err(fault)?;
    }
    Ok(bytes.len() - input.rest().len())
}

/// Finds the fault in the payload of a record, if the schema shows it: what,
/// how far in, and in which field.
///
/// `visit` says whether a reference may be there.
pub(crate) fn locate(
    class: usize,
    stored: &Stored,
    payload: &[u8],
    limits: &Limits,
    visit: &mut Visit<'_>,
) -> Option<(Error, usize)> {
    let numbers = match stored.page_numbers(class, payload) {
        Ok(numbers) => numbers,
        Err(error) => return Some((error.in_field("classes"), 0)),
    };
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(payload, &env, &mut links).in_page(numbers.as_deref());
    let mut walk = Walk::new(stored, &input, Checks::Texts);
    let result = walk.all(stored.root(class), &mut input, visit);
    let left = input.rest().len();
    let error = match result {
        Err(fail) => fault(fail),
        Ok(()) if left > 0 => surplus(left),
        Ok(()) => return None,
    };
    Some((error.in_field(&walk.path()), payload.len() - left))
}

/// Returns the payload of a page with the numbers that its classes have in the save.
///
/// # Errors
///
/// Returns an error if the bytes are no page.
pub(crate) fn renumbered(
    class: usize,
    stored: &Stored,
    payload: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>> {
    let numbers = stored.page_numbers(class, payload)?;
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(payload, &env, &mut links).in_page(numbers.as_deref());
    let (mut out, mut copied) = (Vec::with_capacity(payload.len()), 0);
    let mut visit = |visited: LocalValue<'_>, before: usize, after: usize| {
        match visited {
            LocalValue::Class(class) => {
                out.extend_from_slice(&payload[copied..payload.len() - before]);
                count::push(class as u64 + 1, &mut out);
                copied = payload.len() - after;
            }
            // The worlds in a page have none.
            LocalValue::Pages(index) => return index.is_empty(),
            _ => {}
        }
        true
    };
    let mut walk = Walk::new(stored, &input, Checks::Texts);
    let result = walk.all(stored.root(class), &mut input, &mut visit);
    let left = input.rest().len();
    let error = match result {
        Ok(()) if left == 0 => {
            out.extend_from_slice(&payload[copied..]);
            return Ok(out);
        }
        Ok(()) => surplus(left),
        Err(fail) => fault(fail),
    };
    Err(error.in_field(&walk.path()).at((payload.len() - left) as u64))
}

/// The paths of what `expected` picks of all that a walk over the payload of a record meets, in order.
#[cfg(feature = "world")]
pub(crate) fn paths(
    class: usize,
    stored: &Stored,
    payload: &[u8],
    limits: &Limits,
    mut expected: impl FnMut(&LocalValue<'_>) -> bool,
) -> Result<Vec<String>> {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(payload, &env, &mut links);
    let mut found = Vec::new();
    let mut walk = Walk::new(stored, &input, Checks::Texts);
    let mut next = Some(stored.root(class));
    while let Some(node) = next {
        let mut is_expected = false;
        let mut visit = |visited: LocalValue<'_>, _: usize, _: usize| {
            is_expected |= expected(&visited);
            true
        };
        walk.step(node, &mut input, &mut visit).map_err(fault)?;
        if is_expected {
            found.push(walk.path());
        }
        next = walk.next(&input).map_err(fault)?;
    }
    Ok(found)
}

/// The parts of a record in one of its damaged ranges.
pub(crate) struct DamagedRange {
    /// The path of the first part.
    pub first: String,
    /// The path of the last part; `None` if the damaged bytes include a length or a variant. Nothing is known of what
    /// follows one.
    pub last: Option<String>,
    /// The bytes of these parts, if each is a number or a `bool`, so that zeros are one too.
    pub numbers: Option<Range<usize>>,
}

/// Returns the parts of a record in each of these ranges of its payload, which ascend.
///
/// The bytes in the ranges are zeros in place of damaged ones. Further ranges are left out after one without a last
/// part.
pub(crate) fn parts_in(
    class: usize,
    stored: &Stored,
    payload: &[u8],
    ranges: &[Range<usize>],
    limits: &Limits,
) -> Vec<DamagedRange> {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let Ok(numbers) = stored.page_numbers(class, payload) else { return Vec::new() };
    let mut input = Decoder::new(payload, &env, &mut links).in_page(numbers.as_deref());
    let mut walk = Walk::new(stored, &input, Checks::Each);
    // A save may have names of any length.
    let short_path =
        |walk: &Walk<'_, '_>| walk.path().chars().take(LONGEST_PATH).collect::<String>();
    let (mut found, mut open, mut ranges) = (Vec::new(), None, ranges.iter().peekable());
    let mut next = Some(stored.root(class));
    while let (Some(node), Some(range)) = (next, ranges.peek()) {
        let begin = payload.len() - input.rest().len();
        let result = walk.step(node, &mut input, &mut |_, _, _| true);
        let end = payload.len() - input.rest().len();
        if end > range.start || result.is_err() {
            let (first, numbers) =
                open.get_or_insert_with(|| (short_path(&walk), Some(begin..begin)));
            let (Ok(node), Some(_)) = (result, stored.span(node..node + 1)) else {
                found.push(DamagedRange { first: first.clone(), last: None, numbers: None });
                break;
            };
            // A struct has no bytes beside its parts. An enum has its variant.
            let is_number = begin == end || stored.node(node).kind.is_number();
            *numbers = numbers.take().filter(|_| is_number).map(|numbers| numbers.start..end);
        }
        if end >= range.end {
            let last = Some(short_path(&walk));
            let part = |(first, numbers)| DamagedRange { first, last, numbers };
            found.extend(open.take().map(part));
            ranges.next();
        }
        next = walk.next(&input).unwrap_or_default();
    }
    found
}

/// Takes the bytes of a text, within the limits; whether they are UTF-8 is not checked.
#[inline]
pub(super) fn text_bytes<'i>(input: &mut Decoder<'i>) -> Result<&'i [u8], Fail> {
    let length = input.count()?;
    if length > input.rest().len() {
        return Err(Fail::Count);
    }
    if length as u64 > count::SHORT && length > input.limits().text {
        return Err(Fail::Limit);
    }
    input.take(length)
}

#[inline]
fn is_text(bytes: &[u8]) -> bool {
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

/// The checks of a walk.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Checks {
    /// That the bytes are there, and mean something, but for texts.
    Bytes,
    /// Texts too.
    Texts,
    /// Also how deep values are, elements without bytes, and keys that are there twice.
    All,
    /// Like `All`, and opens every value that has parts, even where any bytes are one.
    Each,
}

/// The work that walks may still do.
#[derive(Clone, Copy)]
struct Budget {
    /// Parts that may be met: a hostile schema may have any number without bytes.
    steps: u64,
    /// Bytes that were left when steps came for those before them.
    left: usize,
    /// Elements without bytes so far.
    empty: usize,
}

impl Budget {
    /// Parts that a walk may meet without coming further, and for each byte.
    const FREE_STEPS: u64 = 256;
    const STEPS_PER_BYTE: u64 = 64;

    /// As many parts without bytes as fit into the memory that the trees of any save may take.
    const CHECKED: Self = Self { steps: 1 << 21, left: 0, empty: 0 };

    /// Of values whose memory is counted.
    const BUILT: Self = Self { steps: u64::MAX, left: 0, empty: 0 };

    /// For a walk over some of these bytes, what is left of this.
    fn over(self, bytes: &[u8]) -> Self {
        Self { steps: self.steps.max(Self::FREE_STEPS), left: bytes.len(), ..self }
    }

    /// The steps for the bytes since the last ones.
    #[cold]
    fn refill(&mut self, left: usize) -> Result<(), Fail> {
        let consumed = self.left.saturating_sub(left);
        if consumed == 0 {
            return Err(Fail::Limit);
        }
        (self.steps, self.left) = (Self::STEPS_PER_BYTE.saturating_mul(consumed as u64), left);
        Ok(())
    }
}

/// A walk over a value.
struct Walk<'s, 'd> {
    stored: &'s Stored,
    /// All bytes that were left at first.
    payload: &'d [u8],
    checks: Checks,
    /// How many levels may be open.
    max: u32,
    open: Vec<WalkFrame>,
    /// The keys and elements of the open maps and sets.
    unique: Vec<Unique>,
    /// Bytes that were left before the part that was taken last.
    left: usize,
    budget: Budget,
}

impl<'s, 'd> Walk<'s, 'd> {
    pub(crate) fn new(stored: &'s Stored, input: &Decoder<'d>, checks: Checks) -> Self {
        let max = u32::try_from(levels(input.limits())).unwrap_or(u32::MAX);
        Self {
            stored,
            payload: input.rest(),
            checks,
            max: if checks >= Checks::All { max } else { u32::MAX },
            open: Vec::new(),
            unique: Vec::new(),
            left: input.rest().len(),
            budget: Budget { steps: 0, left: 0, empty: 0 }.over(input.rest()),
        }
    }

    /// A walk of a value that has at most `levels` levels around it.
    fn inside_of(self, levels: usize) -> Self {
        let levels = u32::try_from(levels).unwrap_or(u32::MAX);
        Self { max: self.max.saturating_sub(levels), ..self }
    }

    /// The path of the part that is being walked.
    fn path(&self) -> String {
        path(self.stored, &self.open)
    }

    /// The error for a value that is not what its class says, within the limits.
    fn error(&self, fail: Fail, input: &mut Decoder<'_>) -> Error {
        match fail {
            Fail::Depth => too_deep(input.limits()),
            Fail::Refused => input.take_error().unwrap_or_else(|| fault(fail)),
            fail => fault(fail),
        }
    }

    /// Takes a value of a node.
    fn all(
        &mut self,
        node: usize,
        input: &mut Decoder<'d>,
        visit: &mut Visit<'_>,
    ) -> Result<(), Fail> {
        let mut next = Some(node);
        while let Some(node) = next {
            self.step(node, input, visit)?;
            next = self.next(input)?;
        }
        Ok(())
    }

    /// The node of the next part; values that have no more are closed.
    #[inline(always)]
    pub(crate) fn next(&mut self, input: &Decoder<'_>) -> Result<Option<usize>, Fail> {
        if let Some(open) = self.open.last_mut()
            && !open.is_unique
            && self.budget.steps > 0
            && let Some(node) = open.next()
        {
            self.budget.steps -= 1;
            return Ok(Some(node));
        }
        self.close(input)
    }

    /// The node of the next part of an outer value, or of one whose parts are marked.
    #[inline(never)]
    fn close(&mut self, input: &Decoder<'_>) -> Result<Option<usize>, Fail> {
        while let Some(open) = self.open.last_mut() {
            if self.budget.steps == 0 {
                self.budget.refill(input.rest().len())?;
            }
            self.budget.steps -= 1;
            if open.is_unique
                && let Some(unique) = self.unique.last_mut()
            {
                unique.mark(self.payload.len() - input.rest().len());
            }
            let next = open.next();
            if next.is_some() {
                return Ok(next);
            }
            if self.open.pop().is_some_and(|open| open.is_unique)
                && let Some(unique) = self.unique.pop()
                && unique.has_duplicate(self.payload)
            {
                self.left = self.payload.len() - unique.begin;
                return Err(Fail::Duplicate);
            }
        }
        Ok(None)
    }

    /// Takes a value without parts, or opens one with parts; returns the node of its kind, which no option, trait
    /// object or bare value is around.
    fn step(
        &mut self,
        mut node: usize,
        input: &mut Decoder<'d>,
        visit: &mut Visit<'_>,
    ) -> Result<usize, Fail> {
        let mut depth = self.open.last().map_or(0, |open| open.levels);
        while !self.scalar(&mut node, &mut depth, input, visit)?
            && !self.opens(&mut node, &mut depth, input, visit)?
        {}
        Ok(node)
    }

    /// Takes a value without parts, and the options around it; false if it has parts.
    #[inline(always)]
    fn scalar(
        &mut self,
        node: &mut usize,
        depth: &mut u32,
        input: &mut Decoder<'d>,
        visit: &mut Visit<'_>,
    ) -> Result<bool, Fail> {
        loop {
            let previous = input.rest();
            self.left = previous.len();
            let at = self.stored.node(*node);
            if let Some(width) = at.size.width()
                && !(self.checks == Checks::Each && at.kind.has_parts())
                && !(self.checks == Checks::All && at.size.has_empty)
            {
                self.check_levels(*depth, at.size.levels)?;
                return input.take(width).map(|_| true);
            }
            let is_good = match &at.kind {
                KindSchema::Bool => return input.value::<bool>().map(|_| true),
                KindSchema::Char => return input.value::<char>().map(|_| true),
                KindSchema::Compact(integer) => return integer.count(input).map(|_| true),
                KindSchema::Text => {
                    let text = text_bytes(input)?;
                    let is_right = self.checks == Checks::Bytes || is_text(text);
                    return if is_right { Ok(true) } else { Err(Fail::Text) };
                }
                KindSchema::Handle(arena) => {
                    let (state, bits) = (input.value::<u8>()?, input.value::<u64>()?);
                    let visited = LocalValue::Handle { arena, bits };
                    match state {
                        0 => bits == 0,
                        1 if self.checks >= Checks::All => {
                            is_key(arena, bits)
                                && visit(visited, previous.len(), input.rest().len())
                        }
                        1 => visit(visited, previous.len(), input.rest().len()),
                        _ => state == 2,
                    }
                }
                KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
                    let visited = reference(&at.kind, count::decode(input)?);
                    visited
                        .is_some_and(|visited| visit(visited, previous.len(), input.rest().len()))
                }
                KindSchema::Option(_) if self.checks != Checks::Each => {
                    self.check_levels(*depth, 1)?;
                    if input.value::<bool>()? {
                        (*node, *depth) = (at.first(), *depth + 1);
                        continue;
                    }
                    true
                }
                _ => return Ok(false),
            };
            if is_good {
                return Ok(true);
            }
            input.go_back(previous);
            return Err(Fail::Value);
        }
    }

    /// Opens a value with parts, or takes it if they are not looked into; false if `node` is what is in it.
    fn opens(
        &mut self,
        node: &mut usize,
        depth: &mut u32,
        input: &mut Decoder<'d>,
        visit: &mut Visit<'_>,
    ) -> Result<bool, Fail> {
        let (stored, opens_each) = (self.stored, self.checks == Checks::Each);
        let at = stored.node(*node);
        let (kind, first) = (&at.kind, at.first());
        if let KindSchema::Class(class) = kind
            && let Form::Value(_) = stored[*class].form
        {
            *node = stored.first(*class, 0);
            return Ok(false);
        }
        self.check_levels(*depth, 1)?;
        let begin = self.payload.len() - self.left;
        let (mut unique, checks_all) = (None, self.checks >= Checks::All);
        let frame = match kind {
            KindSchema::Option(_) => {
                if !input.value::<bool>()? {
                    return Ok(true);
                }
                WalkFrame::one(first)
            }
            KindSchema::List(entry) if !opens_each && stored.is_index_of(entry) => {
                let previous = input.rest().len();
                let index = page_index(input)?;
                // The list of objects before it is empty.
                let list = (self.payload.len() - previous).checked_sub(1);
                let is_empty = list.is_none_or(|list| self.payload[list] == 0);
                let is_good = (index.is_empty() || is_empty)
                    && visit(LocalValue::Pages(&index), previous, input.rest().len());
                return if is_good { Ok(true) } else { Err(Fail::Value) };
            }
            KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Unknown => {
                let count = count::decode(input)?;
                check_count(count, u64::from(stored.node(first).size.min), input)?;
                if checks_all && stored.is_object(&stored.node(first).kind) {
                    visit(LocalValue::Objects(count), begin, input.rest().len());
                }
                let is_set = checks_all && matches!(kind, KindSchema::Set(_));
                if self.takes_all(first, is_set, *depth + 1, count, input)? {
                    return Ok(true);
                }
                unique = is_set.then(|| Unique::new(begin, 1));
                WalkFrame::elements(first, count)
            }
            KindSchema::Map(_) => {
                let count = count::decode(input)?;
                let min = stored.entry(first).min;
                check_count(count, u64::from(min), input)?;
                if min == 0 {
                    self.charge(count, input)?;
                    if !checks_all {
                        return Ok(true);
                    }
                }
                unique = checks_all.then(|| Unique::new(begin, 2));
                WalkFrame::entries(first, count)
            }
            KindSchema::Array(_, len) => {
                let count = *len as u64;
                if self.takes_all(first, false, *depth + 1, count, input)? {
                    return Ok(true);
                }
                WalkFrame::elements(first, count)
            }
            KindSchema::Tuple(parts) => WalkFrame::parts(first, parts.len()),
            KindSchema::Class(class) => {
                let variant = match &stored[*class].form {
                    form @ Form::Enum(variants) => {
                        let tag = tag(form, input)?;
                        let variant = variants.get(tag).ok_or(Fail::Value)?;
                        if variant.fields.is_empty() && !opens_each {
                            return Ok(true);
                        }
                        tag
                    }
                    _ => 0,
                };
                WalkFrame::fields(stored, *class, variant)
            }
            KindSchema::Dynamic(_) => {
                let previous = input.rest().len();
                let class = dynamic(stored, input)?;
                if !visit(LocalValue::Class(class), previous, input.rest().len()) {
                    return Err(Fail::Value);
                }
                *node = stored.root(class);
                // A bare value stands in a record.
                let Form::Value(_) = stored[class].form else { return Ok(false) };
                *depth += 1;
                if !opens_each {
                    return Ok(false);
                }
                self.open(WalkFrame::one(stored.first(class, 0)), *depth, None);
                return Ok(true);
            }
            // It has no parts.
            _ => return Err(Fail::Value),
        };
        self.open(frame, *depth + 1, unique);
        Ok(true)
    }

    #[inline(always)]
    fn check_levels(&self, depth: u32, more: u16) -> Result<(), Fail> {
        // A saturated depth is above all limits.
        let more = if more == u16::MAX { u32::MAX } else { more.into() };
        let is_beyond_max = more > 0 && depth.saturating_add(more) > self.max;
        if is_beyond_max { Err(Fail::Depth) } else { Ok(()) }
    }

    fn open(&mut self, frame: WalkFrame, levels: u32, unique: Option<Unique>) {
        self.open.push(WalkFrame { levels, is_unique: unique.is_some(), ..frame });
        self.unique.extend(unique);
    }

    /// Takes elements if they are not looked into.
    fn takes_all(
        &mut self,
        part: usize,
        is_set: bool,
        depth: u32,
        count: u64,
        input: &mut Decoder<'d>,
    ) -> Result<bool, Fail> {
        let Node { kind, size, .. } = self.stored.node(part);
        if size.min == 0 {
            self.charge(count, input)?;
        }
        let Some(width) = size.width() else {
            return Ok(self.checks == Checks::Bytes && passes_all(part, count, self.stored, input));
        };
        let opens_each = match self.checks {
            Checks::Each => *kind != KindSchema::U8 || count == 0,
            Checks::All => size.has_empty || is_set && width > 1,
            _ => false,
        };
        if opens_each {
            return Ok(false);
        }
        if count > 0 {
            self.check_levels(depth, size.levels)?;
        }
        let count = usize::try_from(count).map_err(|_| Fail::Count)?;
        let bytes = input.take(count.checked_mul(width).ok_or(Fail::Count)?)?;
        if !is_set {
            return Ok(true);
        }
        let mut seen = [false; 256];
        let is_seen = |byte: &u8| std::mem::replace(&mut seen[usize::from(*byte)], true);
        let is_duplicate = width == 0 && count > 1 || bytes.iter().any(is_seen);
        if is_duplicate { Err(Fail::Duplicate) } else { Ok(true) }
    }

    /// Counts elements without bytes.
    #[cold]
    fn charge(&mut self, elements: u64, input: &mut Decoder<'_>) -> Result<(), Fail> {
        if self.checks < Checks::All {
            return Ok(());
        }
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        charge_empty(&mut self.budget.empty, elements, input.limits())
            .map_err(|error| input.refuse(error))
    }
}

/// Reads an index of pages.
fn page_index(input: &mut Decoder<'_>) -> Result<Vec<PageEntry>, Fail> {
    let entries = count::decode(input)?;
    // Three counts and a digest.
    check_count(entries, 3 + 4, input)?;
    let mut index = Vec::new();
    for _ in 0..entries {
        let first = Integer::U64.count(input)?;
        let objects = u32::try_from(Integer::U32.count(input)?).map_err(|_| Fail::Value)?;
        let position = Integer::U64.count(input)?;
        index.push(PageEntry { first, objects, position, digest: input.value()? });
    }
    Ok(index)
}

/// The reference of this id that a kind is; `None` if it is none.
#[inline]
fn reference(kind: &KindSchema, id: u64) -> Option<LocalValue<'_>> {
    let (holder, weak, class) = match kind {
        KindSchema::Reference { holder, weak, class } => (*holder, *weak, Some(*class)),
        KindSchema::TraitReference { holder, weak, .. } => (*holder, *weak, None),
        _ => return None,
    };
    Some(LocalValue::Reference { id, weak, class, holder })
}

/// Passes over `count` elements, if they are flat; else false, and nothing is taken.
fn passes_all(node: usize, count: u64, stored: &Stored, input: &mut Decoder<'_>) -> bool {
    let bytes = input.rest();
    let length = (0..count).try_fold(0_usize, |length, _| {
        length.checked_add(stored.length(node, bytes.get(length..)?)?)
    });
    length.is_some_and(|length| input.take(length).is_ok())
}

/// Keys of a map, or elements of a set, by where they are in some bytes.
struct Unique {
    /// Where the value begins.
    begin: usize,
    /// Where each part begins, and where the last one ends.
    marks: Vec<u32>,
    /// From one element to the next, and how many parts are compared of each.
    step: usize,
    span: usize,
}

type PartOrder = fn(&[u8], &[u8]) -> Ordering;

/// Orders in which maps are often stored: by their bytes; by the value of a number; by texts, whose first byte is their
/// length. Where each part is greater than the one before it, none is there twice.
const ORDERS: [PartOrder; 3] = [
    |a, b| a.cmp(b),
    |a, b| a.iter().rev().cmp(b.iter().rev()),
    |a, b| a.get(1..).cmp(&b.get(1..)),
];

impl Unique {
    /// Of every part, or of every other one.
    fn new(begin: usize, step: usize) -> Self {
        Self { begin, marks: Vec::new(), step, span: 1 }
    }

    /// Of pairs of parts.
    fn of_pairs(begin: usize) -> Self {
        Self { span: 2, ..Self::new(begin, 2) }
    }

    /// Notes that a part begins there, or that the last one ends.
    fn mark(&mut self, at: usize) {
        // A record has fewer bytes.
        self.marks.push(u32::try_from(at).unwrap_or(u32::MAX));
    }

    /// True if one of them is there twice.
    fn has_duplicate(&self, bytes: &[u8]) -> bool {
        let last = self.marks.len().saturating_sub(self.span);
        let range = |at: usize| self.marks[at] as usize..self.marks[at + self.span] as usize;
        let parts = (0..last).step_by(self.step).map(range);
        let part = |range: Range<usize>| &bytes[range];
        let pairs = || parts.clone().map(part).zip(parts.clone().map(part).skip(1));
        let is_in = |order: PartOrder| pairs().all(|(a, b)| order(a, b) == Ordering::Less);
        if ORDERS.into_iter().any(is_in) {
            return false;
        }
        let mut parts: Vec<&[u8]> = parts.clone().map(part).collect();
        sort(&mut parts);
        parts.windows(2).any(|pair| pair[0] == pair[1])
    }
}
