//! The objects of a large save that the page has, and their values.

use std::collections::HashMap;

use persist::Value;
use persist_tools::Entry;

use super::index::Index;
use crate::exit::Result;
use crate::input::Save;
use crate::paged::{OBJECTS, PAGES};
use crate::values::{Hop, part, replace};
use crate::world::record_of;

/// How much of a save the page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The most objects; `None` for all.
    pub(crate) objects: Option<usize>,
    /// The most parts of a list or map.
    pub(crate) parts: usize,
}

impl Extent {
    pub(crate) const ALL: Self = Self { objects: None, parts: 400 };

    /// The extents that are tried, one after the other, until the page is small enough.
    pub(crate) const SAMPLES: [Self; 6] = [
        Self { objects: Some(10_000), parts: 400 },
        Self { objects: Some(4_000), parts: 400 },
        Self { objects: Some(1_500), parts: 200 },
        Self { objects: Some(500), parts: 100 },
        Self { objects: Some(100), parts: 40 },
        Self { objects: Some(20), parts: 10 },
    ];
}

/// A save with no more of these may be shown whole.
const MAX_OBJECTS: usize = 150_000;
const MAX_REFERENCES: usize = 600_000;
const MAX_BYTES: u64 = 8 << 20;

/// Returns whether the values of a save are few enough to try a page of all of them.
pub(crate) fn is_small(index: &Index) -> bool {
    let bytes: u64 = index.classes.iter().map(super::index::ClassTotal::bytes).sum();
    index.objects.len() <= MAX_OBJECTS && index.references() <= MAX_REFERENCES && bytes <= MAX_BYTES
}

/// Objects that have the most of something, as the overview lists them.
const TOP: usize = 8;

/// The objects that a page has.
pub(crate) struct Sample<'i> {
    index: &'i Index,
    is_chosen: Vec<bool>,
    count: usize,
    bytes: u64,
}

impl<'i> Sample<'i> {
    pub(crate) fn all(index: &'i Index) -> Self {
        let count = index.objects.len();
        Self { index, is_chosen: vec![true; count], count, bytes: 0 }
    }

    /// Chooses objects: those that the overview lists, then the `first` ones, then some of each class, and what those
    /// refer to.
    pub(crate) fn of(index: &'i Index, first: &[usize], objects: usize) -> Self {
        let mut this =
            Self { index, is_chosen: vec![false; index.objects.len()], count: 0, bytes: 0 };
        let number = |count: u32| u64::from(count);
        let tops = [
            this.top(|object| index.objects[object].bytes),
            this.top(|object| number(index.incoming(object))),
            this.top(|object| index.targets(object).len() as u64),
        ];
        for object in tops.iter().flatten().chain(index.unreferenced.iter().take(TOP)) {
            this.add(*object);
        }
        for cycle in index.cycles.iter().take(TOP) {
            this.add(cycle[0]);
        }
        this.fill(first, objects * 3 / 4);
        let neighbours = first.iter().filter(|object| this.has(**object));
        let neighbours: Vec<usize> =
            neighbours.flat_map(|object| index.targets(*object)).copied().collect();
        this.fill(&neighbours, objects * 7 / 8);
        let seeds = this.of_classes(objects.saturating_sub(this.count) / 2);
        this.fill(&seeds, objects);
        let neighbours: Vec<usize> =
            seeds.iter().flat_map(|object| index.targets(*object)).copied().collect();
        this.fill(&neighbours, objects);
        this
    }

    fn has(&self, object: usize) -> bool {
        self.is_chosen.get(object).is_some_and(|is_chosen| *is_chosen)
    }

    /// Adds objects as long as they fit.
    fn fill(&mut self, objects: &[usize], most: usize) {
        for object in objects {
            if self.count >= most {
                break;
            }
            if self.bytes + self.index.objects[*object].bytes <= MAX_BYTES {
                self.add(*object);
            }
        }
    }

    /// Adds an object, and the world and the entry in which it is.
    fn add(&mut self, object: usize) {
        let Some(is_chosen) = self.is_chosen.get_mut(object) else { return };
        if std::mem::replace(is_chosen, true) {
            return;
        }
        self.count += 1;
        self.bytes += self.index.objects[object].bytes;
        let holder = match self.index.world(object) {
            Some(world) => Some(world),
            None => self.index.entry(self.index.objects[object].id),
        };
        if let Some(holder) = holder {
            self.add(holder);
        }
    }

    /// Returns the objects with the most of something, like the page does.
    fn top(&self, measure: impl Fn(usize) -> u64) -> Vec<usize> {
        let mut best: Vec<(u64, usize)> = Vec::new();
        for object in 0..self.index.objects.len() {
            let value = measure(object);
            if value == 0 || best.len() == TOP && value <= best[TOP - 1].0 {
                continue;
            }
            let place = best.partition_point(|(other, _)| *other >= value);
            best.insert(place, (value, object));
            best.truncate(TOP);
        }
        best.into_iter().map(|(_, object)| object).collect()
    }

    /// Returns objects of each class, from its first to its last ones: as many of each, or as many as have as many bytes.
    fn of_classes(&self, mut objects: usize) -> Vec<usize> {
        let mut of_class: Vec<Vec<usize>> = vec![Vec::new(); self.index.classes.len()];
        let mut bytes_of = vec![0; self.index.classes.len()];
        for (number, object) in self.index.objects.iter().enumerate() {
            of_class[self.index.class(number)].push(number);
            bytes_of[self.index.class(number)] += object.bytes;
        }
        let mut of_class: Vec<_> = of_class.into_iter().zip(bytes_of).collect();
        of_class.retain(|(objects, _)| !objects.is_empty());
        of_class.sort_by_key(|(objects, _)| objects.len());
        // The rest is for what these refer to.
        let mut bytes = MAX_BYTES.saturating_sub(self.bytes) / 2;
        let (mut left, mut chosen) = (of_class.len(), Vec::new());
        for (of_class, bytes_of) in &of_class {
            let each = (bytes_of / of_class.len() as u64).max(1);
            let fitting = usize::try_from(bytes / left as u64 / each).unwrap_or(usize::MAX).max(1);
            let count = (objects / left).min(of_class.len()).min(fitting);
            chosen.extend((0..count).map(|place| of_class[place * of_class.len() / count]));
            bytes = bytes.saturating_sub(count as u64 * each);
            (objects, left) = (objects - count, left - 1);
        }
        chosen
    }

    /// Reads the chosen objects.
    pub(crate) fn read(&self, save: &mut Save<'_>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        save.rewind();
        while let Some(record) = save.next_record()? {
            let number = self.index.entry(record.location.id);
            if number.is_none_or(|number| !self.has(number)) {
                continue;
            }
            let Some(mut entry) = save.head_entry()? else { break };
            if !entry.is_kept() {
                self.choose_members(&mut entry, save)?;
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Leaves the chosen objects in the worlds of an entry.
    fn choose_members(&self, entry: &mut Entry, save: &mut Save<'_>) -> Result<()> {
        for world in self.index.worlds(entry.id()) {
            let Some(record) = part(&entry.value, &world.hops).and_then(record_of) else {
                continue;
            };
            let mut next = world.first as usize;
            let mut chosen: Vec<Value> = Vec::new();
            let pages = save.page_index(record).unwrap_or_default();
            if pages.is_empty() {
                let objects = record.get(OBJECTS).and_then(Value::as_seq).unwrap_or_default();
                let objects = objects.iter().zip(next..).filter(|(_, it)| self.has(*it));
                chosen.extend(objects.map(|(object, _)| object.clone()));
            }
            for page in pages {
                let first = next;
                next += page.objects as usize;
                if (first..next).any(|number| self.has(number)) {
                    let objects = save.page_objects(entry.id(), &page)?.into_iter().zip(first..);
                    let objects = objects.filter(|(_, number)| self.has(*number));
                    chosen.extend(objects.map(|(object, _)| object));
                }
            }
            for (field, values) in [(OBJECTS, chosen), (PAGES, Vec::new())] {
                let mut hops = world.hops.clone();
                hops.push(Hop::Field(field.into()));
                replace(&mut entry.value, &hops, Value::Seq(values));
            }
        }
        Ok(())
    }
}

/// The places in the page of the numbers of objects.
pub(crate) fn places(numbers: &[usize]) -> HashMap<usize, usize> {
    numbers.iter().enumerate().map(|(place, number)| (*number, place)).collect()
}
