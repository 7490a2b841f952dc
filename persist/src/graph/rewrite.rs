//! Records that are not in the program's form: rewritten, and what is left of them kept.

use std::collections::{HashMap, HashSet, VecDeque};

use super::fault::in_bad_field;
use super::load::{FIRST_MADE, Loader};
use super::references::Pending;
use super::table::MADE;
use crate::codec::{Decoder, Fail, Made, Piece, Unknown, left_over};
use crate::format::{MAX_ID, RecordPlace};
use crate::options::LoadPolicy;
use crate::reflect::Holder;
use crate::schema::{Found, Keeps, KeptPlace, LoadEvent, SharedValue, Source, transcode};
use crate::{Error, ErrorKind, Result};

fn kept_of<'l>(before: &HashMap<u64, Vec<RecordPlace>>, id: u64, save: &'l [u8]) -> Keeps<'l> {
    let records = before.get(&id).map_or(&[][..], |records| records);
    records.iter().map(|record| (record.class as usize, record.payload(save))).collect()
}

impl<'l> Loader<'l> {
    /// Rewrites a record into the program's form; returns what is to be kept of it.
    pub(super) fn rewrite(&mut self, record: &RecordPlace, kept: &Keeps<'l>) -> Result<Keeps<'l>> {
        let payload = record.payload(self.save);
        let (save, table, before) = (self.save, &self.table, &self.before);
        let objects = |id, class, holder| {
            let found = table.objects.find(id)?;
            let record = table.objects.records.get(found as usize);
            (table.objects.is_target(found, Some(class), holder))
                .then(|| Found { payload: record.payload(save), kept: kept_of(before, id, save) })
        };
        let source = Source { class: record.class as usize, id: record.id, payload, kept };
        self.scratch.clear();
        // Mostly it is about as long.
        self.scratch.reserve(payload.len() + payload.len() / 4);
        let rest = transcode(
            &mut self.plans,
            &source,
            &objects,
            &mut self.next_id,
            self.env,
            &mut self.scratch,
        )?;
        for value in rest.shared {
            self.add_shared(value)?;
        }
        Ok(rest
            .kept
            .into_iter()
            .map(|(class, place)| match place {
                KeptPlace::Payload(range) => (class, &payload[range]),
                KeptPlace::Kept(i) => kept[i],
            })
            .collect())
    }

    /// What earlier programs kept of an object.
    #[inline]
    pub(super) fn kept_before(&self, id: u64) -> Keeps<'l> {
        if self.before.is_empty() { Keeps::new() } else { kept_of(&self.before, id, self.save) }
    }

    /// Keeps values of an object, or of the value that is loaded.
    pub(super) fn keep(
        &mut self,
        keeps: Keeps<'l>,
        index: Option<usize>,
        object: u64,
    ) -> Result<()> {
        if keeps.is_empty() || !self.plans.aside {
            return Ok(());
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for (class, bytes) in keeps {
            let (piece, length, _) = self.table.unknown(class, bytes)?;
            if length < bytes.len() {
                return Err(left_over(bytes.len() - length));
            }
            pieces.push(piece);
            if let Ok(class) = u32::try_from(class)
                && (class as usize) < self.plans.stored.len()
            {
                self.table.tally.add(LoadEvent::Kept, class, object);
            }
        }
        match index {
            Some(index) => drop(self.keeps.insert(index, Unknown { holder: None, pieces })),
            None => self.root_keeps = Unknown { holder: None, pieces },
        }
        Ok(())
    }

    /// Makes an object of a value.
    fn add_shared(&mut self, value: SharedValue) -> Result<()> {
        let SharedValue { id: made_id, class, holder, payload } = value;
        let id = self.first_free.saturating_add(made_id - FIRST_MADE);
        let registry = self.registry;
        let name = &registry.program().classes[class].name;
        let object = registry.object(class, holder).ok_or_else(|| {
            Error::new(
                ErrorKind::WrongClass,
                format!("a {name} is not registered for such a pointer; register it"),
            )
        })?;
        if id > MAX_ID
            || self.table.objects.records.len() as u64
                >= self.env.limits.objects.min(Pending::MOST as u64)
        {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "with the values that have become objects the save has more than the limit of {}; raise `Limits::objects`",
                    self.env.limits.objects
                ),
            ));
        }
        self.table.held_bytes = self.table.held_bytes.saturating_add(registry.footprint(object));
        self.env.limits.check_expansion(self.table.save_bytes, self.table.held_bytes)?;
        let number = MADE + u32::try_from(class).unwrap_or_default();
        let start = self.made.len();
        let record = RecordPlace { id, start, class: number, holder, added: false };
        self.table.objects.enter(made_id, record, object)?;
        self.made.push(payload);
        self.outcome.count_objects(name, 1);
        Ok(())
    }

    /// Second pass, for a value that has become an object: its record is made already.
    pub(super) fn fill_made<R>(
        &mut self,
        record: &RecordPlace,
        read: impl FnOnce(&mut Decoder<'_>) -> Result<R, Fail>,
    ) -> Result<R> {
        let payload = std::mem::take(&mut self.made[record.start]);
        self.table.begin(record);
        let mut input = Decoder::new(&payload, self.env, &mut self.table);
        let result = read(&mut input);
        let (left, refused) = (input.rest().len(), input.take_error());
        let error = match result {
            Ok(value) if left == 0 => return Ok(value),
            Ok(_) => left_over(left),
            Err(fail) => refused.unwrap_or_else(|| Error::from(fail)),
        };
        let class = record.class.saturating_sub(MADE) as usize;
        let error = in_bad_field(&mut self.table, error, (class, &payload), None);
        Err(error.in_object(record.id).in_class(self.table.name(record.class)))
    }

    /// True for an object that has become a value already, so that it may be nowhere else: it is
    /// filled when something is found to lead to it.
    #[inline]
    pub(super) fn waits(&mut self, index: usize) -> bool {
        self.plans.has_inlined() && self.is_inlined(index)
    }

    fn is_inlined(&mut self, index: usize) -> bool {
        let record = self.table.objects.records.get(index);
        let waits = !record.added
            && record.class < MADE
            && self.plans.is_inlined(record.id)
            && !matches!(self.table.objects.entries[index], Made::Nothing);
        if waits {
            self.waiting.insert(index);
        }
        waits
    }

    /// Second pass, for what is asked for only now: objects that wait, and those that are kept.
    pub(super) fn fill_late(&mut self) -> Result<()> {
        let mut seen = 0;
        let mut ready = VecDeque::new();
        loop {
            // Mostly none waits; then no reference is looked at.
            let unseen =
                if self.waiting.is_empty() { &[][..] } else { self.table.references.since(seen) };
            for reference in unseen {
                if let Some(target) = reference.target().filter(|_| !reference.is_weak())
                    && self.waiting.remove(&target)
                {
                    ready.push_back(target);
                }
            }
            seen = self.table.references.len();
            if let Some(record) = ready.pop_front() {
                self.fill_behind(record)?;
                // What it has made of values, each of which begins where the one before it ends.
                while self.table.references.begun().end <= self.table.objects.records.len() {
                    let made = self.table.references.begun().end - 1;
                    self.fill_behind(made)?;
                    self.table.references.begin_record()?;
                }
            } else if let Some(record) = self.table.late.pop_front() {
                self.keep_object(record)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Fills an object that comes after all others.
    fn fill_behind(&mut self, record: usize) -> Result<()> {
        let start = self.table.references.len();
        self.fill_object(record)?;
        self.table.references.end_late(record, start);
        Ok(())
    }

    /// Second pass, for an object of a class that the program does not have, but
    /// which something that is kept refers to.
    fn keep_object(&mut self, index: usize) -> Result<()> {
        let record = self.table.objects.records.get(index);
        let start = self.table.references.len();
        let kept = self.table.keep_object(index, record.payload(self.save)).and_then(|()| {
            let before = self.kept_before(record.id);
            self.keep(before, Some(index), record.id)
        });
        kept.map_err(|error| self.table.named(index, error))?;
        self.table.references.end_late(index, start);
        Ok(())
    }

    /// Notes the records whose class the program does not have, and that are not kept.
    pub(super) fn count_unknown(&mut self) {
        for (index, entry) in self.table.objects.entries.iter().enumerate() {
            let record = self.table.objects.records.get(index);
            if matches!(entry, Made::Nothing)
                && record.holder != Holder::VALUE
                && !self.plans.is_inlined(record.id)
            {
                self.table.tally.add(LoadEvent::Unknown, record.class, record.id);
            }
        }
    }

    /// Frees the objects that are values now and nothing else, and counts the others as copied.
    pub(super) fn free_inlined(&mut self) {
        let inlined = self.plans.inlined();
        if inlined.is_empty() {
            return;
        }
        let (mut strong, mut any) = (HashSet::new(), HashSet::new());
        for reference in self.table.references.since(0) {
            if let Some(target) = reference.target() {
                any.insert(target);
                if !reference.is_weak() {
                    strong.insert(target);
                }
            }
        }
        self.table.objects.drop_stand_ins();
        let mut freed = HashSet::new();
        for id in inlined {
            let Some(record) = self.table.objects.find(id).map(|record| record as usize) else {
                continue;
            };
            let is_added = self.table.objects.records.is_added(record);
            if is_added || any.contains(&record) {
                self.plans.count_unshared(id);
            }
            if is_added || strong.contains(&record) {
                continue;
            }
            // Nothing is connected yet: it holds stand-ins only.
            self.table.objects.entries[record] = Made::Nothing;
            freed.insert(record);
            self.keeps.remove(&record);
            if self.table.objects.kinds[record].take().is_some() {
                let class = self.table.objects.records.get(record).class as usize;
                self.outcome.uncount_object(&self.plans.stored[class].name);
            }
        }
        self.count_dangling(&freed);
    }

    /// Counts the weak references to objects that are values now, and nothing else.
    fn count_dangling(&mut self, freed: &HashSet<usize>) {
        let is_freed =
            |reference: &Pending| reference.target().is_some_and(|target| freed.contains(&target));
        let count = |places| {
            let held = self.table.references.in_places(places).iter();
            held.filter(|held| is_freed(held)).count()
        };
        let mut counts = Vec::new();
        for (index, record) in self.table.objects.records.iter().enumerate() {
            if !freed.contains(&index) {
                counts.push((record, count(self.table.references.of(index))));
            }
        }
        let value = self.table.objects.records.iter().find(RecordPlace::is_value);
        counts.extend(value.map(|value| (value, count(self.table.references.of_root()))));
        for (record, count) in counts {
            (0..count).for_each(|_| {
                self.table.tally.add(LoadEvent::Dangling, record.class, record.id);
            });
        }
    }

    /// Has all objects kept whose class the program does not have.
    ///
    /// # Errors
    ///
    /// If one could become one of several classes that it has.
    pub(super) fn keep_unknown(&mut self) -> Result<()> {
        let is_value = self.table.objects.records.has_value();
        let keeps = !is_value && !self.plans.options().drop_unknown;
        let is_contested = !self.table.contested.is_empty();
        for i in 0..self.table.objects.records.len() {
            if !is_contested && !matches!(self.table.objects.entries[i], Made::Nothing) {
                continue;
            }
            let record = self.table.objects.records.get(i);
            let is_removed = || self.registry.is_removed_class(self.table.name(record.class));
            if self.plans.is_inlined(record.id) || is_removed() {
                continue;
            }
            let (registry, holder) = (self.registry, record.holder);
            self.table
                .check_contested(record.class as usize, |_, class| {
                    registry.object(class, holder).is_some()
                })
                .map_err(|error| self.table.named(i, error.at(record.start as u64)))?;
            if keeps {
                self.table.ask_for(i);
            }
        }
        Ok(())
    }

    /// Under a strict policy, makes an error of what was lost, kept for later or made up.
    pub(super) fn check_policy(&self) -> Result<()> {
        if self.plans.options().policy != LoadPolicy::Strict {
            return Ok(());
        }
        let error = |what: &str, class: &str, object: u64| {
            Error::new(
                ErrorKind::Refused,
                format!(
                    "{what}, which `LoadPolicy::Strict` refuses; load with `LoadPolicy::Lenient`"
                ),
            )
            .in_object(object)
            .in_class(class)
        };
        for (row, run) in self.plans.events().filter(|(row, _)| !row.is_accepted()) {
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
        for (event, what) in [
            (LoadEvent::Kept, "the program does not have the class"),
            (LoadEvent::Unknown, "the program does not have the class"),
            (LoadEvent::Unregistered, "the class is not registered for its trait"),
        ] {
            let meant = |class: u32| self.registry.is_removed_class(self.table.name(class));
            let counts = self.table.tally.of(event).filter(|(class, _)| !meant(*class));
            if let Some((class, (_, first))) = counts.min_by_key(|(class, (_, at))| (*at, *class)) {
                return Err(error(what, self.table.name(class), first));
            }
        }
        Ok(())
    }
}
