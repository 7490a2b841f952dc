//! Saves fields of type [`Entity`], with `#[persist(with = entity)]`.
//!
//! An entity is stored as the id of its object, and restored as the entity that the load spawned for that object.
//! An entity that is not saved, or was despawned, is [`Entity::DANGLING`](hecs::Entity::DANGLING) after a load, and its
//! component has a row in the report. [`WorldSaves::warnings`](crate::WorldSaves::warnings) has the row after the save.
//! If several such entities are keys of one map or elements of one set, they become distinct entities that never live.
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

/// The type as which an entity is stored.
pub type Stored = ObjectId;

/// Returns the object of an entity.
#[must_use]
pub fn store(entity: &Entity) -> ObjectId {
    if *entity == Entity::DANGLING {
        return ObjectId::NULL;
    }
    persist_mirror::store(key(*entity))
}

/// Returns the entity of an object; [`Entity::DANGLING`] if the object has none.
///
/// # Errors
///
/// Never returns an error.
pub fn restore(object: ObjectId) -> Result<Entity, Infallible> {
    let bits = persist_mirror::restore(object).unwrap_or_else(|number| {
        // The placeholder entities are `DANGLING` with lower generations.
        Entity::DANGLING.to_bits().get() - (u64::from(number) << 32)
    });
    Ok(Entity::from_bits(bits).unwrap_or(Entity::DANGLING))
}

/// Returns the value of a field before a load fills it: [`Entity::DANGLING`].
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
