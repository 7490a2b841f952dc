//! The classes that a world knows, and their columns.

use std::any::TypeId;

use super::World;
use super::any_component::{AnyComponent, ComponentType, UnknownComponent};
use super::column::Column;
use super::component::Component;
use super::directory::Place;
use super::world::ColumnEntry;
use crate::codec::Caster;
use crate::graph::Registry;
use crate::{ObjectId, Result};

impl World {
    /// Makes class `T` known, for [`attach_class`](Self::attach_class), field paths and prefabs; the first
    /// [`attach`](Self::attach) of a `T` does it, too.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_as`].
    pub fn register<T: Component>(&mut self) -> Result<()> {
        self.column_of::<T>().map(drop)
    }

    /// Registers a component class where a world will be loaded.
    pub(crate) fn register_component<T: Component>(registry: &mut Registry) -> Result<()> {
        registry.register_as::<T, dyn AnyComponent>()
    }

    /// Registers the classes that are in the world.
    pub(crate) fn register_in(&self, registry: &mut Registry) -> Result<()> {
        let used = self.columns.iter().filter(|entry| entry.column.pages() > 0);
        used.into_iter().try_for_each(|entry| (entry.of.register)(registry))?;
        let mut resources = self.resources.values.iter();
        resources.try_for_each(|(.., value)| (**value).__register(registry))
    }

    /// Makes the classes of a registry known, for what is loaded with it.
    pub(crate) fn know(&mut self, registry: &Registry) {
        self.registry = registry.clone();
        for caster in registry.implementors().casters(TypeId::of::<dyn AnyComponent>()) {
            let caster = caster.downcast_ref::<Caster<dyn AnyComponent>>();
            // One without an empty value cannot be made by its class's name either.
            if let Some(Ok(empty)) = caster.map(|caster| caster.empty(&registry.prototypes())) {
                let of = (*empty).__component_type();
                if of.id != TypeId::of::<UnknownComponent>() {
                    self.new_column(of);
                }
            }
        }
    }

    /// The classes that the world knows, and the context that hooks reach.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The classes that the world knows, to add to them: a [resource](Registry::register_resource) that has not been put
    /// in yet, an [implementor](Registry::register_as) of a trait whose trait objects components hold, a
    /// [factory](Registry::register_with), or the [context](Registry::set_context).
    ///
    /// A world that a [`SaveManager`](crate::SaveManager) loads has that one's classes and context from the beginning. When it
    /// is saved, the manager's are used. A component class needs [`register`](Self::register) also if the registry has it.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Index of the column of a type, made if there is none.
    pub(crate) fn column_of<T: Component>(&mut self) -> Result<usize> {
        if let Some(column) = self.by_type.get(&TypeId::of::<T>()) {
            return Ok(*column);
        }
        Self::register_component::<T>(&mut self.registry)?;
        Ok(self.new_column(ComponentType::of::<T>()))
    }

    /// Index of the column of a type that is registered.
    pub(super) fn new_column(&mut self, of: ComponentType) -> usize {
        *self.by_type.entry(of.id).or_insert_with(|| {
            let column = self.columns.len();
            self.columns.push(ColumnEntry { column: (of.new_column)(), of, hooks: u8::MAX });
            self.by_class.entry((of.name)()).or_insert(column);
            column
        })
    }

    pub(super) fn column<T: Component>(&self) -> Option<&Column<T>> {
        let column = *self.by_type.get(&TypeId::of::<T>())?;
        self.columns[column].column.as_any().downcast_ref()
    }

    pub(super) fn column_mut<T: Component>(&mut self) -> Option<&mut Column<T>> {
        let column = *self.by_type.get(&TypeId::of::<T>())?;
        self.columns[column].column.as_any_mut().downcast_mut()
    }

    /// Puts a component into its column.
    pub(super) fn put<T: Component>(&mut self, column: usize, object: ObjectId, component: T) {
        if let Some(place) = self.directory.place(object) {
            self.put_at(column, place, component);
        }
    }

    pub(super) fn put_at<T: Component>(&mut self, column: usize, place: Place, component: T) {
        if let Some(column) = self.columns.get_mut(column)
            && let Some(column) = (*column.column).as_any_mut().downcast_mut::<Column<T>>()
        {
            column.insert(place, component);
        }
    }
}
