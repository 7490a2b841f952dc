//! The fields of a struct or a variant, in one walk over the stored ones.

use super::Transcoder;
use super::open::Opened;
use crate::codec::{Encoder, Fail, NoLinks, Prototypes, count};
use crate::schema::plan::{Action, Fields, Step};
use crate::schema::walk::fault;
use crate::schema::{Cursor, FieldSchema, empty};
use crate::{Error, ErrorKind, Result};

/// A struct or a variant.
pub(super) struct Record<'t> {
    opened: Opened,
    /// The program's class.
    target: usize,
    pub(super) stored: &'t [FieldSchema],
    /// The field that is being rewritten, if any.
    pub(super) field: Option<usize>,
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

/// What a stored field has become.
#[derive(Clone, Copy)]
pub(super) enum Piece<'t> {
    /// Bytes of the save.
    Stored(&'t [u8]),
    /// Bytes of the output.
    Made(usize, usize),
}

impl<'t> Transcoder<'t, '_, '_> {
    /// Opens the fields of a struct or a variant.
    pub(super) fn open_fields(
        &mut self,
        opened: Opened,
        target: usize,
        stored: &'t [FieldSchema],
    ) -> Result<Record<'t>> {
        self.count_record()?;
        if let Some(fields) = opened.fields() {
            let place = if self.is_object() { 1 } else { 2 };
            self.plans.events.count(fields.runs[0], self.id);
            self.plans.events.count(fields.runs[place], self.id);
        }
        Ok(Record {
            opened,
            target,
            stored,
            field: None,
            walked: 0,
            step: 0,
            start: self.out.len(),
            pieces: self.pieces.len(),
            kept: self.kept.len(),
        })
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

    pub(super) fn end_record(&mut self) {
        self.records -= 1;
    }

    /// Advances to the next field of a record that must be rewritten, and returns
    /// its conversion; ends the record if there is none.
    pub(super) fn advance(&mut self, record: &mut Record<'t>) -> Result<Option<usize>> {
        // It is given back below: the record is in the way of itself.
        let opened =
            std::mem::replace(&mut record.opened, Opened::Tuple(self.plans.nothing.clone()));
        let result = match opened.fields() {
            Some(plan) => self.advance_in(record, plan),
            None => Ok(None),
        };
        record.opened = opened;
        result
    }

    fn advance_in(&mut self, record: &mut Record<'t>, plan: &Fields) -> Result<Option<usize>> {
        if record.walked > 0 && !plan.ordered {
            self.end_piece();
        }
        while let Some(walked) = plan.walk.get(record.walked) {
            record.field = None;
            let is_taken = matches!(walked.action, Action::Copy { .. } | Action::Convert { .. });
            if plan.ordered && is_taken {
                self.defaults(record, plan)?;
                // The one that takes this field.
                record.step += 1;
            }
            record.walked += 1;
            record.field = Some(walked.field);
            match walked.action {
                Action::Convert { conversion, .. } => {
                    if !plan.ordered {
                        let start = self.out.len();
                        self.pieces.push(Piece::Made(start, start));
                    }
                    return Ok(Some(conversion));
                }
                Action::Copy { .. } => {
                    let bytes = self.passed(walked)?;
                    if plan.ordered {
                        self.out.extend_from_slice(bytes);
                    } else {
                        self.pieces.push(Piece::Stored(bytes));
                    }
                }
                Action::Skip { .. } => {
                    self.passed(walked)?;
                    self.no_piece(plan);
                }
                Action::Keep { class, .. } => {
                    let bytes = self.passed(walked)?;
                    self.keep_field(class, bytes, plan)?;
                    self.no_piece(plan);
                }
            }
        }
        record.field = None;
        if plan.ordered {
            self.defaults(record, plan)?;
        } else {
            self.put_in_order(record, plan)?;
        }
        self.kept.truncate(record.kept);
        self.end_record();
        Ok(None)
    }

    /// Pieces are counted by the places in the walk.
    fn no_piece(&mut self, plan: &Fields) {
        if !plan.ordered {
            self.pieces.push(Piece::Stored(&[]));
        }
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

    /// Appends the defaults that are next.
    fn defaults(&mut self, record: &mut Record<'t>, plan: &Fields) -> Result<()> {
        while let Some(step) = plan.steps.get(record.step) {
            if matches!(step, Step::Take(_)) {
                break;
            }
            self.append(record.target, *step, record.kept)?;
            record.step += 1;
        }
        Ok(())
    }

    /// Replaces the fields of a record, in stored order, by the program's.
    fn put_in_order(&mut self, record: &Record<'t>, plan: &Fields) -> Result<()> {
        self.ordered.clear();
        for step in &plan.steps {
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
        let encode = |out: &mut Encoder<'_>| target.access.make_field(variant, field, None, out);
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
