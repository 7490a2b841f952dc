//! [`Saves`]: the classes and settings of a program, and its calls to save and load.

use std::any::Any;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};
use std::{fmt, mem};

use super::background::{Progress, Worker};
use super::{Output, Prepared, Scratch};
use crate::codec::{Buffer, Implements, Persist, Pointee};
use crate::env::{SharedContext, Watch};
use crate::format::{Header, LONGEST_DEVICE};
use crate::graph::{Registry, SharedPointer};
use crate::platform::held;
use crate::storage::{Patient, SaveOptions, Storage};
use crate::{ErrorKind, Limits, LoadOptions, Result};

/// Saves and loads values, in files, slots, stores and memory.
///
/// A `Saves` holds the program's registered classes, its settings, and a thread for saves in the background. It holds
/// no objects and no loaded data: a [`SaveManager`](crate::SaveManager) is a list of objects, and a
/// [`Loaded`](crate::Loaded) holds the result of one load.
///
/// ```
/// use persist::save::SlotInfo;
/// use persist::{Persist, Saves};
///
/// #[derive(Persist)]
/// struct Game { day: u32 }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// let saves = Saves::new();
/// let slots = saves.slots(folder);
/// slots.slot("Ada's farm").info(SlotInfo::new("The Mill")).save(&Game { day: 1 })?;
///
/// let mut game = slots.slot("Ada's farm").load::<Game>()?;
/// game.day += 1;
/// slots.slot("Ada's farm").save(&game)?;
/// # Ok::<(), persist::Error>(())
/// ```
///
/// A `Saves` is `Send` and `Sync`. Clones share the classes and the thread. A setting that is changed on a clone
/// applies to that clone only.
#[derive(Clone)]
pub struct Saves {
    settings: Arc<Settings>,
    shared: Arc<SharedState>,
}

/// The settings, which may differ between clones.
#[derive(Clone, Default)]
struct Settings {
    header: Header,
    load_options: LoadOptions,
    output: Output,
    context: Option<SharedContext>,
    watch: Option<Arc<Watch>>,
}

/// The default settings, shared so that `persist::to_vec`, which creates a `Saves` per call, does not allocate them.
static DEFAULT: LazyLock<Arc<Settings>> = LazyLock::new(Arc::default);

/// The state that all clones share.
#[derive(Default)]
struct SharedState {
    /// The registry is copied if a class is registered while a save or load uses it. So no lock is held while hooks of
    /// the program run.
    registry: RwLock<Arc<Registry>>,
    worker: Worker,
    scratch: Mutex<Scratch>,
}

impl Default for Saves {
    fn default() -> Self {
        Self { settings: Arc::clone(&DEFAULT), shared: Arc::default() }
    }
}

impl Saves {
    /// Creates a `Saves` without registered classes and with the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// These methods register classes. Saving or loading a type registers it and every class that its fields reach. A load
/// cannot find the other classes that way: implementors of traits, objects of a list, components and resources.
impl Saves {
    /// Registers class `T` and the classes that it reaches.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register`].
    pub fn register<T: Persist>(&self) -> Result<()> {
        self.change_classes(|registry| registry.register::<T>())
    }

    /// Registers the class that a pointer of type `Q` leads to, such as an `Arc<Mutex<Hero>>`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register`].
    pub fn register_pointer<Q: SharedPointer>(&self) -> Result<()> {
        self.change_classes(|registry| registry.register_pointer::<Q>())
    }

    /// Registers class `T` as an implementor of a trait: `register_as::<Sword, dyn Item>()`.
    ///
    /// ```
    /// use persist::{Persist, Saves};
    ///
    /// #[persist::dynamic]
    /// trait Item {
    ///     fn price(&self) -> u32;
    /// }
    ///
    /// #[derive(Persist)]
    /// struct Sword { sharp: u32 }
    ///
    /// impl Item for Sword {
    ///     fn price(&self) -> u32 { 10 * self.sharp }
    /// }
    ///
    /// let saves = Saves::new();
    /// saves.register_as::<Sword, dyn Item>()?;
    /// let bag: Vec<Box<dyn Item>> = vec![Box::new(Sword { sharp: 4 })];
    /// let save = saves.to_vec(&bag)?;
    /// let bag = saves.from_slice::<Vec<Box<dyn Item>>>(&save)?;
    /// assert_eq!(bag[0].price(), 40);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register_as`].
    pub fn register_as<T: Persist + Pointee, D: ?Sized + Implements<T>>(&self) -> Result<()> {
        self.change_classes(|registry| registry.register_as::<T, D>())
    }

    /// Registers class `T` with a function of the program that creates an empty `T`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register_with`].
    pub fn register_with<T: Persist>(
        &self,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<()> {
        self.change_classes(|registry| registry.register_with(make))
    }

    /// Declares that a class was removed: loads drop its objects, and the lock test no longer asks for it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::declare_removed_class`].
    pub fn declare_removed_class(&self, name: &str) -> Result<()> {
        self.change_classes(|registry| registry.declare_removed_class(name))
    }

    /// Returns the classes that are registered now. Later registrations do not change the returned registry.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.shared.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the registered classes, for all clones.
    pub(crate) fn change_classes<R>(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<R>,
    ) -> Result<R> {
        let mut registry = self.shared.registry.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut registry))
    }
}

/// These methods change the settings.
impl Saves {
    /// Sets how saves are written: backups, compression, and what to do about other programs.
    #[must_use]
    pub fn save_options(mut self, options: SaveOptions) -> Self {
        let output = &mut self.settings().output;
        output.options = options;
        output.storage = output.storage.clone().with_wait(options.wait);
        self
    }

    /// Sets how strict loads are about damaged saves, unknown data, missing fields and numbers that do not fit.
    #[must_use]
    pub fn load_options(mut self, options: LoadOptions) -> Self {
        self.settings().load_options = options;
        self
    }

    /// Sets the limits on sizes, depths and counts of saves and loads.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings().output.limits = limits;
        self
    }

    /// Sets the storage that holds the saves, in place of the file system.
    #[must_use]
    pub fn storage(mut self, storage: impl Storage + 'static) -> Self {
        let wait = self.output().options.wait;
        self.settings().output.storage = Patient::new(storage, wait);
        self
    }

    /// Sets the context of all saves and loads: a value of the program that types can read while they are saved and
    /// loaded.
    ///
    /// An example is the table of items of the running game.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use persist::{Persist, Saves};
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
    /// let items = Arc::new(Items { names: vec!["rope".into(), "lamp".into()] });
    /// let saves = Saves::new().context(items);
    /// let error = saves.to_vec(&Chest { items: vec![0, 2] }).unwrap_err();
    /// assert_eq!(error.message(), "`validate` of Chest refused: there is no item 2");
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// Hooks, `with` modules and [types written by hand](crate::codec::Encoder::context) can read the context. A
    /// world (`World::registry_mut`) that is loaded, and a [`Session`](crate::Session) that is opened, use it too. Put
    /// data that the program changes later into a cell: `Arc<Mutex<Items>>` is a context of type `Mutex<Items>`. To
    /// save with another context, set it on a clone: `saves.clone().context(..)`.
    #[must_use]
    pub fn context<C: Any + Send + Sync>(mut self, context: Arc<C>) -> Self {
        self.settings().context = Some(context);
        self
    }

    /// Sets the name and version of the program, written into the header.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::TooLarge`] if the name or the version has more than 65,535 bytes.
    pub fn application(mut self, name: &str, version: &str) -> Result<Self> {
        for text in [name, version] {
            if text.len() > usize::from(u16::MAX) {
                bail!(
                    ErrorKind::TooLarge,
                    "an application's name or version of {} bytes is over the limit of 65535; choose a shorter one",
                    text.len()
                );
            }
        }
        let header = &mut self.settings().header;
        header.application = Some(name.to_owned());
        header.application_version = Some(version.to_owned());
        Ok(self)
    }

    /// Sets the name of the device, so that [`Slot::compare`](super::Slot::compare) recognises saves of several
    /// devices.
    ///
    /// ```
    /// use persist::Saves;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let slots = Saves::new().device("steam-deck")?.slots(folder);
    /// slots.slot("Ada").save(&1_u32)?;
    /// slots.slot("Ada").save(&2_u32)?;
    /// assert!(slots.list()?[0].header.devices().eq([("steam-deck", 2)]));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// Every save to a file then has a version vector in its header: a count for each device of how often it has saved
    /// the slot. A save takes over the counts of the save that it replaces, and increments the count of this device.
    /// Without a device name, saves have no version vector. If the replaced save has one, the save is counted for the
    /// nameless device, which all programs without a device name share.
    ///
    /// Two devices of one player must not have the same name. The host name usually works. A random name that is drawn
    /// once, and stored in the settings of the program, always works. Counts begin in an epoch that is drawn at random
    /// too, so the bytes of such files differ from run to run.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidValue`] if the name is empty, [`ErrorKind::TooLarge`] if it has more than 255 bytes.
    pub fn device(mut self, name: &str) -> Result<Self> {
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
        self.settings().output.device = Some(name.to_owned());
        Ok(self)
    }

    /// Sets a function that is called while a `World` is loaded, with the number of loaded objects, for a progress
    /// bar.
    ///
    /// It is called on the thread of the load, at the start, about every thousand objects, and at the end. The time to
    /// read and check the file, which comes first, is not part of the progress.
    ///
    #[cfg_attr(feature = "world", doc = "```")]
    #[cfg_attr(not(feature = "world"), doc = "```ignore")]
    /// use std::sync::{Arc, Mutex};
    ///
    /// use persist::{Saves, World};
    ///
    /// let mut world = World::new();
    /// (0..3000).for_each(|_| drop(world.spawn("")));
    /// let save = Saves::new().to_vec(&world)?;
    ///
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let bar = Arc::clone(&seen);
    /// let saves = Saves::new().watch_loads(move |progress| bar.lock().unwrap().push(progress.done));
    /// saves.from_slice::<World>(&save)?;
    /// assert_eq!(*seen.lock().unwrap(), [0, 1024, 2048, 3000]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn watch_loads(mut self, watch: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.settings().watch = Some(Arc::new(move |done, total| watch(Progress { done, total })));
        self
    }

    /// Sets how long a save may take before a `tracing` event reports it as slow. The default is 1 s.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn slow_after(mut self, limit: std::time::Duration) -> Self {
        self.settings().output.slow_after = limit;
        self
    }

    /// Returns the settings for a change, copied first if other clones share them.
    fn settings(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.settings)
    }
}

/// Creates a `Saves` from a registry, such as the one that the program's lock is tested with.
impl From<Registry> for Saves {
    fn from(registry: Registry) -> Self {
        let settings = Settings { context: registry.context.clone(), ..Settings::default() };
        let shared = SharedState { registry: RwLock::new(Arc::new(registry)), ..<_>::default() };
        Self { settings: Arc::new(settings), shared: Arc::new(shared) }
    }
}

impl fmt::Debug for Saves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saves").field("registry", &self.registry()).finish_non_exhaustive()
    }
}

/// Parts that the public calls use.
impl Saves {
    pub(crate) fn output(&self) -> &Output {
        &self.settings.output
    }

    pub(crate) fn disk(&self) -> Arc<dyn Storage> {
        Arc::new(self.output().storage.clone())
    }

    pub(crate) fn bounds(&self) -> &Limits {
        &self.settings.output.limits
    }

    pub(crate) fn loading(&self) -> LoadOptions {
        self.settings.load_options
    }

    pub(super) fn header(&self) -> &Header {
        &self.settings.header
    }

    pub(crate) fn shared_context(&self) -> Option<SharedContext> {
        self.settings.context.clone()
    }

    pub(super) fn watch(&self) -> Option<&Watch> {
        self.settings.watch.as_deref()
    }

    /// Returns a clone for a load that the program did not ask for, so that its progress function is not called.
    pub(crate) fn unwatched(&self) -> Self {
        let mut saves = self.clone();
        saves.settings().watch = None;
        saves
    }

    pub(super) fn worker(&self) -> &Worker {
        &self.shared.worker
    }

    /// Registers the type of a value, and the classes in it that its type does not name.
    pub(crate) fn register_value<T: Persist>(&self, value: &T) -> Result<Prepared> {
        let holder = T::__LAYOUT.class_holder.and_then(|access| (access.get)(value));
        if let Some(holder) = holder.filter(|it| !it.is_registered_in(&*self.registry())) {
            self.change_classes(|registry| holder.register_in(registry))?;
        }
        self.register_type::<T>()
    }

    /// Registers a type that is saved or loaded on its own.
    pub(crate) fn register_type<T: Persist>(&self) -> Result<Prepared> {
        let registry = self.registry();
        if let Some(class) = registry.value_class::<T>() {
            return Ok(Prepared { registry, class });
        }
        drop(registry);
        let class = self.change_classes(|registry| registry.register_value::<T>())?;
        Ok(Prepared { registry: self.registry(), class })
    }

    /// Takes the buffers of the last save, or empty ones while another thread uses them.
    pub(super) fn take_scratch(&self) -> Scratch {
        mem::take(&mut held(&self.shared.scratch))
    }

    pub(super) fn put_scratch(&self, scratch: Scratch) {
        *held(&self.shared.scratch) = scratch;
    }

    /// Calls a function with the buffer of the last save, for a save to a file.
    pub(super) fn with_buffer<R>(&self, run: impl FnOnce(&mut Buffer) -> Result<R>) -> Result<R> {
        let mut scratch = self.take_scratch();
        let result = run(&mut scratch.buffer);
        self.put_scratch(scratch);
        result
    }

    /// Waits for the background saves of a file.
    pub(crate) fn settle(&self, path: &Path) {
        let worker = self.worker();
        if !worker.is_new() {
            worker.settle(&self.output().storage.resolve(path).unwrap_or_default());
        }
    }
}
