//! Slots in a folder as a [`SlotStore`], for programs that keep them in a service elsewhere.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::recover::{ReadRequest, fetch};
use super::save_files::commit;
use super::save_files::{backups_by_age, read_file};
use super::slot_name::check_slot_name;
use super::slot_store::{SlotStore, SlotVersion, StoredSlot};
use super::{Past, Patient, SaveOptions, Storage, begin, slots};
use crate::format::{Header, check, with_header};
use crate::{Error, ErrorKind, Limits, Result};

/// The slots of a folder as a [`SlotStore`], on any [`Storage`].
///
/// Files, backups and recovery are those of [`Saves::slots`](crate::Saves::slots), and both may use one folder. The
/// folder must exist. Threads may share a `SlotFolder`. Programs on one machine are ordered by the lock file of each
/// slot.
///
/// ```
/// use persist::Saves;
/// use persist::storage::{Files, SlotFolder, SlotStore};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// Saves::new().slots(folder).slot("Ada").save(&7_u32)?;
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
    storage: Patient<Arc<dyn Storage>>,
    folder: PathBuf,
    options: SaveOptions,
    limits: Limits,
    device: Option<String>,
}

impl SlotFolder {
    /// Makes a store of the slots in a folder. The folder is not accessed before the first call.
    pub fn new(storage: impl Storage + 'static, folder: impl AsRef<Path>) -> Self {
        Self::with_device(Patient::new(storage, SaveOptions::DEFAULT.wait), folder.as_ref(), None)
    }

    /// Makes a store with the storage of a program, which may have the name of a device.
    pub(crate) fn with_device(
        storage: Patient<Arc<dyn Storage>>,
        folder: &Path,
        device: Option<String>,
    ) -> Self {
        let (folder, options) = (folder.to_owned(), SaveOptions::DEFAULT);
        Self { storage, folder, options, limits: Limits::DEFAULT, device }
    }

    /// Sets backups, verification and the wait for other programs. Compression is not used: saves are stored as they
    /// are given.
    #[must_use]
    pub fn options(self, options: SaveOptions) -> Self {
        Self { storage: self.storage.with_wait(options.wait), options, ..self }
    }

    /// Sets the limits on the size of saves that are read and written.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Replaces the save of a slot by one that continues both that save and a remote one, if the slot still has this
    /// version.
    ///
    /// `kept` may be either of the two, or a save that was merged from both. Compared with either, the save in the slot
    /// then is the newer one. There is one exception: a remote save that continues the slot's is stored unchanged, so
    /// that both sides have the same save. Its bytes change only if this device has lost saves of its own, and must
    /// begin a new count.
    ///
    /// No side is lost: the slot's save becomes a backup, and so does the remote one if it is not kept. This needs two
    /// backups, which are kept even if [`SaveOptions::backups`] is less. A crash leaves the old save in the slot or the
    /// new one.
    ///
    /// ```
    /// use persist::Saves;
    /// use persist::save::{Header, Lineage};
    /// use persist::storage::SlotStore;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (deck_folder, laptop_folder) = (folder.path(), folder.path().join("laptop"));
    /// # std::fs::create_dir(&laptop_folder).unwrap();
    /// let deck = Saves::new().device("deck")?.slots(&deck_folder);
    /// let laptop = Saves::new().device("laptop")?.slots(&laptop_folder);
    /// deck.slot("Ada").save(&1_u32)?;
    /// laptop.slot("Ada").save(&2_u32)?;
    ///
    /// let (remote, _) = laptop.as_store()?.get("Ada")?.unwrap();
    /// let store = deck.as_store()?;
    /// let (kept, version) = store.get("Ada")?.unwrap();
    /// store.reconcile_if("Ada", Some(&version), &kept, &remote)?;
    ///
    /// let (now, _) = store.get("Ada")?.unwrap();
    /// assert_eq!(Header::read(&now)?.compare(&Header::read(&remote)?), Lineage::Newer);
    /// assert!(store.backups("Ada")?.contains(&remote));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`put_if`](SlotStore::put_if), and [`ErrorKind::InvalidValue`] if there is no device
    /// name to count saves by. Take the store from [`Slots::as_store`](crate::save::Slots::as_store) of a
    /// [`Saves`](crate::Saves) with a [device](crate::Saves::device).
    pub fn reconcile_if(
        &self,
        slot: &str,
        version: Option<&SlotVersion>,
        kept: &[u8],
        remote: &[u8],
    ) -> Result<SlotVersion> {
        let path = self.path(slot)?;
        let Self { storage, limits, .. } = self;
        let Some(device) = self.device.as_deref() else {
            return Err(error!(
                ErrorKind::InvalidValue,
                "cannot reconcile `{slot}` with another device's save, this device has no name; call `Saves::device`, and take the store from `Slots::as_store`"
            ));
        };
        let (header, other) = (check(kept, limits)?, check(remote, limits)?);
        let takes_remote = header == other && kept == remote;
        let backups = self.options.backups.max(if takes_remote { 1 } else { 2 });
        let options = SaveOptions { backups, ..self.options };
        if !takes_remote && self.current(&path)?.as_ref() == version {
            commit::add_backup(&**storage, &path, &options, remote)?;
        }
        let mut written = None;
        let write = |out: &mut dyn Write, past: &Past| {
            if self.current(&path)?.as_ref() != version {
                return Err(conflict(slot));
            }
            let failed = |error| Error::io("write the save to", &path, error);
            if takes_remote && past.is_replaceable_by(&other, Some(device)) {
                written = Some(SlotVersion::from_save(kept));
                return out.write_all(kept).map_err(failed);
            }
            let header = past.reconcile(header.clone(), &other, Some(device));
            let save = with_header(kept, &header, limits)?;
            written = Some(SlotVersion::from_save(&save));
            out.write_all(&save).map_err(failed)
        };
        begin(&**storage, &path, &options, limits, None)?.write_and_commit(write)?;
        Ok(written.unwrap_or_else(|| SlotVersion::from_save(kept)))
    }

    /// Reads all intact backups of a slot, the newest first.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidValue`] for an invalid name, and [`ErrorKind::Io`] if a backup cannot be read.
    pub fn backups(&self, slot: &str) -> Result<Vec<Vec<u8>>> {
        let path = self.path(slot)?;
        let Self { storage, limits, .. } = self;
        let mut found = Vec::new();
        for (backup, _) in backups_by_age(&**storage, &path)? {
            match read_file(&**storage, &backup, limits) {
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Ok(save) if check(&save, limits).is_ok() => found.push(save),
                _ => {}
            }
        }
        Ok(found)
    }

    fn path(&self, slot: &str) -> Result<PathBuf> {
        check_slot_name(slot)?;
        Ok(slots::path(&self.folder, slot))
    }

    /// Returns the version of a slot's file, damaged or not, or `None` if there is none.
    fn current(&self, path: &Path) -> Result<Option<SlotVersion>> {
        match read_file(&*self.storage, path, &self.limits) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            save => Ok(Some(SlotVersion::from_save(&save?))),
        }
    }
}

impl SlotStore for SlotFolder {
    fn get(&self, slot: &str) -> Result<Option<(Vec<u8>, SlotVersion)>> {
        let path = self.path(slot)?;
        let Self { storage, options, limits, .. } = self;
        let request = ReadRequest { storage: &**storage, limits, wait: options.wait, others: &[] };
        let mut found = None;
        let mut read = |save: &[u8]| {
            check(save, limits)?;
            found = Some((save.to_vec(), SlotVersion::from_save(save)));
            Ok(())
        };
        match fetch(request, &path, &mut read) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            fetched => fetched.map(|()| found),
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
            // This runs under the lock: another program may have saved since the caller read the version.
            if self.current(&path)?.as_ref() != version {
                return Err(conflict(slot));
            }
            out.write_all(save).map_err(|error| Error::io("write the save to", &path, error))
        };
        begin(&**storage, &path, options, limits, None)?.write_and_commit(write)?;
        Ok(SlotVersion::from_save(save))
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

/// Returns the error for a slot that another writer changed first.
#[cold]
fn conflict(slot: &str) -> Error {
    error!(
        ErrorKind::Conflict,
        "`{slot}` has another version than expected, another program has saved or deleted it since; get it, and decide which save stays"
    )
}
