//! [`Prefab`]: an object with its descendants as a value, to be placed into worlds any number of times.

use std::any::TypeId;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::load::{forget, load_part};
use crate::codec::{AsTrait, BoxOf, Buffer, Fail, TraitObject as _, count};
use crate::fields::FieldLinks;
use crate::format::unpacked;
use crate::graph::Registry;
use crate::types::{Remap, UnmappedHandle, WorldObjects};
use crate::world::component::AnyComponent;
use crate::world::stored::{EncodeScope, check_ids, live, save_of};
use crate::world::{Activity, ComponentType, DeferredChange, LAST_ID, Object, ParkedObject, World};
use crate::{ErrorKind, Limits, LoadOptions, ObjectId, Result};

/// An object and its descendants, copied out of a world.
///
/// [`World::prefab`] creates a prefab, and [`World::instantiate`] places copies of it into a world, any number of
/// times. A prefab is independent of the original objects, so it also serves for copy and paste. It can be saved to a
/// file of its own with [`Slot::save`](crate::save::Slot::save).
///
/// If components of the original share an object by pointers, the components of each copy share a new object. Unknown
/// fields of such objects are not copied, as in [`persist::load`](crate::load()).
///
/// # Ids
///
/// Each copy has new ids. Every [`ObjectId`] in its components that refers to an object of the prefab is replaced by
/// the id of the copied object. This includes ids in nested values, keys of maps, sets, the stored values of `with`
/// fields, and components of classes that the program does not have. [`ExternalIds`] decides about ids of objects
/// outside of the prefab.
///
/// **Ids that you store as plain numbers are not replaced**, since they look like any other number. An example is a
/// `u64` from [`ObjectId::get`] in a component, or in the stored value of a `with` module.
///
/// # Example
///
/// ```
/// use persist::world::ExternalIds;
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
/// let copy = world.instantiate(&prefab, ExternalIds::Keep)?;
/// assert_eq!(world.name(copy), Some("Tower1"));
/// let turret = world.get::<Turret>(copy).unwrap();
/// assert_eq!(turret.gun, world.children(copy)[0]);
/// assert_eq!(turret.target, Some(ada));
///
/// let copy = world.instantiate(&prefab, ExternalIds::Clear)?;
/// assert_eq!(world.get::<Turret>(copy).unwrap().target, None);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone)]
pub struct Prefab {
    /// A save of a world that has only these objects, without compressed blocks.
    save: Arc<[u8]>,
    /// The ids of the objects, in ascending order.
    pub(super) ids: Arc<[ObjectId]>,
    pub(super) root: ObjectId,
    /// The types of the components, to register them in a world that does not know them.
    types: Arc<[ComponentType]>,
    limits: Limits,
    options: LoadOptions,
    cache: Arc<PrefabCache>,
}

#[derive(Default)]
struct PrefabCache {
    /// True if a copy was placed. Most prefabs are placed once, or many times.
    is_placed: AtomicBool,
    /// The template of further copies, if they can have one.
    template: OnceLock<Option<Template>>,
}

/// Larger prefabs have no template: it takes memory, and they are loaded about as fast.
const MAX_TEMPLATE: usize = 1024;

/// The old and the new id of an object; [`World::instantiate_level`] returns it for each object of the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InstantiatedObject {
    /// The id of the object in the level.
    pub stored: ObjectId,
    /// The id of its copy in the world.
    pub object: ObjectId,
}

/// How a copy of a [`Prefab`] treats ids of objects outside of the prefab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExternalIds {
    /// Keeps the ids. Use it for a copy in the world that the prefab comes from.
    ///
    /// In another world, the same ids belong to other objects. Ids that the world has never assigned are cleared.
    Keep,
    /// Clears the ids: an `Option<ObjectId>` becomes `None`, and any other id becomes [dead](ObjectId::is_dead).
    ///
    /// Different ids become different dead ids. In components of classes that the program does not have, all cleared
    /// ids become dead. If a map has two keys of type `Option<ObjectId>` that would become `None`, the copy is an
    /// error.
    Clear,
}

impl Prefab {
    /// Returns the number of objects.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.ids.len()
    }

    /// Returns the prefab as the bytes of a save, for a clipboard or an archive of your own.
    ///
    /// [`Saves::from_slice`](crate::Saves::from_slice) loads it again.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.save
    }

    /// Creates the prefab of a save. `world` was loaded from it within these limits.
    pub(super) fn from_save(
        mut world: World,
        save: &[u8],
        limits: &Limits,
        options: LoadOptions,
    ) -> Result<Self> {
        let prefab = Self::describe(&world, save, limits, options);
        // The world was loaded only to inspect it, so its components are dropped without `on_release`.
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
            cache: Arc::default(),
        })
    }

    /// Creates a prefab of these objects, whose ids ascend.
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
            cache: Arc::default(),
        })
    }

    /// Registers the classes of the components.
    pub(super) fn register_in(&self, registry: &mut Registry) -> Result<()> {
        self.types.iter().try_for_each(|of| (of.register)(registry))
    }

    /// Adds a copy of the objects to a world, and returns the first of their ids.
    pub(super) fn place(&self, world: &mut World, external: ExternalIds) -> Result<u64> {
        let old_last = world.last_id;
        let last = old_last + self.ids.len() as u64;
        if last >= LAST_ID {
            bail!(ErrorKind::TooLarge, "the ids of a world are used up");
        }
        for of in &*self.types {
            if !world.by_type.contains_key(&of.id) {
                (of.register)(&mut world.registry)?;
                world.new_column(*of);
            }
        }
        let first = old_last + 1;
        let renumber = |old: ObjectId| {
            let same = (external == ExternalIds::Keep && old.get() <= old_last).then_some(old);
            self.renewed(old, first).or(same)
        };
        let copies = self.template(world).and_then(|template| {
            let renumber = |old| renumber(ObjectId::new(old)?).map(ObjectId::get);
            template.copy(world, (first, &self.types), &renumber).ok()
        });
        let change = match copies {
            Some(copies) => DeferredChange::PlaceCopies(copies),
            // A load has the reason if a copy cannot be decoded.
            None => {
                let mut remap = Remap::new();
                remap.arena::<WorldObjects>(UnmappedHandle::Null, renumber);
                DeferredChange::Place(self.load(world, &mut remap)?)
            }
        };
        // Nothing fails from here on, so the ids are assigned.
        world.last_id = last;
        world.make(change);
        Ok(first)
    }

    fn load(&self, world: &mut World, remap: &mut Remap<'_>) -> Result<Box<World>> {
        load_part(&self.save, &mut world.registry, (&self.limits, self.options), remap)
    }

    /// Returns the template of the copies after the first; `None` if there is none.
    fn template(&self, world: &mut World) -> Option<&Template> {
        let PrefabCache { is_placed, template } = &*self.cache;
        if !is_placed.swap(true, Ordering::Relaxed) || self.ids.len() > MAX_TEMPLATE {
            return None;
        }
        let new = || {
            let mut part = self.load(world, &mut Remap::new()).ok()?;
            let template = Template::new(&part, &self.ids, &self.types, &world.registry);
            forget(&mut part);
            template
        };
        template.get_or_init(new).as_ref()
    }

    /// Returns the id of an object in the copy whose first id is `first`; `None` if it is not in the prefab.
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

/// The objects of a prefab, decoded once. Each copy decodes only the components.
///
/// A load of a save with one object takes 15 times as long as to make that object: it reads the classes, and plans how
/// each is decoded.
struct Template {
    /// The objects, in the order of their ids.
    objects: Vec<TemplateObject>,
    /// The components of all objects in order, each after the index of its type plus 1.
    components: Box<[u8]>,
}

/// An object, which refers to others by their indices.
struct TemplateObject {
    name: Arc<str>,
    parent: Option<usize>,
    children: Vec<usize>,
    activity: Activity,
    is_held: bool,
    /// The types of the components, by their indices among the types of the prefab.
    types: Vec<usize>,
}

impl Template {
    /// Creates the template of the objects of a world, which has only these, and components of these types. Returns
    /// `None` unless the components are plain data of classes that the program has.
    fn new(
        part: &World,
        ids: &[ObjectId],
        types: &[ComponentType],
        registry: &Registry,
    ) -> Option<Self> {
        let class = |of: &ComponentType| registry.class_of_type(of.id);
        // They have no references, no hooks, and no values of classes that only their bytes name.
        let is_plain = |class| registry.traits(class) == Default::default();
        if part.has_unknown || !types.iter().all(|of| class(of).is_some_and(is_plain)) {
            return None;
        }
        let index = |id: &ObjectId| ids.binary_search(id).ok();
        let (mut objects, mut values) = (Vec::with_capacity(ids.len()), Vec::new());
        for id in ids {
            let location = part.directory.location(*id)?;
            let object = part.objects.get(location)?;
            let mut of_object = Vec::new();
            for column in part.shapes.columns(object.shape) {
                let entry = part.columns.get(*column)?;
                let of = types.iter().position(|of| of.id == entry.of.id)?;
                values.push((of as u64 + 1, entry.column.get(location)?.portable()));
                of_object.push(of);
            }
            objects.push(TemplateObject {
                name: object.name.map_or_else(Arc::default, |name| part.names.text(name).into()),
                parent: object.parent.as_ref().and_then(index),
                children: object.children().iter().filter_map(index).collect(),
                activity: object.activity,
                is_held: object.is_held,
                types: of_object,
            });
        }
        let (mut links, mut buffer) = (FieldLinks::of_snapshot(registry), Buffer::new());
        let encoded = buffer.encode_with(&registry.env(), &mut links, |out| {
            values.iter().try_for_each(|(number, value)| {
                count::encode(*number, out)?;
                value.count_box(out);
                value.encode(out)
            })
        });
        Some(Self { objects, components: encoded.ok()?.into() })
    }

    /// Creates a copy of the objects, with consecutive ids from the first one on, and returns each with its name. All
    /// types are registered in the world. `renumber` returns the new id of each id in a component; `None` clears it.
    fn copy(
        &self,
        world: &mut World,
        (first, types): (u64, &[ComponentType]),
        renumber: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<Vec<(ParkedObject, Arc<str>)>> {
        let columns: Vec<usize> = types.iter().map(|of| world.new_column(*of)).collect();
        let World { registry, shapes, .. } = world;
        let of = TypeId::of::<dyn AnyComponent>();
        let numbers: Vec<_> = types.iter().map(|it| registry.implementor(it.id, of)).collect();
        let id = |index: usize| ObjectId::new(first + index as u64);
        let mut links = FieldLinks::of_snapshot(registry);
        (links.numbers, links.renumber) = (Some(&numbers[..]), Some(renumber));
        links.decode(&self.components, |input| {
            let mut copies = Vec::with_capacity(self.objects.len());
            for (index, found) in self.objects.iter().enumerate() {
                let mut object = Object::new(None);
                object.parent = found.parent.and_then(id);
                if !found.children.is_empty() {
                    let children = found.children.iter().filter_map(|child| id(*child));
                    object.children_mut().list_mut().extend(children);
                }
                (object.activity, object.is_held) = (found.activity, found.is_held);
                let mut components = Vec::with_capacity(found.types.len());
                for of in &found.types {
                    let component = <AsTrait as BoxOf<dyn AnyComponent>>::decode(input)?;
                    components.push((columns[*of], component));
                    object.shape = shapes.with(object.shape, columns[*of]);
                }
                let id = id(index).ok_or(Fail::Value)?;
                copies.push((ParkedObject { id, object, components }, found.name.clone()));
            }
            Ok(copies)
        })
    }
}
