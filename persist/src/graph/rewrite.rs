//! Records that are not in the program's form: rewritten, and what is left of them kept.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Loader;
use super::pending::Pending;
use super::table::{MADE, Table};
use crate::codec::{Decoder, Fail, Made, Piece, Unknown, left_over};
use crate::format::{MAX_ID, RecordPlace};
use crate::options::LoadPolicy;
use crate::schema::{Found, Keeps, KeptPlace, LoadEvent, SharedValue, Source, transcode};
use crate::{Error, ErrorKind, Result};

/// Ids of values that have become objects, while they are decoded: those of the save are
/// smaller, also those that name none of its objects.
pub(super) const FIRST_MADE: u64 = MAX_ID + 1;

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
            let found = table.find(id)?;
            let record = table.records.get(found as usize);
            (table.is_target(found, Some(class), holder))
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
            let (piece, length) = self.table.unknown(class, bytes)?;
            if length < bytes.len() {
                return Err(left_over(bytes.len() - length));
            }
            pieces.push(piece);
            if let Ok(class) = u32::try_from(class)
                && (class as usize) < self.plans.stored.len()
            {
                self.kept.entry(class).or_insert((0, object)).0 += 1;
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
            || self.table.records.len() as u64 >= self.env.limits.objects.min(Pending::MOST as u64)
        {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "with the values that have become objects the save has more than the limit of {}; raise `Limits::objects`",
                    self.env.limits.objects
                ),
            ));
        }
        self.table.held_bytes =
            self.table.held_bytes.saturating_add(registry.objects[object].footprint);
        self.env.limits.check_expansion(self.table.save_bytes, self.table.held_bytes)?;
        let number = MADE + u32::try_from(class).unwrap_or_default();
        let start = self.made.len();
        let record = RecordPlace { id, start, class: number, holder, added: false };
        self.table.enter(made_id, record, object)?;
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
        self.table.dangling = 0;
        self.table.handles.enter(record);
        let mut input = Decoder::new(&payload, self.env, &mut self.table);
        let result = read(&mut input);
        let (left, refused) = (input.rest().len(), input.take_error());
        self.count_noted(record);
        let error = match result {
            Ok(value) if left == 0 => return Ok(value),
            Ok(_) => left_over(left),
            Err(fail) => refused.unwrap_or_else(|| Error::from(fail)),
        };
        let class = record.class.saturating_sub(MADE) as usize;
        let error = self.in_bad_field(error, (class, &payload), None);
        Err(error.in_object(record.id).in_class(self.table.name(record.class)))
    }

    /// Counts what a decode has noted of the object that was read.
    #[inline]
    pub(super) fn count_noted(&mut self, record: &RecordPlace) {
        let Table { dangling, nones, kept, .. } = &self.table;
        if *dangling > 0 || !nones.is_empty() || !kept.is_empty() {
            self.count_some(record);
        }
    }

    #[cold]
    fn count_some(&mut self, record: &RecordPlace) {
        if self.table.dangling > 0 {
            self.dangling.entry(record.class).or_insert((0, record.id)).0 += self.table.dangling;
        }
        for (noted, counts) in
            [(&mut self.table.nones, &mut self.nones), (&mut self.table.kept, &mut self.kept)]
        {
            for number in noted.drain(..) {
                // What is kept of a class has been counted by the plan.
                if let Ok(class) = u32::try_from(number.wrapping_sub(1))
                    && (class as usize) < self.plans.stored.len()
                {
                    counts.entry(class).or_insert((0, record.id)).0 += 1;
                }
            }
        }
    }

    /// True for an object that has become a value already, so that it may be nowhere else: it is
    /// filled when something is found to lead to it.
    #[inline]
    pub(super) fn waits(&mut self, index: usize) -> bool {
        self.plans.has_inlined() && self.is_inlined(index)
    }

    fn is_inlined(&mut self, index: usize) -> bool {
        let record = self.table.records.get(index);
        let waits = !record.added
            && record.class < MADE
            && self.plans.is_inlined(record.id)
            && !matches!(self.table.entries[index], Made::Nothing);
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
                if self.waiting.is_empty() { &[][..] } else { &self.table.pending[seen..] };
            for reference in unseen {
                if let Some(target) = reference.target().filter(|_| !reference.is_weak())
                    && self.waiting.remove(&target)
                {
                    ready.push_back(target);
                }
            }
            seen = self.table.pending.len();
            if let Some(record) = ready.pop_front() {
                self.fill_behind(record)?;
                while self.table.starts.len() <= self.table.records.len() {
                    let made = self.table.starts.len() - 1;
                    self.fill_behind(made)?;
                    self.table.begin_record()?;
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
        let start = self.table.pending.len();
        self.fill_object(record)?;
        self.table.late_ranges.insert(record, start..self.table.pending.len());
        Ok(())
    }

    /// Frees the objects that are values now and nothing else, and counts the others as copied.
    pub(super) fn free_inlined(&mut self) {
        let inlined = self.plans.inlined();
        if inlined.is_empty() {
            return;
        }
        let (mut strong, mut any) = (HashSet::new(), HashSet::new());
        for reference in &self.table.pending {
            if let Some(target) = reference.target() {
                any.insert(target);
                if !reference.is_weak() {
                    strong.insert(target);
                }
            }
        }
        self.table.stand_ins.clear();
        let mut freed = HashSet::new();
        for id in inlined {
            let Some(record) = self.table.find(id).map(|record| record as usize) else { continue };
            let is_added = self.table.records.is_added(record);
            if is_added || any.contains(&record) {
                self.plans.count_unshared(id);
            }
            if is_added || strong.contains(&record) {
                continue;
            }
            // Nothing is connected yet: it holds stand-ins only.
            self.table.entries[record] = Made::Nothing;
            freed.insert(record);
            self.keeps.remove(&record);
            if self.table.kinds[record].take().is_some() {
                let class = self.table.records.get(record).class as usize;
                self.outcome.uncount_object(&self.plans.stored[class].name);
            }
        }
        self.count_dangling(&freed);
    }

    /// Counts the weak references to objects that are values now, and nothing else.
    fn count_dangling(&mut self, freed: &HashSet<usize>) {
        let is_freed =
            |reference: &Pending| reference.target().is_some_and(|target| freed.contains(&target));
        for (index, record) in self.table.records.iter().enumerate() {
            let held = self.table.range(index);
            let count = self.table.pending[held].iter().filter(|held| is_freed(held)).count();
            if count > 0 && !freed.contains(&index) {
                self.dangling.entry(record.class).or_insert((0, record.id)).0 += count as u64;
            }
        }
        let root = self.table.root();
        let count = self.table.pending[root].iter().filter(|held| is_freed(held)).count();
        let value = self.table.records.iter().find(|record| record.is_value());
        if let Some(value) = value.filter(|_| count > 0) {
            self.dangling.entry(value.class).or_insert((0, value.id)).0 += count as u64;
        }
    }

    /// Has all objects kept whose class the program does not have.
    ///
    /// # Errors
    ///
    /// If one could become one of several classes that it has.
    pub(super) fn keep_unknown(&mut self) -> Result<()> {
        let is_value = self.table.records.has_value();
        let keeps = !is_value && !self.plans.options().drop_unknown;
        let is_contested = !self.table.contested.is_empty();
        for i in 0..self.table.records.len() {
            if !is_contested && !matches!(self.table.entries[i], Made::Nothing) {
                continue;
            }
            let record = self.table.records.get(i);
            let is_removed = || self.registry.is_removed_class(self.table.name(record.class));
            if self.plans.is_inlined(record.id) || is_removed() {
                continue;
            }
            let (registry, holder) = (self.registry, record.holder);
            self.table
                .check_contested(record.class as usize, |_, class| {
                    registry.object(class, holder).is_some()
                })
                .map_err(|error| self.named(i, error.at(record.start as u64)))?;
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
        let counts = [
            (&self.kept, "the program does not have the class"),
            (&self.skipped, "the program does not have the class"),
            (&self.nones, "the class is not registered for its trait"),
        ];
        for (counts, what) in counts {
            let meant = |class: u32| self.registry.is_removed_class(self.table.name(class));
            let counts = counts.iter().filter(|(class, _)| !meant(**class));
            if let Some((class, (_, first))) =
                counts.min_by_key(|(class, (_, first))| (*first, **class))
            {
                return Err(error(what, self.table.name(*class), *first));
            }
        }
        Ok(())
    }
}
