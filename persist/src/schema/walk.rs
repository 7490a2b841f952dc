//! Walks over the bytes of a value by its schema, without its type.
//!
//! With an explicit stack: neither deep values nor deep schemas can exhaust
//! the thread's.

use std::fmt::Write;

use super::{ClassSchema, FieldSchema, Form, KindSchema};
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::reflect::Holder;
use crate::{Error, Limits};

/// What is being walked through, innermost last.
enum Frame<'s> {
    Fields { fields: &'s [FieldSchema], next: usize },
    Parts { parts: &'s [KindSchema], next: usize },
    Elements { kind: &'s KindSchema, next: u64, count: u64 },
    Entries { parts: &'s (KindSchema, KindSchema), next: u64, count: u64 },
}

impl<'s> Frame<'s> {
    fn next(&mut self) -> Option<&'s KindSchema> {
        match self {
            Self::Fields { fields, next } => {
                *next += 1;
                fields.get(*next - 1).map(|field| &field.kind)
            }
            Self::Parts { parts, next } => {
                *next += 1;
                parts.get(*next - 1)
            }
            Self::Elements { kind, next, count } => {
                *next += 1;
                (*next <= *count).then_some(*kind)
            }
            Self::Entries { parts, next, count } => {
                *next += 1;
                let part = if *next % 2 == 1 { &parts.0 } else { &parts.1 };
                (*next <= count.saturating_mul(2)).then_some(part)
            }
        }
    }

    /// Adds the part that is being walked to a path.
    fn name(&self, path: &mut String) {
        // Writing to a `String` cannot fail.
        let _ = match self {
            Self::Fields { fields, next } => {
                let dot = if path.is_empty() { "" } else { "." };
                let name = fields.get(next - 1).map_or("", |field| &field.name);
                write!(path, "{dot}{name}")
            }
            Self::Parts { next, .. } => {
                let dot = if path.is_empty() { "" } else { "." };
                write!(path, "{dot}{}", next - 1)
            }
            Self::Elements { next, .. } => write!(path, "[{}]", next - 1),
            Self::Entries { next, .. } if next % 2 == 1 => write!(path, "[{}].key", (next - 1) / 2),
            Self::Entries { next, .. } => write!(path, "[{}]", (next - 1) / 2),
        };
    }
}

/// Parts that a walk may meet without coming further, and for each byte.
const FREE_STEPS: usize = 256;
const STEPS_PER_BYTE: usize = 64;

/// Whether an id, of a reference that may be weak, names an object of a class in
/// a holder.
pub(crate) type IsTarget<'t> = dyn Fn(u64, bool, usize, Holder) -> bool + 't;

/// Takes a value of this kind from the input and checks its bytes.
pub(crate) fn skip(
    kind: &KindSchema,
    classes: &[ClassSchema],
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    if let Some(width) = kind.free_width() {
        return input.take(width).map(drop);
    }
    walk(kind, classes, input, &mut Vec::new(), &|_, _, _, _| true)
}

/// Finds the fault in the payload of a record, if the schema shows it: what,
/// how far in, and in which field.
///
/// `is_target` says whether an id is that of an object of the class in the
/// holder, or of none where the reference is weak.
pub(crate) fn locate(
    class: usize,
    classes: &[ClassSchema],
    payload: &[u8],
    limits: &Limits,
    is_target: &IsTarget<'_>,
) -> Option<(Error, usize)> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(payload, limits, &mut links);
    let root = KindSchema::Class(class);
    let mut frames = Vec::new();
    let result = walk(&root, classes, &mut input, &mut frames, is_target);
    let left = input.rest().len();
    let fail = match result {
        Err(fail) => fail,
        Ok(()) if left > 0 => Fail::Count,
        Ok(()) => return None,
    };
    let mut path = String::new();
    frames.iter().for_each(|frame| frame.name(&mut path));
    Some((Error::from(fail).in_field(&path), payload.len() - left))
}

fn walk<'s>(
    kind: &'s KindSchema,
    classes: &'s [ClassSchema],
    input: &mut Decoder<'_>,
    frames: &mut Vec<Frame<'s>>,
    is_target: &IsTarget<'_>,
) -> Result<(), Fail> {
    let whole = input.rest().len();
    let mut steps = 0;
    step(kind, classes, input, frames, is_target)?;
    while let Some(frame) = frames.last_mut() {
        match frame.next() {
            Some(kind) => step(kind, classes, input, frames, is_target)?,
            None => drop(frames.pop()),
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
    mut kind: &'s KindSchema,
    classes: &'s [ClassSchema],
    input: &mut Decoder<'_>,
    frames: &mut Vec<Frame<'s>>,
    is_target: &IsTarget<'_>,
) -> Result<(), Fail> {
    loop {
        if let Some(width) = kind.free_width() {
            return input.take(width).map(drop);
        }
        match kind {
            KindSchema::Bool => drop(input.value::<bool>()?),
            KindSchema::Char => drop(input.value::<char>()?),
            KindSchema::Text => {
                let length = input.count()?;
                if length as u64 > count::SHORT && length > input.limits().text {
                    return Err(Fail::Limit);
                }
                std::str::from_utf8(input.take(length)?).map_err(|_| Fail::Text)?;
            }
            KindSchema::Option(inner) => {
                if !input.value::<bool>()? {
                    return Ok(());
                }
                kind = inner;
                continue;
            }
            KindSchema::List(inner) | KindSchema::Set(inner) => {
                let count = count::decode(input)?;
                elements(inner, count, classes, input, frames)?;
            }
            KindSchema::Array(inner, len) => elements(inner, *len as u64, classes, input, frames)?,
            KindSchema::Map(parts) => {
                let count = count::decode(input)?;
                if parts.0.is_empty(classes) && parts.1.is_empty(classes) {
                    return check_empty(count, input);
                }
                frames.push(Frame::Entries { parts, next: 0, count });
            }
            KindSchema::Tuple(parts) => frames.push(Frame::Parts { parts, next: 0 }),
            KindSchema::Class(class) if classes[*class].empty => {}
            KindSchema::Class(class) => match &classes[*class].form {
                Form::Struct(fields) => frames.push(Frame::Fields { fields, next: 0 }),
                Form::Enum(variants) => {
                    let tag = if classes[*class].form.tag_width() == 1 {
                        usize::from(input.value::<u8>()?)
                    } else {
                        usize::from(input.value::<u16>()?)
                    };
                    let fields = &variants.get(tag).ok_or(Fail::Value)?.fields;
                    frames.push(Frame::Fields { fields, next: 0 });
                }
                Form::Value(inner) => {
                    kind = inner;
                    continue;
                }
            },
            KindSchema::Reference { weak, holder, class } => {
                let before = input.rest();
                let id = count::decode(input)?;
                if !(id == 0 && *weak || is_target(id, *weak, *class, *holder)) {
                    input.go_back(before);
                    return Err(Fail::Value);
                }
            }
            // The rest have a free width.
            _ => {}
        }
        return Ok(());
    }
}

fn elements<'s>(
    kind: &'s KindSchema,
    count: u64,
    classes: &[ClassSchema],
    input: &mut Decoder<'_>,
    frames: &mut Vec<Frame<'s>>,
) -> Result<(), Fail> {
    if let Some(width) = kind.free_width().filter(|width| *width > 0) {
        let count = usize::try_from(count).map_err(|_| Fail::Count)?;
        return input.take(count.checked_mul(width).ok_or(Fail::Count)?).map(drop);
    }
    if kind.is_empty(classes) {
        return check_empty(count, input);
    }
    if count > input.rest().len() as u64 {
        return Err(Fail::Count);
    }
    frames.push(Frame::Elements { kind, next: 0, count });
    Ok(())
}

fn check_empty(count: u64, input: &Decoder<'_>) -> Result<(), Fail> {
    if count > input.limits().empty_elements as u64 { Err(Fail::Limit) } else { Ok(()) }
}
