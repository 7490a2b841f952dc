use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZeroU32;
use std::ops::Range;
use std::rc::Rc;

use super::Registry;
use super::connect::Emptying;
use super::handles::Handles;
use super::ids::Ids;
use super::pending::Pending;
use crate::codec::{
    Draft, ForeignClass, Implementor, Linked, LoadLinks, Part, Phase, Pointed, Prototypes,
    Remapped, Shared, Unknown, UnknownContent, Visitor, Within, not_registered,
};
use crate::reflect::{Holder, TraitName};
use crate::schema::{Met, Stored, length};
use crate::{Error, ErrorKind, Limits, Result};

/// The objects of the load, and the references set aside.
pub(super) struct Table<'l> {
    pub(super) registry: &'l Registry,
    pub(super) limits: &'l Limits,
    pub(super) ids: Ids,
    /// By record.
    pub(super) entries: Vec<Entry>,
    /// Index into the registry's object types, by record.
    pub(super) kinds: Vec<Option<TypeIndex>>,
    /// An object of each type, the stand-in while references wait.
    pub(super) stand_ins: Vec<Option<Shared>>,
    /// The classes of the save, and which of the program's they are.
    pub(super) stored: Rc<Stored>,
    pub(super) resolved: Vec<Option<usize>>,
    /// Those of which trait objects by value have been rewritten.
    pub(super) rewritten: Vec<bool>,
    /// Class and holder of each record.
    pub(super) classes: Vec<u32>,
    pub(super) holders: Vec<Holder>,
    /// The references, in the order of decoding.
    pub(super) pending: Vec<Pending>,
    /// Where those of each record begin, in the order of records, and the end.
    pub(super) starts: Vec<usize>,
    /// Objects that cannot be emptied, each behind those that it holds.
    pub(super) order: Vec<u32>,
    pub(super) within: Within,
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
    asked_for: HashSet<usize>,
    pub(super) handles: Handles<'l>,
    /// The classes that traits have, as far as they were asked for.
    casters: Vec<(TypeId, Vec<Option<&'l dyn Any>>)>,
    pub(super) empty_elements: usize,
    /// What the objects and the elements that are large for their bytes take.
    pub(super) held_bytes: u64,
    pub(super) save_bytes: u64,
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

/// An object of a load.
pub(super) enum Entry {
    /// The record is not made into an object.
    None,
    /// In a cell: made empty, then filled.
    Open(Shared),
    /// Filled before it is shared.
    Draft(Box<dyn Draft>),
    /// Shared when it was whole.
    Built(Shared),
}

impl Entry {
    pub(super) fn shared(&self) -> Option<&Shared> {
        match self {
            Self::Open(shared) | Self::Built(shared) => Some(shared),
            Self::None | Self::Draft(_) => None,
        }
    }

    pub(super) fn take_draft(&mut self) -> Option<Box<dyn Draft>> {
        match std::mem::replace(self, Self::None) {
            Self::Draft(draft) => Some(draft),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl<'l> Table<'l> {
    pub(super) fn new(
        registry: &'l Registry,
        limits: &'l Limits,
        ids: Ids,
        stored: Rc<Stored>,
        resolved: Vec<Option<usize>>,
        handles: Handles<'l>,
    ) -> Self {
        Self {
            registry,
            limits,
            ids,
            entries: Vec::new(),
            kinds: Vec::new(),
            stand_ins: vec![None; registry.objects.len()],
            stored,
            resolved,
            rewritten: Vec::new(),
            classes: Vec::new(),
            pending: Vec::new(),
            starts: Vec::new(),
            order: Vec::new(),
            within: Within::Bare,
            filling: None,
            dangling: 0,
            nones: Vec::new(),
            kept: Vec::new(),
            late: VecDeque::new(),
            late_ranges: HashMap::new(),
            asked_for: HashSet::new(),
            holders: Vec::new(),
            handles,
            casters: Vec::new(),
            empty_elements: 0,
            held_bytes: 0,
            save_bytes: 0,
        }
    }

    /// The references of a record.
    pub(super) fn range(&self, record: usize) -> Range<usize> {
        let own = self.starts[record]..self.starts[record + 1];
        if !own.is_empty() || self.late_ranges.is_empty() {
            return own;
        }
        self.late_ranges.get(&record).cloned().unwrap_or(own)
    }

    /// True if a record is of the class, or of any, in the holder.
    pub(super) fn is_target(&self, record: u32, class: Option<usize>, holder: Holder) -> bool {
        let record = record as usize;
        class.is_none_or(|class| class == self.classes[record] as usize)
            && self.holders[record] == holder
    }

    /// Name of a class of the save.
    pub(super) fn name(&self, class: u32) -> &str {
        &self.stored[class as usize].name
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
            .all(|(reached, entry)| *reached || matches!(entry, Entry::None))
        {
            return;
        }
        self.stand_ins.clear();
        for record in (0..reached.len()).filter(|record| !reached[*record]) {
            // Nothing is connected yet: it holds stand-ins only.
            self.entries[record] = Entry::None;
            self.kinds[record] = None;
        }
    }
}

impl LoadLinks for Table<'_> {
    #[inline]
    fn link(&mut self, id: u64, weak: bool, pointed: Pointed) -> Result<Linked<'_>> {
        let record = self.ids.find(id);
        let kind = record.and_then(|record| self.kinds[record as usize]);
        let (Some(record), Some(kind)) = (record, kind) else {
            if let (Some(record), Pointed::As(of)) = (record, pointed) {
                if self.stand_in(record, of)? {
                    return self.link(id, weak, pointed);
                }
                return self.unregistered(id, record, weak, of);
            }
            if weak {
                self.dangling += u64::from(id != 0);
                self.pending.push(Pending::new(None, true, self.within));
                return Ok(Linked::Nobody);
            }
            return Err(missing(id, record.is_some()));
        };
        let mut caster = None;
        if let Pointed::As(of) = pointed {
            let class = self.registry.objects[kind.get()].class;
            caster = self.caster((of.id)(), class);
            if caster.is_none() {
                return self.unregistered(id, record, weak, of);
            }
        }
        self.pending.push(Pending::new(Some(record), weak, self.within));
        Ok(match &self.stand_ins[kind.get()] {
            Some(object) => Linked::To { object, caster },
            None => Linked::Nobody,
        })
    }

    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>> {
        let class = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(class) = class.filter(|class| *class < self.stored.len()) else {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "a trait object is of class number {number}, which the save does not define; it is damaged or made to harm"
                ),
            ));
        };
        let caster = self.resolved[class].and_then(|class| self.caster((of.id)(), class));
        Ok(match caster {
            Some(caster) => Implementor::Known(caster),
            None => Implementor::Unknown(self.stored[class].name.clone()),
        })
    }

    fn skip(&mut self, number: u64, rest: &[u8]) -> Result<usize> {
        let class = self.as_stored(number)?;
        length(class, &self.stored, rest, self.limits, &mut |_, _, _| true)
    }

    fn keep(&mut self, number: u64, rest: &[u8]) -> Result<(Unknown, usize)> {
        self.kept.push(number);
        let class = self.as_stored(number)?;
        self.unknown(class, rest)
    }

    fn note_none(&mut self, number: u64) {
        self.nones.push(number);
    }

    fn handle(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        self.handles.find(arena, bits)
    }

    fn refused_handle(&mut self, arena: &'static str, bits: u64) {
        self.handles.refused = Some((arena, bits));
    }

    fn enter_cell(&mut self, cell: Within) -> Within {
        let now = self.within.then(cell);
        std::mem::replace(&mut self.within, now)
    }

    fn leave_cell(&mut self, before: Within) {
        self.within = before;
    }

    fn prototypes(&self) -> Prototypes<'_> {
        self.registry.prototypes()
    }

    fn empty_elements(&mut self) -> &mut usize {
        &mut self.empty_elements
    }

    fn charge_memory(&mut self, bytes: u64, limits: &Limits) -> Result<()> {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        limits.check_expansion(self.save_bytes, self.held_bytes)
    }

    fn describe(&self, id: u64) -> String {
        let kind = self.ids.find(id).and_then(|record| self.kinds[record as usize]);
        kind.map_or(String::from("unknown"), |kind| {
            let kind = &self.registry.objects[kind.get()].kind;
            kind.holder.around(false, &(kind.name)())
        })
    }

    fn pending(&self) -> usize {
        self.pending.len()
    }

    fn reorder(&mut self, start: usize, ranges: &[Range<usize>]) {
        let ordered: Vec<Pending> =
            ranges.iter().flat_map(|range| &self.pending[range.clone()]).copied().collect();
        self.pending.truncate(start);
        self.pending.extend(ordered);
    }
}

impl Table<'_> {
    /// Keeps a value of a class that the program does not have, and what it refers to.
    pub(super) fn unknown(&mut self, class: usize, bytes: &[u8]) -> Result<(Unknown, usize)> {
        let stored = self.stored.clone();
        let mut parts = Vec::new();
        let mut references = Vec::new();
        let mut meet = |met: Met<'_>, before: usize, after: usize| {
            let (start, end) = (bytes.len() - before, bytes.len() - after);
            let content = match met {
                Met::Handle { .. } => return true,
                Met::Class(class) => UnknownContent::Class(class),
                Met::Reference { id, weak, class, holder } => {
                    let target = self.ids.find(id);
                    if !target.map_or(weak, |record| self.is_target(record, class, holder)) {
                        return false;
                    }
                    references.push((target, id, weak));
                    UnknownContent::Reference { weak, target: None }
                }
            };
            parts.push(Part { start, end, content });
            true
        };
        let length = length(class, &stored, bytes, self.limits, &mut meet)?;
        for (target, id, weak) in references {
            self.dangling += u64::from(target.is_none() && id != 0);
            if let Some(record) = target {
                self.ask_for(record);
            }
            self.pending.push(Pending::new(target, weak, self.within));
        }
        let name = stored[class].name.clone();
        let class = ForeignClass { name, schema: stored, index: class };
        Ok((Unknown::new(class, bytes[..length].to_vec(), parts), length))
    }

    /// The class of this number, whose values are as they are stored.
    fn as_stored(&self, number: u64) -> Result<usize> {
        let class = usize::try_from(number).unwrap_or(0).saturating_sub(1);
        if !self.rewritten[class] {
            return Ok(class);
        }
        let name = &self.stored[class].name;
        Err(Error::new(
            ErrorKind::WrongClass,
            format!(
                "a {name} stands for a trait that it is not registered for, while it is for another; register it for both with `register_as`"
            ),
        ))
    }

    /// Has a record kept whose class the program does not have.
    fn ask_for(&mut self, record: u32) {
        let record = record as usize;
        let is_value = self.holders[record] == Holder::VALUE;
        if matches!(self.entries[record], Entry::None)
            && !is_value
            && self.filling != Some(record)
            && self.asked_for.insert(record)
        {
            self.late.push_back(record);
        }
    }

    /// Has the stand-in of a trait stand for an object of a class that the program does not
    /// have.
    fn stand_in(&mut self, record: u32, of: TraitName) -> Result<bool> {
        let Some(class) = self.registry.implementors.stand_in_of((of.id)()) else {
            return Ok(false);
        };
        let place = record as usize;
        if self.kinds[place].is_some() || self.asked_for.contains(&place) {
            return Ok(false);
        }
        let Some(kind) = self.registry.object(class, self.holders[place]) else { return Ok(false) };
        if self.stand_ins[kind].is_none() {
            let make = self.registry.objects[kind].kind.make;
            self.stand_ins[kind] = Some(make(&self.registry.prototypes())?.shared());
        }
        self.kinds[place] = TypeIndex::new(kind);
        self.ask_for(record);
        Ok(true)
    }

    /// A reference to a trait object of a class that is not registered for the trait.
    #[cold]
    fn unregistered(
        &mut self,
        id: u64,
        record: u32,
        weak: bool,
        of: TraitName,
    ) -> Result<Linked<'static>> {
        let class = self.classes[record as usize];
        let resolved = self.resolved[class as usize];
        if resolved.is_some_and(|class| self.caster((of.id)(), class).is_some()) {
            // It is registered, but not in the holder that it has.
            let found = self.holders[record as usize].around(false, self.name(class));
            return Err(Error::new(
                ErrorKind::WrongClass,
                format!(
                    "the reference is to object #{id}, {found}, where a dyn {} in another pointer or cell is expected",
                    of.name
                ),
            ));
        }
        if weak {
            self.dangling += 1;
            self.pending.push(Pending::new(None, true, self.within));
            return Ok(Linked::Nobody);
        }
        let error = not_registered(self.name(class), of.name);
        Ok(Linked::Unregistered { class: u64::from(class) + 1, error })
    }
}

/// Frees what a load that did not end has made, circles and long chains too:
/// while the table holds every object, emptying one frees no other.
impl Drop for Table<'_> {
    fn drop(&mut self) {
        self.stand_ins.clear();
        for entry in &mut self.entries {
            if matches!(entry, Entry::Draft(_)) {
                *entry = Entry::None;
            }
        }
        let mut emptying = Emptying(self.registry.prototypes());
        for shared in self.entries.iter().filter_map(Entry::shared) {
            let mut visitor = Visitor::new(Phase::Dismantle, &Limits::DEFAULT, &mut emptying);
            // One that cannot be emptied, since the program borrows it, is the program's.
            let _ = shared.object().visit_object(&mut visitor);
        }
        for record in self.order.iter().rev() {
            self.entries[*record as usize] = Entry::None;
        }
    }
}

#[cold]
fn missing(id: u64, is_there: bool) -> Error {
    let what = if id == 0 {
        String::from(
            "a reference that cannot be empty is empty; the save is damaged or made to harm",
        )
    } else if is_there {
        format!(
            "the reference is to object #{id}, whose class is not registered for such a pointer; register it"
        )
    } else {
        format!(
            "the reference is to object #{id}, which the save does not hold; it is damaged or made to harm"
        )
    };
    Error::new(ErrorKind::MissingObject, what)
}
