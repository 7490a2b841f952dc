//! Failures of edits, undos and rollbacks, and the poisoned state that a failed rollback leaves.
//!
//! A [`Failure`] is the error or panic of one call. If a rollback fails as well, it has a [`Broken`], which becomes the
//! [`Poison`] of the history.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Label;
use crate::{Error, ErrorKind, ObjectId, Result};

/// An error or a panic of an edit, an undo or a redo.
pub(super) struct Failure {
    pub(super) error: Error,
    /// The index of the step that failed.
    pub(super) step: usize,
    /// The number of steps, from the first on, that are applied now. A step that is in doubt counts as applied.
    pub(super) done: usize,
    /// Present if a rollback failed as well, so that the target is neither as before nor as after.
    pub(super) broken: Option<Broken>,
    pub(super) panic: Option<Panic>,
}

pub(super) type Panic = Box<dyn Any + Send>;

/// The step at which a target was left half done.
pub(super) struct Broken {
    pub(super) step: usize,
    /// Like [`Failure::done`].
    pub(super) done: usize,
    pub(super) object: Option<ObjectId>,
    pub(super) why: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, step: 0, done: 0, broken: None, panic: None }
    }
}

/// Runs code of the program, and turns a panic into a failure.
///
/// The failure is broken, since nobody knows what the code did before it panicked. Callers that know better clear this.
pub(super) fn guarded<R>(run: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let broken = Some(Broken { step: 0, done: 0, object: None, why: "it panicked".into() });
        let failure = Failure::from(error!(ErrorKind::Poisoned, "it panicked"));
        Err(Failure { broken, panic: Some(panic), ..failure })
    })
}

/// Notes in a failure that the rollback failed as well. `first` is the index of the first step that was rolled back.
pub(super) fn is_broken(failure: &mut Failure, first: usize, back: Result<(), Failure>) -> bool {
    let Err(second) = back else { return false };
    let mut broken = second.broken();
    broken.step += first;
    broken.done += first;
    failure.done = broken.done;
    failure.broken = Some(broken);
    failure.panic = failure.panic.take().or(second.panic);
    true
}

impl Failure {
    /// Rolls back after a failure, unless the target is broken already. Notes if the rollback fails as well.
    pub(super) fn after(mut self, put_back: impl FnOnce() -> Result<(), Self>) -> Self {
        if self.broken.is_none() {
            let back = put_back();
            is_broken(&mut self, 0, back);
        }
        self
    }

    /// The broken state that this failure of a rollback leaves.
    pub(super) fn broken(&self) -> Broken {
        let object = self.error.object().and_then(ObjectId::new);
        let (step, object) = match &self.broken {
            Some(broken) => (broken.step, broken.object),
            None => (self.step, object),
        };
        Broken { step, done: self.done, object, why: self.error.to_string() }
    }
}

/// Why a history cannot be used: a rollback failed, so that the target is in no state that the history knows.
///
/// Until [`History::drop_entry`](super::History::drop_entry) or [`History::clear`](super::History::clear) is called,
/// nothing can be edited, undone or redone, and the target counts as modified. The target can still be saved.
#[derive(crate::Persist, Clone, Debug, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Poison")]
#[non_exhaustive]
pub struct Poison {
    /// The index of the entry. `None` for an edit that was never in the list.
    pub entry: Option<usize>,
    /// The label of the entry.
    pub label: Label,
    /// The step that could not be rolled back, counted from 0, as in error messages.
    pub step: usize,
    /// The object of that step, if it has one.
    pub object: Option<ObjectId>,
    /// The message of the error or panic.
    pub why: String,
    /// The number of its steps that are applied.
    pub(super) done: usize,
}

impl Poison {
    /// The number of applied steps of an entry, if it is the one that was left half done.
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
