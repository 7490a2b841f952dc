//! Rewrites a record of the save into the form of the program's class.
//!
//! Bytes to bytes: nothing generic is compiled twice, the typed decoder reads one
//! form only. With an explicit stack, as deep values are.

mod fields;
mod flat;
mod leaf;
mod member;
mod named;
mod open;

use std::ops::Range;

use self::fields::{Piece, Record};
use self::named::Named;
use super::frames::{self, LONGEST_PATH, push_name};
use super::walk::left_behind;
use super::{Form, Plans, Stored};
use crate::Result;
use crate::codec::{Buffer, Decoder, NoLinks};
use crate::env::Env;
use crate::reflect::Holder;

/// A record of the save.
pub(crate) struct Source<'s> {
    /// Index of its class in the save.
    pub(crate) class: usize,
    pub(crate) id: u64,
    pub(crate) payload: &'s [u8],
    /// What a program kept of the object: the class of each value, and its bytes.
    pub(crate) kept: &'s [(usize, &'s [u8])],
}

/// What a record leaves besides its payload.
#[derive(Default)]
pub(crate) struct Rest {
    /// Values that are kept of the object: the class of each, and where it is.
    pub(crate) kept: Vec<(usize, KeptPlace)>,
    /// Values that are objects of their own now.
    pub(crate) shared: Vec<SharedValue>,
}

/// Where a value that is kept of an object lies.
pub(crate) enum KeptPlace {
    /// In the payload of its record.
    Payload(Range<usize>),
    /// It is the one of this index of what was kept before.
    Kept(usize),
}

/// A value that has become an object.
pub(crate) struct SharedValue {
    pub(crate) id: u64,
    /// The program's class.
    pub(crate) class: usize,
    pub(crate) holder: Holder,
    pub(crate) payload: Vec<u8>,
}

/// An object that has become a value: its payload, and what a program kept of it.
pub(crate) struct Found<'s> {
    pub(crate) payload: &'s [u8],
    pub(crate) kept: Keeps<'s>,
}

/// Values that are kept of an object: the class of each, and its bytes.
pub(crate) type Keeps<'s> = Vec<(usize, &'s [u8])>;

/// Finds an object by its id, class and holder.
pub(crate) type Objects<'s> = dyn Fn(u64, usize, Holder) -> Option<Found<'s>> + 's;

/// Appends the payload of a record in the program's form; values that become objects
/// have ids from `next_id` on.
pub(crate) fn transcode<'s>(
    plans: &mut Plans<'_>,
    source: &Source<'s>,
    objects: &Objects<'s>,
    next_id: &mut u64,
    env: &Env<'_>,
    out: &mut Vec<u8>,
) -> Result<Rest> {
    let stored = plans.stored.clone();
    let payload = source.payload;
    let mut links = NoLinks::default();
    let start = out.len();
    plans.before += payload.len() as u64;
    let most = (u64::from(env.limits.depth) + 1).saturating_mul(plans.program.classes.len() as u64);
    let mut run = Transcoder {
        plans,
        stored: &stored,
        id: source.id,
        env,
        objects,
        bare: matches!(stored[source.class].form, Form::Value(_)),
        length: payload.len(),
        input: Decoder::new(payload, env, &mut links),
        out,
        start,
        skipped: Vec::new(),
        records: 0,
        most,
        pieces: Vec::new(),
        ordered: Vec::new(),
        defaults: Buffer::new(),
        kept: Vec::new(),
        inlined: vec![source.id],
        next_id,
        rest: Rest::default(),
        shared_bytes: 0,
    };
    let mut frames = Vec::new();
    let result = run.record(source, &mut frames).and_then(|()| run.go_on(&mut frames));
    let left = run.input.rest().len();
    let error = match result {
        Ok(()) if left == 0 => {
            let rest = run.rest;
            plans.after += (out.len() - start) as u64;
            return Ok(rest);
        }
        Ok(()) => left_behind(left),
        Err(error) => error.in_field(&path(&frames, &run.skipped)),
    };
    if run.inlined.len() > 1 || frames.iter().any(|frame| matches!(frame, Frame::Named(_))) {
        // It is in another record, or in a part of this one.
        return Err(error);
    }
    Err(error.at(payload.len().saturating_sub(left) as u64))
}

struct Transcoder<'t, 's, 'p> {
    plans: &'t mut Plans<'p>,
    stored: &'t Stored,
    id: u64,
    env: &'t Env<'t>,
    objects: &'t Objects<'s>,
    /// True in a bare value, whose parts have no ids to be kept by.
    bare: bool,
    /// Bytes of the record.
    length: usize,
    input: Decoder<'t>,
    out: &'t mut Vec<u8>,
    /// Where the output begins.
    start: usize,
    /// Where a walk over a value that is not rewritten failed.
    skipped: Vec<frames::Frame<'t>>,
    /// How many frames are records, and how many may be: a class holds another of itself
    /// only through levels that the codec counts, and it would refuse more of those.
    records: u64,
    most: u64,
    /// What the fields of the open records that are out of order have become; those of one
    /// that are put in order.
    pieces: Vec<Piece<'t>>,
    ordered: Vec<u8>,
    defaults: Buffer,
    /// What the open records have that goes into a field of theirs for what is unknown.
    kept: Vec<(usize, &'t [u8])>,
    /// The object, and those in it that are values now.
    inlined: Vec<u64>,
    next_id: &'t mut u64,
    rest: Rest,
    /// Bytes of the values that are objects now.
    shared_bytes: usize,
}

/// What is being rewritten, innermost last.
enum Frame<'t> {
    Record(Record<'t>),
    Named(Named<'t>),
    /// Elements of one conversion.
    Elements {
        of: usize,
        next: u64,
        count: u64,
    },
    /// Keys and values by turns.
    Entries {
        key: usize,
        value: usize,
        next: u64,
        count: u64,
    },
    /// Parts of a tuple, by their places in the list of parts.
    Parts {
        first: usize,
        len: usize,
        next: usize,
    },
    /// An object that is a value now, and where to continue after its reference.
    Inlined {
        behind: &'t [u8],
    },
    /// A value that is an object now, and where its bytes begin.
    Shared {
        class: usize,
        holder: Holder,
        start: usize,
    },
    /// An array of `from` elements, whose end is that of the default of this field.
    Longer {
        from: usize,
        class: usize,
        variant: usize,
        field: usize,
    },
    /// A value for the `convert` of a field, and where its bytes begin.
    Typed {
        class: usize,
        variant: usize,
        field: usize,
        start: usize,
    },
}

/// The field that is being worked on.
fn path(frames: &[Frame<'_>], skipped: &[frames::Frame<'_>]) -> String {
    use std::fmt::Write;

    let mut path = String::new();
    for frame in frames {
        // Writing to a `String` cannot fail.
        let _ = match frame {
            _ if path.len() > LONGEST_PATH => Ok(()),
            Frame::Record(record) => {
                push_name(record.field_name(), &mut path);
                Ok(())
            }
            Frame::Named(named) => {
                push_name(named.field_name(), &mut path);
                Ok(())
            }
            Frame::Elements { next, .. } => write!(path, "[{}]", next.saturating_sub(1)),
            Frame::Entries { next, .. } if next % 2 == 1 => {
                write!(path, "[{}].key", (next - 1) / 2)
            }
            Frame::Entries { next, .. } => write!(path, "[{}]", next.saturating_sub(1) / 2),
            Frame::Parts { next, .. } => {
                push_name(&next.saturating_sub(1).to_string(), &mut path);
                Ok(())
            }
            Frame::Inlined { .. }
            | Frame::Shared { .. }
            | Frame::Longer { .. }
            | Frame::Typed { .. } => Ok(()),
        };
    }
    for frame in skipped {
        if path.len() <= LONGEST_PATH {
            frame.name(&mut path);
        }
    }
    path
}

impl<'t, 's: 't> Transcoder<'t, 's, '_> {
    fn go_on(&mut self, frames: &mut Vec<Frame<'t>>) -> Result<()> {
        while let Some(frame) = frames.last_mut() {
            match self.next(frame)? {
                Some(conversion) => self.open(conversion, frames)?,
                None => drop(frames.pop()),
            }
        }
        Ok(())
    }

    /// The conversion of the next part, or the end of what the frame is for.
    fn next(&mut self, frame: &mut Frame<'t>) -> Result<Option<usize>> {
        Ok(match frame {
            Frame::Record(record) => return self.advance(record),
            Frame::Named(named) => return self.advance_named(named),
            Frame::Elements { of, next, count } => {
                *next += 1;
                (*next <= *count).then_some(*of)
            }
            Frame::Entries { key, value, next, count } => {
                *next += 1;
                let part = if *next % 2 == 1 { *key } else { *value };
                (*next <= count.saturating_mul(2)).then_some(part)
            }
            Frame::Parts { first, len, next } => {
                *next += 1;
                (*next <= *len).then(|| self.plans.parts[*first + *next - 1])
            }
            Frame::Inlined { behind } => {
                let left = self.input.rest().len();
                if left > 0 {
                    return Err(left_behind(left));
                }
                self.input.go_back(behind);
                self.inlined.pop();
                None
            }
            Frame::Shared { class, holder, start } => {
                self.end_shared(*class, *holder, *start)?;
                None
            }
            Frame::Longer { from, class, variant, field } => {
                self.end_of_default(*class, (*variant, *field), *from)?;
                None
            }
            Frame::Typed { class, variant, field, start } => {
                self.end_typed(*class, (*variant, *field), *start)?;
                None
            }
        })
    }
}
