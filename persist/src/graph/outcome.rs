use std::collections::HashMap;
use std::rc::Rc;

use super::table::Entry;
use super::{Implementors, Loader};
use crate::ObjectId;
use crate::codec::{Shared, Unknown};
use crate::format::Header;
use crate::schema::{PlannedRow, Run};

/// An object that has come back.
pub(crate) struct LoadedObject {
    pub(crate) id: ObjectId,
    /// `None` when it has been freed.
    pub(crate) shared: Option<Shared>,
    pub(crate) added: bool,
    /// Index of its class in the registry, if the program has it.
    pub(crate) class: Option<usize>,
    /// True if it is without a cell: it cannot be emptied.
    pub(crate) built: bool,
}

/// What a load has made.
pub(crate) struct LoadedObjects {
    pub(crate) objects: Vec<LoadedObject>,
    /// Indices of the objects without a cell, each after those that hold it.
    pub(crate) order: Vec<usize>,
    /// What is kept of each object, and of the value.
    pub(crate) kept: HashMap<ObjectId, Unknown>,
    pub(crate) root_kept: Unknown,
    /// What empties the others.
    pub(crate) implementors: Rc<Implementors>,
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
            let name = names.get(&*row.class).map(|name| Rc::from(*name));
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
        let entries = std::mem::take(&mut self.table.entries);
        let order = std::mem::take(&mut self.table.order);
        let mut objects = Vec::with_capacity(entries.len());
        let kinds = std::mem::take(&mut self.table.kinds);
        for ((entry, record), kind) in entries.into_iter().zip(&self.table.records).zip(kinds) {
            let (shared, built) = match entry {
                Entry::Open(shared) => (shared, false),
                Entry::Built(shared) => (shared, true),
                Entry::None | Entry::Draft(_) => continue,
            };
            if let Some(id) = ObjectId::new(record.id) {
                let class = kind.map(|kind| self.registry.objects[kind.get()].class);
                let (shared, added) = (Some(shared), record.added);
                objects.push(LoadedObject { id, shared, added, class, built });
            }
        }
        objects.sort_by_key(|object| (!object.added, object.id));
        let ids: Vec<u64> =
            order.iter().rev().map(|record| self.table.records[*record as usize].id).collect();
        let order = if ids.is_empty() {
            Vec::new()
        } else {
            let places: HashMap<u64, usize> =
                objects.iter().enumerate().map(|(i, object)| (object.id.get(), i)).collect();
            ids.iter().filter_map(|id| places.get(id).copied()).collect()
        };
        let implementors = self.registry.implementors.clone();
        let keeps = std::mem::take(&mut self.keeps).into_iter();
        let id = |record: usize| ObjectId::new(self.table.records[record].id);
        let kept = keeps.filter_map(|(record, kept)| Some((id(record)?, kept))).collect();
        let root_kept = std::mem::take(&mut self.root_keeps);
        (LoadedObjects { objects, order, kept, root_kept, implementors }, self.outcome)
    }
}
