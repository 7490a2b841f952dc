//! Notes which records a step of `migrate` reads that have a conversion of their own after it.

use std::sync::Arc;

use crate::value::{Inspection, Record};
use crate::{Error, ErrorKind, Result};

/// The stored classes whose records have conversions that are due, with what notes that a step reads one.
#[derive(Clone)]
pub(super) struct WatchedClasses {
    classes: Arc<[WatchedClass]>,
}

pub(super) struct WatchedClass {
    name: String,
    version: u32,
    due: Due,
    inspection: Arc<Inspection>,
}

/// The conversions that are due for the records of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// The steps and converts up to this version; the records say which one they have.
    Version(u32),
    /// A `convert` that says no version.
    Convert,
    /// Nothing that is known here: the program does not have the class. For the lock.
    Unknown,
}

impl WatchedClasses {
    pub(super) fn new(classes: Vec<WatchedClass>) -> Self {
        Self { classes: classes.into() }
    }

    /// Forgets what earlier steps have read.
    pub(super) fn start(&self) {
        for class in &*self.classes {
            class.inspection.content.take();
            class.inspection.version.take();
        }
    }

    /// Returns the classes that the program does not have, and whose records a step has read without asking for their
    /// version.
    ///
    /// # Errors
    ///
    /// Returns an error if a step of a record has read a record of another class whose conversions are due, and did not
    /// ask for its version.
    pub(super) fn check(&self, record: &Record, version: u32) -> Result<Vec<&str>> {
        let mut unknown = Vec::new();
        for class in &*self.classes {
            let (is_read, is_asked) =
                (class.inspection.content.take(), class.inspection.version.take());
            if !is_read || is_asked && class.due != Due::Convert {
                continue;
            }
            if class.due != Due::Unknown {
                return Err(class.error(record, version));
            }
            unknown.push(&*class.name);
        }
        Ok(unknown)
    }
}

impl WatchedClass {
    pub(super) fn new(name: &str, version: u32, due: Due) -> Self {
        Self { name: name.to_owned(), version, due, inspection: Arc::default() }
    }

    pub(super) fn inspection(&self) -> Arc<Inspection> {
        self.inspection.clone()
    }

    #[cold]
    fn error(&self, record: &Record, version: u32) -> Error {
        let (class, name, stored) = (record.class(), &self.name, self.version);
        let message = match self.due {
            Due::Version(newer) => format!(
                "`migrate` of {class} from version {version} reads a {name} of version {stored}, which {name} itself brings to version {newer} later, so that either may come first; ask that record for its `version()` and treat each version as what it is, or move the record whole"
            ),
            Due::Convert | Due::Unknown => format!(
                "`migrate` of {class} from version {version} reads a {name}, which a `convert` of {name} takes as it is stored, so that either may come first; give {name} `version = {}` and the `convert` its last version, `convert({stored} = function)`, and ask the record for its `version()`, or move it whole",
                stored + 1
            ),
        };
        Error::new(ErrorKind::Unsupported, message)
    }
}
