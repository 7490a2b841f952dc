//! How much a history keeps.

use super::History;
use super::journal::Record;
use super::step::End;

/// How much a [`History`] keeps: by default everything.
///
/// # Example
///
/// ```
/// use persist::history::Capacity;
/// use persist::{History, World};
///
/// let mut world = World::new();
/// let mut history = History::new(Capacity { entries: Some(1_000), bytes: Some(64 << 20) });
/// history.set_capacity(&mut world, 200); // at most 200 entries, of any size
/// # history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// How many entries, at most. With 0, nothing can be undone.
    pub entries: Option<usize>,
    /// How many [bytes](super::HistoryEntry::bytes) the entries may take in all; the current one is kept, however large.
    /// Those in [files](super::SessionOptions::memory) count as in memory.
    ///
    /// Entries are dropped when one is added, or another limit is set. An undo or a redo may lead over this limit until then, since what it
    /// takes out of the target is held: it drops nothing.
    pub bytes: Option<usize>,
}

impl From<usize> for Capacity {
    fn from(entries: usize) -> Self {
        Self::from(Some(entries))
    }
}

impl From<Option<usize>> for Capacity {
    fn from(entries: Option<usize>) -> Self {
        Self { entries, bytes: None }
    }
}

impl<T: 'static> History<T> {
    /// Makes room for another number of entries or bytes. If there are more, the oldest that can be undone are dropped first, but for the current
    /// one, then those that would be redone last.
    pub fn set_capacity(&mut self, target: &mut T, capacity: impl Into<Capacity>) {
        let Capacity { entries, bytes } = capacity.into();
        // In the next session there may be room for what was evicted in this one. If it cannot be written, it is with the next edit.
        let _ = self.record(Record::Evicted);
        let is_counted = bytes.is_some() || self.max_bytes.is_some();
        self.ring.set_capacity(entries);
        self.has_grown |= self.max_bytes != bytes;
        self.max_bytes = bytes;
        // What is dropped is let go of by the world that it was done to: if this is another one, at the next edit.
        if self.check_world(target).is_ok() {
            if is_counted {
                self.count_all_held(target);
            }
            self.trim();
            self.end(target);
        }
    }

    /// Counts what all entries keep out of the target.
    pub(super) fn count_all_held(&mut self, target: &T) {
        (0..self.ring.len()).for_each(|index| self.count_held(index, target));
    }

    /// Drops entries that there is no room for: of all that are more than the capacity, and for their bytes if something was added.
    #[inline]
    pub(super) fn trim(&mut self) {
        // What is done in a transaction may not be cut before it is known whether it stays; and a journal says itself what was dropped, but for
        // what the last addition has, which is done behind the replay.
        if self.open.is_empty() && !self.support.is_replayed {
            if self.is_over() {
                self.make_room();
            }
            self.has_grown = false;
        }
    }

    fn make_room(&mut self) {
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
}
