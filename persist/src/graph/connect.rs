//! What the loader's visits ask for: the targets of references, and the contents
//! of cells that can be set once.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::ops::Range;

use super::pending::{Pass, Pending};
use super::table::{Table, TypeIndex};
use crate::codec::{Made, Prototypes, Slot, VisitLinks};
use crate::{Error, ErrorKind, Result};

/// Contents of cells that can be set once, in the order in which those are met.
type Contents = VecDeque<Option<Box<dyn Any>>>;

/// Points the references of one object after the other at their targets.
pub(super) struct Connector<'c, 'l> {
    table: &'c mut Table<'l>,
    /// The references of the object that is visited.
    next: Range<usize>,
    pass: Pass,
    /// True if a reference that closes a cycle was met.
    late: bool,
    /// The contents set aside for the object that is visited.
    taken: Contents,
    put: Contents,
}

impl<'c, 'l> Connector<'c, 'l> {
    pub(super) fn new(table: &'c mut Table<'l>) -> Self {
        Self {
            table,
            next: 0..0,
            pass: Pass::Whole,
            late: false,
            taken: Contents::new(),
            put: Contents::new(),
        }
    }

    /// Begins with an object whose references these are.
    pub(super) fn begin(&mut self, references: Range<usize>, pass: Pass) {
        (self.next, self.pass) = (references, pass);
    }

    /// Begins with the object of a record.
    pub(super) fn begin_record(&mut self, record: usize, pass: Pass) {
        self.begin(self.table.range(record), pass);
    }

    /// True if the object is kept as unknown, so that its type does not say whether it
    /// refers to others.
    pub(super) fn is_late_record(&self, record: usize) -> bool {
        !self.table.late_ranges.is_empty() && self.table.late_ranges.contains_key(&record)
    }

    /// Looks at the targets of records that come next, so that they are in cache when they
    /// are connected. Only a loop that is as short as this one waits for many of them at once.
    pub(super) fn touch(&self, records: Range<usize>) {
        let start = |record: usize| self.table.starts[record - self.table.first] as usize;
        let pending = &self.table.pending[start(records.start)..start(records.end)];
        let targets = pending.iter().filter_map(|reference| reference.target());
        let shared = targets.filter_map(|target| self.table.entries[target].shared());
        let count = shared.fold(0_usize, |sum, shared| sum.wrapping_add(shared.strong_count()));
        black_box(count);
    }

    /// True if the object was whole when it was shared.
    pub(super) fn is_built(&self, record: usize) -> bool {
        self.table.is_built(record)
    }

    pub(super) fn kind(&self, record: usize) -> Option<usize> {
        self.table.kinds[record].map(TypeIndex::get)
    }

    pub(super) fn entry(&self, record: usize) -> &Made {
        &self.table.entries[record]
    }

    /// Gives back the contents that an earlier visit of the object set aside.
    pub(super) fn give(&mut self, contents: Option<Contents>) {
        self.late = false;
        if let Some(contents) = contents {
            self.taken = contents;
        } else {
            self.taken.clear();
        }
        self.put.clear();
    }

    /// Ends with the object.
    pub(super) fn end(&mut self) -> Result<()> {
        if self.step().is_some() { Err(out_of_step()) } else { Ok(()) }
    }

    /// Takes the contents that the visit set aside, if there are any.
    pub(super) fn take(&mut self) -> Option<Contents> {
        if self.put.is_empty() {
            return None;
        }
        let put = std::mem::take(&mut self.put);
        put.iter().any(Option::is_some).then_some(put)
    }

    fn step(&mut self) -> Option<Pending> {
        let pass = self.pass;
        self.next.by_ref().map(|at| self.table.pending[at]).find(|reference| reference.is_of(pass))
    }
}

impl VisitLinks for Connector<'_, '_> {
    #[inline]
    fn reference(&mut self, slot: &mut dyn Slot) -> Result<()> {
        let Some(reference) = self.step() else { return Err(out_of_step()) };
        self.late |= reference.is_late();
        let Some(target) = reference.target() else { return Ok(()) };
        let mut caster = None;
        if let Some(of) = slot.of()
            && let Some(kind) = self.table.kinds[target]
        {
            let class = self.table.registry.objects[kind.get()].class;
            caster = self.table.caster(of, class);
        }
        match self.table.entries[target].shared() {
            Some(object) if slot.connect(object, caster) => Ok(()),
            None if reference.is_weak() => Ok(()),
            _ => Err(Error::new(
                ErrorKind::WrongClass,
                "a reference is of another type than its field",
            )),
        }
    }

    fn put_aside(&mut self, content: Option<Box<dyn Any>>) {
        self.put.push_back(content);
    }

    fn take_back(&mut self) -> Option<Box<dyn Any>> {
        self.taken.pop_front().flatten()
    }

    fn is_late(&mut self) -> bool {
        std::mem::take(&mut self.late)
    }

    fn prototypes(&self) -> Prototypes<'_> {
        self.table.registry.prototypes()
    }
}

/// The contents of each object that has any.
pub(super) type Aside = HashMap<usize, Contents>;

#[cold]
fn out_of_step() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the references of an object are not visited in the order in which they are decoded; a hand-written `Persist` must list every value that holds references in `persist_parts`, in the order in which it decodes them",
    )
}
