//! What a program says of a save in its header.

use super::{SaveManager, from_slice, to_vec};
#[cfg(doc)]
use crate::ErrorKind;
use crate::codec::Persist;
use crate::format::Header;
use crate::{Document, Error, Result};

impl SaveManager {
    /// Puts a value of the program's own into the header of every save from now on, until it is set again or
    /// [cleared](Self::clear_metadata): what a list of saves shows, such as
    /// the chapter, the hours played and a small picture. It is a whole save of its own in there, so that its type may change like any
    /// other, and it is read [from the header alone](Header::metadata).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] over [`Limits::metadata`](crate::Limits::metadata); what [`persist::to_vec`](to_vec()) refuses.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::save::Header;
    /// use persist::{Persist, SaveManager};
    ///
    /// #[derive(Persist, Debug, PartialEq)]
    /// struct Shown { chapter: String, minutes: u32 }
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("slot1.sav");
    /// let mut saves = SaveManager::new();
    /// saves.set_metadata(&Shown { chapter: "The Mill".into(), minutes: 90 })?;
    /// saves.save_value(&path, &vec![0_u8; 1_000_000])?;
    ///
    /// // Reads some hundred bytes of the file.
    /// let header = Header::from_reader(std::fs::File::open(&path)?)?;
    /// let shown: Option<Shown> = header.metadata()?;
    /// assert_eq!(shown.unwrap().chapter, "The Mill");
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn set_metadata<T: Persist>(&mut self, value: &T) -> Result<()> {
        let bytes = to_vec(value)?;
        self.limits.check_metadata(bytes.len() as u64)?;
        self.header.metadata = Some(bytes.into());
        Ok(())
    }

    /// Leaves the metadata out of the saves from now on.
    pub fn clear_metadata(&mut self) {
        self.header.metadata = None;
    }
}

impl Header {
    /// The value that the program put into the header by [`SaveManager::set_metadata`]; `None` if it did not.
    ///
    /// # Errors
    ///
    /// As [`persist::from_slice`](from_slice()): it is no `T`, or no save.
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
    /// As [`Document::from_slice`], if it is no save.
    pub fn metadata_document(&self) -> Result<Option<Document>> {
        self.metadata.as_ref().map(|bytes| Document::from_slice(&bytes.0)).transpose()
    }
}
