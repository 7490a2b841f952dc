//! What a load leaves: the objects, and what is reported of it.

use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;

use super::loading::{LoadingObjects, TypeIndex};
use super::{Implementors, Registry};
use crate::ObjectId;
use crate::codec::{LoadedObject, Shared, Unknown};
use crate::env::SharedContext;
use crate::format::{Header, Records};
use crate::schema::{LoadEvent, Occurrences, PlannedRow};
use crate::sorting::order;

/// What a load has made: the objects in the order of ids, those that the program had added first.
#[derive(Default)]
pub(crate) struct LoadedObjects {
    entries: Vec<LoadedObject>,
    records: Records,
    /// Index of the type of each in the registry, if the program has its class.
    classes: Vec<Option<TypeIndex>>,
    /// What is kept of each object, and of the value.
    pub(crate) kept: HashMap<ObjectId, Unknown>,
    pub(crate) root_kept: Unknown,
    /// What empties the others.
    pub(crate) implementors: Arc<Implementors>,
    /// The context with which objects show what they hold.
    pub(crate) context: Option<SharedContext>,
}

impl LoadedObjects {
    /// Takes over the objects of a load.
    pub(super) fn new(registry: &Registry, made: &mut LoadingObjects<'_>) -> Self {
        let records = take(&mut made.records);
        let id = |record: usize| ObjectId::new(records.get(record).id);
        let kept = made.kept.drain().filter_map(|(record, kept)| Some((id(record)?, kept)));
        let kept = kept.collect();
        let classes = take(&mut made.kinds);
        // Its drop frees entries in this order, and they are gone.
        made.order.clear();
        let mut objects = Self {
            entries: take(&mut made.entries),
            records,
            classes,
            kept,
            root_kept: take(&mut made.root_kept),
            implementors: registry.implementors().clone(),
            context: None,
        };
        objects.arrange();
        objects
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The object at a place; `None` if it has been freed.
    pub(crate) fn get(&self, place: usize) -> Option<&Shared> {
        self.entries[place].shared()
    }

    /// The objects that have not been freed, with their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Shared)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(place, entry)| Some((place, entry.shared()?)))
    }

    pub(crate) fn id(&self, place: usize) -> ObjectId {
        // The scan refuses a record without an id.
        ObjectId::new(self.records.get(place).id).unwrap_or(ObjectId::NOWHERE)
    }

    pub(crate) fn is_added(&self, place: usize) -> bool {
        self.records.get(place).added
    }

    /// The objects are in this order.
    fn key(&self, place: usize) -> (bool, ObjectId) {
        (!self.is_added(place), self.id(place))
    }

    /// The place of the object with this id.
    pub(crate) fn find(&self, id: ObjectId) -> Option<usize> {
        [true, false].into_iter().find_map(|is_added| self.records.find(is_added, id.get()))
    }

    /// Takes out the objects that have not been freed.
    pub(crate) fn into_objects(self) -> Vec<Shared> {
        let shared =
            |entry| if let LoadedObject::Shared(shared) = entry { Some(shared) } else { None };
        self.entries.into_iter().filter_map(shared).collect()
    }

    /// True if some are kept as unknown. Mostly the program has all classes.
    fn has_unknown(&self) -> bool {
        !self.classes.iter().all(Option::is_some)
    }

    /// True if what is kept as unknown holds objects, which may be in cycles or in long chains.
    pub(crate) fn are_held_by_unknown(&self) -> bool {
        let mut kept = self.kept.values().chain([&self.root_kept]);
        kept.any(Unknown::holds_objects) || self.has_unknown()
    }

    /// Puts them into their order, without those that have been freed.
    fn arrange(&mut self) {
        let is_there = |entry: &LoadedObject| entry.shared().is_some();
        let is_in_order = (0..self.len()).is_sorted_by_key(|place| self.key(place));
        if is_in_order && self.entries.iter().all(is_there) {
            return;
        }
        let order = order(self.len(), &|a, b| self.key(a).cmp(&self.key(b)));
        let is_there = |place: &usize| self.get(*place).is_some();
        let places = order.into_iter().filter(is_there);
        let places: Vec<u32> = places.filter_map(|place| u32::try_from(place).ok()).collect();
        self.records = self.records.select(&places);
        let places = || places.iter().map(|place| *place as usize);
        self.classes = places().map(|place| self.classes[place]).collect();
        let mut entries = take(&mut self.entries);
        let mut entry =
            |place: usize| std::mem::replace(&mut entries[place], LoadedObject::Nothing);
        self.entries = places().map(&mut entry).collect();
    }
}

/// How often something happened to parts of a save, by the class of the save.
#[derive(Default)]
pub(super) struct Tally(HashMap<(LoadEvent, u32), Occurrences>);

impl Tally {
    /// Counts it in an object; they may come in any order.
    pub(super) fn add(&mut self, event: LoadEvent, class: u32, object: u64) {
        let run = self.0.entry((event, class)).or_insert(Occurrences { count: 0, first: object });
        *run = Occurrences { count: run.count + 1, first: run.first.min(object) };
    }

    /// True if something of the save was passed over, in records that may be read as they are stored.
    pub(super) fn passes_over(&self) -> bool {
        self.0.keys().any(|(event, _)| event.passes_over())
    }

    /// The counts of one event by class.
    pub(super) fn of(&self, event: LoadEvent) -> impl Iterator<Item = (u32, Occurrences)> {
        let runs = self.0.iter().filter(move |((of, _), _)| *of == event);
        runs.map(|((_, class), run)| (*class, *run))
    }
}

/// What a load did besides making objects.
#[derive(Default)]
pub(crate) struct LoadOutcome {
    pub(crate) header: Header,
    pub(crate) events: Vec<(PlannedRow, Occurrences)>,
    /// Handles that got new ids.
    pub(crate) remapped: u64,
    pub(crate) references: u64,
    /// Class name and number of objects.
    pub(crate) objects: Vec<(String, u64)>,
}

impl LoadOutcome {
    /// Counts objects of a class; two forms of one may stand in one save.
    pub(super) fn count_objects(&mut self, class: &str, count: u64) {
        match self.objects.iter_mut().find(|(known, _)| known == class) {
            Some((_, known)) => *known += count,
            None => self.objects.push((class.to_owned(), count)),
        }
    }
}
