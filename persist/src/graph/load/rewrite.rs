//! Converts records that are not in the program's form: old versions, values that have become objects, and objects that
//! have become values. The parts that the program does not know are kept as unknown data.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem::take;

use super::super::PendingReference;

use super::{DefaultedFields, FIRST_TEMPORARY_ID, Loader, OWN_CLASS, Table, kept_event};
use crate::codec::{LoadedObject, Unknown, UnknownPiece};
use crate::format::{MAX_ID, RecordLocation};
use crate::options::LoadPolicy;
use crate::reflect::Holder;
use crate::schema::{
    InlinedObject, LoadEvent, PlannedRow, RecordExtras, SharedValue, SourceRecord, UnknownLocation,
    UnknownValues, transcode,
};
use crate::{ErrorKind, Result};

/// Returns the unknown data that earlier programs kept of an object, each value with its class.
fn parts_of<'l>(
    earlier: &HashMap<u64, Vec<RecordLocation>>,
    id: u64,
    save: &'l [u8],
) -> UnknownValues<'l> {
    let records = earlier.get(&id).map_or(&[][..], |records| records);
    records.iter().map(|record| (record.class as usize, record.payload(save))).collect()
}

impl<'l> Loader<'l> {
    /// Rewrites the payload of a record into the program's form, into `scratch`. `unknown` has the unknown data of the object in the
    /// save. Returns the unknown data that is left after the conversion.
    pub(super) fn rewrite<'p>(
        &mut self,
        record: &RecordLocation,
        payload: &'p [u8],
        unknown: &UnknownValues<'p>,
    ) -> Result<UnknownValues<'p>> {
        let source = SourceRecord { class: record.class as usize, id: record.id, payload, unknown };
        let mut scratch = take(&mut self.scratch);
        scratch.clear();
        let result = self.transcode(&source, &mut scratch);
        self.scratch = scratch;
        let rest = result?;
        self.table.defaulted = DefaultedFields::new(rest.defaulted, self.scratch.len());
        self.synthesized = rest.synthesized;
        self.parts = rest.parts;
        for value in rest.shared {
            self.add_shared(value)?;
        }
        Ok(rest
            .unknown
            .into_iter()
            .map(|(class, place)| match place {
                UnknownLocation::Payload(range) => (class, &payload[range]),
                UnknownLocation::Original(i) => unknown[i],
            })
            .collect())
    }

    /// Appends the payload of a record in the program's form.
    pub(super) fn transcode(
        &mut self,
        source: &SourceRecord<'_>,
        out: &mut Vec<u8>,
    ) -> Result<RecordExtras> {
        let (save, earlier, wholes) = (self.save, &self.earlier, &self.wholes);
        let Table { plans, objects, env, .. } = &mut self.table;
        let found = |id, class, holder| {
            let found = objects.find(id)?;
            let record = objects.records.get(found as usize);
            (objects.is_target(found, Some(class), holder)).then(|| InlinedObject {
                payload: wholes.get(&id).map_or(record.payload(save), |whole| whole),
                unknown: parts_of(earlier, id, save),
            })
        };
        // Wider numbers may double the length of a record. Reserved memory that is never written costs nothing.
        out.reserve(2 * source.payload.len());
        transcode(plans, source, &found, &mut self.next_id, env, out)
    }

    /// Returns the unknown data that earlier programs kept of an object.
    #[inline]
    pub(super) fn earlier_of(&self, id: u64) -> UnknownValues<'l> {
        if self.earlier.is_empty() {
            UnknownValues::new()
        } else {
            parts_of(&self.earlier, id, self.save)
        }
    }

    /// Keeps unknown values of an object, or of the root value if `index` is `None`.
    pub(super) fn keep(
        &mut self,
        to_keep: UnknownValues<'_>,
        index: Option<usize>,
        object: u64,
    ) -> Result<()> {
        let parts = take(&mut self.parts);
        if (to_keep.is_empty() && parts.is_empty()) || !self.table.plans.keeps_unknown {
            return Ok(());
        }
        let mut pieces: Vec<UnknownPiece> = Vec::new();
        let synthesized = take(&mut self.synthesized);
        let synthesized = synthesized.iter().map(|(class, bytes)| (*class, &bytes[..]));
        let of_object = to_keep.into_iter().chain(synthesized);
        let of_object = of_object.map(|(class, bytes)| (None, class, bytes));
        let of_parts = parts.iter().map(|(path, class, bytes)| (Some(path), *class, &bytes[..]));
        for (path, class, bytes) in of_object.chain(of_parts) {
            let mut piece = self.table.unknown_whole(class, bytes)?.0;
            piece.path = path.cloned();
            pieces.push(piece);
            if let Ok(class) = u32::try_from(class)
                && (class as usize) < self.table.plans.stored.len()
            {
                let event = kept_event(path.map_or(&[], |path| &path[..]));
                self.table.tally.add(event, class, object);
            }
        }
        let unknown = Unknown { holder: None, pieces };
        match index {
            Some(index) => drop(self.table.objects.unknown.insert(index, unknown)),
            None => self.table.objects.root_unknown = unknown,
        }
        Ok(())
    }

    /// Adds an object for a value that a record held directly, and that is behind a pointer in the program. Its record
    /// comes after all others, so the loop of the fill pass decodes it too.
    fn add_shared(&mut self, value: SharedValue) -> Result<()> {
        let SharedValue { id: temporary_id, class, holder, payload, defaulted } = value;
        let id = self.first_free.saturating_add(temporary_id - FIRST_TEMPORARY_ID);
        let registry = self.table.registry;
        let name = &registry.program().classes[class].name;
        let object = registry.object(class, holder).ok_or_else(|| {
            error!(
                ErrorKind::WrongClass,
                "a {name} is not registered for such a pointer; register it"
            )
        })?;
        if id > MAX_ID
            || self.table.objects.records.len() as u64
                >= self.table.env.limits.objects.min(PendingReference::MAX_RECORDS as u64)
        {
            bail!(
                ErrorKind::TooLarge,
                "with the values that have become objects the save has more than the limit of {}; raise `Limits::objects`",
                self.table.env.limits.objects
            );
        }
        self.table.hold(registry.footprint(object))?;
        let number = OWN_CLASS + u32::try_from(class).unwrap_or_default();
        let start = self.promoted.len();
        let record = RecordLocation { id, start, class: number, holder, added: false };
        self.table.objects.enter(temporary_id, record, object)?;
        self.promoted.push((payload, defaulted));
        Ok(())
    }

    /// Returns true for an object that has become a value of another object, and notes it. Such an object is decoded
    /// later, and only if some reference still points to it.
    #[inline]
    pub(super) fn defers_inlined(&mut self, index: usize) -> bool {
        if !self.table.plans.has_inlined() {
            return false;
        }
        let record = self.table.objects.records.get(index);
        let waits = !record.added
            && record.class < OWN_CLASS
            && self.table.plans.is_inlined(record.id)
            && !matches!(self.table.objects.entries[index], LoadedObject::Nothing);
        if waits {
            self.waiting.insert(index);
        }
        waits
    }

    /// Fill pass for deferred records: objects that wait for a reference, and objects of unknown classes that are
    /// kept. Each may refer to more of both, so the loop runs until no record is left.
    pub(super) fn fill_deferred(&mut self) -> Result<()> {
        let mut seen = 0;
        loop {
            let end = self.table.references.len();
            // Most loads have no waiting object: then skip the references.
            let unseen = if self.waiting.is_empty() { end } else { seen }..end;
            for reference in self.table.references.in_places(unseen) {
                if let Some(target) = reference.target().filter(|_| !reference.is_weak())
                    && self.waiting.remove(&target)
                {
                    self.table.deferred.push_back(target);
                }
            }
            seen = end;
            let Some(record) = self.table.deferred.pop_front() else { return Ok(()) };
            if matches!(self.table.objects.entries[record], LoadedObject::Nothing) {
                self.fill_unknown_object(record)?;
            } else {
                self.fill_one_deferred(record)?;
                // Decode the objects that this record's values have become. The references of each begin where those of
                // the one before end.
                while self.table.references.begun().end <= self.table.objects.records.len() {
                    let promoted = self.table.references.begun().end - 1;
                    self.fill_one_deferred(promoted)?;
                    self.table.references.begin_record()?;
                }
            }
        }
    }

    /// Decodes an object after all others.
    fn fill_one_deferred(&mut self, record: usize) -> Result<()> {
        let start = self.table.references.len();
        self.fill_object(record)?;
        self.table.references.end_deferred(record, start);
        Ok(())
    }

    /// Creates an unknown object, with its references and the unknown data that earlier programs kept of it.
    fn fill_unknown_object(&mut self, index: usize) -> Result<()> {
        let record = self.table.objects.records.get(index);
        let start = self.table.references.len();
        let whole = self.wholes.get(&record.id).cloned();
        let payload = whole.as_deref().unwrap_or(record.payload(self.save));
        self.table
            .create_unknown_object(index, payload)
            .and_then(|()| self.keep(self.earlier_of(record.id), Some(index), record.id))
            .map_err(|error| self.table.named(index, error))?;
        self.table.references.end_deferred(index, start);
        Ok(())
    }

    /// Counts the records of unknown classes that are not kept.
    pub(super) fn count_unknown(&mut self) {
        for (index, entry) in self.table.objects.entries.iter().enumerate() {
            let record = self.table.objects.records.get(index);
            if matches!(entry, LoadedObject::Nothing)
                && record.holder != Holder::VALUE
                && !self.table.plans.is_inlined(record.id)
            {
                self.table.tally.add(LoadEvent::Unknown, record.class, record.id);
            }
        }
    }

    /// Frees the objects that have become values and are nothing else now, and counts the others as copied.
    pub(super) fn free_inlined(&mut self) {
        let inlined = self.table.plans.inlined();
        if inlined.is_empty() {
            return;
        }
        let references = self.table.references.all().iter();
        let any: HashSet<usize> = references.clone().filter_map(|held| held.target()).collect();
        let strong = references.filter(|held| !held.is_weak());
        let strong: HashSet<usize> = strong.filter_map(|held| held.target()).collect();
        self.table.objects.drop_placeholders();
        let mut freed = BTreeSet::new();
        for id in inlined {
            let Some(record) = self.table.objects.find(id).map(|record| record as usize) else {
                continue;
            };
            let is_added = self.table.objects.records.get(record).added;
            if is_added || any.contains(&record) {
                self.table.plans.count_unshared(id);
            }
            if is_added || strong.contains(&record) {
                continue;
            }
            // This frees no other object: nothing is connected yet, so the object holds placeholders only.
            self.table.objects.entries[record] = LoadedObject::Nothing;
            self.table.objects.kinds[record] = None;
            freed.insert(record);
            self.table.objects.unknown.remove(&record);
        }
        self.count_dangling(&freed);
    }

    /// Counts the weak references to freed objects, which dangle now.
    pub(super) fn count_dangling(&mut self, freed: &BTreeSet<usize>) {
        if freed.is_empty() {
            return;
        }
        let Table { objects, references, tally, .. } = &mut self.table;
        let mut count = |record: RecordLocation, places| {
            let targets = references.in_places(places).iter().filter_map(|held| held.target());
            for _ in targets.filter(|target| freed.contains(target)) {
                tally.add(LoadEvent::Dangling, record.class, record.id);
            }
        };
        for (index, record) in objects.records.iter().enumerate() {
            if !freed.contains(&index) {
                count(record, references.of(index));
            }
        }
        if let Some(value) = objects.records.iter().find(RecordLocation::is_value) {
            count(value, references.of_root());
        }
    }

    /// Requests that all objects of unknown classes are kept, unless the save is of one value or the options drop them.
    /// Objects that became values and those of removed classes are not kept.
    pub(super) fn keep_unknown(&mut self) -> Result<()> {
        let is_value = self.table.objects.records.has_value();
        let to_keep = !is_value && !self.table.plans.options().drop_unknown;
        for i in 0..self.table.objects.records.len() {
            if !matches!(self.table.objects.entries[i], LoadedObject::Nothing) {
                continue;
            }
            let record = self.table.objects.records.get(i);
            let is_removed = || self.table.registry.is_removed_class(self.table.name(record.class));
            if self.table.plans.is_inlined(record.id) || is_removed() {
                continue;
            }
            let fits = |class| self.table.registry.object(class, record.holder).is_some();
            self.table
                .check_contested(record.class as usize, fits)
                .map_err(|error| self.table.named(i, error.at(record.start as u64)))?;
            if to_keep {
                self.table.request(i);
            }
        }
        Ok(())
    }

    /// Under [`LoadPolicy::Strict`], returns an error if the load lost, kept or filled in anything that the program did
    /// not accept.
    pub(super) fn check_policy(&self) -> Result<()> {
        if self.table.plans.options().policy != LoadPolicy::Strict {
            return Ok(());
        }
        let error = |what: &str, class: &str, object: u64| {
            error!(
                ErrorKind::Refused,
                "{what}, which `LoadPolicy::Strict` refuses; load with `LoadPolicy::Lenient`"
            )
            .of_policy()
            .in_object(object)
            .in_class(class)
        };
        let is_loss = |row: &PlannedRow| !row.is_accepted() && !row.is_harmless();
        for (row, run) in self.table.plans.events().filter(|(row, _)| is_loss(row)) {
            let what = match row.event {
                LoadEvent::Defaulted | LoadEvent::Converted | LoadEvent::Migrated => continue,
                LoadEvent::Filled => "a field that the save does not have was made empty",
                LoadEvent::Dropped => "the program does not have a stored field",
                LoadEvent::Clamped => "a number did not fit",
                LoadEvent::Kept => "the program does not have what is stored",
                LoadEvent::Superseded => "another stored field took the place of this one",
                LoadEvent::Restored => "a kept field took the place of what `migrate` made",
                LoadEvent::Newer => "the record is of a newer version of its class",
                LoadEvent::Replaced => "the program does not have a stored variant",
                LoadEvent::Unshared => "several pointers shared an object that now is a value",
                _ => "the save did not come back whole",
            };
            return Err(error(what, &row.class, run.first).in_field(&row.field));
        }
        let registry = self.table.registry;
        let removed = self.table.plans.removed_with_fields(|name| registry.is_removed_class(name));
        for (event, what) in [
            (LoadEvent::Kept, "the program does not have the class"),
            (LoadEvent::Unknown, "the program does not have the class"),
            (LoadEvent::Unregistered, "the class is not registered for its trait"),
        ] {
            let is_meant = |class: u32| {
                removed.contains(&(class as usize))
                    || registry.is_removed_class(self.table.name(class))
            };
            let counts = self.table.tally.of(event).filter(|(class, _)| !is_meant(*class));
            if let Some((class, run)) = counts.min_by_key(|(class, run)| (run.first, *class)) {
                return Err(error(what, self.table.name(class), run.first));
            }
        }
        Ok(())
    }
}
