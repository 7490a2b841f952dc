//! Parts of a world as values, put into worlds as often as wanted.

use std::fmt;
use std::sync::Arc;

use super::World;
use super::load::{forget, load_part};
use super::stored::{EncodeScope, check_ids, live, save_of};
use super::world::{ComponentType, DeferredChange, LAST_ID};
use crate::format::unpacked;
use crate::graph::Registry;
use crate::types::{Missing, Remap, WorldObjects};
use crate::{ErrorKind, Limits, LoadOptions, ObjectId, Result};

/// An object and all below it, copied out of a world: [`World::prefab`] makes one, and
/// [`World::instantiate`] puts it into a world, any number of times.
///
/// It is a copy, and stays as it is when its objects change or go; so it serves for copy and paste too. It can be
/// saved to a file of its own: [`Slot::save`](crate::save::Slot::save). An object that
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
    pub(super) ids: Arc<[ObjectId]>,
    pub(super) root: ObjectId,
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
    /// [`Saves::from_slice`](crate::Saves::from_slice) reads it.
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
        forget(&mut world);
        prefab
    }

    fn describe(world: &World, save: &[u8], limits: &Limits, options: LoadOptions) -> Result<Self> {
        let used = || world.columns.iter().filter(|entry| entry.column.pages() > 0);
        used().try_for_each(|entry| check_ids(&entry.of))?;
        let mut roots = world.roots();
        let (Some(root), None) = (roots.next(), roots.next()) else {
            let count = world.roots().count();
            bail!(
                ErrorKind::InvalidValue,
                "the save has {count} objects at the top where a prefab has 1; put them below one object"
            );
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

    /// A copy of objects, in ascending order.
    pub(super) fn copy_of(world: &World, root: ObjectId, ids: Vec<ObjectId>) -> Result<Self> {
        let mut is_used = vec![false; world.columns.len()];
        for id in &ids {
            world.shape_of(*id).iter().for_each(|column| is_used[*column] = true);
        }
        let used = world.columns.iter().zip(is_used).filter(|(_, is_used)| *is_used);
        Ok(Self {
            save: save_of(world, &live(world, &ids), EncodeScope::Copy)?.into(),
            root,
            types: used.map(|(entry, _)| entry.of).collect(),
            ids: ids.into(),
            limits: Limits::DEFAULT,
            options: LoadOptions::default(),
        })
    }

    /// Registers the classes of its components.
    pub(crate) fn register_in(&self, registry: &mut Registry) -> Result<()> {
        self.types.iter().try_for_each(|of| (of.register)(registry))
    }

    /// Puts a copy of the objects of a prefab in, and returns the number of the first of their ids.
    pub(super) fn place(&self, world: &mut World, outside: Outside) -> Result<u64> {
        let before = world.last_id;
        let last = before + self.ids.len() as u64;
        if last >= LAST_ID {
            bail!(ErrorKind::TooLarge, "the ids of a world are used up");
        }
        for of in &*self.types {
            if !world.by_type.contains_key(&of.id) {
                (of.register)(&mut world.registry)?;
                world.new_column(*of);
            }
        }
        let mut remap = Remap::new();
        remap.arena::<WorldObjects>(Missing::Null, |old| {
            let kept = Some(old).filter(|old| outside == Outside::Keep && old.get() <= before);
            self.renewed(old, before + 1).or(kept)
        });
        let objects = {
            let part = load_part(
                &self.save,
                &mut world.registry,
                (&self.limits, self.options),
                &mut remap,
            )?;
            world.take_apart(part)
        };
        // From here on nothing fails.
        world.last_id = last;
        world.make(DeferredChange::Place(objects));
        Ok(before + 1)
    }

    /// The id that an object has in a copy whose first one is this.
    pub(super) fn renewed(&self, old: ObjectId, first: u64) -> Option<ObjectId> {
        let at = self.ids.binary_search(&old).ok()?;
        ObjectId::new(first + at as u64)
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
