//! Which edits become one entry.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Label;
use crate::platform::Timer;

/// How an edit may become a part of the entry before it.
#[derive(crate::Persist, Clone, Copy, Debug, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Merging")]
pub(super) enum Merging {
    /// Not at all.
    No,
    /// If both have the same label, and set a field in common or are commands that merge.
    Alike,
    /// In any case; what does not merge is a further step.
    Join,
}

/// What edits have in common that become one entry in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeKey {
    Given(u64),
    Drag(u64),
}

/// What an edit must have in common with the one before, which nothing has followed yet, to be merged into it.
#[derive(Clone, Copy, Default)]
pub(super) struct MergeTarget {
    pub(super) key: Option<MergeKey>,
    /// When it was done, or last merged into, in nanoseconds of the clock.
    pub(super) time: u64,
    /// Whether it took the place of entries that could be redone.
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

/// How long after an edit another one may be merged into it: see [`History::set_merge_window`](super::History::set_merge_window).
///
/// It is made of a `Duration` or an `Option` of one.
pub struct MergeWindow {
    pub(super) time: Option<Duration>,
    /// None for the one that the history has.
    pub(super) clock: Option<Box<dyn Fn() -> Duration + Send>>,
}

impl MergeWindow {
    /// A window that is measured by a clock of the program, instead of that of the system; any beginning will do. The history keeps the clock.
    ///
    /// A target without a clock, such as `wasm32-unknown-unknown`, needs one: without it, a merge window merges nothing.
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
    /// Gone if the program has dropped its part.
    pub(super) open: Weak<()>,
}

/// What a merge window is measured by.
pub(super) enum Clock {
    /// The target has none.
    None,
    System(Timer),
    Given(Box<dyn Fn() -> Duration + Send>),
}

impl fmt::Debug for MergeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeWindow").field("time", &self.time).finish_non_exhaustive()
    }
}
