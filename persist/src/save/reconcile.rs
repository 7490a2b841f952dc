//! Comparing and reconciling copies of one slot from two devices.

use std::io::{self, Write};
use std::path::Path;

use super::{Output, Slot};
use crate::format::{Ends, Header, Lineage, check, with_header};
use crate::storage::{Past, SaveOptions, StoredFile, have_same_bytes};
use crate::{Error, ErrorKind, Limits, Result, storage};

/// The relation of a save to a copy of its slot from another device; [`Slot::compare`] returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// How the local save relates to the remote one.
    pub lineage: Lineage,
    /// The header of the local save.
    pub local: Header,
    /// The header of the remote save.
    pub remote: Header,
}

/// The choice between two saves of a slot; see [`Slot::reconcile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// Keeps the save in the slot.
    Local,
    /// Keeps the save from the other device.
    Remote,
}

impl Slot {
    /// Compares a save with a copy of its slot from another device.
    ///
    /// ```
    /// use persist::Saves;
    /// use persist::save::{Keep, Lineage};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (local, remote) = (folder.path().join("slot1.sav"), folder.path().join("cloud.sav"));
    /// let (deck, laptop) = (Saves::new().device("deck")?, Saves::new().device("laptop")?);
    /// let slot = deck.file(&local);
    /// slot.save(&1_u32)?;
    /// std::fs::copy(&local, &remote)?;
    /// slot.save(&2_u32)?;
    /// assert_eq!(slot.compare(&remote)?.lineage, Lineage::Newer);
    ///
    /// // Meanwhile the other device has continued the first save.
    /// laptop.file(&remote).save(&3_u32)?;
    /// assert_eq!(slot.compare(&remote)?.lineage, Lineage::Diverged);
    ///
    /// // The player has chosen. What was in the slot is a backup now.
    /// slot.reconcile(&remote, Keep::Remote)?;
    /// assert_eq!(slot.compare(&remote)?.lineage, Lineage::Newer);
    /// assert_eq!(*slot.load::<u32>()?, 3);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// Either one save continues the other, or both continue an earlier save. In that second case the saves have
    /// diverged, and the player must choose.
    ///
    /// Only the header and the last 29 bytes of both files are read, and [`Header::compare`] decides. If the headers
    /// are equal, the whole files are compared: [`Lineage::Same`] means that the bytes are equal. The content is not
    /// checked for damage; [`reconcile`](Self::reconcile) checks it.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if a file is missing, and [`ErrorKind::Io`] if it cannot be read. Returns
    /// [`ErrorKind::NotASave`], [`ErrorKind::Truncated`], [`ErrorKind::Damaged`] or [`ErrorKind::NewerFormat`] if a
    /// file does not begin and end as a save. No backup is used here; [`load`](Self::load) the local save to recover it
    /// first.
    pub fn compare(&self, remote: impl AsRef<Path>) -> Result<Comparison> {
        let path = self.path()?;
        let paths = [&*path, remote.as_ref()];
        paths.iter().for_each(|path| self.saves().settle(path));
        let [mut ours, mut theirs] = [self.open(paths[0])?, self.open(paths[1])?];
        let limits = self.saves().bounds();
        let local = ends(&mut *ours, paths[0], limits)?;
        let remote = ends(&mut *theirs, paths[1], limits)?;
        let mut lineage = local.compare(&remote);
        if lineage == Lineage::Same {
            let is_same = have_same_bytes(&mut *ours, &mut *theirs);
            let failed = |error| Error::io("compare the save with", paths[1], error);
            if !is_same.map_err(failed)? {
                lineage = Lineage::Diverged;
            }
        }
        Ok(Comparison { lineage, local, remote })
    }

    /// Writes the save that the player keeps into the local slot, as a save that continues both, and returns its
    /// header.
    ///
    /// From then on, the save in the slot compares as newer than either of the two. Its content is a byte-for-byte copy
    /// of the kept save, which is checked for damage first. The returned header does not say whether the slot was
    /// locked.
    ///
    /// Nothing is lost: the save that was in the slot becomes a backup, even if [`SaveOptions::backups`] is 0, and the
    /// remote file is not changed.
    ///
    /// [`Keep::Remote`] also fetches a remote save that is newer than the local one, or for which there is no local
    /// save yet. Such a save is copied unchanged, so that both devices have the same save. The exception is a device
    /// that has lost saves of its own, and must begin a new count. With [`Keep::Local`] and a newer local save, or if
    /// both saves are the same, nothing is written.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`compare`](Self::compare) and [`save`](Self::save), and an error if the kept save is
    /// damaged. The slot is then unchanged.
    pub fn reconcile(&self, remote: impl AsRef<Path>, keep: Keep) -> Result<Header> {
        let local = self.path()?;
        let (local, remote) = (&*local, remote.as_ref());
        let disk = self.saves().disk();
        let is_first = keep == Keep::Remote && is_missing(disk.open(local));
        if !is_first {
            let found = self.compare(remote)?;
            match (found.lineage, keep) {
                (Lineage::Same, _) | (Lineage::Newer, Keep::Local) => return Ok(found.local),
                _ => {}
            }
        }
        let Output { options, limits, device, .. } = self.output();
        let checked = |path: &Path| {
            let save = storage::read_save(&*disk, path, &limits)?;
            let header = check(&save, &limits).map_err(|error| wrong(path, &error))?;
            Ok::<_, Error>((save, header))
        };
        let (theirs, remote) = match keep {
            Keep::Remote => checked(remote)?,
            Keep::Local => (Vec::new(), ends(&mut *self.open(remote)?, remote, &limits)?),
        };
        let options = SaveOptions { backups: options.backups.max(1), ..options };
        let device = device.as_deref();
        let mut written = None;
        let write = |out: &mut dyn Write, past: &Past| {
            let (save, header) = match keep {
                // Read again under the lock: another program may have saved since the comparison.
                Keep::Local => checked(local)?,
                Keep::Remote => (theirs.clone(), remote.clone()),
            };
            let failed = |error| Error::io("write the save to", local, error);
            if keep == Keep::Remote && past.is_replaceable_by(&remote, device) {
                written = Some(header);
                return out.write_all(&save).map_err(failed);
            }
            let header = written.insert(past.reconcile(header, &remote, device));
            out.write_all(&with_header(&save, header, &limits)?).map_err(failed)
        };
        storage::begin(&*disk, local, &options, &limits, None)?.write_and_commit(write)?;
        Ok(written.unwrap_or_default())
    }

    fn open(&self, path: &Path) -> Result<Box<dyn StoredFile>> {
        self.saves().output().storage.open(path).map_err(|error| Error::of_opening(path, error))
    }
}

/// Reads the header of a save, and checks that the file begins and ends as a whole save.
fn ends(file: &mut dyn StoredFile, path: &Path, limits: &Limits) -> Result<Header> {
    let ends = Ends::read(file, limits).map_err(|error| wrong(path, &error))?;
    if ends.is_whole {
        return Ok(ends.header);
    }
    let why = "it does not end with its trailer, it is cut short; load it, or copy it again";
    Err(wrong(path, &Error::new(ErrorKind::Truncated, why)))
}

fn wrong(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn is_missing(opened: io::Result<Box<dyn StoredFile>>) -> bool {
    opened.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
