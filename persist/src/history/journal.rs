//! What a history tells a journal.

use super::Label;
use super::step::BoxedStep;
use crate::Result;

/// Keeps what happens to a history, so that it can be done again in another run.
pub(super) trait Recorder<T: 'static> {
    /// Appends what has just been done to the target, before the history notes it.
    ///
    /// If it fails, and the history is [strict](Self::is_strict), what was done is taken back.
    fn record(&mut self, record: Record<'_, T>) -> Result<()>;

    /// Whether nothing may be done that is not in the journal.
    fn is_strict(&self) -> bool;
}

/// Something that happened to a history.
pub(super) enum Record<'r, T: 'static> {
    /// Steps were done, as an entry or in the innermost open transaction.
    Done {
        target: &'r T,
        label: &'r Label,
        steps: &'r [BoxedStep<T>],
        may_merge: bool,
    },
    Undone,
    Redone,
    Begun(&'r Label),
    Committed,
    RolledBack,
    /// The target was saved, or, if this is none, counts as not saved.
    Saved(Option<u64>),
    Cleared,
    /// An entry was taken out.
    Skipped(usize),
    /// How many entries cannot be undone, outermost first.
    Floors(&'r std::collections::VecDeque<usize>),
}
