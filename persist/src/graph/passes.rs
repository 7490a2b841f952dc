//! The passes of a load after the filling: objects without a cell are made, ids
//! become pointers, hooks run.

use std::ops::Range;

use super::Loader;
use super::components::Edges;
use super::connect::{Aside, Connector};
use super::links::circle_error;
use super::pending::{Pass, Pending};
use super::registry::Traits;
use super::table::{Table, TypeIndex};
use crate::codec::{Made, NoVisitLinks, Persist, Phase, Visitor};
use crate::{Error, Result};

/// How many records are connected after one look at all their targets: few enough that
/// these are still in cache, as are the objects if they have just been filled.
pub(super) const CHUNK: usize = 128;

impl Loader<'_> {
    /// Third pass: objects that could not be filled in place are shared, each after
    /// those that it must hold from the start.
    pub(super) fn build(&mut self) -> Result<Aside> {
        let mut aside = Aside::new();
        if !self.table.entries.iter().any(|entry| matches!(entry, Made::Draft(_))) {
            return Ok(aside);
        }
        self.table.built = vec![false; self.table.entries.len()];
        let order = self.order()?;
        for record in order.into_iter().map(|record| record as usize) {
            let Some(mut draft) = self.table.entries[record].take_draft() else { continue };
            let env = self.env;
            let references = self.table.range(record);
            let hooks = self.traits_of(record).after_load;
            let mut connector = Connector::new(&mut self.table);
            connector.begin(references, Pass::Bare);
            let connected = draft
                .visit(&mut Visitor::new(Phase::Connect, env, &mut connector).outside_of_cells())
                .and_then(|()| connector.end());
            let contents = connector.take();
            let mut links = NoVisitLinks;
            let visited = connected.and_then(|()| {
                // It could not be changed later.
                let visitor = Visitor::new(Phase::AfterLoad, env, &mut links);
                if hooks { draft.visit(&mut visitor.outside_of_cells()) } else { Ok(()) }
            });
            visited.map_err(|error| self.named(record, error))?;
            aside.extend(contents.map(|contents| (record, contents)));
            self.table.entries[record] = Made::Shared(draft.build());
            self.table.built[record] = true;
        }
        Ok(aside)
    }

    /// The order in which objects without a cell are made.
    fn order(&mut self) -> Result<Vec<u32>> {
        let edges = self.edges(|reference| reference.is_bare());
        let found = edges.components();
        if let Some(circle) = found.circles(&edges).first() {
            let record = circle[0] as usize;
            let class = self.table.name(self.table.records.get(record).class);
            return Err(self.named(record, circle_error(class, circle.len())));
        }
        let is_lasting_once = |reference: &Pending| reference.is_once() && !reference.is_weak();
        if !self.table.pending.iter().any(is_lasting_once) {
            self.table.order.clone_from(&found.order);
            return Ok(found.order);
        }
        // Cells that can be set once are set last where they close a circle: nothing
        // could cut it if the load failed.
        let component = self.edges(Pending::is_for_ever).components().of;
        for record in 0..self.table.entries.len() {
            for at in self.table.range(record) {
                let reference = &mut self.table.pending[at];
                if let Some(target) = reference.target().filter(|_| is_lasting_once(reference))
                    && component[target] == component[record]
                {
                    reference.set_late();
                }
            }
        }
        self.table.order = self.edges(Pending::is_for_ever).components().order;
        Ok(found.order)
    }

    /// The references between objects without a cell.
    fn edges(&self, wanted: impl Fn(Pending) -> bool) -> Edges {
        let Table { entries, pending, .. } = &self.table;
        let is_draft = |record: usize| matches!(entries[record], Made::Draft(_));
        let mut edges = Edges::new(entries.len());
        for record in 0..entries.len() {
            let range = if is_draft(record) { self.table.range(record) } else { 0..0 };
            let references = pending[range].iter().filter(|reference| wanted(**reference));
            let targets = references.filter_map(|reference| reference.target());
            edges.push(
                targets.filter(|target| is_draft(*target)).filter_map(|t| u32::try_from(t).ok()),
            );
        }
        edges
    }

    /// Fourth pass: ids become pointers, in the order in which they were set aside.
    /// Returns what must wait until nothing can fail.
    pub(super) fn connect(
        &mut self,
        mut aside: Aside,
        wanted: &[bool],
        visit_root: impl FnOnce(&mut Visitor<'_>) -> Result<()>,
    ) -> Result<Aside> {
        // A debug build visits all the same: the mistakes of a hand-written impl show in small graphs too.
        if !self.table.waits && aside.is_empty() && !cfg!(debug_assertions) {
            return Ok(aside);
        }
        let root = self.table.root();
        let mut connector = Connector::new(&mut self.table);
        connector.begin(root, Pass::Whole);
        let mut visitor = Visitor::new(Phase::Connect, self.env, &mut connector);
        visit_root(&mut visitor)?;
        self.root_keeps.__visit_shared(&mut visitor)?;
        connector.end()?;
        let mut late = Aside::new();
        let records = self.table.records.len();
        for start in (0..records).step_by(CHUNK) {
            let chunk = start..records.min(start + CHUNK);
            self.connect_records(chunk, wanted, &mut aside, &mut late)?;
        }
        Ok(late)
    }

    /// Connects the records that have been filled since the last call, while they are in cache,
    /// and forgets their references.
    pub(super) fn connect_filled(&mut self, wanted: &[bool], late: &mut Aside) -> Result<()> {
        let first = self.table.first;
        let filled = first..first + self.table.starts.len();
        self.table.begin_record()?;
        self.connect_records(filled.clone(), wanted, &mut Aside::new(), late)?;
        self.outcome.references += self.table.pending.len() as u64;
        self.table.first = filled.end;
        self.table.starts.clear();
        self.table.pending.clear();
        Ok(())
    }

    fn connect_records(
        &mut self,
        records: Range<usize>,
        wanted: &[bool],
        aside: &mut Aside,
        late: &mut Aside,
    ) -> Result<()> {
        let env = self.env;
        let keeps = &self.keeps;
        let mut connector = Connector::new(&mut self.table);
        connector.touch(records.clone());
        for record in records {
            // Mostly nothing is kept; then not even a hash is asked for.
            let kept = if keeps.is_empty() { None } else { keeps.get(&record) };
            let contents = if aside.is_empty() { None } else { aside.remove(&record) };
            let is_wanted = connector.kind(record).is_some_and(|kind| wanted[kind]);
            if !is_wanted
                && !connector.is_late_record(record)
                && kept.is_none()
                && contents.is_none()
            {
                continue;
            }
            let Some(shared) = connector.entry(record).shared().cloned() else { continue };
            let pass = if connector.is_built(record) { Pass::Cells } else { Pass::Whole };
            connector.begin_record(record, pass);
            connector.give(contents);
            let mut visitor = Visitor::new(Phase::Connect, env, &mut connector);
            let visited = shared
                .object()
                .visit_object(&mut visitor)
                .and_then(|()| kept.map_or(Ok(()), |kept| kept.__visit_shared(&mut visitor)));
            let result = visited.and_then(|()| connector.end());
            if let Err(error) = result {
                if std::mem::take(&mut self.table.in_chunks) {
                    // Now that each target is looked at, the decode says in which field it is.
                    self.fill_object(record)?;
                }
                return Err(self.named(record, error));
            }
            late.extend(connector.take().map(|contents| (record, contents)));
        }
        Ok(())
    }

    /// Fifth and sixth pass: hooks, inner values first.
    pub(super) fn run_hooks(&self, phase: Phase) -> Result<()> {
        if !self.registry.any_traits(|traits| traits.after_load) {
            return Ok(());
        }
        let wanted = self.wanted(|traits| traits.after_load);
        let mut links = NoVisitLinks;
        let mut visitor = Visitor::new(phase, self.env, &mut links);
        for (record, entry) in self.table.entries.iter().enumerate() {
            let kind = self.table.kinds[record].filter(|kind| wanted[kind.get()]);
            if let Some(shared) = entry.shared().filter(|_| kind.is_some()) {
                shared
                    .object()
                    .visit_object(&mut visitor)
                    .map_err(|error| self.named(record, error))?;
            }
        }
        Ok(())
    }

    /// Last pass: sets the cells that close cycles.
    pub(super) fn seal(&mut self, late: Aside) {
        let env = self.env;
        let mut connector = Connector::new(&mut self.table);
        for (record, contents) in late {
            let Some(shared) = connector.entry(record).shared().cloned() else { continue };
            connector.give(Some(contents));
            // Of the visits of this object it is the one that asks for nothing.
            let _ =
                shared.object().visit_object(&mut Visitor::new(Phase::Seal, env, &mut connector));
        }
    }

    fn traits_of(&self, record: usize) -> Traits {
        let kind = self.table.kinds[record].map(TypeIndex::get);
        kind.map_or_else(Traits::default, |kind| {
            self.registry.traits(self.registry.objects[kind].class)
        })
    }

    /// For each type, whether its objects are visited.
    pub(super) fn wanted(&self, wanted: impl Fn(Traits) -> bool) -> Vec<bool> {
        let objects = self.registry.objects.iter();
        objects.map(|entry| wanted(self.registry.traits(entry.class))).collect()
    }

    /// An error with the object and the class of a record.
    pub(super) fn named(&self, record: usize, error: Error) -> Error {
        let record = self.table.records.get(record);
        error.in_object(record.id).in_class(self.table.name(record.class))
    }
}
