//! The reports of a session about the journal that it found.

use std::fmt;
use std::path::PathBuf;

use crate::save::{LoadReport, ReportRow};
use crate::{Error, ErrorKind};

/// The report of [`open`](super::SessionOptions::open): how the save was loaded, and what was replayed from the
/// journal.
///
/// Its [`Display`](fmt::Display) is a sentence for the user.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// The report of the load. `None` if there is no save.
    pub report: Option<LoadReport>,
    /// The number of steps since the save that were recovered, as a user counts them: edits, undos and redos. A
    /// transaction counts as one step, and so do edits that were merged.
    pub replayed: u64,
    /// The number of entries in the history.
    pub entries: usize,
    /// The end of the journal, if a crash interrupted the last write. It was cut off.
    pub torn: Option<TornWrite>,
    /// Steps and fields that the replay skipped, one row for each class or field.
    ///
    /// The program does not have the classes of these steps, or, in steps that cannot hold unknown data, these fields.
    /// Unless all of them are declared [`removed`](ReportRow::is_declared), a copy of the whole journal was
    /// [kept](Self::kept).
    pub skipped: Vec<ReportRow>,
    /// Why the replay stopped early, if it did. A copy of the whole journal was then [kept](Self::kept).
    pub stopped: Option<ReplayStop>,
    /// The number of nested transactions that were open at the end of the journal. They were rolled back.
    pub rolled_back: usize,
    /// Copies of journals that belong to another save, or could not be replayed to the end. The user can inspect or
    /// remove them.
    pub kept: Vec<PathBuf>,
    /// The number of events that were replayed, including edits that were rolled back later.
    pub(super) events: u64,
}

/// The end of a journal after its last whole frame, which an interrupted write left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TornWrite {
    /// The offset of its first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// The place and the reason where the replay of a journal stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayStop {
    /// The offset of the first frame that was not replayed.
    pub offset: u64,
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The message of the error.
    pub cause: String,
}

impl ReplayStop {
    /// Creates the report of an error at an offset.
    pub fn new(offset: u64, error: &Error) -> Self {
        Self { offset, kind: error.kind(), cause: error.to_string() }
    }
}

/// A summary of a journal, without opening it: see [`SessionOptions::inspect`](super::SessionOptions::inspect).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalInfo {
    /// True if a session would replay it: it follows the current save, or there is no save and it follows none.
    pub follows_save: bool,
    /// The number of bytes of the file.
    pub bytes: u64,
    /// The number of whole frames.
    pub frames: u64,
    /// The number of events since the save, such as edits, undos and redos. Events of an open transaction count.
    pub events: u64,
    /// The end of the journal, if a crash interrupted the last write.
    pub torn: Option<TornWrite>,
    /// The place where it is damaged, or where it has a command of a class that is not registered.
    pub stopped: Option<ReplayStop>,
    /// The number of nested transactions that are open at its end.
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
            // The journal may belong to a save that was deleted.
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
