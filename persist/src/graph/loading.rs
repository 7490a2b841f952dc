//! The objects that a load creates, by the records of the save.

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

/// Index of an object type in the registry. It takes 4 bytes, also as an `Option`.
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
    /// The id of the first record, and the number of first records whose ids count up from it by one. Most saves have
    /// only such ids, and need no hash table.
    ordered: (u64, u64),
    /// The records of all other ids, also of values that have become objects.
    others: HashMap<u64, u32>,
    /// The records of the save, then those of values that have become objects.
    pub(super) records: Records,
    /// The objects, by record.
    pub(super) entries: Vec<LoadedObject>,
    /// Index into the registry's object types, by record. `None` if the record becomes no object.
    pub(super) kinds: Vec<Option<TypeIndex>>,
    /// An object of each type: references point to it while they wait for their targets.
    placeholders: Vec<Option<Shared>>,
    /// The drafts in the order of building: each comes after the objects that it holds.
    pub(super) order: Vec<u32>,
    /// The unknown data of each object, by its record, and of the root value.
    pub(super) unknown: HashMap<usize, Unknown>,
    pub(super) root_unknown: Unknown,
}

impl<'l> LoadingObjects<'l> {
    pub(super) fn new(registry: &'l Registry, records: Records) -> Result<Self> {
        if records.len() >= PendingReference::MAX_RECORDS {
            bail!(ErrorKind::TooLarge, "a save has at most 536870910 objects");
        }
        let mut this = Self {
            registry,
            ordered: (0, 0),
            others: HashMap::new(),
            records: Records::default(),
            entries: Vec::new(),
            kinds: Vec::new(),
            placeholders: vec![None; registry.objects.len()],
            order: Vec::new(),
            unknown: HashMap::new(),
            root_unknown: Unknown::default(),
        };
        for (record, index) in records.iter().zip(0..) {
            if index == 0 {
                this.ordered.0 = record.id;
            }
            if record.id == this.ordered.0 + this.ordered.1 && this.others.is_empty() {
                this.ordered.1 += 1;
            } else if this.find(record.id).is_some() {
                return Err(duplicate_id(&record));
            } else {
                this.others.insert(record.id, index);
            }
        }
        this.records = records;
        Ok(this)
    }

    /// Reserves memory for every record.
    pub(super) fn reserve(&mut self) {
        let records = self.records.len();
        self.entries.reserve_exact(records);
        self.kinds.reserve_exact(records);
    }

    /// Returns the index of the record of an object.
    #[inline(always)]
    pub(super) fn find(&self, id: u64) -> Option<u32> {
        let at = id.wrapping_sub(self.ordered.0);
        if at < self.ordered.1 { u32::try_from(at).ok() } else { self.find_other(id) }
    }

    #[inline(never)]
    fn find_other(&self, id: u64) -> Option<u32> {
        self.others.get(&id).copied()
    }

    /// Returns the object of a record, if others can refer to it.
    #[inline]
    pub(super) fn shared(&self, record: usize) -> Option<&Shared> {
        self.entries[record].shared()
    }

    /// Returns the object to which references point while they wait for a target of this type.
    #[inline]
    pub(super) fn placeholder(&self, kind: TypeIndex) -> Option<&Shared> {
        self.placeholders[kind.get()].as_ref()
    }

    /// Returns true if the object has no cell, and was therefore complete when it was shared.
    pub(super) fn is_built(&self, record: usize) -> bool {
        self.kinds[record].is_some() && self.records.get(record).holder.is_built()
    }

    /// Returns true if a record has the holder and the class. `None` stands for any class.
    pub(super) fn is_target(&self, record: u32, class: Option<usize>, holder: Holder) -> bool {
        let record = self.records.get(record as usize);
        class.is_none_or(|class| class == record.class as usize) && record.holder == holder
    }

    /// Creates an empty object of a type for the next record.
    #[inline(always)]
    pub(super) fn make(&mut self, object: usize, prototypes: &Prototypes<'_>) -> Result<()> {
        let make = self.registry.objects[object].kind.make;
        make(prototypes, &mut self.entries)?;
        self.kinds.push(TypeIndex::new(object));
        if self.placeholders[object].is_none() {
            self.placeholders[object] = match self.entries.last().and_then(LoadedObject::shared) {
                Some(shared) => Some(shared.clone()),
                None => self.another(object, prototypes)?,
            };
        }
        Ok(())
    }

    /// Creates an empty object of a type for no record: a placeholder of a type whose objects are drafts.
    #[cold]
    fn another(&self, object: usize, prototypes: &Prototypes<'_>) -> Result<Option<Shared>> {
        let mut created = Vec::new();
        (self.registry.objects[object].kind.make)(prototypes, &mut created)?;
        Ok(created.pop().and_then(LoadedObject::build))
    }

    /// Adds the next record, which becomes no object.
    pub(super) fn skip(&mut self) {
        self.entries.push(LoadedObject::Nothing);
        self.kinds.push(None);
    }

    /// Sets the type of object that a record will become.
    pub(super) fn expect(&mut self, record: usize, object: usize) -> Result<()> {
        if self.placeholders[object].is_none() {
            self.placeholders[object] = self.another(object, &self.registry.prototypes())?;
        }
        self.kinds[record] = TypeIndex::new(object);
        Ok(())
    }

    /// Adds an object that was a value in the save, and its record. References know it by `temporary_id`.
    pub(super) fn enter(
        &mut self,
        temporary_id: u64,
        record: RecordLocation,
        object: usize,
    ) -> Result<()> {
        let place = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.others.insert(temporary_id, place);
        self.records.push(record);
        self.make(object, &self.registry.prototypes())
    }

    /// Empties the cells of objects, so that they hold no other objects.
    fn empty(&self, records: impl Iterator<Item = usize>) {
        let mut emptying = self.registry.prototypes();
        for shared in records.filter_map(|record| self.shared(record)) {
            let mut visitor = Visitor::new(Phase::Dismantle, &Env::FREEING, &mut emptying);
            // An object that is borrowed is in use by the program, and cannot be emptied.
            let _ = shared.object().visit_object(&mut visitor);
        }
    }

    /// Frees the objects that the root value does not reach by strong references, and returns their records. `root` has
    /// the places of the root's references. `resolved` says that references point to their targets already.
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
        let is_present = |record: &usize| !matches!(self.entries[*record], LoadedObject::Nothing);
        let freed = (0..reached.len()).filter(|record| !reached[*record] && is_present(record));
        let freed: BTreeSet<usize> = freed.collect();
        if freed.is_empty() {
            return freed;
        }
        self.placeholders.clear();
        if resolved {
            self.empty(freed.iter().copied());
        }
        for record in &freed {
            // This frees no other object: the object holds placeholders, or it has been emptied.
            self.entries[*record] = LoadedObject::Nothing;
            self.kinds[*record] = None;
        }
        freed
    }

    /// Drops the placeholders. No reference may be decoded after this.
    pub(super) fn drop_placeholders(&mut self) {
        self.placeholders.clear();
    }
}

/// Frees the objects of a load that failed, including cycles and long chains. While the table holds every object,
/// emptying one of them frees no other, so there is no deep recursion.
impl Drop for LoadingObjects<'_> {
    fn drop(&mut self) {
        self.placeholders.clear();
        self.unknown.clear();
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
fn duplicate_id(record: &RecordLocation) -> Error {
    error!(
        ErrorKind::DuplicateId,
        "object id #{} is used by two records; the save is damaged or malicious", record.id
    )
    .at(record.start as u64)
    .in_object(record.id)
}
