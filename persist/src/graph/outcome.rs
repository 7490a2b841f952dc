use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::table::TypeIndex;
use super::unheld::free_unheld;
use super::{Implementors, Loader};
use crate::ObjectId;
use crate::codec::{Made, Shared, Unknown};
use crate::env::SharedContext;
use crate::format::{Header, Records};
use crate::schema::{PlannedRow, Run};

/// What a load has made: the objects in the order of ids, those that the program had added first.
#[derive(Default)]
pub(crate) struct LoadedObjects {
    entries: Vec<Made>,
    records: Records,
    /// Index of the class of each in the registry, if the program has it.
    classes: Vec<Option<TypeIndex>>,
    /// Whether it is without a cell, so that it cannot be emptied; empty if none is.
    built: Vec<bool>,
    /// The objects without a cell, each before those that it holds.
    order: Vec<u32>,
    /// What is kept of each object, and of the value.
    pub(crate) kept: HashMap<ObjectId, Unknown>,
    pub(crate) root_kept: Unknown,
    /// What empties the others.
    pub(crate) implementors: Arc<Implementors>,
    /// The context of the manager, with which objects show what they hold.
    pub(crate) context: Option<SharedContext>,
}

impl LoadedObjects {
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
        ObjectId::new(self.records.id(place)).unwrap_or(ObjectId::NOWHERE)
    }

    pub(crate) fn is_added(&self, place: usize) -> bool {
        self.records.is_added(place)
    }

    pub(crate) fn class(&self, place: usize) -> Option<usize> {
        self.classes[place].map(TypeIndex::get)
    }

    pub(crate) fn is_built(&self, place: usize) -> bool {
        self.built.get(place).copied().unwrap_or(false)
    }

    /// The place of the object with this id.
    pub(crate) fn find(&self, id: ObjectId) -> Option<usize> {
        // Both those that were added and those that were met are in the order of ids.
        let all = 0..self.len();
        let added = partition_point(all.clone(), |place| self.is_added(place));
        [0..added, added..all.end].into_iter().find_map(|part| {
            let end = part.end;
            let place = partition_point(part, |place| self.id(place) < id);
            (place < end && self.id(place) == id).then_some(place)
        })
    }

    /// Lets go of an object.
    pub(crate) fn free(&mut self, place: usize) {
        self.entries[place] = Made::Nothing;
    }

    /// Lets go of those without a cell, each while those that it holds are held here too.
    pub(crate) fn free_built(&mut self) {
        for place in std::mem::take(&mut self.order) {
            self.free(place as usize);
        }
    }

    /// Lets go of all, and frees those that are kept as unknown and that nothing else leads to.
    pub(crate) fn free_all(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        // Mostly the program has all classes.
        if self.classes.iter().all(Option::is_some) {
            return;
        }
        let shared = |entry| if let Made::Shared(shared) = entry { Some(shared) } else { None };
        free_unheld(&entries.into_iter().filter_map(shared).collect::<Vec<_>>());
    }

    /// Puts them into their order.
    fn arrange(&mut self) {
        let added = partition_point(0..self.len(), |place| self.is_added(place));
        let is_in_order = |places: Range<usize>| {
            self.records.first_id().is_some()
                || places
                    .clone()
                    .zip(places.skip(1))
                    .all(|(one, next)| self.id(one) < self.id(next))
        };
        let is_arranged = self.entries.iter().all(|entry| entry.shared().is_some())
            && (added..self.len()).all(|place| !self.is_added(place))
            && is_in_order(0..added)
            && is_in_order(added..self.len());
        if is_arranged {
            return;
        }
        let places = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        let mut places: Vec<u32> =
            places.filter(|place| self.get(*place as usize).is_some()).collect();
        places.sort_by_key(|place| (!self.is_added(*place as usize), self.id(*place as usize)));
        if !self.order.is_empty() {
            let new = places.iter().zip(0_u32..).map(|(old, new)| (*old, new));
            let new: HashMap<u32, u32> = new.collect();
            let order = self.order.iter().filter_map(|old| new.get(old).copied());
            self.order = order.collect();
        }
        let at = |place: &u32| *place as usize;
        self.records = self.records.select(&places);
        self.classes = places.iter().map(|place| self.classes[at(place)]).collect();
        if !self.built.is_empty() {
            self.built = places.iter().map(|place| self.built[at(place)]).collect();
        }
        let mut take = |place| std::mem::replace(&mut self.entries[place], Made::Nothing);
        self.entries = places.iter().map(|place| take(at(place))).collect();
    }
}

/// The first index that does not fulfil what all before it do.
fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (range.start, range.end);
    while start < end {
        let middle = start.midpoint(end);
        if is_before(middle) { start = middle + 1 } else { end = middle }
    }
    start
}

/// What a load did besides making objects.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) header: Header,
    pub(crate) events: Vec<(PlannedRow, Run)>,
    /// Class name, number of objects and first id, of classes that are not registered.
    pub(crate) skipped: Vec<(String, u64, u64)>,
    /// Class name, number of weak references without a target and first object, of
    /// classes that hold some.
    pub(crate) dangling: Vec<(String, u64, u64)>,
    /// Class name, number of values that became `None` and first object, of classes
    /// that are not registered for the trait that was asked for.
    pub(crate) nones: Vec<(String, u64, u64)>,
    /// Class name, number of values that are kept and first object, of classes that
    /// the program does not have.
    pub(crate) kept: Vec<(String, u64, u64)>,
    /// Per class that holds handles: how many became null or dead.
    pub(crate) nulled: Vec<(String, u64, u64)>,
    pub(crate) dead: Vec<(String, u64, u64)>,
    /// Handles that got new ids.
    pub(crate) remapped: u64,
    pub(crate) references: u64,
    /// Class name and number of objects.
    pub(crate) objects: Vec<(String, u64)>,
}

impl Outcome {
    /// Counts objects of a class; two forms of one may stand in one save.
    pub(super) fn count_objects(&mut self, class: &str, count: u64) {
        match self.objects.iter_mut().find(|(known, _)| known == class) {
            Some((_, known)) => *known += count,
            None => self.objects.push((class.to_owned(), count)),
        }
    }

    /// Takes an object of a class out of the count.
    pub(super) fn uncount_object(&mut self, class: &str) {
        if let Some(at) = self.objects.iter().position(|(known, _)| known == class) {
            self.objects[at].1 -= 1;
            if self.objects[at].1 == 0 {
                self.objects.remove(at);
            }
        }
    }
}

impl Loader<'_> {
    /// Counts by class number as counts by class name, in the order of names.
    pub(super) fn named_counts(
        &self,
        counts: &HashMap<u32, (u64, u64)>,
    ) -> Vec<(String, u64, u64)> {
        let names = self.program_names();
        let name = |class: u32| {
            let stored = self.table.name(class);
            names.get(stored).copied().unwrap_or(stored).to_owned()
        };
        let mut rows: Vec<_> =
            counts.iter().map(|(class, (count, first))| (name(*class), *count, *first)).collect();
        rows.sort();
        rows
    }

    /// The names of the program's classes by those that the save has for them, where they differ.
    fn program_names(&self) -> HashMap<&str, &str> {
        let stored = self.plans.stored.iter().enumerate();
        let names = stored.filter_map(|(class, stored)| {
            let target = self.plans.resolve(class)?;
            Some((&*stored.name, &*self.registry.program().classes[target].name))
        });
        names.filter(|(stored, name)| stored != name).collect()
    }

    pub(super) fn finish(mut self) -> (LoadedObjects, Outcome) {
        let names = self.program_names();
        let named = |(row, run): (PlannedRow, Run)| {
            let name = names.get(&*row.class).map(|name| Arc::from(*name));
            (PlannedRow { class: name.unwrap_or(row.class), ..row }, run)
        };
        self.outcome.events = self.plans.events().map(named).collect();
        self.outcome.dangling = self.named_counts(&self.dangling);
        self.outcome.skipped = self.named_counts(&self.skipped);
        self.outcome.nones = self.named_counts(&self.nones);
        self.outcome.kept = self.named_counts(&self.kept);
        let handles = &self.table.handles;
        self.outcome.nulled = self.named_counts(&handles.nulled);
        self.outcome.dead = self.named_counts(&handles.dead);
        self.outcome.remapped = handles.remapped;
        let keeps = std::mem::take(&mut self.keeps).into_iter();
        let id = |record: usize| ObjectId::new(self.table.records.id(record));
        let kept = keeps.filter_map(|(record, kept)| Some((id(record)?, kept))).collect();
        let class = |kind: TypeIndex| TypeIndex::new(self.registry.objects[kind.get()].class);
        let mut classes = std::mem::take(&mut self.table.kinds);
        classes.iter_mut().for_each(|kind| *kind = kind.and_then(class));
        let mut order = std::mem::take(&mut self.table.order);
        order.reverse();
        let mut objects = LoadedObjects {
            entries: std::mem::take(&mut self.table.entries),
            records: std::mem::take(&mut self.table.records),
            classes,
            built: std::mem::take(&mut self.table.built),
            order,
            kept,
            root_kept: std::mem::take(&mut self.root_keeps),
            implementors: self.registry.implementors.clone(),
            context: self.registry.context.clone(),
        };
        objects.arrange();
        (objects, self.outcome)
    }
}
