//! The fields and variants of a class that both sides have.

use super::Comparison;
use super::plans::{Failure, Place};
use crate::ErrorKind;
use crate::lock::report::{Difference, Verdict};
use crate::reflect::FieldRecord;
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, Target, find_variant, pair};

/// The fields of a struct or a variant, as they were and as they are.
pub(super) struct Pair<'p> {
    /// Name of the stored variant.
    name: Option<&'p str>,
    /// Index of the stored variant; 0 for a struct.
    pub(super) variant: usize,
    pub(super) old: &'p [FieldSchema],
    pub(super) new: &'p [FieldSchema],
    records: &'p [FieldRecord],
    /// For each of the program's fields the stored one that it is.
    sources: Vec<Option<usize>>,
}

impl<'p> Pair<'p> {
    fn new(
        (name, variant): (Option<&'p str>, usize),
        old: &'p [FieldSchema],
        new: &'p [FieldSchema],
        records: &'p [FieldRecord],
    ) -> Self {
        let sources = pair(old, records).sources;
        Self { name, variant, old, new, records, sources }
    }

    /// A field as an error names it.
    pub(super) fn path(&self, field: &str) -> String {
        self.name.map_or_else(|| field.to_owned(), |variant| format!("{variant}.{field}"))
    }

    /// The stored field for one of the program's.
    pub(super) fn source(&self, field: usize) -> Option<usize> {
        self.sources[field]
    }
}

/// The fields of a struct or of a variant.
pub(super) fn fields_mut(form: &mut Form, variant: usize) -> Option<&mut Vec<FieldSchema>> {
    match form {
        Form::Struct(fields) => Some(fields),
        Form::Enum(variants) => variants.get_mut(variant).map(|variant| &mut variant.fields),
        Form::Value(_) => None,
    }
}

fn pairs<'p>(old: &'p ClassSchema, new: &'p ClassSchema, target: Option<Target>) -> Vec<Pair<'p>> {
    match (&old.form, &new.form, target) {
        (Form::Struct(old), Form::Struct(new), Some(target)) => {
            vec![Pair::new((None, 0), old, new, target.class.fields())]
        }
        (Form::Enum(old), Form::Enum(new), Some(target)) => {
            let records = target.class.variants();
            let found = old.iter().enumerate().filter_map(|(variant, old)| {
                let place = find_variant(&old.name, records)?;
                let (new, records) = (&new[place].fields, records[place].fields);
                Some(Pair::new((Some(&old.name), variant), &old.fields, new, records))
            });
            found.collect()
        }
        _ => Vec::new(),
    }
}

impl Comparison<'_> {
    /// The fields of a class, variants too; `loads` says whether its records become the program's.
    pub(super) fn fields(&mut self, class: usize, target: usize, loads: bool) {
        let stored = self.stored.clone();
        let program = self.program;
        let (old, new) = (&stored[class], &program.classes[target]);
        let pairs = pairs(old, new, program.targets[target]);
        let (failures, mended) =
            if loads { Default::default() } else { self.failures(class, &pairs) };
        for failure in failures.iter().filter(|failure| failure.place.is_none()) {
            let change = failure.error.message().to_owned();
            let difference =
                Difference::new(&new.name, Verdict::Breaks, change).because(&failure.error);
            self.tell(match failure.error.field() {
                Some(field) => difference.in_field(field.to_owned()),
                None => difference,
            });
        }
        for pair in &pairs {
            self.pair(class, &new.name, pair, &failures, &mended);
        }
        if let (Form::Enum(old), Form::Enum(new), Some(records)) =
            (&old.form, &new.form, program.targets[target])
        {
            self.variants(class, &program.classes[target].name, (old, new), records);
        }
    }

    fn pair(
        &mut self,
        class: usize,
        name: &str,
        pair: &Pair<'_>,
        failures: &[Failure],
        mended: &[ClassSchema],
    ) {
        let sources = &pair.sources;
        let mut dropped: Vec<usize> =
            (0..pair.old.len()).filter(|i| !sources.contains(&Some(*i))).collect();
        let error = |field: usize| {
            let place = Some(Place { variant: pair.variant, field });
            failures.iter().find(|failure| failure.place == place).map(|failure| &failure.error)
        };
        // Those that a save must have, and the stored ones that each may have been.
        let mut missing = Vec::new();
        for (field, source) in sources.iter().enumerate() {
            let path = pair.path(&pair.new[field].name);
            match (error(field), source) {
                (Some(error), _) if error.kind() == ErrorKind::MissingField => {
                    let found = self.candidates(class, mended, pair, field, &dropped);
                    missing.push((field, error, found));
                }
                (Some(error), _) => {
                    let change = error.message().to_owned();
                    let difference = Difference::new(name, Verdict::Breaks, change);
                    self.tell(difference.because(error).in_field(path));
                }
                (None, None) if pair.records[field].flags.unknown => {}
                (None, None) => {
                    let difference = self.defaulted(class, name, pair, field, &dropped);
                    self.tell(difference.in_field(path));
                }
                (None, Some(source)) => self.kept(class, name, pair, field, *source),
            }
        }
        for (field, error, candidates) in &missing {
            let wanted = &pair.new[*field];
            let kind = wanted.kind.display(&self.program.classes);
            let above = format!("{}: {kind}", wanted.name);
            let is_only = |old: &usize| {
                let others = missing.iter().filter(|(other, ..)| other != field);
                candidates.len() == 1 && others.into_iter().all(|(.., them)| !them.contains(old))
            };
            let names = candidates.iter().map(|old| &*pair.old[*old].name);
            let difference = match candidates.first().filter(|old| is_only(old)) {
                Some(old) => {
                    dropped.retain(|dropped| dropped != old);
                    let old = &pair.old[*old].name;
                    let change =
                        format!("the field came without a default, and {old} of its kind went");
                    Difference::new(name, Verdict::NeedsAlias, change)
                        .paste(format!("#[persist(alias = {old:?})]"), above)
                }
                None => {
                    let mut change = String::from("the field came without a default");
                    if !candidates.is_empty() {
                        let names: Vec<_> = names.collect();
                        change.push_str(&format!(
                            "; if it is what {} was, give it that as an `alias`",
                            names.join(" or ")
                        ));
                    }
                    Difference::new(name, Verdict::NeedsDefault, change)
                        .paste(String::from("#[persist(default)]"), above)
                }
            };
            let path = pair.path(&wanted.name);
            self.tell(difference.because(error).in_field(path));
        }
        let keeps = pair.records.iter().any(|record| record.flags.unknown);
        for old in dropped {
            let change = format!(
                "the field went; its old values are {}",
                if keeps {
                    "kept as unknown"
                } else {
                    "kept as unknown with an object, else skipped"
                }
            );
            let path = pair.path(&pair.old[old].name);
            self.tell(Difference::new(name, Verdict::Safe, change).in_field(path));
        }
        if !sources.iter().flatten().is_sorted() {
            let change = String::from("the order of the fields changed");
            let difference = Difference::new(name, Verdict::Safe, change);
            self.tell(match pair.name {
                Some(variant) => difference.in_field(variant.to_owned()),
                None => difference,
            });
        }
    }

    /// The stored fields of its kind that one without a default may have been.
    fn candidates(
        &self,
        class: usize,
        mended: &[ClassSchema],
        pair: &Pair<'_>,
        field: usize,
        dropped: &[usize],
    ) -> Vec<usize> {
        let would_do = |old: &usize| self.would_do(class, mended, pair, field, *old);
        // Nearly every number can be converted to any other; that says nothing.
        let is_same = |old: &usize| {
            let kinds = (&pair.old[*old].kind, &pair.new[field].kind);
            matches!(kinds, (KindSchema::Class(_), KindSchema::Class(_)))
                || self.is_same_kind(pair, field, *old)
        };
        dropped.iter().copied().filter(is_same).filter(would_do).collect()
    }

    fn is_same_kind(&self, pair: &Pair<'_>, field: usize, old: usize) -> bool {
        let (old, new) = (&pair.old[old].kind, &pair.new[field].kind);
        old.display(&self.stored) == new.display(&self.program.classes)
    }

    /// What is said of a field that has a default, which may hide that it was renamed.
    fn defaulted(
        &self,
        class: usize,
        name: &str,
        pair: &Pair<'_>,
        field: usize,
        dropped: &[usize],
    ) -> Difference {
        let new = &pair.new[field];
        let change = String::from("the field came; old saves get its default");
        let mut same = dropped.iter().filter(|old| self.is_same_kind(pair, field, **old));
        let (Some(old), None) = (same.next(), same.next()) else {
            return Difference::new(name, Verdict::Safe, change).shown_by(class);
        };
        if self.is_locked(class, pair, &new.name) {
            return Difference::new(name, Verdict::Safe, change).shown_by(class);
        }
        let old = &pair.old[*old].name;
        let change = format!(
            "{change}, and {old} of its kind went; if it is what {old} was, give it the `alias`, else say so by updating the lock"
        );
        let kind = new.kind.display(&self.program.classes);
        Difference::new(name, Verdict::NeedsAlias, change)
            .paste(format!("#[persist(alias = {old:?})]"), format!("{}: {kind}", new.name))
    }

    /// True if whoever locked the newest version knew of a field.
    fn is_locked(&self, class: usize, pair: &Pair<'_>, field: &str) -> bool {
        let id = self.stored[class].id;
        let Some(newest) = self.newest else { return false };
        let Some(class) = newest.classes.iter().find(|class| class.id == id) else { return false };
        let fields = match &class.form {
            Form::Struct(fields) => Some(fields),
            Form::Enum(variants) => variants
                .iter()
                .find(|variant| Some(&*variant.name) == pair.name)
                .map(|variant| &variant.fields),
            Form::Value(_) => None,
        };
        fields.is_some_and(|fields| fields.iter().any(|known| known.name == field))
    }

    /// A field that both sides have.
    fn kept(&mut self, class: usize, name: &str, pair: &Pair<'_>, field: usize, source: usize) {
        let (old, new) = (&pair.old[source], &pair.new[field]);
        let path = pair.path(&new.name);
        if old.name != new.name {
            let change = format!("the field was {}", old.name);
            self.tell(Difference::new(name, Verdict::Safe, change).in_field(path.clone()));
        }
        if !self.is_same_kind(pair, field, source) {
            let (old, new) = (&old.kind, &new.kind);
            let (old, new) = (old.display(&self.stored), new.display(&self.program.classes));
            let change = format!("{old} became {new}");
            let variant = pair.name.map_or_else(String::new, |variant| format!("::{variant}"));
            let of = &self.section.classes[class].name;
            let place = format!("{of}{variant}.{}", pair.old[source].name);
            let difference = Difference::new(name, Verdict::Safe, change).in_field(path);
            self.tell(Difference { converted: Some(place), ..difference.shown_by(class) });
        }
    }
}
