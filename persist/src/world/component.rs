//! [`Component`]: the trait of components, and the columns whose component type is known only at run time.

use std::any::Any;
use std::fmt;

use super::column::{BlockMask, Column, Occupancy, Page};
use super::directory::Directory;
use super::resources::UnknownComponent;
use super::{ComponentScope, ComponentType, FramePhase, Location, World};
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Persist, Pointee, Stop, count, decode_vec, is_bulky,
    is_light_box, out_of_line,
};
use crate::fields::Sendable;
use crate::graph::Registry;
use crate::{ObjectId, Result};

/// A part of an object: any [`Persist`] type that is `Send`.
///
/// `#[persist(component)]` beside the derive implements the trait for a type without methods.
///
/// A world can be sent to another thread, so a component cannot hold an `Rc`. Refer to an object by its [`ObjectId`],
/// and share other values in an [`Arc`](std::sync::Arc).
///
/// All methods are optional; [`World::update`](super::World::update) calls them. While a method runs, the component is
/// taken out of the world, so that `self` and the world can both be borrowed: `get` on its own object does not find it.
/// Objects and components that the method creates or removes are created or removed at the end of the phase, in the
/// order of the calls. Changes of values take effect at once.
///
/// # Example
///
/// ```
/// use persist::{Component, ComponentScope, Persist, World};
///
/// #[derive(Persist)]
/// struct Fuse { seconds: f64 }
///
/// impl Component for Fuse {
///     fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
///         self.seconds -= scope.step();
///         if self.seconds <= 0.0 {
///             scope.world.remove(scope.object());
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
pub trait Component: Persist + Pointee + Sendable {
    /// Runs once, before the first update of the component.
    ///
    /// A save records whether it has run, so it does not run again after a load.
    fn on_start(&mut self, scope: &mut ComponentScope<'_>) {
        scope.clear_hook(FramePhase::Start);
    }

    /// Runs in every update, before [`on_update`](Self::on_update) of any object.
    fn on_pre_update(&mut self, scope: &mut ComponentScope<'_>) {
        scope.clear_hook(FramePhase::PreUpdate);
    }

    /// Runs in every update.
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        scope.clear_hook(FramePhase::Update);
    }

    /// Runs in every update, after [`on_update`](Self::on_update) of all objects.
    fn on_post_update(&mut self, scope: &mut ComponentScope<'_>) {
        scope.clear_hook(FramePhase::PostUpdate);
    }

    /// Runs once, when the component is replaced or detached, its object is removed, or the world is dropped.
    fn on_release(&mut self, scope: &mut ComponentScope<'_>) {
        scope.clear_hook(FramePhase::Release);
    }
}

impl ComponentScope<'_> {
    /// Returns the object that the component belongs to.
    #[must_use]
    pub fn object(&self) -> ObjectId {
        self.object
    }

    /// Returns the time step that [`World::update`](super::World::update) was called with; 0 in
    /// [`Component::on_release`].
    #[must_use]
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Notes that the component type has no method for this phase. The default methods call it, so that the world skips
    /// the type in later frames.
    fn clear_hook(&mut self, phase: FramePhase) {
        if let Some(entry) = self.world.columns.get_mut(self.column) {
            entry.hooks &= !phase.bit();
        }
    }
}

/// A component whose type is known only at run time. The trait is called `persist.Component` in saves.
#[persist_derive::dynamic(name = "persist.Component", unknown = UnknownComponent, crate = crate)]
pub(crate) trait AnyComponent: Any + Send {
    fn __component_type(&self) -> ComponentType;
}

impl Component for UnknownComponent {}

/// A column whose type is known only at run time.
pub(super) trait AnyColumn: Any + Send {
    fn get(&self, location: Location) -> Option<&dyn AnyComponent>;
    fn get_mut(&mut self, location: Location) -> Option<&mut dyn AnyComponent>;
    fn put(&mut self, location: Location, component: Box<dyn AnyComponent>);
    fn remove(&mut self, location: Location) -> Option<Box<dyn AnyComponent>>;
    /// Moves all components of another column of this type, which has the places of the first directory, to the places
    /// of the same objects in the second one.
    fn append(&mut self, other: &mut dyn AnyColumn, places: (&Directory, &Directory));
    fn insert_page(&mut self, page: usize);
    fn retain_pages(&mut self, keep: &[bool]);
    fn pages(&self) -> usize;
    /// Returns the components of a page in order, from that of a bit on; `None` if one of them is out, or there are
    /// none.
    fn items(&self, page: usize, bit: u32) -> Option<Box<dyn ErasedComponents + '_>>;
    fn occupancy(&self, page: usize) -> Option<&Occupancy>;
    /// Encodes the component at a place like a `Box<dyn AnyComponent>`, after the number of its class; `None` if there
    /// is none.
    fn encode(
        &self,
        location: Location,
        number: u64,
        out: &mut Encoder<'_>,
    ) -> Option<Result<(), Stop>>;
    /// Decodes the component at a place. Returns false, without reading, if there is one already.
    fn decode(&mut self, location: Location, input: &mut Decoder<'_>) -> Result<bool, Fail>;
    /// Encodes the values of a block as a list.
    fn encode_block(&self, at: (usize, usize), out: &mut Encoder<'_>) -> Result<(), Stop>;
    /// Decodes the list of a block into the values of the block. It must have as many.
    fn decode_block_into(
        &mut self,
        at: (usize, usize),
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail>;
    /// Decodes the list of a block, for [`put_block`](Self::put_block).
    fn decode_block(&self, input: &mut Decoder<'_>) -> Result<Box<dyn Any>, Fail>;
    /// Replaces the values of a block. A value whose id had one before takes over the fields that are not stored.
    fn put_block(&mut self, at: (usize, usize), mask: BlockMask, values: Option<Box<dyn Any>>);
}

/// Encodes a component like a `Box<dyn AnyComponent>`: the number of its class, and the value.
#[inline]
fn encode<T: Component>(component: &T, number: u64, out: &mut Encoder<'_>) -> Result<(), Stop> {
    out.count_box::<T>(T::MIN);
    // If both have a fixed width, they are written with one bounds check.
    if T::PLACED_FIXED
        && let Ok(short) = u8::try_from(number)
        && number <= count::SHORT
    {
        return out.in_box::<T>(|out| {
            if let [first, value @ ..] = out.take(1 + T::HEAD)? {
                *first = short;
                component.__encode_head(value);
            }
            Ok(())
        });
    }
    count::encode(number, out)?;
    out.in_box::<T>(|out| out.value(component))
}

/// The components of a page, whose type is known only at run time, to be encoded in order.
pub(super) trait ErasedComponents {
    /// Encodes the next component like a `Box<dyn AnyComponent>`, after the number of its class; `None` if there is
    /// none.
    fn encode_next(&mut self, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>>;
    /// Returns the bytes of each component without the number. `None` if they differ, or if the components count
    /// against limits.
    fn width(&self) -> Option<usize>;
    /// Writes the next components, which have a [`width`](Self::width), to these offsets. Each is written after the
    /// number of its class, which must fit into one byte. Returns the bytes that each takes.
    fn put_next(&mut self, number: u64, places: &[usize], out: &mut [u8]) -> usize;
}

impl<T: Component> ErasedComponents for std::slice::Iter<'_, T> {
    fn encode_next(&mut self, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>> {
        self.next().map(|component| encode(component, number, out))
    }

    fn width(&self) -> Option<usize> {
        (const { T::PLACED_FIXED && is_light_box::<T>(T::MIN) }).then_some(T::HEAD)
    }

    fn put_next(&mut self, number: u64, places: &[usize], out: &mut [u8]) -> usize {
        let number = count::head(number);
        for (place, component) in places.iter().zip(self) {
            let place = out.get_mut(*place..).and_then(|out| out.get_mut(..1 + T::HEAD));
            if let Some((first, value)) = place.and_then(<[u8]>::split_first_mut) {
                *first = number;
                component.__encode_head(value);
            }
        }
        1 + T::HEAD
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

    fn append(&mut self, other: &mut dyn AnyColumn, (from, to): (&Directory, &Directory)) {
        let Some(other) = (other as &mut dyn Any).downcast_mut::<Self>() else { return };
        for (Location { page, bit }, component) in other.drain() {
            if let Some(location) = from.id(page, bit).and_then(|id| to.location(id)) {
                self.insert(location, component);
            }
        }
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

    fn items(&self, page: usize, bit: u32) -> Option<Box<dyn ErasedComponents + '_>> {
        let page = self.page(page).filter(|page| !page.is_empty() && page.is_ordered())?;
        Some(Box::new(page.items().get(page.occupancy().count_below(bit)..)?.iter()))
    }

    fn occupancy(&self, page: usize) -> Option<&Occupancy> {
        self.page(page).map(Page::occupancy)
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
        input.charge_box::<T>(T::MIN)?;
        // The type of this component is known, so an unregistered class is inside it. The component must not be skipped
        // as unknown, which `Unregistered` would mean to the caller.
        let registered = |fail| if fail == Fail::Unregistered { Fail::Refused } else { fail };
        if const { is_bulky::<T>() } {
            let component = input.in_box::<T, _>(Decoder::boxed::<T>).map_err(registered)?;
            out_of_line(|| self.insert(location, *component));
            return Ok(true);
        }
        let component = input.in_box::<T, _>(|input| input.value::<T>()).map_err(registered)?;
        self.insert(location, component);
        Ok(true)
    }

    fn encode_block(&self, at: (usize, usize), out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.encode_block(at, out)
    }

    fn decode_block_into(
        &mut self,
        at: (usize, usize),
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        self.decode_block_into(at, input)
    }

    fn decode_block(&self, input: &mut Decoder<'_>) -> Result<Box<dyn Any>, Fail> {
        Ok(Box::new(decode_vec::<T>(input.take(1)?, input)?))
    }

    fn put_block(&mut self, at: (usize, usize), mask: BlockMask, values: Option<Box<dyn Any>>) {
        let values = values.and_then(|values| values.downcast().ok());
        self.put_block(at, mask, values.map_or_else(Vec::new, |values| *values));
    }
}

/// Charges the memory of empty pages: the column's list of pages grows up to the page of the component.
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

// A world is loaded on one thread and played on another; registries are shared by many.
const _: fn() = || {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    is_send::<World>();
    is_shared::<Registry>();
    is_shared::<crate::Unknown>();
};

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.columns.iter().map(|entry| (entry.of.name)());
        f.debug_struct("World")
            .field("objects", &self.count)
            .field("components", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ComponentScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentScope").field("object", &self.object).finish_non_exhaustive()
    }
}
