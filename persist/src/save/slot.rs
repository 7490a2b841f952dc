//! A place that holds a save: what is saved, loaded and deleted there.

use std::fmt;
use std::path::{Path, PathBuf};

use super::background::{BackgroundSave, Snapshot};
use super::content::{Content, Loadable, Sink, WriteContent};
use super::info::SlotInfo;
use super::output::{Destination, Home, Output, SaveLocation};
use super::source::SaveSource;
use super::{Loaded, SaveOutcome, Saves};
use crate::codec::Buffer;
use crate::format::{Compression, Header, Sealer};
use crate::sorting::sort_by;
use crate::storage::{SaveOptions, SlotAge, auto_name, check_slot_name, slots};
use crate::types::Remap;
use crate::{Error, ErrorKind, Result};

/// A place that holds a save: a file, a slot of a folder or of a store, or a rotation of automatic saves.
///
/// [`Saves::file`], [`Slots::slot`](super::Slots::slot) and [`Slots::auto`](super::Slots::auto) return one. Nothing is read
/// or written before one of its calls.
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
/// Each save has a [`SlotInfo`]: without [`info`](Self::info), one with the time alone. Info and number of backups
/// belong to this handle, and not to the slot: another handle of the same slot has its own.
///
/// What a load cannot give to the program is kept beside the slot: a damaged save as `name.damaged`, one that the program
/// refuses as `name.refused`. Later saves do not remove them.
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

    pub(super) fn of_file(saves: &Saves, path: &Path) -> Self {
        Self::new(saves, Place::File(path.to_owned()))
    }

    pub(super) fn of_name(saves: &Saves, home: &Home, name: &str) -> Self {
        Self::new(saves, Place::Named(home.clone(), name.to_owned()))
    }

    pub(super) fn of_rotation(saves: &Saves, home: &Home, keep: u32) -> Self {
        Self::new(saves, Place::Auto(home.clone(), keep))
    }

    /// This place for saves without metadata and time.
    pub(super) fn plain(self) -> Self {
        Self { info: None, ..self }
    }

    /// Sets what a list of saves shows of the saves by this handle. Each save sets the time.
    pub fn info(self, info: SlotInfo) -> Self {
        Self { info: Some(info), ..self }
    }

    /// Sets how many earlier saves stay after the saves by this handle, in place of [`SaveOptions::backups`]. A save of the
    /// slot by another handle removes those beyond its own number.
    pub fn backups(self, backups: u32) -> Self {
        Self { backups: Some(backups), ..self }
    }

    /// Saves a value or objects, and replaces the save that is here as a whole.
    ///
    /// The save is written to a temporary file beside it, flushed and renamed, so that a crash leaves the old
    /// save or the new one. The old one stays as a backup, `name.bak`, as [`SaveOptions`] say. A temporary
    /// file left by a killed process is removed by the next save or load. Saves of the file in the background
    /// are waited for.
    ///
    /// A rotation takes the next of the slots `auto1`, `auto2` and so on: one that does not exist yet, or else the oldest.
    ///
    /// In a store, a [`Loaded`] value continues the save that it was loaded from. If another program has replaced that, the
    /// save is a conflict. A value that was not loaded replaces whatever is there.
    ///
    /// The `validate` functions of all classes run before anything is written: what a load would refuse is not saved.
    ///
    /// # Errors
    ///
    /// The old save then is as it was, and so are its backups. The exception is a folder that cannot be flushed after the
    /// new file took its place, which the message says.
    ///
    /// - [`ErrorKind::NoContent`] for a [`SaveManager`](crate::SaveManager) without objects;
    /// - [`ErrorKind::Refused`] if a `validate` function or a hook refuses, and whatever else an object refuses, with its id,
    ///   class and field;
    /// - [`ErrorKind::Unsupported`] if a class has a `before_save` hook and the content is no `&mut`;
    /// - [`ErrorKind::NoSpace`], or [`ErrorKind::Io`] if the file cannot be written;
    /// - [`ErrorKind::InvalidValue`] if the name is none for a slot, or is too long for those of backups;
    /// - [`ErrorKind::InUse`] if another program is writing the save, or has it open in a [`Session`](crate::Session);
    /// - [`ErrorKind::Conflict`] if another program has replaced the save in a store;
    /// - [`ErrorKind::TooLarge`] if the info is over [`Limits::metadata`](crate::Limits::metadata).
    pub fn save(&self, mut content: impl Content) -> Result<SaveOutcome> {
        self.save_content(&mut content)
    }

    /// Compiled once, for content of any type.
    fn save_content(&self, content: &mut dyn WriteContent) -> Result<SaveOutcome> {
        let target = self.target()?;
        let prepared = content.prepare(&self.saves)?;
        let header = self.header()?;
        match target.file() {
            // One that waits is not given up for this one, which may fail.
            Some(path) => self.saves.settle(path),
            // Any file of a rotation may be the one that is being written.
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

    /// Takes a snapshot of a value or of objects, and saves it on another thread.
    ///
    /// The call runs hooks and encodes, and never waits for the disk. All clones of one [`Saves`] share one such thread,
    /// which writes one save after the other. If a file is still being written, the next save of it waits; of several that
    /// wait only the newest is written. The thread chooses the file of a rotation when it writes it:
    /// [`BackgroundSave::path`] knows it then. A load of the file, or a [`save`](Self::save), waits for all of them.
    ///
    /// `std::process::exit` ends the thread wherever it is, and leaves the previous save. Call
    /// [`Saves::wait`] first.
    ///
    /// # Errors
    ///
    /// Returns what the content refuses, like [`save`](Self::save). [`BackgroundSave::wait`] or
    /// [`Saves::wait`] returns what goes wrong later.
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
            // Only the compressed save is to be within the limit.
            limits.bytes = u64::MAX;
        }
        let mut sealer = Sealer::snapshot(&limits);
        let worker = self.saves.worker();
        let mut buffer: Buffer = worker.spare_buffer();
        let (saves, out) = (&self.saves, &mut sealer);
        content.write(&prepared, &mut Sink { saves, header: &header, out, buffer: &mut buffer })?;
        let snapshot = Snapshot { header, save: buffer, memory: sealer.memory() };
        Ok(worker.enqueue(target, content.continued(), snapshot, output))
    }

    /// Loads the save: one value, or objects as a [`SaveManager`](crate::SaveManager).
    ///
    /// A rotation loads its newest save. If that is damaged, or the program's `validate` functions refuse it, the other
    /// slots of the rotation stand in for it as its backups do, the newest first.
    ///
    /// If the file is damaged, its newest good backup is loaded and takes its place. The damaged file is kept
    /// beside it as `name.damaged`. If the program's `validate` functions refuse the save, the newest backup that passes is
    /// loaded, and no file is moved. [`Loaded::recovery`] reports both.
    ///
    /// A save that the program cannot load otherwise is an error. It is kept beside the slot as `name.refused`, or as
    /// `name.damaged` if it is damaged, so that later saves do not remove it.
    ///
    /// A missing file stays missing, since the player may have deleted it. If it has backups, the error names
    /// those that can be loaded by their own path.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if there is no such save; whatever is not a whole, true save, or holds what its
    /// classes do not accept; [`ErrorKind::WrongClass`] if the save holds objects and a value was asked for, or a value of
    /// another type.
    pub fn load<T: Loadable>(&self) -> Result<Loaded<T>> {
        self.load_with(None)
    }

    pub(super) fn load_with<T: Loadable>(
        &self,
        remap: Option<&mut Remap<'_>>,
    ) -> Result<Loaded<T>> {
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

    /// Deletes the save with its backups and the damaged and refused saves that were kept, the save itself last.
    ///
    /// A rotation deletes all of its slots.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if there is none, [`ErrorKind::Io`] if a file cannot be removed,
    /// [`ErrorKind::InUse`] if another program is writing the save or has it open,
    /// [`ErrorKind::InvalidValue`] for a name that is none for a slot.
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

    /// The file of the save, for whatever takes a path. That of a rotation is its newest save.
    ///
    /// ```
    /// # let saves = persist::Saves::new();
    /// assert!(saves.slots("saves").slot("Ada's farm").path()?.ends_with("Ada's farm.sav"));
    /// assert!(saves.slots("saves").slot("../passwords").path().is_err());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// Some systems take names that differ only in case, or in the encoding of an accent, for one file.
    /// A program that lets players choose names should compare them by its own rule.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidValue`] for a name that [no slot can have](check_slot_name),
    /// [`ErrorKind::NotFound`] for a rotation without saves, [`ErrorKind::Unsupported`] for a slot of a store.
    pub fn path(&self) -> Result<PathBuf> {
        let newest = self.newest_first()?.into_iter().next();
        match newest.ok_or_else(|| no_slot(&auto_name(1)))? {
            SaveLocation::File(path) => Ok(path),
            SaveLocation::Store(_, slot) => {
                Err(error!(ErrorKind::Unsupported, "`{slot}` is in a store, which has no files"))
            }
        }
    }

    /// Where a save goes.
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

    /// Where a load reads: the saves of a rotation, or the one that there is.
    fn newest_first(&self) -> Result<Vec<SaveLocation>> {
        let home = match self.target()? {
            Destination::One(location) => return Ok(vec![location]),
            Destination::Rotation(home, _) => home,
        };
        self.saves.worker().settle_all();
        let mut autos = home.autos(&*self.saves.output().storage)?;
        // What its header does not say may be the newest.
        let key = |(number, age): &(u32, SlotAge)| (*age == SlotAge::Damaged, *age, *number);
        sort_by(&mut autos, |one, other| key(other).cmp(&key(one)));
        Ok(autos.into_iter().map(|(number, _)| home.location(&auto_name(number))).collect())
    }

    pub(super) fn saves(&self) -> &Saves {
        &self.saves
    }

    /// The output with this handle's number of backups.
    pub(super) fn output(&self) -> Output {
        let output = self.saves.output().clone();
        let backups = self.backups.unwrap_or(output.options.backups);
        Output { options: SaveOptions { backups, ..output.options }, ..output }
    }

    /// The header of the next save, with the info and the time.
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

/// A remap is for one load: it borrows what it makes new ids from, and no later load can meet it by mistake.
impl Remap<'_> {
    /// Loads a save like [`Slot::load`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::load`]; [`ErrorKind::MissingObject`] for an id
    /// without a new one under [`Missing::Error`](crate::types::Missing::Error).
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
