//! [`ObjectName`]: the name of an object in an entry of a history.

use std::borrow::{Borrow, Cow};
use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use super::paths::AsText;
use super::shared_name::{read_name, split};
use crate::codec::with::With;

/// The name of an object at the time of a change, for an entry of a history. Its text is formatted when it is needed.
///
/// A separate text for each of a million objects took more time and memory than the rest of the entry.
#[derive(PartialEq)]
pub struct ObjectName {
    pub(crate) number: u32,
    pub(crate) base: Arc<str>,
}

impl ObjectName {
    pub(crate) fn is_empty(&self) -> bool {
        self.base.is_empty()
    }

    /// Returns the text, as it is stored in journals.
    pub fn text(&self) -> Arc<str> {
        if self.number == 0 { Arc::clone(&self.base) } else { self.to_string().into() }
    }

    /// Returns the name, for labels of menus.
    pub(crate) fn name(&self) -> Arc<str> {
        let text = self.text();
        match read_name(&text) {
            (Cow::Borrowed(_), 0) => Arc::clone(&text),
            (name, _) => name.into(),
        }
    }
}

impl From<&str> for ObjectName {
    fn from(text: &str) -> Self {
        let (base, number) = split(text);
        Self { number, base: base.into() }
    }
}

impl Clone for ObjectName {
    fn clone(&self) -> Self {
        Self { number: self.number, base: Arc::clone(&self.base) }
    }

    /// Reuses the base if it is the same, as it is for most objects that are changed in a row. This saves two atomic
    /// operations.
    fn clone_from(&mut self, other: &Self) {
        self.number = other.number;
        if !Arc::ptr_eq(&self.base, &other.base) {
            self.base = Arc::clone(&other.base);
        }
    }
}

impl Display for ObjectName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        if self.number == 0 { Ok(()) } else { self.number.fmt(f) }
    }
}

impl With<ObjectName> for AsText {
    type Stored = String;
    type Error = Infallible;

    fn store(name: &ObjectName) -> impl Borrow<String> {
        name.to_string()
    }

    fn restore(text: String) -> Result<ObjectName, Infallible> {
        Ok(text.as_str().into())
    }
}
