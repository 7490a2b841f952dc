//! Messages with what provoked them, for a snapshot.

use std::fmt::Write as _;
use std::path::Path;

use persist::Error;

/// Errors of one test, each below a line that says what was done.
#[derive(Default)]
pub(crate) struct Table {
    text: String,
    folder: Option<String>,
    /// What should have been refused.
    accepted: Vec<String>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A table that shows `folder` as `<folder>`.
    pub(crate) fn within(folder: &Path) -> Self {
        Self { folder: Some(folder.display().to_string()), ..Self::default() }
    }

    /// Adds the error that `result` is.
    pub(crate) fn add<T>(&mut self, what: &str, result: Result<T, Error>) {
        match result {
            Ok(_) => self.accepted.push(what.to_owned()),
            Err(error) => self.error(what, &error),
        }
    }

    /// Adds an error that stands somewhere else than in a result.
    pub(crate) fn error(&mut self, what: &str, error: &Error) {
        self.line(what, &format!("{:?}: {error}", error.kind()));
    }

    /// True if it has the error already.
    pub(crate) fn has(&self, error: &Error) -> bool {
        self.text.contains(&format!(": {error}\n"))
    }

    /// Adds what is no [`Error`], but is said.
    pub(crate) fn line(&mut self, what: &str, said: &str) {
        let mut said = said.to_owned();
        if let Some(folder) = &self.folder {
            said = said.replace(&**folder, "<folder>");
        }
        assert!(!said.ends_with('.'), "{said}");
        writeln!(self.text, "{what}\n    {said}\n").unwrap();
    }

    /// All of it.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        assert!(self.accepted.is_empty(), "this is no error: {:?}", self.accepted);
        self.text
    }
}
