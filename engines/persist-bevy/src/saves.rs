//! The mirror of a world of Bevy, and its saves.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bevy_ecs::change_detection::Tick;
use bevy_ecs::entity::Entity;
use bevy_ecs::hierarchy::{ChildOf, Children};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use persist::save::{LoadEvent, LoadReport, SaveOutcome, Slot, ValueSaver};
use persist::{ObjectId, Result, SaveManager};
use persist_mirror::{Ids, Mirror, Target, outward};

use crate::Saved;
use crate::builtin::{self, copy_tree, restore_tree};
use crate::entity::{entity, key};
use crate::filter::{claim_all, mark_all};
use crate::jobs::{Job, Outcome, Request, Running, make_folder};
use crate::types::{IsSaved, Since, Type, Types};

/// A change tick older than this is no longer compared: Bevy clamps them.
const LONGEST: u32 = 1 << 30;

/// What is saved, and the [world of persist](persist::World) that mirrors it.
///
/// The [plugin](crate::PersistPlugin) puts this resource into the app. It keeps which object of a save stands for which
/// entity, so an entity has one id in all saves, and keeps the components of classes that the program does not have.
#[derive(Resource)]
pub struct Saves {
    /// For `Sync`: nothing in it is used through a shared reference but under the lock.
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) saver: ValueSaver,
    /// What the plugin says.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) types: Types,
    pub(crate) mirror: Mirror,
    /// When the mirror was like the world.
    last: Option<Tick>,
    /// The writes of the mirror when it was last saved or loaded.
    saved: Option<u64>,
    has_tree: bool,
    pub(crate) waiting: VecDeque<Request>,
    pub(crate) running: Option<Running>,
    pub(crate) finished: Vec<(Request, Result<Outcome>)>,
    pub(crate) writing: Vec<Job>,
}

impl Default for Saves {
    fn default() -> Self {
        let mut state = State::default();
        for of in builtin::types() {
            state.add(of).unwrap_or_else(|error| panic!("a type of this crate: {error}"));
        }
        Self { state: Mutex::new(state) }
    }
}

impl Saves {
    pub(crate) fn state(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, when no thread has the mirror.
    fn locked(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        state
    }

    /// The object of an entity that was saved or loaded. Its id is the same in all saves. Waits while a save is taken.
    #[must_use]
    pub fn object(&self, entity: Entity) -> Option<ObjectId> {
        self.locked().mirror.ids().object(key(entity))
    }

    /// The entity of an object. Waits while a save is taken.
    #[must_use]
    pub fn entity(&self, object: ObjectId) -> Option<Entity> {
        self.locked().mirror.ids().entity(object).map(entity)
    }

    /// The slots in the folder, with their health, metadata and backups: see
    /// [`Slots::list`](persist::save::Slots::list). Waits while a save is taken.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`](persist::ErrorKind::Refused) without a [plugin](crate::PersistPlugin), which has the folder;
    /// those of [`Slots::list`](persist::save::Slots::list).
    pub fn slots(&mut self) -> Result<Vec<Slot>> {
        let folder = self.state().folder()?;
        self.manage(|saves| saves.slots(folder).list())
    }

    /// Calls a function with the manager of the saves, for what else is done with slots and for its settings. Waits while a
    /// save is taken.
    ///
    /// The manager does not have the entities: its own `save`, `auto_save` and `slots(folder).save` are errors. Save by
    /// [`SaveRequested`](crate::SaveRequested) or [`PersistWorld::save_slot`]. An [`EditSession`](crate::EditSession) that
    /// is opened later has these settings, too.
    pub fn manage<R>(&mut self, run: impl FnOnce(&mut SaveManager) -> R) -> R {
        self.state().settle();
        self.state().manage(run)
    }
}

impl State {
    pub(crate) fn manage<R>(&mut self, run: impl FnOnce(&mut SaveManager) -> R) -> R {
        let mut manager = SaveManager::from(std::mem::take(&mut self.saver));
        let result = run(&mut manager);
        self.saver = manager.into();
        result
    }

    /// Registers a type. One that is registered already is replaced.
    pub(crate) fn add(&mut self, of: Type) -> Result<()> {
        self.manage(of.register)?;
        (of.know)(self.mirror.target())?;
        self.types.all.retain(|known| known.id != of.id);
        self.types.all.push(of);
        Ok(())
    }

    /// Forgets what was loaded.
    fn clear(&mut self, world: &mut World) {
        self.manage(SaveManager::clear);
        let mut none = persist::World::new();
        for of in &self.types.all {
            // The world that was there took it.
            let _ = (of.know)(&mut none);
        }
        // It has nothing that could be refused.
        let _ = self.place(world, none, false);
    }

    /// Copies what has changed since the last time into the mirror.
    pub(crate) fn copy(&mut self, world: &mut World) -> Result<()> {
        // What is changed from now on is newer than that.
        let now = world.increment_change_tick();
        // If something is refused, the next time all is copied.
        let last = self.last.take();
        let pick = |of: &Type| of.copy;
        self.has_tree =
            copy_changes(world, &mut self.mirror, &self.types, pick, last, self.has_tree)?;
        self.last = Some(now);
        Ok(())
    }

    /// Whether a copy has something that the last save or load does not have.
    pub(crate) fn is_modified(&self) -> bool {
        !self.mirror.ids().is_empty() && self.saved != Some(self.mirror.writes())
    }

    /// Says whether what was copied is saved.
    pub(crate) fn set_saved(&mut self, is_saved: bool) {
        self.saved = is_saved.then(|| self.mirror.writes());
    }

    /// Puts a loaded world into that of Bevy.
    pub(crate) fn place(
        &mut self,
        world: &mut World,
        loaded: persist::World,
        keeps: bool,
    ) -> Result<LeftOut> {
        let old = keeps.then(|| self.mirror.ids());
        let (ids, left_out) = place(world, &loaded, &self.types, old.map(Known::All))?;
        self.mirror = Mirror::new(loaded, ids);
        self.has_tree = true;
        self.last = Some(world.increment_change_tick());
        self.set_saved(true);
        Ok(left_out)
    }
}

/// Components that a load leaves out: of which objects and classes.
pub(crate) type LeftOut = Vec<(ObjectId, String)>;

/// Enters in the report what a load left out.
pub(crate) fn report_left_out(report: &mut LoadReport, left_out: LeftOut) {
    for (object, class) in left_out {
        let detail = "left out, since what it leads to is not saved";
        report.add(LoadEvent::Dangling, &class, detail, Some(object));
    }
}

/// Copies what has changed since a tick; whether there is a tree.
pub(crate) fn copy_changes<W: Target>(
    world: &mut World,
    mirror: &mut Mirror<W>,
    types: &Types,
    pick: impl Fn(&Type) -> fn(&mut World, &mut Mirror<W>, &Since) -> Result<()>,
    last: Option<Tick>,
    had_tree: bool,
) -> Result<bool> {
    mark_all(world, &types.filters);
    let now = world.change_tick();
    let last = last.filter(|last| now.get().wrapping_sub(last.get()) < LONGEST);
    let mut since = Since { last, now, first_new: None, is_known_new: false };
    let mut count = 0;
    let mut saved = world.query_filtered::<Entity, IsSaved>();
    for entity in saved.iter(world) {
        count += 1;
        if mirror.ids().object(key(entity)).is_none() {
            let object = mirror.object(key(entity))?;
            since.first_new.get_or_insert(object);
            let spawned = world.entities().entity_get_spawn_or_despawn_tick(entity);
            since.is_known_new |= spawned.is_some_and(|spawned| !since.is_changed(spawned));
        }
    }
    if mirror.ids().len() != count {
        mirror.retain(|key| world.get::<Saved>(entity(key)).is_some())?;
    }
    for of in &types.all {
        pick(of)(world, mirror, &since)?;
    }
    copy_tree(world, mirror, &since, had_tree)
}

/// Entities that are there, whose objects keep them.
pub(crate) enum Known<'i> {
    /// All of their components are replaced.
    All(&'i Ids),
    /// Those that differ are replaced.
    Compared(&'i mut Ids),
}

/// Puts a world of persist into that of Bevy, in place of all entities that are saved; which entities its objects have
/// then, and what was left out.
pub(crate) fn place(
    world: &mut World,
    loaded: &persist::World,
    types: &Types,
    known: Option<Known<'_>>,
) -> Result<(Ids, LeftOut)> {
    mark_all(world, &types.filters);
    let only_differences = matches!(known, Some(Known::Compared(_)));
    let (mut objects, mut new, mut ids) = (Vec::new(), Vec::new(), Ids::default());
    for object in loaded.objects() {
        let old = match &known {
            Some(Known::All(old)) => old.entity(object),
            Some(Known::Compared(old)) => old.entity(object),
            None => None,
        };
        let old = old.map(entity);
        let old = old.filter(|old| world.get::<Saved>(*old).is_some());
        let entity = old.unwrap_or_else(|| {
            let entity = world.entity_allocator().alloc();
            new.push(entity);
            entity
        });
        objects.push((object, entity));
        ids.insert(object, key(entity));
    }
    let mut known = known;
    if let Some(Known::Compared(old)) = &mut known {
        ids.take_unsaved(old);
    }
    // Nothing of the world changes until all is restored.
    let compared = only_differences.then_some(&*world);
    let restored = outward(loaded, &mut ids, |copies| {
        let parts = types.all.iter().map(|of| (of.restore)(copies, &objects, compared));
        let mut parts: Vec<_> = parts.collect::<Result<_>>()?;
        parts.push(restore_tree(copies, &objects, compared));
        Ok((parts, copies.take_left_out()))
    });
    let (parts, left_out) = match restored {
        Ok(restored) => restored,
        Err(error) => {
            if let Some(Known::Compared(old)) = known {
                old.take_unsaved(&mut ids);
            }
            world.entity_allocator_mut().free_many(&new);
            return Err(error);
        }
    };
    let mut saved = world.query_filtered::<Entity, IsSaved>();
    let is_gone = |entity: &Entity| ids.object(key(*entity)).is_none();
    let gone: Vec<Entity> = saved.iter(world).filter(is_gone).collect();
    // What was below one of them, and is still there, does not go with it.
    for entity in &gone {
        let children =
            world.get::<Children>(*entity).into_iter().flat_map(|children| children.iter());
        let kept = children.copied().filter(|child| ids.object(key(*child)).is_some());
        for child in kept.collect::<Vec<_>>() {
            world.entity_mut(child).remove::<ChildOf>();
        }
    }
    for entity in gone {
        // It may be below another one that was despawned.
        let _ = world.try_despawn(entity);
    }
    for entity in &new {
        // Nothing else has it.
        let _ = world.spawn_at(*entity, Saved);
    }
    parts.into_iter().for_each(|part| part(world));
    world.flush();
    claim_all(world, &types.filters, &new);
    Ok((ids, left_out))
}

/// Saves and loads at once, where a system, a test or a server wants to wait for them. The app's own are
/// [requested](crate::SaveRequested).
pub trait PersistWorld {
    /// Saves into a slot of the folder, and waits until it is written.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`](persist::ErrorKind::Refused) without a [plugin](crate::PersistPlugin), which has the folder;
    /// those of [`Slots::save_value`](persist::save::Slots::save_value); what a component refuses that holds entities.
    fn save_slot(&mut self, slot: &str) -> Result<SaveOutcome>;

    /// Loads a slot. The entities with [`Saved`] and the registered resources of the save are replaced.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`](persist::ErrorKind::Refused) without a [plugin](crate::PersistPlugin), which has the folder;
    /// those of [`Slots::load_value`](persist::save::Slots::load_value); what the `TryFrom` of a component refuses that is
    /// saved as another type. The world is then as it was.
    fn load_slot(&mut self, slot: &str) -> Result<LoadReport>;

    /// Saves into memory.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::value_to_vec`]; what a component refuses that holds entities.
    fn save_to_vec(&mut self) -> Result<Vec<u8>>;

    /// Loads from memory, as [`load_slot`](Self::load_slot).
    ///
    /// # Errors
    ///
    /// Those of [`load_slot`](Self::load_slot).
    fn load_from_slice(&mut self, save: &[u8]) -> Result<LoadReport>;

    /// Despawns the saved entities for a new game, and forgets what was loaded: unknown components and resources, and which
    /// object stands for which entity. Registered resources keep their values.
    ///
    /// ```
    /// # use bevy_app::App;
    /// # use bevy_ecs::prelude::*;
    /// # use persist::Persist;
    /// # use persist_bevy::{PersistApp, PersistWorld, Saved};
    /// # #[derive(Component, Persist, Clone)]
    /// # #[persist(component)]
    /// # #[require(Saved)]
    /// # struct Health(u32);
    /// # let mut app = App::new();
    /// # app.persist_component::<Health>();
    /// # let world = app.world_mut();
    /// # world.spawn(Health(1));
    /// world.clear_saved();
    /// world.spawn(Health(10)); // the first one of the new game
    /// # assert_eq!(world.query::<&Health>().iter(world).count(), 1);
    /// ```
    fn clear_saved(&mut self);

    /// Calls a function with the [mirror](Saves), after what has changed was copied into it: to look at it by the methods
    /// of [`persist::World`].
    ///
    /// # Errors
    ///
    /// What a component refuses that holds entities.
    fn mirrored<R>(&mut self, look: impl FnOnce(&persist::World) -> R) -> Result<R>;
}

/// Calls a function with the world and its saves, while no job has the mirror.
fn scope<R>(world: &mut World, run: impl FnOnce(&mut World, &mut State) -> Result<R>) -> Result<R> {
    world.init_resource::<Saves>();
    world.resource_scope(|world, mut saves: bevy_ecs::change_detection::Mut<'_, Saves>| {
        let state = saves.state();
        state.settle();
        run(world, state)
    })
}

impl PersistWorld for World {
    fn save_slot(&mut self, slot: &str) -> Result<SaveOutcome> {
        scope(self, |world, state| {
            let folder = state.folder()?;
            state.copy(world)?;
            let mirror = std::mem::take(&mut state.mirror);
            make_folder(&folder);
            let saved = state.manage(|saves| saves.slots(folder).save_value(slot, mirror.world()));
            state.mirror = mirror;
            state.set_saved(saved.is_ok());
            saved
        })
    }

    fn load_slot(&mut self, slot: &str) -> Result<LoadReport> {
        scope(self, |world, state| {
            let path = state.path(slot)?;
            let (loaded, mut report) = state.saver.load_value(path)?;
            report_left_out(&mut report, state.place(world, loaded, false)?);
            Ok(report)
        })
    }

    fn save_to_vec(&mut self) -> Result<Vec<u8>> {
        scope(self, |world, state| {
            state.copy(world)?;
            state.saver.value_to_vec(state.mirror.world())
        })
    }

    fn load_from_slice(&mut self, save: &[u8]) -> Result<LoadReport> {
        scope(self, |world, state| {
            let (loaded, mut report) = state.saver.value_from_slice(save)?;
            report_left_out(&mut report, state.place(world, loaded, false)?);
            Ok(report)
        })
    }

    fn clear_saved(&mut self) {
        // The function has no error.
        let _ = scope(self, |world, state| {
            state.clear(world);
            Ok(())
        });
    }

    fn mirrored<R>(&mut self, look: impl FnOnce(&persist::World) -> R) -> Result<R> {
        scope(self, |world, state| {
            state.copy(world)?;
            Ok(look(state.mirror.world()))
        })
    }
}

impl Drop for Saves {
    /// A save that was taken is written.
    fn drop(&mut self) {
        self.state().settle();
    }
}

impl fmt::Debug for Saves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saves").field("mirror", &self.locked().mirror).finish_non_exhaustive()
    }
}
