//! What an entry is made of.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Label;
use super::journal::{StoredStep, Storing};
use crate::{Error, ErrorKind, ObjectId, Result};

/// One thing that was done to a target, and can be undone and redone.
///
/// If one of its methods fails, the target is as before it, unless the failure says that it is broken.
pub(super) trait Step<T: 'static>: Any {
    fn undo(&mut self, target: &mut T) -> Result<(), Failure>;
    fn redo(&mut self, target: &mut T) -> Result<(), Failure>;

    /// Whether the target may stay as it is after an undo or a redo of the whole entry. A failure is rolled back unasked.
    fn check(&self, target: &mut T) -> Result<()> {
        let _ = target;
        Ok(())
    }

    /// Merges in the step that immediately followed this one.
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

    /// What the steps in it are called.
    fn children(&self) -> Vec<Label> {
        Vec::new()
    }

    /// Whether it makes the target differ from its save.
    fn is_significant(&self) -> bool {
        true
    }

    /// True if it has become one that does nothing.
    fn is_obsolete(&self) -> bool {
        false
    }

    /// Whether something is done when it is dropped for good.
    fn has_end(&self) -> bool {
        true
    }

    /// It is dropped, for good.
    fn finalize(&mut self, target: &mut T, end: End) {
        let _ = (target, end);
    }

    /// Bytes of memory that it takes, roughly.
    fn size(&self) -> usize;

    /// Bytes of what it keeps out of the target while it is applied, or undone: objects, components, resources.
    fn held(&self, target: &T, is_applied: bool) -> usize {
        let _ = (target, is_applied);
        0
    }

    /// The objects that it changes.
    fn objects(&self, found: &mut Vec<ObjectId>) {
        let _ = found;
    }

    /// What a journal keeps of it, as it is.
    fn store(&mut self, target: &T, storing: &Storing<'_, T>) -> Result<StoredStep>;
}

pub(super) type BoxedStep<T> = Box<dyn Step<T>>;

/// What became of a step that was offered to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// It stays one of its own.
    No,
    /// It is part of the one before, which undoes and redoes both, and is dropped.
    Yes,
    /// Together they do nothing: both are dropped.
    Annul,
}

/// How an entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was done, and can no longer be undone: a full history evicted it, or the history was cleared.
    Applied,
    /// It was undone, and can no longer be redone.
    Undone,
    /// It was merged into the one before.
    Merged,
}

/// Why something could not be done, or rolled back.
pub(super) struct Failure {
    pub(super) error: Error,
    /// Which of several steps failed.
    pub(super) step: usize,
    /// How many of them, from the first on, are done now; one that is in doubt counts as done.
    pub(super) done: usize,
    /// What could not be restored either; the target is neither as before nor as after.
    pub(super) broken: Option<Broken>,
    /// A panic, to be resumed.
    pub(super) panic: Option<Panic>,
}

/// What a panic carries.
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

/// Runs what may panic.
pub(super) fn guarded<R>(run: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        Err(Failure {
            error: Error::new(ErrorKind::Poisoned, "it panicked"),
            step: 0,
            done: 0,
            broken: Some(Broken { step: 0, done: 0, object: None, why: "it panicked".into() }),
            panic: Some(panic),
        })
    })
}

/// Runs one step of many.
fn one<T: 'static>(
    steps: &mut [BoxedStep<T>],
    at: usize,
    target: &mut T,
    is_redo: bool,
) -> Result<(), Failure> {
    let step = &mut *steps[at];
    let result = guarded(|| if is_redo { step.redo(target) } else { step.undo(target) });
    result.map_err(|mut failure| {
        failure.step = at;
        failure.done = at + usize::from(!is_redo || failure.broken.is_some());
        if let Some(broken) = &mut failure.broken {
            broken.step = at;
            broken.done = failure.done;
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

/// Undoes steps, the last first; if one fails, those after it are redone.
pub(super) fn undo_all<T: 'static>(
    steps: &mut [BoxedStep<T>],
    target: &mut T,
) -> Result<(), Failure> {
    for at in (0..steps.len()).rev() {
        let Err(mut failure) = one(steps, at, target, false) else { continue };
        if failure.broken.is_none() {
            failure.done = steps.len();
            let mut behind = at + 1..steps.len();
            let back = behind.try_for_each(|again| one(steps, again, target, true));
            is_broken(&mut failure, 0, back);
        }
        return Err(failure);
    }
    Ok(())
}

/// Redoes steps, in order; if one fails, those before it are undone.
pub(super) fn redo_all<T: 'static>(
    steps: &mut [BoxedStep<T>],
    target: &mut T,
) -> Result<(), Failure> {
    for at in 0..steps.len() {
        let Err(mut failure) = one(steps, at, target, true) else { continue };
        if failure.broken.is_none() {
            failure.done = 0;
            let mut before = (0..at).rev();
            let back = before.try_for_each(|again| one(steps, again, target, false));
            is_broken(&mut failure, 0, back);
        }
        return Err(failure);
    }
    Ok(())
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

/// How steps end if `done` of them, from the first on, are done.
pub(super) fn ends<T: 'static>(
    steps: impl IntoIterator<Item = BoxedStep<T>>,
    done: usize,
) -> impl Iterator<Item = (BoxedStep<T>, End)> {
    let end = move |at| if at < done { End::Applied } else { End::Undone };
    steps.into_iter().enumerate().map(move |(at, step)| (step, end(at)))
}

/// Ends steps, each of them also if others panic; the first panic is given back.
pub(super) fn finalize_all<T: 'static>(
    steps: impl IntoIterator<Item = (BoxedStep<T>, End)>,
    target: &mut T,
) -> Option<Panic> {
    let mut first = None;
    for (mut step, end) in steps {
        let ended = catch_unwind(AssertUnwindSafe(|| step.finalize(target, end)));
        first = first.or(ended.err());
    }
    first
}
