//! What frames hold, as values of the library's own codec.

use std::sync::Arc;

use crate::codec::{Buffer, decode};
use crate::history::merging::Merging;
use crate::history::{Label, Poison, Verb};
use crate::world::{Change, Owner};
use crate::{Error, ErrorKind, ObjectId, Persist, Result};

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
    /// None; kept so that journals of earlier versions can be read.
    pub(super) floors: Vec<u64>,
    pub(super) poison: Option<StoredPoison>,
}

#[derive(crate::Persist, Clone)]
#[persist(crate = crate)]
pub(super) struct StoredPoison {
    entry: Option<u64>,
    label: StoredLabel,
    step: u64,
    object: Option<ObjectId>,
    why: String,
    done: u64,
}

/// An entry, whose steps are as they are when it is applied or undone.
#[derive(crate::Persist)]
#[persist(crate = crate)]
pub(super) struct StoredEntry {
    pub(super) label: StoredLabel,
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
    pub(super) label: StoredLabel,
    pub(super) merging: StoredMerging,
    /// Which ids the world had given, if others than the journal says already.
    pub(super) ids: Option<StoredIds>,
    pub(super) steps: Vec<StoredStep>,
}

/// How an edit could become part of the one before.
#[derive(crate::Persist, Clone, Copy)]
#[persist(crate = crate)]
pub(super) enum StoredMerging {
    No,
    Alike,
    Join,
}

impl From<Merging> for StoredMerging {
    fn from(merging: Merging) -> Self {
        match merging {
            Merging::No => Self::No,
            Merging::Alike => Self::Alike,
            Merging::Join => Self::Join,
        }
    }
}

impl From<StoredMerging> for Merging {
    fn from(stored: StoredMerging) -> Self {
        match stored {
            StoredMerging::No => Self::No,
            StoredMerging::Alike => Self::Alike,
            StoredMerging::Join => Self::Join,
        }
    }
}

/// The last id of a world before and after an edit.
#[derive(crate::Persist, Clone, Copy, PartialEq, Eq)]
#[persist(crate = crate)]
pub(super) struct StoredIds {
    pub(super) before: u64,
    pub(super) behind: u64,
}

#[derive(crate::Persist)]
#[persist(crate = crate)]
pub(super) struct StoredBegun {
    pub(super) label: StoredLabel,
}

/// How many entries were evicted.
#[derive(crate::Persist, Default)]
#[persist(crate = crate)]
pub(super) struct StoredEvicted {
    pub(super) oldest: u64,
    pub(super) undone: u64,
}

/// A step.
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
    /// The number of its class.
    pub(in crate::history) class: u32,
    pub(in crate::history) is_direct: bool,
    /// What it was before it was done, if it was done directly just now, and is another now.
    pub(in crate::history) before: Option<Vec<u8>>,
    /// The last id that the world had given by then: what failed before it in its edit has used some up.
    pub(in crate::history) last_id: Option<u64>,
    pub(in crate::history) bytes: Vec<u8>,
    pub(in crate::history) further: Vec<StoredStep>,
}

#[derive(crate::Persist, Clone)]
#[persist(crate = crate)]
pub(super) enum StoredLabel {
    None,
    Text { text: String, action: Option<String> },
    Change { verb: u8, field: Option<String>, object: Option<String> },
    Several { first: Box<StoredLabel>, more: u64 },
}

const VERBS: [Verb; 12] = [
    Verb::Set,
    Verb::Insert,
    Verb::Remove,
    Verb::Move,
    Verb::Create,
    Verb::Delete,
    Verb::Rename,
    Verb::Reparent,
    Verb::Pause,
    Verb::Resume,
    Verb::Attach,
    Verb::Detach,
];

impl From<&Label> for StoredLabel {
    fn from(label: &Label) -> Self {
        match label {
            Label::None => Self::None,
            Label::Text { text, action } => {
                Self::Text { text: text.to_string(), action: action.as_deref().map(String::from) }
            }
            Label::Change { verb, field, object } => Self::Change {
                verb: (0..).zip(VERBS).find(|(_, of)| of == verb).map_or(0, |(code, _)| code),
                field: field.as_ref().map(ToString::to_string),
                object: object.as_deref().map(String::from),
            },
            Label::Several { first, more } => {
                Self::Several { first: Box::new((&**first).into()), more: *more as u64 }
            }
        }
    }
}

impl StoredLabel {
    pub(super) fn restore(self) -> Result<Label> {
        Ok(match self {
            Self::None => Label::None,
            Self::Text { text, action } => {
                Label::Text { text: text.into(), action: action.map(Arc::from) }
            }
            Self::Change { verb, field, object } => Label::Change {
                verb: *VERBS
                    .get(usize::from(verb))
                    .ok_or_else(|| wrong("a verb that does not exist"))?,
                field: field.map(|field| field.parse()).transpose()?,
                object: object.map(Arc::from),
            },
            Self::Several { first, more } => {
                Label::Several { first: Box::new(first.restore()?), more: place(more)? }
            }
        })
    }
}

impl From<&Poison> for StoredPoison {
    fn from(poison: &Poison) -> Self {
        Self {
            entry: poison.entry.map(|entry| entry as u64),
            label: (&poison.label).into(),
            step: poison.step as u64,
            object: poison.object,
            why: poison.why.clone(),
            done: poison.done as u64,
        }
    }
}

impl StoredPoison {
    pub(super) fn restore(self) -> Result<Poison> {
        Ok(Poison {
            entry: self.entry.map(place).transpose()?,
            label: self.label.restore()?,
            step: place(self.step)?,
            object: self.object,
            why: self.why,
            done: place(self.done)?,
        })
    }
}

impl Poison {
    /// How many steps are done of an entry, if it is the one that was left half done.
    pub(super) fn done_of(&self, entry: usize) -> Option<usize> {
        (self.entry == Some(entry)).then_some(self.done)
    }
}

/// An index or a count of the program that wrote it.
pub(super) fn place(number: u64) -> Result<usize> {
    usize::try_from(number).map_err(|_| wrong("an index that is too large"))
}

#[cold]
pub(in crate::history) fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the journal has {what}; it is damaged or made to harm"))
}

/// The payload of a frame.
pub(super) fn payload<V: Persist>(value: &V) -> Result<Vec<u8>> {
    let mut buffer = Buffer::new();
    buffer.encode(value)?;
    Ok(buffer.into_bytes())
}

/// Reads the payload of a frame.
pub(super) fn read<V: Persist>(payload: &[u8]) -> Result<V> {
    decode(payload)
}
