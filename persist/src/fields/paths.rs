//! The paths of the fields that were found to have changed.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;

use hashbrown::HashMap;

use super::path::{FieldPath, PathStep};
use crate::codec::with::With;
use crate::{Error, Result};

/// Paths that were asked for, each made once, since histories keep them.
#[derive(Default)]
pub struct Paths {
    /// For each class, by the indices of the fields on the way, which lie in structs: as many as fields in types.
    fields: RefCell<HashMap<String, OfClass>>,
    texts: RefCell<HashMap<Box<str>, FieldPath>>,
}

type OfClass = HashMap<Box<[usize]>, FieldPath>;

/// More texts than an editor has are not kept, nor longer ones: they may have an index in them that always is another.
const MOST_TEXTS: usize = 4096;
const LONGEST_TEXT: usize = 256;

/// The way from a class to a field, or to an element.
pub(super) struct Trail<'c> {
    class: &'c str,
    /// Where it begins.
    base: &'c [PathStep],
    /// Of steps that all are fields their indices.
    fields: Vec<usize>,
    steps: Vec<PathStep>,
}

impl<'c> Trail<'c> {
    pub(super) fn new(class: &'c str, base: &'c [PathStep]) -> Self {
        Self { class, base, fields: Vec::new(), steps: Vec::new() }
    }

    pub(super) fn enter(&mut self, field: usize, name: &'static str) {
        self.fields.push(field);
        self.steps.push(PathStep::Field(name.into()));
    }

    pub(super) fn enter_element(&mut self, index: u64) {
        self.fields.push(usize::MAX);
        self.steps.push(PathStep::Index(index));
    }

    pub(super) fn leave(&mut self) {
        self.fields.pop();
        self.steps.pop();
    }
}

impl Paths {
    /// The path of the field at the end of a trail.
    pub(super) fn at(&self, trail: &Trail<'_>) -> FieldPath {
        let Trail { class, base, fields, steps } = trail;
        let make = || FieldPath::of((*class).to_owned(), base.iter().chain(steps));
        if !base.is_empty() || fields.contains(&usize::MAX) {
            return make();
        }
        let mut classes = self.fields.borrow_mut();
        let paths = classes.entry_ref(*class).or_default();
        paths.entry_ref(&**fields).or_insert_with(make).clone()
    }

    pub(super) fn of_text(&self, text: &str) -> Result<FieldPath> {
        if let Some(path) = self.texts.borrow().get(text) {
            return Ok(path.clone());
        }
        let path: FieldPath = text.parse()?;
        if text.len() > LONGEST_TEXT {
            return Ok(path);
        }
        let mut texts = self.texts.borrow_mut();
        if texts.len() >= MOST_TEXTS {
            texts.clear();
        }
        texts.insert(text.into(), path.clone());
        Ok(path)
    }
}

/// What is taken for a path: a [`FieldPath`], made by [`field!`](crate::field!) or kept, or its text.
pub trait IntoFieldPath {
    /// The path, perhaps one of those that are known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidValue`] if a text is none.
    fn into_field_path(self, known: &Paths) -> Result<FieldPath>;
}

impl IntoFieldPath for FieldPath {
    fn into_field_path(self, _: &Paths) -> Result<FieldPath> {
        Ok(self)
    }
}

impl IntoFieldPath for &FieldPath {
    fn into_field_path(self, _: &Paths) -> Result<FieldPath> {
        Ok(self.clone())
    }
}

impl IntoFieldPath for &str {
    fn into_field_path(self, known: &Paths) -> Result<FieldPath> {
        known.of_text(self)
    }
}

impl IntoFieldPath for &String {
    fn into_field_path(self, known: &Paths) -> Result<FieldPath> {
        known.of_text(self)
    }
}

impl IntoFieldPath for String {
    fn into_field_path(self, known: &Paths) -> Result<FieldPath> {
        known.of_text(&self)
    }
}

/// Stores what is known by its text: paths, and texts that are shared.
pub(crate) struct AsText;

impl With<FieldPath> for AsText {
    type Stored = String;
    type Error = Error;

    fn store(path: &FieldPath) -> impl Borrow<String> {
        path.to_string()
    }

    /// A journal has the same paths in many entries, which then share them.
    fn restore(text: String) -> Result<FieldPath> {
        thread_local! {
            static KNOWN: Paths = Paths::default();
        }
        KNOWN.with(|known| known.of_text(&text))
    }
}

impl With<Arc<str>> for AsText {
    type Stored = String;
    type Error = Infallible;

    fn store(text: &Arc<str>) -> impl Borrow<String> {
        text.to_string()
    }

    fn restore(text: String) -> Result<Arc<str>, Infallible> {
        Ok(text.into())
    }
}
