//! Saves that a player sees as slots.

use std::io::{self, Read, SeekFrom};
use std::path::{Path, PathBuf};

use super::output::Output;
use super::{BackgroundSave, Loaded, SaveManager, SaveOutcome};
use crate::codec::Persist;
use crate::format::{Ends, Header};
use crate::storage::{SlotFiles, SlotFolder, Storage, StoredFile, check_slot_name, recover, slots};
use crate::{Error, ErrorKind, Limits, Result, storage};

/// A save in a folder, described by its header and its end; [`Slots::list`] returns it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Slot {
    /// The name of the file without `.sav`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub size: u64,
    /// Whether it can be loaded, judged by its two ends.
    pub health: Health,
    /// Application, version, generation and devices; of the newest good backup if that of the save cannot be read.
    pub header: Header,
    /// Earlier saves, the newest first.
    pub backups: Vec<PathBuf>,
    /// The backup that a load takes; looked for only if the save is damaged.
    pub good_backup: Option<PathBuf>,
    /// Damaged saves of this slot that were kept.
    pub damaged: Vec<PathBuf>,
}

/// Whether a save can be loaded, judged by its header and its end.
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
    /// The value that [`SaveManager::set_metadata`] put into the save; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Header::metadata`].
    pub fn metadata<T: Persist>(&self) -> Result<Option<T>> {
        self.header.metadata()
    }
}

/// How the names of the slots of [`Slots::auto_save`] begin.
const AUTO: &str = "auto";

/// The slots of one folder, seen through a manager; [`SaveManager::slots`] makes it.
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
///     saves.slots(folder).save(name)?;
/// }
/// let (name, _) = saves.slots(folder).auto_save(3)?;
/// assert_eq!(name, "auto1");
///
/// let mut slots = saves.slots(folder).list()?;
/// let names: Vec<_> = slots.iter().map(|slot| &*slot.name).collect();
/// assert_eq!(names, ["Ada", "Bob", "auto1"]);
///
/// // In an order of the program's own.
/// slots.sort_by_cached_key(|slot| slot.metadata::<Shown>().ok().flatten().map(|shown| shown.minutes));
/// assert_eq!(slots[0].name, "Bob");
/// # Ok::<(), persist::Error>(())
/// ```
///
/// A slot is a save whose file ends in `.sav`, with its backups and the damaged saves that were kept.
/// Backups left under a name belong to the next save of that name, even if their own save is gone.
#[derive(Debug)]
pub struct Slots<'s> {
    saves: &'s mut SaveManager,
    folder: PathBuf,
}

impl SaveManager {
    /// The slots of a folder, to be saved, loaded, listed and managed by name.
    ///
    /// The folder is not looked at before it is used, and never created.
    pub fn slots(&mut self, folder: impl AsRef<Path>) -> Slots<'_> {
        Slots { saves: self, folder: folder.as_ref().to_owned() }
    }
}

impl Slots<'_> {
    /// The file of a slot, for whatever takes a path.
    ///
    /// ```
    /// # let mut saves = persist::SaveManager::new();
    /// assert!(saves.slots("saves").path("Ada's farm")?.ends_with("Ada's farm.sav"));
    /// assert!(saves.slots("saves").path("../passwords").is_err());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// Some systems take names that differ only in case, or in the encoding of an accent, for one file.
    /// A program that lets players choose names should compare them by its own rule.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidValue`] for a name that no file can have on some system. A name has 1 to 100
    /// bytes, without `/ \ : * ? " < > |` and control characters. It begins with no dot or space, ends
    /// with neither, and is none of the devices of Windows, such as `con` or `lpt1`.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        check_slot_name(name)?;
        Ok(slots::path(&self.folder, name))
    }

    /// Lists the slots by name, without loading them.
    ///
    /// Of each save the header and the last 29 bytes are read. A folder that does not exist has no slots.
    ///
    /// A damaged save is listed too, if it begins or ends as a save does, is empty or has backups.
    /// Hidden files, and files that are no saves, are not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if the folder cannot be read.
    pub fn list(&self) -> Result<Vec<Slot>> {
        let Output { storage, limits, .. } = self.output();
        let found = self.found()?.into_iter();
        Ok(found
            .filter_map(|(name, files)| look(&**storage, &self.folder, name, &files, limits))
            .collect())
    }

    /// Saves the objects into a slot.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::save`] and [`path`](Self::path).
    pub fn save(&mut self, name: &str) -> Result<SaveOutcome> {
        let path = self.path(name)?;
        self.saves.save(path)
    }

    /// Saves the objects into a slot, on another thread after the snapshot.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::save_in_background`] and [`path`](Self::path).
    pub fn save_in_background(&mut self, name: &str) -> Result<BackgroundSave> {
        let path = self.path(name)?;
        self.saves.save_in_background(path)
    }

    /// Saves one value into a slot.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::save_value`] and [`path`](Self::path).
    pub fn save_value<T: Persist>(&mut self, name: &str, value: &T) -> Result<SaveOutcome> {
        let path = self.path(name)?;
        self.saves.save_value(path, value)
    }

    /// Saves one value into a slot, on another thread after the snapshot.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::save_value_in_background`] and [`path`](Self::path).
    pub fn save_value_in_background<T: Persist>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<BackgroundSave> {
        let path = self.path(name)?;
        self.saves.save_value_in_background(path, value)
    }

    /// Loads the objects of a slot, or of its newest good backup.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::load`] and [`path`](Self::path).
    pub fn load(&self, name: &str) -> Result<Loaded> {
        self.saves.load(self.path(name)?)
    }

    /// Loads the value of a slot, or of its newest good backup.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::load_value`] and [`path`](Self::path).
    pub fn load_value<T: Persist>(&mut self, name: &str) -> Result<(T, Loaded)> {
        let path = self.path(name)?;
        self.saves.load_value(path)
    }

    /// Saves the objects into the next of the slots `auto1`, `auto2` and so on, and returns its name.
    ///
    /// `keep` slots are used in turn; 0 counts as 1. The next slot is one that does not exist yet, or else
    /// the oldest. The generations in the saves decide which that is, not the clock.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::save`]. [`ErrorKind::Io`] if one of these slots cannot be opened or read, since it
    /// may be the newest.
    pub fn auto_save(&mut self, keep: u32) -> Result<(String, SaveOutcome)> {
        let next = self.next_auto(keep)?;
        let saved = self.saves.replace(&next.path, next.least, |saves, objects, out| {
            saves.write_objects(objects, out, None)
        });
        Ok((next.name, saved?))
    }

    /// Saves the objects like [`auto_save`](Self::auto_save), on another thread after the snapshot.
    ///
    /// Earlier saves in the background are waited for. The file stem of [`BackgroundSave::path`] is the
    /// name of the slot.
    ///
    /// # Errors
    ///
    /// Those of [`auto_save`](Self::auto_save) and [`SaveManager::save_in_background`].
    pub fn auto_save_in_background(&mut self, keep: u32) -> Result<BackgroundSave> {
        let next = self.next_auto(keep)?;
        self.saves.enqueue(&next.path, next.least, |saves, objects, out| {
            saves.write_objects(objects, out, None)
        })
    }

    /// Saves one value like [`auto_save`](Self::auto_save).
    ///
    /// # Errors
    ///
    /// Those of [`auto_save`](Self::auto_save) and [`SaveManager::save_value`].
    pub fn auto_save_value<T: Persist>(
        &mut self,
        keep: u32,
        value: &T,
    ) -> Result<(String, SaveOutcome)> {
        let next = self.next_auto(keep)?;
        let saved = self.saves.replace(&next.path, next.least, |saves, objects, out| {
            saves.write_value(objects, out, value)
        });
        Ok((next.name, saved?))
    }

    /// Saves one value like [`auto_save_in_background`](Self::auto_save_in_background).
    ///
    /// # Errors
    ///
    /// Those of [`auto_save`](Self::auto_save) and [`SaveManager::save_value_in_background`].
    pub fn auto_save_value_in_background<T: Persist>(
        &mut self,
        keep: u32,
        value: &T,
    ) -> Result<BackgroundSave> {
        let next = self.next_auto(keep)?;
        self.saves.enqueue(&next.path, next.least, |saves, objects, out| {
            saves.write_value(objects, out, value)
        })
    }

    /// Copies a slot, without its backups, to a free name.
    ///
    /// Backups left of an earlier slot of that name do not belong to the copy. They are kept beside it as
    /// `name.sav.damaged`, as damaged saves are, and no load takes them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if there is a slot of that name, [`ErrorKind::NotFound`] if there is
    /// none to be copied; whatever is wrong with a damaged one; as [`path`](Self::path).
    pub fn copy(&mut self, from: &str, to: &str) -> Result<()> {
        let (from, to) = self.settled(from, to)?;
        let Output { storage, options, limits, .. } = self.output();
        slots::copy(&**storage, &from, &to, options, limits)
    }

    /// Renames a slot, with its backups and damaged saves, to a free name.
    ///
    /// After a crash the save has the old name or the new one; some of its backups may have the other.
    /// Backups left of an earlier slot of the new name are kept as [`copy`](Self::copy) keeps them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if there is a slot of that name, [`ErrorKind::NotFound`] if there is
    /// none to be renamed; as [`path`](Self::path).
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (from, to) = self.settled(from, to)?;
        let Output { storage, options, .. } = self.output();
        slots::rename(&**storage, &from, &to, options)
    }

    /// Deletes a slot with its backups and damaged saves, the save itself last.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::Io`] if a file cannot be removed; as
    /// [`path`](Self::path).
    pub fn delete(&mut self, name: &str) -> Result<()> {
        let path = self.path(name)?;
        self.saves.values.settle(&path);
        let Output { storage, options, .. } = self.output();
        slots::delete(&**storage, &path, options, &|| Ok(()))
    }

    /// The slots as a store, to be read and replaced from any thread, and brought together with those of other devices.
    ///
    /// It has the storage, the options, the limits and the device of the manager. Saves in the background are waited for.
    ///
    /// ```
    /// use persist::SaveManager;
    /// use persist::storage::SlotStore;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let mut saves = SaveManager::new();
    /// let mut slots = saves.slots(folder.path());
    /// slots.save_value("Ada", &7_u32)?;
    /// let (save, _version) = slots.store().get("Ada")?.unwrap();
    /// assert_eq!(persist::from_slice::<u32>(&save)?, 7);
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn store(&self) -> SlotFolder {
        self.saves.values.worker.settle_all();
        let Output { storage, options, limits, device } = self.output().clone();
        SlotFolder::of_device(storage, &self.folder, device)
            .with_options(options)
            .with_limits(limits)
    }

    fn output(&self) -> &Output {
        &self.saves.values.output
    }

    /// The files of two slots that no save in the background is writing.
    fn settled(&self, from: &str, to: &str) -> Result<(PathBuf, PathBuf)> {
        let (from, to) = (self.path(from)?, self.path(to)?);
        self.saves.values.settle(&from);
        self.saves.values.settle(&to);
        Ok((from, to))
    }

    fn found(&self) -> Result<Vec<(String, SlotFiles)>> {
        let is_current = self.folder.as_os_str().is_empty();
        let folder = if is_current { Path::new(".") } else { &self.folder };
        slots::list(&*self.output().storage, &self.folder)
            .map_err(|error| Error::io("list the saves in", folder, error))
    }

    /// The slot that the next automatic save takes, and the least generation that makes it the newest.
    fn next_auto(&self, keep: u32) -> Result<NextAuto> {
        let path = |number| slots::path(&self.folder, &format!("{AUTO}{number}"));
        // It may be any of them that is being written.
        self.saves.values.worker.settle_all();
        let mut ages: Vec<(u32, u64)> = Vec::new();
        for (name, files) in self.found()? {
            let number = name.strip_prefix(AUTO).and_then(|number| number.parse().ok());
            let is_own = |number: &u32| files.has_save && name == format!("{AUTO}{number}");
            if let Some(number) = number.filter(is_own) {
                // One that cannot be read may be the newest.
                let age = storage::generation_of(&*self.output().storage, &path(number))?;
                ages.push((number, age));
            }
        }
        let keep = keep.max(1);
        let free = (1..=keep).find(|number| !ages.iter().any(|(taken, _)| taken == number));
        let own = ages.iter().filter(|(number, _)| (1..=keep).contains(number));
        let oldest = own.min_by_key(|(number, age)| (*age, *number)).map(|(number, _)| *number);
        let number = free.or(oldest).unwrap_or(1);
        let newest = ages.iter().map(|(_, age)| *age).max();
        let least = newest.map_or(1, |newest| newest.saturating_add(1));
        Ok(NextAuto { name: format!("{AUTO}{number}"), path: path(number), least })
    }
}

struct NextAuto {
    name: String,
    path: PathBuf,
    least: u64,
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
    let mut slot = Slot {
        size: 0,
        health: Health::Whole,
        header: Header::default(),
        backups: files.backups(&path),
        good_backup: None,
        damaged: files.damaged(&path),
        name,
        path,
    };
    if let Err(error) = slot.look_into(storage, files.has_save, limits)? {
        slot.health = Health::of(&error);
        slot.find_backup(storage, limits, error.is_damage());
    }
    Some(slot)
}

impl Slot {
    fn look_into(
        &mut self,
        storage: &dyn Storage,
        has_save: bool,
        limits: &Limits,
    ) -> Option<Result<()>> {
        if !has_save {
            let why = "the program was killed while it saved; load the slot to set it right";
            let is_between = recover::is_between(storage, &self.path);
            return is_between.then(|| Err(Error::new(ErrorKind::Damaged, why)));
        }
        let mut file = match storage.open(&self.path) {
            // It has been removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(Error::io("read", &self.path, error))),
            Ok(file) => file,
        };
        match file.seek(SeekFrom::End(0)) {
            Ok(size) => self.size = size,
            Err(error) => return Some(Err(Error::of_reading("the save", error))),
        }
        let ends = Ends::read(&mut *file, limits);
        let is_other = ends.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotASave);
        let is_alone = self.backups.is_empty() && self.damaged.is_empty();
        if is_other && is_alone && !was_save(&mut *file) {
            return None;
        }
        Some(ends.and_then(|Ends { header, is_whole }| {
            self.header = header;
            let why = "the save does not end with its trailer, it is cut short";
            if is_whole { Ok(()) } else { Err(Error::new(ErrorKind::Truncated, why)) }
        }))
    }

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

/// The folder where the system keeps the saves of a program for this user; feature `directories`.
///
/// ```no_run
/// let folder = persist::save::slots_folder("com", "Acorn", "Farm")?;
/// std::fs::create_dir_all(&folder)?;
/// let mut saves = persist::SaveManager::new();
/// let slots = saves.slots(&folder).list()?;
/// # Ok::<(), persist::Error>(())
/// ```
///
/// It is `~/.local/share/farm/saves`, `~/Library/Application Support/com.Acorn.Farm/saves` or
/// `AppData\Roaming\Acorn\Farm\data\saves`, and is not created.
///
/// # Errors
///
/// [`ErrorKind::NotFound`] if the user has no home folder.
#[cfg(feature = "directories")]
pub fn slots_folder(qualifier: &str, organization: &str, application: &str) -> Result<PathBuf> {
    match directories::ProjectDirs::from(qualifier, organization, application) {
        Some(folders) => Ok(folders.data_dir().join("saves")),
        None => Err(error!(
            ErrorKind::NotFound,
            "the user has no home folder for saves; choose a folder yourself"
        )),
    }
}
