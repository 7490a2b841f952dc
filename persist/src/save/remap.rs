//! Loads that give handles new ids.

use std::path::Path;

use super::source::SaveSource;
use super::{Loaded, SaveManager};
use crate::Result;
use crate::codec::Persist;
use crate::types::Remap;

/// A remap is for one load: it borrows what it makes new ids from, and no later load can meet it by mistake.
impl Remap<'_> {
    /// Loads the objects of a file like [`SaveManager::load`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::load`]; [`ErrorKind::MissingObject`](crate::ErrorKind::MissingObject) for an id
    /// without a new one under [`Missing::Error`](crate::types::Missing::Error).
    pub fn load(&mut self, saves: &SaveManager, path: impl AsRef<Path>) -> Result<Loaded> {
        saves.values.load_objects(SaveSource::File(path.as_ref()), None, Some(self))
    }

    /// Loads the objects of a save in memory like [`SaveManager::from_slice`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn from_slice(&mut self, saves: &SaveManager, save: &[u8]) -> Result<Loaded> {
        saves.values.load_objects(SaveSource::Memory(save), None, Some(self))
    }

    /// Loads one value from a file like [`SaveManager::load_value`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn load_value<T: Persist>(
        &mut self,
        saves: &mut SaveManager,
        path: impl AsRef<Path>,
    ) -> Result<(T, Loaded)> {
        saves.values.load_one(SaveSource::File(path.as_ref()), Some(self))
    }

    /// Loads one value from a save in memory like [`SaveManager::value_from_slice`], with new ids for handles.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn value_from_slice<T: Persist>(
        &mut self,
        saves: &mut SaveManager,
        save: &[u8],
    ) -> Result<(T, Loaded)> {
        saves.values.load_one(SaveSource::Memory(save), Some(self))
    }
}
