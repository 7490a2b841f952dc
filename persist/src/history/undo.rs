//! How entries are undone and redone.

use super::History;
use super::journal::Record;
use super::step::{Broken, End, Failure, Step, guarded, is_broken, run_all, world, world_mut};
use super::steps::Steps;
use crate::fields::Way;
use crate::{Error, ErrorKind, Result};

impl<T: 'static> History<T> {
    /// Undoes the current entry; false if there is none.
    ///
    /// # Errors
    ///
    /// If a part of it cannot be undone: target and history are then as they were, and it can be tried again, unless the history now is
    /// [poisoned](Self::poison). [`ErrorKind::NotFound`] if an object, a component or a field is gone that was removed by something other than the
    /// history: [`skip_entry`](Self::skip_entry) or [`drop_entry`](Self::drop_entry) then lead on.
    /// [`ErrorKind::OpenTransaction`] while a transaction is open.
    pub fn undo(&mut self, target: &mut T) -> Result<bool> {
        self.check_closed(target)?;
        let is_done = self.undo_one(target);
        self.end(target);
        is_done
    }

    /// Redoes the entry after the current one; false if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`undo`](Self::undo).
    pub fn redo(&mut self, target: &mut T) -> Result<bool> {
        self.check_closed(target)?;
        let is_done = self.redo_one(target);
        self.end(target);
        is_done
    }

    /// Undoes or redoes until `position` entries are applied.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there are fewer entries; then nothing is done. Those of
    /// [`undo`](Self::undo), at the first entry that fails; those before it are done, and [`position`](Self::position) says how
    /// far it came.
    pub fn go_to(&mut self, target: &mut T, position: usize) -> Result<()> {
        self.check_closed(target)?;
        let len = self.ring.len();
        if position > len {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no position {position}; there are those from 0 to {len}"),
            ));
        }
        let result = self.walk(target, position).map_err(|error| {
            let (at, message) = (self.position(), error.message());
            let message = format!("stopped at position {at} on the way to {position}: {message}");
            error.reworded(message)
        });
        self.end(target);
        result
    }

    fn walk(&mut self, target: &mut T, mut position: usize) -> Result<()> {
        while self.position() > position {
            self.undo_one(target)?;
        }
        while self.position() < position {
            let len = self.ring.len();
            self.redo_one(target)?;
            // An entry that has become obsolete is none of those that lead there.
            position -= len - self.ring.len();
        }
        Ok(())
    }

    pub(super) fn undo_one(&mut self, target: &mut T) -> Result<bool> {
        match self.ring.current() {
            Some(index) => self.run(target, index, Way::Undo),
            None => Ok(false),
        }
    }

    pub(super) fn redo_one(&mut self, target: &mut T) -> Result<bool> {
        match self.ring.next() {
            Some(index) => self.run(target, index, Way::Redo),
            None => Ok(false),
        }
    }

    fn run(&mut self, target: &mut T, index: usize, way: Way) -> Result<bool> {
        if let Err(error) = self.bring_back(index, target) {
            self.failed = Some(way);
            return Err(error);
        }
        self.may_merge = false;
        if self.run_plain(target, index, way) {
            return Ok(true);
        }
        let is_redo = way == Way::Redo;
        let is_known = self.is_as_known(index, !is_redo, target);
        if let Err(mut failure) = self.run_steps(target, index, way) {
            let count = self.count(index);
            if count > 1 {
                let (step, message) = (failure.step, failure.error.message());
                let message = format!("step {step} of {count}: {message}");
                failure.error = failure.error.reworded(message);
            }
            self.failed = Some(way);
            return Err(self.fail_at(target, index, failure));
        }
        if let Err(failure) = self.check(target, index) {
            return Err(self.take_back(target, index, way, failure));
        }
        self.changed(target);
        if let Err(error) = self.prove(index, is_known, is_redo, target) {
            return Err(self.take_back(target, index, way, error.into()));
        }
        let is_followed = world(target).is_none() && self.is_of_fields(index);
        let record = match way {
            Way::Undo => Record::Undone { is_followed },
            Way::Redo => Record::Redone { is_followed },
        };
        if let Err(failure) = guarded(|| Ok(self.record(record)?)) {
            return Err(self.take_back(target, index, way, failure));
        }
        self.ring.step(is_redo);
        self.count_held(index, target);
        self.drop_obsolete(index);
        Ok(true)
    }

    /// Undoes or redoes an entry that is the change of a number, if nobody wants to know of it; false if it is another one.
    fn run_plain(&mut self, target: &mut T, index: usize, way: Way) -> bool {
        if self.journal.is_some() || self.after_change.is_some() || self.max_bytes.is_some() {
            return false;
        }
        let entry = self.ring.get_mut(index).filter(|entry| entry.proved.is_none());
        let Some(Steps::One(Step::Change(change))) = entry.map(|entry| &mut entry.steps) else {
            return false;
        };
        let is_run = world_mut(target).is_some_and(|world| change.put_number(world, way));
        if is_run {
            self.ring.step(way == Way::Redo);
        }
        is_run
    }

    /// True if an entry changes fields, in the form that this program has, and does nothing else.
    fn is_of_fields(&self, index: usize) -> bool {
        let is_field =
            |step: &Step<T>| matches!(step, Step::Change(change) if change.is_as_recorded());
        self.ring.get(index).is_some_and(|entry| entry.steps.iter().all(is_field))
    }

    fn count(&self, index: usize) -> usize {
        self.ring.get(index).map_or(0, |entry| entry.steps.len())
    }

    fn run_steps(&mut self, target: &mut T, index: usize, way: Way) -> Result<(), Failure> {
        let Some(entry) = self.ring.get_mut(index) else { return Ok(()) };
        run_all(&mut entry.steps, target, &mut self.support, way)
    }

    /// Asks whether the target may be as it is now.
    fn check(&mut self, target: &mut T, index: usize) -> Result<(), Failure> {
        let Some(entry) = self.ring.get(index) else { return Ok(()) };
        if !entry.steps.iter().any(Step::is_asked) {
            return Ok(());
        }
        let support = &mut self.support;
        guarded(|| entry.steps.iter().try_for_each(|step| Ok(step.check(target, support)?)))
    }

    /// Rolls back what was refused, what the journal did not take, or what did not restore the state.
    fn take_back(&mut self, target: &mut T, index: usize, way: Way, mut failure: Failure) -> Error {
        failure.broken = None;
        self.failed = Some(way);
        let back = self.run_steps(target, index, way.back());
        is_broken(&mut failure, 0, back);
        if failure.broken.is_none()
            && failure.error.kind() == ErrorKind::NotInverse
            && let Some(second) = self.difference(index, way == Way::Undo, target)
        {
            let done = if way == Way::Redo { 0 } else { self.count(index) };
            failure.broken = Some(Broken { done, ..Failure::from(second).broken() });
        }
        self.fail_at(target, index, failure)
    }

    /// Drops steps that have come to do nothing, and their entry if it has no other.
    fn drop_obsolete(&mut self, index: usize) {
        let end = if index < self.position() { End::Applied } else { End::Undone };
        let Some(entry) = self.ring.get_mut(index) else { return };
        if !entry.steps.iter().any(Step::is_obsolete) {
            return;
        }
        let steps = std::mem::take(&mut entry.steps).into_each();
        let (dropped, kept): (Vec<_>, Vec<_>) = steps.partition(Step::is_obsolete);
        let is_significant = dropped.iter().any(Step::is_significant);
        let is_empty = kept.is_empty();
        (entry.steps, entry.order) = (kept.into(), None);
        // It now is another entry than the one of which that is known.
        entry.proved = None;
        self.released.extend(dropped.into_iter().map(|step| (step, end)));
        self.measure(index);
        if is_empty {
            self.take_out(index);
        }
        if is_significant {
            self.renew_states(index);
        }
    }
}
