//! The mirror of a world of Bevy, and its saves.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bevy_ecs::change_detection::Tick;
use bevy_ecs::entity::Entity;
use bevy_ecs::hierarchy::{ChildOf, Children};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use persist::save::{LoadReport, ReportRow, SaveOutcome, Slot, Slots};
use persist::{Error, ErrorKind, Loaded, ObjectId, Result, Saves};
use persist_mirror::{Ids, Lost, Mirror, Target, outward};

use crate::Saved;
use crate::builtin::{self, copy_tree, restore_tree};
use crate::entity::{entity, key};
use crate::filter::{claim_all, mark_all};
use crate::jobs::{Job, Outcome, Request, Running};
use crate::types::{IsSaved, Since, Type, Types};
use crate::warnings::SaveWarnings;

/// A change tick older than this is no longer compared: Bevy clamps them.
const LONGEST: u32 = 1 << 30;

/// Saves and loads the world of an app, by the classes and settings of a [`Saves`].
///
/// The [plugin](crate::PersistPlugin) puts this resource into the app. Its mirror is a [world of persist](persist::World),
/// which keeps which object of a save stands for which entity, so that an entity has one id in all saves, and the unknown
/// components of what was loaded.
///
/// ```
/// # use bevy_app::App;
/// # use bevy_ecs::prelude::*;
/// # use persist::Persist;
/// use persist_bevy::{PersistApp, PersistPlugin, PersistWorld, Saved, WorldSaves};
///
/// # #[derive(Component, Persist, Clone)]
/// # #[persist(component)]
/// # #[require(Saved)]
/// # struct Health(u32);
/// # let folder = tempfile::tempdir().unwrap();
/// # let mut app = App::new();
/// # app.add_plugins(PersistPlugin::new(folder.path())).persist_component::<Health>();
/// # app.world_mut().spawn(Health(1));
/// let slots = app.world().resource::<WorldSaves>().slots()?;
/// app.world_mut().save(&slots.slot("quick"))?;
/// for entry in slots.list()? {
///     println!("{entry}"); // a line for the player
/// }
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Resource)]
pub struct WorldSaves {
    settings: Settings,
    /// For `Sync`: nothing in it is used through a shared reference but under the lock.
    state: Mutex<State>,
}

/// What the app sets.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) saves: Saves,
    folder: Option<PathBuf>,
    pub(crate) allows_empty: bool,
}

impl Settings {
    pub(crate) fn slots(&self) -> Result<Slots> {
        let folder = self.folder.as_ref().map(|folder| self.saves.slots(folder));
        folder.ok_or_else(|| {
            Error::new(ErrorKind::Refused, "no folder for slots: add `PersistPlugin` to the app")
        })
    }

    /// Makes the folder of the slots. If it cannot be made, the save says so, unless its storage is none of files.
    pub(crate) fn make_folder(&self) {
        if let Some(folder) = &self.folder {
            let _ = fs::create_dir_all(folder);
        }
    }

    /// True if a slot is in the folder, or may be: a rotation without saves has no path.
    fn may_have(&self, slot: &Slot) -> bool {
        let is_in = |path: PathBuf| path.parent() == self.folder.as_deref();
        slot.path().map_or_else(|error| error.kind() == ErrorKind::NotFound, is_in)
    }

    /// Waits for all saves in the background. Their errors stay with their handles.
    pub(crate) fn wait_for_writes(&self) {
        let _ = self.slots().and_then(|slots| slots.as_store());
    }
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) types: Types,
    pub(crate) mirror: Mirror,
    /// When the mirror was like the world.
    last: Option<Tick>,
    /// The writes of the mirror when it was last saved or loaded.
    saved: Option<u64>,
    has_tree: bool,
    warnings: SaveWarnings,
    pub(crate) waiting: VecDeque<Request>,
    pub(crate) running: Option<Running>,
    pub(crate) finished: Vec<(Request, Result<Outcome>)>,
    pub(crate) writing: Vec<Job>,
}

impl Default for WorldSaves {
    fn default() -> Self {
        Self::with(Saves::new())
    }
}

impl WorldSaves {
    /// Makes one with the settings of these saves. For an app with a plugin, call
    /// [`PersistPlugin::saves`](crate::PersistPlugin::saves) in place of this.
    ///
    /// Put it into a world before types are registered, since it replaces the resource to which they were added.
    ///
    /// # Panics
    ///
    /// If another type of the saves has the name of a class of this crate, such as `Transform`.
    #[must_use]
    pub fn with(saves: Saves) -> Self {
        let settings = Settings { saves, ..Settings::default() };
        let mut saves = Self { settings, state: Mutex::default() };
        for of in builtin::types() {
            saves.add(of).unwrap_or_else(|error| panic!("a type of this crate: {error}"));
        }
        saves
    }

    /// Allows saves of a world in which nothing is to be saved, which are errors otherwise; see
    /// [`PersistPlugin::allow_empty`](crate::PersistPlugin::allow_empty).
    #[must_use]
    pub fn allow_empty(mut self) -> Self {
        self.set_allows_empty();
        self
    }

    /// The classes and settings. A clone has the same classes, and may have other settings.
    #[must_use]
    pub fn saves(&self) -> &Saves {
        &self.settings.saves
    }

    /// The slots in the folder of the plugin, to be listed, copied and deleted, and for [`PersistWorld::save`] and
    /// [`load`](PersistWorld::load).
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Refused`] without a [plugin](crate::PersistPlugin), which has the folder.
    pub fn slots(&self) -> Result<Slots> {
        self.settings.slots()
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

    /// Lists the losses of the save that was taken last, which a load of it will report.
    ///
    /// There is a row for each class with references to entities that are not saved, or no longer, and one for each
    /// component of saved entities that is neither registered nor [ignored](crate::PersistApp::ignore_component). Tests and
    /// editors call it, where the game can still be mended: give these entities [`Saved`](crate::Saved), or take the
    /// references out. It inspects all that is saved.
    ///
    /// ```
    /// # use bevy_app::App;
    /// # use bevy_ecs::prelude::*;
    /// # use persist::Persist;
    /// # use persist_bevy::{PersistApp, PersistWorld, Saved, WorldSaves, entity};
    /// #[derive(Component, Persist, Clone)]
    /// #[persist(component)]
    /// #[require(Saved)]
    /// struct Hunter(#[persist(with = entity)] Entity);
    ///
    /// let mut app = App::new();
    /// app.persist_component::<Hunter>();
    /// let world = app.world_mut();
    /// let mouse = world.spawn_empty().id(); // has no `Saved`
    /// world.spawn(Hunter(mouse));
    /// world.save_to_vec()?;
    /// for warning in world.resource::<WorldSaves>().warnings() {
    ///     println!("{warning}");
    /// }
    /// # assert_eq!(world.resource::<WorldSaves>().warnings().len(), 1);
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<ReportRow> {
        let state = self.locked();
        state.warnings.list(&state.types, state.mirror.world())
    }

    /// The state, when no thread has the mirror.
    fn locked(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        state
    }

    pub(crate) fn parts(&mut self) -> (&Settings, &mut State) {
        (&self.settings, self.state.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Registers a type. One that is registered already is replaced.
    pub(crate) fn add(&mut self, of: Type) -> Result<()> {
        let (settings, state) = self.parts();
        (of.register)(&settings.saves)?;
        let class = (of.class)();
        let is_same = |known: &&Type| {
            known.id != of.id && known.is_resource == of.is_resource && (known.class)() == class
        };
        if let Some(known) = state.types.all.iter().find(is_same) {
            let message = format!(
                "class {class} is that of `{}` already, and a save could not tell the two apart; save one of them as a type \
                 of its own",
                known.name
            );
            return Err(Error::new(ErrorKind::DuplicateId, message));
        }
        state.settle();
        (of.know)(state.mirror.target())?;
        state.types.all.retain(|known| known.id != of.id);
        state.types.all.push(of);
        Ok(())
    }

    /// Takes other saves, which get the types.
    pub(crate) fn set_saves(&mut self, saves: Saves) -> Result<()> {
        let (_, state) = self.parts();
        state.types.all.iter().try_for_each(|of| (of.register)(&saves))?;
        self.settings.saves = saves;
        Ok(())
    }

    pub(crate) fn set_folder(&mut self, folder: PathBuf) {
        self.settings.folder = Some(folder);
    }

    pub(crate) fn set_allows_empty(&mut self) {
        self.settings.allows_empty = true;
    }
}

impl State {
    /// Forgets what was loaded.
    fn clear(&mut self, world: &mut World) {
        let mut none = persist::World::new();
        for of in &self.types.all {
            // The world that was there took it.
            let _ = (of.know)(&mut none);
        }
        // It has nothing that could be refused.
        let _ = self.place(world, none.into(), false);
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
        self.warnings.report(world, &mut self.mirror, &self.types);
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
        loaded: Loaded<persist::World>,
        keeps: bool,
    ) -> Result<LoadReport> {
        let is_unknown = |of: &&Type| loaded.registry().class(&(of.class)()).is_none();
        if let Some(of) = self.types.all.iter().find(is_unknown) {
            let message = format!(
                "the saves of this slot do not have class {}; make the slot from those of `WorldSaves`, or from a clone",
                (of.class)()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let old = keeps.then(|| self.mirror.ids());
        let (ids, lost) = place(world, &loaded, &self.types, old.map(Known::All))?;
        let mut report = loaded.report().clone();
        lost.report_in(&mut report);
        // All of it: nothing of the game before gets into the next save.
        self.mirror = Mirror::new(loaded, ids);
        self.has_tree = true;
        self.last = Some(world.increment_change_tick());
        self.set_saved(true);
        Ok(report)
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
    let mut since = Since { last, now, first_new: None, renews_references: false };
    let mut count = 0;
    let mut saved = world.query_filtered::<Entity, IsSaved>();
    for entity in saved.iter(world) {
        count += 1;
        if mirror.ids().object(key(entity)).is_none() {
            let object = mirror.object(key(entity))?;
            since.first_new.get_or_insert(object);
            let spawned = world.entities().entity_get_spawn_or_despawn_tick(entity);
            since.renews_references |= spawned.is_some_and(|spawned| !since.is_changed(spawned));
        }
    }
    if mirror.ids().len() != count {
        let is_any_gone = mirror.retain(|key| world.get::<Saved>(entity(key)).is_some())?;
        since.renews_references |= W::RENEWS_REFERENCES && is_any_gone;
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
) -> Result<(Ids, Lost)> {
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
        Ok((parts, copies.take_lost()))
    });
    let (parts, lost) = match restored {
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
    Ok((ids, lost))
}

/// Saves and loads at once, where a system, a test or a server wants to wait for them. The app's own are
/// [requested](crate::SaveRequested).
pub trait PersistWorld {
    /// Saves into a slot, as [`Slot::save`] does, and waits until it is written.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::save`]; [`ErrorKind::NoContent`] if no entity and no resource is to be saved, unless
    /// that is [allowed](crate::PersistPlugin::allow_empty); what a component refuses that holds entities.
    fn save(&mut self, slot: &Slot) -> Result<SaveOutcome>;

    /// Loads a slot, as [`Slot::load`] does. The entities with [`Saved`] and the registered resources of the save are
    /// replaced.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::load`]; what the `TryFrom` of a component refuses that is saved as another type;
    /// [`ErrorKind::Unsupported`] if the slot is of saves without the registered types: make it from [`WorldSaves::slots`] or
    /// [`WorldSaves::saves`]. The world then is as it was.
    fn load(&mut self, slot: &Slot) -> Result<LoadReport>;

    /// Saves into memory, without metadata and time: equal worlds have equal saves.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`save`](Self::save), but for those of files.
    fn save_to_vec(&mut self) -> Result<Vec<u8>>;

    /// Loads from memory, like [`load`](Self::load).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`load`](Self::load), but for those of files.
    fn load_from_slice(&mut self, save: &[u8]) -> Result<LoadReport>;

    /// Despawns the saved entities for a new game, which begins without anything of the last one: unknown components and
    /// resources, and the ids of objects. Registered resources keep their values.
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

    /// Calls a function with the [mirror](WorldSaves), after what has changed was copied into it: to inspect it by the
    /// methods of [`persist::World`].
    ///
    /// # Errors
    ///
    /// Returns what a component refuses that holds entities.
    fn mirrored<R>(&mut self, look: impl FnOnce(&persist::World) -> R) -> Result<R>;
}

/// Calls a function with the world and its saves, while no job has the mirror.
fn scope<R>(
    world: &mut World,
    run: impl FnOnce(&mut World, &Settings, &mut State) -> Result<R>,
) -> Result<R> {
    world.init_resource::<WorldSaves>();
    world.resource_scope(|world, mut saves: bevy_ecs::change_detection::Mut<'_, WorldSaves>| {
        let (settings, state) = saves.parts();
        state.settle();
        run(world, settings, state)
    })
}

impl PersistWorld for World {
    fn save(&mut self, slot: &Slot) -> Result<SaveOutcome> {
        scope(self, |world, settings, state| {
            state.copy(world)?;
            let saved = state.mirror.content(settings.allows_empty).and_then(|world| {
                if settings.may_have(slot) {
                    settings.make_folder();
                }
                slot.save(world)
            });
            state.set_saved(saved.is_ok());
            saved
        })
    }

    fn load(&mut self, slot: &Slot) -> Result<LoadReport> {
        scope(self, |world, _, state| state.place(world, slot.load()?, false))
    }

    fn save_to_vec(&mut self) -> Result<Vec<u8>> {
        scope(self, |world, settings, state| {
            state.copy(world)?;
            settings.saves.to_vec(state.mirror.content(settings.allows_empty)?)
        })
    }

    fn load_from_slice(&mut self, save: &[u8]) -> Result<LoadReport> {
        scope(self, |world, settings, state| {
            state.place(world, settings.saves.from_slice(save)?, false)
        })
    }

    fn clear_saved(&mut self) {
        // The function has no error.
        let _ = scope(self, |world, _, state| {
            state.clear(world);
            Ok(())
        });
    }

    fn mirrored<R>(&mut self, look: impl FnOnce(&persist::World) -> R) -> Result<R> {
        scope(self, |world, _, state| {
            state.copy(world)?;
            Ok(look(state.mirror.world()))
        })
    }
}

impl Drop for WorldSaves {
    /// A save that was taken is written.
    fn drop(&mut self) {
        self.parts().1.settle();
    }
}

impl fmt::Debug for WorldSaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorldSaves").field("mirror", &self.locked().mirror).finish_non_exhaustive()
    }
}
