//! What frames hold, as values of the library's own codec.

use crate::codec::{Buffer, decode};
use crate::history::merging::Merging;
use crate::history::{Label, Poison};
use crate::world::{Change, Owner};
use crate::{Error, ErrorKind, Persist, Result};

/// The schemas of the classes in the following frames, each list as a save without records.
#[derive(crate::Persist, Clone, PartialEq, Eq)]
#[persist(crate = crate)]
pub(super) struct StoredProgram {
    pub(super) commands: Vec<u8>,
    /// Of the components of a world, and of its resources; those of another target are among the commands.
    pub(super) world: Vec<u8>,
}

/// A history as it was when its journal began, besides its entries.
#[derive(crate::Persist, Default)]
#[persist(crate = crate)]
pub(super) struct StoredStacks {
    pub(super) entries: u64,
    pub(super) position: u64,
    pub(super) base: u64,
    pub(super) last_state: u64,
    pub(super) saved: Option<u64>,
    pub(super) poison: Option<Poison>,
}

/// An entry, whose steps are as they are when it is applied or undone.
#[derive(crate::Persist)]
#[persist(crate = crate)]
pub(super) struct StoredEntry {
    pub(super) label: Label,
    pub(super) state: u64,
    pub(super) steps: Vec<StoredStep>,
}

/// What a component of an object is, or a resource.
#[derive(crate::Persist)]
#[persist(crate = crate)]
pub(super) struct StoredContent {
    pub(super) owner: Owner,
    pub(super) class: String,
    pub(super) bytes: Vec<u8>,
}

/// Steps that were done.
#[derive(crate::Persist)]
#[persist(crate = crate)]
pub(super) struct StoredDone {
    pub(super) label: Label,
    pub(super) merging: Merging,
    /// Which ids the world had given, if others than the journal says already.
    pub(super) ids: Option<StoredIds>,
    pub(super) steps: Vec<StoredStep>,
}

/// The last id of a world before and after an edit.
#[derive(crate::Persist, Clone, Copy, PartialEq, Eq)]
#[persist(crate = crate)]
pub(super) struct StoredIds {
    pub(super) before: u64,
    pub(super) behind: u64,
}

/// How many entries were evicted.
#[derive(crate::Persist, Default)]
#[persist(crate = crate)]
pub(super) struct StoredEvicted {
    pub(super) oldest: u64,
    pub(super) undone: u64,
}

#[derive(crate::Persist)]
#[persist(crate = crate)]
pub(in crate::history) enum StoredStep {
    // Boxed, as commands in commands are read one in the other.
    Command(Box<StoredCommand>),
    Change(Box<Change>),
}

impl From<StoredCommand> for StoredStep {
    fn from(command: StoredCommand) -> Self {
        Self::Command(Box::new(command))
    }
}

impl StoredStep {
    /// Shows the changes in it; true if a command in it changed its target directly.
    pub(super) fn each(&self, show: &mut dyn FnMut(&Change)) -> bool {
        match self {
            Self::Change(change) => {
                show(change);
                false
            }
            Self::Command(command) => {
                let further = command.further.iter();
                further.fold(command.is_direct, |is_direct, step| step.each(show) || is_direct)
            }
        }
    }
}

#[derive(crate::Persist)]
#[persist(crate = crate)]
pub(in crate::history) struct StoredCommand {
    pub(in crate::history) class: u32,
    pub(in crate::history) is_direct: bool,
    /// What it was before it was done, if it was done directly just now, and is another now.
    pub(in crate::history) before: Option<Vec<u8>>,
    /// The last id that the world had given by then: what failed before it in its edit has used some up.
    pub(in crate::history) last_id: Option<u64>,
    pub(in crate::history) bytes: Vec<u8>,
    pub(in crate::history) further: Vec<StoredStep>,
}

/// An index or a count of the program that wrote it.
pub(super) fn place(number: u64) -> Result<usize> {
    usize::try_from(number).map_err(|_| wrong("an index that is too large"))
}

#[cold]
pub(in crate::history) fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the journal has {what}; it is damaged or made to harm"))
}

pub(in crate::history) fn payload<V: Persist>(value: &V) -> Result<Vec<u8>> {
    let mut buffer = Buffer::new();
    buffer.encode(value)?;
    Ok(buffer.into_bytes())
}

pub(super) fn read<V: Persist>(payload: &[u8]) -> Result<V> {
    decode(payload)
}
