//! The saves of a folder or a store, as a player sees them.

use std::fmt;
use std::io::{self, Read, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Saves;
use super::info::SlotInfo;
use super::output::{Home, Output};
use super::slot::Slot;
use crate::format::{Ends, Header};
use crate::sorting::sort_by;
use crate::storage::{
    SlotFiles, SlotFolder, SlotStore, Storage, StoredFile, StoredSlot, check_slot_name, recover,
    slots, title_of,
};
use crate::{Error, ErrorKind, Limits, Result};

/// A save in a list, described by its header and its end; [`Slots::list`] returns it.
///
/// Its [`Display`](fmt::Display) is a line for the player: the title that the name was made of, the title of the info, time, play time, and what is wrong if anything is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SlotEntry {
    /// The name of the file without `.sav`.
    pub name: String,
    /// The file; empty for a slot of a store.
    pub path: PathBuf,
    /// Bytes of the file.
    pub size: u64,
    /// Whether it can be loaded, judged by its two ends.
    pub health: Health,
    /// Application, version, generation and devices; of the newest good backup if that of the save cannot be read.
    pub header: Header,
    /// Title, time, play time and thumbnail of that save.
    pub info: SlotInfo,
    /// Earlier saves, the newest first.
    pub backups: Vec<PathBuf>,
    /// The backup that a load takes; looked for only if the save is damaged.
    pub good_backup: Option<PathBuf>,
    /// Damaged saves of this slot that were kept.
    pub damaged: Vec<PathBuf>,
    /// Saves of this slot that were kept since a program could not load them.
    pub refused: Vec<PathBuf>,
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
    /// It is over one of the [`Limits`], with that limit; nothing is wrong with it.
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

/// What is wrong with a save; nothing for a whole one.
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
    /// A slot of a store, which lists whole saves alone.
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

/// A text for a line: what a player or a hostile save put into a title steers no terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The slots of one folder or store; [`Saves::slots`] and [`Saves::store`] make it.
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
/// A slot is a save whose file ends in `.sav`, with its backups and the damaged and refused saves that were kept.
/// Backups left under a name belong to the next save of that name, even if their own save is gone.
///
/// It borrows nothing: clone it, and keep one in each menu.
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

    /// The slot of a name, to be saved, loaded and deleted. Each of these calls is an error for a name that
    /// [no slot can have](check_slot_name); [`slot_name`](super::slot_name) makes one of any title.
    pub fn slot(&self, name: &str) -> Slot {
        Slot::of_name(&self.saves, &self.home, name)
    }

    /// The rotation of automatic saves: the slots `auto1`, `auto2` and so on, `keep` of them in turn; 0 counts as 1.
    ///
    /// A save takes one that does not exist yet, or else the oldest. The generations in the saves decide which that is, not
    /// the clock. A load takes the newest.
    pub fn auto(&self, keep: u32) -> Slot {
        Slot::of_rotation(&self.saves, &self.home, keep)
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
    /// Returns [`ErrorKind::Io`] if the folder cannot be read.
    pub fn list(&self) -> Result<Vec<SlotEntry>> {
        let Output { storage, limits, .. } = self.saves.output();
        match &self.home {
            Home::Folder(folder) => {
                let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                let found = slots::list(&**storage, folder)
                    .map_err(|error| Error::io("list the saves in", shown, error))?;
                let look = |(name, files): (String, SlotFiles)| {
                    look(&**storage, folder, name, &files, limits)
                };
                Ok(found.into_iter().filter_map(look).collect())
            }
            Home::Store(store) => Ok(store.list()?.into_iter().map(SlotEntry::of_store).collect()),
        }
    }

    /// Lists the slots, those that were saved last first, as a menu shows them.
    ///
    /// The time in the [info](SlotEntry::info) decides; slots without one are the last, by name.
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

    /// Copies a slot, without its backups, to a free name.
    ///
    /// Backups left of an earlier slot of that name do not belong to the copy. They are kept beside it as
    /// `name.sav.damaged`, as damaged saves are, and no load takes them.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::AlreadyExists`] if there is a slot of that name, [`ErrorKind::NotFound`] if there is
    /// none to be copied, whatever is wrong with a damaged one, and the errors of [`Slot::path`].
    pub fn copy(&self, from: &str, to: &str) -> Result<()> {
        let Output { storage, options, limits, .. } = self.saves.output();
        match self.settled(from, to)? {
            None => self.move_in_store(from, to, false),
            Some((from, to)) => slots::copy(&**storage, &from, &to, options, limits),
        }
    }

    /// Renames a slot, with its backups and the damaged and refused saves that were kept, to a free name.
    ///
    /// The journal of a [`Session`](crate::Session) belongs to the old path, and stays: save the session before.
    ///
    /// After a crash the save has the old name or the new one; some of its backups may have the other.
    /// Backups left of an earlier slot of the new name are kept as [`copy`](Self::copy) keeps them. A store gets the save
    /// under the new name, and the old slot is deleted with whatever the store keeps of it.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::AlreadyExists`] if there is a slot of that name, [`ErrorKind::NotFound`] if there is
    /// none to be renamed, and the errors of [`Slot::path`].
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        let Output { storage, options, .. } = self.saves.output();
        match self.settled(from, to)? {
            None => self.move_in_store(from, to, true),
            Some((from, to)) => slots::rename(&**storage, &from, &to, options),
        }
    }

    /// The slots of a folder as a store, to be brought together with those of other devices.
    ///
    /// It has the storage, the options, the limits and the device of the [`Saves`]. Saves in the background are waited for.
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
        Ok(SlotFolder::of_device(storage, folder, device).options(options).limits(limits))
    }

    /// The files of two slots that no save in the background is writing; `None` in a store.
    fn settled(&self, from: &str, to: &str) -> Result<Option<(PathBuf, PathBuf)>> {
        check_slot_name(from)?;
        check_slot_name(to)?;
        self.saves.worker().settle_all();
        let Home::Folder(folder) = &self.home else { return Ok(None) };
        Ok(Some((slots::path(folder, from), slots::path(folder, to))))
    }

    /// Copies a slot of a store, and deletes the old one if it is moved.
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

/// Looks at the ends of a slot's file; `None` if it is none.
fn look(
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
    if let Err(error) = slot.look_into(storage, files.has_save, limits)? {
        slot.health = Health::of(&error);
        slot.find_backup(storage, limits, error.is_damage());
    }
    slot.info = slot.header.info();
    Some(slot)
}

impl SlotEntry {
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
        let kept = [&self.backups, &self.damaged, &self.refused];
        let is_alone = kept.iter().all(|kept| kept.is_empty());
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
/// let slots = persist::Saves::new().slots(&folder).list()?;
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
