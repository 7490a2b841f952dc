//! The saved point, and what drops or skips entries.

use super::History;
use super::journal::Record;
use crate::fields::Way;
use crate::{Error, ErrorKind, Result};

impl<T: 'static> History<T> {
    /// Notes whether the target has unsaved changes in the state that it is in: none after a save, some if it is that of a template, or its file
    /// is gone. After a save, what is done next is an entry of its own, so that an undo leads back here.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// history.edit(&mut world, "Add door", |edit| edit.spawn("Door"))?;
    /// // The program saves the world.
    /// history.set_modified(false)?;
    /// history.undo(&mut world)?;
    /// assert!(history.is_modified());
    /// history.redo(&mut world)?;
    /// assert!(!history.is_modified());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OpenTransaction`] while one is open; what the journal refuses.
    pub fn set_modified(&mut self, is_modified: bool) -> Result<()> {
        self.check_no_transaction()?;
        let saved = (!is_modified).then(|| self.state());
        self.record(Record::Saved(saved))?;
        self.saved = saved;
        self.may_merge &= is_modified;
        self.tell();
        Ok(())
    }

    /// Notes that the target has been saved; the journal knows it.
    pub(super) fn saved_here(&mut self) {
        self.saved = Some(self.state());
        self.may_merge = false;
        self.tell();
    }

    /// True if the target has unsaved changes, including those of an open transaction. A history begins as saved.
    #[must_use]
    pub fn is_modified(&self) -> bool {
        let mut edits = self.open.iter().flat_map(|open| &open.edits);
        self.poison.is_some()
            || self.saved != Some(self.state())
            || edits.any(|edit| edit.is_significant)
    }

    /// The position at which the target is as it was saved; `None` if no undo or redo leads there.
    #[must_use]
    pub fn saved_position(&self) -> Option<usize> {
        let saved = self.saved?;
        // States grow from entry to entry, so that they are searched and not looked through.
        let is_base = self.base >= saved;
        let first = if is_base { 0 } else { self.ring.partition(|entry| entry.state < saved) + 1 };
        let last = self.ring.partition(|entry| entry.state <= saved).min(self.len());
        if first > last || self.state_at(first) != saved {
            return None;
        }
        // Steps that do not count leave the state as it is: of several positions it is the nearest one.
        Some(self.position().clamp(first, last))
    }

    /// Drops all entries; the target stays as it is, modified or not, and a history that is poisoned can be used again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OpenTransaction`] while one is open; [`ErrorKind::WrongTarget`] if it is another world; what the journal refuses.
    pub fn clear(&mut self, target: &mut T) -> Result<()> {
        self.check_world(target)?;
        self.check_no_transaction()?;
        if self.ring.len() == 0 && self.poison.is_none() {
            return Ok(());
        }
        self.record(Record::Cleared)?;
        self.drop_all();
        self.end(target);
        Ok(())
    }

    /// Drops all entries without telling.
    pub(super) fn drop_all(&mut self) {
        self.base = self.state();
        while self.ring.len() > 0 {
            self.remove_entry(self.ring.len() - 1);
        }
        if self.poison.take().is_some() {
            // What is there now was never saved.
            self.forget_states();
        }
        self.may_merge = false;
    }

    /// Why the history is out of use, if it is.
    #[must_use]
    pub fn poison(&self) -> Option<&super::Poison> {
        self.poison.as_ref()
    }

    /// Steps over the entry whose undo or redo has just failed: it counts as undone, or redone, and the target stays as it is, modified.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the last call was no undo or redo that failed; [`ErrorKind::Poisoned`] if the entry was left half done: drop it;
    /// [`ErrorKind::WrongTarget`] if it is another world; what the journal refuses.
    pub fn skip_entry(&mut self, target: &mut T) -> Result<()> {
        self.check_world(target)?;
        self.check_sound()?;
        let way = self.failed.ok_or_else(|| none_failed("skipped"))?;
        self.record(Record::Skipped { is_redo: way == Way::Redo })?;
        self.skip(way);
        self.end(target);
        Ok(())
    }

    /// Steps over an entry; false if there is none. No state that was is that of the target now.
    pub(super) fn skip(&mut self, way: Way) -> bool {
        let is_redo = way == Way::Redo;
        let is_there = if is_redo { self.ring.next() } else { self.ring.current() }.is_some();
        self.ring.step(is_redo);
        self.failed = None;
        self.may_merge = false;
        self.forget_states();
        is_there
    }

    /// Drops the entry whose undo or redo has just failed, or the one at which the history was poisoned, so that it can be used again. The target
    /// stays as it is, and counts as modified.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if nothing failed; [`ErrorKind::WrongTarget`] if it is another world; what the journal refuses.
    pub fn drop_entry(&mut self, target: &mut T) -> Result<()> {
        let index = match (&self.poison, self.failed) {
            (Some(poison), _) => poison.entry,
            (None, Some(Way::Redo)) => self.ring.next(),
            (None, Some(Way::Undo)) => self.ring.current(),
            (None, None) => return Err(none_failed("dropped")),
        };
        self.check_world(target)?;
        self.record(Record::Dropped(index))?;
        self.leave_out(index);
        self.end(target);
        Ok(())
    }

    /// Drops an entry; false if there is none of this index. No state that was is that of the target now.
    pub(super) fn leave_out(&mut self, index: Option<usize>) -> bool {
        let is_there = index.is_none_or(|index| index < self.ring.len());
        if let Some(index) = index.filter(|_| is_there) {
            self.remove_entry(index);
        }
        self.poison = None;
        self.may_merge = false;
        self.forget_states();
        is_there
    }

    pub(super) fn check_no_transaction(&self) -> Result<()> {
        match self.open.last() {
            None => Ok(()),
            Some(open) => Err(Error::new(
                ErrorKind::OpenTransaction,
                format!(
                    "the transaction {} is open; commit it or roll it back first",
                    open.label.quoted("without a label")
                ),
            )),
        }
    }
}

#[cold]
fn none_failed(what: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("no undo or redo has just failed, there is no entry to be {what}"),
    )
}
