//! Several histories that share one undo menu.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{History, HistoryEvent, Panic, ReportedState, Subscription};
use crate::Session;

/// The histories of several documents that share one undo menu, which shows the active one.
///
/// It does not own the histories. Each history [reports](History::subscribe) its changes to the group, and the group
/// passes those of the active one to its own listeners. The documents may be of different types, with or without
/// [sessions](Session). A history that is dropped leaves the group.
///
/// # Example
///
/// ```
/// # #[cfg(feature = "world")] {
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
/// # }
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Default)]
pub struct Histories {
    group: Arc<Mutex<Group>>,
}

/// Identifies a history in [`Histories`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HistoryId(u64);

type Listener = Box<dyn FnMut(&HistoryEvent) + Send>;

#[derive(Default)]
struct Group {
    members: Vec<GroupMember>,
    active: Option<HistoryId>,
    listeners: Vec<Listener>,
    /// Events that were not yet passed to the listeners, in their order.
    events: VecDeque<HistoryEvent>,
    /// Whether some call is passing events on. It will also pass on events that are added meanwhile.
    is_sending: bool,
    last: u64,
}

struct GroupMember {
    id: HistoryId,
    reported: ReportedState,
    subscription: Subscription,
}

impl Group {
    fn reported(&self) -> Option<&ReportedState> {
        let active = self.active?;
        self.members.iter().find(|member| member.id == active).map(|member| &member.reported)
    }

    fn activate(&mut self, id: Option<HistoryId>) {
        let old = self.reported().cloned().unwrap_or_default();
        self.active = id;
        let new = self.reported().cloned().unwrap_or_default();
        self.events.extend(&*old.until(&new));
    }

    fn leave(&mut self, id: HistoryId) -> Option<GroupMember> {
        let at = self.members.iter().position(|member| member.id == id)?;
        if self.active == Some(id) {
            self.activate(None);
        }
        Some(self.members.remove(at))
    }
}

fn lock(group: &Mutex<Group>) -> MutexGuard<'_, Group> {
    group.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes queued events to all listeners, even if one panics, and returns the first panic.
///
/// Does nothing if a call on another thread, or one further up the stack, is passing events on: that call passes these
/// on, too. The group is not locked while a listener runs, so the listener may query it, change it, and subscribe
/// others.
fn send(group: &Mutex<Group>) -> Option<Panic> {
    if std::mem::replace(&mut lock(group).is_sending, true) {
        return None;
    }
    let (mut listeners, mut panic) = (Vec::new(), None);
    loop {
        let event = {
            let mut group = lock(group);
            listeners.append(&mut group.listeners);
            let Some(event) = group.events.pop_front() else {
                (group.listeners, group.is_sending) = (listeners, false);
                return panic;
            };
            event
        };
        for listener in &mut listeners {
            let heard = catch_unwind(AssertUnwindSafe(|| listener(&event)));
            panic = panic.or(heard.err());
        }
    }
}

/// Changes a group, and passes the resulting events on.
fn change<R>(group: &Mutex<Group>, change: impl FnOnce(&mut Group) -> R) -> R {
    let changed = change(&mut lock(group));
    // A panic during another panic would abort the program.
    if let Some(panic) = send(group).filter(|_| !std::thread::panicking()) {
        resume_unwind(panic);
    }
    changed
}

/// Held by the listener of a member's history. When the history is dropped, so is this, and the member leaves.
struct Membership {
    group: Weak<Mutex<Group>>,
    id: HistoryId,
}

impl Drop for Membership {
    fn drop(&mut self) {
        if let Some(group) = self.group.upgrade() {
            change(&group, |group| group.leave(self.id));
        }
    }
}

/// Stores the state that a member reports, and passes the event on if the member is the active one.
fn hear<T: 'static>(membership: &Membership, event: &HistoryEvent, history: &History<T>) {
    let Some(group) = membership.group.upgrade() else { return };
    change(&group, |group| {
        let is_active = group.active == Some(membership.id);
        let mut members = group.members.iter_mut();
        let Some(member) = members.find(|member| member.id == membership.id) else { return };
        member.reported = history.reported();
        if is_active {
            group.events.push_back(*event);
        }
    });
}

impl Histories {
    /// Creates a group without histories.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a history. It becomes the active one by [`set_active`](Self::set_active).
    pub fn add<T: 'static>(&mut self, history: &mut History<T>) -> HistoryId {
        let mut group = lock(&self.group);
        group.last += 1;
        let id = HistoryId(group.last);
        let membership = Membership { group: Arc::downgrade(&self.group), id };
        let reported = history.reported();
        let subscription =
            history.subscribe(move |event, history| hear(&membership, event, history));
        group.members.push(GroupMember { id, reported, subscription });
        id
    }

    /// Adds the history of a session.
    pub fn add_session<T: 'static>(&mut self, session: &mut Session<T>) -> HistoryId {
        self.add(&mut session.history)
    }

    /// Removes a history, whose document is closed. Returns false if it is not in the group.
    ///
    /// If it was the active one, no history is active.
    pub fn remove(&mut self, id: HistoryId) -> bool {
        change(&self.group, |group| group.leave(id).map(|left| left.subscription.end()).is_some())
    }

    /// Makes a history the active one, or none. Returns false if it is not in the group.
    ///
    /// Listeners are notified of each value that differs between the old and the new active history. If listeners are
    /// being called, by another thread or further up the stack, they are notified after that.
    pub fn set_active(&mut self, id: Option<HistoryId>) -> bool {
        change(&self.group, |group| {
            let is_member = |id| group.members.iter().any(|member| member.id == id);
            let is_one = id.is_none_or(is_member);
            if is_one {
                group.activate(id);
            }
            is_one
        })
    }

    /// Returns the active history.
    #[must_use]
    pub fn active(&self) -> Option<HistoryId> {
        lock(&self.group).active
    }

    /// Calls a listener from now on with every value of the active history that changes.
    ///
    /// A change of the active history counts as well. Listeners receive all events in their order. If one panics, the
    /// others are called, and the panic resumes.
    pub fn subscribe(&mut self, listener: impl FnMut(&HistoryEvent) + Send + 'static) {
        lock(&self.group).listeners.push(Box::new(listener));
    }

    /// Returns true if the active history can undo something.
    #[must_use]
    pub fn can_undo(&self) -> bool {
        self.show(|reported| reported.undo.is_present())
    }

    /// Returns true if the active history can redo something.
    #[must_use]
    pub fn can_redo(&self) -> bool {
        self.show(|reported| reported.redo.is_present())
    }

    /// Returns the [undo text](History::undo_text) of the active history.
    #[must_use]
    pub fn undo_text(&self) -> String {
        self.show(|reported| reported.undo.text("Undo"))
    }

    /// Returns the [redo text](History::redo_text) of the active history.
    #[must_use]
    pub fn redo_text(&self) -> String {
        self.show(|reported| reported.redo.text("Redo"))
    }

    /// Returns true if the document of the active history has unsaved changes.
    #[must_use]
    pub fn is_modified(&self) -> bool {
        self.show(|reported| reported.is_modified)
    }

    fn show<R: Default>(&self, show: impl FnOnce(&ReportedState) -> R) -> R {
        lock(&self.group).reported().map(show).unwrap_or_default()
    }
}

impl fmt::Debug for Histories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Printing must not wait for another thread that has the group locked.
        let group = self.group.try_lock();
        let histories = group.as_ref().map(|group| group.members.len()).ok();
        f.debug_struct("Histories").field("histories", &histories).finish_non_exhaustive()
    }
}
