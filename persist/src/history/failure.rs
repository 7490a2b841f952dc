//! Why something could not be done, or rolled back, and what then keeps a history from being used.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Label;
use crate::world::ChangeFailure;
use crate::{Error, ErrorKind, ObjectId, Result};

/// Why something could not be done, or rolled back.
pub(super) struct Failure {
    pub(super) error: Error,
    /// Which of several steps failed.
    pub(super) step: usize,
    /// How many of them, from the first on, are done now; one that is in doubt counts as done.
    pub(super) done: usize,
    /// What could not be restored either; the target is neither as before nor as after.
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

pub(super) fn guarded<R>(run: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let broken = Some(Broken { step: 0, done: 0, object: None, why: "it panicked".into() });
        let failure = Failure::from(error!(ErrorKind::Poisoned, "it panicked"));
        Err(Failure { broken, panic: Some(panic), ..failure })
    })
}

impl From<ChangeFailure> for Failure {
    fn from(change: ChangeFailure) -> Self {
        Self::from(change.error).after(|| change.left.map_or(Ok(()), |left| Err(left.into())))
    }
}

/// Notes that restoring the target has failed as well; `first` is the index of the first of these steps among all.
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
    /// Puts back what was done before the failure, unless that is in doubt; notes it if that fails as well.
    pub(super) fn after(mut self, put_back: impl FnOnce() -> Result<(), Self>) -> Self {
        if self.broken.is_none() {
            let back = put_back();
            is_broken(&mut self, 0, back);
        }
        self
    }

    /// What is broken if it was to put something back.
    pub(super) fn broken(&self) -> Broken {
        let object = self.error.object().and_then(ObjectId::new);
        let (step, object) = match &self.broken {
            Some(broken) => (broken.step, broken.object),
            None => (self.step, object),
        };
        Broken { step, done: self.done, object, why: self.error.to_string() }
    }
}

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
