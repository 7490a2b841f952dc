//! Components of types that are known at run time only.

use std::any::{Any, TypeId};

use super::column::Column;
use super::component::{Component, Phase};
use super::directory::Place;
use super::stored::StoredWorld;
use super::world::World;
use crate::codec::row::Inline;
use crate::codec::{Decoder, Encoder, Fail, Stop, TypeSet, Unknown, count};
use crate::graph::Registry;
use crate::reflect::Class;
use crate::{ObjectId, Persist, Result};

/// A component whose type is known at run time only; saves name it `persist.Component`.
#[persist_derive::dynamic(name = "persist.Component", unknown = UnknownComponent, crate = crate)]
pub(crate) trait AnyComponent: Send {
    fn __into_any(self: Box<Self>) -> Box<dyn Any>;
    fn __component_type(&self) -> ComponentType;
}

/// What a world knows of a type of components.
#[derive(Clone, Copy)]
pub(crate) struct ComponentType {
    pub(super) id: TypeId,
    pub(super) name: fn() -> String,
    pub(super) new_column: fn() -> Box<dyn AnyColumn>,
    /// Runs a method of the component of an object.
    pub(super) run: fn(&mut World, usize, ObjectId, Phase, f64),
    /// Runs `on_release` of a component that is out of its column.
    pub(super) release: fn(&mut World, usize, ObjectId, Box<dyn Any>),
    /// Puts a component into its column.
    pub(super) put: fn(&mut World, usize, ObjectId, Box<dyn Any>),
    /// True if no value has references or hooks.
    pub(super) is_leaf: bool,
    /// Whether a value may hold a world of its own, whose ids are its own.
    pub(super) holds_world: fn() -> bool,
    pub(super) register: fn(&mut Registry) -> Result<()>,
    /// An empty component, by the program's factory if it gave one.
    pub(super) make: fn(&Registry) -> Result<Box<dyn AnyComponent>>,
}

impl ComponentType {
    pub(super) fn of<T: Component>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            name: T::persist_name,
            is_leaf: T::__LEAF,
            holds_world: || {
                let mut types = TypeSet::default();
                T::__reach(&mut types);
                types
                    .classes
                    .iter()
                    .any(|(class, _)| Class::type_id(class) == TypeId::of::<StoredWorld>())
            },
            new_column: || Box::new(Column::<T>::default()),
            run: World::run_hook::<T>,
            release: |world, column, object, component| {
                if let Ok(component) = component.downcast::<T>() {
                    world.run_release(column, object, *component);
                }
            },
            put: |world, column, object, component| {
                if let Ok(component) = component.downcast::<T>() {
                    world.put(column, object, *component);
                }
            },
            register: World::register_component::<T>,
            make: |registry| Ok(Box::new(registry.prototypes().object::<T>()?)),
        }
    }
}

impl<T: Component> AnyComponent for T {
    fn __into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn __component_type(&self) -> ComponentType {
        ComponentType::of::<T>()
    }
}

/// Stands in for a component of a class that the program does not have.
#[derive(Persist)]
#[persist(crate = crate, class = "persist.UnknownComponent")]
pub(crate) struct UnknownComponent {
    pub(super) content: Unknown,
}

impl Component for UnknownComponent {}

impl From<Unknown> for UnknownComponent {
    fn from(content: Unknown) -> Self {
        Self { content }
    }
}

impl AsRef<Unknown> for UnknownComponent {
    fn as_ref(&self) -> &Unknown {
        &self.content
    }
}

/// A column whose type is known at run time only.
pub(super) trait AnyColumn: Any + Send {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn has(&self, place: Place) -> bool;
    fn get(&self, place: Place) -> Option<&dyn AnyComponent>;
    fn get_mut(&mut self, place: Place) -> Option<&mut dyn AnyComponent>;
    fn remove(&mut self, place: Place) -> Option<Box<dyn AnyComponent>>;
    fn insert_page(&mut self, page: usize);
    fn retain_pages(&mut self, keep: &[bool]);
    fn pages(&self) -> usize;
    /// The components of a page, one after the other; `None` if one of them is out of its place, or there are none.
    fn items(&self, page: usize) -> Option<Box<dyn Items + '_>>;
    /// Writes the component of a place after the number of its class, as a box holds it; `None` if there is none.
    fn encode(&self, place: Place, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>>;
    /// Reads the component of a place; false, without reading, if there is one.
    fn decode(&mut self, place: Place, input: &mut Decoder<'_>) -> Result<bool, Fail>;
}

/// Writes a component as a box holds it: the number of its class, and the value.
#[inline]
fn encode<T: Component>(component: &T, number: u64, out: &mut Encoder<'_>) -> Result<(), Stop> {
    out.count_box::<T>();
    // Both at once, where both have a fixed width.
    if Inline::<T>::FIXED
        && let Ok(short) = u8::try_from(number)
        && number <= count::SHORT
    {
        return out.nested_in::<T>(|out| {
            if let [first, value @ ..] = out.take(1 + T::__HEAD)? {
                *first = short;
                component.__encode_head(value);
            }
            Ok(())
        });
    }
    count::encode(number, out)?;
    out.nested_in::<T>(|out| out.value(component))
}

/// Components of a type that is known at run time only, to be written one after the other.
pub(super) trait Items {
    /// Writes the next one after the number of its class, as a box holds it; `None` if there is none.
    fn encode_next(&mut self, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>>;
}

impl<T: Component> Items for std::slice::Iter<'_, T> {
    fn encode_next(&mut self, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>> {
        self.next().map(|component| encode(component, number, out))
    }
}

impl<T: Component> AnyColumn for Column<T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn has(&self, place: Place) -> bool {
        self.has(place)
    }

    fn get(&self, place: Place) -> Option<&dyn AnyComponent> {
        self.get(place).map(|component| component as &dyn AnyComponent)
    }

    fn get_mut(&mut self, place: Place) -> Option<&mut dyn AnyComponent> {
        self.get_mut(place).map(|component| component as &mut dyn AnyComponent)
    }

    fn remove(&mut self, place: Place) -> Option<Box<dyn AnyComponent>> {
        self.remove(place).map(|component| Box::new(component) as Box<dyn AnyComponent>)
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

    fn items(&self, page: usize) -> Option<Box<dyn Items + '_>> {
        let page = self.page(page).filter(|page| !page.is_empty() && page.out().is_none())?;
        Some(Box::new(page.items().iter()))
    }

    fn encode(&self, place: Place, number: u64, out: &mut Encoder<'_>) -> Option<Result<(), Stop>> {
        self.get(place).map(|component| encode(component, number, out))
    }

    fn decode(&mut self, place: Place, input: &mut Decoder<'_>) -> Result<bool, Fail> {
        if self.has(place) {
            return Ok(false);
        }
        charge_pages(self.pages().len(), place, input)?;
        input.charge_box::<T>()?;
        // What is not registered is inside: this component has not been passed over.
        let component = input.nested_in::<T, _>(|input| match input.value::<T>() {
            Err(Fail::Unregistered) => Err(Fail::Refused),
            result => result,
        })?;
        self.insert(place, component);
        Ok(true)
    }
}

/// A component on a page of its own takes all pages before in its column.
#[inline]
pub(super) fn charge_pages(
    pages: usize,
    place: Place,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let pages = (place.page + 1).saturating_sub(pages);
    if pages > 1 {
        input.charge(0, (pages * size_of::<Option<Box<u8>>>()) as u64)?;
    }
    Ok(())
}
