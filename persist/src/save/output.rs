//! The destinations of saves, and the outcome of a save.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{Destination, Home, Output, SaveLocation};
use crate::format::Header;
use crate::platform::{Timer, held};
use crate::storage::{
    Files, Past, Patient, SaveOptions, SessionSave, SlotAge, SlotStore, SlotVersion, Storage,
    auto_name, auto_number, slots,
};
use crate::{ErrorKind, Limits, Result, storage, trace};

/// The outcome of a save that did not fail.
///
/// [`Superseded`](Self::Superseded) and [`Cancelled`](Self::Cancelled) occur only for saves in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveOutcome {
    /// The save was written.
    Saved,
    /// The save was written without a lock, since the file system does not support file locks.
    ///
    /// Some network drives are like that. The save checked twice whether another program was saving at the same time.
    /// The checks miss a program that replaces the file between the second check and the rename.
    SavedUnlocked,
    /// The save of a [`Session`](crate::Session) was written, but its new journal could not be started.
    ///
    /// Each edit tries to start the journal, and is refused if it cannot.
    /// [`Session::journal_broken`](crate::Session::journal_broken) returns the cause.
    SavedUnjournaled,
    /// The save was not written, since a newer save of the same file was queued before it began.
    Superseded,
    /// The save was cancelled, and the previous save is unchanged.
    Cancelled,
}

impl SaveOutcome {
    fn new(is_locked: bool) -> Self {
        if is_locked { Self::Saved } else { Self::SavedUnlocked }
    }
}

impl fmt::Display for SaveOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Saved => "saved",
            Self::SavedUnlocked => "saved, without a lock against other programs",
            Self::SavedUnjournaled => "saved, without a journal of later edits",
            Self::Superseded => "not written, a newer save took its place",
            Self::Cancelled => "cancelled, the previous save is in its place",
        })
    }
}

impl Default for Output {
    fn default() -> Self {
        Self {
            storage: Patient::new(Files, SaveOptions::DEFAULT.wait),
            options: SaveOptions::DEFAULT,
            limits: Limits::DEFAULT,
            device: None,
            slow_after: trace::SLOW,
        }
    }
}

/// The saves in stores that a value continues; empty for a value that was not loaded.
pub(super) type Continued = Arc<Mutex<Vec<ContinuedSave>>>;

/// The version of a slot in a store when a value was loaded from it or last saved there.
pub struct ContinuedSave {
    location: SaveLocation,
    version: SlotVersion,
}

impl ContinuedSave {
    /// Returns the known version of a slot.
    fn find(all: &[Self], location: &SaveLocation) -> Option<SlotVersion> {
        Some(all.iter().find(|save| save.location.is_same(location))?.version)
    }

    /// Sets the version of a slot, in place of the previous one.
    pub(super) fn note(all: &mut Vec<Self>, location: SaveLocation, version: SlotVersion) {
        all.retain(|save| !save.location.is_same(&location));
        all.push(Self { location, version });
    }
}

/// Writes a save with the header that its destination needs. It may be called twice.
type WriteHeaded<'w> = &'w mut dyn FnMut(&mut dyn Write, Header) -> Result<()>;

impl Home {
    /// Returns the slots of a rotation, by number, with their ages.
    ///
    /// # Errors
    ///
    /// Returns an error if a slot cannot be read, since it may be the newest.
    pub(super) fn autos(&self, storage: &dyn Storage) -> Result<Vec<(u32, SlotAge)>> {
        match self {
            Self::Folder(folder) => auto_slots(storage, folder),
            Self::Store(store) => stored_autos(&**store),
        }
    }
}

/// How often a save into a store is tried if other programs keep replacing the slot. This applies only to a value that
/// was not loaded, which may replace any version.
const CONFLICTS: u32 = 5;

impl Output {
    /// Writes a save to its destination, and reports slow saves. `chosen` is called with the path once it is known.
    pub(super) fn put(
        &self,
        target: &Destination,
        continued: Option<&Continued>,
        header: &Header,
        chosen: &mut dyn FnMut(PathBuf),
        write: WriteHeaded<'_>,
    ) -> Result<SaveOutcome> {
        let (start, mut path) = (Timer::start(), None);
        let mut chosen = |file: PathBuf| {
            path = Some(file.clone());
            chosen(file);
        };
        let outcome = self.put_at(target, continued, header, &mut chosen, write);
        trace::saved(path.as_deref(), start, self.slow_after);
        outcome
    }

    fn put_at(
        &self,
        target: &Destination,
        continued: Option<&Continued>,
        header: &Header,
        chosen: &mut dyn FnMut(PathBuf),
        write: WriteHeaded<'_>,
    ) -> Result<SaveOutcome> {
        let (location, continued, min_generation) = match target {
            Destination::One(location) => (location.clone(), continued, 0),
            // The slot that a rotation replaces is not the one that the value was loaded from.
            Destination::Rotation(home, keep) => {
                let next = next_auto(&home.autos(&*self.storage)?, *keep);
                (home.location(&next.name), None, next.min_generation)
            }
        };
        match location {
            SaveLocation::File(path) => {
                chosen(path.clone());
                self.write_file(&path, min_generation, header, None, write)
            }
            SaveLocation::Store(ref store, ref slot) => {
                let known = continued.and_then(|all| ContinuedSave::find(&held(all), &location));
                let version =
                    self.put_in_store(&**store, slot, known, min_generation, header, write)?;
                if let Some(all) = continued {
                    ContinuedSave::note(&mut held(all), location, version);
                }
                Ok(SaveOutcome::Saved)
            }
        }
    }

    /// Replaces a file by a save with this header, with a generation of at least `min_generation`. `session` is the one
    /// that has the save open.
    pub(super) fn write_file(
        &self,
        path: &Path,
        min_generation: u64,
        header: &Header,
        session: Option<&mut SessionSave<'_>>,
        write: WriteHeaded<'_>,
    ) -> Result<SaveOutcome> {
        let Self { storage, options, limits, device, .. } = self;
        let new = storage::begin(&**storage, path, options, limits, session)?;
        let is_locked = new.write_and_commit(|file, past| {
            write(file, past.lead_to(header.clone(), device.as_deref(), min_generation))
        })?;
        Ok(SaveOutcome::new(is_locked))
    }

    /// Replaces the save of a slot in a store, and returns the new version. For a value that was loaded from the slot,
    /// `known` is its version then; if the slot has another version now, the result is a conflict.
    fn put_in_store(
        &self,
        store: &dyn SlotStore,
        slot: &str,
        known: Option<SlotVersion>,
        min_generation: u64,
        header: &Header,
        write: WriteHeaded<'_>,
    ) -> Result<SlotVersion> {
        let mut attempt = 1;
        loop {
            let current = store.get(slot)?;
            let version = current.as_ref().map(|(_, version)| *version);
            if known.is_some() && known != version {
                bail!(
                    ErrorKind::Conflict,
                    "`{slot}` was saved or deleted by another program since this value was loaded; load it again, and decide which save stays"
                );
            }
            let replaced = current.map(|(save, _)| Header::read(&save)).transpose()?;
            let past = Past::new(replaced);
            let mut save = Vec::new();
            write(&mut save, past.lead_to(header.clone(), self.device.as_deref(), min_generation))?;
            match store.put_if(slot, version.as_ref(), &save) {
                Err(error)
                    if error.kind() == ErrorKind::Conflict
                        && known.is_none()
                        && attempt < CONFLICTS =>
                {
                    attempt += 1;
                }
                put => return put,
            }
        }
    }
}

fn auto_slots(storage: &dyn Storage, folder: &Path) -> Result<Vec<(u32, SlotAge)>> {
    let listed = slots::list(storage, folder);
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let listed = listed.map_err(|error| crate::Error::io("list the saves in", shown, error))?;
    let mut found = Vec::new();
    for (name, files) in listed {
        if let Some(number) = auto_number(&name).filter(|_| files.has_save) {
            let path = slots::path(folder, &name);
            found.push((number, storage::slot_age(storage, &path)?));
        }
    }
    Ok(found)
}

fn stored_autos(store: &dyn SlotStore) -> Result<Vec<(u32, SlotAge)>> {
    let listed = store.list()?.into_iter();
    Ok(listed
        .filter_map(|slot| {
            Some((auto_number(&slot.name)?, SlotAge::Generation(slot.header.generation)))
        })
        .collect())
}

struct NextAuto {
    name: String,
    min_generation: u64,
}

/// Chooses the slot for the next automatic save, and the generation that makes it the newest.
///
/// The slot is one that does not exist yet, or else the oldest. Age is decided by generations, not by the clock.
fn next_auto(ages: &[(u32, SlotAge)], keep: u32) -> NextAuto {
    let keep = keep.max(1);
    let free = (1..=keep).find(|number| !ages.iter().any(|(taken, _)| taken == number));
    let own = ages.iter().filter(|(number, _)| (1..=keep).contains(number));
    let oldest = own.min_by_key(|(number, age)| (*age, *number)).map(|(number, _)| *number);
    let known = ages.iter().filter_map(|(_, age)| match age {
        SlotAge::Generation(generation) => Some(*generation),
        SlotAge::Damaged | SlotAge::Newer => None,
    });
    let newest = known.max();
    NextAuto {
        name: auto_name(free.or(oldest).unwrap_or(1)),
        min_generation: newest.map_or(1, |newest| newest.saturating_add(1)),
    }
}
