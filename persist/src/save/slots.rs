//! Saves that a player sees as slots.

use std::collections::HashSet;
use std::io::{Read, SeekFrom};
use std::path::{Path, PathBuf};

use super::{BackgroundSave, Loaded, SaveManager, SaveOutcome, slot_name};
use crate::codec::Persist;
use crate::format::{Ends, Header};
use crate::storage::{SlotFiles, Storage, StoredFile, slots};
use crate::{Error, ErrorKind, Limits, Result};

/// A save in a folder of saves, as far as its header and its end tell; see [`SaveManager::slots`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Slot {
    /// The name of the file without `.sav`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub size: u64,
    /// Whether it can be loaded, as far as its two ends tell.
    pub health: Health,
    /// Application, version, generation and devices; of the newest good backup if that of the save cannot be read.
    pub header: Header,
    /// The saves before, the newest first.
    pub backups: Vec<PathBuf>,
    /// The backup that a load takes; looked for only if the save is damaged.
    pub good_backup: Option<PathBuf>,
    /// Damaged saves of this slot that were kept.
    pub damaged: Vec<PathBuf>,
}

/// Whether a save can be loaded, as far as its header and its end tell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// It begins and ends as it should; what is between is checked by a load.
    Whole,
    /// It is cut short, with what is wrong.
    Truncated(String),
    /// It is damaged, with what is wrong.
    Damaged(String),
    /// A newer version of the library wrote it, with what is unknown.
    Newer(String),
    /// It is over one of this manager's [`Limits`], with the limit; nothing is wrong with it.
    TooLarge(String),
    /// The system does not let it be read, with what it says: the permissions, or the disk.
    Unread(String),
}

impl Health {
    fn of(error: &Error) -> Self {
        let why = error.to_string();
        match error.kind() {
            ErrorKind::Truncated => Self::Truncated(why),
            ErrorKind::NewerFormat => Self::Newer(why),
            ErrorKind::TooLarge => Self::TooLarge(why),
            ErrorKind::Io => Self::Unread(why),
            _ => Self::Damaged(why),
        }
    }
}

impl Slot {
    /// The value that the program put into the save by [`SaveManager::set_metadata`]; `None` if it did not.
    ///
    /// # Errors
    ///
    /// As [`Header::metadata`].
    pub fn metadata<T: Persist>(&self) -> Result<Option<T>> {
        self.header.metadata()
    }
}

/// The slot of [`SaveManager::quick_save`].
const QUICK: &str = "quick";

/// How the names of the slots of [`SaveManager::auto_save`] begin.
const AUTO: &str = "auto";

/// The slots of a folder; a slot is a save whose file ends in `.sav`.
impl SaveManager {
    /// Lists the saves of a folder by name, without loading them: of each the header and the last 29 bytes are read.
    ///
    /// Each `name.sav` that is a save is a slot, a damaged one too, if it begins or ends as a save does, is empty or has
    /// backups. Hidden files and files that are no saves are none; backups and
    /// damaged saves that were kept belong to their slot. A folder that is not there has no slots.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if the folder cannot be read.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Persist, SaveManager};
    ///
    /// #[derive(Persist)]
    /// struct Shown { chapter: String, minutes: u32 }
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let mut saves = SaveManager::new();
    /// for (name, minutes) in [("Ada", 90), ("Bob", 20)] {
    ///     saves.set_metadata(&Shown { chapter: "The Mill".into(), minutes })?;
    ///     saves.save_slot(folder, name)?;
    /// }
    /// saves.auto_save(folder, 3)?;
    ///
    /// let mut slots = saves.slots(folder)?;
    /// let names: Vec<_> = slots.iter().map(|slot| &*slot.name).collect();
    /// assert_eq!(names, ["Ada", "Bob", "auto1"]);
    ///
    /// // In an order of the program's own.
    /// slots.sort_by_cached_key(|slot| slot.metadata::<Shown>().ok().flatten().map(|shown| shown.minutes));
    /// assert_eq!(slots[0].name, "Bob");
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn slots(&self, folder: impl AsRef<Path>) -> Result<Vec<Slot>> {
        let (folder, storage) = (folder.as_ref(), &*self.storage.0);
        let found = slots::list(storage, folder)
            .map_err(|error| Error::io("list the saves in", folder, error))?;
        let slots = found.into_iter();
        Ok(slots
            .filter_map(|(name, files)| look(storage, folder, name, &files, &self.limits))
            .collect())
    }

    /// Saves the objects into a slot. Backups of that name are its own from then on, also if the save that they were of is gone.
    ///
    /// One value is saved by [`save_value`](Self::save_value) with the path from [`slot_path`], and so is whatever else
    /// takes a path: `saves.save_in_background(slot_path(folder, "quick")?)` is a quick save in the background.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save) and [`slot_path`].
    pub fn save_slot(&mut self, folder: impl AsRef<Path>, name: &str) -> Result<SaveOutcome> {
        self.save(slot_path(folder, name)?)
    }

    /// Loads the objects of a slot, or of its newest good backup.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load) and [`slot_path`]; [`ErrorKind::NotFound`] if there is no such slot.
    pub fn load_slot(&self, folder: impl AsRef<Path>, name: &str) -> Result<Loaded> {
        self.load(slot_path(folder, name)?)
    }

    /// Saves the objects into the slot `quick`.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save).
    pub fn quick_save(&mut self, folder: impl AsRef<Path>) -> Result<SaveOutcome> {
        self.save_slot(folder, QUICK)
    }

    /// Saves the objects into the next of the slots `auto1`, `auto2` and so on, of which `keep` are used in turn; returns
    /// its name. It is one that is not there yet, or the oldest by the generations of the saves, whatever the clock says. A `keep` of 0
    /// is taken for 1.
    ///
    /// It does not report [`SaveOutcome::SavedUnlocked`]; [`auto_save_in_background`](Self::auto_save_in_background) does.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save); [`ErrorKind::Io`] if one of these slots cannot be opened or read, since it may be the newest.
    pub fn auto_save(&mut self, folder: impl AsRef<Path>, keep: u32) -> Result<String> {
        let next = self.next_auto(folder.as_ref(), keep)?;
        self.replace_since(&next.path, next.least, |saves, out| saves.write_blocks(out))?;
        Ok(next.name)
    }

    /// Saves the objects like [`auto_save`](Self::auto_save), but for the snapshot on another thread, as
    /// [`save_in_background`](Self::save_in_background). Earlier saves in the background are waited for.
    ///
    /// # Errors
    ///
    /// As [`auto_save`](Self::auto_save) and [`save_in_background`](Self::save_in_background).
    pub fn auto_save_in_background(
        &mut self,
        folder: impl AsRef<Path>,
        keep: u32,
    ) -> Result<BackgroundSave> {
        let next = self.next_auto(folder.as_ref(), keep)?;
        self.enqueue(&next.path, next.least, |saves, out| saves.write_blocks(out))
    }

    /// Saves one value like [`auto_save`](Self::auto_save).
    ///
    /// # Errors
    ///
    /// As [`auto_save`](Self::auto_save) and [`save_value`](Self::save_value).
    pub fn auto_save_value<T: Persist>(
        &mut self,
        folder: impl AsRef<Path>,
        keep: u32,
        value: &T,
    ) -> Result<String> {
        let next = self.next_auto(folder.as_ref(), keep)?;
        self.replace_since(&next.path, next.least, |saves, out| {
            saves.write_value_blocks(out, value, false)
        })?;
        Ok(next.name)
    }

    /// Copies a slot, without its backups, to a name that is free. Backups that are left of an earlier slot of that name are not
    /// those of the copy: they are kept beside it as damaged saves are, as `name.sav.damaged`, and no load takes them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if there is a slot of that name, [`ErrorKind::NotFound`] if there is none to be copied; whatever is
    /// wrong with a damaged one; as [`slot_path`].
    pub fn copy_slot(&self, folder: impl AsRef<Path>, from: &str, to: &str) -> Result<()> {
        let (from, to) = self.settled(folder.as_ref(), from, to)?;
        slots::copy(&*self.storage.0, &from, &to, &self.save_options, &self.limits)
    }

    /// Gives a slot, with its backups and damaged saves, a name that is free. After a crash it has the old name or the new
    /// one; some backups may then be left behind under the other. What is left of an earlier slot of the new name is kept as
    /// [`copy_slot`](Self::copy_slot) keeps it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if there is a slot of that name, [`ErrorKind::NotFound`] if there is none to be renamed; as
    /// [`slot_path`].
    pub fn rename_slot(&self, folder: impl AsRef<Path>, from: &str, to: &str) -> Result<()> {
        let (from, to) = self.settled(folder.as_ref(), from, to)?;
        slots::rename(&*self.storage.0, &from, &to, &self.save_options)
    }

    /// Deletes a slot with its backups and damaged saves, the save itself last.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::Io`] if a file cannot be removed; as [`slot_path`].
    pub fn delete_slot(&self, folder: impl AsRef<Path>, name: &str) -> Result<()> {
        let path = slot_path(folder, name)?;
        self.settle(&path);
        slots::delete(&*self.storage.0, &path, &self.save_options)
    }

    fn settled(&self, folder: &Path, from: &str, to: &str) -> Result<(PathBuf, PathBuf)> {
        let (from, to) = (slot_path(folder, from)?, slot_path(folder, to)?);
        self.settle(&from);
        self.settle(&to);
        Ok((from, to))
    }

    /// The slot that the next automatic save takes, and the least generation that makes it the newest.
    fn next_auto(&self, folder: &Path, keep: u32) -> Result<NextAuto> {
        let path = |number| slots::path(folder, &format!("{AUTO}{number}"));
        // It may be any of them that is being written.
        self.worker.settle_all();
        let storage = &*self.storage.0;
        let found = slots::list(storage, folder)
            .map_err(|error| Error::io("list the saves in", folder, error))?;
        let numbers = found.iter().filter(|(_, files)| files.has_save).filter_map(|(name, _)| {
            let number: u32 = name.strip_prefix(AUTO)?.parse().ok()?;
            (*name == format!("{AUTO}{number}")).then_some(number)
        });
        // One that cannot be read may be the newest.
        let generation = |number| slots::generation_of(storage, &path(number));
        let taken = numbers.map(|number| Ok((generation(number)?, number)));
        let taken = taken.collect::<Result<Vec<(u64, u32)>>>()?;
        let newest = taken.iter().map(|(generation, _)| *generation).max().unwrap_or(0);
        let used: HashSet<u32> = taken.iter().map(|(_, number)| *number).collect();
        let keep = keep.max(1);
        let free = (1..=keep).find(|number| !used.contains(number));
        let oldest = taken.iter().filter(|(_, number)| (1..=keep).contains(number)).min();
        let number = free.or(oldest.map(|(_, number)| *number)).unwrap_or(1);
        let least = newest.saturating_add(1);
        Ok(NextAuto { name: format!("{AUTO}{number}"), path: path(number), least })
    }
}

struct NextAuto {
    name: String,
    path: PathBuf,
    least: u64,
}

/// The file of a slot, for what saves and loads by a path.
///
/// Names that differ in upper and lower case alone, or in how an accent is encoded, are one file on some systems and two on
/// others: a program that lets players choose names should compare them by its own rule.
///
/// # Errors
///
/// [`ErrorKind::InvalidValue`] for a name that no file can have on some system: it must be of 1 to 100 bytes, without
/// `/ \ : * ? " < > |` and control characters, begin with no dot or space, end with neither, and be none of the devices of
/// Windows, such as `con` or `lpt1`.
///
/// # Example
///
/// ```
/// assert!(persist::save::slot_path("saves", "Ada's farm")?.ends_with("Ada's farm.sav"));
/// assert!(persist::save::slot_path("saves", "../passwords").is_err());
/// # Ok::<(), persist::Error>(())
/// ```
pub fn slot_path(folder: impl AsRef<Path>, name: &str) -> Result<PathBuf> {
    slot_name::check(name)?;
    Ok(slots::path(folder.as_ref(), name))
}

/// Looks at the ends of a slot's file; `None` if it is none.
fn look(
    storage: &dyn Storage,
    folder: &Path,
    name: String,
    files: &SlotFiles,
    limits: &Limits,
) -> Option<Slot> {
    let path = slots::path(folder, &name);
    let mut size = 0;
    let ends = if files.has_save {
        match storage.open(&path) {
            Ok(mut file) => {
                let ends = look_into(&mut *file, &mut size, limits);
                let is_other =
                    ends.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotASave);
                let is_alone = files.backups.is_empty() && files.damaged.is_empty();
                if is_other && is_alone && !was_save(&mut *file) {
                    return None;
                }
                ends
            }
            // It has been removed meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => Err(Error::io("read", &path, error)),
        }
    } else if slots::is_between(storage, &path) {
        let why = "the program was killed while it saved; load the slot to set it right";
        Err(Error::new(ErrorKind::Damaged, why))
    } else {
        return None;
    };
    let (header, fault) = match ends {
        Ok(Ends { header, is_whole: true }) => (header, None),
        Ok(Ends { header, .. }) => {
            let why = "the save does not end with its trailer, it is cut short";
            (header, Some(Error::new(ErrorKind::Truncated, why)))
        }
        Err(error) => (Header::default(), Some(error)),
    };
    let mut slot = Slot {
        size,
        health: fault.as_ref().map_or(Health::Whole, Health::of),
        header,
        backups: files.backups(&path),
        good_backup: None,
        damaged: files.damaged(&path),
        name,
        path,
    };
    if let Some(error) = fault {
        slot.find_backup(storage, limits, error.is_damage());
    }
    Some(slot)
}

fn look_into(file: &mut dyn StoredFile, size: &mut u64, limits: &Limits) -> Result<Ends> {
    let failed = |error| Error::of_reading("the save", error);
    *size = file.seek(SeekFrom::End(0)).map_err(failed)?;
    file.rewind().map_err(failed)?;
    Ends::read(file, limits)
}

impl Slot {
    /// Looks for the newest backup, which a load may take.
    fn find_backup(&mut self, storage: &dyn Storage, limits: &Limits, gives_way: bool) {
        let ends = self.backups.iter().filter_map(|path| {
            let ends = Ends::read(&mut *storage.open(path).ok()?, limits).ok()?;
            ends.is_whole.then_some((ends.header, path))
        });
        // Of equal ones the first is the newest.
        let newest = ends.reduce(
            |best, next| {
                if next.0.generation > best.0.generation { next } else { best }
            },
        );
        if let Some((header, path)) = newest {
            self.good_backup = gives_way.then(|| path.clone());
            if self.header == Header::default() {
                self.header = header;
            }
        }
    }
}

/// True if a file that does not begin as a save may have been one: it ends as one, or it is empty or begins with zeros,
/// as a power cut can leave one.
fn was_save(file: &mut dyn StoredFile) -> bool {
    let mut start = Vec::new();
    let read = file.rewind().and_then(|()| (&mut *file).take(64).read_to_end(&mut start));
    let is_zeroed = read.is_ok() && start.iter().all(|byte| *byte == 0);
    is_zeroed || Ends::is_at_end(file).unwrap_or(false)
}
