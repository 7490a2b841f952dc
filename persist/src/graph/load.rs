use std::any::Any;
use std::collections::HashMap;
use std::rc::Rc;

use super::registry::Traits;
use super::table::{Ids, NOBODY, Table, WEAK};
use super::{ObjectId, Registry};
use crate::codec::{Decoder, Fail, Persist, Phase, Shared, Slot, Visitor, left_over};
use crate::format::{Header, RecordPlace, Scan, scan};
use crate::reflect::Holder;
use crate::schema::{Event, Plans, Run, locate, transcode};
use crate::{Error, ErrorKind, Limits, Result};

/// An object that has come back.
pub(crate) struct LoadedObject {
    pub(crate) id: ObjectId,
    pub(crate) shared: Shared,
    pub(crate) added: bool,
    /// The program's factory for it, if it gave one.
    pub(crate) factory: Option<Rc<dyn Any>>,
}

/// What a load did besides making objects.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) header: Header,
    pub(crate) events: Vec<(Event, Run)>,
    /// Class name, number of objects and first id, of classes that are not registered.
    pub(crate) skipped: Vec<(String, u64, u64)>,
    /// Class name, number of weak references without a target and first object, of
    /// classes that hold some.
    pub(crate) dangling: Vec<(String, u64, u64)>,
    pub(crate) references: u64,
    /// Class name and number of objects.
    pub(crate) objects: Vec<(String, u64)>,
}

/// Loads a graph in passes: every object is made empty; each is filled, its
/// references set aside as ids; then ids become pointers; then hooks run.
pub(crate) struct Loader<'l> {
    registry: &'l Registry,
    limits: &'l Limits,
    save: &'l [u8],
    records: Vec<RecordPlace>,
    plans: Plans<'l>,
    table: Table,
    outcome: Outcome,
    /// Weak references without a target and the first object that holds one, by class.
    dangling: HashMap<u32, (u64, u64)>,
    /// A record rewritten into the program's form.
    scratch: Vec<u8>,
}

impl<'l> Loader<'l> {
    pub(crate) fn new(registry: &'l Registry, limits: &'l Limits, save: &'l [u8]) -> Result<Self> {
        let Scan { header, classes, records } = scan(save, limits)?;
        let plans = Plans::new(classes, registry.program());
        let table = Table {
            ids: Ids::new(&records)?,
            objects: Vec::new(),
            kinds: Vec::new(),
            stand_ins: vec![None; registry.objects.len()],
            factories: registry
                .objects
                .iter()
                .map(|entry| registry.factory_of(&entry.kind))
                .collect(),
            names: plans.stored.iter().map(|class| class.name.clone()).collect(),
            held: registry
                .objects
                .iter()
                .map(|entry| entry.kind.holder.around(false, &(entry.kind.name)()))
                .collect(),
            pending: Vec::new(),
            dangling: 0,
            empty_elements: 0,
            held_bytes: 0,
            save_bytes: save.len() as u64,
        };
        let outcome = Outcome { header, ..Outcome::default() };
        Ok(Self {
            registry,
            limits,
            save,
            records,
            plans,
            table,
            outcome,
            dangling: HashMap::new(),
            scratch: Vec::new(),
        })
    }

    /// Loads the objects of a save that a manager wrote.
    pub(crate) fn load(mut self) -> Result<(Vec<LoadedObject>, Outcome)> {
        if let Some(root) = self.records.iter().find(|record| record.holder == Holder::Value) {
            let class = &self.plans.stored[root.class as usize].name;
            return Err(Error::new(
                ErrorKind::WrongClass,
                format!(
                    "the save holds one value, a {class}; load it with `persist::load::<{class}>`"
                ),
            )
            .at(root.start as u64));
        }
        self.passes(|_| Ok(()), |(), _| Ok(()))?;
        Ok(self.finish())
    }

    /// Loads a save of one value.
    pub(crate) fn load_value<T: Persist>(
        mut self,
        class: usize,
    ) -> Result<(T, Vec<LoadedObject>, Outcome)> {
        let roots: Vec<_> =
            self.records.iter().copied().filter(|record| record.holder == Holder::Value).collect();
        let wanted = &self.registry.program().classes[class].name;
        let &[root] = &roots[..] else {
            let message = match roots.len() {
                0 => format!(
                    "the save holds {} objects and no value of its own, where one {wanted} is expected; load it with `SaveManager::load`",
                    self.records.len()
                ),
                several => {
                    format!("the save holds {several} values where one {wanted} is expected")
                }
            };
            return Err(Error::new(ErrorKind::WrongClass, message));
        };
        if self.plans.resolve(root.class as usize) != Some(class) {
            let found = &self.plans.stored[root.class as usize].name;
            return Err(Error::new(
                ErrorKind::WrongClass,
                format!("the save holds a {found} where a {wanted} is expected; load it as that, or name it in an `alias` of the class"),
            )
            .at(root.start as u64));
        }
        let traits = self.registry.traits(class);
        let visits = traits.references || traits.after_load;
        let value = self.passes(
            |loader| match loader.registry.make::<T>() {
                Some(mut value) => loader.fill(&root, |input| {
                    input.value_into(&mut value)?;
                    Ok(value)
                }),
                None => loader.fill(&root, |input| input.value::<T>()),
            },
            |value, visitor| {
                if visits {
                    value.visit(visitor).map_err(|error| error.in_class(wanted.clone()))
                } else {
                    Ok(())
                }
            },
        )?;
        let (objects, outcome) = self.finish();
        Ok((value, objects, outcome))
    }

    /// All passes; the root is a value beside the objects, filled and visited first.
    fn passes<R>(
        &mut self,
        root: impl FnOnce(&mut Self) -> Result<R>,
        mut visit_root: impl FnMut(&mut R, &mut Visitor<'_>) -> Result<()>,
    ) -> Result<R> {
        self.create()?;
        let is_root = |record: &RecordPlace| record.holder == Holder::Value;
        let root_record = self.records.iter().position(is_root);
        let mut starts: Vec<_> = root_record.map(|record| (record, 0)).into_iter().collect();
        let mut root = root(self)?;
        for i in 0..self.records.len() {
            if let Some(shared) = self.table.objects[i].clone() {
                let record = self.records[i];
                starts.push((i, self.table.pending.len()));
                self.fill(&record, |input| shared.object().fill(input))?;
            }
        }
        if let Some(root) = root_record {
            // Nobody else could get at the others, or cut their cycles.
            self.table.keep_reached(root, &starts);
        }
        self.connect(|visitor| visit_root(&mut root, visitor))?;
        for phase in [Phase::Validate, Phase::AfterLoad] {
            let mut connect = |_: &mut dyn Slot| Ok(());
            visit_root(&mut root, &mut Visitor::new(phase, self.limits, &mut connect))?;
            self.visit_objects(
                &mut |traits| traits.after_load,
                &mut Visitor::new(phase, self.limits, &mut connect),
            )?;
        }
        Ok(root)
    }

    /// First pass: every object is made empty by the factory of its class.
    fn create(&mut self) -> Result<()> {
        let registry = self.registry;
        let mut counts = vec![0_u64; self.plans.stored.len()];
        let mut skipped: HashMap<u32, (u64, u64)> = HashMap::new();
        let mut held = 0_u64;
        // Records of one type mostly stand together.
        let mut last = (u32::MAX, Holder::Value, None);
        for record in &self.records {
            let class = record.class as usize;
            let resolved = self.plans.resolve(class);
            if (last.0, last.1) != (record.class, record.holder) {
                let object = resolved.and_then(|class| registry.object(class, record.holder));
                last = (record.class, record.holder, object);
            }
            let object = last.2;
            if record.holder == Holder::Value || object.is_none() {
                self.table.objects.push(None);
                self.table.kinds.push(None);
                if record.holder != Holder::Value {
                    let entry = skipped.entry(record.class).or_insert((0, record.id));
                    entry.0 += 1;
                }
                continue;
            }
            counts[class] += 1;
            let Some(object) = object else { continue };
            // A small record may claim a large object, but not many of them.
            let kind = &registry.objects[object].kind;
            held = held.saturating_add(registry.objects[object].footprint);
            self.limits.check_expansion(self.save.len() as u64, held).map_err(|error| {
                error.at(record.start as u64).in_class(&*self.plans.stored[class].name)
            })?;
            let shared = (kind.make)(registry.factory(kind));
            self.table.stand_ins[object].get_or_insert_with(|| shared.clone());
            self.table.objects.push(Some(shared));
            self.table.kinds.push(u32::try_from(object).ok());
        }
        self.table.held_bytes = held;
        self.outcome.skipped = self.named(&skipped);
        let counted = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        self.outcome.objects =
            counted.map(|(class, count)| (self.plans.stored[class].name.clone(), *count)).collect();
        Ok(())
    }

    /// Second pass, for one record: the value is read and its references set aside.
    fn fill<R>(
        &mut self,
        record: &RecordPlace,
        read: impl FnOnce(&mut Decoder<'_>) -> Result<R, Fail>,
    ) -> Result<R> {
        let class = record.class as usize;
        let stored = record.payload(self.save);
        let place = |error: Error| match error.offset() {
            Some(offset) => error.moved_to(record.start as u64 + offset),
            None => error.at(record.start as u64),
        };
        let named = |error: Error| error.in_object(record.id).in_class(&*self.table.names[class]);
        let identical = self.plans.is_identical(class);
        if !identical {
            self.scratch.clear();
            transcode(&mut self.plans, class, record.id, stored, self.limits, &mut self.scratch)
                .map_err(|error| named(place(error)))?;
        }
        let payload = if identical { stored } else { &self.scratch[..] };
        self.table.dangling = 0;
        let mut input = Decoder::new(payload, self.limits, &mut self.table);
        let result = read(&mut input);
        let (left, refused) = (input.rest().len(), input.take_error());
        if self.table.dangling > 0 {
            self.dangling.entry(record.class).or_insert((0, record.id)).0 += self.table.dangling;
        }
        match result {
            Ok(value) if left == 0 => Ok(value),
            result => {
                // What the typed decoder says, if the schema does not show more.
                let error = result.err().map_or_else(|| left_over(left), Error::from);
                let named =
                    |error: Error| error.in_object(record.id).in_class(&*self.table.names[class]);
                // The schema of the save often shows the field; a reason that
                // the type gave is better than any.
                let is_target = |id, weak, class, holder| match self.table.find(id) {
                    Some(record) => {
                        let record = &self.records[record as usize];
                        (record.class as usize, record.holder) == (class, holder)
                    }
                    None => weak,
                };
                let found = locate(class, &self.plans.stored, stored, self.limits, &is_target);
                Err(named(match (refused, found) {
                    (Some(error), Some((found, offset))) => place(error)
                        .in_field(found.field().unwrap_or_default())
                        .moved_to((record.start + offset) as u64),
                    (Some(error), None) => place(error),
                    (None, Some((error, offset))) => error.at((record.start + offset) as u64),
                    (None, None) if identical => {
                        error.at((record.start + stored.len() - left) as u64)
                    }
                    (None, None) => error.at(record.start as u64),
                }))
            }
        }
    }

    /// Third pass: ids become pointers, in the order in which they were set aside.
    fn connect(&mut self, visit_root: impl FnOnce(&mut Visitor<'_>) -> Result<()>) -> Result<()> {
        let pending = std::mem::take(&mut self.table.pending);
        self.outcome.references = pending.len() as u64;
        let mut next = pending.iter();
        let objects = &self.table.objects;
        let mut connect = |slot: &mut dyn Slot| match next.next() {
            Some(&NOBODY) => Ok(()),
            Some(&record) => match &objects[(record & !WEAK) as usize] {
                Some(target) if slot.connect(target) => Ok(()),
                _ => Err(Error::new(
                    ErrorKind::WrongClass,
                    "a reference is of another type than its field",
                )),
            },
            None => Err(out_of_step()),
        };
        let mut visitor = Visitor::new(Phase::Connect, self.limits, &mut connect);
        visit_root(&mut visitor)?;
        self.visit_objects(&mut |traits| traits.references, &mut visitor)?;
        if next.next().is_some() { Err(out_of_step()) } else { Ok(()) }
    }

    fn visit_objects(
        &self,
        wanted: &mut dyn FnMut(Traits) -> bool,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        let registry = self.registry;
        let visited: Vec<bool> =
            registry.objects.iter().map(|entry| wanted(registry.traits(entry.class))).collect();
        if !visited.contains(&true) {
            return Ok(());
        }
        for (i, shared) in self.table.objects.iter().enumerate() {
            if let (Some(shared), Some(kind)) = (shared, self.table.kinds[i])
                && visited[kind as usize]
            {
                let record = &self.records[i];
                shared.object().visit(visitor).map_err(|error| {
                    error.in_object(record.id).in_class(&*self.table.names[record.class as usize])
                })?;
            }
        }
        Ok(())
    }

    /// Counts by class number as counts by class name, in the order of names.
    fn named(&self, counts: &HashMap<u32, (u64, u64)>) -> Vec<(String, u64, u64)> {
        let name = |class: u32| self.table.names[class as usize].clone();
        let mut rows: Vec<_> =
            counts.iter().map(|(class, (count, first))| (name(*class), *count, *first)).collect();
        rows.sort();
        rows
    }

    fn finish(mut self) -> (Vec<LoadedObject>, Outcome) {
        self.outcome.events = self.plans.events().collect();
        self.outcome.dangling = self.named(&self.dangling);
        let made = std::mem::take(&mut self.table.objects);
        let mut objects = Vec::with_capacity(made.len());
        for (i, shared) in made.into_iter().enumerate() {
            let record = &self.records[i];
            if let (Some(shared), Some(id)) = (shared, ObjectId::new(record.id)) {
                let kind = self.table.kinds[i];
                let factory = kind.and_then(|kind| self.table.factories[kind as usize].clone());
                objects.push(LoadedObject { id, shared, added: record.added, factory });
            }
        }
        objects.sort_by_key(|object| (!object.added, object.id));
        (objects, self.outcome)
    }
}

#[cold]
fn out_of_step() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the references of an object are not visited in the order in which they are decoded; a hand-written `Persist` must visit what it decodes, and set `LEAF` to false",
    )
}
