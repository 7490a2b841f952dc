//! Rewrites a record of the save into the form of the program's class.
//!
//! Bytes to bytes: nothing generic is compiled twice, the typed decoder reads one
//! form only. With an explicit stack, as deep values are.
//!
//! | files | part |
//! | --- | --- |
//! | this file | the transcoder, its steps, and the results beside the payload |
//! | `record` | the fields of a record whose plan is known, and values for fields that a save does not have |
//! | `named` | records that are migrated, or hold unknown fields: their members by name, and the bytes under way |
//! | `parts` | unknown content of the values inside of a record, by the path to these |
//! | `distinct`, `skipping` | containers whose parts may become equal, or may be skipped |

mod distinct;
mod named;
mod parts;
mod record;
mod skipping;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use self::distinct::DistinctParts;
use self::named::ByteChain;
use self::parts::{optional_dynamic, read_parts, take_parts};
use self::record::SynthesizedValues;
use self::skipping::SkippingFrame;
use super::{ClassPlan, Conversion, Other, OtherField, Plan, RecordPlan, VariantPlan, shortened};
use crate::codec::{Buffer, Decoder, Fail, LoadLinks, NoLinks, UnknownPath, UnknownStep, count};
use crate::env::Env;
use crate::reflect::{Holder, VariantRecord};
use crate::schema::number::{Widening, Width};
use crate::schema::pairing::find_variant;
use crate::schema::walk::skip;
use crate::schema::{
    FieldPlace, Form, FrameParts, LONGEST_PATH, Plans, Stored, VariantSchema, WalkFrame,
    check_count, dynamic, fault, push_name, surplus, tag,
};
use crate::{Error, ErrorKind, Result};

/// A record of the save.
pub(crate) struct SourceRecord<'s> {
    /// Index of its class in the save.
    pub class: usize,
    pub id: u64,
    pub payload: &'s [u8],
    /// The unknown data that a program kept with the object: the class of each value, and its bytes.
    pub unknown: &'s [(usize, &'s [u8])],
}

/// An object that has become a value: its payload, and what a program kept of it.
pub(crate) struct InlinedObject<'s> {
    pub payload: &'s [u8],
    pub unknown: UnknownValues<'s>,
}

/// Values that are kept of an object: the class of each, and its bytes.
pub(crate) type UnknownValues<'s> = Vec<(usize, &'s [u8])>;

/// Finds an object by its id, class and holder.
type FindObject<'s> = dyn Fn(u64, usize, Holder) -> Option<InlinedObject<'s>> + 's;

/// Appends the payload of a record in the program's form; values that become objects
/// have ids from `next_id` on.
pub(crate) fn transcode<'s>(
    plans: &mut Plans<'_>,
    source: &SourceRecord<'s>,
    objects: &FindObject<'s>,
    next_id: &mut u64,
    env: &Env<'_>,
    out: &mut Vec<u8>,
) -> Result<RecordExtras> {
    let stored = plans.stored.clone();
    let payload = source.payload;
    let (mut links, chain) = (NoLinks::default(), ByteChain::default());
    let start = out.len();
    // The output of all records is limited by the input of all records so far. A record of a few bytes may get large
    // defaults if others pay for them.
    plans.rewritten += payload.len() as u64;
    let max = (u64::from(env.limits.depth) + 1).saturating_mul(plans.program.classes.len() as u64);
    let mut run = Transcoder {
        plans,
        stored: &stored,
        id: source.id,
        env,
        objects,
        bare: matches!(stored[source.class].form, Form::Value(_)),
        payload,
        input: Decoder::new(payload, env, &mut links),
        out,
        start,
        skipped: Vec::new(),
        records: 0,
        max,
        pieces: Vec::new(),
        waiting: Vec::new(),
        early: Vec::new(),
        early_defaulted: Vec::new(),
        defaults: Buffer::new(),
        chain: &chain,
        synthesized: SynthesizedValues::default(),
        replaced: Vec::new(),
        distinct: 0,
        skipping: 0,
        // The object itself counts: it cannot become a value in itself.
        inlined: vec![source.id],
        next_id,
        extras: RecordExtras::default(),
        shared_bytes: 0,
        parts: PartsByPath::new(),
    };
    let mut frames = Vec::new();
    let result = run.record(source, &mut frames).and_then(|()| run.go_on(&mut frames));
    let left = run.input.rest().len();
    let error = match result {
        Ok(()) if left == 0 => {
            let extras = run.extras;
            plans.after += (out.len() - start) as u64;
            return Ok(extras);
        }
        Ok(()) => surplus(left),
        Err(error) => error.in_field(&path(&frames, &run.skipped, &stored)),
    };
    let is_detached = |frame: &TranscodeFrame<'_>| matches!(frame, TranscodeFrame::Record(it) if it.is_detached());
    if run.inlined.len() > 1 || frames.iter().any(is_detached) {
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
    objects: &'t FindObject<'s>,
    /// True in a bare value, whose parts have no ids to be kept by.
    bare: bool,
    payload: &'t [u8],
    input: Decoder<'t>,
    out: &'t mut Vec<u8>,
    /// Where the output begins.
    start: usize,
    /// Where a walk over a value that is not rewritten failed.
    skipped: Vec<WalkFrame>,
    /// How many frames are records, and how many may be: a class holds another of itself
    /// only through levels that the codec counts, and it would refuse more of those.
    records: u64,
    max: u64,
    /// The pieces of the open records.
    pieces: Vec<&'t [u8]>,
    /// Where each of their converted pieces that are not wanted yet begins in `early`.
    waiting: Vec<usize>,
    early: Vec<u8>,
    early_defaulted: Vec<DefaultedField>,
    defaults: Buffer,
    /// The bytes that migrations made.
    chain: &'t ByteChain,
    /// The synthesized values of open records, and where their kept fields go.
    synthesized: SynthesizedValues,
    /// The rows of the values inside of open keys and elements of sets that became an `other` variant without a field.
    replaced: Vec<usize>,
    /// How many of those maps and sets are open.
    distinct: usize,
    /// How many containers are open whose elements are skipped if they cannot be rewritten.
    skipping: usize,
    /// The object, and those in it that are values now.
    inlined: Vec<u64>,
    next_id: &'t mut u64,
    extras: RecordExtras,
    /// Bytes of the values that are objects now.
    shared_bytes: usize,
    /// The kept content of parts of the record that have not been reached yet.
    parts: PartsByPath<'t>,
}

/// A record or value that is being rewritten; the innermost is last on the stack.
enum TranscodeFrame<'t> {
    Record(RecordFrame<'t>),
    /// Parts by their conversions.
    Parts(WalkFrame),
    Entries(EntriesFrame<'t>),
    Components(ComponentsFrame<'t>),
    // Boxed, as `Skipping` is: both are rare and large, and the stack has a frame for each level of nesting.
    /// Entries of a map or elements of a set. Several may become one.
    Distinct(Box<DistinctParts>),
    /// A container whose elements are skipped if they cannot be rewritten.
    Skipping(Box<SkippingFrame<'t>>),
    /// An object that is a value now, and where to continue after its reference.
    Inlined {
        after: &'t [u8],
    },
    /// The one element of a list that a value has become.
    One,
    /// A value that is an object now, and where its bytes begin.
    Shared {
        class: usize,
        holder: Holder,
        start: usize,
    },
    /// An array of `from` elements, whose end is that of the default of this field.
    Longer {
        from: usize,
        field: FieldPlace,
    },
    /// A value for a function of the `convert` of a field, and where its bytes begin.
    Typed {
        field: FieldPlace,
        number: usize,
        start: usize,
    },
}

/// A struct or a variant that is being rewritten.
///
/// Its pieces are read once, in stored order. One that is converted is rewritten as it comes, also if the program wants
/// it later: then it waits in `early`, so that nothing is walked over twice.
struct RecordFrame<'t> {
    plan: Arc<RecordPlan>,
    /// Next of the steps, and of the fields that are written.
    step: usize,
    field: usize,
    /// Where its pieces begin in those of all open records.
    first: usize,
    /// The piece that is being rewritten, if any.
    piece: Option<usize>,
    /// Where it lies, and where what it becomes does.
    order: PieceOrder<'t>,
    /// Where its converted pieces begin that wait.
    waiting: usize,
    /// Where its synthesized values begin in those of all open records.
    synthesized: usize,
    /// The offset of an object's bytes in the payload.
    start: usize,
    /// Where the pieces lie that do not follow one another.
    places: Vec<Option<UnknownLocation>>,
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

/// Entries of a map.
struct EntriesFrame<'t> {
    parts: WalkFrame,
    /// The bytes of the save from the last key on, and the length of that key.
    stored: (&'t [u8], usize),
    /// Where the key is in the output.
    key: (usize, usize),
}

/// A list of components or resources. What is unknown of them stands in it, too, before them.
struct ComponentsFrame<'t> {
    parts: WalkFrame,
    /// Where the list begins in the output, with the count.
    start: usize,
    /// The stored class of the component that is being rewritten.
    class: usize,
    unknown: Option<Box<UnknownOfList<'t>>>,
}

#[derive(Default)]
struct UnknownOfList<'t> {
    /// The elements of the list that held unknown parts.
    elements: u64,
    /// The unknown parts of components that have not come yet, by the name of the component's class.
    given: BTreeMap<String, PartsByPath<'t>>,
    kept: Vec<KeptPart>,
}

/// A value that is kept of a part of a record: the path to the part, the class of the value, and its bytes.
pub(crate) type KeptPart = (UnknownPath, usize, Vec<u8>);

/// The values that a program kept of parts of a record, by the steps to these; the class of each, and its bytes.
type PartsByPath<'t> = BTreeMap<Vec<UnknownStep>, Vec<(usize, &'t [u8])>>;

/// The names in a path.
#[derive(Clone, Copy, PartialEq)]
enum PathNames {
    Stored,
    Program,
}

/// The place of the value that the frames lead to.
struct PartPlace {
    /// The frame of the list of components in which it is.
    list: Option<usize>,
    /// The steps from there, or from the record.
    path: Vec<UnknownStep>,
}

/// The charge for a kept value beside its bytes and those of its path, in bytes: it stands for memory and time.
const UNKNOWN: usize = 256;

/// The field that is being worked on.
fn path(frames: &[TranscodeFrame<'_>], skipped: &[WalkFrame], stored: &Stored) -> String {
    let mut path = String::new();
    for frame in frames {
        match frame {
            _ if path.len() > LONGEST_PATH => {}
            TranscodeFrame::Record(record) => push_name(record.field_name(), &mut path),
            TranscodeFrame::Parts(parts)
            | TranscodeFrame::Entries(EntriesFrame { parts, .. })
            | TranscodeFrame::Components(ComponentsFrame { parts, .. }) => {
                parts.name(stored, &mut path);
            }
            TranscodeFrame::Distinct(distinct) => distinct.parts.name(stored, &mut path),
            _ => {}
        }
    }
    for frame in skipped {
        if path.len() <= LONGEST_PATH {
            frame.name(stored, &mut path);
        }
    }
    path
}

impl<'t, 's: 't> Transcoder<'t, 's, '_> {
    /// Opens the record itself.
    fn record(
        &mut self,
        source: &SourceRecord<'s>,
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) -> Result<()> {
        let class = source.class;
        let Some(target) = self.plans.resolve(class) else {
            return Err(Error::new(
                ErrorKind::NotFound,
                "the program does not have this class; register it",
            ));
        };
        // This program may know the unknown fields of the object, by their names. A bare value has no fields that could
        // be among them.
        read_parts(self, source.unknown, frames)?;
        if !source.unknown.is_empty() && !matches!(self.stored[class].form, Form::Value(_)) {
            return self.open_named(class, target, source.unknown, frames);
        }
        let conversion = self.plans.class_conversion(class, target);
        self.open(conversion, frames)
    }

    fn go_on(&mut self, frames: &mut Vec<TranscodeFrame<'t>>) -> Result<()> {
        while !frames.is_empty() {
            if self.skipping > 0 {
                SkippingFrame::begin(frames, self);
            }
            if let Err(error) = self.step(frames) {
                SkippingFrame::recover(self, frames, error)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn step(&mut self, frames: &mut Vec<TranscodeFrame<'t>>) -> Result<()> {
        let Some((frame, outer)) = frames.split_last_mut() else { return Ok(()) };
        match self.next(frame, outer)? {
            Some(conversion) => self.open(conversion, frames),
            None => {
                frames.pop();
                Ok(())
            }
        }
    }

    /// The conversion of the next part, or the end of what the frame is for.
    fn next(
        &mut self,
        frame: &mut TranscodeFrame<'t>,
        outer: &mut [TranscodeFrame<'t>],
    ) -> Result<Option<usize>> {
        match frame {
            TranscodeFrame::Record(record) => return self.advance(record, outer),
            TranscodeFrame::Parts(parts) => {
                // With `skip_failed`, `go_on` has noted the state before the next element. The loop would move past
                // that element, and a failure in a later one would restore the wrong state.
                if parts.parts == FrameParts::Elements && self.skipping == 0 {
                    let done = self.small_elements(parts.first(), parts.count - parts.next);
                    // An error is in the first that is left.
                    parts.next += done.inspect_err(|_| parts.next += 1)?;
                }
                return Ok(parts.next());
            }
            TranscodeFrame::Entries(entries) => return Ok(entries.next(self)),
            TranscodeFrame::Components(list) => {
                let next = list.parts.next();
                if next.is_none() {
                    list.end(self)?;
                }
                return Ok(next);
            }
            TranscodeFrame::Distinct(distinct) => return Ok(distinct.next(self)),
            TranscodeFrame::Skipping(skipping) => skipping.end(self),
            TranscodeFrame::Inlined { after } => {
                let left = self.input.rest().len();
                if left > 0 {
                    return Err(surplus(left));
                }
                self.input.go_back(after);
                self.inlined.pop();
            }
            TranscodeFrame::Shared { class, holder, start } => {
                self.end_shared(*class, *holder, *start)?;
            }
            TranscodeFrame::One => {}
            TranscodeFrame::Longer { from, field } => self.end_of_default(*field, *from)?,
            TranscodeFrame::Typed { field, number, start } => {
                self.end_typed(*field, *number, *start)?;
            }
        }
        Ok(None)
    }

    /// Rewrites a value without parts, or opens one.
    fn open(&mut self, mut of: usize, frames: &mut Vec<TranscodeFrame<'t>>) -> Result<()> {
        loop {
            of = match self.plans.conversions[of] {
                Conversion::Copy(node) => return self.copy(node),
                Conversion::Number { from, to, clamped } => return self.number(from, to, clamped),
                Conversion::Option(inner) => {
                    let some = self.input.value::<bool>().map_err(fault)?;
                    self.out.push(u8::from(some));
                    if !some {
                        return Ok(());
                    }
                    inner
                }
                Conversion::OptionalDynamic(inner) => {
                    let Some(class) = optional_dynamic(self, frames)? else { return Ok(()) };
                    self.out.push(1);
                    match class {
                        // It follows in the record.
                        None => inner,
                        Some(class) => match self.open_dynamic(class, frames)? {
                            Some(inner) => inner,
                            None => return Ok(()),
                        },
                    }
                }
                Conversion::Some(inner) => {
                    self.out.push(1);
                    inner
                }
                Conversion::One(inner) => {
                    self.out.push(1);
                    frames.push(TranscodeFrame::One);
                    inner
                }
                Conversion::Present(inner) => {
                    if !self.input.value::<bool>().map_err(fault)? {
                        return Err(Error::new(
                            ErrorKind::InvalidValue,
                            "the save holds `None` where the program has no `Option` any more; keep the `Option`, or give the field a `convert` that takes it",
                        ));
                    }
                    inner
                }
                Conversion::Elements { min, of, from, to, may_collide } => {
                    let start = self.out.len();
                    let count = self.length(min, from, to)?;
                    if may_collide {
                        let parts =
                            DistinctParts::open(WalkFrame::elements(of, count), start, self);
                        frames.push(TranscodeFrame::Distinct(parts));
                    } else if !self.numbers(of, count)? {
                        frames.push(TranscodeFrame::Parts(WalkFrame::elements(of, count)));
                    }
                    return Ok(());
                }
                Conversion::Components { min, of } => {
                    let start = self.out.len();
                    let count = self.length(min, None, None)?;
                    let parts = WalkFrame::elements(of, count);
                    let (class, unknown) = (usize::MAX, None);
                    let list = ComponentsFrame { parts, start, class, unknown };
                    frames.push(TranscodeFrame::Components(list));
                    return Ok(());
                }
                Conversion::Longer { of: inner, from, field, row } => {
                    self.plans.rows.count(row, 1, self.id);
                    frames.push(TranscodeFrame::Longer { from, field });
                    inner
                }
                Conversion::Map { min, key, may_collide, is_list } => {
                    let start = self.out.len();
                    let count = self.length(min, None, None)?;
                    let parts = WalkFrame::entries(key, count);
                    frames.push(match may_collide {
                        true => TranscodeFrame::Distinct(DistinctParts::open(parts, start, self)),
                        false if is_list => TranscodeFrame::Parts(parts),
                        false => {
                            let (stored, key) = ((&[][..], 0), (0, 0));
                            TranscodeFrame::Entries(EntriesFrame { parts, stored, key })
                        }
                    });
                    return Ok(());
                }
                Conversion::Parts(first, len) => {
                    frames.push(TranscodeFrame::Parts(WalkFrame::parts(first, len)));
                    return Ok(());
                }
                Conversion::Class(plan) => {
                    let Some(inner) = self.open_class(plan, frames)? else { return Ok(()) };
                    inner
                }
                Conversion::Struct(tuple) => {
                    let fields = self.plans.tuples[tuple].clone();
                    return self.open_fields(fields, frames);
                }
                Conversion::Dynamic => {
                    let class = dynamic(self.stored, &mut self.input).map_err(fault)?;
                    if let Some(TranscodeFrame::Components(list)) = frames.last_mut()
                        && !list.begins(class, self)?
                    {
                        return Ok(());
                    }
                    let Some(inner) = self.open_dynamic(class, frames)? else { return Ok(()) };
                    inner
                }
                Conversion::Variant { class, lost, .. } => {
                    return self.text_to_variant(class, lost);
                }
                Conversion::Name(class) => return self.variant_to_text(class),
                Conversion::Share { class, holder, of: inner } => {
                    frames.push(TranscodeFrame::Shared { class, holder, start: self.out.len() });
                    inner
                }
                Conversion::Inline { class, holder, of: inner, shared } => {
                    let (frame, unknown) = self.inline(class, holder, shared)?;
                    frames.push(frame);
                    read_parts(self, &unknown, frames)?;
                    if !unknown.is_empty() && self.open_unknown(class, inner, &unknown, frames)? {
                        return Ok(());
                    }
                    inner
                }
                Conversion::Skipping { of: inner, node, is_option, field } => {
                    let frame = SkippingFrame::open(self, node, is_option, field);
                    frames.push(TranscodeFrame::Skipping(Box::new(frame)));
                    inner
                }
                Conversion::Typed { of: inner, field, number } => {
                    frames.push(TranscodeFrame::Typed { field, number, start: self.out.len() });
                    inner
                }
            }
        }
    }

    /// Opens a trait object of a class; returns its conversion, unless it is copied.
    fn open_dynamic(
        &mut self,
        class: usize,
        frames: &mut [TranscodeFrame<'t>],
    ) -> Result<Option<usize>> {
        // The number stays that of the save, since a decoder looks it up in the save's schema.
        count::push(class as u64 + 1, self.out);
        let target = self.plans.resolve(class);
        let Some(target) = target.filter(|_| self.plans.rewrites_dynamic(class)) else {
            if let Some(TranscodeFrame::Components(list)) = frames.last_mut() {
                list.keep_parts(self);
            }
            return self.copy(self.stored.root(class)).map(|()| None);
        };
        Ok(Some(self.plans.class_conversion(class, target)))
    }

    /// Opens a struct or an enum; returns the conversion of a bare value.
    fn open_class(
        &mut self,
        place: usize,
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) -> Result<Option<usize>> {
        let ClassPlan { class, target, .. } = self.plans.plans[place];
        if !matches!(self.stored[class].form, Form::Value(_))
            && let Some(unknown) = take_parts(self, frames, false)
        {
            return self.open_named(class, target, &unknown, frames).map(|()| None);
        }
        match self.plans.plan(place)? {
            Plan::Value(conversion, row) => {
                row.into_iter().for_each(|row| self.plans.rows.count(row, 1, self.id));
                return Ok(Some(conversion));
            }
            Plan::Named => self.open_named(class, target, &[], frames)?,
            Plan::Struct(plan) => {
                // A single small record takes the loop as well: it saves a frame.
                if self.small_records(&plan, 1)? == 0 {
                    self.open_fields(plan, frames)?;
                }
            }
            Plan::Enum(variants, newer) => {
                newer.into_iter().for_each(|row| self.plans.rows.count(row, 1, self.id));
                let (number, schema) = self.read_tag(class)?;
                match &variants[number] {
                    VariantPlan::Fields(plan) => {
                        self.tag(target, plan.target.1)?;
                        self.open_fields(plan.clone(), frames)?;
                    }
                    VariantPlan::Other(other) => {
                        let first = self.stored.first(class, number);
                        let bytes = self.consume(first, schema.fields.len())?;
                        self.other_variant(target, *other, bytes)?;
                    }
                    VariantPlan::Removed => return Err(self.removed(class, &schema.name)),
                }
            }
        }
        Ok(None)
    }

    /// Takes over the value of a node as it is.
    fn copy(&mut self, node: usize) -> Result<()> {
        let bytes = self.consume(node, 1)?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// The bytes of the values of `nodes` nodes.
    fn consume(&mut self, first: usize, nodes: usize) -> Result<&'t [u8]> {
        let whole = self.input.rest();
        for node in first..first + nodes {
            skip(node, self.stored, &mut self.input, &mut self.skipped).map_err(fault)?;
        }
        Ok(&whole[..whole.len() - self.input.rest().len()])
    }

    /// Checks what all records take if the output is so long.
    fn check(&self, end: usize) -> Result<()> {
        // The lists beside the output count too. A default may have no bytes in the output, and would be free.
        let defaulted = self.extras.defaulted.len() + self.early_defaulted.len();
        let after = end - self.start + self.early.len() + self.shared_bytes;
        let after = after.saturating_add(defaulted.saturating_mul(size_of::<DefaultedField>()));
        let after = self.plans.after + after as u64;
        self.env.limits.check_rewritten(self.plans.rewritten, after)
    }

    /// Rewrites a number.
    fn number(&mut self, from: Width, to: Width, clamped: usize) -> Result<()> {
        if let Some(by) = to.widening(from) {
            let bytes = self.input.take(by.from()).map_err(fault)?;
            self.widen(by, bytes);
            return Ok(());
        }
        let number = from.take(&mut self.input).map_err(fault)?;
        // The nearest number is written in any case, which is the result with `clamp`.
        if !to.write(number, self.out) {
            if !self.plans.options.clamp {
                return Err(Error::new(
                    ErrorKind::InvalidValue,
                    format!(
                        "the save holds {number}, {from}, which is not exactly {to}; keep the wider type, give the field a `convert`, or load with `LoadOptions::clamp`"
                    ),
                ));
            }
            self.plans.rows.count(clamped, 1, self.id);
        }
        Ok(())
    }

    /// Appends a number of a wider kind.
    #[inline(always)]
    fn widen(&mut self, by: Widening, bytes: &[u8]) {
        // A copy of a fixed length is no call.
        let end = self.out.len() + by.to();
        self.out.extend_from_slice(&by.widen(bytes));
        self.out.truncate(end);
    }

    /// Rewrites `count` elements at once, if they are numbers that always fit; else false.
    fn numbers(&mut self, of: usize, count: u64) -> Result<bool> {
        let Conversion::Number { from, to, .. } = self.plans.conversions[of] else {
            return Ok(false);
        };
        // A number that does not fit needs an error with its index, and compact numbers vary in length. Both are left
        // to the frames.
        if !from.fits(to) || from.is_compact() || to.is_compact() {
            return Ok(false);
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let bytes = self.input.take(count.saturating_mul(from.bytes())).map_err(fault)?;
        // `take` bounds the count by the input, but each byte may become a `u128`, so the limit is checked before the
        // output grows.
        self.check(self.out.len().saturating_add(count.saturating_mul(to.bytes())))?;
        let widening = to.widening(from);
        for number in bytes.chunks_exact(from.bytes()) {
            match widening {
                Some(by) => self.widen(by, number),
                None => drop(to.write(from.read(number), self.out)),
            }
        }
        Ok(true)
    }

    /// Rewrites a text as the variant of that name.
    fn text_to_variant(&mut self, target: usize, lost: usize) -> Result<()> {
        let text = self.input.value::<String>().map_err(fault)?;
        let class = self.plans.program.targets[target].map(|target| target.class);
        let variants = class.map_or(&[][..], |class| class.variants());
        let found = find_variant(&text, variants).or_else(|| {
            let is_other = |variant: &VariantRecord| variant.other && variant.fields.is_empty();
            let other = variants.iter().position(is_other)?;
            self.plans.rows.count(lost, 1, self.id);
            self.note_replaced(lost);
            Some(other)
        });
        match found.filter(|variant| variants[*variant].fields.is_empty()) {
            Some(variant) => self.tag(target, variant),
            None => Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "the save holds the text {:?} where the program has enum {}, which has no such variant without fields; name it as an `alias` of one, mark a unit variant `other`, or give the field a `convert`",
                    shortened(&text),
                    self.plans.program.classes[target].name
                ),
            )),
        }
    }

    /// Rewrites a variant as the text of its name.
    fn variant_to_text(&mut self, class: usize) -> Result<()> {
        let (_, variant) = self.read_tag(class)?;
        count::push(variant.name.len() as u64, self.out);
        self.out.extend_from_slice(variant.name.as_bytes());
        Ok(())
    }

    /// Makes the program's `other` variant of one that it does not have.
    fn other_variant(&mut self, target: usize, other: Other, bytes: &[u8]) -> Result<()> {
        self.plans.rows.count(other.row, 1, self.id);
        self.tag(target, other.variant)?;
        match other.field {
            OtherField::None => self.note_replaced(other.row),
            OtherField::Empty => {
                self.note_replaced(other.row);
                self.out.push(0);
            }
            OtherField::Unknown(class) => {
                // One value, of an enum with this variant alone.
                self.out.push(1);
                count::push(class as u64 + 1, self.out);
                self.out.push(0);
                self.out.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// Notes that a value became an `other` variant that keeps nothing, by the row that it is counted in.
    fn note_replaced(&mut self, row: usize) {
        // Only keys of maps and elements of sets can become equal, so the list stays empty elsewhere.
        if self.distinct > 0 {
            self.replaced.push(row);
        }
    }

    /// Makes a field of the last bytes, by a function of its `convert`.
    fn end_typed(
        &mut self,
        (class, variant, field): FieldPlace,
        number: usize,
        start: usize,
    ) -> Result<()> {
        let Some(target) = self.plans.program.targets[class] else { return Ok(()) };
        let (old, env) = (&self.out[start..], self.env);
        self.defaults.encode_with(env, &mut NoLinks::default(), |out| {
            let mut links = NoLinks::default();
            let mut input = Decoder::new(old, env, &mut links);
            (target.access.make_field)(variant, field, Some((number, &mut input)), out)
        })?;
        self.out.truncate(start);
        // The function has read the old value with its defaults. The list must not name them in the new value.
        DefaultedField::truncate(&mut self.extras.defaulted, start);
        self.check(start + self.defaults.len())?;
        self.out.extend_from_slice(self.defaults.bytes());
        Ok(())
    }

    /// The error for a variant that the program does not have.
    fn removed(&self, class: usize, variant: &str) -> Error {
        Error::new(
            ErrorKind::NotFound,
            format!(
                "the program's {} has no variant {variant}; keep it, name it as an `alias` of another, or give the enum a variant `#[persist(other)] Other(persist::Unknown)`",
                self.stored[class].name
            ),
        )
    }

    /// Reads which variant of a stored enum follows.
    fn read_tag(&mut self, class: usize) -> Result<(usize, &'t VariantSchema)> {
        let form = &self.stored[class].form;
        let Form::Enum(variants) = form else { return Err(fault(Fail::Value)) };
        let number = tag(form, &mut self.input).map_err(fault)?;
        let schema = variants.get(number).ok_or_else(|| fault(Fail::Value))?;
        Ok((number, schema))
    }

    /// Writes the tag of the program's variant.
    fn tag(&mut self, target: usize, variant: usize) -> Result<()> {
        let width = self.plans.program.classes[target].form.tag_width();
        let tag = u16::try_from(variant).map_err(|_| fault(Fail::Value))?.to_le_bytes();
        self.out.extend_from_slice(&tag[..width]);
        Ok(())
    }

    /// Takes over the length of a list of elements of at least `min` bytes each.
    fn length(&mut self, min: u32, from: Option<usize>, to: Option<usize>) -> Result<u64> {
        let count = match from {
            Some(count) => {
                if min == 0 {
                    self.charge_empty(count)?;
                }
                count as u64
            }
            None => self.read_count(min)?,
        };
        match to {
            Some(expected) if expected as u64 != count => Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "the save holds {count} elements where the program has an array of {expected}; give the field a `convert`, or make it a `Vec`"
                ),
            )),
            Some(_) => Ok(count),
            None => {
                count::push(count, self.out);
                Ok(count)
            }
        }
    }

    /// Reads a count; elements without bytes are limited in number over the whole save.
    fn read_count(&mut self, min: u32) -> Result<u64> {
        let count = count::decode(&mut self.input).map_err(fault)?;
        // A hostile count takes a few bytes and claims 2^64 elements. Elements without bytes are charged by number, all
        // others need their bytes in the input.
        if min == 0 {
            self.charge_empty(usize::try_from(count).unwrap_or(usize::MAX))?;
        } else {
            check_count(count, u64::from(min), &self.input).map_err(fault)?;
        }
        Ok(count)
    }

    fn charge_empty(&mut self, count: usize) -> Result<()> {
        LoadLinks::charge(&mut self.plans.empty, count, 0, &self.env.limits)
    }
}

/// The results of rewriting a record besides its payload.
#[derive(Default)]
pub(crate) struct RecordExtras {
    /// Values that are kept of parts of the object.
    pub parts: Vec<KeptPart>,
    /// Values that are kept of the object: the class of each, and where it is.
    pub unknown: Vec<(usize, UnknownLocation)>,
    /// The synthesized defaults of the object's fields, which are kept beside its unknown fields.
    pub synthesized: Vec<(usize, Vec<u8>)>,
    /// Values that are objects of their own now.
    pub shared: Vec<SharedValue>,
    /// Fields with defaults that are not read from the payload, in its order.
    pub defaulted: Vec<DefaultedField>,
}

/// A field that is stored by a module, and that the save does not have. It gets its default as that is: the module may
/// refuse it or make another value of it. The payload has its bytes too, for those who read it without the type.
pub(crate) struct DefaultedField {
    /// Where those are in the payload.
    pub bytes: Range<usize>,
    pub field: FieldPlace,
}

impl DefaultedField {
    /// Takes out of a list those whose bytes begin in a range, with what follows `start` moved to `to`.
    fn moved(list: &[Self], bytes: Range<usize>, to: usize) -> impl Iterator<Item = Self> {
        // The list is in the order of the output. A scan instead of a search would make long lists of such elements
        // quadratic.
        let first = list.partition_point(|it| it.bytes.start < bytes.start);
        let end = list.partition_point(|it| it.bytes.start < bytes.end);
        list[first..end].iter().map(move |it| it.at(bytes.start, to))
    }

    /// Follows its bytes, where those from `from` on stand at `to` now.
    fn at(&self, from: usize, to: usize) -> Self {
        let [start, end] = [self.bytes.start, self.bytes.end].map(|at| at - from + to);
        Self { bytes: start..end, field: self.field }
    }

    /// Lets those of a list follow their bytes, where those from `from` on stand at `to` now.
    fn follow(list: &mut [Self], from: usize, to: usize) {
        // A count above 247 takes two bytes. When skipped elements brought it down to 247, the defaults after the list
        // were once read one byte off.
        let first = list.partition_point(|it| it.bytes.start < from);
        for field in &mut list[first..] {
            *field = field.at(from, to);
        }
    }

    /// Drops those whose bytes begin at `start` or after it.
    fn truncate(list: &mut Vec<Self>, start: usize) {
        list.truncate(list.partition_point(|it| it.bytes.start < start));
    }
}

/// Where a value that is kept of an object lies.
pub(crate) enum UnknownLocation {
    /// In the payload of its record.
    Payload(Range<usize>),
    /// It is the one of this index of what was kept before.
    Original(usize),
}

/// A value that has become an object.
pub(crate) struct SharedValue {
    pub id: u64,
    /// The program's class.
    pub class: usize,
    pub holder: Holder,
    pub payload: Vec<u8>,
    pub defaulted: Vec<DefaultedField>,
}

impl SharedValue {
    /// How much memory it takes.
    fn bytes(&self) -> usize {
        // A default may have no bytes in the payload, so the entries count by their own size.
        self.payload.len() + self.defaulted.len() * size_of::<DefaultedField>()
    }
}
