use std::any::TypeId;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::capacity::Capacity;
use super::entry::Entry;
use super::event::Listeners;
use super::journal::{Journal, Spill};
use super::merging::OpenDrag;
use super::proof::{Proof, Prover};
use super::ring::Ring;
use super::step::{End, Panic, Step};
use super::support::Support;
use super::transaction::Open;
use super::{Label, Poison};
use crate::World;
use crate::fields::Way;
use crate::platform::{IS_WHOLE, Timer};

/// A list of edits of a `T`, which it can undo and redo.
///
/// Each edit is an entry. Those before its [position](Self::position) are applied. An edit cuts all entries that are
/// undone. The target is not in the history, but passed to each call.
///
/// Of a [`World`] whatever an [`edit`](Self::edit) changes is found by the field records. For any other type, and for more
/// than that, there are [commands](super::Command).
///
/// # Example
///
/// ```
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
/// # Ok::<(), persist::Error>(())
/// ```
pub struct History<T: 'static = World> {
    pub(super) ring: Ring<Entry<T>>,
    /// The state before the first entry.
    pub(super) base: u64,
    /// The last state that was given a number.
    pub(super) last_state: u64,
    pub(super) saved: Option<u64>,
    /// Whether the next edit may be merged into the current entry.
    pub(super) may_merge: bool,
    pub(super) merge_window: Option<Duration>,
    /// The drag that was begun last; it may have ended.
    pub(super) drag: Option<OpenDrag>,
    /// What the merge window is measured by; none where the target has no clock.
    pub(super) clock: Clock,
    pub(super) max_bytes: Option<usize>,
    /// Whether something was added, or another capacity set, since room was made last. Only then entries are dropped for their bytes: an undo
    /// that puts these over the limit costs none.
    pub(super) has_grown: bool,
    /// Bytes of all entries.
    pub(super) bytes: usize,
    /// Of these, bytes of what they keep out of the target.
    pub(super) held: usize,
    /// Transactions that are open, each in the one before.
    pub(super) open: Vec<Open<T>>,
    pub(super) poison: Option<Poison>,
    /// Steps that are in no list any more, and end with the call.
    pub(super) released: Vec<(Step<T>, End)>,
    /// A panic that resumes at the end of the call, when all is noted.
    pub(super) panic: Option<Panic>,
    pub(super) listeners: Listeners<T>,
    pub(super) after_change: Option<AfterChange<T>>,
    /// Which way the last undo or redo went, if it failed and its entry is where it was.
    pub(super) failed: Option<Way>,
    pub(super) proof: Proof,
    pub(super) prover: Option<Prover<T>>,
    pub(super) spill: Option<Spill>,
    pub(super) journal: Option<Box<Journal>>,
    pub(super) support: Support<T>,
    /// Which world it is of, once one was given.
    pub(super) world: Option<u64>,
}

impl<T: 'static> History<T> {
    /// A history of at most `capacity` entries, or of any number if it is `None`. A full one evicts the oldest; with 0, nothing can be undone.
    ///
    /// A [`Capacity`] limits their bytes as well.
    #[must_use]
    pub fn new(capacity: impl Into<Capacity>) -> Self {
        let Capacity { entries, bytes } = capacity.into();
        Self {
            ring: Ring::new(entries),
            base: 0,
            last_state: 0,
            saved: Some(0),
            may_merge: false,
            merge_window: None,
            drag: None,
            clock: if IS_WHOLE { Clock::System(Timer::start()) } else { Clock::None },
            max_bytes: bytes,
            has_grown: false,
            bytes: 0,
            held: 0,
            open: Vec::new(),
            poison: None,
            released: Vec::new(),
            panic: None,
            listeners: Listeners::default(),
            after_change: None,
            failed: None,
            proof: default_proof::<T>(),
            prover: None,
            spill: None,
            journal: None,
            support: Support::default(),
            world: None,
        }
    }

    /// How many entries there are; none of those that could be redone while a transaction is open.
    pub(super) fn len(&self) -> usize {
        if self.is_open() { self.ring.position() } else { self.ring.len() }
    }

    /// How many entries are applied: those before it can be undone, those from it on redone.
    #[must_use]
    pub fn position(&self) -> usize {
        self.ring.position()
    }

    /// The number of the state that the target is in; while a transaction is open, of the one before it. Each edit leads to a new one, which no other ever
    /// has; an undo back to the one before.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.state_at(self.position())
    }

    /// The state at a position.
    pub(super) fn state_at(&self, position: usize) -> u64 {
        let before = position.checked_sub(1).and_then(|index| self.ring.get(index));
        before.map_or(self.base, |entry| entry.state)
    }

    /// True if [`undo`](Self::undo) would revert an entry.
    #[must_use]
    pub fn can_undo(&self) -> bool {
        self.is_ready() && self.position() > 0
    }

    /// True if [`redo`](Self::redo) would apply an entry again.
    #[must_use]
    pub fn can_redo(&self) -> bool {
        self.is_ready() && self.ring.next().is_some()
    }

    fn is_ready(&self) -> bool {
        !self.is_open() && self.poison.is_none()
    }

    /// The entry that the next undo reverts, if there is one.
    pub(super) fn undo_entry(&self) -> Option<&Entry<T>> {
        self.ring.get(self.ring.current().filter(|_| self.can_undo())?)
    }

    /// The entry that the next redo applies, if there is one.
    pub(super) fn redo_entry(&self) -> Option<&Entry<T>> {
        self.ring.get(self.ring.next().filter(|_| self.can_redo())?)
    }

    /// The text of a menu: `Undo Move door`; empty if there is nothing to undo.
    #[must_use]
    pub fn undo_text(&self) -> String {
        self.undo_entry().map_or(String::new(), |entry| entry.label().behind("Undo"))
    }

    /// The text of a menu: `Redo Move door`; empty if there is nothing to redo.
    #[must_use]
    pub fn redo_text(&self) -> String {
        self.redo_entry().map_or(String::new(), |entry| entry.label().behind("Redo"))
    }

    /// The entries, the oldest first: what a window with the history shows. `len` and `nth` take constant time.
    ///
    /// While a transaction is open, those that could be redone are not among them.
    pub fn entries(&self) -> Entries<'_, T> {
        Entries { history: self, range: 0..self.len(), saved: self.saved_position() }
    }

    /// The labels of what an entry is composed of, for a tree; none if it is one thing, or there is no such entry.
    ///
    /// Those of an entry in a [file](super::SessionOptions::memory) are not known.
    #[must_use]
    pub fn children(&self, index: usize) -> Vec<Label> {
        match self.ring.get(index).filter(|_| index < self.len()).map(|entry| &*entry.steps) {
            None | Some([]) => Vec::new(),
            Some([only]) => only.children(),
            Some(steps) => steps.iter().map(Step::label).collect(),
        }
    }

    /// Sets a callback that gets the target after every change: an edit, an undo, a redo, a rollback of a transaction.
    ///
    /// It may update derived state. What it does is not recorded, and must be a function of the rest.
    pub fn set_after_change(&mut self, after_change: impl FnMut(&mut T) + Send + 'static) {
        self.after_change = Some(Box::new(after_change));
    }
}

type AfterChange<T> = Box<dyn FnMut(&mut T) + Send>;

/// What a merge window is measured by.
pub(super) enum Clock {
    /// The target has none.
    None,
    System(Timer),
    Given(Box<dyn Fn() -> Duration + Send>),
}

/// An entry of a [`History`], as it is at the time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// Its place; [`History::go_to`] with one more leads to the state after it.
    pub index: usize,
    /// What it is called.
    pub label: Label,
    /// The number of the state after it.
    pub state: u64,
    /// Bytes of memory that it takes, roughly. If there is [a limit](Capacity::bytes) on them, objects, components and resources that it keeps out
    /// of a world count, in the sizes that they have in a save.
    pub bytes: usize,
    /// True if it is not undone.
    pub is_applied: bool,
    /// True if the state after it is the saved one.
    pub is_saved: bool,
}

/// The entries of a [`History`], each made when it is asked for: see [`History::entries`].
pub struct Entries<'h, T: 'static> {
    history: &'h History<T>,
    range: Range<usize>,
    saved: Option<usize>,
}

impl<T: 'static> Entries<'_, T> {
    fn entry(&self, index: usize) -> Option<HistoryEntry> {
        let entry = self.history.ring.get(index)?;
        Some(HistoryEntry {
            index,
            label: entry.label(),
            state: entry.state,
            bytes: entry.size - entry.away_size(),
            is_applied: index < self.history.position(),
            is_saved: self.saved == Some(index + 1),
        })
    }
}

impl<T: 'static> Iterator for Entries<'_, T> {
    type Item = HistoryEntry;

    fn next(&mut self) -> Option<HistoryEntry> {
        self.nth(0)
    }

    fn nth(&mut self, n: usize) -> Option<HistoryEntry> {
        let index = self.range.nth(n)?;
        self.entry(index)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl<T: 'static> DoubleEndedIterator for Entries<'_, T> {
    fn next_back(&mut self) -> Option<HistoryEntry> {
        self.nth_back(0)
    }

    fn nth_back(&mut self, n: usize) -> Option<HistoryEntry> {
        let index = self.range.nth_back(n)?;
        self.entry(index)
    }
}

impl<T: 'static> ExactSizeIterator for Entries<'_, T> {}

impl<T: 'static> fmt::Debug for Entries<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.range.clone().filter_map(|index| self.entry(index))).finish()
    }
}

impl<T: 'static> fmt::Debug for History<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("entries", &self.ring.len())
            .field("position", &self.position())
            .field("capacity", &self.ring.capacity())
            .field("is_modified", &self.is_modified())
            .field("open", &self.open.len())
            .field("poison", &self.poison)
            .finish_non_exhaustive()
    }
}

fn default_proof<T: 'static>() -> Proof {
    let is_world = TypeId::of::<T>() == TypeId::of::<World>();
    if is_world && cfg!(debug_assertions) { Proof::Touched } else { Proof::Off }
}
