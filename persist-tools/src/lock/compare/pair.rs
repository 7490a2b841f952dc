//! The fields of a struct or a variant that a version and the program have.

use persist::__tools::{ClassSchema, Form, Program, pair};

use super::versions::{ItemName, ItemPath};
use super::{Finding, Pair};
use crate::lock::code::path;
use crate::lock::report::Verdict;

impl<'p> Pair<'p> {
    /// The structs of two classes, or their variants.
    pub(super) fn all(
        (class, old): (usize, &'p ClassSchema),
        (target, program): (usize, &'p Program),
    ) -> impl Iterator<Item = Self> {
        let name = &*program.classes[target].name;
        let variants = match &old.form {
            Form::Enum(variants) => Some(variants),
            _ => None,
        };
        program.sides(old, target).into_iter().enumerate().filter_map(move |(variant, sides)| {
            let new = sides.new?;
            Some(Self {
                stored: (class, variant),
                class: name,
                variant: variants.map(|variants| &*variants[variant].name),
                old: sides.old,
                new,
                pairing: pair(sides.old, new.records),
            })
        })
    }

    /// The program's class and variant.
    pub(super) fn target(&self) -> (usize, usize) {
        (self.new.class, self.new.variant)
    }

    /// A field as an error names it.
    pub(super) fn path(&self, field: &str) -> String {
        path(self.variant, field)
    }

    /// The name that one of the program's fields has today, after that of its variant.
    pub(super) fn path_now(&self, program: &Program, field: usize) -> String {
        let described = program.targets[self.new.class].map(|target| target.class);
        let variant = self.variant.and_then(|_| Some(described?.variants()[self.new.variant].name));
        path(variant, self.new.records[field].name)
    }

    /// Returns a finding about a field.
    pub(super) fn finding(
        &self,
        field: &str,
        verdict: Verdict,
        change: impl Into<String>,
    ) -> Finding {
        Finding::new(self.class, verdict, change).in_field(Some(&self.path(field)))
    }

    /// The stored field for each of the program's.
    pub(super) fn sources(&self) -> &[Option<usize>] {
        &self.pairing.sources
    }

    /// One of the program's fields, for its source.
    pub(super) fn place(&self, field: usize) -> (usize, usize, usize) {
        (self.new.class, self.new.variant, field)
    }

    pub(super) fn item(&self, name: ItemName) -> ItemPath {
        let variant = self.variant.map(|_| ItemName::Now(self.new.variant));
        [ItemName::Now(self.new.class)].into_iter().chain(variant).chain([name]).collect()
    }

    pub(super) fn now(&self, field: usize) -> ItemPath {
        self.item(ItemName::Now(field))
    }
}
