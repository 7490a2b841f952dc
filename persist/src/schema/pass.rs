//! How values are passed over that nobody looks at: without a stack, where they have no
//! deep parts.

use super::layout::Shape;
use super::order::inner_first;
use super::{Form, Stored};
use crate::codec::{Decoder, Fail, count};

/// The bytes of a value that the decoder looks at later.
#[derive(Clone, Copy)]
pub(super) enum Pass {
    Fixed(usize),
    /// A compact integer.
    Count,
    Text,
    /// An option of one of a fixed width.
    Maybe(usize),
    MaybeText,
    /// A list of those.
    Many(usize),
    Texts,
    /// The fields of a struct.
    Flat(usize),
}

/// What is known of the classes of a save.
#[derive(Default)]
pub(super) struct Passes {
    /// The bytes of every value of a class, if all have as many.
    widths: Vec<Option<usize>>,
    /// How the fields of a struct are passed over.
    flat: Vec<Option<Box<[Pass]>>>,
    /// How many steps that takes, with those of the structs inside.
    steps: Vec<usize>,
}

/// More steps than this no struct takes that is passed over without a stack: a hostile save may nest
/// any number.
const STEPS: usize = 64;

/// The longest text whose length is one byte.
const SHORT: u8 = 247;

impl Pass {
    /// The bytes of a value that these begin with; `None` if it is long or there are fewer, and for
    /// structs.
    #[inline]
    pub(super) fn length(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Fixed(width) => Some(width),
            Self::Count => Some(1 + usize::from(bytes.first()?.saturating_sub(SHORT))),
            Self::Text => text_length(bytes),
            Self::Maybe(width) => match bytes.first()? {
                0 => Some(1),
                1 => width.checked_add(1),
                _ => None,
            },
            Self::MaybeText => match bytes.split_first()? {
                (0, _) => Some(1),
                (1, text) => Some(1 + text_length(text)?),
                _ => None,
            },
            Self::Many(width) => {
                let count = *bytes.first().filter(|count| **count <= SHORT)?;
                width.checked_mul(usize::from(count))?.checked_add(1)
            }
            Self::Texts => {
                let count = *bytes.first().filter(|count| **count <= SHORT)?;
                let mut length = 1;
                for _ in 0..count {
                    length += text_length(bytes.get(length..)?)?;
                }
                Some(length)
            }
            Self::Flat(_) => None,
        }
    }
}

#[inline]
fn text_length(bytes: &[u8]) -> Option<usize> {
    let head = *bytes.first().filter(|head| **head <= SHORT)?;
    Some(1 + usize::from(head))
}

/// Parts of a tuple that are looked at.
const SHORT_TUPLE: usize = 16;

impl Passes {
    pub(super) fn of(stored: &Stored) -> Self {
        let mut this = Self {
            widths: vec![None; stored.len()],
            flat: vec![None; stored.len()],
            steps: vec![0; stored.len()],
        };
        // A class comes behind those that it holds, so that none holds itself.
        for class in inner_first(stored).unwrap_or_default() {
            match &stored[class].form {
                Form::Struct(fields) => {
                    let first = stored.first(class, 0);
                    let nodes = first..first + fields.len();
                    this.widths[class] = nodes
                        .clone()
                        .try_fold(0_usize, |sum, node| sum.checked_add(this.width(node, stored)?));
                    let passes =
                        nodes.map(|node| this.pass(node, stored)).collect::<Option<Vec<_>>>();
                    let passes = passes.map(joined);
                    let steps = passes.iter().flatten().fold(1_usize, |sum, pass| match pass {
                        Pass::Flat(inner) => sum.saturating_add(this.steps[*inner]),
                        _ => sum.saturating_add(1),
                    });
                    this.steps[class] = steps;
                    this.flat[class] = passes.filter(|_| steps <= STEPS);
                }
                Form::Enum(variants) => {
                    let is_flat = variants.iter().all(|variant| variant.fields.is_empty());
                    this.widths[class] = is_flat.then(|| stored[class].form.tag_width());
                }
                Form::Value(_) => this.widths[class] = this.width(stored.first(class, 0), stored),
            }
        }
        this
    }

    /// The bytes of every value of a node.
    fn width(&self, node: usize, stored: &Stored) -> Option<usize> {
        let laid = stored.node(node);
        match laid.shape {
            _ if laid.width().is_some() => laid.width(),
            Shape::Bool => Some(1),
            Shape::Char => Some(4),
            Shape::Handle(_) => Some(9),
            Shape::Array(part, len) => self.part_width(part, stored)?.checked_mul(len),
            // It is asked for each list: of long tuples only numbers are known.
            Shape::Tuple { first, len } if len <= SHORT_TUPLE => (first..first + len)
                .try_fold(0_usize, |sum, node| sum.checked_add(self.part_width(node, stored)?)),
            Shape::Class(class) => self.widths[class],
            _ => None,
        }
    }

    /// The width of a part that has no parts but numbers.
    fn part_width(&self, node: usize, stored: &Stored) -> Option<usize> {
        let laid = stored.node(node);
        match laid.shape {
            Shape::Array(..) | Shape::Tuple { .. } => laid.width(),
            _ => self.width(node, stored),
        }
    }

    /// How the values of a node are passed over.
    pub(super) fn pass(&self, node: usize, stored: &Stored) -> Option<Pass> {
        if let Some(width) = self.width(node, stored) {
            return Some(Pass::Fixed(width));
        }
        let is_text = |node: usize| matches!(stored.node(node).shape, Shape::Text);
        match stored.node(node).shape {
            Shape::Text => Some(Pass::Text),
            Shape::Compact(_) => Some(Pass::Count),
            Shape::Option(part) if is_text(part) => Some(Pass::MaybeText),
            Shape::Option(part) => self.width(part, stored).map(Pass::Maybe),
            Shape::List(part) if is_text(part) => Some(Pass::Texts),
            // Of elements without bytes there may be any number.
            Shape::List(part) => {
                self.width(part, stored).filter(|width| *width > 0).map(Pass::Many)
            }
            Shape::Class(class) if self.flat[class].is_some() => Some(Pass::Flat(class)),
            _ => None,
        }
    }

    /// How the values of neighbouring nodes are passed over, if all are.
    pub(super) fn all(
        &self,
        mut nodes: std::ops::Range<usize>,
        stored: &Stored,
    ) -> Option<Box<[Pass]>> {
        let passes = nodes.try_fold(Vec::new(), |mut passes, node| {
            passes.push(self.pass(node, stored)?);
            Some(passes)
        });
        passes.map(joined)
    }

    /// Passes over a value.
    pub(super) fn over(&self, pass: Pass, input: &mut Decoder<'_>) -> Result<(), Fail> {
        match pass {
            Pass::Fixed(width) => input.take(width).map(drop),
            Pass::Count => count::decode(input).map(drop),
            Pass::Text => text(input),
            Pass::Maybe(width) => {
                if input.value::<bool>()? {
                    input.take(width).map(drop)
                } else {
                    Ok(())
                }
            }
            Pass::MaybeText => {
                if input.value::<bool>()? {
                    text(input)
                } else {
                    Ok(())
                }
            }
            Pass::Many(width) => {
                let count = input.count()?;
                input.take(count.checked_mul(width).ok_or(Fail::Count)?).map(drop)
            }
            Pass::Texts => {
                let count = input.count()?;
                if count > input.rest().len() {
                    return Err(Fail::Count);
                }
                (0..count).try_for_each(|_| text(input))
            }
            Pass::Flat(class) => {
                let passes = self.flat[class].as_deref().unwrap_or_default();
                passes.iter().try_for_each(|pass| self.over(*pass, input))
            }
        }
    }
}

fn text(input: &mut Decoder<'_>) -> Result<(), Fail> {
    let length = input.count()?;
    if length as u64 > count::SHORT && length > input.limits().text {
        return Err(Fail::Limit);
    }
    input.take(length).map(drop)
}

/// Neighbours of a fixed width as one.
fn joined(passes: Vec<Pass>) -> Box<[Pass]> {
    let mut joined: Vec<Pass> = Vec::new();
    for pass in passes {
        match (joined.last_mut(), pass) {
            (Some(Pass::Fixed(sum)), Pass::Fixed(width)) => *sum = sum.saturating_add(width),
            _ => joined.push(pass),
        }
    }
    joined.into()
}
