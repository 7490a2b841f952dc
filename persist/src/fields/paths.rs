//! The paths of the fields that were found to have changed.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;

use hashbrown::HashMap;

use super::path::{FieldPath, PathStep};
use crate::codec::with::With;
use crate::{Error, Result};

/// Paths that this thread asked for, each made once, since histories keep them.
#[derive(Default)]
struct Paths {
    /// For each class, by the fields on the way, which lie in structs: as many as fields in types.
    fields: RefCell<HashMap<String, OfClass>>,
    texts: RefCell<HashMap<Box<str>, FieldPath>>,
}

type OfClass = HashMap<Box<[PathStep]>, FieldPath>;

thread_local! {
    static KNOWN: Paths = Paths::default();
}

/// More texts than an editor has are not kept, nor longer ones: they may have an index in them that always is another.
const MOST_TEXTS: usize = 4096;
const LONGEST_TEXT: usize = 256;

/// The way from a class to a field, or to an element.
pub(super) struct Trail<'c> {
    class: &'c str,
    steps: Vec<PathStep>,
}

impl<'c> Trail<'c> {
    /// Begins at these steps.
    pub(super) fn new(class: &'c str, steps: &[PathStep]) -> Self {
        Self { class, steps: steps.to_vec() }
    }

    pub(super) fn enter(&mut self, name: &'static str) {
        self.steps.push(PathStep::Field(name.into()));
    }

    pub(super) fn enter_element(&mut self, index: u64) {
        self.steps.push(PathStep::Index(index));
    }

    pub(super) fn leave(&mut self) {
        self.steps.pop();
    }

    /// The path of the field at its end.
    pub(super) fn path(&self) -> FieldPath {
        let Trail { class, steps } = self;
        let make = || FieldPath::of((*class).to_owned(), steps);
        let is_field = |step: &PathStep| matches!(step, PathStep::Field(_));
        if !steps.iter().all(is_field) {
            return make();
        }
        let known = KNOWN.try_with(|known| {
            let mut classes = known.fields.borrow_mut();
            let paths = classes.entry_ref(*class).or_default();
            paths.entry_ref(&**steps).or_insert_with(make).clone()
        });
        known.unwrap_or_else(|_| make())
    }
}

/// The path that a text is. There are no known ones while the thread ends.
fn of_text(text: &str) -> Result<FieldPath> {
    KNOWN.try_with(|known| known.of_text(text)).unwrap_or_else(|_| text.parse())
}

impl Paths {
    fn of_text(&self, text: &str) -> Result<FieldPath> {
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
    /// The path, perhaps one that is known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidValue`] if a text is none.
    fn into_field_path(self) -> Result<FieldPath>;
}

impl IntoFieldPath for FieldPath {
    fn into_field_path(self) -> Result<FieldPath> {
        Ok(self)
    }
}

impl IntoFieldPath for &FieldPath {
    fn into_field_path(self) -> Result<FieldPath> {
        Ok(self.clone())
    }
}

#[diagnostic::do_not_recommend]
impl<T: AsRef<str>> IntoFieldPath for T {
    fn into_field_path(self) -> Result<FieldPath> {
        of_text(self.as_ref())
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
        of_text(&text)
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
