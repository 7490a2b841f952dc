//! Failures of edits, undos and rollbacks, and the poisoned state that a failed rollback leaves.
//!
//! A [`Failure`] is the error or panic of one call. If a rollback fails as well, it has a [`Broken`], which becomes the
//! [`Poison`] of the history.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Broken, Failure, Poison};
use crate::{Error, ErrorKind, ObjectId, Result};

pub(super) type Panic = Box<dyn Any + Send>;

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
