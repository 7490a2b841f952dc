//! [`Plans`]: how the records of each stored class become those of the program's class, planned on first use.
//!
//! | files | part |
//! | --- | --- |
//! | this file | the plans of a load, and of a record; the rows of its report |
//! | `ops` | the operations of a plan |
//! | `fields`, `conversion`, `meaning` | a plan is made: fields, kinds, and which kinds are the same |
//! | `transcode` | a plan runs over the bytes of a record |
//! | `due` with `migrate` | records of older versions are migrated |
//! | `skipped`, `texts` | lengths of skipped elements; classes and fields named in texts |

mod conversion;
mod due;
mod fields;
mod meaning;
mod ops;
mod skipped;
mod texts;
mod transcode;

pub(crate) use self::transcode::{
    DefaultedField, InlinedObject, KeptPart, RecordExtras, SharedValue, SourceRecord,
    UnknownLocation, UnknownValues, transcode,
};

pub use self::texts::{Texts, texts_and_classes_by_place};

pub(crate) use self::skipped::converted_length;

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use self::due::WatchedClasses;
use self::ops::{Conversion, FieldSource, OtherField, Plan, RecordStep, VariantPlan};
#[cfg(feature = "history")]
use super::ClassSchema;
use super::matching::{Matched, is_older};
use super::pairing::StoredField;
use super::{
    FieldPlace, Form, LoadEvent, Occurrences, PlannedRow, Program, REMOVED, Reader, Stored,
};
use crate::codec::NoLinks;
use crate::reflect::Holder;
use crate::sorting::sort;
use crate::value::{Origin, Value};
use crate::{Limits, LoadOptions, Result};

/// The plans for the classes of one save.
pub struct Plans<'p> {
    /// The classes of the save.
    pub stored: Arc<Stored>,
    program: &'p Program,
    options: LoadOptions,
    /// True if what is kept of an object can be given back with it.
    pub(crate) keeps_unknown: bool,
    /// The class of unknown content with a path, if the save has some. Its parts are found only if each value on the way
    /// is converted, so none is copied as a whole then.
    unknown_at: Option<usize>,
    matched: Arc<Matched>,
    /// From stored classes to those of the program.
    plans: Vec<ClassPlan>,
    /// Their places, by their classes.
    places: HashMap<(usize, usize), usize>,
    conversions: Vec<Conversion>,
    /// Tuples that become structs.
    tuples: Vec<Arc<RecordPlan>>,
    /// How deep the conversion of a tuple to a struct is in others, while they are made.
    tuples_in_tuples: usize,
    /// The conversions of stored fields, by their nodes, to fields of the program.
    fields: HashMap<(usize, FieldPlace), usize>,
    rows: Rows,
    /// Objects that are values now: the row of those that were shared, and the object that
    /// has the first copy.
    inlined: HashMap<u64, (usize, u64)>,
    /// Counts elements without bytes that are rewritten.
    empty: NoLinks,
    /// Reads what is migrated; counts the work on what is migrated and kept.
    reader: Option<Reader>,
    /// The stored classes with conversions that come after a step of another class; `None` until the first migration.
    watched: Option<WatchedClasses>,
    /// Bytes of the payloads that were rewritten, as stored.
    rewritten: u64,
    /// Bytes of the same in the program's form.
    after: u64,
    /// Elements that were skipped since they could not be loaded.
    skipped: u64,
}

/// How records of a stored class become those of a class of the program.
struct ClassPlan {
    class: usize,
    target: usize,
    /// The conversion that runs it.
    conversion: usize,
    /// None until a record needs it.
    plan: Option<Plan>,
}

impl<'p> Plans<'p> {
    /// Plans for these classes; a record of the first class of `root` is asked for as a value of
    /// the program's second.
    #[cfg(feature = "history")]
    pub fn new(
        stored: Vec<ClassSchema>,
        program: &'p Program,
        options: LoadOptions,
        root: Option<(usize, usize)>,
    ) -> Self {
        let matched = Matched::new(stored, program, root, options.drop_unknown);
        Self::with_matched(Arc::new(matched), program, options)
    }

    /// Plans for classes that have been matched with the program's.
    pub(crate) fn with_matched(
        matched: Arc<Matched>,
        program: &'p Program,
        options: LoadOptions,
    ) -> Self {
        Self {
            stored: matched.stored.clone(),
            unknown_at: matched.stored.unknown_at(),
            program,
            options,
            keeps_unknown: true,
            matched,
            plans: Vec::new(),
            places: HashMap::new(),
            conversions: Vec::new(),
            tuples: Vec::new(),
            tuples_in_tuples: 0,
            fields: HashMap::new(),
            rows: Rows::default(),
            inlined: HashMap::new(),
            empty: NoLinks::default(),
            reader: None,
            watched: None,
            rewritten: 0,
            after: 0,
            skipped: 0,
        }
    }

    /// The schema with the pointers of the save, if the program has others.
    pub(crate) fn as_stored(&self) -> Option<&Arc<Stored>> {
        self.matched.as_stored.as_ref()
    }

    /// The program's class for a stored one.
    pub fn resolve(&self, class: usize) -> Option<usize> {
        self.matched.resolve(class)
    }

    /// The holder in which the program has objects of a stored class that the save has in this one.
    pub fn holder(&self, class: usize, stored: Holder) -> Holder {
        self.matched.holder(class, stored, self.program)
    }

    /// Like [`resolve`](Self::resolve), for a value that a migration has moved, which has no place yet.
    fn resolve_moved(&self, class: usize) -> Option<usize> {
        self.resolve(class).or_else(|| self.program.find_instance(&self.stored[class]))
    }

    /// The stored instances of generic classes that the program does not have, with the candidates that their objects
    /// could become.
    pub fn contested(&self) -> impl Iterator<Item = (usize, &[usize])> {
        let candidates = self.matched.candidates().iter();
        let contested = candidates.filter(|(class, _)| self.resolve(**class).is_none());
        contested.map(|(class, candidates)| (*class, &candidates[..]))
    }

    /// True for a stored class whose objects become another instance of their generic class, or could become one of
    /// several.
    pub fn is_instance(&self, class: usize) -> bool {
        self.matched.candidates().contains_key(&class)
    }

    /// True if the records of a stored class are as the program would write them.
    pub(crate) fn is_identical(&self, class: usize) -> bool {
        self.matched.identical[class]
    }

    /// True if values of a stored class are rewritten where they are trait objects:
    /// those that no trait has stay as they are stored, to be skipped or kept.
    pub(crate) fn rewrites_dynamic(&self, class: usize) -> bool {
        let target = self.resolve(class);
        (self.unknown_at.is_some() || !self.is_identical(class))
            && target.is_some_and(|class| self.program.implementors.contains(&class))
    }

    /// True for the number of the class of unknown content with a path.
    pub fn is_unknown_at(&self, number: u64) -> bool {
        self.unknown_at.is_some_and(|class| class as u64 + 1 == number)
    }

    /// Returns the events of the load, each with its count.
    pub(crate) fn events(&self) -> impl Iterator<Item = (PlannedRow, Occurrences)> {
        self.rows.happened().cloned()
    }

    /// Returns the options of the load.
    pub(crate) fn options(&self) -> LoadOptions {
        self.options
    }

    /// True if the records of a stored class are migrated.
    pub fn is_migrated(&self, class: usize, target: usize) -> bool {
        self.program.targets[target]
            .is_some_and(|target| is_older(self.stored[class].version, target.class))
    }

    /// Makes the plan for a stored class that the program has, as a load of its records would.
    ///
    /// # Errors
    ///
    /// Returns an error if records of the class do not load.
    pub fn check(&mut self, class: usize) -> Result<()> {
        match self.resolve(class) {
            Some(target) => {
                let plan = self.class_plan(class, target);
                self.plan(plan).map(drop).map_err(|error| self.of_other_class(class, error))
            }
            None => Ok(()),
        }
    }

    /// Like [`check`](Self::check), for a bare value: no name shows whether it is another one.
    pub(crate) fn check_bare(&mut self, class: usize) -> Result<()> {
        if matches!(self.stored[class].form, Form::Value(_)) { self.check(class) } else { Ok(()) }
    }

    /// The plan of this place; made once, when the first record needs it.
    #[inline]
    fn plan(&mut self, place: usize) -> Result<Plan> {
        let ClassPlan { class, target, plan, .. } = &self.plans[place];
        if let Some(plan) = plan {
            return Ok(plan.clone());
        }
        let plan = self.compile(*class, *target)?;
        self.plans[place].plan = Some(plan.clone());
        Ok(plan)
    }

    /// The place of the plan from a stored class to one of the program.
    fn class_plan(&mut self, class: usize, target: usize) -> usize {
        if let Some(place) = self.places.get(&(class, target)) {
            return *place;
        }
        let place = self.plans.len();
        let conversion = self.enter(Conversion::Class(place));
        self.plans.push(ClassPlan { class, target, conversion, plan: None });
        self.places.insert((class, target), place);
        place
    }

    /// The conversion of a stored class to one of the program.
    fn class_conversion(&mut self, class: usize, target: usize) -> usize {
        let place = self.class_plan(class, target);
        self.plans[place].conversion
    }

    /// Returns the reader of records as values. Its budget covers everything that was rewritten so far.
    fn reader(&mut self, limits: &Limits) -> &mut Reader {
        let rewritten = self.rewritten;
        let reader = self.reader.get_or_insert_with(|| Reader::new(limits, rewritten));
        reader.allow_in_all(limits, rewritten);
        reader
    }

    /// Counts what happened to one value.
    pub(super) fn happened(
        &mut self,
        event: LoadEvent,
        class: &str,
        field: &str,
        detail: &str,
        object: u64,
    ) {
        let row = self.rows.row(event, class, field, detail);
        self.rows.count(row, 1, object);
    }

    /// Reports that a part of a field of the program was skipped, and why. Of very many the last ones have one row for
    /// each field.
    pub(crate) fn skipped(
        &mut self,
        (class, variant, field): FieldPlace,
        part: &str,
        reason: &str,
        object: u64,
    ) {
        const MAX: u64 = 1000;
        self.skipped += 1;
        let program = self.program;
        let (name, schema) = (&program.classes[class].name, program.expected(class, variant));
        let field = &schema.fields[field].name;
        match self.skipped <= MAX {
            true => {
                let path = format!("{field}{part}");
                self.happened(LoadEvent::Skipped, name, &path, reason, object);
            }
            false => self.happened(LoadEvent::Skipped, name, field, "others", object),
        }
    }

    /// True if an object has become a value.
    #[inline]
    pub(crate) fn has_inlined(&self) -> bool {
        !self.inlined.is_empty()
    }

    pub(crate) fn is_inlined(&self, object: u64) -> bool {
        !self.inlined.is_empty() && self.inlined.contains_key(&object)
    }

    /// The objects that have become values, in order.
    pub(crate) fn inlined(&self) -> Vec<u64> {
        let mut inlined: Vec<u64> = self.inlined.keys().copied().collect();
        sort(&mut inlined);
        inlined
    }

    /// Counts an object that has become a value, and that something else leads to.
    pub(crate) fn count_unshared(&mut self, object: u64) {
        if let Some((row, holder)) = self.inlined.get(&object) {
            self.rows.count(*row, 1, *holder);
        }
    }
}

/// The program's `other` variant for one that it does not have.
#[derive(Clone, Copy)]
struct Other {
    variant: usize,
    field: OtherField,
    row: usize,
}

/// How a record becomes a struct or a variant of the program's.
struct RecordPlan {
    /// The name of the stored variant.
    variant: Option<Arc<str>>,
    /// True if the stored class is a newtype.
    is_newtype: bool,
    /// The program's class and variant.
    target: (usize, usize),
    /// The pieces of the record, in stored order.
    pieces: Vec<Piece>,
    /// The pieces that are converted, in order, each with the field of the program that it becomes.
    converted: Vec<(usize, usize)>,
    /// The program's fields, in its order.
    sources: Vec<FieldSource>,
    /// The steps of the conversion, in order.
    steps: Vec<RecordStep>,
    /// The unknown fields, each kept or dropped.
    unknown: Vec<UnknownFieldStep>,
    /// True if the program's class has a field for what is unknown.
    has_room: bool,
    /// True if unknown fields are kept and others are synthesized. Then copies of the synthesized values are kept, too,
    /// so that a later program sees whether they were changed.
    marks: bool,
    /// The rows that each record adds to the report.
    rows: Vec<usize>,
    /// By how many bytes each record grows, if records of it are rewritten in a loop of their own.
    growth: Option<usize>,
}

impl RecordPlan {
    /// Notes which sources make up the value of a field.
    fn mark(&mut self, synthesized: &[(usize, Range<usize>)]) {
        self.marks = true;
        for (field, sources) in synthesized.iter().rev() {
            self.sources.insert(sources.end, FieldSource::End);
            self.sources.insert(sources.start, FieldSource::Synthesized(*field));
        }
    }
}

/// A stored field, or several that are taken over or skipped together.
struct Piece {
    /// The name of the first field in it.
    name: Arc<str>,
    nodes: Range<usize>,
    /// Its bytes, if all records have as many.
    span: Option<usize>,
}

impl Piece {
    /// How many of these bytes it is; `None` if it is long or deep, or there are fewer.
    #[inline(always)]
    fn length(&self, stored: &Stored, bytes: &[u8]) -> Option<usize> {
        self.span.or_else(|| stored.lengths(self.nodes.clone(), bytes))
    }
}

struct UnknownFieldStep {
    piece: usize,
    /// The class as which it is kept.
    class: usize,
    /// The row if the field is kept. Data that was unknown to an earlier program, too, is reported as a value of its
    /// class.
    retained_row: Option<usize>,
    /// The row if the field cannot be kept.
    dropped_row: Option<usize>,
}

/// The fields of a stored class or variant, or of one record.
struct StoredFields<'a> {
    /// Name of the class.
    class: &'a str,
    /// Name of the variant.
    variant: Option<&'a str>,
    /// The version of the class that stored them; `None` for the parts of a tuple.
    version: Option<u32>,
    members: &'a [Member<'a>],
}

/// A stored value of a record that may become a field.
#[derive(Default)]
struct Member<'a> {
    name: Arc<str>,
    number: Option<u32>,
    origin: Origin,
    /// True if a program synthesized it, also if a migration has renamed it.
    is_synthesized: bool,
    /// The version to which a migration came that made or renamed it; 0 if none has.
    since: u32,
    /// Its node; `None` of what a migration has made.
    stored: Option<usize>,
    /// The value, if a migration made it.
    made: Cell<Option<Value>>,
    /// The class as which it can be kept.
    unknown_class: Option<usize>,
    /// Its bytes in one record. `place` says where they stay if they are kept.
    bytes: &'a [u8],
    place: Option<UnknownLocation>,
}

impl StoredField for Member<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> Option<u32> {
        self.number
    }

    fn origin(&self) -> Origin {
        self.origin
    }
}

impl<'a> StoredFields<'a> {
    /// The fields of a stored class, of one variant if it is an enum.
    fn new(all: &'a Stored, class: usize, variant: usize, members: &'a [Member<'a>]) -> Self {
        let name = match &all[class].form {
            Form::Enum(variants) => Some(&*variants[variant].name),
            _ => None,
        };
        Self { class: &all[class].name, variant: name, version: Some(all[class].version), members }
    }

    /// A field's name, after that of its variant.
    fn path(&self, field: &str) -> String {
        match self.variant {
            Some(variant) => format!("{}.{field}", shortened(variant)),
            None => field.to_owned(),
        }
    }
}

impl Stored {
    /// The fields of a struct (`variant` is 0) or of a variant, as what each record has.
    fn members(&self, class: usize, variant: usize) -> Vec<Member<'_>> {
        let first = self.first(class, variant);
        let fields = self.fields(class, variant).iter().zip(first..);
        let members = fields.map(|(field, node)| Member {
            name: (&*field.name).into(),
            number: field.id,
            stored: Some(node),
            unknown_class: Some(self.unknown_field(node)),
            ..Member::default()
        });
        members.collect()
    }
}

/// The field for which a conversion is made.
#[derive(Clone, Copy)]
struct FieldName<'p> {
    class: &'p str,
    field: &'p str,
}

/// The rows of all plans, and how often each came about.
#[derive(Default)]
struct Rows {
    rows: Vec<(PlannedRow, Occurrences)>,
    known: std::collections::HashMap<PlannedRow, usize>,
}

/// Bytes of a name in a report; a save may have any number of longer ones.
const LONGEST_NAME: usize = 200;

impl Rows {
    /// The row of what may happen.
    fn row(&mut self, event: LoadEvent, class: &str, field: &str, detail: &str) -> usize {
        // Consecutive rows mostly share their class. An unknown field has two rows, for when it is kept and for when it
        // is dropped, with different details: 10,000 copies of a detail took a megabyte.
        let shared = |text: &str, of: fn(&PlannedRow) -> &Arc<str>| {
            let text = shortened(text);
            let mut last = self.rows.iter().rev().take(2).map(|(row, _)| of(row));
            last.find(|last| ***last == *text).cloned().unwrap_or_else(|| Arc::from(text))
        };
        let class = shared(class, |row| &row.class);
        let field = shared(field, |row| &row.field);
        let detail = shared(detail, |row| &row.detail);
        let row = PlannedRow { event, class, field, detail };
        *self.known.entry(row).or_insert_with_key(|row| {
            self.rows.push((row.clone(), Occurrences::default()));
            self.rows.len() - 1
        })
    }

    /// Counts what happened in an object.
    #[inline]
    fn count(&mut self, row: usize, count: u64, object: u64) {
        let run = &mut self.rows[row].1;
        if run.count == 0 {
            run.first = object;
        }
        run.count += count;
    }

    /// Counts a value that was replaced, a part that several would have in common, as dropped instead.
    fn drop_replaced(&mut self, row: usize, object: u64) {
        let (row, run) = &mut self.rows[row];
        run.count = run.count.saturating_sub(1);
        let row = row.clone();
        let detail = match row.is_accepted() {
            true => REMOVED.to_owned(),
            false => format!("a key or element that would be another {}", row.detail),
        };
        let row = self.row(LoadEvent::Dropped, &row.class, &row.field, &detail);
        self.count(row, 1, object);
    }

    /// Returns the rows that occurred, and how often.
    fn happened(&self) -> impl Iterator<Item = &(PlannedRow, Occurrences)> {
        self.rows.iter().filter(|(_, run)| run.count > 0)
    }
}

fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST_NAME {
        return name.into();
    }
    let end = (0..LONGEST_NAME - 3).rev().find(|end| name.is_char_boundary(*end));
    format!("{}...", &name[..end.unwrap_or(0)]).into()
}
