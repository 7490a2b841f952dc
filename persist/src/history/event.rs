//! The events of a history.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    pub(super) all: Vec<(Listener<T>, Arc<AtomicBool>)>,
    pub(super) told: Option<Box<Told>>,
}

impl<T: 'static> Default for Listeners<T> {
    fn default() -> Self {
        Self { all: Vec::new(), told: None }
    }
}

impl<T: 'static> Listeners<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn push(
        &mut self,
        listener: impl FnMut(&HistoryEvent, &History<T>) + Send + 'static,
    ) -> Subscription {
        let has_ended = Arc::new(AtomicBool::new(false));
        self.all.push((Box::new(listener), Arc::clone(&has_ended)));
        Subscription { has_ended }
    }
}

/// Calls all listeners with each event, even if one panics; the first panic is given back.
pub(super) fn tell<T: 'static>(
    listeners: &mut Vec<(Listener<T>, Arc<AtomicBool>)>,
    events: &[HistoryEvent],
    history: &History<T>,
) -> Option<Panic> {
    let is_over = |has_ended: &AtomicBool| has_ended.load(Ordering::Relaxed);
    listeners.retain(|(_, has_ended)| !is_over(has_ended));
    let (mut at, mut next, mut panic) = (0, 0, None);
    while at < events.len() {
        // One guard for all that do not panic.
        let heard = catch_unwind(AssertUnwindSafe(|| {
            while let Some(event) = events.get(at) {
                let Some((call, has_ended)) = listeners.get_mut(next) else {
                    (at, next) = (at + 1, 0);
                    continue;
                };
                next += 1;
                if !is_over(has_ended) {
                    call(event, history);
                }
            }
        }));
        panic = panic.or(heard.err());
    }
    panic
}

/// The values that events report, and a menu shows.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Told {
    position: usize,
    state: u64,
    pub(super) undo: Option<Label>,
    pub(super) redo: Option<Label>,
    pub(super) is_modified: bool,
}

impl Told {
    pub(super) fn of<T: 'static>(history: &History<T>) -> Self {
        Self {
            position: history.position(),
            state: history.state(),
            undo: history.undo_entry().map(Entry::label),
            redo: history.redo_entry().map(Entry::label),
            is_modified: history.is_modified(),
        }
    }

    /// Takes in what has changed since; the events that say so. A label that panics counts as none, and the panic is given
    /// back.
    pub(super) fn update<T: 'static>(&mut self, history: &History<T>) -> (Events, Option<Panic>) {
        let mut panic = None;
        let position = replace(&mut self.position, history.position());
        let state = replace(&mut self.state, history.state());
        let is_modified = replace(&mut self.is_modified, history.is_modified());
        let undo = renamed(&mut self.undo, history.undo_entry(), &mut panic);
        let redo = renamed(&mut self.redo, history.redo_entry(), &mut panic);
        (Events::of(position, state, (undo, redo), is_modified), panic)
    }

    /// The events that say how others differ from these.
    pub(super) fn until(mut self, new: &Self) -> Events {
        let changed = |old: &Option<Label>, new: &Option<Label>| {
            let is_there = new.is_some();
            ((old.is_some() != is_there).then_some(is_there), old != new)
        };
        let position = replace(&mut self.position, new.position);
        let state = replace(&mut self.state, new.state);
        let texts = (changed(&self.undo, &new.undo), changed(&self.redo, &new.redo));
        let is_modified = replace(&mut self.is_modified, new.is_modified);
        Events::of(position, state, texts, is_modified)
    }
}

/// Whether there is something to undo or redo, if that is another answer now, and whether its text is another one.
type Renamed = (Option<bool>, bool);

/// The events of a call, in their order.
pub(super) struct Events {
    all: [HistoryEvent; 7],
    count: usize,
}

impl Events {
    /// Of the values that are other ones now.
    #[inline]
    fn of(
        position: Option<usize>,
        state: Option<u64>,
        (undo, redo): (Renamed, Renamed),
        is_modified: Option<bool>,
    ) -> Self {
        let mut events = Self { all: [HistoryEvent::UndoText; 7], count: 0 };
        events.push(position.map(HistoryEvent::Position));
        events.push(state.map(HistoryEvent::State));
        events.push(undo.0.map(HistoryEvent::CanUndo));
        events.push(undo.1.then_some(HistoryEvent::UndoText));
        events.push(redo.0.map(HistoryEvent::CanRedo));
        events.push(redo.1.then_some(HistoryEvent::RedoText));
        events.push(is_modified.map(HistoryEvent::Modified));
        events
    }

    #[inline]
    fn push(&mut self, event: Option<HistoryEvent>) {
        if let (Some(event), Some(place)) = (event, self.all.get_mut(self.count)) {
            *place = event;
            self.count += 1;
        }
    }
}

impl Deref for Events {
    type Target = [HistoryEvent];

    fn deref(&self) -> &[HistoryEvent] {
        &self.all[..self.count]
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
) -> Renamed {
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
