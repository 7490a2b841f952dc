//! How entries are made, undone and redone.
//!
//! The order of an edit: it is done; it is recorded in the journal; undone entries are cut; it is merged or appended;
//! limits; events. Up to the second, a failure leaves target and history as they were.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::command::{Command, Performed};
use super::edit::Done;
use super::entry::Entry;
use super::journal::Record;
use super::merging::{MergeKey, Merging};
use super::proof::Watch;
use super::step::{End, Failure, Merge, Step, ends, finalize_all, guarded, is_broken, run_all};
use super::steps::{Steps, Summary};
use super::{Edit, Editable, History, Label};
use crate::fields::Way;
use crate::world::Change;
use crate::{Error, Result};

impl<T: 'static> History<T> {
    /// Edits a target; what is done is one entry, of this label if it is not empty. If nothing is changed there is none, and what could be redone stays.
    ///
    /// Of a [`World`](crate::World) the closure gets an [`Edit`], whose methods record what they do. Of any other type it gets the value:
    /// the target is encoded before and after it, which costs what the target costs, and the fields that differ are
    /// kept, of lists the elements. [`edit_at`](Self::edit_at) does the same for one part. `skip`ped fields and changes
    /// inside a cell without `&mut` are not recorded. A type that holds shared pointers is refused
    /// ([`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported)), with the name of the field.
    ///
    /// In an open transaction it is a part of that. The edit has the target, and not the history, which cannot be used in it:
    ///
    /// ```compile_fail,E0499
    /// # let (mut world, mut history) = (persist::World::new(), persist::History::new(9));
    /// history.edit(&mut world, "Edit", |_| history.set_modified(false))?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the closure, or what a component refuses. Target and history are then as they were, as they are after a panic.
    /// [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned) if the history [is](Self::poison).
    pub fn edit<R>(
        &mut self,
        target: &mut T,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R>
    where
        T: Editable,
    {
        self.edit_as(target, None, label.into(), |scope| T::persist_edit(scope, edit))
    }

    /// Runs an edit, whose steps are recorded.
    pub(super) fn edit_as<R>(
        &mut self,
        target: &mut T,
        key: Option<MergeKey>,
        label: Label,
        edit: impl FnOnce(&mut Edit<'_, T>) -> Result<R>,
    ) -> Result<R> {
        self.check_usable(target)?;
        let watch = self.watch(target);
        match Edit::run(target, &mut self.support, watch, edit) {
            Ok((value, Done { steps, watch })) => {
                self.finish(target, (label, key), steps, watch)?;
                Ok(value)
            }
            Err(failure) => Err(self.fail_new(target, label, failure)),
        }
    }

    /// Does a command, as an entry or as a part of an open transaction.
    ///
    /// # Errors
    ///
    /// Those of [`edit`](Self::edit). If the command panics after it changed the target [directly](super::CommandContext::target), the history is
    /// [poisoned](Self::poison).
    pub fn apply(&mut self, target: &mut T, command: impl Command<T>) -> Result<()> {
        self.check_usable(target)?;
        let mut watch = self.watch(target);
        let mut performed = Performed::new(command);
        match performed.perform(target, &mut self.support, &mut watch) {
            Ok(false) => Ok(()),
            Ok(true) => {
                let steps = Steps::One(Step::Command(performed));
                self.finish(target, (Label::None, None), steps, watch)
            }
            Err(failure) => {
                let label = performed.any_label();
                Err(self.fail_new(target, label, failure))
            }
        }
    }

    /// Enters what was done.
    pub(super) fn finish(
        &mut self,
        target: &mut T,
        (label, key): (Label, Option<MergeKey>),
        steps: Steps<T>,
        watch: Option<Box<Watch>>,
    ) -> Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        if key.is_none() && self.is_plain() {
            let summary = match guarded(|| Ok(steps.summary())) {
                Ok(summary) => summary,
                Err(failure) => {
                    let failure = Failure { broken: None, ..failure };
                    return Err(self.withdraw(target, label, steps, failure));
                }
            };
            self.changed(target);
            self.append(label, steps, summary);
            self.has_appended(target);
            self.end(target);
            return Ok(());
        }
        let (label, key) = self.dragged(label, key);
        let mut entry = Entry { key, ..Entry::new(label, steps) };
        let merging = match self.settle(target, &mut entry) {
            Ok(merging) => merging,
            Err(failure) => {
                let Entry { label, steps, .. } = entry;
                return Err(self.withdraw(target, label, steps, failure));
            }
        };
        self.changed(target);
        let name = entry.label.clone();
        let entered = guarded(|| {
            self.enter(target, entry, merging, watch);
            Ok(())
        });
        if let Err(failure) = entered {
            self.note(None, name, failure);
        }
        self.end(target);
        Ok(())
    }

    /// Asks all that is needed to enter what was done, and records it. If this fails, also by a panic, it can be rolled back.
    fn settle(&mut self, target: &mut T, entry: &mut Entry<T>) -> Result<Merging, Failure> {
        let merging = guarded(|| {
            entry.weigh();
            entry.time = self.now();
            Ok(self.merging(entry.key, entry.time))
        });
        let merging = merging.map_err(|failure| Failure { broken: None, ..failure })?;
        let (label, steps) = (&entry.label, &mut entry.steps);
        let recorded =
            guarded(|| Ok(self.record(Record::Done { target, label, steps, merging })?));
        recorded.map_err(|failure| Failure { broken: None, ..failure })?;
        Ok(merging)
    }

    /// Undoes what was done, since it cannot be entered.
    #[cold]
    fn withdraw(
        &mut self,
        target: &mut T,
        label: Label,
        mut steps: Steps<T>,
        mut failure: Failure,
    ) -> Error {
        let back = run_all(&mut steps, target, &mut self.support, Way::Undo);
        is_broken(&mut failure, 0, back);
        self.released.extend(ends(steps.into_each(), failure.done));
        self.fail(target, None, label, failure)
    }

    /// Enters what was done, and is weighed and recorded.
    pub(super) fn enter(
        &mut self,
        target: &mut T,
        mut entry: Entry<T>,
        merging: Merging,
        watch: Option<Box<Watch>>,
    ) {
        if let Some(open) = self.open.last_mut() {
            open.watch(watch);
            let entered = open.enter(entry, merging, &mut self.released);
            if let Err(failure) = entered {
                let label = open.label.clone();
                self.note(None, label, failure);
            }
            return;
        }
        let has_cut = self.cut();
        if merging != Merging::No {
            match self.merge(&mut entry, merging) {
                Ok(None) => {}
                Ok(Some(index)) => {
                    self.has_grown = true;
                    self.prove_again(index, watch, target);
                    self.trim();
                    return;
                }
                Err((index, failure)) => {
                    let label = self.label_of(index);
                    self.note(Some(index), label, failure);
                }
            }
        }
        let Entry { label, steps, key, time, is_significant, size, .. } = entry;
        let summary = Summary { is_significant, size: size - size_of::<Entry<T>>() };
        let proved = self.proved(watch, target);
        let entry = self.append(label, steps, summary);
        (entry.key, entry.has_cut, entry.proved, entry.time) = (key, has_cut, proved, time);
        self.has_appended(target);
    }

    /// True if an edit without a key is an entry of its own, replaces none, and nobody wants to know of it before it is
    /// entered.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.journal.is_none()
            && self.open.is_empty()
            && !self.is_dragged()
            && self.merge_window.is_none()
            && !self.is_watched()
            && self.ring.next().is_none()
    }

    /// Enters the change of a number as an edit of its own.
    #[inline]
    pub(super) fn enter_change(&mut self, target: &mut T, change: Change) -> Result<()> {
        if !self.is_plain() {
            let steps = Steps::One(Step::Change(change));
            return self.finish(target, (Label::None, None), steps, None);
        }
        self.changed(target);
        // It takes nothing beyond the size of an entry.
        let summary = Summary { is_significant: true, size: 0 };
        self.append(Label::None, Steps::One(Step::Change(change)), summary);
        self.has_appended(target);
        self.end(target);
        Ok(())
    }

    /// Appends an entry after the current one, which is the last.
    #[inline]
    fn append(&mut self, label: Label, steps: Steps<T>, summary: Summary) -> &mut Entry<T> {
        let before = self.state();
        let entry = self.ring.push();
        entry.fill(label, steps, summary);
        entry.state = if entry.is_significant { self.last_state + 1 } else { before };
        self.last_state = self.last_state.max(entry.state);
        self.bytes += entry.size;
        entry
    }

    /// An entry has been appended: makes room for it.
    #[inline]
    fn has_appended(&mut self, target: &T) {
        (self.may_merge, self.has_grown) = (true, true);
        if self.max_bytes.is_some() {
            self.count_held(self.ring.len() - 1, target);
        }
        self.trim();
    }

    fn new_state(&mut self) -> u64 {
        self.last_state += 1;
        self.last_state
    }

    /// Merges an edit into the current entry, whose index this is; `None` if it does not go with it.
    fn merge(
        &mut self,
        next: &mut Entry<T>,
        merging: Merging,
    ) -> Result<Option<usize>, (usize, Failure)> {
        let Some(index) = self.ring.current() else { return Ok(None) };
        let (state, state_before) = (self.last_state + 1, self.state_at(index));
        let Some(entry) = self.ring.get(index) else { return Ok(None) };
        let before = entry.size;
        let name = entry.has_cut.then(|| self.label_of(index));
        let Some(entry) = self.ring.get_mut(index) else { return Ok(None) };
        let merge = entry.merge(next, merging, &mut self.released);
        if let (Ok(Merge::Annul), Some(name)) = (&merge, name) {
            // The entries that it cut are gone. Without it the next undo would take back the edit before.
            entry.annul(name, state_before);
        }
        let is_kept = entry.has_cut;
        self.bytes = self.bytes - before + entry.size;
        match merge.map_err(|failure| (index, failure))? {
            Merge::No => return Ok(None),
            Merge::Annul => {
                if !is_kept {
                    self.take_out(index);
                }
                self.may_merge = false;
            }
            Merge::Yes => {
                entry.time = next.time;
                if next.is_significant {
                    entry.state = state;
                    self.last_state = state;
                }
            }
        }
        Ok(Some(index))
    }

    /// Counts the bytes of an entry anew.
    pub(super) fn measure(&mut self, index: usize) {
        let Some(entry) = self.ring.get_mut(index) else { return };
        let before = entry.size;
        entry.measure();
        self.bytes = self.bytes - before + entry.size;
    }

    /// Counts what an entry keeps out of the target, which takes a look at it, where there is a limit.
    pub(super) fn count_held(&mut self, index: usize, target: &T) {
        let is_applied = index < self.position();
        let Some(entry) = self.ring.get_mut(index) else { return };
        let held = match self.max_bytes {
            None => 0,
            // Where it is has not changed.
            Some(_) if entry.away.is_some() => return,
            Some(_) => entry.steps.iter().map(|step| step.held(target, is_applied)).sum(),
        };
        if held == entry.held {
            return;
        }
        self.held = self.held - entry.held + held;
        self.bytes = self.bytes - entry.held + held;
        (entry.size, entry.held) = (entry.size - entry.held + held, held);
    }

    /// Takes an entry out of the list that does not end here.
    pub(super) fn take_out(&mut self, index: usize) -> Option<Entry<T>> {
        let len = self.ring.len();
        let entry = self.ring.remove(index)?;
        if let Some(spill) = &mut self.spill {
            spill.forget_index(index, len);
            spill.away -= entry.away_size();
        }
        self.bytes -= entry.size;
        self.held -= entry.held;
        self.failed = None;
        if let Some(poison) = &mut self.poison {
            let other = poison.entry.filter(|entry| *entry != index);
            poison.entry = other.map(|entry| entry - usize::from(index < entry));
        }
        Some(entry)
    }

    /// Drops an entry, whose steps end as they are.
    pub(super) fn remove_entry(&mut self, index: usize) {
        let is_applied = index < self.position();
        let poison = self.poison.as_ref().filter(|poison| poison.entry == Some(index));
        let broken = poison.map(|poison| poison.done);
        let Some(entry) = self.take_out(index) else { return };
        if let Some((spill, away)) = self.spill.as_mut().zip(entry.away) {
            let end = if is_applied { End::Applied } else { End::Undone };
            spill.drop_entry(away.at, away.has_end.then_some(end));
        }
        let Entry { steps, .. } = entry;
        if steps.iter().any(Step::has_end) {
            let done = broken.unwrap_or(if is_applied { steps.len() } else { 0 });
            self.released.extend(ends(steps.into_each(), done));
        }
    }

    /// Drops the entries that are undone; false if there are none.
    fn cut(&mut self) -> bool {
        let is_any = self.ring.next().is_some();
        while self.ring.next().is_some() {
            self.remove_entry(self.ring.len() - 1);
        }
        is_any
    }

    /// Gives every state from the one after an entry a new number: it has changed.
    pub(super) fn renew_states(&mut self, from: usize) {
        for index in from..self.ring.len() {
            let (before, new) = (self.state_at(index), self.last_state + 1);
            if let Some(entry) = self.ring.get_mut(index) {
                entry.state = if entry.is_significant { new } else { before };
                self.last_state = entry.state.max(self.last_state);
            }
        }
    }

    /// Gives every state a new number: no state that was is that of the target now.
    pub(super) fn forget_states(&mut self) {
        self.base = self.new_state();
        self.renew_states(0);
    }

    /// Passes a record to the journal, if there is one.
    pub(super) fn record(&mut self, record: Record<'_, T>) -> Result<()> {
        match &mut self.journal {
            Some(journal) => journal.record(&self.support, record),
            None => Ok(()),
        }
    }

    /// The target has been changed.
    #[inline]
    pub(super) fn changed(&mut self, target: &mut T) {
        if self.after_change.is_some() {
            self.call_after_change(target);
        }
    }

    #[cold]
    fn call_after_change(&mut self, target: &mut T) {
        let Some(after_change) = &mut self.after_change else { return };
        let changed = catch_unwind(AssertUnwindSafe(|| after_change(target)));
        self.panic = self.panic.take().or(changed.err());
    }

    /// Ends a call: finalizes what was dropped, reports changes, and resumes a panic that was caught.
    #[inline]
    pub(super) fn end(&mut self, target: &mut T) {
        let is_quiet = self.listeners.is_empty() && self.panic.is_none();
        if self.spill.is_some() || !self.released.is_empty() || !is_quiet {
            self.end_call(target);
        }
    }

    fn end_call(&mut self, target: &mut T) {
        if self.spill.is_some() {
            self.end_spilled(target);
        }
        if !self.released.is_empty() {
            let mut released = std::mem::take(&mut self.released);
            let panic = finalize_all(released.drain(..), target);
            // The memory of the list is kept, which a full history fills with each edit.
            if self.released.is_empty() {
                self.released = released;
            }
            self.panic = self.panic.take().or(panic);
        }
        if self.spill.is_some() {
            self.spill(target);
        }
        self.tell();
    }

    /// Ends a call that failed: poisons the history if the target is not as before, and resumes a panic.
    pub(super) fn fail(
        &mut self,
        target: &mut T,
        entry: Option<usize>,
        label: Label,
        failure: Failure,
    ) -> Error {
        let error = self.note(entry, label, failure);
        self.changed(target);
        self.end(target);
        error
    }

    /// What an entry is called, for a failure: also if its command panics when it is asked.
    fn label_of(&self, index: usize) -> Label {
        guarded(|| Ok(self.ring.get(index).map_or(Label::None, Entry::label))).unwrap_or_default()
    }

    /// Like [`fail`](Self::fail), for an edit.
    fn fail_new(&mut self, target: &mut T, label: Label, mut failure: Failure) -> Error {
        if let Some(open) = self.open.last() {
            let whole = open.label.quoted("the transaction");
            let (step, message) = (open.edits.len(), failure.error.message());
            let message = format!("step {step} of {whole}: {message}");
            failure.error = failure.error.reworded(message);
        }
        self.fail(target, None, label, failure)
    }

    pub(super) fn fail_at(&mut self, target: &mut T, index: usize, failure: Failure) -> Error {
        let label = self.label_of(index);
        self.fail(target, Some(index), label, failure)
    }
}
