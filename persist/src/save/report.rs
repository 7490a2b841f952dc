use std::fmt;

use super::Salvage;
use super::source::Rescue;
use crate::ObjectId;
use crate::format::Header;
use crate::graph::LoadOutcome;
use crate::schema::LoadEvent;
use crate::storage::Recovery;

/// What a load did besides making objects: nothing is silent.
///
/// Its [`Display`](fmt::Display) is a page for the developer.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    header: Header,
    rows: Vec<ReportRow>,
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
}

impl LoadReport {
    pub(crate) fn new(outcome: LoadOutcome) -> Self {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let rows = outcome.events.into_iter().map(|(planned, run)| ReportRow {
            event: planned.event,
            class: planned.class.to_string(),
            field: some(&planned.field),
            detail: some(&planned.detail),
            count: run.count,
            object: ObjectId::new(run.first),
        });
        Self {
            header: outcome.header,
            rows: rows.collect(),
            objects: outcome.objects,
            references: outcome.references,
            remapped: outcome.remapped,
            rescue: Rescue::default(),
        }
    }

    /// Adds to what was done, for a program that does something about what it loaded: in the row of this event, class and detail.
    ///
    /// ```
    /// use persist::SaveManager;
    /// use persist::save::LoadEvent;
    ///
    /// # let save = persist::to_vec(&vec![1_u8, 2])?;
    /// let (list, loaded) = SaveManager::new().value_from_slice::<Vec<u8>>(&save)?;
    /// let mut report = loaded.report().clone();
    /// report.add(LoadEvent::Dropped, "Vec<u8>", "an odd number", None);
    /// assert_eq!(report.summary(), "the save was loaded, but 1 part could not be kept");
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn add(&mut self, event: LoadEvent, class: &str, detail: &str, object: Option<ObjectId>) {
        let is_it = |row: &&mut ReportRow| {
            row.event == event && row.class == class && row.detail.as_deref() == Some(detail)
        };
        match self.rows.iter_mut().find(is_it) {
            Some(row) => row.count += 1,
            None => self.rows.push(ReportRow {
                event,
                class: class.to_owned(),
                field: None,
                detail: Some(detail.to_owned()),
                count: 1,
                object,
            }),
        }
    }

    /// What was done, a row for each class and field.
    #[must_use]
    pub fn rows(&self) -> &[ReportRow] {
        &self.rows
    }

    /// One line for the player: whether everything is there, in plain words.
    ///
    /// # Example
    ///
    /// ```
    /// # use persist::{Persist, SaveManager};
    /// # #[derive(Persist)] struct Hero { name: String }
    /// # let mut saves = SaveManager::new();
    /// # let hero = std::rc::Rc::new(std::cell::RefCell::new(Hero { name: "Ada".into() }));
    /// # saves.add(&hero)?;
    /// # let save = saves.to_vec()?;
    /// let loaded = saves.from_slice(&save)?;
    /// assert_eq!(loaded.report().summary(), "everything was loaded");
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn summary(&self) -> String {
        let count = |events: &[LoadEvent]| -> u64 {
            let found = self.rows.iter().filter(|row| events.contains(&row.event));
            found.map(|row| row.count.max(1)).sum()
        };
        let kept = count(&[LoadEvent::Kept]);
        let changed = count(&[
            LoadEvent::Clamped,
            LoadEvent::Replaced,
            LoadEvent::Filled,
            LoadEvent::Unshared,
            LoadEvent::Superseded,
            LoadEvent::Restored,
        ]);
        let lost = count(&[
            LoadEvent::Dropped,
            LoadEvent::Unknown,
            LoadEvent::Unregistered,
            LoadEvent::Nulled,
            LoadEvent::Dead,
        ]);
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
        if count(&[LoadEvent::Newer]) > 0 {
            found.push(String::from("the save is of a newer version"));
        }
        let damage = match (&self.rescue.recovery, &self.rescue.salvage) {
            (_, Some(salvage)) => Some(salvage.to_string()),
            (Some(recovery), None) => Some(recovery.to_string()),
            (None, None) => None,
        };
        match damage {
            Some(damage) if found.is_empty() => damage,
            Some(damage) => format!("{damage}; {}", found.join(", ")),
            None if found.is_empty() => String::from("everything was loaded"),
            None => format!("the save was loaded, but {}", found.join(", ")),
        }
    }

    /// True if the save came back exactly as it was written, but for handles that were
    /// [`remapped`](Self::remapped).
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.rows.is_empty() && self.recovery().is_none() && self.salvage().is_none()
    }

    /// What was done about a damaged save, if it was.
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
            writeln!(f, "{recovery}: {}", recovery.cause)?;
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
