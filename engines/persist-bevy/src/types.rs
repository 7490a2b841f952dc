//! Registered types, and how their components and resources are copied, restored and compared.

use std::any::{TypeId, type_name};

use bevy_ecs::change_detection::{ContiguousRef, DetectChanges, Ref, Tick};
use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityMapper};
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::query::{Or, With, Without};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use persist::codec::Pointee;
use persist::{ObjectId, Persist, Result, Saves};
use persist_mirror::{Copies, Form, Lost, Mirror, Recorded, Target};

use crate::Saved;
use crate::entity::{entity, is_lost, key};
use crate::filter::Filter;

/// A query filter for the entities that are saved, including disabled ones.
///
/// With `Allow<Disabled>`, Bevy does not iterate over whole tables.
pub(crate) type IsSaved = (With<Saved>, Or<(With<Disabled>, Without<Disabled>)>);

/// The changes that a copy of the world into the mirror must copy, by ticks and objects.
#[derive(Clone, Copy)]
pub(crate) struct Since {
    /// The tick of the last copy; `None` if there was none, or if everything must be copied.
    pub(crate) last: Option<Tick>,
    pub(crate) now: Tick,
    /// The first object that this copy has spawned, if it has spawned any.
    pub(crate) first_new: Option<ObjectId>,
    /// Whether all components with references must be copied, even unchanged ones.
    ///
    /// This is so if an entity that existed before is new in the mirror, or if an object was removed.
    pub(crate) renews_references: bool,
}

impl Since {
    /// Returns whether a change at a tick must be copied.
    ///
    /// The last copy is newer than the age at which Bevy clamps ticks, so the ages can be compared.
    #[inline]
    pub(crate) fn is_changed(&self, tick: Tick) -> bool {
        let age = |tick: Tick| self.now.get().wrapping_sub(tick.get());
        self.last.is_none_or(|last| age(tick) < age(last))
    }

    /// Returns whether an entity is new in the mirror, so that all its components must be copied.
    pub(crate) fn is_new<W: Target>(&self, mirror: &Mirror<W>, entity: Entity) -> bool {
        self.first_new.is_some_and(|first| mirror.ids().object(key(entity)) >= Some(first))
    }
}

/// A function that inserts restored components or resources into the world.
pub(crate) type Apply = Box<dyn FnOnce(&mut World)>;

/// The value of a registered resource before a level was opened.
pub(crate) struct Initial {
    has: fn(&World) -> bool,
    insert: Box<dyn Fn(&mut World) + Send>,
    /// The states of the history at which edits removed the resource (true) or inserted it again (false).
    removals: Vec<(u64, bool)>,
}

impl Initial {
    /// Records whether the world has the resource after the edit that produced a state, which is the newest one.
    pub(crate) fn note(&mut self, world: &World, state: u64) {
        let is_removed = !(self.has)(world);
        if self.is_removed(state) != is_removed {
            self.removals.push((state, is_removed));
        }
    }

    /// Inserts the initial value if the world lacks the resource, unless an edit has removed it.
    pub(crate) fn restore(&self, world: &mut World, state: u64) {
        if !(self.has)(world) && !self.is_removed(state) {
            (self.insert)(world);
        }
    }

    fn is_removed(&self, state: u64) -> bool {
        let noted = self.removals.partition_point(|(since, _)| *since <= state);
        self.removals[..noted].last().is_some_and(|(_, is_removed)| *is_removed)
    }
}

/// A function that copies a type out of the mirror, for these objects and their entities.
///
/// With a world, it copies only the components and resources that differ from the world's.
type Restore = fn(&mut Copies<'_>, &[(ObjectId, Entity)], Option<&World>) -> Result<Apply>;

/// The registered types and filters of an app.
#[derive(Clone, Default)]
pub(crate) struct Types {
    pub(crate) all: Vec<Type>,
    pub(crate) filters: Vec<Filter>,
    /// The component types that are deliberately not saved.
    pub(crate) ignored: Vec<TypeId>,
}

impl Types {
    /// Returns whether a type is registered or ignored.
    pub(crate) fn knows(&self, id: TypeId) -> bool {
        self.all.iter().any(|ty| ty.id == id) || self.ignored.contains(&id)
    }
}

/// A registered type of components or resources.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    /// The name of the class in saves.
    pub(crate) class: fn() -> String,
    pub(crate) register: fn(&Saves) -> Result<()>,
    pub(crate) know: fn(&mut persist::World) -> Result<()>,
    /// Copies changes into the mirror.
    pub(crate) copy: fn(&mut World, &mut Mirror, &Since) -> Result<()>,
    /// Copies changes into an edit of the mirror.
    pub(crate) record: fn(&mut World, &mut Mirror<Recorded<'_, '_>>, &Since) -> Result<()>,
    pub(crate) restore: Restore,
    /// Counts the components, and finds those that have changed.
    pub(crate) touched: FindTouched,
    /// Reports the references in the mirror to entities that are not saved.
    pub(crate) lost: fn(&persist::World, &mut Lost),
    /// Copies a resource that the mirror lacks into an edit of it.
    pub(crate) enter: fn(&World, &mut Mirror<Recorded<'_, '_>>) -> Result<()>,
    /// Returns whether the world has a resource that the mirror lacks.
    pub(crate) lacks: fn(&World, &persist::World) -> bool,
    /// Clones the resource of the world.
    pub(crate) initial: fn(&World) -> Option<Initial>,
    /// Whether this is a resource. A resource and a component may have the same class.
    pub(crate) is_resource: bool,
    /// Whether the type is part of an edited level, which states of an app are not.
    pub(crate) is_edited: bool,
}

impl Type {
    pub(crate) fn component<T: Component, F: Form<T>>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            name: type_name::<T>(),
            class: F::Stored::persist_name,
            register: Saves::register_component::<F::Stored>,
            know: persist::World::register_component::<F::Stored>,
            copy: copy::<T, F, _>,
            record: |world, mirror, since| copy::<T, F, _>(world, mirror, since),
            restore: restore::<T, F>,
            touched: touched::<T>,
            lost: |world, lost| lost.add_components::<F::Stored>(world),
            enter: |_, _| Ok(()),
            lacks: |_, _| false,
            initial: |_| None,
            is_resource: false,
            is_edited: true,
        }
    }

    pub(crate) fn resource<R: Resource + Persist + Pointee + Clone>() -> Self {
        Self {
            id: TypeId::of::<R>(),
            name: type_name::<R>(),
            class: R::persist_name,
            register: Saves::register_resource::<R>,
            know: |world| world.registry_mut().register_resource::<R>(),
            copy: |world, mirror, since| {
                // A resource that the loaded save lacked must be copied, although its last change is before the load.
                let is_missing = mirror.world().resource::<R>().is_none();
                copy_resource::<R, _>(world, mirror, since, is_missing)
            },
            record: |world, mirror, since| copy_resource::<R, _>(world, mirror, since, false),
            restore: |copies, _, world| {
                let old = world.and_then(|world| world.get_resource::<R>());
                if old.is_some_and(|old| !copies.resource_differs(old)) {
                    return Ok(Box::new(|_| ()));
                }
                let resource = copies.resource::<R>()?;
                // A load keeps a resource that the save lacks: systems panic without their resources, and an older
                // version of the program may not have had this one. An undo removes a resource that an edit inserted.
                let is_undo = world.is_some();
                Ok(Box::new(move |world: &mut World| match resource {
                    Some(resource) => world.insert_resource(resource),
                    None if is_undo => drop(world.remove_resource::<R>()),
                    None => {}
                }))
            },
            // Resources are few, and all of them are compared.
            touched: |_, _| (0, Some(Vec::new())),
            lost: |world, lost| lost.add_resource::<R>(world),
            enter: |world, mirror| match world.get_resource::<R>() {
                Some(resource) if lacks::<R>(world, mirror.world()) => {
                    mirror.copy_resource::<R>(resource)
                }
                _ => Ok(()),
            },
            lacks: lacks::<R>,
            initial: |world| {
                let resource = world.get_resource::<R>()?.clone();
                Some(Initial {
                    has: World::contains_resource::<R>,
                    insert: Box::new(move |world| world.insert_resource(resource.clone())),
                    removals: Vec::new(),
                })
            },
            is_resource: true,
            is_edited: true,
        }
    }
}

fn lacks<R: Resource + Persist + Pointee>(world: &World, mirror: &persist::World) -> bool {
    world.contains_resource::<R>() && mirror.resource::<R>().is_none()
}

/// A component that has changed, with its entity and the tick at which it was inserted.
pub(crate) type Changed<'w, T> = (Entity, &'w T, Tick);

/// Returns the saved components of a type that must be copied, and the number of all of them.
///
/// These are the components that have changed, and those of new entities, or all if `takes_all` is true.
pub(crate) fn changed<'w, T: Component>(
    world: &'w mut World,
    since: &Since,
    takes_all: bool,
    is_new: impl Fn(Entity) -> bool,
) -> (Vec<Changed<'w, T>>, usize, &'w World) {
    let mut query = world.query_filtered::<(Entity, Ref<'_, T>), IsSaved>();
    let (world, mut changed) = (&*world, Vec::new());
    // The filters decide by archetype, so the upper bound is exact.
    let count = query.iter(world).size_hint().1.unwrap_or(usize::MAX);
    let takes_all = takes_all || since.last.is_none();
    let takes_each = takes_all || since.first_new.is_some();
    if !takes_each && let Ok(tables) = query.contiguous_iter(world) {
        tables.for_each(|table| changed_in(table, since, &mut changed));
        return (changed, count, world);
    }
    for (entity, component) in query.iter(world) {
        if takes_all || since.is_changed(component.last_changed()) || is_new(entity) {
            let added = component.added();
            changed.push((entity, component.into_inner(), added));
        }
    }
    (changed, count, world)
}

/// Adds the components of a table that have changed.
fn changed_in<'w, T>(
    (entities, components): (&'w [Entity], ContiguousRef<'w, T>),
    since: &Since,
    changed: &mut Vec<Changed<'w, T>>,
) {
    const CHUNK: usize = 256;
    let (added, ticks) = (components.added_ticks_slice(), components.changed_ticks_slice());
    let components = components.into_inner();
    for (chunk, ticks) in ticks.chunks(CHUNK).enumerate() {
        // A comparison of all ticks, which the compiler vectorizes, is faster than a search. Bevy's summary ticks would
        // be faster still, but lack the changes by `MutUntyped`.
        if ticks.iter().fold(false, |any, tick| any | since.is_changed(*tick)) {
            let found = (chunk * CHUNK..).zip(ticks).filter(|(_, tick)| since.is_changed(**tick));
            changed.extend(found.map(|(at, _)| (entities[at], &components[at], added[at])));
        }
    }
}

fn copy<T: Component, F: Form<T>, W: Target>(
    world: &mut World,
    mirror: &mut Mirror<W>,
    since: &Since,
) -> Result<()> {
    let takes_all = since.renews_references && F::Stored::persist_kind().may_hold_ids();
    let is_new = |entity| since.is_new(mirror, entity);
    let (changed, count, world) = changed::<T>(world, since, takes_all, is_new);
    mirror
        .copy::<T, F>(changed.into_iter().map(|(entity, component, _)| (key(entity), component)))?;
    mirror.sweep::<F::Stored>(count, |key| world.get::<T>(entity(key)).is_some())
}

/// The entities whose component has changed. `None` if one was inserted.
pub(crate) type TouchedEntities = Option<Vec<Entity>>;

/// A function that counts components, and finds those that have changed.
pub(crate) type FindTouched = fn(&mut World, Option<&Since>) -> (usize, TouchedEntities);

/// Counts the saved components of a type, and finds those that have changed by their ticks.
///
/// If none was inserted, and there are as many as before, none was removed either.
pub(crate) fn touched<T: Component>(
    world: &mut World,
    since: Option<&Since>,
) -> (usize, TouchedEntities) {
    let Some(since) = since else {
        let mut query = world.query_filtered::<&T, IsSaved>();
        return (query.iter(world).size_hint().1.unwrap_or(usize::MAX), None);
    };
    let (changed, count, _) = changed::<T>(world, since, false, |_| false);
    let is_any_added = changed.iter().any(|(.., added)| since.is_changed(*added));
    let entities = changed.into_iter().map(|(entity, ..)| entity);
    (count, (!is_any_added).then(|| entities.collect()))
}

fn copy_resource<R: Resource + Persist + Pointee + Clone, W: Target>(
    world: &mut World,
    mirror: &mut Mirror<W>,
    since: &Since,
    is_missing: bool,
) -> Result<()> {
    let Some(resource) = world.get_resource_ref::<R>() else {
        let exists = mirror.world().resource::<R>().is_some();
        return if exists { mirror.target().remove_resource::<R>() } else { Ok(()) };
    };
    let takes_all = since.renews_references && R::persist_kind().may_hold_ids();
    if is_missing || takes_all || since.is_changed(resource.last_changed()) {
        mirror.copy_resource::<R>(&resource)?;
    }
    Ok(())
}

fn restore<T: Component, F: Form<T>>(
    copies: &mut Copies<'_>,
    objects: &[(ObjectId, Entity)],
    world: Option<&World>,
) -> Result<Apply> {
    let holds_ids = F::Stored::persist_kind().may_hold_ids();
    let is_relationship = T::relationship_accessor().is_some();
    let (mut restored, mut lost) = (Vec::new(), Vec::new());
    for (object, entity) in objects {
        let old = world.and_then(|world| world.get::<T>(*entity));
        if old.is_some_and(|old| !copies.differs::<T, F>(*object, old)) {
            continue;
        }
        let is_whole = |component: &mut T| !is_relationship || !is_dangling(component);
        match copies.component::<T, F>(*object, holds_ids, is_whole)? {
            Some(component) => restored.push((*entity, component)),
            None => lost.push(*entity),
        }
    }
    Ok(Box::new(move |world: &mut World| {
        for entity in lost {
            // Only an entity that existed before the load can have the component.
            if world.get::<T>(entity).is_some() {
                world.entity_mut(entity).remove::<T>();
            }
        }
        world.insert_batch(restored);
    }))
}

/// Returns whether a relationship has a target that is not saved.
///
/// Bevy panics when such a relationship is inserted: it takes [`Entity::PLACEHOLDER`] for an entity that is still to be
/// spawned.
fn is_dangling<T: Component>(relationship: &mut T) -> bool {
    struct Search {
        is_found: bool,
    }

    impl EntityMapper for Search {
        fn get_mapped(&mut self, entity: Entity) -> Entity {
            self.is_found |= is_lost(entity);
            entity
        }

        fn set_mapped(&mut self, _: Entity, _: Entity) {}
    }

    let mut search = Search { is_found: false };
    T::map_entities(relationship, &mut search);
    search.is_found
}
