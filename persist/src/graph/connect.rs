//! The passes of a load after the filling: objects without a cell are made, ids become pointers, hooks run.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::ops::Range;

use super::components::Edges;
use super::links::circle_error;
use super::made::TypeIndex;
use super::references::{Pass, Pending};
use super::registry::Traits;
use super::table::Table;
use crate::codec::{Made, Persist, Phase, Prototypes, Slot, Unknown, VisitLinks, Visitor};
use crate::{Error, ErrorKind, Result};

/// How many records are connected after one look at all their targets: few enough that
/// these are still in cache, as are the objects if they have just been filled.
pub(super) const CHUNK: usize = 128;

impl Table<'_> {
    /// Third pass: objects that could not be filled in place are shared, each after
    /// those that it must hold from the start.
    pub(super) fn build(&mut self) -> Result<Aside> {
        let mut aside = Aside::new();
        if !self.objects.entries.iter().any(|entry| matches!(entry, Made::Draft(_))) {
            return Ok(aside);
        }
        self.objects.built = vec![false; self.objects.entries.len()];
        let order = self.order()?;
        for record in order.into_iter().map(|record| record as usize) {
            let Some(mut draft) = self.objects.entries[record].take_draft() else { continue };
            let env = self.env;
            let references = self.references.of(record);
            let hooks = self.traits_of(record).after_load;
            let mut connector = Connector::new(self);
            connector.begin(references, Pass::Bare);
            let connected = draft
                .visit(&mut Visitor::new(Phase::Connect, env, &mut connector).outside_of_cells())
                .and_then(|()| connector.end());
            let contents = connector.take();
            let mut links = Prototypes::bare();
            let visited = connected.and_then(|()| {
                // It could not be changed later.
                let visitor = Visitor::new(Phase::AfterLoad, env, &mut links);
                if hooks { draft.visit(&mut visitor.outside_of_cells()) } else { Ok(()) }
            });
            visited.map_err(|error| self.named(record, error))?;
            aside.extend(contents.map(|contents| (record, contents)));
            self.objects.entries[record] = Made::Shared(draft.build());
            self.objects.built[record] = true;
        }
        Ok(aside)
    }

    /// The order in which objects without a cell are made.
    fn order(&mut self) -> Result<Vec<u32>> {
        let edges = self.edges(|reference| reference.is_bare());
        let found = edges.components();
        if let Some(circle) = found.circles(&edges).first() {
            let record = circle[0] as usize;
            let class = self.name(self.objects.records.get(record).class);
            return Err(self.named(record, circle_error(class, circle.len())));
        }
        let is_lasting_once = |reference: &Pending| reference.is_lasting_once();
        if !self.references.since(0).iter().any(is_lasting_once) {
            self.objects.order.clone_from(&found.order);
            return Ok(found.order);
        }
        // Cells that can be set once are set last where they close a circle: nothing
        // could cut it if the load failed.
        let component = self.edges(Pending::is_for_ever).components().of;
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
        self.objects.order = self.edges(Pending::is_for_ever).components().order;
        Ok(found.order)
    }

    /// The references between objects without a cell.
    fn edges(&self, wanted: impl Fn(Pending) -> bool) -> Edges {
        let entries = &self.objects.entries;
        let is_draft = |record: usize| matches!(entries[record], Made::Draft(_));
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
    /// Returns what must wait until nothing can fail.
    pub(super) fn connect(
        &mut self,
        mut aside: Aside,
        wanted: &[bool],
        keeps: &HashMap<usize, Unknown>,
        root_keeps: &Unknown,
        visit_root: impl FnOnce(&mut Visitor<'_>) -> Result<()>,
    ) -> Result<Aside> {
        // A debug build visits all the same: the mistakes of a hand-written impl show in small graphs too.
        if !self.waits && aside.is_empty() && !cfg!(debug_assertions) {
            return Ok(aside);
        }
        let root = self.references.of_root();
        let env = self.env;
        let mut connector = Connector::new(self);
        connector.begin(root, Pass::Whole);
        let mut visitor = Visitor::new(Phase::Connect, env, &mut connector);
        visit_root(&mut visitor)?;
        root_keeps.__visit_shared(&mut visitor)?;
        connector.end()?;
        let mut late = Aside::new();
        let records = self.objects.records.len();
        for start in (0..records).step_by(CHUNK) {
            let chunk = start..records.min(start + CHUNK);
            self.connect_records(chunk, wanted, keeps, &mut aside, &mut late)
                .map_err(|(record, error)| self.named(record, error))?;
        }
        Ok(late)
    }

    /// Connects the records that have been filled since the last call, while they are in cache, and forgets their
    /// references; returns how many those were.
    ///
    /// # Errors
    ///
    /// An error comes with its record.
    pub(super) fn connect_filled(
        &mut self,
        wanted: &[bool],
        late: &mut Aside,
    ) -> Result<u64, (usize, Error)> {
        let filled = self.references.begun();
        self.references.begin_record().map_err(|error| (filled.start, error))?;
        self.connect_records(filled.clone(), wanted, &HashMap::new(), &mut Aside::new(), late)?;
        let count = self.references.len() as u64;
        self.references.forget(filled.end);
        Ok(count)
    }

    fn connect_records(
        &mut self,
        records: Range<usize>,
        wanted: &[bool],
        keeps: &HashMap<usize, Unknown>,
        aside: &mut Aside,
        late: &mut Aside,
    ) -> Result<(), (usize, Error)> {
        let env = self.env;
        self.touch(records.clone());
        let mut connector = Connector::new(self);
        for record in records {
            let table = &*connector.table;
            // Mostly nothing is kept; then not even a hash is asked for.
            let kept = if keeps.is_empty() { None } else { keeps.get(&record) };
            let contents = if aside.is_empty() { None } else { aside.remove(&record) };
            let is_wanted = table.objects.kinds[record].is_some_and(|kind| wanted[kind.get()]);
            // Of what is kept as unknown the type does not say whether it refers to others.
            if !is_wanted
                && !table.references.is_late(record)
                && kept.is_none()
                && contents.is_none()
            {
                continue;
            }
            let Some(shared) = table.objects.shared(record).cloned() else { continue };
            let pass = if table.objects.is_built(record) { Pass::Cells } else { Pass::Whole };
            connector.begin_record(record, pass);
            connector.give(contents);
            let mut visitor = Visitor::new(Phase::Connect, env, &mut connector);
            let visited = shared
                .object()
                .visit_object(&mut visitor)
                .and_then(|()| kept.map_or(Ok(()), |kept| kept.__visit_shared(&mut visitor)));
            visited.and_then(|()| connector.end()).map_err(|error| (record, error))?;
            late.extend(connector.take().map(|contents| (record, contents)));
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
        let wanted = self.wanted(|traits| traits.after_load);
        let mut links = Prototypes::bare();
        let mut visitor = Visitor::new(phase, self.env, &mut links);
        for (record, entry) in self.objects.entries.iter().enumerate() {
            let kind = self.objects.kinds[record].filter(|kind| wanted[kind.get()]);
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
        let mut connector = Connector::new(self);
        for (record, contents) in late {
            let Some(shared) = connector.table.objects.shared(record).cloned() else { continue };
            connector.give(Some(contents));
            // Of the visits of this object it is the one that asks for nothing.
            let _ =
                shared.object().visit_object(&mut Visitor::new(Phase::Seal, env, &mut connector));
        }
    }

    fn traits_of(&self, record: usize) -> Traits {
        let kind = self.objects.kinds[record].map(TypeIndex::get);
        kind.map_or_else(Traits::default, |kind| {
            self.registry.traits(self.registry.objects[kind].class)
        })
    }

    /// For each type, whether its objects are visited.
    pub(super) fn wanted(&self, wanted: impl Fn(Traits) -> bool) -> Vec<bool> {
        let objects = self.registry.objects.iter();
        objects.map(|entry| wanted(self.registry.traits(entry.class))).collect()
    }
}

/// Contents of cells that can be set once, in the order in which those are met.
type Contents = VecDeque<Option<Box<dyn Any>>>;

/// Points the references of one object after the other at their targets.
struct Connector<'c, 'l> {
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
    fn new(table: &'c mut Table<'l>) -> Self {
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
    fn begin(&mut self, references: Range<usize>, pass: Pass) {
        (self.next, self.pass) = (references, pass);
    }

    /// Begins with the object of a record.
    fn begin_record(&mut self, record: usize, pass: Pass) {
        self.begin(self.table.references.of(record), pass);
    }

    /// Gives back the contents that an earlier visit of the object set aside.
    fn give(&mut self, contents: Option<Contents>) {
        self.late = false;
        if let Some(contents) = contents {
            self.taken = contents;
        } else {
            self.taken.clear();
        }
        self.put.clear();
    }

    /// Ends with the object.
    fn end(&mut self) -> Result<()> {
        if self.step().is_some() { Err(out_of_step()) } else { Ok(()) }
    }

    /// Takes the contents that the visit set aside, if there are any.
    fn take(&mut self) -> Option<Contents> {
        if self.put.is_empty() {
            return None;
        }
        let put = std::mem::take(&mut self.put);
        put.iter().any(Option::is_some).then_some(put)
    }

    fn step(&mut self) -> Option<Pending> {
        let pass = self.pass;
        self.next
            .by_ref()
            .map(|at| self.table.references.get(at))
            .find(|reference| reference.is_of(pass))
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
            && let Some(kind) = self.table.objects.kinds[target]
        {
            let class = self.table.registry.objects[kind.get()].class;
            caster = self.table.caster(of, class);
        }
        match self.table.objects.shared(target) {
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
