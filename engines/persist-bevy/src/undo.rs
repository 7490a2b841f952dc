//! [`EditSession`], with undo, redo and a journal for editors.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::Hash;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_ecs::change_detection::Tick;
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use persist::history::{
    Changed, Drag, Edit, HistoryEvent, Label, Recovered, SessionOptions, Subscription,
};
use persist::save::{ReportRow, SaveOutcome};
use persist::{History, ObjectId, Result, Session};
use persist_mirror::{Ids, Mirror, Recorded};

use crate::entity::entity;
use crate::filter::mark_all;
use crate::types::{Initial, Types};
use crate::warnings::SaveWarnings;
use crate::world_saves::{
    Known, WorldSaves, copy_changes, count_saved, place, place_some, touched,
};

/// An edited level with undo and redo, recoverable after a crash.
///
/// A [`Session`] holds the mirror, a world of persist that mirrors Bevy's world. An [edit](Self::edit) changes Bevy's
/// world. Its changes to saved entities and resources become one entry of the history, and are written to the journal.
/// An undo changes the mirror, and then the parts of Bevy's world that differ from it.
///
/// If a system changes saved entities without an edit, the changes become part of the next edit. An undo, a redo or a
/// failed edit before that rolls them back.
///
/// The session is a resource: a system uses `resource_scope` to take it out of the world while it edits.
///
/// # Example
///
/// ```
/// use bevy_app::App;
/// use bevy_ecs::prelude::*;
/// use persist::{History, Persist};
/// use persist_bevy::{EditSession, PersistApp, Saved};
///
/// #[derive(Component, Persist, Clone, Debug, PartialEq)]
/// #[persist(component)]
/// #[require(Saved)]
/// struct Door { is_open: bool }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let (level, journal) = (folder.path().join("a.sav"), folder.path().join("a.journal"));
/// let mut app = App::new();
/// app.persist_component::<Door>();
/// let world = app.world_mut();
/// let (mut session, _) = EditSession::open(world, &level, &journal, History::new(256))?;
/// let door = session.edit(world, "Add door", |world| Ok(world.spawn(Door { is_open: false }).id()))?;
/// session.edit(world, "Open door", |world| {
///     world.entity_mut(door).get_mut::<Door>().unwrap().is_open = true;
///     Ok(())
/// })?;
/// session.undo(world)?;
/// assert_eq!(world.get::<Door>(door), Some(&Door { is_open: false }));
/// session.undo(world)?;
/// assert!(world.get_entity(door).is_err());
/// session.redo(world)?;
/// assert_eq!(world.query::<&Door>().iter(world).count(), 1);
/// session.save()?;
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Resource)]
pub struct EditSession {
    /// In a mutex because a resource must be `Sync`.
    state: Mutex<State>,
}

struct State {
    session: Session,
    types: Types,
    ids: Ids,
    /// The last tick at which the world and the session were equal.
    last: Tick,
    /// The registered resources of the world as they were before the level was opened.
    initial: Vec<Initial>,
    has_tree: bool,
    warnings: SaveWarnings,
    /// The numbers of saved entities and components at that tick.
    counts: Vec<usize>,
    reported: Arc<Mutex<Reported>>,
}

/// The reports of the history since the world was last updated.
#[derive(Default)]
struct Reported {
    /// The objects whose fields have changed.
    objects: BTreeSet<ObjectId>,
    /// True if anything else has changed.
    is_whole: bool,
}

impl Reported {
    fn add(&mut self, changes: &[Changed<'_>]) {
        for change in changes {
            match change {
                Changed::Field(field) => self.objects.extend(field.object()),
                _ => self.is_whole = true,
            }
        }
    }
}

impl EditSession {
    /// Opens the save of a level, and its journal if the program ended without a save.
    ///
    /// The entities of the level replace all entities with [`Saved`](crate::Saved). If the files do not exist, a new
    /// level begins with the saved entities of the world. Call [`clear_saved`](crate::PersistWorld::clear_saved) first
    /// to begin with an empty level.
    ///
    /// A registered resource that the level lacks is added to it with its current value, without an entry in the
    /// history. An undo never removes a registered resource that the world had before: the resource returns to the
    /// value that it had then. The undo of an edit that removed a resource inserts it again, and a redo removes it
    /// again.
    ///
    /// States are not part of a level: neither opening nor editing nor undoing changes the state of the app. A state
    /// that the level was saved with stays in its save.
    ///
    /// The session uses the types that are registered by now, and the settings of [`WorldSaves::saves`]. To receive the
    /// recovered entries, a listener of the history must subscribe before this call.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`SessionOptions::open`](persist::history::SessionOptions::open) and
    /// [`load`](crate::PersistWorld::load).
    ///
    /// Edits of a component that is not registered, such as a component of a mod that is off, are skipped. A copy of
    /// the journal is kept then. See [`Recovered::skipped`] and [`Recovered::kept`].
    pub fn open(
        world: &mut World,
        save: impl AsRef<Path>,
        journal: impl AsRef<Path>,
        history: History,
    ) -> Result<(Self, Recovered)> {
        Self::open_with(world, save, journal, history, |options| options)
    }

    /// Opens a level like [`open`](Self::open), with other options: when the journal is flushed, and how much of the
    /// history stays in memory.
    ///
    /// ```
    /// # use bevy_app::App;
    /// # use persist::history::{Flush, History};
    /// # use persist_bevy::EditSession;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (level, journal) = (folder.path().join("a.sav"), folder.path().join("a.journal"));
    /// # let mut app = App::new();
    /// # let world = app.world_mut();
    /// let history = History::new(10_000);
    /// let (mut session, _) = EditSession::open_with(world, level, journal, history, |options| {
    ///     options.flush(Flush::OnIdle).memory(64 << 20)
    /// })?;
    /// session.flush()?; // while the user looks at the result
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`open`](Self::open).
    pub fn open_with(
        world: &mut World,
        save: impl AsRef<Path>,
        journal: impl AsRef<Path>,
        mut history: History,
        options: impl FnOnce(SessionOptions<persist::World>) -> SessionOptions<persist::World>,
    ) -> Result<(Self, Recovered)> {
        let reported = Arc::new(Mutex::new(Reported::default()));
        let heard = Arc::clone(&reported);
        history.subscribe_changes(move |_, changes| locked(&heard).add(changes));
        world.init_resource::<WorldSaves>();
        let mut saves = world.resource_mut::<WorldSaves>();
        let (settings, state) = saves.parts();
        state.settle();
        let mut types = state.types.clone();
        types.all.retain(|ty| ty.is_edited);
        let options = options(Session::with(settings.saves.clone(), history));
        let (save, journal) = (save.as_ref(), journal.as_ref());
        let (session, mut recovered) = options.open(save, journal)?;
        let initial = types.all.iter().filter_map(|ty| (ty.initial)(world)).collect();
        let is_new = recovered.report.is_none() && recovered.replayed == 0;
        let mut ids = Ids::default();
        if !is_new {
            let lost;
            (ids, lost) = place(world, session.world(), &types, None)?;
            if let Some(report) = &mut recovered.report {
                lost.report_in(report);
            }
        }
        ids.remember_unsaved();
        let last = world.increment_change_tick();
        let mut state = State {
            session,
            types,
            ids,
            last,
            initial,
            has_tree: true,
            warnings: SaveWarnings::default(),
            counts: Vec::new(),
            reported,
        };
        state.begin(world, is_new)?;
        *locked(&state.reported) = Reported::default();
        Ok((Self { state: Mutex::new(state) }, recovered))
    }

    fn state(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session, for example for a menu that shows its [history](Session::history).
    pub fn session(&mut self) -> &Session {
        &self.state().session
    }

    /// Calls a function that changes a world, and records its changes as one entry of the history.
    ///
    /// All changes of saved entities and registered resources are recorded: components that were changed, added or
    /// removed, entities that were spawned or despawned, and changes of the hierarchy.
    ///
    /// # Errors
    ///
    /// Returns the error of the function, and an error if the history cannot record a change or the journal cannot be
    /// written. Saved components and registered resources are then rolled back to their state after the last edit, undo
    /// or redo. A saved entity that the function despawned returns as a new entity. Unsaved data is not rolled back.
    pub fn edit<R>(
        &mut self,
        world: &mut World,
        label: impl Into<Label>,
        change: impl FnOnce(&mut World) -> Result<R>,
    ) -> Result<R> {
        self.state().change(world, change, |session, record| session.edit(label, record))
    }

    /// Like [`edit`](Self::edit), but merges the entry into the previous one if both have the same key, as in a drag.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`edit`](Self::edit).
    pub fn edit_merging<R>(
        &mut self,
        world: &mut World,
        key: impl Hash,
        label: impl Into<Label>,
        change: impl FnOnce(&mut World) -> Result<R>,
    ) -> Result<R> {
        self.state()
            .change(world, change, |session, record| session.edit_merging(key, label, record))
    }

    /// Undoes one entry; returns false if there is none.
    ///
    /// An entity that an undo restores is a new entity, and all saved references to the old one are updated.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Session::undo`].
    pub fn undo(&mut self, world: &mut World) -> Result<bool> {
        self.state().step(world, Session::undo)
    }

    /// Redoes one entry; returns false if there is none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Session::redo`].
    pub fn redo(&mut self, world: &mut World) -> Result<bool> {
        self.state().step(world, Session::redo)
    }

    /// Undoes or redoes to a position of the history.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Session::go_to`].
    pub fn go_to(&mut self, world: &mut World, position: usize) -> Result<()> {
        self.state().step(world, |session| session.go_to(position))
    }

    /// Begins a drag: all edits until [`end_drag`](Self::end_drag) become one entry, like
    /// [`History::begin_drag`](persist::History::begin_drag).
    pub fn begin_drag(&mut self, label: impl Into<Label>) -> Drag {
        self.state().session.begin_drag(label)
    }

    /// Ends a drag. Does nothing if the drag has already ended.
    pub fn end_drag(&mut self, drag: Drag) {
        self.state().session.end_drag(drag);
    }

    /// Ends a drag and reverts what it did, as when the user presses Escape.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`undo`](Self::undo). The drag has ended all the same.
    pub fn cancel_drag(&mut self, world: &mut World, drag: Drag) -> Result<()> {
        self.state().step(world, |session| session.cancel_drag(drag))
    }

    /// Runs a closure whose edits become one entry. If the closure fails or panics, all of them are rolled back.
    ///
    /// # Example
    ///
    /// ```
    /// # use bevy_app::App;
    /// # use bevy_ecs::prelude::*;
    /// # use persist::{History, Persist};
    /// # use persist_bevy::{EditSession, PersistApp, Saved};
    /// # #[derive(Component, Persist, Clone)]
    /// # #[persist(component)]
    /// # #[require(Saved)]
    /// # struct Door;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (level, journal) = (folder.path().join("a.sav"), folder.path().join("a.journal"));
    /// # let mut app = App::new();
    /// # app.persist_component::<Door>();
    /// # let world = app.world_mut();
    /// # let (mut session, _) = EditSession::open(world, &level, &journal, History::new(256))?;
    /// session.transaction(world, "Build house", |session, world| {
    ///     session.edit(world, "Front", |world| Ok(world.spawn(Door).id()))?;
    ///     session.edit(world, "Back", |world| Ok(world.spawn(Door).id()))
    /// })?;
    /// session.undo(world)?;
    /// assert_eq!(world.query::<&Door>().iter(world).count(), 0);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the closure, and the same errors as [`edit`](Self::edit).
    pub fn transaction<R>(
        &mut self,
        world: &mut World,
        label: impl Into<Label>,
        run: impl FnOnce(&mut Self, &mut World) -> Result<R>,
    ) -> Result<R> {
        let previous = self.state().session.history().state();
        self.state().session.begin(label)?;
        let result = catch_unwind(AssertUnwindSafe(|| run(self, world)));
        let state = self.state();
        let committed = match &result {
            Ok(Ok(_)) => state.session.commit(),
            _ => Ok(()),
        };
        if matches!(result, Ok(Ok(_))) && committed.is_ok() {
            state.note_resources(world, previous);
        } else {
            let rolled_back = state.step(world, Session::rollback);
            // A panic or the error of the closure says more.
            if let Ok(Ok(_)) = &result {
                rolled_back?;
            }
        }
        let value = result.unwrap_or_else(|panic| resume_unwind(panic))?;
        committed.map(|()| value)
    }

    /// Runs edits that leave the level unmodified, such as those of a selection, like
    /// [`History::insignificant`](persist::History::insignificant).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`edit`](Self::edit).
    pub fn edit_insignificant<R>(
        &mut self,
        world: &mut World,
        label: impl Into<Label>,
        change: impl FnOnce(&mut World) -> Result<R>,
    ) -> Result<R> {
        self.state().change(world, change, |session, record| {
            session.insignificant(|session| session.edit(label, record))
        })
    }

    /// Adds a listener of the history, for menus, like [`History::subscribe`](persist::History::subscribe).
    pub fn subscribe(
        &mut self,
        listener: impl FnMut(&HistoryEvent, &History) + Send + 'static,
    ) -> Subscription {
        self.state().session.subscribe(listener)
    }

    /// Flushes the journal, like [`Session::flush`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Session::flush`].
    pub fn flush(&mut self) -> Result<()> {
        self.state().session.flush()
    }

    /// Flushes the journal if the interval of its policy has passed, like [`Session::tick`]. Call it in each frame.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Session::flush`].
    pub fn tick(&mut self) -> Result<()> {
        self.state().session.tick()
    }

    /// Ends the session and removes its journal: edits since the last save are lost. The world stays as it is.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Session::discard`].
    pub fn discard(self) -> Result<()> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).session.discard()
    }

    /// Lists the parts of the level that another run will not load, like [`WorldSaves::warnings`].
    ///
    /// These are references to entities that are not saved, which only this run can undo and redo, and components that
    /// are not registered. All saved components are inspected.
    pub fn warnings(&mut self) -> Vec<ReportRow> {
        let State { session, types, warnings, .. } = self.state();
        warnings.list(types, session.world())
    }

    /// Saves the level in its state after the last edit, and begins a new journal.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Session::save`].
    pub fn save(&mut self) -> Result<SaveOutcome> {
        self.state().session.save()
    }
}

impl State {
    /// Adds to the level what it lacks: the registered resources of the world, and the saved entities if it is a new
    /// level.
    fn begin(&mut self, world: &mut World, is_new: bool) -> Result<()> {
        let mut lacks = self.types.all.iter().filter(|ty| (ty.lacks)(world, self.session.world()));
        if !is_new && lacks.next().is_none() {
            return Ok(());
        }
        let history = self.session.history();
        let (has_entries, was_modified) = (history.position() > 0, history.is_modified());
        if history.can_redo() || self.session.journal_broken().is_some() {
            // An edit would drop the entries that can be redone. `initial` has the resources, and the next `open` adds
            // them to the level.
            return Ok(());
        }
        if is_new {
            mark_all(world, &self.types.filters);
        }
        let Self { session, types, ids, has_tree, warnings, .. } = self;
        session.edit("Open", |edit| {
            let mut mirror = Mirror::new(Recorded(edit), mem::take(ids));
            let copied = if is_new {
                copy_changes(world, &mut mirror, types, |ty| ty.record, None, false)
            } else {
                types.all.iter().try_for_each(|ty| (ty.enter)(world, &mut mirror)).map(|()| true)
            };
            warnings.report(world, &mut mirror, types);
            *ids = mirror.into_ids();
            *has_tree = copied?;
            Ok(())
        })?;
        if !has_entries {
            // This edit is not in the history, so that no undo reverts it.
            session.clear()?;
            let has_entities = is_new && !ids.is_empty();
            if !was_modified && !has_entities {
                session.set_modified(false)?;
            }
        }
        self.counts = count_saved(world, &self.types);
        self.last = world.increment_change_tick();
        Ok(())
    }

    fn change<R>(
        &mut self,
        world: &mut World,
        change: impl FnOnce(&mut World) -> Result<R>,
        record: impl FnOnce(
            &mut Session,
            &mut dyn FnMut(&mut Edit<'_, persist::World>) -> Result<()>,
        ) -> Result<()>,
    ) -> Result<R> {
        let previous = self.session.history().state();
        let was_behind = locked(&self.reported).is_whole;
        let changed = change(world);
        world.flush();
        mark_all(world, &self.types.filters);
        // Changes from now on get a later tick than this one, and are copied the next time.
        let now = world.increment_change_tick();
        let recorded = changed.and_then(|result| {
            let Self { session, types, ids, last, has_tree, warnings, .. } = self;
            record(session, &mut |edit| {
                let mut mirror = Mirror::new(Recorded(edit), mem::take(ids));
                let copied = copy_edit(world, &mut mirror, types, *last, *has_tree);
                warnings.report(world, &mut mirror, types);
                *ids = mirror.into_ids();
                *has_tree |= copied?;
                Ok(())
            })?;
            Ok(result)
        });
        if recorded.is_err() {
            self.apply(world)?;
            return recorded;
        }
        // The world has these changes, unless an earlier call left it behind.
        *locked(&self.reported) = Reported { is_whole: was_behind, ..Reported::default() };
        self.counts = count_saved(world, &self.types);
        self.last = now;
        self.note_resources(world, previous);
        recorded
    }

    /// Notes which resources the world has, unless the history is still in the previous state.
    fn note_resources(&mut self, world: &World, previous: u64) {
        let state = self.session.history().state();
        if state != previous {
            self.initial.iter_mut().for_each(|initial| initial.note(world, state));
        }
    }

    fn step<R>(
        &mut self,
        world: &mut World,
        step: impl FnOnce(&mut Session) -> Result<R>,
    ) -> Result<R> {
        let done = step(&mut self.session);
        self.apply(world)?;
        done
    }

    /// Updates the world to match its mirror.
    fn apply(&mut self, world: &mut World) -> Result<()> {
        let Self { session, types, ids, last, counts, reported, .. } = self;
        // After an error, the next call compares everything.
        let unknown = Reported { is_whole: true, ..Reported::default() };
        let reported = mem::replace(&mut *locked(reported), unknown);
        let touched = (!reported.is_whole).then(|| touched(world, types, ids, (*last, counts)));
        if let Some(mut objects) = touched.flatten() {
            let mut found: BTreeSet<_> = objects.iter().map(|(object, _)| *object).collect();
            let others = reported.objects.into_iter().filter(|object| found.insert(*object));
            objects.extend(others.filter_map(|object| Some((object, entity(ids.entity(object)?)))));
            place_some(world, session.world(), types, ids, &objects)?;
        } else {
            let known = Known::Compared(&mut *ids);
            (*ids, _) = place(world, session.world(), types, Some(known))?;
        }
        *locked(&self.reported) = Reported::default();
        let state = self.session.history().state();
        self.initial.iter().for_each(|initial| initial.restore(world, state));
        self.has_tree = true;
        self.counts = count_saved(world, &self.types);
        self.last = world.increment_change_tick();
        Ok(())
    }
}

fn locked(reported: &Mutex<Reported>) -> MutexGuard<'_, Reported> {
    reported.lock().unwrap_or_else(PoisonError::into_inner)
}

fn copy_edit(
    world: &mut World,
    mirror: &mut Mirror<Recorded<'_, '_>>,
    types: &Types,
    last: Tick,
    had_tree: bool,
) -> Result<bool> {
    copy_changes(world, mirror, types, |ty| ty.record, Some(last), had_tree)
}

impl fmt::Debug for EditSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("EditSession").field("session", &state.session).finish_non_exhaustive()
    }
}
