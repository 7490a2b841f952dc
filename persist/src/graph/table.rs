use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use super::Registry;
use super::emptying::Emptying;
use super::handles::Handles;
use super::ids::Ids;
use super::pending::Pending;
use crate::codec::{Made, Phase, Prototypes, Shared, Visitor};
use crate::env::Env;
use crate::format::{RecordPlace, Records};
use crate::reflect::Holder;
use crate::schema::{Stored, contested};
use crate::{Error, ErrorKind, Limits, Result};

/// The objects of the load, and the references set aside.
pub(super) struct Table<'l> {
    pub(super) registry: &'l Registry,
    pub(super) limits: &'l Limits,
    ids: Ids,
    /// Names of the classes of what is kept.
    pub(super) kept_names: HashMap<usize, Arc<str>>,
    /// Ids of values that have become objects.
    more_ids: HashMap<u64, u32>,
    /// By record.
    pub(super) entries: Vec<Made>,
    /// Whether an object was whole when it was shared, by record; empty if none was.
    pub(super) built: Vec<bool>,
    /// Index into the registry's object types, by record.
    pub(super) kinds: Vec<Option<TypeIndex>>,
    /// An object of each type, the stand-in while references wait.
    pub(super) stand_ins: Vec<Option<Shared>>,
    /// The classes of the save, and which of the program's they are.
    pub(super) stored: Arc<Stored>,
    pub(super) resolved: Arc<[Option<usize>]>,
    /// The classes of the save whose objects could become several of the program's, and those.
    pub(super) contested: HashMap<usize, Vec<usize>>,
    /// Whether the object's trait objects by value have been rewritten.
    pub(super) rewritten: Vec<bool>,
    /// The records of the save, then those of values that have become objects.
    pub(super) records: Records,
    /// True if every record is an object in its cell, and in the program's form: nothing is kept, made or freed.
    pub(super) is_plain: bool,
    /// True if every object is in its entry before the first one is filled: then a reference
    /// leads to its target as soon as it is decoded.
    pub(super) resolves: bool,
    /// True if a reference was decoded that does not lead to its target yet.
    pub(super) waits: bool,
    /// The references, in the order of decoding.
    pub(super) pending: Vec<Pending>,
    /// Where those of each record begin, in the order of records, and the end.
    pub(super) starts: Vec<u32>,
    /// The record whose references these are first.
    pub(super) first: usize,
    /// True if references are connected a few records after they are decoded, so that only
    /// then their targets are looked at.
    pub(super) in_chunks: bool,
    /// Object types by what references lead to, for references whose targets are not looked at.
    guesses: Vec<(TypeId, TypeIndex)>,
    /// Objects that cannot be emptied, each after those that it holds.
    pub(super) order: Vec<u32>,
    /// Why the decode stopped, if a class is not registered for a trait.
    pub(super) refused: Option<Refused>,
    /// The record that is being filled.
    pub(super) filling: Option<usize>,
    /// Weak references without a target, in the record that is being filled.
    pub(super) dangling: u64,
    /// Class numbers of what became `None`, in the record that is being filled.
    pub(super) nones: Vec<u64>,
    /// Class numbers of what is kept as unknown, likewise.
    pub(super) kept: Vec<u64>,
    /// Records of classes that the program does not have, but that are kept: those
    /// that are still to be filled, and the references of the others.
    pub(super) late: VecDeque<usize>,
    pub(super) late_ranges: HashMap<usize, Range<usize>>,
    pub(super) asked_for: HashSet<usize>,
    pub(super) handles: Handles<'l>,
    /// The classes that traits have, as far as they were asked for.
    casters: Vec<(TypeId, Vec<Option<&'l dyn Any>>)>,
    pub(super) empty_elements: usize,
    /// What the objects and the elements that are large for their bytes take.
    pub(super) held_bytes: u64,
    pub(super) save_bytes: u64,
}

/// From here on the classes of records are the program's: of values that have become objects.
pub(super) const MADE: u32 = Records::MOST_CLASSES;

/// What a decode refused since its class is not registered for a trait.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Refused {
    /// A value of this class.
    Class(usize),
    /// A reference to the object of this record.
    Record(u32),
}

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

impl<'l> Table<'l> {
    pub(super) fn new(
        registry: &'l Registry,
        limits: &'l Limits,
        (ids, records): (Ids, Records),
        stored: Arc<Stored>,
        resolved: Arc<[Option<usize>]>,
        handles: Handles<'l>,
    ) -> Self {
        Self {
            registry,
            limits,
            ids,
            kept_names: HashMap::new(),
            more_ids: HashMap::new(),
            entries: Vec::new(),
            built: Vec::new(),
            kinds: Vec::new(),
            stand_ins: vec![None; registry.objects.len()],
            stored,
            resolved,
            contested: HashMap::new(),
            rewritten: Vec::new(),
            records,
            is_plain: false,
            resolves: false,
            waits: false,
            pending: Vec::new(),
            starts: Vec::new(),
            first: 0,
            in_chunks: false,
            guesses: Vec::new(),
            order: Vec::new(),
            refused: None,
            filling: None,
            dangling: 0,
            nones: Vec::new(),
            kept: Vec::new(),
            late: VecDeque::new(),
            late_ranges: HashMap::new(),
            asked_for: HashSet::new(),
            handles,
            casters: Vec::new(),
            empty_elements: 0,
            held_bytes: 0,
            save_bytes: 0,
        }
    }

    /// The references of a record.
    pub(super) fn range(&self, record: usize) -> Range<usize> {
        let late = if self.late_ranges.is_empty() { None } else { self.late_ranges.get(&record) };
        late.cloned().unwrap_or_else(|| {
            let at = record - self.first;
            self.starts[at] as usize..self.starts[at + 1] as usize
        })
    }

    /// The references of the value that is loaded.
    pub(super) fn root(&self) -> Range<usize> {
        0..self.starts.first().map_or(0, |start| *start as usize)
    }

    /// What is decoded from now on are the references of the next record.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if there are 2^32 references.
    #[inline]
    pub(super) fn begin_record(&mut self) -> Result<()> {
        let Ok(start) = u32::try_from(self.pending.len()) else {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "a save has at most 4294967295 references",
            ));
        };
        self.starts.push(start);
        Ok(())
    }

    /// True if the object was whole when it was shared.
    pub(super) fn is_built(&self, record: usize) -> bool {
        self.built.get(record).copied().unwrap_or(false)
    }

    /// True if a record is of the class, or of any, in the holder.
    pub(super) fn is_target(&self, record: u32, class: Option<usize>, holder: Holder) -> bool {
        let record = self.records.get(record as usize);
        class.is_none_or(|class| class == record.class as usize) && record.holder == holder
    }

    /// True if a value of the class ended the decode; not if the class is registered for
    /// another trait, so that others of it may stand before.
    pub(super) fn is_refused(&self, class: usize) -> bool {
        let elsewhere = self.resolved[class]
            .is_some_and(|class| self.registry.program().implementors.contains(&class));
        self.refused == Some(Refused::Class(class)) && !elsewhere
    }

    /// Refuses an object, or a trait object, of a class that could become several of the program's.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::KindMismatch`](crate::ErrorKind::KindMismatch), with the names of those that may stand in its place.
    pub(super) fn check_contested(
        &mut self,
        class: usize,
        fits: impl Fn(&mut Self, usize) -> bool,
    ) -> Result<()> {
        if self.contested.is_empty() {
            return Ok(());
        }
        let Some(candidates) = self.contested.get(&class) else { return Ok(()) };
        let mut candidates = candidates.clone();
        candidates.retain(|candidate| fits(self, *candidate));
        if candidates.is_empty() {
            return Ok(());
        }
        Err(contested(&self.stored[class].name, self.registry.program(), &candidates))
    }

    /// Name of the class of a record: of the save, or of the program if a value has become
    /// an object.
    pub(super) fn name(&self, class: u32) -> &str {
        match class.checked_sub(MADE) {
            None => &self.stored[class as usize].name,
            Some(class) => &self.registry.program().classes[class as usize].name,
        }
    }

    /// Name of a class of the save, or of what is kept as one.
    pub(super) fn name_of(&self, class: usize) -> String {
        self.stored.schema(class).map_or_else(String::new, |class| class.name.clone())
    }

    /// The record of an object.
    #[inline(always)]
    pub(super) fn find(&self, id: u64) -> Option<u32> {
        match self.ids.find(id) {
            // Mostly no value has become an object; then not even a hash is asked for.
            None if !self.more_ids.is_empty() => self.find_made(id),
            found => found,
        }
    }

    #[cold]
    fn find_made(&self, id: u64) -> Option<u32> {
        self.more_ids.get(&id).copied()
    }

    /// Makes room for every record.
    pub(super) fn reserve(&mut self) {
        let records = self.records.len();
        self.entries.reserve_exact(records);
        self.kinds.reserve_exact(records);
    }

    /// The type of object to which such a reference mostly leads; the target itself is looked
    /// at when it is connected.
    #[inline]
    pub(super) fn guess(&self, pointee: TypeId) -> Option<TypeIndex> {
        self.guesses.iter().find(|(known, _)| *known == pointee).map(|(_, kind)| *kind)
    }

    /// Notes what a reference has led to.
    pub(super) fn learn(&mut self, pointee: TypeId, kind: TypeIndex) {
        const MOST: usize = 16;
        match self.guesses.iter().position(|(known, _)| *known == pointee) {
            Some(known) => self.guesses[known].1 = kind,
            None if self.guesses.len() < MOST => self.guesses.push((pointee, kind)),
            None => {}
        }
    }

    /// Makes an empty object of a type, for the next record.
    #[inline(always)]
    pub(super) fn make(&mut self, object: usize, prototypes: &Prototypes<'_>) -> Result<()> {
        let make = self.registry.objects[object].kind.make;
        make(prototypes, &mut self.entries)?;
        if self.stand_ins[object].is_none() {
            self.stand_ins[object] = match self.entries.last().and_then(Made::shared) {
                Some(shared) => Some(shared.clone()),
                None => self.another(object, prototypes)?,
            };
        }
        Ok(())
    }

    /// An empty object of a type, which is that of no record.
    #[cold]
    pub(super) fn another(
        &self,
        object: usize,
        prototypes: &Prototypes<'_>,
    ) -> Result<Option<Shared>> {
        let mut made = Vec::new();
        (self.registry.objects[object].kind.make)(prototypes, &mut made)?;
        Ok(made.pop().and_then(Made::build))
    }

    /// Enters the object that a value has become, and its record; `made_id` is the id by which
    /// the references to it know it.
    pub(super) fn enter(&mut self, made_id: u64, record: RecordPlace, object: usize) -> Result<()> {
        let place = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.more_ids.insert(made_id, place);
        self.records.push(record);
        self.kinds.push(TypeIndex::new(object));
        self.make(object, &self.registry.prototypes())
    }

    /// How objects of a class of the program become trait objects.
    pub(super) fn caster(&mut self, of: TypeId, class: usize) -> Option<&'l dyn Any> {
        let place = self.casters.iter().position(|(known, _)| *known == of);
        let place = place.unwrap_or_else(|| {
            let registry = self.registry;
            let classes = 0..registry.program().classes.len();
            let found = classes.map(|class| registry.implementors.caster(of, class)).collect();
            self.casters.push((of, found));
            self.casters.len() - 1
        });
        self.casters[place].1.get(class).copied().flatten()
    }

    /// Empties the cells of objects.
    fn empty(&self, records: impl Iterator<Item = usize>) {
        let mut emptying = Emptying(self.registry.prototypes());
        for shared in records.filter_map(|record| self.entries[record].shared()) {
            let mut visitor = Visitor::new(Phase::Dismantle, &Env::FREEING, &mut emptying);
            // One that cannot be emptied, since the program borrows it, is the program's.
            let _ = shared.object().visit_object(&mut visitor);
        }
    }

    /// Frees the objects to which no strong references lead from the value whose
    /// references are the first ones.
    pub(super) fn keep_reached(&mut self, root: Range<usize>) {
        let mut reached = vec![false; self.entries.len()];
        let mut work = vec![root];
        while let Some(range) = work.pop() {
            for reference in &self.pending[range] {
                if let Some(target) = reference.target().filter(|_| !reference.is_weak())
                    && !std::mem::replace(&mut reached[target], true)
                {
                    work.push(self.range(target));
                }
            }
        }
        if reached
            .iter()
            .zip(&self.entries)
            .all(|(reached, entry)| *reached || matches!(entry, Made::Nothing))
        {
            return;
        }
        self.stand_ins.clear();
        let freed = || (0..reached.len()).filter(|record| !reached[*record]);
        if self.resolves {
            self.empty(freed());
        }
        for record in freed() {
            // Nothing that it holds is freed with it: those are stand-ins, or it has been emptied.
            self.entries[record] = Made::Nothing;
            self.kinds[record] = None;
        }
    }
}

/// Frees what an unfinished load has made, cycles and long chains too:
/// while the table holds every object, emptying one frees no other.
impl Drop for Table<'_> {
    fn drop(&mut self) {
        self.stand_ins.clear();
        for entry in &mut self.entries {
            if matches!(entry, Made::Draft(_)) {
                *entry = Made::Nothing;
            }
        }
        self.empty(0..self.entries.len());
        for record in self.order.iter().rev() {
            self.entries[*record as usize] = Made::Nothing;
        }
    }
}
