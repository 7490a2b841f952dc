//! Which object stands for which entity.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::HashMap;
use persist::ObjectId;

use crate::entities::dead;

/// A handle of an engine, whose own type of entities differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Where it lies; no two that live at the same time have the same.
    pub index: u32,
    /// All that identifies it.
    pub bits: u64,
}

/// The objects of entities, and the entities of objects.
#[derive(Debug, Default)]
pub struct Ids {
    /// By the index of the entity.
    objects: Vec<Option<(u64, ObjectId)>>,
    entities: HashMap<ObjectId, Entity>,
    unsaved: Option<Unsaved>,
}

/// Entities that are not saved, and the dead ids that stand for them: no object ever has one.
#[derive(Debug)]
struct Unsaved {
    /// Drawn at random, since the save may have those of another run, which no entity has now.
    last: u64,
    ids: HashMap<u64, ObjectId>,
    bits: HashMap<ObjectId, u64>,
}

impl Ids {
    /// The object of an entity.
    #[must_use]
    #[inline]
    pub fn object(&self, entity: Entity) -> Option<ObjectId> {
        let (bits, object) = (*self.objects.get(entity.index as usize)?)?;
        (bits == entity.bits).then_some(object)
    }

    /// The entity of an object.
    #[must_use]
    #[inline]
    pub fn entity(&self, object: ObjectId) -> Option<Entity> {
        self.entities.get(&object).copied()
    }

    /// From now on, what is stored of an entity without an object leads back to it. Only this table knows to which.
    pub fn remember_unsaved(&mut self) {
        if self.unsaved.is_none() {
            let last = RandomState::new().hash_one(0) >> 2;
            self.unsaved = Some(Unsaved { last, ids: HashMap::new(), bits: HashMap::new() });
        }
    }

    /// What is stored of an entity without an object, if that is remembered.
    pub(crate) fn unsaved(&mut self, entity: Entity) -> Option<ObjectId> {
        let Unsaved { last, ids, bits } = self.unsaved.as_mut()?;
        Some(*ids.entry(entity.bits).or_insert_with(|| {
            *last += 1;
            let id = dead(*last);
            bits.insert(id, entity.bits);
            id
        }))
    }

    /// The bits of the entity of an object, or of one that is not saved.
    pub(crate) fn any_entity(&self, object: ObjectId) -> Option<u64> {
        if object.is_dead() {
            return self.unsaved.as_ref()?.bits.get(&object).copied();
        }
        self.entity(object).map(|entity| entity.bits)
    }

    /// Takes the entities that are not saved over from another table.
    pub fn take_unsaved(&mut self, other: &mut Self) {
        self.unsaved = other.unsaved.take();
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// All pairs, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, Entity)> + use<'_> {
        self.entities.iter().map(|(object, entity)| (*object, *entity))
    }

    /// Pairs an object with an entity. What either was paired with is not so any more.
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

    /// Forgets an object, and its entity.
    pub fn remove(&mut self, object: ObjectId) -> Option<Entity> {
        let entity = self.entities.remove(&object)?;
        if let Some(place) = self.objects.get_mut(entity.index as usize) {
            *place = None;
        }
        Some(entity)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.objects.clear();
        self.entities.clear();
    }
}
