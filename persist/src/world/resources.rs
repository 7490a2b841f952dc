//! Values beside the objects, one of each type.

use std::any::{Any, TypeId};

use super::World;
use super::component::Movable;
use crate::codec::{Pointee, TraitObject, Unknown};
use crate::graph::Registry;
use crate::{Error, ErrorKind, Persist, Result};

/// The values, in the order of their classes' names, so that equal worlds have equal bytes.
#[derive(Default)]
pub(super) struct Resources {
    pub(super) values: Vec<(TypeId, String, Box<dyn AnyResource>)>,
    /// Resources of classes that the program does not have.
    pub(super) unknown: Vec<Unknown>,
}

/// A resource whose type is known at run time only; saves name it `persist.Resource`.
#[persist_derive::dynamic(name = "persist.Resource", unknown = UnknownResource, crate = crate)]
pub(crate) trait AnyResource: Send {
    fn __into_any(self: Box<Self>) -> Box<dyn Any>;
    fn __name(&self) -> String;
    fn __register(&self, registry: &mut Registry) -> Result<()>;
}

impl<T: Persist + Pointee + Movable> AnyResource for T {
    fn __into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn __name(&self) -> String {
        T::persist_name()
    }

    fn __register(&self, registry: &mut Registry) -> Result<()> {
        registry.register_resource::<T>()
    }
}

/// Stands in for a resource of a class that the program does not have.
#[derive(Persist)]
#[persist(crate = crate, class = "persist.UnknownResource")]
pub(crate) struct UnknownResource {
    pub(super) content: Unknown,
}

impl From<Unknown> for UnknownResource {
    fn from(content: Unknown) -> Self {
        Self { content }
    }
}

impl AsRef<Unknown> for UnknownResource {
    fn as_ref(&self) -> &Unknown {
        &self.content
    }
}

fn any(value: &dyn AnyResource) -> &dyn Any {
    value.portable()
}

impl Resources {
    /// The index of the resource of a class.
    pub(super) fn position(&self, class: &str) -> Option<usize> {
        self.values.iter().position(|(_, name, _)| name == class)
    }

    pub(super) fn insert(&mut self, value: Box<dyn AnyResource>) -> Option<Box<dyn AnyResource>> {
        let (id, name) = (any(&*value).type_id(), (*value).__name());
        match self.values.iter_mut().find(|(of, ..)| *of == id) {
            Some((.., old)) => Some(std::mem::replace(old, value)),
            None => {
                let at = self.values.partition_point(|(_, other, _)| *other < name);
                self.values.insert(at, (id, name, value));
                None
            }
        }
    }
}

impl Registry {
    /// Registers type `T` as a resource, to be loaded with a world.
    ///
    /// ```
    /// use persist::{Persist, SaveManager};
    ///
    /// #[derive(Persist)]
    /// struct Score(u32);
    ///
    /// let mut saves = SaveManager::new();
    /// saves.registry_mut().register_resource::<Score>()?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`register_as`](Self::register_as).
    pub fn register_resource<T: Persist + Pointee + Movable>(&mut self) -> Result<()> {
        self.register_as::<T, dyn AnyResource>()
    }
}

impl World {
    /// Puts in what was loaded; returns its name, if the program has it.
    pub(super) fn insert_loaded(&mut self, value: Box<dyn AnyResource>) -> Result<Option<String>> {
        if any(&*value).is::<UnknownResource>() {
            if let Ok(unknown) = value.__into_any().downcast::<UnknownResource>() {
                self.resources.unknown.push(unknown.content);
            }
            return Ok(None);
        }
        (*value).__register(&mut self.registry)?;
        let name = (*value).__name();
        match self.resources.insert(value) {
            None => Ok(Some(name)),
            Some(_) => Err(Error::new(
                ErrorKind::InvalidValue,
                format!("the world has resource {name} twice; the save is damaged or made to harm"),
            )),
        }
    }

    /// Puts a value beside the objects, that is saved with them; returns the one of its type that was there.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_resource`].
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.insert_resource(Score(1))?;
    /// if let Some(score) = world.resource_mut::<Score>() {
    ///     score.0 += 1;
    /// }
    /// assert_eq!(world.resource::<Score>().map(|score| score.0), Some(2));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn insert_resource<T: Persist + Pointee + Movable>(
        &mut self,
        value: T,
    ) -> Result<Option<T>> {
        if self.resource::<T>().is_none() {
            self.registry.register_resource::<T>()?;
        }
        let name = T::persist_name();
        self.resources.unknown.retain(|kept| !self.registry.is_called(&name, kept.class()));
        let old = self.resources.insert(Box::new(value));
        Ok(old.and_then(|old| old.__into_any().downcast().ok()).map(|old| *old))
    }

    /// The resource of a type.
    #[must_use]
    pub fn resource<T: Persist + Pointee + Movable>(&self) -> Option<&T> {
        let (.., value) = self.resources.values.iter().find(|(of, ..)| *of == TypeId::of::<T>())?;
        any(&**value).downcast_ref()
    }

    /// The resource of a type, to be changed.
    #[must_use]
    pub fn resource_mut<T: Persist + Pointee + Movable>(&mut self) -> Option<&mut T> {
        let mut values = self.resources.values.iter_mut();
        let (.., value) = values.find(|(of, ..)| *of == TypeId::of::<T>())?;
        let value: &mut dyn Any = value.portable_mut();
        value.downcast_mut()
    }

    /// Takes the resource of a type out.
    pub fn remove_resource<T: Persist + Pointee + Movable>(&mut self) -> Option<T> {
        let mut values = self.resources.values.iter();
        let at = values.position(|(of, ..)| *of == TypeId::of::<T>())?;
        let (.., value) = self.resources.values.remove(at);
        value.__into_any().downcast().ok().map(|value| *value)
    }
}
