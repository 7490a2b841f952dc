//! What changes a target while it is recorded.

use std::any::TypeId;
use std::ops::Deref;
use std::panic::resume_unwind;

use hashbrown::HashSet;

use super::command::{Command, Performed, not_again};
use super::fields::Part;
use super::proof::Watch;
use super::step::{
    Broken, Failure, Step, ends, finalize_all, guarded, is_broken, run_all, world_mut,
};
use super::steps::Steps;
use super::support::Support;
use super::world::Handed;
use crate::fields::{FieldChange, Way};
use crate::world::Change;
use crate::{Error, ErrorKind, ObjectId, Result, World};

/// A target that is being edited: what is done through it is recorded, in one entry.
///
/// [`History::edit`](super::History::edit) hands it out. It leads to the target for reading; of a [`World`], its methods are those that
/// change it.
pub struct Edit<'e, T: 'static = World> {
    pub(super) target: &'e mut T,
    pub(super) steps: Steps<T>,
    /// What was taken to be changed, and has not been compared yet.
    pub(super) pending: Vec<Pending>,
    /// The places of the first of these, where there are many.
    places: Option<Box<HashSet<Place>>>,
    again: Option<Again<'e, T>>,
    /// What could not be rolled back in it.
    broken: Option<Box<Broken>>,
    pub(super) watch: Option<Box<Watch>>,
    pub(super) support: &'e mut Support<T>,
}

/// What an edit did.
pub(super) struct Done<T: 'static> {
    pub(super) steps: Steps<T>,
    pub(super) watch: Option<Box<Watch>>,
}

/// Something that may have been changed since it was taken.
pub(super) enum Pending {
    /// A component or a resource of a world.
    Handed(Handed),
    /// A part of any other target.
    Part(Part),
}

impl Pending {
    /// What identifies a component or a resource among others.
    fn place(&self) -> Option<Place> {
        match self {
            Self::Handed(handed) => Some(handed.place()),
            Self::Part(_) => None,
        }
    }

    /// Appends the steps that changed it since. If it fails, it is put back as it was, unless the failure says that it is
    /// broken.
    fn close<T: 'static>(
        self,
        target: &mut T,
        support: &mut Support<T>,
        steps: &mut Steps<T>,
    ) -> Result<(), Failure> {
        match guarded(|| Ok(self.changes(target, support)?)) {
            Ok(changes) => {
                match (&self, world_mut(target)) {
                    (Self::Handed(handed), Some(world)) => {
                        handed
                            .steps(world, changes)
                            .for_each(|change| steps.push(Step::Change(change)));
                    }
                    _ => {
                        let all = changes.into_iter();
                        all.for_each(|change| steps.push(Step::Change(Change::of_target(change))));
                    }
                }
                Ok(())
            }
            Err(mut failure) => {
                failure.broken = None;
                let back = guarded(|| Ok(self.put_back(target, support)?));
                is_broken(&mut failure, steps.len(), back);
                Err(failure)
            }
        }
    }

    fn changes<T: 'static>(
        &self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<Vec<FieldChange>> {
        match self {
            Self::Handed(handed) => {
                world_mut(target).map_or(Ok(Vec::new()), |world| handed.changes(world))
            }
            Self::Part(part) => part.changes(target, support),
        }
    }

    /// Puts it back as it was.
    fn put_back<T: 'static>(&self, target: &mut T, support: &mut Support<T>) -> Result<()> {
        match self {
            Self::Handed(handed) => {
                world_mut(target).map_or(Ok(()), |world| handed.put_back(world))
            }
            Self::Part(part) => part.put_back(target, support),
        }
    }
}

/// Where in a world something is: a column and an object, or a resource's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Component(usize, ObjectId),
    Resource(TypeId),
}

/// The number of items that are searched faster than a set is made.
const FEW: usize = 8;

/// What a command did through its context when it was done first.
struct Again<'e, T: 'static> {
    steps: &'e mut [Step<T>],
    done: usize,
}

impl<'e, T: 'static> Edit<'e, T> {
    pub(super) fn new(target: &'e mut T, support: &'e mut Support<T>) -> Self {
        Self {
            target,
            steps: Steps::default(),
            pending: Vec::new(),
            places: None,
            again: None,
            broken: None,
            watch: None,
            support,
        }
    }

    /// For a command that is redone.
    pub(super) fn again(
        target: &'e mut T,
        support: &'e mut Support<T>,
        steps: &'e mut [Step<T>],
    ) -> Self {
        Self { again: Some(Again { steps, done: 0 }), ..Self::new(target, support) }
    }

    /// How many of the steps have been redone.
    pub(super) fn done_again(&self) -> usize {
        self.again.as_ref().map_or(0, |again| again.done)
    }

    /// Runs an edit, which is rolled back if it fails or panics.
    pub(super) fn run<R>(
        target: &'e mut T,
        support: &'e mut Support<T>,
        watch: Option<Box<Watch>>,
        edit: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<(R, Done<T>), Failure> {
        let mut scope = Self { watch, ..Self::new(target, support) };
        let result = guarded(|| {
            let value = edit(&mut scope)?;
            scope.close()?;
            Ok(value)
        });
        match result {
            Ok(value) => Ok((value, Done { steps: scope.steps, watch: scope.watch })),
            Err(mut failure) => {
                // All that it did is recorded, also if it panicked.
                if failure.panic.is_some() {
                    failure.broken = None;
                }
                Err(scope.roll_back(failure))
            }
        }
    }

    /// Rolls back all that was done.
    pub(super) fn roll_back(mut self, mut failure: Failure) -> Failure {
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
        let back = run_all(&mut steps[start..], self.target, self.support, Way::Undo);
        let is_broken = is_broken(failure, start, back);
        let undone = if is_broken { Vec::new() } else { steps.split_off(start) };
        self.steps = steps.into();
        if !is_broken {
            let panic = finalize_all(ends(undone, 0), self.target);
            failure.panic = failure.panic.take().or(panic);
        }
    }

    /// Continues with the failure of a part: a panic, or an error.
    fn fail(&mut self, failure: Failure) -> Error {
        self.broken = self.broken.take().or(failure.broken.map(Box::new));
        match failure.panic {
            Some(panic) => resume_unwind(panic),
            None => failure.error,
        }
    }

    /// What could not be rolled back in it.
    pub(super) fn take_broken(&mut self) -> Option<Broken> {
        self.broken.take().map(|broken| *broken)
    }

    /// Compares what was borrowed mutably with what it is now. Nothing continues after a failed rollback.
    pub(super) fn close(&mut self) -> Result<()> {
        if self.pending.is_empty() && self.broken.is_none() {
            return Ok(());
        }
        if self.broken.is_some() {
            let message = "a part of the edit failed, and could not be taken back";
            return Err(Error::new(ErrorKind::Poisoned, message));
        }
        // If one fails or panics, it is as it was; those that are left are put back with the rest.
        self.places = None;
        self.pending.reverse();
        while let Some(next) = self.pending.pop() {
            let closed = next.close(self.target, self.support, &mut self.steps);
            closed.map_err(|failure| self.fail(failure))?;
        }
        Ok(())
    }

    /// Refuses what can only be recorded the first time.
    pub(super) fn check_first(&self) -> Result<()> {
        if self.again.is_some() { Err(not_again()) } else { Ok(()) }
    }

    /// True if this was taken already.
    pub(super) fn is_pending(&mut self, place: Place) -> bool {
        if self.pending.len() <= FEW {
            return self.pending.iter().any(|pending| pending.place() == Some(place));
        }
        let places = self.places.get_or_insert_default();
        let new = &self.pending[places.len()..];
        places.extend(new.iter().filter_map(Pending::place));
        places.contains(&place)
    }

    /// Closes what was taken before something else is done.
    pub(super) fn ready(&mut self) -> Result<()> {
        self.check_first()?;
        self.close()
    }

    /// Whether there is a journal that is to know what is made.
    pub(super) fn is_journaled(&self) -> bool {
        self.support.is_journaled
    }

    /// An object is about to be changed.
    pub(super) fn touch(&mut self, object: ObjectId) {
        if let Some(watch) = &mut self.watch {
            watch.touch(self.target, object);
        }
    }

    /// Does a command, as a part of this edit.
    ///
    /// # Errors
    ///
    /// Its own, with the step of the edit that it would have been. What it did is rolled back, and the edit may continue.
    pub fn apply(&mut self, command: impl Command<T>) -> Result<()> {
        self.close()?;
        if let Some(again) = &mut self.again {
            if let Some(step) = again.steps.get_mut(again.done) {
                match step.run(self.target, self.support, Way::Redo) {
                    Ok(()) => again.done += 1,
                    Err(failure) => return Err(self.fail(failure)),
                }
            }
            return Ok(());
        }
        let mut performed = Performed::new(command);
        match performed.perform(self.target, self.support, &mut self.watch) {
            Ok(true) => self.steps.push(Step::Command(performed)),
            Ok(false) => {}
            Err(mut failure) => {
                let step = self.steps.len();
                if let Some(broken) = &mut failure.broken {
                    (broken.step, broken.done) = (step, step);
                }
                failure.error = in_step(failure.error, step);
                return Err(self.fail(failure));
            }
        }
        Ok(())
    }

    /// Does something outside of the target, such as a message to a server.
    ///
    /// It is skipped when a journal is replayed after a crash, and returns `None` then.
    ///
    /// What the edit does may not depend on what comes of it, unless it is recorded: see [`Command`].
    pub fn external<R>(&mut self, act: impl FnOnce() -> R) -> Option<R> {
        (!self.support.is_replayed).then(act)
    }

    /// Does a part of an edit. If it fails or panics, it alone is rolled back.
    ///
    /// # Errors
    ///
    /// Those of the part; the edit may continue.
    pub fn part<R>(&mut self, part: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.again.is_some() {
            return part(self);
        }
        self.close()?;
        let start = self.steps.len();
        let result = guarded(|| {
            let value = part(self)?;
            self.close()?;
            Ok(value)
        });
        result.map_err(|mut failure| {
            if failure.panic.is_some() {
                failure.broken = None;
            }
            self.roll_back_to(start, &mut failure);
            self.fail(failure)
        })
    }
}

/// For reading.
impl<T: 'static> Deref for Edit<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.target
    }
}

/// An error, with the step in which it happened.
pub(super) fn in_step(error: Error, step: usize) -> Error {
    let message = format!("step {step}: {}", error.message());
    error.reworded(message)
}
