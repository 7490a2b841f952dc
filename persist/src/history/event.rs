//! The events of a history.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::failure::Panic;
use super::{Label, Verb};
use crate::FieldPath;

/// A value of a [`History`](super::History) that has changed.
///
/// After each call that changes a history, they come in the order in which they stand here, each only if its value changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryEvent {
    /// [`History::position`](super::History::position).
    Position(usize),
    /// [`History::state`](super::History::state); it changes after a merge, too.
    State(u64),
    /// [`History::can_undo`](super::History::can_undo).
    CanUndo(bool),
    /// [`History::undo_text`](super::History::undo_text), which a listener asks for if it shows it.
    UndoText,
    /// [`History::can_redo`](super::History::can_redo).
    CanRedo(bool),
    /// [`History::redo_text`](super::History::redo_text).
    RedoText,
    /// [`History::is_modified`](super::History::is_modified).
    Modified(bool),
    /// This many entries were recovered from a journal; nothing else is reported for them.
    Recovered(usize),
}

/// A listener of a history: see [`History::subscribe`](super::History::subscribe). If this is dropped, it hears on.
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

/// A listener, and whether it has been unsubscribed.
type Hearing<H> = (Box<dyn FnMut(&HistoryEvent, &H) + Send>, Arc<AtomicBool>);

/// The listeners, and what was reported last.
pub(super) struct Listeners<H> {
    pub(super) all: Vec<Hearing<H>>,
    /// What was reported last; nothing is noted while there is no listener.
    pub(super) told: Told,
    /// True if there are listeners, also while they are called.
    pub(super) are_there: bool,
}

impl<H> Default for Listeners<H> {
    fn default() -> Self {
        Self { all: Vec::new(), told: Told::default(), are_there: false }
    }
}

impl<H> Listeners<H> {
    pub(super) fn push(
        &mut self,
        listener: impl FnMut(&HistoryEvent, &H) + Send + 'static,
    ) -> Subscription {
        let has_ended = Arc::new(AtomicBool::new(false));
        self.are_there = true;
        self.all.push((Box::new(listener), Arc::clone(&has_ended)));
        Subscription { has_ended }
    }
}

/// Calls one listener after the other with all events, even if one panics; the first panic is given back.
pub(super) fn tell<H>(
    listeners: &mut Vec<Hearing<H>>,
    events: &[Option<HistoryEvent>],
    history: &H,
) -> Option<Panic> {
    let (mut is_any_over, mut panic) = (false, None);
    for (call, has_ended) in &mut *listeners {
        let mut rest = events.iter();
        // After a panic it hears what is left.
        while let Err(why) = catch_unwind(AssertUnwindSafe(|| {
            for event in rest.by_ref().flatten() {
                if has_ended.load(Ordering::Relaxed) {
                    is_any_over = true;
                    break;
                }
                call(event, history);
            }
        })) {
            panic.get_or_insert(why);
        }
    }
    if is_any_over {
        listeners.retain(|(_, has_ended)| !has_ended.load(Ordering::Relaxed));
    }
    panic
}

/// The values that events report, and a menu shows.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Told {
    pub(super) position: usize,
    pub(super) state: u64,
    pub(super) undo: Name,
    pub(super) redo: Name,
    pub(super) is_modified: bool,
}

impl Told {
    /// Notes other values; the events that say which have changed.
    #[inline]
    pub(super) fn report(
        &mut self,
        (position, state, is_modified): (usize, u64, bool),
        (undo, redo): (Renamed, Renamed),
    ) -> Events {
        [
            replace(&mut self.position, position).map(HistoryEvent::Position),
            replace(&mut self.state, state).map(HistoryEvent::State),
            undo.0.map(HistoryEvent::CanUndo),
            undo.1.then_some(HistoryEvent::UndoText),
            redo.0.map(HistoryEvent::CanRedo),
            redo.1.then_some(HistoryEvent::RedoText),
            replace(&mut self.is_modified, is_modified).map(HistoryEvent::Modified),
        ]
    }

    /// The events that say how others differ from these.
    pub(super) fn until(mut self, new: &Self) -> Events {
        let changed = |old: &Name, new: &Name| {
            let is_there = new.is_there();
            ((old.is_there() != is_there).then_some(is_there), old != new)
        };
        let texts = (changed(&self.undo, &new.undo), changed(&self.redo, &new.redo));
        self.report((new.position, new.state, new.is_modified), texts)
    }
}

/// What an entry is called that can be undone or redone, if there is one.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Name {
    label: Option<Label>,
    /// The name of the object in it. It is copied: to count its owners takes a tenth of a small edit.
    object: Option<String>,
}

impl Name {
    pub(super) fn of(label: Option<Label>) -> Self {
        let mut name = Self::default();
        name.replace(label);
        name
    }

    pub(super) fn is_there(&self) -> bool {
        self.label.is_some()
    }

    /// The text of a menu; empty if there is none.
    pub(super) fn text(&self, verb: &str) -> String {
        let mut label = self.label.clone();
        if let (Some(Label::Change { object, .. }), Some(name)) = (&mut label, &self.object) {
            *object = Some(name.as_str().into());
        }
        label.map_or(String::new(), |label| label.behind(verb))
    }

    pub(super) fn replace(&mut self, mut label: Option<Label>) -> Renamed {
        let object = match &mut label {
            Some(Label::Change { object, .. }) => object.take(),
            _ => None,
        };
        let is_there = (self.label.is_some() != label.is_some()).then_some(label.is_some());
        let is_other = self.label != label || self.object.as_deref() != object.as_deref();
        (self.label, self.object) = (label, object.map(|object| (*object).into()));
        (is_there, is_other)
    }

    /// Takes the name of another object, if it is that of the field of one that was set; true if it was another.
    #[inline]
    pub(super) fn is_renamed(
        &mut self,
        (path, object): (&FieldPath, Option<&Arc<str>>),
    ) -> Option<bool> {
        let Some(Label::Change { verb: Verb::Set, field: Some(field), .. }) = &self.label else {
            return None;
        };
        if !field.is(path) || self.object.is_some() != object.is_some() {
            return None;
        }
        let (Some(old), Some(new)) = (&mut self.object, object) else { return Some(false) };
        let is_other = **old != **new;
        if is_other {
            old.clear();
            old.push_str(new);
        }
        Some(is_other)
    }
}

/// Whether there is something to undo or redo, if that is another answer now, and whether its text is another one.
pub(super) type Renamed = (Option<bool>, bool);

/// The events of a call, in their order; none where nothing has changed.
pub(super) type Events = [Option<HistoryEvent>; 7];

/// Replaces a value; the new one, if it is another.
fn replace<V: Copy + PartialEq>(old: &mut V, new: V) -> Option<V> {
    (mem::replace(old, new) != new).then_some(new)
}
