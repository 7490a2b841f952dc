//! How entries are made, undone and redone.
//!
//! The order of an edit: it is done; it is recorded in the journal; what was undone is cut; it is merged or put behind;
//! limits; events. Up to the second, a failure leaves target and history as they were.

use std::any::Any;
use std::panic::resume_unwind;

use super::command::{Command, Performed};
use super::entry::Entry;
use super::journal::Record;
use super::proof::Watch;
use super::step::{BoxedStep, Broken, End, Failure, Merge, undo_all};
use super::undo::broken;
use super::{Edit, History, Label};
use crate::{Error, ErrorKind, ObjectId, Result, World};

/// Why a history is out of use: something could not be taken back, so that the target is in no state that it knows.
///
/// Until [`History::skip_entry`] or [`History::clear`] it undoes and redoes nothing, and its target counts as modified. The target can be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Poison {
    /// Index of the entry; `None` if it is one that was being made, which is in no list.
    pub entry: Option<usize>,
    /// What the entry is called.
    pub label: Label,
    /// Which of its steps could not be put back.
    pub step: usize,
    /// The object of that step, if it has one.
    pub object: Option<ObjectId>,
    /// What was refused.
    pub why: String,
}

impl<T: 'static> History<T> {
    /// Edits a target; what is done is one entry, of this label if it is not empty. If nothing is changed there is none, and what could be redone stays.
    ///
    /// In an open transaction it is a part of that.
    ///
    /// # Errors
    ///
    /// Those of the closure, or what a component refuses; target and history then are as they were. So they are behind a panic.
    /// [`ErrorKind::Poisoned`] if the history [is](Self::poison).
    pub fn edit<R>(
        &mut self,
        target: &mut T,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut Edit<'_, T>) -> Result<R>,
    ) -> Result<R> {
        self.check_usable(target)?;
        let label = label.into();
        match Edit::run(target, &self.around, self.watch(target), edit) {
            Ok((value, steps, watch)) => {
                self.finish(target, label, steps, watch)?;
                Ok(value)
            }
            Err(failure) => Err(self.fail(target, None, label, failure)),
        }
    }

    /// Does a command, as an entry or as a part of an open transaction.
    ///
    /// # Errors
    ///
    /// As [`edit`](Self::edit). If the command panics after it changed the target [directly](super::CommandContext::target), the history is
    /// [poisoned](Self::poison).
    pub fn apply(&mut self, target: &mut T, command: impl Command<T>) -> Result<()> {
        self.check_usable(target)?;
        let mut watch = self.watch(target);
        match Performed::new(command, target, &self.around, &mut watch) {
            Ok(None) => Ok(()),
            Ok(Some(performed)) => {
                self.finish(target, Label::None, vec![Box::new(performed)], watch)
            }
            Err(failure) => Err(self.fail(target, None, Label::None, failure)),
        }
    }

    /// Enters what was done.
    pub(super) fn finish(
        &mut self,
        target: &mut T,
        label: Label,
        mut steps: Vec<BoxedStep<T>>,
        watch: Option<Watch>,
    ) -> Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        let may_merge = self.may_merge();
        let record = Record::Done { target, label: &label, steps: &mut steps, may_merge };
        if let Err(error) = self.record(record) {
            return Err(match undo_all(&mut steps, target) {
                Ok(()) => {
                    steps.iter_mut().for_each(|step| step.finalize(target, End::Undone));
                    error
                }
                Err(failure) => {
                    let broken = broken(&failure);
                    self.fail(target, None, label, Failure { broken: Some(broken), ..failure })
                }
            });
        }
        self.changed(target);
        self.enter(target, label, steps, may_merge, watch);
        self.tell();
        Ok(())
    }

    /// Enters what was done, and is recorded.
    pub(super) fn enter(
        &mut self,
        target: &mut T,
        label: Label,
        mut steps: Vec<BoxedStep<T>>,
        may_merge: bool,
        watch: Option<Watch>,
    ) {
        if let Some(open) = self.open.last_mut() {
            open.watch(watch);
            open.enter(label, steps, may_merge, target);
            return;
        }
        self.cut(target);
        if may_merge && let Some(index) = self.merge(target, &label, &mut steps) {
            self.prove_again(index, watch, target);
            self.trim(target);
            return;
        }
        let mut entry = Entry::new(label, steps, (self.clock)());
        entry.proved = self.proved(watch, target);
        entry.state = if entry.is_significant { self.new_state() } else { self.state() };
        self.bytes += entry.size;
        self.ring.push(entry);
        self.may_merge = true;
        self.trim(target);
    }

    fn new_state(&mut self) -> u64 {
        self.last_state += 1;
        self.last_state
    }

    /// Whether an edit may become part of the one before.
    fn may_merge(&self) -> bool {
        if let Some(open) = self.open.last() {
            return open.may_merge;
        }
        let Some(entry) = self.ring.current().and_then(|index| self.ring.get(index)) else {
            return false;
        };
        let is_recent = self
            .merge_window
            .is_none_or(|window| (self.clock)().saturating_sub(entry.time) < window);
        self.may_merge
            && is_recent
            && self.ring.position() > self.floor()
            && self.saved != Some(entry.state)
    }

    /// Merges an edit into the current entry, whose index this is; `None` if it does not go with it.
    fn merge(
        &mut self,
        target: &mut T,
        label: &Label,
        steps: &mut Vec<BoxedStep<T>>,
    ) -> Option<usize> {
        let index = self.ring.current()?;
        let time = (self.clock)();
        let entry = self.ring.get_mut(index).filter(|entry| entry.label == *label)?;
        let is_significant = steps.iter().any(|step| step.is_significant());
        if is_significant != entry.is_significant {
            return None;
        }
        let outcome = entry.merge(steps, target);
        entry.time = time;
        match outcome {
            Merge::No => return None,
            Merge::Annul => {
                self.measure(index);
                self.take_out(index);
                self.may_merge = false;
            }
            Merge::Yes | Merge::Both => {
                if is_significant {
                    let state = self.new_state();
                    if let Some(entry) = self.ring.get_mut(index) {
                        entry.state = state;
                    }
                }
                self.measure(index);
            }
        }
        Some(index)
    }

    /// Counts the bytes of an entry anew.
    pub(super) fn measure(&mut self, index: usize) {
        let Some(entry) = self.ring.get_mut(index) else { return };
        let before = entry.size;
        entry.measure();
        self.bytes = self.bytes - before + entry.size;
    }

    /// Takes an entry out of the list that is not finalised here.
    pub(super) fn take_out(&mut self, index: usize) -> Option<Entry<T>> {
        let entry = self.ring.remove(index)?;
        self.bytes -= entry.size;
        self.floors.iter_mut().for_each(|floor| *floor -= usize::from(index < *floor));
        Some(entry)
    }

    /// Drops the entries that are undone.
    pub(super) fn cut(&mut self, target: &mut T) {
        while let Some(mut entry) = self.ring.pop_undone() {
            self.bytes -= entry.size;
            entry.finalize(target, End::Undone);
        }
    }

    /// Tells the journal, if there is one.
    pub(super) fn record(&mut self, record: Record<'_, T>) -> Result<()> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        match recorder.record(record) {
            Err(error) if recorder.is_strict() => Err(error),
            _ => Ok(()),
        }
    }

    /// The target has been changed.
    pub(super) fn changed(&mut self, target: &mut T) {
        if let Some(after_change) = &mut self.after_change {
            after_change(target);
        }
    }

    /// Ends what failed: the history is poisoned if the target is not as before, and a panic goes on.
    pub(super) fn fail(
        &mut self,
        target: &mut T,
        entry: Option<usize>,
        label: Label,
        failure: Failure,
    ) -> Error {
        if let Some(Broken { step, object, why }) = failure.broken {
            if let Some(recorder) = &mut self.recorder {
                recorder.lose(&why);
            }
            self.poison = Some(Poison { entry, label, step, object, why });
        }
        self.changed(target);
        self.tell();
        match failure.panic {
            Some(panic) => resume_unwind(panic),
            None => failure.error,
        }
    }

    pub(super) fn fail_at(&mut self, target: &mut T, index: usize, failure: Failure) -> Error {
        let label = self.ring.get(index).map_or(Label::None, Entry::label);
        self.fail(target, Some(index), label, failure)
    }

    /// Refuses what a poisoned history cannot do, and another world.
    pub(super) fn check_usable(&mut self, target: &T) -> Result<()> {
        self.check_world(target)?;
        self.check_sound()
    }

    pub(super) fn check_sound(&self) -> Result<()> {
        match &self.poison {
            None => Ok(()),
            Some(poison) => Err(Error::new(
                ErrorKind::Poisoned,
                format!(
                    "step {} of `{}` could not be put back, {}; skip the entry or clear the history, and look at the target",
                    poison.step, poison.label, poison.why
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
    fn check_world(&mut self, target: &T) -> Result<()> {
        let target: &dyn Any = target;
        let Some(world) = target.downcast_ref::<World>() else { return Ok(()) };
        if *self.world.get_or_insert(world.identity()) == world.identity() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::WrongTarget,
            "the history is that of another world; use one of its own, or `rebind` it to a world that has taken the place of the other",
        ))
    }
}
