//! What a world is: its objects in columns, and components, whose methods reach the world in turn.

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;

use super::column::{Column, Page};
use super::directory::{Directory, Location};
use super::names::Names;
use super::object::{Bundles, Object, Shapes};
use super::resources::{Movable, Resources, UnknownComponent};
use crate::codec::persist::Inline;
use crate::codec::{
    Decoder, Encoder, Fail, Persist, Pointee, Stop, apart, count, is_bulky, is_light_box,
};
use crate::fields::{NumberField, NumberFields, PartBuffers};
use crate::graph::Registry;
use crate::{FieldPath, ObjectId, Result};

/// A part of an object: any [`Persist`] type that is `Send`. `#[persist(component)]` beside the derive implements it
/// where no method is wanted.
///
/// A world can go to another thread, so a component has no `Rc`. Refer to an object by its [`ObjectId`]; share other
/// values in an [`Arc`](std::sync::Arc).
///
/// All methods are optional. They are called by [`World::update`](super::World::update) with the component itself, out of
/// its place meanwhile: for its own object, the world has no such component while one of them runs.
/// Objects and components that are made or removed in them are so at the end of the phase, in that order;
/// values are changed at once.
///
/// # Example
///
/// ```
/// use persist::{Component, Context, Persist, World};
///
/// #[derive(Persist)]
/// struct Fuse { seconds: f64 }
///
/// impl Component for Fuse {
///     fn on_update(&mut self, context: &mut Context<'_>) {
///         self.seconds -= context.step();
///         if self.seconds <= 0.0 {
///             context.world.remove(context.object());
///         }
///     }
/// }
///
/// let mut world = World::new();
/// let bomb = world.spawn("Bomb");
/// world.attach(bomb, Fuse { seconds: 1.0 })?;
/// world.update(0.75);
/// assert!(world.contains(bomb));
/// world.update(0.75);
/// assert!(!world.contains(bomb));
/// # Ok::<(), persist::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no component",
    label = "not a `Component`",
    note = "if the type is yours, derive `Persist` and add `#[persist(component)]`, or `impl persist::Component for {Self} {{}}` to give it methods"
)]
pub trait Component: Persist + Pointee + Movable {
    /// Runs once, before the first of the others but [`on_release`](Self::on_release). A save knows whether it ran.
    fn on_start(&mut self, context: &mut Context<'_>) {
        context.not_there(FramePhase::Start);
    }

    /// Runs in every update, before that of any object.
    fn on_pre_update(&mut self, context: &mut Context<'_>) {
        context.not_there(FramePhase::PreUpdate);
    }

    /// Runs in every update.
    fn on_update(&mut self, context: &mut Context<'_>) {
        context.not_there(FramePhase::Update);
    }

    /// Runs in every update, after the updates of all objects.
    fn on_post_update(&mut self, context: &mut Context<'_>) {
        context.not_there(FramePhase::PostUpdate);
    }

    /// Runs once, when the component is replaced, detached, or removed with its object, or when the world is
    /// dropped.
    fn on_release(&mut self, context: &mut Context<'_>) {
        context.not_there(FramePhase::Release);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FramePhase {
    Start = 0,
    PreUpdate = 1,
    Update = 2,
    PostUpdate = 3,
    Release = 4,
}

impl FramePhase {
    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The world and the object in which a method of a component runs.
pub struct Context<'w> {
    /// The world, without the component that runs.
    pub world: &'w mut World,
    pub(super) object: ObjectId,
    pub(super) step: f64,
    /// Index of the column of the component.
    pub(super) column: usize,
}

impl Context<'_> {
    /// The object that the component belongs to.
    #[must_use]
    pub fn object(&self) -> ObjectId {
        self.object
    }

    /// What [`World::update`](super::World::update) was called with; 0 in [`Component::on_release`].
    #[must_use]
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The type has not this method: it need not be asked again.
    fn not_there(&mut self, phase: FramePhase) {
        if let Some(entry) = self.world.columns.get_mut(self.column) {
            entry.hooks &= !phase.bit();
        }
    }
}

/// A component whose type is known at run time only; saves name it `persist.Component`.
#[persist_derive::dynamic(name = "persist.Component", unknown = UnknownComponent, crate = crate)]
pub(crate) trait AnyComponent: Any + Send {
    fn __component_type(&self) -> ComponentType;
}

/// What a world knows of a type of components.
#[derive(Clone, Copy)]
pub(crate) struct ComponentType {
    pub(super) id: TypeId,
    pub(super) name: fn() -> String,
    pub(super) new_column: fn() -> Box<dyn AnyColumn>,
    /// Runs a method of the component of an object.
    pub(super) run: fn(&mut World, usize, ObjectId, FramePhase, f64),
    /// Runs `on_release` of a component that is out of its column.
    pub(super) release: fn(&mut World, usize, ObjectId, Box<dyn Any>),
    /// True if no value has references or hooks.
    pub(super) is_leaf: bool,
    /// Whether a value may hold a world of its own, whose ids are its own.
    pub(super) holds_world: fn() -> bool,
    pub(super) register: fn(&mut Registry) -> Result<()>,
    /// An empty component, by the program's factory if it gave one.
    pub(super) make: fn(&Registry) -> Result<Box<dyn AnyComponent>>,
}

impl Component for UnknownComponent {}

/// A column whose type is known at run time only.
pub(super) trait AnyColumn: Any + Send {
    fn get(&self, location: Location) -> Option<&dyn AnyComponent>;
    fn get_mut(&mut self, location: Location) -> Option<&mut dyn AnyComponent>;
    fn put(&mut self, location: Location, component: Box<dyn AnyComponent>);
    fn remove(&mut self, location: Location) -> Option<Box<dyn AnyComponent>>;
    fn insert_page(&mut self, page: usize);
    fn retain_pages(&mut self, keep: &[bool]);
    fn pages(&self) -> usize;
    /// Where the first component is.
    fn first(&self) -> Option<Location>;
    /// The components of a page, one after the other; `None` if one of them is out of its place, or there are none.
    fn items(&self, page: usize) -> Option<Box<dyn ErasedComponents + '_>>;
    /// Writes the component of a place after the number of its class, as a box holds it; `None` if there is none.
    fn encode(
        &self,
        location: Location,
        number: u64,
        out: &mut Encoder<'_>,
    ) -> Option<Result<(), Stop>>;
    /// Reads the component of a place; false, without reading, if there is one.
    fn decode(&mut self, location: Location, input: &mut Decoder<'_>) -> Result<bool, Fail>;
}

/// Writes a component as a box holds it: the number of its class, and the value.
#[inline]
fn encode<T: Component>(component: &T, number: u64, out: &mut Encoder<'_>) -> Result<(), Stop> {
    out.count_box::<T>(T::__MIN);
    // Both at once, where both have a fixed width.
    if Inline::<T>::FIXED
        && let Ok(short) = u8::try_from(number)
        && number <= count::SHORT
    {
        return out.in_box::<T>(|out| {
            if let [first, value @ ..] = out.take(1 + T::__HEAD)? {
                *first = short;
                component.__encode_head(value);
            }
            Ok(())
        });
    }
    count::encode(number, out)?;
    out.in_box::<T>(|out| out.value(component))
}

/// Components of a type that is known at run time only, to be written one after the other.
pub(super) trait ErasedComponents {
    /// Writes the next one after the number of its class, as a box holds it; `None` if there is none.
    fn encode_next(&mut self, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>>;
    /// Bytes of each without the number, if all have as many and nothing is to be counted.
    fn width(&self) -> Option<usize>;
    /// Writes the next ones, of that width, to these places, each after the number of its class, which is short. Returns
    /// how many bytes each takes.
    fn put_next(&mut self, number: u64, places: &[usize], out: &mut [u8]) -> usize;
}

impl<T: Component> ErasedComponents for std::slice::Iter<'_, T> {
    fn encode_next(&mut self, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>> {
        self.next().map(|component| encode(component, number, out))
    }

    fn width(&self) -> Option<usize> {
        (const { Inline::<T>::FIXED && is_light_box::<T>(T::__MIN) }).then_some(T::__HEAD)
    }

    fn put_next(&mut self, number: u64, places: &[usize], out: &mut [u8]) -> usize {
        let number = count::head(number);
        for (place, component) in places.iter().zip(self) {
            let place = out.get_mut(*place..).and_then(|out| out.get_mut(..1 + T::__HEAD));
            if let Some((first, value)) = place.and_then(<[u8]>::split_first_mut) {
                *first = number;
                component.__encode_head(value);
            }
        }
        1 + T::__HEAD
    }
}

impl<T: Component> AnyColumn for Column<T> {
    fn get(&self, location: Location) -> Option<&dyn AnyComponent> {
        self.get(location).map(|component| component as &dyn AnyComponent)
    }

    fn get_mut(&mut self, location: Location) -> Option<&mut dyn AnyComponent> {
        self.get_mut(location).map(|component| component as &mut dyn AnyComponent)
    }

    fn put(&mut self, location: Location, component: Box<dyn AnyComponent>) {
        if let Ok(component) = (component as Box<dyn Any>).downcast::<T>() {
            self.insert(location, *component);
        }
    }

    fn remove(&mut self, location: Location) -> Option<Box<dyn AnyComponent>> {
        self.remove(location).map(|component| Box::new(component) as Box<dyn AnyComponent>)
    }

    fn insert_page(&mut self, page: usize) {
        self.insert_page(page);
    }

    fn retain_pages(&mut self, keep: &[bool]) {
        self.retain_pages(keep);
    }

    fn pages(&self) -> usize {
        self.pages().len()
    }

    fn first(&self) -> Option<Location> {
        let bit = |(page, of): (usize, &Option<Box<Page<T>>>)| {
            Some(Location { page, bit: of.as_ref()?.bits().next()? })
        };
        self.pages().iter().enumerate().find_map(bit)
    }

    fn items(&self, page: usize) -> Option<Box<dyn ErasedComponents + '_>> {
        let page = self.page(page).filter(|page| !page.is_empty() && page.out().is_none())?;
        Some(Box::new(page.items().iter()))
    }

    fn encode(
        &self,
        location: Location,
        number: u64,
        out: &mut Encoder<'_>,
    ) -> Option<Result<(), Stop>> {
        self.get(location).map(|component| encode(component, number, out))
    }

    fn decode(&mut self, location: Location, input: &mut Decoder<'_>) -> Result<bool, Fail> {
        if self.has(location) {
            return Ok(false);
        }
        charge_pages(self.pages().len(), location, input)?;
        input.charge_box::<T>(T::__MIN)?;
        // What is not registered is inside: this component has not been passed over.
        let registered = |fail| if fail == Fail::Unregistered { Fail::Refused } else { fail };
        if const { is_bulky::<T>() } {
            let component = input.in_box::<T, _>(Decoder::boxed::<T>).map_err(registered)?;
            apart(|| self.insert(location, *component));
            return Ok(true);
        }
        let component = input.in_box::<T, _>(|input| input.value::<T>()).map_err(registered)?;
        self.insert(location, component);
        Ok(true)
    }
}

/// A component on a page of its own takes all pages before in its column.
#[inline]
pub(super) fn charge_pages(
    pages: usize,
    location: Location,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let pages = (location.page + 1).saturating_sub(pages);
    if pages > 1 {
        input.charge(0, (pages * size_of::<Option<Box<u8>>>()) as u64)?;
    }
    Ok(())
}

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
    pub(super) parked: HashMap<ObjectId, Parked>,
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
    pub(super) commands: VecDeque<DeferredChange>,
    /// Objects with components that have not been started; some may have been since.
    pub(super) waiting: Vec<ObjectId>,
    /// Objects that are removed at the end of the frame, if they are still expired then.
    pub(super) expired: VecDeque<ObjectId>,
    /// True if there are, or were, components of classes that the program does not have.
    pub(super) has_unknown: bool,
    /// For changes of fields.
    pub(super) buffers: PartBuffers,
    pub(super) numbers: Numbers,
    pub(super) identity: Identity,
}

/// The paths that lead to plain numbers in components.
#[derive(Default)]
pub(super) struct Numbers {
    /// With the columns of the components.
    pub(super) known: Vec<(usize, NumberField)>,
    pub(super) by_path: HashMap<FieldPath, u32>,
    /// All fields of the components of a column, if these have nothing but plain numbers, once that was asked for.
    pub(super) of_columns: Vec<Option<Option<Arc<NumberFields>>>>,
}

/// A number that no other world of this process has.
pub(super) struct Identity(pub(super) u64);

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

impl ColumnEntry {
    #[inline]
    pub(super) fn typed<T: Component>(&self) -> Option<&Column<T>> {
        (&*self.column as &dyn Any).downcast_ref()
    }

    #[inline]
    pub(super) fn typed_mut<T: Component>(&mut self) -> Option<&mut Column<T>> {
        (&mut *self.column as &mut dyn Any).downcast_mut()
    }
}

/// An object out of the world, with all that was below it.
pub(super) struct Parked {
    /// Each before those below it.
    pub(super) objects: Vec<ParkedObject>,
    /// Where it was among the children of its parent.
    pub(super) index: u64,
    /// Whether no others get their names.
    pub(super) keeps_names: bool,
}

/// An object that is not in the world, with its components.
pub(super) struct ParkedObject {
    pub(super) id: ObjectId,
    pub(super) object: Object,
    /// With their columns, in order.
    pub(super) components: Vec<(usize, Box<dyn AnyComponent>)>,
}

/// A change that waits for the end of the phase.
pub(super) enum DeferredChange {
    /// Puts in an object of a base name.
    Spawn(ObjectId, Box<str>),
    /// Puts in objects of a prefab, in ascending order of their ids.
    Place(Vec<ParkedObject>),
    Attach(ObjectId, usize, Box<dyn AnyComponent>),
    Detach(ObjectId, usize),
    Remove(ObjectId),
    /// Below a parent or at the top, at a place among its children.
    SetParent(ObjectId, Option<ObjectId>, usize),
}

impl DeferredChange {
    pub(super) fn brings(&self, id: ObjectId) -> bool {
        match self {
            Self::Spawn(new, _) => *new == id,
            Self::Place(objects) => objects.binary_search_by_key(&id, |object| object.id).is_ok(),
            _ => false,
        }
    }
}

// A world is loaded on one thread and played on another; registries are shared by many.
const _: fn() = || {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    is_send::<World>();
    is_shared::<Registry>();
    is_shared::<crate::Unknown>();
};

/// The largest number that an id of a world may have: far more than can be given.
pub(super) const LAST_ID: u64 = 1 << 62;

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.columns.iter().map(|entry| (entry.of.name)());
        f.debug_struct("World")
            .field("objects", &self.count)
            .field("components", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("object", &self.object).finish_non_exhaustive()
    }
}
