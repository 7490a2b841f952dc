//! Worlds and their classes.

use super::SaveManager;
use crate::{Component, Result, World};

impl SaveManager {
    /// Registers class `T` as a component, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// As [`Registry::register_as`](crate::Registry::register_as).
    pub fn register_component<T: Component>(&mut self) -> Result<()> {
        World::register_component::<T>(&mut self.registry)
    }
}
