//! What the plans of a load say, field by field.

use super::Comparison;
use super::fields::{Pair, fields_mut};
use crate::lock::section::{each_kind, map_classes};
use crate::schema::{ClassSchema, FieldSchema, KindSchema, Plans};
use crate::{Error, LoadOptions};

/// A field of a class that old records do not become, or the class itself.
pub(super) struct Failure {
    pub(super) place: Option<Place>,
    pub(super) error: Error,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Index of the stored variant; 0 for a struct.
    pub(super) variant: usize,
    /// Index of the program's field.
    pub(super) field: usize,
}

impl Comparison<'_> {
    /// Whether records of a class in a list of classes become the program's.
    pub(super) fn check(&self, stored: Vec<ClassSchema>, class: usize) -> Result<(), Error> {
        Plans::new(stored, self.program, LoadOptions::default(), None).check(class)
    }

    /// What stops the records of a class, and the classes of the version as they would have to be.
    ///
    /// A plan says what is wrong first; with that put right, it says the next.
    pub(super) fn failures(
        &self,
        class: usize,
        pairs: &[Pair<'_>],
    ) -> (Vec<Failure>, Vec<ClassSchema>) {
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
    pub(super) fn would_do(
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
