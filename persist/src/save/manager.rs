//! The manager: what it saves, with which classes, where and how.

use std::any::Any;
use std::fmt;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use super::background::Worker;
use super::objects::Objects;
use super::output::Output;
use super::source::{Rescue, Source};
use super::{LoadReport, Loaded, SaveOutcome, to_vec};
use crate::codec::{Buffer, Implements, NoVisitLinks, Persist, Phase, Pointee, Visitor};
use crate::env::{AnyContext, Env, SharedContext, shared};
use crate::format::{Blocks, Compression, Header, InMemory, LONGEST_DEVICE, Sealer, unpacked};
use crate::graph::{Counted, LoadedObjects, Loader, Outcome, Registry, SaveTables};
use crate::storage::{Patient, SaveOptions, Storage};
use crate::types::{Remap, Renumber};
use crate::{Component, Error, ErrorKind, Limits, LoadOptions, ObjectId, Result, World};

/// Bytes from which on a save in memory is encoded where it stays. Smaller ones are copied while they are in cache.
const IN_PLACE: usize = 64 << 10;

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
#[derive(Default)]
pub struct SaveManager {
    registry: Registry,
    objects: Objects,
    header: Header,
    load_options: LoadOptions,
    /// Kept between saves, so that those after the first find it large enough.
    pub(super) buffer: Buffer,
    tables: SaveTables,
    /// Bytes of the last two saves in memory, without their long lists: the next one is about as long.
    last_sizes: [usize; 2],
    pub(super) output: Output,
    pub(super) worker: Worker,
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
        self.registry.register::<T>()
    }

    /// Registers class `T` as an implementor of a trait: `register_as::<Sword, dyn Item>()`.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_as`].
    pub fn register_as<T: Persist + Pointee, D: ?Sized + Implements<T>>(&mut self) -> Result<()> {
        self.registry.register_as::<T, D>()
    }

    /// Registers class `T` as a component, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_as`].
    pub fn register_component<T: Component>(&mut self) -> Result<()> {
        World::register_component::<T>(&mut self.registry)
    }

    /// The classes that are registered.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
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
        &mut self.registry
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
        self.registry.register_pointer::<Q>()?;
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
        self.replace(path.as_ref(), 0, |saves, out| saves.write_objects(out, None))
    }

    /// Loads the objects of a file; the manager's own stay until [`adopt`](Self::adopt).
    ///
    /// Unknown objects, of classes that are not registered, and unknown fields are set aside. The report
    /// counts them as [`LoadEvent::Kept`](crate::schema::LoadEvent::Kept). They are saved again only after
    /// [`adopt`](Self::adopt).
    ///
    /// If the file is damaged, its newest good backup is loaded and takes its place. The damaged file is kept
    /// beside it as `name.damaged`, and [`LoadReport::recovery`] says so.
    ///
    /// A missing file stays missing, since the player may have deleted it. If it has backups, the error names
    /// those that can be loaded by their own path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such file; whatever is not a whole, true save, or holds what its
    /// classes do not accept. Nothing is left of what was loaded then.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Loaded> {
        self.load_objects(Source::File(path.as_ref()), None, None)
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
        self.replace(path.as_ref(), 0, |saves, out| saves.write_objects(out, Some(context)))
    }

    /// Loads the objects of a file like [`load`](Self::load), with this context in place of the
    /// [manager's](Self::set_context).
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load); [`ErrorKind::WrongContext`] if a type needs a context of another type.
    pub fn load_with<C: Any>(&self, path: impl AsRef<Path>, context: &C) -> Result<Loaded> {
        self.load_objects(Source::File(path.as_ref()), Some(context), None)
    }

    /// Saves the objects into memory.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save).
    pub fn to_vec(&mut self) -> Result<Vec<u8>> {
        self.in_memory(|saves, out| saves.write_objects(out, None))
    }

    /// Loads the objects of a save in memory.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn from_slice(&self, save: &[u8]) -> Result<Loaded> {
        self.load_objects(Source::Memory(save), None, None)
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
        self.replace(path.as_ref(), 0, |saves, out| saves.write_value(out, value))
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
        self.load_one(Source::File(path.as_ref()), None)
    }

    /// Saves one value into memory.
    ///
    /// # Errors
    ///
    /// Those of [`save_value`](Self::save_value).
    pub fn value_to_vec<T: Persist>(&mut self, value: &T) -> Result<Vec<u8>> {
        self.in_memory(|saves, out| saves.write_value(out, value))
    }

    /// Loads one value from a save in memory.
    ///
    /// # Errors
    ///
    /// Those of [`load_value`](Self::load_value).
    pub fn value_from_slice<T: Persist>(&mut self, save: &[u8]) -> Result<(T, Loaded)> {
        self.load_one(Source::Memory(save), None)
    }
}

/// Settings.
impl SaveManager {
    /// Sets the bounds on what is saved and loaded.
    pub fn set_limits(&mut self, limits: Limits) {
        self.output.limits = limits;
    }

    /// Sets what loads do about saves that are not the program's own.
    pub fn set_load_options(&mut self, options: LoadOptions) {
        self.load_options = options;
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
        self.registry.context = Some(context);
    }

    /// Sets where saves are kept, in place of the files of the system.
    pub fn set_storage(&mut self, storage: impl Storage + 'static) {
        self.output.storage = Arc::new(Patient::new(storage));
    }

    /// Sets how saves are written: backups, compression, and what to do about other programs.
    pub fn set_save_options(&mut self, options: SaveOptions) {
        self.output.options = options;
    }

    /// Sets the name and version of the program, written into the header.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if one has more than 65,535 bytes.
    pub fn set_application(&mut self, name: &str, version: &str) -> Result<()> {
        for text in [name, version] {
            if text.len() > usize::from(u16::MAX) {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!(
                        "an application's name or version of {} bytes is over the limit of 65535; choose a shorter one",
                        text.len()
                    ),
                ));
            }
        }
        self.header.application = Some(name.to_owned());
        self.header.application_version = Some(version.to_owned());
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
            return Err(Error::new(
                ErrorKind::InvalidValue,
                "the name of a device is empty; give it one that no other has",
            ));
        }
        if name.len() > LONGEST_DEVICE {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "a device's name of {} bytes is over the limit of {LONGEST_DEVICE}; choose a shorter one",
                    name.len()
                ),
            ));
        }
        self.output.device = Some(name.to_owned());
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
    /// The value stays in all saves until it is set again. It is a whole save of its own, so that its type may
    /// change like any other. [`Header::metadata`] reads it from the header alone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] over [`Limits::metadata`]; what [`persist::to_vec`](to_vec()) refuses.
    pub fn set_metadata<T: Persist>(&mut self, value: &T) -> Result<()> {
        let bytes = to_vec(value)?;
        self.output.limits.check_metadata(bytes.len() as u64)?;
        self.header.metadata = Some(bytes.into());
        Ok(())
    }
}

/// What the calls are made of.
impl SaveManager {
    pub(crate) fn limits(&self) -> &Limits {
        &self.output.limits
    }

    pub(crate) fn load_options(&self) -> LoadOptions {
        self.load_options
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// Replaces a file by a save of a generation that is at least `least`.
    pub(super) fn replace(
        &mut self,
        path: &Path,
        least: u64,
        write: impl FnOnce(&mut Self, &mut dyn Blocks) -> Result<()>,
    ) -> Result<SaveOutcome> {
        // One that waits is not given up for this one, which may fail.
        self.settle(path);
        let (output, header) = (self.output.clone(), self.header.clone());
        output.replace(path, least, header, |out, header| {
            let sealer = Sealer::new(out, output.options.compression, &output.limits);
            write(self, &mut sealer.of_file(header))
        })
    }

    /// Waits for the saves of a file in the background.
    pub(super) fn settle(&self, path: &Path) {
        if !self.worker.is_new() {
            self.worker.settle(&self.output.storage.resolve(path).unwrap_or_default());
        }
    }

    pub(super) fn in_memory(
        &mut self,
        write: impl FnOnce(&mut Self, &mut dyn Blocks) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let (compression, limits) = (self.output.options.compression, self.output.limits);
        if compression != Compression::None {
            let mut save = Vec::new();
            write(self, &mut Sealer::new(&mut save, compression, &limits))?;
            return Ok(save);
        }
        let [last, before] = self.last_sizes;
        let size = last.min(before);
        let (mut save, cleared) = if size >= IN_PLACE {
            let kept = mem::replace(&mut self.buffer, Buffer::with_size(size + size / 64));
            let mut out = InMemory::in_place(&limits);
            let result = write(self, &mut out);
            self.buffer = kept;
            result.map(|()| out.into_save())?
        } else {
            let mut out = InMemory::with_capacity(last + last / 64, &limits);
            write(self, &mut out)?;
            out.into_save()
        };
        if save.capacity() / 4 > save.len() {
            save.shrink_to_fit();
        }
        self.last_sizes = [cleared, last];
        Ok(save)
    }

    /// Writes the objects, with the manager's context if no other is given.
    pub(super) fn write_objects(
        &mut self,
        out: &mut dyn Blocks,
        context: Option<&dyn AnyContext>,
    ) -> Result<()> {
        let env = Env::new(&self.output.limits, context.or(shared(&self.registry.context)));
        let saver = self.objects.saver(&self.registry, &env, &mut self.tables);
        saver.save(out, &self.header, &mut self.buffer)
    }

    pub(super) fn write_value<T: Persist>(
        &mut self,
        out: &mut dyn Blocks,
        value: &T,
    ) -> Result<()> {
        let class = self.register_value(value)?;
        if self.registry.traits(class).before_save {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{} holds a class with a `before_save` hook, which needs `&mut`; use `persist::save::save_mut` or keep it as an object of a `SaveManager`, as `Rc<RefCell<_>>`",
                    T::persist_name()
                ),
            ));
        }
        self.write_value_of(class, out, value)
    }

    /// Writes one value after its `before_save` hooks have run.
    pub(super) fn write_value_mut<T: Persist>(
        &mut self,
        out: &mut dyn Blocks,
        value: &mut T,
    ) -> Result<()> {
        let mut links = NoVisitLinks;
        let context = self.context_of(value);
        let env = Env::new(&self.output.limits, shared(&context));
        value
            .__visit(&mut Visitor::new(Phase::BeforeSave, &env, &mut links))
            .map_err(|error| error.in_class(T::persist_name()))?;
        let class = self.register_value(value)?;
        self.write_value_of(class, out, value)
    }

    fn write_value_of<T: Persist>(
        &mut self,
        class: usize,
        out: &mut dyn Blocks,
        value: &T,
    ) -> Result<()> {
        let context = self.context_of(value);
        let env = Env::new(&self.output.limits, shared(&context));
        let saver = self.objects.saver_of_value(&self.registry, &env, class, &mut self.tables);
        saver.save_value(value, class, out, &self.header, &mut self.buffer)
    }

    /// The manager's context; without one, that of a world.
    fn context_of(&self, value: &dyn Any) -> Option<SharedContext> {
        let of_world = || value.downcast_ref::<World>()?.registry().context.clone();
        self.registry.context.clone().or_else(of_world)
    }

    /// Registers the type of a value, and of a world the classes that are in it, which only the world knows.
    fn register_value<T: Persist>(&mut self, value: &T) -> Result<usize> {
        let any: &dyn Any = value;
        if let Some(world) = any.downcast_ref::<World>() {
            world.register_in(&mut self.registry)?;
        }
        self.registry.register_value::<T>()
    }

    /// Lets a world know the registered classes. Of all values only a world looks for classes after its load.
    pub(super) fn introduce<T: Persist>(&self, value: &mut T) {
        let value: &mut dyn Any = value;
        if let Some(world) = value.downcast_mut::<World>() {
            world.know(&self.registry);
        }
    }

    /// Reads a save, or what is whole of it, by a function that may register classes. They are in the order in which
    /// they are registered, also in journals: nothing is registered before there is a save.
    pub(super) fn read<T>(
        &mut self,
        from: Source<'_>,
        mut read: impl FnMut(&mut Self, &[u8]) -> Result<T>,
    ) -> Result<(T, Rescue)> {
        self.settle_at(from);
        let (output, policy) = (self.output.clone(), self.load_options.policy);
        from.read(&output, policy, |save| read(self, save))
    }

    fn settle_at(&self, from: Source<'_>) {
        if let Source::File(path) = from {
            self.settle(path);
        }
    }

    pub(super) fn load_objects(
        &self,
        from: Source<'_>,
        context: Option<&dyn AnyContext>,
        mut remap: Option<&mut Remap<'_>>,
    ) -> Result<Loaded> {
        self.settle_at(from);
        let env = Env::new(self.limits(), context.or(shared(&self.registry.context)));
        let read = |save: &[u8]| self.objects_of(save, &env, remap.as_deref_mut());
        let (loaded, rescue) = from.read(&self.output, self.load_options.policy, read)?;
        Ok(loaded.rescued(rescue))
    }

    pub(super) fn load_one<T: Persist>(
        &mut self,
        from: Source<'_>,
        mut remap: Option<&mut Remap<'_>>,
    ) -> Result<(T, Loaded)> {
        let ((value, loaded), rescue) =
            self.read(from, |saves, save| saves.value_of(save, remap.as_deref_mut()))?;
        Ok((value, loaded.rescued(rescue)))
    }

    /// Loads one value without anything that it cannot give back.
    pub(super) fn load_alone<T: Persist>(&mut self, from: Source<'_>) -> Result<T> {
        let (value, _) = self.read(from, |saves, save| {
            let class = saves.registry.register_value::<T>()?;
            Ok(saves.decode(class, save, None, false)?.0)
        })?;
        Ok(value)
    }

    fn objects_of(
        &self,
        save: &[u8],
        env: &Env<'_>,
        remap: Option<&mut Remap<'_>>,
    ) -> Result<Loaded> {
        let (objects, outcome) = unpacked(save, &env.limits, |save| {
            let remap = remap.map(|remap| remap as &mut dyn Renumber);
            Loader::new(&self.registry, (env, self.load_options), save, remap, None)?.load()
        })?;
        Ok(Loaded::new(objects, None, LoadReport::new(outcome)))
    }

    pub(super) fn value_of<T: Persist>(
        &mut self,
        save: &[u8],
        remap: Option<&mut Remap<'_>>,
    ) -> Result<(T, Loaded)> {
        let class = self.registry.register_value::<T>()?;
        let (value, objects, outcome) = self.decode(class, save, remap, true)?;
        let id = self.registry.program().classes[class].id;
        Ok((value, Loaded::new(objects, Some(id), LoadReport::new(outcome))))
    }

    fn decode<T: Persist>(
        &self,
        class: usize,
        save: &[u8],
        remap: Option<&mut Remap<'_>>,
        keeps_unknown: bool,
    ) -> Result<(T, LoadedObjects, Outcome)> {
        let env = Env::new(self.limits(), shared(&self.registry.context));
        let (mut value, objects, outcome) = unpacked(save, &env.limits, |save| {
            let remap = remap.map(|remap| remap as &mut dyn Renumber);
            let options = (&env, self.load_options);
            let loader = Loader::new(&self.registry, options, save, remap, Some(class))?;
            let loader = if keeps_unknown { loader } else { loader.without_kept() };
            loader.load_value(class)
        })?;
        self.introduce(&mut value);
        Ok((value, objects, outcome))
    }
}

impl fmt::Debug for SaveManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaveManager")
            .field("registry", &self.registry)
            .field("objects", &self.objects.len())
            .finish_non_exhaustive()
    }
}
