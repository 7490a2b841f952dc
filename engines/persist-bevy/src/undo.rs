//! Undo, redo and a journal for editors.

use std::fmt;
use std::hash::Hash;
use std::mem;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bevy_ecs::change_detection::Tick;
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use persist::history::{Edit, Label, Recovered};
use persist::save::{ReportRow, SaveOutcome};
use persist::{History, Result, Session};
use persist_mirror::{Ids, Mirror, Recorded};

use crate::filter::mark_all;
use crate::types::{Kept, Types};
use crate::warnings::SaveWarnings;
use crate::world_saves::{Known, WorldSaves, copy_changes, place};

/// An edited level with undo and redo, recoverable after a crash.
///
/// The world of persist that mirrors Bevy's lies in a [`Session`]. An [edit](Self::edit) changes Bevy's world; what it
/// did to saved entities and resources becomes one entry of the history, and is in the journal. An undo changes the
/// mirror, and then what differs in Bevy's world.
///
/// What a system changes in saved entities without an edit belongs to the next edit. An undo, a redo or an edit that
/// fails before that rolls it back.
///
/// It is a resource: a system takes it out of the world by `resource_scope` while it edits.
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
    /// For `Sync`.
    state: Mutex<State>,
}

struct State {
    session: Session,
    types: Types,
    ids: Ids,
    /// When the world was like the session.
    last: Tick,
    /// The registered resources of the world as they were before the level was opened.
    kept: Vec<Kept>,
    has_tree: bool,
    warnings: SaveWarnings,
}

impl EditSession {
    /// Opens the save of a level, and its journal if the program ended without a save. All entities with
    /// [`Saved`](crate::Saved) are replaced by those of the level.
    ///
    /// If there are no such files, the saved entities of the world are the first content of the new level. Call
    /// [`clear_saved`](crate::PersistWorld::clear_saved) before this for an empty one. A registered resource that the level
    /// lacks enters it with its value. None of that is an entry of the history. No undo takes a registered resource away
    /// that the world had before: it returns to the value that it had then. One that an edit removes is there again after
    /// its undo, and is removed again by a redo.
    ///
    /// States are no part of a level: neither this nor an edit or undo changes the state of the app. One that the level was
    /// saved with stays in it.
    ///
    /// The types are those that are registered before, and the settings those of [`WorldSaves::saves`]. If a listener of the
    /// history is to hear what is recovered, it subscribes before.
    ///
    /// # Errors
    ///
    /// Those of [`SessionOptions::open`](persist::history::SessionOptions::open), and of
    /// [`load`](crate::PersistWorld::load). Edits of a component that is not registered, as of a mod that is off, are
    /// skipped, and a copy of the journal is kept: [`Recovered::skipped`], [`Recovered::kept`].
    pub fn open(
        world: &mut World,
        save: impl AsRef<Path>,
        journal: impl AsRef<Path>,
        history: History,
    ) -> Result<(Self, Recovered)> {
        world.init_resource::<WorldSaves>();
        let mut saves = world.resource_mut::<WorldSaves>();
        let (settings, state) = saves.parts();
        state.settle();
        let mut types = state.types.clone();
        types.all.retain(|of| of.is_edited);
        let options = Session::with(settings.saves.clone(), history);
        let (save, journal) = (save.as_ref(), journal.as_ref());
        let (session, mut recovered) = options.open(save, journal)?;
        let kept = types.all.iter().filter_map(|of| (of.keep)(world)).collect();
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
            kept,
            has_tree: true,
            warnings: SaveWarnings::default(),
        };
        state.begin(world, is_new)?;
        Ok((Self { state: Mutex::new(state) }, recovered))
    }

    fn state(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session: for menus, its [history](Session::history).
    pub fn session(&mut self) -> &Session {
        &self.state().session
    }

    /// Changes a world, and records what that changed in saved entities and resources as one entry of the history:
    /// components that were changed, added or removed, entities that were spawned or despawned, and their places in the
    /// hierarchy.
    ///
    /// # Errors
    ///
    /// The error of the function; what the history cannot record, and whatever keeps the journal from being written. Saved
    /// components and registered resources are then as the last edit, undo or redo left them. A saved entity that the
    /// function despawned comes back as a new one, and what is not saved stays as the function left it.
    pub fn edit<R>(
        &mut self,
        world: &mut World,
        label: impl Into<Label>,
        change: impl FnOnce(&mut World) -> Result<R>,
    ) -> Result<R> {
        self.state().change(world, change, |session, record| session.edit(label, record))
    }

    /// Like [`edit`](Self::edit), and merges the entry with the one before if that has the same key: for drags.
    ///
    /// # Errors
    ///
    /// Those of [`edit`](Self::edit).
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

    /// Undoes one entry; false if there is none. An entity that comes back is a new one, and references to it are renewed.
    ///
    /// # Errors
    ///
    /// Those of [`Session::undo`].
    pub fn undo(&mut self, world: &mut World) -> Result<bool> {
        self.state().step(world, Session::undo)
    }

    /// Redoes one entry; false if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Session::redo`].
    pub fn redo(&mut self, world: &mut World) -> Result<bool> {
        self.state().step(world, Session::redo)
    }

    /// Undoes or redoes to a position of the history.
    ///
    /// # Errors
    ///
    /// Those of [`Session::go_to`].
    pub fn go_to(&mut self, world: &mut World, position: usize) -> Result<()> {
        self.state().step(world, |session| session.go_to(position))
    }

    /// Lists the parts of the level that another run will not have, as [`WorldSaves::warnings`] does: references to entities
    /// that are not saved, which only this run can undo and redo, and components that are not registered. It inspects all
    /// that is saved.
    pub fn warnings(&mut self) -> Vec<ReportRow> {
        let State { session, types, warnings, .. } = self.state();
        warnings.list(types, session.world())
    }

    /// Saves the level as the last edit left it, and begins a new journal.
    ///
    /// # Errors
    ///
    /// Those of [`Session::save`].
    pub fn save(&mut self) -> Result<SaveOutcome> {
        self.state().session.save()
    }
}

impl State {
    /// Takes into the level what it lacks: the registered resources of the world, and its saved entities if it is a new one.
    fn begin(&mut self, world: &mut World, is_new: bool) -> Result<()> {
        let mut lacks = self.types.all.iter().filter(|of| (of.lacks)(world, self.session.world()));
        if !is_new && lacks.next().is_none() {
            return Ok(());
        }
        let history = self.session.history();
        let (has_entries, was_modified) = (history.position() > 0, history.is_modified());
        if history.can_redo() || self.session.journal_broken().is_some() {
            // An edit would drop what can be redone. `kept` has the resources, and the next opening takes them in.
            return Ok(());
        }
        if is_new {
            mark_all(world, &self.types.filters);
        }
        let Self { session, types, ids, has_tree, warnings, .. } = self;
        session.edit("Open", |edit| {
            let mut mirror = Mirror::new(Recorded(edit), mem::take(ids));
            let copied = if is_new {
                copy_changes(world, &mut mirror, types, |of| of.record, None, false)
            } else {
                types.all.iter().try_for_each(|of| (of.enter)(world, &mut mirror)).map(|()| true)
            };
            warnings.report(world, &mut mirror, types);
            *ids = mirror.into_ids();
            *has_tree = copied?;
            Ok(())
        })?;
        if !has_entries {
            // An undo begins after it.
            session.clear()?;
            let has_entities = is_new && !ids.is_empty();
            if !was_modified && !has_entities {
                session.set_modified(false)?;
            }
        }
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
        let before = self.session.history().state();
        let changed = change(world);
        world.flush();
        mark_all(world, &self.types.filters);
        // What is changed from now on is newer than that.
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
        self.last = now;
        let state = self.session.history().state();
        if recorded.is_err() {
            self.apply(world)?;
        } else if state != before {
            self.kept.iter_mut().for_each(|kept| kept.note(world, state));
        }
        recorded
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

    /// Makes the world as its mirror is.
    fn apply(&mut self, world: &mut World) -> Result<()> {
        let known = Known::Compared(&mut self.ids);
        (self.ids, _) = place(world, self.session.world(), &self.types, Some(known))?;
        let state = self.session.history().state();
        self.kept.iter().for_each(|kept| kept.restore(world, state));
        self.has_tree = true;
        self.last = world.increment_change_tick();
        Ok(())
    }
}

fn copy_edit(
    world: &mut World,
    mirror: &mut Mirror<Recorded<'_, '_>>,
    types: &Types,
    last: Tick,
    had_tree: bool,
) -> Result<bool> {
    copy_changes(world, mirror, types, |of| of.record, Some(last), had_tree)
}

impl fmt::Debug for EditSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("EditSession").field("session", &state.session).finish_non_exhaustive()
    }
}
