//! Compares a locked version with the program, and finds the effect on old saves.
//!
//! The changes are read from the plans by which a load would convert the version's records. Loads of samples answer the
//! questions that plans leave open.

// A map of the files.
//
// - This file: the records that several files use, the versions, findings, and the lines to paste.
// - `version` compares one version: its traits and objects itself, `classes` its classes, and `code` the attributes of
//   them. `code::fields` compares the fields of structs and variants.
// - `moves` finds fields that went to another class. `judge` combines findings with the loads of samples.
// - `downgrades` compares the other way round.

mod classes;
mod code;
mod downgrades;
mod judge;
mod moves;
mod version;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use persist::__tools::{
    Body, ClassSchema, FieldSchema, Form, KindSchema, Pairing, Plans, Program, ProgramFields,
    Stored, VariantSchema, find_variant, pair, rust_type,
};
use persist::Error;
use persist::reflect::FieldRecord;
use persist::save::Registry;

use super::code::path;
use super::report::{Difference, Verdict};
use super::{ClassCode, Newtypes, Section};

pub(super) use self::downgrades::downgrades;
pub(super) use self::version::compare;

/// A version against the program.
struct VersionComparison<'c> {
    section: &'c Section,
    versions: &'c Versions,
    /// Its index in them.
    version: usize,
    program: &'c Program,
    registry: &'c Registry,
    /// Plans for the classes of the version, by the new names of those that seem to have been renamed.
    plans: Plans<'c>,
    stored: Arc<Stored>,
    /// The program's class for each.
    resolved: Vec<Option<usize>>,
    /// Where each is held by value.
    held: Vec<Option<String>>,
    /// True for those that are migrated, or are inside of others that are.
    migrated: Vec<bool>,
    findings: Vec<Finding>,
    moves: Moves,
}

/// A field that a version and the program have.
#[derive(Clone, Copy)]
struct FieldHistory<'h> {
    section: &'h Section,
    versions: &'h Versions,
    /// The index of the version.
    version: usize,
    program: &'h Program,
    /// The program's class for each of the version's.
    resolved: &'h [Option<usize>],
    pair: &'h Pair<'h>,
    field: usize,
    source: usize,
}

/// A question about a field, and the line by which the program answers it.
struct Question {
    why: String,
    attribute: Option<String>,
    /// The field or the type under the line.
    above: String,
    /// The function that it names.
    code: Option<String>,
}

/// A change, and how the loads of samples are asked about it.
struct Finding {
    of: Difference,
    /// The message of the error that old saves get.
    cause: Option<String>,
    /// The stored class whose samples show whether it is safe.
    shown_by: Option<usize>,
    /// The stored class, and the field or variant or nothing, as samples and reports name them.
    stored: Option<(String, String)>,
    /// True if values become those of another kind.
    is_converted: bool,
    /// True for a kind that may not take every old value.
    may_narrow: bool,
    /// True for a field that the class's `migrate` may take.
    is_migrated: bool,
    /// True for a field that is stored by other code, which the class's `migrate` may answer.
    is_restored: bool,
    /// True if the program says that what is lost is meant to be.
    is_accepted: bool,
    /// The stored classes whose samples load if what is said does not matter.
    doubt: Option<Vec<usize>>,
}

impl Finding {
    fn new(class: &str, verdict: Verdict, change: impl Into<String>) -> Self {
        Self {
            of: Difference::new(class, verdict, change.into()),
            cause: None,
            shown_by: None,
            stored: None,
            is_converted: false,
            may_narrow: false,
            is_migrated: false,
            is_restored: false,
            is_accepted: false,
            doubt: None,
        }
    }

    fn in_field(mut self, field: Option<&str>) -> Self {
        self.of.field = field.map(str::to_owned);
        self
    }

    /// Sets the error that old saves get.
    fn because(mut self, error: &Error) -> Self {
        self.of.kind = error.kind();
        self.cause = Some(error.message().to_owned());
        self
    }

    /// Makes the finding safe only if the samples of a stored class load.
    fn shown_by(self, class: usize) -> Self {
        Self { shown_by: Some(class), ..self }
    }

    fn stored(self, class: &str, path: &str) -> Self {
        Self { stored: Some((class.to_owned(), path.to_owned())), ..self }
    }

    /// With a line to paste.
    fn paste(mut self, attribute: impl Into<String>, above: impl Into<String>) -> Self {
        (self.of.attribute, self.of.above) = (Some(attribute.into()), Some(above.into()));
        self
    }

    fn worsen(&mut self, verdict: Verdict, why: &str) {
        self.of.verdict = self.of.verdict.max(verdict);
        self.of.change.push_str("; ");
        self.of.change.push_str(why);
    }
}

/// Something that went, something that came, and how much they look alike.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Guess {
    old: usize,
    new: usize,
    score: u32,
    /// True if old values become the new ones with an `alias` alone.
    fits: bool,
    /// True if it is likely enough to be proposed: a near name, or an equal kind.
    is_likely: bool,
}

/// The pairs that are likelier than all others of either side.
fn sure(mut open: Vec<Guess>) -> Vec<Guess> {
    let mut sure: Vec<Guess> = Vec::new();
    let is_rival = |one: &Guess, other: &Guess| one.old == other.old || one.new == other.new;
    loop {
        let is_best = |guess: &&Guess| {
            let mut others = open.iter().filter(|other| other != guess);
            others.all(|other| !is_rival(guess, other) || other.score < guess.score)
        };
        let best = open.iter().filter(|guess| guess.score > 0).filter(is_best);
        let found: Vec<Guess> = best.copied().collect();
        if found.is_empty() {
            return sure;
        }
        open.retain(|guess| !found.iter().any(|found| is_rival(found, guess)));
        sure.extend(found);
    }
}

/// Returns the contents of a kind without containers: names of classes and traits, and one word for each other sort.
fn atoms(kind: &KindSchema, classes: &[ClassSchema]) -> Vec<String> {
    let mut atoms = Vec::new();
    kind.visit(&mut |kind| {
        let word = match kind {
            KindSchema::Class(class) | KindSchema::Reference { class, .. } => &classes[*class].name,
            KindSchema::TraitReference { name, .. }
            | KindSchema::Dynamic(name)
            | KindSchema::Handle(name) => return atoms.push(format!("dyn {name}")),
            KindSchema::Bool => " bool",
            KindSchema::Char => " char",
            KindSchema::Text => " text",
            KindSchema::Unknown => " unknown",
            KindSchema::Unit => return,
            kind if kind.has_parts() => return,
            _ => " number",
        };
        atoms.push(word.to_owned());
    });
    atoms
}

/// A field of a struct of the program that old saves do not have.
#[derive(Clone, Copy)]
struct NewField {
    class: usize,
    field: usize,
}

/// The fields that went, and those that came.
#[derive(Default)]
struct Moves {
    left: Vec<GoneField>,
    came: Vec<NewField>,
}

impl Moves {
    fn left(&mut self, left: GoneField) {
        self.left.push(left);
    }

    fn came(&mut self, class: usize, fields: impl IntoIterator<Item = usize>) {
        self.came.extend(fields.into_iter().map(|field| NewField { class, field }));
    }
}

/// A stored field that went.
struct GoneField {
    /// The stored class.
    class: usize,
    /// The program's, if it has it.
    target: Option<usize>,
    /// False for a field of a variant.
    is_struct: bool,
    dropped: ItemPath,
    name: String,
    kind: KindSchema,
    /// The index of the finding about it.
    finding: usize,
}

/// A struct or a variant that both sides have.
struct Pair<'p> {
    /// The stored class, and the variant; 0 for a struct.
    stored: (usize, usize),
    /// The program's name of the class, and that of the stored variant.
    class: &'p str,
    variant: Option<&'p str>,
    old: &'p [FieldSchema],
    new: ProgramFields<'p>,
    pairing: Pairing,
}

impl Pair<'_> {
    /// A field as an error names it.
    fn path(&self, field: &str) -> String {
        path(self.variant, field)
    }

    /// The name that one of the program's fields has today, after that of its variant.
    fn path_now(&self, program: &Program, field: usize) -> String {
        let described = program.targets[self.new.class].map(|target| target.class);
        let variant = self.variant.and_then(|_| Some(described?.variants()[self.new.variant].name));
        path(variant, self.new.records[field].name)
    }
}

/// The name of a class's type in the source, without modules and arguments.
fn type_name(program: &Program, class: usize) -> &str {
    let Some(target) = program.targets[class] else { return &program.classes[class].name };
    let path = target.class.type_name();
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path)
}

/// How the type of a class begins: `struct Hero`.
fn head(program: &Program, class: usize) -> String {
    let body = program.targets[class].map(|target| &target.class.body);
    let word = match body {
        Some(Body::Enum(_)) => "enum ",
        Some(Body::Struct(_)) => "struct ",
        None => "",
    };
    format!("{word}{}", type_name(program, class))
}

/// A field of a struct (`variant` is 0) or of a variant, as it stands in the source; by its kind where
/// that is not known.
fn field_line(
    program: &Program,
    (class, variant, field): (usize, usize, usize),
    schema: &FieldSchema,
) -> String {
    let written = program.targets[class].and_then(|target| {
        let previous = target.class.variants().iter().take(variant);
        let previous: usize = previous.map(|variant| variant.fields.len()).sum();
        target.class.written.get(previous + field)
    });
    written.map_or_else(
        || format!("{}: {}", schema.name, rust_type(&schema.kind.display(&program.classes))),
        |written| (*written).to_owned(),
    )
}

/// A step on the way to a class, a variant or a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ItemName {
    /// By its index in the program.
    Now(usize),
    /// By its name in a version.
    Then(String),
}

/// A class, a variant of one, or a field of either.
type ItemPath = Vec<ItemName>;

/// The locked versions, with the items and the code of each.
pub(super) struct Versions {
    versions: Vec<(String, HashSet<ItemPath>)>,
    /// For each, those that came after it.
    later: Vec<Vec<usize>>,
    /// The code of the program's classes in each version, and in the program.
    code: Vec<HashMap<usize, ClassCode>>,
    code_now: HashMap<usize, ClassCode>,
    /// The code of classes that the program does not have, by their names, in each version.
    dropped: Vec<HashMap<String, ClassCode>>,
    /// The names of the variants of each enum, in each version.
    variants: Vec<HashMap<String, Vec<String>>>,
}

impl Versions {
    pub(super) fn new(sections: &[Section], program: &Program) -> Self {
        let of = |section: &Section| (section.version.clone(), items(section, program));
        // In the order of the sections, what came after one stands after it.
        let places = sections.iter().enumerate().map(|(at, section)| (&section.version, at));
        let places: HashMap<&String, usize> = places.collect();
        let mut later = vec![BTreeSet::new(); sections.len()];
        for (at, section) in sections.iter().enumerate().rev() {
            let after_it: Vec<usize> = later[at].iter().copied().chain([at]).collect();
            for previous in section.after.iter().filter_map(|name| places.get(name)) {
                later[*previous].extend(after_it.iter().copied());
            }
        }
        let now = ClassCode::all(program);
        let newtypes = Newtypes { classes: &program.classes, code: &now };
        let code_now = now.iter().map(|(class, code)| {
            (*class, newtypes.with_inner(&program.classes[*class], code, |_| true))
        });
        let code_now = code_now.collect();
        let is_dropped =
            |section: &Section, class: usize| program.find(&section.classes[class]).is_none();
        let dropped = |section: &Section| {
            let code = section.code.iter().filter(|(class, _)| is_dropped(section, **class));
            code.map(|(class, code)| (section.classes[*class].name.clone(), code.clone())).collect()
        };
        Self {
            versions: sections.iter().map(of).collect(),
            later: later.into_iter().map(|later| later.into_iter().collect()).collect(),
            code: sections.iter().map(|section| code(section, program)).collect(),
            code_now,
            dropped: sections.iter().map(dropped).collect(),
            variants: sections.iter().map(variants).collect(),
        }
    }

    /// Whether a version has it; `None` if it does not have what that is in.
    fn has(&self, version: usize, item: &[ItemName]) -> Option<bool> {
        let (_, items) = &self.versions[version];
        let (_, owner) = item.split_last()?;
        (owner.is_empty() || items.contains(owner)).then(|| items.contains(item))
    }

    fn had(&self, version: usize, item: &[ItemName]) -> bool {
        self.has(version, item) == Some(true)
    }

    /// True if the first of two came right before the second, so that the same came after both.
    pub(super) fn are_one(&self, first: usize, second: usize) -> bool {
        matches!(&self.later[first][..], [next, rest @ ..] if *next == second && *rest == self.later[second])
    }

    /// Returns the program's code of a class.
    fn code_now(&self, class: usize) -> &ClassCode {
        &self.code_now[&class]
    }

    fn all_code_now(&self) -> &HashMap<usize, ClassCode> {
        &self.code_now
    }

    /// Returns the code of a class of the program in all versions that did not come before one: later ones, and those
    /// of other branches. The fields have their names in the program.
    fn later_code(&self, version: usize, class: usize) -> impl Iterator<Item = (&str, &ClassCode)> {
        let all = self.not_earlier(version);
        all.filter_map(move |at| Some((self.name(at), self.code[at].get(&class)?)))
    }

    /// Returns the code of a class that the program does not have, in the same versions.
    fn later_code_of_dropped(
        &self,
        version: usize,
        class: &str,
    ) -> impl Iterator<Item = (&str, &ClassCode)> {
        let all = self.not_earlier(version);
        all.filter_map(move |at| Some((self.name(at), self.dropped[at].get(class)?)))
    }

    /// Returns the first version that did not come before one and does not have all of these variants of an enum, and
    /// the first that it lacks.
    fn lost_variant<'v>(
        &'v self,
        version: usize,
        class: &str,
        variants: &'v [VariantSchema],
    ) -> Option<(&'v str, &'v str)> {
        self.not_earlier(version).find_map(|at| {
            let has = self.variants[at].get(class)?;
            let lost = variants.iter().find(|variant| !has.contains(&variant.name))?;
            Some((self.name(at), &*lost.name))
        })
    }

    /// Returns the code of a class of the program in the versions that came after one.
    fn code_after(&self, version: usize, class: usize) -> impl Iterator<Item = (&str, &ClassCode)> {
        let later = self.later[version].iter();
        later.filter_map(move |at| Some((self.name(*at), self.code[*at].get(&class)?)))
    }

    /// Returns the code of a class of the program in one version.
    fn code_of(&self, version: usize, class: usize) -> Option<&ClassCode> {
        self.code[version].get(&class)
    }

    /// Returns the code of a class of the program in all versions.
    fn all_code(&self, class: usize) -> impl Iterator<Item = &ClassCode> {
        self.code.iter().filter_map(move |code| code.get(&class))
    }

    /// Returns the code of a class of the program in versions of other branches.
    fn code_of_branches(
        &self,
        version: usize,
        class: usize,
    ) -> impl Iterator<Item = (&str, &ClassCode)> {
        let all = self.not_earlier(version).filter(move |at| !self.later[version].contains(at));
        all.filter_map(move |at| Some((self.name(at), self.code[at].get(&class)?)))
    }

    fn not_earlier(&self, version: usize) -> impl Iterator<Item = usize> {
        let is_earlier = move |at: usize| self.later[at].binary_search(&version).is_ok();
        (0..self.versions.len()).filter(move |at| *at != version && !is_earlier(*at))
    }

    fn name(&self, version: usize) -> &str {
        &self.versions[version].0
    }

    /// True if an item that the program lacks may have become an item that was added.
    ///
    /// No version has both, and no later version has neither. Another branch may have the added item only if it had the
    /// removed one before, or if both branches got the added one from the same version. In the second case, this branch
    /// renamed it.
    fn may_become(&self, version: usize, dropped: &[ItemName], came: &[ItemName]) -> bool {
        let is_later = |at: usize, of: usize| self.later[of].contains(&at);
        let is_other_branch = |at: usize| !is_later(at, version) && !is_later(version, at);
        (0..self.versions.len()).all(|at| match (self.has(at, dropped), self.has(at, came)) {
            (Some(true), Some(true)) => false,
            (Some(false), Some(true)) if is_other_branch(at) => {
                let mut earlier = (0..at).filter(|previous| is_later(at, *previous));
                earlier.any(|previous| {
                    let is_common = is_later(version, previous);
                    self.had(previous, dropped) || is_common && self.had(previous, came)
                })
            }
            // A version without what the two are in does not count.
            (None, None) | (Some(true), _) | (_, Some(true)) => true,
            _ => !is_later(at, version),
        })
    }

    /// The first later version that did not have it, whether it had what that is in or not.
    fn absence(&self, version: usize, item: &[ItemName]) -> Option<usize> {
        self.since(version).find(|at| !self.had(*at, item))
    }

    /// The first later version that had what it is in, and not this.
    fn absence_in_owner(&self, version: usize, item: &[ItemName]) -> Option<usize> {
        self.since(version).find(|at| self.has(*at, item) == Some(false))
    }

    /// A version, and those that came after it.
    fn since(&self, version: usize) -> impl Iterator<Item = usize> {
        std::iter::once(version).chain(self.later[version].iter().copied())
    }
}

/// Returns the names of the variants of a version's enums.
fn variants(section: &Section) -> HashMap<String, Vec<String>> {
    let each = section.classes.iter().filter_map(|class| {
        let Form::Enum(variants) = &class.form else { return None };
        let names = variants.iter().map(|variant| variant.name.clone()).collect();
        Some((class.name.clone(), names))
    });
    each.collect()
}

/// Returns a version's code of the program's classes, by the names of their fields in the program.
fn code(section: &Section, program: &Program) -> HashMap<usize, ClassCode> {
    let mut all = HashMap::new();
    let newtypes = Newtypes { classes: &section.classes, code: &section.code };
    let none = ClassCode::default();
    for (class, stored) in section.classes.iter().enumerate() {
        let code = section.code.get(&class).unwrap_or(&none);
        let Some(target) = program.find(stored) else { continue };
        let has_class = |class: &ClassSchema| program.find(class).is_some();
        let mut code = newtypes.with_inner(stored, code, has_class);
        let variants = match &stored.form {
            Form::Enum(variants) => Some(variants),
            _ => None,
        };
        for (row, sides) in program.sides(stored, target).into_iter().enumerate() {
            let Some(new) = sides.new else { continue };
            let was = variants.map(|variants| &*variants[row].name);
            let described = program.targets[target].map(|target| target.class);
            let is = was.and_then(|_| Some(described?.variants()[new.variant].name));
            let sources = pair(sides.old, new.records).sources;
            for (record, source) in new.records.iter().zip(sources) {
                let Some(source) = source else { continue };
                let old = path(was, &sides.old[source].name);
                if let Some(of_field) = code.fields.remove(&old) {
                    code.fields.insert(path(is, record.name), of_field);
                }
            }
        }
        all.insert(target, code);
    }
    all
}

fn items(section: &Section, program: &Program) -> HashSet<ItemPath> {
    let mut items = HashSet::new();
    for class in &section.classes {
        let owner = vec![ItemName::Then(class.name.clone())];
        if let Form::Struct(fields) = &class.form {
            enter(&mut items, &owner, fields, &[]);
        }
        items.insert(owner);
        let Some(target) = program.find(class) else { continue };
        let owner = vec![ItemName::Now(target)];
        if !items.insert(owner.clone()) {
            continue;
        }
        let Some(described) = program.targets[target].map(|target| target.class) else { continue };
        match &class.form {
            Form::Struct(fields) => enter(&mut items, &owner, fields, described.fields()),
            Form::Enum(variants) => {
                let records = described.variants();
                for variant in variants {
                    let Some(i) = find_variant(&variant.name, records) else { continue };
                    let owner = [&owner[..], &[ItemName::Now(i)]].concat();
                    if items.insert(owner.clone()) {
                        enter(&mut items, &owner, &variant.fields, records[i].fields);
                    }
                }
            }
            Form::Value(_) => {}
        }
    }
    items
}

/// Enters the fields of a struct or a variant, by their names and as those of the program.
fn enter(
    items: &mut HashSet<ItemPath>,
    owner: &[ItemName],
    fields: &[FieldSchema],
    records: &[FieldRecord],
) {
    let with = |name: ItemName| [owner, &[name]].concat();
    items.extend(fields.iter().map(|field| with(ItemName::Then(field.name.clone()))));
    let is_present = |record: &FieldRecord| fields.iter().any(|field| record.may_be(field));
    let present = (0..records.len()).filter(|i| is_present(&records[*i]));
    items.extend(present.map(|i| with(ItemName::Now(i))));
}
