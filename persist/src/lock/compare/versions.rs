//! What the locked versions say of one another: which classes, variants and fields were there at once.

use std::collections::HashSet;

use crate::lock::section::Section;
use crate::reflect::FieldRecord;
use crate::schema::{FieldSchema, Form, Program, find_variant};

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

/// What each locked version has.
pub(in crate::lock) struct Versions {
    versions: Vec<(String, HashSet<ItemPath>)>,
    /// For each, those that came after it.
    later: Vec<Vec<usize>>,
}

impl Versions {
    pub(in crate::lock) fn new(sections: &[Section], program: &Program) -> Self {
        let of = |section: &Section| (section.version.clone(), items(section, program));
        let later = |of: &Section| {
            let is_later = |at: &usize| sections[*at].is_after(of);
            (0..sections.len()).filter(is_later).collect()
        };
        Self {
            versions: sections.iter().map(of).collect(),
            later: sections.iter().map(later).collect(),
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

    pub(super) fn name(&self, version: usize) -> &str {
        &self.versions[version].0
    }

    /// True if what a version had, and the program does not, may be what came: no version had both, none after that one
    /// had neither, and what came was on no other branch on which the other never was.
    pub(super) fn may_become(&self, version: usize, gone: &[ItemName], came: &[ItemName]) -> bool {
        let is_later = |at: usize, of: usize| self.later[of].contains(&at);
        let is_other_branch = |at: usize| !is_later(at, version) && !is_later(version, at);
        (0..self.versions.len()).all(|at| match (self.has(at, gone), self.has(at, came)) {
            (Some(true), Some(true)) => false,
            (Some(false), Some(true)) if is_other_branch(at) => {
                (0..at).any(|before| is_later(at, before) && self.had(before, gone))
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
    pub(super) fn absence_alone(&self, version: usize, item: &[ItemName]) -> Option<usize> {
        self.since(version).find(|at| self.has(*at, item) == Some(false))
    }

    /// A version, and those that came after it.
    fn since(&self, version: usize) -> impl Iterator<Item = usize> {
        std::iter::once(version).chain(self.later[version].iter().copied())
    }
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
    let is_there = |record: &FieldRecord| fields.iter().any(|field| record.may_be(field));
    let there = (0..records.len()).filter(|i| is_there(&records[*i]));
    items.extend(there.map(|i| with(ItemName::Now(i))));
}
