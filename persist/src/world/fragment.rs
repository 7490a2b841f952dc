//! Objects as a save of their own, with their ids, for what has to outlive the process.

use std::collections::HashMap;

use super::World;
use super::object::Object;
use super::parked::{Parked, ParkedObject};
use super::prefab::{live, load_part};
use super::stored::{Content, Source};
use super::world::LAST_ID;
use crate::types::Remap;
use crate::{Error, ErrorKind, Limits, LoadOptions, ObjectId, Result};

/// An object with all below it, out of any world: a save, and its place.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Fragment")]
pub(crate) struct Fragment {
    object: ObjectId,
    save: Vec<u8>,
    parent: Option<ObjectId>,
    index: u64,
}

impl Fragment {
    /// The object at its top.
    pub(crate) fn object(&self) -> ObjectId {
        self.object
    }
}

impl World {
    /// Parks a bare object that was made in another run, as the last child of its parent.
    pub(crate) fn park_new(
        &mut self,
        id: ObjectId,
        name: &str,
        parent: Option<ObjectId>,
    ) -> Result<()> {
        self.check_idle()?;
        if id.get() > LAST_ID / 2 || self.is_taken(id) {
            return Err(taken(id));
        }
        self.last_id = self.last_id.max(id.get());
        let name = (!name.is_empty()).then(|| self.names.hold(name));
        name.into_iter().for_each(|name| self.names.reserve(name));
        let mut object = Object::new(name);
        object.parent = parent;
        let objects = vec![ParkedObject { id, object, components: Vec::new() }];
        self.keep_parked(id, Parked { objects, index: usize::MAX, keeps_names: true });
        Ok(())
    }

    /// An object and all below it, that is there or parked, as it is.
    pub(crate) fn fragment(&self, object: ObjectId) -> Result<Fragment> {
        let Some(parked) = self.parked.get(&object) else {
            self.check(object)?;
            let mut ids = self.subtree(object);
            ids.sort_unstable();
            let save = self.encode_part(&live(&ids), Content::Objects)?;
            let (parent, index) = self.place_of(object);
            return Ok(Fragment { object, save, parent, index: index as u64 });
        };
        let mut objects: Vec<(ObjectId, Source<'_>)> =
            parked.objects.iter().map(|found| (found.id, Source::Parked(found))).collect();
        objects.sort_unstable_by_key(|(id, _)| *id);
        let save = self.encode_part(&objects, Content::Objects)?;
        let root = parked.objects.first();
        let parent = root.and_then(|root| root.object.parent);
        Ok(Fragment { object, save, parent, index: parked.index as u64 })
    }

    /// Parks what was in another world, or in this one in another run.
    ///
    /// The save of an older program is migrated. If this fails, nothing is parked.
    pub(crate) fn park_fragment(&mut self, fragment: &Fragment) -> Result<()> {
        self.check_idle()?;
        let Fragment { object, save, parent, index } = fragment;
        let mut registry = self.registry.clone();
        let options = (&Limits::DEFAULT, LoadOptions::default());
        let mut part = load_part(save, &mut registry, options, &mut Remap::new())?;
        let is_taken = |id| self.is_taken(id);
        let (roots, last_id) = (part.roots().collect::<Vec<_>>(), part.last_id);
        let is_wrong = roots != [*object] || last_id > LAST_ID / 2 || part.objects().any(is_taken);
        if is_wrong {
            part.forget();
            return Err(taken(*object));
        }
        self.registry = registry;
        self.last_id = self.last_id.max(last_id);
        self.has_unknown |= part.has_unknown;
        // Each before those below it.
        let order = part.subtree(*object).into_iter().zip(0_usize..).collect::<HashMap<_, _>>();
        let mut objects = self.take_apart(part);
        objects.sort_by_key(|found| order.get(&found.id).copied());
        for found in &mut objects {
            if found.id == *object {
                found.object.parent = *parent;
            }
            found.object.name.into_iter().for_each(|name| self.names.reserve(name));
        }
        let index = usize::try_from(*index).unwrap_or(usize::MAX);
        self.keep_parked(*object, Parked { objects, index, keeps_names: true });
        Ok(())
    }

    /// True if an object is in the world, or parked.
    fn is_taken(&self, id: ObjectId) -> bool {
        self.contains(id) || self.parked_below.contains_key(&id)
    }
}

#[cold]
fn taken(id: ObjectId) -> Error {
    Error::new(
        ErrorKind::InvalidValue,
        "objects that are to come back are there already, or are not those that were named",
    )
    .in_object(id.get())
}
