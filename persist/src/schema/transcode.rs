//! Rewrites a record of the save into the form of the program's class.
//!
//! Bytes to bytes: nothing generic is compiled twice, the typed decoder reads one
//! form only. With an explicit stack, as deep values are.

use super::layout::Shape;
use super::plan::{Fields, Plan, Step};
use super::walk::{
    self, LONGEST_PATH, check_count, dynamic, fault, left_behind, push_name, skip, tag,
};
use super::{FieldSchema, Form, Plans, Stored};
use crate::codec::{Buffer, Decoder, Encoder, Fail, LoadLinks, NoLinks, count};
use crate::{Error, ErrorKind, Limits, Result};
use std::rc::Rc;

/// Appends the payload of object `id`, of a stored class, in the program's form.
pub(crate) fn transcode(
    plans: &mut Plans<'_>,
    class: usize,
    id: u64,
    payload: &[u8],
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<()> {
    let stored = plans.stored.clone();
    let mut links = NoLinks::default();
    let start = out.len();
    plans.before += payload.len() as u64;
    let most = (u64::from(limits.depth) + 1).saturating_mul(plans.program.classes.len() as u64);
    let mut run = Transcoder {
        plans,
        stored: &stored,
        id,
        limits,
        input: Decoder::new(payload, limits, &mut links),
        out,
        start,
        skipped: Vec::new(),
        records: 0,
        most,
        pieces: Vec::new(),
        ordered: Vec::new(),
        defaults: Buffer::new(),
    };
    let mut frames = Vec::new();
    let result = run.value(stored.root(class), &mut frames);
    let left = run.input.rest().len();
    let error = match result {
        Ok(()) if left == 0 => {
            plans.after += (out.len() - start) as u64;
            return Ok(());
        }
        Ok(()) => left_behind(left),
        Err(error) => error.in_field(&path(&frames, &run.skipped)),
    };
    Err(error.at((payload.len() - left) as u64))
}

struct Transcoder<'t, 'p> {
    plans: &'t mut Plans<'p>,
    stored: &'t Stored,
    id: u64,
    limits: &'t Limits,
    input: Decoder<'t>,
    out: &'t mut Vec<u8>,
    /// Where the output begins.
    start: usize,
    /// Where a walk over a value that is not rewritten failed.
    skipped: Vec<walk::Frame<'t>>,
    /// How many frames are records, and how many may be: a class holds another of itself
    /// only through levels that the codec counts, and it would refuse more of those.
    records: u64,
    most: u64,
    /// Where the fields of the open records that are out of order begin; those of one
    /// that are put in order.
    pieces: Vec<usize>,
    ordered: Vec<u8>,
    defaults: Buffer,
}

/// What is being rewritten, innermost last.
enum Frame<'t> {
    Record(Record<'t>),
    Kinds(walk::Frame<'t>),
}

/// A struct or a variant.
struct Record<'t> {
    class: usize,
    /// Index of the stored variant.
    variant: usize,
    plan: Rc<Plan>,
    stored: &'t [FieldSchema],
    /// The field that is being rewritten, if any.
    field: Option<usize>,
    /// Next of the walk.
    walked: usize,
    /// Next of the steps, if those are in the order of the walk.
    step: usize,
    /// Where its bytes begin.
    start: usize,
    /// Where its own pieces begin.
    pieces: usize,
}

impl Plan {
    /// How the fields become the program's, for a stored variant that it has.
    fn fields(&self, variant: usize) -> Option<&Fields> {
        match self {
            Self::Struct(fields) => Some(fields),
            Self::Enum(variants) => variants.get(variant)?.as_ref().map(|(_, fields)| fields),
            Self::Value => None,
        }
    }

    /// The program's variant for a stored one.
    fn target(&self, variant: usize) -> Option<usize> {
        match self {
            Self::Enum(variants) => variants.get(variant)?.as_ref().map(|(target, _)| *target),
            _ => None,
        }
    }
}

/// The field that is being worked on.
fn path(frames: &[Frame<'_>], skipped: &[walk::Frame<'_>]) -> String {
    let mut path = String::new();
    for frame in frames {
        match frame {
            _ if path.len() > LONGEST_PATH => {}
            Frame::Kinds(kinds) => kinds.name(&mut path),
            Frame::Record(record) => {
                let field = record.field.and_then(|field| record.stored.get(field));
                push_name(field.map_or("", |field| &field.name), &mut path);
            }
        }
    }
    for frame in skipped {
        if path.len() <= LONGEST_PATH {
            frame.name(&mut path);
        }
    }
    path
}

impl<'t> Transcoder<'t, '_> {
    fn value(&mut self, node: usize, frames: &mut Vec<Frame<'t>>) -> Result<()> {
        self.open(node, frames)?;
        while let Some(frame) = frames.last_mut() {
            let next = match frame {
                Frame::Kinds(kinds) => kinds.next(),
                Frame::Record(record) => self.advance(record)?,
            };
            match next {
                Some(node) => self.open(node, frames)?,
                None => drop(frames.pop()),
            }
        }
        Ok(())
    }

    /// Rewrites a value without parts, or opens one.
    fn open(&mut self, mut node: usize, frames: &mut Vec<Frame<'t>>) -> Result<()> {
        let stored = self.stored;
        loop {
            if stored.node(node).same {
                return self.copy(node);
            }
            let kinds = match stored.node(node).shape {
                Shape::Option(inner) => {
                    let some = self.input.value::<bool>().map_err(fault)?;
                    self.out.push(u8::from(some));
                    if !some {
                        return Ok(());
                    }
                    node = inner;
                    continue;
                }
                Shape::List(node) => {
                    let count = self.count(stored.node(node).least)?;
                    walk::Frame::Elements { node, next: 0, count }
                }
                Shape::Map(key) => {
                    let least = [key, key + 1].map(|part| stored.node(part).least);
                    let count = self.count(least[0].saturating_add(least[1]))?;
                    walk::Frame::Entries { key, next: 0, count }
                }
                Shape::Array(node, count) => {
                    if stored.node(node).least == 0 {
                        self.charge_empty(count)?;
                    }
                    walk::Frame::Elements { node, next: 0, count: count as u64 }
                }
                Shape::Tuple { first, len } => walk::Frame::Parts { first, len, next: 0 },
                Shape::Class(class) => {
                    let plan = self.plans.plan(class)?;
                    if let Form::Value(_) = stored[class].form {
                        node = stored.first(class, 0);
                        continue;
                    }
                    let record = self.record(class, plan)?;
                    frames.push(Frame::Record(record));
                    return Ok(());
                }
                Shape::Dynamic => {
                    let class = dynamic(stored, &mut self.input).map_err(fault)?;
                    count::push(class as u64 + 1, self.out);
                    node = stored.root(class);
                    if !self.plans.rewrites_dynamic(class) {
                        return self.copy(node);
                    }
                    continue;
                }
                // The rest have no classes inside.
                _ => return self.copy(node),
            };
            frames.push(Frame::Kinds(kinds));
            return Ok(());
        }
    }

    /// Opens a struct, or an enum at its variant.
    fn record(&mut self, class: usize, plan: Rc<Plan>) -> Result<Record<'t>> {
        if self.records >= self.most {
            return Err(Fail::Depth.into());
        }
        self.records += 1;
        let stored = self.stored;
        let form = &stored[class].form;
        let (variant, fields) = match form {
            Form::Struct(fields) => (0, fields),
            Form::Enum(variants) => {
                let number = tag(form, &mut self.input).map_err(fault)?;
                let variant = variants.get(number).ok_or_else(|| fault(Fail::Value))?;
                let Some(target) = plan.target(number) else {
                    return Err(Error::new(
                        ErrorKind::NotFound,
                        format!(
                            "the program's {} has no variant {}; keep it, or name it as an `alias` of another",
                            stored[class].name, variant.name
                        ),
                    ));
                };
                self.tag(class, target)?;
                (number, &variant.fields)
            }
            Form::Value(_) => return Err(fault(Fail::Value)),
        };
        if let Some(fields) = plan.fields(variant) {
            self.plans.count_run(fields.run, self.id);
        }
        let (start, pieces) = (self.out.len(), self.pieces.len());
        Ok(Record {
            class,
            variant,
            plan,
            stored: fields,
            field: None,
            walked: 0,
            step: 0,
            start,
            pieces,
        })
    }

    fn tag(&mut self, class: usize, target: usize) -> Result<()> {
        let program = self.plans.program;
        let width =
            self.plans.resolve(class).map_or(1, |class| program.classes[class].form.tag_width());
        let tag = u16::try_from(target).map_err(|_| fault(Fail::Value))?.to_le_bytes();
        self.out.extend_from_slice(&tag[..width]);
        Ok(())
    }

    /// Goes on to the next field of a record that is to be rewritten, and returns
    /// its node; ends the record if there is none.
    fn advance(&mut self, record: &mut Record<'t>) -> Result<Option<usize>> {
        let plan = record.plan.clone();
        let Some(plan) = plan.fields(record.variant) else { return Ok(None) };
        while let Some(walked) = plan.walk.get(record.walked) {
            record.field = None;
            if !plan.ordered {
                self.pieces.push(self.out.len());
            } else if walked.taken {
                self.defaults(record, plan)?;
                // The one that takes this field.
                record.step += 1;
            }
            record.walked += 1;
            record.field = Some(walked.field);
            if walked.rewrite {
                return Ok(Some(walked.node));
            }
            if walked.taken {
                self.copy(walked.node)?;
            } else {
                self.skip(walked.node)?;
            }
        }
        record.field = None;
        if plan.ordered {
            self.defaults(record, plan)?;
        } else {
            self.put_in_order(record, plan)?;
        }
        self.records -= 1;
        Ok(None)
    }

    /// Appends the defaults that are next.
    fn defaults(&mut self, record: &mut Record<'t>, plan: &Fields) -> Result<()> {
        while let Some(Step::Default { variant, field }) = plan.steps.get(record.step) {
            let end = self.default(record.class, *variant, *field)?;
            self.check(self.out.len() + end)?;
            self.out.extend_from_slice(&self.defaults.bytes()[..end]);
            record.step += 1;
        }
        Ok(())
    }

    /// Replaces the fields of a record, in stored order, by the program's.
    fn put_in_order(&mut self, record: &Record<'t>, plan: &Fields) -> Result<()> {
        self.pieces.push(self.out.len());
        self.ordered.clear();
        for step in &plan.steps {
            match *step {
                Step::Take(place) => {
                    let piece = &self.pieces[record.pieces + place..];
                    self.ordered.extend_from_slice(&self.out[piece[0]..piece[1]]);
                }
                Step::Default { variant, field } => {
                    let end = self.default(record.class, variant, field)?;
                    self.ordered.extend_from_slice(&self.defaults.bytes()[..end]);
                }
            }
            self.check(record.start + self.ordered.len())?;
        }
        self.pieces.truncate(record.pieces);
        self.out.truncate(record.start);
        self.out.extend_from_slice(&self.ordered);
        self.ordered.clear();
        Ok(())
    }

    /// Makes the default of a field of the program, so many bytes of a buffer.
    fn default(&mut self, class: usize, variant: usize, field: usize) -> Result<usize> {
        let target = self.plans.resolve(class).and_then(|class| self.plans.program.targets[class]);
        let Some(target) = target else { return Err(fault(Fail::Value)) };
        let encode = |out: &mut Encoder<'_>| target.access.encode_default(variant, field, out);
        self.defaults.append(0, self.limits, &mut NoLinks::default(), encode).map_err(|error| {
            if error.kind() != ErrorKind::Unsupported {
                return error;
            }
            // The only thing that a bare encode does not support.
            let class = target.class;
            let fields = class.variants().get(variant).map_or(class.fields(), |variant| variant.fields);
            let (name, of) = (fields.get(field).map_or("", |field| field.name), class.name());
            Error::new(
                ErrorKind::Unsupported,
                format!("the save does not have field {name} of {of}, and its default holds a shared pointer, which has no id in the save; make it an `Option` that `after_load` fills"),
            )
            .in_field(name)
        })
    }

    /// Checks what all records take if the output is so long.
    fn check(&self, end: usize) -> Result<()> {
        let after = self.plans.after + (end - self.start) as u64;
        self.limits.check_rewritten(self.plans.before, after)
    }

    /// Takes over a count of elements of at least so many bytes each; those
    /// without any are limited in number over the whole save.
    fn count(&mut self, least: u32) -> Result<u64> {
        let count = count::decode(&mut self.input).map_err(fault)?;
        if least == 0 {
            self.charge_empty(usize::try_from(count).unwrap_or(usize::MAX))?;
        } else {
            check_count(count, u64::from(least), &self.input).map_err(fault)?;
        }
        count::push(count, self.out);
        Ok(count)
    }

    fn charge_empty(&mut self, count: usize) -> Result<()> {
        LoadLinks::charge_empty(&mut self.plans.empty, count, self.limits)
    }

    /// Takes over a value as it is.
    fn copy(&mut self, node: usize) -> Result<()> {
        let whole = self.input.rest();
        self.skip(node)?;
        self.out.extend_from_slice(&whole[..whole.len() - self.input.rest().len()]);
        Ok(())
    }

    fn skip(&mut self, node: usize) -> Result<()> {
        skip(node, self.stored, &mut self.input, &mut self.skipped).map_err(fault)
    }
}
