//! Walks over the bytes of a value by its schema, without its type.
//!
//! With an explicit stack: neither deep values nor deep schemas can exhaust
//! the thread's.

use std::fmt::Write;

use super::{Alone, FieldSchema, Form, KindSchema, Stored};
use crate::codec::{Decoder, Fail, NoLinks, count, left_over};
use crate::env::Env;
use crate::reflect::Holder;
use crate::{Error, ErrorKind, Limits, Result};

/// Parts that a walk may meet without coming further, and for each byte.
const FREE_STEPS: usize = 256;
const STEPS_PER_BYTE: usize = 64;

/// What a walk meets that means something in one save only.
pub(crate) enum LocalValue<'s> {
    /// The id of an object; of a class, or of any.
    Reference { id: u64, weak: bool, class: Option<usize>, holder: Holder },
    /// A live handle into an arena.
    Handle { arena: &'s str, bits: u64 },
    /// The index of a class whose value follows.
    Class(usize),
}

/// Called with what a walk meets, and how many bytes were left before and after it;
/// says whether it may be there.
pub(crate) type Meet<'t> = dyn FnMut(LocalValue<'_>, usize, usize) -> bool + 't;

/// Takes a value of this kind from the input and checks its bytes but for texts; where it
/// fails, the frames say in which part.
pub(super) fn skip<'s>(
    node: usize,
    stored: &'s Stored,
    input: &mut Decoder<'_>,
    frames: &mut Vec<WalkFrame<'s>>,
) -> Result<(), Fail> {
    if stored.length(node, input.rest()).is_some_and(|length| input.take(length).is_ok()) {
        return Ok(());
    }
    // What is taken over is checked by the decoder.
    let walk = Walk { checks_texts: false, ..Walk::new(stored, input, frames) };
    walk.all(node, input, &mut |_, _, _| true)
}

/// How many of these bytes a value of a class takes.
pub(crate) fn length(
    class: usize,
    stored: &Stored,
    bytes: &[u8],
    limits: &Limits,
    meet: &mut Meet<'_>,
) -> Result<usize> {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(bytes, &env, &mut links);
    let nodes = match stored.alone(class) {
        None => stored.root(class)..stored.root(class) + 1,
        Some(Alone::Field { node, .. }) => node..node + 1,
        Some(Alone::Variant { variant, first, .. }) => {
            // Its tag; there is no other.
            if input.value::<u8>().map_err(fault)? != 0 {
                return Err(fault(Fail::Value));
            }
            first..first + variant.fields.len()
        }
    };
    for node in nodes {
        let mut frames = Vec::new();
        let walk = Walk::new(stored, &input, &mut frames);
        walk.all(node, &mut input, meet).map_err(fault)?;
    }
    Ok(bytes.len() - input.rest().len())
}

/// Finds the fault in the payload of a record, if the schema shows it: what,
/// how far in, and in which field.
///
/// `meet` says whether a reference may be there.
pub(crate) fn locate(
    class: usize,
    stored: &Stored,
    payload: &[u8],
    limits: &Limits,
    meet: &mut Meet<'_>,
) -> Option<(Error, usize)> {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(payload, &env, &mut links);
    let mut frames = Vec::new();
    let walk = Walk::new(stored, &input, &mut frames);
    let result = walk.all(stored.root(class), &mut input, meet);
    let left = input.rest().len();
    let error = match result {
        Err(fail) => fault(fail),
        Ok(()) if left > 0 => left_behind(left),
        Ok(()) => return None,
    };
    Some((error.in_field(&path(&frames)), payload.len() - left))
}

/// The paths of what `wanted` picks of all that a walk over the payload of a record meets, in order.
pub(crate) fn paths(
    class: usize,
    stored: &Stored,
    payload: &[u8],
    limits: &Limits,
    mut wanted: impl FnMut(&LocalValue<'_>) -> bool,
) -> Result<Vec<String>> {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(payload, &env, &mut links);
    let (mut found, mut frames) = (Vec::new(), Vec::new());
    let mut walk = Walk::new(stored, &input, &mut frames);
    let mut next = Some(stored.root(class));
    while let Some(node) = next {
        let mut is_wanted = false;
        let mut meet = |met: LocalValue<'_>, _: usize, _: usize| {
            is_wanted |= wanted(&met);
            true
        };
        walk.step(node, &mut input, &mut meet).map_err(fault)?;
        if is_wanted {
            found.push(path(&*walk.frames));
        }
        next = walk.next(&input).map_err(fault)?;
    }
    Ok(found)
}

/// The path of the part of the payload of a record that begins at an offset, or has it inside.
pub(super) fn path_at(
    class: usize,
    stored: &Stored,
    payload: &[u8],
    offset: usize,
    limits: &Limits,
) -> String {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(payload, &env, &mut links);
    let mut frames = Vec::new();
    let mut walk = Walk::new(stored, &input, &mut frames);
    let mut next = Some(stored.root(class));
    while let Some(node) = next {
        let is_there = payload.len() - input.rest().len() >= offset;
        if is_there || walk.step(node, &mut input, &mut |_, _, _| true).is_err() {
            break;
        }
        // What is taken in one step has it inside.
        if payload.len() - input.rest().len() > offset {
            break;
        }
        next = walk.next(&input).unwrap_or(None);
    }
    path(&*walk.frames)
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

/// The error for a payload that is not what its class says.
pub(super) fn fault(fail: Fail) -> Error {
    let error = Error::from(fail);
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::Truncated => not_as_written(&error),
        _ => error,
    }
}

/// The error for bytes after the last field.
pub(super) fn left_behind(bytes: usize) -> Error {
    not_as_written(&left_over(bytes))
}

/// The checksum is right, hence it is not the disk's fault.
fn not_as_written(error: &Error) -> Error {
    let message = error.message();
    Error::new(
        error.kind(),
        format!("{message}; the save was written wrongly or made to harm, restore a backup"),
    )
}

/// A walk over a value.
pub(super) struct Walk<'f, 's> {
    stored: &'s Stored,
    pub(super) frames: &'f mut Vec<WalkFrame<'s>>,
    checks_texts: bool,
    /// Bytes that were left at first.
    whole: usize,
    steps: usize,
}

impl<'f, 's> Walk<'f, 's> {
    pub(super) fn new(
        stored: &'s Stored,
        input: &Decoder<'_>,
        frames: &'f mut Vec<WalkFrame<'s>>,
    ) -> Self {
        Self { stored, frames, checks_texts: true, whole: input.rest().len(), steps: 0 }
    }

    /// Takes a value of a node.
    fn all(
        mut self,
        node: usize,
        input: &mut Decoder<'_>,
        meet: &mut Meet<'_>,
    ) -> Result<(), Fail> {
        let mut next = Some(node);
        while let Some(node) = next {
            self.step(node, input, meet)?;
            next = self.next(input)?;
        }
        Ok(())
    }

    /// The node of the next part; values that have no more are closed.
    pub(super) fn next(&mut self, input: &Decoder<'_>) -> Result<Option<usize>, Fail> {
        while let Some(frame) = self.frames.last_mut() {
            // A hostile schema may have any number of parts without bytes.
            self.steps += 1;
            if self.steps > FREE_STEPS + STEPS_PER_BYTE * (self.whole - input.rest().len()) {
                return Err(Fail::Limit);
            }
            match frame.next() {
                Some(node) => return Ok(Some(node)),
                None => drop(self.frames.pop()),
            }
        }
        Ok(None)
    }

    /// Takes a value without parts, or opens one with parts.
    pub(super) fn step(
        &mut self,
        mut node: usize,
        input: &mut Decoder<'_>,
        meet: &mut Meet<'_>,
    ) -> Result<(), Fail> {
        let stored = self.stored;
        loop {
            let at = stored.node(node);
            let (kind, first, size) = (&at.kind, at.first(), at.size);
            if size.least == 0 {
                return Ok(());
            }
            if let Some(width) = size.width() {
                return input.take(width).map(drop);
            }
            match kind {
                KindSchema::Bool => drop(input.value::<bool>()?),
                KindSchema::Char => drop(input.value::<char>()?),
                KindSchema::Compact(integer) => drop(integer.count(input)?),
                KindSchema::Text => {
                    let text = text_bytes(input)?;
                    if self.checks_texts {
                        std::str::from_utf8(text).map_err(|_| Fail::Text)?;
                    }
                }
                KindSchema::Option(_) => {
                    if !input.value::<bool>()? {
                        return Ok(());
                    }
                    node = first;
                    continue;
                }
                KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Unknown => {
                    let count = count::decode(input)?;
                    let part = stored.node(first).size;
                    check_count(count, u64::from(part.least), input)?;
                    if let Some(width) = part.width() {
                        let count = usize::try_from(count).map_err(|_| Fail::Count)?;
                        let all = count.checked_mul(width).ok_or(Fail::Count)?;
                        return input.take(all).map(drop);
                    }
                    if !self.checks_texts && passes_all(first, count, stored, input) {
                        return Ok(());
                    }
                    if part.least > 0 {
                        self.frames.push(WalkFrame::Elements { node: first, next: 0, count });
                    }
                }
                KindSchema::Array(_, len) => {
                    self.frames.push(WalkFrame::Elements {
                        node: first,
                        next: 0,
                        count: *len as u64,
                    });
                }
                KindSchema::Map(_) => {
                    let count = count::decode(input)?;
                    let least = [first, first + 1].map(|part| stored.node(part).size.least);
                    let least = u64::from(least[0]) + u64::from(least[1]);
                    check_count(count, least, input)?;
                    if least > 0 {
                        self.frames.push(WalkFrame::Entries { key: first, next: 0, count });
                    }
                }
                KindSchema::Tuple(parts) => {
                    self.frames.push(WalkFrame::Parts { first, len: parts.len(), next: 0 });
                }
                KindSchema::Class(class) => {
                    let variant = match &stored[*class].form {
                        Form::Struct(_) => 0,
                        form @ Form::Enum(variants) => {
                            let tag = tag(form, input)?;
                            Some(tag).filter(|tag| *tag < variants.len()).ok_or(Fail::Value)?
                        }
                        Form::Value(_) => {
                            node = stored.first(*class, 0);
                            continue;
                        }
                    };
                    let fields = stored.fields(*class, variant);
                    let first = stored.first(*class, variant);
                    self.frames.push(WalkFrame::Fields { fields, first, next: 0 });
                }
                KindSchema::Dynamic(_) => {
                    let before = input.rest().len();
                    let class = dynamic(stored, input)?;
                    if !meet(LocalValue::Class(class), before, input.rest().len()) {
                        return Err(Fail::Value);
                    }
                    node = stored.root(class);
                    continue;
                }
                KindSchema::Handle(arena) => {
                    let before = input.rest();
                    let (state, bits) = (input.value::<u8>()?, input.value::<u64>()?);
                    let is_good = match state {
                        0 => bits == 0,
                        1 => meet(
                            LocalValue::Handle { arena, bits },
                            before.len(),
                            input.rest().len(),
                        ),
                        _ => state == 2,
                    };
                    if !is_good {
                        input.go_back(before);
                        return Err(Fail::Value);
                    }
                }
                KindSchema::Reference { holder, weak, .. }
                | KindSchema::TraitReference { holder, weak, .. } => {
                    let before = input.rest();
                    let class = match kind {
                        KindSchema::Reference { class, .. } => Some(*class),
                        _ => None,
                    };
                    let (id, weak, holder) = (count::decode(input)?, *weak, *holder);
                    let met = LocalValue::Reference { id, weak, class, holder };
                    if !meet(met, before.len(), input.rest().len()) {
                        input.go_back(before);
                        return Err(Fail::Value);
                    }
                }
                // It has a width.
                _ => {}
            }
            return Ok(());
        }
    }
}

/// Reads which class the value of a trait object is of.
pub(super) fn dynamic(stored: &Stored, input: &mut Decoder<'_>) -> Result<usize, Fail> {
    let number = input.count()?;
    number.checked_sub(1).filter(|class| *class < stored.len()).ok_or(Fail::Value)
}

/// Reads which variant of an enum follows.
pub(super) fn tag(form: &Form, input: &mut Decoder<'_>) -> Result<usize, Fail> {
    if form.tag_width() == 2 {
        input.value::<u16>().map(usize::from)
    } else {
        input.value::<u8>().map(usize::from)
    }
}

/// Checks that the bytes can hold `count` elements of at least `least` bytes
/// each; for elements without bytes, checks the limit.
pub(super) fn check_count(count: u64, least: u64, input: &Decoder<'_>) -> Result<(), Fail> {
    match (input.rest().len() as u64).checked_div(least) {
        Some(most) if count > most => Err(Fail::Count),
        None if count > input.limits().empty_elements as u64 => Err(Fail::Limit),
        _ => Ok(()),
    }
}

/// Passes over `count` elements, if they are flat; else false, and nothing is taken.
fn passes_all(node: usize, count: u64, stored: &Stored, input: &mut Decoder<'_>) -> bool {
    let bytes = input.rest();
    let length = (0..count).try_fold(0_usize, |length, _| {
        length.checked_add(stored.length(node, bytes.get(length..)?)?)
    });
    length.is_some_and(|length| input.take(length).is_ok())
}

/// What is being walked through, the next part counted on from the first: kinds by their nodes, or what becomes of
/// them by their conversions.
pub(super) enum WalkFrame<'s> {
    /// A part without a name; taken when it is walked.
    One(Option<usize>),
    Fields {
        fields: &'s [FieldSchema],
        first: usize,
        next: u32,
    },
    Parts {
        first: usize,
        len: usize,
        next: usize,
    },
    Elements {
        node: usize,
        next: u64,
        count: u64,
    },
    Entries {
        key: usize,
        next: u64,
        count: u64,
    },
}

impl WalkFrame<'_> {
    /// The node of the next part.
    pub(super) fn next(&mut self) -> Option<usize> {
        match self {
            Self::One(part) => part.take(),
            Self::Fields { fields, first, next } => {
                let i = *next as usize;
                // A definition has fewer bytes, hence fewer fields.
                *next += 1;
                (i < fields.len()).then_some(*first + i)
            }
            Self::Parts { first, len, next } => {
                *next += 1;
                (*next <= *len).then_some(*first + *next - 1)
            }
            Self::Elements { node, next, count } => {
                *next += 1;
                (*next <= *count).then_some(*node)
            }
            Self::Entries { key, next, count } => {
                *next += 1;
                let part = if *next % 2 == 1 { *key } else { *key + 1 };
                (*next <= count.saturating_mul(2)).then_some(part)
            }
        }
    }

    /// Adds the part that is being walked to a path.
    pub(super) fn name(&self, path: &mut String) {
        // Writing to a `String` cannot fail.
        let _ = match self {
            Self::One(_) => Ok(()),
            Self::Fields { fields, next, .. } => {
                let field = (*next as usize).checked_sub(1).and_then(|next| fields.get(next));
                return push_name(field.map_or("", |field| &field.name), path);
            }
            Self::Parts { next, .. } => {
                return push_name(&next.saturating_sub(1).to_string(), path);
            }
            Self::Elements { next, .. } => write!(path, "[{}]", next.saturating_sub(1)),
            Self::Entries { next, .. } if next % 2 == 1 => write!(path, "[{}].key", (next - 1) / 2),
            Self::Entries { next, .. } => write!(path, "[{}]", next.saturating_sub(1) / 2),
        };
    }
}

/// Adds the name of a field to a path.
pub(super) fn push_name(name: &str, path: &mut String) {
    if !path.is_empty() && !name.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Bytes of a path that is made; an error keeps fewer.
pub(super) const LONGEST_PATH: usize = 1000;

/// The path of the part that is being walked.
pub(super) fn path<'f, 's: 'f>(frames: impl IntoIterator<Item = &'f WalkFrame<'s>>) -> String {
    let mut path = String::new();
    for frame in frames {
        if path.len() <= LONGEST_PATH {
            frame.name(&mut path);
        }
    }
    path
}
