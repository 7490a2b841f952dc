//! The resources of a world: values that belong to no object, at most one of each type.

use std::any::{Any, TypeId};

use super::Resources;
use crate::codec::{Pointee, TraitObject, Unknown};
use crate::fields::Sendable;
use crate::graph::Registry;
use crate::{Persist, Result};

/// Lets the compiler check that a type can be sent to another thread.
pub fn assert_sendable<T: ?Sized + Sendable>() {}

/// A resource whose type is known only at run time. The trait is called `persist.Resource` in saves.
#[persist_derive::dynamic(name = "persist.Resource", unknown = UnknownResource, crate = crate)]
pub(crate) trait AnyResource: Any + Send {
    fn __register(&self, registry: &mut Registry) -> Result<()>;
}

impl<T: Persist + Pointee + Sendable> AnyResource for T {
    fn __register(&self, registry: &mut Registry) -> Result<()> {
        registry.register_resource::<T>()
    }
}

/// Defines the stand-in for a value of a class that the program does not have.
macro_rules! stand_in {
    ($name:ident $class:literal) => {
        #[derive(crate::Persist)]
        #[persist(crate = crate, class = $class)]
        pub(crate) struct $name {
            pub(super) content: Unknown,
        }

        impl From<Unknown> for $name {
            fn from(content: Unknown) -> Self {
                Self { content }
            }
        }

        impl AsRef<Unknown> for $name {
            fn as_ref(&self) -> &Unknown {
                &self.content
            }
        }
    };
}

stand_in!(UnknownComponent "persist.UnknownComponent");
stand_in!(UnknownResource "persist.UnknownResource");

impl Resources {
    /// Returns the names of all classes, with unknown ones at the end.
    pub(super) fn classes(&self) -> Vec<String> {
        let known = self.values.iter().map(|(_, name, _)| name.clone());
        known.chain(self.unknown.iter().map(|unknown| unknown.class().to_owned())).collect()
    }

    pub(super) fn position(&self, class: &str) -> Option<usize> {
        self.values.iter().position(|(_, name, _)| name == class)
    }

    pub(super) fn insert(&mut self, value: Box<dyn AnyResource>) -> Option<Box<dyn AnyResource>> {
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

    pub(super) fn get<T: 'static>(&self) -> Option<&T> {
        (&*self.values[self.index::<T>()?].2 as &dyn Any).downcast_ref()
    }

    pub(super) fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        let at = self.index::<T>()?;
        (&mut *self.values[at].2 as &mut dyn Any).downcast_mut()
    }

    pub(super) fn remove<T: 'static>(&mut self) -> Option<T> {
        let (.., value) = self.values.remove(self.index::<T>()?);
        (value as Box<dyn Any>).downcast().ok().map(|value| *value)
    }
}

impl Registry {
    /// Registers type `T` as a resource, so that worlds with a `T` can be loaded.
    ///
    /// ```
    /// use persist::{Persist, Saves};
    ///
    /// #[derive(Persist)]
    /// struct Score(u32);
    ///
    /// let saves = Saves::new();
    /// saves.register_resource::<Score>()?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`register_as`](Self::register_as).
    pub fn register_resource<T: Persist + Pointee + Sendable>(&mut self) -> Result<()> {
        self.register_as::<T, dyn AnyResource>()
    }
}
