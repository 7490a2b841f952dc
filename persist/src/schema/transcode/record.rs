//! The fields of a struct or a variant, in one walk over the stored ones.

use std::sync::Arc;

use super::{KeptLocation, TranscodeFrame, Transcoder};
use crate::codec::{Encoder, Fail, NoLinks, Prototypes, count};
use crate::schema::ops::{Conversion, FieldSource, Plan, RecordPlan};
use crate::schema::quick::Piece;
use crate::schema::walk::{fault, left_behind};
use crate::schema::{Cursor, Program, empty};
use crate::{Error, ErrorKind, Result};

/// What a field that is kept takes, in memory and in time, beside its bytes.
const KEPT: usize = 256;

/// A struct or a variant that is being rewritten.
///
/// Its pieces are read once, in stored order. One that is converted is rewritten as it comes, also if the program wants
/// it later: then it waits in `early`, so that nothing is walked over twice.
pub(super) struct RecordFrame<'t> {
    plan: Arc<RecordPlan>,
    /// Next of the steps.
    step: usize,
    /// Where its pieces begin in those of all open records.
    first: usize,
    /// Names of the pieces that do not follow one another in the save.
    names: Vec<Arc<str>>,
    /// The piece that is being rewritten, if any.
    piece: Option<usize>,
    /// Where it lies, and where what it becomes does.
    order: PieceOrder<'t>,
    /// Where its converted pieces begin that wait, and the bytes of those.
    waiting: (usize, usize),
    /// Of an object, where its bytes begin in the payload.
    start: usize,
    /// Where the pieces of an object lie that do not follow one another.
    places: Vec<Option<KeptLocation>>,
}

enum PieceOrder<'t> {
    Nothing,
    /// It is the next one: all that was left before it.
    Next(&'t [u8]),
    /// It is the next one, and wanted later: all that was left before it, and where its output begins.
    Early(&'t [u8], usize),
    /// It lies apart: where to continue after it.
    Apart(&'t [u8]),
}

impl<'t> RecordFrame<'t> {
    /// Name of the field that is being rewritten.
    pub(super) fn field_name(&self) -> &str {
        let Some(piece) = self.piece else { return "" };
        let name = self.names.get(piece);
        name.or_else(|| self.plan.pieces.get(piece).map(|piece| &piece.name)).map_or("", |it| it)
    }

    /// True if the input is no part of the payload, or another one than what is left of it.
    pub(super) fn is_apart(&self) -> bool {
        !self.names.is_empty() || matches!(self.order, PieceOrder::Apart(_))
    }
}

impl<'t> Transcoder<'t, '_, '_> {
    /// Rewrites the first of `count` values, if they are structs that have a quick way; returns how many.
    pub(super) fn quick_records(&mut self, of: usize, count: u64) -> Result<u64> {
        let Conversion::Class(class, target) = self.plans.conversions[of] else { return Ok(0) };
        let Plan::Struct(plan) = self.plans.plan(class, target)? else { return Ok(0) };
        self.quick(&plan, count)
    }

    /// Rewrites the first of `count` records, if the plan has a quick way; returns how many.
    pub(super) fn quick(&mut self, plan: &RecordPlan, count: u64) -> Result<u64> {
        let Some(quick) = &plan.quick else { return Ok(0) };
        let mut rest = self.input.rest();
        let done = quick.run((self.stored, &plan.pieces), count, &mut rest, self.out);
        if done > 0 {
            self.input.go_back(rest);
            self.check(self.out.len())?;
            plan.rows.iter().for_each(|row| self.plans.rows.count(*row, done, self.id));
        }
        Ok(done)
    }

    /// Opens the fields of a struct or a variant.
    pub(super) fn open_fields(
        &mut self,
        plan: Arc<RecordPlan>,
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) -> Result<()> {
        self.count_record()?;
        let first = self.pieces.len();
        self.open_pieces(plan, first, Vec::new(), Vec::new(), frames);
        Ok(())
    }

    /// Opens a record whose pieces from `first` on are known.
    pub(super) fn open_pieces(
        &mut self,
        plan: Arc<RecordPlan>,
        first: usize,
        names: Vec<Arc<str>>,
        places: Vec<Option<KeptLocation>>,
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) {
        plan.rows.iter().for_each(|row| self.plans.rows.count(*row, 1, self.id));
        let start = self.payload.len().saturating_sub(self.input.rest().len());
        let (step, piece, order) = (0, None, PieceOrder::Nothing);
        let waiting = (self.waiting.len(), self.early.len());
        frames.push(TranscodeFrame::Record(RecordFrame {
            plan,
            step,
            first,
            names,
            piece,
            order,
            waiting,
            start,
            places,
        }));
    }

    pub(super) fn count_record(&mut self) -> Result<()> {
        if self.records >= self.most {
            return Err(Fail::Depth.into());
        }
        self.records += 1;
        Ok(())
    }

    /// True while the fields of the object itself are read.
    fn is_object(&self) -> bool {
        !self.bare && self.records == 1 && self.inlined.len() == 1 && self.plans.aside
    }

    /// Advances to the next field of a record that must be rewritten, and returns
    /// its conversion; ends the record if there is none.
    pub(super) fn advance(&mut self, record: &mut RecordFrame<'t>) -> Result<Option<usize>> {
        let left = self.input.rest();
        match std::mem::replace(&mut record.order, PieceOrder::Nothing) {
            PieceOrder::Nothing => {}
            PieceOrder::Next(all) => self.pieces.push(&all[..all.len() - left.len()]),
            PieceOrder::Early(all, start) => {
                self.waiting.push((self.pieces.len() - record.first, self.early.len()));
                self.early.extend_from_slice(&self.out[start..]);
                self.out.truncate(start);
                self.pieces.push(&all[..all.len() - left.len()]);
            }
            PieceOrder::Apart(_) if !left.is_empty() => return Err(left_behind(left.len())),
            PieceOrder::Apart(rest) => self.input.go_back(rest),
        }
        let plan = record.plan.clone();
        while let Some(step) = plan.steps.get(record.step) {
            match *step {
                FieldSource::Copy(piece) => {
                    if let Some(conversion) = self.pass(record, piece + 1)? {
                        return Ok(Some(conversion));
                    }
                    self.out.extend_from_slice(self.pieces[record.first + piece]);
                }
                FieldSource::Convert { piece, conversion } => {
                    if let Some(conversion) = self.pass(record, piece)? {
                        return Ok(Some(conversion));
                    }
                    if plan.pieces.get(piece).is_some_and(|it| it.conversion.is_none()) {
                        self.number_piece(record, piece, conversion)?;
                        record.step += 1;
                        continue;
                    }
                    let rest = self.input.rest();
                    record.order = if self.pieces.len() == record.first + piece {
                        PieceOrder::Next(rest)
                    } else if record.names.is_empty() {
                        self.append_early(record, piece);
                        record.step += 1;
                        continue;
                    } else {
                        self.input.go_back(self.pieces[record.first + piece]);
                        PieceOrder::Apart(rest)
                    };
                    record.step += 1;
                    record.piece = Some(piece);
                    return Ok(Some(conversion));
                }
                step => {
                    if step == FieldSource::Unknown
                        && let Some(conversion) = self.pass(record, plan.pieces.len())?
                    {
                        return Ok(Some(conversion));
                    }
                    record.piece = None;
                    self.make(&plan, step, record.first)?;
                    self.check(self.out.len() + self.defaults.len())?;
                    self.out.extend_from_slice(self.defaults.bytes());
                }
            }
            record.step += 1;
        }
        // All that is converted has been by now.
        self.pass(record, plan.pieces.len())?;
        self.keep(record)?;
        self.pieces.truncate(record.first);
        self.waiting.truncate(record.waiting.0);
        self.early.truncate(record.waiting.1);
        self.records -= 1;
        Ok(None)
    }

    /// Passes over the pieces before one; returns the conversion of the first that is converted, which must come first.
    fn pass(&mut self, record: &mut RecordFrame<'t>, end: usize) -> Result<Option<usize>> {
        while self.pieces.len() < record.first + end {
            let next = self.pieces.len() - record.first;
            record.piece = Some(next);
            let Piece { nodes, span, conversion, .. } = &record.plan.pieces[next];
            let rest = self.input.rest();
            if conversion.is_some() {
                record.order = PieceOrder::Early(rest, self.out.len());
                return Ok(*conversion);
            }
            let length = span.or_else(|| self.stored.lengths(nodes.clone(), rest));
            let bytes = match length.and_then(|length| self.input.take(length).ok()) {
                Some(bytes) => bytes,
                None => self.taken(nodes.start, nodes.len())?,
            };
            self.pieces.push(bytes);
        }
        Ok(None)
    }

    /// Rewrites a piece that is a number.
    fn number_piece(
        &mut self,
        record: &mut RecordFrame<'t>,
        piece: usize,
        conversion: usize,
    ) -> Result<()> {
        self.pass(record, piece + 1)?;
        record.piece = Some(piece);
        let Conversion::Number { from, to, clamped } = self.plans.conversions[conversion] else {
            return Err(fault(Fail::Value));
        };
        let rest = self.input.rest();
        self.input.go_back(self.pieces[record.first + piece]);
        let result = self.number(from, to, clamped);
        let behind = match result {
            Ok(()) => rest,
            // For the offset.
            Err(_) => {
                let pieces = &self.pieces[record.first..=record.first + piece];
                let end = record.start + pieces.iter().map(|piece| piece.len()).sum::<usize>();
                self.payload.get(end..).unwrap_or_default()
            }
        };
        self.input.go_back(behind);
        result
    }

    /// Appends what a piece has become that came before it was wanted.
    fn append_early(&mut self, record: &RecordFrame<'t>, piece: usize) {
        let waiting = &self.waiting[record.waiting.0..];
        let Some(at) = waiting.iter().position(|(of, _)| *of == piece) else { return };
        let end = waiting.get(at + 1).map_or(self.early.len(), |(_, start)| *start);
        self.out.extend_from_slice(&self.early[waiting[at].1..end]);
    }

    /// Keeps of an object what the program does not have, if its class has no room for it.
    fn keep(&mut self, record: &mut RecordFrame<'t>) -> Result<()> {
        let plan = record.plan.clone();
        let (mut piece, mut start) = (0, record.start);
        for keep in &plan.keeps {
            let is_kept = plan.has_room || self.is_object();
            let row = if is_kept { keep.kept } else { keep.dropped };
            row.into_iter().for_each(|row| self.plans.rows.count(row, 1, self.id));
            if record.names.is_empty() {
                // Of the others this has been done.
                self.plans.reader(&self.env.limits).charge(1, KEPT)?;
            }
            if is_kept && !plan.has_room {
                let place = match record.places.get_mut(keep.piece) {
                    Some(place) => place.take(),
                    None => {
                        let pieces = &self.pieces[record.first..][piece..=keep.piece];
                        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
                        (piece, start) = (keep.piece + 1, start + length);
                        let length = self.pieces[record.first + keep.piece].len();
                        Some(KeptLocation::Payload(start - length..start))
                    }
                };
                self.extras.kept.extend(place.map(|place| (keep.class, place)));
            }
        }
        Ok(())
    }

    /// Makes a field that the save does not have, in `defaults`.
    fn make(&mut self, plan: &RecordPlan, step: FieldSource, first: usize) -> Result<()> {
        let (class, variant) = plan.target;
        match step {
            FieldSource::Default(field) => self.default(class, variant, field),
            FieldSource::Empty(field) => {
                let program = self.plans.program;
                let kind = &program.wanted(class, variant).fields[field].kind;
                let result = self.defaults.encode_with(self.env, &mut NoLinks::default(), |out| {
                    empty::write(kind, program, &Prototypes::bare(), out)
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
            FieldSource::Unknown => {
                let pieces = &self.pieces[first..];
                self.defaults.encode_with(self.env, &mut NoLinks::default(), |out| {
                    count::encode(plan.keeps.len() as u64, out)?;
                    for keep in &plan.keeps {
                        count::encode(keep.class as u64 + 1, out)?;
                        out.bytes(pieces[keep.piece])?;
                    }
                    Ok(())
                })?;
                Ok(())
            }
            FieldSource::Copy(_) | FieldSource::Convert { .. } => Ok(()),
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
    fn field_of(&self, class: usize, variant: usize, field: usize) -> (&'t str, &'t str) {
        let program: &'t Program = self.plans.program;
        (&program.wanted(class, variant).fields[field].name, &program.classes[class].name)
    }
}
