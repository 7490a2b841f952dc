//! [`ClassHolder`]: a value that holds values of classes which its type does not name, such as a world.

use std::any::Any;

use crate::Result;
use crate::env::SharedContext;

/// A value that holds values of classes which its type does not name.
///
/// The type of any other value says which classes a save has to know. A class holder is asked for them before it is
/// saved, and it gets the program's classes after it was loaded. The registry is passed as `dyn Any`, since it lies
/// above this module.
pub trait ClassHolder {
    /// True if a registry has all classes of the value.
    fn is_registered_in(&self, registry: &dyn Any) -> bool;

    /// Registers the classes of the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the registry refuses one.
    fn register_in(&self, registry: &mut dyn Any) -> Result<()>;

    /// Returns the context that the value's own calls use.
    fn context(&self) -> Option<SharedContext>;

    /// Passes the classes and the context of a load to the value.
    fn connect(&mut self, registry: &dyn Any, context: Option<SharedContext>);
}

/// Reaches the class holder in a value whose type is known at run time only.
#[derive(Clone, Copy)]
pub struct HolderAccess {
    pub get: fn(&dyn Any) -> Option<&dyn ClassHolder>,
    pub get_mut: fn(&mut dyn Any) -> Option<&mut dyn ClassHolder>,
}

impl HolderAccess {
    /// Gives access to values of type `T`.
    #[must_use]
    pub const fn new<T: ClassHolder + 'static>() -> Self {
        Self {
            get: |value| Some(value.downcast_ref::<T>()?),
            get_mut: |value| Some(value.downcast_mut::<T>()?),
        }
    }
}
