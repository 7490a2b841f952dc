use std::io::Read;
use std::path::Path;

use super::{LoadReport, Loaded, SaveManager};
use crate::codec::Persist;
use crate::format::unpacked;
use crate::graph::Loader;
use crate::types::{Remap, Renumber};
use crate::{Result, storage};

/// The loads of a [`SaveManager`] that give handles new ids; see
/// [`SaveManager::remapping`].
#[derive(Debug)]
pub struct Remapping<'m, 'r> {
    saves: &'m mut SaveManager,
    remap: &'m mut Remap<'r>,
}

impl SaveManager {
    /// To load with new ids for [`Handle`](crate::Handle)s, so that what is loaded can be
    /// merged into a running game: `saves.remapping(&mut remap).load(path)`.
    ///
    /// See [`Remap`] for an example.
    pub fn remapping<'m, 'r>(&'m mut self, remap: &'m mut Remap<'r>) -> Remapping<'m, 'r> {
        Remapping { saves: self, remap }
    }

    pub(super) fn load_objects(
        &self,
        save: &[u8],
        remap: Option<&mut Remap<'_>>,
    ) -> Result<Loaded> {
        #[cfg(persist_forced_plan)]
        let save = &*super::forced::disarranged(save, &self.limits);
        let options = (&self.limits, self.options);
        let (objects, outcome) = unpacked(save, &self.limits, |save| {
            let remap = remap.map(|remap| remap as &mut dyn Renumber);
            Loader::new(&self.registry, options, save, remap, None)?.load()
        })?;
        Ok(Loaded::new(objects, None, LoadReport::new(outcome)))
    }

    pub(super) fn load_one<T: Persist>(
        &mut self,
        save: &[u8],
        remap: Option<&mut Remap<'_>>,
    ) -> Result<(T, Loaded)> {
        let class = self.registry.register_value::<T>()?;
        #[cfg(persist_forced_plan)]
        let save = &*super::forced::disarranged(save, &self.limits);
        let options = (&self.limits, self.options);
        let (value, objects, outcome) = unpacked(save, &self.limits, |save| {
            let remap = remap.map(|remap| remap as &mut dyn Renumber);
            Loader::new(&self.registry, options, save, remap, Some(class))?.load_value(class)
        })?;
        let id = self.registry.program().classes[class].id;
        Ok((value, Loaded::new(objects, Some(id), LoadReport::new(outcome))))
    }
}

impl Remapping<'_, '_> {
    /// Loads the objects of a file, as [`SaveManager::load`].
    ///
    /// # Errors
    ///
    /// As there; [`ErrorKind::MissingObject`](crate::ErrorKind::MissingObject) for an id without
    /// a new one under [`Missing::Error`](crate::types::Missing::Error).
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<Loaded> {
        let file = self.saves.file(path.as_ref());
        let read = |save: &[u8]| self.saves.load_objects(save, Some(self.remap));
        let (loaded, rescue) = file.load(read)?;
        Ok(loaded.rescued(rescue))
    }

    /// Loads the objects of a save in memory.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_slice(&mut self, save: &[u8]) -> Result<Loaded> {
        let (save, rescue) = self.saves.mended(save)?;
        Ok(self.saves.load_objects(&save, Some(self.remap))?.rescued(rescue))
    }

    /// Loads the objects of a save that is read to the reader's end.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_reader(&mut self, reader: impl Read) -> Result<Loaded> {
        self.from_slice(&storage::read_stream(reader, &self.saves.limits)?)
    }

    /// Loads one value from a file, as [`SaveManager::load_value`].
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_value<T: Persist>(&mut self, path: impl AsRef<Path>) -> Result<(T, Loaded)> {
        let file = self.saves.file(path.as_ref());
        let read = |save: &[u8]| self.saves.load_one(save, Some(self.remap));
        let ((value, loaded), rescue) = file.load(read)?;
        Ok((value, loaded.rescued(rescue)))
    }

    /// Loads one value from a save in memory.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn value_from_slice<T: Persist>(&mut self, save: &[u8]) -> Result<(T, Loaded)> {
        let (save, rescue) = self.saves.mended(save)?;
        let (value, loaded) = self.saves.load_one(&save, Some(self.remap))?;
        Ok((value, loaded.rescued(rescue)))
    }
}
