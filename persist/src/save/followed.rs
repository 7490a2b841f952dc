//! Saves that are the base of a journal: a [`Session`](crate::Session) loads and replaces them here.

use std::path::Path;

use super::info::SlotInfo;
use super::objects::content;
use super::source::SaveSource;
use super::{Loaded, SaveOutcome, Saves};
use crate::codec::Persist;
use crate::format::{Digest, with_header};
use crate::storage::{SessionSave, is_free, names};
use crate::{Error, ErrorKind, Result};

impl Saves {
    /// Loads a value, and returns the digest of its save, by which the journal recognises it. Without a save, returns
    /// an empty value.
    ///
    /// A missing save that has a backup is an error, which names the backup.
    pub(crate) fn load_followed<T: Persist + Default>(
        &self,
        path: &Path,
    ) -> Result<(Loaded<T>, Option<Digest>)> {
        self.settle(path);
        let read = |save: &[u8]| {
            Ok((Digest::from_save(save)?, <T as content::ReadContent>::read(self, save, None)?))
        };
        match SaveSource::File(path, &[]).read(self.output(), self.loading().policy, read) {
            Ok(((digest, loaded), rescue)) => {
                let loaded = loaded.rescued(rescue);
                loaded.report().trace(Some(path));
                Ok((loaded, Some(digest)))
            }
            Err(error) => {
                let is_free = |path: &Path| is_free(&*self.output().storage, path).unwrap_or(false);
                let is_new = error.kind() == ErrorKind::NotFound
                    && is_free(path)
                    && is_free(&names::backup(path, 1));
                if is_new { Ok((Loaded::from(self.new_followed::<T>()), None)) } else { Err(error) }
            }
        }
    }

    /// Creates an empty value; a world gets the registered classes.
    pub(crate) fn new_followed<T: Persist + Default>(&self) -> T {
        let mut value = T::default();
        content::connect(&mut value, &self.registry(), self.shared_context());
        value
    }

    /// Encodes a value in memory, after its `before_save` hooks have run.
    pub(crate) fn encode_followed<T: Persist>(&self, value: &mut Loaded<T>) -> Result<Vec<u8>> {
        self.to_vec(value)
    }

    /// Replaces a file by an encoded save, and keeps at least this many backups. `announce` gets the digest of the new
    /// save before anything is written.
    pub(crate) fn replace_followed(
        &self,
        path: &Path,
        save: &[u8],
        (info, backups): (SlotInfo, u32),
        session: &mut SessionSave<'_>,
        announce: &mut dyn FnMut(&Digest),
    ) -> Result<SaveOutcome> {
        self.settle(path);
        let mut output = self.output().clone();
        output.options.backups = output.options.backups.max(backups);
        let header = info.into_header(output.storage.now(), self.header(), self.bounds())?;
        output.write_file(path, 0, &header, Some(session), &mut |out, header| {
            let save = with_header(save, &header, self.bounds())?;
            announce(&Digest::from_save(&save)?);
            out.write_all(&save).map_err(|error| Error::io("write", path, error))
        })
    }
}
