//! [`EntityKeys`], which saves Bevy's own maps and sets of entities.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use bevy_ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use persist::{ObjectId, Persist, With};

use crate::entity;

/// Saves an [`EntityHashMap`] or [`EntityHashSet`]: `#[persist(with = EntityKeys)]`.
///
/// Entities that were despawned or are not saved are left out by a load, which reports them.
///
/// ```
/// use bevy_ecs::entity::{EntityHashMap, EntityHashSet};
/// use bevy_ecs::prelude::*;
/// use persist::Persist;
/// use persist_bevy::EntityKeys;
///
/// #[derive(Component, Persist, Clone)]
/// #[persist(component)]
/// struct Memory {
///     #[persist(with = EntityKeys)]
///     seen: EntityHashSet,
///     #[persist(with = EntityKeys)]
///     grudges: EntityHashMap<String>,
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EntityKeys;

impl<V: Persist + Clone> With<EntityHashMap<V>> for EntityKeys {
    type Stored = HashMap<ObjectId, V>;
    type Error = Infallible;

    fn store(map: &EntityHashMap<V>) -> impl Borrow<Self::Stored> {
        let entries = map.iter().map(|(key, value)| (entity::store(key), value.clone()));
        entries.filter(|(key, _)| *key != ObjectId::NULL).collect::<Self::Stored>()
    }

    fn restore(stored: Self::Stored) -> Result<EntityHashMap<V>, Infallible> {
        let entries = stored.into_iter().filter_map(|(key, value)| Some((restored(key)?, value)));
        Ok(entries.collect())
    }
}

impl With<EntityHashSet> for EntityKeys {
    type Stored = HashSet<ObjectId>;
    type Error = Infallible;

    fn store(set: &EntityHashSet) -> impl Borrow<Self::Stored> {
        let keys = set.iter().map(entity::store);
        keys.filter(|key| *key != ObjectId::NULL).collect::<Self::Stored>()
    }

    fn restore(stored: Self::Stored) -> Result<EntityHashSet, Infallible> {
        Ok(stored.into_iter().filter_map(restored).collect())
    }
}

/// Returns the entity of an object; `None` if it was not saved.
fn restored(object: ObjectId) -> Option<Entity> {
    persist_mirror::restore(object).ok().and_then(Entity::try_from_bits)
}
