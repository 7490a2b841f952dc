//! The passes of a load after all records are decoded: build drafts, connect references, run hooks, seal cells.

use std::any::Any;
use std::hint::black_box;
use std::mem::take;
use std::ops::Range;

use super::super::components::Edges;
use super::super::save::cycle_error;
use super::super::{Pass, PendingReference};
use super::{OnceContents, Table, TypeIndex};
use crate::codec::{LoadedObject, Persist, Phase, Prototypes, ReferenceSlot, VisitLinks, Visitor};
use crate::{Error, ErrorKind, Result};

/// Records that are connected after one loop has touched all their targets. The number is small, so that these targets
/// are still in the CPU cache, and so are the objects themselves if they have just been decoded.
pub(super) const CHUNK: usize = 128;

impl Table<'_> {
    /// Build pass: turns drafts into shared objects. Each draft comes after the drafts that it points to outside of
    /// cells, because nothing can change such a pointer once its owner is shared.
    pub(super) fn build(&mut self) -> Result<()> {
        if !self.objects.entries.iter().any(|entry| matches!(entry, LoadedObject::Draft(_))) {
            return Ok(());
        }
        for record in self.order()?.into_iter().map(|record| record as usize) {
            let Some(mut draft) = self.objects.entries[record].take_draft() else { continue };
            let (env, references) = (self.env, self.references.of(record));
            let kind = self.objects.kinds[record].map(TypeIndex::get);
            let hooks = kind.is_some_and(|kind| self.registry.traits_of(kind).after_load);
            let mut connector = Connector::new(self);
            let connected = connector.connect(references, Pass::Bare, None, &mut |visitor| {
                draft.visit(&mut visitor.outside_of_cells())
            });
            let visited = connected.and_then(|contents| {
                // `after_load` runs now, since it needs `&mut`: a built object is behind an `Rc` or `Arc` without a
                // cell.
                let mut links = Prototypes::bare();
                let visitor = Visitor::new(Phase::AfterLoad, env, &mut links);
                if hooks {
                    env.guarded(|| draft.visit(&mut visitor.outside_of_cells()))?;
                }
                Ok(contents)
            });
            let contents = visited.map_err(|error| self.named(record, error))?;
            self.once_contents.extend(contents.map(|contents| (record, contents)));
            self.objects.entries[record] = LoadedObject::Shared(draft.build());
        }
        Ok(())
    }

    /// Returns the order in which drafts are built. Returns an error if their references outside of cells form a cycle.
    fn order(&mut self) -> Result<Vec<u32>> {
        let edges = self.edges(|reference| reference.is_bare());
        let found = edges.components();
        if let Some(cycle) = found.cycles(&edges).first() {
            let record = cycle[0] as usize;
            let class = self.name(self.objects.records.get(record).class);
            return Err(self.named(record, cycle_error(class, cycle.len())));
        }
        if !self.references.all().iter().any(|reference| reference.is_strong_once()) {
            self.objects.order.clone_from(&found.order);
            return Ok(found.order);
        }
        // A failed load frees its objects by emptying their cells, but nothing can empty a `OnceCell` behind `&`. So if
        // the content of such a cell closes a cycle of pointers that cannot be emptied, the cell is set when nothing
        // can fail any more.
        let component = self.edges(PendingReference::is_permanent).components().of;
        for record in 0..self.objects.entries.len() {
            for place in self.references.of(record) {
                let reference = self.references.get(place);
                if let Some(target) = reference.target().filter(|_| reference.is_strong_once())
                    && component[target] == component[record]
                {
                    self.references.set_closes_cycle(place);
                }
            }
        }
        self.objects.order = self.edges(PendingReference::is_permanent).components().order;
        Ok(found.order)
    }

    /// Returns the references between drafts for which `is_included` is true.
    fn edges(&self, is_included: impl Fn(PendingReference) -> bool) -> Edges {
        let entries = &self.objects.entries;
        let is_draft = |record: usize| matches!(entries[record], LoadedObject::Draft(_));
        let mut edges = Edges::new(entries.len());
        for record in 0..entries.len() {
            let range = if is_draft(record) { self.references.of(record) } else { 0..0 };
            let references = self.references.in_places(range).iter();
            let references = references.filter(|reference| is_included(**reference));
            let targets = references.filter_map(|reference| reference.target());
            edges.push(
                targets.filter(|target| is_draft(*target)).filter_map(|t| u32::try_from(t).ok()),
            );
        }
        edges
    }

    /// Connect pass: points every reference at its target, in the order in which references were decoded.
    pub(super) fn connect(
        &mut self,
        visit_root: &mut dyn FnMut(&mut Visitor<'_>) -> Result<()>,
    ) -> Result<()> {
        // A debug build always visits. A hand-written impl that decodes and visits in different orders then fails in
        // small graphs too, whose references lead to their targets at once.
        if !self.waits && self.once_contents.is_empty() && !cfg!(debug_assertions) {
            return Ok(());
        }
        let (root, unknown) = (self.references.of_root(), take(&mut self.objects.root_unknown));
        Connector::new(self).connect(root, Pass::Whole, None, &mut |mut visitor| {
            visit_root(&mut visitor)?;
            unknown.__visit_shared(&mut visitor)
        })?;
        self.objects.root_unknown = unknown;
        let records = self.objects.records.len();
        (0..records).step_by(CHUNK).try_for_each(|start| {
            self.connect_records(start..records.min(start + CHUNK))
                .map_err(|(record, error)| self.named(record, error))
        })
    }

    /// Connects the records that were decoded since the last call, while they are in cache. Then forgets their
    /// references, and returns how many there were. An error comes with the index of its record.
    pub(super) fn connect_filled(&mut self) -> Result<u64, (usize, Error)> {
        let filled = self.references.begun();
        self.references.begin_record().map_err(|error| (filled.start, error))?;
        self.connect_records(filled.clone())?;
        let count = self.references.len() as u64;
        self.references.forget(filled.end);
        Ok(count)
    }

    fn connect_records(&mut self, records: Range<usize>) -> Result<(), (usize, Error)> {
        self.touch(records.clone());
        let mut connector = Connector::new(self);
        for record in records {
            let table = &mut *connector.table;
            // Most saves have no unknown data: skip even the hash of the look-up.
            let unknowns = &mut table.objects.unknown;
            let unknown = if unknowns.is_empty() { None } else { unknowns.remove(&record) };
            let once = &mut table.once_contents;
            let contents = if once.is_empty() { None } else { once.remove(&record) };
            let kind = table.objects.kinds[record];
            let needs_visit = kind
                .is_some_and(|kind| table.registry.traits_of(kind.get()).references)
                // An object of an unknown class has no type that says whether it holds references. So those that it
                // holds are visited.
                || table.references.is_deferred(record)
                || unknown.is_some()
                || contents.is_some();
            let Some(shared) = table.objects.shared(record).filter(|_| needs_visit).cloned() else {
                continue;
            };
            let pass = if table.objects.is_built(record) { Pass::Cells } else { Pass::Whole };
            let references = table.references.of(record);
            let env = table.env;
            let contents = connector.connect(references, pass, contents, &mut |mut visitor| {
                env.guarded(|| shared.object().visit_object(&mut visitor))?;
                unknown.as_ref().map_or(Ok(()), |unknown| unknown.__visit_shared(&mut visitor))
            });
            let contents = contents.map_err(|error| (record, error))?;
            let table = &mut *connector.table;
            table.objects.unknown.extend(unknown.map(|unknown| (record, unknown)));
            // The contents that close cycles wait for `seal`, when nothing can fail any more.
            table.once_contents.extend(contents.map(|contents| (record, contents)));
        }
        Ok(())
    }

    /// Reads the targets of the next records, so that they are in cache when they are connected. The loop does nothing
    /// else: only then does the processor execute several steps at once, so that their cache misses overlap.
    fn touch(&self, records: Range<usize>) {
        let pending = self.references.of_records(records);
        let targets = pending.iter().filter_map(|reference| reference.target());
        let shared = targets.filter_map(|target| self.objects.shared(target));
        let count = shared.fold(0_usize, |sum, shared| sum.wrapping_add(shared.strong_count()));
        black_box(count);
    }

    /// Hook passes: runs the `validate` or `after_load` hooks, inner values first.
    pub(super) fn run_hooks(&self, phase: Phase) -> Result<()> {
        if !self.registry.has_after_load() {
            return Ok(());
        }
        let mut links = Prototypes::bare();
        let mut visitor = Visitor::new(phase, self.env, &mut links);
        for (record, entry) in self.objects.entries.iter().enumerate() {
            let kind = self.objects.kinds[record];
            let kind = kind.filter(|kind| self.registry.traits_of(kind.get()).after_load);
            if let Some(shared) = entry.shared().filter(|_| kind.is_some()) {
                self.env
                    .guarded(|| shared.object().visit_object(&mut visitor))
                    .map_err(|error| self.named(record, error))?;
            }
        }
        Ok(())
    }

    /// Seal pass: sets the once cells whose contents close cycles.
    pub(super) fn seal(&mut self) {
        let (env, contents) = (self.env, take(&mut self.once_contents));
        let mut connector = Connector::new(self);
        for (record, contents) in contents {
            let Some(shared) = connector.table.objects.shared(record).cloned() else { continue };
            connector.earlier_contents = contents;
            // `Phase::Seal` only moves contents into cells, so this visit cannot fail.
            let _ =
                shared.object().visit_object(&mut Visitor::new(Phase::Seal, env, &mut connector));
        }
    }
}

/// Points the references of visited objects at their targets, one object at a time.
struct Connector<'c, 'l> {
    table: &'c mut Table<'l>,
    /// The indices of the references that the visited object has left.
    next: Range<usize>,
    pass: Pass,
    /// True if this visit came to a reference that closes a cycle since `is_late` was last called.
    late: bool,
    /// Contents of once cells that an earlier visit of this object set aside, in the order of the visit.
    earlier_contents: OnceContents,
    new_contents: OnceContents,
}

impl<'c, 'l> Connector<'c, 'l> {
    fn new(table: &'c mut Table<'l>) -> Self {
        Self {
            table,
            next: 0..0,
            pass: Pass::Whole,
            late: false,
            earlier_contents: OnceContents::new(),
            new_contents: OnceContents::new(),
        }
    }

    /// Points the references of an object at their targets. `references` is their range. `contents` has the contents of
    /// once cells that an earlier visit set aside. Returns the contents that this visit sets aside, if there are any.
    fn connect(
        &mut self,
        references: Range<usize>,
        pass: Pass,
        contents: Option<OnceContents>,
        visit: &mut dyn FnMut(Visitor<'_>) -> Result<()>,
    ) -> Result<Option<OnceContents>> {
        (self.next, self.pass, self.late) = (references, pass, false);
        self.earlier_contents = contents.unwrap_or_default();
        self.new_contents.clear();
        visit(Visitor::new(Phase::Connect, self.table.env, self))?;
        // A leftover reference shows that decoding and visiting disagree. Then earlier pointers may have got wrong
        // targets.
        if self.step().is_some() {
            return Err(out_of_step());
        }
        let is_empty = self.new_contents.iter().all(Option::is_none);
        Ok(if is_empty { None } else { Some(take(&mut self.new_contents)) })
    }

    fn step(&mut self) -> Option<PendingReference> {
        let pass = self.pass;
        self.next
            .by_ref()
            .map(|at| self.table.references.get(at))
            // An object without a cell is visited twice: bare references when it is built, and those in inner cells
            // later.
            .find(|reference| reference.is_of(pass))
    }
}

impl VisitLinks for Connector<'_, '_> {
    #[inline]
    fn reference(&mut self, slot: &mut dyn ReferenceSlot) -> Result<()> {
        let Some(reference) = self.step() else { return Err(out_of_step()) };
        self.late |= reference.closes_cycle();
        let Some(target) = reference.target() else { return Ok(()) };
        let mut caster = None;
        if let Some(of) = slot.of()
            && let Some(kind) = self.table.objects.kinds[target]
        {
            let class = self.table.registry.objects[kind.get()].class;
            caster = self.table.caster(of, class);
        }
        // `Table::link` has checked the target's type unless references are connected in chunks. Then the type was a
        // guess, and `slot.connect` returns false if it was wrong.
        match self.table.objects.shared(target) {
            Some(object) if slot.connect(object, caster) => Ok(()),
            None if reference.is_weak() => slot.dangle(&self.table.registry.prototypes()),
            _ => {
                Err(error!(ErrorKind::WrongClass, "a reference is of another type than its field"))
            }
        }
    }

    fn defer(&mut self, content: Option<Box<dyn Any>>) {
        self.new_contents.push_back(content);
    }

    fn next_deferred(&mut self) -> Option<Box<dyn Any>> {
        self.earlier_contents.pop_front().flatten()
    }

    fn is_late(&mut self) -> bool {
        take(&mut self.late)
    }

    fn prototypes(&self) -> Prototypes<'_> {
        self.table.registry.prototypes()
    }
}

#[cold]
fn out_of_step() -> Error {
    error!(
        ErrorKind::Unsupported,
        "the references of an object are not visited in the order in which they are decoded; a hand-written `Persist` must list every value that holds references in `persist_parts`, in the order in which it decodes them"
    )
}
