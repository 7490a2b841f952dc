use std::sync::Arc;

use hashbrown::HashMap;

use super::event::{REMOVED, Rows};
use super::matching::{Matched, is_older};
use super::ops::{Conversion, FieldName, Other, OtherField, Plan, RecordPlan, VariantPlan};
use super::{
    ClassSchema, FieldPlace, Form, KindSchema, LoadEvent, Occurrences, PlannedRow, Program, Reader,
    Stored,
};
use crate::codec::NoLinks;
use crate::reflect::Holder;
use crate::sorting::sort;
use crate::{Error, ErrorKind, Limits, LoadOptions, Result};

/// The plans for the classes of one save.
pub(crate) struct Plans<'p> {
    pub(crate) stored: Arc<Stored>,
    pub(super) program: &'p Program,
    pub(super) options: LoadOptions,
    /// True if what is kept of an object can be given back with it.
    pub(crate) aside: bool,
    pub(super) matched: Arc<Matched>,
    /// From stored classes to those of the program.
    pub(super) plans: Vec<ClassPlan>,
    /// Their places, by their classes.
    places: HashMap<(usize, usize), usize>,
    pub(super) conversions: Vec<Conversion>,
    /// Tuples that become structs.
    pub(super) tuples: Vec<Arc<RecordPlan>>,
    /// How deep the conversion of a tuple to a struct is in others, while they are made.
    pub(super) tuples_in_tuples: usize,
    /// The conversions of stored fields, by their nodes, to fields of the program.
    pub(super) fields: HashMap<(usize, FieldPlace), usize>,
    pub(super) rows: Rows,
    /// Objects that are values now: the row of those that were shared, and the object that
    /// has the first copy.
    pub(super) inlined: HashMap<u64, (usize, u64)>,
    /// Counts elements without bytes that are rewritten.
    pub(super) empty: NoLinks,
    /// Reads what is migrated; counts the work on what is migrated and kept.
    pub(super) reader: Option<Reader>,
    /// Bytes of the payloads that were rewritten, as stored.
    pub(super) before: u64,
    /// Bytes of the same in the program's form.
    pub(super) after: u64,
    /// Elements that were skipped since they could not be loaded.
    skipped: u64,
}

/// How records of a stored class become those of a class of the program.
pub(super) struct ClassPlan {
    pub(super) class: usize,
    pub(super) target: usize,
    /// The conversion that runs it.
    conversion: usize,
    /// None until a record needs it.
    plan: Option<Plan>,
}

impl<'p> Plans<'p> {
    /// Plans for these classes; a record of the first class of `root` is asked for as a value of
    /// the program's second.
    pub(crate) fn new(
        stored: Vec<ClassSchema>,
        program: &'p Program,
        options: LoadOptions,
        root: Option<(usize, usize)>,
    ) -> Self {
        let matched = Matched::new(stored, program, root, options.drop_unknown);
        Self::of(Arc::new(matched), program, options)
    }

    /// Plans for classes that have been matched with the program's.
    pub(crate) fn of(matched: Arc<Matched>, program: &'p Program, options: LoadOptions) -> Self {
        Self {
            stored: matched.stored.clone(),
            program,
            options,
            aside: true,
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
            before: 0,
            after: 0,
            skipped: 0,
        }
    }

    /// The schema with the pointers of the save, if the program has others.
    pub(crate) fn as_stored(&self) -> Option<&Arc<Stored>> {
        self.matched.as_stored.as_ref()
    }

    /// The program's class for a stored one.
    pub(crate) fn resolve(&self, class: usize) -> Option<usize> {
        self.matched.resolve(class)
    }

    /// The holder in which the program has objects of a stored class that the save has in this one.
    pub(crate) fn holder(&self, class: usize, stored: Holder) -> Holder {
        self.matched.holder(class, stored, self.program)
    }

    /// Like [`resolve`](Self::resolve), for a value that a migration has moved, which has no place yet.
    pub(super) fn resolve_moved(&self, class: usize) -> Option<usize> {
        self.resolve(class).or_else(|| self.program.find_instance(&self.stored[class]))
    }

    /// The stored instances of generic classes that the program does not have, with the candidates that their objects
    /// could become.
    pub(crate) fn contested(&self) -> impl Iterator<Item = (usize, &[usize])> {
        let candidates = self.matched.candidates().iter();
        let contested = candidates.filter(|(class, _)| self.resolve(**class).is_none());
        contested.map(|(class, candidates)| (*class, &candidates[..]))
    }

    /// True for a stored class whose objects become another instance of their generic class, or could become one of
    /// several.
    pub(crate) fn is_instance(&self, class: usize) -> bool {
        self.matched.candidates().contains_key(&class)
    }

    /// An error of rewriting a record. If it is to become another instance of its generic class, the error says so.
    pub(crate) fn of_instance(&self, class: usize, error: Error) -> Error {
        let fits = !matches!(error.kind(), ErrorKind::KindMismatch | ErrorKind::MissingField);
        let Some(target) = self.resolve(class).filter(|_| self.is_instance(class) && !fits) else {
            return error;
        };
        let (name, target) = (&self.stored[class].name, &self.program.classes[target].name);
        let message = format!(
            "{name} is not registered, and an object of it becomes {target}, the one instance that is: {}; or register {name} too",
            error.message()
        );
        error.reworded(message)
    }

    /// True if the records of a stored class are as the program would write them.
    pub(crate) fn is_identical(&self, class: usize) -> bool {
        self.matched.identical[class]
    }

    /// True if values of a stored class are rewritten where they are trait objects:
    /// those that no trait has stay as they are stored, to be skipped or kept.
    pub(crate) fn rewrites_dynamic(&self, class: usize) -> bool {
        let target = self.resolve(class);
        !self.is_identical(class)
            && target.is_some_and(|class| self.program.implementors.contains(&class))
    }

    /// What was done to records that the save has, and how often.
    pub(crate) fn events(&self) -> impl Iterator<Item = (PlannedRow, Occurrences)> {
        self.rows.happened().cloned()
    }

    /// What the load is to do.
    pub(crate) fn options(&self) -> LoadOptions {
        self.options
    }

    /// True if the records of a stored class are migrated.
    pub(crate) fn is_migrated(&self, class: usize, target: usize) -> bool {
        self.program.targets[target]
            .is_some_and(|target| is_older(self.stored[class].version, target.class))
    }

    /// The row of records that are of a newer version of their class.
    pub(super) fn newer(&mut self, class: usize, target: usize) -> Option<usize> {
        let stored = &self.stored[class];
        let version = self.program.targets[target]?.class.version;
        let detail = format!("version {} to {version}", stored.version);
        (stored.version > version)
            .then(|| self.rows.row(LoadEvent::Newer, &stored.name, "", &detail))
    }

    /// Makes the plan for a stored class that the program has, as a load of its records would.
    pub(crate) fn check(&mut self, class: usize) -> Result<()> {
        match self.resolve(class) {
            Some(target) => {
                let plan = self.class_plan(class, target);
                self.plan(plan).map(drop).map_err(|error| self.of_instance(class, error))
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
    pub(super) fn plan(&mut self, place: usize) -> Result<Plan> {
        let ClassPlan { class, target, plan, .. } = &self.plans[place];
        if let Some(plan) = plan {
            return Ok(plan.clone());
        }
        let plan = self.compile(*class, *target)?;
        self.plans[place].plan = Some(plan.clone());
        Ok(plan)
    }

    fn compile(&mut self, class: usize, index: usize) -> Result<Plan> {
        let program = self.program;
        let all = self.stored.clone();
        let (stored, compiled) = (&all[class], &program.classes[index]);
        let has_kept = stored.kinds().any(|kind| *kind == KindSchema::Unknown);
        if self.is_migrated(class, index) || has_kept {
            return Ok(Plan::Named);
        }
        let newer = self.newer(class, index);
        match (&stored.form, &compiled.form) {
            (Form::Struct(_), Form::Struct(_)) => {
                let mut fields = self.stored_fields((class, 0), (index, 0))?;
                fields.rows.extend(newer);
                Ok(Plan::Struct(Arc::new(fields)))
            }
            (Form::Enum(old), Form::Enum(_)) => {
                let sides = program.sides(stored, index).into_iter().zip(old).enumerate();
                let plans = sides.map(|(i, (side, old))| {
                    let Some(new) = side.new else {
                        let other = self.other((class, i), &old.name, index);
                        return Ok(other.map_or(VariantPlan::Removed, VariantPlan::Other));
                    };
                    let fields = self.stored_fields((class, i), (index, new.variant))?;
                    Ok(VariantPlan::Fields(Arc::new(fields)))
                });
                plans.collect::<Result<Vec<_>>>().map(|plans| Plan::Enum(plans.into(), newer))
            }
            (Form::Value(old), Form::Value(new)) => {
                let place = FieldName { class: &stored.name, field: "" };
                match self.conversion(all.first(class, 0), new, &place) {
                    Some(conversion) => {
                        Ok(Plan::Value(conversion, self.converted(old, new, &place)))
                    }
                    None => Err(self.mismatch(&stored.name, old, new)),
                }
            }
            _ => {
                let what = |class: &ClassSchema| match class.form {
                    Form::Struct(_) => "a struct",
                    Form::Enum(_) => "an enum",
                    Form::Value(_) => "a bare value",
                };
                Err(Error::new(
                    ErrorKind::KindMismatch,
                    format!(
                        "the save holds {} where the program has {}; keep its form; or give the new type another name, `#[persist(class = \"...\")]`, and the fields that hold it a `convert` from the old one",
                        what(stored),
                        what(compiled)
                    ),
                ))
            }
        }
    }

    /// The program's `other` variant for a stored one.
    pub(super) fn other(
        &mut self,
        (class, variant): (usize, usize),
        name: &str,
        target: usize,
    ) -> Option<Other> {
        let described = self.program.targets[target]?.class;
        let records = described.variants();
        let other = records.iter().position(|variant| variant.other)?;
        let is_removed = described.removed.contains(&name);
        let field = match records[other].fields.is_empty() {
            true => OtherField::None,
            false if is_removed => OtherField::Empty,
            false => OtherField::Kept(self.stored.variant_alone(class, variant)),
        };
        let event = match field {
            OtherField::Kept(_) => LoadEvent::Kept,
            _ => LoadEvent::Replaced,
        };
        let detail = if is_removed { REMOVED } else { records[other].name };
        let row = self.rows.row(event, &self.stored[class].name, name, detail);
        Some(Other { variant: other, field, row })
    }

    /// The place of the plan from a stored class to one of the program.
    pub(super) fn class_plan(&mut self, class: usize, target: usize) -> usize {
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
    pub(super) fn class_conversion(&mut self, class: usize, target: usize) -> usize {
        let place = self.class_plan(class, target);
        self.plans[place].conversion
    }

    /// What reads records as values, within what all that was rewritten so far may take.
    pub(super) fn reader(&mut self, limits: &Limits) -> &mut Reader {
        let before = self.before;
        let reader = self.reader.get_or_insert_with(|| Reader::new(limits, before));
        reader.allow_in_all(limits, before);
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
        const MOST: u64 = 1000;
        self.skipped += 1;
        let program = self.program;
        let (name, schema) = (&program.classes[class].name, program.wanted(class, variant));
        let field = &schema.fields[field].name;
        match self.skipped <= MOST {
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
