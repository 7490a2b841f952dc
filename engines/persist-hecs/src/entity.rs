//! How a field of type [`Entity`] is saved.
//!
//! It is stored as the id of the object that stands for the entity, and restored as that object's entity after the load.
//! An entity that is not saved, or was despawned, is [`Entity::DANGLING`](hecs::Entity::DANGLING) after a load, and its
//! component has a row in the report. [`WorldSaves::warnings`](crate::WorldSaves::warnings) has it at the save. If several
//! such entities are keys of one map or elements of one set, they come back as other entities that never live.
//!
//! The module [lifts](https://docs.rs/persist/latest/persist/trait.With.html) into options, lists and maps:
//!
//! ```
//! use std::collections::HashMap;
//!
//! use hecs::Entity;
//! use persist::Persist;
//! use persist_hecs::entity;
//!
//! #[derive(Persist, Clone)]
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

use std::convert::Infallible;

use hecs::Entity;
use persist::ObjectId;

/// What is stored.
pub type Stored = ObjectId;

/// The object of an entity.
#[must_use]
pub fn store(entity: &Entity) -> ObjectId {
    if *entity == Entity::DANGLING {
        return ObjectId::NOWHERE;
    }
    persist_mirror::store(key(*entity))
}

/// The entity of an object.
///
/// # Errors
///
/// None.
pub fn restore(object: ObjectId) -> Result<Entity, Infallible> {
    let bits = persist_mirror::restore(object).unwrap_or_else(|number| {
        // Counts the generations of the empty one down.
        Entity::DANGLING.to_bits().get() - (u64::from(number) << 32)
    });
    Ok(Entity::from_bits(bits).unwrap_or(Entity::DANGLING))
}

/// What a field holds before a load fills it: [`Entity::DANGLING`].
#[must_use]
pub fn empty() -> Entity {
    Entity::DANGLING
}

pub(crate) fn key(entity: Entity) -> persist_mirror::Entity {
    persist_mirror::Entity { index: entity.id(), bits: entity.to_bits().get() }
}

pub(crate) fn entity(key: persist_mirror::Entity) -> Entity {
    Entity::from_bits(key.bits).unwrap_or(Entity::DANGLING)
}
