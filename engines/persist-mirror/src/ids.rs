//! Which object stands for which entity.

use hashbrown::HashMap;
use persist::ObjectId;

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
