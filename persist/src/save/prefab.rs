//! Prefabs in files of their own.

use std::path::Path;

use super::source::SaveSource;
use super::{SaveManager, SaveOutcome};
use crate::format::{Checksums, write_again};
use crate::world::Prefab;
use crate::{Result, World};

impl Prefab {
    /// Saves the prefab to a file.
    ///
    /// ```
    /// use persist::world::{Outside, Prefab};
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
    /// editor.prefab(orc)?.save(&mut SaveManager::new(), &path)?;
    ///
    /// // The game.
    /// let mut saves = SaveManager::new();
    /// saves.register_component::<Health>()?;
    /// let prefab = Prefab::load(&mut saves, &path)?;
    /// let mut world = World::new();
    /// world.instantiate(&prefab, Outside::Clear)?;
    /// let second = world.instantiate(&prefab, Outside::Clear)?;
    /// assert_eq!(world.name(second), Some("Orc1"));
    /// assert_eq!(world.get::<Health>(second).map(|health| health.0), Some(20));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// The file is the save of a world that has only the prefab's objects.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::save_value`].
    pub fn save(&self, saves: &mut SaveManager, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        saves.values.replace(path.as_ref(), 0, |saves, out| {
            // What its objects take has been checked when it was made or loaded.
            write_again(
                (self.as_bytes(), Checksums::Right),
                saves.header(),
                0,
                out,
                &mut |_| Ok(()),
            )
        })
    }

    /// Loads a prefab from a file, which may be older than the program.
    ///
    /// The save of any world with one object at the top will do. Its resources are left out.
    ///
    /// The file is checked whole, by the classes registered in `saves`. A world that the prefab is put into
    /// knows those in it from then on. Each copy is read anew.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::load_value`]; [`ErrorKind::InvalidValue`](crate::ErrorKind::InvalidValue) if there
    /// is not one object at the top.
    pub fn load(saves: &mut SaveManager, path: impl AsRef<Path>) -> Result<Self> {
        Self::read(saves, SaveSource::File(path.as_ref()))
    }

    /// Loads a prefab from memory; [`as_bytes`](Self::as_bytes) gives the bytes.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn from_slice(saves: &mut SaveManager, save: &[u8]) -> Result<Self> {
        Self::read(saves, SaveSource::Memory(save))
    }

    fn read(saves: &mut SaveManager, from: SaveSource<'_>) -> Result<Self> {
        let (prefab, _) = saves.values.read(from, |saves, save| {
            // What has been loaded frees long chains behind the world's pointers, when that is gone.
            let (world, _loaded) = saves.value_of::<World>(save, None)?;
            Self::of(world, save, saves.limits(), saves.load_options())
        })?;
        Ok(prefab)
    }
}
