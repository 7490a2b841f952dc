//! The fields of a struct or a variant, in one walk over the stored ones.

use std::ops::Range;
use std::sync::Arc;

use super::parts::keep_part;
use super::{
    DefaultedField, PartPlace, PieceOrder, RecordFrame, TranscodeFrame, Transcoder, UNKNOWN,
    UnknownLocation,
};
use crate::codec::{Encoder, Fail, NoLinks, Prototypes, UnknownPath, count};
use crate::schema::plan::fields::PIECES;
use crate::schema::plan::{Conversion, FieldSource, Piece, Plan, RecordPlan, RecordStep};
use crate::schema::walk::{LocalValue, length};
use crate::schema::{Cursor, FieldPlace, Program, Stored, empty, fault, surplus};
use crate::{Error, ErrorKind, Limits, Result};

/// Bytes that are made room for at once, and those that are copied at once.
const ROOM: usize = 512;
const CHUNK: usize = 32;

impl<'t> RecordFrame<'t> {
    /// Name of the field that is being rewritten.
    pub(super) fn field_name(&self) -> &str {
        let piece = self.piece.and_then(|piece| self.plan.pieces.get(piece));
        piece.map_or("", |piece| &piece.name)
    }

    /// True if the input is no part of the payload, or another one than what is left of it.
    pub(super) fn is_detached(&self) -> bool {
        !self.places.is_empty() || matches!(self.order, PieceOrder::Apart(_))
    }
}

impl<'t> Transcoder<'t, '_, '_> {
    /// Rewrites the first of `count` elements, if they are small records; returns how many.
    pub(super) fn small_elements(&mut self, of: usize, count: u64) -> Result<u64> {
        let Conversion::Class(place) = self.plans.conversions[of] else { return Ok(0) };
        if count == 0 {
            // A class without values is not planned: its errors do not matter.
            return Ok(0);
        }
        let Plan::Struct(plan) = self.plans.plan(place)? else { return Ok(0) };
        self.small_records(&plan, count)
    }

    /// Rewrites the first of `count` records in a loop of their own, if they are small; returns how many. All others,
    /// and those that are damaged, are left to the general path.
    pub(super) fn small_records(&mut self, plan: &RecordPlan, count: u64) -> Result<u64> {
        // A load of a reordered save took 3.0 times a load of the program's own with a frame for each struct, and 1.7
        // times with this loop.
        let Some(growth) = plan.growth else { return Ok(0) };
        let mut rest = self.input.rest();
        let mut at = self.out.len();
        let mut done = 0;
        // Each with all that follows it, so that copies have a fixed length: they are no calls, and need no branches.
        let mut pieces: [(&[u8], usize); PIECES] = [(&[], 0); PIECES];
        'records: while done < count {
            let mut after = rest;
            for (of, piece) in plan.pieces.iter().zip(&mut pieces) {
                // A long or damaged piece has no length here. The walk of the general path reads it, and names the
                // fault.
                let length = of.length(self.stored, after).unwrap_or(usize::MAX);
                let Some(left) = after.get(length..) else { break 'records };
                *piece = (after, length);
                after = left;
            }
            let length = growth + rest.len() - after.len();
            if self.out.len() - at < length + CHUNK {
                // A larger room would be cleared again for each list.
                self.out.resize(at + (length + CHUNK).max(ROOM), 0);
            }
            let mut free = &mut self.out[at..];
            for source in &plan.sources {
                // The copy may be too long; the next field overwrites the surplus.
                let written = match *source {
                    FieldSource::Copy(piece) => {
                        let (from, length) = pieces[piece];
                        let chunks = (free.first_chunk_mut(), from.first_chunk::<CHUNK>());
                        match chunks {
                            (Some(to), Some(from)) if length <= CHUNK => *to = *from,
                            _ => free[..length].copy_from_slice(&from[..length]),
                        }
                        length
                    }
                    FieldSource::Widen { piece, by } => {
                        let wide = by.widen(pieces[piece].0);
                        free.first_chunk_mut().into_iter().for_each(|to| *to = wide);
                        by.to()
                    }
                    _ => break 'records,
                };
                free = &mut free[written..];
            }
            // A piece that no field takes leaves room.
            let left = free.len();
            at = self.out.len() - left;
            rest = after;
            done += 1;
        }
        self.out.truncate(at);
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
        self.open_pieces(plan, first, Vec::new(), frames);
        Ok(())
    }

    /// Opens a record whose pieces from `first` on are known.
    pub(super) fn open_pieces(
        &mut self,
        plan: Arc<RecordPlan>,
        first: usize,
        places: Vec<Option<UnknownLocation>>,
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) {
        plan.rows.iter().for_each(|row| self.plans.rows.count(*row, 1, self.id));
        let start = self.payload.len().saturating_sub(self.input.rest().len());
        frames.push(TranscodeFrame::Record(RecordFrame {
            plan,
            step: 0,
            field: 0,
            first,
            piece: None,
            order: PieceOrder::Nothing,
            waiting: self.waiting.len(),
            synthesized: self.synthesized.len(),
            start,
            places,
        }));
    }

    pub(super) fn count_record(&mut self) -> Result<()> {
        if self.records >= self.max {
            return Err(Fail::Depth.into());
        }
        self.records += 1;
        Ok(())
    }

    /// True while the fields of the object itself are read.
    fn is_object(&self) -> bool {
        !self.bare && self.records == 1 && self.inlined.len() == 1 && self.plans.keeps_unknown
    }

    /// Advances to the next field of a record that must be rewritten, and returns
    /// its conversion; ends the record if there is none.
    pub(super) fn advance(
        &mut self,
        record: &mut RecordFrame<'t>,
        outer: &mut [TranscodeFrame<'t>],
    ) -> Result<Option<usize>> {
        let left = self.input.rest();
        match std::mem::replace(&mut record.order, PieceOrder::Nothing) {
            PieceOrder::Nothing => {}
            PieceOrder::Next(all) => self.pieces.push(&all[..all.len() - left.len()]),
            PieceOrder::Early(all, start) => {
                let (defaulted, to) = (&mut self.extras.defaulted, self.early.len());
                self.waiting.push(to);
                // `+ 1`, since a default without bytes may begin where the output ends.
                let early = DefaultedField::moved(defaulted, start..self.out.len() + 1, to);
                self.early_defaulted.extend(early);
                DefaultedField::truncate(defaulted, start);
                self.early.extend_from_slice(&self.out[start..]);
                self.out.truncate(start);
                self.pieces.push(&all[..all.len() - left.len()]);
            }
            PieceOrder::Apart(_) if !left.is_empty() => return Err(surplus(left.len())),
            PieceOrder::Apart(rest) => self.input.go_back(rest),
        }
        let RecordFrame { plan, step, field, first, piece, order, waiting, .. } = record;
        while let Some(next) = plan.steps.get(*step) {
            match next {
                RecordStep::Take(pieces) => {
                    let consumed = self.take(&plan.pieces[pieces.clone()]);
                    if consumed.is_err() {
                        // The path of the error names the piece after those that were taken.
                        *piece = Some(self.pieces.len() - *first);
                    }
                    consumed?;
                }
                RecordStep::Convert(conversion) | RecordStep::Early(conversion) => {
                    let rest = self.input.rest();
                    *order = match next {
                        RecordStep::Early(_) => PieceOrder::Early(rest, self.out.len()),
                        _ => PieceOrder::Next(rest),
                    };
                    *field += usize::from(matches!(order, PieceOrder::Next(_)));
                    *piece = Some(self.pieces.len() - *first);
                    *step += 1;
                    return Ok(Some(*conversion));
                }
                RecordStep::Write(fields) => {
                    while let Some(source) =
                        plan.sources.get(*field).filter(|_| *field < fields.end)
                    {
                        *field += 1;
                        match *source {
                            FieldSource::Copy(of) => {
                                self.out.extend_from_slice(self.pieces[*first + of]);
                            }
                            FieldSource::Widen { piece: of, by } => {
                                self.widen(by, self.pieces[*first + of]);
                            }
                            FieldSource::Early(early) => {
                                let waiting = &self.waiting[*waiting + early..];
                                let end = waiting.get(1).copied().unwrap_or(self.early.len());
                                let (early, to) = (&self.early_defaulted, self.out.len());
                                let defaulted = DefaultedField::moved(early, waiting[0]..end, to);
                                self.extras.defaulted.extend(defaulted);
                                self.out.extend_from_slice(&self.early[waiting[0]..end]);
                            }
                            FieldSource::Convert { piece: of, conversion } => {
                                *order = PieceOrder::Apart(self.input.rest());
                                *piece = Some(of);
                                self.input.go_back(self.pieces[*first + of]);
                                return Ok(Some(conversion));
                            }
                            FieldSource::Synthesized(field) => {
                                self.synthesized.begin(field, self.out.len());
                            }
                            FieldSource::End => self.synthesized.end(self.out.len()),
                            FieldSource::Unknown if plan.marks => {
                                self.synthesized.leave_room(self.out.len());
                            }
                            source => {
                                *piece = None;
                                self.make(plan, source, *first)?;
                                self.check(self.out.len() + self.defaults.len())?;
                                self.note_default(plan, &source);
                                self.out.extend_from_slice(self.defaults.bytes());
                            }
                        }
                    }
                }
            }
            *step += 1;
        }
        // Before the pieces are dropped, since the unknown fields are among them.
        self.keep(record, outer)?;
        self.pieces.truncate(record.first);
        if let Some(early) = self.waiting.get(record.waiting) {
            DefaultedField::truncate(&mut self.early_defaulted, *early);
            self.early.truncate(*early);
            self.waiting.truncate(record.waiting);
        }
        self.records -= 1;
        Ok(None)
    }

    /// Takes the next pieces as they are.
    #[inline]
    fn take(&mut self, pieces: &[Piece]) -> Result<()> {
        for piece in pieces {
            let length = piece.length(self.stored, self.input.rest());
            let bytes = match length.and_then(|length| self.input.take(length).ok()) {
                Some(bytes) => bytes,
                None => self.consume(piece.nodes.start, piece.nodes.len())?,
            };
            self.pieces.push(bytes);
        }
        Ok(())
    }

    /// Keeps what the program does not have of an object, or of a value in it, if its class has no room for it.
    fn keep(
        &mut self,
        record: &mut RecordFrame<'t>,
        outer: &mut [TranscodeFrame<'t>],
    ) -> Result<()> {
        if record.plan.unknown.is_empty() && !record.plan.marks {
            return Ok(());
        }
        let plan = record.plan.clone();
        let is_inside = !(plan.has_room || self.is_object());
        let place = if is_inside { PartPlace::lasting(self, outer, false)? } else { None };
        if plan.marks {
            let noted = self.synthesized.take_from(record.synthesized);
            if noted.room.is_some() || self.is_object() || place.is_some() {
                self.keep_synthesized(&plan, record.first, noted, place.as_ref(), outer)?;
            }
        }
        let (mut piece, mut start) = (0, record.start);
        for keep in &plan.unknown {
            let is_kept = !is_inside || place.is_some();
            let row = if is_kept { keep.retained_row } else { keep.dropped_row };
            row.into_iter().for_each(|row| self.plans.rows.count(row, 1, self.id));
            if record.places.is_empty() {
                // The other fields have been charged already.
                self.plans.reader(&self.env.limits).charge(1, UNKNOWN)?;
            }
            if let Some((list, path)) = &place {
                let bytes = self.pieces[record.first + keep.piece].to_vec();
                keep_part(self, (*list, path), (keep.class, bytes), outer)?;
            } else if is_kept && !plan.has_room {
                let place = match record.places.get_mut(keep.piece) {
                    Some(place) => place.take(),
                    None => {
                        let pieces = &self.pieces[record.first..][piece..=keep.piece];
                        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
                        (piece, start) = (keep.piece + 1, start + length);
                        let length = self.pieces[record.first + keep.piece].len();
                        Some(UnknownLocation::Payload(start - length..start))
                    }
                };
                self.extras.unknown.extend(place.map(|place| (keep.class, place)));
            }
        }
        Ok(())
    }

    /// Makes the field for what is unknown, in `defaults`; `synthesized` follows what is kept.
    fn unknown(
        &mut self,
        plan: &RecordPlan,
        first: usize,
        synthesized: &[(usize, Vec<u8>)],
    ) -> Result<()> {
        let pieces = &self.pieces[first..];
        self.defaults.encode_with(self.env, &mut NoLinks::default(), |out| {
            count::encode((plan.unknown.len() + synthesized.len()) as u64, out)?;
            let unknown = plan.unknown.iter().map(|keep| (keep.class, pieces[keep.piece]));
            let synthesized = synthesized.iter().map(|(class, bytes)| (*class, &bytes[..]));
            for (class, bytes) in unknown.chain(synthesized) {
                count::encode(class as u64 + 1, out)?;
                out.bytes(bytes)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Keeps what was synthesized for the fields of a record that is whole, and writes what is unknown of it.
    fn keep_synthesized(
        &mut self,
        plan: &RecordPlan,
        first: usize,
        noted: SynthesizedFields,
        place: Option<&(Option<usize>, UnknownPath)>,
        outer: &mut [TranscodeFrame<'t>],
    ) -> Result<()> {
        let room = noted.room;
        let (program, env) = (self.plans.program, self.env);
        let (layout, limits) = (program.layout(), &env.limits);
        let fields = layout.first(plan.target.0, plan.target.1);
        let copies = noted.copies(layout, fields, self.out, limits);
        let bytes: usize = copies.iter().map(|(_, bytes)| UNKNOWN + bytes.len()).sum();
        self.plans.reader(limits).charge(bytes, 1)?;
        if let Some((list, path)) = place {
            for copy in copies {
                keep_part(self, (*list, path), copy, outer)?;
            }
            return Ok(());
        }
        let Some(room) = room else {
            self.extras.synthesized = copies;
            return Ok(());
        };
        // The field for unknown data may come before fields with synthesized values, whose copies it holds. So it is
        // written last, into the place that was left for it.
        self.unknown(plan, first, &copies)?;
        let bytes = self.defaults.gather();
        DefaultedField::follow(&mut self.extras.defaulted, room, room + bytes.len());
        self.out.splice(room..room, bytes.iter().copied());
        self.check(self.out.len())
    }

    /// Notes that what comes next, from `defaults`, is the default of a field that a module stores.
    fn note_default(&mut self, plan: &RecordPlan, source: &FieldSource) {
        let FieldSource::Default(field) = *source else { return };
        let (class, variant) = plan.target;
        if self.plans.program.expected(class, variant).records[field].has_module {
            let start = self.out.len();
            let bytes = start..start + self.defaults.len();
            self.extras.defaulted.push(DefaultedField { bytes, field: (class, variant, field) });
        }
    }

    /// Makes a field that the save does not have, in `defaults`.
    fn make(&mut self, plan: &RecordPlan, step: FieldSource, first: usize) -> Result<()> {
        let (class, variant) = plan.target;
        match step {
            FieldSource::Default(field) => self.default((class, variant, field)),
            FieldSource::Empty(field) => {
                let program = self.plans.program;
                let kind = &program.expected(class, variant).fields[field].kind;
                let result = self.defaults.encode_with(self.env, &mut NoLinks::default(), |out| {
                    empty::write(kind, program, &Prototypes::bare(), out)
                });
                result.map(drop).map_err(|error| {
                    let (name, of) = self.field_of((class, variant, field));
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
            FieldSource::Unknown => self.unknown(plan, first, &[]),
            // A piece of the record.
            _ => Ok(()),
        }
    }

    /// Appends the elements of a default array, without the `first` ones.
    pub(super) fn end_of_default(&mut self, field: FieldPlace, first: usize) -> Result<()> {
        self.default(field)?;
        let layout = self.plans.program.layout();
        let bytes = self.defaults.gather();
        let Some(mut cursor) = Cursor::of_field(layout, field, bytes) else {
            return Err(fault(Fail::Value));
        };
        cursor.index(first as u64)?;
        self.out.extend_from_slice(cursor.rest());
        self.check(self.out.len())
    }

    /// Makes the default of a field of the program, in `defaults`.
    fn default(&mut self, place: FieldPlace) -> Result<()> {
        let (class, variant, field) = place;
        let Some(target) = self.plans.program.targets[class] else {
            return Err(fault(Fail::Value));
        };
        let encode = |out: &mut Encoder<'_>| (target.access.make_field)(variant, field, None, out);
        self.defaults.encode_with(self.env, &mut NoLinks::default(), encode).map(drop).map_err(|error| {
            if error.kind() != ErrorKind::Unsupported {
                return error;
            }
            // The only thing that a bare encode does not support.
            let (name, of) = self.field_of(place);
            Error::new(
                ErrorKind::Unsupported,
                format!("the save does not have field {name} of {of}, and its default holds a shared pointer, which has no id in the save; make it an `Option` that `after_load` fills"),
            )
            .in_field(name)
        })
    }

    /// Names of a field of the program and of its class.
    fn field_of(&self, (class, variant, field): FieldPlace) -> (&'t str, &'t str) {
        let program: &'t Program = self.plans.program;
        (&program.expected(class, variant).fields[field].name, &program.classes[class].name)
    }
}

/// The synthesized values of all open records.
#[derive(Default)]
pub(super) struct SynthesizedValues(Vec<SynthesizedValue>);

/// A synthesized value in the output, or the place for what is unknown.
struct SynthesizedValue {
    /// The field; `None` of that place.
    field: Option<usize>,
    bytes: Range<usize>,
}

/// The synthesized values of one record, and where its unknown fields go.
struct SynthesizedFields {
    values: Vec<SynthesizedValue>,
    room: Option<usize>,
}

impl SynthesizedValues {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Marks the output from here on as synthesized for this field.
    fn begin(&mut self, field: usize, at: usize) {
        self.0.push(SynthesizedValue { field: Some(field), bytes: at..at });
    }

    fn end(&mut self, at: usize) {
        self.0.last_mut().into_iter().for_each(|last| last.bytes.end = at);
    }

    /// Leaves a place for the unknown fields, which are written when all synthesized values are known.
    fn leave_room(&mut self, at: usize) {
        self.0.push(SynthesizedValue { field: None, bytes: at..at });
    }

    /// Takes those of a record that is whole, the last one.
    fn take_from(&mut self, first: usize) -> SynthesizedFields {
        let values = self.0.split_off(first);
        let room = values.iter().find(|it| it.field.is_none()).map(|it| it.bytes.start);
        SynthesizedFields { values, room }
    }
}

impl SynthesizedFields {
    /// The values with the classes of the program as which they are kept; `fields` is the node of its first field.
    fn copies(
        self,
        layout: &Stored,
        fields: usize,
        out: &[u8],
        limits: &Limits,
    ) -> Vec<(usize, Vec<u8>)> {
        let copy = |it: SynthesizedValue| {
            let (class, bytes) = (layout.synthesized_field(fields + it.field?), &out[it.bytes]);
            // Live handles, ids of objects and numbers of classes are those of this save, and mean nothing in a copy.
            let mut is_same_anywhere = |visited: LocalValue<'_>, _, _| {
                matches!(visited, LocalValue::Reference { id: 0, weak: true, .. })
            };
            let length = length((class, layout), bytes, None, limits, &mut is_same_anywhere);
            // Without a copy, a later program cannot see whether the value was changed. It then counts as chosen, and
            // wins over a kept field.
            (length.ok() == Some(bytes.len())).then(|| (class, bytes.to_vec()))
        };
        self.values.into_iter().filter_map(copy).collect()
    }
}
