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

// A map of the files that are not public.
//
// - Data: this file (the records that several files use), `component` (the traits), `object` and `children` (the tree),
//   `names`, `column` and `directory` (values by object), `resources`.
// - Iteration: `column::query` with `column::cursor` and `column::zipped`, and `visit`.
// - Operations: `objects` has the private ones. Below it are the files that use them: `public`, `fields` (by path),
//   `phases` (the life cycle), `bundle`, `prefab`. `references` finds the fields that hold an id.
// - Save: `objects::saving` and `stored` (encode), `objects::load` (decode).
// - Histories: `objects::edits` and `objects::change` (edits as data); `objects::detached`, `objects::parked` and
//   `recorded` (what an undo brings back).

pub(crate) mod children;
mod column;
mod component;
mod directory;
mod names;
mod object;
pub(crate) mod objects;
#[cfg(feature = "history")]
mod recorded;
mod references;
mod resources;
mod stored;
mod visit;

use std::any::{Any, TypeId};
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;

use crate::codec::Unknown;
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
use object::{Shape, Shapes};
use objects::Bundles;
use resources::AnyResource;

pub use column::query::Query;
pub use object::Activity;
pub use objects::{Bundle, ExternalIds, InstantiatedObject, Prefab};
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
    /// Returns true if a value may hold a world, which has ids of its own.
    holds_world: fn() -> bool,
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
    /// Removed objects that an undo may bring back, with their descendants, by the id of the topmost object.
    parked: HashMap<ObjectId, Parked>,
    /// The topmost object of each parked object.
    parked_below: HashMap<ObjectId, ObjectId>,
    /// The largest id that was assigned so far.
    last_id: u64,
    count: usize,
    /// An upper bound of the number of pages without objects.
    emptied: usize,
    registry: Registry,
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
    /// True if there are, or were, components of classes that the program does not have.
    has_unknown: bool,
    /// Buffers for changes of fields.
    buffers: PartBuffers,
    numbers: Numbers,
    identity: Identity,
}

/// A cache of the paths that lead to plain numbers in components, which are set in place.
#[derive(Default)]
struct Numbers {
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
}

impl ColumnEntry {
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
    /// Adds the objects of a prefab, in ascending order of their ids.
    Place(Vec<ParkedObject>),
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
            Self::Place(objects) => objects.binary_search_by_key(&id, |object| object.id).is_ok(),
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

/// A component of a class that the program does not have.
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

/// The resources of a world.
#[derive(Default)]
struct Resources {
    /// The values, in the order of their class names, so that equal worlds have equal bytes.
    values: Vec<(TypeId, String, Box<dyn AnyResource>)>,
    /// Resources of classes that the program does not have.
    unknown: Vec<Unknown>,
}

/// Parts that most objects do not have.
#[derive(Default)]
struct ObjectExtras {
    children: Children,
    unknown: Vec<UnknownEntry>,
    /// The text of the name, if it was requested and is not the base of the name.
    text: OnceCell<Arc<str>>,
}
