//! Saves that are written by another thread.
//!
//! The thread of the game takes the snapshot: hooks run and every object is encoded into memory.
//! Checksums, writing and flushing happen on a thread of the manager's.

mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use self::worker::Worker;
use self::worker::{Job, Ticket};
use super::{SaveManager, SaveOutcome};
use crate::codec::Persist;
use crate::format::Snapshot;
use crate::{Error, ErrorKind, Result};

/// A save that is being written by another thread.
///
/// Dropping it lets the save go on; dropping the [`SaveManager`] waits for it.
///
/// # Example
///
/// ```
/// use persist::SaveManager;
/// use persist::save::SaveOutcome;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("auto.sav");
/// let mut saves = SaveManager::new();
/// let save = saves.save_value_in_background(&path, &vec![7_u8; 1_000_000])?;
/// // The game goes on, and may show a bar.
/// let progress = save.progress();
/// assert!(progress.done <= progress.total);
/// assert_eq!(save.wait()?, SaveOutcome::Saved);
/// assert_eq!(persist::load::<Vec<u8>>(&path)?.len(), 1_000_000);
/// # Ok::<(), persist::Error>(())
/// ```
#[must_use = "an error is only seen by `wait`, or by `SaveManager::wait_for_saves`"]
#[derive(Debug)]
pub struct BackgroundSave {
    path: PathBuf,
    ticket: Arc<Ticket>,
}

/// How far a save is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the snapshot that have been written.
    pub done: u64,
    /// Bytes of the snapshot. What follows when all are written, flushing, has no part in it.
    pub total: u64,
}

impl Progress {
    /// From 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a bar has fewer pixels")]
    pub fn fraction(self) -> f32 {
        if self.total == 0 { 1.0 } else { self.done as f32 / self.total as f32 }
    }
}

impl BackgroundSave {
    /// The file that it is written to, whatever links and the current folder were: of an
    /// [`auto_save_in_background`](SaveManager::auto_save_in_background) its stem is the name of the slot.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.ticket.progress()
    }

    /// True once it is saved, superseded or cancelled, or has failed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.ticket.is_done()
    }

    /// Gives it up, unless it is in its place already. Those that it [superseded](SaveOutcome::Superseded) do not
    /// come back.
    pub fn cancel(&self) {
        self.ticket.cancel();
    }

    /// Waits until it is done.
    ///
    /// # Errors
    ///
    /// As [`SaveManager::save`].
    pub fn wait(self) -> Result<SaveOutcome> {
        self.ticket.wait()
    }
}

impl SaveManager {
    /// Saves the objects like [`save`](Self::save), but for the snapshot on another thread: the call
    /// takes as long as hooks and encoding do, which for a graph of many objects is most of a save.
    ///
    /// A manager has one such thread, which writes one save after the other. A save of a file that is still being
    /// written by an earlier one waits for its turn; of several that wait the newest is written. A load of the file by
    /// this manager waits for all, and so does [`save`](Self::save).
    ///
    /// `std::process::exit` ends the thread wherever it is: the file is then the save before. Call
    /// [`wait_for_saves`](Self::wait_for_saves) first. A slot is saved in the background by its
    /// [`slot_path`](crate::save::slot_path).
    ///
    /// # Errors
    ///
    /// What an object refuses, as [`save`](Self::save). What goes wrong later is told by
    /// [`BackgroundSave::wait`], or by [`wait_for_saves`](Self::wait_for_saves).
    pub fn save_in_background(&mut self, path: impl AsRef<Path>) -> Result<BackgroundSave> {
        self.enqueue(path.as_ref(), 0, |saves, out| saves.write_blocks(out))
    }

    /// Saves one value like [`save_value`](Self::save_value), but for the snapshot on another
    /// thread, as [`save_in_background`](Self::save_in_background).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn save_value_in_background<T: Persist>(
        &mut self,
        path: impl AsRef<Path>,
        value: &T,
    ) -> Result<BackgroundSave> {
        self.enqueue(path.as_ref(), 0, |saves, out| saves.write_value_blocks(out, value, false))
    }

    /// Waits for all saves in the background.
    ///
    /// # Errors
    ///
    /// The first error since the last call that no [`BackgroundSave::wait`] has told.
    pub fn wait_for_saves(&mut self) -> Result<()> {
        match self.worker.wait_for_all() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    pub(super) fn enqueue(
        &mut self,
        path: &Path,
        least: u64,
        write: impl FnOnce(&mut Self, &mut Snapshot) -> Result<u64>,
    ) -> Result<BackgroundSave> {
        let path = self
            .storage
            .0
            .resolve(path)
            .map_err(|error| Error::io("write the save to", path, error))?;
        let mut snapshot =
            Snapshot::new(self.worker.spare_memory(), self.compression, &self.limits);
        write(self, &mut snapshot)?;
        let ticket = Arc::new(Ticket::new(snapshot.size()));
        self.worker.enqueue(Job {
            path: path.clone(),
            snapshot,
            least,
            device: self.device.clone(),
            storage: self.storage.clone(),
            options: self.save_options,
            limits: self.limits,
            ticket: ticket.clone(),
        });
        Ok(BackgroundSave { path, ticket })
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the save was cancelled")
}
