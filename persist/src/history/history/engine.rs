//! How changes become entries, how entries are undone, redone, skipped and dropped, and how a call of a history ends.
//!
//! An edit goes through these steps, in this order:
//!
//! 1. The closure or command runs. Each change that it makes becomes a step.
//! 2. The journal, if there is one, records the steps.
//! 3. Entries that could be redone are cut.
//! 4. The steps are merged into the current entry, or appended as a new one.
//! 5. `History::trim` evicts entries if the history is over its limits: the oldest, or undone ones if only those are
//!    left.
//! 6. Listeners are notified.
//!
//! If step 1 or 2 fails, the steps are rolled back, and target and history are as before. After step 2 nothing may
//! fail: the journal has the edit, so that memory has to have it as well.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::fields::{Direction, Merge};
#[cfg(feature = "world")]
use crate::history::change::Change;
use crate::history::change::step::{
    FinalState, ends, finalize_all, refresh_all, run_all, run_back,
};
use crate::history::event::{EntryName, Events, HistoryEvent, NameChange, notify};
use crate::history::journal::{FrameKind, payload, spill};
use crate::history::merging::Merging;
use crate::history::{
    Broken, Failure, History, Label, MergeKey, MergeTarget, Panic, Poison, Recording, Step, Steps,
    Summary, UndoEntry, guarded, world, world_mut,
};
use crate::{Error, ErrorKind, Persist, Result};

/// Steps of edits, on their way into the list.
impl<T: 'static> History<T> {
    /// Enters the steps of an edit or a command: records them in the journal, then merges or appends them.
    pub(super) fn finish(
        &mut self,
        target: &mut T,
        (label, key): (Label, Option<MergeKey>),
        steps: Steps<T>,
    ) -> Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        if key.is_none() && self.is_plain() {
            let summary = match guarded(|| Ok(steps.summary())) {
                Ok(summary) => summary,
                Err(failure) => return Err(self.withdraw(target, label, steps, failure)),
            };
            self.enter_plain(target, label, steps, summary);
            return Ok(());
        }
        let is_aside = self.is_aside();
        let (label, key) = if is_aside { (label, None) } else { self.dragged(label, key) };
        let mut entry = UndoEntry::new(label, steps);
        let merging = match self.settle(target, &mut entry, key) {
            Ok(merging) => merging,
            Err(failure) => {
                let UndoEntry { label, steps, .. } = entry;
                return Err(self.withdraw(target, label, steps, failure));
            }
        };
        self.report(target, &entry.steps, Direction::Redo);
        let name = entry.label.clone();
        let entered = guarded(|| {
            self.enter(target, entry, merging);
            Ok(())
        });
        if let Err(failure) = entered {
            self.note(None, name, failure);
        }
        self.end(target);
        Ok(())
    }

    /// Measures an entry and records it in the journal, before the list changes.
    ///
    /// This runs the program's own code (commands report their size and encode themselves). If that code fails or
    /// panics, the entry can still be rolled back.
    fn settle(
        &mut self,
        target: &mut T,
        entry: &mut UndoEntry<T>,
        key: Option<MergeKey>,
    ) -> Result<(Merging, MergeTarget), Failure> {
        guarded(|| {
            entry.weigh();
            let (is_aside, recording) = (self.is_aside(), self.recording);
            entry.is_significant &= recording == Recording::Entries;
            let last = MergeTarget { key, time: self.now(), has_cut: false };
            let merging = if is_aside { Merging::No } else { self.merging(&last) };
            if let Some(journal) = &mut self.journal {
                let (label, steps) = (&entry.label, &mut entry.steps);
                let kind = match recording {
                    Recording::Entries => FrameKind::Done,
                    Recording::Aside if is_aside => FrameKind::Aside,
                    Recording::Insignificant | Recording::Aside => FrameKind::Insignificant,
                };
                journal.record_done((target, &self.support), label, steps, (merging, kind))?;
            }
            Ok((merging, last))
        })
    }

    /// Undoes steps that cannot be entered.
    #[cold]
    fn withdraw(
        &mut self,
        target: &mut T,
        label: Label,
        mut steps: Steps<T>,
        failure: Failure,
    ) -> Error {
        let undo = || run_back(&mut steps, target, &mut self.support, Direction::Undo);
        let failure = Failure { broken: None, ..failure }.after(undo);
        self.released.extend(ends(steps.into_each(), failure.done));
        self.fail(target, None, label, failure)
    }

    /// Enters an entry that is measured, and recorded in the journal.
    pub(in crate::history) fn enter(
        &mut self,
        target: &mut T,
        mut entry: UndoEntry<T>,
        (merging, last): (Merging, MergeTarget),
    ) {
        if let Some(open) = self.open.last_mut() {
            let entered = open.enter(entry, (merging, last), &mut self.released);
            if let Err(failure) = entered {
                let label = open.label.clone();
                self.note(None, label, failure);
            }
            return;
        }
        if self.is_aside() {
            let steps = entry.steps.into_each();
            self.released.extend(steps.map(|step| (step, FinalState::Applied)));
            return;
        }
        let has_cut = self.cut();
        if let Some(index) = self.ring.current().filter(|_| merging != Merging::No) {
            match self.merge(index, &mut entry, (merging, last.time)) {
                Ok(false) => {}
                Ok(true) => {
                    if self.usage.max.is_some() {
                        self.count_held(index, target);
                    }
                    self.usage.has_grown = true;
                    self.trim();
                    return;
                }
                Err(failure) => {
                    let label = self.label_of(index);
                    self.note(Some(index), label, failure);
                }
            }
        }
        let has_cut = self.take_annulled() || has_cut;
        let UndoEntry { label, steps, is_significant, size, .. } = entry;
        let summary = Summary { is_significant, size: size - size_of::<UndoEntry<T>>() };
        self.append(label, steps, summary);
        self.has_appended(target, MergeTarget { has_cut, ..last });
    }

    /// True if a merge annulled the current entry, which has no steps since.
    fn is_annulled(&self) -> bool {
        let current = self.ring.current().and_then(|index| self.ring.get(index));
        current.is_some_and(|entry| entry.steps.is_empty())
    }

    /// Removes the current entry if it is annulled, before another one takes its place. Returns true if it did.
    fn take_annulled(&mut self) -> bool {
        let current = self.ring.current().filter(|_| self.is_annulled());
        current.is_some_and(|index| self.take_out(index).is_some())
    }

    /// True if edits become no entries. Those of a transaction do, since it is rolled back as a whole.
    fn is_aside(&self) -> bool {
        self.recording == Recording::Aside && self.open.is_empty()
    }

    /// True if an edit without a key takes the fast path: nothing but the list has to know of it.
    ///
    /// No journal, transaction or drag is active, the edit cannot be merged, and no entries would be cut.
    #[inline]
    fn is_plain(&self) -> bool {
        self.journal.is_none()
            && self.open.is_empty()
            && !self.is_dragged()
            && self.recording == Recording::Entries
            && self.merges.window.is_none()
            && self.ring.next().is_none()
            && (self.merges.last.is_some() || !self.is_annulled())
    }

    /// Enters a change of a number of a world as an entry of its own.
    #[cfg(feature = "world")]
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    pub(in crate::history) fn enter_change(
        &mut self,
        target: &mut T,
        change: Change,
    ) -> Result<()> {
        if !self.is_plain() {
            let steps = Steps::One(Step::Change(change));
            return self.finish(target, (Label::None, None), steps);
        }
        // A number is stored in the change itself, so the entry needs no further memory.
        let summary = Summary { is_significant: true, size: 0 };
        self.enter_plain(target, Label::None, Steps::One(Step::Change(change)), summary);
        Ok(())
    }

    /// Enters an edit that [`is_plain`](Self::is_plain), as an entry of its own.
    #[expect(clippy::inline_always, reason = "as that of `append`")]
    #[inline(always)]
    fn enter_plain(&mut self, target: &mut T, label: Label, steps: Steps<T>, summary: Summary) {
        self.report(target, &steps, Direction::Redo);
        self.append(label, steps, summary);
        self.has_appended(target, MergeTarget::default());
        self.end(target);
    }

    /// Notes an appended entry, and evicts others if the history is over its limits.
    #[expect(clippy::inline_always, reason = "as that of `append`")]
    #[inline(always)]
    fn has_appended(&mut self, target: &T, last: MergeTarget) {
        (self.merges.last, self.usage.has_grown) = (Some(last), true);
        if self.usage.max.is_some() {
            self.count_held(self.ring.len() - 1, target);
        }
        self.trim();
    }

    /// Merges an edit into the current entry. Returns false if the two do not merge.
    fn merge(
        &mut self,
        index: usize,
        next: &mut UndoEntry<T>,
        (merging, time): (Merging, u64),
    ) -> Result<bool, Failure> {
        let (state, previous_state) = (self.states.last + 1, self.state_at(index));
        let has_cut = self.merges.last.is_some_and(|last| last.has_cut);
        let name = has_cut.then(|| self.label_of(index));
        self.ring.note_change(index);
        let Some(entry) = self.ring.get_mut(index) else { return Ok(false) };
        let old_size = entry.size;
        let merge = entry.merge(next, merging, &mut self.released);
        if let (Ok(Merge::Annul), Some(name)) = (&merge, name) {
            // The edit cut the entries that could be redone. If the annulled entry were removed too, the next undo
            // would undo the edit before it. The next entry takes its place.
            entry.annul(name, previous_state);
        }
        self.usage.bytes = self.usage.bytes - old_size + entry.size;
        match merge? {
            Merge::No => return Ok(false),
            Merge::Annul => {
                if !has_cut {
                    self.take_out(index);
                }
                self.merges.last = None;
            }
            Merge::Yes => {
                self.merges.last.iter_mut().for_each(|last| last.time = time);
                if next.is_significant {
                    entry.state = state;
                    self.states.last = state;
                }
            }
        }
        Ok(true)
    }

    /// Records an event in the journal, if there is one.
    pub(super) fn record(&mut self, kind: FrameKind, what: &impl Persist) -> Result<()> {
        match &mut self.journal {
            Some(journal) => journal.record(kind, payload(what)?),
            None => Ok(()),
        }
    }

    /// Notes in the journal that components changed other than by steps of fields, so that their recorded contents are
    /// stale.
    pub(super) fn forget_contents(&mut self) {
        self.journal.iter_mut().for_each(|journal| journal.forget_contents());
    }

    /// Ends an edit that failed, with the step of the open transaction in its message.
    pub(super) fn fail_new(&mut self, target: &mut T, label: Label, mut failure: Failure) -> Error {
        if let Some(open) = self.open.last() {
            let whole = open.label.quoted("the transaction");
            let (step, message) = (open.edits.len(), failure.error.message());
            let message = format!("step {step} of {whole}: {message}");
            failure.error = failure.error.reworded(message);
        }
        self.fail(target, None, label, failure)
    }
}

impl<T: 'static> History<T> {
    /// Undoes the current entry. Returns `Ok(false)` if there is none.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::OpenTransaction`] while a transaction is open, and an error if a step of the entry cannot
    /// be undone. Target and history are then as before, and the undo can be tried again, unless the history is now
    /// [poisoned](Self::poison).
    ///
    /// The error is [`ErrorKind::NotFound`] if an object, a component or a field was removed by something other than
    /// the history. To continue, call [`skip_entry`](Self::skip_entry) or [`drop_entry`](Self::drop_entry).
    pub fn undo(&mut self, target: &mut T) -> Result<bool> {
        self.undo_or_redo(target, Direction::Undo)
    }

    /// Redoes the entry after the current one. Returns `Ok(false)` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`undo`](Self::undo).
    pub fn redo(&mut self, target: &mut T) -> Result<bool> {
        self.undo_or_redo(target, Direction::Redo)
    }

    fn undo_or_redo(&mut self, target: &mut T, direction: Direction) -> Result<bool> {
        self.check_closed(target)?;
        let is_done = self.run_next(target, direction);
        self.end(target);
        is_done
    }

    /// Undoes or redoes until `position` entries are applied.
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// for name in ["House", "Barn", "Mill"] {
    ///     history.edit(&mut world, "Build", |edit| edit.spawn(name))?;
    /// }
    /// history.go_to(&mut world, 1)?;
    /// assert!(world.find("House").is_some() && world.find("Barn").is_none());
    /// history.go_to(&mut world, 3)?;
    /// assert!(world.find("Mill").is_some());
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if there are fewer entries; nothing is undone or redone then. If an entry fails,
    /// returns the same errors as [`undo`](Self::undo). The entries before it stay undone or redone, and
    /// [`position`](Self::position) returns how far it came.
    pub fn go_to(&mut self, target: &mut T, position: usize) -> Result<()> {
        self.check_closed(target)?;
        let len = self.ring.len();
        if position > len {
            bail!(
                ErrorKind::NotFound,
                "there is no position {position}; there are those from 0 to {len}"
            );
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
            self.run_next(target, Direction::Undo)?;
        }
        while self.position() < position {
            let len = self.ring.len();
            self.run_next(target, Direction::Redo)?;
            // An entry that became obsolete was dropped, so the target position moves by one.
            position -= len - self.ring.len();
        }
        Ok(())
    }

    /// Undoes the current entry, or redoes the next one. Returns false if there is none.
    pub(in crate::history) fn run_next(
        &mut self,
        target: &mut T,
        direction: Direction,
    ) -> Result<bool> {
        let Some(index) = self.ring.toward(direction) else { return Ok(false) };
        if self.spill.is_some()
            && let Err(error) = spill::load_entry(self, index, target)
        {
            self.failed = Some(direction);
            return Err(error);
        }
        self.merges.last = None;
        if self.run_plain(target, index, direction) {
            return Ok(true);
        }
        // Also if it fails: a command that was rolled back may have other fields.
        self.ring.note_change(index);
        if let Err(mut failure) = self.run_steps(target, index, direction) {
            let count = self.ring.get(index).map_or(0, |entry| entry.steps.len());
            if count > 1 {
                let (step, message) = (failure.step, failure.error.message());
                let message = format!("step {step} of {count}: {message}");
                failure.error = failure.error.reworded(message);
            }
            self.failed = Some(direction);
            return Err(self.fail_at(target, index, failure));
        }
        if let Err(failure) = self.check(target, index) {
            return Err(self.roll_back_run(target, index, direction, failure));
        }
        let kind = match direction {
            Direction::Undo => FrameKind::Undone,
            Direction::Redo => FrameKind::Redone,
        };
        if let Err(failure) = guarded(|| Ok(self.record(kind, &())?)) {
            return Err(self.roll_back_run(target, index, direction, failure));
        }
        // A replay follows the contents of other targets through undos of plain fields; of worlds it does not. So their
        // contents are recorded again with the next edit.
        if self.journal.is_some() && (world(target).is_some() || !self.is_of_fields(index)) {
            self.forget_contents();
        }
        self.report_entry(target, index, direction);
        self.ring.step(direction);
        self.count_held(index, target);
        self.drop_obsolete(index);
        Ok(true)
    }

    /// Fast path: undoes or redoes an entry that only changes a number, if no journal, callback or limit of bytes is
    /// involved. Returns false for any other entry.
    fn run_plain(&mut self, target: &mut T, index: usize, direction: Direction) -> bool {
        let has_listeners = self.change_listeners.are_present();
        if self.journal.is_some() || has_listeners || self.usage.max.is_some() {
            return false;
        }
        let entry = self.ring.get_mut(index).map(|entry| &mut entry.steps);
        let Some(Steps::One(Step::Change(change))) = entry else { return false };
        let is_run = world_mut(target).is_some_and(|world| change.put_number(world, direction));
        if is_run {
            self.ring.step(direction);
        }
        is_run
    }

    /// True if an entry only changes fields, and none of its changes was migrated from another version.
    fn is_of_fields(&self, index: usize) -> bool {
        let is_field =
            |step: &Step<T>| matches!(step, Step::Change(change) if change.is_as_recorded());
        self.ring.get(index).is_some_and(|entry| entry.steps.iter().all(is_field))
    }

    fn run_steps(
        &mut self,
        target: &mut T,
        index: usize,
        direction: Direction,
    ) -> Result<(), Failure> {
        let Some(entry) = self.ring.get_mut(index) else { return Ok(()) };
        run_all(&mut entry.steps, target, &mut self.support, direction)
    }

    /// Checks whether the target may stay in the state after an undo or redo.
    fn check(&mut self, target: &mut T, index: usize) -> Result<(), Failure> {
        let Some(entry) = self.ring.get(index) else { return Ok(()) };
        let support = &mut self.support;
        guarded(|| Ok(refresh_all(&entry.steps, target, support)?))
    }

    /// Runs an entry back after a check refused the new state or the journal could not be written.
    fn roll_back_run(
        &mut self,
        target: &mut T,
        index: usize,
        direction: Direction,
        mut failure: Failure,
    ) -> Error {
        failure.broken = None;
        self.failed = Some(direction);
        let failure = failure.after(|| {
            let Some(entry) = self.ring.get_mut(index) else { return Ok(()) };
            run_back(&mut entry.steps, target, &mut self.support, direction.reversed())
        });
        self.fail_at(target, index, failure)
    }

    /// Drops the obsolete steps of an entry, and the entry if it has no others.
    fn drop_obsolete(&mut self, index: usize) {
        let end = if index < self.position() { FinalState::Applied } else { FinalState::Undone };
        let Some(entry) = self.ring.get_mut(index) else { return };
        if !entry.steps.iter().any(Step::is_obsolete) {
            return;
        }
        let steps = std::mem::take(&mut entry.steps).into_each();
        let (dropped, kept): (Vec<_>, Vec<_>) = steps.partition(Step::is_obsolete);
        let is_significant = dropped.iter().any(Step::is_significant);
        let is_empty = kept.is_empty();
        entry.steps = kept.into();
        entry.forget_order();
        self.released.extend(dropped.into_iter().map(|step| (step, end)));
        self.measure(index);
        if is_empty {
            self.take_out(index);
        }
        if is_significant {
            self.renew_states(index);
        }
    }

    /// Drops all entries. The target stays as it is, modified or not, and a poisoned history can be used again.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::OpenTransaction`] while a transaction is open, [`ErrorKind::WrongTarget`] if the target is
    /// another world, or an error if the journal cannot be written.
    pub fn clear(&mut self, target: &mut T) -> Result<()> {
        self.check_world(target)?;
        self.check_no_transaction()?;
        if self.ring.len() == 0 && self.poison.is_none() {
            return Ok(());
        }
        self.record(FrameKind::Cleared, &())?;
        self.drop_all();
        self.end(target);
        Ok(())
    }

    /// Steps over the entry whose undo or redo has just failed.
    ///
    /// The entry counts as undone, or redone. The target stays as it is, and counts as modified.
    ///
    /// # Errors
    ///
    /// Returns
    ///
    /// - [`ErrorKind::NotFound`] if the last call was not an undo or redo that failed;
    /// - [`ErrorKind::Poisoned`] if the entry was left half done; drop the entry instead;
    /// - [`ErrorKind::WrongTarget`] if the target is another world;
    /// - an error if the journal cannot be written.
    pub fn skip_entry(&mut self, target: &mut T) -> Result<()> {
        self.check_world(target)?;
        self.check_sound()?;
        let direction = self.failed.ok_or_else(|| none_failed("skipped"))?;
        self.record(FrameKind::Skipped, &(direction == Direction::Redo))?;
        self.skip(direction);
        self.end(target);
        Ok(())
    }

    /// Drops the entry whose undo or redo has just failed, or at which the history was poisoned, so that it can be used
    /// again.
    ///
    /// The target stays as it is, and counts as modified.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if nothing failed, [`ErrorKind::WrongTarget`] if the target is another world, or
    /// an error if the journal cannot be written.
    pub fn drop_entry(&mut self, target: &mut T) -> Result<()> {
        let index = match (&self.poison, self.failed) {
            (Some(poison), _) => poison.entry,
            (None, Some(direction)) => self.ring.toward(direction),
            (None, None) => return Err(none_failed("dropped")),
        };
        self.check_world(target)?;
        self.record(FrameKind::Dropped, &index.map(|index| index as u64))?;
        self.leave_out(index);
        self.end(target);
        Ok(())
    }
}

/// The end of a call.
impl<T: 'static> History<T> {
    /// Reports to listeners what steps changed that were just run in a direction.
    #[inline]
    pub(in crate::history) fn report(
        &mut self,
        target: &mut T,
        steps: &[Step<T>],
        direction: Direction,
    ) {
        if self.change_listeners.are_present() {
            let lent = (target, &self.support);
            let panic = self.change_listeners.report(lent, steps, direction);
            self.panic = self.panic.take().or(panic);
        }
    }

    /// Reports to listeners what an entry changed that was just undone or redone.
    fn report_entry(&mut self, target: &mut T, index: usize, direction: Direction) {
        if self.change_listeners.are_present()
            && let Some(entry) = self.ring.get(index)
        {
            let lent = (target, &self.support);
            let panic = self.change_listeners.report(lent, &entry.steps, direction);
            self.panic = self.panic.take().or(panic);
        }
    }

    /// Reports to listeners that anything in the target may have changed.
    pub(in crate::history) fn report_all(&mut self, target: &mut T) {
        if self.change_listeners.are_present() {
            let panic = self.change_listeners.report_all(target);
            self.panic = self.panic.take().or(panic);
        }
    }

    /// Ends a call: finalizes dropped steps, notifies listeners, and resumes a panic that was caught.
    #[inline]
    pub(in crate::history) fn end(&mut self, target: &mut T) {
        let is_quiet = !self.listeners.are_present && self.panic.is_none();
        if self.spill.is_some() || !self.released.is_empty() || !is_quiet {
            self.end_call(target);
        }
    }

    #[inline(never)]
    fn end_call(&mut self, target: &mut T) {
        if self.spill.is_some() {
            spill::end_dropped(self, target);
        }
        if !self.released.is_empty() {
            let mut released = std::mem::take(&mut self.released);
            let panic = finalize_all(released.drain(..), target);
            // The memory of the list is reused: a full history fills it with each edit.
            if self.released.is_empty() {
                self.released = released;
            }
            self.panic = self.panic.take().or(panic);
        }
        if self.spill.is_some() {
            spill::spill(self, target);
        }
        self.notify();
    }

    /// Ends a call that failed: poisons the history if the target is not as before, and resumes a panic.
    pub(super) fn fail(
        &mut self,
        target: &mut T,
        entry: Option<usize>,
        label: Label,
        failure: Failure,
    ) -> Error {
        let is_broken = failure.broken.is_some();
        let error = self.note(entry, label, failure);
        match is_broken {
            true => self.report_all(target),
            // The target is as before, apart from derived state that the failed code may have changed.
            false => self.report(target, &[], Direction::Undo),
        }
        self.end(target);
        error
    }

    /// The label of an entry, for a failure. Empty if its command panics when it is asked.
    fn label_of(&self, index: usize) -> Label {
        guarded(|| Ok(self.ring.get(index).map_or(Label::None, UndoEntry::label)))
            .unwrap_or_default()
    }

    fn fail_at(&mut self, target: &mut T, index: usize, failure: Failure) -> Error {
        let label = self.label_of(index);
        self.fail(target, Some(index), label, failure)
    }

    /// Poisons the history if the failure left something broken, and keeps a panic that must resume.
    pub(super) fn note(&mut self, entry: Option<usize>, label: Label, failure: Failure) -> Error {
        if let Some(Broken { step, done, object, why }) = failure.broken {
            if let Some(journal) = &mut self.journal {
                journal.lose(&why);
            }
            self.poison = Some(Poison { entry, label, step, object, why, done });
        }
        self.panic = failure.panic.or(self.panic.take());
        failure.error
    }

    /// Notifies listeners of what has changed since the last call, and resumes a panic that was caught.
    pub(super) fn notify(&mut self) {
        if self.listeners.are_present {
            let events = self.news();
            self.send(&events);
        }
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }

    /// Notes the current values, and returns the events for those that changed.
    fn news(&mut self) -> Events {
        let current = self.ring.current().map(|index| self.ring.get(index));
        let state = match current {
            Some(Some(entry)) => entry.state,
            _ => self.state(),
        };
        let values = (self.position(), state, self.is_modified_in(state));
        let (undo, redo) = match self.is_ready() {
            true => (current, self.ring.next().map(|index| self.ring.get(index))),
            false => (None, None),
        };
        let reported = &mut self.listeners.reported;
        let undo = renamed(&mut reported.undo, undo, &mut self.panic);
        let redo = renamed(&mut reported.redo, redo, &mut self.panic);
        reported.report(values, (undo, redo))
    }

    /// Passes events to all listeners. A panic of one resumes at the end of the call.
    pub(in crate::history) fn send(&mut self, events: &[HistoryEvent]) {
        let mut listeners = mem::take(&mut self.listeners.all);
        let panic = notify(&mut listeners, events, self);
        self.listeners.are_present = !listeners.is_empty();
        // Listeners cannot subscribe while they run.
        self.listeners.all = listeners;
        if panic.is_some() {
            self.panic = self.panic.take().or(panic);
        }
    }
}

/// Replaces a reported name by that of an entry.
#[inline]
fn renamed<T: 'static>(
    name: &mut EntryName,
    entry: Option<Option<&UndoEntry<T>>>,
    panic: &mut Option<Panic>,
) -> NameChange {
    // Fast path for most edits: the same field of another object was set, and there is nothing to redo.
    match entry {
        None if !name.is_present() => return (None, false),
        None => {}
        Some(entry) => {
            let set = entry.and_then(UndoEntry::set_field);
            if let Some(is_other) = set.and_then(|set| name.is_renamed(set)) {
                return (None, is_other);
            }
        }
    }
    replaced(name, entry, panic)
}

/// Like [`renamed`], for all other names. A label that panics counts as empty, and the panic is kept.
#[inline(never)]
fn replaced<T: 'static>(
    name: &mut EntryName,
    entry: Option<Option<&UndoEntry<T>>>,
    panic: &mut Option<Panic>,
) -> NameChange {
    let new =
        catch_unwind(AssertUnwindSafe(|| EntryName::from_entry(entry))).unwrap_or_else(|why| {
            panic.get_or_insert(why);
            EntryName::Other(Label::None)
        });
    name.replace(new)
}

#[cold]
fn none_failed(what: &str) -> Error {
    error!(ErrorKind::NotFound, "no undo or redo has just failed, there is no entry to be {what}")
}
