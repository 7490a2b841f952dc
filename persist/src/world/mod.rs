//! Objects made of components, with names, a tree and a life cycle.
//!
//! A [`World`] stores its objects by [`ObjectId`], and each type of component in a column of its own.
//! Queries and updates visit the objects in the order in which they were spawned.
//!
//! ```
//! use persist::{Component, ObjectId, Persist, World};
//!
//! #[derive(Persist)]
//! struct Health(u32);
//! impl Component for Health {}
//!
//! let mut world = World::new();
//! let rat = world.spawn("Rat");
//! world.attach(rat, Health(3))?;
//! for (object, health) in world.query_mut::<(ObjectId, &mut Health)>()? {
//!     assert_eq!(object, rat);
//!     health.0 -= 1;
//! }
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`World`], [`Activity`] | spawns, changes, pauses and removes objects |
//! | [`Bundle`] | components that an object is spawned with |
//! | [`Component`], [`ComponentScope`] | a type that objects have, its `on_start`, `on_update` and other hooks |
//! | [`Query`] | iterates over the objects that have certain components |
//! | [`Reference`] | a field that holds the id of an object |
//! | [`FieldPath`] | a field by its name: `Transform:position.x` |
//! | [`Prefab`], [`ExternalIds`], [`InstantiatedObject`] | an object with its descendants, copied and placed any number of times |
//! | [`Snapshot`] | the state of a world in memory, which shares what did not change with the one before |

// A map of the files that are not public.
//
// - Data: this file (the records that several files use: the world, its objects and their shapes, its resources),
//   `component` and `resources` (the traits), `children` (the tree), `names`, `column` and `directory` (values by
//   object).
// - Iteration: `column::query` with `column::cursor` and `column::zipped`, and `visit`.
// - Operations: `objects` has the private ones. Below it are the files that use them: `public`, `fields` (by path),
//   `phases` (the life cycle), `bundle`, `prefab`. `references` finds the fields that hold an id.
// - Save: `objects::saving`, `stored` and `sibling_index` (encode), `page_cache` (pages, and those of earlier saves),
//   `objects::load` (decode).
// - Snapshots: `objects::snapshot`, of the blocks of `column::blocks`.
// - Histories: `objects::edits` and `objects::detached::change` (edits as data); `objects::detached`, `objects::parked`
//   and `recorded` (what an undo brings back), `touched` (the objects that have changed).

pub(crate) mod children;
mod column;
mod component;
mod directory;
mod names;
pub(crate) mod objects;
mod page_cache;
#[cfg(feature = "history")]
mod recorded;
mod references;
mod resources;
mod sibling_index;
mod stored;
mod touched;
mod visit;

use std::any::{Any, TypeId};
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;

use crate::codec::{TraitObject as _, TypeSet, Unknown};
#[cfg(feature = "history")]
use crate::fields::NumberFields;
use crate::fields::{NumberField, PartBuffers};
use crate::graph::Registry;
use crate::{FieldPath, ObjectId, Result};
use children::Children;
use column::Column;
use component::{AnyColumn, AnyComponent};
use directory::Directory;
use names::{Name, Names};
use objects::Bundles;
use page_cache::PageCache;
use resources::AnyResource;
#[cfg(feature = "history")]
use touched::TouchLog;

pub use column::query::Query;
pub use objects::{Bundle, ExternalIds, InstantiatedObject, Prefab, Snapshot};
#[cfg(feature = "history")]
pub(crate) use objects::{Detached, WorldChange};

// The crate root re-exports these, and documents them there.
#[doc(hidden)]
pub use crate::fields::{
    Sendable,
    shared_name::{read_name, write_name},
};
#[doc(hidden)]
pub use component::Component;
#[doc(hidden)]
pub use references::Reference;
#[doc(hidden)]
pub use resources::assert_sendable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramePhase {
    Start = 0,
    PreUpdate = 1,
    Update = 2,
    PostUpdate = 3,
    Release = 4,
}

impl FramePhase {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The functions and properties of a component type.
#[derive(Clone, Copy)]
struct ComponentType {
    id: TypeId,
    name: fn() -> String,
    new_column: fn() -> Box<dyn AnyColumn>,
    /// Runs a method of the component of an object.
    run: fn(&mut World, usize, ObjectId, FramePhase, f64),
    /// Runs `on_release` of a component that was taken out of its column.
    release: fn(&mut World, usize, ObjectId, Box<dyn Any>),
    /// True if values have neither references nor hooks.
    is_leaf: bool,
    /// Adds the types that the type reaches.
    reach: fn(&mut TypeSet),
    register: fn(&mut Registry) -> Result<()>,
    /// Creates an empty component, with the program's factory if it registered one.
    make: fn(&Registry) -> Result<Box<dyn AnyComponent>>,
}

/// A collection of objects, which are made of components and form a tree.
///
/// An object is an id. It may have a unique name, a parent and children, and components: values of types that implement
/// [`Component`], at most one of each type. Ids are never reused, also not after a load. So an id in
/// a field of a component is a reference to an object. After the object is removed, it refers to no object, and never
/// to another one.
///
/// Iteration, updates and saves visit the objects in the order in which they were spawned.
///
/// # Example
///
/// ```
/// use persist::{Component, ObjectId, Persist, Saves, World};
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
/// persist::save(&path, &world)?;
///
/// // In the next run.
/// let saves = Saves::new();
/// saves.register_component::<Position>()?;
/// saves.register_component::<Follow>()?;
/// let world = saves.file(&path).load::<World>()?;
/// assert_eq!(world.find("Cat"), Some(cat));
/// assert_eq!(world.get::<Position>(cat).map(|position| position.x), Some(1.0));
/// # Ok::<(), persist::Error>(())
/// ```
// The root of the crate documents it.
#[doc(hidden)]
#[derive(Default)]
pub struct World {
    directory: Directory,
    objects: Column<Object>,
    columns: Vec<ColumnEntry>,
    by_type: HashMap<TypeId, usize>,
    /// The columns by the names of their classes.
    by_class: HashMap<String, usize>,
    shapes: Shapes,
    bundles: Bundles,
    names: Names,
    resources: Resources,
    parking: Parking,
    /// The largest id that was assigned so far.
    last_id: u64,
    count: usize,
    /// An upper bound of the number of pages without objects.
    emptied: usize,
    registry: Registry,
    deferred: Deferred,
    /// True if there are, or were, components of classes that the program does not have.
    has_unknown: bool,
    numbers: Numbers,
    identity: Identity,
    page_cache: RefCell<PageCache>,
    #[cfg(feature = "history")]
    touched: TouchLog,
}

/// Whether an object is updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::Persist)]
#[persist(crate = crate, class = "persist.Activity")]
pub enum Activity {
    /// The object is updated in each frame, unless an ancestor is not active.
    #[default]
    #[persist(empty)]
    Active,
    /// Neither the object nor its descendants are updated, until it is active again.
    Paused,
    /// Neither the object nor its descendants are updated, and they are removed at the end of the frame.
    Expired,
}

/// The removed objects of a world that an undo may bring back.
#[derive(Default)]
struct Parking {
    /// The objects with their descendants, by the id of the topmost object.
    parked: HashMap<ObjectId, Parked>,
    /// The topmost object of each parked object.
    topmost: HashMap<ObjectId, ObjectId>,
}

/// The work that a world defers while methods of components run, or until the next frame.
#[derive(Default)]
struct Deferred {
    /// The number of methods of components that are running. While it is not 0, changes of objects and components are
    /// deferred.
    running: u32,
    /// True while the world is dropped and runs the last `on_release` methods; nothing can be attached any more.
    is_dropped: bool,
    commands: VecDeque<DeferredChange>,
    /// Objects that may have components that have not been started.
    waiting: Vec<ObjectId>,
    /// Objects that are removed at the end of the frame, if they are still expired then.
    expired: VecDeque<ObjectId>,
}

/// A cache of the paths that lead to plain numbers in components, which are set in place.
#[derive(Default)]
struct Numbers {
    /// Buffers for changes of fields.
    buffers: PartBuffers,
    /// The fields, each with the column of its component.
    known: Vec<(usize, NumberField)>,
    by_path: HashMap<FieldPath, u32>,
    /// For each column, all fields of its components if these consist of plain numbers. The outer option is `None`
    /// until it is first needed.
    #[cfg(feature = "history")]
    of_columns: Vec<Option<Option<Arc<NumberFields>>>>,
}

/// A number that is unique among the worlds of this process, so that a cached number of a path is not used in another
/// world.
struct Identity(u64);

impl Default for Identity {
    fn default() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// A column with its type.
struct ColumnEntry {
    column: Box<dyn AnyColumn>,
    of: ComponentType,
    /// The bits of the phases whose methods the type may have. A bit is cleared when a default method runs.
    hooks: u8,
    /// True if the bytes of a component change only when it is handed out mutably.
    is_frozen: OnceCell<bool>,
}

impl ColumnEntry {
    fn is_frozen(&self) -> bool {
        *self.is_frozen.get_or_init(|| self.of.types().is_frozen())
    }

    #[inline]
    fn typed<T: Component>(&self) -> Option<&Column<T>> {
        (&*self.column as &dyn Any).downcast_ref()
    }

    #[inline]
    fn typed_mut<T: Component>(&mut self) -> Option<&mut Column<T>> {
        (&mut *self.column as &mut dyn Any).downcast_mut()
    }
}

/// An object that was taken out of the world, with its descendants.
struct Parked {
    /// The objects, each before its descendants.
    objects: Vec<ParkedObject>,
    /// The index that it had among the children of its parent.
    #[cfg_attr(not(feature = "history"), allow(dead_code, reason = "an undo puts it back there"))]
    index: u64,
    /// True if the names of the objects are reserved.
    keeps_names: bool,
}

/// An object that is not in the world, with its components.
struct ParkedObject {
    id: ObjectId,
    object: Object,
    /// The components with their columns, in the order in which they were attached.
    components: Vec<(usize, Box<dyn AnyComponent>)>,
}

/// A change that is deferred to the end of the phase.
enum DeferredChange {
    /// Adds an object with the requested name.
    Spawn(ObjectId, Box<str>),
    /// Adds the objects of a prefab, which are in a world of their own.
    Place(Box<World>),
    /// Adds the objects of a prefab, each with its requested name.
    PlaceCopies(Vec<(ParkedObject, Arc<str>)>),
    Attach(ObjectId, usize, Box<dyn AnyComponent>),
    Detach(ObjectId, usize),
    Remove(ObjectId),
    /// Moves an object to an index among the children of a parent, or to the top.
    SetParent(ObjectId, Option<ObjectId>, usize),
}

impl DeferredChange {
    /// Returns true if the change adds this object.
    fn adds(&self, id: ObjectId) -> bool {
        match self {
            Self::Spawn(new, _) => *new == id,
            Self::Place(part) => part.contains(id),
            Self::PlaceCopies(objects) => objects.iter().any(|(object, _)| object.id == id),
            _ => false,
        }
    }
}

/// The upper bound of ids. A program cannot reach it by spawning; a load accepts ids up to half of it.
// The tools need it, and no program does.
#[doc(hidden)]
pub const LAST_ID: u64 = 1 << 62;

/// An object without its components. A world has one of these for each object, so it is small.
#[derive(Default)]
struct Object {
    name: Option<Name>,
    parent: Option<ObjectId>,
    rare: OnceCell<Box<ObjectExtras>>,
    /// The components of the object, in the order in which they were attached.
    shape: Shape,
    /// The number of components that have been started. They come before the others.
    started: u16,
    activity: Activity,
    /// True if the object or an ancestor is not active, so that it is not updated.
    is_held: bool,
}

impl Object {
    fn new(name: Option<Name>) -> Self {
        Self { name, ..Self::default() }
    }

    /// Returns the children, in order.
    fn children(&self) -> &Vec<ObjectId> {
        static NONE: Vec<ObjectId> = Vec::new();
        self.rare.get().map_or(&NONE, |rare| rare.children.list())
    }

    /// Returns the children that may have another index than at the last call.
    fn moved_children(&self) -> &[ObjectId] {
        self.rare.get().map_or(&[], |rare| rare.children.take_moved())
    }

    fn has_children(&self) -> bool {
        self.rare.get().is_some_and(|rare| !rare.children.is_empty())
    }

    /// Returns true if the object is active, and has no components of unknown classes.
    #[inline]
    fn is_plain(&self) -> bool {
        self.activity == Activity::Active
            && self.rare.get().is_none_or(|rare| rare.unknown.is_empty())
    }

    #[cfg(feature = "history")]
    fn position(&self, child: ObjectId) -> Option<usize> {
        self.rare.get()?.children.position(child)
    }

    fn children_mut(&mut self) -> &mut Children {
        &mut self.rare_mut().children
    }

    fn remove_child(&mut self, child: ObjectId) {
        if let Some(rare) = self.rare.get_mut() {
            rare.children.remove(child);
        }
    }

    /// Returns the components of classes that the program does not have.
    fn unknown(&self) -> &[UnknownEntry] {
        self.rare.get().map_or(&[], |rare| &rare.unknown)
    }

    fn unknown_mut(&mut self) -> &mut [UnknownEntry] {
        self.rare.get_mut().map_or(&mut [], |rare| &mut rare.unknown)
    }

    fn unknown_list(&mut self) -> &mut Vec<UnknownEntry> {
        &mut self.rare_mut().unknown
    }

    /// Returns the cached text of the name.
    fn text(&self, make: impl FnOnce() -> String) -> &Arc<str> {
        let rare = self.rare.get_or_init(Box::default);
        rare.text.get_or_init(|| make().into())
    }

    /// Sets or removes the name.
    fn set_name(&mut self, name: Option<Name>) {
        self.name = name;
        if let Some(rare) = self.rare.get_mut() {
            rare.text = OnceCell::new();
        }
    }

    fn rare_mut(&mut self) -> &mut ObjectExtras {
        self.rare.get_or_init(Box::default);
        self.rare.get_mut().expect("it was made just now")
    }

    /// Removes a column from the shape, after its component was taken out.
    fn lose(&mut self, column: usize, shapes: &mut Shapes) {
        let position = shapes.columns(self.shape).iter().position(|at| *at == column);
        let Some(position) = position else { return };
        self.started -= u16::from(position < usize::from(self.started));
        let unknown = self.unknown_mut().iter_mut();
        unknown.for_each(|entry| entry.preceding -= usize::from(position < entry.preceding));
        self.shape = shapes.without(self.shape, column);
    }
}

/// A component of an object: its column, or its index among the components of unknown classes.
#[derive(Clone, Copy)]
enum ComponentIndex {
    Known(usize),
    Unknown(usize),
}

/// The columns of an object's components, in the order in which they were attached. Objects with the same components
/// share a shape, which is the index of the list of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Shape(u32);

/// All shapes of a world. The first is the shape without components.
struct Shapes {
    shapes: Vec<Arc<[usize]>>,
    by_columns: HashMap<Arc<[usize]>, Shape>,
    /// The shape with one more column at the end, so that attaching a component needs one lookup.
    wider: HashMap<(Shape, usize), Shape>,
    /// The shape without a column.
    narrower: HashMap<(Shape, usize), Shape>,
}

impl Default for Shapes {
    fn default() -> Self {
        let mut shapes = Self {
            shapes: Vec::new(),
            by_columns: HashMap::new(),
            wider: HashMap::new(),
            narrower: HashMap::new(),
        };
        shapes.of(&[]);
        shapes
    }
}

impl Shapes {
    fn of(&mut self, columns: &[usize]) -> Shape {
        if let Some(shape) = self.by_columns.get(columns) {
            return *shape;
        }
        let columns: Arc<[usize]> = columns.into();
        let shape = Shape(u32::try_from(self.shapes.len()).expect("each shape takes memory"));
        self.shapes.push(columns.clone());
        self.by_columns.insert(columns, shape);
        shape
    }

    fn len(&self) -> usize {
        self.shapes.len()
    }

    fn columns(&self, shape: Shape) -> &[usize] {
        self.shapes.get(Self::index(shape)).map_or(&[], |columns| columns)
    }

    /// Iterates over the components of an object, including unknown ones, in the order in which they were attached.
    fn parts<'o>(&'o self, object: &'o Object) -> impl Iterator<Item = ComponentIndex> + 'o {
        let mut columns = self.columns(object.shape).iter();
        let (all, mut unknown) = (columns.len(), object.unknown().iter().enumerate().peekable());
        std::iter::from_fn(move || {
            let passed = all - columns.len();
            let is_next = |(_, entry): &(usize, &UnknownEntry)| entry.preceding <= passed;
            match unknown.next_if(is_next) {
                Some((index, _)) => Some(ComponentIndex::Unknown(index)),
                None => match columns.next() {
                    Some(column) => Some(ComponentIndex::Known(*column)),
                    None => unknown.next().map(|(index, _)| ComponentIndex::Unknown(index)),
                },
            }
        })
    }

    /// Returns the columns of a shape, shared so that objects can change meanwhile.
    fn share(&self, shape: Shape) -> Arc<[usize]> {
        self.shapes.get(Self::index(shape)).cloned().unwrap_or_default()
    }

    /// Returns the shape with one more column at the end.
    fn with(&mut self, shape: Shape, column: usize) -> Shape {
        if let Some(wider) = self.wider.get(&(shape, column)) {
            return *wider;
        }
        let columns: Vec<usize> = self.columns(shape).iter().copied().chain([column]).collect();
        let wider = self.of(&columns);
        self.wider.insert((shape, column), wider);
        wider
    }

    fn without(&mut self, shape: Shape, column: usize) -> Shape {
        if let Some(narrower) = self.narrower.get(&(shape, column)) {
            return *narrower;
        }
        let columns = self.columns(shape).iter().copied();
        let columns: Vec<usize> = columns.filter(|other| *other != column).collect();
        let narrower = self.of(&columns);
        self.narrower.insert((shape, column), narrower);
        narrower
    }

    /// Returns for each shape whether one of its columns fulfils a condition.
    fn any(&self, test: impl Fn(usize) -> bool) -> Vec<bool> {
        self.shapes.iter().map(|columns| columns.iter().any(|column| test(*column))).collect()
    }

    fn index(shape: Shape) -> usize {
        shape.0 as usize
    }
}

/// A component of a class that the program does not have.
#[derive(Clone)]
struct UnknownEntry {
    /// The number of known components before it.
    preceding: usize,
    is_started: bool,
    content: Unknown,
}

/// The world and the object that a method of a component runs in.
// The root of the crate documents it.
#[doc(hidden)]
pub struct ComponentScope<'w> {
    /// The world, without the component whose method runs.
    pub world: &'w mut World,
    object: ObjectId,
    step: f64,
    /// The index of the component's column.
    column: usize,
}

/// The place of an id: the same in every column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Location {
    page: usize,
    bit: u32,
}

/// Returns the name of the class of a component, or of that whose unknown fields it is.
fn class_of(world: &World, object: &Object, part: ComponentIndex) -> String {
    match part {
        ComponentIndex::Known(column) => (world.columns[column].of.name)(),
        ComponentIndex::Unknown(index) => {
            let content = &object.unknown()[index].content;
            content.component().unwrap_or(content.class()).to_owned()
        }
    }
}

/// Returns the classes of the components of an object as a save lists them: those of unknown fields come first.
fn saved_classes(world: &World, object: ObjectId) -> Vec<String> {
    let location = world.directory.location(object);
    let Some(found) = location.and_then(|at| world.objects.get(at)) else { return Vec::new() };
    let is_saved = |part: &ComponentIndex| match part {
        ComponentIndex::Known(_) => true,
        ComponentIndex::Unknown(index) => lasts(world, found, &found.unknown()[*index].content),
    };
    let parts = world.shapes.parts(found).filter(is_saved);
    parts.map(|part| class_of(world, found, part)).collect()
}

/// True unless it holds unknown fields of a component that was detached.
fn lasts(world: &World, object: &Object, unknown: &Unknown) -> bool {
    unknown.component().is_none_or(|class| {
        world.shapes.parts(object).any(|part| match part {
            ComponentIndex::Known(column) => (world.columns[column].of.name)() == class,
            ComponentIndex::Unknown(index) => object.unknown()[index].content.class() == class,
        })
    })
}

/// The resources of a world.
#[derive(Default)]
struct Resources {
    /// The values, in the order of their class names, so that equal worlds have equal bytes.
    values: Vec<(TypeId, String, Box<dyn AnyResource>)>,
    /// Resources of classes that the program does not have.
    unknown: Vec<Unknown>,
}

impl Resources {
    /// Returns the names of all classes, with unknown ones at the end.
    fn classes(&self) -> Vec<String> {
        let known = self.values.iter().map(|(_, name, _)| name.clone());
        let unknown = self.unknown.iter().filter(|unknown| unknown.component().is_none());
        known.chain(unknown.map(|unknown| unknown.class().to_owned())).collect()
    }

    /// Returns the names of all classes as a save lists them: those of unknown fields come first.
    fn saved_classes(&self) -> impl Iterator<Item = &str> {
        let of_parts = self.unknown.iter().filter(|unknown| self.lasts(unknown));
        let whole = self.unknown.iter().filter(|unknown| unknown.component().is_none());
        let known = self.values.iter().map(|(_, name, _)| &**name);
        of_parts.filter_map(Unknown::component).chain(known).chain(whole.map(Unknown::class))
    }

    /// True unless it holds unknown fields of a resource that was removed.
    fn lasts(&self, unknown: &Unknown) -> bool {
        unknown.component().is_none_or(|class| {
            self.position(class).is_some() || self.unknown.iter().any(|it| it.class() == class)
        })
    }

    fn position(&self, class: &str) -> Option<usize> {
        self.values.iter().position(|(_, name, _)| name == class)
    }

    fn insert(&mut self, value: Box<dyn AnyResource>) -> Option<Box<dyn AnyResource>> {
        let (id, name) = ((&*value as &dyn Any).type_id(), value.portable().class_name());
        match self.values.iter_mut().find(|(of, ..)| *of == id) {
            Some((.., old)) => Some(std::mem::replace(old, value)),
            None => {
                let at = self.values.partition_point(|(_, other, _)| *other < name);
                self.values.insert(at, (id, name, value));
                None
            }
        }
    }

    fn index<T: 'static>(&self) -> Option<usize> {
        self.values.iter().position(|(of, ..)| *of == TypeId::of::<T>())
    }

    fn get<T: 'static>(&self) -> Option<&T> {
        (&*self.values[self.index::<T>()?].2 as &dyn Any).downcast_ref()
    }

    fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        let at = self.index::<T>()?;
        (&mut *self.values[at].2 as &mut dyn Any).downcast_mut()
    }

    fn remove<T: 'static>(&mut self) -> Option<T> {
        let (.., value) = self.values.remove(self.index::<T>()?);
        (value as Box<dyn Any>).downcast().ok().map(|value| *value)
    }
}

/// Parts that most objects do not have.
#[derive(Default)]
struct ObjectExtras {
    children: Children,
    unknown: Vec<UnknownEntry>,
    /// The text of the name, if it was requested and is not the base of the name.
    text: OnceCell<Arc<str>>,
}
