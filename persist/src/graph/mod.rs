//! Saves and loads graphs: objects, and the shared pointers between them.
//!
//! An *object* is the target of an `Rc` or `Arc`. Each object is one record in the save, and a pointer to it is stored
//! as its id. A save turns pointers into ids, and a load turns ids into pointers.
//!
//! ```text
//!  save   objects --Links--> numbers, ids --codec--> records --format::Writer--> bytes
//!         ^ AddressMap, ObjectList, ObjectQueue
//!
//!  load   bytes --format::Scan--> records --create--> empty objects
//!         records --rewrite?--> payloads --fill--> objects, with placeholders where pointers will be
//!                                              \--> References: record, target, flags
//!         drafts --build--> objects --connect--> pointers --hooks, seal--> LoadedObjects
//! ```
//!
//! # Parts
//!
//! - Classes: `registry` (enter, check and look up classes), `schemas` (a cache of matched schemas).
//! - Save: `save` (numbers, ids and checks of references, with the tables of a running save). In it: `saver` (the work
//!   list), `identity` (addresses to numbers), `object_list`, `targets` (lists what an object refers to), `pages` (writes
//!   the pages of the worlds in a record).
//! - Load: `load` is the state of a load: the table that decoders see, and the objects by record. In it: `loader` drives
//!   the passes, `decode` resolves references, `connect` points them at their objects. `rewrite` converts records,
//!   decides which unknown objects are kept and checks the load policy. `unknown` keeps unknown data, `pages` passes the pages of a record to its worlds. `fault` finds the
//!   field of an error. `outcome` is the result. This file has the references to connect, the renumbering of handles,
//!   and the counts for the report.
//! - Both: `components` (cycles and an order for building, by Tarjan's algorithm).
//!
//! # A save
//!
//! 1. The roots get numbers and enter the queue: the objects that the program added, or the root value.
//! 2. The next object of the queue is encoded into a record. Each pointer in it goes through [`save`]: an address that
//!    is new gets the next number and id, and its object enters the queue if the pointer is strong. Then the unknown
//!    data of the object is written.
//! 3. When the queue is empty, `Links::check` checks references whose targets' types were unknown before. It also
//!    refuses cycles of objects without cells, which a load could not build.
//!
//! The saver holds a pointer to each visited object until the end. Otherwise an address could be reused, and two
//! objects would become one.
//!
//! # A load
//!
//! 1. *Scan* (`format`): read checksums, definitions and record heads. The schema is matched with the program's
//!    classes.
//! 2. *Create*: make every object empty. An object with a cell is shared at once. One without a cell is a *draft*.
//! 3. *Fill*: decode each record, rewritten first if its form is not the program's. Each reference is checked, listed
//!    in `References`, and points to a *placeholder* of its target's type. Deferred records follow: objects of unknown
//!    classes, and objects that have become values. In a save of objects all unknown objects are kept, in a save of a
//!    value those that something refers to. Then unused objects are freed, and the load policy is checked.
//! 4. *Build*: share each draft after the targets that it holds outside of cells.
//! 5. *Connect*: visit the objects again, and point their references at the targets, in the order of decoding.
//! 6. *Hooks*: `validate` for all objects, then `after_load`.
//! 7. *Seal*: set the contents of once cells that close cycles, when nothing can fail any more.
//!
//! Passes 3 and 5 can be merged. `Loader::choose_strategy` chooses one of four, [`load::Strategy`]:
//!
//! | strategy | when | references are connected |
//! | --- | --- | --- |
//! | `AtOnce` | plain save, up to 16,384 records | while they are decoded |
//! | `InChunks` | plain save, more records, no root value, no hooks | after each 128 records |
//! | `AfterAll` | plain save, more records, a root value or hooks | when all records are decoded |
//! | `Rewritten` | all other saves | when all records are decoded, and unknown ones are kept |
//!
//! A save is *plain* if all records have the program's form, nothing is unknown, and every object has a cell. Chunks
//! exist because looking at a random target is a cache miss: one short loop touches the targets of a chunk, so that the
//! misses overlap. `docs/internals/decisions.md` explains the order of passes under "graph".
//!
//! # Words
//!
//! - *record*: an object in the save, or its index there. *number*: the index of an object in a running save.
//! - *holder*: the pointer and the cell around an object, such as `Rc<RefCell<_>>`. *bare*: outside of any cell.
//! - *once cell*: a cell that can be set only once, such as `OnceCell`. *draft*: an object that is not shared yet.
//! - *placeholder*: the object to which references point while they wait for their target.
//! - *stand-in*: the struct that represents the unknown classes of a trait, in `registry` and `unknown`.
//! - *unknown*: data of classes or fields that the program does not have. It is kept, and saved again.

mod components;
mod load;
mod registry;
mod save;
mod schemas;
mod unknown_at;

use std::any::TypeId;
use std::collections::HashMap;
use std::ops::Range;

use crate::codec::{Fail, Remapped, Within};
use crate::schema::{LoadEvent, Occurrences};
use crate::types::Renumber;
use crate::{Error, ErrorKind, Result};

pub(crate) use components::Edges;
pub(crate) use load::{LoadOutcome, LoadedObjects, Loader};
pub(crate) use registry::Implementors;
pub use registry::{Registry, SharedPointer};
#[cfg(feature = "world")]
pub(crate) use save::SavedRoot;
pub(crate) use save::{SaveTables, Saver, Targets, free_unheld, is_unknown};
#[cfg(feature = "world")]
pub(crate) use unknown_at::encode_unknown_at;

/// A decoded reference: the record of its target, and flags that say where the reference is. It takes 4 bytes, since a
/// save may have many more references than objects.
#[derive(Clone, Copy)]
struct PendingReference(u32);

/// Selects the references that one pass connects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// All references of the object.
    Whole,
    /// References outside of cells, which only `&mut` reaches.
    Bare,
    /// References inside cells.
    Cells,
}

const WEAK: u32 = 1 << 31;
const IN_CELL: u32 = 1 << 30;
const IN_ONCE: u32 = 1 << 29;
const TARGET: u32 = IN_ONCE - 1;

impl PendingReference {
    /// Maximum number of records: larger indices do not fit beside the flags.
    const MAX_RECORDS: usize = TARGET as usize;

    /// Makes a reference to a record, or to none.
    fn new(target: Option<u32>, weak: bool, within: Within) -> Self {
        let place = match within {
            Within::Bare => 0,
            Within::Cell => IN_CELL,
            Within::Once => IN_ONCE,
        };
        Self(target.unwrap_or(TARGET) | place | if weak { WEAK } else { 0 })
    }

    fn target(self) -> Option<usize> {
        let target = self.0 & TARGET;
        (target != TARGET).then_some(target as usize)
    }

    fn is_weak(self) -> bool {
        self.0 & WEAK != 0
    }

    fn is_bare(self) -> bool {
        self.0 & (IN_CELL | IN_ONCE) == 0
    }

    /// Returns true if this is a strong reference in a cell that can be set only once.
    fn is_strong_once(self) -> bool {
        self.0 & (WEAK | IN_CELL | IN_ONCE) == IN_ONCE
    }

    /// Returns true if this is a strong reference that cannot be removed once its object is shared.
    fn is_permanent(self) -> bool {
        self.0 & (WEAK | IN_CELL) == 0
    }

    fn closes_cycle(self) -> bool {
        self.0 & (IN_CELL | IN_ONCE) == IN_CELL | IN_ONCE
    }

    fn is_of(self, pass: Pass) -> bool {
        match pass {
            Pass::Whole => true,
            Pass::Bare => self.is_bare(),
            Pass::Cells => !self.is_bare(),
        }
    }
}

/// All references in the order in which they were decoded, with the range of each record.
#[derive(Default)]
struct References {
    all: Vec<PendingReference>,
    /// Index of the first reference of each record, in the order of records, then the number of references.
    starts: Vec<u32>,
    /// The record with the first entry in `starts`. Earlier records are connected and forgotten.
    first: usize,
    /// The references of records that were decoded after all others, out of order.
    deferred: HashMap<usize, Range<usize>>,
}

impl References {
    /// Reserves memory for the ranges of that many records.
    fn reserve(&mut self, records: usize) {
        self.starts.reserve_exact(records + 1);
    }

    #[inline]
    fn push(&mut self, reference: PendingReference) {
        self.all.push(reference);
    }

    /// Removes the last reference.
    fn pop(&mut self) {
        self.all.pop();
    }

    /// Removes the references after the first `len`.
    fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }

    fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    fn get(&self, place: usize) -> PendingReference {
        self.all[place]
    }

    fn in_places(&self, places: Range<usize>) -> &[PendingReference] {
        &self.all[places]
    }

    fn all(&self) -> &[PendingReference] {
        &self.all
    }

    /// Begins the next record: references that are pushed after this call belong to it.
    #[inline]
    fn begin_record(&mut self) -> Result<()> {
        let Ok(start) = u32::try_from(self.all.len()) else {
            bail!(ErrorKind::TooLarge, "a save has at most 4294967295 references");
        };
        self.starts.push(start);
        Ok(())
    }

    /// Returns the range of the references of a record.
    fn of(&self, record: usize) -> Range<usize> {
        let deferred = if self.deferred.is_empty() { None } else { self.deferred.get(&record) };
        deferred.cloned().unwrap_or_else(|| {
            let at = record - self.first;
            self.starts[at] as usize..self.starts[at + 1] as usize
        })
    }

    /// Returns the range of the references of the root value.
    fn of_root(&self) -> Range<usize> {
        0..self.starts.first().map_or(0, |start| *start as usize)
    }

    /// Returns the references of several records that were decoded in their order.
    fn of_records(&self, records: Range<usize>) -> &[PendingReference] {
        let start = |record: usize| self.starts[record - self.first] as usize;
        &self.all[start(records.start)..start(records.end)]
    }

    /// Returns the records that have begun, up to the one that the next call of [`begin_record`](Self::begin_record)
    /// begins.
    fn begun(&self) -> Range<usize> {
        self.first..self.first + self.starts.len()
    }

    /// Gives a record all references from `start` on. The record is one that is decoded after all others.
    fn end_deferred(&mut self, record: usize, start: usize) {
        self.deferred.insert(record, start..self.all.len());
    }

    /// Returns true if a record was decoded after all others.
    fn is_deferred(&self, record: usize) -> bool {
        !self.deferred.is_empty() && self.deferred.contains_key(&record)
    }

    /// Marks a reference in a once cell as one that closes a cycle, by a combination of flags that no other reference
    /// has.
    fn set_closes_cycle(&mut self, place: usize) {
        self.all[place].0 |= IN_CELL | IN_ONCE;
    }

    /// Reorders the references since `start`: first those of `ranges[0]`, then those of `ranges[1]`, ...
    fn reorder(&mut self, start: usize, ranges: &[Range<usize>]) {
        let ordered: Vec<PendingReference> =
            ranges.iter().flat_map(|range| &self.all[range.clone()]).copied().collect();
        self.all.truncate(start);
        self.all.extend(ordered);
    }

    /// Forgets all references, when they are connected. The next record is `next`.
    fn forget(&mut self, next: usize) {
        self.first = next;
        self.starts.clear();
        self.all.clear();
    }
}

/// The renumbering of handles in a load, and what it has changed so far.
struct Handles<'l> {
    remap: Option<&'l mut dyn Renumber>,
    /// True if a handle of the current record was changed.
    changed: bool,
    /// Arena and bits of the handle whose refusal ended a decode.
    refused: Option<(&'static str, u64)>,
    /// Number of handles that got new ids.
    remapped: u64,
}

impl<'l> Handles<'l> {
    fn new(remap: Option<&'l mut dyn Renumber>) -> Self {
        Self { remap, changed: false, refused: None, remapped: 0 }
    }

    /// Resets the state of the record before the next one is decoded.
    fn begin(&mut self) {
        self.changed = false;
        self.refused = None;
    }

    /// Returns the arena of this name, if its handles may get new ids.
    fn arena(&self, name: &str) -> Option<(TypeId, &'static str)> {
        self.remap.as_ref()?.arena(name)
    }

    /// Renumbers a handle in a record, given by class and object id, and counts what happened to it.
    fn find(
        &mut self,
        arena: TypeId,
        bits: u64,
        record: (u32, u64),
        tally: &mut Tally,
    ) -> Result<Remapped> {
        let (class, object) = record;
        let Some(remap) = &mut self.remap else { return Ok(Remapped::Live(bits)) };
        let Some(found) = remap.renumber(arena, bits)? else { return Ok(Remapped::Live(bits)) };
        match found {
            Remapped::Live(_) => self.remapped += 1,
            Remapped::Null => tally.add(LoadEvent::Nulled, class, object),
            Remapped::Dead => tally.add(LoadEvent::Dead, class, object),
        }
        self.changed = true;
        Ok(found)
    }

    /// Returns the error for a record that failed to decode. If the remap made two handles equal, the error says so.
    #[cold]
    fn explain(&self, fail: Fail) -> Error {
        let error = Error::from(fail);
        if fail != Fail::Duplicate || !self.changed {
            return error;
        }
        error!(
            ErrorKind::InvalidValue,
            "{}, since the remap made two handles equal; give each a new id of its own, and those without one `UnmappedHandle::Dead`",
            error.message()
        )
    }
}

/// Counts load events by event and class of the save.
#[derive(Default)]
struct Tally(HashMap<(LoadEvent, u32), Occurrences>);

impl Tally {
    /// Counts an event in an object. Objects may come in any order.
    fn add(&mut self, event: LoadEvent, class: u32, object: u64) {
        let run = self.0.entry((event, class)).or_insert(Occurrences { count: 0, first: object });
        *run = Occurrences { count: run.count + 1, first: run.first.min(object) };
    }

    /// Returns true if the load skipped parts of records that otherwise match the program's form.
    fn passes_over(&self) -> bool {
        self.0.keys().any(|(event, _)| event.passes_over())
    }

    /// Iterates over the counts of one event by class.
    fn of(&self, event: LoadEvent) -> impl Iterator<Item = (u32, Occurrences)> {
        let runs = self.0.iter().filter(move |((of, _), _)| *of == event);
        runs.map(|((_, class), run)| (*class, *run))
    }
}
