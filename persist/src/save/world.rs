//! Worlds as what is saved and loaded.

use std::path::Path;

use super::{BackgroundSave, Loaded, SaveManager};
use crate::codec::Pointee;
use crate::{Component, Persist, Result, World};

impl SaveManager {
    /// Registers class `T` as a component, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// As [`Registry::register_as`](crate::Registry::register_as).
    pub fn register_component<T: Component>(&mut self) -> Result<()> {
        World::register_component::<T>(&mut self.registry)
    }

    /// Registers type `T` as a resource, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// As [`Registry::register_as`](crate::Registry::register_as).
    pub fn register_resource<T: Persist + Pointee>(&mut self) -> Result<()> {
        World::register_resource_in::<T>(&mut self.registry)
    }

    /// Saves a world to a file, as [`save_value`](Self::save_value), and registers the classes that are in it.
    ///
    /// A world in a field of a value, or behind a pointer, is saved with that; the classes in it must be registered then.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn save_world(&mut self, world: &World, path: impl AsRef<Path>) -> Result<()> {
        world.register_in(&mut self.registry)?;
        self.save_value(path, world)
    }

    /// Takes a snapshot of a world and saves it on another thread, as
    /// [`save_value_in_background`](Self::save_value_in_background), and registers the classes that are in it.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn save_world_in_background(
        &mut self,
        world: &World,
        path: impl AsRef<Path>,
    ) -> Result<BackgroundSave> {
        world.register_in(&mut self.registry)?;
        self.save_value_in_background(path, world)
    }

    /// Loads a world from a file, as [`load_value`](Self::load_value). It knows the classes that are registered here.
    ///
    /// Components of classes that are not registered stay on their objects and go to the next save.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn load_world(&mut self, path: impl AsRef<Path>) -> Result<(World, Loaded)> {
        let (mut world, loaded) = self.load_value::<World>(path)?;
        world.know(&self.registry);
        Ok((world, loaded))
    }
}
