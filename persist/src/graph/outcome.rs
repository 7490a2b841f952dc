//! What a load leaves: the objects, and what is reported of it.

use std::collections::HashMap;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use super::made::{MadeObjects, TypeIndex};
use super::unheld::free_unheld;
use super::{Implementors, Registry};
use crate::ObjectId;
use crate::codec::{Made, Shared, Unknown};
use crate::env::SharedContext;
use crate::format::{Header, Records};
use crate::schema::{LoadEvent, PlannedRow, Run};

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
    /// Takes over the objects of a load, with what is kept of each, by its record, and of the value.
    pub(super) fn new(
        registry: &Registry,
        made: &mut MadeObjects<'_>,
        kept: HashMap<usize, Unknown>,
        root_kept: Unknown,
    ) -> Self {
        let records = take(&mut made.records);
        let id = |record: usize| ObjectId::new(records.id(record));
        let kept =
            kept.into_iter().filter_map(|(record, kept)| Some((id(record)?, kept))).collect();
        let class = |kind: TypeIndex| TypeIndex::new(registry.objects[kind.get()].class);
        let mut classes = take(&mut made.kinds);
        classes.iter_mut().for_each(|kind| *kind = kind.and_then(class));
        let mut order = take(&mut made.order);
        order.reverse();
        let mut objects = Self {
            entries: take(&mut made.entries),
            records,
            classes,
            built: take(&mut made.built),
            order,
            kept,
            root_kept,
            implementors: registry.implementors().clone(),
            context: registry.context.clone(),
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
        places.sort_unstable_by_key(|place| {
            (!self.is_added(*place as usize), self.id(*place as usize))
        });
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

/// How often something happened to parts of a save, by the class of the save, and the first object.
#[derive(Default)]
pub(super) struct Tally(HashMap<(LoadEvent, u32), (u64, u64)>);

impl Tally {
    pub(super) fn add(&mut self, event: LoadEvent, class: u32, object: u64) {
        self.0.entry((event, class)).or_insert((0, object)).0 += 1;
    }

    /// Counts an object; they may come in any order.
    pub(super) fn add_object(&mut self, event: LoadEvent, class: u32, object: u64) {
        let row = self.0.entry((event, class)).or_insert((0, object));
        *row = (row.0 + 1, row.1.min(object));
    }

    /// The counts of one event by class.
    pub(super) fn of(&self, event: LoadEvent) -> impl Iterator<Item = (u32, (u64, u64))> {
        let rows = self.0.iter().filter(move |((of, _), _)| *of == event);
        rows.map(|((_, class), counts)| (*class, *counts))
    }
}

/// Something that happened to a class: its name, how often, and the first object.
pub(crate) type Counted = (LoadEvent, String, u64, u64);

/// What a load did besides making objects.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) header: Header,
    pub(crate) events: Vec<(PlannedRow, Run)>,
    /// What happened to whole objects, values and references.
    pub(crate) counted: Vec<Counted>,
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
