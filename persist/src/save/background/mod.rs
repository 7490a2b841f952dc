//! Saves that are written by another thread.
//!
//! The thread of the game takes the snapshot: hooks run and every object is encoded into memory.
//! Checksums, writing and flushing happen on a thread of the manager's.

mod worker;

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use self::worker::Worker;
use self::worker::{Job, Ticket};
use super::objects::Objects;
use super::output::Output;
use super::{SaveManager, SaveOutcome, ValueSaver};
use crate::codec::Persist;
use crate::format::{Blocks, Snapshot};
use crate::{Error, ErrorKind, Result};

/// A save that is being written by another thread.
///
/// ```
/// use persist::SaveManager;
/// use persist::save::SaveOutcome;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("auto.sav");
/// let mut saves = SaveManager::new();
/// let save = saves.save_value_in_background(&path, &vec![7_u8; 1_000_000])?;
/// // The game continues, and may show a bar.
/// let progress = save.progress();
/// assert!(progress.done <= progress.total);
/// assert_eq!(save.wait()?, SaveOutcome::Saved);
/// assert_eq!(persist::load::<Vec<u8>>(&path)?.len(), 1_000_000);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// If it is dropped, the save continues. Dropping the [`SaveManager`] waits for it.
#[must_use = "an error is only seen by `wait`, or by `SaveManager::wait_for_saves`"]
#[derive(Debug)]
pub struct BackgroundSave {
    path: PathBuf,
    ticket: Arc<Ticket>,
}

/// How far a save in the background is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the snapshot that have been written.
    pub done: u64,
    /// Bytes of the snapshot. The flush after the last byte is not counted.
    pub total: u64,
}

impl Progress {
    /// The part that is done, from 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a bar has fewer pixels")]
    pub fn fraction(self) -> f32 {
        if self.total == 0 { 1.0 } else { self.done as f32 / self.total as f32 }
    }
}

impl BackgroundSave {
    /// The file that is written, with links and the current folder resolved.
    ///
    /// The name of a slot is its file stem.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How far the save is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.ticket.progress()
    }

    /// True once the save is in its place, superseded or cancelled, or has failed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.ticket.is_done()
    }

    /// Gives the save up, unless it is in its place already.
    ///
    /// Those that it [superseded](SaveOutcome::Superseded) do not come back.
    pub fn cancel(&self) {
        self.ticket.cancel();
    }

    /// Waits until the save is done.
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::save`].
    pub fn wait(self) -> Result<SaveOutcome> {
        self.ticket.wait()
    }
}

impl SaveManager {
    /// Takes a snapshot of the objects, and saves it on another thread.
    ///
    /// The call runs hooks and encodes, which for a graph of many objects is most of a save.
    ///
    /// A manager has one such thread, which writes one save after the other. If a file is still being written, the
    /// next save of it waits; of several that wait only the newest is written. A load of the file by this manager, or
    /// a [`save`](Self::save), waits for all of them.
    ///
    /// `std::process::exit` ends the thread wherever it is, and leaves the previous save. Call
    /// [`wait_for_saves`](Self::wait_for_saves) first.
    ///
    /// # Errors
    ///
    /// What an object refuses, as [`save`](Self::save). [`BackgroundSave::wait`] or
    /// [`wait_for_saves`](Self::wait_for_saves) returns what goes wrong later.
    pub fn save_in_background(&mut self, path: impl AsRef<Path>) -> Result<BackgroundSave> {
        self.enqueue(path.as_ref(), 0, |saves, objects, out| {
            saves.write_objects(objects, out, None)
        })
    }

    /// Takes a snapshot of one value, and saves it on another thread.
    ///
    /// The rest is as in [`save_in_background`](Self::save_in_background) and [`save_value`](Self::save_value).
    ///
    /// # Errors
    ///
    /// Those of [`save_value`](Self::save_value); later ones as in [`save_in_background`](Self::save_in_background).
    pub fn save_value_in_background<T: Persist>(
        &mut self,
        path: impl AsRef<Path>,
        value: &T,
    ) -> Result<BackgroundSave> {
        self.enqueue(path.as_ref(), 0, |saves, objects, out| saves.write_value(objects, out, value))
    }

    /// Waits for all saves in the background.
    ///
    /// # Errors
    ///
    /// The first error since the last call that no [`BackgroundSave::wait`] has returned.
    pub fn wait_for_saves(&mut self) -> Result<()> {
        match self.values.worker.wait_for_all() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    pub(super) fn enqueue(
        &mut self,
        path: &Path,
        least: u64,
        write: impl FnOnce(&mut ValueSaver, &mut Objects, &mut dyn Blocks) -> Result<()>,
    ) -> Result<BackgroundSave> {
        let Self { values, objects } = self;
        let path = values
            .output
            .storage
            .resolve(path)
            .map_err(|error| Error::io("write the save to", path, error))?;
        let Output { options, limits, .. } = &values.output;
        let mut snapshot = Snapshot::new(options.compression, limits);
        let kept = mem::replace(&mut values.buffer, values.worker.spare_buffer());
        let result = write(values, objects, &mut snapshot);
        snapshot.take(mem::replace(&mut values.buffer, kept));
        result?;
        let ticket = Arc::new(Ticket::new(snapshot.size()));
        values.worker.enqueue(Job {
            path: path.clone(),
            snapshot,
            least,
            output: values.output.clone(),
            ticket: ticket.clone(),
        });
        Ok(BackgroundSave { path, ticket })
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the save was cancelled")
}
