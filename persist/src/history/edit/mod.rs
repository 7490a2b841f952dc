//! How a target is changed while the history records it: through an [`Edit`], or by the program's own commands.
//!
//! A command works through an edit of its own, so commands apply further commands. All of that joins one
//! entry.

pub(super) mod command;

use std::fmt;
use std::ops::Deref;
use std::panic::resume_unwind;

use super::change::step::{ends, finalize_all, run_back};
use super::{
    Broken, ChangeTarget, Edit, Failure, Performed, Step, Steps, Support, guarded, is_broken,
};
use crate::fields::Direction;
use crate::{Error, ErrorKind, Result};
use command::Command;

/// Up to this many items, a linear search is faster than a set.
const FEW: usize = 8;

/// The recorded steps of a command that is redone. Each further command that it applies redoes the next of them.
pub(super) struct Again<'e, T: 'static> {
    steps: &'e mut [Step<T>],
    /// The number of steps that the command has passed.
    done: usize,
    /// The number of steps that were applied before. They are passed without being redone.
    applied: usize,
    /// The number of steps before the first direct change, while it is not repeated yet.
    direct: Option<usize>,
}

impl<'e, T: 'static> Edit<'e, T> {
    fn new(target: &'e mut T, support: &'e mut Support<T>) -> Self {
        Self {
            target,
            steps: Steps::default(),
            pending: std::mem::take(&mut support.pending),
            places: None,
            again: None,
            broken: None,
            support,
        }
    }

    /// The edit of a command that is redone.
    fn again(target: &'e mut T, support: &'e mut Support<T>, again: Again<'e, T>) -> Self {
        Self { again: Some(again), ..Self::new(target, support) }
    }

    /// Redoes the steps of a command before its first direct change, which follows.
    fn redo_until_direct(&mut self) -> Result<()> {
        while let Some(again) = &self.again
            && again.direct.is_some_and(|direct| again.done < direct)
        {
            self.redo_next()?;
        }
        self.again.iter_mut().for_each(|again| again.direct = None);
        Ok(())
    }

    /// Redoes the next step of a command. Does nothing if the direct changes come before it.
    ///
    /// A command that did nothing in `apply` left no step, so there may be more commands than steps.
    fn redo_next(&mut self) -> Result<()> {
        let Some(again) = &mut self.again else { return Ok(()) };
        let Some(step) = again.steps.get_mut(again.done) else { return Ok(()) };
        if again.direct == Some(again.done) {
            return Ok(());
        }
        if again.done >= again.applied
            && let Err(failure) = step.run(self.target, self.support, Direction::Redo)
        {
            return Err(self.fail(failure));
        }
        again.done += 1;
        Ok(())
    }

    /// Runs an edit. If it fails or panics, it is rolled back.
    pub(super) fn run<R>(
        target: &'e mut T,
        support: &'e mut Support<T>,
        edit: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<(R, Steps<T>), Failure> {
        let mut scope = Self::new(target, support);
        match scope.attempt(edit) {
            Ok(value) => {
                // The next edit reuses the memory, unless it is much.
                if scope.pending.capacity() <= FEW {
                    scope.support.pending = scope.pending;
                }
                Ok((value, scope.steps))
            }
            Err(failure) => Err(scope.roll_back(failure)),
        }
    }

    /// Runs a part of the edit, and compares what it borrowed for changes.
    fn attempt<R>(&mut self, part: impl FnOnce(&mut Self) -> Result<R>) -> Result<R, Failure> {
        let result = guarded(|| {
            let value = part(self)?;
            self.close()?;
            Ok(value)
        });
        // A panic of the program leaves nothing in doubt here: everything that the part did is recorded or pending.
        result.map_err(|failure| match failure.panic {
            Some(_) => Failure { broken: None, ..failure },
            None => failure,
        })
    }

    fn roll_back(mut self, mut failure: Failure) -> Failure {
        self.roll_back_to(0, &mut failure);
        if let Some(broken) = &failure.broken {
            let panic = finalize_all(ends(self.steps.into_each(), broken.done), self.target);
            failure.panic = failure.panic.or(panic);
        }
        failure
    }

    fn roll_back_to(&mut self, start: usize, failure: &mut Failure) {
        failure.broken = failure.broken.take().or(self.take_broken());
        if failure.broken.is_some() {
            return;
        }
        for pending in std::mem::take(&mut self.pending) {
            let back = guarded(|| Ok(pending.put_back(self.target, self.support)?));
            if is_broken(failure, self.steps.len(), back) {
                return;
            }
        }
        let mut steps = std::mem::take(&mut self.steps).into_vec();
        let back = run_back(&mut steps[start..], self.target, self.support, Direction::Undo);
        let is_broken = is_broken(failure, start, back);
        let undone = if is_broken { Vec::new() } else { steps.split_off(start) };
        self.steps = steps.into();
        if !is_broken {
            let panic = finalize_all(ends(undone, 0), self.target);
            failure.panic = failure.panic.take().or(panic);
        }
    }

    /// Passes the failure of a part on: resumes its panic, or returns its error.
    fn fail(&mut self, failure: Failure) -> Error {
        self.broken = self.broken.take().or(failure.broken.map(Box::new));
        match failure.panic {
            Some(panic) => resume_unwind(panic),
            None => failure.error,
        }
    }

    fn take_broken(&mut self) -> Option<Broken> {
        self.broken.take().map(|broken| *broken)
    }

    /// Compares everything that was borrowed for changes with its old value, and records the differences.
    ///
    /// Returns an error if a part could not be rolled back: the edit must not continue then.
    fn close(&mut self) -> Result<()> {
        if self.pending.is_empty() && self.broken.is_none() {
            return Ok(());
        }
        if self.broken.is_some() {
            let message = "a part of the edit failed, and could not be taken back";
            return Err(Error::new(ErrorKind::Poisoned, message));
        }
        // If one comparison fails or panics, it has put its value back; the caller rolls back those that are still
        // pending.
        self.places = None;
        self.pending.reverse();
        while let Some(next) = self.pending.pop() {
            let (at, steps) = (self.steps.len(), &mut self.steps);
            let closed = next.close(self.target, self.support, at, |change| {
                steps.push(Step::Change(change));
            });
            closed.map_err(|failure| self.fail(failure))?;
        }
        Ok(())
    }

    /// Refuses a method that records, in a command that is redone: its steps exist already.
    pub(super) fn check_first(&self) -> Result<()> {
        if self.again.is_some() { Err(not_again()) } else { Ok(()) }
    }

    #[cfg_attr(
        not(feature = "world"),
        expect(dead_code, reason = "an edit of another target has at most one")
    )]
    pub(super) fn is_pending(&mut self, place: &ChangeTarget) -> bool {
        if self.pending.len() <= FEW {
            return self.pending.iter().any(|pending| pending.place == *place);
        }
        let places = self.places.get_or_insert_default();
        let new = &self.pending[places.len()..];
        places.extend(new.iter().map(|pending| pending.place.clone()));
        places.contains(place)
    }

    /// Records pending changes before the next change, so that the steps are in order.
    pub(super) fn ready(&mut self) -> Result<()> {
        self.check_first()?;
        self.close()
    }

    /// Applies a command as a part of this edit.
    ///
    /// # Errors
    ///
    /// Returns the error of the command, prefixed with the index of its step. The changes of the command are rolled
    /// back, and the edit may continue.
    pub fn apply(&mut self, command: impl Command<T>) -> Result<()> {
        self.close()?;
        if self.again.is_some() {
            return self.redo_next();
        }
        let mut performed = Performed::new(command);
        match performed.perform(self.target, self.support) {
            Ok(true) => self.steps.push(Step::Command(performed)),
            Ok(false) => {}
            Err(mut failure) => {
                let step = self.steps.len();
                if let Some(broken) = &mut failure.broken {
                    (broken.step, broken.done) = (step, step);
                }
                let message = format!("step {step}: {}", failure.error.message());
                failure.error = failure.error.reworded(message);
                return Err(self.fail(failure));
            }
        }
        Ok(())
    }

    /// Runs a closure with an effect outside the target, such as a message to a server.
    ///
    /// It is not run while a journal is replayed after a crash, and `None` is returned then. So the edit must not
    /// depend on the result, unless the result is recorded: see [`Command`].
    pub fn external<R>(&mut self, act: impl FnOnce() -> R) -> Option<R> {
        (!self.support.is_replayed).then(act)
    }

    /// Runs a part of an edit. If the part fails or panics, only the part is rolled back.
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
    /// use persist::{Error, ErrorKind, History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// history.edit(&mut world, "Build", |edit| {
    ///     let house = edit.spawn("House")?;
    ///     let chimney = edit.part(|edit| {
    ///         edit.spawn_in(house, "Chimney")?;
    ///         Err::<(), _>(Error::new(ErrorKind::Refused, "not enough bricks"))
    ///     });
    ///     assert!(chimney.is_err());
    ///     Ok(())
    /// })?;
    /// assert!(world.find("House").is_some() && world.find("Chimney").is_none());
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the part. The edit may continue.
    pub fn part<R>(&mut self, part: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.again.is_some() {
            return part(self);
        }
        self.close()?;
        let start = self.steps.len();
        self.attempt(part).map_err(|mut failure| {
            self.roll_back_to(start, &mut failure);
            self.fail(failure)
        })
    }
}

/// An edit dereferences to its target, for reading.
impl<T: 'static> Deref for Edit<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.target
    }
}

/// The error of a method that records, in a command that is redone.
#[cold]
fn not_again() -> Error {
    error!(
        ErrorKind::Unsupported,
        "a command that changes its target directly, and also through recorded edits, needs a `redo` of its own that does the former; the latter are redone for it"
    )
}

impl<T: 'static> fmt::Debug for Edit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit").field("steps", &self.steps.len()).finish_non_exhaustive()
    }
}
