//! What keeps a history from being used.

use super::Label;
use crate::{Error, ErrorKind, ObjectId};

/// Why a history is out of use: a rollback failed, so that the target is in no state that the history knows.
///
/// Until [`History::drop_entry`](super::History::drop_entry) or [`History::clear`](super::History::clear) it undoes and redoes nothing, and its target counts as modified. The target can be saved.
#[derive(crate::Persist, Clone, Debug, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Poison")]
#[non_exhaustive]
pub struct Poison {
    /// Index of the entry; `None` if it is one that was being made, which is in no list.
    pub entry: Option<usize>,
    /// What the entry is called.
    pub label: Label,
    /// Which of its steps could not be put back, counted from 0, as in the errors.
    pub step: usize,
    /// The object of that step, if it has one.
    pub object: Option<ObjectId>,
    /// What was refused.
    pub why: String,
    /// How many of its steps are done.
    pub(super) done: usize,
}

impl Poison {
    /// How many steps are done of an entry, if it is the one that was left half done.
    pub(super) fn done_of(&self, entry: usize) -> Option<usize> {
        (self.entry == Some(entry)).then_some(self.done)
    }

    #[cold]
    pub(super) fn refused(&self) -> Error {
        let message = format!(
            "step {} of {} could not be put back, {}; drop the entry or clear the history, and look at the target",
            self.step,
            self.label.quoted("an edit"),
            self.why
        );
        Error::new(ErrorKind::Poisoned, message)
    }
}
