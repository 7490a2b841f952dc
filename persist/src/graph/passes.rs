//! The passes of a load after the filling: objects without a cell are made, ids
//! become pointers, hooks run.

use super::Loader;
use super::components::Edges;
use super::connect::{Aside, Connector};
use super::links::circle_error;
use super::pending::{Pass, Pending};
use super::registry::Traits;
use super::table::{Entry, Table, TypeIndex};
use crate::codec::{NoVisitLinks, Persist, Phase, Visitor};
use crate::{Error, Result};

/// How many records are connected after one look at all their targets: few enough that
/// these are still in cache.
const CHUNK: usize = 128;

impl Loader<'_> {
    /// Third pass: objects that could not be filled in place are shared, each after
    /// those that it must hold from the start.
    pub(super) fn build(&mut self) -> Result<Aside> {
        let mut aside = Aside::new();
        if !self.table.entries.iter().any(|entry| matches!(entry, Entry::Draft(_))) {
            return Ok(aside);
        }
        let order = self.order()?;
        for record in order.into_iter().map(|record| record as usize) {
            let Some(mut draft) = self.table.entries[record].take_draft() else { continue };
            let limits = self.limits;
            let references = self.table.range(record);
            let hooks = self.traits_of(record).after_load;
            let mut connector = Connector::new(&mut self.table);
            connector.begin(references, Pass::Bare);
            let connected = draft
                .visit(&mut Visitor::new(Phase::Connect, limits, &mut connector).outside_of_cells())
                .and_then(|()| connector.end());
            let contents = connector.take();
            let mut links = NoVisitLinks;
            let visited = connected.and_then(|()| {
                // It could not be changed later.
                let visitor = Visitor::new(Phase::AfterLoad, limits, &mut links);
                if hooks { draft.visit(&mut visitor.outside_of_cells()) } else { Ok(()) }
            });
            visited.map_err(|error| self.named(record, error))?;
            aside.extend(contents.map(|contents| (record, contents)));
            self.table.entries[record] = Entry::Built(draft.build());
        }
        Ok(aside)
    }

    /// The order in which objects without a cell are made.
    fn order(&mut self) -> Result<Vec<u32>> {
        let edges = self.edges(|reference| reference.is_bare());
        let found = edges.components();
        if let Some(circle) = found.circles(&edges).first() {
            let record = circle[0] as usize;
            let class = self.table.name(self.table.records[record].class);
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
        let is_draft = |record: usize| matches!(entries[record], Entry::Draft(_));
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
        visit_root: impl FnOnce(&mut Visitor<'_>) -> Result<()>,
    ) -> Result<Aside> {
        // A debug build visits all the same: the mistakes of a hand-written impl show in small graphs too.
        if !self.table.waits && aside.is_empty() && !cfg!(debug_assertions) {
            return Ok(aside);
        }
        let limits = self.limits;
        let wanted = self.wanted(|traits| traits.references);
        let root = 0..self.table.starts.first().copied().unwrap_or(0);
        let mut late = Aside::new();
        let keeps = &self.keeps;
        let mut connector = Connector::new(&mut self.table);
        connector.begin(root, Pass::Whole);
        let mut visitor = Visitor::new(Phase::Connect, limits, &mut connector);
        visit_root(&mut visitor)?;
        self.root_keeps.__visit_shared(&mut visitor)?;
        connector.end()?;
        let records = wanted.len();
        for (record, wanted) in wanted.into_iter().enumerate() {
            if record.is_multiple_of(CHUNK) {
                connector.touch(record..records.min(record + CHUNK));
            }
            let is_late = connector.is_late_record(record);
            // Mostly nothing is kept; then not even a hash is asked for.
            let kept = if keeps.is_empty() { None } else { keeps.get(&record) };
            if !wanted && !is_late && kept.is_none() && !aside.contains_key(&record) {
                continue;
            }
            let (shared, pass) = match connector.entry(record) {
                Entry::Open(shared) => (shared.clone(), Pass::Whole),
                Entry::Built(shared) => (shared.clone(), Pass::Cells),
                Entry::None | Entry::Draft(_) => continue,
            };
            connector.begin_record(record, pass);
            // Mostly there is none; then not even a hash is asked for.
            let contents = if aside.is_empty() { None } else { aside.remove(&record) };
            connector.give(contents);
            let mut visitor = Visitor::new(Phase::Connect, limits, &mut connector);
            let visited = shared
                .object()
                .visit_object(&mut visitor)
                .and_then(|()| kept.map_or(Ok(()), |kept| kept.__visit_shared(&mut visitor)));
            let result = visited.and_then(|()| connector.end());
            if let Err(error) = result {
                return Err(self.named(record, error));
            }
            late.extend(connector.take().map(|contents| (record, contents)));
        }
        Ok(late)
    }

    /// Fifth and sixth pass: hooks, inner values first.
    pub(super) fn run_hooks(&self, phase: Phase) -> Result<()> {
        if !self.registry.any_traits(|traits| traits.after_load) {
            return Ok(());
        }
        let wanted = self.wanted(|traits| traits.after_load);
        let mut links = NoVisitLinks;
        let mut visitor = Visitor::new(phase, self.limits, &mut links);
        for (record, entry) in self.table.entries.iter().enumerate() {
            if let Some(shared) = entry.shared().filter(|_| wanted[record]) {
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
        let limits = self.limits;
        let mut connector = Connector::new(&mut self.table);
        for (record, contents) in late {
            let Some(shared) = connector.entry(record).shared().cloned() else { continue };
            connector.give(Some(contents));
            // Of the visits of this object it is the one that asks for nothing.
            let _ = shared.object().visit_object(&mut Visitor::new(
                Phase::Seal,
                limits,
                &mut connector,
            ));
        }
    }

    fn traits_of(&self, record: usize) -> Traits {
        let kind = self.table.kinds[record].map(TypeIndex::get);
        kind.map_or_else(Traits::default, |kind| {
            self.registry.traits(self.registry.objects[kind].class)
        })
    }

    /// For each record, whether objects of its type are visited.
    fn wanted(&self, wanted: impl Fn(Traits) -> bool) -> Vec<bool> {
        let objects = self.registry.objects.iter();
        let types: Vec<bool> =
            objects.map(|entry| wanted(self.registry.traits(entry.class))).collect();
        let kinds = self.table.kinds.iter();
        kinds.map(|kind| kind.is_some_and(|kind| types[kind.get()])).collect()
    }

    /// An error with the object and the class of a record.
    pub(super) fn named(&self, record: usize, error: Error) -> Error {
        let record = &self.table.records[record];
        error.in_object(record.id).in_class(self.table.name(record.class))
    }
}
