//! One value, saved and loaded: by the classes and the settings of a manager without its objects, or by none; and the
//! one in a header.

use std::any::Any;
use std::fmt;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use super::background::{BackgroundSave, Progress, Snapshot, Worker};
use super::objects::{SavedObjects, Unknowns};
use super::output::{Output, SaveOutcome};
use super::source::{Rescue, SaveSource};
use super::{LoadReport, Loaded};
use crate::codec::{Buffer, Persist, Phase, Prototypes, Visitor};
use crate::env::{AnyContext, Env, SharedContext, Watch, shared};
use crate::format::{Compression, Header, Sealer, unpacked};
use crate::graph::{LoadOutcome, LoadedObjects, Loader, Registry};
use crate::storage::Past;
use crate::types::{Remap, Renumber};
use crate::{Error, ErrorKind, Limits, LoadOptions, Result, World};

/// Bytes from which on a save in memory is encoded where it stays. Smaller ones are copied while they are in cache.
const LARGE: usize = 64 << 10;

/// Saves and loads values on any thread, with the classes and settings of a [`SaveManager`](crate::SaveManager).
///
/// It is `Send` and `Sync`, so that an engine can keep it as a shared resource; a [`Session`](crate::Session) holds one. It is
/// made from a manager, whose objects it leaves, and a manager can be made from it again.
///
/// # Example
///
/// ```
/// use persist::save::ValueSaver;
/// use persist::{Persist, SaveManager};
///
/// #[derive(Persist, Debug, PartialEq)]
/// struct Level { name: String }
///
/// let mut saves = SaveManager::new();
/// saves.set_application("Mill", "1.0")?;
/// let mut saver = ValueSaver::from(saves);
/// let save = std::thread::spawn(move || saver.value_to_vec(&Level { name: "Attic".into() })).join().unwrap()?;
/// assert_eq!(persist::from_slice::<Level>(&save)?, Level { name: "Attic".into() });
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Default)]
pub struct ValueSaver {
    pub(super) registry: Registry,
    pub(super) header: Header,
    pub(super) load_options: LoadOptions,
    /// Kept between saves, so that those after the first find it large enough.
    pub(super) buffer: Buffer,
    /// Bytes of the last two saves in memory, without their long lists: the next one is about as long.
    last_sizes: [usize; 2],
    pub(super) output: Output,
    pub(super) worker: Worker,
    /// What the program does not know of the value that was loaded last.
    pub(super) unknowns: Unknowns,
    watch: Option<Arc<Watch>>,
}

impl ValueSaver {
    /// The classes that are registered.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The classes that are registered, for further ones.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Puts a value into the header of every save from now on: see [`SaveManager::set_metadata`](crate::SaveManager::set_metadata).
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::set_metadata`](crate::SaveManager::set_metadata).
    pub fn set_metadata<'t, T: Persist>(&mut self, value: impl Into<Option<&'t T>>) -> Result<()> {
        let save = value.into().map(to_vec).transpose()?;
        self.replace_metadata(save).map(drop)
    }

    /// Puts the bytes of a save into the header of every save from now on, or nothing; returns what was there before.
    ///
    /// It is for metadata of one save alone:
    ///
    /// ```
    /// use persist::SaveManager;
    /// use persist::save::ValueSaver;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("slot1.sav");
    /// let mut saver = ValueSaver::from(SaveManager::new());
    /// let before = saver.replace_metadata(Some(persist::to_vec(&"The Mill".to_owned())?))?;
    /// saver.save_value(&path, &7_u32)?;
    /// saver.replace_metadata(before)?;
    /// # let header = persist::save::Header::from_reader(std::fs::File::open(&path).unwrap())?;
    /// # assert_eq!(header.metadata::<String>()?.as_deref(), Some("The Mill"));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] over [`Limits::metadata`](crate::Limits::metadata). All is then as it was.
    pub fn replace_metadata(&mut self, save: Option<Vec<u8>>) -> Result<Option<Vec<u8>>> {
        if let Some(save) = &save {
            self.output.limits.check_metadata(save.len() as u64)?;
        }
        let before = std::mem::replace(&mut self.header.metadata, save.map(Into::into));
        Ok(before.map(|before| before.0.to_vec()))
    }

    /// Makes a saver with the same classes and settings, as for a [`Session`](crate::Session) beside the saves of a game.
    ///
    /// It knows nothing of the values that this one has loaded, and its saves in the background have a thread of their own.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            registry: self.registry.clone(),
            header: self.header.clone(),
            load_options: self.load_options,
            output: self.output.clone(),
            ..Self::default()
        }
    }

    /// Calls a function while a [`World`] is loaded by this saver, with how many of its objects are: for a progress bar.
    ///
    /// It is called on the thread of the load, once for every thousand objects, and at the end of them. What comes before,
    /// reading and checking the file, is not counted.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use persist::save::ValueSaver;
    /// use persist::{SaveManager, World};
    ///
    /// let mut world = World::new();
    /// (0..3000).for_each(|_| drop(world.spawn("")));
    /// let mut saver = ValueSaver::from(SaveManager::new());
    /// let save = saver.value_to_vec(&world)?;
    ///
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let bar = Arc::clone(&seen);
    /// saver.watch_loads(move |progress| bar.lock().unwrap().push(progress.done));
    /// saver.value_from_slice::<World>(&save)?;
    /// assert_eq!(*seen.lock().unwrap(), [0, 1024, 2048, 3000]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn watch_loads(&mut self, watch: impl Fn(Progress) + Send + Sync + 'static) {
        self.watch = Some(Arc::new(move |done, total| watch(Progress { done, total })));
    }

    /// Saves one value: see [`SaveManager::save_value`](crate::SaveManager::save_value).
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::save_value`](crate::SaveManager::save_value); [`ErrorKind::Unsupported`] if the value that was loaded last had unknown fields in shared
    /// objects, which stay on the thread that loaded them, and this is another thread.
    pub fn save_value<T: Persist>(
        &mut self,
        path: impl AsRef<Path>,
        value: &T,
    ) -> Result<SaveOutcome> {
        self.replace(path.as_ref(), 0, |saves, out| {
            saves.write_value(&mut SavedObjects::default(), out, value)
        })
    }

    /// Loads one value, with the report: see [`SaveManager::load_value`](crate::SaveManager::load_value).
    ///
    /// Unknown fields of the value are saved with the next value of its class.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::load_value`](crate::SaveManager::load_value).
    pub fn load_value<T: Persist>(&mut self, path: impl AsRef<Path>) -> Result<(T, LoadReport)> {
        let (value, loaded) = self.load_one(SaveSource::File(path.as_ref()), None)?;
        Ok((value, self.keep_unknowns(loaded)))
    }

    /// Saves one value into memory.
    ///
    /// # Errors
    ///
    /// Those of [`save_value`](Self::save_value).
    pub fn value_to_vec<T: Persist>(&mut self, value: &T) -> Result<Vec<u8>> {
        self.in_memory(|saves, out| saves.write_value(&mut SavedObjects::default(), out, value))
    }

    /// Saves one value into memory as a save that continues another one, for places that are no files.
    ///
    /// Its header has the next generation and, with a [device](crate::SaveManager::set_device), counts one more save of it.
    /// `None` is for the first save of a slot.
    ///
    /// ```
    /// use persist::SaveManager;
    /// use persist::save::{Header, Lineage, ValueSaver};
    ///
    /// let mut saver = ValueSaver::from(SaveManager::new());
    /// let first = Header::read(&saver.value_to_vec_after(&1_u32, None)?)?;
    /// let second = Header::read(&saver.value_to_vec_after(&2_u32, Some(&first))?)?;
    /// assert_eq!(second.compare(&first), Lineage::Newer);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`save_value`](Self::save_value).
    pub fn value_to_vec_after<T: Persist>(
        &mut self,
        value: &T,
        before: Option<&Header>,
    ) -> Result<Vec<u8>> {
        let device = self.output.device.as_deref();
        let header = Past::of(before.cloned()).lead_to(self.header.clone(), device, 0);
        self.in_memory(|saves, out| {
            out.set_header(header);
            saves.write_value(&mut SavedObjects::default(), out, value)
        })
    }

    /// Loads one value from a save in memory, like [`load_value`](Self::load_value).
    ///
    /// # Errors
    ///
    /// Those of [`load_value`](Self::load_value).
    pub fn value_from_slice<T: Persist>(&mut self, save: &[u8]) -> Result<(T, LoadReport)> {
        let (value, loaded) = self.load_one(SaveSource::Memory(save), None)?;
        Ok((value, self.keep_unknowns(loaded)))
    }

    /// Keeps what the program does not know of a value that was loaded.
    pub(super) fn keep_unknowns(&mut self, loaded: Loaded) -> LoadReport {
        let report = loaded.report().clone();
        let mut objects = SavedObjects::default();
        objects.adopt(loaded);
        self.unknowns = objects.take_unknowns();
        report
    }
}

impl fmt::Debug for ValueSaver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueSaver").field("registry", &self.registry).finish_non_exhaustive()
    }
}

/// What the calls are made of.
impl ValueSaver {
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
        write: impl FnOnce(&mut Self, &mut Sealer<'_>) -> Result<()>,
    ) -> Result<SaveOutcome> {
        // One that waits is not given up for this one, which may fail.
        self.settle(path);
        let (output, header) = (self.output.clone(), self.header.clone());
        output.replace(path, least, header, |out, header| {
            let mut sealer = Sealer::new(out, output.options.compression, &output.limits);
            sealer.set_header(header);
            write(self, &mut sealer)
        })
    }

    /// Takes a snapshot of a save of a generation that is at least `least`, and has it written by another thread.
    pub(super) fn enqueue(
        &mut self,
        path: &Path,
        least: u64,
        write: impl FnOnce(&mut Self, &mut Sealer<'_>) -> Result<()>,
    ) -> Result<BackgroundSave> {
        let resolved = self.output.storage.resolve(path);
        let resolved = resolved.map_err(|error| Error::io("write the save to", path, error))?;
        let mut limits = self.output.limits;
        if self.output.options.compression != Compression::None {
            // Only the compressed save is to be within the limit.
            limits.bytes = u64::MAX;
        }
        let mut sealer = Sealer::snapshot(&limits);
        let kept = mem::replace(&mut self.buffer, self.worker.spare_buffer());
        let result = write(self, &mut sealer);
        let save = mem::replace(&mut self.buffer, kept);
        result?;
        let snapshot = Snapshot { header: self.header.clone(), save, memory: sealer.memory() };
        Ok(self.worker.enqueue(resolved, least, snapshot, self.output.clone()))
    }

    /// Waits for the saves of a file in the background.
    pub(super) fn settle(&self, path: &Path) {
        if !self.worker.is_new() {
            self.worker.settle(&self.output.storage.resolve(path).unwrap_or_default());
        }
    }

    pub(super) fn in_memory(
        &mut self,
        write: impl FnOnce(&mut Self, &mut Sealer<'_>) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let (compression, limits) = (self.output.options.compression, self.output.limits);
        if compression != Compression::None {
            let mut save = Vec::new();
            write(self, &mut Sealer::new(&mut save, compression, &limits))?;
            return Ok(save);
        }
        let [last, before] = self.last_sizes;
        let size = last.min(before);
        if size >= LARGE {
            self.buffer = Buffer::with_size(size + size / 64);
        }
        write(self, &mut Sealer::in_place(&limits))?;
        let len = self.buffer.len();
        let (mut save, cleared) = match self.buffer.take_run() {
            Some(taken) => taken,
            None if len >= LARGE => (mem::take(&mut self.buffer).into_bytes(), len),
            None => (self.buffer.pieces(0..len).collect::<Vec<_>>().concat(), len),
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
        objects: &mut SavedObjects,
        out: &mut Sealer<'_>,
        context: Option<&dyn AnyContext>,
    ) -> Result<()> {
        objects.check_any()?;
        let env = Env::new(&self.output.limits, context.or(shared(&self.registry.context)));
        let saver = objects.saver(&self.registry, &env);
        saver.save(out, &self.header, &mut self.buffer)
    }

    pub(super) fn write_value<T: Persist>(
        &mut self,
        objects: &mut SavedObjects,
        out: &mut Sealer<'_>,
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
        self.write_value_of(objects, class, out, value)
    }

    /// Writes one value after its `before_save` hooks have run.
    pub(super) fn write_value_mut<T: Persist>(
        &mut self,
        objects: &mut SavedObjects,
        out: &mut Sealer<'_>,
        value: &mut T,
    ) -> Result<()> {
        let mut links = Prototypes::bare();
        let context = self.context_of(value);
        let env = Env::new(&self.output.limits, shared(&context));
        value
            .__visit(&mut Visitor::new(Phase::BeforeSave, &env, &mut links))
            .map_err(|error| error.in_class(T::persist_name()))?;
        let class = self.register_value(value)?;
        self.write_value_of(objects, class, out, value)
    }

    fn write_value_of<T: Persist>(
        &mut self,
        objects: &mut SavedObjects,
        class: usize,
        out: &mut Sealer<'_>,
        value: &T,
    ) -> Result<()> {
        if !self.unknowns.is_empty() {
            let unknowns = self.unknowns.objects()?;
            if objects.is_bare() {
                *objects = unknowns;
            }
        }
        let context = self.context_of(value);
        let env = Env::new(&self.output.limits, shared(&context));
        let saver = objects.saver_of_value(&self.registry, &env, class);
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
        from: SaveSource<'_>,
        mut read: impl FnMut(&mut Self, &[u8]) -> Result<T>,
    ) -> Result<(T, Rescue)> {
        self.settle_at(from);
        let (output, policy) = (self.output.clone(), self.load_options.policy);
        from.read(&output, policy, |save| read(self, save))
    }

    fn settle_at(&self, from: SaveSource<'_>) {
        if let SaveSource::File(path) = from {
            self.settle(path);
        }
    }

    pub(super) fn load_objects(
        &self,
        from: SaveSource<'_>,
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
        from: SaveSource<'_>,
        mut remap: Option<&mut Remap<'_>>,
    ) -> Result<(T, Loaded)> {
        let ((value, loaded), rescue) =
            self.read(from, |saves, save| saves.value_of(save, remap.as_deref_mut()))?;
        Ok((value, loaded.rescued(rescue)))
    }

    /// Loads one value without anything that it cannot give back.
    pub(super) fn load_alone<T: Persist>(&mut self, from: SaveSource<'_>) -> Result<T> {
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
    ) -> Result<(T, LoadedObjects, LoadOutcome)> {
        let env = Env::new(self.limits(), shared(&self.registry.context));
        let env = env.watched(self.watch.as_deref());
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

/// Saves one value with everything in it, and every object that it points to.
///
/// ```
/// use persist::Persist;
///
/// #[derive(Persist, Debug, PartialEq)]
/// struct Game { level: u32, name: String }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("game.sav");
/// let game = Game { level: 3, name: "Ada".into() };
/// persist::save(&path, &game)?;
/// assert_eq!(persist::load::<Game>(&path)?, game);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The file is replaced whole: a crash leaves the old save or the new one. The outcome says whether it was
/// locked against other programs.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if a class in it has a `before_save` hook, which
/// needs [`save_mut`]; what the value refuses; [`ErrorKind::Io`](crate::ErrorKind::Io).
pub fn save<T: Persist>(path: impl AsRef<Path>, value: &T) -> Result<SaveOutcome> {
    ValueSaver::default().save_value(path, value)
}

/// Saves one value like [`save`], after its `before_save` hooks have run.
///
/// # Errors
///
/// Those of [`save`], and what a hook refuses.
pub fn save_mut<T: Persist>(path: impl AsRef<Path>, value: &mut T) -> Result<SaveOutcome> {
    ValueSaver::default().replace(path.as_ref(), 0, |saves, out| {
        saves.write_value_mut(&mut SavedObjects::default(), out, value)
    })
}

/// Loads one value from a file.
///
/// If the file is damaged, its newest good backup is loaded and takes its place, as in
/// [`SaveManager::load`](crate::SaveManager::load). Nothing reports it here, nor what the load converts or drops. A program that wants to
/// tell its player, or to choose other options, uses [`SaveManager::load_value`](crate::SaveManager::load_value), whose
/// [`report`](super::Loaded::report) has it.
///
/// # Errors
///
/// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such file; whatever is not a whole, true
/// save of a `T`, and has no backup that is.
pub fn load<T: Persist>(path: impl AsRef<Path>) -> Result<T> {
    ValueSaver::default().load_alone(SaveSource::File(path.as_ref()))
}

/// Saves one value into memory.
///
/// # Errors
///
/// Those of [`save`].
pub fn to_vec<T: Persist>(value: &T) -> Result<Vec<u8>> {
    ValueSaver::default().value_to_vec(value)
}

/// Saves one value into memory, after its `before_save` hooks have run.
///
/// # Errors
///
/// Those of [`save_mut`].
pub fn to_vec_mut<T: Persist>(value: &mut T) -> Result<Vec<u8>> {
    ValueSaver::default()
        .in_memory(|saves, out| saves.write_value_mut(&mut SavedObjects::default(), out, value))
}

/// Loads one value from a save in memory.
///
/// # Errors
///
/// Whatever is not a whole, true save of a `T`.
pub fn from_slice<T: Persist>(save: &[u8]) -> Result<T> {
    ValueSaver::default().load_alone(SaveSource::Memory(save))
}

impl Header {
    /// The value that [`SaveManager::set_metadata`](crate::SaveManager::set_metadata) put into the header; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`persist::from_slice`](from_slice()): it is no `T`, or no save.
    pub fn metadata<T: Persist>(&self) -> Result<Option<T>> {
        let Some(bytes) = &self.metadata else { return Ok(None) };
        let wrong = |error: Error| {
            Error::new(error.kind(), format!("the metadata cannot be loaded: {error}"))
        };
        from_slice(&bytes.0).map(Some).map_err(wrong)
    }

    /// The metadata without its type.
    ///
    /// # Errors
    ///
    /// Those of [`Document::from_slice`](super::Document::from_slice), if it is no save.
    #[cfg(feature = "tools")]
    pub fn metadata_document(&self) -> Result<Option<super::Document>> {
        self.metadata.as_ref().map(|bytes| super::Document::from_slice(&bytes.0)).transpose()
    }
}
