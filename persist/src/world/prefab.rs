//! Parts of a world as values, put into worlds as often as wanted.

use std::fmt;
use std::sync::Arc;

use super::World;
use super::any_component::ComponentType;
use super::commands::Command;
use super::parked::ParkedObject;
use super::stored::{Content, Objects, Source, StoredWorld};
use super::world::LAST_ID;
use crate::codec::Buffer;
use crate::env::{Env, shared};
use crate::format::{Compression, Header, Sealer, unpacked};
use crate::graph::{Loader, Registry, SaveTables, Saver};
use crate::types::{Missing, Remap, WorldObjects};
use crate::{Error, ErrorKind, Limits, LoadOptions, ObjectId, Result};

/// An object and all below it, copied out of a world: [`World::prefab`] makes one, and
/// [`World::instantiate`] puts it into a world, any number of times.
///
/// It is a copy, and stays as it is when its objects change or go; so it serves for copy and paste too. It can be
/// saved to a file of its own by [`save`](Self::save). An object that
/// components share by pointers is one object of each copy, shared by those in it alone. Fields of such objects that the
/// program does not have are not copied, as in [`persist::load`](crate::load()).
///
/// # Ids
///
/// Each copy has new ids, and every [`ObjectId`] in its components that is one of the prefab's objects becomes
/// that of the copy's: in nested values, keys of maps, sets and the stored form of `with` fields alike,
/// also in components of classes that the program does not have. What becomes of those that lead out of the prefab, [`Outside`]
/// says.
///
/// **Ids that you keep as plain numbers are not found**, since they cannot be told from numbers: a `u64` from
/// [`ObjectId::get`] in a component, or in what a `with` module writes, stays what it was.
///
/// # Example
///
/// ```
/// use persist::world::Outside;
/// use persist::{Component, ObjectId, Persist, World};
///
/// #[derive(Persist)]
/// struct Turret { gun: ObjectId, target: Option<ObjectId> }
///
/// impl Component for Turret {}
///
/// let mut world = World::new();
/// let ada = world.spawn("Ada");
/// let tower = world.spawn("Tower");
/// let gun = world.spawn_in(tower, "Gun")?;
/// world.attach(tower, Turret { gun, target: Some(ada) })?;
///
/// let prefab = world.prefab(tower)?;
/// let copy = world.instantiate(&prefab, Outside::Keep)?;
/// assert_eq!(world.name(copy), Some("Tower1"));
/// let turret = world.get::<Turret>(copy).unwrap();
/// assert_eq!(turret.gun, world.children(copy)[0]);
/// assert_eq!(turret.target, Some(ada));
///
/// let copy = world.instantiate(&prefab, Outside::Clear)?;
/// assert_eq!(world.get::<Turret>(copy).unwrap().target, None);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone)]
pub struct Prefab {
    /// A whole save of a world that has only these objects, without compressed blocks.
    save: Arc<[u8]>,
    /// In ascending order.
    ids: Arc<[ObjectId]>,
    root: ObjectId,
    /// Of the components that the program knows, for worlds that do not yet.
    types: Arc<[ComponentType]>,
    limits: Limits,
    options: LoadOptions,
}

/// What became of an object of a level that was [put into a world](World::instantiate_level).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placed {
    /// Its id in the level.
    pub stored: ObjectId,
    /// The id of its copy.
    pub object: ObjectId,
}

/// What becomes of ids in a [`Prefab`] that lead to objects outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outside {
    /// They stay, for a copy in the world from which the prefab comes. In another world the same ids are those of
    /// other objects; ids that it has never given are cleared.
    Keep,
    /// They are cleared: an `Option` of an id is `None`; an id that is not in one is [dead](ObjectId::is_dead), and
    /// as different from others as it was. In components of classes that the program does not have, all are dead.
    ///
    /// Keys of a map that are an `Option` of an id all would be `None`: two of them are an error.
    Clear,
}

impl Prefab {
    /// How many objects it has.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.ids.len()
    }

    /// The prefab as a whole save, for a clipboard or an archive of your own;
    /// [`from_slice`](Self::from_slice) reads it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.save
    }

    /// The prefab that a save holds; `world` was loaded from it within these limits.
    pub(crate) fn of(
        mut world: World,
        save: &[u8],
        limits: &Limits,
        options: LoadOptions,
    ) -> Result<Self> {
        let prefab = Self::describe(&world, save, limits, options);
        // It was loaded to be looked at: nothing of it is released.
        world.forget();
        prefab
    }

    fn describe(world: &World, save: &[u8], limits: &Limits, options: LoadOptions) -> Result<Self> {
        let used = || world.columns.iter().filter(|entry| entry.column.pages() > 0);
        used().try_for_each(|entry| check_ids(&entry.of))?;
        let mut roots = world.roots();
        let (Some(root), None) = (roots.next(), roots.next()) else {
            let count = world.roots().count();
            return Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "the save has {count} objects at the top where a prefab has 1; put them below one object"
                ),
            ));
        };
        drop(roots);
        Ok(Self {
            save: unpacked(save, limits, |save| Ok(save.bytes.into()))?,
            ids: world.objects().collect(),
            root,
            types: used().map(|entry| entry.of).collect(),
            limits: *limits,
            options,
        })
    }

    /// The id that an object has in a copy whose first one is this.
    fn renewed(&self, old: ObjectId, first: u64) -> Option<ObjectId> {
        let at = self.ids.binary_search(&old).ok()?;
        ObjectId::new(first + at as u64)
    }
}

impl World {
    /// Copies an object and all below it into a [`Prefab`]. Resources, and what is above the object, are not in it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there; [`ErrorKind::Borrowed`] while a method of one of its components runs;
    /// what a component refuses, as when it is saved.
    pub fn prefab(&self, object: ObjectId) -> Result<Prefab> {
        self.check(object)?;
        let mut ids = self.subtree(object);
        ids.sort_unstable();
        self.copy_of(object, ids)
    }

    /// A copy of objects, in ascending order.
    fn copy_of(&self, root: ObjectId, ids: Vec<ObjectId>) -> Result<Prefab> {
        let mut is_used = vec![false; self.columns.len()];
        for id in &ids {
            self.shape_of(*id).iter().for_each(|column| is_used[*column] = true);
        }
        let used = self.columns.iter().zip(is_used).filter(|(_, is_used)| *is_used);
        Ok(Prefab {
            save: self.encode_part(&live(&ids), Content::Copy)?.into(),
            root,
            types: used.map(|(entry, _)| entry.of).collect(),
            ids: ids.into(),
            limits: Limits::DEFAULT,
            options: LoadOptions::default(),
        })
    }

    /// A save of objects of the world, in ascending order, or of the whole world.
    pub(super) fn encode_part(
        &self,
        objects: &[(ObjectId, Source<'_>)],
        content: Content,
    ) -> Result<Vec<u8>> {
        let shape = |(id, source): &(ObjectId, Source<'_>)| match source {
            Source::Live => self.shape_of(*id),
            Source::Parked(parked) => self.shapes.share(parked.object.shape),
        };
        let mut columns: Vec<usize> =
            objects.iter().flat_map(|object| shape(object).to_vec()).collect();
        columns.sort_unstable();
        columns.dedup();
        columns.iter().try_for_each(|column| check_ids(&self.columns[*column].of))?;
        let mut registry = self.registry.clone();
        let class = registry.register_value::<StoredWorld>()?;
        if registry.traits(class).before_save {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a component class has a `before_save` hook, which needs `&mut`; do in the component's methods what it does",
            ));
        }
        let mut save = Vec::new();
        let env = registry.env();
        let mut encode = |out: &mut crate::codec::Encoder<'_>| {
            self.encode_objects(Objects::These(objects), content, out)
        };
        Saver::new(&registry, &env, 1, &mut SaveTables::default()).save_root(
            class,
            &mut encode,
            |_| String::new(),
            &mut Sealer::new(&mut save, Compression::None, &env.limits),
            &Header::default(),
            &mut Buffer::new(),
        )?;
        Ok(save)
    }

    /// Puts a copy of a prefab into the world, and returns the object at its top, which is below none:
    /// [`set_parent`](Self::set_parent) puts it below another one.
    ///
    /// New ids ascend in the order of those that the objects had, so that copies are updated in that order. A name stays if it
    /// is free; else the copy gets the name without its number, with the lowest free one. All components count as
    /// not started: [`on_start`](crate::Component::on_start) runs for each copy. Objects are paused, or have expired, as they were.
    ///
    /// Component classes that the world does not know become known to it; implementors of traits whose trait
    /// objects components hold must be [registered](Registry::register_as).
    ///
    /// While a component's method runs, the objects are there from the end of the phase on; components may be attached
    /// to the one at the top, and it may be put below another one, before that.
    ///
    /// # Errors
    ///
    /// What a component refuses when it is loaded; [`ErrorKind::DuplicateId`] if the world has another class of the id of one in
    /// the prefab; [`ErrorKind::TooLarge`] if all of 2⁶² ids have been given. The world then is as it was, but for classes
    /// that it knows.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::world::{Outside, Prefab};
    /// use persist::{Component, Context, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Gun;
    ///
    /// /// What the gun shoots; no part of a save.
    /// #[derive(Persist, Default)]
    /// struct Ammunition {
    ///     #[persist(skip)]
    ///     bullet: Option<Prefab>,
    /// }
    ///
    /// impl Component for Gun {
    ///     fn on_update(&mut self, context: &mut Context<'_>) {
    ///         let ammunition = context.world.resource::<Ammunition>();
    ///         let bullet = ammunition.and_then(|ammunition| ammunition.bullet.clone());
    ///         if let Some(bullet) = bullet {
    ///             context.world.instantiate(&bullet, Outside::Clear).expect("it was made here");
    ///         }
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// let bullet = world.spawn("Bullet");
    /// world.insert_resource(Ammunition { bullet: Some(world.prefab(bullet)?) })?;
    /// world.remove(bullet);
    /// let gun = world.spawn("Gun");
    /// world.attach(gun, Gun)?;
    /// world.update(0.1);
    /// world.update(0.1);
    /// assert!(world.find("Bullet").is_some() && world.find("Bullet1").is_some());
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn instantiate(&mut self, prefab: &Prefab, outside: Outside) -> Result<ObjectId> {
        self.flush();
        let first = self.place(prefab, outside)?;
        let root = prefab.renewed(prefab.root, first);
        root.ok_or_else(|| {
            Error::new(ErrorKind::InvalidValue, "the prefab has no object at its top")
        })
    }

    /// Puts a copy of all objects of another world into this one, such as of a level that was loaded on another thread.
    /// Returns what became of each, in the order of the level.
    ///
    /// Ids, names and components are as [`instantiate`](Self::instantiate) says: new ids ascend in the order of the old
    /// ones, and every id in a component that is one of the level's objects becomes that of its copy. Other ids are
    /// [cleared](Outside::Clear). The tree stays as it is; objects at the top of the level are at the top of this world.
    /// The level's resources are not copied.
    ///
    /// # Errors
    ///
    /// Those of [`prefab`](Self::prefab) and [`instantiate`](Self::instantiate). The world then is as it was, but for
    /// classes that it knows.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, ObjectId, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Door { key: ObjectId }
    ///
    /// impl Component for Door {}
    ///
    /// let mut level = World::new();
    /// let key = level.spawn("Key");
    /// let door = level.spawn_with("Door", (Door { key },))?;
    ///
    /// let mut world = World::new();
    /// world.spawn("Key");
    /// let placed = world.instantiate_level(&level)?;
    /// assert_eq!(placed.iter().map(|placed| placed.stored).collect::<Vec<_>>(), [key, door]);
    /// let [key, door] = [placed[0].object, placed[1].object];
    /// assert_eq!(world.name(key), Some("Key1"));
    /// assert_eq!(world.get::<Door>(door).map(|door| door.key), Some(key));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn instantiate_level(&mut self, level: &World) -> Result<Vec<Placed>> {
        self.flush();
        let stored: Vec<ObjectId> = level.objects().collect();
        let Some(root) = stored.first() else { return Ok(Vec::new()) };
        let copy = level.copy_of(*root, stored)?;
        let first = self.place(&copy, Outside::Clear)?;
        let placed = |stored: &ObjectId| {
            Some(Placed { stored: *stored, object: copy.renewed(*stored, first)? })
        };
        Ok(copy.ids.iter().filter_map(placed).collect())
    }

    /// Puts a copy of the objects of a prefab in, and returns the number of the first of their ids.
    fn place(&mut self, prefab: &Prefab, outside: Outside) -> Result<u64> {
        let before = self.last_id;
        let last = before + prefab.ids.len() as u64;
        if last >= LAST_ID {
            return Err(Error::new(ErrorKind::TooLarge, "the ids of a world are used up"));
        }
        for of in &*prefab.types {
            if !self.by_type.contains_key(&of.id) {
                (of.register)(&mut self.registry)?;
                self.new_column(*of);
            }
        }
        let mut remap = Remap::new();
        remap.arena::<WorldObjects>(Missing::Null, |old| {
            let kept = Some(old).filter(|old| outside == Outside::Keep && old.get() <= before);
            prefab.renewed(old, before + 1).or(kept)
        });
        let objects = {
            let part = load_part(
                &prefab.save,
                &mut self.registry,
                (&prefab.limits, prefab.options),
                &mut remap,
            )?;
            self.take_apart(part)
        };
        // From here on nothing fails.
        self.last_id = last;
        if self.is_running() {
            self.commands.push_back(Command::Place(objects));
        } else {
            self.place_now(objects);
        }
        Ok(before + 1)
    }

    /// The objects of another world, with their components in the columns of this one.
    pub(super) fn take_apart(&mut self, mut part: World) -> Vec<ParkedObject> {
        let columns: Vec<usize> =
            part.columns.iter().map(|entry| self.new_column(entry.of)).collect();
        let ids: Vec<ObjectId> = part.objects().collect();
        let mut objects = Vec::with_capacity(ids.len());
        for id in ids {
            let shape = part.shape_of(id);
            let Some(place) = part.directory.place(id) else { continue };
            let Some(mut object) = part.objects.remove(place) else { continue };
            let components = shape.iter().filter_map(|column| {
                Some((columns[*column], part.columns[*column].column.remove(place)?))
            });
            let components: Vec<_> = components.collect();
            let shape: Vec<usize> = components.iter().map(|(column, _)| *column).collect();
            object.shape = self.shapes.of(&shape);
            let name = object.name.map(|name| self.names.hold(&part.names.text(name)));
            object.set_name(name);
            objects.push(ParkedObject { id, object, components });
        }
        objects
    }

    /// Puts objects of a prefab in, under free names.
    pub(super) fn place_now(&mut self, objects: Vec<ParkedObject>) {
        for mut found in objects {
            found.object.started = 0;
            found.object.unknown_mut().iter_mut().for_each(|kept| kept.is_started = false);
            if let Some(wanted) = found.object.name {
                let text = self.names.text(wanted);
                let name = self.names.hold_for_copy(&text);
                self.names.drop(wanted);
                self.names.give(name, found.id);
                found.object.set_name(Some(name));
            }
            self.has_unknown |= !found.object.unknown().is_empty();
            self.put_in(found);
        }
    }
}

impl fmt::Debug for Prefab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.types.iter().map(|of| (of.name)());
        f.debug_struct("Prefab")
            .field("objects", &self.ids.len())
            .field("components", &types.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Loads a save of objects of a world.
pub(super) fn load_part(
    save: &[u8],
    registry: &mut Registry,
    options: (&Limits, LoadOptions),
    remap: &mut Remap<'_>,
) -> Result<World> {
    let class = registry.register_value::<StoredWorld>()?;
    let (limits, options) = options;
    let registry = &*registry;
    let env = Env::new(limits, shared(&registry.context));
    let found = unpacked(save, limits, |save| {
        let loader = Loader::new(registry, (&env, options), save, Some(remap), Some(class))?;
        loader.without_kept().load_value::<World>(class)
    });
    found.map(|(world, ..)| world)
}

/// Objects that are there.
pub(super) fn live(ids: &[ObjectId]) -> Vec<(ObjectId, Source<'static>)> {
    ids.iter().map(|id| (*id, Source::Live)).collect()
}

/// Ids of a world inside would be taken for those of this one.
fn check_ids(of: &ComponentType) -> Result<()> {
    if !(of.holds_world)() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        "the component class holds a world of its own, whose ids cannot be told from those of the world around it; keep that world beside this one",
    )
    .in_class((of.name)()))
}
