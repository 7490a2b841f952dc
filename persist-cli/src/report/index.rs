//! All objects of a save and the references between them in some bytes each, found while the save is read part by part.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use persist::{ObjectId, Value};

use super::sizes::size;
use crate::components::cycles;
use crate::exit::Result;
use crate::found::{Found, worlds};
use crate::input::Save;
use crate::objects::{Kinds, Objects, Part, Target};
use crate::paged::PAGES;
use crate::values::{Hop, part, replace};
use crate::world::record_of;

/// Stands for no object.
const NONE: u32 = u32::MAX;

/// All objects of a save. Each has a number.
pub(crate) struct Index {
    pub(crate) objects: Vec<Indexed>,
    /// The class with the most bytes is the first.
    pub(crate) classes: Vec<ClassTotal>,
    places: Places,
    /// The worlds, ids and numbers of the objects of worlds, sorted.
    members: Vec<(u32, u64, u32)>,
    /// The ranges of the targets that each object refers to.
    outgoing: Vec<Range<usize>>,
    targets: Vec<usize>,
    /// How many references each object has to it.
    incoming: Vec<u32>,
    pub(crate) cycles: Vec<Vec<usize>>,
    pub(crate) unreferenced: Vec<usize>,
}

/// An object.
pub(crate) struct Indexed {
    pub(crate) id: u64,
    pub(crate) bytes: u64,
    /// A hash of its name; 0 if it has none.
    pub(crate) name: u64,
    world: u32,
    class: u32,
}

/// A class whose records are objects or components.
#[derive(Default)]
pub(crate) struct ClassTotal {
    pub(crate) name: String,
    pub(crate) records: u64,
    /// Names and bytes.
    pub(crate) fields: Vec<(String, u64)>,
    places: HashMap<String, usize>,
}

/// The numbers of the objects of a save.
#[derive(Default)]
pub(crate) struct Places {
    entries: HashMap<u64, u32>,
    /// The worlds in an entry, by its id.
    worlds: HashMap<u64, Vec<IndexedWorld>>,
}

/// A world in an entry.
pub(crate) struct IndexedWorld {
    /// The way to it.
    pub(crate) hops: Vec<Hop>,
    pub(crate) number: u32,
    /// The number of its first object; the others follow it.
    pub(crate) first: u32,
}

/// A reference whose target is not resolved.
struct Link {
    from: u32,
    to: Target,
}

impl Index {
    /// Reads all of a save. Names are hashed by `hasher`.
    pub(crate) fn of(save: &mut Save<'_>, hasher: &RandomState) -> Result<Self> {
        let mut builder = Builder::default();
        let classes = save.classes().to_vec();
        let kinds = Kinds::of(&classes);
        let places = each_part(save, &mut |objects, numbers| {
            builder.add(objects, numbers, &kinds, hasher);
        })?;
        Ok(builder.end(places))
    }

    /// The number of references.
    pub(crate) fn references(&self) -> usize {
        self.targets.len()
    }

    /// The numbers of the objects that an object refers to.
    pub(crate) fn targets(&self, number: usize) -> &[usize] {
        &self.targets[self.outgoing[number].clone()]
    }

    /// How many references lead to an object.
    pub(crate) fn incoming(&self, number: usize) -> u32 {
        self.incoming[number]
    }

    /// The place of the class of an object in [`classes`](Self::classes).
    pub(crate) fn class(&self, number: usize) -> usize {
        self.objects[number].class as usize
    }

    /// The number of the world that an object is in.
    pub(crate) fn world(&self, number: usize) -> Option<usize> {
        let world = self.objects[number].world;
        (world != NONE).then_some(world as usize)
    }

    /// The number of an entry.
    pub(crate) fn entry(&self, id: u64) -> Option<usize> {
        self.places.entries.get(&id).map(|number| *number as usize)
    }

    /// The number of an object of a world.
    pub(crate) fn member(&self, world: usize, id: u64) -> Option<usize> {
        let world = u32::try_from(world).ok()?;
        member(&self.members, world, id).map(|number| number as usize)
    }

    /// The worlds in an entry.
    pub(crate) fn worlds(&self, entry: ObjectId) -> &[IndexedWorld] {
        self.places.worlds.get(&entry.get()).map_or(&[], |worlds| worlds)
    }

    /// The number of the object that a value is in.
    pub(crate) fn at(&self, found: &Found<'_>) -> Option<usize> {
        let id = found.object.id();
        let within = self.worlds(id).iter().rev().find(|it| found.hops.starts_with(&it.hops));
        let Some(world) = within else { return self.entry(id.get()) };
        let number = match found.hops.get(world.hops.len()..) {
            Some([Hop::Field(name), Hop::Item(place), ..]) if **name == *"objects" => {
                world.first as usize + place
            }
            _ => world.number as usize,
        };
        Some(number).filter(|number| *number < self.objects.len())
    }

    /// Returns the numbers of some objects of this save, in their order.
    pub(crate) fn numbers(&self, objects: &Objects<'_>) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::with_capacity(objects.objects.len());
        let (mut entry, mut nested) = (0, 0);
        for object in &objects.objects {
            let number = match object.world {
                Some(world) => self.member(numbers[world], object.id),
                // After its entry come the worlds in its fields, which have no ids.
                None if object.id == entry => {
                    nested += 1;
                    let whole = self.entry(entry);
                    let worlds = self.places.worlds.get(&entry).into_iter().flatten();
                    let worlds = worlds.map(|world| world.number as usize);
                    worlds.filter(|world| Some(*world) != whole).nth(nested - 1)
                }
                None => {
                    (entry, nested) = (object.id, 0);
                    self.entry(object.id)
                }
            };
            numbers.push(number.unwrap_or_default());
        }
        numbers
    }
}

fn member(members: &[(u32, u64, u32)], world: u32, id: u64) -> Option<u32> {
    let place = members.partition_point(|(of, known, _)| (*of, *known) < (world, id));
    members.get(place).filter(|(of, known, _)| (*of, *known) == (world, id)).map(|it| it.2)
}

/// Calls `visit` with the objects of a save, those of an entry or a page at a time, and the number of each. An object
/// may come again with more of its records, a world without any.
pub(super) fn each_part(
    save: &mut Save<'_>,
    visit: &mut dyn FnMut(&mut Objects<'_>, &[u32]),
) -> Result<Places> {
    let mut places = Places::default();
    let mut next = 0;
    let mut take = |count: usize| {
        let first = next;
        next += u32::try_from(count).unwrap_or(0);
        first..next
    };
    save.rewind();
    while let Some(position) = save.next_record()?.map(|record| record.position) {
        let Some(mut entry) = save.head_entry()? else { break };
        let id = entry.id();
        let found = worlds(Found::whole(&entry, position)).into_iter();
        let found = found.map(|world| {
            let pages = record_of(&world.value).and_then(|record| save.page_index(record));
            (world.hops, pages.unwrap_or_default())
        });
        let found: Vec<_> = found.collect();
        for (hops, _) in found.iter().filter(|(_, pages)| !pages.is_empty()) {
            // The list of the pages is no value of the world.
            let pages: Vec<Hop> = hops.iter().cloned().chain([Hop::Field(PAGES.into())]).collect();
            replace(&mut entry.value, &pages, Value::Seq(Vec::new()));
        }
        let mut objects = Objects::default();
        objects.add_entry(&entry);
        if let Some(known) = places.entries.get(&id.get()).filter(|_| entry.is_kept()) {
            visit(&mut objects, &[*known]);
            continue;
        }
        let numbers: Vec<u32> = take(objects.objects.len()).collect();
        visit(&mut objects, &numbers);
        places.entries.insert(id.get(), numbers[0]);
        for (hops, pages) in found {
            let world = part(&entry.value, &hops).and_then(|world| objects.place(world));
            let Some(number) = world.map(|world| numbers[world]) else { continue };
            let first = if pages.is_empty() { number + 1 } else { take(0).start };
            for page in pages {
                let values = save.page_objects(id, &page)?;
                let mut members = Objects::of_page(id.get(), &values);
                let new = take(members.objects.len().saturating_sub(1));
                visit(&mut members, &[number].into_iter().chain(new).collect::<Vec<_>>());
            }
            let world = IndexedWorld { hops, number, first };
            places.worlds.entry(id.get()).or_default().push(world);
        }
    }
    Ok(places)
}

/// The index of the objects so far.
#[derive(Default)]
struct Builder {
    objects: Vec<Indexed>,
    classes: Vec<ClassTotal>,
    class_numbers: HashMap<String, u32>,
    /// The objects of worlds, and the classes of their components.
    components: Vec<(u32, u32)>,
    links: Vec<Link>,
    /// The worlds of objects, the ids of their parents, and their numbers.
    children: Vec<(u32, u64, u32)>,
}

impl Builder {
    fn add(
        &mut self,
        objects: &Objects<'_>,
        numbers: &[u32],
        kinds: &Kinds<'_>,
        hasher: &RandomState,
    ) {
        for (place, number) in numbers.iter().enumerate() {
            let object = &objects.objects[place];
            let world = object.world.map_or(NONE, |world| numbers[world]);
            let is_member = object.class.is_empty();
            if *number as usize == self.objects.len() {
                let name = if object.name.is_empty() { 0 } else { hasher.hash_one(object.name) };
                let class = if is_member { NONE } else { self.class(object.class) };
                self.objects.push(Indexed { id: object.id, bytes: 0, name, world, class });
                self.children.extend(object.parent.map(|parent| (world, parent, *number)));
            }
            for (at, part) in object.parts.iter().enumerate() {
                let class = self.class(part.class);
                // The record of the object itself follows the components.
                if is_member && (at == 0 || at + 1 < object.parts.len()) {
                    self.components.push((*number, class));
                }
                let bytes = self.classes[class as usize].add(part);
                self.objects[*number as usize].bytes += bytes;
            }
            objects.each_target(place, kinds, &mut |to| {
                let to = match to {
                    Target::Place(place) => Target::Place(numbers[place] as usize),
                    Target::Member(world, id) => Target::Member(numbers[world] as usize, id),
                    Target::Entry(id) => Target::Entry(id),
                };
                self.links.push(Link { from: *number, to });
            });
        }
    }

    fn class(&mut self, name: &str) -> u32 {
        if let Some(number) = self.class_numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.classes.len()).unwrap_or(NONE);
        self.class_numbers.insert(name.to_owned(), number);
        self.classes.push(ClassTotal { name: name.to_owned(), ..ClassTotal::default() });
        number
    }

    fn end(mut self, places: Places) -> Index {
        // Like `Objects::name_classes`: the first one of the rarest classes.
        for (number, class) in &self.components {
            let records = |class: u32| self.classes[class as usize].records;
            let known = &mut self.objects[*number as usize].class;
            if *known == NONE || records(*class) < records(*known) {
                *known = *class;
            }
        }
        self.sort_classes();
        let mut members: Vec<(u32, u64, u32)> = (0..)
            .zip(&self.objects)
            .filter(|(_, object)| object.world != NONE)
            .map(|(number, object)| (object.world, object.id, number))
            .collect();
        members.sort_unstable();
        let (outgoing, targets) = self.resolve(&places, &members);
        let mut incoming = vec![0; self.objects.len()];
        let mut is_seen = vec![false; self.objects.len()];
        for (from, targets_of) in outgoing.iter().enumerate() {
            for to in &targets[targets_of.clone()] {
                incoming[*to] += 1;
                is_seen[*to] |= from != *to;
            }
        }
        let unreferenced = (0..self.objects.len()).filter(|object| !is_seen[*object]).collect();
        let cycles = cycles(&outgoing, &targets);
        let (objects, classes) = (self.objects, self.classes);
        Index {
            objects,
            classes,
            places,
            members,
            outgoing,
            targets,
            incoming,
            cycles,
            unreferenced,
        }
    }

    fn sort_classes(&mut self) {
        let mut order: Vec<usize> = (0..self.classes.len()).collect();
        let key = |class: &ClassTotal| (std::cmp::Reverse(class.bytes()), class.name.clone());
        order.sort_by_cached_key(|place| key(&self.classes[*place]));
        let mut ranks = vec![0; order.len()];
        for (rank, place) in (0..).zip(&order) {
            ranks[*place] = rank;
        }
        for object in &mut self.objects {
            object.class = ranks.get(object.class as usize).copied().unwrap_or_default();
        }
        let mut classes = std::mem::take(&mut self.classes);
        self.classes = order.iter().map(|place| std::mem::take(&mut classes[*place])).collect();
    }

    /// Returns the targets of all objects, and the range of those of each.
    fn resolve(
        &mut self,
        places: &Places,
        members: &[(u32, u64, u32)],
    ) -> (Vec<Range<usize>>, Vec<usize>) {
        let links = std::mem::take(&mut self.links).into_iter().filter_map(|link| {
            let to = match link.to {
                Target::Entry(id) => *places.entries.get(&id)?,
                Target::Member(world, id) => member(members, u32::try_from(world).ok()?, id)?,
                Target::Place(place) => u32::try_from(place).ok()?,
            };
            Some((link.from, to))
        });
        let children = std::mem::take(&mut self.children).into_iter();
        let children = children
            .filter_map(|(world, parent, child)| Some((member(members, world, parent)?, child)));
        let mut all: Vec<(u32, u32)> = links.chain(children).collect();
        all.sort_by_key(|(from, _)| *from);
        let (mut ranges, mut start) = (Vec::with_capacity(self.objects.len()), 0);
        for number in 0..self.objects.len() {
            let held = all[start..].iter().take_while(|(from, _)| *from as usize == number).count();
            ranges.push(start..start + held);
            start += held;
        }
        (ranges, all.into_iter().map(|(_, to)| to as usize).collect())
    }
}

impl ClassTotal {
    /// The bytes of its fields.
    pub(crate) fn bytes(&self) -> u64 {
        self.fields.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Counts a record, and returns its bytes.
    fn add(&mut self, part: &Part<'_>) -> u64 {
        self.records += 1;
        let mut sum = 0;
        for (at, (name, value)) in part.fields.iter().enumerate() {
            let bytes = size(value);
            sum += bytes;
            // Nearly always the records of a class have the same fields.
            let place = match self.fields.get(at) {
                Some((known, _)) if known == name => at,
                _ => self.place(name),
            };
            self.fields[place].1 += bytes;
        }
        sum
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.places.insert(name.to_owned(), self.fields.len());
        self.fields.push((name.to_owned(), 0));
        self.fields.len() - 1
    }
}
