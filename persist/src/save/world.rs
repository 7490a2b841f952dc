//! Worlds as what is saved and loaded.

use std::path::Path;

use super::{BackgroundSave, Loaded, SaveManager, SaveOutcome};
use crate::codec::Pointee;
use crate::format::write_again;
use crate::world::Prefab;
use crate::{Component, Persist, Result, World};

impl SaveManager {
    /// Registers class `T` as a component, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// As [`Registry::register_as`](crate::graph::Registry::register_as).
    pub fn register_component<T: Component>(&mut self) -> Result<()> {
        World::register_component::<T>(&mut self.registry)
    }

    /// Registers type `T` as a resource, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// As [`Registry::register_as`](crate::graph::Registry::register_as).
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
    pub fn save_world(&mut self, world: &World, path: impl AsRef<Path>) -> Result<SaveOutcome> {
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

    /// Saves a prefab to a file, which is the save of a world that has only its objects.
    ///
    /// # Errors
    ///
    /// As [`save_value`](Self::save_value).
    ///
    /// # Example
    ///
    /// ```
    /// use persist::world::Outside;
    /// use persist::{Component, Persist, SaveManager, World};
    ///
    /// #[derive(Persist)]
    /// struct Health(u32);
    ///
    /// impl Component for Health {}
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("orc.prefab");
    /// let mut editor = World::new();
    /// let orc = editor.spawn("Orc");
    /// editor.attach(orc, Health(20))?;
    /// SaveManager::new().save_prefab(&editor.prefab(orc)?, &path)?;
    ///
    /// // The game.
    /// let mut saves = SaveManager::new();
    /// saves.register_component::<Health>()?;
    /// let prefab = saves.load_prefab(&path)?;
    /// let mut world = World::new();
    /// world.instantiate(&prefab, Outside::Clear)?;
    /// let second = world.instantiate(&prefab, Outside::Clear)?;
    /// assert_eq!(world.name(second), Some("Orc1"));
    /// assert_eq!(world.get::<Health>(second).map(|health| health.0), Some(20));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn save_prefab(&mut self, prefab: &Prefab, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        self.replace(path.as_ref(), |saves, out| write_again(prefab.as_bytes(), &saves.header, out))
    }

    /// Loads a prefab from a file, which may be older than the program, as [`load_world`](Self::load_world) loads a world; any
    /// world with one object at the top will do, whose resources are left out.
    ///
    /// It is checked whole, by the classes that are registered here; a world that it is put into knows those
    /// in it from then on. Each copy is read anew.
    ///
    /// # Errors
    ///
    /// As [`load_value`](Self::load_value); [`ErrorKind::InvalidValue`](crate::ErrorKind::InvalidValue) if there is not one
    /// object at the top.
    pub fn load_prefab(&mut self, path: impl AsRef<Path>) -> Result<Prefab> {
        let file = self.file(path.as_ref());
        Ok(file.load(|save| self.prefab_of(save))?.0)
    }

    /// Loads a prefab from memory: see [`Prefab::as_bytes`].
    ///
    /// # Errors
    ///
    /// As [`load_prefab`](Self::load_prefab).
    pub fn prefab_from_slice(&mut self, save: &[u8]) -> Result<Prefab> {
        let save = self.mended(save)?.0;
        self.prefab_of(&save)
    }

    fn prefab_of(&mut self, save: &[u8]) -> Result<Prefab> {
        let (limits, options) = (self.limits, self.options);
        // What has been loaded frees long chains behind the world's pointers, when that is gone.
        let (world, _loaded) = self.load_one::<World>(save, None)?;
        Prefab::of(world, save, &limits, options)
    }
}
