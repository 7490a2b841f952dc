//! What keeps a history from being used.

use super::step::{Broken, Failure, world};
use super::{History, Label};
use crate::{Error, ErrorKind, ObjectId, Result};

/// Why a history is out of use: a rollback failed, so that the target is in no state that the history knows.
///
/// Until [`History::drop_entry`] or [`History::clear`] it undoes and redoes nothing, and its target counts as modified. The target can be saved.
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
}

impl<T: 'static> History<T> {
    /// Notes that the history is poisoned, if something is broken, and which panic must resume.
    pub(super) fn note(&mut self, entry: Option<usize>, label: Label, failure: Failure) -> Error {
        if let Some(Broken { step, done, object, why }) = failure.broken {
            if let Some(journal) = &mut self.journal {
                journal.lose(&why);
            }
            self.poison = Some(Poison { entry, label, step, object, why, done });
        }
        self.panic = failure.panic.or(self.panic.take());
        failure.error
    }

    /// Refuses what a poisoned history cannot do, and another world.
    pub(super) fn check_usable(&mut self, target: &T) -> Result<()> {
        self.failed = None;
        self.check_world(target)?;
        self.check_sound()
    }

    pub(super) fn check_sound(&self) -> Result<()> {
        match &self.poison {
            None => Ok(()),
            Some(poison) => Err(Error::new(
                ErrorKind::Poisoned,
                format!(
                    "step {} of {} could not be put back, {}; drop the entry or clear the history, and look at the target",
                    poison.step,
                    poison.label.quoted("an edit"),
                    poison.why
                ),
            )),
        }
    }

    /// As above, and while a transaction is open.
    pub(super) fn check_closed(&mut self, target: &T) -> Result<()> {
        self.check_usable(target)?;
        self.check_no_transaction()
    }

    /// Refuses another world than the one before.
    pub(super) fn check_world(&mut self, target: &T) -> Result<()> {
        let Some(world) = world(target) else { return Ok(()) };
        self.support.last_id = world.last_id();
        if *self.world.get_or_insert(world.identity()) == world.identity() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::WrongTarget,
            "the history is that of another world; use one of its own",
        ))
    }
}
