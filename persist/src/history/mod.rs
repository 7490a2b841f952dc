//! Undo, redo, and a journal from which a crashed program recovers.
//!
//! A [`History`] records edits as entries. An entry holds changes of a value or of a [`World`], and
//! [`Command`]s of the program. A [`Session`] is a target with its history, its save and a journal on disk.
//!
//! ```
//! use persist::{History, Persist, Saves, Session, field};
//!
//! #[derive(Persist, Default)]
//! struct Document { title: String, pages: Vec<String> }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let (save, journal) = (folder.path().join("plan.sav"), folder.path().join("plan.journal"));
//! let open = || Session::<Document>::with(Saves::new(), History::new(256)).open(&save, &journal);
//!
//! let (mut session, _) = open()?;
//! session.set_field(field!(Document.title), "Plan")?;
//! session.edit("Add page", |document| {
//!     document.pages.push("Once upon a time".into());
//!     Ok(())
//! })?;
//! drop(session); // a crash: the edits are in the journal, but were never saved
//!
//! let (mut session, _) = open()?;
//! assert_eq!(session.target().pages.len(), 1);
//! session.undo()?;
//! assert!(session.target().pages.is_empty());
//! assert_eq!(session.history().undo_text(), "Undo Set Document.title");
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! With the feature `world`, the target may be a `World`, whose objects and components are edited:
//!
//! ```
//! # #[cfg(feature = "world")] {
//! use persist::{Component, History, Persist, World, field};
//!
//! #[derive(Persist)]
//! struct Door { is_open: bool }
//! impl Component for Door {}
//!
//! let mut world = World::new();
//! let door = world.spawn("Door");
//! world.attach(door, Door { is_open: false })?;
//!
//! let mut history = History::new(100);
//! history.set(&mut world, door, field!(Door.is_open), true)?;
//! history.undo(&mut world)?;
//! assert_eq!(world.get::<Door>(door).map(|door| door.is_open), Some(false));
//! # }
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`History`], [`Entries`], [`HistoryEntry`], [`Label`], [`Verb`] | the list of entries, and their labels |
//! | [`Capacity`] | the limits of a history |
//! | [`Editable`] | the targets of a history: a world, or any type with field records |
//! | [`Edit`] | the target of an edit, which records its changes |
//! | [`Drag`], [`MergeWindow`] | several edits that become one entry |
//! | [`Command`], [`CommandEdit`], [`Merge`] | edits by code of the program |
//! | [`HistoryEvent`], [`Subscription`], [`FinalState`] | notifications for menus |
//! | [`Changed`], [`ChangedField`], [`ElementEdit`] | what a call changed, for views and indexes |
//! | [`Histories`], [`HistoryId`] | the histories of several documents, with one menu |
//! | [`Proof`], [`Poison`] | checks of undos, and failures of rollbacks |
//! | [`Session`], [`SessionOptions`], [`Flush`], [`JournalInfo`] | the journal, and when it is flushed |
//! | [`Recovered`], [`TornWrite`], [`ReplayStop`] | the report of a recovery after a crash |

// A map of this module.
//
// # Parts
//
//                        program
//                           | edit, apply, undo, redo, begin, commit
//                           v
//     +--------------------------------------------------------------------+
//     | History        edits, engine: order of each call                   |
//     |   Ring         the list of entries and the position                |
//     |     UndoEntry  entry: label, state number, steps; merges           |
//     |       StepOf   step: a Change (data) or a command (code)           |
//     |   Support      support: classes, buffers, field access, lent out   |
//     |   Listeners    event, group: notified at the end of a call         |
//     |   ChangeListeners  reports: hear what a call changed               |
//     |   Journal      journal: the same steps as frames of a file         |
//     +--------------------------------------------------------------------+
//                           | Change::apply, Command::apply
//                           v
//                 target: a World, or any value
//
// - `history` has the state numbers, the saved point, the limits and the eviction (`trim`, `make_room`, `drop_one`).
//   `Ring` is a list that knows no target.
// - `edit` has the `Edit` that a closure receives, and `edit::command` commands, with the check of their undos. `world`
//   has the edits of worlds, `editable` those of other types. All of them produce steps.
// - `change` has changes of fields, and converts them to the types of a later program. It takes the changes of objects
//   from the room `world`. Without the feature `world`, `no_world` has types without values in its place.
// - `change::step` has changes and commands as steps, and `change::step::entry` the entries that are made of them.
// - `history::engine` enters steps into the list, `entry` and `merging` merge them, `history::undo` runs them back and
//   ends each call.
// - The records that several files use are defined below, after this map, and so are failures.
// - `label`, `event` and `group` serve menus.
//
// # An edit
//
// 1. The closure runs with an `Edit`. `get_mut` encodes the component first and hands out the reference (a pending
//    change). Other methods execute a change and push its step.
// 2. At the end, pending changes are compared with the current values. Each difference becomes a step.
// 3. The journal records the steps. Up to here, any error or panic rolls the steps back.
// 4. Undone entries are cut. The steps merge into the current entry, or a new entry is appended with a new state
//    number.
// 5. Entries over the limits are evicted. Dropped steps are finalized, listeners notified, and a caught panic resumes.
//
// # An undo
//
// 1. If the current entry is in a file still, since it could not be read in advance, it is read.
// 2. The steps are undone, the last one first. If one fails, those before it are redone, and the entry stays.
// 3. `validate` functions check the result, then the journal records the event. If either fails, the steps are redone.
// 4. The position moves, and the call ends as that of an edit.
//
// If a rollback fails, the target is in a state that no entry describes. The history is then poisoned: it refuses
// everything until the entry is dropped. The code of the program runs under `guarded`, so that a panic cannot skip
// these steps.
//
// # Words
//
// - An *entry* is what one undo reverts. It has *steps*. An *edit* is a call that produces steps; several may merge
//   into an entry.
// - The *current* entry is the last applied one. The entries after it are undone, and can be redone.
// - A *state* is the number of what the target holds. A new edit gives a new number, an undo returns to the previous
//   one. An entry that is not *significant* keeps the number. The *saved point* is the number at the last save.
// - A command is *direct* if it changed its target itself. Only its own code can undo and redo that. Changes and
//   commands through its edit are *further* steps.
// - A step is *finalized* when it can no longer be undone, can no longer be redone, or was merged.
// - *Held* bytes belong to objects, components and resources that steps keep outside the target.

mod capacity;
pub(crate) mod change;
mod edit;
mod editable;
mod entries;
mod event;
mod group;
#[expect(clippy::module_inception, reason = "the module is named after the type in it")]
mod history;
pub(crate) mod journal;
mod label;
pub(crate) mod merging;
mod reports;
mod support;
#[cfg(feature = "world")]
mod world;
#[cfg(not(feature = "world"))]
#[path = "no_world.rs"]
mod world;

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hashbrown::HashSet;

use crate::codec::{Decoder, Fail, Portable};
use crate::fields::{Direction, PartBuffers, Print};
use crate::graph::Registry;
use crate::platform::Timer;
use crate::{Error, ErrorKind, FieldPath, ObjectId, Result};
use change::step::entry::Order;
use change::step::{StepOf, StepsOf};
use edit::Again;
use edit::command::{AnyCommand, CommandPrints, PreviousState};
use event::{EntryName, ListenerEntry};
use journal::{CommandClasses, Journal, Spill};
use reports::ChangeListeners;
use support::PriorValue;
use world::World;

pub use crate::fields::{Changed, ChangedField, ElementEdit, Merge};
pub use capacity::Capacity;
pub use change::step::FinalState;
pub use edit::command::CommandEdit;
pub use edit::command::Proof;
pub use editable::Editable;
pub use entries::{Entries, HistoryEntry};
pub use event::{HistoryEvent, Subscription};
pub use group::{Histories, HistoryId};
pub use journal::{Flush, JournalInfo, Recovered, ReplayStop, SessionOptions, TornWrite};
pub use label::{Label, Verb};

// These are documented at the root of the crate.
#[doc(hidden)]
pub use crate::fields::Sendable;
#[doc(hidden)]
pub use edit::command::Command;
#[doc(hidden)]
pub use journal::Session;

/// A list of edits of a `T`, which it can undo and redo.
///
/// Each edit is an entry. The entries before the [position](Self::position) are applied, the others are undone and can
/// be redone. A new edit cuts the entries that could be redone. The target is not stored in the history, but passed to
/// each call.
///
/// Changes of a [`World`], and of any other type that derives [`Persist`](derive@crate::Persist), are found by
/// comparing fields: see [`edit`](Self::edit). [Commands](super::Command) do the rest, in code of the program.
///
/// # Example
///
/// ```
/// # #[cfg(feature = "world")] {
/// use persist::{Component, History, Persist, World, field};
///
/// #[derive(Persist)]
/// struct Transform { x: f32, y: f32 }
///
/// impl Component for Transform {}
///
/// let (mut world, mut history) = (World::new(), History::new(256));
/// let door = history.edit(&mut world, "Add door", |edit| {
///     let door = edit.spawn("Door")?;
///     edit.attach(door, Transform { x: 0.0, y: 0.0 })?;
///     Ok(door)
/// })?;
/// history.edit(&mut world, "Move door", |edit| {
///     edit.get_mut::<Transform>(door)?.x = 50.0;
///     Ok(())
/// })?;
/// history.set(&mut world, door, field!(Transform.y), 7.0)?;
/// assert_eq!(history.undo_text(), "Undo Set Transform.y of Door");
///
/// history.undo(&mut world)?;
/// history.undo(&mut world)?;
/// assert_eq!(world.get::<Transform>(door).map(|at| (at.x, at.y)), Some((0.0, 0.0)));
/// assert_eq!(history.redo_text(), "Redo Move door");
/// # }
/// # Ok::<(), persist::Error>(())
/// ```
// The root of the crate documents it.
#[doc(hidden)]
pub struct History<T: 'static = World> {
    ring: Ring<UndoEntry<T>>,
    states: StateNumbers,
    merges: MergeState,
    usage: ByteUsage,
    /// The open transactions, from the outermost to the innermost.
    open: Vec<Transaction<T>>,
    poison: Option<Poison>,
    /// Steps that were dropped from the list during this call, and are finalized at its end.
    released: Vec<(Step<T>, FinalState)>,
    /// A panic that was caught, and resumes at the end of the call, when the state is consistent.
    panic: Option<Panic>,
    listeners: Listeners<Self>,
    change_listeners: ChangeListeners<T>,
    recording: Recording,
    /// The direction of the last undo or redo, if it failed and its entry is still in place.
    failed: Option<Direction>,
    spill: Option<Spill>,
    journal: Option<Box<Journal>>,
    /// How commands are read from a journal.
    commands: CommandClasses<T>,
    support: Support<T>,
    /// The identity of the world that the history belongs to, once it was used with one.
    world: Option<u64>,
}

/// Returns the target if it is a world.
///
/// A target may be of any type, also one without field records that only [commands](super::Command) change, so there is
/// no trait to ask. Once the compiler knows the type, it knows the answer.
fn world<T: 'static>(target: &T) -> Option<&World> {
    let target: &dyn Any = target;
    target.downcast_ref()
}

fn world_mut<T: 'static>(target: &mut T) -> Option<&mut World> {
    let target: &mut dyn Any = target;
    target.downcast_mut()
}

/// How the edits of a history are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Recording {
    /// As entries.
    Entries,
    /// As entries that leave the target unmodified.
    Insignificant,
    /// Not as entries. A journal takes them with the next edit that is one.
    Aside,
}

/// Runs edits of a history, or of what has it, that are recorded in this way.
fn recorded_as<T: 'static, H, R>(
    holder: &mut H,
    history: impl Fn(&mut H) -> &mut History<T>,
    recording: Recording,
    run: impl FnOnce(&mut H) -> R,
) -> R {
    let outer = history(holder).recording;
    history(holder).recording = outer.max(recording);
    let result = catch_unwind(AssertUnwindSafe(|| run(holder)));
    history(holder).recording = outer;
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The numbers of a history's states.
struct StateNumbers {
    /// The state before the first entry.
    base: u64,
    /// The last number that was given to a state.
    last: u64,
    saved: Option<u64>,
}

/// Whether the next edit may be merged into the current entry.
struct MergeState {
    /// Present if it may be.
    last: Option<MergeTarget>,
    window: Option<Duration>,
    /// The drag that was begun last. It may have ended.
    drag: Option<OpenDrag>,
    /// The clock of the merge window.
    clock: Clock,
}

/// The bytes of a history's entries, and their limit.
struct ByteUsage {
    max: Option<usize>,
    /// Whether an entry was added, or the capacity changed, since entries were last evicted.
    ///
    /// Only then are entries evicted for their bytes, so that an undo that holds more than the limit evicts nothing.
    has_grown: bool,
    /// Bytes of all entries.
    bytes: usize,
    /// Bytes of what the entries keep outside the target. They are part of `bytes`.
    held: usize,
}

/// A step of an edit, which may be a command.
type Step<T> = StepOf<Performed<T>>;
type Steps<T> = StepsOf<Performed<T>>;

/// Entries in the order in which they were created. The entries before the position are applied.
///
/// It is a circular buffer that grows: `History::trim` evicts entries beyond the capacity. It stores the number of
/// applied entries, not the index of the current one, so that an empty list and one whose entries are all undone
/// differ.
struct Ring<E> {
    /// The entries in front of those that are near to the current one.
    front: VecDeque<Far<E>>,
    /// The entries that are near to the current one. The current and the next one are among them, unless their file
    /// cannot be read.
    near: VecDeque<E>,
    /// The entries after those that are near to the current one.
    back: VecDeque<Far<E>>,
    /// The number of all entries.
    len: usize,
    /// The number of applied entries, from the first on.
    position: usize,
    /// The maximum number of entries. `None` for no limit.
    capacity: Option<usize>,
    unchanged: Unchanged,
}

/// The entries that are as they were at a certain time, from the first entry of that time on.
#[derive(Clone, Copy, Default)]
struct Unchanged {
    /// The number of entries before them that were removed since.
    removed: usize,
    len: usize,
}

/// An entry that is far from the current one.
enum Far<E> {
    File(FarEntry),
    /// An entry that can only be in memory, as since it has a component that is detached.
    Memory(Box<E>),
}

/// All that stays in memory of an entry that is in a file: 32 bytes, since a long session has many.
#[derive(Clone, Copy)]
struct FarEntry {
    state: u64,
    at: SpillPosition,
    /// Bytes that it would take in memory, without those outside the target. They count in a limit.
    size: u32,
    /// Bytes of what it keeps outside the target.
    held: u32,
    is_significant: bool,
    /// True if a step needs a call when it is dropped: see [`StepOf::has_end`](change::step::StepOf::has_end).
    has_end: bool,
}

/// Where an entry is: a file, and a range of its bytes.
#[derive(Clone, Copy, Default)]
struct SpillPosition {
    file: u32,
    offset: u32,
    length: u32,
}

/// One of the two ends of the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

impl<E> Far<E> {
    fn removed(self) -> Result<E, FarEntry> {
        match self {
            Self::Memory(entry) => Ok(*entry),
            Self::File(far) => Err(far),
        }
    }
}

impl<E> Ring<E> {
    fn new(capacity: Option<usize>) -> Self {
        let (front, near, back) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        let unchanged = Unchanged::default();
        Self { front, near, back, len: 0, position: 0, capacity, unchanged }
    }

    /// Counts the unchanged entries from now on. Returns those until now.
    fn mark_unchanged(&mut self) -> Unchanged {
        mem::replace(&mut self.unchanged, Unchanged { removed: 0, len: self.len })
    }

    /// Notes that an entry is about to change.
    fn note_change(&mut self, index: usize) {
        self.unchanged.len = self.unchanged.len.min(index);
    }

    fn len(&self) -> usize {
        self.len
    }

    fn position(&self) -> usize {
        self.position
    }

    /// True if there are more entries than the capacity.
    fn is_over(&self) -> bool {
        self.capacity.is_some_and(|capacity| self.len > capacity)
    }

    /// Returns an entry that is in memory. `None` for others.
    #[inline]
    fn get(&self, index: usize) -> Option<&E> {
        match self.near.get(index.wrapping_sub(self.front.len())) {
            Some(entry) => Some(entry),
            None => match self.at_end(index)? {
                Far::Memory(entry) => Some(entry),
                Far::File(_) => None,
            },
        }
    }

    #[inline]
    fn get_mut(&mut self, index: usize) -> Option<&mut E> {
        let near = index.wrapping_sub(self.front.len());
        if near < self.near.len() {
            return self.near.get_mut(near);
        }
        match self.at_end_mut(index)? {
            Far::Memory(entry) => Some(entry),
            Far::File(_) => None,
        }
    }

    fn at_end(&self, index: usize) -> Option<&Far<E>> {
        let after = self.front.len() + self.near.len();
        self.front.get(index).or_else(|| self.back.get(index.checked_sub(after)?))
    }

    fn at_end_mut(&mut self, index: usize) -> Option<&mut Far<E>> {
        let after = self.front.len() + self.near.len();
        match index < self.front.len() {
            true => self.front.get_mut(index),
            false => self.back.get_mut(index.checked_sub(after)?),
        }
    }

    /// Returns an entry that is in a file.
    fn far(&self, index: usize) -> Option<&FarEntry> {
        match self.at_end(index)? {
            Far::File(far) => Some(far),
            Far::Memory(_) => None,
        }
    }

    fn far_mut(&mut self, index: usize) -> Option<&mut FarEntry> {
        match self.at_end_mut(index)? {
            Far::File(far) => Some(far),
            Far::Memory(_) => None,
        }
    }

    /// Index of the last applied entry, which the next undo reverts.
    fn current(&self) -> Option<usize> {
        self.position.checked_sub(1)
    }

    /// Index of the entry that the next redo applies.
    fn next(&self) -> Option<usize> {
        Some(self.position).filter(|next| *next < self.len)
    }

    /// Index of the entry that the next undo or redo runs.
    fn toward(&self, direction: Direction) -> Option<usize> {
        if direction == Direction::Undo { self.current() } else { self.next() }
    }

    /// Moves the position after an undo or a redo.
    fn step(&mut self, direction: Direction) {
        match direction {
            Direction::Undo => {
                self.position = self.position.saturating_sub(1);
                self.note_change(self.position);
            }
            Direction::Redo => {
                self.note_change(self.position);
                self.position = (self.position + 1).min(self.len);
            }
        }
    }

    /// Appends an empty entry and makes it the current one. All entries must be applied.
    ///
    /// The caller fills the entry in place. A push of a filled entry would copy it right after it was written, which
    /// takes longer than the rest of a small edit.
    #[inline]
    fn push(&mut self) -> &mut E
    where
        E: Default,
    {
        debug_assert_eq!(self.position, self.len, "entries that are undone are cut first");
        while !self.back.is_empty() {
            self.pass(End::Back);
        }
        let last = self.near.len();
        self.len += 1;
        self.position = self.len;
        self.near.resize_with(last + 1, E::default);
        &mut self.near[last]
    }

    /// Puts an entry at the end, without a change of the position.
    fn put(&mut self, entry: E) {
        self.len += 1;
        self.near.push_back(entry);
    }

    /// Sets the number of applied entries.
    fn set_position(&mut self, position: usize) {
        self.position = position.min(self.len);
    }

    /// Removes an entry. If it is the current one, the entry before it becomes the current one. The error is an entry that
    /// is in a file.
    fn remove(&mut self, index: usize) -> Option<Result<E, FarEntry>> {
        let (front, near) = (self.front.len(), self.near.len());
        let removed = match index.checked_sub(front) {
            Some(index) if index < near => Ok(self.near.remove(index)?),
            Some(index) => self.back.remove(index - near)?.removed(),
            None => self.front.remove(index)?.removed(),
        };
        self.len -= 1;
        if index == 0 && self.unchanged.len > 0 {
            self.unchanged.removed += 1;
            self.unchanged.len -= 1;
        } else {
            self.note_change(index);
        }
        self.position -= usize::from(index < self.position);
        Some(removed)
    }

    /// The far entry next to the near ones, on the way to `index`. `None` if that entry is near.
    fn nearest_far(&self, index: usize) -> Option<(End, usize)> {
        let after = self.front.len() + self.near.len();
        match index < self.front.len() {
            true => Some((End::Front, self.front.len() - 1)),
            false => Some((End::Back, after)).filter(|_| index >= after && index < self.len),
        }
    }

    /// Makes the far entry at an end near. `read` is the entry if it was in a file.
    fn load_near(&mut self, end: End, read: Option<E>) {
        let far = match end {
            End::Front => self.front.pop_back(),
            End::Back => self.back.pop_front(),
        };
        let entry = match (read, far) {
            (None, Some(Far::Memory(entry))) => *entry,
            (Some(entry), _) => entry,
            (None, _) => return,
        };
        match end {
            End::Front => self.near.push_front(entry),
            End::Back => self.near.push_back(entry),
        }
    }

    /// Moves the far entry at an end to the other end, and the near ones with it. So an entry whose file cannot be read
    /// is in nobody's way.
    #[cold]
    fn pass(&mut self, end: End) {
        let near = self.near.drain(..).map(|entry| Far::Memory(Box::new(entry)));
        match end {
            End::Front => {
                near.rev().for_each(|entry| self.back.push_front(entry));
                self.front.pop_back().into_iter().for_each(|far| self.back.push_front(far));
            }
            End::Back => {
                self.front.extend(near);
                self.front.extend(self.back.pop_front());
            }
        }
    }

    /// The end with more entries that can be sent away, and their number: all but the current and the next one.
    fn spare(&self, is_replayed: bool) -> (End, usize) {
        let applied = self.position.saturating_sub(self.front.len() + 1);
        let undone = (self.len - self.back.len()).saturating_sub(self.position + 1);
        // The beginning of a journal is read in the order of the entries, so its last ones are not at the end yet.
        match is_replayed || applied >= undone {
            true => (End::Front, applied),
            false => (End::Back, undone),
        }
    }

    /// Returns the entry that `n` others separate from the far ones at an end.
    fn near_mut(&mut self, end: End, n: usize) -> Option<&mut E> {
        match end {
            End::Front => self.near.get_mut(n),
            End::Back => self.near.iter_mut().nth_back(n),
        }
    }

    /// Makes the last near entry at an end far. `file` is present if it is in a file now.
    fn send_far(&mut self, end: End, file: Option<FarEntry>) {
        let near = match end {
            End::Front => self.near.pop_front(),
            End::Back => self.near.pop_back(),
        };
        let Some(entry) = near else { return };
        let far = file.map_or_else(|| Far::Memory(Box::new(entry)), Far::File);
        match end {
            End::Front => self.front.push_back(far),
            End::Back => self.back.push_front(far),
        }
    }
}

impl<T: 'static> Ring<UndoEntry<T>> {
    /// Returns the number of the state after an entry.
    fn state(&self, index: usize) -> Option<u64> {
        match self.get(index) {
            Some(entry) => Some(entry.state),
            None => self.far(index).map(|far| far.state),
        }
    }

    /// The number of entries, from the first on, for whose states `holds` is true. It must be false for all others.
    fn partition(&self, holds: impl Fn(u64) -> bool) -> usize {
        let (mut first, mut len) = (0, self.len);
        while len > 0 {
            let half = len / 2;
            if self.state(first + half).is_some_and(&holds) {
                first += half + 1;
                len -= half + 1;
            } else {
                len = half;
            }
        }
        first
    }
}

/// A list of steps that is undone and redone as one.
struct UndoEntry<T: 'static> {
    label: Label,
    steps: Steps<T>,
    /// The number of the state after it. An entry that is not significant has the number of the previous state.
    state: u64,
    is_significant: bool,
    /// Bytes of memory that it takes, with the objects, components and resources that it keeps outside the target.
    size: usize,
    /// Data that few entries have. It is boxed, since a history of a million entries pays for each byte of an entry.
    rare: Option<Box<EntryExtras>>,
}

#[derive(Default)]
struct EntryExtras {
    /// Bytes of what it keeps outside the target. Only counted if there is a limit of bytes.
    held: usize,
    /// The index of its steps by object, if many edits were merged into it.
    order: Option<Order>,
}

/// A transaction that is open.
struct Transaction<T: 'static> {
    label: Label,
    /// Its edits so far. They become one entry at the commit.
    edits: Vec<UndoEntry<T>>,
    /// Present if the next edit may be merged into the last one.
    last: Option<MergeTarget>,
}

/// A key that edits of one entry share: of the program, or the number of a drag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeKey {
    Given(u64),
    Drag(u64),
}

impl MergeKey {
    fn of(key: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        Self::Given(hasher.finish())
    }
}

/// Properties of the previous edit that the next one must match to be merged into it.
#[derive(Clone, Copy, Default)]
struct MergeTarget {
    key: Option<MergeKey>,
    /// When it was made, or last merged into, in nanoseconds of the clock.
    time: u64,
    /// Whether it cut entries that could be redone.
    has_cut: bool,
}

/// A drag that has begun: see [`History::begin_drag`](super::History::begin_drag).
///
/// It ends with [`History::end_drag`](super::History::end_drag), or when this is dropped.
#[must_use = "the drag ends when this is dropped"]
#[derive(Debug)]
pub struct Drag {
    open: Arc<()>,
}

/// The time after an edit in which the next one may be merged into it: see
/// [`History::set_merge_window`](super::History::set_merge_window).
///
/// It converts from a `Duration` or an `Option<Duration>`.
pub struct MergeWindow {
    time: Option<Duration>,
    /// A clock of the program. `None` keeps the clock of the history.
    clock: Option<Box<dyn Fn() -> Duration + Send>>,
}

struct OpenDrag {
    number: u64,
    label: Label,
    /// Dangling once the program has dropped its [`Drag`].
    open: Weak<()>,
}

/// The clock of a merge window.
enum Clock {
    /// The platform has no clock.
    None,
    System(Timer),
    Given(Box<dyn Fn() -> Duration + Send>),
}

/// A target that is being edited. Everything that is done through it is recorded in one entry.
///
/// [`History::edit`](super::History::edit) hands it to its closure. It dereferences to the target for reading; for a
/// [`World`], it also has the methods that change it.
pub struct Edit<'e, T: 'static = World> {
    target: &'e mut T,
    steps: Steps<T>,
    /// Borrowed for changes, and not compared yet.
    pending: Vec<PendingChange>,
    /// The targets of the first of these, if there are many.
    places: Option<Box<HashSet<ChangeTarget>>>,
    again: Option<Again<'e, T>>,
    /// Set if a part of the edit failed and could not be rolled back.
    broken: Option<Box<Broken>>,
    support: &'e mut Support<T>,
}

/// A command that was executed, with the steps that it did through its edit.
struct Performed<T: 'static, C: ?Sized = dyn AnyCommand<T>> {
    further: Vec<Step<T>>,
    /// The number of further steps before its first direct change of the target, if there is one.
    direct: Option<usize>,
    /// Its own state and the last id before it was applied, until the journal has recorded them.
    previous: Option<Box<PreviousState>>,
    /// Hashes of what it changed directly, if its undo is to be [proved](Proof).
    proved: Option<Box<CommandPrints>>,
    command: C,
}

/// The resources that a history lends to its edits and steps.
///
/// Steps do not hold any of it, so that a step stays small, and can be sent to another thread.
struct Support<T: 'static> {
    /// The classes of commands, and of a target that is not a world.
    registry: Registry,
    /// How commands of each type are encoded, and the numbers of their classes.
    commands: HashMap<TypeId, (usize, Encode)>,
    /// Access to the fields of the target. Present once they were used.
    fields: Option<TargetFields<T>>,
    /// Buffers for the changes of fields.
    buffers: PartBuffers,
    is_journaled: bool,
    /// The number of classes of a world that are registered with the saves, and so known to the next session.
    registered: usize,
    /// True while a journal is replayed.
    is_replayed: bool,
    /// The last id that the world had used when the edit began.
    last_id: u64,
    prover: Prover<T>,
    /// Memory that edits reuse for their pending changes.
    pending: Vec<PendingChange>,
}

/// Encodes a command. Returns `None` if it is of another type.
type Encode = fn(&dyn Any, &Registry) -> Option<Result<Vec<u8>>>;

/// Functions that give access to the fields of a target.
struct TargetFields<T> {
    of: fn(&T) -> &dyn Portable,
    of_mut: fn(&mut T) -> &mut dyn Portable,
    read: fn(&mut Decoder<'_>) -> Result<Box<dyn Portable>, Fail>,
}

/// A value that was borrowed for changes, with its old content. It is compared at the end of the edit.
struct PendingChange {
    place: ChangeTarget,
    /// The class of the component or resource, or of the target.
    class: fn() -> String,
    previous: PriorValue,
}

/// The place of a value that was borrowed for changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    not(feature = "world"),
    expect(dead_code, reason = "only an edit of a world borrows components and resources")
)]
enum ChangeTarget {
    /// The column of a component in a world, and its object.
    Component(usize, ObjectId),
    Resource(TypeId),
    /// A part of a target that is not a world.
    Part(FieldPath),
}

/// The listeners, and the values that were last reported.
struct Listeners<H> {
    all: Vec<ListenerEntry<H>>,
    /// The values that were last reported. Not kept up to date while there is no listener.
    reported: ReportedState,
    /// True if there are listeners, also while they are called and `all` is empty.
    are_present: bool,
}

/// The values that events report and menus show.
#[derive(Clone, Default, PartialEq)]
struct ReportedState {
    position: usize,
    state: u64,
    undo: EntryName,
    redo: EntryName,
    is_modified: bool,
}

/// What the program panicked with.
type Panic = Box<dyn Any + Send>;

/// An error or a panic of an edit, an undo or a redo. If a rollback fails as well, it has a [`Broken`], which becomes
/// the [`Poison`] of the history.
struct Failure {
    error: Error,
    /// The index of the step that failed.
    step: usize,
    /// The number of steps, from the first on, that are applied now. A step that is in doubt counts as applied.
    done: usize,
    /// Present if a rollback failed as well, so that the target is neither as before nor as after.
    broken: Option<Broken>,
    panic: Option<Panic>,
}

/// The step at which a target was left half done.
struct Broken {
    step: usize,
    /// Like [`Failure::done`].
    done: usize,
    object: Option<ObjectId>,
    why: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, step: 0, done: 0, broken: None, panic: None }
    }
}

/// Runs code of the program, and turns a panic into a failure.
///
/// The failure is broken, since nobody knows what the code did before it panicked. Callers that know better clear this.
fn guarded<R>(run: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let broken = Some(Broken { step: 0, done: 0, object: None, why: "it panicked".into() });
        let failure = Failure::from(error!(ErrorKind::Poisoned, "it panicked"));
        Err(Failure { broken, panic: Some(panic), ..failure })
    })
}

/// Notes in a failure that the rollback failed as well. `first` is the index of the first step that was rolled back.
fn is_broken(failure: &mut Failure, first: usize, back: Result<(), Failure>) -> bool {
    let Err(second) = back else { return false };
    let mut broken = second.broken();
    broken.step += first;
    broken.done += first;
    failure.done = broken.done;
    failure.broken = Some(broken);
    failure.panic = failure.panic.take().or(second.panic);
    true
}

impl Failure {
    /// Rolls back after a failure, unless the target is broken already. Notes if the rollback fails as well.
    fn after(mut self, put_back: impl FnOnce() -> Result<(), Self>) -> Self {
        if self.broken.is_none() {
            let back = put_back();
            is_broken(&mut self, 0, back);
        }
        self
    }

    /// The broken state that this failure of a rollback leaves.
    fn broken(&self) -> Broken {
        let object = self.error.object().and_then(ObjectId::new);
        let (step, object) = match &self.broken {
            Some(broken) => (broken.step, broken.object),
            None => (self.step, object),
        };
        Broken { step, done: self.done, object, why: self.error.to_string() }
    }
}

/// Why a history cannot be used: a rollback failed, so that the target is in no state that the history knows.
///
/// Until [`History::drop_entry`](super::History::drop_entry) or [`History::clear`](super::History::clear) is called,
/// nothing can be edited, undone or redone, and the target counts as modified. The target can still be saved.
#[derive(crate::Persist, Clone, Debug, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Poison")]
#[non_exhaustive]
pub struct Poison {
    /// The index of the entry. `None` for an edit that was never in the list.
    pub entry: Option<usize>,
    /// The label of the entry.
    pub label: Label,
    /// The step that could not be rolled back, counted from 0, as in error messages.
    pub step: usize,
    /// The object of that step, if it has one.
    pub object: Option<ObjectId>,
    /// The message of the error or panic.
    pub why: String,
    /// The number of its steps that are applied.
    done: usize,
}

impl Poison {
    /// The number of applied steps of an entry, if it is the one that was left half done.
    fn done_of(&self, entry: usize) -> Option<usize> {
        (self.entry == Some(entry)).then_some(self.done)
    }

    #[cold]
    fn refused(&self) -> Error {
        let message = format!(
            "step {} of {} could not be put back, {}; drop the entry or clear the history, and look at the target",
            self.step,
            self.label.quoted("an edit"),
            self.why
        );
        Error::new(ErrorKind::Poisoned, message)
    }
}

/// Settings for the check of commands.
struct Prover<T> {
    proof: Proof,
    /// How the whole target is hashed. Returns its bytes.
    print: Option<fn(&T, &mut Vec<Print>) -> usize>,
    /// The bytes of the target when it was hashed last.
    printed: Cell<usize>,
}

/// Properties of steps that their entry keeps.
#[derive(Clone, Copy)]
struct Summary {
    is_significant: bool,
    /// See [`StepsOf::size`].
    size: usize,
}
