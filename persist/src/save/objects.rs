//! The objects of a manager and the ids by which they are known.

use std::collections::HashMap;

use super::Loaded;
use crate::codec::{KeptTarget, Shared, Unknown, WeakShared};
use crate::env::Env;
use crate::format::MAX_ID;
use crate::graph::{Registry, SaveTables, Saver, free_unheld};
use crate::reflect::ClassId;
use crate::sorting::sort_by;
use crate::{ErrorKind, ObjectId, Result};

/// What a manager saves: the objects that were added, and what the program does not know of those it loaded.
#[derive(Default)]
pub(super) struct SavedObjects {
    /// In the order of their ids.
    objects: Vec<(ObjectId, SavedObject)>,
    /// Their ids by address: no address is given away while a pointer is held.
    ids: HashMap<usize, ObjectId>,
    /// What the program does not know of objects, and of the value that was loaded last.
    kept: HashMap<ObjectId, Unknown>,
    root_kept: Option<(ClassId, Unknown)>,
    /// The largest id given out so far.
    last_id: u64,
    /// True if the manager was made of a saver of values: it has none until some are added.
    pub(super) is_of_values: bool,
    /// Kept between saves.
    tables: SaveTables,
}

/// An object that a manager knows.
enum SavedObject {
    Added(Shared),
    /// It was not added but keeps the id that it had in a save, as long as the program holds it.
    Met(WeakShared),
}

impl SavedObject {
    fn is_added(&self) -> bool {
        matches!(self, Self::Added(_))
    }

    /// `None` if it is gone.
    fn get(&self) -> Option<Shared> {
        match self {
            Self::Added(shared) => Some(shared.clone()),
            Self::Met(weak) => weak.upgrade(),
        }
    }
}

fn id_of((id, _): &(ObjectId, SavedObject)) -> ObjectId {
    *id
}

impl SavedObjects {
    pub(super) fn add(&mut self, shared: Shared) -> Result<ObjectId> {
        let id = match self.ids.get(&shared.address()) {
            Some(id) => *id,
            None => {
                let number = self.last_id.checked_add(1).filter(|number| *number <= MAX_ID);
                let id = number
                    .and_then(ObjectId::new)
                    .ok_or_else(|| error!(ErrorKind::TooLarge, "the object ids are used up"))?;
                self.last_id = id.get();
                self.ids.insert(shared.address(), id);
                id
            }
        };
        match self.place(id) {
            Ok(place) => self.objects[place].1 = SavedObject::Added(shared),
            Err(place) => self.objects.insert(place, (id, SavedObject::Added(shared))),
        }
        Ok(id)
    }

    fn place(&self, id: ObjectId) -> Result<usize, usize> {
        self.objects.binary_search_by_key(&id, id_of)
    }

    pub(super) fn remove(&mut self, id: ObjectId) -> bool {
        let Ok(place) = self.place(id) else { return false };
        let (_, object) = &mut self.objects[place];
        let SavedObject::Added(shared) = object else { return false };
        *object = SavedObject::Met(shared.downgrade());
        true
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.root_kept = None;
        self.ids.clear();
        let objects = std::mem::take(&mut self.objects).into_iter();
        let objects = objects.filter_map(|(_, object)| match object {
            SavedObject::Added(shared) => Some(shared),
            SavedObject::Met(weak) => weak.upgrade(),
        });
        free_unheld(&objects.collect::<Vec<_>>());
    }

    /// The ids of the objects that were added, in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        self.objects.iter().filter(|(_, object)| object.is_added()).map(|(id, _)| *id)
    }

    pub(super) fn adopt(&mut self, mut loaded: Loaded) {
        self.clear();
        self.is_of_values = false;
        loaded.adopted = true;
        self.kept = std::mem::take(&mut loaded.objects.kept);
        self.root_kept = loaded.root_kept.take();
        for (place, shared) in loaded.objects.iter() {
            let id = loaded.objects.id(place);
            self.last_id = self.last_id.max(id.get());
            self.ids.insert(shared.address(), id);
            let is_added = loaded.objects.is_added(place);
            let met = || SavedObject::Met(shared.downgrade());
            let object = if is_added { SavedObject::Added(shared.clone()) } else { met() };
            self.objects.push((id, object));
        }
        sort_by(&mut self.objects, |a, b| id_of(a).cmp(&id_of(b)));
    }

    /// What saves the objects under their ids, with what the program does not know of them.
    pub(super) fn saver<'s>(&'s mut self, registry: &'s Registry, env: &'s Env<'s>) -> Saver<'s> {
        self.forget_gone();
        let first = self.last_id.saturating_add(1);
        let mut saver = Saver::new(registry, env, first, &mut self.tables);
        for is_added in [true, false] {
            let objects = self.objects.iter().filter(|(_, it)| it.is_added() == is_added);
            for (id, object) in objects {
                object.get().into_iter().for_each(|shared| saver.know(shared, *id, is_added));
            }
        }
        saver.keep(&self.kept, &self.ids);
        saver
    }

    /// What saves a value of a class on its own, with what the program does not know of it.
    pub(super) fn saver_of_value<'s>(
        &'s mut self,
        registry: &'s Registry,
        env: &'s Env<'s>,
        class: usize,
    ) -> Saver<'s> {
        self.forget_gone();
        let mut saver = Saver::new(registry, env, 1, &mut self.tables);
        saver.keep(&self.kept, &self.ids);
        if let Some((of, kept)) = &self.root_kept
            && *of == registry.program().classes[class].id
        {
            saver.keep_of_value(kept);
        }
        saver
    }

    /// True if there are neither objects nor unknown fields.
    /// Refuses to save no objects in place of a value that only its owner has.
    pub(super) fn check_any(&self) -> Result<()> {
        if self.is_of_values && self.ids().next().is_none() {
            bail!(
                ErrorKind::Refused,
                "the manager was made of a `ValueSaver` and has no objects to save; save the value itself, by \
                 `save_value` or by what handed out the manager"
            );
        }
        Ok(())
    }

    pub(super) fn is_bare(&self) -> bool {
        self.ids.is_empty() && self.root_kept.is_none()
    }

    /// Takes out what the program does not know of the value that was loaded last, and of the objects that it leads to.
    pub(super) fn take_unknowns(&mut self) -> Unknowns {
        let mut kept = std::mem::take(&mut self.kept);
        let held = |(id, object): &(ObjectId, SavedObject)| {
            let shared = object.get()?;
            Some((KeptTarget::new(&shared, true), *id, kept.remove(id)?))
        };
        let of_objects = self.objects.iter().filter_map(held).collect();
        Unknowns { of_value: self.root_kept.take(), of_objects }
    }

    /// Forgets the objects that were met and are gone: their pointers held the addresses, which
    /// may come back now.
    fn forget_gone(&mut self) {
        let before = self.objects.len();
        self.objects.retain(|(id, object)| {
            let is_there = object.is_added() || object.get().is_some();
            if !is_there {
                self.kept.remove(id);
            }
            is_there
        });
        if self.objects.len() < before {
            let objects = &self.objects;
            self.ids.retain(|_, id| objects.binary_search_by_key(id, id_of).is_ok());
        }
    }
}

impl Drop for SavedObjects {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What the program does not know of a value that was loaded, and of the objects that it leads to.
///
/// The pointers to the objects may be `Rc`s, and stay in a table of the thread that loaded them.
#[derive(Default)]
pub(super) struct Unknowns {
    of_value: Option<(ClassId, Unknown)>,
    of_objects: Vec<(KeptTarget, ObjectId, Unknown)>,
}

const AWAY: &str = "what the program does not know of a shared object stays on the thread that loaded it; save on that thread, or register the classes";

impl Unknowns {
    pub(super) fn is_empty(&self) -> bool {
        self.of_value.is_none() && self.of_objects.is_empty()
    }

    /// The objects that are left, for a save.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if there are some, on another thread.
    pub(super) fn objects(&mut self) -> Result<SavedObjects> {
        let mut objects = SavedObjects::default();
        objects.root_kept = self.of_value.clone();
        for at in (0..self.of_objects.len()).rev() {
            match self.of_objects[at].0.object().map_err(|error| error.reworded(AWAY.into()))? {
                Some(shared) => {
                    let (_, id, unknown) = &self.of_objects[at];
                    objects.last_id = objects.last_id.max(id.get());
                    objects.ids.insert(shared.address(), *id);
                    objects.objects.push((*id, SavedObject::Met(shared.downgrade())));
                    objects.kept.insert(*id, unknown.clone());
                }
                None => drop(self.of_objects.swap_remove(at)),
            }
        }
        sort_by(&mut objects.objects, |a, b| id_of(a).cmp(&id_of(b)));
        Ok(objects)
    }
}
