//! The objects of a manager, and their ids.
//!
//! Those who hold such a list are below it: `manager` and `loaded` (the unknown content of a value), and `content`, which
//! saves and loads it.

pub(crate) mod content;
pub(super) mod loaded;
pub(super) mod manager;

use std::collections::HashMap;
use std::mem::take;

use crate::codec::{AnyObject, Phase, Prototypes, Shared, Unknown, Visitor, WeakShared};
use crate::env::{AnyContext, Env, shared};
use crate::format::MAX_ID;
use crate::graph::{
    Implementors, LoadedObjects, Registry, SaveTables, Saver, Targets, free_unheld, is_unknown,
};
use crate::sorting::sort_by;
use crate::{ErrorKind, ObjectId, Result};

/// The objects that a manager saves, and the unknown content of the objects that it loaded.
#[derive(Default)]
struct SavedObjects {
    /// The result of a load, until the list is first saved or changed. It holds every object of the save. Afterwards
    /// the list holds only added objects, like a list without a load.
    loaded: Option<LoadedObjects>,
    /// The objects in the order of their ids.
    objects: Vec<(ObjectId, SavedObject)>,
    /// Their ids by address. Each has a strong or weak pointer in `objects`, so that its address is not reused.
    ids: HashMap<usize, ObjectId>,
    /// The unknown content of objects.
    unknown: HashMap<ObjectId, Unknown>,
    /// The unknown content of the loaded value.
    root_unknown: Unknown,
    /// The largest id that was assigned so far.
    last_id: u64,
    /// Tables whose memory is reused between saves.
    tables: SaveTables,
}

/// An object that a manager knows.
enum SavedObject {
    Added(Shared),
    /// An object that was not added, but reached through pointers. It keeps the id that it had in a save as long as the
    /// program holds it.
    Reached(WeakShared),
}

impl SavedObject {
    fn is_added(&self) -> bool {
        matches!(self, Self::Added(_))
    }

    fn is_freed(&self) -> bool {
        matches!(self, Self::Reached(weak) if weak.upgrade().is_none())
    }

    /// Returns the object; `None` if it was freed.
    fn get(&self) -> Option<Shared> {
        match self {
            Self::Added(shared) => Some(shared.clone()),
            Self::Reached(weak) => weak.upgrade(),
        }
    }
}

fn id_of((id, _): &(ObjectId, SavedObject)) -> ObjectId {
    *id
}

impl SavedObjects {
    /// Creates the list of a load.
    fn of_loaded(loaded: LoadedObjects) -> Self {
        Self { loaded: Some(loaded), ..Self::default() }
    }

    /// Creates an empty list for a value with this unknown content.
    fn from_root_unknown(root_unknown: Unknown) -> Self {
        Self { root_unknown, ..Self::default() }
    }

    /// Adds an object that a value leads to, with its unknown content. Calls must come in the order of the ids.
    fn insert_reached(&mut self, shared: &Shared, id: ObjectId, unknown: Unknown) {
        self.ids.insert(shared.address(), id);
        self.objects.push((id, SavedObject::Reached(shared.downgrade())));
        self.unknown.insert(id, unknown);
    }

    fn add(&mut self, shared: Shared) -> Result<ObjectId> {
        self.adopt();
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

    fn remove(&mut self, id: ObjectId) -> bool {
        self.adopt();
        let Ok(place) = self.place(id) else { return false };
        let (_, object) = &mut self.objects[place];
        let SavedObject::Added(shared) = object else { return false };
        *object = SavedObject::Reached(shared.downgrade());
        true
    }

    /// Returns the ids of all objects that are alive; added objects come first.
    fn ids(&self) -> Vec<ObjectId> {
        match &self.loaded {
            Some(loaded) => (0..loaded.len()).map(|place| loaded.id(place)).collect(),
            None => self.known().map(|(id, _)| id).collect(),
        }
    }

    /// Iterates over the objects of a list that has been saved or changed; added objects come first.
    fn known(&self) -> impl Iterator<Item = (ObjectId, Shared)> {
        [true, false].into_iter().flat_map(|is_added| {
            let objects = self.objects.iter().filter(move |(_, it)| it.is_added() == is_added);
            objects.filter_map(|(id, object)| Some((*id, object.get()?)))
        })
    }

    /// Calls a function with each object that is alive until it returns `Some`; added objects come first.
    fn find<R>(&self, mut test: impl FnMut(ObjectId, &Shared) -> Option<R>) -> Option<R> {
        match &self.loaded {
            Some(loaded) => {
                loaded.iter().find_map(|(place, shared)| test(loaded.id(place), shared))
            }
            None => self.known().find_map(|(id, shared)| test(id, &shared)),
        }
    }

    /// Returns the object with an id; `None` if there is none, or it was freed.
    fn get(&self, id: ObjectId) -> Option<Shared> {
        match &self.loaded {
            Some(loaded) => loaded.get(loaded.find(id)?).cloned(),
            None => self.objects[self.place(id).ok()?].1.get(),
        }
    }

    /// Returns true if no objects were added.
    fn is_empty(&self) -> bool {
        match &self.loaded {
            Some(loaded) => (0..loaded.len()).all(|place| !loaded.is_added(place)),
            None => !self.objects.iter().any(|(_, object)| object.is_added()),
        }
    }

    /// Converts the result of a load to the list. The list holds the added objects, and remembers the ids of the
    /// others.
    fn adopt(&mut self) {
        let Some(mut loaded) = self.loaded.take() else { return };
        self.unknown = take(&mut loaded.unknown);
        for (place, shared) in loaded.iter() {
            let id = loaded.id(place);
            self.last_id = self.last_id.max(id.get());
            self.ids.insert(shared.address(), id);
            let is_added = loaded.is_added(place);
            let reached = || SavedObject::Reached(shared.downgrade());
            let object = if is_added { SavedObject::Added(shared.clone()) } else { reached() };
            self.objects.push((id, object));
        }
        sort_by(&mut self.objects, |a, b| id_of(a).cmp(&id_of(b)));
        // Fields that only an older program had may have been the only ones to hold some objects.
        free_loaded(loaded);
    }

    /// Creates the saver of the objects, with their ids and unknown content.
    fn saver<'s>(&'s mut self, registry: &'s Registry, env: &'s Env<'s>) -> Saver<'s> {
        self.adopt();
        self.forget_freed(env.context, registry.implementors());
        let first = self.last_id.saturating_add(1);
        let mut saver = Saver::new(registry, env, first, &mut self.tables);
        for is_added in [true, false] {
            let objects = self.objects.iter().filter(|(_, it)| it.is_added() == is_added);
            for (id, object) in objects {
                object.get().into_iter().for_each(|shared| saver.know(shared, *id, is_added));
            }
        }
        saver.keep(&self.unknown, &self.ids);
        saver
    }

    /// Creates the saver of a single value, with its unknown content.
    fn saver_of_value<'s>(&'s mut self, registry: &'s Registry, env: &'s Env<'s>) -> Saver<'s> {
        let mut saver = Saver::new(registry, env, 1, &mut self.tables);
        saver.keep(&self.unknown, &self.ids);
        if !self.root_unknown.is_empty() {
            saver.keep_of_value(&self.root_unknown);
        }
        saver
    }

    /// Drops unknown content: unknown fields, and the objects of unknown classes.
    fn drop_unknown(&mut self, context: Option<&dyn AnyContext>, implementors: &Implementors) {
        self.adopt();
        let all = self.alive();
        self.unknown.clear();
        let is_known = |object: &SavedObject| object.get().is_some_and(|it| !is_unknown(&it));
        self.objects.retain(|(_, object)| is_known(object));
        self.forget_ids();
        free_objects(all, context, implementors);
    }

    /// Returns the objects that are alive, for a list that has been saved or changed.
    fn alive(&self) -> Vec<Shared> {
        self.objects.iter().filter_map(|(_, object)| object.get()).collect()
    }

    /// Removes and returns all objects that are alive.
    fn take_objects(&mut self) -> Vec<Shared> {
        let objects = match self.loaded.take() {
            Some(loaded) => loaded.into_objects(),
            None => self.alive(),
        };
        // Unknown content may be the last to hold some objects. It is dropped only after `objects` holds them, so that
        // the caller frees them one by one.
        self.objects.clear();
        self.unknown.clear();
        self.ids.clear();
        objects
    }

    /// Forgets the objects that were freed. Dropping the weak pointers lets other objects use their addresses.
    fn forget_freed(&mut self, context: Option<&dyn AnyContext>, implementors: &Implementors) {
        if !self.objects.iter().any(|(_, object)| object.is_freed()) {
            return;
        }
        // Unknown content of freed objects may hold other objects, in chains of any length.
        let all = if self.unknown.is_empty() { Vec::new() } else { self.alive() };
        let unknown = &mut self.unknown;
        self.objects.retain(|(id, object)| {
            let is_freed = object.is_freed();
            if is_freed {
                unknown.remove(id);
            }
            !is_freed
        });
        self.forget_ids();
        free_objects(all, context, implementors);
    }

    /// Removes the ids of objects that are no longer in the list.
    fn forget_ids(&mut self) {
        let objects = &self.objects;
        self.ids.retain(|_, id| objects.binary_search_by_key(id, id_of).is_ok());
    }
}

/// Empties the cells of an object.
fn empty(object: &dyn AnyObject, mut prototypes: Prototypes<'_>) {
    // An error means that the object is borrowed; it keeps its value.
    let _ =
        object.visit_object(&mut Visitor::new(Phase::Dismantle, &Env::FREEING, &mut prototypes));
}

/// Releases the objects of a load, like [`free_objects`].
pub(crate) fn free_loaded(loaded: LoadedObjects) {
    let (context, implementors) = (loaded.context.clone(), loaded.implementors.clone());
    free_objects(loaded.into_objects(), shared(&context), &implementors);
}

/// Releases objects. Objects that nothing else holds are freed one by one, including long chains and cycles of unknown
/// content. Objects that the program holds are not changed.
fn free_objects(
    objects: Vec<Shared>,
    context: Option<&dyn AnyContext>,
    implementors: &Implementors,
) {
    let held_here = |object: &Shared| object.strong_count() == 1;
    if objects.iter().all(held_here) {
        // No object holds another, so dropping the list frees each without recursion.
        return;
    }
    free_unheld(&objects, context);
    let places = objects.iter().enumerate().filter(|(_, object)| held_here(object));
    let mut unshared: Vec<usize> = places.map(|(place, _)| place).collect();
    if unshared.is_empty() {
        return;
    }
    let addresses = objects.iter().map(Shared::address);
    let places: HashMap<usize, usize> = addresses.zip(0..).collect();
    let mut objects: Vec<Option<Shared>> = objects.into_iter().map(Some).collect();
    let mut targets = Targets::new(context);
    // Several references may lead to one object.
    let mut visited = vec![false; objects.len()];
    unshared.iter().for_each(|place| visited[*place] = true);
    while let Some(place) = unshared.pop() {
        let Some(shared) = objects[place].clone() else { continue };
        let found = targets.of(shared.object());
        empty(shared.object(), Prototypes::new(implementors));
        // An object without a cell is not emptied but freed. The objects that it holds are in `objects` too, so that
        // they are not freed with it, recursively.
        objects[place] = None;
        drop(shared);
        let found = found.iter().filter_map(|address| places.get(address).copied());
        unshared.extend(found.filter(|place| {
            objects[*place].as_ref().is_some_and(held_here)
                && !std::mem::replace(&mut visited[*place], true)
        }));
    }
}
