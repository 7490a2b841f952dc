//! What is done with the components and resources of a registered type.

use std::any::{TypeId, type_name};

use bevy_ecs::change_detection::{DetectChanges, Ref, Tick};
use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityMapper};
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::query::{Allow, With};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use persist::codec::Pointee;
use persist::{ObjectId, Persist, Result, Saves};
use persist_mirror::{Copies, Form, Lost, Mirror, Recorded, Target};

use crate::Saved;
use crate::entity::{entity, is_lost, key};
use crate::filter::Filter;

/// Selects the entities that are saved, whether other systems see them or not.
pub(crate) type IsSaved = (With<Saved>, Allow<Disabled>);

/// What the last copy of the world into the mirror has seen.
#[derive(Clone, Copy)]
pub(crate) struct Since {
    /// `None` if there was none.
    pub(crate) last: Option<Tick>,
    pub(crate) now: Tick,
    /// The first object that this copy made, if it made any.
    pub(crate) first_new: Option<ObjectId>,
    /// True if all that refers to entities is to be copied: one of these is of an entity that was there before, or an object
    /// was removed.
    pub(crate) renews_references: bool,
}

impl Since {
    /// Whether what was changed at a tick is to be copied.
    pub(crate) fn is_changed(&self, tick: Tick) -> bool {
        self.last.is_none_or(|last| tick.is_newer_than(last, self.now))
    }

    /// Whether an entity came into the mirror by this copy: then all of it is to be copied.
    pub(crate) fn is_new<W: Target>(&self, mirror: &Mirror<W>, entity: Entity) -> bool {
        self.first_new.is_some_and(|first| mirror.ids().object(key(entity)) >= Some(first))
    }
}

/// Puts what was restored into the world.
pub(crate) type Place = Box<dyn FnOnce(&mut World)>;

/// A registered resource of a world as it was before its level was opened.
pub(crate) struct Kept {
    has: fn(&World) -> bool,
    insert: Box<dyn Fn(&mut World) + Send>,
    /// Since which states of the history it is removed by an edit, or is there again.
    removals: Vec<(u64, bool)>,
}

impl Kept {
    /// Notes whether the world has it after the edit that led to a state, which is the newest one.
    pub(crate) fn note(&mut self, world: &World, state: u64) {
        let is_removed = !(self.has)(world);
        if self.is_removed(state) != is_removed {
            self.removals.push((state, is_removed));
        }
    }

    /// Gives a world the resource again, unless an edit has removed it.
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

/// Copies out of the mirror, for these objects and their entities. With a world, only what differs from what that has.
type Restore = fn(&mut Copies<'_>, &[(ObjectId, Entity)], Option<&World>) -> Result<Place>;

/// What an app saves.
#[derive(Clone, Default)]
pub(crate) struct Types {
    pub(crate) all: Vec<Type>,
    pub(crate) filters: Vec<Filter>,
    /// Components that are not saved on purpose.
    pub(crate) ignored: Vec<TypeId>,
}

impl Types {
    /// Whether a type is registered or ignored.
    pub(crate) fn knows(&self, id: TypeId) -> bool {
        self.all.iter().any(|of| of.id == id) || self.ignored.contains(&id)
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
    /// Copies what has changed into the mirror.
    pub(crate) copy: fn(&mut World, &mut Mirror, &Since) -> Result<()>,
    /// Copies what has changed into an edit of the mirror.
    pub(crate) record: fn(&mut World, &mut Mirror<Recorded<'_, '_>>, &Since) -> Result<()>,
    pub(crate) restore: Restore,
    /// Finds the references in the mirror that lead to entities that are not saved.
    pub(crate) lost: fn(&persist::World, &mut Lost),
    /// Copies a resource that the mirror lacks into an edit of it.
    pub(crate) enter: fn(&World, &mut Mirror<Recorded<'_, '_>>) -> Result<()>,
    /// Whether the world has a resource that the mirror lacks.
    pub(crate) lacks: fn(&World, &persist::World) -> bool,
    /// The resource of the world.
    pub(crate) keep: fn(&World) -> Option<Kept>,
    /// A resource and a component may be of one class.
    pub(crate) is_resource: bool,
    /// Whether it is part of an edited level: the state of an app is not.
    pub(crate) is_edited: bool,
}

impl Type {
    pub(crate) fn component<T: Component, F: Form<T>>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            name: type_name::<T>(),
            class: F::Stored::persist_name,
            register: Saves::register_component::<F::Stored>,
            know: persist::World::register::<F::Stored>,
            copy: copy::<T, F, _>,
            record: |world, mirror, since| copy::<T, F, _>(world, mirror, since),
            restore: restore::<T, F>,
            lost: |world, lost| lost.add_components::<F::Stored>(world),
            enter: |_, _| Ok(()),
            lacks: |_, _| false,
            keep: |_| None,
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
                // One that the loaded save did not have is older than the load.
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
                // A load keeps what the save lacks: systems panic without their resources, and an older version of the
                // program may not have had this one. An undo takes back what an edit inserted.
                let is_undo = world.is_some();
                Ok(Box::new(move |world: &mut World| match resource {
                    Some(resource) => world.insert_resource(resource),
                    None if is_undo => drop(world.remove_resource::<R>()),
                    None => {}
                }))
            },
            lost: |world, lost| lost.add_resource::<R>(world),
            enter: |world, mirror| match world.get_resource::<R>() {
                Some(resource) if lacks::<R>(world, mirror.world()) => {
                    mirror.copy_resource::<R>(resource)
                }
                _ => Ok(()),
            },
            lacks: lacks::<R>,
            keep: |world| {
                let resource = world.get_resource::<R>()?.clone();
                Some(Kept {
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

/// The components that are to be copied, and how many there are in all.
pub(crate) fn changed<'w, T: Component, W: Target>(
    world: &'w mut World,
    mirror: &Mirror<W>,
    since: &Since,
    holds_ids: bool,
) -> (Vec<(persist_mirror::Entity, &'w T)>, usize, &'w World) {
    let mut query = world.query_filtered::<(Entity, Ref<'_, T>), IsSaved>();
    let world = &*world;
    let (mut changed, mut count) = (Vec::new(), 0);
    let takes_all = holds_ids && since.renews_references;
    for (entity, component) in query.iter(world) {
        count += 1;
        if takes_all || since.is_changed(component.last_changed()) || since.is_new(mirror, entity) {
            changed.push((key(entity), component.into_inner()));
        }
    }
    (changed, count, world)
}

fn copy<T: Component, F: Form<T>, W: Target>(
    world: &mut World,
    mirror: &mut Mirror<W>,
    since: &Since,
) -> Result<()> {
    let holds_ids = F::Stored::persist_kind().may_hold_ids();
    let (changed, count, world) = changed::<T, W>(world, mirror, since, holds_ids);
    mirror.copy::<T, F>(changed)?;
    mirror.sweep::<F::Stored>(count, |key| world.get::<T>(entity(key)).is_some())
}

fn copy_resource<R: Resource + Persist + Pointee + Clone, W: Target>(
    world: &mut World,
    mirror: &mut Mirror<W>,
    since: &Since,
    is_missing: bool,
) -> Result<()> {
    let Some(resource) = world.get_resource_ref::<R>() else {
        let is_there = mirror.world().resource::<R>().is_some();
        return if is_there { mirror.target().remove_resource::<R>() } else { Ok(()) };
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
) -> Result<Place> {
    let holds_ids = F::Stored::persist_kind().may_hold_ids();
    let is_relationship = T::relationship_accessor().is_some();
    let (mut there, mut lost) = (Vec::new(), Vec::new());
    for (object, entity) in objects {
        let old = world.and_then(|world| world.get::<T>(*entity));
        if old.is_some_and(|old| !copies.differs::<T, F>(*object, old)) {
            continue;
        }
        let is_whole = |component: &mut T| !is_relationship || !leads_nowhere(component);
        match copies.component::<T, F>(*object, holds_ids, is_whole)? {
            Some(component) => there.push((*entity, component)),
            None => lost.push(*entity),
        }
    }
    Ok(Box::new(move |world: &mut World| {
        for entity in lost {
            // Only one that was there before the load can have it.
            if world.get::<T>(entity).is_some() {
                world.entity_mut(entity).remove::<T>();
            }
        }
        world.insert_batch(there);
    }))
}

/// Whether a relationship has a target that is not saved. Bevy panics if such a one is inserted, since it takes
/// [`Entity::PLACEHOLDER`] for an entity that is yet to be spawned.
fn leads_nowhere<T: Component>(relationship: &mut T) -> bool {
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
