//! One value, saved and loaded without a manager; and the one in a header.

use std::path::Path;

#[cfg(doc)]
use super::SaveManager;
use super::objects::Objects;
use super::source::Source;
use super::{Document, SaveOutcome, ValueSaver};
use crate::codec::Persist;
use crate::format::Header;
use crate::{Error, Result};

/// Saves one value with everything in it, and every object that it points to.
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
///
/// The file is replaced whole: a crash leaves the old save or the new one. The outcome says whether it was
/// locked against other programs.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if a class in it has a `before_save` hook, which
/// needs [`save_mut`]; what the value refuses; [`ErrorKind::Io`](crate::ErrorKind::Io).
pub fn save<T: Persist>(path: impl AsRef<Path>, value: &T) -> Result<SaveOutcome> {
    ValueSaver::default().save_value(path, value)
}

/// Saves one value like [`save`], after its `before_save` hooks have run.
///
/// # Errors
///
/// Those of [`save`], and what a hook refuses.
pub fn save_mut<T: Persist>(path: impl AsRef<Path>, value: &mut T) -> Result<SaveOutcome> {
    ValueSaver::default().replace(path.as_ref(), 0, |saves, out| {
        saves.write_value_mut(&mut Objects::default(), out, value)
    })
}

/// Loads one value from a file.
///
/// If the file is damaged, its newest good backup is loaded and takes its place, as in
/// [`SaveManager::load`]. Nothing reports it here, nor what the load converts or drops. A program that wants to
/// tell its player, or to choose other options, uses [`SaveManager::load_value`], whose
/// [`report`](super::Loaded::report) has it.
///
/// # Errors
///
/// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such file; whatever is not a whole, true
/// save of a `T`, and has no backup that is.
pub fn load<T: Persist>(path: impl AsRef<Path>) -> Result<T> {
    ValueSaver::default().load_alone(Source::File(path.as_ref()))
}

/// Saves one value into memory.
///
/// # Errors
///
/// Those of [`save`].
pub fn to_vec<T: Persist>(value: &T) -> Result<Vec<u8>> {
    ValueSaver::default().value_to_vec(value)
}

/// Saves one value into memory, after its `before_save` hooks have run.
///
/// # Errors
///
/// Those of [`save_mut`].
pub fn to_vec_mut<T: Persist>(value: &mut T) -> Result<Vec<u8>> {
    ValueSaver::default()
        .in_memory(|saves, out| saves.write_value_mut(&mut Objects::default(), out, value))
}

/// Loads one value from a save in memory.
///
/// # Errors
///
/// Whatever is not a whole, true save of a `T`.
pub fn from_slice<T: Persist>(save: &[u8]) -> Result<T> {
    ValueSaver::default().load_alone(Source::Memory(save))
}

impl Header {
    /// The value that [`SaveManager::set_metadata`] put into the header; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`persist::from_slice`](from_slice()): it is no `T`, or no save.
    pub fn metadata<T: Persist>(&self) -> Result<Option<T>> {
        let Some(bytes) = &self.metadata else { return Ok(None) };
        let wrong = |error: Error| {
            Error::new(error.kind(), format!("the metadata cannot be loaded: {error}"))
        };
        from_slice(&bytes.0).map(Some).map_err(wrong)
    }

    /// The metadata without its type.
    ///
    /// # Errors
    ///
    /// Those of [`Document::from_slice`], if it is no save.
    pub fn metadata_document(&self) -> Result<Option<Document>> {
        self.metadata.as_ref().map(|bytes| Document::from_slice(&bytes.0)).transpose()
    }
}
