//! The passes of a load after the filling: objects without a cell are made, ids become pointers, hooks run.

use std::any::Any;
use std::hint::black_box;
use std::mem::take;
use std::ops::Range;

use super::components::Edges;
use super::links::cycle_error;
use super::loading::TypeIndex;
use super::references::{Pass, PendingReference};
use super::table::{OnceContents, Table};
use crate::codec::{LoadedObject, Persist, Phase, Prototypes, ReferenceSlot, VisitLinks, Visitor};
use crate::{Error, ErrorKind, Result};

/// How many records are connected after one look at all their targets: few enough that
/// these are still in cache, as are the objects if they have just been filled.
pub(super) const CHUNK: usize = 128;

impl Table<'_> {
    /// Third pass: objects that could not be filled in place are shared, each after
    /// those that it must hold from the start.
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
                // It could not be changed later.
                let mut links = Prototypes::bare();
                let visitor = Visitor::new(Phase::AfterLoad, env, &mut links);
                if hooks {
                    env.guarded(|| draft.visit(&mut visitor.outside_of_cells()))?;
                }
                Ok(contents)
            });
            let contents = visited.map_err(|error| self.named(record, error))?;
            self.aside.extend(contents.map(|contents| (record, contents)));
            self.objects.entries[record] = LoadedObject::Shared(draft.build());
        }
        Ok(())
    }

    /// The order in which objects without a cell are made.
    fn order(&mut self) -> Result<Vec<u32>> {
        let edges = self.edges(|reference| reference.is_bare());
        let found = edges.components();
        if let Some(cycle) = found.cycles(&edges).first() {
            let record = cycle[0] as usize;
            let class = self.name(self.objects.records.get(record).class);
            return Err(self.named(record, cycle_error(class, cycle.len())));
        }
        if !self.references.all().iter().any(|reference| reference.is_lasting_once()) {
            self.objects.order.clone_from(&found.order);
            return Ok(found.order);
        }
        // Cells that can be set once are set last where they close a cycle: nothing
        // could cut it if the load failed.
        let component = self.edges(PendingReference::is_for_ever).components().of;
        for record in 0..self.objects.entries.len() {
            for place in self.references.of(record) {
                let reference = self.references.get(place);
                if let Some(target) = reference.target().filter(|_| reference.is_lasting_once())
                    && component[target] == component[record]
                {
                    self.references.set_late(place);
                }
            }
        }
        self.objects.order = self.edges(PendingReference::is_for_ever).components().order;
        Ok(found.order)
    }

    /// The references between objects without a cell.
    fn edges(&self, wanted: impl Fn(PendingReference) -> bool) -> Edges {
        let entries = &self.objects.entries;
        let is_draft = |record: usize| matches!(entries[record], LoadedObject::Draft(_));
        let mut edges = Edges::new(entries.len());
        for record in 0..entries.len() {
            let range = if is_draft(record) { self.references.of(record) } else { 0..0 };
            let references = self.references.in_places(range).iter();
            let references = references.filter(|reference| wanted(**reference));
            let targets = references.filter_map(|reference| reference.target());
            edges.push(
                targets.filter(|target| is_draft(*target)).filter_map(|t| u32::try_from(t).ok()),
            );
        }
        edges
    }

    /// Fourth pass: ids become pointers, in the order in which they were set aside.
    pub(super) fn connect(
        &mut self,
        visit_root: &mut dyn FnMut(&mut Visitor<'_>) -> Result<()>,
    ) -> Result<()> {
        // A debug build visits all the same: the mistakes of a hand-written impl show in small graphs too.
        if !self.waits && self.aside.is_empty() && !cfg!(debug_assertions) {
            return Ok(());
        }
        let (root, kept) = (self.references.of_root(), take(&mut self.objects.root_kept));
        Connector::new(self).connect(root, Pass::Whole, None, &mut |mut visitor| {
            visit_root(&mut visitor)?;
            kept.__visit_shared(&mut visitor)
        })?;
        self.objects.root_kept = kept;
        let records = self.objects.records.len();
        (0..records).step_by(CHUNK).try_for_each(|start| {
            self.connect_records(start..records.min(start + CHUNK))
                .map_err(|(record, error)| self.named(record, error))
        })
    }

    /// Connects the records that have been filled since the last call, while they are in cache, and forgets their
    /// references; returns how many those were. An error comes with its record.
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
            // Mostly nothing is kept; then not even a hash is asked for.
            let keeps = &mut table.objects.kept;
            let kept = if keeps.is_empty() { None } else { keeps.remove(&record) };
            let aside = &mut table.aside;
            let contents = if aside.is_empty() { None } else { aside.remove(&record) };
            let kind = table.objects.kinds[record];
            let is_wanted = kind
                .is_some_and(|kind| table.registry.traits_of(kind.get()).references)
                // Of what is kept as unknown the type does not say whether it refers to others.
                || table.references.is_late(record)
                || kept.is_some()
                || contents.is_some();
            let Some(shared) = table.objects.shared(record).filter(|_| is_wanted).cloned() else {
                continue;
            };
            let pass = if table.objects.is_built(record) { Pass::Cells } else { Pass::Whole };
            let references = table.references.of(record);
            let env = table.env;
            let contents = connector.connect(references, pass, contents, &mut |mut visitor| {
                env.guarded(|| shared.object().visit_object(&mut visitor))?;
                kept.as_ref().map_or(Ok(()), |kept| kept.__visit_shared(&mut visitor))
            });
            let contents = contents.map_err(|error| (record, error))?;
            let table = &mut *connector.table;
            table.objects.kept.extend(kept.map(|kept| (record, kept)));
            // It waits until nothing can fail.
            table.aside.extend(contents.map(|contents| (record, contents)));
        }
        Ok(())
    }

    /// Looks at the targets of records that come next, so that they are in cache when they
    /// are connected. Only a loop that is as short as this one waits for many of them at once.
    fn touch(&self, records: Range<usize>) {
        let pending = self.references.of_records(records);
        let targets = pending.iter().filter_map(|reference| reference.target());
        let shared = targets.filter_map(|target| self.objects.shared(target));
        let count = shared.fold(0_usize, |sum, shared| sum.wrapping_add(shared.strong_count()));
        black_box(count);
    }

    /// Fifth and sixth pass: hooks, inner values first.
    pub(super) fn run_hooks(&self, phase: Phase) -> Result<()> {
        if !self.registry.any_traits(|traits| traits.after_load) {
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

    /// Last pass: sets the cells that close cycles.
    pub(super) fn seal(&mut self) {
        let (env, late) = (self.env, take(&mut self.aside));
        let mut connector = Connector::new(self);
        for (record, contents) in late {
            let Some(shared) = connector.table.objects.shared(record).cloned() else { continue };
            connector.taken = contents;
            // Of the visits of this object it is the one that asks for nothing.
            let _ =
                shared.object().visit_object(&mut Visitor::new(Phase::Seal, env, &mut connector));
        }
    }
}

/// Points the references of one object after the other at their targets.
struct Connector<'c, 'l> {
    table: &'c mut Table<'l>,
    /// The references of the object that is visited.
    next: Range<usize>,
    pass: Pass,
    /// True if a reference that closes a cycle was met.
    late: bool,
    /// The contents set aside for the object that is visited.
    taken: OnceContents,
    put: OnceContents,
}

impl<'c, 'l> Connector<'c, 'l> {
    fn new(table: &'c mut Table<'l>) -> Self {
        Self {
            table,
            next: 0..0,
            pass: Pass::Whole,
            late: false,
            taken: OnceContents::new(),
            put: OnceContents::new(),
        }
    }

    /// Points the references of an object, which are at these places, at their targets. `contents` are those that an
    /// earlier visit set aside; returns those that this one does, if there are any.
    fn connect(
        &mut self,
        references: Range<usize>,
        pass: Pass,
        contents: Option<OnceContents>,
        visit: &mut dyn FnMut(Visitor<'_>) -> Result<()>,
    ) -> Result<Option<OnceContents>> {
        (self.next, self.pass, self.late) = (references, pass, false);
        self.taken = contents.unwrap_or_default();
        self.put.clear();
        visit(Visitor::new(Phase::Connect, self.table.env, self))?;
        if self.step().is_some() {
            return Err(out_of_step());
        }
        let is_empty = self.put.iter().all(Option::is_none);
        Ok(if is_empty { None } else { Some(take(&mut self.put)) })
    }

    fn step(&mut self) -> Option<PendingReference> {
        let pass = self.pass;
        self.next
            .by_ref()
            .map(|at| self.table.references.get(at))
            .find(|reference| reference.is_of(pass))
    }
}

impl VisitLinks for Connector<'_, '_> {
    #[inline]
    fn reference(&mut self, slot: &mut dyn ReferenceSlot) -> Result<()> {
        let Some(reference) = self.step() else { return Err(out_of_step()) };
        self.late |= reference.is_late();
        let Some(target) = reference.target() else { return Ok(()) };
        let mut caster = None;
        if let Some(of) = slot.of()
            && let Some(kind) = self.table.objects.kinds[target]
        {
            let class = self.table.registry.objects[kind.get()].class;
            caster = self.table.caster(of, class);
        }
        match self.table.objects.shared(target) {
            Some(object) if slot.connect(object, caster) => Ok(()),
            None if reference.is_weak() => slot.dangle(&self.table.registry.prototypes()),
            _ => {
                Err(error!(ErrorKind::WrongClass, "a reference is of another type than its field"))
            }
        }
    }

    fn defer(&mut self, content: Option<Box<dyn Any>>) {
        self.put.push_back(content);
    }

    fn next_deferred(&mut self) -> Option<Box<dyn Any>> {
        self.taken.pop_front().flatten()
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
