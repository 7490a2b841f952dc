//! Settings that decide which edits become one entry.

use super::MergeWindow;
use std::fmt;
use std::time::Duration;

/// How an edit may become a part of the previous entry.
#[derive(crate::Persist, Clone, Copy, Debug, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Merging")]
pub enum Merging {
    /// The edit is an entry of its own.
    No,
    /// They merge if both have the same label, and set a field in common or are commands that merge.
    Alike,
    /// They become one entry. Steps that do not merge are appended to it.
    Join,
}

impl MergeWindow {
    /// Creates a window that is measured by a clock of the program, instead of the system's.
    ///
    /// The clock returns the time since any fixed moment. The history keeps it. On a platform without a clock, such as
    /// `wasm32-unknown-unknown`, a merge window without a clock of the program merges nothing.
    #[must_use]
    pub fn with_clock(time: Duration, clock: impl Fn() -> Duration + Send + 'static) -> Self {
        Self { time: Some(time), clock: Some(Box::new(clock)) }
    }
}

impl From<Duration> for MergeWindow {
    fn from(time: Duration) -> Self {
        Self::from(Some(time))
    }
}

impl From<Option<Duration>> for MergeWindow {
    fn from(time: Option<Duration>) -> Self {
        Self { time, clock: None }
    }
}

impl fmt::Debug for MergeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeWindow").field("time", &self.time).finish_non_exhaustive()
    }
}
