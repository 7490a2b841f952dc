//! Saves Bevy's own components: names, the hierarchy, `Disabled`, and transforms.

use std::any::{TypeId, type_name};

use bevy_ecs::change_detection::DetectChanges;
use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::hierarchy::{ChildOf, Children};
use bevy_ecs::name::Name;
use bevy_ecs::world::{Ref, World};
use persist::{ObjectId, Persist, Result, Saves};
use persist_mirror::{As, Copies, Mirror, Target};

use crate::entity::{entity, key};
use crate::types::{Apply, IsSaved, Since, Type, changed};

/// Returns the built-in types, which every save has.
pub(crate) fn types() -> Vec<Type> {
    vec![
        Type {
            copy: copy_names,
            record: |world, mirror, since| copy_names(world, mirror, since),
            ..Type::component::<Name, As<StoredName>>()
        },
        Type::component::<Disabled, As<StoredDisabled>>(),
        parent_not_saved(),
        #[cfg(feature = "transform")]
        Type::component::<bevy_transform::components::Transform, As<transform::Stored>>(),
    ]
}

/// The stored form of a [`Name`].
#[derive(Persist, Clone)]
#[persist(component, class = "Name")]
pub(crate) struct StoredName(String);

impl From<&Name> for StoredName {
    fn from(name: &Name) -> Self {
        Self(name.as_str().to_owned())
    }
}

impl From<StoredName> for Name {
    fn from(stored: StoredName) -> Self {
        Self::new(stored.0)
    }
}

/// Copies names, both as components and as the names of the objects, by which tools find them.
fn copy_names<W: Target>(world: &mut World, mirror: &mut Mirror<W>, since: &Since) -> Result<()> {
    let is_new = |entity| since.is_new(mirror, entity);
    let (changed, count, world) = changed::<Name>(world, since, false, is_new);
    let changed = changed.into_iter().map(|(entity, name, _)| (key(entity), name));
    let changed: Vec<_> = changed.collect();
    mirror.copy::<Name, As<StoredName>>(changed.iter().copied())?;
    let mut duplicates = Vec::new();
    for (entity, name) in changed {
        let Some(object) = mirror.ids().object(entity) else { continue };
        let world = mirror.target().world();
        if world.name(object).unwrap_or_default() == name.as_str() {
            continue;
        }
        match world.find(name) {
            None => mirror.target().share_name(object, name)?,
            Some(_) => duplicates.push((object, name)),
        }
    }
    // The object that has the name may be about to lose it: two entities may have swapped names.
    for (object, _) in &duplicates {
        mirror.target().share_name(*object, "")?;
    }
    for (object, name) in duplicates {
        mirror.target().share_name(object, name)?;
    }
    let mut nameless = Vec::new();
    mirror.sweep::<StoredName>(count, |key| {
        let has = world.get::<Name>(entity(key)).is_some();
        if !has {
            nameless.push(key);
        }
        has
    })?;
    for object in
        nameless.iter().filter_map(|entity| mirror.ids().object(*entity)).collect::<Vec<_>>()
    {
        mirror.target().share_name(object, "")?;
    }
    Ok(())
}

/// The stored form of [`Disabled`].
#[derive(Persist, Clone)]
#[persist(component, class = "Disabled")]
pub(crate) struct StoredDisabled;

impl From<&Disabled> for StoredDisabled {
    fn from(_: &Disabled) -> Self {
        Self
    }
}

impl From<StoredDisabled> for Disabled {
    fn from(_: StoredDisabled) -> Self {
        Self
    }
}

/// Marks an object whose entity has a parent that is not saved, so that the load can report it.
#[derive(Persist, Clone)]
#[persist(component, class = "ParentNotSaved")]
struct ParentNotSaved;

fn parent_not_saved() -> Type {
    const DETAIL: &str = "left out, since the parent is not saved";
    Type {
        id: TypeId::of::<ParentNotSaved>(),
        name: type_name::<ParentNotSaved>(),
        class: ParentNotSaved::persist_name,
        register: Saves::register_component::<ParentNotSaved>,
        know: persist::World::register_component::<ParentNotSaved>,
        // `copy_tree` copies these markers.
        copy: |_, _, _| Ok(()),
        record: |_, _, _| Ok(()),
        restore: |copies, _, _| {
            let marked: Vec<ObjectId> = marked(copies.world()).collect();
            marked
                .into_iter()
                .for_each(|object| copies.lost().add("ChildOf", DETAIL, Some(object)));
            Ok(Box::new(|_| ()))
        },
        touched: |_, _| (0, Some(Vec::new())),
        lost: |world, lost| {
            marked(world).for_each(|object| lost.add("ChildOf", DETAIL, Some(object)));
        },
        enter: |_, _| Ok(()),
        lacks: |_, _| false,
        initial: |_| None,
        is_resource: false,
        is_edited: true,
    }
}

fn marked(world: &persist::World) -> impl Iterator<Item = ObjectId> {
    world.query::<(ObjectId, &ParentNotSaved)>().map(|(object, _)| object)
}

#[cfg(feature = "transform")]
mod transform {
    use bevy_transform::components::Transform;
    use persist::Persist;

    /// The stored form of a [`Transform`].
    #[derive(Persist, Clone)]
    #[persist(component, class = "Transform")]
    pub(crate) struct Stored {
        translation: [f32; 3],
        rotation: [f32; 4],
        scale: [f32; 3],
    }

    impl From<&Transform> for Stored {
        fn from(transform: &Transform) -> Self {
            Self {
                translation: transform.translation.to_array(),
                rotation: transform.rotation.to_array(),
                scale: transform.scale.to_array(),
            }
        }
    }

    impl From<Stored> for Transform {
        fn from(Stored { translation, rotation, scale }: Stored) -> Self {
            let mut transform = Self::from_translation(translation.into());
            // The quaternion is not normalized, so that equal worlds have equal saves, bit for bit.
            let place = &mut transform.rotation;
            [place.x, place.y, place.z, place.w] = rotation;
            transform.scale = scale.into();
            transform
        }
    }
}

/// Copies the parents of entities and the order of their children; returns whether any entity has a parent.
pub(crate) fn copy_tree<W: Target>(
    world: &mut World,
    mirror: &mut Mirror<W>,
    since: &Since,
    had_tree: bool,
) -> Result<bool> {
    // An old entity may have a parent that is new in the mirror, although its `ChildOf` is unchanged.
    let is_any_new = since.first_new.is_some();
    let (mut below, mut orphans) = (0, Vec::new());
    let mut children = world.query_filtered::<(Entity, Ref<'_, ChildOf>), IsSaved>();
    for (child, parent) in children.iter(world) {
        let Some(object) = mirror.ids().object(key(child)) else { continue };
        let changed = is_any_new || since.is_changed(parent.last_changed());
        let parent = mirror.ids().object(key(parent.parent()));
        match parent {
            Some(_) => below += 1,
            None => orphans.push(object),
        }
        if changed && mirror.world().parent(object) != parent {
            mirror.target().set_parent_at(object, parent, usize::MAX)?;
        }
    }
    orphans.sort_unstable();
    let is_found = |object: &ObjectId| orphans.binary_search(object).is_err();
    for found in marked(mirror.world()).filter(is_found).collect::<Vec<_>>() {
        mirror.target().detach::<ParentNotSaved>(found)?;
    }
    for orphan in orphans {
        if mirror.world().get::<ParentNotSaved>(orphan).is_none() {
            mirror.target().put(orphan, ParentNotSaved)?;
        }
    }
    let has_parent = |object: &ObjectId| mirror.world().parent(*object).is_some();
    if had_tree && mirror.world().objects().filter(has_parent).count() != below {
        let is_lost = |object: &ObjectId| {
            let child =
                mirror.ids().entity(*object).and_then(|child| world.get::<ChildOf>(entity(child)));
            child.and_then(|child| mirror.ids().object(key(child.parent()))).is_none()
        };
        let lost: Vec<ObjectId> =
            mirror.world().objects().filter(has_parent).filter(is_lost).collect();
        for object in lost {
            mirror.target().set_parent_at(object, None, usize::MAX)?;
        }
    }
    let mut parents = world.query_filtered::<(Entity, Ref<'_, Children>), IsSaved>();
    for (parent, children) in parents.iter(world) {
        if is_any_new || since.is_changed(children.last_changed()) {
            let Some(parent) = mirror.ids().object(key(parent)) else { continue };
            let saved = children.iter().filter_map(|child| mirror.ids().object(key(*child)));
            for (index, child) in saved.collect::<Vec<_>>().into_iter().enumerate() {
                if mirror.world().children(parent).get(index) != Some(&child) {
                    mirror.target().set_parent_at(child, Some(parent), index)?;
                }
            }
        }
    }
    Ok(below > 0)
}

/// Restores the parents of entities, and the order of their children. With a world, restores only what differs there.
pub(crate) fn restore_tree(
    copies: &Copies<'_>,
    objects: &[(ObjectId, Entity)],
    world: Option<&World>,
) -> Apply {
    let saved: EntityHashSet = objects.iter().map(|(_, entity)| *entity).collect();
    let entity_of = |object: &ObjectId| {
        let found = objects.binary_search_by_key(object, |(object, _)| *object).ok()?;
        Some(objects[found].1)
    };
    let (mut below, mut roots) = (Vec::new(), Vec::new());
    for (object, entity) in objects {
        if copies.world().parent(*object).is_none() {
            roots.push(*entity);
        }
        let children: Vec<Entity> =
            copies.world().children(*object).iter().filter_map(entity_of).collect();
        let old = world.and_then(|world| world.get::<Children>(*entity));
        let old = old.iter().flat_map(|old| old.iter()).copied().filter(|old| saved.contains(old));
        if world.is_none() || !old.eq(children.iter().copied()) {
            below.extend(children.into_iter().map(|child| (child, ChildOf(*entity))));
        }
    }
    Box::new(move |world: &mut World| {
        for root in roots {
            // A parent that is not saved stays: the object of its child is a root in the save as well.
            if world.get::<ChildOf>(root).is_some_and(|above| saved.contains(&above.parent())) {
                world.entity_mut(root).remove::<ChildOf>();
            }
        }
        for (child, parent) in below {
            world.entity_mut(child).insert(parent);
        }
    })
}
