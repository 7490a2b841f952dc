//! Which edits become one entry.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::history::Clock;
use super::{Editable, History, Label};
use crate::Result;

/// How an edit may become a part of the entry before it.
#[derive(crate::Persist, Clone, Copy, Debug, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Merging")]
pub(super) enum Merging {
    /// Not at all.
    No,
    /// If both have the same label, and set a field in common or are commands that merge.
    Alike,
    /// In any case; what does not merge is a further step.
    Join,
}

/// What edits have in common that become one entry in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeKey {
    Given(u64),
    Drag(u64),
}

/// A drag that has begun: see [`History::begin_drag`].
///
/// It ends with [`History::end_drag`], or when this is dropped.
#[must_use = "the drag ends when this is dropped"]
#[derive(Debug)]
pub struct Drag {
    open: Arc<()>,
}

/// How long after an edit another one may be merged into it: see [`History::set_merge_window`].
///
/// It is made of a `Duration` or an `Option` of one.
pub struct MergeWindow {
    time: Option<Duration>,
    /// None for the one that the history has.
    clock: Option<Box<dyn Fn() -> Duration + Send>>,
}

impl MergeWindow {
    /// A window that is measured by a clock of the program, instead of that of the system; any beginning will do. The history keeps the clock.
    ///
    /// A target without a clock, such as `wasm32-unknown-unknown`, needs one: without it, a merge window merges nothing.
    #[must_use]
    pub fn with_clock(time: Duration, clock: impl Fn() -> Duration + Send + 'static) -> Self {
        Self { time: Some(time), clock: Some(Box::new(clock)) }
    }
}

impl From<Duration> for MergeWindow {
    fn from(time: Duration) -> Self {
        Self::from(Some(time))
    }
}

impl From<Option<Duration>> for MergeWindow {
    fn from(time: Option<Duration>) -> Self {
        Self { time, clock: None }
    }
}

/// The drag of a history.
pub(super) struct OpenDrag {
    number: u64,
    label: Label,
    /// Gone if the program has dropped its part.
    open: Weak<()>,
}

impl<T: 'static> History<T> {
    /// Like [`edit`](Self::edit), but joins the entry before it if that was made with the same key: each key press in a text field, or each move of a
    /// slider.
    ///
    /// Nothing is joined across an undo, a redo, a save or the border of a transaction.
    ///
    /// # Errors
    ///
    /// Those of [`edit`](Self::edit).
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// let door = history.edit(&mut world, "Add door", |edit| edit.spawn("Door"))?;
    /// for text in ["G", "Ga", "Gat", "Gate"] {
    ///     history.edit_merging(&mut world, ("name", door), "Rename", |edit| {
    ///         edit.rename(door, text).map(drop)
    ///     })?;
    /// }
    /// history.undo(&mut world)?;
    /// assert_eq!(world.name(door), Some("Door"));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn edit_merging<R>(
        &mut self,
        target: &mut T,
        key: impl Hash,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R>
    where
        T: Editable,
    {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let key = MergeKey::Given(hasher.finish());
        self.edit_as(target, Some(key), label.into(), |scope| T::persist_edit(scope, edit))
    }

    /// Begins a drag: all edits until [`end_drag`](Self::end_drag) are one entry with this label, or with that of the first if it is empty.
    ///
    /// It lives across frames, from the press to the release of a mouse button. In contrast to a [transaction](Self::begin), each edit is part of the
    /// list at once: a crash keeps it, and it can be undone. After an undo, a redo, a save or a transaction, the rest of the drag is an entry of its
    /// own. A second drag ends the first.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, History, Persist, World, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Place { x: f32, y: f32 }
    /// impl Component for Place {}
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// let door = world.spawn("Door");
    /// world.attach(door, Place::default())?;
    /// let drag = history.begin_drag("Move door");
    /// for at in [1.0, 2.0, 3.0] {
    ///     history.set(&mut world, door, field!(Place.x), at)?;
    ///     history.set(&mut world, door, field!(Place.y), at)?;
    /// }
    /// history.end_drag(drag);
    /// assert_eq!(history.undo_text(), "Undo Move door");
    /// history.undo(&mut world)?;
    /// assert_eq!(world.get::<Place>(door).map(|place| (place.x, place.y)), Some((0.0, 0.0)));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn begin_drag(&mut self, label: impl Into<Label>) -> Drag {
        let open = Arc::new(());
        let number = self.drag.as_ref().map_or(0, |drag| drag.number + 1);
        let label = label.into();
        self.drag = Some(OpenDrag { number, label, open: Arc::downgrade(&open) });
        self.end_merging();
        Drag { open }
    }

    /// Ends a drag; nothing happens if it has ended.
    #[expect(clippy::needless_pass_by_value, reason = "it has ended")]
    pub fn end_drag(&mut self, drag: Drag) {
        if let Some(open) = &mut self.drag
            && Weak::ptr_eq(&open.open, &Arc::downgrade(&drag.open))
        {
            open.open = Weak::new();
            self.end_merging();
        }
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

    /// What is done next becomes no part of what was done before.
    pub(super) fn end_merging(&mut self) {
        self.may_merge = false;
        if let Some(open) = self.open.last_mut() {
            open.may_merge = false;
        }
    }

    /// True if a drag is open.
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

    /// How an edit that was done at a time may become part of the one before.
    pub(super) fn merging(&self, key: Option<MergeKey>, now: Duration) -> Merging {
        let (before, may_merge) = match self.open.last() {
            Some(open) => (open.edits.last(), open.may_merge),
            None => {
                let entry = self.ring.current().and_then(|index| self.ring.get(index));
                // Steps that do not count leave the saved state as it is.
                let is_saved = entry
                    .is_some_and(|entry| entry.is_significant && self.saved == Some(entry.state));
                (entry, self.may_merge && !is_saved)
            }
        };
        let Some(entry) = before.filter(|entry| may_merge && entry.key == key) else {
            return Merging::No;
        };
        match (key, self.merge_window) {
            (Some(_), _) => Merging::Join,
            (None, Some(window))
                if !matches!(self.clock, Clock::None)
                    && now.saturating_sub(entry.time) < window =>
            {
                Merging::Alike
            }
            _ => Merging::No,
        }
    }

    /// What the clock says, if somebody wants to know: it costs about what the rest of an undo does.
    pub(super) fn now(&self) -> Duration {
        self.merge_window.map_or(Duration::ZERO, |_| self.clocked())
    }

    /// What the clock says.
    pub(super) fn clocked(&self) -> Duration {
        match &self.clock {
            Clock::None => Duration::ZERO,
            Clock::System(start) => start.elapsed(),
            Clock::Given(clock) => clock(),
        }
    }
}
