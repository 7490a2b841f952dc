//! Numbers and ids of objects in a save, and the checks of references to them.

mod identity;
mod object_list;
#[cfg_attr(not(feature = "world"), allow(dead_code, reason = "worlds have pages"))]
mod pages;
mod saver;
mod targets;

pub(crate) use self::targets::{Targets, free_unheld, is_unknown};

#[cfg(feature = "world")]
pub(crate) use self::saver::SavedRoot;
pub(crate) use self::saver::Saver;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use self::identity::AddressMap;
use self::object_list::ObjectList;
use self::pages::FoundPages;
use super::Registry;
use super::components::Edges;
use super::registry::ObjectEntry;
#[cfg(feature = "world")]
use crate::codec::pages::PagedObjects;
use crate::codec::{
    Link, Pointed, Referent, SaveLinks, Shared, Within, charge_empty, not_registered_yet, shared,
};
use crate::format::{ClassNumbers, MAX_ID, RecordLinks};
use crate::reflect::TraitName;
use crate::schema::{PageClasses, Stored};
use crate::sorting::sort;
use crate::{Error, ErrorKind, Limits, Result};

/// Assigns numbers and ids to the objects that a save visits, and queues them for writing.
struct Links<'s> {
    registry: &'s Registry,
    tables: SaveTables,
    /// The objects that had ids before this save. They have the first numbers.
    known: Vec<PriorId>,
    /// The id of the first object after those.
    first_id: u64,
    /// True if the type of a visited object is not known from its pointer alone.
    boxed: bool,
    /// `at` is the number of the object that is being written. `far` counts references to objects whose numbers are far
    /// from it, since [`leads_far`](Self::leads_far) was last called.
    at: u32,
    far: usize,
    max_objects: u64,
    empty_elements: usize,
    /// Memory of the objects by the sizes of their cells, and of the elements that need much memory for their stored
    /// bytes.
    held: u64,
    /// Numbers of classes as implementors, by the type and the trait.
    implementors: HashMap<(TypeId, TypeId), u64>,
    /// The numbers of objects that are pointed at as trait objects, each with the index of the trait in `traits`. Their
    /// classes are known only when they are written.
    claims: Vec<(u32, u32)>,
    traits: Vec<TraitName>,
    /// Objects that are pointed at both as trait objects and as a type.
    types: Vec<(u32, TypeId)>,
    /// The types of written objects, as indices into the registry's objects, where only the inside of a lock or cell
    /// shows the type.
    inside: Vec<(u32, usize)>,
    /// The number of the object that is being written, if it has no cell around it.
    from: Option<u32>,
    /// References from objects without a cell that are in no inner cell either: only `&mut` reaches them.
    bare: Vec<(u32, u32)>,
    /// True if one of them is weak. Without a weak one they cannot form a cycle, since the program could not have built
    /// it.
    bare_weak: bool,
    /// The classes of the page that is being encoded.
    page: Option<PageClasses>,
    /// The result of the visit for each value in the next record that may have pages, by the address of the value.
    pages: HashMap<usize, FoundPages>,
}

/// An object that had an id before the save.
struct PriorId {
    id: u64,
    /// True if the program added it, so that it is written even if nothing points to it.
    added: bool,
}

/// Distance between the numbers of two objects from which the slots of their addresses are rarely in the cache
/// together.
const FAR: u32 = 1 << 15;

impl<'s> Links<'s> {
    fn new(registry: &'s Registry, limits: &Limits, next_id: u64, tables: SaveTables) -> Self {
        Self {
            registry,
            tables,
            known: Vec::new(),
            first_id: next_id,
            boxed: false,
            at: 0,
            far: 0,
            // Numbers have 32 bits.
            max_objects: limits.objects.min(u64::from(u32::MAX - 1)),
            empty_elements: 0,
            held: 0,
            implementors: HashMap::new(),
            claims: Vec::new(),
            traits: Vec::new(),
            types: Vec::new(),
            inside: Vec::new(),
            from: None,
            bare: Vec::new(),
            bare_weak: false,
            page: None,
            pages: HashMap::new(),
        }
    }

    /// Returns the id of the root value, which is written before any object is visited.
    fn take_id(&mut self) -> u64 {
        self.first_id += 1;
        self.first_id - 1
    }

    /// Registers an object with the id that it already has. Called before any other object is visited.
    fn know(&mut self, shared: Shared, id: u64, added: bool) {
        let (number, new) = self.tables.map.insert(shared.address());
        if new {
            self.boxed |= shared.is_boxed();
            self.tables.objects.push(shared);
            self.known.push(PriorId { id, added });
            if added {
                self.tables.queue.add(number);
            }
        }
    }

    /// Returns the id of the object of this number.
    #[inline]
    fn id(&self, number: u32) -> u64 {
        match (number as usize).checked_sub(self.known.len()) {
            Some(new) => self.first_id + new as u64,
            None => self.known[number as usize].id,
        }
    }

    /// Returns the id of the object of this number, and whether the program added it.
    #[inline]
    fn id_and_added(&self, number: u32) -> (u64, bool) {
        (self.id(number), self.known.get(number as usize).is_some_and(|known| known.added))
    }

    /// Returns the number that a class of the program has in the save.
    fn class_number(&mut self, class: usize) -> Result<u64> {
        let classes = &self.registry.program().classes;
        Ok(self.registry.first_numbers.number(&mut self.tables.numbers, class, classes))
    }

    /// Begins the next object. `is_built` says that a load must build it before it is shared, because it has no cell.
    #[inline]
    fn begin(&mut self, number: u32, is_built: bool) {
        self.at = number;
        self.from = is_built.then_some(number);
    }

    /// Records the type of an object that shows only its inside.
    fn see(&mut self, number: u32, object: usize) {
        self.inside.push((number, object));
    }

    /// Returns true if many of the last `objects` objects referred to objects far away, which are not in the cache.
    fn leads_far(&mut self, objects: usize) -> bool {
        std::mem::take(&mut self.far) > objects / 4
    }

    /// Returns the type as which an object was written, if it was written.
    fn written(&self, number: u32) -> Option<&'s ObjectEntry> {
        if !self.tables.queue.has(number) {
            return None;
        }
        let (pointer, object) = self.tables.objects.object(number);
        let index = match object.seen_pointee() {
            Some(pointee) => *self.registry.by_pointee.get(&(pointer, pointee))?,
            None => {
                let place = self.inside.binary_search_by_key(&number, |(number, _)| *number);
                self.inside[place.ok()?].1
            }
        };
        Some(&self.registry.objects[index])
    }

    /// Returns the trait as whose trait object an object was pointed at.
    fn trait_of(&self, number: u32) -> Option<TraitName> {
        let claim = self.claims.iter().find(|(place, _)| *place == number)?;
        Some(self.traits[claim.1 as usize])
    }

    /// Begins the next object, which is unknown data without a stand-in: it is in a cell.
    fn begin_unknown(&mut self) {
        self.from = None;
    }

    /// Checks the references whose targets' types were unknown when they were visited. Called when all objects are
    /// written.
    fn check(&mut self) -> Result<()> {
        sort(&mut self.inside);
        for (number, pointee) in &self.types {
            if self.written(*number).is_some_and(|entry| entry.kind.pointee != *pointee) {
                return Err(two_types(self.id(*number)));
            }
        }
        for (number, of) in &self.claims {
            let of = self.traits[*of as usize];
            if let Some(entry) = self.written(*number)
                && self.registry.implementors().caster((of.id)(), entry.class).is_none()
            {
                let class = &self.registry.program().classes[entry.class].name;
                return Err(not_registered_yet(class, of.name)
                    .in_object(self.id(*number))
                    .in_class(&**class));
            }
        }
        self.check_cycles()
    }

    /// Returns an error if objects without a cell point to each other in a cycle: a load could build none of them
    /// first.
    fn check_cycles(&self) -> Result<()> {
        if !self.bare_weak {
            return Ok(());
        }
        let mut bare = self.bare.clone();
        sort(&mut bare);
        let mut next = bare.into_iter().peekable();
        let is_target =
            |to: &u32| self.written(*to).is_some_and(|entry| entry.kind.holder.is_built());
        let mut edges = Edges::new(self.tables.objects.len());
        for number in (0..).take(self.tables.objects.len()) {
            let targets = std::iter::from_fn(|| next.next_if(|(from, _)| *from == number));
            edges.push(targets.map(|(_, to)| to).filter(is_target));
        }
        match edges.components().cycles(&edges).first() {
            Some(cycle) => {
                let class = self.written(cycle[0]).map_or(0, |entry| entry.class);
                let class = &self.registry.program().classes[class].name;
                let id = self.id(cycle[0]);
                Err(cycle_error(class, cycle.len()).in_object(id).in_class(&**class))
            }
            None => Ok(()),
        }
    }

    /// Checks that a target has the type that the reference says, or notes the check for when the target has been
    /// written.
    #[inline(never)]
    fn check_pointed(&mut self, number: u32, new: bool, pointed: Pointed) -> Result<()> {
        let seen = || self.tables.objects.object(number).1.seen_pointee();
        match pointed {
            Pointed::At(pointee) if !new && self.boxed => match seen() {
                Some(found) if found != pointee => return Err(two_types(self.id(number))),
                Some(_) => {}
                None => self.types.push((number, pointee)),
            },
            Pointed::Unsized(pointee) if !new => {
                if seen() != Some(pointee) {
                    return Err(two_types(self.id(number)));
                }
            }
            Pointed::At(_) | Pointed::Unsized(_) | Pointed::Anything => {}
            Pointed::As(of) => {
                let known = self.traits.iter().position(|known| (known.id)() == (of.id)());
                let of = known.unwrap_or_else(|| {
                    self.traits.push(of);
                    self.traits.len() - 1
                });
                self.claims.push((number, u32::try_from(of).unwrap_or(u32::MAX)));
            }
        }
        Ok(())
    }

    #[cold]
    fn too_many(&self, id: u64) -> Error {
        if id > MAX_ID {
            return error!(ErrorKind::TooLarge, "the object ids are used up");
        }
        let max_objects = self.max_objects;
        error!(
            ErrorKind::TooLarge,
            "the save would have more objects than the limit of {max_objects}; raise `Limits::objects`"
        )
    }
}

/// Returns the error for a cycle of objects without a cell.
#[cold]
pub(super) fn cycle_error(class: &str, length: usize) -> Error {
    let what = match length {
        1 => format!("an object without a cell, a {class}, leads to itself"),
        _ => format!("{length} objects without a cell, one of them a {class}, lead to each other"),
    };
    error!(
        ErrorKind::Unsupported,
        "{what}, so that none could be made before it is there; put the `Weak` that closes the cycle in a `RefCell` or `OnceCell`"
    )
}

#[cold]
fn two_types(id: u64) -> Error {
    error!(
        ErrorKind::WrongClass,
        "object #{id} is pointed at as two types, such as `[T; N]` and `[T]`; use one of them"
    )
    .in_object(id)
}

/// Returns the number of a class where it is written: in a page or in another record.
#[inline]
fn own_number(page: &mut Option<PageClasses>, number: u64, of: Option<(TypeId, TraitName)>) -> u64 {
    page.as_mut().map_or(number, |page| page.number(number, of))
}

impl SaveLinks for Links<'_> {
    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()> {
        // The sum is compared with the length of the save when that is known.
        self.held = self.held.saturating_add(memory);
        charge_empty(&mut self.empty_elements, empty, limits)
    }

    #[inline]
    fn link(&mut self, address: usize, link: Link, target: &dyn Referent) -> Result<u64> {
        let Link { weak, typed, within } = link;
        let (number, new) = self.tables.map.insert(address);
        let id = self.id(number);
        if new {
            let target = shared(target);
            self.boxed |= target.is_boxed();
            self.tables.objects.push(target);
            if u64::from(number) >= self.max_objects || id > MAX_ID {
                return Err(self.too_many(id));
            }
        } else if number.abs_diff(self.at) > FAR {
            self.far += 1;
        }
        // One object is pointed at as several types only if one of them is unsized, such as `[T; N]` and `[T]`.
        if !typed || self.boxed && !new {
            self.check_pointed(number, new, target.pointed())?;
        }
        if !weak {
            self.tables.queue.add(number);
        }
        if within == Within::Bare
            && let Some(from) = self.from
        {
            self.bare.push((from, number));
            self.bare_weak |= weak;
        }
        Ok(id)
    }

    fn class(&mut self, class: TypeId, of: TraitName, name: &dyn Fn() -> String) -> Result<u64> {
        let id = (of.id)();
        if let Some(number) = self.implementors.get(&(class, id)) {
            return Ok(own_number(&mut self.page, *number, Some((class, of))));
        }
        let Some(index) = self.registry.implementor(class, id) else {
            return Err(not_registered_yet(&name(), of.name));
        };
        let number = self.tables.numbers.number(index, &self.registry.program().classes);
        self.implementors.insert((class, id), number);
        Ok(own_number(&mut self.page, number, Some((class, of))))
    }

    #[cfg(feature = "world")]
    fn take_pages(&mut self, address: usize, is_at_top: bool) -> Option<PagedObjects> {
        let FoundPages { objects, charged } = self.pages.remove(&address)?;
        if is_at_top || matches!(objects, PagedObjects::Index(_)) {
            return Some(objects);
        }
        // The value is encoded again, and counted then.
        self.held -= charged.0;
        self.empty_elements -= charged.1;
        None
    }

    fn unknown_class(&mut self, schema: &Arc<dyn Any + Send + Sync>, index: usize) -> Result<u64> {
        match schema.clone().downcast::<Stored>() {
            Ok(schema) => {
                let number = self.tables.numbers.unknown(&schema, index, self.registry.program());
                Ok(own_number(&mut self.page, number, None))
            }
            Err(_) => Err(error!(ErrorKind::Unsupported, "the class of a kept value is lost")),
        }
    }
}

impl RecordLinks for Links<'_> {
    fn numbers(&mut self) -> &mut ClassNumbers {
        &mut self.tables.numbers
    }
}

/// The tables of a save, by the numbers of its objects. They take 32 to 48 bytes for each object.
///
/// A manager keeps the tables between its saves, so that later saves need not allocate.
#[derive(Default)]
pub(crate) struct SaveTables {
    map: AddressMap,
    objects: ObjectList,
    queue: ObjectQueue,
    /// The numbers of classes.
    numbers: ClassNumbers,
}

/// Maximum size in bytes of tables that are reused: those of more than a million objects.
const MAX_REUSED: usize = 64 << 20;

impl SaveTables {
    /// Returns the tables without their content, for the next save.
    #[must_use]
    fn cleared(mut self) -> Self {
        let size = self.map.size() + self.objects.size() + self.queue.size();
        if size > MAX_REUSED {
            return Self::default();
        }
        self.map.clear();
        self.objects.clear();
        self.queue.clear();
        self.numbers.clear();
        self
    }
}

/// A queue of the numbers of objects, without repetition.
///
/// In most graphs the numbers are in order without a gap: every visited object is written, unless only weak pointers
/// lead to it. Then the queue is just a count.
#[derive(Default)]
struct ObjectQueue {
    /// The queue begins with all numbers below this one.
    ordered: u32,
    /// The numbers after them.
    rest: Vec<u32>,
    /// A bit for each number, set if the number is in `rest`.
    in_rest: Vec<u64>,
}

impl ObjectQueue {
    /// Adds a number to the queue, unless it was added before.
    #[inline]
    fn add(&mut self, number: u32) {
        if number < self.ordered {
            return;
        }
        if number == self.ordered && self.rest.is_empty() {
            self.ordered += 1;
        } else {
            self.add_to_rest(number);
        }
    }

    fn add_to_rest(&mut self, number: u32) {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.in_rest.len() {
            self.in_rest.resize(word + 1, 0);
        }
        if self.in_rest[word] & bit == 0 {
            self.in_rest[word] |= bit;
            self.rest.push(number);
        }
    }

    /// Returns true if a number was added to the queue.
    fn has(&self, number: u32) -> bool {
        let word = self.in_rest.get(number as usize / 64).copied().unwrap_or(0);
        number < self.ordered || word >> (number % 64) & 1 == 1
    }

    /// Returns the number at this place of the queue.
    #[inline]
    fn get(&self, place: usize) -> Option<u32> {
        match place.checked_sub(self.ordered as usize) {
            None => u32::try_from(place).ok(),
            Some(place) => self.rest.get(place).copied(),
        }
    }

    fn clear(&mut self) {
        self.ordered = 0;
        self.rest.clear();
        self.in_rest.clear();
    }

    /// Returns the bytes of memory in use.
    fn size(&self) -> usize {
        self.rest.capacity() * size_of::<u32>() + self.in_rest.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(numbers: &[u32]) -> Vec<u32> {
        let mut queue = ObjectQueue::default();
        numbers.iter().for_each(|number| queue.add(*number));
        (0..).map_while(|place| queue.get(place)).collect()
    }

    #[test]
    fn numbers_come_once_in_the_order_in_which_they_were_added() {
        assert_eq!(queue(&[]), [0_u32; 0]);
        assert_eq!(queue(&[0, 1, 0, 2, 1, 2]), [0, 1, 2]);
        assert_eq!(queue(&[0, 1, 3, 2, 3, 1, 2, 70, 4]), [0, 1, 3, 2, 70, 4]);
        assert_eq!(queue(&[5, 0, 5, 1]), [5, 0, 1]);
    }
}
