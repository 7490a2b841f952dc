//! Several histories with one menu, which shows the active one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{History, HistoryEvent, Subscription};
use crate::Session;

/// The histories of several documents with one undo menu, which shows the active one.
///
/// It does not own the histories. Each [reports](History::subscribe) what has changed, and the group passes on what the active one reports. The
/// documents may be of different types, and in [sessions](Session) or not.
///
/// # Example
///
/// ```
/// use persist::history::Histories;
/// use persist::{History, World};
///
/// let (mut town, mut town_history) = (World::new(), History::new(100));
/// let (mut cave, mut cave_history) = (World::new(), History::new(100));
/// let mut histories = Histories::new();
/// let (in_town, in_cave) = (histories.add(&mut town_history), histories.add(&mut cave_history));
///
/// town_history.edit(&mut town, "Add house", |edit| edit.spawn("House"))?;
/// cave_history.edit(&mut cave, "Add bat", |edit| edit.spawn("Bat"))?;
/// histories.set_active(Some(in_town));
/// assert_eq!(histories.undo_text(), "Undo Add house");
/// histories.set_active(Some(in_cave));
/// assert_eq!(histories.undo_text(), "Undo Add bat");
/// cave_history.undo(&mut cave)?;
/// assert_eq!(histories.redo_text(), "Redo Add bat");
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Default)]
pub struct Histories {
    group: Arc<Mutex<Group>>,
}

/// A history in [`Histories`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HistoryId(u64);

type Listener = Box<dyn FnMut(&HistoryEvent) + Send>;

#[derive(Default)]
struct Group {
    members: Vec<Member>,
    active: Option<HistoryId>,
    listeners: Vec<Listener>,
    last: u64,
}

struct Member {
    id: HistoryId,
    shown: Shown,
    subscription: Subscription,
}

/// What a menu shows of a history.
#[derive(Clone, Default, PartialEq, Eq)]
struct Shown {
    position: usize,
    state: u64,
    can_undo: bool,
    undo: String,
    can_redo: bool,
    redo: String,
    is_modified: bool,
}

impl Shown {
    fn of<T: 'static>(history: &History<T>) -> Self {
        Self {
            position: history.position(),
            state: history.state(),
            can_undo: history.can_undo(),
            undo: history.undo_text(),
            can_redo: history.can_redo(),
            redo: history.redo_text(),
            is_modified: history.is_modified(),
        }
    }

    /// What differs from another, in the order of events.
    fn since(&self, old: &Self) -> Vec<HistoryEvent> {
        let events = [
            (old.position != self.position).then_some(HistoryEvent::Position(self.position)),
            (old.state != self.state).then_some(HistoryEvent::State(self.state)),
            (old.can_undo != self.can_undo).then_some(HistoryEvent::CanUndo(self.can_undo)),
            (old.undo != self.undo).then_some(HistoryEvent::UndoText),
            (old.can_redo != self.can_redo).then_some(HistoryEvent::CanRedo(self.can_redo)),
            (old.redo != self.redo).then_some(HistoryEvent::RedoText),
            (old.is_modified != self.is_modified)
                .then_some(HistoryEvent::Modified(self.is_modified)),
        ];
        events.into_iter().flatten().collect()
    }
}

impl Group {
    fn shown(&self) -> Option<&Shown> {
        let active = self.active?;
        self.members.iter().find(|member| member.id == active).map(|member| &member.shown)
    }
}

fn lock(group: &Mutex<Group>) -> MutexGuard<'_, Group> {
    group.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes events on. A listener may ask the group, and subscribe others.
fn send(group: &Arc<Mutex<Group>>, events: &[HistoryEvent]) {
    let mut listeners = std::mem::take(&mut lock(group).listeners);
    for event in events {
        listeners.iter_mut().for_each(|listener| listener(event));
    }
    let mut group = lock(group);
    listeners.append(&mut group.listeners);
    group.listeners = listeners;
}

/// Notes what a member reports, and passes it on if it is the active one.
fn hear<T: 'static>(
    group: &Weak<Mutex<Group>>,
    id: HistoryId,
    event: &HistoryEvent,
    history: &History<T>,
) {
    let Some(group) = group.upgrade() else { return };
    {
        let mut group = lock(&group);
        let is_active = group.active == Some(id);
        let Some(member) = group.members.iter_mut().find(|member| member.id == id) else { return };
        let shown = &mut member.shown;
        match event {
            HistoryEvent::Position(position) => shown.position = *position,
            HistoryEvent::State(state) => shown.state = *state,
            HistoryEvent::CanUndo(can_undo) => shown.can_undo = *can_undo,
            HistoryEvent::UndoText => shown.undo = history.undo_text(),
            HistoryEvent::CanRedo(can_redo) => shown.can_redo = *can_redo,
            HistoryEvent::RedoText => shown.redo = history.redo_text(),
            HistoryEvent::Modified(is_modified) => shown.is_modified = *is_modified,
            HistoryEvent::Recovered(_) => *shown = Shown::of(history),
        }
        if !is_active {
            return;
        }
    }
    send(&group, &[*event]);
}

impl Histories {
    /// A group of no histories.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a history. It is not the active one before [`set_active`](Self::set_active).
    pub fn add<T: 'static>(&mut self, history: &mut History<T>) -> HistoryId {
        let mut group = lock(&self.group);
        group.last += 1;
        let id = HistoryId(group.last);
        let weak = Arc::downgrade(&self.group);
        let shown = Shown::of(history);
        let subscription = history.subscribe(move |event, history| hear(&weak, id, event, history));
        group.members.push(Member { id, shown, subscription });
        id
    }

    /// Adds the history of a session.
    pub fn add_session<T: 'static>(&mut self, session: &mut Session<T>) -> HistoryId {
        self.add(&mut session.history)
    }

    /// Removes a history, whose document is closed; false if it is none of these. If it was the active one, none is.
    pub fn remove(&mut self, id: HistoryId) -> bool {
        if self.active() == Some(id) {
            self.set_active(None);
        }
        let members = &mut lock(&self.group).members;
        let Some(at) = members.iter().position(|member| member.id == id) else { return false };
        members.remove(at).subscription.end();
        true
    }

    /// Makes a history the active one, or none; listeners hear of each value that is another one then. False if it is none of these.
    pub fn set_active(&mut self, id: Option<HistoryId>) -> bool {
        let events = {
            let mut group = lock(&self.group);
            if id.is_some_and(|id| group.members.iter().all(|member| member.id != id)) {
                return false;
            }
            let old = group.shown().cloned().unwrap_or_default();
            group.active = id;
            group.shown().cloned().unwrap_or_default().since(&old)
        };
        send(&self.group, &events);
        true
    }

    /// The active history.
    #[must_use]
    pub fn active(&self) -> Option<HistoryId> {
        lock(&self.group).active
    }

    /// Calls a listener from now on with every value of the active history that changes, also by a change of the active one.
    pub fn subscribe(&mut self, listener: impl FnMut(&HistoryEvent) + Send + 'static) {
        lock(&self.group).listeners.push(Box::new(listener));
    }

    /// True if the active history can undo something.
    #[must_use]
    pub fn can_undo(&self) -> bool {
        self.show(|shown| shown.can_undo)
    }

    /// True if the active history can redo something.
    #[must_use]
    pub fn can_redo(&self) -> bool {
        self.show(|shown| shown.can_redo)
    }

    /// The [undo text](History::undo_text) of the active history.
    #[must_use]
    pub fn undo_text(&self) -> String {
        self.show(|shown| shown.undo.clone())
    }

    /// The [redo text](History::redo_text) of the active history.
    #[must_use]
    pub fn redo_text(&self) -> String {
        self.show(|shown| shown.redo.clone())
    }

    /// True if the document of the active history has unsaved changes.
    #[must_use]
    pub fn is_modified(&self) -> bool {
        self.show(|shown| shown.is_modified)
    }

    fn show<R: Default>(&self, show: impl FnOnce(&Shown) -> R) -> R {
        lock(&self.group).shown().map(show).unwrap_or_default()
    }
}
