//! The driver of a load: scans a save, then creates, fills, connects and checks its objects. The [module page](crate::graph)
//! lists the passes.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::mem::take;
use std::sync::Arc;

use super::super::Registry;
use super::connect::CHUNK;
use super::fault::in_bad_field;
use super::outcome::{LoadOutcome, LoadedObjects};
use super::{
    DefaultedFields, FIRST_TEMPORARY_ID, Loader, LoadingObjects, OWN_CLASS, Strategy, Table,
    TypeIndex, Unregistered,
};
use crate::codec::{Decoder, Fail, LoadedObject, Persist, Phase, Prototypes, Visitor, left_over};
use crate::env::Env;
use crate::format::{Plain, RecordLocation, Scan};
use crate::reflect::Holder;
use crate::schema::{
    Checker, ClassSchema, Form, LoadEvent, LocalValue, Matched, Occurrences, PlannedRow, Plans,
    REMOVED, Stored, locate,
};
use crate::sorting::sort_by;
use crate::types::Renumber;
use crate::{Error, ErrorKind, LoadOptions, ObjectId, Result};

impl<'l> Loader<'l> {
    pub(crate) fn new(
        registry: &'l Registry,
        env: &'l Env<'l>,
        options: LoadOptions,
        save: Plain<'l>,
        remap: Option<&'l mut dyn Renumber>,
        root: Option<usize>,
    ) -> Result<Box<Self>> {
        let limits = &env.limits;
        let mut scan = Scan::read(save.bytes, limits)?;
        let parts = scan.records.take_parts();
        let stored_root = scan.records.value();
        let root = stored_root.map(|record| record.class as usize).zip(root);
        let matched = registry.schemas.matched(&scan.definitions, limits, options, root, || {
            let classes = scan.classes(limits)?;
            let matched = Matched::new(classes, registry.program(), root, options.drop_unknown);
            matched.stored.note_created(|class, holder| {
                matched.resolved[class]
                    .is_some_and(|class| registry.object(class, holder).is_some())
            });
            Ok(matched)
        })?;
        let Scan { header, records, .. } = scan;
        let objects = LoadingObjects::new(registry, records)?;
        let mut earlier: HashMap<u64, Vec<RecordLocation>> = HashMap::new();
        let mut pages: HashMap<u64, Vec<RecordLocation>> = HashMap::new();
        for part in parts {
            let class = part.class as usize;
            let whole = objects.find(part.id).map(|whole| objects.records.get(whole as usize));
            if part.is_page() {
                let is_before = whole.is_some_and(|whole| part.start < whole.start);
                matched
                    .stored
                    .check_page(class, part.id, is_before)
                    .map_err(|error| error.at(part.start as u64))?;
                pages.entry(part.id).or_default().push(part);
                continue;
            }
            matched.stored[class]
                .check_unknown(part.id, whole.is_some())
                .map_err(|error| error.at(part.start as u64))?;
            earlier.entry(part.id).or_default().push(part);
        }
        let first_free = objects.records.last_id() + 1;
        let plans = Plans::with_matched(matched, registry.program(), options);
        let table = Table::new(registry, env, plans, objects, remap, (save.bytes, save.weight));
        // A `Loader` on the stack would leave less of it for values nested in values.
        Ok(Box::new(Self {
            save: save.bytes,
            table,
            outcome: LoadOutcome { header, ..LoadOutcome::default() },
            scratch: Vec::new(),
            earlier,
            pages,
            wholes: HashMap::new(),
            is_checked: false,
            promoted: Vec::new(),
            synthesized: Vec::new(),
            parts: Vec::new(),
            next_id: FIRST_TEMPORARY_ID,
            first_free,
            waiting: HashSet::new(),
        }))
    }

    fn plans(&self) -> &Plans<'l> {
        &self.table.plans
    }

    /// Keeps no unknown data, for callers that could not write it back.
    pub(crate) fn without_unknown(mut self: Box<Self>) -> Box<Self> {
        self.table.plans.keeps_unknown = false;
        self
    }

    /// Loads the objects of a save that a manager wrote. Returns an error for a save of one value.
    pub(crate) fn load(mut self: Box<Self>) -> Result<(LoadedObjects, LoadOutcome)> {
        if let Some(root) = self.table.objects.records.value() {
            let class = &self.plans().stored[root.class as usize].name;
            return Err(Error::new(
                ErrorKind::WrongClass,
                format!(
                    "the save holds one value, a {class}; load it with `load::<{}>()`",
                    class.rsplit('.').next().unwrap_or(class)
                ),
            )
            .at(root.start as u64));
        }
        self.passes(&mut ())?;
        Ok(self.finish())
    }

    /// Loads a save of one value, whose class in the program is `class`, with this function for its record.
    pub(crate) fn load_value<T: Persist>(
        mut self: Box<Self>,
        class: usize,
        decode: fn(&mut Decoder<'_>) -> Result<Box<T>, Fail>,
    ) -> Result<(Box<T>, LoadedObjects, LoadOutcome)> {
        let roots: Vec<_> = self
            .table
            .objects
            .records
            .iter()
            .filter(|record| record.holder == Holder::VALUE)
            .collect();
        let expected = &self.table.registry.program().classes[class].name;
        let &[root] = &roots[..] else {
            let message = match roots.len() {
                0 => format!(
                    "the save holds objects, {} in all, and no value of its own where one {expected} is expected; load it as a `SaveManager`",
                    self.table.objects.records.len()
                ),
                several => {
                    format!(
                        "the save holds {several} values where one {expected} is expected; restore a backup"
                    )
                }
            };
            return Err(Error::new(ErrorKind::WrongClass, message));
        };
        let is_other = self.plans().resolve(root.class as usize) != Some(class)
            || self.table.plans.check_bare(root.class as usize).is_err();
        if is_other {
            let stored = &self.plans().stored[root.class as usize];
            let found = &stored.name;
            // Only a struct or an enum can have former names.
            let is_bare = |form: &Form| matches!(form, Form::Value(_));
            let has_names = !is_bare(&stored.form)
                && !is_bare(&self.table.registry.program().classes[class].form);
            let or = if has_names {
                format!(", or put `#[persist(alias = \"{found}\")]` on {expected}")
            } else {
                String::new()
            };
            return Err(error!(
                ErrorKind::WrongClass,
                "the save holds a value of type {found}, and one of type {expected} was asked for; load it as {found}{or}"
            )
            .at(root.start as u64));
        }
        let mut value = RootValue { record: root, class, decode, value: None };
        self.passes(&mut value)?;
        let (objects, outcome) = self.finish();
        Ok((value.value.unwrap_or_else(|| unreachable!("it was filled")), objects, outcome))
    }

    fn passes(&mut self, root: &mut dyn LoadRoot) -> Result<()> {
        self.all_passes(root).map_err(|error| self.with_newer_version(error))
    }

    /// Adds to an error that the save is of a newer program, if that may be the reason for it.
    fn with_newer_version(&self, error: Error) -> Error {
        let is_of_schema = matches!(
            error.kind(),
            ErrorKind::KindMismatch
                | ErrorKind::MissingField
                | ErrorKind::NotFound
                | ErrorKind::InvalidValue
                | ErrorKind::WrongClass
        );
        let newer = |(class, stored): (usize, &ClassSchema)| {
            let target = self.table.registry.program().targets[self.plans().resolve(class)?]?.class;
            let (found, known) = (stored.version, target.version);
            (found > known).then(|| (stored.name.clone(), found, known))
        };
        let found: Vec<_> = self.plans().stored.iter().enumerate().filter_map(newer).collect();
        let own = found.iter().find(|(name, ..)| error.class() == Some(name));
        match own.or(found.first()).filter(|_| is_of_schema) {
            Some((name, found, known)) => {
                let message = format!(
                    "saved by version {found} of {name}, this program has {known}: {}",
                    error.message()
                );
                error.reworded(message)
            }
            None => error,
        }
    }

    fn all_passes(&mut self, root: &mut dyn LoadRoot) -> Result<()> {
        let moved = self.create()?;
        if !moved.is_empty() || self.plans().as_stored().is_some() {
            // An object whose holder differs between save and program could pass the checks of a load although the save
            // is inconsistent by its own schema. So all records are checked by that first.
            let stored = self.plans().as_stored().unwrap_or(&self.plans().stored);
            self.check_records(stored, &moved, |_| true)?;
            self.is_checked = true;
        }
        self.choose_strategy();
        self.put_objects()?;
        let in_chunks = self.table.strategy == Strategy::InChunks;
        root.fill(self)?;
        let root_end = self.table.references.len();
        let mut next = 0;
        // The number of records grows in this loop: decoding a record may add values that become objects.
        while next < self.table.objects.records.len() {
            if in_chunks && next.is_multiple_of(CHUNK) {
                self.connect_filled()?;
            }
            self.table.references.begin_record()?;
            if !self.defers_inlined(next) {
                self.fill_object(next)?;
            }
            next += 1;
        }
        if in_chunks {
            self.connect_filled()?;
        }
        self.table.references.begin_record()?;
        if !self.table.strategy.is_plain() {
            self.keep_unknown()?;
            self.fill_deferred()?;
        }
        self.check_converted()?;
        if !self.table.strategy.is_plain() {
            self.free_inlined();
            self.count_unknown();
        }
        self.count_loaded();
        if self.table.objects.records.has_value() {
            // The program gets only the value. It could neither reach other objects nor break their cycles, so they are
            // freed here.
            let Table { objects, references, strategy, .. } = &mut self.table;
            let are_connected = *strategy == Strategy::AtOnce;
            let freed = objects.keep_reached(0..root_end, references, are_connected);
            self.count_dangling(&freed);
        }
        // The policy comes before `build`, which runs the first hooks of the program.
        self.check_policy()?;
        let references = &self.table.references;
        let freed = (0..self.table.objects.kinds.len())
            .filter(|record| !in_chunks && self.table.objects.kinds[*record].is_none());
        let of_freed: usize = freed.map(|record| references.of(record).len()).sum();
        self.outcome.references += (references.len() - of_freed) as u64;
        self.table.build()?;
        if !in_chunks {
            let registry = self.table.registry;
            self.table.connect(&mut |visitor| root.visit(registry, visitor))?;
        }
        for phase in [Phase::Validate, Phase::AfterLoad] {
            let mut links = Prototypes::bare();
            root.visit(self.table.registry, &mut Visitor::new(phase, self.table.env, &mut links))?;
            self.table.run_hooks(phase)?;
        }
        self.table.seal();
        Ok(())
    }

    /// Connects the objects that were decoded since the last call.
    fn connect_filled(&mut self) -> Result<()> {
        match self.table.connect_filled() {
            Ok(references) => self.outcome.references += references,
            Err((record, error)) => {
                // Decode again, and check each target at once: that error names the field.
                self.table.strategy = Strategy::AfterAll;
                self.fill_object(record)?;
                return Err(self.table.named(record, error));
            }
        }
        Ok(())
    }

    /// Create pass: creates every object empty, with the factory of its class. Returns the records whose holder in the
    /// program differs from the save, each with the holder in the save.
    fn create(&mut self) -> Result<Vec<(usize, Holder)>> {
        let Table { registry, objects, .. } = &mut self.table;
        let (registry, prototypes) = (*registry, registry.prototypes());
        // Consecutive records mostly have one type.
        let mut last = (u32::MAX, Holder::VALUE, (Holder::VALUE, None));
        let mut moved = Vec::new();
        objects.reserve();
        for at in 0..objects.records.len() {
            let record = self.table.objects.records.get(at);
            if (last.0, last.1) != (record.class, record.holder) {
                let plans = &self.table.plans;
                let class = plans.resolve(record.class as usize);
                let holder = plans.holder(record.class as usize, record.holder);
                let object = class.and_then(|class| registry.object(class, holder));
                last = (record.class, record.holder, (holder, object));
            }
            let (holder, object) = last.2;
            if holder != record.holder {
                moved.push((at, record.holder));
                self.table.objects.records.set_holder(at, holder);
            }
            let Some(object) = object else {
                self.table.objects.skip();
                continue;
            };
            if let Err(error) = self.table.hold(registry.footprint(object)) {
                let error = error.at(record.start as u64);
                return Err(error.in_class(self.table.name(record.class)));
            }
            if let Err(error) = self.table.objects.make(object, &prototypes) {
                return Err(self.table.of_record(&record, error));
            }
        }
        Ok(moved)
    }

    /// Counts the loaded objects by class. Objects of unknown classes do not count.
    fn count_loaded(&mut self) {
        let Table { objects, requested, .. } = &self.table;
        let records = objects.records.iter().zip(&objects.kinds).enumerate();
        let loaded = records.filter(|(record, (_, kind))| {
            kind.is_some() && (requested.is_empty() || !requested.contains(record))
        });
        // The counts by classes of the save, and by those of the program.
        let mut counts: [Vec<u64>; 2] = Default::default();
        for (_, (record, _)) in loaded {
            let program = record.class.checked_sub(OWN_CLASS);
            let counts = &mut counts[usize::from(program.is_some())];
            let class = program.unwrap_or(record.class) as usize;
            counts.resize(counts.len().max(class + 1), 0);
            counts[class] += 1;
        }
        for (first, counts) in [0, OWN_CLASS].into_iter().zip(counts) {
            for (class, count) in (first..).zip(counts).filter(|(_, count)| *count > 0) {
                self.outcome.count_objects(self.table.name(class), count);
            }
        }
    }

    /// Chooses when references are connected.
    fn choose_strategy(&mut self) {
        // Above this, the targets of a save do not fit into the cache, and each look at one is a miss.
        const MAX_AT_ONCE: usize = 1 << 14;
        let Table { objects, plans, registry, .. } = &self.table;
        let records = objects.records.len();
        let is_plain = self.earlier.is_empty()
            && (0..plans.stored.len()).all(|class| plans.is_identical(class))
            && objects.entries.iter().all(|entry| matches!(entry, LoadedObject::Shared(_)));
        let strategy = if !is_plain {
            Strategy::Rewritten
        } else if records <= MAX_AT_ONCE {
            Strategy::AtOnce
        } else if objects.records.has_value() || registry.has_after_load() {
            Strategy::AfterAll
        } else {
            Strategy::InChunks
        };
        let room = if strategy == Strategy::InChunks { CHUNK } else { records };
        self.table.strategy = strategy;
        self.table.references.reserve(room);
    }

    /// Fill pass for one object: decodes its record.
    pub(super) fn fill_object(&mut self, index: usize) -> Result<()> {
        let env = self.table.env;
        env.guarded(|| self.fill_unguarded(index)).map_err(|error| self.table.named(index, error))
    }

    fn fill_unguarded(&mut self, index: usize) -> Result<()> {
        let record = self.table.objects.records.get(index);
        if let Some(mut draft) = self.table.objects.entries[index].take_draft() {
            self.fill(&record, Some(index), &mut |input| draft.fill(input))?;
            self.table.objects.entries[index] = LoadedObject::Draft(draft);
            return Ok(());
        }
        let Some(shared) = self.table.objects.entries[index].shared().cloned() else {
            return Ok(());
        };
        let kind = self.table.objects.kinds[index].map_or(0, TypeIndex::get);
        let fill = self.table.registry.objects[kind].kind.fill;
        self.fill(&record, Some(index), &mut |input| fill(&shared, input))
    }

    /// Fill pass for one record: decodes it into a value, and lists its references.
    fn fill(
        &mut self,
        record: &RecordLocation,
        index: Option<usize>,
        read: &mut dyn FnMut(&mut Decoder<'_>) -> Result<(), Fail>,
    ) -> Result<()> {
        let class = record.class as usize;
        let unknown = self.earlier_of(record.id);
        // A field that an earlier program kept as unknown may be a field of this program.
        let identical =
            record.class < OWN_CLASS && self.plans().is_identical(class) && unknown.is_empty();
        if !self.pages.is_empty() {
            self.open_pages(record.id, identical);
        }
        let whole;
        let to_keep = if identical {
            self.table.defaulted.clear();
            unknown
        } else if record.class >= OWN_CLASS {
            let (payload, defaulted) = take(&mut self.promoted[record.start]);
            self.table.defaulted = DefaultedFields::new(defaulted, payload.len());
            self.scratch = payload;
            unknown
        } else {
            whole = self.wholes.get(&record.id).cloned();
            let payload = whole.as_deref().unwrap_or(record.payload(self.save));
            self.rewrite(record, payload, &unknown).map_err(|error| {
                let error = self.plans().of_other_class(class, error);
                self.table.of_record(record, in_save(record, error))
            })?
        };
        let payload = if identical { record.payload(self.save) } else { &self.scratch[..] };
        self.table.is_rewritten = !identical;
        self.table.begin(record);
        let mut input = Decoder::new(payload, self.table.env, &mut self.table);
        let result = read(&mut input);
        let left = input.rest().len();
        match result {
            Ok(()) if left == 0 => {
                if identical {
                    self.check_pages().map_err(|error| self.table.of_record(record, error))?;
                }
                if !to_keep.is_empty() || !self.parts.is_empty() {
                    self.keep(to_keep, index, record.id)
                        .map_err(|error| self.table.of_record(record, in_save(record, error)))?;
                }
                Ok(())
            }
            result => {
                let refused = input.take_error();
                if let Some(error) = self.failed_page() {
                    return Err(error);
                }
                Err(self.explained(record, identical, refused, left, result.err()))
            }
        }
    }

    /// Checks records that were converted, if the conversion skipped some of their bytes. Such bytes are dropped or
    /// kept fields, and references in fields that became another type. The conversion itself checks all bytes that it
    /// converts.
    fn check_converted(&self) -> Result<()> {
        let Table { objects, plans, tally, strategy, .. } = &self.table;
        if self.is_checked {
            return Ok(());
        }
        let is_unknown = |class: u32| class < OWN_CLASS && plans.resolve(class as usize).is_none();
        let rewrites = || {
            !self.earlier.is_empty()
                || plans.stored.refers()
                || plans.events().any(|(row, _)| row.event.passes_over())
                || objects.records.iter().any(|record| is_unknown(record.class))
        };
        // A component of an unknown class may be in a record that otherwise is decoded as it is stored.
        if !tally.passes_over() && (strategy.is_plain() || !rewrites()) {
            return Ok(());
        }
        let holds_any_class = plans.stored.holds_any_class();
        self.check_records(&plans.stored, &[], |record| {
            record.class < OWN_CLASS
                && (!plans.is_identical(record.class as usize)
                    || holds_any_class
                    || self.earlier.contains_key(&record.id))
        })
    }

    /// Checks records by the schema of the save, as `verify` of `persist-tools` does, and all unknown data that
    /// earlier programs kept. `moved` has the holders of the save where the program has others. Errors about limits are
    /// ignored: the load itself skipped these bytes without reaching one.
    fn check_records(
        &self,
        stored: &Stored,
        moved: &[(usize, Holder)],
        is_meant: impl Fn(&RecordLocation) -> bool,
    ) -> Result<()> {
        let objects = &self.table.objects;
        let (wrong, index) = (RefCell::new(None), RefCell::new(Vec::new()));
        let mut is_target = |value: LocalValue<'_>| {
            match value {
                LocalValue::Pages(entries) => index.borrow_mut().extend_from_slice(entries),
                LocalValue::Again => index.borrow_mut().clear(),
                _ => {}
            }
            let LocalValue::Reference { id, weak, class, holder } = value else { return true };
            let found = objects.find(id).map(|index| {
                let record = objects.records.get(index as usize);
                let place = moved.binary_search_by_key(&(index as usize), |(index, _)| *index);
                (place.map_or(record.holder, |place| moved[place].1), record.class as usize)
            });
            let pointer = (holder, weak, class);
            let result = stored.check_reference(pointer, ObjectId::new(id), found);
            let is_right = result.is_ok();
            wrong.replace(result.err());
            is_right
        };
        let mut checker = None;
        let parts = self.earlier.values().chain(self.pages.values()).flatten().copied();
        for record in objects.records.iter().filter(is_meant).chain(parts) {
            let (class, payload) = (record.class as usize, record.payload(self.save));
            let has_pages = self.pages.contains_key(&record.id);
            if stored.takes_any_bytes(class, payload) && !has_pages {
                continue;
            }
            index.borrow_mut().clear();
            let new = || Checker::new(stored, &self.table.env.limits);
            let result = checker.get_or_insert_with(new).check(class, payload, &mut is_target);
            let result = result.and_then(|_| {
                let checked = self.check_index(&record, &index.borrow());
                checked.map_err(|error| error.at(0))
            });
            let Err(error) = result else { continue };
            if matches!(error.kind(), ErrorKind::TooDeep | ErrorKind::TooLarge) {
                continue;
            }
            let error = match wrong.take() {
                Some(wrong) => wrong
                    .in_field(error.field().unwrap_or_default())
                    .at(error.offset().unwrap_or_default()),
                None => error,
            };
            return Err(self.table.of_record(&record, in_save(&record, error)));
        }
        Ok(())
    }

    /// Returns the error for a record whose decode failed, or left bytes, with the field if it can be found.
    #[cold]
    pub(super) fn explained(
        &mut self,
        record: &RecordLocation,
        identical: bool,
        refused: Option<Error>,
        left: usize,
        fail: Option<Fail>,
    ) -> Error {
        let class = record.class as usize;
        // Start from the error of the typed decoder, which is used if the schema does not show more.
        let handles = &self.table.handles;
        let error = fail.map_or_else(|| left_over(left), |fail| handles.explain(fail));
        if let Some(class) = record.class.checked_sub(OWN_CLASS) {
            let (error, payload) = (refused.unwrap_or(error), take(&mut self.scratch));
            let error = in_bad_field(&mut self.table, error, class as usize, &payload, None);
            return self.table.of_record(record, error);
        }
        let stored = record.payload(self.save);
        // The schema of the save often shows the field. But a reason that the type itself gave is better.
        let mut is_target = |value: LocalValue<'_>, _: usize, _: usize| match value {
            LocalValue::Reference { id, weak, class, holder } => {
                match self.table.objects.find(id) {
                    Some(record) => {
                        self.table.objects.is_target(record, class, holder)
                            && (class.is_some()
                                || self.table.refused != Some(Unregistered::Record(record)))
                    }
                    None => weak,
                }
            }
            LocalValue::Handle { arena, bits } => handles.refused != Some((arena, bits)),
            LocalValue::Class(class) => !self.table.is_refused(class),
            LocalValue::Pages(_) | LocalValue::Objects(_) | LocalValue::Again => true,
        };
        let found =
            locate(class, &self.plans().stored, stored, &self.table.env.limits, &mut is_target);
        let is_shown = found.is_some();
        let error = match (refused, found) {
            (Some(error), Some((found, offset))) => in_save(record, error)
                .in_field(found.field().unwrap_or_default())
                .moved_to((record.start + offset) as u64),
            (Some(error), None) => in_save(record, error),
            (None, Some((error, offset))) => error.at((record.start + offset) as u64),
            (None, None) if identical => error.at((record.start + stored.len() - left) as u64),
            (None, None) => error.at(record.start as u64),
        };
        let Some(target) = self.plans().resolve(class).filter(|_| !is_shown) else {
            return self.table.of_record(record, error);
        };
        let (rewritten, classes) = (take(&mut self.scratch), self.plans().stored.clone());
        let payload = if identical { stored } else { &rewritten[..] };
        let stored = Some((&*classes, class, stored));
        let error = in_bad_field(&mut self.table, error, target, payload, stored);
        self.table.of_record(record, error)
    }

    fn finish(mut self) -> (LoadedObjects, LoadOutcome) {
        let Table { plans, registry, tally, handles, .. } = &self.table;
        // The names of the program's classes, by their names in the save where these differ.
        let names = plans.stored.iter().enumerate().filter_map(|(class, stored)| {
            Some((&*stored.name, &*registry.program().classes[plans.resolve(class)?].name))
        });
        let names: HashMap<&str, &str> = names.filter(|(stored, name)| stored != name).collect();
        let named = |(row, run): (PlannedRow, Occurrences)| {
            let name = names.get(&*row.class).map(|name| Arc::from(*name));
            (PlannedRow { class: name.unwrap_or(row.class), ..row }, run)
        };
        let mut events: Vec<_> = plans.events().map(named).collect();
        let removed = plans.removed_with_fields(|name| registry.is_removed_class(name));
        for event in [
            LoadEvent::Unknown,
            LoadEvent::Dangling,
            LoadEvent::Unregistered,
            LoadEvent::Kept,
            LoadEvent::Nulled,
            LoadEvent::Dead,
        ] {
            let rows = tally.of(event).map(|(class, run)| {
                let name = self.table.name(class);
                let is_removed =
                    registry.is_removed_class(name) || removed.contains(&(class as usize));
                let detail = if is_removed { REMOVED } else { "" };
                let (class, field, detail) = (name.into(), "".into(), detail.into());
                named((PlannedRow { event, class, field, detail }, run))
            });
            let mut rows: Vec<_> = rows.collect();
            let key = |run: Occurrences| (run.count, run.first);
            sort_by(&mut rows, |(a, one), (b, other)| {
                a.class.cmp(&b.class).then(key(*one).cmp(&key(*other)))
            });
            events.append(&mut rows);
        }
        (self.outcome.events, self.outcome.remapped) = (events, handles.remapped);
        (LoadedObjects::new(registry, &mut self.table.objects), self.outcome)
    }
}

/// The root value of a save, which is decoded and visited before the objects.
trait LoadRoot {
    fn fill(&mut self, _: &mut Loader<'_>) -> Result<()> {
        Ok(())
    }

    fn visit(&mut self, _: &Registry, _: &mut Visitor<'_>) -> Result<()> {
        Ok(())
    }
}

/// A save without a root value.
impl LoadRoot for () {}

struct RootValue<T> {
    record: RecordLocation,
    /// Index of its class in the program.
    class: usize,
    decode: fn(&mut Decoder<'_>) -> Result<Box<T>, Fail>,
    /// Boxed, so that a large value is not on the stack of each function that returns it.
    value: Option<Box<T>>,
}

impl<T: Persist> LoadRoot for RootValue<T> {
    fn fill(&mut self, loader: &mut Loader<'_>) -> Result<()> {
        let Self { decode, value, .. } = self;
        loader.fill(&self.record, None, &mut |input| {
            *value = Some(decode(input)?);
            Ok(())
        })?;
        if let Some(value) = value {
            loader.table.registry.fill_skipped(&mut **value);
        }
        Ok(())
    }

    fn visit(&mut self, registry: &Registry, visitor: &mut Visitor<'_>) -> Result<()> {
        let traits = registry.traits(self.class);
        match &mut self.value {
            Some(value) if traits.references || traits.after_load => {
                let name = || &*registry.program().classes[self.class].name;
                (**value).__visit(visitor).map_err(|error| error.in_class(name()))
            }
            _ => Ok(()),
        }
    }
}

/// Moves the offset of an error from its record to the whole save.
pub(super) fn in_save(record: &RecordLocation, error: Error) -> Error {
    match error.offset() {
        Some(offset) => error.moved_to(record.start as u64 + offset),
        None => error.at(record.start as u64),
    }
}
