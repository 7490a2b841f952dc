//! The fields of a struct or a variant, in one walk over the stored ones.

use std::sync::Arc;

use super::{Frame, KeptPlace, Transcoder};
use crate::codec::{Encoder, Fail, NoLinks, Prototypes, count};
use crate::schema::ops::{Action, Conversion, Fields, Plan, Step, Walked};
use crate::schema::walk::fault;
use crate::schema::{Cursor, FieldSchema, empty};
use crate::{Error, ErrorKind, Result};

/// What a field that is kept takes, in memory and in time, beside its bytes.
const KEPT: usize = 256;

/// A struct or a variant.
pub(super) struct Record<'t> {
    plan: Arc<Fields>,
    /// The program's class.
    target: usize,
    stored: &'t [FieldSchema],
    /// The field that is being rewritten, if any.
    field: Option<usize>,
    /// Next of the walk.
    walked: usize,
    /// Next of the steps, if those are in the order of the walk.
    step: usize,
    /// Where its bytes begin.
    start: usize,
    /// Where its own pieces, and what is kept of it, begin.
    pieces: usize,
    kept: usize,
}

impl Record<'_> {
    /// Name of the field that is being rewritten.
    pub(super) fn field_name(&self) -> &str {
        let field = self.field.and_then(|field| self.stored.get(field));
        field.map_or("", |field| &field.name)
    }
}

/// What a stored field has become.
#[derive(Clone, Copy)]
pub(super) enum Piece<'t> {
    /// Bytes of the save.
    Stored(&'t [u8]),
    /// Bytes of the output.
    Made(usize, usize),
}

impl<'t> Transcoder<'t, '_, '_> {
    /// Rewrites the first of `count` values, if they are structs that have a quick way; returns how many.
    pub(super) fn quick_records(&mut self, of: usize, count: u64) -> Result<u64> {
        let Conversion::Class(class, target) = self.plans.conversions[of] else { return Ok(0) };
        let Plan::Struct(plan) = self.plans.plan(class, target)? else { return Ok(0) };
        let done = self.quick(&plan, count)?;
        self.plans.count_newer(class, done, self.id);
        Ok(done)
    }

    /// Rewrites the first of `count` records, if the plan has a quick way; returns how many.
    pub(super) fn quick(&mut self, plan: &Fields, count: u64) -> Result<u64> {
        let Some(quick) = &plan.quick else { return Ok(0) };
        let mut rest = self.input.rest();
        let done = quick.run(count, &mut rest, self.out);
        if done > 0 {
            self.input.go_back(rest);
            self.check(self.out.len())?;
            self.plans.events.count_all(plan.runs[0], done, self.id);
        }
        Ok(done)
    }

    /// Opens the fields of a struct or a variant.
    pub(super) fn open_fields(
        &mut self,
        plan: Arc<Fields>,
        target: usize,
        stored: &'t [FieldSchema],
        frames: &mut Vec<Frame<'t>>,
    ) -> Result<()> {
        self.count_record()?;
        let place = if self.is_object() { 1 } else { 2 };
        self.plans.events.count(plan.runs[0], self.id);
        self.plans.events.count(plan.runs[place], self.id);
        frames.push(Frame::Record(Record {
            plan,
            target,
            stored,
            field: None,
            walked: 0,
            step: 0,
            start: self.out.len(),
            pieces: self.pieces.len(),
            kept: self.kept.len(),
        }));
        Ok(())
    }

    pub(super) fn count_record(&mut self) -> Result<()> {
        if self.records >= self.most {
            return Err(Fail::Depth.into());
        }
        self.records += 1;
        Ok(())
    }

    /// True while the fields of the object itself are read.
    pub(super) fn is_object(&self) -> bool {
        !self.bare && self.records == 1 && self.inlined.len() == 1 && self.plans.aside
    }

    /// Advances to the next field of a record that must be rewritten, and returns
    /// its conversion; ends the record if there is none.
    pub(super) fn advance(&mut self, record: &mut Record<'t>) -> Result<Option<usize>> {
        let Record { plan, target, field, walked: next, step, kept, .. } = record;
        if *next > 0 && !plan.ordered {
            self.end_piece();
        }
        while let Some(walked) = plan.walk.get(*next) {
            *field = None;
            let is_taken = matches!(walked.action, Action::Copy { .. } | Action::Convert { .. });
            if plan.ordered && is_taken {
                *step = self.defaults(*target, plan, *step, *kept)? + 1;
            }
            *next += 1;
            *field = Some(walked.field);
            if let Action::Convert { conversion, .. } = walked.action {
                if !plan.ordered {
                    let start = self.out.len();
                    self.pieces.push(Piece::Made(start, start));
                }
                return Ok(Some(conversion));
            }
            let bytes = self.passed(walked)?;
            if let Action::Keep { class, .. } = walked.action {
                self.keep_field(class, bytes, plan)?;
            }
            if !plan.ordered {
                // Pieces are counted by the places in the walk.
                self.pieces.push(Piece::Stored(bytes));
            } else if is_taken {
                self.out.extend_from_slice(bytes);
            }
        }
        *field = None;
        if plan.ordered {
            self.defaults(*target, plan, *step, *kept)?;
        } else {
            self.put_in_order(record)?;
        }
        self.kept.truncate(record.kept);
        self.records -= 1;
        Ok(None)
    }

    /// The bytes of what is walked over.
    fn passed(&mut self, walked: &Walked) -> Result<&'t [u8]> {
        let rest = self.input.rest();
        let length = walked.passes.as_ref().and_then(|passes| self.stored.passed(passes, rest));
        if let Some(bytes) = length.and_then(|length| self.input.take(length).ok()) {
            return Ok(bytes);
        }
        let nodes = walked.action.nodes();
        self.taken(nodes.start, nodes.len())
    }

    /// Keeps a field that the program does not have, where there is room for it.
    fn keep_field(&mut self, class: usize, bytes: &'t [u8], plan: &Fields) -> Result<()> {
        self.plans.reader(&self.env.limits).charge(1, KEPT)?;
        if plan.room {
            self.kept.push((class, bytes));
        } else if self.is_object() {
            let end = self.length - self.input.rest().len();
            self.rest.kept.push((class, KeptPlace::Payload(end - bytes.len()..end)));
        }
        Ok(())
    }

    /// Notes where the bytes of the last piece end, if those were just made.
    fn end_piece(&mut self) {
        let end = self.out.len();
        if let Some(Piece::Made(start, last)) = self.pieces.last_mut()
            && start == last
        {
            *last = end;
        }
    }

    /// Appends the defaults from a step on; returns the next that takes a field.
    fn defaults(
        &mut self,
        target: usize,
        plan: &Fields,
        mut step: usize,
        kept: usize,
    ) -> Result<usize> {
        while let Some(next) = plan.steps.get(step).filter(|step| !matches!(step, Step::Take(_))) {
            self.append(target, *next, kept)?;
            step += 1;
        }
        Ok(step)
    }

    /// Appends a field that the save does not have.
    pub(super) fn append(&mut self, target: usize, step: Step, kept: usize) -> Result<()> {
        self.make(target, step, kept)?;
        self.check(self.out.len() + self.defaults.len())?;
        self.out.extend_from_slice(self.defaults.bytes());
        Ok(())
    }

    /// Replaces the fields of a record, in stored order, by the program's.
    fn put_in_order(&mut self, record: &Record<'t>) -> Result<()> {
        self.ordered.clear();
        for step in &record.plan.steps {
            match *step {
                Step::Take(place) => match self.pieces[record.pieces + place] {
                    Piece::Stored(bytes) => self.ordered.extend_from_slice(bytes),
                    Piece::Made(start, end) => {
                        self.ordered.extend_from_slice(&self.out[start..end]);
                    }
                },
                step => {
                    self.make(record.target, step, record.kept)?;
                    self.ordered.extend_from_slice(self.defaults.bytes());
                }
            }
        }
        self.check(record.start + self.ordered.len())?;
        self.pieces.truncate(record.pieces);
        self.out.truncate(record.start);
        self.out.extend_from_slice(&self.ordered);
        Ok(())
    }

    /// Makes a field that the save does not have, in `defaults`.
    pub(super) fn make(&mut self, class: usize, step: Step, kept: usize) -> Result<()> {
        match step {
            Step::Default { variant, field } => self.default(class, variant, field),
            Step::Empty { variant, field } => {
                let program = self.plans.program;
                let kind = program.field_kind(class, variant, field);
                let env = self.env;
                let result =
                    self.defaults.encode_with(env, &mut NoLinks::default(), |out| match kind {
                        Some(kind) => empty::write(kind, program, &Prototypes::bare(), out),
                        None => Err(out.no_field()),
                    });
                result.map(drop).map_err(|error| {
                    let (name, of) = self.field_of(class, variant, field);
                    Error::new(
                        error.kind(),
                        format!(
                            "the save does not have field {name} of {of}, and it cannot be made empty: {}; give it `#[persist(default)]`",
                            error.message()
                        ),
                    )
                    .in_field(name)
                })
            }
            Step::Unknown => {
                let (pieces, env) = (&self.kept[kept..], self.env);
                self.defaults.encode_with(env, &mut NoLinks::default(), |out| {
                    count::encode(pieces.len() as u64, out)?;
                    for (class, bytes) in pieces {
                        count::encode(*class as u64 + 1, out)?;
                        out.bytes(bytes)?;
                    }
                    Ok(())
                })?;
                Ok(())
            }
            Step::Take(_) => {
                self.defaults.clear();
                Ok(())
            }
        }
    }

    /// Appends the elements of a default array, without the `first` ones.
    pub(super) fn end_of_default(
        &mut self,
        class: usize,
        (variant, field): (usize, usize),
        first: usize,
    ) -> Result<()> {
        self.default(class, variant, field)?;
        let layout = self.plans.program.layout();
        let bytes = self.defaults.gather();
        let Some(mut cursor) = Cursor::of_field(layout, (class, variant, field), bytes) else {
            return Err(fault(Fail::Value));
        };
        cursor.index(first as u64)?;
        self.out.extend_from_slice(cursor.rest());
        self.check(self.out.len())
    }

    /// Makes the default of a field of the program, in `defaults`.
    fn default(&mut self, class: usize, variant: usize, field: usize) -> Result<()> {
        let Some(target) = self.plans.program.targets[class] else {
            return Err(fault(Fail::Value));
        };
        let encode = |out: &mut Encoder<'_>| (target.access.make_field)(variant, field, None, out);
        self.defaults.encode_with(self.env, &mut NoLinks::default(), encode).map(drop).map_err(|error| {
            if error.kind() != ErrorKind::Unsupported {
                return error;
            }
            // The only thing that a bare encode does not support.
            let (name, of) = self.field_of(class, variant, field);
            Error::new(
                ErrorKind::Unsupported,
                format!("the save does not have field {name} of {of}, and its default holds a shared pointer, which has no id in the save; make it an `Option` that `after_load` fills"),
            )
            .in_field(name)
        })
    }

    /// Names of a field of the program and of its class.
    fn field_of(&self, class: usize, variant: usize, field: usize) -> (&'static str, String) {
        let Some(target) = self.plans.program.targets[class] else { return ("", String::new()) };
        let class = target.class;
        let fields = class.variants().get(variant).map_or(class.fields(), |variant| variant.fields);
        (fields.get(field).map_or("", |field| field.name), class.name())
    }
}
