//! The manager: what it saves, with which classes, where and how.

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::objects::{SavedObjects, Unknowns};
use super::source::SaveSource;
use super::{BackgroundSave, Loaded, SaveOutcome, ValueSaver};
use crate::codec::{Implements, Persist, Pointee};
use crate::format::{LONGEST_DEVICE, Sealer};
use crate::graph::{Counted, Registry};
use crate::storage::{Patient, SaveOptions, Storage};
use crate::types::Remap;
use crate::{Component, ErrorKind, Limits, LoadOptions, ObjectId, Result, World};

/// Keeps a list of objects, saves them with everything they lead to, and loads them back.
///
/// # Example
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::{Rc, Weak};
///
/// use persist::{Persist, SaveManager};
///
/// #[derive(Persist)]
/// struct Hero { name: String, pet: Option<Rc<RefCell<Pet>>> }
///
/// #[derive(Persist)]
/// struct Pet { owner: Weak<RefCell<Hero>> }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("slot1.sav");
/// let hero = Rc::new(RefCell::new(Hero { name: "Ada".into(), pet: None }));
/// let pet = Rc::new(RefCell::new(Pet { owner: Rc::downgrade(&hero) }));
/// hero.borrow_mut().pet = Some(pet);
///
/// let mut saves = SaveManager::new();
/// saves.add(&hero)?;
/// saves.save(&path)?;
///
/// let loaded = saves.load(&path)?;
/// let hero = loaded.first::<Hero>()?;
/// let pet = hero.borrow().pet.clone().unwrap();
/// assert!(Rc::ptr_eq(&pet.borrow().owner.upgrade().unwrap(), &hero));
/// # Ok::<(), persist::Error>(())
/// ```
///
/// One value with everything in it needs no list: [`save_value`](Self::save_value) and
/// [`load_value`](Self::load_value) take it by itself. A [`World`] is such a value.
///
/// A manager stays on its thread, since it holds `Rc`s. A [`ValueSaver`] of its classes and settings may go to another one.
#[derive(Default)]
pub struct SaveManager {
    /// All but the objects.
    pub(super) values: ValueSaver,
    pub(super) objects: SavedObjects,
}

/// Classes.
impl SaveManager {
    /// Makes a manager without classes and objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers class `T` and those it reaches.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register`].
    pub fn register<T: Persist>(&mut self) -> Result<()> {
        self.values.registry.register::<T>()
    }

    /// Registers class `T` as an implementor of a trait: `register_as::<Sword, dyn Item>()`.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_as`].
    pub fn register_as<T: Persist + Pointee, D: ?Sized + Implements<T>>(&mut self) -> Result<()> {
        self.values.registry.register_as::<T, D>()
    }

    /// Registers class `T` as a component, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_as`].
    pub fn register_component<T: Component>(&mut self) -> Result<()> {
        World::register_component::<T>(&mut self.values.registry)
    }

    /// The classes that are registered.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.values.registry
    }

    /// The classes that are registered, for registrations that need more than a type's name.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use persist::{Persist, SaveManager};
    ///
    /// #[derive(Persist)]
    /// struct Hero { name: String }
    ///
    /// let mut saves = SaveManager::new();
    /// saves.registry_mut().register_pointer::<Arc<Mutex<Hero>>>()?;
    /// saves.registry_mut().removed_class("quest.Cart")?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// The registry may be replaced as a whole, with the [context](Self::set_context). If it then lacks the class of an added object, the next save
    /// is an error. Loads keep objects of missing classes as unknown.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.values.registry
    }
}

/// The objects that are saved.
impl SaveManager {
    /// Adds an object to what the next save writes, with everything it leads to.
    ///
    /// Its class is registered. Adding it again changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register`].
    pub fn add<Q: Counted>(&mut self, object: &Q) -> Result<ObjectId> {
        self.values.registry.register_pointer::<Q>()?;
        self.objects.add(object.share())
    }

    /// Removes an object from what the next save writes; returns false if it was not added.
    ///
    /// If another object points to it, it is saved with that, under the same id.
    pub fn remove(&mut self, id: ObjectId) -> bool {
        self.objects.remove(id)
    }

    /// Removes all objects; registered classes stay, and no id is given again.
    ///
    /// Objects that nothing else holds are dropped, which recurses along a chain.
    pub fn clear(&mut self) {
        self.objects.clear();
        self.values.unknowns = Unknowns::default();
    }

    /// The ids of the objects that were added, in order.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        self.objects.ids()
    }

    /// Replaces the manager's objects by loaded ones, to be written by the next save.
    ///
    /// Ids stay the same. What the program does not know of the objects is saved with them.
    ///
    /// Unknown fields of a value from [`load_value`](Self::load_value) are written with every value of that
    /// class from then on, since a value has no id. Call [`clear`](Self::clear) before you save another one,
    /// such as a new game.
    ///
    /// From then on the manager holds the objects. When it is dropped or cleared, the last pointers go by your
    /// own `Drop`, which recurses along a chain.
    pub fn adopt(&mut self, loaded: Loaded) {
        self.objects.adopt(loaded);
        self.values.unknowns = Unknowns::default();
    }

    /// Saves the objects to a file, which is replaced whole.
    ///
    /// The save is written to a temporary file beside it, flushed and renamed, so that a crash leaves the old
    /// save or the new one. The old one stays as a backup, `name.bak`, as [`SaveOptions`] say. A temporary
    /// file left by a killed process is removed by the next save or load. Saves of the file in the background
    /// are waited for.
    ///
    /// # Errors
    ///
    /// What an object refuses, with its id, class and field; [`ErrorKind::NoSpace`], or [`ErrorKind::Io`] if
    /// the file cannot be written; [`ErrorKind::InvalidValue`] if its name is too long for those of backups;
    /// [`ErrorKind::InUse`] if another program is writing it. The old file then is as it was. The exception
    /// is a folder that cannot be flushed after the new file took its place, which the message says.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        self.replace(path.as_ref(), 0, |saves, objects, out| {
            saves.write_objects(objects, out, None)
        })
    }

    /// Loads the objects of a file; the manager's own stay until [`adopt`](Self::adopt).
    ///
    /// Unknown objects, of classes that are not registered, and unknown fields are set aside. The report
    /// counts them as [`LoadEvent::Kept`](crate::schema::LoadEvent::Kept). They are saved again only after
    /// [`adopt`](Self::adopt).
    ///
    /// If the file is damaged, its newest good backup is loaded and takes its place. The damaged file is kept
    /// beside it as `name.damaged`, and [`LoadReport::recovery`](crate::save::LoadReport::recovery) says so.
    ///
    /// A missing file stays missing, since the player may have deleted it. If it has backups, the error names
    /// those that can be loaded by their own path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such file; whatever is not a whole, true save, or holds what its
    /// classes do not accept. Nothing is left of what was loaded then.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Loaded> {
        self.values.load_objects(SaveSource::File(path.as_ref()), None, None)
    }

    /// Saves the objects to a file like [`save`](Self::save), with this context in place of the
    /// [manager's](Self::set_context).
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save); [`ErrorKind::WrongContext`] if a type needs a context of another type.
    pub fn save_with<C: Any>(
        &mut self,
        path: impl AsRef<Path>,
        context: &C,
    ) -> Result<SaveOutcome> {
        self.replace(path.as_ref(), 0, |saves, objects, out| {
            saves.write_objects(objects, out, Some(context))
        })
    }

    /// Loads the objects of a file like [`load`](Self::load), with this context in place of the
    /// [manager's](Self::set_context).
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load); [`ErrorKind::WrongContext`] if a type needs a context of another type.
    pub fn load_with<C: Any>(&self, path: impl AsRef<Path>, context: &C) -> Result<Loaded> {
        self.values.load_objects(SaveSource::File(path.as_ref()), Some(context), None)
    }

    /// Saves the objects into memory.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save).
    pub fn to_vec(&mut self) -> Result<Vec<u8>> {
        let Self { values, objects } = self;
        values.in_memory(|values, out| values.write_objects(objects, out, None))
    }

    /// Loads the objects of a save in memory.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn from_slice(&self, save: &[u8]) -> Result<Loaded> {
        self.values.load_objects(SaveSource::Memory(save), None, None)
    }
}

/// One value.
impl SaveManager {
    /// Saves one value like [`persist::save`](crate::save()), with this manager's settings and classes.
    ///
    /// A [`World`] registers the classes in it. Those in a world in a field of the value, or behind a pointer,
    /// must be registered before.
    ///
    /// # Errors
    ///
    /// Those of [`persist::save`](crate::save()).
    pub fn save_value<T: Persist>(
        &mut self,
        path: impl AsRef<Path>,
        value: &T,
    ) -> Result<SaveOutcome> {
        self.replace(path.as_ref(), 0, |saves, objects, out| saves.write_value(objects, out, value))
    }

    /// Loads one value like [`persist::load`](crate::load), with the objects it points to and the report.
    ///
    /// A [`World`] knows the classes that are registered here. Components of other classes stay on their
    /// objects and are saved again.
    ///
    /// # Errors
    ///
    /// Those of [`persist::load`](crate::load).
    pub fn load_value<T: Persist>(&mut self, path: impl AsRef<Path>) -> Result<(T, Loaded)> {
        self.values.load_one(SaveSource::File(path.as_ref()), None)
    }

    /// Saves one value into memory.
    ///
    /// # Errors
    ///
    /// Those of [`save_value`](Self::save_value).
    pub fn value_to_vec<T: Persist>(&mut self, value: &T) -> Result<Vec<u8>> {
        let Self { values, objects } = self;
        values.in_memory(|values, out| values.write_value(objects, out, value))
    }

    /// Loads one value from a save in memory.
    ///
    /// # Errors
    ///
    /// Those of [`load_value`](Self::load_value).
    pub fn value_from_slice<T: Persist>(&mut self, save: &[u8]) -> Result<(T, Loaded)> {
        self.values.load_one(SaveSource::Memory(save), None)
    }
}

/// Saves on another thread.
impl SaveManager {
    /// Takes a snapshot of the objects, and saves it on another thread.
    ///
    /// The call runs hooks and encodes, which for a graph of many objects is most of a save.
    ///
    /// A manager has one such thread, which writes one save after the other. If a file is still being written, the
    /// next save of it waits; of several that wait only the newest is written. A load of the file by this manager, or
    /// a [`save`](Self::save), waits for all of them.
    ///
    /// `std::process::exit` ends the thread wherever it is, and leaves the previous save. Call
    /// [`wait_for_saves`](Self::wait_for_saves) first.
    ///
    /// # Errors
    ///
    /// What an object refuses, as [`save`](Self::save). [`BackgroundSave::wait`] or
    /// [`wait_for_saves`](Self::wait_for_saves) returns what goes wrong later.
    pub fn save_in_background(&mut self, path: impl AsRef<Path>) -> Result<BackgroundSave> {
        self.enqueue(path.as_ref(), 0, |saves, objects, out| {
            saves.write_objects(objects, out, None)
        })
    }

    /// Takes a snapshot of one value, and saves it on another thread.
    ///
    /// The rest is as in [`save_in_background`](Self::save_in_background) and [`save_value`](Self::save_value).
    ///
    /// # Errors
    ///
    /// Those of [`save_value`](Self::save_value); later ones as in [`save_in_background`](Self::save_in_background).
    pub fn save_value_in_background<T: Persist>(
        &mut self,
        path: impl AsRef<Path>,
        value: &T,
    ) -> Result<BackgroundSave> {
        self.enqueue(path.as_ref(), 0, |saves, objects, out| saves.write_value(objects, out, value))
    }

    /// Waits for all saves in the background.
    ///
    /// # Errors
    ///
    /// The first error since the last call that no [`BackgroundSave::wait`] has returned.
    pub fn wait_for_saves(&mut self) -> Result<()> {
        match self.values.worker.wait_for_all() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Settings.
impl SaveManager {
    /// Sets the bounds on what is saved and loaded.
    pub fn set_limits(&mut self, limits: Limits) {
        self.values.output.limits = limits;
    }

    /// Sets what loads do about saves that are not the program's own.
    pub fn set_load_options(&mut self, options: LoadOptions) {
        self.values.load_options = options;
    }

    /// Sets the context of all saves and loads: a value of the program's own that types reach while they are saved and
    /// loaded, such as the running game's table of items.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use persist::{Persist, SaveManager};
    ///
    /// /// The items of the running game.
    /// struct Items { names: Vec<String> }
    ///
    /// #[derive(Persist, Debug)]
    /// #[persist(context = Items, validate = Self::check)]
    /// struct Chest { items: Vec<u32> }
    ///
    /// impl Chest {
    ///     fn check(&self, items: &Items) -> Result<(), String> {
    ///         let missing = self.items.iter().find(|item| **item as usize >= items.names.len());
    ///         missing.map_or(Ok(()), |item| Err(format!("there is no item {item}")))
    ///     }
    /// }
    ///
    /// let mut saves = SaveManager::new();
    /// saves.set_context(Arc::new(Items { names: vec!["rope".into(), "lamp".into()] }));
    /// let save = saves.value_to_vec(&Chest { items: vec![0, 2] })?;
    /// let error = saves.value_from_slice::<Chest>(&save).unwrap_err();
    /// assert_eq!(error.message(), "`validate` of Chest refused: there is no item 2");
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// Hooks, `with` modules and [types written by hand](crate::codec::Encoder::context) reach it. A
    /// [world](World::registry_mut) that is loaded, and a [`Session`](crate::Session) that is opened, take it over. Put
    /// what the program changes later into a cell: `Arc<Mutex<Items>>` is a context of type `Mutex<Items>`.
    pub fn set_context<C: Any + Send + Sync>(&mut self, context: Arc<C>) {
        self.values.registry.context = Some(context);
    }

    /// Sets where saves are kept, in place of the files of the system.
    pub fn set_storage(&mut self, storage: impl Storage + 'static) {
        self.values.output.storage = Arc::new(Patient::new(storage));
    }

    /// Sets how saves are written: backups, compression, and what to do about other programs.
    pub fn set_save_options(&mut self, options: SaveOptions) {
        self.values.output.options = options;
    }

    /// Sets the name and version of the program, written into the header.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if one has more than 65,535 bytes.
    pub fn set_application(&mut self, name: &str, version: &str) -> Result<()> {
        for text in [name, version] {
            if text.len() > usize::from(u16::MAX) {
                bail!(
                    ErrorKind::TooLarge,
                    "an application's name or version of {} bytes is over the limit of 65535; choose a shorter one",
                    text.len()
                );
            }
        }
        self.values.header.application = Some(name.to_owned());
        self.values.header.application_version = Some(version.to_owned());
        Ok(())
    }

    /// Sets the name of the device, so that [`compare`](Self::compare) recognises saves of several devices.
    ///
    /// ```
    /// use persist::SaveManager;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let mut saves = SaveManager::new();
    /// saves.set_device("steam-deck")?;
    /// saves.slots(folder).save("Ada")?;
    /// saves.slots(folder).save("Ada")?;
    /// assert!(saves.slots(folder).list()?[0].header.devices().eq([("steam-deck", 2)]));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// Every save to a file then has a version vector in its header: how often each device has saved the slot.
    /// It has the counts of the save that it replaces, and one more for this device. Without a name saves have
    /// no counts. If the replaced save has some, the device without a name is counted, which all such programs
    /// share.
    ///
    /// No two devices of a player may have one name. The name of the host usually serves. A name drawn at
    /// random once, and kept with the settings of the program, always does. Counts begin in an epoch that is
    /// drawn at random too, so that the bytes of such files differ from run to run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidValue`] if the name is empty, [`ErrorKind::TooLarge`] if it has more than 255 bytes.
    pub fn set_device(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            bail!(
                ErrorKind::InvalidValue,
                "the name of a device is empty; give it one that no other has"
            );
        }
        if name.len() > LONGEST_DEVICE {
            bail!(
                ErrorKind::TooLarge,
                "a device's name of {} bytes is over the limit of {LONGEST_DEVICE}; choose a shorter one",
                name.len()
            );
        }
        self.values.output.device = Some(name.to_owned());
        Ok(())
    }

    /// Puts a value into the header of every save from now on, for a list of saves to show.
    ///
    /// ```
    /// use persist::save::Header;
    /// use persist::{Persist, SaveManager};
    ///
    /// #[derive(Persist, Debug, PartialEq)]
    /// struct Shown { chapter: String, minutes: u32 }
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("slot1.sav");
    /// let mut saves = SaveManager::new();
    /// saves.set_metadata(&Shown { chapter: "The Mill".into(), minutes: 90 })?;
    /// saves.save_value(&path, &vec![0_u8; 1_000_000])?;
    ///
    /// // Reads some hundred bytes of the file.
    /// let header = Header::from_reader(std::fs::File::open(&path)?)?;
    /// let shown: Option<Shown> = header.metadata()?;
    /// assert_eq!(shown.unwrap().chapter, "The Mill");
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// The value stays in all saves until it is set again; `set_metadata(None::<&()>)` clears it. It is a whole save of
    /// its own, so that its type may change like any other. [`Header::metadata`](crate::save::Header::metadata) reads it
    /// from the header alone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] over [`Limits::metadata`]; what [`persist::to_vec`](crate::to_vec()) refuses.
    pub fn set_metadata<'t, T: Persist>(&mut self, value: impl Into<Option<&'t T>>) -> Result<()> {
        self.values.set_metadata(value)
    }
}

/// What the calls are made of.
impl SaveManager {
    /// Replaces a file by a save of a generation that is at least `least`.
    pub(super) fn replace(
        &mut self,
        path: &Path,
        least: u64,
        write: impl FnOnce(&mut ValueSaver, &mut SavedObjects, &mut Sealer<'_>) -> Result<()>,
    ) -> Result<SaveOutcome> {
        let Self { values, objects } = self;
        values.replace(path, least, |values, out| write(values, objects, out))
    }

    /// Takes a snapshot of a save of a generation that is at least `least`, and has it written.
    pub(super) fn enqueue(
        &mut self,
        path: &Path,
        least: u64,
        write: impl FnOnce(&mut ValueSaver, &mut SavedObjects, &mut Sealer<'_>) -> Result<()>,
    ) -> Result<BackgroundSave> {
        let Self { values, objects } = self;
        values.enqueue(path, least, |values, out| write(values, objects, out))
    }
}

/// The objects are dropped; what the program does not know of a value that was [adopted](SaveManager::adopt) does not.
impl From<SaveManager> for ValueSaver {
    fn from(saves: SaveManager) -> Self {
        let SaveManager { mut values, mut objects } = saves;
        if !objects.is_bare() {
            values.unknowns = objects.take_unknowns();
        }
        values
    }
}

/// The manager has no objects. To save it without any is an error, since the values are not in it.
impl From<ValueSaver> for SaveManager {
    fn from(mut values: ValueSaver) -> Self {
        let objects = values.unknowns.objects();
        if objects.is_ok() {
            values.unknowns = Unknowns::default();
        }
        // What is of another thread keeps values from being saved.
        let mut objects = objects.unwrap_or_default();
        objects.is_of_values = true;
        Self { values, objects }
    }
}

impl fmt::Debug for SaveManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaveManager")
            .field("registry", &self.values.registry)
            .field("objects", &self.ids().count())
            .finish_non_exhaustive()
    }
}

/// A remap is for one load: it borrows what it makes new ids from, and no later load can meet it by mistake.
impl Remap<'_> {
    /// Loads the objects of a file like [`SaveManager::load`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::load`]; [`ErrorKind::MissingObject`](crate::ErrorKind::MissingObject) for an id
    /// without a new one under [`Missing::Error`](crate::types::Missing::Error).
    pub fn load(&mut self, saves: &SaveManager, path: impl AsRef<Path>) -> Result<Loaded> {
        saves.values.load_objects(SaveSource::File(path.as_ref()), None, Some(self))
    }

    /// Loads the objects of a save in memory like [`SaveManager::from_slice`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn from_slice(&mut self, saves: &SaveManager, save: &[u8]) -> Result<Loaded> {
        saves.values.load_objects(SaveSource::Memory(save), None, Some(self))
    }

    /// Loads one value from a file like [`SaveManager::load_value`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn load_value<T: Persist>(
        &mut self,
        saves: &mut SaveManager,
        path: impl AsRef<Path>,
    ) -> Result<(T, Loaded)> {
        saves.values.load_one(SaveSource::File(path.as_ref()), Some(self))
    }

    /// Loads one value from a save in memory like [`SaveManager::value_from_slice`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn value_from_slice<T: Persist>(
        &mut self,
        saves: &mut SaveManager,
        save: &[u8],
    ) -> Result<(T, Loaded)> {
        saves.values.load_one(SaveSource::Memory(save), Some(self))
    }
}
