//! The contents of frames, as values of the library's own codec.

use hashbrown::HashSet;

use super::{ComponentKey, StoredCommand, StoredIds};
use crate::codec::{Buffer, decode};
use crate::history::Label;
use crate::history::change::Change;
use crate::history::merging::Merging;
use crate::{Error, ErrorKind, Persist, Result};

/// The schemas of the classes in the frames that follow. Each list is encoded as a save without records.
#[derive(crate::Persist, Clone, PartialEq, Eq)]
#[persist(crate = crate)]
pub struct StoredProgram {
    /// The classes of the commands.
    pub commands: Vec<u8>,
    /// The classes of the components and resources of a world. The classes of any other target are among the commands.
    pub world: Vec<u8>,
}

/// The steps of an edit.
#[derive(crate::Persist)]
#[persist(crate = crate)]
pub struct StoredDone {
    /// The label of the entry.
    pub label: Label,
    /// How the edit may become a part of the previous entry.
    pub merging: Merging,
    /// The ids that the world used before and after the edit, unless they follow from the journal.
    pub ids: Option<StoredIds>,
    /// The steps in the order in which they were done.
    pub steps: Vec<StoredStep>,
}

/// The numbers of entries that were evicted.
#[derive(crate::Persist, Default)]
#[persist(crate = crate)]
pub struct StoredEvicted {
    /// The number of entries evicted from the oldest on, which were applied.
    pub oldest: u64,
    /// The number of undone entries evicted, from the last on.
    pub undone: u64,
}

/// A step of an edit.
#[derive(crate::Persist)]
#[persist(crate = crate)]
pub enum StoredStep {
    /// A command of the program.
    // Boxed, since commands in commands are decoded recursively.
    Command(Box<StoredCommand>),
    /// A change that the library has recorded.
    Change(Box<Change>),
}

impl From<StoredCommand> for StoredStep {
    fn from(command: StoredCommand) -> Self {
        Self::Command(Box::new(command))
    }
}

impl StoredStep {
    /// Passes the changes in it to `show`. Returns true if a command in it changed its target directly.
    pub(super) fn each(&self, show: &mut dyn FnMut(&Change)) -> bool {
        match self {
            Self::Change(change) => {
                show(change);
                false
            }
            Self::Command(command) => {
                let further = command.further.iter();
                // The call comes first, or `||` would skip the changes after a direct command.
                let is_direct = command.direct.is_some();
                further.fold(is_direct, |is_direct, step| step.each(show) || is_direct)
            }
        }
    }
}

/// The components and resources, or the other target, whose fields are changed in these steps.
pub(super) fn fields_of(steps: &[StoredStep]) -> HashSet<ComponentKey> {
    let mut changed = HashSet::new();
    for step in steps {
        step.each(&mut |change| changed.extend(change.key().filter(|_| change.is_of_fields())));
    }
    changed
}

/// Converts an index or a count, which may not fit on this machine.
///
/// # Errors
///
/// Returns an error if the number does not fit.
pub fn place(number: u64) -> Result<usize> {
    // Journals have 64 bits, since a journal may come from another machine.
    usize::try_from(number).map_err(|_| wrong("an index that is too large"))
}

/// Returns the error for content that no program writes.
#[cold]
pub fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the journal has {what}; it is damaged or malicious"))
}

pub(in crate::history) fn payload<V: Persist>(value: &V) -> Result<Vec<u8>> {
    let mut buffer = Buffer::new();
    buffer.encode(value)?;
    Ok(buffer.into_bytes())
}

/// Reads the content of a frame.
///
/// # Errors
///
/// Returns an error if the bytes are not such a value.
pub fn read<V: Persist>(payload: &[u8]) -> Result<V> {
    decode(payload)
}
