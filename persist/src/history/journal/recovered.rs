//! What a session reports of the journal that it found.

use std::fmt;
use std::path::PathBuf;

use crate::save::{LoadReport, ReportRow};
use crate::{Error, ErrorKind};

/// What became of save and journal when a [`Session`](super::Session) was opened.
///
/// Its [`Display`](fmt::Display) is a sentence for the user.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// What the load of the save reports; `None` if there is no save.
    pub report: Option<LoadReport>,
    /// How many steps since the save were recovered, as a user counts them: edits, undos, redos. A transaction is one; edits that
    /// merged are one.
    pub replayed: u64,
    /// How many entries the history has now.
    pub entries: usize,
    /// The end of the journal, if it was cut off in the middle of being written; it is gone.
    pub torn: Option<Torn>,
    /// What the replay skipped: steps of components and resources whose classes the program does not have, one row for
    /// each class, and fields that it does not have in steps that can hold no unknown data. Unless they are all declared
    /// [`removed`](ReportRow::is_declared), the whole journal is among those that were [kept](Self::kept).
    pub skipped: Vec<ReportRow>,
    /// Why the replay stopped early, if it did; the whole journal is then among those that were [kept](Self::kept).
    pub stopped: Option<Stopped>,
    /// How many transactions were open, one in the other; what was done in them is rolled back.
    pub rolled_back: usize,
    /// Journals that were moved aside, for the user to look at or remove: that of another save, or one that could not be
    /// replayed whole.
    pub kept: Vec<PathBuf>,
    /// How many events were replayed: each edit, whatever became of it.
    pub(super) events: u64,
}

/// The end of a journal that is none of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Torn {
    /// Where it began.
    pub offset: u64,
    /// How long it was.
    pub bytes: u64,
}

/// Where and why the replay of a journal stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// Where the first frame begins that was not replayed.
    pub offset: u64,
    /// What sort of error it was.
    pub kind: ErrorKind,
    /// What was wrong.
    pub cause: String,
}

impl Stopped {
    pub(super) fn at(offset: u64, error: &Error) -> Self {
        Self { offset, kind: error.kind(), cause: error.to_string() }
    }
}

/// What a journal holds, as far as that is known without opening it: see [`SessionOptions::inspect`](super::SessionOptions::inspect).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalInfo {
    /// True if it follows the save that is there, or there is none and it follows none: a session would do again what is in it.
    pub follows_save: bool,
    /// Its length in bytes.
    pub bytes: u64,
    /// How many frames of it are whole.
    pub frames: u64,
    /// How many edits, undos, redos and the like were done since the save, with those in a transaction that is open.
    pub events: u64,
    /// Its end, if it was cut off in the middle of being written.
    pub torn: Option<Torn>,
    /// Where it is damaged, if it is, or has a command of a class that is not registered.
    pub stopped: Option<Stopped>,
    /// How many transactions are open at its end, one in the other.
    pub open: usize,
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(report) = self.report.as_ref().filter(|report| report.recovery().is_some()) {
            write!(f, "{}; ", report.summary())?;
        }
        let is_quiet = self.torn.is_none()
            && self.stopped.is_none()
            && self.rolled_back == 0
            && self.skipped.is_empty()
            && self.kept.is_empty();
        let since = match &self.report {
            Some(_) => " done since the last save",
            // What is kept may be of one that is gone.
            None => {
                let yet = if self.kept.is_empty() { " yet" } else { "" };
                write!(f, "there is no save{yet}")?;
                if self.replayed == 0 && is_quiet {
                    return Ok(());
                }
                f.write_str("; ")?;
                ""
            }
        };
        match self.replayed {
            0 if is_quiet => f.write_str("nothing was done since the last save")?,
            0 => write!(f, "no step{since} was recovered")?,
            1 => write!(f, "1 step{since} was recovered")?,
            count => write!(f, "{count} steps{since} were recovered")?,
        }
        if self.torn.is_some() {
            f.write_str("; the last step was only half written and is gone")?;
        }
        if self.rolled_back > 0 {
            f.write_str("; an unfinished transaction was rolled back")?;
        }
        if let Some(stopped) = &self.stopped {
            let what = if self.events == 0 {
                "the journal could not be used"
            } else {
                "the rest could not be recovered"
            };
            write!(f, "; {what}, {}", stopped.cause)?;
        }
        if !self.skipped.is_empty() {
            let name = |row: &ReportRow| match &row.field {
                Some(field) => format!("{}.{field}", row.class),
                None => row.class.clone(),
            };
            let names: Vec<_> = self.skipped.iter().map(name).collect();
            write!(f, "; what the game does not have was left out: {}", names.join(", "))?;
        }
        for kept in &self.kept {
            let which = match (&self.stopped, self.kept.len()) {
                (None, _) if self.skipped.is_empty() => "a journal that belongs to another save",
                (_, 1) => "the whole of the journal",
                _ => "the whole of a journal",
            };
            write!(f, "; {which} is kept as {}", kept.display())?;
        }
        Ok(())
    }
}
