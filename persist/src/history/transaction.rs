//! Several edits as one entry.

use super::command::Command;
use super::entry::merge;
use super::journal::Record;
use super::proof::Watch;
use super::step::{BoxedStep, End, Failure, Merge, undo_all};
use super::{Edit, History, Label};
use crate::{Error, ErrorKind, Result};

/// A transaction that has been begun.
pub(super) struct Open<T: 'static> {
    pub(super) label: Label,
    pub(super) steps: Vec<BoxedStep<T>>,
    /// Where the last edit in it begins, and its label.
    last: (usize, Label),
    pub(super) may_merge: bool,
    watch: Option<Watch>,
}

impl<T: 'static> Open<T> {
    pub(super) fn new(label: Label) -> Self {
        Self { label, steps: Vec::new(), last: (0, Label::None), may_merge: false, watch: None }
    }

    /// Takes in what an edit was done to.
    pub(super) fn watch(&mut self, watch: Option<Watch>) {
        match (&mut self.watch, watch) {
            (Some(watch), Some(next)) => watch.append(next),
            (watch, next) => *watch = watch.take().filter(|_| !self.steps.is_empty()).or(next),
        }
    }

    /// Takes in an edit.
    pub(super) fn enter(
        &mut self,
        label: Label,
        mut steps: Vec<BoxedStep<T>>,
        may_merge: bool,
        target: &mut T,
    ) {
        if may_merge && self.last.1 == label {
            let mut last = self.steps.split_off(self.last.0);
            let outcome = merge(&mut last, &mut steps, target);
            self.steps.append(&mut last);
            if outcome != Merge::No {
                self.may_merge = outcome != Merge::Annul;
                return;
            }
        }
        self.last = (self.steps.len(), label);
        self.steps.append(&mut steps);
        self.may_merge = true;
    }
}

impl<T: 'static> History<T> {
    /// Begins a transaction, or one in the one that is open: all that is done until its [`commit`](Self::commit) is one entry, of this label.
    /// Meanwhile nothing can be undone or redone.
    ///
    /// It may stay open while a program goes on, as between the press and the release of a mouse button; [`transaction`](Self::transaction) is one
    /// that ends with its scope.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Poisoned`] if the history [is](Self::poison); what the journal refuses.
    pub fn begin(&mut self, label: impl Into<Label>) -> Result<()> {
        self.check_sound()?;
        let label = label.into();
        self.record(Record::Begun(&label))?;
        self.open.push(Open::new(label));
        self.tell();
        Ok(())
    }

    /// Ends the transaction that was begun last. The outermost becomes an entry, unless nothing was done in it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OpenTransaction`] if none is open; what the journal refuses, and it then is open still.
    pub fn commit(&mut self, target: &mut T) -> Result<()> {
        self.check_open()?;
        self.check_usable(target)?;
        self.record(Record::Committed)?;
        self.close(target);
        self.tell();
        Ok(())
    }

    /// Ends the innermost transaction without telling.
    pub(super) fn close(&mut self, target: &mut T) {
        let Some(Open { label, steps, watch, .. }) = self.open.pop() else { return };
        if let Some(outer) = self.open.last_mut() {
            outer.watch(watch);
            outer.enter(label, steps, false, target);
            outer.may_merge = false;
        } else if !steps.is_empty() {
            self.enter(target, label, steps, false, watch);
            self.may_merge = false;
        }
    }

    /// Takes back all that was done in the transaction that was begun last, and ends it. History and target then are as they were before it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OpenTransaction`] if none is open; what cannot be taken back, and the history then is [poisoned](Self::poison).
    pub fn rollback(&mut self, target: &mut T) -> Result<()> {
        self.check_open()?;
        let Some(mut open) = self.open.pop() else { return Ok(()) };
        let undone = undo_all(&mut open.steps, target);
        // If this fails the journal has a transaction that does not end, which a recovery rolls back.
        let recorded = self.record(Record::RolledBack);
        match undone {
            Ok(()) => {
                open.steps.iter_mut().for_each(|step| step.finalize(target, End::Undone));
                self.changed(target);
                self.tell();
                recorded
            }
            Err(failure) => {
                let broken = Some(super::undo::broken(&failure));
                Err(self.fail(target, None, open.label, Failure { broken, ..failure }))
            }
        }
    }

    /// True if a transaction is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn check_open(&self) -> Result<()> {
        if self.is_open() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::OpenTransaction, "no transaction is open; begin one first"))
    }

    /// Begins a transaction that is rolled back when it is dropped, unless it was committed.
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin).
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// let mut build = history.transaction(&mut world, "Build house")?;
    /// let house = build.edit("", |edit| edit.spawn("House"))?;
    /// build.edit("", |edit| edit.spawn_in(house, "Door"))?;
    /// build.commit()?;
    /// assert_eq!(history.undo_text(), "Undo Build house");
    /// history.undo(&mut world)?;
    /// assert!(world.is_empty());
    ///
    /// let mut build = history.transaction(&mut world, "Build house")?;
    /// build.edit("", |edit| edit.spawn("House"))?;
    /// drop(build);
    /// assert!(world.is_empty());
    /// assert_eq!(history.redo_text(), "Redo Build house");
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn transaction<'h>(
        &'h mut self,
        target: &'h mut T,
        label: impl Into<Label>,
    ) -> Result<Transaction<'h, T>> {
        self.check_usable(target)?;
        self.begin(label)?;
        let depth = self.open.len();
        Ok(Transaction { history: self, target, depth })
    }
}

/// A transaction of a [`History`] that is open as long as this is there: see [`History::transaction`].
pub struct Transaction<'h, T: 'static> {
    pub(super) history: &'h mut History<T>,
    pub(super) target: &'h mut T,
    /// How many transactions are open in it.
    depth: usize,
}

impl<T: 'static> Transaction<'_, T> {
    /// The target as it is now.
    #[must_use]
    pub fn target(&self) -> &T {
        self.target
    }

    /// As [`History::edit`]; one that fails leaves the transaction as it was.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn edit<R>(
        &mut self,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut Edit<'_, T>) -> Result<R>,
    ) -> Result<R> {
        self.history.edit(self.target, label, edit)
    }

    /// As [`History::apply`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn apply(&mut self, command: impl Command<T>) -> Result<()> {
        self.history.apply(self.target, command)
    }

    /// Begins a transaction in this one, which can be rolled back alone.
    ///
    /// # Errors
    ///
    /// As [`History::begin`].
    pub fn transaction(&mut self, label: impl Into<Label>) -> Result<Transaction<'_, T>> {
        self.history.transaction(self.target, label)
    }

    /// Ends it: what was done in it is one entry, or a part of the transaction around it.
    ///
    /// # Errors
    ///
    /// As [`History::commit`]; it then is rolled back.
    pub fn commit(self) -> Result<()> {
        self.history.commit(self.target)
    }

    /// Takes back all that was done in it.
    ///
    /// # Errors
    ///
    /// As [`History::rollback`].
    pub fn rollback(self) -> Result<()> {
        self.history.rollback(self.target)
    }
}

impl<T: 'static> Drop for Transaction<'_, T> {
    fn drop(&mut self) {
        // Nobody is there to be told of an error; if it leaves the target half done, the history says so. Of a panic
        // while another one unwinds nothing may go on.
        while self.history.open.len() >= self.depth {
            let (history, target) = (&mut *self.history, &mut *self.target);
            let rollback = std::panic::AssertUnwindSafe(|| drop(history.rollback(target)));
            if std::panic::catch_unwind(rollback).is_err() && !std::thread::panicking() {
                break;
            }
        }
    }
}
