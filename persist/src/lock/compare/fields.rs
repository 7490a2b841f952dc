//! The fields and variants of a class that both sides have.

use super::Changes;
use super::guesses::{Fit, Guess, fit, is_akin, sure};
use super::moves::{Came, Left};
use super::versions::{From, Item, Owner};
use crate::lock::report::{Difference, Verdict};
use crate::lock::section::{each_kind, map_classes};
use crate::lock::source;
use crate::names::is_near;
use crate::reflect::FieldRecord;
use crate::schema::{
    ClassSchema, FieldSchema, Form, KindSchema, Pairing, Plans, Target, find_variant, pair,
};
use crate::{Error, ErrorKind, LoadOptions};

/// The fields of a struct or a variant, as they were and as they are.
pub(super) struct Pair<'p> {
    /// Name of the stored variant.
    name: Option<&'p str>,
    /// Index of the stored variant; 0 for a struct.
    pub(super) variant: usize,
    pub(super) old: &'p [FieldSchema],
    pub(super) new: &'p [FieldSchema],
    pub(super) records: &'p [FieldRecord],
    /// Names of fields that are gone for good.
    removed: &'p [&'static str],
    /// The program's class, and the variant.
    pub(super) owner: Owner,
    /// For each of the program's fields the stored one that it is.
    sources: Vec<Option<usize>>,
    /// The stored fields that are dropped, since others took their places.
    superseded: Vec<usize>,
}

impl<'p> Pair<'p> {
    fn new(
        (name, variant): (Option<&'p str>, usize),
        old: &'p [FieldSchema],
        new: &'p [FieldSchema],
        (records, removed): (&'p [FieldRecord], &'p [&'static str]),
        owner: Owner,
    ) -> Self {
        let Pairing { sources, superseded, .. } = pair(old, records);
        Self { name, variant, old, new, records, removed, owner, sources, superseded }
    }

    /// A field as an error names it.
    pub(super) fn path(&self, field: &str) -> String {
        self.name.map_or_else(|| field.to_owned(), |variant| format!("{variant}.{field}"))
    }

    /// The stored field for one of the program's.
    pub(super) fn source(&self, field: usize) -> Option<usize> {
        self.sources[field]
    }

    /// The place of one of the program's fields, for its source.
    fn place(&self, field: usize) -> (usize, usize, usize) {
        (self.owner.class, self.owner.variant.unwrap_or(0), field)
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

/// The structs of two classes, or their variants, as they are paired.
pub(super) fn pairs<'p>(
    old: &'p ClassSchema,
    new: &'p ClassSchema,
    (class, target): (usize, Option<Target>),
) -> Vec<Pair<'p>> {
    match (&old.form, &new.form, target) {
        (Form::Struct(old), Form::Struct(new), Some(target)) => {
            let records = (target.class.fields(), target.class.removed);
            vec![Pair::new((None, 0), old, new, records, Owner { class, variant: None })]
        }
        (Form::Enum(old), Form::Enum(new), Some(target)) => {
            let records = target.class.variants();
            let found = old.iter().enumerate().filter_map(|(variant, old)| {
                let place = find_variant(&old.name, records)?;
                let (new, record) = (&new[place].fields, &records[place]);
                let owner = Owner { class, variant: Some(place) };
                let records = (record.fields, record.removed);
                Some(Pair::new((Some(&old.name), variant), &old.fields, new, records, owner))
            });
            found.collect()
        }
        _ => Vec::new(),
    }
}

/// A field of a class that old records do not become, or the class itself.
struct Failure {
    pub(super) place: Option<Place>,
    pub(super) error: Error,
}

#[derive(Clone, Copy, PartialEq)]
struct Place {
    /// Index of the stored variant; 0 for a struct.
    pub(super) variant: usize,
    /// Index of the program's field.
    pub(super) field: usize,
}

/// A field that the program misses, the error that old saves get, and what it may have been.
struct Missing<'e> {
    field: usize,
    error: &'e Error,
}

/// One pair of structs or variants that is compared.
#[derive(Clone, Copy)]
struct Sides<'p> {
    class: usize,
    /// The program's name of it.
    name: &'p str,
    pair: &'p Pair<'p>,
    mended: &'p [ClassSchema],
    is_migrated: bool,
}

impl Changes<'_> {
    /// The fields of a class, variants too; `loads` says whether its records become the program's.
    pub(super) fn fields(&mut self, class: usize, target: usize, loads: bool) {
        let stored = self.stored.clone();
        let program = self.program;
        let (old, new) = (&stored[class], &program.classes[target]);
        let described = program.targets[target];
        if let (Form::Value(was), Form::Value(is), true) = (&old.form, &new.form, loads) {
            self.bare(class, &new.name, (was, is));
        }
        let pairs = pairs(old, new, (target, described));
        let (failures, mended) =
            if loads { (Vec::new(), self.with_program()) } else { self.failures(class, &pairs) };
        for failure in failures.iter().filter(|failure| failure.place.is_none()) {
            let change = failure.error.message().to_owned();
            let difference =
                Difference::new(&new.name, Verdict::Breaks, change).because(&failure.error);
            self.tell(match failure.error.field() {
                Some(field) => difference.in_field(field.to_owned()),
                None => difference,
            });
        }
        let is_migrated = self.migrated[class];
        for pair in &pairs {
            let sides = Sides { class, name: &new.name, pair, mended: &mended, is_migrated };
            self.pair(sides, &failures);
        }
        if let (Form::Enum(old), Form::Enum(new), Some(records)) = (&old.form, &new.form, described)
        {
            self.variants(class, target, (old, new), records);
        }
    }

    /// A bare value behind pointers that is of another kind.
    fn bare(&mut self, class: usize, name: &str, (old, new): (&KindSchema, &KindSchema)) {
        if self.is_same_kind(old, new) {
            return;
        }
        let (was, is) = (old.display(&self.stored), new.display(&self.program.classes));
        let change = format!("{was} became {is}");
        let row = Difference::new(name, Verdict::Safe, change).shown_by(class);
        let converted = Some(self.section.classes[class].name.clone());
        self.tell(Difference { converted, may_narrow: fit(old, new) != Fit::Whole, ..row });
    }

    fn pair(&mut self, sides: Sides<'_>, failures: &[Failure]) {
        let Sides { name, pair, .. } = sides;
        let sources = &pair.sources;
        let is_gone = |old: &usize| !sources.contains(&Some(*old));
        let (removed, gone): (Vec<usize>, Vec<usize>) = (0..pair.old.len())
            .filter(|old| is_gone(old) && !pair.superseded.contains(old))
            .partition(|old| pair.removed.contains(&&*pair.old[*old].name));
        pair.superseded.iter().for_each(|old| self.superseded(sides, *old));
        for old in removed {
            let change = String::from("the field is `removed`; its old values are dropped");
            let row = self.row(sides, old, Verdict::Safe, change);
            self.tell(Difference { is_accepted: true, ..row });
        }
        let error = |field: usize| {
            let place = Some(Place { variant: pair.variant, field });
            failures.iter().find(|failure| failure.place == place).map(|failure| &failure.error)
        };
        // Those that a save must have, and those that have a default.
        let (mut missing, mut came) = (Vec::new(), Vec::new());
        for (field, source) in sources.iter().enumerate() {
            let path = pair.path(&pair.new[field].name);
            match (error(field), source) {
                (Some(error), _) if error.kind() == ErrorKind::MissingField => {
                    missing.push(Missing { field, error });
                }
                (Some(error), _) => {
                    let change = error.message().to_owned();
                    let difference = Difference::new(name, Verdict::Breaks, change);
                    self.tell(difference.because(error).in_field(path));
                }
                (None, None) if pair.records[field].keeps_unknown => {}
                (None, None) => {
                    came.push(field);
                    let from = if pair.records[field].has_default {
                        "its default"
                    } else {
                        "what `migrate` makes"
                    };
                    let change = format!("the field came; old saves get {from}");
                    let difference = Difference::new(name, Verdict::Safe, change);
                    self.tell(difference.shown_by(sides.class).in_field(path));
                }
                (None, Some(source)) => self.kept(sides, field, *source),
            }
        }
        if pair.owner.variant.is_none() {
            let missing = missing.iter().map(|missing| missing.field);
            let all = missing.chain(came.iter().copied());
            self.came.extend(all.map(|field| Came { class: pair.owner.class, field }));
        }
        let all: Vec<usize> = missing.iter().map(|it| it.field).chain(came.clone()).collect();
        let guesses = self.guesses(sides, &gone, &all);
        let sure = sure(guesses.clone());
        for missing in &missing {
            self.missing(sides, missing, &guesses, &sure);
        }
        let is_missing = |field: usize| missing.iter().any(|missing| missing.field == field);
        for old in gone {
            match sure.iter().find(|guess| guess.old == old) {
                Some(guess) if is_missing(guess.new) => {}
                Some(guess) => self.replaced(sides, *guess),
                None => {
                    let news = guesses.iter().filter(|guess| guess.old == old);
                    let news = news.map(|guess| guess.new).filter(|new| !is_missing(*new));
                    self.gone(sides, old, &news.collect::<Vec<_>>());
                }
            }
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

    /// What is said of a stored field.
    fn row(&self, sides: Sides<'_>, old: usize, verdict: Verdict, change: String) -> Difference {
        let path = sides.pair.path(&sides.pair.old[old].name);
        let class = self.section.classes[sides.class].name.clone();
        let row = Difference::new(sides.name, verdict, change).in_field(path.clone());
        Difference { stored: Some((class, path)), ..row }
    }

    /// A stored field that went, whose values only a migration may take.
    fn went(&self, sides: Sides<'_>, old: usize, change: String) -> Difference {
        let row = self.row(sides, old, Verdict::Loses, change);
        let migrated = row.stored.clone().filter(|_| sides.is_migrated);
        Difference { migrated, ..row.shown_by(sides.class) }
    }

    /// A field that went, and one that came with a default in its place.
    fn replaced(&mut self, sides: Sides<'_>, guess: Guess) {
        let Sides { pair, .. } = sides;
        let (old, new) = (&pair.old[guess.old], &pair.new[guess.new]);
        let change = format!(
            "the field went, and {} came, whose default would take the place of every old value; let it take the old ones over, or {}",
            new.name,
            self.or_removed(sides, &old.name)
        );
        let row = self.went(sides, guess.old, change);
        self.tell(self.keeping(sides, guess, row));
    }

    /// A field that went, and could be one that has another source.
    fn superseded(&mut self, sides: Sides<'_>, old: usize) {
        let pair = sides.pair;
        let name = &pair.old[old].name;
        let mut fields = pair.records.iter().zip(&pair.sources);
        let taken = fields.find_map(|(record, source)| {
            let source = source.filter(|_| record.may_be(&pair.old[old]))?;
            Some((record.name, &*pair.old[source].name))
        });
        let (field, source) = taken.unwrap_or_default();
        let change = format!(
            "the field went, and {field}, which has its name as an alias, takes the values of {source}; those of {name} are lost: give the class a `version` and a `migrate` that takes both, or remove the alias"
        );
        self.tell(self.went(sides, old, change));
    }

    /// How to say that a field is not needed any more.
    fn or_removed(&self, sides: Sides<'_>, old: &str) -> String {
        let owner = match sides.pair.name {
            Some(variant) => format!("variant {variant}"),
            None => self.head(sides.pair.owner.class),
        };
        format!(
            "say that {old} is not needed any more, by `#[persist(removed = {old:?})]` on {owner}"
        )
    }

    /// The attribute by which a new field takes over the values of an old one.
    fn keeping(&self, sides: Sides<'_>, guess: Guess, row: Difference) -> Difference {
        let pair = sides.pair;
        let (old, new) = (&pair.old[guess.old], &pair.new[guess.new]);
        let above = source::field(self.program, pair.place(guess.new), new);
        // What does not take every old value would break next; types of old classes are not there any more.
        let takes_all =
            fit(&old.kind, &new.kind) == Fit::Whole || has_class(&old.kind) || has_class(&new.kind);
        if guess.fits && takes_all || old.kind.refers() {
            return row.paste(format!("#[persist(alias = {:?})]", old.name), above);
        }
        let is_ident = old.name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let function =
            if is_ident { format!("from_{}", old.name) } else { String::from("from_old") };
        let (_, ty) = above.split_once(": ").unwrap_or(("", &above));
        let from = source::kind(&self.stored, &old.kind);
        let code = format!("fn {function}(old: {from}) -> {ty} {{\n    todo!()\n}}");
        let attribute = format!("#[persist(alias = {:?}, convert = {function})]", old.name);
        Difference { code: Some(code), ..row.paste(attribute, above) }
    }

    /// A field without a default that old saves do not have.
    fn missing(
        &mut self,
        sides: Sides<'_>,
        Missing { field, error }: &Missing<'_>,
        guesses: &[Guess],
        sure: &[Guess],
    ) {
        let Sides { name, pair, .. } = sides;
        let wanted = &pair.new[*field];
        let mut change = String::from("the field came without a default");
        let difference = match sure.iter().find(|guess| guess.new == *field) {
            Some(guess) => {
                let old = &pair.old[guess.old];
                let is_same = self.is_same_kind(&old.kind, &wanted.kind);
                let of = if is_same { " of its kind" } else { "" };
                change.push_str(&format!(", and {}{of} went", old.name));
                self.keeping(sides, *guess, Difference::new(name, Verdict::NeedsAlias, change))
            }
            None => {
                let best = guesses.iter().filter(|guess| guess.new == *field && guess.score > 0);
                let olds: Vec<&str> = best.map(|guess| &*pair.old[guess.old].name).collect();
                if !olds.is_empty() {
                    change.push_str(&format!(
                        "; if it is what {} was, give it that as an `alias`",
                        olds.join(" or ")
                    ));
                }
                let above = source::field(self.program, pair.place(*field), wanted);
                Difference::new(name, Verdict::NeedsDefault, change)
                    .paste(String::from("#[persist(default)]"), above)
            }
        };
        let path = pair.path(&wanted.name);
        self.tell(difference.because(error).in_field(path));
    }

    /// A field that went, while others may have come.
    fn gone(&mut self, sides: Sides<'_>, old: usize, news: &[usize]) {
        let Sides { class, pair, .. } = sides;
        let name = &pair.old[old].name;
        let has_room = pair.records.iter().any(|record| record.keeps_unknown);
        let held = self.held[class].clone().filter(|_| !has_room);
        let row = if !news.is_empty() {
            let names: Vec<&str> = news.iter().map(|new| &*pair.new[*new].name).collect();
            let change = format!(
                "the field went, and {} came, whose {} would take the place of every old value; if it is what {name} was, give it `#[persist(alias = {name:?})]`, else {}",
                names.join(" and "),
                if names.len() == 1 { "default" } else { "defaults" },
                self.or_removed(sides, name)
            );
            let (attribute, above) = self.removing(sides, name);
            self.went(sides, old, change).paste(attribute, above)
        } else if let Some(place) = held {
            let change = format!(
                "the field went; its old values are lost where the class is held by value, as in {place}; keep them in a field for what is unknown, or {}",
                self.or_removed(sides, name)
            );
            let is_tuple = pair.new.iter().any(|field| field.name == "0");
            // In a tuple it would have the name of a field that went.
            let (attribute, room) = if is_tuple {
                ("#[persist(unknown, rename = \"rest\")]", "persist::Unknown")
            } else {
                ("#[persist(unknown)]", "rest: persist::Unknown")
            };
            let row = self.went(sides, old, change);
            row.paste(String::from(attribute), String::from(room))
        } else {
            let change = format!(
                "the field went; its old values are kept as unknown{}",
                if has_room { "" } else { " with the object" }
            );
            self.row(sides, old, Verdict::Safe, change)
        };
        let from = self.differences.len();
        self.tell(row);
        self.left.push(Left {
            stored: class,
            from: Some(pair.owner),
            name: name.clone(),
            kind: pair.old[old].kind.clone(),
            row: from,
        });
    }

    /// The attribute that says that a field is not needed any more.
    fn removing(&self, sides: Sides<'_>, old: &str) -> (String, String) {
        let above = match sides.pair.name {
            Some(variant) => variant.to_owned(),
            None => self.head(sides.pair.owner.class),
        };
        (format!("#[persist(removed = {old:?})]"), above)
    }

    /// The fields that came, for each that went, as far as the locked versions allow it.
    fn guesses(&self, sides: Sides<'_>, gone: &[usize], came: &[usize]) -> Vec<Guess> {
        let Sides { class, pair, mended, is_migrated, .. } = sides;
        let mut guesses = Vec::new();
        for (old, new) in gone.iter().flat_map(|old| came.iter().map(|new| (*old, *new))) {
            let (was, is) = (&pair.old[old], &pair.new[new]);
            // What nobody knew belongs to no field.
            if was.kind == KindSchema::Unknown {
                continue;
            }
            let gone = Item::GoneField(From::Program(pair.owner), &was.name);
            if !self.versions.may_become(gone, Item::Field(pair.owner, &pair.records[new])) {
                continue;
            }
            let fits = !is_migrated && self.would_do(class, mended, pair, new, old);
            let same = fits && self.is_same_kind(&was.kind, &is.kind);
            let akin = self.is_akin(&was.kind, &is.kind);
            let near = is_near(&was.name, &is.name);
            let score = if same { 8 } else { 0 }
                + if fits { 4 } else { 0 }
                + if near { 6 } else { 0 }
                + if akin { 1 } else { 0 };
            guesses.push(Guess { old, new, score, fits });
        }
        guesses
    }

    /// True for kinds of a stored and of a new field that hold something of one sort.
    pub(super) fn is_akin(&self, old: &KindSchema, new: &KindSchema) -> bool {
        is_akin((old, &self.stored), (new, &self.program.classes))
    }

    /// True for a stored and a new kind that are equal, with classes of equal names.
    fn is_same_kind(&self, old: &KindSchema, new: &KindSchema) -> bool {
        self.has_same_classes(old, new) && {
            let (mut old, mut new) = (old.clone(), new.clone());
            map_classes(&mut old, &|_| 0);
            map_classes(&mut new, &|_| 0);
            old == new
        }
    }

    fn has_same_classes(&self, old: &KindSchema, new: &KindSchema) -> bool {
        fn names<'c>(kind: &KindSchema, classes: &'c [ClassSchema]) -> Vec<&'c str> {
            let mut names = Vec::new();
            kind.visit(&mut |kind| {
                if let KindSchema::Class(class) | KindSchema::Reference { class, .. } = kind {
                    names.push(&*classes[*class].name);
                }
            });
            names
        }
        names(old, &self.stored) == names(new, &self.program.classes)
    }

    /// A field that both sides have.
    fn kept(&mut self, sides: Sides<'_>, field: usize, source: usize) {
        let Sides { class, name, pair, is_migrated, .. } = sides;
        let (old, new) = (&pair.old[source], &pair.new[field]);
        let path = pair.path(&new.name);
        if old.name != new.name {
            let change = format!("the field was {}", old.name);
            self.tell(Difference::new(name, Verdict::Safe, change).in_field(path.clone()));
        }
        let is_same = self.is_same_kind(&old.kind, &new.kind);
        let reused = self.reused(pair, field, source, is_same);
        if is_same && reused.is_none() {
            return;
        }
        let (was, is) = (&old.kind, &new.kind);
        let (was, is) = (was.display(&self.stored), is.display(&self.program.classes));
        let is_converted = self.is_taken(pair, field, &old.kind);
        let mut change = match is_same {
            true => String::from("the field is another"),
            false => {
                format!("{was} became {is}{}", if is_converted { ", by its `convert`" } else { "" })
            }
        };
        let mut row = self.row(sides, source, Verdict::Safe, String::new()).in_field(path);
        if let Some(reused) = reused.filter(|_| !is_converted) {
            change.push_str(&format!("; {reused}"));
            row.verdict = Verdict::Loses;
            let above = source::field(self.program, pair.place(field), new);
            row = row.paste(another_name(pair, source, field), above);
        } else if let Fit::Shorter(from, to) = fit(&old.kind, &new.kind)
            && !is_converted
        {
            change.push_str(&format!(
                "; elements {} to {from} of old values are lost; keep the length, or give the field a `convert`",
                to + 1
            ));
            row.verdict = Verdict::Loses;
        }
        let variant = pair.name.map_or_else(String::new, |variant| format!("::{variant}"));
        let place = format!("{name}{variant}.{}", old.name);
        let converted = Some(place).filter(|_| !is_converted);
        let is_accepted = is_migrated || is_converted;
        row.may_narrow = !is_converted && fit(&old.kind, &new.kind) != Fit::Whole;
        self.tell(Difference { change, converted, is_accepted, ..row.shown_by(class) });
    }

    /// True if the `convert` of a field takes every value of a stored kind.
    fn is_taken(&self, pair: &Pair<'_>, field: usize, old: &KindSchema) -> bool {
        let taken = self.program.old_kinds.get(&pair.place(field));
        taken
            .is_some_and(|taken| fit(old, taken) == Fit::Whole && self.has_same_classes(old, taken))
    }

    /// What is wrong with a name that was free in between, if it now seems to mean another thing.
    fn reused(
        &self,
        pair: &Pair<'_>,
        field: usize,
        source: usize,
        is_same: bool,
    ) -> Option<String> {
        let (old, record) = (&pair.old[source], &pair.records[field]);
        let absence = self.versions.absence(Item::Field(pair.owner, record))?;
        let came_then = |other: &usize| {
            pair.source(*other).is_none()
                && self.versions.had(absence, Item::Field(pair.owner, &pair.records[*other]))
                && self.is_akin(&old.kind, &pair.new[*other].kind)
        };
        let other = (0..pair.new.len()).find(came_then).map(|other| &pair.new[other].name);
        // A number alone does not tell that it is the same thing again.
        let is_named = old.name == record.name;
        let is_said = !is_named && record.aliases.contains(&&*old.name);
        if is_said || is_same && is_named && old.id == record.id && other.is_none() {
            return None;
        }
        let since = match other {
            Some(other) => format!("{} had no such field, but {other}", absence.version),
            None => format!("{} had no such field", absence.version),
        };
        Some(format!(
            "{since}, and saves of it may keep an old value of {}, which would become the new one; give the new field another {} in the save, and `#[persist(removed = {:?})]` to its type, or `#[persist(alias = {:?})]` to the field, if it is the same again",
            old.name,
            if is_named { "name" } else { "number" },
            old.name,
            old.name
        ))
    }

    /// Whether records of a class in a list of classes become the program's.
    pub(super) fn check(&self, stored: Vec<ClassSchema>, class: usize) -> Result<(), Error> {
        Plans::new(stored, self.program, LoadOptions::default(), None).check(class)
    }

    /// What stops the records of a class, and the classes of the version as they would have to be.
    ///
    /// A plan says what is wrong first; with that put right, it says the next.
    fn failures(&self, class: usize, pairs: &[Pair<'_>]) -> (Vec<Failure>, Vec<ClassSchema>) {
        let mut mended = self.with_program();
        let mut failures: Vec<Failure> = Vec::new();
        while let Err(error) = self.check(mended.clone(), class) {
            let place = error.field().and_then(|path| find(pairs, path));
            let known = failures.iter().any(|known| known.place == place);
            let Some(at) = place.filter(|_| !known) else {
                if !known {
                    failures.push(Failure { place, error });
                }
                break;
            };
            failures.push(Failure { place, error });
            self.mend(&mut mended[class], pairs, at);
        }
        (failures, mended)
    }

    /// The stored classes, followed by the program's.
    pub(super) fn with_program(&self) -> Vec<ClassSchema> {
        let own = self.program.classes.iter().cloned().map(|mut class| {
            each_kind(&mut class.form, &mut |kind| self.shift(kind));
            class
        });
        self.stored.iter().cloned().chain(own).collect()
    }

    /// Makes a kind of the program one of that list.
    fn shift(&self, kind: &mut KindSchema) {
        map_classes(kind, &|class| class + self.stored.len());
    }

    /// Makes a stored field what the program has.
    fn mend(&self, class: &mut ClassSchema, pairs: &[Pair<'_>], at: Place) {
        let Some(pair) = pairs.iter().find(|pair| pair.variant == at.variant) else { return };
        let mut wanted = pair.new[at.field].clone();
        self.shift(&mut wanted.kind);
        let Some(fields) = fields_mut(&mut class.form, at.variant) else { return };
        match pair.source(at.field) {
            Some(source) => fields[source].kind = wanted.kind,
            None => fields.push(FieldSchema { id: None, ..wanted }),
        }
    }

    /// True if a stored field would do for one that the program misses.
    fn would_do(
        &self,
        class: usize,
        mended: &[ClassSchema],
        pair: &Pair<'_>,
        field: usize,
        stored: usize,
    ) -> bool {
        let mut renamed = mended.to_vec();
        let name = &pair.new[field].name;
        let Some(fields) = fields_mut(&mut renamed[class].form, pair.variant) else { return false };
        fields[stored].name.clone_from(name);
        // What stood in for it is behind the stored ones.
        let stand_in = (pair.old.len()..fields.len()).find(|i| fields[*i].name == *name);
        stand_in.into_iter().for_each(|i| drop(fields.remove(i)));
        self.check(renamed, class).is_ok()
    }
}

fn find(pairs: &[Pair<'_>], path: &str) -> Option<Place> {
    pairs.iter().find_map(|pair| {
        let field = pair.new.iter().position(|field| pair.path(&field.name) == path)?;
        Some(Place { variant: pair.variant, field })
    })
}

/// True for a kind with a class in it.
fn has_class(kind: &KindSchema) -> bool {
    let mut found = false;
    kind.visit(&mut |part| found |= matches!(part, KindSchema::Class(_)));
    found
}

/// The attribute by which a field is not the stored one any more.
fn another_name(pair: &Pair<'_>, source: usize, field: usize) -> String {
    let (old, record) = (&pair.old[source], &pair.records[field]);
    let name = (old.name == record.name).then(|| format!("rename = \"new_{}\"", record.name));
    let is_numbered = old.id.is_some() && old.id == record.id;
    let ids = pair.old.iter().map(|field| field.id).chain(pair.records.iter().map(|it| it.id));
    let free = ids.flatten().max().unwrap_or_default().saturating_add(1);
    let number = is_numbered.then(|| format!("id = {free}"));
    let both: Vec<String> = name.into_iter().chain(number).collect();
    format!("#[persist({})]", both.join(", "))
}
