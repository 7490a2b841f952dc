//! [`Ids`], the table of entities and their objects.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::HashMap;
use persist::ObjectId;

use crate::entities::dead;

/// A handle to an entity of an engine, independent of the engine's own type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The index of the entity, unique among living entities.
    pub index: u32,
    /// The bits of the engine's handle, which identify the entity.
    pub bits: u64,
}

/// A two-way table of entities and their objects.
#[derive(Debug, Default)]
pub struct Ids {
    /// The bits and object of each entity, by the entity's index.
    objects: Vec<Option<(u64, ObjectId)>>,
    entities: HashMap<ObjectId, Entity>,
    unsaved: Option<Unsaved>,
}

/// Entities that are not saved, and their dead ids, which no object ever has.
#[derive(Debug)]
struct Unsaved {
    /// The last number of a dead id. It starts at random: a save may have dead ids of another run, which must stay
    /// dangling.
    last: u64,
    ids: HashMap<u64, ObjectId>,
    bits: HashMap<ObjectId, u64>,
}

impl Ids {
    /// Returns the object of an entity.
    #[must_use]
    #[inline]
    pub fn object(&self, entity: Entity) -> Option<ObjectId> {
        let (bits, object) = (*self.objects.get(entity.index as usize)?)?;
        (bits == entity.bits).then_some(object)
    }

    /// Returns the entity of an object.
    #[must_use]
    #[inline]
    pub fn entity(&self, object: ObjectId) -> Option<Entity> {
        self.entities.get(&object).copied()
    }

    /// From now on, gives each entity without an object a dead id that is restored as the same entity.
    ///
    /// Only this table knows the entities of these ids: to another program they are dangling.
    pub fn remember_unsaved(&mut self) {
        if self.unsaved.is_none() {
            let last = RandomState::new().hash_one(0) >> 2;
            self.unsaved = Some(Unsaved { last, ids: HashMap::new(), bits: HashMap::new() });
        }
    }

    /// Returns the dead id of an entity without an object, if such entities are remembered.
    pub(crate) fn unsaved(&mut self, entity: Entity) -> Option<ObjectId> {
        let Unsaved { last, ids, bits } = self.unsaved.as_mut()?;
        Some(*ids.entry(entity.bits).or_insert_with(|| {
            *last += 1;
            let id = dead(*last);
            bits.insert(id, entity.bits);
            id
        }))
    }

    /// Returns the bits of the entity of an object, or of a remembered entity that is not saved.
    pub(crate) fn any_entity(&self, object: ObjectId) -> Option<u64> {
        if object.is_dead() {
            return self.unsaved.as_ref()?.bits.get(&object).copied();
        }
        self.entity(object).map(|entity| entity.bits)
    }

    /// Moves the remembered entities that are not saved from another table into this one.
    pub fn take_unsaved(&mut self, other: &mut Self) {
        self.unsaved = other.unsaved.take();
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Returns true if there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Iterates over all pairs, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, Entity)> + use<'_> {
        self.entities.iter().map(|(object, entity)| (*object, *entity))
    }

    /// Pairs an object with an entity, and removes the previous pairs of both.
    pub fn insert(&mut self, object: ObjectId, entity: Entity) {
        self.remove(object);
        let index = entity.index as usize;
        if self.objects.len() <= index {
            self.objects.resize(index + 1, None);
        }
        if let Some((_, old)) = self.objects[index].replace((entity.bits, object)) {
            self.entities.remove(&old);
        }
        self.entities.insert(object, entity);
    }

    /// Removes the pair of an object, and returns its entity.
    pub fn remove(&mut self, object: ObjectId) -> Option<Entity> {
        let entity = self.entities.remove(&object)?;
        if let Some(place) = self.objects.get_mut(entity.index as usize) {
            *place = None;
        }
        Some(entity)
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        self.objects.clear();
        self.entities.clear();
    }
}
