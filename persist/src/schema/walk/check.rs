//! Checks records fast: what each kind mostly is becomes a few steps, once, and these run over the bytes of its values.
//!
//! A [`Walk`] does what there is no step for, and decides on every record that the steps do not accept.

use std::borrow::Borrow;
use std::cell::Cell;
use std::ops::Range;

use super::{Budget, Checks, LocalValue, Unique, Visit, Walk, is_text, reference, text_bytes};
use crate::codec::{Decoder, NoLinks, count};
use crate::env::Env;
use crate::reflect::Integer;
use crate::schema::stored::Size;
use crate::schema::{Form, KindSchema, Stored, check_count, dynamic, surplus};
use crate::types::{Arena as _, WorldObjects};
use crate::value::levels;
use crate::{Limits, Result};

/// Checks records of the classes of a save: what it accepts is what a [`Reader`](crate::schema::Reader) accepts, but for the
/// memory of its trees.
///
/// It owns the schema, or borrows it: what a verification owns is found without a pointer, which is 5 % of its time.
pub struct Checker<S> {
    stored: S,
    /// The class of pages.
    page: Option<usize>,
    limits: Limits,
    budget: Budget,
    /// The steps of all kinds that were met so far, each kind's up to [`CheckStep::End`].
    steps: Vec<CheckStep>,
    checks: Vec<Check>,
    /// Where the steps of each node begin; [`NOT_YET`] if it was not met.
    nodes: Vec<u32>,
    /// Where the steps of all fields of a variant begin, by the node of the first.
    variants: Vec<u32>,
    open: Vec<CheckFrame>,
    /// The keys and elements of the open maps and sets.
    unique: Vec<Unique>,
}

const NOT_YET: u32 = u32::MAX;

/// How many levels of structs are laid out inside of others, and up to how many steps.
const INLINED_LEVELS: u32 = 8;
const INLINED_STEPS: usize = 128;

/// Beyond this many steps nothing is laid out inside of others: a hostile save may have any number of classes.
const MANY_STEPS: usize = 1 << 20;

/// The most levels that one value opens whose parts are laid out, with those of what is fixed in it.
const FRAME_LEVELS: usize = 2 * (INLINED_LEVELS as usize + 1);

/// One step of a check, for one part of a value.
#[derive(Clone, Copy)]
enum CheckStep {
    /// That many bytes, and what is checked of them.
    Fixed {
        width: u32,
        checks: u32,
        count: u32,
    },
    Compact(Integer),
    Text,
    /// A reference whose kind is that of the node.
    Reference(u32),
    /// A value that is laid out on its own.
    Value(u32),
    /// A variant of the class.
    Enum(u32),
    /// Without a value this many steps are left out.
    Option(u32),
    List(u32),
    /// The objects of a world.
    Objects(u32),
    Set(u32),
    Map(u32),
    ListOf {
        width: u32,
    },
    Array {
        node: u32,
        len: u32,
    },
    Dynamic,
    /// A value for a walk.
    Walked(u32),
    End,
}

/// A byte of a fixed number of bytes that may not be any, or several.
#[derive(Clone, Copy)]
struct Check {
    at: u32,
    of: Fixed,
}

#[derive(Clone, Copy)]
enum Fixed {
    Bool,
    Char,
    /// True if it is the id of an object of a world.
    Handle(bool),
    /// The tag of an enum in one byte: the last variant.
    Tag(u8),
}

impl Check {
    #[inline]
    fn is_right(self, bytes: &[u8]) -> bool {
        let bytes = bytes.get(self.at as usize..).unwrap_or_default();
        let Some(first) = bytes.first() else { return false };
        match self.of {
            Fixed::Bool => *first <= 1,
            Fixed::Tag(last) => *first <= last,
            Fixed::Char => {
                let code = bytes.first_chunk().map(|code| u32::from_le_bytes(*code));
                code.and_then(char::from_u32).is_some()
            }
            Fixed::Handle(is_id) => {
                let bits = bytes[1..].first_chunk().map(|bits| u64::from_le_bytes(*bits));
                match first {
                    0 => bits == Some(0),
                    1 => !is_id || bits.and_then(WorldObjects::from_bits).is_some(),
                    state => *state == 2,
                }
            }
        }
    }
}

/// Where the steps of an inner value lead back to.
struct CheckFrame {
    /// How many values are left after this one.
    left: u64,
    begin: u32,
    /// Where the value after this one begins: of a map the other one of key and value.
    next: u32,
    back: u32,
    /// True if there is a [`Unique`] of the values.
    is_unique: bool,
}

impl<S: Borrow<Stored>> Checker<S> {
    /// Creates a checker of the records of a save.
    pub fn new(stored: S, limits: &Limits) -> Self {
        let nodes = stored.borrow().nodes.len();
        Self {
            page: stored.borrow().page_class(),
            nodes: vec![NOT_YET; nodes],
            variants: vec![NOT_YET; nodes],
            stored,
            limits: *limits,
            budget: Budget::CHECKED,
            steps: Vec::new(),
            checks: Vec::new(),
            open: Vec::new(),
            unique: Vec::new(),
        }
    }

    /// Returns the classes of the save.
    #[inline(always)]
    pub fn stored(&self) -> &Stored {
        self.stored.borrow()
    }

    /// Elements without bytes, in all records so far.
    pub fn empty_elements(&self) -> usize {
        self.budget.empty
    }

    /// Continues to count them from there.
    pub fn count_empty_elements_from(&mut self, empty: usize) {
        self.budget.empty = empty;
    }

    /// Checks the payload of a record; returns how many references are in it. `visit` says whether a reference may be
    /// there, and may be asked twice.
    ///
    /// # Errors
    ///
    /// With the field and the offset in the payload.
    pub fn check(
        &mut self,
        class: usize,
        payload: &[u8],
        visit: &mut dyn FnMut(LocalValue<'_>) -> bool,
    ) -> Result<u64> {
        let (limits, budget) = (self.limits, self.budget);
        // Each record makes this check.
        let numbers = match self.page == Some(class) {
            false => None,
            true => {
                let numbers = self.stored().page_numbers(class, payload);
                numbers.map_err(|error| error.in_field("classes").at(0))?
            }
        };
        let numbers = numbers.as_deref();
        let mut links = NoLinks::default();
        let env = Env::bare(&limits);
        let mut input = Decoder::new(payload, &env, &mut links).in_page(numbers);
        let references = Cell::new(0);
        let mut visit = |visited: LocalValue<'_>, _: usize, _: usize| {
            let is_reference = matches!(visited, LocalValue::Reference { .. });
            references.set(references.get() + u64::from(is_reference));
            visit(visited)
        };
        if self.run(class, payload, &mut input, &mut visit).is_some() && input.rest().is_empty() {
            return Ok(references.get());
        }
        references.set(0);
        visit(LocalValue::Again, 0, 0);
        // It is wrong, or deep.
        let mut input = Decoder::new(payload, &env, &mut links).in_page(numbers);
        let stored: &Stored = self.stored.borrow();
        let mut walk = Walk::new(stored, &input, Checks::All);
        walk.budget = budget.over(payload);
        let result = walk.all(stored.root(class), &mut input, &mut visit);
        self.budget = walk.budget;
        let left = input.rest().len();
        let (error, left) = match result {
            Err(fail) => (walk.error(fail, &mut input).in_field(&walk.path()), walk.left),
            Ok(()) if left > 0 => (surplus(left), left),
            Ok(()) => return Ok(references.get()),
        };
        Err(error.at((payload.len() - left) as u64))
    }

    /// Runs the steps of a class over its value; `None` if it is not accepted.
    fn run(
        &mut self,
        class: usize,
        payload: &[u8],
        input: &mut Decoder<'_>,
        visit: &mut Visit<'_>,
    ) -> Option<()> {
        let max = levels(&self.limits) / FRAME_LEVELS;
        if max == 0 {
            return None;
        }
        self.open.clear();
        self.unique.clear();
        let mut next = self.node(self.stored().root(class)) as usize;
        loop {
            let step = *self.steps.get(next)?;
            next += 1;
            // A value inside: its steps, and how many values follow it.
            let (begin, left) = match step {
                CheckStep::Fixed { width, checks, count } => {
                    let bytes = input.take(width as usize).ok()?;
                    let checks = &self.checks[checks as usize..][..count as usize];
                    if !checks.iter().all(|check| check.is_right(bytes)) {
                        return None;
                    }
                    continue;
                }
                CheckStep::Option(steps) => {
                    if !input.value::<bool>().ok()? {
                        next += steps as usize;
                    }
                    continue;
                }
                CheckStep::Compact(integer) => {
                    integer.count(input).ok()?;
                    continue;
                }
                CheckStep::Text => {
                    if !is_text(text_bytes(input).ok()?) {
                        return None;
                    }
                    continue;
                }
                CheckStep::Reference(node) => {
                    let id = count::decode(input).ok()?;
                    let kind = &self.stored().node(node as usize).kind;
                    if !visit(reference(kind, id)?, 0, 0) {
                        return None;
                    }
                    continue;
                }
                CheckStep::ListOf { width } => {
                    let all = input.count().ok()?.checked_mul(width as usize)?;
                    input.take(all).ok()?;
                    continue;
                }
                CheckStep::Walked(node) => {
                    let at = payload.len() - input.rest().len();
                    let is_after_objects = at > 0 && payload[at - 1] != 0;
                    if is_after_objects && input.rest().first() != Some(&0) && self.is_index(node) {
                        return None;
                    }
                    let depth = (self.open.len() + 1) * FRAME_LEVELS;
                    let mut walk =
                        Walk::new(self.stored.borrow(), input, Checks::All).inside_of(depth);
                    walk.budget = self.budget.over(input.rest());
                    walk.all(node as usize, input, visit).ok()?;
                    self.budget = walk.budget;
                    continue;
                }
                CheckStep::Value(node) => (self.node(node as usize), 0),
                CheckStep::Enum(class) => {
                    let (class, tag) = (class as usize, usize::from(input.value::<u8>().ok()?));
                    let Form::Enum(variants) = &self.stored()[class].form else { return None };
                    let fields = variants.get(tag)?.fields.len();
                    if fields == 0 {
                        continue;
                    }
                    let first = self.stored().first(class, tag);
                    if self.variants[first] == NOT_YET {
                        self.variants[first] = self.lay_out(first..first + fields);
                    }
                    (self.variants[first], 0)
                }
                CheckStep::Array { node, len } => (self.node(node as usize), u64::from(len) - 1),
                CheckStep::List(node) | CheckStep::Objects(node) | CheckStep::Set(node) => {
                    let count = count::decode(input).ok()?;
                    let min = self.stored().node(node as usize).size.min;
                    check_count(count, u64::from(min), input).ok()?;
                    if let CheckStep::Objects(_) = step {
                        visit(LocalValue::Objects(count), 0, 0);
                    }
                    let Some(left) = count.checked_sub(1) else { continue };
                    (self.node(node as usize), left)
                }
                CheckStep::Map(node) => {
                    let count = count::decode(input).ok()?;
                    let min = self.stored().entry(node as usize).min;
                    check_count(count, u64::from(min), input).ok()?;
                    // Keys and values are counted alike.
                    let Some(left) = count.saturating_mul(2).checked_sub(1) else { continue };
                    (self.node(node as usize), left)
                }
                CheckStep::Dynamic => {
                    let class = dynamic(self.stored(), input).ok()?;
                    visit(LocalValue::Class(class), 0, 0);
                    (self.node(self.stored().root(class)), 0)
                }
                CheckStep::End => {
                    let Some(frame) = self.open.last_mut() else { return Some(()) };
                    if frame.is_unique {
                        self.unique.last_mut()?.mark(payload.len() - input.rest().len());
                    }
                    if let Some(left) = frame.left.checked_sub(1) {
                        (frame.left, next) = (left, frame.next as usize);
                        std::mem::swap(&mut frame.begin, &mut frame.next);
                    } else {
                        next = frame.back as usize;
                        if frame.is_unique && self.unique.pop()?.has_duplicate(payload) {
                            return None;
                        }
                        self.open.pop();
                    }
                    continue;
                }
            };
            if self.open.len() + 1 >= max {
                return None;
            }
            let mut other = begin;
            let parts = match step {
                CheckStep::Set(_) => 1,
                CheckStep::Map(key) => {
                    other = self.node(key as usize + 1);
                    2
                }
                _ => 0,
            };
            if parts > 0 {
                let mut unique = Unique::new(0, parts);
                unique.mark(payload.len() - input.rest().len());
                self.unique.push(unique);
            }
            let back = index(next);
            self.open.push(CheckFrame { left, begin, next: other, back, is_unique: parts > 0 });
            next = begin as usize;
        }
    }

    /// True if the values of a node are indexes of pages.
    fn is_index(&self, node: u32) -> bool {
        let stored = self.stored();
        let kind = &stored.node(node as usize).kind;
        matches!(kind, KindSchema::List(entry) if stored.is_index_of(entry))
    }

    /// Where the steps of a node begin.
    #[inline]
    fn node(&mut self, node: usize) -> u32 {
        if self.nodes[node] == NOT_YET {
            self.nodes[node] = self.lay_out(node..node + 1);
        }
        self.nodes[node]
    }

    /// Makes the steps of nodes that follow one another; returns where they begin.
    #[cold]
    fn lay_out(&mut self, nodes: Range<usize>) -> u32 {
        let start = self.steps.len();
        let inlined = if start < MANY_STEPS { INLINED_LEVELS } else { 1 };
        let mut layout = StepLayout { checker: self, start, whole: start };
        nodes.for_each(|node| layout.add(node, inlined));
        self.steps.push(CheckStep::End);
        index(start)
    }
}

/// Steps that are being made.
struct StepLayout<'c, S> {
    checker: &'c mut Checker<S>,
    start: usize,
    /// Steps before this one stay as they are.
    whole: usize,
}

impl<S: Borrow<Stored>> StepLayout<'_, S> {
    /// Adds the steps of a node. Its parts are laid out inline down to `inlined` levels.
    fn add(&mut self, mut node: usize, inlined: u32) {
        let stored: &Stored = self.checker.stored.borrow();
        let steps = &mut self.checker.steps;
        while let KindSchema::Class(class) = stored.node(node).kind
            && let Form::Value(_) = stored[class].form
        {
            node = stored.first(class, 0);
        }
        let at = stored.node(node);
        let (first, size) = (at.first(), at.size);
        match size.width() {
            Some(width) if is_shallow(size) => return self.fixed(width, None),
            // It may hold any number of others: a struct another twice, and that one another.
            Some(0) => return steps.push(CheckStep::Walked(index(node))),
            _ => {}
        }
        let has_room = inlined > 0 && steps.len() - self.start < INLINED_STEPS;
        if at.kind.has_parts() && !has_room {
            return steps.push(CheckStep::Value(index(node)));
        }
        let inlined = inlined.saturating_sub(1);
        steps.push(match &at.kind {
            KindSchema::Bool => return self.fixed(1, Some(Fixed::Bool)),
            KindSchema::Char => return self.fixed(4, Some(Fixed::Char)),
            KindSchema::Handle(arena) => {
                let is_id = **arena == *WorldObjects::NAME;
                return self.fixed(9, Some(Fixed::Handle(is_id)));
            }
            KindSchema::Compact(integer) => CheckStep::Compact(*integer),
            KindSchema::Text => CheckStep::Text,
            KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
                CheckStep::Reference(index(node))
            }
            KindSchema::Option(_) => {
                let at = steps.len();
                steps.push(CheckStep::Option(0));
                self.whole = at + 1;
                self.add(first, inlined);
                let steps = &mut self.checker.steps;
                self.whole = steps.len();
                steps[at] = CheckStep::Option(index(self.whole - at - 1));
                return;
            }
            KindSchema::Set(_) if stored.node(first).size.min > 0 => CheckStep::Set(index(first)),
            KindSchema::Map(_) if stored.entry(first).min > 0 => CheckStep::Map(index(first)),
            KindSchema::List(entry) if stored.is_index_of(entry) => CheckStep::Walked(index(node)),
            KindSchema::List(_) | KindSchema::Unknown => {
                let part = stored.node(first).size;
                match part.width().filter(|width| *width > 0 && is_shallow(part)) {
                    Some(width) => CheckStep::ListOf { width: index(width) },
                    None if stored.is_object(&stored.node(first).kind) => {
                        CheckStep::Objects(index(first))
                    }
                    None if part.min > 0 => CheckStep::List(index(first)),
                    None => CheckStep::Walked(index(node)),
                }
            }
            KindSchema::Array(_, len) if size.min > 0 && *len < NOT_YET as usize => {
                CheckStep::Array { node: index(first), len: index(*len) }
            }
            KindSchema::Dynamic(_) => CheckStep::Dynamic,
            KindSchema::Tuple(parts) => {
                let parts = first..first + parts.len();
                return parts.for_each(|part| self.add(part, inlined));
            }
            KindSchema::Class(class) => match &stored[*class].form {
                Form::Struct(fields) => {
                    let first = stored.first(*class, 0);
                    let fields = first..first + fields.len();
                    return fields.for_each(|field| self.add(field, inlined));
                }
                Form::Enum(all) if (1..=256).contains(&all.len()) => {
                    if all.iter().all(|variant| variant.fields.is_empty()) {
                        let last = u8::try_from(all.len() - 1).unwrap_or(u8::MAX);
                        return self.fixed(1, Some(Fixed::Tag(last)));
                    }
                    CheckStep::Enum(index(*class))
                }
                _ => CheckStep::Walked(index(node)),
            },
            _ => CheckStep::Walked(index(node)),
        });
    }

    /// Adds bytes that may be any, or what is checked of them.
    fn fixed(&mut self, width: usize, check: Option<Fixed>) {
        let width = index(width);
        let Checker { steps, checks, .. } = &mut *self.checker;
        let mut at = 0;
        match steps[self.whole..].last_mut() {
            Some(CheckStep::Fixed { width: last, count, .. })
                if last.checked_add(width).is_some() =>
            {
                at = std::mem::replace(last, *last + width);
                *count += u32::from(check.is_some());
            }
            _ => {
                let count = u32::from(check.is_some());
                steps.push(CheckStep::Fixed { width, checks: index(checks.len()), count });
            }
        }
        checks.extend(check.map(|of| Check { at, of }));
    }
}

/// True if nothing but the bytes of a value must be checked, which is not deep.
fn is_shallow(size: Size) -> bool {
    u32::from(size.levels) <= INLINED_LEVELS && !size.has_empty
}

/// An index of nodes, or of what definitions have; those have fewer bytes.
fn index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NOT_YET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_16_bytes() {
        assert!(size_of::<CheckStep>() <= 16);
    }
}
