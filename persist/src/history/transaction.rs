//! Several edits as one entry.

use std::time::Duration;

use super::entry::Entry;
use super::journal::Record;
use super::merging::Merging;
use super::proof::Watch;
use super::step::{End, Failure, Merge, Step, ends, guarded, run_all};
use super::{History, Label};
use crate::fields::Way;
use crate::{Error, ErrorKind, Result};

/// A transaction that has been begun.
pub(super) struct Open<T: 'static> {
    pub(super) label: Label,
    /// What was done in it, and is not merged.
    pub(super) edits: Vec<Entry<T>>,
    /// Whether the next edit may be merged into the last one.
    pub(super) may_merge: bool,
    watch: Option<Box<Watch>>,
}

impl<T: 'static> Open<T> {
    pub(super) fn new(label: Label) -> Self {
        Self { label, edits: Vec::new(), may_merge: false, watch: None }
    }

    /// Takes in what an edit was done to.
    pub(super) fn watch(&mut self, watch: Option<Box<Watch>>) {
        let before = self.watch.take();
        self.watch = match (before, watch) {
            (_, next) if self.edits.is_empty() => next,
            (Some(mut watch), Some(next)) => {
                watch.append(*next);
                Some(watch)
            }
            // What was not watched cannot be known now.
            _ => None,
        };
    }

    /// Takes in an edit; the failure is that of a merge, and it is an edit of its own then.
    pub(super) fn enter(
        &mut self,
        mut edit: Entry<T>,
        merging: Merging,
        ended: &mut Vec<(Step<T>, End)>,
    ) -> Result<(), Failure> {
        let last = self.edits.last_mut().filter(|_| merging != Merging::No);
        let merge = last.map_or(Ok(Merge::No), |last| last.merge(&mut edit, merging, ended));
        match merge {
            Ok(Merge::Annul) => {
                self.edits.pop();
                self.may_merge = false;
            }
            Ok(Merge::Yes) => {
                self.edits.last_mut().into_iter().for_each(|last| last.time = edit.time);
            }
            Ok(Merge::No) | Err(_) => {
                self.edits.push(edit);
                self.may_merge = true;
            }
        }
        merge.map(|_| ()).map_err(|mut failure| {
            let before = self.edits.iter().rev().skip(2);
            let before: usize = before.map(|edit| edit.steps.len()).sum();
            failure.broken.iter_mut().for_each(|broken| broken.step += before);
            failure
        })
    }

    /// What it is called: as the program said, or after what was done in it.
    fn name(&self) -> Label {
        match (&self.label, &*self.edits) {
            (Label::None, [only]) => only.label.clone(),
            (Label::None, [first, rest @ ..]) if !first.label.is_none() => {
                Label::Several { first: Box::new(first.label.clone()), more: rest.len() }
            }
            (given, _) => given.clone(),
        }
    }

    fn into_steps(self) -> Vec<Step<T>> {
        self.edits.into_iter().flat_map(|edit| edit.steps.into_each()).collect()
    }
}

impl<T: 'static> History<T> {
    /// Begins a transaction, or one nested in the open one.
    ///
    /// All that is done until its [`commit`](Self::commit) is one entry, with this label. Meanwhile nothing can be undone or
    /// redone. It may stay open while the program continues, as while a dialog is open. Within one function [`edit`](Self::edit) is shorter, and rolls back
    /// when the function returns an error.
    ///
    /// # Example
    ///
    /// ```
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
    /// # Ok::<(), persist::Error>(())
    /// ```
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
        // If the clock panics, nothing is done yet.
        let time = self.now();
        self.record(Record::Committed)?;
        self.close(target, time);
        self.end(target);
        Ok(())
    }

    /// Ends the innermost transaction, which is recorded, without telling.
    fn close(&mut self, target: &mut T, time: Duration) {
        let Some(mut open) = self.open.pop() else { return };
        if !open.edits.is_empty() {
            let (label, watch) = (open.name(), open.watch.take());
            let mut entry = Entry::joined(label.clone(), open.edits);
            entry.time = time;
            let entered = guarded(|| {
                self.enter(target, entry, Merging::No, watch);
                Ok(())
            });
            if let Err(failure) = entered {
                self.note(None, label, failure);
            }
        }
        // Nothing is merged across its end.
        match self.open.last_mut() {
            Some(outer) => outer.may_merge = false,
            None => self.may_merge = false,
        }
        self.trim();
    }

    /// Rolls back the transaction that was begun last, and ends it. History and target are then as they were before it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OpenTransaction`] if none is open; [`ErrorKind::WrongTarget`] if it is another world; what cannot be rolled back; the history is then
    /// [poisoned](Self::poison). If it was poisoned before, nothing is rolled back, as the current state is not known.
    pub fn rollback(&mut self, target: &mut T) -> Result<()> {
        self.check_open()?;
        self.check_world(target)?;
        let Some(open) = self.open.pop() else { return Ok(()) };
        let label = open.label.clone();
        let mut steps = open.into_steps();
        // If this fails the journal has a transaction that does not end, which a recovery rolls back.
        let recorded = guarded(|| Ok(self.record(Record::RolledBack)?)).map_err(|failure| {
            self.panic = self.panic.take().or(failure.panic);
            failure.error
        });
        if let Err(error) = self.check_sound() {
            let done = steps.len();
            self.released.extend(ends(steps, done));
            self.end(target);
            return Err(error);
        }
        match run_all(&mut steps, target, &mut self.support, Way::Undo) {
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

    /// True if a transaction is open.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn check_open(&self) -> Result<()> {
        if self.is_open() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::OpenTransaction, "no transaction is open; begin one first"))
    }
}
