//! The state of a load that decoders use: objects, references and the classes of the save.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::Registry;
use super::handles::Handles;
use super::loading::{LoadingObjects, TypeIndex};
use super::outcome::Tally;
use super::references::{PendingReference, References};
use crate::codec::{
    FailedElement, Implementor, Linked, LoadLinks, Pointed, Pointing, Prototypes, Remapped, Shared,
    SkippingField, Unknown, Within, charge_empty,
};
use crate::env::Env;
use crate::format::{RecordLocation, Records};
use crate::reflect::{Holder, TraitName};
use crate::schema::{DefaultedField, LoadEvent, Plans, contested, converted_length, length};
use crate::types::Renumber;
use crate::{Error, ErrorKind, Limits, Result};

/// The objects of a load and their references, with everything that a decoder needs to know of the save.
pub(super) struct Table<'l> {
    pub(super) registry: &'l Registry,
    pub(super) env: &'l Env<'l>,
    pub(super) plans: Plans<'l>,
    pub(super) objects: LoadingObjects<'l>,
    pub(super) references: References,
    pub(super) handles: Handles<'l>,
    /// Counts for the report of the load.
    pub(super) tally: Tally,
    /// Names of the classes of unknown values, by class.
    pub(super) unknown_names: HashMap<usize, Arc<str>>,
    pub(super) strategy: Strategy,
    /// True if some decoded reference points to a placeholder and must be connected later.
    pub(super) waits: bool,
    /// Object types of the last targets by the type of the reference. They stand in for looking at the target of a
    /// reference.
    guesses: Vec<(TypeId, TypeIndex)>,
    /// The value or object that stopped the decode, because its class is not registered for a trait.
    pub(super) refused: Option<Unregistered>,
    /// Class and id of the record that is being decoded.
    pub(super) record: (u32, u64),
    /// The fields of that record that get their default values without a conversion.
    pub(super) defaulted: DefaultedFields,
    /// `requested` has the records of unknown classes that are kept. `deferred` has the records to decode after all
    /// others.
    pub(super) deferred: VecDeque<usize>,
    pub(super) requested: HashSet<usize>,
    /// Contents of once cells that an earlier visit of an object set aside, by record.
    pub(super) once_contents: HashMap<usize, OnceContents>,
    empty_elements: usize,
    /// `held` is the memory of the objects, and of the elements that need much memory for their stored bytes.
    /// `max_held` is its limit.
    held: u64,
    max_held: u64,
    save_bytes: u64,
}

/// When a load points its references at their targets.
///
/// A save is *plain* if every record is in the program's form and becomes an object in a cell. Then nothing is unknown,
/// converted or freed, the passes for those are skipped, and every object is in its cell before the first record is
/// decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
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
    pub(super) fn is_plain(self) -> bool {
        self != Self::Rewritten
    }
}

/// Contents of cells that can be set only once, in the order in which a visit comes to them.
pub(super) type OnceContents = VecDeque<Option<Box<dyn Any>>>;

/// Class numbers of records from this one on are classes of the program, for values that have become objects. Smaller
/// ones are classes of the save.
pub(super) const OWN_CLASS: u32 = Records::MAX_CLASSES;

/// The part of a save that a decode refused, because its class is not registered for a trait.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unregistered {
    /// A value of this class.
    Class(usize),
    /// A reference to the object of this record.
    Record(u32),
}

/// The fields of a rewritten record that get their default values without a conversion.
#[derive(Default)]
pub(super) struct DefaultedFields {
    fields: Vec<DefaultedField>,
    /// Length of the rewritten record in bytes.
    length: usize,
}

impl DefaultedFields {
    pub(super) fn new(fields: Vec<DefaultedField>, length: usize) -> Self {
        Self { fields, length }
    }

    pub(super) fn clear(&mut self) {
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
    pub(super) fn new(
        registry: &'l Registry,
        env: &'l Env<'l>,
        plans: Plans<'l>,
        objects: LoadingObjects<'l>,
        remap: Option<&'l mut dyn Renumber>,
        save_bytes: u64,
    ) -> Self {
        Self {
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
    pub(super) fn hold(&mut self, memory: u64) -> Result<()> {
        self.held = self.held.saturating_add(memory);
        if self.held <= self.max_held {
            return Ok(());
        }
        self.env.limits.check_expansion(self.save_bytes, self.held)
    }

    /// Sets the record that is decoded next.
    pub(super) fn begin(&mut self, record: &RecordLocation) {
        self.record = (record.class, record.id);
        self.handles.begin();
    }

    /// Counts an event in the record that is being decoded.
    #[cold]
    pub(super) fn count(&mut self, event: LoadEvent) {
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
    pub(super) fn is_refused(&self, class: usize) -> bool {
        let elsewhere = self
            .plans
            .resolve(class)
            .is_some_and(|class| self.registry.program().implementors.contains(&class));
        self.refused == Some(Unregistered::Class(class)) && !elsewhere
    }

    /// Returns an error for an object or trait object whose class could become several classes of the program.
    pub(super) fn check_contested(&self, class: usize, fits: impl Fn(usize) -> bool) -> Result<()> {
        let found = self.plans.contested().find(|(contested, _)| *contested == class);
        let mut candidates = found.map_or(Vec::new(), |(_, candidates)| candidates.to_vec());
        candidates.retain(|candidate| fits(*candidate));
        if candidates.is_empty() {
            return Ok(());
        }
        Err(contested(&self.plans.stored[class].name, self.registry.program(), &candidates))
    }

    /// Returns the name of the class of a record. For a value that has become an object, it is a class of the program.
    pub(super) fn name(&self, class: u32) -> &str {
        match class.checked_sub(OWN_CLASS) {
            None => &self.plans.stored[class as usize].name,
            Some(class) => &self.registry.program().classes[class as usize].name,
        }
    }

    /// Returns the object type that references of this type last led to. A wrong guess shows when the reference is
    /// connected, since the type of the target is checked then.
    #[inline]
    pub(super) fn guess(&self, pointee: TypeId) -> Option<TypeIndex> {
        self.guesses.iter().find(|(known, _)| *known == pointee).map(|(_, kind)| *kind)
    }

    /// Records the object type that a reference has led to.
    pub(super) fn learn(&mut self, pointee: TypeId, kind: TypeIndex) {
        const MAX_GUESSES: usize = 16;
        match self.guesses.iter().position(|(known, _)| *known == pointee) {
            Some(known) => self.guesses[known].1 = kind,
            None if self.guesses.len() < MAX_GUESSES => self.guesses.push((pointee, kind)),
            None => {}
        }
    }

    /// Returns the caster of a class of the program to a trait.
    pub(super) fn caster(&self, of: TypeId, class: usize) -> Option<&'l dyn Any> {
        let registry: &'l Registry = self.registry;
        registry.implementors().caster(of, class)
    }

    /// Adds the object and the class of a record to an error.
    pub(super) fn named(&self, record: usize, error: Error) -> Error {
        self.of_record(&self.objects.records.get(record), error)
    }

    pub(super) fn of_record(&self, record: &RecordLocation, error: Error) -> Error {
        error.in_object(record.id).in_class(self.name(record.class))
    }
}

impl LoadLinks for Table<'_> {
    fn default_at(&self, left: usize, field: (TypeId, usize, usize)) -> Option<usize> {
        let targets = &self.registry.program().targets;
        let is_same = |it: &&DefaultedField| {
            let (class, variant, index) = it.field;
            let class = targets[class].map(|target| target.class.type_id());
            class.is_some_and(|class| (class, variant, index) == field)
        };
        self.defaulted.at(left).find(is_same).map(|it| it.bytes.len())
    }

    #[inline]
    fn link(&mut self, id: u64, pointing: Pointing) -> Result<Linked<'_>> {
        let Pointing { weak, pointed, within } = pointing;
        let record = self.objects.find(id);
        let kind = record.and_then(|record| self.objects.kinds[record as usize]);
        let (Some(record), Some(kind)) = (record, kind) else {
            if let (Some(record), Pointed::As(of)) = (record, pointed) {
                let RecordLocation { class, holder, .. } =
                    self.objects.records.get(record as usize);
                self.check_contested(class as usize, |class| {
                    self.registry.object(class, holder).is_some()
                        && self.caster((of.id)(), class).is_some()
                })?;
                // The class is unknown. If the trait has a stand-in, the record becomes an object of that class, and
                // the second call succeeds.
                if self.stand_in(record, of)? {
                    return self.link(id, pointing);
                }
                return self.unregistered(id, record, weak, within, of);
            }
            if weak {
                if id != 0 {
                    self.count(LoadEvent::Dangling);
                }
                self.references.push(PendingReference::new(None, true, within));
                return Ok(Linked::Nobody);
            }
            return Err(missing(id, record.is_some()));
        };
        let mut caster = None;
        if let Pointed::As(of) = pointed {
            let class = self.registry.objects[kind.get()].class;
            caster = self.caster((of.id)(), class);
            if caster.is_none() {
                return self.unregistered(id, record, weak, within, of);
            }
        }
        // This slow path has looked at the target, so later references of the type can take `plain_link`.
        if let (Strategy::InChunks, Pointed::At(pointee)) = (self.strategy, pointed) {
            self.learn(pointee, kind);
        }
        self.references.push(PendingReference::new(Some(record), weak, within));
        let target = match self.strategy {
            Strategy::AtOnce => self.objects.shared(record as usize),
            _ => None,
        };
        self.waits |= target.is_none();
        Ok(match target.or(self.objects.placeholder(kind)) {
            Some(object) => Linked::To { object, caster },
            None => Linked::Nobody,
        })
    }

    #[inline]
    fn plain_link(
        &mut self,
        id: u64,
        pointee: TypeId,
        weak: bool,
        within: Within,
    ) -> Option<&Shared> {
        let record = self.objects.find(id)?;
        let target = if self.strategy == Strategy::AtOnce {
            self.objects.shared(record as usize)?
        } else {
            let kind = match self.strategy {
                Strategy::InChunks => self.guess(pointee),
                _ => self.objects.kinds[record as usize],
            };
            self.waits = true;
            self.objects.placeholder(kind?)?
        };
        self.references.push(PendingReference::new(Some(record), weak, within));
        Some(target)
    }

    fn unlink(&mut self) {
        self.references.pop();
    }

    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>> {
        let class = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(class) = class.filter(|class| *class < self.plans.stored.len()) else {
            bail!(
                ErrorKind::InvalidValue,
                "a trait object is of class number {number}, which the save does not define; it is damaged or malicious"
            );
        };
        self.check_contested(class, |class| self.caster((of.id)(), class).is_some())?;
        let caster = self.plans.resolve(class).and_then(|class| self.caster((of.id)(), class));
        Ok(match caster {
            Some(caster) => Implementor::Known(caster),
            None => Implementor::Unknown(self.plans.stored[class].name.clone()),
        })
    }

    fn unknown(
        &mut self,
        number: u64,
        rest: &[u8],
        keep: bool,
    ) -> Result<(usize, Option<Unknown>)> {
        let class = self.as_stored(number)?;
        if keep {
            self.count_value(LoadEvent::Kept, number);
            let (piece, length, dangling) = self.unknown(class, rest)?;
            (0..dangling).for_each(|_| self.count(LoadEvent::Dangling));
            return Ok((length, Some(piece.into())));
        }
        self.refused = Some(Unregistered::Class(class));
        let (stored, limits) = (&self.plans.stored, &self.env.limits);
        Ok((length(class, stored, rest, limits, &mut |_, _, _| true)?, None))
    }

    fn skip_failed(&mut self, element: &FailedElement<'_>) -> Result<Option<usize>> {
        let SkippingField { class, variant, field } = element.field;
        let Some(class) = self.registry.class_index(class) else { return Ok(None) };
        let program = self.registry.program();
        let Some(kind) = program.field_kind(class, variant, field) else { return Ok(None) };
        let length = converted_length(&self.plans, kind.parts(), element.bytes, self.env)?;
        self.references.truncate(element.pending);
        self.refused = None;
        let part = element.index.map_or_else(String::new, |index| format!("[{index}]"));
        self.plans.skipped((class, variant, field), &part, element.error.message(), self.record.1);
        Ok(Some(length))
    }

    fn became_none(&mut self, class: u64) {
        self.refused = None;
        self.count_value(LoadEvent::Unregistered, class);
    }

    fn refuse_handle(&mut self, arena: &'static str, bits: u64) {
        self.handles.refused = Some((arena, bits));
    }

    fn handle(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        self.handles.find(arena, bits, self.record, &mut self.tally)
    }

    fn prototypes(&self) -> Prototypes<'_> {
        self.registry.prototypes()
    }

    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)?;
        if memory == 0 { Ok(()) } else { self.hold(memory) }
    }

    fn describe(&self, id: u64) -> String {
        let Some(record) = self.objects.find(id).map(|record| record as usize) else {
            return String::from("unknown");
        };
        match self.objects.kinds[record] {
            Some(kind) => {
                let kind = &self.registry.objects[kind.get()].kind;
                kind.holder.class_type_name(false, &(kind.name)())
            }
            None => {
                let RecordLocation { class, holder, .. } = self.objects.records.get(record);
                holder.class_type_name(false, self.name(class))
            }
        }
    }

    fn is_elsewhere(&self, id: u64, holder: Holder, of_trait: bool) -> bool {
        let Some(record) = self.objects.find(id).map(|record| record as usize) else {
            return false;
        };
        // If the class is registered for the pointer, the error comes from the target itself.
        self.objects.kinds[record].is_none()
            && (self.objects.records.get(record).holder != holder || !of_trait)
    }

    fn pending(&self) -> usize {
        self.references.len()
    }

    fn reorder(&mut self, start: usize, ranges: &[Range<usize>]) {
        self.references.reorder(start, ranges);
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
