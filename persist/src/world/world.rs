use std::any::TypeId;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;

use super::any_component::{AnyColumn, ComponentType};
use super::bundle::Bundles;
use super::column::{Column, Page};
use super::commands::Command;
use super::directory::{Directory, Place};
use super::fields::Numbers;
use super::names::{Name, Names};
use super::object::{Activity, Object, Shapes};
use super::parked::Parked;
use super::resources::Resources;
use crate::fields::{Paths, Room};
use crate::graph::Registry;
use crate::{Error, ErrorKind, ObjectId, Result};

/// Named objects made of components.
///
/// An object is an id. It has a name that no other has, if any, a place in a tree, and components: values of
/// types that implement [`Component`](super::Component), at most one of each. Ids are never given twice, also not after a load, so that
/// an id in a field of a component is a reference which a removed object makes stale, not wrong.
///
/// Whatever goes through objects goes through them in the order in which they were made.
///
/// # Example
///
/// ```
/// use persist::{Component, ObjectId, Persist, SaveManager, World};
///
/// #[derive(Persist)]
/// struct Position { x: f32, y: f32 }
///
/// #[derive(Persist)]
/// struct Follow { whom: ObjectId }
///
/// impl Component for Position {}
/// impl Component for Follow {}
///
/// let mut world = World::new();
/// let ada = world.spawn("Ada");
/// let cat = world.spawn("Cat");
/// world.attach(ada, Position { x: 1.0, y: 2.0 })?;
/// world.attach(cat, Position { x: 0.0, y: 0.0 })?;
/// world.attach(cat, Follow { whom: ada })?;
///
/// let whom = world.get::<Follow>(cat).map(|follow| follow.whom);
/// assert_eq!(whom.and_then(|id| world.name(id)), Some("Ada"));
/// for (position, follow) in world.query_mut::<(&mut Position, Option<&Follow>)>()? {
///     position.x += if follow.is_some() { 1.0 } else { 0.0 };
/// }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("town.sav");
/// let mut saves = SaveManager::new();
/// saves.save_value(&path, &world)?;
///
/// // In the next run.
/// let mut saves = SaveManager::new();
/// saves.register_component::<Position>()?;
/// saves.register_component::<Follow>()?;
/// let (world, _report) = saves.load_value::<World>(&path)?;
/// assert_eq!(world.find("Cat"), Some(cat));
/// assert_eq!(world.get::<Position>(cat).map(|position| position.x), Some(1.0));
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Default)]
pub struct World {
    pub(super) directory: Directory,
    pub(super) objects: Column<Object>,
    pub(super) columns: Vec<ColumnEntry>,
    pub(super) by_type: HashMap<TypeId, usize>,
    /// The columns by the names of their classes.
    pub(super) by_class: HashMap<String, usize>,
    pub(super) shapes: Shapes,
    pub(super) bundles: Bundles,
    pub(super) names: Names,
    pub(super) resources: Resources,
    /// Objects that are out of the world and may come back, by the one at the top.
    pub(super) parked: BTreeMap<ObjectId, Parked>,
    /// For each of these objects, and of those below them, the one at the top.
    pub(super) parked_below: HashMap<ObjectId, ObjectId>,
    /// The largest id given so far.
    pub(super) last_id: u64,
    pub(super) count: usize,
    /// How many pages have lost their last object, at most.
    pub(super) emptied: usize,
    pub(super) registry: Registry,
    /// How many methods of components run; meanwhile, changes of objects and components wait.
    pub(super) running: u32,
    /// True once nothing more can be attached, since the last methods run.
    pub(super) is_dropped: bool,
    pub(super) commands: VecDeque<Command>,
    /// Objects with components that have not been started; some may have been since.
    pub(super) waiting: Vec<ObjectId>,
    /// Objects that are removed at the end of the frame, if they are still expired then.
    pub(super) expired: VecDeque<ObjectId>,
    /// True if there are, or were, components of classes that the program does not have.
    pub(super) has_unknown: bool,
    /// For changes of fields.
    pub(super) room: Room,
    pub(crate) paths: Paths,
    pub(super) numbers: Numbers,
    identity: Identity,
}

/// An iterator whose items have been counted.
struct Counted<I> {
    iter: I,
    rest: usize,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let item = self.iter.next()?;
        self.rest = self.rest.saturating_sub(1);
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest, Some(self.rest))
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}

/// A number that no other world of this process has.
struct Identity(u64);

impl Default for Identity {
    fn default() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// A column and what is known of its type.
pub(super) struct ColumnEntry {
    pub(super) column: Box<dyn AnyColumn>,
    pub(super) of: ComponentType,
    /// The bits of the methods that the type may have.
    pub(super) hooks: u8,
}

// A world is loaded on one thread and played on another; registries are shared by many.
const _: fn() = || {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    is_send::<World>();
    is_shared::<Registry>();
    is_shared::<crate::Unknown>();
    is_shared::<super::Prefab>();
};

/// The largest number that an id of a world may have: far more than can be given.
pub(super) const LAST_ID: u64 = 1 << 62;

impl World {
    /// A world without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an object of this name. If an object has it, or one that may come back had it, the new name ends with the
    /// lowest free number.
    ///
    /// An empty name is none: such an object costs nothing for names, and [`find`](Self::find) never returns it.
    ///
    /// While a component's method runs, the object is there, and has its name, from the end of the phase on.
    ///
    /// # Example
    ///
    /// ```
    /// let mut world = persist::World::new();
    /// let doors = ["Door", "Door", "Door"].map(|name| world.spawn(name));
    /// assert_eq!(doors.map(|door| world.name(door).unwrap()), ["Door", "Door1", "Door2"]);
    /// world.remove(doors[1]);
    /// let door = world.spawn("Door");
    /// assert_eq!(world.name(door), Some("Door1"));
    /// assert_ne!(door, doors[1]);
    /// ```
    ///
    /// # Panics
    ///
    /// If all of 2⁶² ids have been given.
    pub fn spawn(&mut self, name: &str) -> ObjectId {
        let id = self.new_id();
        if self.is_running() {
            self.commands.push_back(Command::Spawn(id, name.into()));
        } else {
            self.flush();
            self.spawn_now(id, name);
        }
        id
    }

    /// Makes an object below another one, as its last child.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the parent is not there; then no object is made.
    pub fn spawn_in(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId> {
        self.flush();
        self.check_or_expect(parent)?;
        let id = self.spawn(name);
        self.set_parent(id, Some(parent))?;
        Ok(id)
    }

    pub(super) fn new_id(&mut self) -> ObjectId {
        self.last_id += 1;
        assert!(self.last_id < LAST_ID, "the ids of a world are used up");
        ObjectId::new(self.last_id).expect("it is more than 0")
    }

    pub(super) fn spawn_now(&mut self, id: ObjectId, name: &str) -> Place {
        let name = self.name_newcomer(id, name);
        self.enter(id, Object::new(name))
    }

    /// Gives an object without a name this one, or this one with the lowest free number; an empty one is none.
    pub(super) fn name_newcomer(&mut self, id: ObjectId, name: &str) -> Option<Name> {
        if name.is_empty() {
            return None;
        }
        let name = self.names.hold_free(name);
        self.names.give(name, id);
        Some(name)
    }

    /// Puts an object in.
    pub(super) fn enter(&mut self, id: ObjectId, object: Object) -> Place {
        let (place, is_new) = self.directory.enter(id);
        if is_new {
            self.objects.insert_page(place.page);
            self.columns.iter_mut().for_each(|entry| entry.column.insert_page(place.page));
        }
        if self.objects.insert(place, object).is_none() {
            self.count += 1;
        }
        place
    }

    /// Takes an object out, without its components.
    pub(super) fn take_object(&mut self, place: Place) -> Option<Object> {
        let object = self.objects.remove(place)?;
        self.count -= 1;
        self.emptied += usize::from(self.objects.page(place.page).is_some_and(Page::is_empty));
        Some(object)
    }

    /// The largest id that was given so far.
    pub(crate) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Gives no id up to this one any more; false if there are none after it.
    pub(crate) fn give_behind(&mut self, id: u64) -> bool {
        let is_possible = id <= LAST_ID / 2;
        if is_possible {
            self.last_id = self.last_id.max(id);
        }
        is_possible
    }

    /// Identifies this world among all worlds.
    pub(crate) fn identity(&self) -> u64 {
        self.identity.0
    }

    /// True if the object is there.
    #[must_use]
    pub fn contains(&self, object: ObjectId) -> bool {
        self.object(object).is_some()
    }

    /// All objects, in the order in which they were made. How many they are, `objects().len()` says in constant time.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = ObjectId> + use<'_> {
        let objects = (0..self.directory.len()).flat_map(move |page| {
            let bits = self.objects.page(page).into_iter().flat_map(Page::bits);
            bits.filter_map(move |bit| self.directory.id(page, bit))
        });
        Counted { iter: objects, rest: self.count }
    }

    /// The object of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ObjectId> {
        self.names.find(name)
    }

    /// The name of an object, if it is there and has one.
    #[must_use]
    pub fn name(&self, object: ObjectId) -> Option<&str> {
        let found = self.object(object)?;
        let name = found.name?;
        Some(self.names.base(name).unwrap_or_else(|| found.text(|| self.names.text(name))))
    }

    /// Gives an object this name, or this name with the lowest free number if another has it; returns what it got. The
    /// name of a parked object it can have until that one comes back. An empty name takes its name away.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there.
    pub fn rename(&mut self, object: ObjectId, name: &str) -> Result<&str> {
        let old = self.check(object)?.name;
        if self.name(object).unwrap_or_default() != name {
            // Of the names that it could have, its own is free.
            old.into_iter().for_each(|old| self.names.leave(old));
            let new = (!name.is_empty()).then(|| match self.names.find(name) {
                None => self.names.hold(name),
                Some(_) => self.names.hold_free(name),
            });
            old.into_iter().for_each(|old| self.names.drop(old));
            if let Some(new) = new {
                self.names.give(new, object);
            }
            if let Some(object) = self.object_mut(object) {
                object.set_name(new);
            }
        }
        Ok(self.name(object).unwrap_or_default())
    }

    /// Gives an object just this name.
    pub(crate) fn rename_to(&mut self, object: ObjectId, name: &str) -> Result<()> {
        self.check(object)?;
        if let Some(other) = self.find(name).filter(|other| *other != object) {
            let message = format!("object {other} is called `{name}` by now; rename that first");
            return Err(Error::new(ErrorKind::AlreadyExists, message).in_object(object.get()));
        }
        self.rename(object, name).map(drop)
    }

    /// The name of an object that is there, for labels and changes; empty if it has none.
    pub(crate) fn shared_name(&self, object: ObjectId) -> Option<Arc<str>> {
        self.name_at(self.directory.place(object)?)
    }

    /// The name of the object of a place.
    pub(super) fn name_at(&self, place: Place) -> Option<Arc<str>> {
        let found = self.objects.get(place)?;
        Some(match found.name {
            None => Arc::default(),
            Some(name) => match self.names.base(name) {
                Some(base) => Arc::clone(base),
                None => Arc::clone(found.text(|| self.names.text(name))),
            },
        })
    }

    pub(super) fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(self.directory.place(id)?)
    }

    pub(super) fn object_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.objects.get_mut(self.directory.place(id)?)
    }

    /// The object, or an error that says that it is not there.
    pub(super) fn check(&self, id: ObjectId) -> Result<&Object> {
        self.object(id).ok_or_else(|| missing(id))
    }

    /// True while a component's method runs.
    pub(super) fn is_running(&self) -> bool {
        self.running > 0
    }

    /// An object that is there, or is about to be at the end of the phase.
    pub(super) fn check_or_expect(&self, id: ObjectId) -> Result<()> {
        if self.is_dropped {
            return Err(Error::new(ErrorKind::NotFound, "the world is being dropped"));
        }
        // Mostly it is one of the last.
        let is_expected = || self.commands.iter().rev().any(|command| command.brings(id));
        if self.contains(id) || is_expected() { Ok(()) } else { Err(missing(id)) }
    }

    /// The columns of the components of an object, in order.
    pub(super) fn shape_of(&self, object: ObjectId) -> Arc<[usize]> {
        self.object(object).map_or_else(Arc::default, |object| self.shapes.share(object.shape))
    }

    /// Drops pages without objects, when they have become many.
    pub(super) fn compact(&mut self) {
        if self.emptied < 16 || self.emptied * 2 < self.directory.len() {
            return;
        }
        let keep: Vec<bool> = (0..self.directory.len())
            .map(|page| self.objects.page(page).is_some_and(|page| !page.is_empty()))
            .collect();
        // Some may have been filled again since.
        self.emptied = keep.iter().filter(|keep| !**keep).count();
        if self.emptied * 2 < keep.len() {
            return;
        }
        self.emptied = 0;
        self.directory.retain_pages(&keep);
        self.objects.retain_pages(&keep);
        self.columns.iter_mut().for_each(|entry| entry.column.retain_pages(&keep));
    }

    /// Whether an object is updated.
    #[must_use]
    pub fn activity(&self, object: ObjectId) -> Option<Activity> {
        self.object(object).map(|object| object.activity)
    }
}

#[cold]
pub(super) fn missing(id: ObjectId) -> Error {
    Error::new(
        ErrorKind::NotFound,
        "the object is not in the world; it was removed, or never made here",
    )
    .in_object(id.get())
}

/// Every component is released.
impl Drop for World {
    fn drop(&mut self) {
        self.release_all();
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.columns.iter().map(|entry| (entry.of.name)());
        f.debug_struct("World")
            .field("objects", &self.count)
            .field("components", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
