//! The paths of the fields that were found to have changed.

use std::cell::RefCell;

use hashbrown::HashMap;

use super::path::FieldPath;

/// Paths that were asked for, each made once, since histories keep them: for each class, by the indices of the fields on the
/// way, which lie in structs. There are as many as fields in types.
#[derive(Default)]
pub(super) struct Paths(RefCell<HashMap<String, OfClass>>);

type OfClass = HashMap<Box<[usize]>, FieldPath>;

/// The way from a class to a field.
pub(super) struct Trail<'c> {
    class: &'c str,
    fields: Vec<usize>,
    names: Vec<&'static str>,
}

impl<'c> Trail<'c> {
    pub(super) fn new(class: &'c str) -> Self {
        Self { class, fields: Vec::new(), names: Vec::new() }
    }

    /// Goes into a field.
    pub(super) fn enter(&mut self, field: usize, name: &'static str) {
        self.fields.push(field);
        self.names.push(name);
    }

    /// Comes out of it.
    pub(super) fn leave(&mut self) {
        self.fields.pop();
        self.names.pop();
    }
}

impl Paths {
    /// The path of the field at the end of a trail.
    pub(super) fn at(&self, trail: &Trail<'_>) -> FieldPath {
        let Trail { class, fields, names } = trail;
        let mut classes = self.0.borrow_mut();
        let paths = classes.entry_ref(*class).or_default();
        let make = || {
            let class = FieldPath::new((*class).to_owned());
            names.iter().fold(class, |path, name| path.field(*name))
        };
        paths.entry_ref(&**fields).or_insert_with(make).clone()
    }
}
