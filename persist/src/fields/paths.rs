//! Caches of paths, so that equal paths share their memory, and conversions to paths.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;

use hashbrown::HashMap;

#[cfg(feature = "history")]
use super::Trail;
use super::path::FieldPath;
#[cfg(feature = "history")]
use super::path::PathStep;
use crate::codec::with::With;
use crate::{Error, Result};

/// The paths that this thread has used. Histories keep paths, and entries with the same path share one.
#[derive(Default)]
struct Paths {
    /// Paths by class and steps. Only paths without indices and keys are cached, so there are no more than fields in
    /// types.
    #[cfg(feature = "history")]
    fields: RefCell<HashMap<String, OfClass>>,
    texts: RefCell<HashMap<Box<str>, FieldPath>>,
}

#[cfg(feature = "history")]
type OfClass = HashMap<Box<[PathStep]>, FieldPath>;

thread_local! {
    static KNOWN: Paths = Paths::default();
}

/// The limits of the cache by text. Texts may contain ever new indices and keys, so that the cache would grow without
/// end.
const MAX_TEXTS: usize = 4096;
const LONGEST_TEXT: usize = 256;

#[cfg(feature = "history")]
impl Trail<'_> {
    /// Returns the path of the current field.
    pub(super) fn path(&self) -> FieldPath {
        let Trail { class, steps, .. } = self;
        let make = || FieldPath::from_steps((*class).to_owned(), steps);
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

/// Parses the text of a path, or returns the cached path. A thread that is ending has no cache, and parses the text.
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
        if texts.len() >= MAX_TEXTS {
            texts.clear();
        }
        texts.insert(text.into(), path.clone());
        Ok(path)
    }
}

/// Types that can be passed as a path: a [`FieldPath`], such as one from [`field!`](crate::field!), or its text.
pub trait IntoFieldPath {
    /// Converts to a path. Texts that were used before are not parsed again.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidValue`](crate::ErrorKind::InvalidValue) if a text is not a valid path.
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

/// A `with` module that stores paths and shared texts as strings.
pub(crate) struct AsText;

impl With<FieldPath> for AsText {
    type Stored = String;
    type Error = Error;

    fn store(path: &FieldPath) -> impl Borrow<String> {
        path.to_string()
    }

    /// Returns the cached path, since many entries of a journal have the same one.
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
