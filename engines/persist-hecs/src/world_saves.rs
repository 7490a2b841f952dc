//! The component types that are saved, and the world of `persist` that mirrors one of hecs.

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
/// of a [`World`] of `persist`, the mirror, which stays here between saves: an entity keeps the id of its object, and an
/// object its unknown components.
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
/// let (cat, hunts) = world.query::<(&Health, &Hunts)>().iter().map(|(health, hunts)| (health.0, hunts.0)).next().unwrap();
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

/// What is done with the components of a registered type.
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
    fn of<T: hecs::Component, F: Form<T>>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            type_name: type_name::<T>(),
            has: |entity| entity.has::<T>(),
            name: F::Stored::persist_name,
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
            lost: |world, lost| lost.add_components::<F::Stored>(world),
            build: |of, object, copies, builder| {
                if let Some(component) = copies.component::<T, F>(object, of.holds_ids, |_| true)? {
                    builder.add(component);
                }
                Ok(())
            },
        }
    }
}

/// What is saved.
impl WorldSaves {
    /// Makes one without types, and with the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes one without types, and with the settings of these saves.
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

    /// The classes and settings, from which the slots are made: `worlds.saves().slots(folder).slot("quick")`.
    ///
    /// A clone has the same classes, and may have other settings.
    #[must_use]
    pub fn saves(&self) -> &Saves {
        &self.saves
    }

    /// Allows saves of a world in which nothing is to be saved, which are errors otherwise.
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

    /// Registers a component type, to be saved and loaded. A type derives `Persist` and `Clone`, and has
    /// `#[persist(component)]`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::register_component`]; [`ErrorKind::DuplicateId`] if another type is saved as the
    /// same class.
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
    /// persist_hecs::WorldSaves::new().register_as::<Colour, Stored>()?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::register_component`]; [`ErrorKind::DuplicateId`] if another type is saved as the
    /// same class.
    pub fn register_as<T, S>(&mut self) -> Result<&mut Self>
    where
        T: hecs::Component + TryFrom<S, Error: Display>,
        S: Component + Clone + for<'t> From<&'t T>,
    {
        self.add::<T, As<S>>()
    }

    fn add<T: hecs::Component, F: Form<T>>(&mut self) -> Result<&mut Self> {
        self.saves.register_component::<F::Stored>()?;
        let of = Saved::of::<T, F>();
        let class = (of.name)();
        let is_same = |known: &&Saved| known.id != of.id && (known.name)() == class;
        if let Some(known) = self.types.iter().find(is_same) {
            let message = format!(
                "class {class} is that of `{}` already, and a save could not tell it from `{}`; save one of them as a type of \
                 its own",
                known.type_name, of.type_name
            );
            return Err(Error::new(ErrorKind::DuplicateId, message));
        }
        self.mirror.target().register::<F::Stored>()?;
        self.types.retain(|known| known.id != of.id);
        self.types.push(of);
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
        self.types.iter().any(|of| (of.has)(entity)) && self.passes(entity)
    }
}

/// Saves and loads.
impl WorldSaves {
    /// Saves a world into a slot, as [`Slot::save`] does.
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
    /// Returns the same errors as [`Slot::save`], and as [`mirror`](Self::mirror); [`ErrorKind::NoContent`] if no entity and
    /// no resource is to be saved, unless that is [allowed](Self::allow_empty). The slot then is as it was.
    pub fn save(&mut self, world: &hecs::World, slot: &Slot) -> Result<SaveOutcome> {
        slot.save(self.content(world)?)
    }

    /// Copies and encodes a world, and saves it on another thread, as [`Slot::save_in_background`] does.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::save_in_background`], and as [`save`](Self::save) for the world.
    pub fn save_in_background(
        &mut self,
        world: &hecs::World,
        slot: &Slot,
    ) -> Result<BackgroundSave> {
        slot.save_in_background(self.content(world)?)
    }

    /// Saves a world into memory, without metadata and time: equal worlds have equal saves.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`save`](Self::save), but for those of files.
    pub fn to_vec(&mut self, world: &hecs::World) -> Result<Vec<u8>> {
        self.mirror(world)?;
        self.saves.to_vec(self.mirror.content(self.allows_empty)?)
    }

    fn content(&mut self, world: &hecs::World) -> Result<&Loaded<World>> {
        self.mirror(world)?;
        self.mirror.content(self.allows_empty)
    }

    /// Lists the losses of the save that was taken last, which a load of it will report: a row for each class with
    /// references to entities that are not saved.
    ///
    /// Tests and editors call it, where the game can still be mended: have these entities saved, or take the references
    /// out. It inspects all that is saved.
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
        self.types.iter().for_each(|of| (of.lost)(self.mirror.world(), &mut lost));
        lost.rows().to_vec()
    }

    /// Loads a slot into a world, as [`Slot::load`] does.
    ///
    /// The entities that a save would have are despawned: those with a component of a registered type, and those that were
    /// saved from the world or loaded into it before. All others stay. Loaded entities are new: [`entity`](Self::entity)
    /// finds them by their ids. Unknown components and resources are those of this save alone.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::load`]; what the `TryFrom` of a type refuses that was registered by
    /// [`register_as`](Self::register_as); [`ErrorKind::Unsupported`] if the slot is of saves without the registered types:
    /// make it from [`saves`](Self::saves). The world then is as it was.
    pub fn load(&mut self, world: &mut hecs::World, slot: &Slot) -> Result<LoadReport> {
        self.place(world, slot.load()?)
    }

    /// Loads a save from memory, like [`load`](Self::load).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`load`](Self::load), but for those of files.
    pub fn from_slice(&mut self, world: &mut hecs::World, save: &[u8]) -> Result<LoadReport> {
        self.place(world, self.saves.from_slice(save)?)
    }

    /// Despawns the saved entities for a new game, which begins without anything of the last one: unknown components, all
    /// resources, and the ids of objects.
    pub fn clear(&mut self, world: &mut hecs::World) {
        let mut none = World::new();
        for of in &self.types {
            // The mirror took it.
            let _ = (of.know)(&mut none);
        }
        // It has nothing that could be refused.
        let _ = self.place(world, none.into());
    }

    fn place(&mut self, world: &mut hecs::World, loaded: Loaded<World>) -> Result<LoadReport> {
        let is_unknown = |of: &&Saved| loaded.registry().class(&(of.name)()).is_none();
        if let Some(of) = self.types.iter().find(is_unknown) {
            let message = format!(
                "the saves of this slot do not have component {}; make the slot from `WorldSaves::saves`, or from a clone",
                (of.name)()
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
                    .try_for_each(|of| (of.build)(of, *object, copies, &mut builder))?;
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
            // One with unknown components alone is in the mirror.
            let is_mirrored = || self.mirror.ids().object(key).is_some() && self.passes(*entity);
            ids.object(key).is_none() && (self.is_saved(*entity) || is_mirrored())
        };
        let old: Vec<Entity> = world.iter().filter(is_old).map(|old| old.entity()).collect();
        for entity in old {
            // It is there.
            let _ = world.despawn(entity);
        }
        let mut report = loaded.report().clone();
        lost.report_in(&mut report);
        self.mirror = Mirror::new(loaded, ids);
        Ok(report)
    }
}

/// The mirror.
impl WorldSaves {
    /// Copies a world into its mirror, as every save does, and returns that: to inspect it by the methods of [`World`].
    ///
    /// # Errors
    ///
    /// Returns what a component refuses that holds entities: such a one cannot hold shared pointers or trait objects, or
    /// need a context.
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
    ///
    /// A resource refers to an entity by the id of its [object](Self::object), in a field of type [`ObjectId`]: what is put
    /// into the mirror is not translated, and an [`Entity`] there would be that of another object.
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

impl fmt::Debug for WorldSaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorldSaves").field("mirror", &self.mirror).finish_non_exhaustive()
    }
}
