//! Saves that a journal follows.

use std::path::Path;
use std::sync::Arc;

use super::objects::SavedObjects;
use super::source::SaveSource;
use super::{LoadReport, SaveOutcome, ValueSaver};
use crate::codec::Persist;
use crate::format::{Digest, with_header};
use crate::storage::{Storage, is_free, names};
use crate::{Error, ErrorKind, Result, storage};

impl ValueSaver {
    pub(crate) fn disk(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.output.storage)
    }

    /// Loads a value, and returns which save it was, for the next save to follow; if there is none, an empty value.
    ///
    /// One that is missing and has a backup is an error, which names that.
    pub(crate) fn load_followed<T: Persist + Default>(
        &mut self,
        path: &Path,
    ) -> Result<(T, Option<(Digest, LoadReport)>)> {
        let found = self.read(SaveSource::File(path), |saves, save| {
            Ok((Digest::of(save)?, saves.value_of::<T>(save, None)?))
        });
        let (digest, (value, loaded), rescue) = match found {
            Ok(((digest, value), rescue)) => (digest, value, rescue),
            Err(error) => {
                let is_free = |path: &Path| is_free(&*self.output.storage, path).unwrap_or(false);
                let is_new = error.kind() == ErrorKind::NotFound
                    && is_free(path)
                    && is_free(&names::backup(path, 1));
                return if is_new { Ok((self.new_followed(), None)) } else { Err(error) };
            }
        };
        let report = self.keep_unknowns(loaded.rescued(rescue));
        Ok((value, Some((digest, report))))
    }

    /// Makes an empty value that knows what is registered here.
    pub(crate) fn new_followed<T: Persist + Default>(&self) -> T {
        let mut value = T::default();
        self.introduce(&mut value);
        value
    }

    /// A save of a value in memory, after its `before_save` hooks have run.
    pub(crate) fn encode_followed<T: Persist>(&mut self, value: &mut T) -> Result<Vec<u8>> {
        self.in_memory(|saves, out| saves.write_value_mut(&mut SavedObjects::default(), out, value))
    }

    /// Replaces a file by such a save; `before` gets its digest before anything is written.
    pub(crate) fn replace_followed(
        &mut self,
        path: &Path,
        save: &[u8],
        before: impl FnOnce(&Digest),
    ) -> Result<SaveOutcome> {
        self.settle(path);
        self.output.replace(path, 0, self.header().clone(), |out, header| {
            let save = with_header(save, &header, self.limits())?;
            before(&Digest::of(&save)?);
            out.write_all(&save).map_err(|error| Error::io("write", path, error))
        })
    }

    /// True if a file is the save of this digest, also if what came after its replacement failed.
    pub(crate) fn is_in_place(&self, path: &Path, digest: &Digest) -> bool {
        let save = storage::read_save(&*self.output.storage, path, self.limits());
        save.and_then(|save| Digest::of(&save)).is_ok_and(|found| found == *digest)
    }
}
