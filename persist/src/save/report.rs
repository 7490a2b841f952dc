//! [`LoadReport`]: what a load changed, lost and kept.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

use super::{Rescue, Salvage};
use crate::format::Header;
use crate::graph::LoadOutcome;
use crate::schema::{IN_PLACE_OF_DEFAULT, LoadEvent, Occurrences, PlannedRow};
use crate::storage::Recovery;
use crate::{ObjectId, trace};

/// The report of a load: everything that was converted, defaulted, dropped, kept as unknown or recovered.
///
/// No change of data is silent. Use [`summary`](Self::summary) to show a line to the player. The
/// [`Display`](fmt::Display) text is for the developer: a line for each class and for each [row](Self::rows).
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    header: Header,
    rows: Vec<ReportRow>,
    /// Finds a row by event, class and detail. It is filled by the first [`add`](Self::add): a program may add a row
    /// for each part of a save, and a linear search would make that quadratic.
    by_detail: HashMap<(LoadEvent, String, String), usize>,
    objects: Vec<(String, u64)>,
    references: u64,
    remapped: u64,
    pub(super) rescue: Rescue,
}

/// One row of a [`LoadReport`]: one kind of event in one class or field, and how often it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportRow {
    /// The kind of event.
    pub event: LoadEvent,
    /// The name of the class.
    pub class: String,
    /// The field; `None` if the event is about the whole class.
    pub field: Option<String>,
    /// More about the event, such as the old and new kind of a converted field.
    pub detail: Option<String>,
    /// How often the event happened.
    pub count: u64,
    /// The first object in which the event happened.
    pub object: Option<ObjectId>,
    /// True if the program declared the removal with `removed`, so that it does not count as a loss.
    pub is_declared: bool,
}

impl ReportRow {
    pub(crate) fn new(planned: &PlannedRow, count: u64, object: Option<ObjectId>) -> Self {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Self {
            is_declared: planned.is_accepted(),
            event: planned.event,
            class: planned.class.to_string(),
            field: some(&planned.field),
            detail: some(&planned.detail),
            count,
            object,
        }
    }
}

/// How many parts of a save a load kept as unknown, changed and lost.
///
/// [`LoadReport::counts`] returns it for the whole save, and [`LoadReport::by_class`] for each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadCounts {
    /// Unknown parts, which the next save writes back.
    pub kept: u64,
    /// Parts that were loaded with a different value than was saved: clamped, replaced, made empty, copied.
    pub changed: u64,
    /// Parts that were not loaded, without those that the program [declared removed](ReportRow::is_declared).
    pub lost: u64,
}

impl LoadCounts {
    fn add(&mut self, row: &ReportRow) {
        let count = row.count.max(1);
        match row.event {
            _ if row.is_declared => {}
            LoadEvent::Restored if row.detail.as_deref() == Some(IN_PLACE_OF_DEFAULT) => {}
            LoadEvent::Kept => self.kept += count,
            LoadEvent::Clamped
            | LoadEvent::Replaced
            | LoadEvent::Filled
            | LoadEvent::Unshared
            | LoadEvent::Superseded
            | LoadEvent::Restored => self.changed += count,
            LoadEvent::Dropped
            | LoadEvent::Unknown
            | LoadEvent::Unregistered
            | LoadEvent::Skipped
            | LoadEvent::Nulled
            | LoadEvent::Dead => self.lost += count,
            LoadEvent::Defaulted
            | LoadEvent::Converted
            | LoadEvent::Migrated
            | LoadEvent::Newer
            | LoadEvent::Dangling => {}
        }
    }
}

impl LoadReport {
    pub(crate) fn new(outcome: LoadOutcome) -> Self {
        let row = |(planned, run): (PlannedRow, Occurrences)| {
            ReportRow::new(&planned, run.count, ObjectId::new(run.first))
        };
        let rows: Vec<ReportRow> = outcome.events.into_iter().map(row).collect();
        Self {
            header: outcome.header,
            rows,
            by_detail: HashMap::new(),
            objects: outcome.objects,
            references: outcome.references,
            remapped: outcome.remapped,
            rescue: Rescue::default(),
        }
    }

    /// Sends events to `tracing` about the recovery of a damaged save, and about lost and changed parts.
    pub(super) fn trace(&self, path: Option<&Path>) {
        self.rescue.trace(path);
        if !self.rows.is_empty() {
            let LoadCounts { lost, changed, .. } = self.counts();
            trace::lossy(path, lost, changed, &self.summary());
        }
    }

    /// Adds an event, for a program that changes loaded data itself and reports it in the same place.
    ///
    /// If there is a row with this event, class and detail, its count is incremented. Otherwise a new row is added.
    ///
    /// ```
    /// use persist::Saves;
    /// use persist::save::LoadEvent;
    ///
    /// # let save = persist::to_vec(&vec![1_u8, 2])?;
    /// let loaded = Saves::new().from_slice::<Vec<u8>>(&save)?;
    /// let mut report = loaded.report().clone();
    /// report.add(LoadEvent::Dropped, "Vec<u8>", "an odd number", None);
    /// assert_eq!(report.summary(), "the save was loaded, but 1 part could not be kept");
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn add(&mut self, event: LoadEvent, class: &str, detail: &str, object: Option<ObjectId>) {
        if self.by_detail.is_empty() {
            for (i, row) in self.rows.iter().enumerate() {
                if let Some(detail) = row.detail.clone() {
                    self.by_detail.entry((row.event, row.class.clone(), detail)).or_insert(i);
                }
            }
        }
        let key = (event, class.to_owned(), detail.to_owned());
        match self.by_detail.get(&key) {
            Some(row) => self.rows[*row].count += 1,
            None => {
                self.by_detail.insert(key, self.rows.len());
                self.rows.push(ReportRow {
                    event,
                    class: class.to_owned(),
                    field: None,
                    detail: Some(detail.to_owned()),
                    count: 1,
                    object,
                    is_declared: false,
                });
            }
        }
    }

    /// Returns the rows of the report: one for each event in a class or field.
    ///
    /// ```
    /// use persist::save::LoadEvent;
    /// use persist::{Persist, Saves};
    ///
    /// mod older {
    ///     #[derive(persist::Persist)]
    ///     pub struct Hero { pub name: String }
    /// }
    ///
    /// #[derive(Persist)]
    /// struct Hero {
    ///     name: String,
    ///     #[persist(default = 1)]
    ///     level: u32,
    /// }
    ///
    /// let save = persist::to_vec(&older::Hero { name: "Ada".into() })?;
    /// let hero = Saves::new().from_slice::<Hero>(&save)?;
    /// let row = &hero.report().rows()[0];
    /// assert_eq!((row.event, row.field.as_deref()), (LoadEvent::Defaulted, Some("level")));
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn rows(&self) -> &[ReportRow] {
        &self.rows
    }

    /// Returns how many parts were kept as unknown, changed and lost.
    ///
    /// Use it to write a sentence in the player's language; [`summary`](Self::summary) is in English.
    ///
    /// ```
    /// use persist::{LoadOptions, Persist, Saves};
    ///
    /// mod newer {
    ///     #[derive(persist::Persist)]
    ///     pub struct Game { pub day: u32, pub weather: u8 }
    /// }
    ///
    /// #[derive(Persist)]
    /// struct Game { day: u32 }
    ///
    /// let save = persist::to_vec(&newer::Game { day: 1, weather: 3 })?;
    /// let saves = Saves::new().load_options(LoadOptions::new().drop_unknown(true));
    /// let game = saves.from_slice::<Game>(&save)?;
    /// assert_eq!(game.report().counts().lost, 1);
    /// assert!(game.report().by_class().any(|(class, counts)| class == "Game" && counts.lost == 1));
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> LoadCounts {
        let mut counts = LoadCounts::default();
        self.rows.iter().for_each(|row| counts.add(row));
        counts
    }

    /// Returns the number of parts that were kept as unknown; see [`LoadCounts::kept`].
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.counts().kept
    }

    /// Returns the number of parts that were changed; see [`LoadCounts::changed`].
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.counts().changed
    }

    /// Returns the number of parts that were lost; see [`LoadCounts::lost`].
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.counts().lost
    }

    /// Iterates over the classes with kept, changed or lost parts, and their counts, in the order of their names.
    pub fn by_class(&self) -> impl Iterator<Item = (&str, LoadCounts)> {
        let mut classes: BTreeMap<&str, LoadCounts> = BTreeMap::new();
        for row in &self.rows {
            classes.entry(&row.class).or_default().add(row);
        }
        classes.into_iter().filter(|(_, counts)| *counts != LoadCounts::default())
    }

    /// Returns one line for the player, which says in plain words whether everything was loaded.
    ///
    /// # Example
    ///
    /// ```
    /// # use persist::{Persist, Saves};
    /// # #[derive(Persist)] struct Hero { name: String }
    /// # let saves = Saves::new();
    /// # let save = saves.to_vec(&Hero { name: "Ada".into() })?;
    /// let hero = saves.from_slice::<Hero>(&save)?;
    /// assert_eq!(hero.report().summary(), "everything was loaded");
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn summary(&self) -> String {
        let LoadCounts { kept, changed, lost } = self.counts();
        let is_newer = self.rows.iter().any(|row| row.event == LoadEvent::Newer);
        let parts =
            |count: u64| if count == 1 { "1 part".into() } else { format!("{count} parts") };
        let mut found = Vec::new();
        if kept > 0 {
            found.push(format!("{} that this version does not know will be kept", parts(kept)));
        }
        if changed > 0 {
            found.push(format!("{} had to be changed", parts(changed)));
        }
        if lost > 0 {
            found.push(format!("{} could not be kept", parts(lost)));
        }
        if is_newer {
            found.push(String::from("the save is of a newer version"));
        }
        let damage = match (&self.rescue.recovery, &self.rescue.salvage) {
            (_, Some(salvage)) => Some(salvage.to_string()),
            (Some(recovery), None) => Some(recovery.to_string()),
            (None, None) => None,
        };
        let parts = match &found[..] {
            [] => String::from("everything was loaded"),
            _ => format!("the save was loaded, but {}", found.join(", ")),
        };
        match damage {
            // The save itself was loaded; the message is about refused saves that are kept beside it.
            Some(refused) if self.recovery().is_some_and(|it| it.backup.is_none()) => {
                format!("{parts}; {refused}")
            }
            Some(damage) if found.is_empty() => damage,
            Some(damage) => format!("{damage}; {}", found.join(", ")),
            None => parts,
        }
    }

    /// Returns true if the save was loaded exactly as it was written.
    ///
    /// Handles that were [`remapped`](Self::remapped) do not count as a change.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let is_save = self.recovery().is_none_or(|recovery| recovery.backup.is_none());
        self.rows.is_empty() && is_save && self.salvage().is_none()
    }

    /// Returns how a damaged or refused save was recovered, and which refused saves are kept beside it.
    ///
    /// It is `None` if the save itself was loaded and there are no refused saves.
    #[must_use]
    pub fn recovery(&self) -> Option<&Recovery> {
        self.rescue.recovery.as_ref()
    }

    /// Returns what was rescued from a damaged save under [`LoadPolicy::Salvage`](crate::save::LoadPolicy::Salvage).
    ///
    /// It is `None` under other policies, and if the save was not damaged.
    #[must_use]
    pub fn salvage(&self) -> Option<&Salvage> {
        self.rescue.salvage.as_ref()
    }

    /// Returns the header of the save, with the program that wrote it and the save's generation.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Iterates over the classes of the created objects, with the number of objects of each.
    pub fn objects(&self) -> impl Iterator<Item = (&str, u64)> {
        self.objects.iter().map(|(class, count)| (&**class, *count))
    }

    /// Returns the number of references in the objects, including dangling ones.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Returns the number of handles that got a new id from the [`Remap`](crate::types::Remap) of the load.
    #[must_use]
    pub fn remapped(&self) -> u64 {
        self.remapped
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(recovery) = self.recovery() {
            let separator = if recovery.cause.is_empty() { "" } else { ": " };
            writeln!(f, "{recovery}{separator}{}", recovery.cause)?;
        }
        if let Some(salvage) = self.salvage() {
            writeln!(
                f,
                "{salvage}: {} bytes in {} places, {} objects incomplete, {} pointers cut",
                salvage.lost_bytes, salvage.places, salvage.incomplete, salvage.cut
            )?;
        }
        for (class, count) in &self.objects {
            writeln!(f, "{count} {class}")?;
        }
        writeln!(f, "{} references", self.references)?;
        if self.remapped > 0 {
            writeln!(f, "{} remapped handles", self.remapped)?;
        }
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl fmt::Display for ReportRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.event {
            LoadEvent::Defaulted => "defaulted",
            LoadEvent::Filled => "made empty",
            LoadEvent::Converted => "converted",
            LoadEvent::Clamped => "set to the nearest number that fits",
            LoadEvent::Migrated => "migrated",
            LoadEvent::Newer => "loaded from a newer version",
            LoadEvent::Replaced => "replaced by the `other` variant",
            LoadEvent::Unshared => "copied from a shared object",
            LoadEvent::Dropped => "dropped",
            LoadEvent::Unknown => "skipped, not registered",
            LoadEvent::Dangling => "dangling weak reference",
            LoadEvent::Kept => "kept as unknown",
            LoadEvent::Superseded => "dropped, the save has another value for the field",
            LoadEvent::Restored => "kept value used in place of the migrated one",
            LoadEvent::Unregistered => "set to `None`, not registered for its trait",
            LoadEvent::Nulled => "handle set to null, not in the remap",
            LoadEvent::Dead => "dead handle, not in the remap",
            LoadEvent::Skipped => "skipped, could not be loaded",
        };
        write!(f, "{what}: {}", self.class)?;
        if let Some(field) = &self.field {
            write!(f, ".{field}")?;
        }
        if let Some(detail) = &self.detail {
            write!(f, ", {detail}")?;
        }
        if self.count > 0 {
            write!(f, ", {} times", self.count)?;
        }
        if let Some(object) = self.object {
            write!(f, ", first in object {object}")?;
        }
        Ok(())
    }
}
