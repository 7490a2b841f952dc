//! The objects of a manager and the ids by which they are known.

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

/// What a manager saves: the objects that were added, and what the program does not know of those it loaded.
#[derive(Default)]
pub(super) struct SavedObjects {
    /// What was loaded, until the list is first saved or changed. It holds every object of the save; afterwards the list
    /// holds those that were added, as a list without a load does.
    loaded: Option<LoadedObjects>,
    /// In the order of their ids.
    objects: Vec<(ObjectId, SavedObject)>,
    /// Their ids by address: no address is given away while a pointer is held.
    ids: HashMap<usize, ObjectId>,
    /// What the program does not know of objects, and of the value that was loaded.
    kept: HashMap<ObjectId, Unknown>,
    root_kept: Unknown,
    /// The largest id given out so far.
    last_id: u64,
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

    fn is_gone(&self) -> bool {
        matches!(self, Self::Met(weak) if weak.upgrade().is_none())
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
    /// The objects of a load.
    pub(super) fn of_loaded(loaded: LoadedObjects) -> Self {
        Self { loaded: Some(loaded), ..Self::default() }
    }

    /// The objects of a value with this unknown content.
    pub(super) fn of_value(root_kept: Unknown) -> Self {
        Self { root_kept, ..Self::default() }
    }

    /// Makes an object known that a value leads to, with what the program does not know of it. The ids ascend.
    pub(super) fn meet(&mut self, shared: &Shared, id: ObjectId, unknown: Unknown) {
        self.ids.insert(shared.address(), id);
        self.objects.push((id, SavedObject::Met(shared.downgrade())));
        self.kept.insert(id, unknown);
    }

    pub(super) fn add(&mut self, shared: Shared) -> Result<ObjectId> {
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

    pub(super) fn remove(&mut self, id: ObjectId) -> bool {
        self.adopt();
        let Ok(place) = self.place(id) else { return false };
        let (_, object) = &mut self.objects[place];
        let SavedObject::Added(shared) = object else { return false };
        *object = SavedObject::Met(shared.downgrade());
        true
    }

    /// The ids of all objects that are known, those that were added first.
    pub(super) fn ids(&self) -> Vec<ObjectId> {
        match &self.loaded {
            Some(loaded) => (0..loaded.len()).map(|place| loaded.id(place)).collect(),
            None => self.known().map(|(id, _)| id).collect(),
        }
    }

    /// The objects of a list that has been saved or changed, those that were added first.
    fn known(&self) -> impl Iterator<Item = (ObjectId, Shared)> {
        [true, false].into_iter().flat_map(|is_added| {
            let objects = self.objects.iter().filter(move |(_, it)| it.is_added() == is_added);
            objects.filter_map(|(id, object)| Some((*id, object.get()?)))
        })
    }

    /// Calls a function with each object that is alive, those that were added first, until it returns something.
    pub(super) fn find<R>(
        &self,
        mut look: impl FnMut(ObjectId, &Shared) -> Option<R>,
    ) -> Option<R> {
        match &self.loaded {
            Some(loaded) => {
                loaded.iter().find_map(|(place, shared)| look(loaded.id(place), shared))
            }
            None => self.known().find_map(|(id, shared)| look(id, &shared)),
        }
    }

    /// The object of an id; `None` if there is none, or it is gone.
    pub(super) fn get(&self, id: ObjectId) -> Option<Shared> {
        match &self.loaded {
            Some(loaded) => loaded.get(loaded.find(id)?).cloned(),
            None => self.objects[self.place(id).ok()?].1.get(),
        }
    }

    /// True if a save would have no object and nothing unknown.
    pub(super) fn is_empty(&self) -> bool {
        match &self.loaded {
            Some(loaded) => (0..loaded.len()).all(|place| !loaded.is_added(place)),
            None => !self.objects.iter().any(|(_, object)| object.is_added()),
        }
    }

    /// Turns what was loaded into the list: it holds the objects that were added, and knows the others by their ids.
    fn adopt(&mut self) {
        let Some(mut loaded) = self.loaded.take() else { return };
        self.kept = take(&mut loaded.unknown);
        for (place, shared) in loaded.iter() {
            let id = loaded.id(place);
            self.last_id = self.last_id.max(id.get());
            self.ids.insert(shared.address(), id);
            let is_added = loaded.is_added(place);
            let met = || SavedObject::Met(shared.downgrade());
            let object = if is_added { SavedObject::Added(shared.clone()) } else { met() };
            self.objects.push((id, object));
        }
        sort_by(&mut self.objects, |a, b| id_of(a).cmp(&id_of(b)));
        // An older program may have led to objects that nothing holds now.
        free_loaded(loaded);
    }

    /// What saves the objects under their ids, with what the program does not know of them.
    pub(super) fn saver<'s>(&'s mut self, registry: &'s Registry, env: &'s Env<'s>) -> Saver<'s> {
        self.adopt();
        self.forget_gone(env.context, registry.implementors());
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

    /// What saves a value on its own, with what the program does not know of it.
    pub(super) fn saver_of_value<'s>(
        &'s mut self,
        registry: &'s Registry,
        env: &'s Env<'s>,
    ) -> Saver<'s> {
        let mut saver = Saver::new(registry, env, 1, &mut self.tables);
        saver.keep(&self.kept, &self.ids);
        if !self.root_kept.is_empty() {
            saver.keep_of_value(&self.root_kept);
        }
        saver
    }

    /// Drops what the program does not know: the unknown fields, and the objects of unknown classes.
    pub(super) fn drop_unknown(
        &mut self,
        context: Option<&dyn AnyContext>,
        implementors: &Implementors,
    ) {
        self.adopt();
        let all = self.alive();
        self.kept.clear();
        let is_known = |object: &SavedObject| object.get().is_some_and(|it| !is_unknown(&it));
        self.objects.retain(|(_, object)| is_known(object));
        self.forget_ids();
        free_alone(all, context, implementors);
    }

    /// The objects that are alive, of a list that has been saved or changed.
    fn alive(&self) -> Vec<Shared> {
        self.objects.iter().filter_map(|(_, object)| object.get()).collect()
    }

    /// Takes out all objects that are alive.
    pub(super) fn take_objects(&mut self) -> Vec<Shared> {
        let objects = match self.loaded.take() {
            Some(loaded) => loaded.into_objects(),
            None => self.alive(),
        };
        // What is kept may hold some, so it goes after they have been counted in.
        self.objects.clear();
        self.kept.clear();
        self.ids.clear();
        objects
    }

    /// Forgets the objects that were met and are gone: their pointers held the addresses, which
    /// may come back now.
    fn forget_gone(&mut self, context: Option<&dyn AnyContext>, implementors: &Implementors) {
        if !self.objects.iter().any(|(_, object)| object.is_gone()) {
            return;
        }
        // What is kept of those that are gone may hold others, in chains of any length.
        let all = if self.kept.is_empty() { Vec::new() } else { self.alive() };
        let kept = &mut self.kept;
        self.objects.retain(|(id, object)| {
            let is_gone = object.is_gone();
            if is_gone {
                kept.remove(id);
            }
            !is_gone
        });
        self.forget_ids();
        free_alone(all, context, implementors);
    }

    /// Forgets the ids of objects that are not in the list.
    fn forget_ids(&mut self) {
        let objects = &self.objects;
        self.ids.retain(|_, id| objects.binary_search_by_key(id, id_of).is_ok());
    }
}

/// Empties the cells of an object.
pub(super) fn empty(object: &dyn AnyObject, mut prototypes: Prototypes<'_>) {
    // One that is borrowed is left to those who borrow it.
    let _ =
        object.visit_object(&mut Visitor::new(Phase::Dismantle, &Env::FREEING, &mut prototypes));
}

/// Lets go of the objects of a load, as [`free_alone`] does.
pub(super) fn free_loaded(loaded: LoadedObjects) {
    let (context, implementors) = (loaded.context.clone(), loaded.implementors.clone());
    free_alone(loaded.into_objects(), shared(&context), &implementors);
}

/// Lets go of objects. Those that nothing else holds are freed one by one, including long chains, and cycles of what is
/// kept as unknown; those that the program holds stay as they are.
pub(super) fn free_alone(
    objects: Vec<Shared>,
    context: Option<&dyn AnyContext>,
    implementors: &Implementors,
) {
    let held_here = |object: &Shared| object.strong_count() == 1;
    if objects.iter().all(held_here) {
        // None holds another.
        return;
    }
    free_unheld(&objects, context);
    let places = objects.iter().enumerate().filter(|(_, object)| held_here(object));
    let mut alone: Vec<usize> = places.map(|(place, _)| place).collect();
    if alone.is_empty() {
        return;
    }
    let addresses = objects.iter().map(Shared::address);
    let places: HashMap<usize, usize> = addresses.zip(0..).collect();
    let mut objects: Vec<Option<Shared>> = objects.into_iter().map(Some).collect();
    let mut targets = Targets::new(context);
    // Several references may lead to one.
    let mut met = vec![false; objects.len()];
    alone.iter().for_each(|place| met[*place] = true);
    while let Some(place) = alone.pop() {
        let Some(shared) = objects[place].clone() else { continue };
        let found = targets.of(shared.object());
        empty(shared.object(), Prototypes::new(implementors));
        // One without a cell is freed: what it holds is held here too, and so not freed with it.
        objects[place] = None;
        drop(shared);
        let found = found.iter().filter_map(|address| places.get(address).copied());
        alone.extend(found.filter(|place| {
            objects[*place].as_ref().is_some_and(held_here)
                && !std::mem::replace(&mut met[*place], true)
        }));
    }
}
