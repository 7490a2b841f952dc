//! [`Slot`]: a handle of one place to save to, load from and delete.

use std::fmt;
use std::path::{Path, PathBuf};

use super::background::BackgroundSave;
use super::info::SlotInfo;
use super::objects::content::{Content, Loadable, Sink, WriteContent};
use super::source::SaveSource;
use super::{Destination, Home, Loaded, Output, SaveLocation, SaveOutcome, Saves, UnwrittenSave};
use crate::codec::Buffer;
use crate::format::{Compression, Header, Sealer};
use crate::sorting::sort_by;
use crate::storage::{SaveOptions, SlotAge, auto_name, check_slot_name, slots};
use crate::types::Remap;
use crate::{Error, ErrorKind, Result};

/// A handle of one place for a save: a file, a slot of a folder or store, or a rotation of automatic saves.
///
/// [`Saves::file`], [`Slots::slot`](super::Slots::slot) and [`Slots::auto`](super::Slots::auto) return it. Creating the
/// handle reads and writes nothing.
///
/// ```
/// use persist::save::SlotInfo;
/// use persist::{Persist, Saves};
///
/// #[derive(Persist)]
/// struct Game { day: u32 }
///
/// # let folder = tempfile::tempdir().unwrap();
/// let slots = Saves::new().slots(folder.path());
/// let slot = slots.slot("Ada's farm");
/// slot.clone().info(SlotInfo::new("The Mill")).save(&Game { day: 1 })?;
/// assert_eq!(slot.load::<Game>()?.day, 1);
/// slot.delete()?;
/// # Ok::<(), persist::Error>(())
/// ```
///
/// Each save has a [`SlotInfo`]. Without [`info`](Self::info), it holds only the time. The info and the number of
/// backups belong to this handle, not to the slot: another handle of the same slot has its own.
///
/// A save that cannot be loaded is kept beside the slot. A damaged save is kept as `name.damaged`, and a save that the
/// program refuses as `name.refused`. Later saves do not remove these files.
#[derive(Clone)]
#[must_use = "a handle does nothing by itself; call `save` or `load`"]
pub struct Slot {
    saves: Saves,
    place: Place,
    /// `None` for a save without metadata and time.
    info: Option<SlotInfo>,
    backups: Option<u32>,
}

#[derive(Clone)]
enum Place {
    File(PathBuf),
    Named(Home, String),
    Auto(Home, u32),
}

impl Slot {
    fn new(saves: &Saves, place: Place) -> Self {
        Self { saves: saves.clone(), place, info: Some(SlotInfo::default()), backups: None }
    }

    pub(super) fn from_file(saves: &Saves, path: &Path) -> Self {
        Self::new(saves, Place::File(path.to_owned()))
    }

    pub(super) fn of_name(saves: &Saves, home: &Home, name: &str) -> Self {
        Self::new(saves, Place::Named(home.clone(), name.to_owned()))
    }

    pub(super) fn of_rotation(saves: &Saves, home: &Home, keep: u32) -> Self {
        Self::new(saves, Place::Auto(home.clone(), keep))
    }

    /// Returns this handle for saves without metadata and time.
    pub(super) fn plain(self) -> Self {
        Self { info: None, ..self }
    }

    /// Sets the title, play time and thumbnail of the saves by this handle. Each save sets the time.
    pub fn info(self, info: SlotInfo) -> Self {
        Self { info: Some(info), ..self }
    }

    /// Sets how many backups the saves by this handle keep, in place of [`SaveOptions::backups`].
    ///
    /// A save of the slot by another handle removes the backups beyond its own number.
    pub fn backups(self, backups: u32) -> Self {
        Self { backups: Some(backups), ..self }
    }

    /// Saves a value or a list of objects, and replaces the previous save atomically.
    ///
    /// The save is written to a temporary file in the same folder, flushed and renamed. A crash leaves the old save or
    /// the new one. The old save becomes the backup `name.bak`, depending on [`SaveOptions`]. The next save or load
    /// removes a temporary file that a killed process left. The call first waits for background saves of the same file.
    ///
    /// A rotation uses the next of the slots `auto1`, `auto2` and so on: a slot that does not exist yet, or else the
    /// oldest.
    ///
    /// In a store, a [`Loaded`] value continues the save that it was loaded from. If another program has replaced that
    /// save since, the call returns a conflict. A value that was not loaded replaces the current save.
    ///
    /// The `validate` functions of all classes run before anything is written. So a value that a load would refuse is
    /// not saved.
    ///
    /// # Errors
    ///
    /// Returns an error if the content refuses to be saved or the save cannot be written. The old save and its backups
    /// are then unchanged. The one exception is a folder that cannot be flushed after the new file is in its place; the
    /// message says so.
    ///
    /// - [`ErrorKind::NoContent`] for a [`SaveManager`](crate::SaveManager) without objects;
    /// - [`ErrorKind::Refused`] if a `validate` function or a hook refuses;
    /// - any other error of an object that cannot be saved, with its id, class and field;
    /// - [`ErrorKind::Unsupported`] if a class has a `before_save` hook and the content is not a `&mut` reference;
    /// - [`ErrorKind::NoSpace`] if the disk is full, or [`ErrorKind::Io`] if the file cannot be written;
    /// - [`ErrorKind::InvalidValue`] if the slot name is invalid, or too long for the names of its backups;
    /// - [`ErrorKind::InUse`] if another program is writing the save, or has it open in a [`Session`](crate::Session);
    /// - [`ErrorKind::Conflict`] if another program has replaced the save in a store;
    /// - [`ErrorKind::TooLarge`] if the info exceeds [`Limits::metadata`](crate::Limits::metadata).
    pub fn save(&self, mut content: impl Content) -> Result<SaveOutcome> {
        self.save_content(&mut content)
    }

    /// Saves content through a trait object, so that this code is compiled once and not for each type.
    fn save_content(&self, content: &mut dyn WriteContent) -> Result<SaveOutcome> {
        let target = self.target()?;
        let prepared = content.prepare(&self.saves)?;
        let header = self.header()?;
        match target.file() {
            // A waiting background save is written, not superseded: this save may still fail.
            Some(path) => self.saves.settle(path),
            // The background thread may be writing any file of the rotation.
            None => self.saves.worker().settle_all(),
        }
        let output = self.output();
        let continued = content.continued();
        self.saves.with_buffer(|buffer| {
            output.put(&target, continued.as_ref(), &header, &mut drop, &mut |out, header| {
                let mut sealer = Sealer::new(out, output.options.compression, &output.limits);
                sealer.set_header(header.clone());
                let (saves, header, out) = (&self.saves, &header, &mut sealer);
                content.write(&prepared, &mut Sink { saves, header, out, buffer })
            })
        })
    }

    /// Encodes a snapshot of a value or a list of objects now, and writes it on another thread.
    ///
    /// The call runs the hooks and encodes into memory; it does not wait for the disk. All clones of one [`Saves`]
    /// share one thread, which writes one save at a time. If a file is still being written, its next save waits; if
    /// several saves of a file wait, only the newest is written. The thread chooses the slot of a rotation when it
    /// begins to write: [`BackgroundSave::path`] returns it from then on. [`load`](Self::load) and [`save`](Self::save)
    /// wait for background saves of the same file.
    ///
    /// `std::process::exit` kills the thread in the middle of a save, which leaves the previous save in place. Call
    /// [`Saves::wait`] before you exit.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`save`](Self::save) about the content. [`BackgroundSave::wait`] or [`Saves::wait`]
    /// returns later errors, such as a full disk.
    pub fn save_in_background(&self, mut content: impl Content) -> Result<BackgroundSave> {
        self.enqueue(&mut content)
    }

    fn enqueue(&self, content: &mut dyn WriteContent) -> Result<BackgroundSave> {
        let mut target = self.target()?;
        let prepared = content.prepare(&self.saves)?;
        let output = self.output();
        if let Destination::One(SaveLocation::File(path)) = &mut target {
            let resolved = output.storage.resolve(path);
            *path = resolved.map_err(|error| Error::io("write the save to", path, error))?;
        }
        let header = self.header()?;
        let mut limits = output.limits;
        if output.options.compression != Compression::None {
            // The limit applies to the compressed save, not to the snapshot.
            limits.bytes = u64::MAX;
        }
        let mut sealer = Sealer::snapshot(&limits);
        let worker = self.saves.worker();
        let mut buffer: Buffer = worker.spare_buffer();
        let (saves, out) = (&self.saves, &mut sealer);
        content.write(&prepared, &mut Sink { saves, header: &header, out, buffer: &mut buffer })?;
        let (pages, memory) = (sealer.take_pages(), sealer.memory());
        let snapshot = UnwrittenSave { header, save: buffer, pages, memory };
        Ok(worker.enqueue(target, content.continued(), snapshot, output))
    }

    /// Loads the save: one value, or a list of objects as a [`SaveManager`](crate::SaveManager).
    ///
    /// A rotation loads its newest save. If that save is damaged or a `validate` function refuses it, the other slots
    /// of the rotation serve as its backups, newest first.
    ///
    /// If the file is damaged, its newest good backup is loaded and takes its place. The damaged file is kept beside it
    /// as `name.damaged`. If a `validate` function of the program refuses the save, the newest backup that passes is
    /// loaded, and no file is moved. [`Loaded::recovery`] reports both cases.
    ///
    /// A save whose data the program's types do not accept is an error, and no backup is loaded. The save is kept
    /// beside the slot as `name.refused`, so that later saves do not remove it. A damaged save without a good backup is
    /// kept as `name.damaged`.
    ///
    /// A backup is not loaded in place of a missing file, since the player may have deleted it. If a missing file has
    /// backups, the error names them, and each can be loaded by its own path.
    ///
    /// ```
    /// use persist::{ErrorKind, Loaded, Saves};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let slot = Saves::new().slots(folder.path()).slot("Ada");
    /// let level: Loaded<u32> = match slot.load() {
    ///     Ok(level) => level,
    ///     Err(error) if error.kind() == ErrorKind::NotFound => Loaded::from(1), // a new game
    ///     Err(error) => return Err(error),
    /// };
    /// assert_eq!(*level, 1);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the save cannot be loaded:
    ///
    /// - [`ErrorKind::NotFound`] if the save does not exist;
    /// - [`ErrorKind::Damaged`], [`ErrorKind::Truncated`] or a similar kind if the file is not an intact save;
    /// - the error of a class that does not accept its saved value, with object, class and field;
    /// - [`ErrorKind::WrongClass`] if the save holds a list of objects but one value was requested, or a value of
    ///   another type.
    pub fn load<T: Loadable>(&self) -> Result<Loaded<T>> {
        self.load_with(None)
    }

    fn load_with<T: Loadable>(&self, remap: Option<&mut Remap<'_>>) -> Result<Loaded<T>> {
        let mut locations = self.newest_first()?.into_iter();
        match locations.next().ok_or_else(|| no_slot(&auto_name(1)))? {
            SaveLocation::File(path) => {
                let others: Vec<PathBuf> =
                    locations.filter_map(|it| it.file().map(Path::to_owned)).collect();
                self.saves.load(SaveSource::File(&path, &others), remap)
            }
            SaveLocation::Store(store, slot) => {
                self.saves.worker().settle_all();
                let Some((save, version)) = store.get(&slot)? else { return Err(no_slot(&slot)) };
                let loaded: Loaded<T> = self.saves.load(SaveSource::Memory(&save), remap)?;
                loaded.remember(SaveLocation::Store(store, slot), version);
                Ok(loaded)
            }
        }
    }

    /// Deletes the save, its backups, and the damaged and refused saves that were set aside.
    ///
    /// The save itself is deleted last. For a rotation, all of its slots are deleted.
    ///
    /// # Errors
    ///
    /// Returns an error if the save cannot be deleted:
    ///
    /// - [`ErrorKind::NotFound`] if the save does not exist;
    /// - [`ErrorKind::Io`] if a file cannot be removed;
    /// - [`ErrorKind::InUse`] if another program is writing the save or has it open;
    /// - [`ErrorKind::InvalidValue`] if the slot name is invalid.
    pub fn delete(&self) -> Result<()> {
        self.saves.worker().settle_all();
        let output = self.output();
        let delete = |location: &SaveLocation| match location {
            SaveLocation::File(path) => {
                slots::delete(&*output.storage, path, &output.options, &|| Ok(()))
            }
            SaveLocation::Store(store, slot) => {
                let Some((_, version)) = store.get(slot)? else { return Err(no_slot(slot)) };
                store.delete(slot, &version)
            }
        };
        match self.target()? {
            Destination::Rotation(home, _) => {
                let autos = home.autos(&*output.storage)?;
                if autos.is_empty() {
                    return Err(no_slot(&auto_name(1)));
                }
                let mut names = autos.into_iter().map(|(number, _)| auto_name(number));
                names.try_for_each(|name| delete(&home.location(&name)))
            }
            Destination::One(location) => delete(&location),
        }
    }

    /// Returns the path of the save. For a rotation, this is the path of its newest save.
    ///
    /// ```
    /// # let saves = persist::Saves::new();
    /// assert!(saves.slots("saves").slot("Ada's farm").path()?.ends_with("Ada's farm.sav"));
    /// assert!(saves.slots("saves").slot("../passwords").path().is_err());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// On some systems, names that differ only in case or in the encoding of an accent are the same file. A program
    /// that lets players choose names should compare them by its own rule.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidValue`] if [no slot can have](check_slot_name) the name, [`ErrorKind::NotFound`] for
    /// a rotation without saves, and [`ErrorKind::Unsupported`] for a slot of a store.
    pub fn path(&self) -> Result<PathBuf> {
        let newest = self.newest_first()?.into_iter().next();
        match newest.ok_or_else(|| no_slot(&auto_name(1)))? {
            SaveLocation::File(path) => Ok(path),
            SaveLocation::Store(_, slot) => {
                Err(error!(ErrorKind::Unsupported, "`{slot}` is in a store, which has no files"))
            }
        }
    }

    /// Returns the destination of a save.
    fn target(&self) -> Result<Destination> {
        Ok(match &self.place {
            Place::File(path) => Destination::One(SaveLocation::File(path.clone())),
            Place::Named(home, name) => {
                check_slot_name(name)?;
                Destination::One(home.location(name))
            }
            Place::Auto(home, keep) => Destination::Rotation(home.clone(), *keep),
        })
    }

    /// Returns the locations that a load reads: the saves of a rotation, newest first, or the one save.
    fn newest_first(&self) -> Result<Vec<SaveLocation>> {
        let home = match self.target()? {
            Destination::One(location) => return Ok(vec![location]),
            Destination::Rotation(home, _) => home,
        };
        self.saves.worker().settle_all();
        let mut autos = home.autos(&*self.saves.output().storage)?;
        // A slot whose header is damaged has an unknown age, so it may be the newest: it comes first.
        let key = |(number, age): &(u32, SlotAge)| (*age == SlotAge::Damaged, *age, *number);
        sort_by(&mut autos, |one, other| key(other).cmp(&key(one)));
        Ok(autos.into_iter().map(|(number, _)| home.location(&auto_name(number))).collect())
    }

    pub(super) fn saves(&self) -> &Saves {
        &self.saves
    }

    /// Returns the output settings with this handle's number of backups.
    pub(super) fn output(&self) -> Output {
        let output = self.saves.output().clone();
        let backups = self.backups.unwrap_or(output.options.backups);
        Output { options: SaveOptions { backups, ..output.options }, ..output }
    }

    /// Creates the header of the next save, with the info and the time.
    fn header(&self) -> Result<Header> {
        let header = self.saves.header();
        let Some(info) = self.info.clone() else { return Ok(header.clone()) };
        info.into_header(self.saves.output().storage.now(), header, self.saves.bounds())
    }
}

#[cold]
fn no_slot(slot: &str) -> Error {
    error!(ErrorKind::NotFound, "there is no slot `{slot}`")
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Slot");
        match &self.place {
            Place::File(path) => shown.field("path", path),
            Place::Named(home, name) => shown.field("home", home).field("name", name),
            Place::Auto(home, keep) => shown.field("home", home).field("keep", keep),
        };
        shown.field("info", &self.info).finish_non_exhaustive()
    }
}

/// The calls that load with a remap. They take `&mut self`, since a [`Remap`] borrows its table of new ids for one load
/// and is not part of the settings: a later load cannot use it by mistake.
impl Remap<'_> {
    /// Loads a save like [`Slot::load`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::load`], and [`ErrorKind::MissingObject`] for an id without a new id if the
    /// remap is set to [`UnmappedHandle::Error`](crate::types::UnmappedHandle::Error).
    pub fn load<T: Loadable>(&mut self, slot: &Slot) -> Result<Loaded<T>> {
        slot.load_with(Some(self))
    }

    /// Loads a save from memory like [`Saves::from_slice`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`load`](Self::load).
    pub fn from_slice<T: Loadable>(&mut self, saves: &Saves, save: &[u8]) -> Result<Loaded<T>> {
        saves.load(SaveSource::Memory(save), Some(self))
    }
}
