use std::io::Write;
use std::path::Path;

use super::{Loaded, SaveManager, SaveOutcome};
use crate::codec::{NoVisitLinks, Persist, Phase, Visitor};
use crate::format::{Blocks, Compression, Sealer, unpacked};
use crate::graph::{Loader, Saver};
use crate::{Error, ErrorKind, Limits, Result};

/// Saves one value with everything in it, and every object that it points to.
///
/// The file is replaced whole: a crash leaves the old save or the new one. The outcome says whether it was locked against
/// other programs.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`] if a class in it has a `before_save` hook, which
/// needs [`save_mut`]; what the value refuses; [`ErrorKind::Io`].
///
/// # Example
///
/// ```
/// use persist::Persist;
///
/// #[derive(Persist, Debug, PartialEq)]
/// struct Game { level: u32, name: String }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("game.sav");
/// let game = Game { level: 3, name: "Ada".into() };
/// persist::save(&path, &game)?;
/// assert_eq!(persist::load::<Game>(&path)?, game);
/// # Ok::<(), persist::Error>(())
/// ```
pub fn save<T: Persist>(path: impl AsRef<Path>, value: &T) -> Result<SaveOutcome> {
    SaveManager::new().save_value(path, value)
}

/// Saves one value like [`save`], after its `before_save` hooks have run.
///
/// # Errors
///
/// As [`save`], and what a hook refuses.
pub fn save_mut<T: Persist>(path: impl AsRef<Path>, value: &mut T) -> Result<SaveOutcome> {
    let mut saves = SaveManager::new();
    saves.replace(path.as_ref(), |saves, out| saves.write_value_mut(out, value))
}

/// Loads one value from a file.
///
/// If the file is damaged, its newest good backup is loaded and takes its place, as in
/// [`SaveManager::load`], and nothing says so: a program that wants to tell its player, or to choose other
/// options, uses [`SaveManager::load_value`], whose [`Loaded::report`] has
/// [`recovery`](crate::save::LoadReport::recovery). The same holds for all that a load converts or drops.
///
/// # Errors
///
/// [`ErrorKind::NotFound`] if there is no such file; whatever is not a whole, true save of a `T`, and has no backup that is.
pub fn load<T: Persist>(path: impl AsRef<Path>) -> Result<T> {
    let mut saves = SaveManager::new();
    let file = saves.file(path.as_ref());
    Ok(file.load(|save| saves.load_alone(save))?.0)
}

/// Saves one value into memory.
///
/// # Errors
///
/// As [`save`].
pub fn to_vec<T: Persist>(value: &T) -> Result<Vec<u8>> {
    SaveManager::new().value_to_vec(value)
}

/// Saves one value into memory, after its `before_save` hooks have run.
///
/// # Errors
///
/// As [`save_mut`].
pub fn to_vec_mut<T: Persist>(value: &mut T) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut sealer = Sealer::new(&mut bytes, Compression::None, &Limits::DEFAULT);
    SaveManager::new().write_value_mut(&mut sealer, value)?;
    Ok(bytes)
}

/// Loads one value from a save in memory.
///
/// # Errors
///
/// Whatever is not a whole, true save of a `T`.
pub fn from_slice<T: Persist>(save: &[u8]) -> Result<T> {
    SaveManager::new().load_alone(save)
}

impl SaveManager {
    /// Saves one value like [`persist::save`](crate::save()), with this manager's
    /// limits and application.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn save_value<T: Persist>(
        &mut self,
        path: impl AsRef<Path>,
        value: &T,
    ) -> Result<SaveOutcome> {
        self.replace(path.as_ref(), |saves, out| saves.write_value_blocks(out, value, false))
    }

    /// Saves one value into memory.
    ///
    /// # Errors
    ///
    /// As [`save_value`](Self::save_value).
    pub fn value_to_vec<T: Persist>(&mut self, value: &T) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_value(&mut bytes, value)?;
        Ok(bytes)
    }

    /// Saves one value into a writer and returns how many bytes that took.
    ///
    /// # Errors
    ///
    /// As [`save_value`](Self::save_value).
    pub fn value_to_writer<T: Persist>(
        &mut self,
        mut writer: impl Write,
        value: &T,
    ) -> Result<u64> {
        self.write_value(&mut writer, value)
    }

    /// Loads one value like [`persist::load`](crate::load), with this manager's
    /// limits and factories, and the objects that it points to with the report.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn load_value<T: Persist>(&mut self, path: impl AsRef<Path>) -> Result<(T, Loaded)> {
        let file = self.file(path.as_ref());
        let ((value, loaded), rescue) = file.load(|save| self.load_one(save, None))?;
        Ok((value, loaded.rescued(rescue)))
    }

    /// Loads one value from a save in memory.
    ///
    /// # Errors
    ///
    /// As [`load_value`](Self::load_value).
    pub fn value_from_slice<T: Persist>(&mut self, save: &[u8]) -> Result<(T, Loaded)> {
        let (save, rescue) = self.mended(save)?;
        let (value, loaded) = self.load_one(&save, None)?;
        Ok((value, loaded.rescued(rescue)))
    }

    /// Loads one value without anything that it cannot give back.
    fn load_alone<T: Persist>(&mut self, save: &[u8]) -> Result<T> {
        let class = self.registry.register_value::<T>()?;
        #[cfg(persist_forced_plan)]
        let save = &*super::forced::disarranged(save, &self.limits);
        let options = (&self.limits, self.options);
        unpacked(save, &self.limits, |save| {
            let loader = Loader::new(&self.registry, options, save, None, Some(class))?;
            Ok(loader.without_kept().load_value(class)?.0)
        })
    }

    fn write_value<T: Persist>(&mut self, out: &mut dyn Write, value: &T) -> Result<u64> {
        let limits = self.limits;
        self.write_value_blocks(&mut Sealer::new(out, self.compression, &limits), value, false)
    }

    pub(super) fn write_value_blocks<T: Persist>(
        &mut self,
        out: &mut dyn Blocks,
        value: &T,
        hooks_ran: bool,
    ) -> Result<u64> {
        let class = self.registry.register_value::<T>()?;
        if self.registry.traits(class).before_save && !hooks_ran {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{} holds a class with a `before_save` hook, which needs `&mut`; use `persist::save::save_mut` or keep it as an object of a `SaveManager`, as `Rc<RefCell<_>>`",
                    T::persist_name()
                ),
            ));
        }
        self.forget_gone();
        let mut saver = Saver::new(&self.registry, &self.limits, 1);
        saver.keep(&self.kept, &self.ids);
        if let Some((of, kept)) = &self.root_kept
            && *of == self.registry.program().classes[class].id
        {
            saver.keep_of_value(kept);
        }
        saver.save_value(value, class, out, &self.header, &mut self.buffer)
    }

    pub(super) fn write_value_mut<T: Persist>(
        &mut self,
        out: &mut dyn Blocks,
        value: &mut T,
    ) -> Result<u64> {
        let mut links = NoVisitLinks;
        value
            .__visit(&mut Visitor::new(Phase::BeforeSave, &self.limits, &mut links))
            .map_err(|error| error.in_class(T::persist_name()))?;
        self.write_value_blocks(out, value, true)
    }
}
