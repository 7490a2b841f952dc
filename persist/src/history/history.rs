//! The methods of [`History`]: its entries, the numbers of its states, its saved point, its limits and its merge settings.

mod edits;
mod engine;

use std::any::Any;
use std::fmt;

use super::change::step::{FinalState, ends};
use super::entries::Entries;
use super::event::{EntryName, Subscription};
use super::journal::{CommandClasses, FrameKind};
use super::merging::Merging;
use super::reports::ChangeListeners;
use super::{
    ByteUsage, Capacity, Changed, Clock, FarEntry, History, Label, Listeners, MergeKey, MergeState,
    MergeTarget, MergeWindow, Proof, Recording, ReportedState, Ring, StateNumbers, Step, Steps,
    Summary, Support, UndoEntry, world,
};
use crate::fields::{Direction, EditedWorld as _};
use crate::platform::{IS_WHOLE, Timer};
use crate::{ErrorKind, Persist, Result};

impl<T: 'static> History<T> {
    /// Creates a history of at most `capacity` entries, or without a limit if it is `None`.
    ///
    /// A full history evicts the oldest entry; with a capacity of 0, nothing can be undone. A [`Capacity`] also limits
    /// the bytes.
    #[must_use]
    pub fn new(capacity: impl Into<Capacity>) -> Self {
        let Capacity { entries, bytes } = capacity.into();
        let proof = if cfg!(debug_assertions) { Proof::Touched } else { Proof::Off };
        Self {
            ring: Ring::new(entries),
            states: StateNumbers { base: 0, last: 0, saved: Some(0) },
            merges: MergeState {
                last: None,
                window: None,
                drag: None,
                clock: if IS_WHOLE { Clock::System(Timer::start()) } else { Clock::None },
            },
            usage: ByteUsage { max: bytes, has_grown: false, bytes: 0, held: 0 },
            open: Vec::new(),
            poison: None,
            released: Vec::new(),
            panic: None,
            listeners: Listeners::default(),
            change_listeners: ChangeListeners::default(),
            recording: Recording::Entries,
            failed: None,
            spill: None,
            journal: None,
            commands: CommandClasses::new(),
            support: Support::new(proof),
            world: None,
        }
    }

    /// The number of entries. While a transaction is open, those that could be redone are not counted.
    pub(super) fn len(&self) -> usize {
        if self.is_open() { self.ring.position() } else { self.ring.len() }
    }

    /// Returns the number of applied entries. The entry before this position is undone next, the entry at it is redone
    /// next.
    #[must_use]
    pub fn position(&self) -> usize {
        self.ring.position()
    }

    /// Returns the number of the state that the target is in.
    ///
    /// Every edit produces a new number, which is never reused. An undo returns to the previous number. While a
    /// transaction is open, it is the number of the state before the transaction.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.state_at(self.position())
    }

    pub(super) fn state_at(&self, position: usize) -> u64 {
        let previous = position.checked_sub(1).and_then(|index| self.ring.state(index));
        previous.unwrap_or(self.states.base)
    }

    /// Returns true if [`undo`](Self::undo) has an entry to revert.
    #[must_use]
    pub fn can_undo(&self) -> bool {
        self.entry_toward(Direction::Undo).is_some()
    }

    /// Returns true if [`redo`](Self::redo) has an entry to apply again.
    #[must_use]
    pub fn can_redo(&self) -> bool {
        self.entry_toward(Direction::Redo).is_some()
    }

    fn is_ready(&self) -> bool {
        !self.is_open() && self.poison.is_none()
    }

    /// The entry that the next undo or redo runs, if there is one. The inner `None` is one whose file cannot be read.
    fn entry_toward(&self, direction: Direction) -> Option<Option<&UndoEntry<T>>> {
        let index = self.ring.toward(direction).filter(|_| self.is_ready())?;
        Some(self.ring.get(index))
    }

    /// Returns the text of a menu, such as `Undo Move door`. Empty if there is nothing to undo.
    #[must_use]
    pub fn undo_text(&self) -> String {
        EntryName::from_entry(self.entry_toward(Direction::Undo)).text("Undo")
    }

    /// Returns the text of a menu, such as `Redo Move door`. Empty if there is nothing to redo.
    #[must_use]
    pub fn redo_text(&self) -> String {
        EntryName::from_entry(self.entry_toward(Direction::Redo)).text("Redo")
    }

    /// The current values of everything that events report.
    pub(super) fn values(&self) -> ReportedState {
        ReportedState {
            position: self.position(),
            state: self.state(),
            undo: EntryName::from_entry(self.entry_toward(Direction::Undo)),
            redo: EntryName::from_entry(self.entry_toward(Direction::Redo)),
            is_modified: self.is_modified(),
        }
    }

    /// The values that were last reported to listeners, or the current ones if there is no listener.
    pub(super) fn reported(&self) -> ReportedState {
        if self.listeners.are_present { self.listeners.reported.clone() } else { self.values() }
    }

    /// Iterates over the entries, from the oldest to the newest, for a window that lists the history.
    ///
    /// It iterates from both ends, and its `len` and `nth` take constant time. While a transaction is open, the entries
    /// that could be redone are left out.
    pub fn entries(&self) -> Entries<'_, T> {
        Entries::new((&self.ring, self.spill.as_ref()), self.len(), self.saved_position())
    }

    /// Returns the labels of the steps of an entry, for a tree view. Empty if the entry is one change, or does not
    /// exist.
    ///
    /// The steps of an entry that is in a [file](super::SessionOptions::memory) are not known, so there are no labels
    /// either.
    #[must_use]
    pub fn children(&self, index: usize) -> Vec<Label> {
        match self.ring.get(index).filter(|_| index < self.len()).map(|entry| &*entry.steps) {
            None | Some([]) => Vec::new(),
            Some([only]) => only.children(),
            Some(steps) => steps.iter().map(Step::label).collect(),
        }
    }

    /// Returns the command of an entry, if a command of this type made it.
    ///
    /// It is `None` for an entry whose steps are in a [file](super::SessionOptions::memory).
    ///
    /// # Example
    ///
    /// ```
    /// use persist::history::CommandEdit;
    /// use persist::{Command, History, Result};
    ///
    /// struct Add(i64);
    ///
    /// impl Command<i64> for Add {
    ///     fn apply(&mut self, edit: &mut CommandEdit<'_, i64>) -> Result<()> {
    ///         *edit.target() += self.0;
    ///         Ok(())
    ///     }
    ///
    ///     fn undo(&mut self, target: &mut i64) -> Result<()> {
    ///         *target -= self.0;
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let (mut number, mut history) = (1, History::new(100));
    /// history.apply(&mut number, Add(5))?;
    /// assert_eq!(history.command::<Add>(0).map(|command| command.0), Some(5));
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn command<C: super::Command<T>>(&self, index: usize) -> Option<&C> {
        let entry = self.ring.get(index).filter(|_| index < self.len())?;
        entry.steps.iter().find_map(|step| match step {
            Step::Command(performed) => {
                let command: &dyn Any = &performed.command;
                command.downcast_ref()
            }
            Step::Change(_) => None,
        })
    }

    /// Adds a listener that receives what each call changed: an edit, an undo, a redo, a rollback, or the opening of a
    /// session.
    ///
    /// A view, a spatial index or a mirror in an engine follows the target by it, without looking at the rest. The
    /// listener may also update derived state in the target. That is not recorded, so it must depend on the rest of the
    /// target alone. Of changes beside the history, those of objects are reported with the next call, and no others.
    ///
    /// It is also called after a call that failed and was rolled back, mostly with an empty list, since derived state may
    /// have to be updated.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use persist::history::Changed;
    /// use persist::{History, Persist, Value, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Drawing { title: String, zoom: f32 }
    ///
    /// let (mut drawing, mut history) = (Drawing::default(), History::new(100));
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let log = Arc::clone(&seen);
    /// history.subscribe_changes(move |_, changes| {
    ///     for change in changes {
    ///         if let Changed::Field(field) = change {
    ///             log.lock().unwrap().push((field.path().to_string(), field.new_value()));
    ///         }
    ///     }
    /// });
    /// history.set_field(&mut drawing, field!(Drawing.zoom), 2.0)?;
    /// history.undo(&mut drawing)?;
    /// let zoom = |zoom: f32| ("Drawing:zoom".to_string(), Some(Value::from(zoom)));
    /// assert_eq!(*seen.lock().unwrap(), [zoom(2.0), zoom(0.0)]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn subscribe_changes(
        &mut self,
        listener: impl FnMut(&mut T, &[Changed<'_>]) + Send + 'static,
    ) -> Subscription {
        self.change_listeners.push(listener)
    }

    /// Sets how long after an edit the next one is merged into it. `None`, the default, merges none.
    ///
    /// Two edits merge if they have the same label, and set a field in common or are commands that
    /// [merge](super::Command::merge).
    pub fn set_merge_window(&mut self, window: impl Into<MergeWindow>) {
        let MergeWindow { time, clock } = window.into();
        if clock.is_some() || self.merges.window.is_none() {
            // The time of the last edit was measured by another clock.
            self.end_merging();
        }
        self.merges.window = time;
        if let Some(clock) = clock {
            self.merges.clock = Clock::Given(clock);
        }
    }

    /// Calls a listener from now on with every value that changes.
    ///
    /// The listener sees the history after all changes of the call, and cannot change it:
    ///
    /// ```compile_fail,E0596
    /// # let mut history = persist::History::<persist::World>::new(9);
    /// history.subscribe(|_, history| history.set_merge_window(None));
    /// ```
    ///
    /// # Example
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
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
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn subscribe(
        &mut self,
        listener: impl FnMut(&super::HistoryEvent, &Self) + Send + 'static,
    ) -> Subscription {
        if !self.listeners.are_present {
            self.listeners.reported = self.values();
        }
        self.listeners.push(listener)
    }

    /// Returns the limits of the history.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        Capacity { entries: self.ring.capacity, bytes: self.usage.max }
    }

    /// Sets another limit of entries or bytes, and evicts what is over it.
    ///
    /// The oldest entries that can be undone are evicted first, except for the current one; then those that would be
    /// redone last.
    pub fn set_capacity(&mut self, target: &mut T, capacity: impl Into<Capacity>) {
        let Capacity { entries, bytes } = capacity.into();
        let is_counted = bytes.is_some() || self.usage.max.is_some();
        self.ring.capacity = entries;
        self.usage.has_grown |= self.usage.max != bytes;
        self.usage.max = bytes;
        // Dropped objects are released in their own world. If this is another world, they wait for the next edit.
        if self.check_world(target).is_ok() {
            if is_counted {
                self.count_all_held(target);
            }
            self.trim();
            self.end(target);
        }
        // A later session may have more room. If this fails, it is tried again at the next edit.
        let _ = self.journal.as_mut().map(|journal| journal.flush_evicted());
    }
}

/// The saved point.
impl<T: 'static> History<T> {
    /// Sets whether the target differs from its save in its current state.
    ///
    /// Pass false after a save. Pass true for a target that was never saved, such as a template, or whose file was
    /// deleted. After a save, the next edit is an entry of its own, so that an undo leads back to the saved state.
    ///
    /// # Example
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
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
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::OpenTransaction`] while a transaction is open, or an error if the journal cannot be
    /// written.
    pub fn set_modified(&mut self, is_modified: bool) -> Result<()> {
        self.check_no_transaction()?;
        let saved = (!is_modified).then(|| self.state());
        self.record(FrameKind::Saved, &saved)?;
        self.note_saved(saved);
        Ok(())
    }

    /// Notes the state that the target was saved in, once the journal has recorded it.
    pub(super) fn note_saved(&mut self, state: Option<u64>) {
        self.states.saved = state;
        self.merges.last = self.merges.last.filter(|_| state.is_none());
        self.notify();
    }

    /// Returns true if the target has unsaved changes, including those of an open transaction. A new history has none.
    #[must_use]
    pub fn is_modified(&self) -> bool {
        self.is_modified_in(self.state())
    }

    fn is_modified_in(&self, state: u64) -> bool {
        let mut edits = self.open.iter().flat_map(|open| &open.edits);
        self.poison.is_some()
            || self.states.saved != Some(state)
            || edits.any(|edit| edit.is_significant)
    }

    /// Returns the position at which the target is as saved. `None` if no undo or redo leads there.
    #[must_use]
    pub fn saved_position(&self) -> Option<usize> {
        let saved = self.states.saved?;
        // The numbers of states grow from entry to entry, so that a binary search finds them.
        let is_base = self.states.base >= saved;
        let first = if is_base { 0 } else { self.ring.partition(|state| state < saved) + 1 };
        let last = self.ring.partition(|state| state <= saved).min(self.len());
        if first > last || self.state_at(first) != saved {
            return None;
        }
        // Entries that are not significant have the number of the state before, so several positions may match. The
        // nearest is returned.
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

/// Checks before a call, and poisoning.
impl<T: 'static> History<T> {
    /// Returns why the history cannot be used, if a rollback failed.
    #[must_use]
    pub fn poison(&self) -> Option<&super::Poison> {
        self.poison.as_ref()
    }

    /// Returns an error if the history is poisoned, or belongs to another world.
    pub(super) fn check_usable(&mut self, target: &T) -> Result<()> {
        self.failed = None;
        self.check_world(target)?;
        self.check_sound()
    }

    #[inline]
    fn check_sound(&self) -> Result<()> {
        match &self.poison {
            None => Ok(()),
            Some(poison) => Err(poison.refused()),
        }
    }

    /// Like [`check_usable`](Self::check_usable), and returns an error if a transaction is open.
    fn check_closed(&mut self, target: &T) -> Result<()> {
        self.check_usable(target)?;
        self.check_no_transaction()
    }

    /// Returns an error if the target is not the world of earlier calls.
    fn check_world(&mut self, target: &T) -> Result<()> {
        let Some(world) = world(target) else { return Ok(()) };
        self.support.last_id = world.last_id();
        if self.change_listeners.are_present() {
            world.watch();
        }
        if *self.world.get_or_insert(world.identity()) == world.identity() {
            return Ok(());
        }
        Err(error!(
            ErrorKind::WrongTarget,
            "the history is that of another world; use one of its own"
        ))
    }
}

/// Changes of the list, and the bytes of its entries.
impl<T: 'static> History<T> {
    /// Counts the bytes of an entry again.
    pub(super) fn measure(&mut self, index: usize) {
        let Some(entry) = self.ring.get_mut(index) else { return };
        let old_size = entry.size;
        entry.measure();
        self.usage.bytes = self.usage.bytes - old_size + entry.size;
    }

    /// Counts the bytes that an entry keeps outside the target, if there is a limit of bytes.
    fn count_held(&mut self, index: usize, target: &T) {
        let is_applied = index < self.position();
        if let Some(far) = self.ring.far_mut(index).filter(|_| self.usage.max.is_none()) {
            let old = std::mem::take(&mut far.held) as usize;
            self.usage.held -= old;
            self.usage.bytes -= old;
        }
        let Some(entry) = self.ring.get_mut(index) else { return };
        let held = match self.usage.max {
            None => 0,
            Some(_) => entry.steps.iter().map(|step| step.held(target, is_applied)).sum(),
        };
        let old = entry.held();
        if held != old {
            entry.hold(held);
            self.usage.held = self.usage.held - old + held;
            self.usage.bytes = self.usage.bytes - old + held;
        }
    }

    /// Takes an entry out of the list. Its steps do not end.
    fn take_out(&mut self, index: usize) -> Option<Result<UndoEntry<T>, FarEntry>> {
        let removed = self.ring.remove(index)?;
        let (size, held) = match &removed {
            Ok(entry) => (entry.size, entry.held()),
            Err(far) => (far.size as usize + far.held as usize, far.held as usize),
        };
        self.usage.bytes -= size;
        self.usage.held -= held;
        self.failed = None;
        if let Some(poison) = &mut self.poison {
            let other = poison.entry.filter(|entry| *entry != index);
            poison.entry = other.map(|entry| entry - usize::from(index < entry));
        }
        Some(removed)
    }

    /// Drops an entry. Its steps end as applied or undone.
    fn remove_entry(&mut self, index: usize) {
        let is_applied = index < self.position();
        let poison = self.poison.as_ref().filter(|poison| poison.entry == Some(index));
        let broken = poison.map(|poison| poison.done);
        match self.take_out(index) {
            Some(Ok(entry)) if entry.steps.iter().any(Step::has_end) => {
                let steps = entry.steps;
                let done = broken.unwrap_or(if is_applied { steps.len() } else { 0 });
                self.released.extend(ends(steps.into_each(), done));
            }
            Some(Err(far)) => {
                let end = if is_applied { FinalState::Applied } else { FinalState::Undone };
                self.spill.iter_mut().for_each(|spill| spill.drop_entry(far, end));
            }
            _ => {}
        }
    }

    /// Drops the entries that could be redone. Returns false if there were none.
    fn cut(&mut self) -> bool {
        let is_any = self.ring.next().is_some();
        while self.ring.next().is_some() {
            self.remove_entry(self.ring.len() - 1);
        }
        is_any
    }

    /// Gives new numbers to all states after the entry at `from`, after that entry has changed.
    fn renew_states(&mut self, from: usize) {
        self.ring.note_change(from);
        for index in from..self.ring.len() {
            let (previous, new) = (self.state_at(index), self.states.last + 1);
            let (state, is_significant) = match self.ring.get_mut(index) {
                Some(entry) => (&mut entry.state, entry.is_significant),
                None => match self.ring.far_mut(index) {
                    Some(far) => (&mut far.state, far.is_significant),
                    None => continue,
                },
            };
            *state = if is_significant { new } else { previous };
            self.states.last = self.states.last.max(*state);
        }
    }

    /// Gives new numbers to all states, after the target was changed in a way that the history does not know.
    fn forget_states(&mut self) {
        self.states.last += 1;
        self.states.base = self.states.last;
        self.renew_states(0);
    }

    /// Appends an entry after the current one, which must be the last.
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    fn append(&mut self, label: Label, steps: Steps<T>, summary: Summary) {
        let previous = self.state();
        let entry = self.ring.push();
        entry.fill(label, steps, summary);
        entry.state = if entry.is_significant { self.states.last + 1 } else { previous };
        self.states.last = self.states.last.max(entry.state);
        self.usage.bytes += entry.size;
    }

    /// Drops all entries. Does not notify listeners.
    pub(super) fn drop_all(&mut self) {
        self.states.base = self.state();
        while self.ring.len() > 0 {
            self.remove_entry(self.ring.len() - 1);
        }
        if self.poison.take().is_some() {
            // The current state is unknown, so it is not the saved one.
            self.forget_states();
        }
        self.merges.last = None;
    }

    /// Steps over an entry whose undo or redo failed. Returns false if there is none.
    ///
    /// The target is not in the state that the position says, so all states get new numbers.
    pub(super) fn skip(&mut self, direction: Direction) -> bool {
        let is_present = self.ring.toward(direction).is_some();
        self.ring.step(direction);
        self.failed = None;
        self.merges.last = None;
        self.forget_states();
        is_present
    }

    /// Drops an entry that failed. Returns false if the index is beyond the list. All states get new numbers.
    pub(super) fn leave_out(&mut self, index: Option<usize>) -> bool {
        let is_present = index.is_none_or(|index| index < self.ring.len());
        if let Some(index) = index.filter(|_| is_present) {
            self.remove_entry(index);
        }
        self.poison = None;
        self.merges.last = None;
        self.forget_states();
        is_present
    }

    /// Counts the bytes that each entry keeps outside the target.
    pub(super) fn count_all_held(&mut self, target: &T) {
        (0..self.ring.len()).for_each(|index| self.count_held(index, target));
    }

    /// Evicts entries that are over the limit of entries, and, if an entry was added or grew, over that of bytes.
    #[inline]
    pub(super) fn trim(&mut self) {
        // In a transaction nothing is evicted, since it may be rolled back. In a replay, the journal has the evictions
        // that happened; those for the last addition, which it may lack, follow at the end of the replay.
        if self.open.is_empty() && !self.support.is_replayed {
            if self.is_over() {
                self.make_room();
            }
            self.usage.has_grown = false;
        }
    }

    #[inline(never)]
    fn make_room(&mut self) {
        while self.is_over() {
            // The oldest applied entry goes first. The current entry stays as long as an undone one can go instead, the
            // last one first.
            let is_only = self.ring.position() <= 1;
            let is_spare = !is_only || self.ring.next().is_none();
            let end = if is_spare && self.ring.position() > 0 {
                FinalState::Applied
            } else {
                FinalState::Undone
            };
            if !self.drop_one(end) {
                break;
            }
            if let Some(journal) = &mut self.journal {
                journal.evicted(end);
            }
        }
    }

    /// Evicts the oldest entry, or the last of those that could be redone. Returns false if there is none.
    pub(super) fn drop_one(&mut self, end: FinalState) -> bool {
        match end {
            FinalState::Undone if self.ring.next().is_some() => {
                self.remove_entry(self.ring.len() - 1);
            }
            FinalState::Applied | FinalState::Merged if self.ring.position() > 0 => {
                self.states.base = self.state_at(1);
                self.remove_entry(0);
            }
            _ => return false,
        }
        true
    }

    fn is_over(&self) -> bool {
        let is_large = self.usage.max.is_some_and(|max| self.usage.bytes > max);
        self.ring.is_over() || (self.usage.has_grown && is_large && self.ring.len() > 1)
    }
}

/// Merging.
impl<T: 'static> History<T> {
    /// Makes the next edit an entry of its own.
    fn end_merging(&mut self) {
        self.merges.last = None;
        if let Some(open) = self.open.last_mut() {
            open.last = None;
        }
    }

    fn is_dragged(&self) -> bool {
        self.merges.drag.as_ref().is_some_and(|drag| drag.open.strong_count() > 0)
    }

    /// The label and the key of an edit. In an open drag, those of the drag.
    fn dragged(&self, label: Label, key: Option<MergeKey>) -> (Label, Option<MergeKey>) {
        match &self.merges.drag {
            Some(drag) if self.is_dragged() => {
                let label = if drag.label.is_none() { label } else { drag.label.clone() };
                (label, Some(MergeKey::Drag(drag.number)))
            }
            _ => (label, key),
        }
    }

    /// Decides how a new edit may merge into the previous one.
    fn merging(&self, new: &MergeTarget) -> Merging {
        let last = match self.open.last() {
            Some(open) => open.last,
            None => {
                let entry = self.ring.current().and_then(|index| self.ring.get(index));
                // A merge would make the saved state unreachable. That is not so for an entry that is not significant:
                // the saved state is the one before it.
                let is_saved = entry.is_some_and(|entry| {
                    entry.is_significant && self.states.saved == Some(entry.state)
                });
                self.merges.last.filter(|_| !is_saved)
            }
        };
        let Some(last) = last.filter(|last| last.key == new.key) else { return Merging::No };
        match (last.key, self.merges.window) {
            (Some(_), _) => Merging::Join,
            (None, Some(window))
                if !matches!(self.merges.clock, Clock::None)
                    && u128::from(new.time.saturating_sub(last.time)) < window.as_nanos() =>
            {
                Merging::Alike
            }
            _ => Merging::No,
        }
    }

    /// The time of the clock, in nanoseconds. It is only read if there is a merge window, since it takes about as long
    /// as the rest of an undo.
    fn now(&self) -> u64 {
        let time = match &self.merges.clock {
            _ if self.merges.window.is_none() => return 0,
            Clock::None => return 0,
            Clock::System(start) => start.elapsed(),
            Clock::Given(clock) => clock(),
        };
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl<T: Persist> History<T> {
    /// Sets which parts of the target are compared after the undo or redo of a command.
    ///
    /// In debug builds, a history begins with [`Proof::Touched`], in release builds with [`Proof::Off`].
    pub fn set_proof(&mut self, proof: Proof) {
        self.support.prover.proof = proof;
        self.support.prover.allow_print();
    }
}

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
