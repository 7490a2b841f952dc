//! The events of a history.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::entry::Entry;
use super::step::Panic;
use super::{History, Label};

/// A value of a [`History`] that has changed.
///
/// After each call that changes a history, they come in the order in which they stand here, each only if its value changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryEvent {
    /// [`History::position`].
    Position(usize),
    /// [`History::state`]; it changes after a merge, too.
    State(u64),
    /// [`History::can_undo`].
    CanUndo(bool),
    /// [`History::undo_text`], which a listener asks for if it shows it.
    UndoText,
    /// [`History::can_redo`].
    CanRedo(bool),
    /// [`History::redo_text`].
    RedoText,
    /// [`History::is_modified`].
    Modified(bool),
    /// This many entries were recovered from a journal; nothing else is reported for them.
    Recovered(usize),
}

/// A listener of a history: see [`History::subscribe`]. If this is dropped, it hears on.
#[derive(Debug)]
pub struct Subscription {
    has_ended: Arc<AtomicBool>,
}

impl Subscription {
    /// Ends the calls of the listener, as of a view that is closed.
    pub fn end(self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

type Listener<T> = Box<dyn FnMut(&HistoryEvent, &History<T>) + Send>;

/// The listeners, and what was reported last.
pub(super) struct Listeners<T: 'static> {
    listeners: Vec<Listening<T>>,
    told: Option<Box<Told>>,
}

impl<T: 'static> Default for Listeners<T> {
    fn default() -> Self {
        Self { listeners: Vec::new(), told: None }
    }
}

impl<T: 'static> Listeners<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.listeners.is_empty()
    }
}

struct Listening<T: 'static> {
    listener: Listener<T>,
    has_ended: Arc<AtomicBool>,
}

impl<T: 'static> Listening<T> {
    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}

/// The values that events report.
struct Told {
    position: usize,
    state: u64,
    undo: Option<Label>,
    redo: Option<Label>,
    is_modified: bool,
}

impl Told {
    /// Takes in what has changed since; the events that say so. A label that panics counts as none, and the panic is given
    /// back.
    fn update<T: 'static>(
        &mut self,
        history: &History<T>,
    ) -> ([Option<HistoryEvent>; 7], Option<Panic>) {
        let mut panic = None;
        let position = replace(&mut self.position, history.position());
        let state = replace(&mut self.state, history.state());
        let is_modified = replace(&mut self.is_modified, history.is_modified());
        let (can_undo, is_undo_other) = renamed(&mut self.undo, history.undo_entry(), &mut panic);
        let (can_redo, is_redo_other) = renamed(&mut self.redo, history.redo_entry(), &mut panic);
        let events = [
            position.map(HistoryEvent::Position),
            state.map(HistoryEvent::State),
            can_undo.map(HistoryEvent::CanUndo),
            is_undo_other.then_some(HistoryEvent::UndoText),
            can_redo.map(HistoryEvent::CanRedo),
            is_redo_other.then_some(HistoryEvent::RedoText),
            is_modified.map(HistoryEvent::Modified),
        ];
        (events, panic)
    }
}

/// Replaces a value; the new one, if it is another.
fn replace<V: Copy + PartialEq>(old: &mut V, new: V) -> Option<V> {
    (std::mem::replace(old, new) != new).then_some(new)
}

/// Replaces a label by that of an entry: whether there is one now, if there was none before or the other way round, and
/// whether it is another.
fn renamed<T: 'static>(
    label: &mut Option<Label>,
    entry: Option<&Entry<T>>,
    panic: &mut Option<Panic>,
) -> (Option<bool>, bool) {
    // Mostly the same field of another object was set, whose path both share.
    if let (Some(label), Some(entry)) = (&mut *label, entry)
        && let Some(is_other) = entry.rename(label)
    {
        return (None, is_other);
    }
    if label.is_none() && entry.is_none() {
        return (None, false);
    }
    let new = entry.map(|entry| {
        catch_unwind(AssertUnwindSafe(|| entry.label())).unwrap_or_else(|why| {
            panic.get_or_insert(why);
            Label::None
        })
    });
    let is_there = (label.is_some() != new.is_some()).then_some(new.is_some());
    let is_other = *label != new;
    *label = new;
    (is_there, is_other)
}

impl<T: 'static> History<T> {
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
        listener: impl FnMut(&HistoryEvent, &History<T>) + Send + 'static,
    ) -> Subscription {
        if self.listeners.listeners.is_empty() {
            self.listeners.told = Some(Box::new(self.told()));
        }
        let has_ended = Arc::new(AtomicBool::new(false));
        let subscription = Subscription { has_ended: Arc::clone(&has_ended) };
        self.listeners.listeners.push(Listening { listener: Box::new(listener), has_ended });
        subscription
    }

    fn told(&self) -> Told {
        Told {
            position: self.position(),
            state: self.state(),
            undo: self.undo_entry().map(Entry::label),
            redo: self.redo_entry().map(Entry::label),
            is_modified: self.is_modified(),
        }
    }

    /// Ends a call: reports what has changed since the last time, and resumes a panic that was caught.
    pub(super) fn tell(&mut self) {
        self.tell_changes();
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }

    fn tell_changes(&mut self) {
        if self.listeners.listeners.is_empty() {
            return;
        }
        let Some(mut told) = self.listeners.told.take() else { return };
        let (events, panic) = told.update(self);
        self.listeners.told = Some(told);
        self.panic = self.panic.take().or(panic);
        self.send(&events);
    }

    /// Notes what the values are, without telling.
    pub(super) fn tell_nothing(&mut self) {
        if self.listeners.told.is_some() {
            self.listeners.told = Some(Box::new(self.told()));
        }
    }

    /// Calls all listeners with each event, even if one panics; that panic resumes at the end of the call.
    pub(super) fn send(&mut self, events: &[Option<HistoryEvent>]) {
        let mut listeners = std::mem::take(&mut self.listeners.listeners);
        listeners.retain(|listening| !listening.has_ended());
        let mut panic = None;
        for event in events.iter().flatten() {
            for Listening { listener, .. } in listeners.iter_mut().filter(|one| !one.has_ended()) {
                let heard = catch_unwind(AssertUnwindSafe(|| listener(event, self)));
                panic = panic.or(heard.err());
            }
        }
        self.listeners.listeners = listeners;
        self.panic = self.panic.take().or(panic);
    }
}
