//! The resources of a world: values that belong to no object, at most one of each type.

use std::any::Any;

use crate::codec::{Pointee, Unknown};
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
