//! [`Slots`]: the saves of a folder or a store, listed, copied and renamed by name.

use std::fmt;
use std::io::{self, Read, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::info::SlotInfo;
use super::slot::Slot;
use super::{Home, Output, Saves};
use crate::format::{Ends, Header};
use crate::sorting::sort_by;
use crate::storage::{
    SlotFiles, SlotFolder, SlotStore, Storage, StoredFile, StoredSlot, check_slot_name, recover,
    slots, title_of,
};
use crate::{Error, ErrorKind, Limits, Result};

/// A save in a list, described by its header and its last bytes; [`Slots::list`] returns it.
///
/// Its [`Display`](fmt::Display) is a line for the player. It shows the title that the slot name was made from, the
/// title of the info, the time and the play time. It also says if the save is damaged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SlotEntry {
    /// The name of the file without `.sav`.
    pub name: String,
    /// The path of the file; empty for a slot of a store.
    pub path: PathBuf,
    /// The size of the save in bytes.
    pub size: u64,
    /// Whether the save can be loaded, judged by its header and its last bytes.
    pub health: Health,
    /// The header of the save; of its newest good backup if the header of the save cannot be read.
    pub header: Header,
    /// Title, time, play time and thumbnail, from [`header`](Self::header).
    pub info: SlotInfo,
    /// The backups of the save, newest first.
    pub backups: Vec<PathBuf>,
    /// The backup that a load would use; `None` unless the save is damaged.
    pub good_backup: Option<PathBuf>,
    /// Damaged saves of this slot that were set aside as `name.damaged`.
    pub damaged: Vec<PathBuf>,
    /// Saves of this slot that a program could not load, set aside as `name.refused`.
    pub refused: Vec<PathBuf>,
}

/// Whether a save can be loaded, judged by its header and its last bytes.
///
/// Each variant but [`Whole`](Self::Whole) holds a message that says what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// The header and the trailer are intact. The bytes between are checked only when the save is loaded.
    Whole,
    /// The save is cut short.
    Truncated(String),
    /// The save is damaged.
    Damaged(String),
    /// A newer version of the library wrote the save, in a format that this version does not know.
    Newer(String),
    /// The save exceeds one of the [`Limits`], which the message names. The save itself may be fine.
    TooLarge(String),
    /// The system could not read the file, for example for lack of permissions or because of a disk error.
    Unread(String),
}

impl Health {
    fn from_error(error: &Error) -> Self {
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

/// Shows the fault and its message, such as `cut short: ...`; shows `whole` for a whole save.
impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, why) = match self {
            Self::Whole => return f.write_str("whole"),
            Self::Truncated(why) => ("cut short", why),
            Self::Damaged(why) => ("damaged", why),
            Self::Newer(why) => ("of a newer version", why),
            Self::TooLarge(why) => ("too large", why),
            Self::Unread(why) => ("cannot be read", why),
        };
        write!(f, "{what}: {why}")
    }
}

impl SlotEntry {
    /// Creates the entry of a slot in a store. A store lists only whole saves, without backups.
    fn of_store(slot: StoredSlot) -> Self {
        Self {
            name: slot.name,
            path: PathBuf::new(),
            size: slot.size,
            health: Health::Whole,
            info: slot.header.info(),
            header: slot.header,
            backups: Vec::new(),
            good_backup: None,
            damaged: Vec::new(),
            refused: Vec::new(),
        }
    }
}

impl fmt::Display for SlotEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = title_of(&self.name);
        f.write_str(&one_line(&name))?;
        let mut info = self.info.clone();
        if info.title == name {
            info.title.clear();
        }
        let info = info.to_string();
        if !info.is_empty() {
            write!(f, ": {}", one_line(&info))?;
        }
        match &self.health {
            Health::Whole => Ok(()),
            Health::Truncated(_) | Health::Damaged(_) if self.good_backup.is_some() => {
                f.write_str(" (damaged, a backup can be loaded)")
            }
            Health::Truncated(_) => f.write_str(" (cut short)"),
            Health::Damaged(_) => f.write_str(" (damaged)"),
            Health::Newer(_) => f.write_str(" (of a newer version)"),
            Health::TooLarge(_) => f.write_str(" (too large)"),
            Health::Unread(_) => f.write_str(" (cannot be read)"),
        }
    }
}

/// Replaces control characters by spaces, so that a title from a hostile save cannot send escape codes to a terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The slots of one folder or store; [`Saves::slots`] and [`Saves::store`] return it.
///
/// ```
/// use persist::save::SlotInfo;
/// use persist::{Persist, Saves};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// let slots = Saves::new().slots(folder);
/// for (name, chapter) in [("Ada", "The Mill"), ("Bob", "The Cave")] {
///     slots.slot(name).info(SlotInfo::new(chapter)).save(&7_u32)?;
/// }
/// slots.auto(3).save(&7_u32)?; // the oldest of "auto1" to "auto3"
///
/// let list = slots.list()?;
/// let names: Vec<_> = list.iter().map(|slot| &*slot.name).collect();
/// assert_eq!(names, ["Ada", "Bob", "auto1"]);
/// assert_eq!(list[1].info.title, "The Cave");
/// println!("{}", list[1]); // a line for the player
///
/// assert_eq!(slots.list_newest_first()?[0].name, "auto1");
/// # Ok::<(), persist::Error>(())
/// ```
///
/// A slot is a save whose file name ends in `.sav`, with its backups and the damaged and refused saves that were set
/// aside. Backups that remain after their save was removed belong to the next save of that name.
///
/// A `Slots` borrows nothing and is cheap to clone: keep one in each menu.
#[derive(Clone, Debug)]
pub struct Slots {
    saves: Saves,
    home: Home,
}

impl Slots {
    pub(super) fn of_folder(saves: &Saves, folder: &Path) -> Self {
        Self { saves: saves.clone(), home: Home::Folder(folder.to_owned()) }
    }

    pub(super) fn of_store(saves: &Saves, store: Arc<dyn SlotStore>) -> Self {
        Self { saves: saves.clone(), home: Home::Store(store) }
    }

    /// Returns a handle of the slot with this name, to save, load and delete it.
    ///
    /// Nothing is read yet. The calls of the handle return an error if [no slot can have](check_slot_name) this name;
    /// [`slot_name`](super::slot_name) converts any title to a valid name.
    pub fn slot(&self, name: &str) -> Slot {
        Slot::of_name(&self.saves, &self.home, name)
    }

    /// Returns a handle of the rotation of automatic saves: the slots `auto1` to `auto<keep>`, used in turn.
    ///
    /// A save uses a slot that does not exist yet, or else replaces the oldest. A load reads the newest. Age is decided
    /// by the generation numbers in the saves, not by the clock. A `keep` of 0 counts as 1.
    pub fn auto(&self, keep: u32) -> Slot {
        Slot::of_rotation(&self.saves, &self.home, keep)
    }

    /// Lists the slots by name, without loading them.
    ///
    /// Only the header and the last 29 bytes of each save are read. The list of a folder that does not exist is empty.
    ///
    /// A damaged save is listed if it still begins or ends as a save, is empty or zeroed, or has backups. Hidden files
    /// and other files are not listed.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Io`] if the folder cannot be read, or the error of the store.
    pub fn list(&self) -> Result<Vec<SlotEntry>> {
        let Output { storage, limits, .. } = self.saves.output();
        match &self.home {
            Home::Folder(folder) => {
                let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                let found = slots::list(&**storage, folder)
                    .map_err(|error| Error::io("list the saves in", shown, error))?;
                let entry = |(name, files): (String, SlotFiles)| {
                    inspect(&**storage, folder, name, &files, limits)
                };
                Ok(found.into_iter().filter_map(entry).collect())
            }
            Home::Store(store) => Ok(store.list()?.into_iter().map(SlotEntry::of_store).collect()),
        }
    }

    /// Lists the slots like [`list`](Self::list), the most recently saved slot first.
    ///
    /// The order is by [`SlotInfo::saved_at`]. Slots without a time come last, by name.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`list`](Self::list).
    pub fn list_newest_first(&self) -> Result<Vec<SlotEntry>> {
        let mut list = self.list()?;
        let key = |slot: &SlotEntry| std::cmp::Reverse(slot.info.saved_at);
        sort_by(&mut list, |a, b| key(a).cmp(&key(b)));
        Ok(list)
    }

    /// Copies a slot, without its backups, to an unused name.
    ///
    /// Backups that remain from an earlier slot of the new name do not belong to the copy. They are renamed to
    /// `name.sav.damaged`, like damaged saves, so that no load uses them.
    ///
    /// # Errors
    ///
    /// Returns an error if the slot cannot be copied:
    ///
    /// - [`ErrorKind::AlreadyExists`] if a slot of the new name exists;
    /// - [`ErrorKind::NotFound`] if the slot to copy does not exist;
    /// - [`ErrorKind::Damaged`] or a similar kind if the slot to copy is damaged;
    /// - the same errors as [`Slot::path`].
    pub fn copy(&self, from: &str, to: &str) -> Result<()> {
        let Output { storage, options, limits, .. } = self.saves.output();
        match self.settled(from, to)? {
            None => self.move_in_store(from, to, false),
            Some((from, to)) => slots::copy(&**storage, &from, &to, options, limits),
        }
    }

    /// Renames a slot to an unused name, with its backups and the damaged and refused saves that were set aside.
    ///
    /// The journal of a [`Session`](crate::Session) is not renamed with the save: save the session first.
    ///
    /// After a crash the save has the old name or the new one, and some of its backups may have the other name. Backups
    /// that remain from an earlier slot of the new name are treated as [`copy`](Self::copy) describes. In a store, the
    /// save is written under the new name and then the old slot is deleted.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// let slots = persist::Saves::new().slots(folder.path());
    /// slots.slot("Ada").save(&7_u32)?;
    /// slots.rename("Ada", "Ada's farm")?;
    /// assert_eq!(*slots.slot("Ada's farm").load::<u32>()?, 7);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::AlreadyExists`] if a slot of the new name exists, [`ErrorKind::NotFound`] if the slot to
    /// rename does not, and the same errors as [`Slot::path`].
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        let Output { storage, options, .. } = self.saves.output();
        match self.settled(from, to)? {
            None => self.move_in_store(from, to, true),
            Some((from, to)) => slots::rename(&**storage, &from, &to, options),
        }
    }

    /// Returns the slots of a folder as a [`SlotStore`], to synchronise them with the slots of other devices.
    ///
    /// The store uses the storage, the options, the limits and the device name of the [`Saves`]. The call waits for
    /// saves in the background.
    ///
    /// ```
    /// use persist::Saves;
    /// use persist::storage::SlotStore;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let slots = Saves::new().slots(folder.path());
    /// slots.slot("Ada").save(&7_u32)?;
    /// let (save, _version) = slots.as_store()?.get("Ada")?.unwrap();
    /// assert_eq!(persist::from_slice::<u32>(&save)?, 7);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Unsupported`] if the slots are in a store already.
    pub fn as_store(&self) -> Result<SlotFolder> {
        let Home::Folder(folder) = &self.home else {
            bail!(ErrorKind::Unsupported, "the slots are in a store already; use that");
        };
        self.saves.worker().settle_all();
        let Output { storage, options, limits, device, .. } = self.saves.output().clone();
        Ok(SlotFolder::with_device(storage, folder, device).options(options).limits(limits))
    }

    /// Waits for background saves, and returns the files of two slots; `None` in a store.
    fn settled(&self, from: &str, to: &str) -> Result<Option<(PathBuf, PathBuf)>> {
        check_slot_name(from)?;
        check_slot_name(to)?;
        self.saves.worker().settle_all();
        let Home::Folder(folder) = &self.home else { return Ok(None) };
        Ok(Some((slots::path(folder, from), slots::path(folder, to))))
    }

    /// Copies a slot of a store, and deletes the old slot if `is_moved`.
    fn move_in_store(&self, from: &str, to: &str, is_moved: bool) -> Result<()> {
        let Home::Store(store) = &self.home else { return Ok(()) };
        let Some((save, version)) = store.get(from)? else {
            bail!(ErrorKind::NotFound, "there is no slot `{from}`");
        };
        let put = if from == to { Ok(version) } else { store.put_if(to, None, &save) };
        put.map_err(|error| match error.kind() {
            ErrorKind::Conflict => {
                error!(
                    ErrorKind::AlreadyExists,
                    "there is a slot `{to}` already; choose another name, or delete that first"
                )
            }
            _ => error,
        })?;
        if is_moved && from != to { store.delete(from, &version) } else { Ok(()) }
    }
}

/// Describes a slot by the header and the last bytes of its file; `None` if the file is not a save.
fn inspect(
    storage: &dyn Storage,
    folder: &Path,
    name: String,
    files: &SlotFiles,
    limits: &Limits,
) -> Option<SlotEntry> {
    let path = slots::path(folder, &name);
    let mut slot = SlotEntry {
        size: 0,
        health: Health::Whole,
        header: Header::default(),
        info: SlotInfo::default(),
        backups: files.backups(&path),
        good_backup: None,
        damaged: files.damaged(&path),
        refused: files.refused(&path),
        name,
        path,
    };
    if let Err(error) = slot.read_ends(storage, files.has_save, limits)? {
        slot.health = Health::from_error(&error);
        slot.find_backup(storage, limits, error.is_damage());
    }
    slot.info = slot.header.info();
    Some(slot)
}

impl SlotEntry {
    /// Reads the header and the last bytes of the file; `None` if it is not a save, or was removed meanwhile.
    fn read_ends(
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
            // The file was removed after the folder was listed.
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
        let related = [&self.backups, &self.damaged, &self.refused];
        let has_related = related.iter().any(|files| !files.is_empty());
        if is_other && !has_related && !was_save(&mut *file) {
            return None;
        }
        Some(ends.and_then(|Ends { header, is_whole }| {
            self.header = header;
            let why = "the save does not end with its trailer, it is cut short";
            if is_whole { Ok(()) } else { Err(Error::new(ErrorKind::Truncated, why)) }
        }))
    }

    /// Finds the newest backup with an intact header and trailer. A load of a damaged save tries it first, and reads it
    /// whole. Its header takes the place of an unreadable one.
    fn find_backup(&mut self, storage: &dyn Storage, limits: &Limits, is_damaged: bool) {
        let ends = self.backups.iter().filter_map(|path| {
            let ends = Ends::read(&mut *storage.open(path).ok()?, limits).ok()?;
            ends.is_whole.then_some((ends.header, path))
        });
        // Backups are listed newest first, so the first of equal generations is the newest.
        let newest = ends.reduce(
            |best, next| {
                if next.0.generation > best.0.generation { next } else { best }
            },
        );
        if let Some((header, path)) = newest {
            self.good_backup = is_damaged.then(|| path.clone());
            if self.header == Header::default() {
                self.header = header;
            }
        }
    }
}

/// Returns true if a file that does not begin as a save may have been one. It may if it ends as a save, is empty, or
/// begins with zeros: a power failure can leave such files.
fn was_save(file: &mut dyn StoredFile) -> bool {
    let mut start = Vec::new();
    let read = file.rewind().and_then(|()| (&mut *file).take(64).read_to_end(&mut start));
    let is_zeroed = read.is_ok() && start.iter().all(|byte| *byte == 0);
    is_zeroed || Ends::is_at_end(file).unwrap_or(false)
}

/// Returns the folder in which the operating system expects this user's saves of a program; feature `directories`.
///
/// ```no_run
/// let folder = persist::save::slots_folder("com", "Acorn", "Farm")?;
/// std::fs::create_dir_all(&folder)?;
/// let slots = persist::Saves::new().slots(&folder).list()?;
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The folder is `~/.local/share/farm/saves` on Linux, `~/Library/Application Support/com.Acorn.Farm/saves` on macOS
/// and `AppData\Roaming\Acorn\Farm\data\saves` on Windows. It is not created.
///
/// # Errors
///
/// Returns [`ErrorKind::NotFound`] if the user has no home folder.
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
