//! [`Plans`]: how the records of each stored class become those of the program's class, planned on first use.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::event::{REMOVED, Rows};
use super::matching::{Matched, is_older};
use super::ops::{Conversion, FieldName, Other, OtherField, Plan, RecordPlan, VariantPlan};
use super::pairing::find_variant;
use super::watched::WatchedClasses;
use super::{
    ClassSchema, FieldPlace, FieldSchema, Form, KindSchema, LoadEvent, Occurrences, PlannedRow,
    Program, ProgramClass, Reader, Stored, VariantSchema,
};
use crate::codec::NoLinks;
use crate::reflect::Holder;
use crate::sorting::sort;
use crate::{Error, ErrorKind, Limits, LoadOptions, Result};

/// The plans for the classes of one save.
pub struct Plans<'p> {
    /// The classes of the save.
    pub stored: Arc<Stored>,
    pub(super) program: &'p Program,
    pub(super) options: LoadOptions,
    /// True if what is kept of an object can be given back with it.
    pub(crate) keeps_unknown: bool,
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
    /// The stored classes with conversions that come after a step of another class; `None` until the first migration.
    pub(super) watched: Option<WatchedClasses>,
    /// Bytes of the payloads that were rewritten, as stored.
    pub(super) rewritten: u64,
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
    pub(super) fn resolve_moved(&self, class: usize) -> Option<usize> {
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

    /// An error of rewriting a record. It says so if the record is to become another instance of its generic class, or
    /// a class of another name by its number.
    pub fn of_other_class(&self, class: usize, error: Error) -> Error {
        let fits = !matches!(error.kind(), ErrorKind::KindMismatch | ErrorKind::MissingField);
        let Some(place) = self.resolve(class).filter(|_| !fits) else { return error };
        let (stored, own) = (&self.stored[class], &self.program.classes[place]);
        let (name, target, why) = (&stored.name, &own.name, error.message());
        let aliases = self.program.targets[place].map_or(&[][..], |target| target.class.aliases);
        let message = if self.is_instance(class) {
            format!(
                "{name} is not registered, and an object of it becomes {target}, the one instance that is: {why}; or register {name} too"
            )
        } else if stored.id == own.id && name != target && !aliases.contains(&&**name) {
            format!(
                "class number {} is {name} in the save and {target} in the program, so that a {name} becomes a {target}: {why}; if they are two classes, give {target} a number that no class has had",
                own.id.0
            )
        } else {
            return error;
        };
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

    /// Returns the stored classes without a name of their own, such as that of an `Rc<str>`, that only `removed` fields
    /// refer to. Their objects are dropped with those fields.
    pub(crate) fn removed_with_fields(
        &self,
        is_removed_class: impl Fn(&str) -> bool,
    ) -> HashSet<usize> {
        let says = |target: &ProgramClass| {
            !target.class.removed.is_empty()
                || target.class.variants().iter().any(|variant| !variant.removed.is_empty())
        };
        if !self.program.targets.iter().flatten().any(says) {
            return HashSet::new();
        }
        let count = self.stored.len();
        let (mut removed, mut used) = (vec![false; count], vec![false; count]);
        let mut leads = vec![Vec::new(); count];
        for (holder, leads) in leads.iter_mut().enumerate() {
            let goes =
                self.resolve(holder).is_none() && is_removed_class(&self.stored[holder].name);
            let mut of_field = |variant: Option<&VariantSchema>, field: &FieldSchema| {
                let is_removed = goes || self.is_removed_field(holder, variant, field);
                let marks = if is_removed { &mut removed } else { &mut used };
                field
                    .kind
                    .visit(&mut |kind| kind.target().into_iter().for_each(|it| marks[it] = true));
            };
            match &self.stored[holder].form {
                Form::Struct(fields) => fields.iter().for_each(|field| of_field(None, field)),
                Form::Enum(variants) => variants.iter().for_each(|variant| {
                    variant.fields.iter().for_each(|field| of_field(Some(variant), field));
                }),
                Form::Value(kind) => kind.visit(&mut |kind| leads.extend(kind.target())),
            }
        }
        let spread = |marks: &mut Vec<bool>| {
            let mut next: Vec<usize> = (0..count).filter(|class| marks[*class]).collect();
            while let Some(class) = next.pop() {
                for to in &leads[class] {
                    if !std::mem::replace(&mut marks[*to], true) {
                        next.push(*to);
                    }
                }
            }
        };
        spread(&mut removed);
        // A class outside of all removed fields may have objects of its own.
        for class in (0..count).filter(|class| !removed[*class]) {
            leads[class].iter().for_each(|to| used[*to] = true);
        }
        spread(&mut used);
        let is_nameless = |class: &usize| {
            matches!(self.stored[*class].form, Form::Value(_)) && self.resolve(*class).is_none()
        };
        (0..count).filter(|it| removed[*it] && !used[*it]).filter(is_nameless).collect()
    }

    /// True if the program declares a stored field, or its variant, `removed`.
    fn is_removed_field(
        &self,
        class: usize,
        variant: Option<&VariantSchema>,
        field: &FieldSchema,
    ) -> bool {
        let target = self.resolve(class).and_then(|target| self.program.targets[target]);
        target.is_some_and(|target| {
            let removed = target.class.removed;
            match variant {
                None => removed.contains(&&*field.name),
                Some(variant) => {
                    let of_variant = find_variant(&variant.name, target.class.variants())
                        .map_or(&[][..], |own| target.class.variants()[own].removed);
                    removed.contains(&&*variant.name) || of_variant.contains(&&*field.name)
                }
            }
        })
    }

    /// Refuses values of a class that says that programs with this version of it must not read them.
    pub(super) fn check_since(&self, class: usize, target: usize) -> Result<()> {
        let stored = &self.stored[class];
        let version = self.program.targets[target].map(|target| target.class.version);
        let Some((since, version)) = stored.since.zip(version).filter(|(since, own)| since > own)
        else {
            return Ok(());
        };
        let name = &stored.name;
        Err(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "the save holds version {} of {name}, which says that only programs with version {since} or later may read it, and this program has version {version}; load it with a newer version of the program",
                stored.version
            ),
        )
        .in_class(&**name))
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
        self.check_since(class, index)?;
        let has_unknown = stored.kinds().any(|kind| *kind == KindSchema::Unknown);
        if self.is_migrated(class, index) || has_unknown {
            return Ok(Plan::Named);
        }
        let newer = self.newer(class, index);
        match (&stored.form, &compiled.form) {
            (Form::Struct(_), Form::Struct(_)) => {
                let mut fields = self.stored_fields(class, 0, &program.expected(index, 0))?;
                fields.rows.extend(newer);
                Ok(Plan::Struct(Arc::new(fields)))
            }
            (Form::Enum(old), Form::Enum(_)) => {
                let sides = program.sides(stored, index).into_iter().zip(old).enumerate();
                let plans = sides.map(|(i, (side, old))| {
                    let Some(new) = side.new else {
                        let other = self.other(class, i, &old.name, index);
                        return Ok(other.map_or(VariantPlan::Removed, VariantPlan::Other));
                    };
                    let fields = self.stored_fields(class, i, &new)?;
                    Ok(VariantPlan::Fields(Arc::new(fields)))
                });
                plans.collect::<Result<Vec<_>>>().map(|plans| Plan::Enum(plans.into(), newer))
            }
            (Form::Value(old), Form::Value(new)) => {
                let place = FieldName { class: &stored.name, field: "" };
                match self.value_conversion(all.first(class, 0), index, &place) {
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
        class: usize,
        variant: usize,
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
            false => OtherField::Unknown(self.stored.unknown_variant(class, variant)),
        };
        let event = match field {
            OtherField::Unknown(_) => LoadEvent::Kept,
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

    /// Returns the reader of records as values. Its budget covers everything that was rewritten so far.
    pub(super) fn reader(&mut self, limits: &Limits) -> &mut Reader {
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
