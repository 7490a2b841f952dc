//! [`WorldSaves`], with the mirror of a world of Bevy, and [`PersistWorld`], which saves and loads it.

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
use crate::types::{FindTouched, IsSaved, Since, Type, Types, touched as touched_of};
use crate::warnings::SaveWarnings;

/// The maximum age of a change tick that is compared: Bevy clamps older ones.
const MAX_AGE: u32 = 1 << 30;

/// Saves and loads the world of an app, by the classes and settings of a [`Saves`].
///
/// The [plugin](crate::PersistPlugin) inserts this resource into the app. It has a mirror, a [world of
/// persist](persist::World) with an object for each saved entity. The mirror is kept between saves, so that an entity
/// has the same id in all saves, and unknown components of a loaded save are kept.
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
    /// In a mutex because a resource must be `Sync`.
    state: Mutex<State>,
}

/// The settings of the app.
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

    /// Creates the folder of the slots. An error is ignored: a save to files then fails, and other storages need no
    /// folder.
    pub(crate) fn create_folder(&self) {
        if let Some(folder) = &self.folder {
            let _ = fs::create_dir_all(folder);
        }
    }

    /// Returns whether a slot may be in the folder. A rotation without saves has no path yet.
    fn may_have(&self, slot: &Slot) -> bool {
        let is_in = |path: PathBuf| path.parent() == self.folder.as_deref();
        slot.path().map_or_else(|error| error.kind() == ErrorKind::NotFound, is_in)
    }

    /// Waits for all saves in the background. Their handles report the errors.
    pub(crate) fn wait_for_writes(&self) {
        let _ = self.slots().and_then(|slots| slots.as_store());
    }
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) types: Types,
    pub(crate) mirror: Mirror,
    /// The last tick at which the mirror and the world were equal.
    last: Option<Tick>,
    /// The number of writes of the mirror when it was last saved or loaded.
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
    /// Creates a `WorldSaves` with the settings of a [`Saves`], for a world without the plugin.
    ///
    /// For an app with the plugin, call [`PersistPlugin::saves`](crate::PersistPlugin::saves) instead. Insert the
    /// resource before you register types: it replaces a resource that has registered types already.
    ///
    /// # Panics
    ///
    /// Panics if the saves have another type whose class has the name of a built-in one, such as `Transform`.
    #[must_use]
    pub fn with(saves: Saves) -> Self {
        let settings = Settings { saves, ..Settings::default() };
        let mut saves = Self { settings, state: Mutex::default() };
        for ty in builtin::types() {
            saves.add(ty).unwrap_or_else(|error| panic!("a type of this crate: {error}"));
        }
        saves
    }

    /// Allows saves of a world without saved entities and resources, like
    /// [`PersistPlugin::allow_empty`](crate::PersistPlugin::allow_empty).
    #[must_use]
    pub fn allow_empty(mut self) -> Self {
        self.set_allows_empty();
        self
    }

    /// Returns the classes and settings. A clone shares the classes, and may have other settings.
    #[must_use]
    pub fn saves(&self) -> &Saves {
        &self.settings.saves
    }

    /// Returns the slots in the folder of the plugin.
    ///
    /// List, copy and delete them, and pass them to [`PersistWorld::save`] and [`load`](PersistWorld::load).
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Refused`] without a [plugin](crate::PersistPlugin), which has the folder.
    pub fn slots(&self) -> Result<Slots> {
        self.settings.slots()
    }

    /// Returns the object of an entity that was saved or loaded. Its id is the same in all saves.
    ///
    /// Blocks while a save is encoded on another thread.
    #[must_use]
    pub fn object(&self, entity: Entity) -> Option<ObjectId> {
        self.locked().mirror.ids().object(key(entity))
    }

    /// Returns the entity of an object. Blocks while a save is encoded on another thread.
    #[must_use]
    pub fn entity(&self, object: ObjectId) -> Option<Entity> {
        self.locked().mirror.ids().entity(object).map(entity)
    }

    /// Lists what the last save has lost, as a load of it will report.
    ///
    /// Each class with references to entities that are not saved, or no longer, has a row. So has each component of
    /// saved entities that is neither registered nor [ignored](crate::PersistApp::ignore_component).
    ///
    /// Call this in tests and editors, where you can still fix the game: mark these entities with
    /// [`Saved`](crate::Saved), or remove the references. It inspects all saved components.
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

    /// Locks the state after waiting until no thread owns the mirror.
    fn locked(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        state
    }

    pub(crate) fn parts(&mut self) -> (&Settings, &mut State) {
        (&self.settings, self.state.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Registers a type, or replaces its registration.
    pub(crate) fn add(&mut self, ty: Type) -> Result<()> {
        let (settings, state) = self.parts();
        (ty.register)(&settings.saves)?;
        let class = (ty.class)();
        let is_same = |known: &&Type| {
            known.id != ty.id && known.is_resource == ty.is_resource && (known.class)() == class
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
        (ty.know)(state.mirror.target())?;
        state.types.all.retain(|known| known.id != ty.id);
        state.types.all.push(ty);
        Ok(())
    }

    /// Replaces the saves, and registers all types in the new ones.
    pub(crate) fn set_saves(&mut self, saves: Saves) -> Result<()> {
        let (_, state) = self.parts();
        state.types.all.iter().try_for_each(|ty| (ty.register)(&saves))?;
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
    /// Removes the saved entities and the unknown content of the last load.
    fn clear(&mut self, world: &mut World) {
        let mut none = persist::World::new();
        for ty in &self.types.all {
            // It cannot fail: the mirror has registered the same types.
            let _ = (ty.know)(&mut none);
        }
        // It cannot fail: there is no content that a type could refuse.
        let _ = self.place(world, none.into(), false);
    }

    /// Copies the changes since the last copy into the mirror.
    pub(crate) fn copy(&mut self, world: &mut World) -> Result<()> {
        // Changes from now on get a later tick than this one, and are copied the next time.
        let now = world.increment_change_tick();
        // After an error `last` stays `None`, so that the next copy copies everything.
        let last = self.last.take();
        let pick = |ty: &Type| ty.copy;
        self.has_tree =
            copy_changes(world, &mut self.mirror, &self.types, pick, last, self.has_tree)?;
        self.warnings.report(world, &mut self.mirror, &self.types);
        self.last = Some(now);
        Ok(())
    }

    /// Returns whether the mirror has entities, and has changed since the last save or load.
    pub(crate) fn is_modified(&self) -> bool {
        !self.mirror.ids().is_empty() && self.saved != Some(self.mirror.writes())
    }

    /// Records whether the current content of the mirror is saved.
    pub(crate) fn set_saved(&mut self, is_saved: bool) {
        self.saved = is_saved.then(|| self.mirror.writes());
    }

    /// Applies a loaded world to the world of Bevy.
    pub(crate) fn place(
        &mut self,
        world: &mut World,
        loaded: Loaded<persist::World>,
        keeps: bool,
    ) -> Result<LoadReport> {
        let is_unknown = |ty: &&Type| loaded.registry().class(&(ty.class)()).is_none();
        if let Some(ty) = self.types.all.iter().find(is_unknown) {
            let message = format!(
                "the saves of this slot do not have class {}; make the slot from those of `WorldSaves`, or from a clone",
                (ty.class)()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let old = keeps.then(|| self.mirror.ids());
        let (ids, lost) = place(world, &loaded, &self.types, old.map(Known::All))?;
        let mut report = loaded.report().clone();
        lost.report_in(&mut report);
        // The whole mirror is replaced: no data of the previous game gets into the next save.
        self.mirror = Mirror::new(loaded, ids);
        self.has_tree = true;
        self.last = Some(world.increment_change_tick());
        self.set_saved(true);
        Ok(report)
    }
}

/// Copies the changes since a tick into a mirror; returns whether any entity has a parent.
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
    let last = last.filter(|last| now.get().wrapping_sub(last.get()) < MAX_AGE);
    let mut since = Since { last, now, first_new: None, renews_references: false };
    let (count, marked) = touched_of::<Saved>(world, Some(&since));
    let mut saved = world.query_filtered::<Entity, IsSaved>();
    // Without a new `Saved`, no entity is new.
    let is_any_new = marked.is_none_or(|marked| !marked.is_empty());
    for entity in is_any_new.then(|| saved.iter(world)).into_iter().flatten() {
        if mirror.ids().object(key(entity)).is_none() {
            let object = mirror.object(key(entity))?;
            since.first_new.get_or_insert(object);
            let spawned = world.entities().entity_get_spawn_or_despawn_tick(entity);
            since.renews_references |= spawned.is_some_and(|spawned| !since.is_changed(spawned));
        }
    }
    if mirror.ids().len() != count {
        let is_any_removed = mirror.retain(|key| world.get::<Saved>(entity(key)).is_some())?;
        since.renews_references |= W::RENEWS_REFERENCES && is_any_removed;
    }
    for ty in &types.all {
        pick(ty)(world, mirror, &since)?;
    }
    copy_tree(world, mirror, &since, had_tree)
}

/// Counts the saved entities, their parents and their components of each type.
pub(crate) fn count_saved(world: &mut World, types: &Types) -> Vec<usize> {
    mark_all(world, &types.filters);
    let of_types = types.all.iter().map(|ty| ty.touched);
    STRUCTURE.into_iter().chain(of_types).map(|of| of(world, None).0).collect()
}

/// The components that say which entities are saved, and where they are in the hierarchy.
const STRUCTURE: [FindTouched; 3] =
    [touched_of::<Saved>, touched_of::<ChildOf>, touched_of::<Children>];

/// Returns the objects whose components have changed since a tick, with their entities.
///
/// `None` if an entity, a component or a place in the hierarchy is new or gone: then all must be compared. `known` has
/// the [counts](count_saved) at that tick.
pub(crate) fn touched(
    world: &mut World,
    types: &Types,
    ids: &Ids,
    (last, known): (Tick, &[usize]),
) -> Option<Vec<(ObjectId, Entity)>> {
    mark_all(world, &types.filters);
    let now = world.change_tick();
    if now.get().wrapping_sub(last.get()) >= MAX_AGE {
        return None;
    }
    let since = Since { last: Some(last), now, first_new: None, renews_references: false };
    let mut touched = Vec::new();
    for (at, of) in STRUCTURE.into_iter().chain(types.all.iter().map(|ty| ty.touched)).enumerate() {
        let (count, entities) = of(world, Some(&since));
        let entities = entities.filter(|_| known.get(at) == Some(&count))?;
        if at < STRUCTURE.len() && !entities.is_empty() {
            return None;
        }
        touched.extend(entities);
    }
    touched.into_iter().map(|entity| Some((ids.object(key(entity))?, entity))).collect()
}

/// Replaces the components of some objects that differ, and the resources.
pub(crate) fn place_some(
    world: &mut World,
    loaded: &persist::World,
    types: &Types,
    ids: &mut Ids,
    objects: &[(ObjectId, Entity)],
) -> Result<()> {
    let old = &*world;
    let parts = outward(loaded, ids, |copies| {
        let parts = types.all.iter().map(|ty| (ty.restore)(copies, objects, Some(old)));
        parts.collect::<Result<Vec<_>>>()
    })?;
    parts.into_iter().for_each(|part| part(world));
    world.flush();
    Ok(())
}

/// The current entities of objects, which keep their entities.
pub(crate) enum Known<'i> {
    /// All of their saved components are replaced.
    All(&'i Ids),
    /// Only the components that differ are replaced.
    Compared(&'i mut Ids),
}

/// Replaces the saved entities of Bevy's world by the objects of a world of persist.
///
/// Returns the table of the objects and their entities, and a report of lost references.
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
    // The world does not change until everything is restored: an error leaves it unchanged.
    let compared = only_differences.then_some(&*world);
    let restored = outward(loaded, &mut ids, |copies| {
        let parts = types.all.iter().map(|ty| (ty.restore)(copies, &objects, compared));
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
    let is_stale = |entity: &Entity| ids.object(key(*entity)).is_none();
    let stale: Vec<Entity> = saved.iter(world).filter(is_stale).collect();
    // Despawning an entity despawns its descendants: first detach the children that stay.
    for entity in &stale {
        let children =
            world.get::<Children>(*entity).into_iter().flat_map(|children| children.iter());
        let staying = children.copied().filter(|child| ids.object(key(*child)).is_some());
        for child in staying.collect::<Vec<_>>() {
            world.entity_mut(child).remove::<ChildOf>();
        }
    }
    for entity in stale {
        // The entity may have been despawned already, as a descendant of another one.
        let _ = world.try_despawn(entity);
    }
    for entity in &new {
        // It cannot fail: the entity was just allocated.
        let _ = world.spawn_at(*entity, Saved);
    }
    parts.into_iter().for_each(|part| part(world));
    world.flush();
    claim_all(world, &types.filters, &new);
    Ok((ids, lost))
}

/// Methods of [`World`] that save and load at once, for systems, tests and servers that can wait.
///
/// Games usually [request](crate::SaveRequested) saves, which are written in the background.
pub trait PersistWorld {
    /// Saves into a slot, like [`Slot::save`], and waits until the save is written.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::save`], and an error if a component that holds entities also holds shared
    /// pointers or trait objects, or needs a context. Returns [`ErrorKind::NoContent`] if there is no entity and no
    /// resource to save, unless that is [allowed](crate::PersistPlugin::allow_empty).
    fn save(&mut self, slot: &Slot) -> Result<SaveOutcome>;

    /// Loads a slot, like [`Slot::load`].
    ///
    /// The entities with [`Saved`] are replaced, and so are the registered resources that the save has.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::load`], and the `TryFrom` errors of components that are saved as another
    /// type. Returns [`ErrorKind::Unsupported`] if the slot was created from a [`Saves`] without the registered types:
    /// create it from [`WorldSaves::slots`] or [`WorldSaves::saves`]. After an error, the world is unchanged.
    fn load(&mut self, slot: &Slot) -> Result<LoadReport>;

    /// Saves into memory, without metadata and time, so that equal worlds have equal saves.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`save`](Self::save), except for file errors.
    fn save_to_vec(&mut self) -> Result<Vec<u8>>;

    /// Loads from memory, like [`load`](Self::load).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`load`](Self::load), except for file errors.
    fn load_from_slice(&mut self, save: &[u8]) -> Result<LoadReport>;

    /// Despawns the saved entities, for a new game.
    ///
    /// Other data of the last game is dropped as well: unknown components and resources, and the ids of objects.
    /// Registered resources keep their values.
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

    /// Copies changes into the [mirror](WorldSaves), and calls a function to inspect it as a [`persist::World`].
    ///
    /// # Errors
    ///
    /// Returns an error if a component that holds entities also holds shared pointers or trait objects, or needs a
    /// context.
    fn mirrored<R>(&mut self, inspect: impl FnOnce(&persist::World) -> R) -> Result<R>;
}

/// Calls a function with the world and its saves, while no thread owns the mirror.
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
                    settings.create_folder();
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
        // It cannot fail: the function returns `Ok`.
        let _ = scope(self, |world, _, state| {
            state.clear(world);
            Ok(())
        });
    }

    fn mirrored<R>(&mut self, inspect: impl FnOnce(&persist::World) -> R) -> Result<R> {
        scope(self, |world, _, state| {
            state.copy(world)?;
            Ok(inspect(state.mirror.world()))
        })
    }
}

impl Drop for WorldSaves {
    /// Waits for a running save, so that it is written.
    fn drop(&mut self) {
        self.parts().1.settle();
    }
}

impl fmt::Debug for WorldSaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorldSaves").field("mirror", &self.locked().mirror).finish_non_exhaustive()
    }
}
