//! Saves that a journal follows.

use std::path::Path;
use std::sync::Arc;

use super::content;
use super::info::SlotInfo;
use super::source::SaveSource;
use super::{Loaded, SaveOutcome, Saves};
use crate::codec::Persist;
use crate::format::{Digest, with_header};
use crate::storage::{SessionSave, Storage, is_free, names};
use crate::{Error, ErrorKind, Result};

impl Saves {
    pub(crate) fn disk(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.output().storage)
    }

    /// Loads a value, and returns which save it was, for the next save to follow; if there is none, an empty value.
    ///
    /// One that is missing and has a backup is an error, which names that.
    pub(crate) fn load_followed<T: Persist + Default>(
        &self,
        path: &Path,
    ) -> Result<(Loaded<T>, Option<Digest>)> {
        self.settle(path);
        let read = |save: &[u8]| {
            Ok((Digest::of(save)?, <T as content::ReadContent>::read(self, save, None)?))
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

    /// Makes an empty value that knows what is registered here.
    pub(crate) fn new_followed<T: Persist + Default>(&self) -> T {
        let mut value = T::default();
        content::introduce(&mut value, &self.registry(), self.shared_context());
        value
    }

    /// A save of a value in memory, after its `before_save` hooks have run.
    pub(crate) fn encode_followed<T: Persist>(&self, value: &mut Loaded<T>) -> Result<Vec<u8>> {
        self.to_vec(value)
    }

    /// Replaces a file by such a save, and keeps at least this many backups; `before` gets its digest before anything is
    /// written.
    pub(crate) fn replace_followed(
        &self,
        path: &Path,
        save: &[u8],
        (info, backups): (SlotInfo, u32),
        session: &mut SessionSave<'_>,
        before: &mut dyn FnMut(&Digest),
    ) -> Result<SaveOutcome> {
        self.settle(path);
        let mut output = self.output().clone();
        output.options.backups = output.options.backups.max(backups);
        let header = info.into_header(output.storage.now(), self.header(), self.bounds())?;
        output.replace_by(path, 0, &header, Some(session), &mut |out, header| {
            let save = with_header(save, &header, self.bounds())?;
            before(&Digest::of(&save)?);
            out.write_all(&save).map_err(|error| Error::io("write", path, error))
        })
    }
}
