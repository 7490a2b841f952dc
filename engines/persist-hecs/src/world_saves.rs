//! [`WorldSaves`], which registers component types and saves and loads a world of hecs.

use std::any::{TypeId, type_name};
use std::fmt::{self, Display};

use hecs::{Entity, EntityBuilder, EntityRef};
use persist::save::{BackgroundSave, LoadReport, ReportRow, SaveOutcome, Slot};
use persist::{Component, Error, ErrorKind, Loaded, ObjectId, Persist, Result, Saves, World};
use persist_mirror::{As, Copies, Form, Ids, Itself, Lost, Mirror, outward};

use crate::entity::{entity, key};

/// Saves and loads one world of hecs, by the classes and settings of a [`Saves`].
///
/// An entity is saved if it has a component of a registered type. Its registered components are copied into an object
/// of a [`World`] of `persist`, the mirror. `WorldSaves` keeps the mirror between saves, so that an entity keeps the id
/// of its object, and an object keeps its unknown components.
///
/// # Example
///
/// ```
/// use persist::Persist;
/// use persist_hecs::{WorldSaves, entity};
///
/// #[derive(Persist, Clone)]
/// #[persist(component)]
/// struct Health(u32);
///
/// #[derive(Persist, Clone)]
/// #[persist(component)]
/// struct Hunts(#[persist(with = entity)] hecs::Entity);
///
/// fn world_saves() -> persist::Result<WorldSaves> {
///     let mut worlds = WorldSaves::new();
///     worlds.register::<Health>()?.register::<Hunts>()?;
///     Ok(worlds)
/// }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("level.sav");
/// let mut world = hecs::World::new();
/// let mouse = world.spawn((Health(1),));
/// world.spawn((Health(9), Hunts(mouse)));
/// let mut worlds = world_saves()?;
/// let slot = worlds.saves().file(&path);
/// worlds.save(&world, &slot)?;
///
/// let mut world = hecs::World::new();
/// world.spawn(("not saved",));
/// worlds.load(&mut world, &slot)?;
/// let mut query = world.query::<(&Health, &Hunts)>();
/// let (cat, hunts) = query.iter().map(|(health, hunts)| (health.0, hunts.0)).next().unwrap();
/// assert_eq!(cat, 9);
/// assert_eq!(world.get::<&Health>(hunts).unwrap().0, 1);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Default)]
pub struct WorldSaves {
    saves: Saves,
    types: Vec<Saved>,
    filter: Option<fn(EntityRef<'_>) -> bool>,
    mirror: Mirror,
    allows_empty: bool,
}

/// A registered component type, and the functions that register, copy, check and restore its components.
struct Saved {
    id: TypeId,
    type_name: &'static str,
    has: fn(EntityRef<'_>) -> bool,
    name: fn() -> String,
    know: fn(&mut World) -> Result<()>,
    copy: fn(&hecs::World, &mut Mirror) -> Result<()>,
    holds_ids: bool,
    lost: fn(&World, &mut Lost),
    build: fn(&Self, ObjectId, &mut Copies<'_>, &mut EntityBuilder) -> Result<()>,
}

impl Saved {
    fn new<T: hecs::Component, F: Form<T>>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            type_name: type_name::<T>(),
            has: |entity| entity.has::<T>(),
            name: F::Stored::persist_name,
            know: World::register_component::<F::Stored>,
            copy: |world, mirror| {
                let mut query = world.query::<(Entity, &T)>();
                let components = query.iter().map(|(entity, component)| (key(entity), component));
                let count = mirror.copy::<T, F>(components)?;
                mirror.sweep::<F::Stored>(count, |key| {
                    world.entity(entity(key)).is_ok_and(|entity| entity.has::<T>())
                })
            },
            holds_ids: F::Stored::persist_kind().may_hold_ids(),
            lost: |world, lost| lost.add_components::<F::Stored>(world),
            build: |ty, object, copies, builder| {
                if let Some(component) = copies.component::<T, F>(object, ty.holds_ids, |_| true)? {
                    builder.add(component);
                }
                Ok(())
            },
        }
    }
}

/// Creates `WorldSaves`, and registers types.
impl WorldSaves {
    /// Creates a `WorldSaves` without types and with the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a `WorldSaves` without types and with the settings of a [`Saves`].
    ///
    /// ```
    /// use persist::{SaveOptions, Saves};
    /// use persist_hecs::WorldSaves;
    ///
    /// let saves = Saves::new().application("Mill", "1.0")?.save_options(SaveOptions::new().backups(3));
    /// let worlds = WorldSaves::with(saves);
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn with(saves: Saves) -> Self {
        Self { saves, ..Self::default() }
    }

    /// Returns the classes and settings. Create slots from them: `worlds.saves().slots(folder).slot("quick")`.
    ///
    /// A clone shares the classes, and may have other settings.
    #[must_use]
    pub fn saves(&self) -> &Saves {
        &self.saves
    }

    /// Allows saves of a world without saved entities and resources, which are errors otherwise.
    ///
    /// ```
    /// use persist::ErrorKind;
    /// use persist_hecs::WorldSaves;
    ///
    /// let world = hecs::World::new();
    /// let error = WorldSaves::new().to_vec(&world).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NoContent);
    /// assert!(WorldSaves::new().allow_empty().to_vec(&world).is_ok());
    /// ```
    #[must_use]
    pub fn allow_empty(self) -> Self {
        Self { allows_empty: true, ..self }
    }

    /// Registers a component type that is saved and loaded.
    ///
    /// The type must derive `Persist` and `Clone`, and have `#[persist(component)]`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::register_component`], and [`ErrorKind::DuplicateId`] if another type is
    /// saved as the same class.
    pub fn register<T: hecs::Component + Component + Clone>(&mut self) -> Result<&mut Self> {
        self.add::<T, Itself>()
    }

    /// Registers a component type `T` that is saved as another type `S`.
    ///
    /// Use it for a type of another crate, or for a type whose representation in memory should not be saved. `S` must
    /// derive `Persist` and `Clone`, and have `#[persist(component)]`.
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
    /// persist_hecs::WorldSaves::new().register_as::<Colour, Stored>()?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::register_component`], and [`ErrorKind::DuplicateId`] if another type is
    /// saved as the same class.
    pub fn register_as<T, S>(&mut self) -> Result<&mut Self>
    where
        T: hecs::Component + TryFrom<S, Error: Display>,
        S: Component + Clone + for<'t> From<&'t T>,
    {
        self.add::<T, As<S>>()
    }

    fn add<T: hecs::Component, F: Form<T>>(&mut self) -> Result<&mut Self> {
        self.saves.register_component::<F::Stored>()?;
        let ty = Saved::new::<T, F>();
        let class = (ty.name)();
        let is_same = |known: &&Saved| known.id != ty.id && (known.name)() == class;
        if let Some(known) = self.types.iter().find(is_same) {
            let message = format!(
                "class {class} is that of `{}` already, and a save could not tell it from `{}`; save one of them as a type of \
                 its own",
                known.type_name, ty.type_name
            );
            return Err(Error::new(ErrorKind::DuplicateId, message));
        }
        self.mirror.target().register_component::<F::Stored>()?;
        self.types.retain(|known| known.id != ty.id);
        self.types.push(ty);
        Ok(self)
    }

    /// Sets a filter: of the entities with a component of a registered type, only those that pass it are saved.
    ///
    /// A load leaves the other entities unchanged.
    ///
    /// ```
    /// # #[derive(persist::Persist, Clone)]
    /// # #[persist(component)]
    /// # struct Health(u32);
    /// struct Ghost;
    ///
    /// let mut worlds = persist_hecs::WorldSaves::new();
    /// worlds.register::<Health>()?.set_filter(|entity| !entity.has::<Ghost>());
    /// let mut world = hecs::World::new();
    /// world.spawn((Health(1),));
    /// world.spawn((Health(2), Ghost));
    /// assert_eq!(worlds.mirror(&world)?.objects().len(), 1);
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
        self.types.iter().any(|ty| (ty.has)(entity)) && self.passes(entity)
    }
}

/// Saves and loads worlds.
impl WorldSaves {
    /// Saves a world into a slot, like [`Slot::save`].
    ///
    /// ```
    /// # #[derive(persist::Persist, Clone)]
    /// # #[persist(component)]
    /// # struct Health(u32);
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// # let mut world = hecs::World::new();
    /// # world.spawn((Health(1),));
    /// use persist::save::SlotInfo;
    ///
    /// let mut worlds = persist_hecs::WorldSaves::new();
    /// worlds.register::<Health>()?;
    /// let slots = worlds.saves().slots(folder);
    /// worlds.save(&world, &slots.slot("quick").info(SlotInfo::new("The Mill")))?;
    /// for entry in slots.list()? {
    ///     println!("{entry}");
    /// }
    /// worlds.load(&mut world, &slots.slot("quick"))?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::save`] and [`mirror`](Self::mirror). Returns [`ErrorKind::NoContent`] if
    /// there is no entity and no resource to save, unless that is [allowed](Self::allow_empty). After an error, the
    /// slot is unchanged.
    pub fn save(&mut self, world: &hecs::World, slot: &Slot) -> Result<SaveOutcome> {
        slot.save(self.content(world)?)
    }

    /// Copies and encodes a world, and writes it on another thread, like [`Slot::save_in_background`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::save_in_background`], and the errors of [`save`](Self::save) for the world.
    pub fn save_in_background(
        &mut self,
        world: &hecs::World,
        slot: &Slot,
    ) -> Result<BackgroundSave> {
        slot.save_in_background(self.content(world)?)
    }

    /// Saves a world into memory, without metadata and time, so that equal worlds have equal saves.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`save`](Self::save), except for file errors.
    pub fn to_vec(&mut self, world: &hecs::World) -> Result<Vec<u8>> {
        self.mirror(world)?;
        self.saves.to_vec(self.mirror.content(self.allows_empty)?)
    }

    fn content(&mut self, world: &hecs::World) -> Result<&Loaded<World>> {
        self.mirror(world)?;
        self.mirror.content(self.allows_empty)
    }

    /// Lists what the last save has lost: a row for each class with references to entities that are not saved.
    ///
    /// A load of the save reports the same rows. Call it in tests and editors, where you can still fix the game: save
    /// these entities too, or remove the references. It inspects all saved components.
    ///
    /// ```
    /// # use persist::Persist;
    /// # use persist_hecs::{WorldSaves, entity};
    /// #[derive(Persist, Clone)]
    /// #[persist(component)]
    /// struct Hunts(#[persist(with = entity)] hecs::Entity);
    ///
    /// let mut world = hecs::World::new();
    /// let mouse = world.spawn(("no registered component",));
    /// world.spawn((Hunts(mouse),));
    /// let mut worlds = WorldSaves::new();
    /// worlds.register::<Hunts>()?;
    /// worlds.to_vec(&world)?;
    /// for warning in worlds.warnings() {
    ///     println!("{warning}");
    /// }
    /// # assert_eq!(worlds.warnings().len(), 1);
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<ReportRow> {
        let mut lost = Lost::default();
        self.types.iter().for_each(|ty| (ty.lost)(self.mirror.world(), &mut lost));
        lost.rows().to_vec()
    }

    /// Loads a slot into a world, like [`Slot::load`].
    ///
    /// The entities that a save would contain are despawned: those with a component of a registered type, and those
    /// that were saved from the world or loaded into it before. All others stay. The loaded entities are new ones:
    /// [`entity`](Self::entity) finds them by their ids. Unknown components and resources of previous loads are
    /// dropped.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::load`], and the `TryFrom` errors of types that were registered with
    /// [`register_as`](Self::register_as). Returns [`ErrorKind::Unsupported`] if the slot was created from a [`Saves`]
    /// without the registered types: create it from [`saves`](Self::saves). After an error, the world is unchanged.
    pub fn load(&mut self, world: &mut hecs::World, slot: &Slot) -> Result<LoadReport> {
        self.place(world, slot.load()?)
    }

    /// Loads a save from memory, like [`load`](Self::load).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`load`](Self::load), except for file errors.
    pub fn from_slice(&mut self, world: &mut hecs::World, save: &[u8]) -> Result<LoadReport> {
        self.place(world, self.saves.from_slice(save)?)
    }

    /// Despawns the saved entities, for a new game.
    ///
    /// Everything else of the last game is dropped as well: unknown components, all resources, and the ids of objects.
    pub fn clear(&mut self, world: &mut hecs::World) {
        let mut none = World::new();
        for ty in &self.types {
            // It cannot fail: the mirror has registered the same types.
            let _ = (ty.know)(&mut none);
        }
        // It cannot fail: there is no content that a type could refuse.
        let _ = self.place(world, none.into());
    }

    fn place(&mut self, world: &mut hecs::World, loaded: Loaded<World>) -> Result<LoadReport> {
        let is_unknown = |ty: &&Saved| loaded.registry().class(&(ty.name)()).is_none();
        if let Some(ty) = self.types.iter().find(is_unknown) {
            let message = format!(
                "the saves of this slot do not have component {}; make the slot from `WorldSaves::saves`, or from a clone",
                (ty.name)()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let objects: Vec<ObjectId> = loaded.objects().collect();
        let entities: Vec<Entity> = objects.iter().map(|_| world.reserve_entity()).collect();
        let mut ids = Ids::default();
        for (object, entity) in objects.iter().zip(&entities) {
            ids.insert(*object, key(*entity));
        }
        let mut builder = EntityBuilder::new();
        let placed: Result<Lost> = outward(&loaded, &mut ids, |copies| {
            for (object, entity) in objects.iter().zip(&entities) {
                self.types
                    .iter()
                    .try_for_each(|ty| (ty.build)(ty, *object, copies, &mut builder))?;
                world.spawn_at(*entity, builder.build());
            }
            Ok(copies.take_lost())
        });
        let lost = match placed {
            Ok(lost) => lost,
            Err(error) => {
                entities.iter().for_each(|entity| drop(world.despawn(*entity)));
                return Err(error);
            }
        };
        let is_old = |entity: &EntityRef<'_>| {
            let key = key(entity.entity());
            // An entity that has only unknown components is found in the mirror.
            let is_mirrored = || self.mirror.ids().object(key).is_some() && self.passes(*entity);
            ids.object(key).is_none() && (self.is_saved(*entity) || is_mirrored())
        };
        let old: Vec<Entity> = world.iter().filter(is_old).map(|old| old.entity()).collect();
        for entity in old {
            // It cannot fail: the entity was just found in the world.
            let _ = world.despawn(entity);
        }
        let mut report = loaded.report().clone();
        lost.report_in(&mut report);
        self.mirror = Mirror::new(loaded, ids);
        Ok(report)
    }
}

/// Inspects and changes the mirror.
impl WorldSaves {
    /// Copies a world into its mirror, as every save does, and returns the mirror, to inspect it as a [`World`].
    ///
    /// # Errors
    ///
    /// Returns an error if a component that holds entities also holds shared pointers or trait objects, or needs a
    /// context.
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
        self.types.iter().try_for_each(|ty| (ty.copy)(world, mirror))
    }

    /// Returns the mirror, to change content that hecs does not have.
    ///
    /// This is [resources](World::insert_resource), which are saved with the entities, and the names of objects, by
    /// which tools find them.
    ///
    /// A resource refers to an entity by the id of its [object](Self::object), in a field of type [`ObjectId`]. Values
    /// that are inserted into the mirror are not translated, so an [`Entity`] would be taken for another object.
    pub fn mirror_mut(&mut self) -> &mut World {
        self.mirror.target()
    }

    /// Returns the object of an entity that was saved or loaded. Its id is the same in all saves.
    #[must_use]
    pub fn object(&self, entity: Entity) -> Option<ObjectId> {
        self.mirror.ids().object(key(entity))
    }

    /// Returns the entity of an object.
    #[must_use]
    pub fn entity(&self, object: ObjectId) -> Option<Entity> {
        self.mirror.ids().entity(object).map(entity)
    }
}

impl fmt::Debug for WorldSaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorldSaves").field("mirror", &self.mirror).finish_non_exhaustive()
    }
}
