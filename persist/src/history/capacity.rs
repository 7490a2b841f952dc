//! [`Capacity`]: the limits of a history.

/// The limits of a [`History`](super::History). There are none by default.
///
/// # Example
///
/// ```
/// # #[cfg(feature = "world")] {
/// use persist::history::Capacity;
/// use persist::{History, World};
///
/// let mut world = World::new();
/// let mut history = History::new(Capacity { entries: Some(1_000), bytes: Some(64 << 20) });
/// history.set_capacity(&mut world, 200); // at most 200 entries, of any size
/// # history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
/// # }
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// The maximum number of entries. With 0, nothing can be undone.
    pub entries: Option<usize>,
    /// The maximum number of [bytes](super::HistoryEntry::bytes) of all entries.
    ///
    /// The current entry is kept, however large it is. Entries in [files](super::SessionOptions::memory) count like
    /// those in memory. Entries are evicted when one is added or another limit is set. An undo or a redo evicts
    /// nothing, although the objects that it takes out of the target may lead over the limit.
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
