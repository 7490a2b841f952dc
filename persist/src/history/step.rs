//! What an entry is made of.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Label;
use super::journal::{StoredStep, Storing};
use crate::{Error, ErrorKind, ObjectId, Result};

/// One thing that was done to a target, and can be taken back and done again.
///
/// If one of its methods fails, the target is as before it, unless the failure says that it is broken.
pub(super) trait Step<T: 'static>: Any {
    fn undo(&mut self, target: &mut T) -> Result<(), Failure>;
    fn redo(&mut self, target: &mut T) -> Result<(), Failure>;

    /// Whether the target may stay as it is behind an undo or a redo of the whole entry. What fails is taken back without asking.
    fn check(&self, target: &mut T) -> Result<()> {
        let _ = target;
        Ok(())
    }

    /// Takes in a step that was done right behind this one.
    fn merge(&mut self, next: &mut dyn Step<T>) -> Result<Merge> {
        let _ = next;
        Ok(Merge::No)
    }

    /// True if it sets a field, which is independent of others but those that it [meets](Self::meets).
    fn is_setting(&self) -> bool {
        false
    }

    /// True if it may change something that another one changes, so that their order matters.
    fn meets(&self, other: &dyn Step<T>) -> bool {
        let _ = other;
        true
    }

    /// What it does, for a menu.
    fn label(&self) -> Label {
        Label::default()
    }

    /// Whether it makes the target differ from its save.
    fn is_significant(&self) -> bool {
        true
    }

    /// True if it has become one that does nothing.
    fn is_obsolete(&self) -> bool {
        false
    }

    /// It is dropped, for good.
    fn finalize(&mut self, target: &mut T, end: End) {
        let _ = (target, end);
    }

    /// Bytes of memory that it takes, roughly.
    fn size(&self) -> usize;

    /// The objects that it changes.
    fn objects(&self, found: &mut Vec<ObjectId>) {
        let _ = found;
    }

    /// What a journal keeps of it, as it is.
    fn store(&mut self, target: &T, storing: &Storing<'_, T>) -> Result<StoredStep> {
        let _ = (target, storing);
        let message = "this sort of edit cannot be in a journal yet";
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

pub(super) type BoxedStep<T> = Box<dyn Step<T>>;

/// What became of a step that was offered to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// It stays one of its own.
    No,
    /// It is part of the one before, which undoes and redoes both, and is dropped.
    Yes,
    /// Both are kept, in one entry: undone and redone together.
    Both,
    /// Together they do nothing: both are dropped.
    Annul,
}

/// How an entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was done, and can no longer be undone: it fell out of a full history, or the history was cleared.
    Applied,
    /// It was undone, and can no longer be redone.
    Undone,
    /// It was merged into the one before.
    Merged,
}

/// Why something could not be done, or taken back.
pub(super) struct Failure {
    pub(super) error: Error,
    /// What could not be put back either; the target is neither as before nor as behind.
    pub(super) broken: Option<Broken>,
    /// A panic, to go on.
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

/// The step at which a target was left half done.
pub(super) struct Broken {
    pub(super) step: usize,
    pub(super) object: Option<ObjectId>,
    pub(super) why: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, broken: None, panic: None }
    }
}

/// Runs what may panic.
pub(super) fn guarded<R>(run: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        Err(Failure {
            error: Error::new(ErrorKind::Poisoned, "it panicked"),
            broken: Some(Broken { step: 0, object: None, why: String::from("it panicked") }),
            panic: Some(panic),
        })
    })
}

/// Runs one step of many.
fn one<T: 'static>(
    steps: &mut [BoxedStep<T>],
    at: usize,
    target: &mut T,
    run: fn(&mut dyn Step<T>, &mut T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let count = steps.len();
    let step = &mut *steps[at];
    guarded(|| run(step, target)).map_err(|mut failure| {
        if count > 1 {
            let message = format!("step {at} of {count}: {}", failure.error.message());
            failure.error = failure.error.reworded(message);
        }
        if let Some(broken) = &mut failure.broken {
            broken.step = at;
            broken.object = broken.object.or_else(|| first_object(&*steps[at]));
        }
        failure
    })
}

fn first_object<T: 'static>(step: &dyn Step<T>) -> Option<ObjectId> {
    let mut found = Vec::new();
    step.objects(&mut found);
    found.first().copied()
}

/// Takes steps back, the last first; if one fails, those behind it are done again.
pub(super) fn undo_all<T: 'static>(
    steps: &mut [BoxedStep<T>],
    target: &mut T,
) -> Result<(), Failure> {
    for at in (0..steps.len()).rev() {
        if let Err(mut failure) = one(steps, at, target, |step, target| step.undo(target)) {
            if failure.broken.is_none() {
                for again in at + 1..steps.len() {
                    let redone = one(steps, again, target, |step, target| step.redo(target));
                    if is_broken(&mut failure, again, redone) {
                        break;
                    }
                }
            }
            return Err(failure);
        }
    }
    Ok(())
}

/// Does steps again, in order; if one fails, those before it are taken back.
pub(super) fn redo_all<T: 'static>(
    steps: &mut [BoxedStep<T>],
    target: &mut T,
) -> Result<(), Failure> {
    for at in 0..steps.len() {
        if let Err(mut failure) = one(steps, at, target, |step, target| step.redo(target)) {
            if failure.broken.is_none() {
                for again in (0..at).rev() {
                    let undone = one(steps, again, target, |step, target| step.undo(target));
                    if is_broken(&mut failure, again, undone) {
                        break;
                    }
                }
            }
            return Err(failure);
        }
    }
    Ok(())
}

/// Notes that what was to put the target back has failed as well.
pub(super) fn is_broken(failure: &mut Failure, step: usize, back: Result<(), Failure>) -> bool {
    let Err(second) = back else { return false };
    let object = second.broken.as_ref().and_then(|broken| broken.object);
    let object = object.or_else(|| second.error.object().and_then(ObjectId::new));
    failure.broken = Some(Broken { step, object, why: second.error.to_string() });
    failure.panic = failure.panic.take().or(second.panic);
    true
}
