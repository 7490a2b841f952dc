//! Walks over the bytes of a value by its schema, without its type.
//!
//! With an explicit stack: neither deep values nor deep schemas can exhaust
//! the thread's.

use super::frames::{Behind, Frame, path};
use super::layout::Shape;
use super::{Alone, Form, Stored};
use crate::codec::{Decoder, Fail, NoLinks, count, left_over};
use crate::env::Env;
use crate::reflect::Holder;
use crate::{Error, ErrorKind, Limits, Result};

/// Parts that a walk may meet without coming further, and for each byte.
const FREE_STEPS: usize = 256;
const STEPS_PER_BYTE: usize = 64;

/// What a walk meets that means something in one save only.
pub(crate) enum Met<'s> {
    /// The id of an object; of a class, or of any.
    Reference { id: u64, weak: bool, class: Option<usize>, holder: Holder },
    /// A live handle into an arena.
    Handle { arena: &'s str, bits: u64 },
    /// The index of a class whose value follows.
    Class(usize),
}

/// Called with what a walk meets, and how many bytes were left before and after it;
/// says whether it may be there.
pub(crate) type Meet<'t> = dyn FnMut(Met<'_>, usize, usize) -> bool + 't;

/// Takes a value of this kind from the input and checks its bytes but for texts; where it
/// fails, the frames say in which part.
pub(super) fn skip<'s>(
    node: usize,
    stored: &'s Stored,
    input: &mut Decoder<'_>,
    frames: &mut Vec<Frame<'s>>,
) -> Result<(), Fail> {
    if let Some(pass) = stored.passes.pass(node, stored) {
        let before = input.rest();
        if stored.passes.over(pass, input).is_ok() {
            return Ok(());
        }
        // The way with frames says where it fails.
        input.go_back(before);
    }
    // What is taken over is checked by the decoder.
    walk(node, stored, input, frames, &mut Visit::new(&mut |_, _, _| true).without_texts())
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
        let visit = &mut Visit::new(&mut *meet);
        walk(node, stored, &mut input, &mut Vec::new(), visit).map_err(fault)?;
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
    let visit = &mut Visit::new(meet);
    let result = walk(stored.root(class), stored, &mut input, &mut frames, visit);
    let left = input.rest().len();
    let error = match result {
        Err(fail) => fault(fail),
        Ok(()) if left > 0 => left_behind(left),
        Ok(()) => return None,
    };
    Some((error.in_field(&path(&frames)), payload.len() - left))
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

/// What a walk does on its way.
pub(super) struct Visit<'v, 't> {
    meet: &'v mut Meet<'t>,
    /// True if texts are checked.
    texts: bool,
    /// Called with the frames after each step.
    behind: Option<&'v mut Behind<'t>>,
}

impl<'v, 't> Visit<'v, 't> {
    fn new(meet: &'v mut Meet<'t>) -> Self {
        Self { meet, texts: true, behind: None }
    }

    fn without_texts(self) -> Self {
        Self { texts: false, ..self }
    }

    pub(super) fn showing(meet: &'v mut Meet<'t>, behind: &'v mut Behind<'t>) -> Self {
        Self { behind: Some(behind), ..Self::new(meet) }
    }
}

pub(super) fn walk<'s>(
    node: usize,
    stored: &'s Stored,
    input: &mut Decoder<'_>,
    frames: &mut Vec<Frame<'s>>,
    visit: &mut Visit<'_, '_>,
) -> Result<(), Fail> {
    let whole = input.rest().len();
    let mut steps = 0;
    step(node, stored, input, frames, visit)?;
    while let Some(frame) = frames.last_mut() {
        match frame.next() {
            Some(node) => step(node, stored, input, frames, visit)?,
            None => drop(frames.pop()),
        }
        if let Some(behind) = &mut visit.behind {
            behind(frames);
        }
        // A hostile schema may have any number of parts without bytes.
        steps += 1;
        if steps > FREE_STEPS + STEPS_PER_BYTE * (whole - input.rest().len()) {
            return Err(Fail::Limit);
        }
    }
    Ok(())
}

/// Takes a value without parts, or opens one with parts.
fn step<'s>(
    mut node: usize,
    stored: &'s Stored,
    input: &mut Decoder<'_>,
    frames: &mut Vec<Frame<'s>>,
    visit: &mut Visit<'_, '_>,
) -> Result<(), Fail> {
    loop {
        if stored.node(node).least == 0 {
            return Ok(());
        }
        if let Some(width) = stored.node(node).width() {
            return input.take(width).map(drop);
        }
        match stored.node(node).shape {
            // It has a width.
            Shape::Bytes => {}
            Shape::Bool => drop(input.value::<bool>()?),
            Shape::Char => drop(input.value::<char>()?),
            Shape::Compact(integer) => drop(integer.count(input)?),
            Shape::Text => {
                let length = input.count()?;
                if length > input.rest().len() {
                    return Err(Fail::Count);
                }
                if length as u64 > count::SHORT && length > input.limits().text {
                    return Err(Fail::Limit);
                }
                let text = input.take(length)?;
                if visit.texts {
                    std::str::from_utf8(text).map_err(|_| Fail::Text)?;
                }
            }
            Shape::Option(inner) => {
                if !input.value::<bool>()? {
                    return Ok(());
                }
                node = inner;
                continue;
            }
            Shape::List(inner) => {
                let count = count::decode(input)?;
                check_count(count, u64::from(stored.node(inner).least), input)?;
                if let Some(width) = stored.node(inner).width() {
                    return many(width, count, input);
                }
                if !visit.texts && passes_all(inner, count, stored, input) {
                    return Ok(());
                }
                if stored.node(inner).least > 0 {
                    frames.push(Frame::Elements { node: inner, next: 0, count });
                }
            }
            Shape::Array(inner, len) => {
                frames.push(Frame::Elements { node: inner, next: 0, count: len as u64 });
            }
            Shape::Map(key) => {
                let count = count::decode(input)?;
                let least = [key, key + 1].map(|part| u64::from(stored.node(part).least));
                check_count(count, least[0] + least[1], input)?;
                if least[0] + least[1] > 0 {
                    frames.push(Frame::Entries { key, next: 0, count });
                }
            }
            Shape::Tuple { first, len } => frames.push(Frame::Parts { first, len, next: 0 }),
            Shape::Class(class) => {
                let (variant, fields) = match &stored[class].form {
                    Form::Struct(fields) => (0, fields),
                    Form::Enum(variants) => {
                        let tag = tag(&stored[class].form, input)?;
                        (tag, &variants.get(tag).ok_or(Fail::Value)?.fields)
                    }
                    Form::Value(_) => {
                        node = stored.first(class, 0);
                        continue;
                    }
                };
                let first = stored.first(class, variant);
                frames.push(Frame::Fields { fields, first, next: 0 });
            }
            Shape::Dynamic => {
                let before = input.rest().len();
                let class = dynamic(stored, input)?;
                if !(visit.meet)(Met::Class(class), before, input.rest().len()) {
                    return Err(Fail::Value);
                }
                node = stored.root(class);
                continue;
            }
            Shape::Handle(arena) => {
                let before = input.rest();
                let (state, bits) = (input.value::<u8>()?, input.value::<u64>()?);
                let good = match state {
                    0 => bits == 0,
                    1 => {
                        let arena = stored.arena(arena);
                        (visit.meet)(Met::Handle { arena, bits }, before.len(), input.rest().len())
                    }
                    _ => state == 2,
                };
                if !good {
                    input.go_back(before);
                    return Err(Fail::Value);
                }
            }
            Shape::Reference { weak, holder, class } => {
                let before = input.rest();
                let id = count::decode(input)?;
                let met = Met::Reference { id, weak, class, holder };
                if !(visit.meet)(met, before.len(), input.rest().len()) {
                    input.go_back(before);
                    return Err(Fail::Value);
                }
            }
        }
        return Ok(());
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

/// Takes elements of a fixed width.
fn many(width: usize, count: u64, input: &mut Decoder<'_>) -> Result<(), Fail> {
    let count = usize::try_from(count).map_err(|_| Fail::Count)?;
    input.take(count.checked_mul(width).ok_or(Fail::Count)?).map(drop)
}

/// Passes over `count` elements, if they are flat; else false, and nothing is taken.
fn passes_all(node: usize, count: u64, stored: &Stored, input: &mut Decoder<'_>) -> bool {
    let Some(pass) = stored.passes.pass(node, stored) else { return false };
    let before = input.rest();
    let passed = (0..count).try_for_each(|_| stored.passes.over(pass, input)).is_ok();
    if !passed {
        input.go_back(before);
    }
    passed
}
