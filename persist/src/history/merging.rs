//! Settings that decide which edits become one entry.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Label;
use crate::platform::Timer;

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

/// A key that edits of one entry share: of the program, or the number of a drag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeKey {
    Given(u64),
    Drag(u64),
}

/// Properties of the previous edit that the next one must match to be merged into it.
#[derive(Clone, Copy, Default)]
pub(super) struct MergeTarget {
    pub(super) key: Option<MergeKey>,
    /// When it was made, or last merged into, in nanoseconds of the clock.
    pub(super) time: u64,
    /// Whether it cut entries that could be redone.
    pub(super) has_cut: bool,
}

/// A drag that has begun: see [`History::begin_drag`](super::History::begin_drag).
///
/// It ends with [`History::end_drag`](super::History::end_drag), or when this is dropped.
#[must_use = "the drag ends when this is dropped"]
#[derive(Debug)]
pub struct Drag {
    pub(super) open: Arc<()>,
}

/// The time after an edit in which the next one may be merged into it: see
/// [`History::set_merge_window`](super::History::set_merge_window).
///
/// It converts from a `Duration` or an `Option<Duration>`.
pub struct MergeWindow {
    pub(super) time: Option<Duration>,
    /// A clock of the program. `None` keeps the clock of the history.
    pub(super) clock: Option<Box<dyn Fn() -> Duration + Send>>,
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

pub(super) struct OpenDrag {
    pub(super) number: u64,
    pub(super) label: Label,
    /// Dangling once the program has dropped its [`Drag`].
    pub(super) open: Weak<()>,
}

/// The clock of a merge window.
pub(super) enum Clock {
    /// The platform has no clock.
    None,
    System(Timer),
    Given(Box<dyn Fn() -> Duration + Send>),
}

impl fmt::Debug for MergeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeWindow").field("time", &self.time).finish_non_exhaustive()
    }
}
