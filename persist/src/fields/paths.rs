//! The paths of the fields that were found to have changed.

use std::cell::RefCell;

use hashbrown::HashMap;

use super::path::FieldPath;
use crate::Result;

/// Paths that were asked for, each made once, since histories keep them.
#[derive(Default)]
pub struct Paths {
    /// For each class, by the indices of the fields on the way, which lie in structs: as many as fields in types.
    fields: RefCell<HashMap<String, OfClass>>,
    texts: RefCell<HashMap<Box<str>, FieldPath>>,
}

type OfClass = HashMap<Box<[usize]>, FieldPath>;

/// More texts than an editor has are not kept: they may have an index in them that always is another.
const MOST_TEXTS: usize = 4096;

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
        let mut classes = self.fields.borrow_mut();
        let paths = classes.entry_ref(*class).or_default();
        let make = || {
            let class = FieldPath::new((*class).to_owned());
            names.iter().fold(class, |path, name| path.field(*name))
        };
        paths.entry_ref(&**fields).or_insert_with(make).clone()
    }

    /// The path that a text is.
    pub(super) fn of_text(&self, text: &str) -> Result<FieldPath> {
        if let Some(path) = self.texts.borrow().get(text) {
            return Ok(path.clone());
        }
        let path: FieldPath = text.parse()?;
        let mut texts = self.texts.borrow_mut();
        if texts.len() >= MOST_TEXTS {
            texts.clear();
        }
        texts.insert(text.into(), path.clone());
        Ok(path)
    }
}
