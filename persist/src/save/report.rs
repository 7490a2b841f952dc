use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

use super::Salvage;
use super::source::Rescue;
use crate::format::Header;
use crate::graph::LoadOutcome;
use crate::schema::{IN_PLACE_OF_DEFAULT, LoadEvent, Occurrences, PlannedRow};
use crate::storage::Recovery;
use crate::{ObjectId, trace};

/// What a load did besides making objects: nothing is silent.
///
/// Its [`Display`](fmt::Display) is a page for the developer.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    header: Header,
    rows: Vec<ReportRow>,
    /// The rows by event, class and detail, once the program adds to them: it may add one for each part of a save.
    by_detail: HashMap<(LoadEvent, String, String), usize>,
    objects: Vec<(String, u64)>,
    references: u64,
    remapped: u64,
    pub(super) rescue: Rescue,
}

/// One thing that a load did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportRow {
    /// What was done.
    pub event: LoadEvent,
    /// Name of the class.
    pub class: String,
    /// The field, where it is about one.
    pub field: Option<String>,
    /// From what to what, where it was converted.
    pub detail: Option<String>,
    /// How often.
    pub count: u64,
    /// The first object in which it happened.
    pub object: Option<ObjectId>,
    /// True if the program declared by `removed` that this goes: it is no loss.
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

/// How many parts a load kept as unknown, changed and lost; [`LoadReport::by_class`] returns it for each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadCounts {
    /// Parts that the program does not know, which go back to the next save.
    pub kept: u64,
    /// Parts that came back otherwise than they were saved: clamped, replaced, made empty, copied.
    pub changed: u64,
    /// Parts that did not come back, but for those that the program declared [`removed`](ReportRow::is_declared).
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

    /// Reports to a log what a load did about a damaged save, and what it lost.
    pub(super) fn trace(&self, path: Option<&Path>) {
        self.rescue.trace(path);
        if !self.rows.is_empty() {
            let LoadCounts { lost, changed, .. } = self.counts();
            trace::lossy(path, lost, changed, &self.summary());
        }
    }

    /// Adds to what was done, for a program that does something about what it loaded: in the row of this event, class and detail.
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

    /// What was done, a row for each class and field.
    #[must_use]
    pub fn rows(&self) -> &[ReportRow] {
        &self.rows
    }

    /// How many parts were kept, changed and lost, for a sentence in the player's language.
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

    /// The parts that were kept as unknown: see [`LoadCounts::kept`].
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.counts().kept
    }

    /// The parts that were changed: see [`LoadCounts::changed`].
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.counts().changed
    }

    /// The parts that were lost: see [`LoadCounts::lost`].
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.counts().lost
    }

    /// The counts of each class that something was kept, changed or lost of, by name.
    pub fn by_class(&self) -> impl Iterator<Item = (&str, LoadCounts)> {
        let mut classes: BTreeMap<&str, LoadCounts> = BTreeMap::new();
        for row in &self.rows {
            classes.entry(&row.class).or_default().add(row);
        }
        classes.into_iter().filter(|(_, counts)| *counts != LoadCounts::default())
    }

    /// One line for the player: whether everything is there, in plain words.
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
            // The save itself was loaded.
            Some(kept) if self.recovery().is_some_and(|it| it.backup.is_none()) => {
                format!("{parts}; {kept}")
            }
            Some(damage) if found.is_empty() => damage,
            Some(damage) => format!("{damage}; {}", found.join(", ")),
            None => parts,
        }
    }

    /// True if the save came back exactly as it was written, but for handles that were
    /// [`remapped`](Self::remapped).
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let is_save = self.recovery().is_none_or(|recovery| recovery.backup.is_none());
        self.rows.is_empty() && is_save && self.salvage().is_none()
    }

    /// What was done about a damaged or refused save, and which refused saves are kept, if there are any.
    #[must_use]
    pub fn recovery(&self) -> Option<&Recovery> {
        self.rescue.recovery.as_ref()
    }

    /// What was found of a damaged save, if that was asked for.
    #[must_use]
    pub fn salvage(&self) -> Option<&Salvage> {
        self.rescue.salvage.as_ref()
    }

    /// What the save says of the program that wrote it.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Classes and how many objects of each were made.
    pub fn objects(&self) -> impl Iterator<Item = (&str, u64)> {
        self.objects.iter().map(|(class, count)| (&**class, *count))
    }

    /// How many references the objects held, dangling ones included.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.references
    }

    /// How many handles got a new id from the [`Remap`](crate::types::Remap) of the load.
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
