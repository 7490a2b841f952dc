//! [`SaveManager`]: a list of objects that are saved together.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

use super::{SavedObjects, empty, free_objects};
use crate::codec::{Implements, Persist, Pointee, Prototypes, Shared};
use crate::env::shared;
use crate::graph::{Edges, LoadedObjects, SharedPointer, Targets};
use crate::save::{LoadReport, Loaded, SaveOutcome, Saves};
use crate::schema::LoadEvent;
use crate::sorting::sort;
use crate::{Error, ErrorKind, ObjectId, Result};

/// A list of objects, which are saved and loaded together with everything they lead to.
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
/// let mut manager = SaveManager::new();
/// manager.add(&hero)?;
/// manager.save(&path)?;
///
/// let loaded = manager.load(&path)?;
/// let hero = loaded.first::<Hero>()?;
/// let pet = hero.borrow().pet.clone().unwrap();
/// assert!(Rc::ptr_eq(&pet.borrow().owner.upgrade().unwrap(), &hero));
/// # Ok::<(), persist::Error>(())
/// ```
///
/// A load returns a new list, as a [`Loaded`]. Its objects have the ids that they had in the save, and it holds the
/// unknown content of the save. You can add objects to it and save it again.
///
/// After a load, the list holds every object of the save. From its first save or change on, it holds only the objects
/// that were added.
///
/// A single value needs no list: use [`Saves`]. A [`World`](crate::World) is such a value.
///
/// A manager is not `Send`, since it may hold `Rc`s. Its [`saves`](Self::saves) can be sent to other threads.
///
/// # Freeing loaded objects
///
/// Dropping a list frees the loaded objects that nothing else holds. It frees them one by one, so that long chains do
/// not overflow the stack. Objects that the program holds are freed by the program. Dropping the first object of a
/// chain of a million recurses a million times, as it does without this library, and a cycle of strong pointers is
/// never freed. [`dismantle`](Self::dismantle) frees both without recursion.
pub struct SaveManager {
    saves: Saves,
    objects: ObjectsInRcs,
    allows_empty: bool,
    /// Objects of the save that were not created because their class is not registered, with their number: for the
    /// message of an error when the program asks for one.
    unmade: Vec<(String, u64)>,
}

/// The objects, which may be in `Rc`s: the only part of a manager that cannot go to another thread. The outer `Rc`
/// makes the whole struct `!Send`, so that the compiler reports one error, with this name in it.
#[derive(Default)]
struct ObjectsInRcs(Rc<RefCell<SavedObjects>>);

/// These methods create and configure a manager.
impl SaveManager {
    /// Creates a manager without objects, with the default settings and no registered classes.
    ///
    /// [`Saves::manager`] creates one with the classes and settings of a [`Saves`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(in crate::save) fn with(saves: Saves) -> Self {
        let objects = ObjectsInRcs::default();
        Self { saves, objects, allows_empty: false, unmade: Vec::new() }
    }

    /// Creates the list that a load returns.
    pub(super) fn of_loaded(saves: Saves, objects: LoadedObjects, report: &LoadReport) -> Self {
        let unmade = report.rows().iter().filter(|row| {
            matches!(row.event, LoadEvent::Unknown | LoadEvent::Kept) && row.field.is_none()
        });
        let unmade = unmade.map(|row| (row.class.clone(), row.count)).collect();
        let mut manager = Self::with(saves);
        manager.unmade = unmade;
        manager.objects.0.replace(SavedObjects::of_loaded(objects));
        manager
    }

    /// Returns the classes and settings. A clone of them can be sent to another thread.
    #[must_use]
    pub fn saves(&self) -> &Saves {
        &self.saves
    }

    /// Registers class `T` and the classes that it reaches.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::register`].
    pub fn register<T: Persist>(&self) -> Result<()> {
        self.saves.register::<T>()
    }

    /// Registers class `T` as an implementor of a trait: `register_as::<Sword, dyn Item>()`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::register_as`].
    pub fn register_as<T: Persist + Pointee, D: ?Sized + Implements<T>>(&self) -> Result<()> {
        self.saves.register_as::<T, D>()
    }

    /// Allows the manager to save a list without objects, which is otherwise an error.
    ///
    /// ```
    /// use persist::{ErrorKind, SaveManager};
    ///
    /// let manager = SaveManager::new();
    /// assert_eq!(manager.to_vec().unwrap_err().kind(), ErrorKind::NoContent);
    /// assert!(manager.allow_empty().to_vec().is_ok());
    /// ```
    #[must_use]
    pub fn allow_empty(self) -> Self {
        let mut manager = self;
        manager.allows_empty = true;
        manager
    }
}

/// These methods add, remove and find objects.
impl SaveManager {
    /// Adds an object to the list, and returns its id.
    ///
    /// The next save writes the object with everything it leads to. The call also registers its class. Adding an object
    /// again changes nothing.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::register_pointer`], and [`ErrorKind::TooLarge`] if all ids are used.
    pub fn add<Q: SharedPointer>(&mut self, object: &Q) -> Result<ObjectId> {
        self.saves.register_pointer::<Q>()?;
        self.objects.0.borrow_mut().add(object.share())
    }

    /// Removes an object from the list; returns false if it was not in it.
    ///
    /// If another object points to it, the next save still writes it, under the same id.
    ///
    /// ```
    /// # use std::{cell::RefCell, rc::Rc};
    /// # use persist::{Persist, SaveManager};
    /// # #[derive(Persist)] struct Hero { name: String }
    /// # let ada = Rc::new(RefCell::new(Hero { name: "Ada".into() }));
    /// let mut manager = SaveManager::new();
    /// let id = manager.add(&ada)?;
    /// assert!(manager.remove(id));
    /// assert!(!manager.remove(id));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn remove(&mut self, id: ObjectId) -> bool {
        self.objects.0.borrow_mut().remove(id)
    }

    /// Returns the first object of type `T`, held in an `Rc<RefCell<T>>`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if there is none.
    pub fn first<T: Persist>(&self) -> Result<Rc<RefCell<T>>> {
        self.first_pointer()
    }

    /// Returns the first object that a pointer of type `Q` can point to.
    ///
    /// `Q` is a type such as `Arc<Mutex<Hero>>` or `Rc<RefCell<dyn Item>>`.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use persist::{Persist, SaveManager};
    ///
    /// #[derive(Persist)]
    /// struct Hero { name: String }
    ///
    /// let mut manager = SaveManager::new();
    /// manager.add(&Arc::new(Mutex::new(Hero { name: "Ada".into() })))?;
    /// let save = manager.to_vec()?;
    /// let loaded = manager.from_slice(&save)?;
    /// let hero: Arc<Mutex<Hero>> = loaded.first_pointer()?;
    /// assert_eq!(hero.lock().unwrap().name, "Ada");
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if there is none.
    pub fn first_pointer<Q: SharedPointer + Persist>(&self) -> Result<Q> {
        let first = self.find(|_, shared| self.cast(shared));
        first.ok_or_else(|| self.no_object(&format!("of type {}", Q::persist_name())))
    }

    /// Returns the object with this id, held in an `Rc<RefCell<T>>`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if no object has the id, [`ErrorKind::WrongClass`] if it is not a `T` in an
    /// `Rc<RefCell<T>>`.
    pub fn get<T: Persist>(&self, id: ObjectId) -> Result<Rc<RefCell<T>>> {
        self.pointer(id)
    }

    /// Returns the object with this id as a pointer of type `Q`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if no object has the id, [`ErrorKind::WrongClass`] if a `Q` cannot point to it.
    pub fn pointer<Q: SharedPointer + Persist>(&self, id: ObjectId) -> Result<Q> {
        let object = self.list().and_then(|list| list.get(id));
        let object = object.ok_or_else(|| self.no_object(&id.to_string()))?;
        self.cast(&object).ok_or_else(|| {
            error!(ErrorKind::WrongClass, "object {id} is not of type {}", Q::persist_name())
        })
    }

    /// Iterates over the objects of type `T` that are held in an `Rc<RefCell<T>>`; added objects come first.
    pub fn iter<T: Persist>(&self) -> impl Iterator<Item = Rc<RefCell<T>>> + use<T> {
        self.pointers()
    }

    /// Iterates over the objects that a pointer of type `Q` can point to; added objects come first.
    pub fn pointers<Q: SharedPointer>(&self) -> impl Iterator<Item = Q> + use<Q> {
        let mut found = Vec::new();
        self.find(|_, shared| {
            found.extend(self.cast(shared));
            None::<()>
        });
        found.into_iter()
    }

    /// Iterates over the ids of the objects; after a load, over the ids of all objects in the save.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> + use<> {
        self.list().map_or_else(Vec::new, |list| list.ids()).into_iter()
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list().map_or(0, |list| list.ids().len())
    }

    /// Returns true if there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Borrows the list; `None` if a hook calls while the list is being saved.
    fn list(&self) -> Option<Ref<'_, SavedObjects>> {
        self.objects.0.try_borrow().ok()
    }

    /// Calls a function with each object until it returns `Some`.
    fn find<R>(&self, test: impl FnMut(ObjectId, &Shared) -> Option<R>) -> Option<R> {
        self.list()?.find(test)
    }

    /// Creates the error for an object that is not in the list. The save may have had it under an unregistered class.
    #[cold]
    fn no_object(&self, what: &str) -> Error {
        let unmade = self.unmade.iter().map(|(class, count)| format!("{count} {class}"));
        let unmade: Vec<String> = unmade.collect();
        let advice = if unmade.is_empty() {
            String::new()
        } else {
            format!(
                "; objects of classes that are not registered, or not in that pointer, were not made ({}): register them before the load, by `register_pointer` if they are not in an `Rc<RefCell<_>>`, or name them in an `alias`",
                unmade.join(", ")
            )
        };
        error!(ErrorKind::NotFound, "the save has no object {what}{advice}")
    }

    fn cast<Q: SharedPointer>(&self, shared: &Shared) -> Option<Q> {
        match Q::of() {
            None => Q::find(shared, None),
            Some(of) => {
                let registry = self.saves.registry();
                Q::find(shared, Some(registry.caster_of(of, shared)?))
            }
        }
    }
}

/// These methods save and load the objects.
impl SaveManager {
    /// Saves the objects to a file; short for `manager.saves().file(path).save(&manager)`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::save`](crate::save::Slot::save), such as [`ErrorKind::NoContent`] for a list
    /// without objects.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        self.saves.file(path).save(self)
    }

    /// Loads the objects of a file into a new list; this list is not changed.
    ///
    /// The returned list keeps unknown fields, and objects whose class is not registered. The report counts them as
    /// [`LoadEvent::Kept`](crate::save::LoadEvent::Kept), and the next save of that list writes them back.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::load`](crate::save::Slot::load). All objects that were created are then
    /// freed.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Loaded<Self>> {
        self.saves.file(path).load()
    }

    /// Saves the objects into memory.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`save`](Self::save), except file errors.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        self.saves.to_vec(self)
    }

    /// Loads the objects of a save in memory, like [`load`](Self::load).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`load`](Self::load), except file errors.
    pub fn from_slice(&self, save: &[u8]) -> Result<Loaded<Self>> {
        self.saves.from_slice(save)
    }

    /// Returns an error if the list is empty: its save would replace a good one.
    pub(super) fn check_any(&self) -> Result<()> {
        let is_empty = self.objects.0.try_borrow().map_err(|_| saving())?.is_empty();
        if !self.allows_empty && is_empty {
            bail!(
                ErrorKind::NoContent,
                "the manager has no objects, and a save of it would replace a good one by nothing; `add` the objects, save the value itself by `Saves`, or call `allow_empty`"
            );
        }
        Ok(())
    }

    pub(super) fn objects_to_save(&self) -> Result<RefMut<'_, SavedObjects>> {
        self.objects.0.try_borrow_mut().map_err(|_| saving())
    }

    pub(super) fn drop_unknown(&mut self) {
        let (registry, context) = (self.saves.registry(), self.saves.shared_context());
        self.objects.0.borrow_mut().drop_unknown(shared(&context), registry.implementors());
    }
}

/// These methods find cycles of strong pointers, and free objects.
impl SaveManager {
    /// Finds the cycles of strong pointers among the objects, as they are now.
    ///
    /// The objects of a cycle are never freed unless a pointer in it is cut. Each returned list holds the ids of
    /// objects that all lead to each other, in ascending order.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::{cell::RefCell, rc::Rc};
    /// # use persist::{Persist, SaveManager};
    /// #[derive(Persist)]
    /// struct Partner { other: Option<Rc<RefCell<Partner>>> }
    ///
    /// let ada = Rc::new(RefCell::new(Partner { other: None }));
    /// let bob = Rc::new(RefCell::new(Partner { other: Some(ada.clone()) }));
    /// ada.borrow_mut().other = Some(bob);
    ///
    /// let mut manager = SaveManager::new();
    /// manager.add(&ada)?;
    /// let save = manager.to_vec()?;
    /// let loaded = manager.from_slice(&save)?;
    /// assert_eq!(loaded.strong_cycles()[0].len(), 2);
    /// loaded.dismantle();
    /// # ada.borrow_mut().other = None;
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn strong_cycles(&self) -> Vec<Vec<ObjectId>> {
        let mut objects = Vec::new();
        self.find(|id, shared| {
            objects.push((id, shared.clone()));
            None::<()>
        });
        let addresses = objects.iter().map(|(_, shared)| shared.address());
        let places: HashMap<usize, usize> = addresses.zip(0..).collect();
        let context = self.saves.shared_context();
        let mut targets = Targets::new(shared(&context));
        let mut edges = Edges::new(objects.len());
        for (_, shared) in &objects {
            let found = targets.of(shared.object());
            let known = found.iter().filter_map(|address| places.get(address));
            edges.push(known.filter_map(|place| u32::try_from(*place).ok()));
        }
        let cycles = edges.components().cycles(&edges);
        let id = |place: u32| objects[place as usize].0;
        let mut cycles: Vec<Vec<ObjectId>> =
            cycles.into_iter().map(|cycle| cycle.into_iter().map(id).collect()).collect();
        cycles.iter_mut().for_each(|cycle| sort(cycle));
        sort(&mut cycles);
        cycles
    }

    /// Frees the objects one by one, including cycles of strong pointers and long chains.
    ///
    /// Objects that the program still holds stay alive, but the value in each of their cells is replaced by an empty
    /// one, whose pointers lead to empty objects. An object that is borrowed during the call keeps its value. A pointer
    /// that the program itself put into a `OnceCell` cannot be cut.
    pub fn dismantle(self) {
        let registry = self.saves.registry();
        let prototypes = Prototypes::new(&**registry.implementors());
        let objects = self.objects.0.borrow_mut().take_objects();
        objects.iter().for_each(|shared| empty(shared.object(), prototypes));
        let context = self.saves.shared_context();
        free_objects(objects, shared(&context), registry.implementors());
    }
}

impl Loaded<SaveManager> {
    /// Frees the objects one by one, including cycles of strong pointers and long chains; see
    /// [`SaveManager::dismantle`].
    pub fn dismantle(self) {
        self.into_value().dismantle();
    }
}

#[cold]
fn saving() -> Error {
    error!(
        ErrorKind::Borrowed,
        "the manager is saving already, and a hook saves it again; save it after the hook"
    )
}

/// Frees the objects that nothing else holds one by one, including long chains, and cycles of unknown objects.
impl Drop for SaveManager {
    fn drop(&mut self) {
        let objects = self.objects.0.borrow_mut().take_objects();
        if !objects.is_empty() {
            let (registry, context) = (self.saves.registry(), self.saves.shared_context());
            free_objects(objects, shared(&context), registry.implementors());
        }
    }
}

impl Default for SaveManager {
    fn default() -> Self {
        Self::with(Saves::default())
    }
}

impl fmt::Debug for SaveManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaveManager")
            .field("saves", &self.saves)
            .field("objects", &self.len())
            .finish_non_exhaustive()
    }
}
