//! The order of the locked versions, and the classes, variants and fields that each of them has.

use std::collections::{BTreeSet, HashMap, HashSet};

use persist::__tools::{
    ClassSchema, FieldSchema, Form, Program, VariantSchema, find_variant, pair,
};
use persist::reflect::FieldRecord;

use crate::lock::code::path;
use crate::lock::{ClassCode, Newtypes, Section};

/// A step on the way to a class, a variant or a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ItemName {
    /// By its index in the program.
    Now(usize),
    /// By its name in a version.
    Then(String),
}

/// A class, a variant of one, or a field of either.
pub(super) type ItemPath = Vec<ItemName>;

/// The locked versions, with the items and the code of each.
pub(in crate::lock) struct Versions {
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
    pub(in crate::lock) fn new(sections: &[Section], program: &Program) -> Self {
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

    pub(super) fn had(&self, version: usize, item: &[ItemName]) -> bool {
        self.has(version, item) == Some(true)
    }

    /// True if the first of two came right before the second, so that the same came after both.
    pub(in crate::lock) fn are_one(&self, first: usize, second: usize) -> bool {
        matches!(&self.later[first][..], [next, rest @ ..] if *next == second && *rest == self.later[second])
    }

    /// Returns the program's code of a class.
    pub(super) fn code_now(&self, class: usize) -> &ClassCode {
        &self.code_now[&class]
    }

    pub(super) fn all_code_now(&self) -> &HashMap<usize, ClassCode> {
        &self.code_now
    }

    /// Returns the code of a class of the program in all versions that did not come before one: later ones, and those
    /// of other branches. The fields have their names in the program.
    pub(super) fn later_code(
        &self,
        version: usize,
        class: usize,
    ) -> impl Iterator<Item = (&str, &ClassCode)> {
        let all = self.not_earlier(version);
        all.filter_map(move |at| Some((self.name(at), self.code[at].get(&class)?)))
    }

    /// Returns the code of a class that the program does not have, in the same versions.
    pub(super) fn later_code_of_dropped(
        &self,
        version: usize,
        class: &str,
    ) -> impl Iterator<Item = (&str, &ClassCode)> {
        let all = self.not_earlier(version);
        all.filter_map(move |at| Some((self.name(at), self.dropped[at].get(class)?)))
    }

    /// Returns the first version that did not come before one and does not have all of these variants of an enum, and
    /// the first that it lacks.
    pub(super) fn lost_variant<'v>(
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
    pub(super) fn code_after(
        &self,
        version: usize,
        class: usize,
    ) -> impl Iterator<Item = (&str, &ClassCode)> {
        let later = self.later[version].iter();
        later.filter_map(move |at| Some((self.name(*at), self.code[*at].get(&class)?)))
    }

    /// Returns the code of a class of the program in one version.
    pub(super) fn code_of(&self, version: usize, class: usize) -> Option<&ClassCode> {
        self.code[version].get(&class)
    }

    /// Returns the code of a class of the program in all versions.
    pub(super) fn all_code(&self, class: usize) -> impl Iterator<Item = &ClassCode> {
        self.code.iter().filter_map(move |code| code.get(&class))
    }

    /// Returns the code of a class of the program in versions of other branches.
    pub(super) fn code_of_branches(
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

    pub(super) fn name(&self, version: usize) -> &str {
        &self.versions[version].0
    }

    /// True if an item that the program lacks may have become an item that was added.
    ///
    /// No version has both, and no later version has neither. Another branch may have the added item only if it had the
    /// removed one before, or if both branches got the added one from the same version. In the second case, this branch
    /// renamed it.
    pub(super) fn may_become(
        &self,
        version: usize,
        dropped: &[ItemName],
        came: &[ItemName],
    ) -> bool {
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
    pub(super) fn absence(&self, version: usize, item: &[ItemName]) -> Option<usize> {
        self.since(version).find(|at| !self.had(*at, item))
    }

    /// The first later version that had what it is in, and not this.
    pub(super) fn absence_in_owner(&self, version: usize, item: &[ItemName]) -> Option<usize> {
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
