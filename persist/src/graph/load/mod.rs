//! The state of a load: objects, references and the classes of the save. The [module page](super) lists the files.

mod connect;
mod decode;
mod fault;
mod loader;
mod outcome;
mod pages;
mod rewrite;
mod unknown;

pub(crate) use self::outcome::{LoadOutcome, LoadedObjects};

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use self::pages::{FailedPage, LoadedPage};
use super::{Handles, PendingReference, References, Registry, Tally};
use crate::codec::{LoadedObject, Phase, Prototypes, Shared, Unknown, UnknownStep, Visitor};
use crate::env::Env;
use crate::format::{MAX_ID, RecordLocation, Records};
use crate::reflect::Holder;
use crate::schema::{DefaultedField, KeptPart, LoadEvent, Plans, contested};
use crate::types::Renumber;
use crate::{Error, ErrorKind, Result};

/// Returns the event for unknown content with a path: an option whose value is kept is `None` in the program.
fn kept_event(path: &[UnknownStep]) -> LoadEvent {
    match path.last() {
        Some(UnknownStep::Content) => LoadEvent::Unregistered,
        _ => LoadEvent::Kept,
    }
}

/// The objects of a load and their references, with everything that a decoder needs to know of the save.
struct Table<'l> {
    #[cfg(feature = "world")]
    save: &'l [u8],
    registry: &'l Registry,
    env: &'l Env<'l>,
    plans: Plans<'l>,
    objects: LoadingObjects<'l>,
    references: References,
    handles: Handles<'l>,
    /// Counts for the report of the load.
    tally: Tally,
    /// Names of the classes of unknown values, by class.
    unknown_names: HashMap<usize, Arc<str>>,
    strategy: Strategy,
    /// True if some decoded reference points to a placeholder and must be connected later.
    waits: bool,
    /// Object types of the last targets by the type of the reference. They stand in for looking at the target of a
    /// reference.
    guesses: Vec<(TypeId, TypeIndex)>,
    /// The value or object that stopped the decode, because its class is not registered for a trait.
    refused: Option<Unregistered>,
    /// Class and id of the record that is being decoded.
    record: (u32, u64),
    /// The fields of that record that get their default values without a conversion.
    defaulted: DefaultedFields,
    /// `requested` has the records of unknown classes that are kept. `deferred` has the records to decode after all
    /// others.
    deferred: VecDeque<usize>,
    requested: HashSet<usize>,
    /// The pages of the record that is being read, in their order.
    pages: Vec<LoadedPage>,
    /// The numbers in the save of the classes of the page that is being read.
    page_numbers: Option<Arc<[u64]>>,
    /// True while a record is decoded that was rewritten. In any other, `UnknownAt::NUMBER` is no class.
    is_rewritten: bool,
    failed_page: Option<FailedPage>,
    /// Contents of once cells that an earlier visit of an object set aside, by record.
    once_contents: HashMap<usize, OnceContents>,
    empty_elements: usize,
    /// `held` is the memory of the objects, and of the elements that need much memory for their stored bytes.
    /// `max_held` is its limit.
    held: u64,
    max_held: u64,
    save_bytes: u64,
}

/// First id for values that have become objects, while they are decoded. All ids of the save are smaller, also those of
/// references to objects that the save lacks.
const FIRST_TEMPORARY_ID: u64 = MAX_ID + 1;

/// Loads a graph in passes. Every object is created empty. Each record is decoded, and its references are listed as
/// ids. Then ids become pointers; in most saves this happens while other records are still to be decoded. Then hooks
/// run.
pub(crate) struct Loader<'l> {
    save: &'l [u8],
    table: Table<'l>,
    outcome: LoadOutcome,
    /// Buffer for a record that is rewritten into the program's form.
    scratch: Vec<u8>,
    /// The records of unknown data that earlier programs kept, by the id of its object.
    earlier: HashMap<u64, Vec<RecordLocation>>,
    /// The pages of each record, by its id, in their order.
    pages: HashMap<u64, Vec<RecordLocation>>,
    /// The payloads of records with pages that have their objects in them, by the ids of the records.
    wholes: HashMap<u64, Arc<[u8]>>,
    /// True if all records were checked by the schema of the save.
    is_checked: bool,
    /// Payloads of values that have become objects, each with its defaulted fields.
    promoted: Vec<(Vec<u8>, Vec<DefaultedField>)>,
    /// Values that were synthesized for fields of the record that was rewritten last, each with its class.
    synthesized: Vec<(usize, Vec<u8>)>,
    /// The unknown fields of values inside of it.
    parts: Vec<KeptPart>,
    /// `next_id` is the next temporary id for a value that becomes an object. `first_free` is the first final id for
    /// those.
    next_id: u64,
    first_free: u64,
    /// Records of objects that have become values of other objects. A load decodes such an object only if a reference
    /// needs it.
    waiting: HashSet<usize>,
}

/// When a load points its references at their targets.
///
/// A save is *plain* if every record is in the program's form and becomes an object in a cell. Then nothing is unknown,
/// converted or freed, the passes for those are skipped, and every object is in its cell before the first record is
/// decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strategy {
    /// A plain save of few records: each reference points to its target as soon as it is decoded.
    AtOnce,
    /// A plain save of many records: the references of each chunk of records are connected after it. Looking at a
    /// random target is a cache miss, and one short loop over the targets of a chunk makes the misses overlap.
    /// Connecting a once cell runs the hooks of its content, which need all objects: so a class with hooks excludes
    /// chunks, and so does a save of one value.
    InChunks,
    /// A plain save of many records with hooks or one value: references are connected when all records are decoded.
    AfterAll,
    /// Any other save: records are rewritten, kept as unknown or freed before references are connected.
    Rewritten,
}

impl Strategy {
    fn is_plain(self) -> bool {
        self != Self::Rewritten
    }
}

/// Contents of cells that can be set only once, in the order in which a visit comes to them.
type OnceContents = VecDeque<Option<Box<dyn Any>>>;

/// Class numbers of records from this one on are classes of the program, for values that have become objects. Smaller
/// ones are classes of the save.
const OWN_CLASS: u32 = Records::MAX_CLASSES;

/// The part of a save that a decode refused, because its class is not registered for a trait.
#[derive(Clone, Copy, PartialEq)]
enum Unregistered {
    /// A value of this class.
    Class(usize),
    /// A reference to the object of this record.
    Record(u32),
}

/// The fields of a rewritten record that get their default values without a conversion.
#[derive(Default)]
struct DefaultedFields {
    fields: Vec<DefaultedField>,
    /// Length of the rewritten record in bytes.
    length: usize,
}

impl DefaultedFields {
    pub(crate) fn new(fields: Vec<DefaultedField>, length: usize) -> Self {
        Self { fields, length }
    }

    fn clear(&mut self) {
        self.fields.clear();
    }

    /// Returns the fields that begin where `left` bytes of the record are left.
    fn at(&self, left: usize) -> impl Iterator<Item = &DefaultedField> {
        let start = self.length.saturating_sub(left);
        let first = self.fields.partition_point(|it| it.bytes.start < start);
        self.fields[first..].iter().take_while(move |it| it.bytes.start == start)
    }
}

impl<'l> Table<'l> {
    pub(crate) fn new(
        registry: &'l Registry,
        env: &'l Env<'l>,
        plans: Plans<'l>,
        objects: LoadingObjects<'l>,
        remap: Option<&'l mut dyn Renumber>,
        (save, save_bytes): (&'l [u8], u64),
    ) -> Self {
        #[cfg(not(feature = "world"))]
        let _ = save;
        Self {
            #[cfg(feature = "world")]
            save,
            registry,
            env,
            plans,
            objects,
            references: References::default(),
            handles: Handles::new(remap),
            tally: Tally::default(),
            unknown_names: HashMap::new(),
            strategy: Strategy::Rewritten,
            waits: false,
            guesses: Vec::new(),
            refused: None,
            record: (0, 0),
            defaulted: DefaultedFields::default(),
            deferred: VecDeque::new(),
            requested: HashSet::new(),
            pages: Vec::new(),
            page_numbers: None,
            is_rewritten: false,
            failed_page: None,
            once_contents: HashMap::new(),
            empty_elements: 0,
            held: 0,
            max_held: env.limits.max_expanded(save_bytes),
            save_bytes,
        }
    }

    /// Counts memory of objects, and returns an error if it exceeds the limit. One small record may claim much memory;
    /// the sum over all records may not.
    #[inline]
    fn hold(&mut self, memory: u64) -> Result<()> {
        self.held = self.held.saturating_add(memory);
        if self.held <= self.max_held {
            return Ok(());
        }
        self.env.limits.check_expansion(self.save_bytes, self.held)
    }

    /// Sets the record that is decoded next.
    fn begin(&mut self, record: &RecordLocation) {
        self.record = (record.class, record.id);
        self.handles.begin();
    }

    /// Counts an event in the record that is being decoded.
    #[cold]
    fn count(&mut self, event: LoadEvent) {
        let (class, object) = self.record;
        self.tally.add(event, class, object);
    }

    /// Counts a value of a class of the save, by the number of the class, in the record that is being decoded.
    #[cold]
    fn count_value(&mut self, event: LoadEvent, number: u64) {
        // A larger number stands for a single field or variant, which the plan has counted.
        if let Ok(class) = u32::try_from(number.wrapping_sub(1))
            && (class as usize) < self.plans.stored.len()
        {
            self.tally.add(event, class, self.record.1);
        }
    }

    /// Returns true if a value of the class ended the decode. Returns false if the class is registered for another
    /// trait: then values of it may come before the one that failed, and their fields are valid.
    fn is_refused(&self, class: usize) -> bool {
        let elsewhere = self
            .plans
            .resolve(class)
            .is_some_and(|class| self.registry.program().implementors.contains(&class));
        self.refused == Some(Unregistered::Class(class)) && !elsewhere
    }

    /// Returns an error for an object or trait object whose class could become several classes of the program.
    fn check_contested(&self, class: usize, fits: impl Fn(usize) -> bool) -> Result<()> {
        let found = self.plans.contested().find(|(contested, _)| *contested == class);
        let mut candidates = found.map_or(Vec::new(), |(_, candidates)| candidates.to_vec());
        candidates.retain(|candidate| fits(*candidate));
        if candidates.is_empty() {
            return Ok(());
        }
        Err(contested(&self.plans.stored[class].name, self.registry.program(), &candidates))
    }

    /// Returns the name of the class of a record. For a value that has become an object, it is a class of the program.
    fn name(&self, class: u32) -> &str {
        match class.checked_sub(OWN_CLASS) {
            None => &self.plans.stored[class as usize].name,
            Some(class) => &self.registry.program().classes[class as usize].name,
        }
    }

    /// Returns the object type that references of this type last led to. A wrong guess shows when the reference is
    /// connected, since the type of the target is checked then.
    #[inline]
    fn guess(&self, pointee: TypeId) -> Option<TypeIndex> {
        self.guesses.iter().find(|(known, _)| *known == pointee).map(|(_, kind)| *kind)
    }

    /// Records the object type that a reference has led to.
    fn learn(&mut self, pointee: TypeId, kind: TypeIndex) {
        const MAX_GUESSES: usize = 16;
        match self.guesses.iter().position(|(known, _)| *known == pointee) {
            Some(known) => self.guesses[known].1 = kind,
            None if self.guesses.len() < MAX_GUESSES => self.guesses.push((pointee, kind)),
            None => {}
        }
    }

    /// Returns the caster of a class of the program to a trait.
    fn caster(&self, of: TypeId, class: usize) -> Option<&'l dyn Any> {
        let registry: &'l Registry = self.registry;
        registry.implementors().caster(of, class)
    }

    /// Adds the object and the class of a record to an error.
    fn named(&self, record: usize, error: Error) -> Error {
        self.of_record(&self.objects.records.get(record), error)
    }

    fn of_record(&self, record: &RecordLocation, error: Error) -> Error {
        error.in_object(record.id).in_class(self.name(record.class))
    }
}

#[cold]
fn missing(id: u64, is_present: bool) -> Error {
    let what = if id == 0 {
        String::from("a reference that cannot be empty is empty; the save is damaged or malicious")
    } else if is_present {
        format!(
            "the reference is to object #{id}, whose class is not registered for such a pointer; register it"
        )
    } else {
        format!(
            "the reference is to object #{id}, which the save does not hold; it is damaged or malicious"
        )
    };
    Error::new(ErrorKind::MissingObject, what)
}

/// Index of an object type in the registry. It takes 4 bytes, also as an `Option`.
#[derive(Clone, Copy)]
struct TypeIndex(NonZeroU32);

impl TypeIndex {
    pub(crate) fn new(index: usize) -> Option<Self> {
        u32::try_from(index + 1).ok().and_then(NonZeroU32::new).map(Self)
    }

    fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The objects of a load.
struct LoadingObjects<'l> {
    registry: &'l Registry,
    /// The id of the first record, and the number of first records whose ids count up from it by one. Most saves have
    /// only such ids, and need no hash table.
    ordered: (u64, u64),
    /// The records of all other ids, also of values that have become objects.
    others: hashbrown::HashMap<u64, u32>,
    /// The records of the save, then those of values that have become objects.
    records: Records,
    /// The objects, by record.
    entries: Vec<LoadedObject>,
    /// Index into the registry's object types, by record. `None` if the record becomes no object.
    kinds: Vec<Option<TypeIndex>>,
    /// An object of each type: references point to it while they wait for their targets.
    placeholders: Vec<Option<Shared>>,
    /// The drafts in the order of building: each comes after the objects that it holds.
    order: Vec<u32>,
    /// The unknown data of each object, by its record, and of the root value.
    unknown: hashbrown::HashMap<usize, Unknown>,
    root_unknown: Unknown,
}

impl<'l> LoadingObjects<'l> {
    pub(crate) fn new(registry: &'l Registry, records: Records) -> Result<Self> {
        if records.len() >= PendingReference::MAX_RECORDS {
            bail!(ErrorKind::TooLarge, "a save has at most 536870910 objects");
        }
        let mut this = Self {
            registry,
            ordered: (0, 0),
            others: hashbrown::HashMap::new(),
            records: Records::default(),
            entries: Vec::new(),
            kinds: Vec::new(),
            placeholders: vec![None; registry.objects.len()],
            order: Vec::new(),
            unknown: hashbrown::HashMap::new(),
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
    fn reserve(&mut self) {
        let records = self.records.len();
        self.entries.reserve_exact(records);
        self.kinds.reserve_exact(records);
    }

    /// Returns the index of the record of an object.
    #[inline(always)]
    fn find(&self, id: u64) -> Option<u32> {
        let at = id.wrapping_sub(self.ordered.0);
        if at < self.ordered.1 { u32::try_from(at).ok() } else { self.find_other(id) }
    }

    #[inline(never)]
    fn find_other(&self, id: u64) -> Option<u32> {
        self.others.get(&id).copied()
    }

    /// Returns the object of a record, if others can refer to it.
    #[inline]
    fn shared(&self, record: usize) -> Option<&Shared> {
        self.entries[record].shared()
    }

    /// Returns the object to which references point while they wait for a target of this type.
    #[inline]
    fn placeholder(&self, kind: TypeIndex) -> Option<&Shared> {
        self.placeholders[kind.get()].as_ref()
    }

    /// Returns true if the object has no cell, and was therefore complete when it was shared.
    fn is_built(&self, record: usize) -> bool {
        self.kinds[record].is_some() && self.records.get(record).holder.is_built()
    }

    /// Returns true if a record has the holder and the class. `None` stands for any class.
    fn is_target(&self, record: u32, class: Option<usize>, holder: Holder) -> bool {
        let record = self.records.get(record as usize);
        class.is_none_or(|class| class == record.class as usize) && record.holder == holder
    }

    /// Creates an empty object of a type for the next record.
    #[inline(always)]
    fn make(&mut self, object: usize, prototypes: &Prototypes<'_>) -> Result<()> {
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
    fn skip(&mut self) {
        self.entries.push(LoadedObject::Nothing);
        self.kinds.push(None);
    }

    /// Sets the type of object that a record will become.
    fn expect(&mut self, record: usize, object: usize) -> Result<()> {
        if self.placeholders[object].is_none() {
            self.placeholders[object] = self.another(object, &self.registry.prototypes())?;
        }
        self.kinds[record] = TypeIndex::new(object);
        Ok(())
    }

    /// Adds an object that was a value in the save, and its record. References know it by `temporary_id`.
    fn enter(&mut self, temporary_id: u64, record: RecordLocation, object: usize) -> Result<()> {
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
    fn keep_reached(
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
    fn drop_placeholders(&mut self) {
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
