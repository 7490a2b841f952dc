//! The objects that a load makes, by the records of the save.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::ops::Range;

use hashbrown::HashMap;

use super::Registry;
use super::references::{PendingReference, References};
use crate::codec::{LoadedObject, Phase, Prototypes, Shared, Unknown, Visitor};
use crate::env::Env;
use crate::format::{RecordLocation, Records};
use crate::reflect::Holder;
use crate::{Error, ErrorKind, Result};

/// Index of an object type in the registry; 4 bytes, as an `Option` too.
#[derive(Clone, Copy)]
pub(super) struct TypeIndex(NonZeroU32);

impl TypeIndex {
    pub(super) fn new(index: usize) -> Option<Self> {
        u32::try_from(index + 1).ok().and_then(NonZeroU32::new).map(Self)
    }

    pub(super) fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The objects of a load.
pub(super) struct LoadingObjects<'l> {
    registry: &'l Registry,
    /// The first record, and how many of the first ones have ids that are each one more than that before it.
    ordered: (u64, u64),
    /// The records of the other ids, also of values that have become objects.
    others: HashMap<u64, u32>,
    /// The records of the save, then those of values that have become objects.
    pub(super) records: Records,
    /// By record.
    pub(super) entries: Vec<LoadedObject>,
    /// Index into the registry's object types, by record.
    pub(super) kinds: Vec<Option<TypeIndex>>,
    /// An object of each type, the stand-in while references wait.
    stand_ins: Vec<Option<Shared>>,
    /// Objects that cannot be emptied, each after those that it holds.
    pub(super) order: Vec<u32>,
    /// What this load keeps of each object, by its record, and of the value.
    pub(super) kept: HashMap<usize, Unknown>,
    pub(super) root_kept: Unknown,
}

impl<'l> LoadingObjects<'l> {
    pub(super) fn new(registry: &'l Registry, records: Records) -> Result<Self> {
        if records.len() >= PendingReference::MOST {
            bail!(ErrorKind::TooLarge, "a save has at most 536870910 objects");
        }
        let mut this = Self {
            registry,
            ordered: (0, 0),
            others: HashMap::new(),
            records: Records::default(),
            entries: Vec::new(),
            kinds: Vec::new(),
            stand_ins: vec![None; registry.objects.len()],
            order: Vec::new(),
            kept: HashMap::new(),
            root_kept: Unknown::default(),
        };
        for (record, index) in records.iter().zip(0..) {
            if index == 0 {
                this.ordered.0 = record.id;
            }
            if record.id == this.ordered.0 + this.ordered.1 && this.others.is_empty() {
                this.ordered.1 += 1;
            } else if this.find(record.id).is_some() {
                return Err(used_twice(&record));
            } else {
                this.others.insert(record.id, index);
            }
        }
        this.records = records;
        Ok(this)
    }

    /// Makes room for every record.
    pub(super) fn reserve(&mut self) {
        let records = self.records.len();
        self.entries.reserve_exact(records);
        self.kinds.reserve_exact(records);
    }

    /// The record of an object.
    #[inline(always)]
    pub(super) fn find(&self, id: u64) -> Option<u32> {
        let at = id.wrapping_sub(self.ordered.0);
        if at < self.ordered.1 { u32::try_from(at).ok() } else { self.find_other(id) }
    }

    #[inline(never)]
    fn find_other(&self, id: u64) -> Option<u32> {
        self.others.get(&id).copied()
    }

    /// The object of a record, if others can refer to it.
    #[inline]
    pub(super) fn shared(&self, record: usize) -> Option<&Shared> {
        self.entries[record].shared()
    }

    /// The object that stands for those of a type while references wait.
    #[inline]
    pub(super) fn stand_in(&self, kind: TypeIndex) -> Option<&Shared> {
        self.stand_ins[kind.get()].as_ref()
    }

    /// True if the object was whole when it was shared.
    pub(super) fn is_built(&self, record: usize) -> bool {
        self.kinds[record].is_some() && self.records.get(record).holder.is_built()
    }

    /// True if a record is of the class, or of any, in the holder.
    pub(super) fn is_target(&self, record: u32, class: Option<usize>, holder: Holder) -> bool {
        let record = self.records.get(record as usize);
        class.is_none_or(|class| class == record.class as usize) && record.holder == holder
    }

    /// Makes an empty object of a type, for the next record.
    #[inline(always)]
    pub(super) fn make(&mut self, object: usize, prototypes: &Prototypes<'_>) -> Result<()> {
        let make = self.registry.objects[object].kind.make;
        make(prototypes, &mut self.entries)?;
        self.kinds.push(TypeIndex::new(object));
        if self.stand_ins[object].is_none() {
            self.stand_ins[object] = match self.entries.last().and_then(LoadedObject::shared) {
                Some(shared) => Some(shared.clone()),
                None => self.another(object, prototypes)?,
            };
        }
        Ok(())
    }

    /// An empty object of a type, which is that of no record.
    #[cold]
    fn another(&self, object: usize, prototypes: &Prototypes<'_>) -> Result<Option<Shared>> {
        let mut made = Vec::new();
        (self.registry.objects[object].kind.make)(prototypes, &mut made)?;
        Ok(made.pop().and_then(LoadedObject::build))
    }

    /// Says that the next record becomes no object.
    pub(super) fn skip(&mut self) {
        self.entries.push(LoadedObject::Nothing);
        self.kinds.push(None);
    }

    /// Says that a record becomes an object of a type, which it is not yet.
    pub(super) fn expect(&mut self, record: usize, object: usize) -> Result<()> {
        if self.stand_ins[object].is_none() {
            self.stand_ins[object] = self.another(object, &self.registry.prototypes())?;
        }
        self.kinds[record] = TypeIndex::new(object);
        Ok(())
    }

    /// Enters the object that a value has become, and its record; `made_id` is the id by which
    /// the references to it know it.
    pub(super) fn enter(
        &mut self,
        made_id: u64,
        record: RecordLocation,
        object: usize,
    ) -> Result<()> {
        let place = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.others.insert(made_id, place);
        self.records.push(record);
        self.make(object, &self.registry.prototypes())
    }

    /// Empties the cells of objects.
    fn empty(&self, records: impl Iterator<Item = usize>) {
        let mut emptying = self.registry.prototypes();
        for shared in records.filter_map(|record| self.shared(record)) {
            let mut visitor = Visitor::new(Phase::Dismantle, &Env::FREEING, &mut emptying);
            // One that cannot be emptied, since the program borrows it, is the program's.
            let _ = shared.object().visit_object(&mut visitor);
        }
    }

    /// Frees the objects to which no strong references lead from the value whose references are at these places, and
    /// returns them. `resolved` says that references lead to their targets already.
    pub(super) fn keep_reached(
        &mut self,
        root: Range<usize>,
        references: &References,
        resolved: bool,
    ) -> BTreeSet<usize> {
        let mut reached = vec![false; self.entries.len()];
        let mut work = vec![root];
        while let Some(places) = work.pop() {
            for reference in references.in_places(places) {
                if let Some(target) = reference.target().filter(|_| !reference.is_weak())
                    && !std::mem::replace(&mut reached[target], true)
                {
                    work.push(references.of(target));
                }
            }
        }
        let is_there = |record: &usize| !matches!(self.entries[*record], LoadedObject::Nothing);
        let freed = (0..reached.len()).filter(|record| !reached[*record] && is_there(record));
        let freed: BTreeSet<usize> = freed.collect();
        if freed.is_empty() {
            return freed;
        }
        self.stand_ins.clear();
        if resolved {
            self.empty(freed.iter().copied());
        }
        for record in &freed {
            // Nothing that it holds is freed with it: those are stand-ins, or it has been emptied.
            self.entries[*record] = LoadedObject::Nothing;
            self.kinds[*record] = None;
        }
        freed
    }

    /// Lets go of the stand-ins: no reference is decoded any more.
    pub(super) fn drop_stand_ins(&mut self) {
        self.stand_ins.clear();
    }
}

/// Frees what an unfinished load has made, cycles and long chains too:
/// while the table holds every object, emptying one frees no other.
impl Drop for LoadingObjects<'_> {
    fn drop(&mut self) {
        self.stand_ins.clear();
        self.kept.clear();
        for entry in &mut self.entries {
            if matches!(entry, LoadedObject::Draft(_)) {
                *entry = LoadedObject::Nothing;
            }
        }
        self.empty(0..self.entries.len());
        for record in self.order.iter().rev() {
            self.entries[*record as usize] = LoadedObject::Nothing;
        }
    }
}

#[cold]
fn used_twice(record: &RecordLocation) -> Error {
    error!(
        ErrorKind::DuplicateId,
        "object id #{} is used by two records; the save is damaged or made to harm", record.id
    )
    .at(record.start as u64)
    .in_object(record.id)
}
