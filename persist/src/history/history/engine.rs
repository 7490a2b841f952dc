//! How edits, commands and transactions become entries of the list.
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

use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};

use crate::fields::{Direction, Merge};
#[cfg(feature = "world")]
use crate::history::change::Change;
use crate::history::change::step::{ends, run_back};
use crate::history::edit::command::Command;
use crate::history::journal::{FrameKind, payload};
use crate::history::merging::Merging;
use crate::history::{
    Drag, Edit, Editable, Failure, History, Label, MergeKey, MergeTarget, OpenDrag, Panic,
    Performed, Step, Steps, Summary, Transaction, UndoEntry, guarded,
};
use crate::{Error, ErrorKind, Persist, Result};

impl<T: 'static> History<T> {
    /// Edits a target, and records the changes as one entry with this label.
    ///
    /// An edit that changes nothing leaves no entry, and keeps the entries that can be redone. With an empty label, the
    /// entry is named after its changes. In an open transaction, the changes become a part of the transaction.
    ///
    /// For a [`World`](crate::World), the closure receives an [`Edit`], whose methods record what they do. For any
    /// other type, it receives the value itself: the target is encoded before and after the closure, and the fields and
    /// list elements that differ are recorded. So such an edit takes time and memory in proportion to the whole target;
    /// [`edit_at`](Self::edit_at) does the same for one part. Fields with `skip`, and changes inside a cell without
    /// `&mut`, are not recorded.
    ///
    /// The closure cannot use the history:
    ///
    /// ```compile_fail,E0499
    /// # let (mut world, mut history) = (persist::World::new(), persist::History::new(9));
    /// history.edit(&mut world, "Edit", |_| history.set_modified(false))?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the closure, or of a component that refuses its new value. Target and history are then as
    /// before, as they are after a panic. Returns [`ErrorKind::Unsupported`], with the
    /// name of the field, if the type of the target holds shared pointers, and
    /// [`ErrorKind::Poisoned`] if the history [is poisoned](Self::poison).
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

    /// Runs an edit and enters its steps.
    pub(super) fn edit_as<R>(
        &mut self,
        target: &mut T,
        key: Option<MergeKey>,
        label: Label,
        edit: impl FnOnce(&mut Edit<'_, T>) -> Result<R>,
    ) -> Result<R> {
        self.check_usable(target)?;
        match Edit::run(target, &mut self.support, edit) {
            Ok((value, steps)) => {
                self.finish(target, (label, key), steps)?;
                Ok(value)
            }
            Err(failure) => Err(self.fail_new(target, label, failure)),
        }
    }

    /// Executes a command and records it, as an entry of its own or as a part of the open transaction.
    ///
    /// # Errors
    ///
    /// Returns the error of the command, and otherwise the same errors as [`edit`](Self::edit). If the command panics
    /// after it changed the target [directly](crate::history::CommandEdit::target), the history is [poisoned](Self::poison).
    pub fn apply(&mut self, target: &mut T, command: impl Command<T>) -> Result<()> {
        self.check_usable(target)?;
        let mut performed = Performed::new(command);
        match performed.perform(target, &mut self.support) {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.finish(target, (Label::None, None), Steps::One(Step::Command(performed)))
            }
            Err(failure) => {
                let label = performed.any_label();
                Err(self.fail_new(target, label, failure))
            }
        }
    }

    /// Edits like [`edit`](Self::edit), but joins the previous entry if that has the same key.
    ///
    /// Use it for each key press in a text field, or each move of a slider. Edits are not joined across an undo, a
    /// redo, a save or the border of a transaction.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`edit`](Self::edit).
    ///
    /// # Example
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// let door = history.edit(&mut world, "Add door", |edit| edit.spawn("Door"))?;
    /// for text in ["G", "Ga", "Gat", "Gate"] {
    ///     history.edit_merging(&mut world, ("name", door), "Rename", |edit| {
    ///         edit.rename(door, text).map(drop)
    ///     })?;
    /// }
    /// history.undo(&mut world)?;
    /// assert_eq!(world.name(door), Some("Door"));
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn edit_merging<R>(
        &mut self,
        target: &mut T,
        key: impl Hash,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R>
    where
        T: Editable,
    {
        let key = MergeKey::of(&key);
        self.edit_as(target, Some(key), label.into(), |scope| T::persist_edit(scope, edit))
    }

    /// Begins a drag: all edits until [`end_drag`](Self::end_drag) become one entry with this label.
    ///
    /// With an empty label, the entry has the label of its first edit. A drag lives across frames, from the press to
    /// the release of a mouse button. In contrast to a [transaction](Self::begin), each edit is in the list at once: it
    /// survives a crash, and it can be undone. After an undo, a redo, a save or a transaction, the rest of the drag
    /// becomes an entry of its own. A second drag ends the first.
    ///
    /// # Example
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
    /// use persist::{Component, History, Persist, World, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Place { x: f32, y: f32 }
    /// impl Component for Place {}
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// let door = world.spawn("Door");
    /// world.attach(door, Place::default())?;
    /// let drag = history.begin_drag("Move door");
    /// for at in [1.0, 2.0, 3.0] {
    ///     history.set(&mut world, door, field!(Place.x), at)?;
    ///     history.set(&mut world, door, field!(Place.y), at)?;
    /// }
    /// history.end_drag(drag);
    /// assert_eq!(history.undo_text(), "Undo Move door");
    /// history.undo(&mut world)?;
    /// assert_eq!(world.get::<Place>(door).map(|place| (place.x, place.y)), Some((0.0, 0.0)));
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn begin_drag(&mut self, label: impl Into<Label>) -> Drag {
        let open = Arc::new(());
        let number = self.merges.drag.as_ref().map_or(0, |drag| drag.number + 1);
        let label = label.into();
        self.merges.drag = Some(OpenDrag { number, label, open: Arc::downgrade(&open) });
        self.end_merging();
        Drag { open }
    }

    /// Ends a drag. Does nothing if the drag has already ended.
    #[expect(clippy::needless_pass_by_value, reason = "it has ended")]
    pub fn end_drag(&mut self, drag: Drag) {
        if let Some(open) = &mut self.merges.drag
            && Weak::ptr_eq(&open.open, &Arc::downgrade(&drag.open))
        {
            open.open = Weak::new();
            self.end_merging();
        }
    }

    /// Begins a transaction, or one nested in the open one.
    ///
    /// All edits until its [`commit`](Self::commit) become one entry with this label. Meanwhile nothing can be undone
    /// or redone. A transaction may stay open across frames, as while a dialog is open. Within one function,
    /// [`edit`](Self::edit) is shorter, and rolls back when the function returns an error.
    ///
    /// # Example
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// history.begin("Build house")?;
    /// let house = history.edit(&mut world, "", |edit| edit.spawn("House"))?;
    /// history.edit(&mut world, "", |edit| edit.spawn_in(house, "Door"))?;
    /// history.commit(&mut world)?;
    /// assert_eq!(history.undo_text(), "Undo Build house");
    /// history.undo(&mut world)?;
    /// assert!(world.objects().len() == 0);
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Poisoned`] if the history [is poisoned](Self::poison), or an error if the journal cannot be
    /// written.
    pub fn begin(&mut self, label: impl Into<Label>) -> Result<()> {
        self.check_sound()?;
        let label = label.into();
        self.record(FrameKind::Begun, &label)?;
        self.open.push(Transaction::new(label));
        self.notify();
        Ok(())
    }

    /// Ends the innermost transaction. The outermost one becomes an entry, unless it is empty.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::OpenTransaction`] if none is open, or an error if the journal cannot be written. In the
    /// latter case the transaction stays open.
    pub fn commit(&mut self, target: &mut T) -> Result<()> {
        self.check_open()?;
        self.check_usable(target)?;
        self.record(FrameKind::Committed, &())?;
        let Some(open) = self.open.pop() else { return Ok(()) };
        if !open.edits.is_empty() {
            let label = open.name();
            let entry = UndoEntry::joined(label.clone(), open.edits);
            let entered = guarded(|| {
                self.enter(target, entry, (Merging::No, MergeTarget::default()));
                Ok(())
            });
            if let Err(failure) = entered {
                self.note(None, label, failure);
            }
        }
        // Edits after the transaction are not merged into it.
        match self.open.last_mut() {
            Some(outer) => outer.last = None,
            None => self.merges.last = None,
        }
        self.trim();
        self.end(target);
        Ok(())
    }

    /// Rolls back and ends the innermost transaction. History and target are then as they were before it began.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::OpenTransaction`] if none is open, [`ErrorKind::WrongTarget`] if the target is another
    /// world, or an error if a change cannot be undone. In the last case the history is [poisoned](Self::poison). If it
    /// was poisoned before, nothing is rolled back, since the current state is unknown.
    pub fn rollback(&mut self, target: &mut T) -> Result<()> {
        self.check_open()?;
        self.check_world(target)?;
        let Some(open) = self.open.pop() else { return Ok(()) };
        let label = open.label.clone();
        let mut steps: Vec<_> =
            open.edits.into_iter().flat_map(|edit| edit.steps.into_each()).collect();
        // If this fails, the journal has a transaction without an end, which a recovery rolls back as well.
        let recorded = guarded(|| Ok(self.record(FrameKind::RolledBack, &())?));
        self.forget_contents();
        let recorded = recorded.map_err(|failure| {
            self.panic = self.panic.take().or(failure.panic);
            failure.error
        });
        if let Err(error) = self.check_sound() {
            let done = steps.len();
            self.released.extend(ends(steps, done));
            self.end(target);
            return Err(error);
        }
        match run_back(&mut steps, target, &mut self.support, Direction::Undo) {
            Ok(()) => {
                if !steps.is_empty() {
                    self.changed(target);
                }
                self.released.extend(ends(steps, 0));
                self.trim();
                self.end(target);
                recorded
            }
            Err(mut failure) => {
                failure.broken = Some(failure.broken());
                self.released.extend(ends(steps, failure.done));
                Err(self.fail(target, None, label, failure))
            }
        }
    }

    /// Runs a closure in a transaction, or one nested in the open one: all of its edits become one entry with this label.
    ///
    /// If the closure fails or panics, all of them are rolled back.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Document { title: String, lines: Vec<String> }
    ///
    /// let (mut document, mut history) = (Document::default(), History::new(100));
    /// history.transaction(&mut document, "Paste", |history, document| {
    ///     history.set_field(document, field!(Document.title), "Plan")?;
    ///     history.insert_element(document, field!(Document.lines), 0, "Once upon a time")
    /// })?;
    /// assert_eq!(history.undo_text(), "Undo Paste");
    /// history.undo(&mut document)?;
    /// assert!(document.title.is_empty() && document.lines.is_empty());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the closure, and the same errors as [`begin`](Self::begin), [`commit`](Self::commit) and
    /// [`rollback`](Self::rollback).
    pub fn transaction<R>(
        &mut self,
        target: &mut T,
        label: impl Into<Label>,
        run: impl FnOnce(&mut Self, &mut T) -> Result<R>,
    ) -> Result<R> {
        let depth = self.open.len();
        self.begin(label)?;
        let result = catch_unwind(AssertUnwindSafe(|| run(self, target)));
        self.end_transaction(target, depth, result)
    }

    /// Ends the transactions that were begun at this depth: commits if the closure succeeded, and rolls back otherwise.
    pub(in crate::history) fn end_transaction<R>(
        &mut self,
        target: &mut T,
        depth: usize,
        result: Result<Result<R>, Panic>,
    ) -> Result<R> {
        // The closure may have left others open, or ended its own.
        let committed = match &result {
            Ok(Ok(_)) if self.open.len() == depth + 1 => self.commit(target),
            Ok(Ok(_)) => Err(error!(
                ErrorKind::OpenTransaction,
                "the closure of a transaction begins and ends others in pairs; {} are open, and there were {}",
                self.open.len(),
                depth + 1
            )),
            _ => Ok(()),
        };
        let is_done = matches!(result, Ok(Ok(_))) && committed.is_ok();
        let mut rolled_back = Ok(());
        while !is_done && self.open.len() > depth {
            rolled_back = rolled_back.and(self.rollback(target));
        }
        let value = result.unwrap_or_else(|panic| resume_unwind(panic))?;
        committed.and(rolled_back).map(|()| value)
    }

    pub(in crate::history) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn check_open(&self) -> Result<()> {
        if self.is_open() {
            return Ok(());
        }
        Err(error!(ErrorKind::OpenTransaction, "no transaction is open; begin one first"))
    }
}

/// Steps of edits, on their way into the list.
impl<T: 'static> History<T> {
    /// Enters the steps of an edit or a command: records them in the journal, then merges or appends them.
    fn finish(
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
        let (label, key) = self.dragged(label, key);
        let mut entry = UndoEntry::new(label, steps);
        let merging = match self.settle(target, &mut entry, key) {
            Ok(merging) => merging,
            Err(failure) => {
                let UndoEntry { label, steps, .. } = entry;
                return Err(self.withdraw(target, label, steps, failure));
            }
        };
        self.changed(target);
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
            let last = MergeTarget { key, time: self.now(), has_cut: false };
            let merging = self.merging(&last);
            if let Some(journal) = &mut self.journal {
                let (label, steps) = (&entry.label, &mut entry.steps);
                journal.record_done((target, &self.support), label, steps, merging)?;
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
        current.is_some_and(|entry| entry.steps.is_empty() && entry.away().is_none())
    }

    /// Removes the current entry if it is annulled, before another one takes its place. Returns true if it did.
    fn take_annulled(&mut self) -> bool {
        let current = self.ring.current().filter(|_| self.is_annulled());
        current.is_some_and(|index| self.take_out(index).is_some())
    }

    /// True if an edit without a key takes the fast path: nothing but the list has to know of it.
    ///
    /// No journal, transaction or drag is active, the edit cannot be merged, and no entries would be cut.
    #[inline]
    fn is_plain(&self) -> bool {
        self.journal.is_none()
            && self.open.is_empty()
            && !self.is_dragged()
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
        self.changed(target);
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
    fn fail_new(&mut self, target: &mut T, label: Label, mut failure: Failure) -> Error {
        if let Some(open) = self.open.last() {
            let whole = open.label.quoted("the transaction");
            let (step, message) = (open.edits.len(), failure.error.message());
            let message = format!("step {step} of {whole}: {message}");
            failure.error = failure.error.reworded(message);
        }
        self.fail(target, None, label, failure)
    }
}
