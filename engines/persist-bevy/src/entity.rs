//! Saves fields of type [`Entity`], with `#[persist(with = entity)]`.
//!
//! An entity is stored as the id of its object, and restored as the entity that the load spawned for that object. An
//! entity that is not saved, or was despawned, is [`Entity::PLACEHOLDER`] after a load, and its component has a row in
//! the report. [`WorldSaves::warnings`](crate::WorldSaves::warnings) has the row after the save. If several such
//! entities are keys of one map or elements of one set, they become distinct entities that never live.
//!
//! The module [lifts](https://docs.rs/persist/latest/persist/trait.With.html) into options, lists and maps:
//!
//! ```
//! use std::collections::HashMap;
//!
//! use bevy_ecs::prelude::*;
//! use persist::Persist;
//! use persist_bevy::entity;
//!
//! #[derive(Component, Persist, Clone)]
//! #[persist(component)]
//! struct Party {
//!     #[persist(with = entity)]
//!     leader: Entity,
//!     #[persist(with = "Vec<entity>")]
//!     members: Vec<Entity>,
//!     #[persist(with = "HashMap<_, Option<entity>>")]
//!     roles: HashMap<String, Option<Entity>>,
//! }
//! ```
//!
//! Bevy's own maps and sets of entities have [`EntityKeys`](crate::EntityKeys).

use std::convert::Infallible;

use bevy_ecs::entity::{Entity, EntityGeneration};
use persist::ObjectId;

/// The type as which an entity is stored.
pub type Stored = ObjectId;

/// Returns the object of an entity.
#[must_use]
pub fn store(entity: &Entity) -> ObjectId {
    if *entity == Entity::PLACEHOLDER {
        return ObjectId::NULL;
    }
    persist_mirror::store(key(*entity))
}

/// Returns the entity of an object; [`Entity::PLACEHOLDER`] if the object has none.
///
/// # Errors
///
/// Never returns an error.
pub fn restore(object: ObjectId) -> Result<Entity, Infallible> {
    Ok(match persist_mirror::restore(object) {
        Ok(bits) => Entity::try_from_bits(bits).unwrap_or(Entity::PLACEHOLDER),
        Err(0) => Entity::PLACEHOLDER,
        Err(number) => Entity::from_index_and_generation(
            Entity::PLACEHOLDER.index(),
            EntityGeneration::from_bits(number),
        ),
    })
}

/// Returns whether an entity is a placeholder of an entity that was not saved.
pub(crate) fn is_lost(entity: Entity) -> bool {
    entity.index() == Entity::PLACEHOLDER.index()
}

/// Returns the value of a field before a load fills it: [`Entity::PLACEHOLDER`].
#[must_use]
pub fn empty() -> Entity {
    Entity::PLACEHOLDER
}

pub(crate) fn key(entity: Entity) -> persist_mirror::Entity {
    persist_mirror::Entity { index: entity.index_u32(), bits: entity.to_bits() }
}

pub(crate) fn entity(key: persist_mirror::Entity) -> Entity {
    Entity::try_from_bits(key.bits).unwrap_or(Entity::PLACEHOLDER)
}
