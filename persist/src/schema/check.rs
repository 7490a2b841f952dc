//! Checks values without building them: each kind becomes a few steps, once, and these run over the bytes of its values.
//!
//! What it accepts is what a [`Reader`](super::Reader) accepts, but for the memory of its trees. The stack is its own:
//! neither deep values nor deep schemas can exhaust the thread's.

use std::ops::Range;

use super::unique::UniqueParts;
use super::walk::{LocalValue, check_count, dynamic, fault, left_behind, path_at, text_bytes};
use super::{Form, KindSchema, Stored};
use crate::codec::{Decoder, Fail, NoLinks, charge_empty, count};
use crate::env::Env;
use crate::reflect::Integer;
use crate::value::{levels, too_deep};
use crate::{Limits, Result};

/// Checks records of the classes of a save.
pub(crate) struct Checker {
    stored: Stored,
    limits: Limits,
    /// The steps of all kinds that were met so far, each kind's up to [`CheckStep::End`].
    steps: Vec<CheckStep>,
    checks: Vec<Check>,
    /// The most levels that the values of any of these kinds open, whatever they hold.
    deepest: u32,
    /// Where the steps of each node begin; [`NOT_YET`] if it was not met.
    nodes: Vec<u32>,
    /// Where the steps of each variant begin; the variants of an enum follow one another. And the first variant of each enum,
    /// with its class.
    variants: Vec<u32>,
    enums: Vec<(u32, usize)>,
    open: Vec<CheckFrame>,
    unique: Vec<UniqueParts>,
    /// Elements without bytes, in all records so far.
    empty: usize,
}

const NOT_YET: u32 = 0;

/// Where the steps of a variant without fields begin, which has none.
const NOTHING: u32 = 1;

/// How many levels of structs are laid out inside of others, and up to how many steps.
const INLINED_LEVELS: u32 = 8;
const INLINED_STEPS: usize = 128;

/// Beyond this many steps nothing is laid out inside of others: a hostile save may have any number of classes.
const MANY_STEPS: usize = 1 << 20;

/// Parts of a value without bytes that are counted; a struct may hold another twice, and that one another.
const MOST_EMPTY_PARTS: u32 = 1 << 20;

/// What is done for a part of a value. `inside` are the levels at which its own parts are, counted from those of the
/// kind whose steps these are.
#[derive(Clone, Copy)]
enum CheckStep {
    /// Stands before the steps of a kind, and says which levels its values open whatever they hold: those below this one.
    Levels(u32),
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
    /// Elements without bytes that every value has.
    Empty(u32),
    /// A value that is laid out on its own.
    Value {
        node: u32,
        inside: u32,
    },
    Enum {
        variants: u32,
        table: u32,
        inside: u32,
    },
    /// The steps that follow are left out if there is no value, which opens the levels below that one.
    Option {
        steps: u32,
        levels: u32,
    },
    List {
        node: u32,
        inside: u32,
    },
    ListOf {
        width: u32,
    },
    /// A list or a set of elements without bytes.
    ListOfNothing {
        node: u32,
        inside: u32,
        is_set: bool,
    },
    Set {
        node: u32,
        inside: u32,
    },
    Map {
        node: u32,
        inside: u32,
    },
    Array {
        node: u32,
        inside: u32,
        len: u32,
    },
    Dynamic {
        inside: u32,
    },
    /// No value can be checked.
    Fail(Fail),
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
    Handle,
    /// The tag of an enum, in one byte or two; the last variant, or how many there are.
    Tag(u8),
    WideTag(u32),
}

impl Check {
    #[inline]
    fn is_right(self, bytes: &[u8]) -> bool {
        let bytes = bytes.get(self.at as usize..).unwrap_or_default();
        let Some(first) = bytes.first() else { return false };
        match self.of {
            Fixed::Bool => *first <= 1,
            Fixed::Tag(last) => *first <= last,
            Fixed::WideTag(variants) => {
                let tag = bytes.first_chunk().map(|tag| u16::from_le_bytes(*tag));
                tag.is_some_and(|tag| u32::from(tag) < variants)
            }
            Fixed::Char => {
                let code = bytes.first_chunk().map(|code| u32::from_le_bytes(*code));
                code.and_then(char::from_u32).is_some()
            }
            Fixed::Handle => match first {
                0 => bytes.get(1..9).is_some_and(|bits| bits.iter().all(|bit| *bit == 0)),
                state => *state <= 2,
            },
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
    /// The levels around what it leads back to.
    levels: u32,
    /// True if each value, or every other one, must be another.
    is_unique: bool,
}

impl Checker {
    pub(crate) fn new(stored: Stored, limits: &Limits) -> Self {
        Self {
            nodes: vec![NOT_YET; stored.nodes.len()],
            stored,
            limits: *limits,
            // So that none begins at `NOT_YET`, or at `NOTHING`.
            steps: vec![CheckStep::End; 2],
            checks: Vec::new(),
            deepest: 0,
            variants: Vec::new(),
            enums: Vec::new(),
            open: Vec::new(),
            unique: Vec::new(),
            empty: 0,
        }
    }

    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Elements without bytes, in all records so far.
    pub(crate) fn empty_elements(&self) -> usize {
        self.empty
    }

    /// Continues to count them from there.
    pub(crate) fn count_empty_elements_from(&mut self, empty: usize) {
        self.empty = empty;
    }

    /// Checks the payload of a record. `meet` says whether a reference may be there.
    ///
    /// # Errors
    ///
    /// With the field and the offset in the payload.
    pub(crate) fn check(
        &mut self,
        class: usize,
        payload: &[u8],
        mut meet: impl FnMut(LocalValue<'_>) -> bool,
    ) -> Result<()> {
        let limits = self.limits;
        let mut links = NoLinks::default();
        let env = Env::bare(&limits);
        let mut input = Decoder::new(payload, &env, &mut links);
        let result = self.run(class, payload, &mut input, &mut meet);
        match result {
            Ok(()) if input.rest().is_empty() => Ok(()),
            Ok(()) => {
                let left = input.rest().len();
                Err(left_behind(left).at((payload.len() - left) as u64))
            }
            Err((fail, at)) => {
                let error = match fail {
                    Fail::Depth => too_deep(&limits),
                    Fail::Refused => input.take_error().unwrap_or_else(|| fault(fail)),
                    fail => fault(fail),
                };
                let field = path_at(class, &self.stored, payload, at, &limits);
                Err(error.in_field(&field).at(at as u64))
            }
        }
    }

    /// Runs the steps of a class over its value; an error has the offset of the part that is wrong.
    fn run(
        &mut self,
        class: usize,
        payload: &[u8],
        input: &mut Decoder<'_>,
        meet: &mut impl FnMut(LocalValue<'_>) -> bool,
    ) -> Result<(), (Fail, usize)> {
        let most = u32::try_from(levels(&self.limits)).unwrap_or(u32::MAX);
        self.open.clear();
        self.unique.clear();
        let mut around = 0_u32;
        let begin = self.node(self.stored.root(class));
        if self.is_too_deep(begin, around, most) {
            return Err((Fail::Depth, 0));
        }
        let mut next = begin as usize + 1;
        loop {
            let before = input.rest().len();
            let failed = |fail| (fail, payload.len() - before);
            let step = self.steps[next];
            next += 1;
            // A value inside: its steps, how many values follow it, and the levels around it.
            let (begin, left, inside) = match step {
                CheckStep::Fixed { width, checks, count } => {
                    let bytes = input.take(width as usize).map_err(failed)?;
                    for check in &self.checks[checks as usize..][..count as usize] {
                        if !check.is_right(bytes) {
                            let (fail, at) = failed(Fail::Value);
                            return Err((fail, at + check.at as usize));
                        }
                    }
                    continue;
                }
                CheckStep::Option { steps, levels } => {
                    if !input.value::<bool>().map_err(failed)? {
                        next += steps as usize;
                    } else if around.saturating_add(levels) > most {
                        return Err(failed(Fail::Depth));
                    }
                    continue;
                }
                CheckStep::Compact(integer) => {
                    integer.count(input).map_err(failed)?;
                    continue;
                }
                CheckStep::Text => {
                    text(input).map_err(failed)?;
                    continue;
                }
                CheckStep::Reference(node) => {
                    let id = count::decode(input).map_err(failed)?;
                    if !meet(self.reference(node, id)) {
                        return Err(failed(Fail::Value));
                    }
                    continue;
                }
                CheckStep::Empty(elements) => {
                    self.charge(u64::from(elements), input).map_err(failed)?;
                    continue;
                }
                CheckStep::Fail(fail) => return Err(failed(fail)),
                CheckStep::Levels(_) => return Err(failed(Fail::Value)),
                CheckStep::ListOf { width } => {
                    let count = count::decode(input).map_err(failed)?;
                    let all =
                        usize::try_from(count).ok().and_then(|n| n.checked_mul(width as usize));
                    let all = all.filter(|all| *all <= input.rest().len());
                    input.take(all.ok_or(failed(Fail::Count))?).map_err(failed)?;
                    continue;
                }
                CheckStep::ListOfNothing { node, inside, is_set } => {
                    self.list_of_nothing(
                        (node, inside),
                        is_set,
                        most.saturating_sub(around),
                        input,
                    )
                    .map_err(failed)?;
                    continue;
                }
                CheckStep::Value { node, inside } => (self.node(node as usize), 0, inside),
                CheckStep::Enum { variants, table, inside } => {
                    let variant = tag(variants, input).map_err(failed)?;
                    let begin = self.variant(table, variant);
                    if begin == NOTHING {
                        continue;
                    }
                    (begin, 0, inside)
                }
                CheckStep::Array { node, inside, len } => {
                    (self.node(node as usize), u64::from(len) - 1, inside)
                }
                CheckStep::List { node, inside } | CheckStep::Set { node, inside } => {
                    let count = count::decode(input).map_err(failed)?;
                    let least = self.stored.node(node as usize).size.least;
                    check_count(count, u64::from(least), input).map_err(failed)?;
                    let Some(left) = count.checked_sub(1) else { continue };
                    (self.node(node as usize), left, inside)
                }
                CheckStep::Map { node, inside } => {
                    let count = count::decode(input).map_err(failed)?;
                    let least = [node, node + 1].map(|it| self.stored.node(it as usize).size.least);
                    let least = least[0].saturating_add(least[1]);
                    check_count(count, u64::from(least), input).map_err(failed)?;
                    if least == 0 && count > 0 {
                        self.charge(count, input).map_err(failed)?;
                    }
                    // Keys and values are counted alike.
                    let Some(left) = count.saturating_mul(2).checked_sub(1) else { continue };
                    (self.node(node as usize), left, inside)
                }
                CheckStep::Dynamic { inside } => {
                    let class = dynamic(&self.stored, input).map_err(failed)?;
                    // A bare value stands in a record.
                    let is_bare = matches!(self.stored[class].form, Form::Value(_));
                    let root = self.stored.root(class);
                    (self.node(root), 0, inside + u32::from(is_bare))
                }
                CheckStep::End => {
                    let Some(frame) = self.open.last_mut() else { return Ok(()) };
                    if frame.is_unique
                        && let Some(unique) = self.unique.last_mut()
                    {
                        unique.take(payload.len() - before, payload);
                    }
                    if let Some(left) = frame.left.checked_sub(1) {
                        frame.left = left;
                        next = frame.next as usize + 1;
                        std::mem::swap(&mut frame.begin, &mut frame.next);
                        continue;
                    }
                    (next, around) = (frame.back as usize, frame.levels);
                    if frame.is_unique
                        && let Some(mut unique) = self.unique.pop()
                        && unique.has_twice(payload)
                    {
                        return Err((Fail::Duplicate, unique.begin));
                    }
                    self.open.pop();
                    continue;
                }
            };
            let mut follower = begin;
            let mut is_unique = false;
            if let CheckStep::Set { .. } = step {
                is_unique = true;
                self.unique.push(UniqueParts::new(
                    failed(Fail::End).1,
                    payload.len() - input.rest().len(),
                    1,
                ));
            } else if let CheckStep::Map { node, .. } = step {
                is_unique = true;
                follower = self.node(node as usize + 1);
                self.unique.push(UniqueParts::new(
                    failed(Fail::End).1,
                    payload.len() - input.rest().len(),
                    2,
                ));
            }
            let back = u32::try_from(next).unwrap_or(NOT_YET);
            self.open.push(CheckFrame {
                left,
                begin,
                next: follower,
                back,
                levels: around,
                is_unique,
            });
            around = around.saturating_add(inside);
            if around.saturating_add(self.deepest) > most
                && (self.is_too_deep(begin, around, most)
                    || self.is_too_deep(follower, around, most))
            {
                return Err((Fail::Depth, payload.len() - input.rest().len()));
            }
            next = begin as usize + 1;
        }
    }

    /// True if the values of the kind whose steps begin there open too many levels, with those around them.
    fn is_too_deep(&self, begin: u32, around: u32, most: u32) -> bool {
        match self.steps[begin as usize] {
            CheckStep::Levels(levels) => around.saturating_add(levels) > most,
            _ => false,
        }
    }

    fn reference(&self, node: u32, id: u64) -> LocalValue<'_> {
        match self.stored.node(node as usize).kind {
            KindSchema::Reference { holder, weak, class } => {
                LocalValue::Reference { id, weak, class: Some(class), holder }
            }
            KindSchema::TraitReference { holder, weak, .. } => {
                LocalValue::Reference { id, weak, class: None, holder }
            }
            // Only those have such a step.
            _ => LocalValue::Class(0),
        }
    }

    /// Counts elements without bytes.
    #[cold]
    fn charge(&mut self, elements: u64, input: &mut Decoder<'_>) -> Result<(), Fail> {
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        charge_empty(&mut self.empty, elements, &self.limits).map_err(|error| input.refuse(error))
    }

    /// Checks a list of elements without bytes, which may open that many levels at most.
    #[cold]
    fn list_of_nothing(
        &mut self,
        (node, inside): (u32, u32),
        is_set: bool,
        most: u32,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        let count = count::decode(input)?;
        check_count(count, 0, input)?;
        if count == 0 {
            return Ok(());
        }
        let (levels, empty) = self.without_bytes(node as usize)?;
        if inside.saturating_add(levels) > most && levels > 0 {
            return Err(Fail::Depth);
        }
        self.charge(count.saturating_mul(empty.saturating_add(1)), input)?;
        if is_set && count > 1 { Err(Fail::Duplicate) } else { Ok(()) }
    }

    /// The levels that a value without bytes opens, and how many elements without bytes are in it.
    fn without_bytes(&self, node: usize) -> Result<(u32, u64), Fail> {
        let (mut levels, mut empty) = (0, 0_u64);
        let mut parts = vec![(node, 0_u32, 1_u64)];
        let mut visited = 0;
        while let Some((node, depth, times)) = parts.pop() {
            visited += 1;
            if visited > MOST_EMPTY_PARTS {
                return Err(Fail::Limit);
            }
            let node = self.stored.node(node);
            let inner = match &node.kind {
                KindSchema::Array(_, len) => {
                    let all = times.saturating_mul(*len as u64);
                    empty = empty.saturating_add(all);
                    parts.extend((*len > 0).then_some((node.first(), depth + 1, all)));
                    levels = levels.max(depth + 1);
                    continue;
                }
                KindSchema::Tuple(parts) => node.first()..node.first() + parts.len(),
                KindSchema::Class(class) => {
                    let first = self.stored.first(*class, 0);
                    match &self.stored[*class].form {
                        Form::Struct(fields) => first..first + fields.len(),
                        _ => {
                            parts.push((first, depth, times));
                            continue;
                        }
                    }
                }
                _ => continue,
            };
            levels = levels.max(depth + 1);
            parts.extend(inner.map(|part| (part, depth + 1, times)));
        }
        Ok((levels, empty))
    }

    /// Where the steps of a node begin.
    #[inline]
    fn node(&mut self, node: usize) -> u32 {
        match self.nodes[node] {
            NOT_YET => self.lay_out(node..node + 1, Place::Node(node)),
            begin => begin,
        }
    }

    /// Where the steps of the fields of a variant begin.
    #[inline]
    fn variant(&mut self, table: u32, variant: usize) -> u32 {
        match self.variants[table as usize + variant] {
            NOT_YET => {
                let found = self.enums.partition_point(|(first, _)| *first <= table);
                let class = self.enums[found - 1].1;
                let first = self.stored.first(class, variant);
                let fields = self.stored.fields(class, variant).len();
                if fields == 0 {
                    self.variants[table as usize + variant] = NOTHING;
                    return NOTHING;
                }
                self.lay_out(first..first + fields, Place::Variant(table as usize + variant))
            }
            begin => begin,
        }
    }

    /// Makes the steps of nodes that follow one another.
    #[cold]
    fn lay_out(&mut self, nodes: Range<usize>, place: Place) -> u32 {
        let start = self.steps.len();
        // Each has a few bytes of a definition, or is one of a few levels inside of another.
        let begin = u32::try_from(start).unwrap_or(NOT_YET);
        match place {
            Place::Node(node) => self.nodes[node] = begin,
            Place::Variant(variant) => self.variants[variant] = begin,
        }
        self.steps.push(CheckStep::Levels(0));
        let inlined = if start < MANY_STEPS { INLINED_LEVELS } else { 1 };
        let mut layout = StepLayout { checker: self, start, whole: start, levels: 0 };
        nodes.for_each(|node| layout.add(node, 0, inlined));
        let levels = layout.levels;
        self.steps.push(CheckStep::End);
        self.steps[start] = CheckStep::Levels(levels);
        self.deepest = self.deepest.max(levels);
        begin
    }

    /// The table of an enum's variants.
    fn table(&mut self, class: usize, variants: usize) -> u32 {
        let table = u32::try_from(self.variants.len()).unwrap_or(u32::MAX);
        self.enums.push((table, class));
        self.variants.resize(self.variants.len() + variants, NOT_YET);
        table
    }
}

/// What steps are of.
#[derive(Clone, Copy)]
enum Place {
    Node(usize),
    Variant(usize),
}

/// Steps that are being made.
struct StepLayout<'c> {
    checker: &'c mut Checker,
    start: usize,
    /// Steps before this one stay as they are.
    whole: usize,
    /// The levels that every value opens, from the outermost one on.
    levels: u32,
}

impl StepLayout<'_> {
    /// Notes that every value opens this level.
    fn open(&mut self, depth: u32) {
        self.levels = self.levels.max(depth.saturating_add(1));
    }

    /// Adds the steps of a node whose value is at that level. What is in it is laid out with it if it is less than
    /// `inlined` levels in.
    fn add(&mut self, mut node: usize, depth: u32, inlined: u32) {
        let stored = &self.checker.stored;
        while let KindSchema::Class(class) = stored.node(node).kind
            && let Form::Value(_) = stored[class].form
        {
            node = stored.first(class, 0);
        }
        let at = stored.node(node);
        let (kind, first, size) = (at.kind.clone(), at.first(), at.size);
        if size.least == 0 {
            return self.add_empty(node, depth);
        }
        if let (Some(width), Some(levels)) = (size.width(), number_levels(&kind)) {
            if let Some(inner) = levels.checked_sub(1) {
                self.open(depth + inner);
            }
            return self.fixed(width, None);
        }
        let has_room = inlined > 0 && self.checker.steps.len() - self.start < INLINED_STEPS;
        if kind.has_parts() {
            if !has_room {
                return self
                    .checker
                    .steps
                    .push(CheckStep::Value { node: index(node), inside: depth });
            }
            self.open(depth);
        }
        let inlined = inlined.saturating_sub(1);
        let (part, inside) = (index(first), depth + 1);
        let step = match &kind {
            KindSchema::Bool => return self.fixed(1, Some(Fixed::Bool)),
            KindSchema::Char => return self.fixed(4, Some(Fixed::Char)),
            KindSchema::Handle(_) => return self.fixed(9, Some(Fixed::Handle)),
            KindSchema::Compact(integer) => CheckStep::Compact(*integer),
            KindSchema::Text => CheckStep::Text,
            KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
                CheckStep::Reference(index(node))
            }
            KindSchema::Option(_) => return self.option(first, inside, inlined),
            KindSchema::List(_) | KindSchema::Set(_)
                if self.checker.stored.node(first).size.least == 0 =>
            {
                let is_set = matches!(kind, KindSchema::Set(_));
                CheckStep::ListOfNothing { node: part, inside, is_set }
            }
            KindSchema::List(_) => match self.number(first) {
                Some(width) => CheckStep::ListOf { width },
                None => CheckStep::List { node: part, inside },
            },
            KindSchema::Set(_) => CheckStep::Set { node: part, inside },
            KindSchema::Map(_) => CheckStep::Map { node: part, inside },
            KindSchema::Unknown => CheckStep::List { node: part, inside },
            KindSchema::Array(_, len) => match u32::try_from(*len) {
                // It has bytes, hence elements.
                Ok(len) => CheckStep::Array { node: part, inside, len },
                Err(_) => CheckStep::Fail(Fail::End),
            },
            KindSchema::Dynamic(_) => CheckStep::Dynamic { inside: depth },
            KindSchema::Tuple(parts) => {
                return (first..first + parts.len())
                    .for_each(|part| self.add(part, inside, inlined));
            }
            KindSchema::Class(class) => {
                let first = self.checker.stored.first(*class, 0);
                match &self.checker.stored[*class].form {
                    Form::Struct(fields) => {
                        let fields = first..first + fields.len();
                        return fields.for_each(|field| self.add(field, inside, inlined));
                    }
                    Form::Enum(variants) => {
                        let count = variants.len();
                        if variants.iter().all(|variant| variant.fields.is_empty()) {
                            return match u8::try_from(count - 1) {
                                Ok(last) => self.fixed(1, Some(Fixed::Tag(last))),
                                Err(_) => self.fixed(2, Some(Fixed::WideTag(index(count)))),
                            };
                        }
                        let table = self.checker.table(*class, count);
                        CheckStep::Enum { variants: index(count), table, inside }
                    }
                    // It was looked into.
                    Form::Value(_) => CheckStep::Fail(Fail::Value),
                }
            }
            // It has a width.
            _ => CheckStep::Fail(Fail::Value),
        };
        self.checker.steps.push(step);
    }

    fn option(&mut self, part: usize, inside: u32, inlined: u32) {
        let at = self.checker.steps.len();
        self.checker.steps.push(CheckStep::Option { steps: 0, levels: 0 });
        self.whole = at + 1;
        let outer = std::mem::take(&mut self.levels);
        self.add(part, inside, inlined);
        let levels = std::mem::replace(&mut self.levels, outer);
        let end = self.checker.steps.len();
        self.checker.steps[at] = CheckStep::Option { steps: index(end - at - 1), levels };
        self.whole = end;
    }

    fn add_empty(&mut self, node: usize, depth: u32) {
        match self.checker.without_bytes(node) {
            Ok((levels, empty)) => {
                if let Some(deepest) = levels.checked_sub(1) {
                    self.open(depth.saturating_add(deepest));
                }
                if empty > 0 {
                    let empty = u32::try_from(empty).unwrap_or(u32::MAX);
                    self.checker.steps.push(CheckStep::Empty(empty));
                }
            }
            Err(fail) => self.checker.steps.push(CheckStep::Fail(fail)),
        }
    }

    /// Adds bytes that may be any, or what is checked of them.
    fn fixed(&mut self, width: usize, check: Option<Fixed>) {
        let width = index(width);
        let Checker { steps, checks, .. } = &mut *self.checker;
        let last = steps[self.whole..].last_mut();
        let (at, last) = match last {
            Some(CheckStep::Fixed { width: last, count, .. })
                if last.checked_add(width).is_some() =>
            {
                let at = std::mem::replace(last, *last + width);
                *count += u32::from(check.is_some());
                (at, None)
            }
            _ => {
                let count = u32::from(check.is_some());
                (0, Some(CheckStep::Fixed { width, checks: index(checks.len()), count }))
            }
        };
        checks.extend(check.map(|of| Check { at, of }));
        steps.extend(last);
    }

    /// The bytes of a number, if that is what a node is.
    fn number(&self, node: usize) -> Option<u32> {
        let node = self.checker.stored.node(node);
        let is_number = number_levels(&node.kind) == Some(0);
        node.size.width().filter(|_| is_number).map(index)
    }
}

/// An index of nodes, or of what definitions have; those have fewer bytes.
fn index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The levels of arrays and tuples of numbers; `None` for what is something else.
fn number_levels(kind: &KindSchema) -> Option<u32> {
    match kind {
        KindSchema::Array(part, len) if *len > 0 => Some(number_levels(part)? + 1),
        KindSchema::Tuple(parts) => {
            let levels = parts.iter().map(number_levels);
            Some(levels.collect::<Option<Vec<_>>>()?.into_iter().max()? + 1)
        }
        scalar => (scalar.width() > 0).then_some(0),
    }
}

fn text(input: &mut Decoder<'_>) -> Result<(), Fail> {
    let text = text_bytes(input)?;
    if text.is_ascii() || std::str::from_utf8(text).is_ok() { Ok(()) } else { Err(Fail::Text) }
}

/// Reads which of the variants follows.
fn tag(variants: u32, input: &mut Decoder<'_>) -> Result<usize, Fail> {
    let tag: u32 =
        if variants > 256 { input.value::<u16>()?.into() } else { input.value::<u8>()?.into() };
    if tag < variants { Ok(tag as usize) } else { Err(Fail::Value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_16_bytes() {
        assert!(size_of::<CheckStep>() <= 16);
    }
}
