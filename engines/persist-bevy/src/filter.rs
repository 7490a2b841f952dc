//! [`Filter`], which selects entities to save, in addition to those that the game marks.
//!
//! A filter inserts [`Saved`] into the entities that pass, and removes it from those that no longer do. All other code
//! only checks for `Saved`.

use std::any::TypeId;
use std::marker::PhantomData;

use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::query::{Allow, ArchetypeFilter, QueryFilter, With, Without};
use bevy_ecs::world::World;

use crate::Saved;

/// Marks an entity whose [`Saved`] was inserted by this filter.
#[derive(Component)]
struct SavedBy<F: 'static>(PhantomData<fn() -> F>);

/// A registered filter of an app.
#[derive(Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) id: TypeId,
    unmark: fn(&mut World),
    mark: fn(&mut World),
    claim: fn(&mut World, &EntityHashSet),
}

impl Filter {
    pub(crate) fn new<F: ArchetypeFilter + 'static>() -> Self {
        Self { id: TypeId::of::<F>(), unmark: unmark::<F>, mark: mark::<F>, claim: claim::<F> }
    }
}

/// Marks the entities that pass a filter, and unmarks those that filters have marked and that no longer pass.
pub(crate) fn mark_all(world: &mut World, filters: &[Filter]) {
    // All filters unmark first: an entity that passes another filter is then marked again.
    filters.iter().for_each(|filter| (filter.unmark)(world));
    filters.iter().for_each(|filter| (filter.mark)(world));
}

/// Records which of the loaded entities pass a filter, so that the filter can unmark them later.
pub(crate) fn claim_all(world: &mut World, filters: &[Filter], loaded: &[Entity]) {
    if !filters.is_empty() && !loaded.is_empty() {
        let loaded = loaded.iter().copied().collect();
        filters.iter().for_each(|filter| (filter.claim)(world, &loaded));
    }
}

fn find<F: QueryFilter>(world: &mut World) -> Vec<Entity> {
    world.query_filtered::<Entity, (F, Allow<Disabled>)>().iter(world).collect()
}

/// Counts the entities that pass a filter, by their archetypes.
fn count<F: ArchetypeFilter>(world: &mut World) -> usize {
    let mut passing = world.query_filtered::<(), (F, Allow<Disabled>)>();
    passing.iter(world).size_hint().1.unwrap_or(usize::MAX)
}

fn unmark<F: ArchetypeFilter + 'static>(world: &mut World) {
    if count::<With<SavedBy<F>>>(world) > count::<(With<SavedBy<F>>, F)>(world) {
        let passing: EntityHashSet = find::<(With<SavedBy<F>>, F)>(world).into_iter().collect();
        let marked = find::<With<SavedBy<F>>>(world).into_iter();
        for entity in marked.filter(|entity| !passing.contains(entity)) {
            world.entity_mut(entity).remove::<(Saved, SavedBy<F>)>();
        }
    }
}

fn mark<F: ArchetypeFilter + 'static>(world: &mut World) {
    let new = find::<(F, Without<Saved>)>(world).into_iter();
    let mark = |entity| (entity, (Saved, SavedBy::<F>(PhantomData)));
    world.insert_batch(new.map(mark).collect::<Vec<_>>());
}

fn claim<F: ArchetypeFilter + 'static>(world: &mut World, loaded: &EntityHashSet) {
    let passing = find::<(F, With<Saved>, Without<SavedBy<F>>)>(world).into_iter();
    let mark = |entity| (entity, SavedBy::<F>(PhantomData));
    world.insert_batch(
        passing.filter(|entity| loaded.contains(entity)).map(mark).collect::<Vec<_>>(),
    );
}
