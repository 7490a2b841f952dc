use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::background::Worker;
use super::{Loaded, SaveOutcome};
use crate::codec::{Buffer, Implements, Persist, Pointee, Shared, Unknown, WeakShared};
use crate::format::{Blocks, Compression, Header, MAX_ID, Sealer};
use crate::graph::{Counted, Registry, Saver, free_unheld};
use crate::reflect::ClassId;
use crate::storage::{FILES, SaveOptions, Storage};
use crate::{Error, ErrorKind, Limits, LoadOptions, ObjectId, Result, storage};

/// Keeps a list of objects, saves them with everything they lead to, and loads
/// them back.
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
#[derive(Default)]
pub struct SaveManager {
    pub(super) registry: Registry,
    pub(super) limits: Limits,
    pub(super) options: LoadOptions,
    pub(super) header: Header,
    pub(super) device: Option<String>,
    pub(super) compression: Compression,
    objects: BTreeMap<ObjectId, Shared>,
    /// Objects that were not added but keep the ids they had in a save. They
    /// live as long as the program holds them.
    met: BTreeMap<ObjectId, WeakShared>,
    /// Ids of both, by address: neither is given away while a pointer is held.
    pub(super) ids: HashMap<usize, ObjectId>,
    /// What the program does not know of objects, and of the value that was loaded last.
    pub(super) kept: HashMap<ObjectId, Unknown>,
    pub(super) root_kept: Option<(ClassId, Unknown)>,
    /// The largest id given out so far.
    last_id: u64,
    /// Kept between saves, so that those after the first find it large enough.
    pub(super) buffer: Buffer,
    pub(super) storage: Disk,
    pub(super) save_options: SaveOptions,
    pub(super) worker: Worker,
}

/// Where saves live; the files of the system unless the program says otherwise.
#[derive(Clone)]
pub(super) struct Disk(pub(super) Arc<dyn Storage>);

impl Default for Disk {
    fn default() -> Self {
        Self(Arc::new(FILES))
    }
}

impl SaveManager {
    /// A manager without classes and objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A manager with the classes of a registry.
    pub(crate) fn with_registry(registry: Registry) -> Self {
        let mut saves = Self::default();
        saves.registry = registry;
        saves
    }

    /// Registers class `T` and those it reaches.
    ///
    /// # Errors
    ///
    /// As [`Registry::register`].
    pub fn register<T: Persist>(&mut self) -> Result<()> {
        self.registry.register::<T>()
    }

    /// Registers class `T` as an implementor of a trait: `register_as::<Sword, dyn Item>()`.
    ///
    /// # Errors
    ///
    /// As [`Registry::register_as`].
    pub fn register_as<T: Persist + Pointee, D: ?Sized + Implements<T>>(&mut self) -> Result<()> {
        self.registry.register_as::<T, D>()
    }

    /// Registers what a pointer of type `Q` leads to: `Arc<Mutex<Hero>>`, ...
    ///
    /// # Errors
    ///
    /// As [`Registry::register_pointer`].
    pub fn register_pointer<Q: Counted>(&mut self) -> Result<()> {
        self.registry.register_pointer::<Q>()
    }

    /// Registers class `T` with the program's own way to make an empty one.
    ///
    /// Fields that are `skip`ped keep what it put there, in objects and in a value
    /// that is loaded on its own; a `T` inside of another value is made by its type.
    ///
    /// # Errors
    ///
    /// As [`Registry::register`].
    pub fn register_with<T: Persist>(&mut self, make: impl Fn() -> T + 'static) -> Result<()> {
        self.registry.register_with(make)
    }

    /// Says that a class is gone for good: objects of it in older saves are dropped.
    ///
    /// # Errors
    ///
    /// As [`Registry::removed_class`].
    pub fn removed_class(&mut self, name: &str) -> Result<()> {
        self.registry.removed_class(name)
    }

    /// The classes that are registered.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Adds an object to what the next save writes; its class is registered
    /// and what it points to comes along. Adding it again changes nothing.
    ///
    /// # Errors
    ///
    /// As [`Registry::register`].
    pub fn add<Q: Counted>(&mut self, object: &Q) -> Result<ObjectId> {
        self.registry.register_pointer::<Q>()?;
        let shared = object.share();
        let id = match self.ids.get(&shared.address()) {
            Some(id) => *id,
            None => {
                let number = self.last_id.checked_add(1).filter(|number| *number <= MAX_ID);
                let id = number
                    .and_then(ObjectId::new)
                    .ok_or_else(|| Error::new(ErrorKind::TooLarge, "the object ids are used up"))?;
                self.last_id = id.get();
                self.ids.insert(shared.address(), id);
                id
            }
        };
        self.met.remove(&id);
        self.objects.insert(id, shared);
        Ok(id)
    }

    /// Takes an object out of what the next save writes, unless another points
    /// to it, in which case it keeps its id; false if it was not there.
    pub fn remove(&mut self, id: ObjectId) -> bool {
        match self.objects.remove(&id) {
            Some(shared) => {
                self.met.insert(id, shared.downgrade());
                true
            }
            None => false,
        }
    }

    /// Takes all objects out; registered classes stay, and no id comes back. Those
    /// that nothing else holds are dropped, which recurses along a chain.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.root_kept = None;
        self.ids.clear();
        let met = std::mem::take(&mut self.met).into_values();
        let met: Vec<Shared> = met.filter_map(|object| object.upgrade()).collect();
        let objects: Vec<Shared> =
            std::mem::take(&mut self.objects).into_values().chain(met).collect();
        free_unheld(&objects);
    }

    /// The ids of the objects that were added, in order.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        self.objects.keys().copied()
    }

    /// Saves to a file: through a temporary one beside it, flushed and renamed,
    /// so that a crash leaves the old save or the new one. The old one stays as a backup,
    /// `name.bak`, as [`SaveOptions`] say; a temporary file that a killed process has left is
    /// removed when the save is next saved or loaded. Saves of the file in the background are waited for.
    ///
    /// # Errors
    ///
    /// What an object refuses, with its id, class and field; [`ErrorKind::NoSpace`], or
    /// [`ErrorKind::Io`] if the file cannot be written; [`ErrorKind::InvalidValue`] if its name is too long for those of backups; [`ErrorKind::InUse`] if another program is
    /// writing it. The old one then is as it
    /// was, but for a folder that cannot be flushed after the new one took its
    /// place, which the message says.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        self.replace(path.as_ref(), |saves, out| saves.write_blocks(out))
    }

    /// Replaces a file of the storage.
    pub(super) fn replace(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut Self, &mut dyn Blocks) -> Result<u64>,
    ) -> Result<SaveOutcome> {
        self.replace_since(path, 0, write)
    }

    /// The same, by a save of a generation that is not less.
    pub(super) fn replace_since(
        &mut self,
        path: &Path,
        least: u64,
        write: impl FnOnce(&mut Self, &mut dyn Blocks) -> Result<u64>,
    ) -> Result<SaveOutcome> {
        let (disk, options, limits) = (self.storage.clone(), self.save_options, self.limits);
        let compression = self.compression;
        // One that waits is not given up for this one, which may fail.
        self.settle(path);
        storage::replace(&*disk.0, path, &options, &limits, |out, past| {
            let header = past.lead_to(self.header.clone(), self.device.as_deref(), least);
            write(self, &mut Sealer::new(out, compression, &limits).of_file(header))
        })
        .map(|replaced| SaveOutcome::of(&replaced))
    }

    /// Waits for the saves of a file in the background.
    pub(super) fn settle(&self, path: &Path) {
        if !self.worker.is_new() {
            self.worker.settle(&self.storage.0.resolve(path).unwrap_or_default());
        }
    }

    /// Saves into memory.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save).
    pub fn to_vec(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)?;
        Ok(bytes)
    }

    /// Saves into a writer and returns how many bytes that took. The save is
    /// streamed: no more than a block and the largest record is held.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save); what was written before an error is no save.
    pub fn to_writer(&mut self, mut writer: impl Write) -> Result<u64> {
        self.write(&mut writer)
    }

    /// Forgets the objects that were met and are gone: their pointers held the addresses, which
    /// may come back now.
    pub(super) fn forget_gone(&mut self) {
        let before = self.met.len();
        self.met.retain(|id, weak| {
            let is_there = weak.upgrade().is_some();
            if !is_there {
                self.kept.remove(id);
            }
            is_there
        });
        if self.met.len() < before {
            self.ids.retain(|_, id| self.objects.contains_key(id) || self.met.contains_key(id));
        }
    }

    fn write(&mut self, out: &mut dyn Write) -> Result<u64> {
        let limits = self.limits;
        self.write_blocks(&mut Sealer::new(out, self.compression, &limits))
    }

    pub(super) fn write_blocks(&mut self, out: &mut dyn Blocks) -> Result<u64> {
        self.forget_gone();
        let mut saver = Saver::new(&self.registry, &self.limits, self.last_id.saturating_add(1));
        for (id, shared) in &self.objects {
            saver.know(shared.clone(), *id, true);
        }
        for (id, weak) in &self.met {
            if let Some(shared) = weak.upgrade() {
                saver.know(shared, *id, false);
            }
        }
        saver.keep(&self.kept, &self.ids);
        saver.save(out, &self.header, &mut self.buffer)
    }

    /// Loads the objects of a file; the manager's own stay as they are until
    /// [`adopt`](Self::adopt).
    ///
    /// Objects of classes that are not registered, and fields that the classes do not have, are kept
    /// aside, and counted in the report as [`LoadEvent::Kept`](crate::schema::LoadEvent::Kept); they go back to
    /// the next save after [`adopt`](Self::adopt), and only then.
    ///
    /// If the file is damaged, its newest good backup is loaded, and takes its place; the damaged file
    /// is kept beside it as `name.damaged`. [`LoadReport::recovery`](crate::save::LoadReport::recovery) says so.
    ///
    /// A file that is not there stays so, as the player may have deleted it; if it has backups the error says which can
    /// be loaded by its own path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such file; whatever is not a whole, true save, or holds what its classes do not
    /// accept; nothing then stays behind.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Loaded> {
        let file = self.file(path.as_ref());
        let (loaded, rescue) = file.load(|save| self.load_objects(save, None))?;
        Ok(loaded.rescued(rescue))
    }

    /// Loads the objects of a save in memory.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_slice(&self, save: &[u8]) -> Result<Loaded> {
        let (save, rescue) = self.mended(save)?;
        Ok(self.load_objects(&save, None)?.rescued(rescue))
    }

    /// Loads the objects of a save that is read to the reader's end.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_reader(&self, reader: impl Read) -> Result<Loaded> {
        self.from_slice(&storage::read_stream(reader, &self.limits)?)
    }

    /// Makes what was loaded what the next save writes, in place of the
    /// manager's objects; ids stay the same. What the program did not know goes along.
    ///
    /// What it did not know of the value of a [`load_value`](Self::load_value) goes with every value of that class
    /// which the manager saves from then on: a value has no id by which it would be known again. Before
    /// you save another one, such as a new game, [`clear`](Self::clear) the manager.
    ///
    /// From then on the manager holds them: when it is dropped or cleared, the last pointers go as any others
    /// do, by your own `Drop`, which recurses along a chain.
    pub fn adopt(&mut self, mut loaded: Loaded) {
        self.clear();
        loaded.adopted = true;
        self.kept = std::mem::take(&mut loaded.kept);
        self.root_kept = loaded.root_kept.take();
        for object in &loaded.objects {
            let Some(shared) = &object.shared else { continue };
            self.last_id = self.last_id.max(object.id.get());
            self.ids.insert(shared.address(), object.id);
            if object.added {
                self.objects.insert(object.id, shared.clone());
            } else {
                self.met.insert(object.id, shared.downgrade());
            }
        }
    }
}

impl Drop for SaveManager {
    fn drop(&mut self) {
        self.clear();
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
