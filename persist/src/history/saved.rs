//! The saved point and limits.

use std::any::Any;

use super::History;
use super::journal::Record;
use super::step::End;
use crate::fields::Way;
use crate::{Error, ErrorKind, Result, World};

impl<T: 'static> History<T> {
    /// Notes that the target has been saved in the state that it is in. What is done next is an entry of its own, so that an undo leads back here.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OpenTransaction`] while one is open; what the journal refuses.
    pub fn mark_saved(&mut self) -> Result<()> {
        self.check_no_transaction()?;
        let state = self.state();
        self.record(Record::Saved(Some(state)))?;
        self.saved = Some(state);
        self.may_merge = false;
        self.tell();
        Ok(())
    }

    /// Notes that the target has been saved; the journal knows it.
    pub(super) fn saved_here(&mut self) {
        self.saved = Some(self.state());
        self.may_merge = false;
        self.tell();
    }

    /// Notes that the target has unsaved changes, such as that of a template, or of a file that is gone.
    ///
    /// # Errors
    ///
    /// Those of [`mark_saved`](Self::mark_saved).
    pub fn mark_unsaved(&mut self) -> Result<()> {
        self.check_no_transaction()?;
        self.record(Record::Saved(None))?;
        self.saved = None;
        self.tell();
        Ok(())
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

    /// Makes room for another number of entries. If there are more, the oldest that can be undone are dropped first, but for the current one,
    /// then those that would be redone last.
    pub fn set_capacity(&mut self, target: &mut T, capacity: Option<usize>) {
        self.ring.set_capacity(capacity);
        self.trim_of(target);
    }

    /// Sets how many bytes the entries may take in all, as [`bytes`](Self::bytes) counts them; the current one is kept, however large.
    ///
    /// Entries are dropped when one is added, or another limit is set. An undo or a redo may put `bytes` over the limit until then, since what it takes out of the
    /// target is held: it drops nothing.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Like [`max_bytes`](Self::max_bytes), for a history in use; `None` is no limit.
    pub fn set_max_bytes(&mut self, target: &mut T, bytes: Option<usize>) {
        self.max_bytes = bytes;
        self.has_grown = true;
        if self.check_world(target).is_ok() {
            self.count_all_held(target);
        }
        self.trim_of(target);
    }

    /// Counts what all entries keep out of the target.
    pub(super) fn count_all_held(&mut self, target: &T) {
        (0..self.ring.len()).for_each(|index| self.count_held(index, target));
    }

    /// What is dropped is let go of by the world that it was done to: if this is another one, at the next edit.
    fn trim_of(&mut self, target: &mut T) {
        if self.check_world(target).is_ok() {
            self.trim();
            self.end(target);
        }
    }

    /// Drops entries that there is no room for: of all that are more than the capacity, and for their bytes if something was added.
    pub(super) fn trim(&mut self) {
        // What is done in a transaction may not be cut before it is known whether it stays; and a journal says itself what was dropped, but for
        // what the last addition has, which is done behind the replay.
        if !self.open.is_empty() || self.support.is_replayed {
            return;
        }
        while self.is_over() {
            let is_only = self.ring.position() <= 1;
            let is_spare = !is_only || self.ring.next().is_none();
            let end = if is_spare && self.ring.position() > 0 { End::Applied } else { End::Undone };
            if !self.drop_one(end) {
                break;
            }
            if let Some(journal) = &mut self.journal {
                journal.evicted(end);
            }
        }
        self.has_grown = false;
    }

    /// Drops the oldest entry, or the last of those that are undone; false if there is none.
    pub(super) fn drop_one(&mut self, end: End) -> bool {
        match end {
            End::Undone if self.ring.next().is_some() => self.remove_entry(self.ring.len() - 1),
            End::Applied | End::Merged if self.ring.position() > 0 => {
                self.base = self.state_at(1);
                self.remove_entry(0);
            }
            _ => return false,
        }
        true
    }

    fn is_over(&self) -> bool {
        let is_large = self.max_bytes.is_some_and(|most| self.bytes > most);
        self.ring.is_over() || (self.has_grown && is_large && self.ring.len() > 1)
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

    /// Continues with a target that has replaced the one before, and is equal to it.
    pub(super) fn is_of(&mut self, target: &T) {
        let target: &dyn Any = target;
        self.world = target.downcast_ref::<World>().map(World::identity);
    }
}

#[cold]
fn none_failed(what: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("no undo or redo has just failed, there is no entry to be {what}"),
    )
}
