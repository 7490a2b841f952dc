//! The result of a load: its objects and its report.

use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;

use super::super::{Implementors, Registry};
use super::{LoadingObjects, TypeIndex};
use crate::ObjectId;
use crate::codec::{LoadedObject, Shared, Unknown};
use crate::env::SharedContext;
use crate::format::{Header, Records};
use crate::schema::{Occurrences, PlannedRow};
use crate::sorting::order;

/// The objects of a finished load: first those that the program had added, then the others, each group in the order of
/// ids.
#[derive(Default)]
pub(crate) struct LoadedObjects {
    entries: Vec<LoadedObject>,
    records: Records,
    /// Index of the type of each object in the registry, or `None` if the program does not have its class.
    classes: Vec<Option<TypeIndex>>,
    /// The unknown data of each object, and of the root value.
    pub unknown: HashMap<ObjectId, Unknown>,
    pub root_unknown: Unknown,
    /// The classes and traits with which the unknown data of other objects is emptied.
    pub implementors: Arc<Implementors>,
    /// The context that the objects' code gets when they are encoded to list their references.
    pub context: Option<SharedContext>,
}

impl LoadedObjects {
    /// Moves the objects out of a load.
    pub(super) fn new(registry: &Registry, loading: &mut LoadingObjects<'_>) -> Self {
        let records = take(&mut loading.records);
        let id = |record: usize| ObjectId::new(records.get(record).id);
        let unknown = loading.unknown.drain().filter_map(|(record, it)| Some((id(record)?, it)));
        let unknown = unknown.collect();
        let classes = take(&mut loading.kinds);
        // The drop of `loading` would free entries in this order, and they were just moved out.
        loading.order.clear();
        let mut objects = Self {
            entries: take(&mut loading.entries),
            records,
            classes,
            unknown,
            root_unknown: take(&mut loading.root_unknown),
            implementors: registry.implementors().clone(),
            context: None,
        };
        objects.arrange();
        objects
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the object at a place, or `None` if it has been freed.
    pub(crate) fn get(&self, place: usize) -> Option<&Shared> {
        self.entries[place].shared()
    }

    /// Iterates over the objects that have not been freed, with their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Shared)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(place, entry)| Some((place, entry.shared()?)))
    }

    pub(crate) fn id(&self, place: usize) -> ObjectId {
        // The scan refuses a record without an id.
        ObjectId::new(self.records.get(place).id).unwrap_or(ObjectId::NULL)
    }

    pub(crate) fn is_added(&self, place: usize) -> bool {
        self.records.get(place).added
    }

    /// Returns the sort key of an object.
    fn key(&self, place: usize) -> (bool, ObjectId) {
        (!self.is_added(place), self.id(place))
    }

    /// Returns the place of the object with this id.
    pub(crate) fn find(&self, id: ObjectId) -> Option<usize> {
        [true, false].into_iter().find_map(|is_added| self.records.find(is_added, id.get()))
    }

    /// Returns the objects that have not been freed.
    pub(crate) fn into_objects(self) -> Vec<Shared> {
        let shared =
            |entry| if let LoadedObject::Shared(shared) = entry { Some(shared) } else { None };
        self.entries.into_iter().filter_map(shared).collect()
    }

    /// Returns true if some objects are of unknown classes.
    fn has_unknown(&self) -> bool {
        !self.classes.iter().all(Option::is_some)
    }

    /// Returns true if unknown data may hold objects. These can be in cycles or in long chains.
    pub(crate) fn are_held_by_unknown(&self) -> bool {
        let mut unknown = self.unknown.values().chain([&self.root_unknown]);
        unknown.any(Unknown::holds_objects) || self.has_unknown()
    }

    /// Sorts the objects, and removes those that have been freed.
    fn arrange(&mut self) {
        let is_present = |entry: &LoadedObject| entry.shared().is_some();
        let is_in_order = (0..self.len()).is_sorted_by_key(|place| self.key(place));
        if is_in_order && self.entries.iter().all(is_present) {
            return;
        }
        let order = order(self.len(), &|a, b| self.key(a).cmp(&self.key(b)));
        let is_present = |place: &usize| self.get(*place).is_some();
        let places = order.into_iter().filter(is_present);
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

/// The report data of a load.
#[derive(Default)]
pub(crate) struct LoadOutcome {
    pub header: Header,
    pub events: Vec<(PlannedRow, Occurrences)>,
    /// Number of handles that got new ids.
    pub remapped: u64,
    pub references: u64,
    /// Name of each class, and its number of objects.
    pub objects: Vec<(String, u64)>,
}

impl LoadOutcome {
    /// Adds to the count of a class. A save may have two forms of one class, with equal names.
    pub(super) fn count_objects(&mut self, class: &str, count: u64) {
        match self.objects.iter_mut().find(|(known, _)| known == class) {
            Some((_, known)) => *known += count,
            None => self.objects.push((class.to_owned(), count)),
        }
    }
}
