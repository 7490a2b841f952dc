//! The events of a history.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Label, Listeners, Panic, ReportedState, UndoEntry, Verb};
use crate::FieldPath;
use crate::fields::ObjectName;

/// A value of a [`History`](super::History) that has changed.
///
/// After each call that changes a history, the events for changed values are reported in the order of this enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryEvent {
    /// The value of [`History::position`](super::History::position).
    Position(usize),
    /// The value of [`History::state`](super::History::state). It also changes after a merge.
    State(u64),
    /// The value of [`History::can_undo`](super::History::can_undo).
    CanUndo(bool),
    /// The text has changed: a listener that shows it calls [`History::undo_text`](super::History::undo_text).
    UndoText,
    /// The value of [`History::can_redo`](super::History::can_redo).
    CanRedo(bool),
    /// The text has changed: a listener that shows it calls [`History::redo_text`](super::History::redo_text).
    RedoText,
    /// The value of [`History::is_modified`](super::History::is_modified).
    Modified(bool),
    /// A session was opened with this many entries. The events above are reported before, once for all of them.
    Recovered(usize),
}

/// A listener of a history: see [`History::subscribe`](super::History::subscribe).
///
/// Dropping it does not unsubscribe the listener.
#[derive(Debug)]
pub struct Subscription {
    has_ended: Arc<AtomicBool>,
}

impl Subscription {
    /// Creates a subscription, with the flag that says whether it has ended.
    pub(super) fn begin() -> (Arc<AtomicBool>, Self) {
        let has_ended = Arc::new(AtomicBool::new(false));
        (Arc::clone(&has_ended), Self { has_ended })
    }

    /// Unsubscribes the listener, for a view that is closed.
    pub fn end(self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

/// A listener, and whether it has been unsubscribed.
pub(super) type ListenerEntry<H> = (Box<dyn FnMut(&HistoryEvent, &H) + Send>, Arc<AtomicBool>);

impl<H> Default for Listeners<H> {
    fn default() -> Self {
        Self { all: Vec::new(), reported: ReportedState::default(), are_present: false }
    }
}

impl<H> Listeners<H> {
    pub(super) fn push(
        &mut self,
        listener: impl FnMut(&HistoryEvent, &H) + Send + 'static,
    ) -> Subscription {
        let (has_ended, subscription) = Subscription::begin();
        self.are_present = true;
        self.all.push((Box::new(listener), has_ended));
        subscription
    }
}

/// Calls each listener with all events, even if another one panics. Returns the first panic.
pub(super) fn notify<H>(
    listeners: &mut Vec<ListenerEntry<H>>,
    events: &[HistoryEvent],
    history: &H,
) -> Option<Panic> {
    let (mut is_any_over, mut panic) = (false, None);
    let mut rest = listeners.iter_mut();
    let (mut hearing, mut unheard) = (rest.next(), events.iter());
    // One `catch_unwind` serves all: after a panic, the listener receives its remaining events, and then the next one
    // follows.
    while let Err(why) = catch_unwind(AssertUnwindSafe(|| {
        while let Some((call, has_ended)) = &mut hearing {
            for event in unheard.by_ref() {
                if has_ended.load(Ordering::Relaxed) {
                    is_any_over = true;
                    break;
                }
                call(event, history);
            }
            (hearing, unheard) = (rest.next(), events.iter());
        }
    })) {
        panic.get_or_insert(why);
    }
    if is_any_over {
        listeners.retain(|(_, has_ended)| !has_ended.load(Ordering::Relaxed));
    }
    panic
}

impl ReportedState {
    /// Notes new values, and returns the events for those that changed.
    #[inline]
    pub(super) fn report(
        &mut self,
        (position, state, is_modified): (usize, u64, bool),
        (undo, redo): (NameChange, NameChange),
    ) -> Events {
        let mut events = Events { list: [HistoryEvent::UndoText; 7], count: 0 };
        events.add(HistoryEvent::Position(position), position != self.position);
        events.add(HistoryEvent::State(state), state != self.state);
        events.add(HistoryEvent::CanUndo(undo.0 == Some(true)), undo.0.is_some());
        events.add(HistoryEvent::UndoText, undo.1);
        events.add(HistoryEvent::CanRedo(redo.0 == Some(true)), redo.0.is_some());
        events.add(HistoryEvent::RedoText, redo.1);
        events.add(HistoryEvent::Modified(is_modified), is_modified != self.is_modified);
        (self.position, self.state, self.is_modified) = (position, state, is_modified);
        events
    }

    /// Returns the events for all values in which `new` differs.
    pub(super) fn until(mut self, new: &Self) -> Events {
        let texts = (self.undo.replace(new.undo.clone()), self.redo.replace(new.redo.clone()));
        self.report((new.position, new.state, new.is_modified), texts)
    }
}

/// The name of the entry that is undone or redone next, if there is one.
#[derive(Clone, Default, PartialEq)]
pub(super) enum EntryName {
    #[default]
    None,
    /// A field that was set, and the name of its object. This is what most entries do.
    Set(FieldPath, Option<ObjectName>),
    Other(Label),
}

impl EntryName {
    /// The name of an entry, if there is one. An entry whose file cannot be read, the inner `None`, has an empty name.
    pub(super) fn from_entry<T: 'static>(entry: Option<Option<&UndoEntry<T>>>) -> Self {
        let Some(entry) = entry else { return Self::None };
        match entry.and_then(UndoEntry::set_field) {
            Some((path, object)) => Self::Set(path.clone(), object.cloned()),
            None => Self::Other(entry.map(UndoEntry::label).unwrap_or_default()),
        }
    }

    pub(super) fn is_present(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Returns the text of a menu. Empty if there is no entry.
    pub(super) fn text(&self, verb: &str) -> String {
        match self {
            Self::None => String::new(),
            Self::Set(path, object) => {
                Label::of_field(Verb::Set, path, object.as_ref()).after(verb)
            }
            Self::Other(label) => label.after(verb),
        }
    }

    pub(super) fn replace(&mut self, new: Self) -> NameChange {
        let is_present = new.is_present();
        let renamed = ((self.is_present() != is_present).then_some(is_present), *self != new);
        *self = new;
        renamed
    }

    /// Takes over the name of the object, if both set the same field. Returns whether the name differs, or `None` for
    /// another field.
    #[inline]
    pub(super) fn is_renamed(
        &mut self,
        (path, object): (&FieldPath, Option<&ObjectName>),
    ) -> Option<bool> {
        let Self::Set(field, old) = self else { return None };
        if !field.is(path) {
            return None;
        }
        let is_other = old.as_ref() != object;
        match (old, object) {
            (Some(old), Some(new)) => old.clone_from(new),
            (old, new) => *old = new.cloned(),
        }
        Some(is_other)
    }
}

/// How a name changed: whether an entry is now present, if that changed, and whether the text differs.
pub(super) type NameChange = (Option<bool>, bool);

/// The events of a call, in their order.
pub(super) struct Events {
    list: [HistoryEvent; 7],
    count: usize,
}

impl Events {
    #[inline]
    fn add(&mut self, event: HistoryEvent, is_new: bool) {
        if is_new {
            self.list[self.count] = event;
            self.count += 1;
        }
    }
}

impl Deref for Events {
    type Target = [HistoryEvent];

    fn deref(&self) -> &[HistoryEvent] {
        &self.list[..self.count]
    }
}
