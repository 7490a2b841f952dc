//! The list of entries, what is known of it, and what is set of it.

use std::any::TypeId;
use std::fmt;
use std::time::Duration;

use super::edit::{Step, Steps};
use super::entries::Entries;
use super::entry::{Transaction, UndoEntry};
use super::event::{EntryName, Listeners, ReportedState, Subscription};
use super::failure::Panic;
use super::journal::{CommandClasses, FrameKind, Journal, Spill};
use super::merging::{Clock, MergeKey, MergeTarget, MergeWindow, Merging, OpenDrag};
use super::proof::{Proof, print};
use super::ring::{Capacity, Ring};
use super::step::{End, Summary, ends};
use super::support::Support;
use super::support::world;
use super::{Label, Poison};
use crate::fields::Direction;
use crate::platform::{IS_WHOLE, Timer};
use crate::{ErrorKind, Persist, Result, World};

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
    pub(super) ring: Ring<UndoEntry<T>>,
    /// The state before the first entry.
    pub(super) base: u64,
    /// The last state that was given a number.
    pub(super) last_state: u64,
    pub(super) saved: Option<u64>,
    /// The current entry, if the next edit may be merged into it.
    pub(super) last: Option<MergeTarget>,
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
    pub(super) open: Vec<Transaction<T>>,
    pub(super) poison: Option<Poison>,
    /// Steps that are in no list any more, and end with the call.
    pub(super) released: Vec<(Step<T>, End)>,
    /// A panic that resumes at the end of the call, when all is noted.
    pub(super) panic: Option<Panic>,
    pub(super) listeners: Listeners<Self>,
    pub(super) after_change: Option<AfterChange<T>>,
    /// Which way the last undo or redo went, if it failed and its entry is where it was.
    pub(super) failed: Option<Direction>,
    pub(super) spill: Option<Spill>,
    pub(super) journal: Option<Box<Journal>>,
    /// How commands are read from a journal.
    pub(super) commands: CommandClasses<T>,
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
        let is_world = TypeId::of::<T>() == TypeId::of::<World>();
        let proof =
            if is_world && cfg!(debug_assertions) { Proof::Touched } else { Proof::default() };
        Self {
            ring: Ring::new(entries),
            base: 0,
            last_state: 0,
            saved: Some(0),
            last: None,
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
            spill: None,
            journal: None,
            commands: CommandClasses::new(),
            support: Support::new(proof),
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

    pub(super) fn state_at(&self, position: usize) -> u64 {
        let before = position.checked_sub(1).and_then(|index| self.ring.get(index));
        before.map_or(self.base, |entry| entry.state)
    }

    /// True if [`undo`](Self::undo) would revert an entry.
    #[must_use]
    pub fn can_undo(&self) -> bool {
        self.entry_toward(Direction::Undo).is_some()
    }

    /// True if [`redo`](Self::redo) would apply an entry again.
    #[must_use]
    pub fn can_redo(&self) -> bool {
        self.entry_toward(Direction::Redo).is_some()
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.is_open() && self.poison.is_none()
    }

    /// The entry that the next undo or redo is of, if there is one.
    fn entry_toward(&self, direction: Direction) -> Option<&UndoEntry<T>> {
        self.ring.get(self.ring.toward(direction).filter(|_| self.is_ready())?)
    }

    /// The text of a menu: `Undo Move door`; empty if there is nothing to undo.
    #[must_use]
    pub fn undo_text(&self) -> String {
        EntryName::of(self.entry_toward(Direction::Undo)).text("Undo")
    }

    /// The text of a menu: `Redo Move door`; empty if there is nothing to redo.
    #[must_use]
    pub fn redo_text(&self) -> String {
        EntryName::of(self.entry_toward(Direction::Redo)).text("Redo")
    }

    /// The values that events report.
    pub(super) fn values(&self) -> ReportedState {
        ReportedState {
            position: self.position(),
            state: self.state(),
            undo: EntryName::of(self.entry_toward(Direction::Undo)),
            redo: EntryName::of(self.entry_toward(Direction::Redo)),
            is_modified: self.is_modified(),
        }
    }

    /// What its listeners were told, or would be.
    pub(super) fn reported(&self) -> ReportedState {
        if self.listeners.are_there { self.listeners.reported.clone() } else { self.values() }
    }

    /// The entries, the oldest first: what a window with the history shows. `len` and `nth` take constant time.
    ///
    /// While a transaction is open, those that could be redone are not among them.
    pub fn entries(&self) -> Entries<'_, T> {
        Entries::new(&self.ring, self.len(), self.saved_position())
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

    /// How long after an edit another one is merged into it, if both have the same label, and set a field in common or are commands that
    /// [merge](super::Command::merge). `None`, the default, is never.
    pub fn set_merge_window(&mut self, window: impl Into<MergeWindow>) {
        let MergeWindow { time, clock } = window.into();
        if clock.is_some() || self.merge_window.is_none() {
            // Nobody noted by this clock when what was done before was done.
            self.end_merging();
        }
        self.merge_window = time;
        if let Some(clock) = clock {
            self.clock = Clock::Given(clock);
        }
    }

    /// Calls a listener from now on with every value that changes. It sees the history with all changes made, and cannot change it:
    ///
    /// ```compile_fail,E0596
    /// # let mut history = persist::History::<persist::World>::new(9);
    /// history.subscribe(|_, history| history.set_merge_window(None));
    /// ```
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use persist::history::HistoryEvent;
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// let title = Arc::new(Mutex::new(String::from("level")));
    /// history.subscribe({
    ///     let title = Arc::clone(&title);
    ///     move |event, _| {
    ///         if let HistoryEvent::Modified(is_modified) = event {
    ///             *title.lock().unwrap() = String::from(if *is_modified { "level *" } else { "level" });
    ///         }
    ///     }
    /// });
    /// history.edit(&mut world, "Add door", |edit| edit.spawn("Door"))?;
    /// assert_eq!(*title.lock().unwrap(), "level *");
    /// history.undo(&mut world)?;
    /// assert_eq!(*title.lock().unwrap(), "level");
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn subscribe(
        &mut self,
        listener: impl FnMut(&super::HistoryEvent, &Self) + Send + 'static,
    ) -> Subscription {
        if !self.listeners.are_there {
            self.listeners.reported = self.values();
        }
        self.listeners.push(listener)
    }

    /// Makes room for another number of entries or bytes. If there are more, the oldest that can be undone are dropped first, but for the current
    /// one, then those that would be redone last.
    pub fn set_capacity(&mut self, target: &mut T, capacity: impl Into<Capacity>) {
        let Capacity { entries, bytes } = capacity.into();
        // In the next session there may be room for what was evicted in this one. If it cannot be written, it is with the next edit.
        let _ = self.journal.as_mut().map(|journal| journal.flush_evicted());
        let is_counted = bytes.is_some() || self.max_bytes.is_some();
        self.ring.capacity = entries;
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
}

/// The saved point.
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
        self.record(FrameKind::Saved, &saved)?;
        self.note_saved(saved);
        Ok(())
    }

    /// Notes in which state the target was saved; the journal knows it.
    pub(super) fn note_saved(&mut self, state: Option<u64>) {
        self.saved = state;
        self.last = self.last.filter(|_| state.is_none());
        self.tell();
    }

    /// True if the target has unsaved changes, including those of an open transaction. A history begins as saved.
    #[must_use]
    pub fn is_modified(&self) -> bool {
        self.is_modified_in(self.state())
    }

    pub(super) fn is_modified_in(&self, state: u64) -> bool {
        let mut edits = self.open.iter().flat_map(|open| &open.edits);
        self.poison.is_some() || self.saved != Some(state) || edits.any(|edit| edit.is_significant)
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

    pub(super) fn check_no_transaction(&self) -> Result<()> {
        match self.open.last() {
            None => Ok(()),
            Some(open) => Err(error!(
                ErrorKind::OpenTransaction,
                "the transaction {} is open; commit it or roll it back first",
                open.label.quoted("without a label")
            )),
        }
    }
}

/// What keeps it from being used.
impl<T: 'static> History<T> {
    /// Why the history is out of use, if it is.
    #[must_use]
    pub fn poison(&self) -> Option<&super::Poison> {
        self.poison.as_ref()
    }

    /// Refuses what a poisoned history cannot do, and another world.
    pub(super) fn check_usable(&mut self, target: &T) -> Result<()> {
        self.failed = None;
        self.check_world(target)?;
        self.check_sound()
    }

    #[inline]
    pub(super) fn check_sound(&self) -> Result<()> {
        match &self.poison {
            None => Ok(()),
            Some(poison) => Err(poison.refused()),
        }
    }

    /// As above, and while a transaction is open.
    pub(super) fn check_closed(&mut self, target: &T) -> Result<()> {
        self.check_usable(target)?;
        self.check_no_transaction()
    }

    /// Refuses another world than the one before.
    pub(super) fn check_world(&mut self, target: &T) -> Result<()> {
        let Some(world) = world(target) else { return Ok(()) };
        self.support.last_id = world.last_id();
        if *self.world.get_or_insert(world.identity()) == world.identity() {
            return Ok(());
        }
        Err(error!(
            ErrorKind::WrongTarget,
            "the history is that of another world; use one of its own"
        ))
    }
}

/// The list of entries, and what they take.
impl<T: 'static> History<T> {
    /// Counts the bytes of an entry anew.
    pub(super) fn measure(&mut self, index: usize) {
        let Some(entry) = self.ring.get_mut(index) else { return };
        let before = entry.size;
        entry.measure();
        self.bytes = self.bytes - before + entry.size;
    }

    /// Counts what an entry keeps out of the target, which takes a look at it, where there is a limit.
    pub(super) fn count_held(&mut self, index: usize, target: &T) {
        let is_applied = index < self.position();
        let Some(entry) = self.ring.get_mut(index) else { return };
        let held = match self.max_bytes {
            None => 0,
            // Where it is has not changed.
            Some(_) if entry.away().is_some() => return,
            Some(_) => entry.steps.iter().map(|step| step.held(target, is_applied)).sum(),
        };
        let before = entry.held();
        if held != before {
            entry.hold(held);
            self.held = self.held - before + held;
            self.bytes = self.bytes - before + held;
        }
    }

    /// Takes an entry out of the list that does not end here.
    pub(super) fn take_out(&mut self, index: usize) -> Option<UndoEntry<T>> {
        let len = self.ring.len();
        let entry = self.ring.remove(index)?;
        if let Some(spill) = &mut self.spill {
            spill.forget_index(index, len);
            spill.away -= entry.away_size();
        }
        self.bytes -= entry.size;
        self.held -= entry.held();
        self.failed = None;
        if let Some(poison) = &mut self.poison {
            let other = poison.entry.filter(|entry| *entry != index);
            poison.entry = other.map(|entry| entry - usize::from(index < entry));
        }
        Some(entry)
    }

    /// Drops an entry, whose steps end as they are.
    pub(super) fn remove_entry(&mut self, index: usize) {
        let is_applied = index < self.position();
        let poison = self.poison.as_ref().filter(|poison| poison.entry == Some(index));
        let broken = poison.map(|poison| poison.done);
        let Some(entry) = self.take_out(index) else { return };
        if let Some((spill, away)) = self.spill.as_mut().zip(entry.away()) {
            let end = if is_applied { End::Applied } else { End::Undone };
            spill.drop_entry(away.at, away.has_end.then_some(end));
        }
        let UndoEntry { steps, .. } = entry;
        if steps.iter().any(Step::has_end) {
            let done = broken.unwrap_or(if is_applied { steps.len() } else { 0 });
            self.released.extend(ends(steps.into_each(), done));
        }
    }

    /// Drops the entries that are undone; false if there are none.
    pub(super) fn cut(&mut self) -> bool {
        let is_any = self.ring.next().is_some();
        while self.ring.next().is_some() {
            self.remove_entry(self.ring.len() - 1);
        }
        is_any
    }

    /// Gives every state from the one after an entry a new number: it has changed.
    pub(super) fn renew_states(&mut self, from: usize) {
        for index in from..self.ring.len() {
            let (before, new) = (self.state_at(index), self.last_state + 1);
            if let Some(entry) = self.ring.get_mut(index) {
                entry.state = if entry.is_significant { new } else { before };
                self.last_state = entry.state.max(self.last_state);
            }
        }
    }

    /// Gives every state a new number: no state that was is that of the target now.
    pub(super) fn forget_states(&mut self) {
        self.last_state += 1;
        self.base = self.last_state;
        self.renew_states(0);
    }

    /// Appends an entry after the current one, which is the last.
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    pub(super) fn append(&mut self, label: Label, steps: Steps<T>, summary: Summary) {
        let before = self.state();
        let entry = self.ring.push();
        entry.fill(label, steps, summary);
        entry.state = if entry.is_significant { self.last_state + 1 } else { before };
        self.last_state = self.last_state.max(entry.state);
        self.bytes += entry.size;
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
        self.last = None;
    }

    /// Steps over an entry; false if there is none. No state that was is that of the target now.
    pub(super) fn skip(&mut self, direction: Direction) -> bool {
        let is_there = self.ring.toward(direction).is_some();
        self.ring.step(direction);
        self.failed = None;
        self.last = None;
        self.forget_states();
        is_there
    }

    /// Drops an entry; false if there is none of this index. No state that was is that of the target now.
    pub(super) fn leave_out(&mut self, index: Option<usize>) -> bool {
        let is_there = index.is_none_or(|index| index < self.ring.len());
        if let Some(index) = index.filter(|_| is_there) {
            self.remove_entry(index);
        }
        self.poison = None;
        self.last = None;
        self.forget_states();
        is_there
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

    #[inline(never)]
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

/// What is merged.
impl<T: 'static> History<T> {
    /// What is done next becomes no part of what was done before.
    pub(super) fn end_merging(&mut self) {
        self.last = None;
        if let Some(open) = self.open.last_mut() {
            open.last = None;
        }
    }

    pub(super) fn is_dragged(&self) -> bool {
        self.drag.as_ref().is_some_and(|drag| drag.open.strong_count() > 0)
    }

    /// What an edit is called, and what it shares with others, if a drag is open.
    pub(super) fn dragged(&self, label: Label, key: Option<MergeKey>) -> (Label, Option<MergeKey>) {
        match &self.drag {
            Some(drag) if self.is_dragged() => {
                let label = if drag.label.is_none() { label } else { drag.label.clone() };
                (label, Some(MergeKey::Drag(drag.number)))
            }
            _ => (label, key),
        }
    }

    /// How an edit may become part of the one before.
    pub(super) fn merging(&self, new: &MergeTarget) -> Merging {
        let last = match self.open.last() {
            Some(open) => open.last,
            None => {
                let entry = self.ring.current().and_then(|index| self.ring.get(index));
                // Steps that do not count leave the saved state as it is.
                let is_saved = entry
                    .is_some_and(|entry| entry.is_significant && self.saved == Some(entry.state));
                self.last.filter(|_| !is_saved)
            }
        };
        let Some(last) = last.filter(|last| last.key == new.key) else { return Merging::No };
        match (last.key, self.merge_window) {
            (Some(_), _) => Merging::Join,
            (None, Some(window))
                if !matches!(self.clock, Clock::None)
                    && u128::from(new.time.saturating_sub(last.time)) < window.as_nanos() =>
            {
                Merging::Alike
            }
            _ => Merging::No,
        }
    }

    /// What the clock says, if somebody wants to know: it costs about what the rest of an undo does.
    pub(super) fn now(&self) -> u64 {
        let time = match &self.clock {
            _ if self.merge_window.is_none() => return 0,
            Clock::None => return 0,
            Clock::System(start) => start.elapsed(),
            Clock::Given(clock) => clock(),
        };
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl<T: Persist> History<T> {
    /// Sets what is compared. In debug builds, a history of a [`World`] begins with [`Proof::Touched`]; in others, and of any other target, it
    /// is off until this is called. Of another target than a world, [`Proof::Whole`] alone compares anything.
    pub fn set_proof(&mut self, proof: Proof) {
        self.support.prover.proof = proof;
        self.support.prover.print = Some(print::<T>);
    }
}

type AfterChange<T> = Box<dyn FnMut(&mut T) + Send>;

impl<T: 'static> fmt::Debug for History<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("entries", &self.ring.len())
            .field("position", &self.position())
            .field("capacity", &self.ring.capacity)
            .field("is_modified", &self.is_modified())
            .field("open", &self.open.len())
            .field("poison", &self.poison)
            .finish_non_exhaustive()
    }
}
