//! Slots in a folder, for programs that keep them in a service elsewhere.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::read::read_file;
use super::recover::{ReadRequest, load};
use super::slot_name::check_slot_name;
use super::slot_store::{SlotStore, SlotVersion, StoredSlot};
use super::{Past, Patient, SaveOptions, Storage, replace, slots};
use crate::format::{Header, check};
use crate::{Error, ErrorKind, Limits, Result};

/// The slots of a folder as a [`SlotStore`], on any [`Storage`].
///
/// Files, backups and recovery are those of [`SaveManager::slots`](crate::SaveManager::slots), and both may use one
/// folder. The folder must exist. A `SlotFolder` may be shared by threads; for programs on one machine the lock file of
/// each slot decides who is first.
///
/// ```
/// use persist::SaveManager;
/// use persist::storage::{Files, SlotFolder, SlotStore};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// SaveManager::new().slots(folder).save_value("Ada", &7_u32)?;
///
/// let store = SlotFolder::new(Files, folder);
/// assert_eq!(store.list()?[0].header.generation, 1);
/// let (save, version) = store.get("Ada")?.unwrap();
/// assert_eq!(persist::from_slice::<u32>(&save)?, 7);
/// store.delete("Ada", &version)?;
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone)]
pub struct SlotFolder {
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    options: SaveOptions,
    limits: Limits,
}

impl SlotFolder {
    /// Makes a store of the slots in a folder, which is not looked at before it is used.
    pub fn new(storage: impl Storage + 'static, folder: impl AsRef<Path>) -> Self {
        Self {
            storage: Arc::new(Patient::new(storage)),
            folder: folder.as_ref().to_owned(),
            options: SaveOptions::DEFAULT,
            limits: Limits::DEFAULT,
        }
    }

    /// Sets backups, verification and the wait for other programs. The compression is that of the saves.
    #[must_use]
    pub fn with_options(self, options: SaveOptions) -> Self {
        Self { options, ..self }
    }

    /// Sets the bounds on what is read and written.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    fn path(&self, slot: &str) -> Result<PathBuf> {
        check_slot_name(slot)?;
        Ok(slots::path(&self.folder, slot))
    }

    /// The version of a slot's file, damaged or not; `None` if there is none.
    fn current(&self, path: &Path) -> Result<Option<SlotVersion>> {
        match read_file(&*self.storage, path, &self.limits) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            save => Ok(Some(SlotVersion::of(&save?))),
        }
    }
}

impl SlotStore for SlotFolder {
    fn get(&self, slot: &str) -> Result<Option<(Vec<u8>, SlotVersion)>> {
        let path = self.path(slot)?;
        let Self { storage, options, limits, .. } = self;
        let request = ReadRequest { storage: &**storage, limits, wait: options.wait };
        let mut found = None;
        let mut read = |save: &[u8]| {
            check(save, limits)?;
            found = Some((save.to_vec(), SlotVersion::of(save)));
            Ok(())
        };
        match load(request, &path, &mut read) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            loaded => loaded.map(|_| found),
        }
    }

    fn put_if(
        &self,
        slot: &str,
        version: Option<&SlotVersion>,
        save: &[u8],
    ) -> Result<SlotVersion> {
        let path = self.path(slot)?;
        let Self { storage, options, limits, .. } = self;
        check(save, limits)?;
        let write = |out: &mut dyn Write, _: &Past| {
            // Under the lock: another program may have saved meanwhile.
            if self.current(&path)?.as_ref() != version {
                return Err(conflict(slot));
            }
            out.write_all(save).map_err(|error| Error::io("write the save to", &path, error))
        };
        replace(&**storage, &path, options, limits, Box::new(write))?;
        Ok(SlotVersion::of(save))
    }

    fn list(&self) -> Result<Vec<StoredSlot>> {
        let failed = |error| Error::io("list the saves in", &self.folder, error);
        let mut found = Vec::new();
        for (name, _) in slots::list(&*self.storage, &self.folder).map_err(failed)? {
            match self.get(&name) {
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Ok(Some((save, version))) => {
                    let header = Header::read(&save)?;
                    found.push(StoredSlot { name, header, size: version.size(), version });
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn delete(&self, slot: &str, version: &SlotVersion) -> Result<()> {
        let path = self.path(slot)?;
        let is_expected = || match self.current(&path)? {
            Some(found) if found != *version => Err(conflict(slot)),
            _ => Ok(()),
        };
        match slots::delete(&*self.storage, &path, &self.options, &is_expected) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            deleted => deleted,
        }
    }
}

impl fmt::Debug for SlotFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotFolder").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Another writer was first.
#[cold]
fn conflict(slot: &str) -> Error {
    error!(
        ErrorKind::Conflict,
        "`{slot}` has another version than expected, another program has saved or deleted it since; get it, and decide which save stays"
    )
}
