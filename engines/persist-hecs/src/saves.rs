//! The component types that are saved, and the world of `persist` that mirrors one of hecs.

use std::any::TypeId;
use std::fmt::{self, Display};
use std::fs;
use std::path::Path;

use hecs::{Entity, EntityBuilder, EntityRef};
use persist::save::{LoadReport, SaveOutcome, ValueSaver};
use persist::{Component, ObjectId, Persist, Result, SaveManager, World};
use persist_mirror::{As, Copies, Form, Ids, Itself, Mirror, outward};

use crate::entity::{entity, key};

/// Saves and loads one world of hecs.
///
/// An entity is saved if it has a component of a registered type. Its registered components are copied into an object
/// of a [`World`] of `persist`, which stays here between saves: an entity keeps the id of its object, and an object the
/// components of classes that the program does not have.
///
/// # Example
///
/// ```
/// use persist::Persist;
/// use persist_hecs::{Saves, entity};
///
/// #[derive(Persist, Clone)]
/// #[persist(component)]
/// struct Health(u32);
///
/// #[derive(Persist, Clone)]
/// #[persist(component)]
/// struct Hunts(#[persist(with = entity)] hecs::Entity);
///
/// fn saves() -> persist::Result<Saves> {
///     let mut saves = Saves::new();
///     saves.register::<Health>()?.register::<Hunts>()?;
///     Ok(saves)
/// }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("level.sav");
/// let mut world = hecs::World::new();
/// let mouse = world.spawn((Health(1),));
/// world.spawn((Health(9), Hunts(mouse)));
/// saves()?.save(&world, &path)?;
///
/// let mut world = hecs::World::new();
/// world.spawn(("not saved",));
/// saves()?.load(&mut world, &path)?;
/// let (cat, hunts) = world.query::<(&Health, &Hunts)>().iter().map(|(health, hunts)| (health.0, hunts.0)).next().unwrap();
/// assert_eq!(cat, 9);
/// assert_eq!(world.get::<&Health>(hunts).unwrap().0, 1);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Default)]
pub struct Saves {
    saver: ValueSaver,
    types: Vec<Saved>,
    filter: Option<fn(EntityRef<'_>) -> bool>,
    mirror: Mirror,
}

/// What is done with the components of a registered type.
struct Saved {
    id: TypeId,
    has: fn(EntityRef<'_>) -> bool,
    know: fn(&mut World) -> Result<()>,
    copy: fn(&hecs::World, &mut Mirror) -> Result<()>,
    holds_ids: bool,
    build: fn(&Self, ObjectId, &mut Copies<'_>, &mut EntityBuilder) -> Result<()>,
}

impl Saved {
    fn of<T: hecs::Component, F: Form<T>>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            has: |entity| entity.has::<T>(),
            know: World::register::<F::Stored>,
            copy: |world, mirror| {
                let mut query = world.query::<(Entity, &T)>();
                let components = query.iter().map(|(entity, component)| (key(entity), component));
                let count = mirror.copy::<T, F>(components)?;
                mirror.sweep::<F::Stored>(count, |key| {
                    world.entity(entity(key)).is_ok_and(|entity| entity.has::<T>())
                })
            },
            holds_ids: F::Stored::persist_kind().may_hold_ids(),
            build: |of, object, copies, builder| {
                if let Some(component) = copies.component::<T, F>(object, of.holds_ids)? {
                    builder.add(component);
                }
                Ok(())
            },
        }
    }
}

/// What is saved.
impl Saves {
    /// Makes one without types, and with the settings of [`SaveManager::new`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a component type, to be saved and loaded. A type derives `Persist` and `Clone`, and has
    /// `#[persist(component)]`.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::register_component`].
    pub fn register<T: hecs::Component + Component + Clone>(&mut self) -> Result<&mut Self> {
        self.add::<T, Itself>()
    }

    /// Registers a component type that is saved as another: one of another crate, or whose form in memory is not for
    /// saves. `S` derives `Persist` and `Clone`, and has `#[persist(component)]`.
    ///
    /// ```
    /// use persist::Persist;
    ///
    /// struct Colour([u8; 3]); // of another crate
    ///
    /// #[derive(Persist, Clone)]
    /// #[persist(component, class = "Colour")]
    /// struct Stored { red: u8, green: u8, blue: u8 }
    ///
    /// impl From<&Colour> for Stored {
    ///     fn from(&Colour([red, green, blue]): &Colour) -> Self {
    ///         Self { red, green, blue }
    ///     }
    /// }
    ///
    /// impl From<Stored> for Colour {
    ///     fn from(stored: Stored) -> Self {
    ///         Self([stored.red, stored.green, stored.blue])
    ///     }
    /// }
    ///
    /// persist_hecs::Saves::new().register_as::<Colour, Stored>()?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::register_component`].
    pub fn register_as<T, S>(&mut self) -> Result<&mut Self>
    where
        T: hecs::Component + TryFrom<S, Error: Display>,
        S: Component + Clone + for<'t> From<&'t T>,
    {
        self.add::<T, As<S>>()
    }

    fn add<T: hecs::Component, F: Form<T>>(&mut self) -> Result<&mut Self> {
        self.manage(SaveManager::register_component::<F::Stored>)?;
        self.mirror.target().register::<F::Stored>()?;
        self.types.retain(|known| known.id != TypeId::of::<T>());
        self.types.push(Saved::of::<T, F>());
        Ok(self)
    }

    /// Saves those entities alone that pass a filter, of those with a component of a registered type. A load leaves the
    /// others as they are.
    ///
    /// ```
    /// # #[derive(persist::Persist, Clone)]
    /// # #[persist(component)]
    /// # struct Health(u32);
    /// struct Ghost;
    ///
    /// let mut saves = persist_hecs::Saves::new();
    /// saves.register::<Health>()?.set_filter(|entity| !entity.has::<Ghost>());
    /// let mut world = hecs::World::new();
    /// world.spawn((Health(1),));
    /// world.spawn((Health(2), Ghost));
    /// assert_eq!(saves.mirror(&world)?.objects().len(), 1);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn set_filter(&mut self, filter: fn(EntityRef<'_>) -> bool) -> &mut Self {
        self.filter = Some(filter);
        self
    }

    fn passes(&self, entity: EntityRef<'_>) -> bool {
        self.filter.is_none_or(|passes| passes(entity))
    }

    fn is_saved(&self, entity: EntityRef<'_>) -> bool {
        self.types.iter().any(|of| (of.has)(entity)) && self.passes(entity)
    }

    /// Calls a function with the manager of the saves: to set its [application](SaveManager::set_application),
    /// [metadata](SaveManager::set_metadata), [context](SaveManager::set_context) or
    /// [compression](SaveManager::set_save_options), or to list and copy [slots](SaveManager::slots).
    ///
    /// The manager does not have the entities: its own `save`, `auto_save` and `slots(folder).save` are errors. Save by
    /// [`Saves::save`] and [`save_slot`](Self::save_slot).
    pub fn manage<R>(&mut self, run: impl FnOnce(&mut SaveManager) -> R) -> R {
        let mut manager = SaveManager::from(std::mem::take(&mut self.saver));
        let result = run(&mut manager);
        self.saver = manager.into();
        result
    }
}

/// Saves and loads.
impl Saves {
    /// Saves a world. See [`SaveManager::save_value`].
    ///
    /// # Errors
    ///
    /// Those of [`mirror`](Self::mirror) and [`SaveManager::save_value`]. The file is then as it was.
    pub fn save(&mut self, world: &hecs::World, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        self.mirror(world)?;
        self.saver.save_value(path, self.mirror.world())
    }

    /// Saves a world into memory.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save).
    pub fn save_to_vec(&mut self, world: &hecs::World) -> Result<Vec<u8>> {
        self.mirror(world)?;
        self.saver.value_to_vec(self.mirror.world())
    }

    /// Loads a save into a world. The entities that a save would have are despawned: those with a component of a registered
    /// type, and those that were saved from the world or loaded into it before. All others stay. Loaded entities are new:
    /// [`entity`](Self::entity) finds them by their ids.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::load_value`]; what the `TryFrom` of a type that was registered by
    /// [`register_as`](Self::register_as) refuses. The world is then as it was.
    pub fn load(&mut self, world: &mut hecs::World, path: impl AsRef<Path>) -> Result<LoadReport> {
        let (loaded, report) = self.saver.load_value(path)?;
        self.place(world, loaded)?;
        Ok(report)
    }

    /// Saves a world into a slot of a folder, which is made if it is not there. What else is done with slots, such as a list
    /// of them, is done by [`manage`](Self::manage) and [`SaveManager::slots`].
    ///
    /// ```
    /// # #[derive(persist::Persist, Clone)]
    /// # #[persist(component)]
    /// # struct Health(u32);
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path().join("saves");
    /// # let mut world = hecs::World::new();
    /// # world.spawn((Health(1),));
    /// let mut saves = persist_hecs::Saves::new();
    /// saves.register::<Health>()?;
    /// saves.save_slot(&world, &folder, "quick")?;
    /// for slot in saves.manage(|manager| manager.slots(&folder).list())? {
    ///     println!("{}", slot.name);
    /// }
    /// saves.load_slot(&mut world, &folder, "quick")?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`mirror`](Self::mirror) and [`Slots::save_value`](persist::save::Slots::save_value). The slot is then as it
    /// was.
    pub fn save_slot(
        &mut self,
        world: &hecs::World,
        folder: impl AsRef<Path>,
        slot: &str,
    ) -> Result<SaveOutcome> {
        let path = self.manage(|manager| manager.slots(&folder).path(slot))?;
        // If it cannot be made, the save says so, unless its storage is none of files.
        let _ = fs::create_dir_all(folder);
        self.save(world, path)
    }

    /// Loads a slot of a folder into a world, like [`load`](Self::load).
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load); [`ErrorKind::NotFound`](persist::ErrorKind::NotFound) if there is no such slot.
    pub fn load_slot(
        &mut self,
        world: &mut hecs::World,
        folder: impl AsRef<Path>,
        slot: &str,
    ) -> Result<LoadReport> {
        let path = self.manage(|manager| manager.slots(folder).path(slot))?;
        self.load(world, path)
    }

    /// Loads a save from memory, like [`load`](Self::load).
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn load_from_slice(&mut self, world: &mut hecs::World, save: &[u8]) -> Result<LoadReport> {
        let (loaded, report) = self.saver.value_from_slice(save)?;
        self.place(world, loaded)?;
        Ok(report)
    }

    /// Despawns the saved entities for a new game, and forgets what was loaded: unknown components and resources, and which
    /// object stands for which entity.
    pub fn clear(&mut self, world: &mut hecs::World) {
        self.manage(SaveManager::clear);
        let mut none = World::new();
        for of in &self.types {
            // The mirror took it.
            let _ = (of.know)(&mut none);
        }
        // It has nothing that could be refused.
        let _ = self.place(world, none);
    }

    fn place(&mut self, world: &mut hecs::World, loaded: World) -> Result<()> {
        let objects: Vec<ObjectId> = loaded.objects().collect();
        let entities: Vec<Entity> = objects.iter().map(|_| world.reserve_entity()).collect();
        let mut ids = Ids::default();
        for (object, entity) in objects.iter().zip(&entities) {
            ids.insert(*object, key(*entity));
        }
        let mut builder = EntityBuilder::new();
        let placed = outward(&loaded, &mut ids, |copies| {
            objects.iter().zip(&entities).try_for_each(|(object, entity)| {
                self.types
                    .iter()
                    .try_for_each(|of| (of.build)(of, *object, copies, &mut builder))?;
                world.spawn_at(*entity, builder.build());
                Ok(())
            })
        });
        if let Err(error) = placed {
            entities.iter().for_each(|entity| drop(world.despawn(*entity)));
            return Err(error);
        }
        let is_old = |entity: &EntityRef<'_>| {
            let key = key(entity.entity());
            // One with unknown components alone is in the mirror.
            let is_mirrored = || self.mirror.ids().object(key).is_some() && self.passes(*entity);
            ids.object(key).is_none() && (self.is_saved(*entity) || is_mirrored())
        };
        let old: Vec<Entity> = world.iter().filter(is_old).map(|old| old.entity()).collect();
        for entity in old {
            // It is there.
            let _ = world.despawn(entity);
        }
        self.mirror = Mirror::new(loaded, ids);
        Ok(())
    }
}

/// The mirror.
impl Saves {
    /// Copies a world into its mirror, as every save does, and returns that: to look at it by the methods of
    /// [`World`], or to save it as part of another value.
    ///
    /// # Errors
    ///
    /// What a component refuses that holds entities: such a one cannot hold shared pointers or trait objects, or need a context.
    pub fn mirror(&mut self, world: &hecs::World) -> Result<&World> {
        let mut mirror = std::mem::take(&mut self.mirror);
        let copied = self.copy(world, &mut mirror);
        self.mirror = mirror;
        copied?;
        Ok(self.mirror.world())
    }

    fn copy(&self, world: &hecs::World, mirror: &mut Mirror) -> Result<()> {
        let passes = |entity: Entity| world.entity(entity).is_ok_and(|entity| self.passes(entity));
        mirror.retain(|key| passes(entity(key)))?;
        for entity in world {
            let key = key(entity.entity());
            if mirror.ids().object(key).is_none() && self.is_saved(entity) {
                mirror.object(key)?;
            }
        }
        self.types.iter().try_for_each(|of| (of.copy)(world, mirror))
    }

    /// The mirror, to change what is not of hecs: [resources](World::insert_resource), which are saved with the
    /// entities, and the names of objects, by which tools find them.
    pub fn mirror_mut(&mut self) -> &mut World {
        self.mirror.target()
    }

    /// The object of an entity that was saved or loaded. Its id is the same in all saves.
    #[must_use]
    pub fn object(&self, entity: Entity) -> Option<ObjectId> {
        self.mirror.ids().object(key(entity))
    }

    /// The entity of an object.
    #[must_use]
    pub fn entity(&self, object: ObjectId) -> Option<Entity> {
        self.mirror.ids().entity(object).map(entity)
    }
}

impl fmt::Debug for Saves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saves").field("mirror", &self.mirror).finish_non_exhaustive()
    }
}
