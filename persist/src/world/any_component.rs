//! Components of types that are known at run time only.

use std::any::{Any, TypeId};

use super::column::{AnyColumn, Column};
use super::component::{Component, Phase};
use super::stored::StoredWorld;
use super::world::World;
use crate::codec::{TypeSet, Unknown};
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
