//! How entries are undone and redone.

use super::History;
use super::journal::Record;
use super::step::{BoxedStep, Broken, End, Failure, guarded, redo_all, undo_all};
use crate::{Error, ErrorKind, ObjectId, Result};

/// What a [`History`] does about an entry that cannot be undone or redone since something is not there any more
/// ([`ErrorKind::NotFound`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// It is an error, and the entry stays where it is.
    #[default]
    Stop,
    /// The entry counts as undone, or redone, and nothing is changed.
    Skip,
    /// The entry is dropped.
    Drop,
}

/// How an entry that failed was stepped over.
enum Over {
    No,
    Skipped,
    Dropped,
}

impl<T: 'static> History<T> {
    /// Takes the current entry back; false if there is none above the [floor](Self::set_floor).
    ///
    /// # Errors
    ///
    /// If a part of it cannot be taken back: then target and history are as they were, and it can be tried again, unless the history now is
    /// [poisoned](Self::poison). [`ErrorKind::OpenTransaction`] while a transaction is open.
    pub fn undo(&mut self, target: &mut T) -> Result<bool> {
        self.check_closed(target)?;
        let is_done = self.undo_one(target);
        self.tell();
        is_done
    }

    /// Does the entry behind the current one again; false if there is none.
    ///
    /// # Errors
    ///
    /// As [`undo`](Self::undo).
    pub fn redo(&mut self, target: &mut T) -> Result<bool> {
        self.check_closed(target)?;
        let is_done = self.redo_one(target);
        self.tell();
        is_done
    }

    /// Undoes or redoes until so many entries are applied.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there are not so many entries, or the floor is above; then nothing is done. As [`undo`](Self::undo), at the first entry that
    /// fails; those before it are done, and [`position`](Self::position) tells how far it came.
    pub fn go_to(&mut self, target: &mut T, position: usize) -> Result<()> {
        self.check_closed(target)?;
        if position > self.ring.len() || position < self.floor().min(self.position()) {
            let (floor, len) = (self.floor(), self.ring.len());
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no position {position}; there are those from {floor} to {len}"),
            ));
        }
        let mut go = || {
            while self.position() != position {
                let is_back = position < self.position();
                let at = self.position();
                if is_back {
                    self.undo_one(target)?
                } else {
                    self.redo_one(target)?
                };
                if self.position() == at && self.ring.len() == at {
                    break;
                }
            }
            Ok(())
        };
        let result = go();
        self.tell();
        result
    }

    pub(super) fn undo_one(&mut self, target: &mut T) -> Result<bool> {
        if self.position() <= self.floor() {
            return Ok(false);
        }
        let Some(index) = self.ring.current() else { return Ok(false) };
        self.may_merge = false;
        let is_known = self.is_as_known(index, true, target);
        if let Err(failure) = self.run(target, index, undo_all) {
            match self.step_over(target, index, &failure)? {
                Over::No => return Err(self.fail_at(target, index, failure)),
                Over::Dropped => return Ok(true),
                Over::Skipped => {}
            }
        }
        if let Err(failure) = self.check(target, index) {
            return Err(self.take_back(target, index, redo_all, failure));
        }
        self.changed(target);
        if let Err(error) = self.prove(index, is_known, false, target) {
            return Err(self.take_back(target, index, redo_all, error));
        }
        if let Err(error) = self.record(Record::Undone) {
            return Err(self.take_back(target, index, redo_all, error));
        }
        self.ring.step_back();
        self.drop_obsolete(target, index);
        Ok(true)
    }

    pub(super) fn redo_one(&mut self, target: &mut T) -> Result<bool> {
        let Some(index) = self.ring.next() else { return Ok(false) };
        self.may_merge = false;
        let is_known = self.is_as_known(index, false, target);
        if let Err(failure) = self.run(target, index, redo_all) {
            match self.step_over(target, index, &failure)? {
                Over::No => return Err(self.fail_at(target, index, failure)),
                Over::Dropped => return Ok(true),
                Over::Skipped => {}
            }
        }
        if let Err(failure) = self.check(target, index) {
            return Err(self.take_back(target, index, undo_all, failure));
        }
        self.changed(target);
        if let Err(error) = self.prove(index, is_known, true, target) {
            return Err(self.take_back(target, index, undo_all, error));
        }
        if let Err(error) = self.record(Record::Redone) {
            return Err(self.take_back(target, index, undo_all, error));
        }
        self.ring.step_on();
        self.drop_obsolete(target, index);
        Ok(true)
    }

    /// What is done about an entry that has failed since something is not there, and left the target as it was.
    fn step_over(&mut self, target: &mut T, index: usize, failure: &Failure) -> Result<Over> {
        let is_missing = failure.error.kind() == ErrorKind::NotFound
            && failure.broken.is_none()
            && failure.panic.is_none();
        match self.on_missing {
            OnMissing::Skip if is_missing => Ok(Over::Skipped),
            OnMissing::Drop if is_missing => {
                self.record(Record::Skipped(index))?;
                let end = if index < self.position() { End::Applied } else { End::Undone };
                if let Some(mut entry) = self.take_out(index) {
                    entry.finalize(target, end);
                }
                Ok(Over::Dropped)
            }
            _ => Ok(Over::No),
        }
    }

    /// Sets what is done about entries whose object, component or field is not there any more, since something beside the history has
    /// removed it.
    pub fn set_on_missing(&mut self, on_missing: OnMissing) {
        self.on_missing = on_missing;
    }

    fn run(
        &mut self,
        target: &mut T,
        index: usize,
        run: fn(&mut [BoxedStep<T>], &mut T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.ring.get_mut(index).map_or(Ok(()), |entry| run(&mut entry.steps, target))
    }

    /// Asks whether the target may be as it is now.
    fn check(&self, target: &mut T, index: usize) -> Result<(), Failure> {
        let Some(entry) = self.ring.get(index) else { return Ok(()) };
        guarded(|| entry.steps.iter().try_for_each(|step| Ok(step.check(target)?)))
    }

    /// Takes back what was refused, what the journal did not take, or what did not lead back.
    fn take_back(
        &mut self,
        target: &mut T,
        index: usize,
        back: fn(&mut [BoxedStep<T>], &mut T) -> Result<(), Failure>,
        failure: impl Into<Failure>,
    ) -> Error {
        let mut failure = match self.run(target, index, back) {
            Ok(()) => Failure { broken: None, ..failure.into() },
            Err(failure) => Failure { broken: Some(broken(&failure)), ..failure },
        };
        let is_applied = index < self.position();
        if failure.broken.is_none()
            && failure.error.kind() == ErrorKind::NotInverse
            && let Some(second) = self.difference(index, is_applied, target)
        {
            failure.broken = Some(broken(&second.into()));
        }
        self.fail_at(target, index, failure)
    }

    /// Drops steps that have come to do nothing, and their entry if it has no other.
    fn drop_obsolete(&mut self, target: &mut T, index: usize) {
        let is_applied = index < self.position();
        let end = if is_applied { End::Applied } else { End::Undone };
        let Some(entry) = self.ring.get_mut(index) else { return };
        if !entry.steps.iter().any(|step| step.is_obsolete()) {
            return;
        }
        let mut kept = Vec::new();
        for mut step in std::mem::take(&mut entry.steps) {
            if step.is_obsolete() { step.finalize(target, end) } else { kept.push(step) }
        }
        entry.steps = kept;
        let is_empty = entry.steps.is_empty();
        self.measure(index);
        if is_empty {
            self.take_out(index);
        }
    }
}

/// What is broken if taking something back has failed.
pub(super) fn broken(failure: &Failure) -> Broken {
    let object = failure.error.object().and_then(ObjectId::new);
    let (step, object) =
        failure.broken.as_ref().map_or((0, object), |broken| (broken.step, broken.object));
    Broken { step, object, why: failure.error.to_string() }
}
