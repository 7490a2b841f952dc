//! Where saves go, and what becomes of them.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::format::Header;
use crate::storage::{FILES, Past, SaveOptions, Storage};
use crate::{Limits, Result, storage};

/// What has become of a save; the last two are of saves in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveOutcome {
    /// The save is in its place.
    Saved,
    /// The save is in its place, and was not locked, since the system has no file locks there.
    ///
    /// Some network drives are like that. Another program that saved at the same moment was looked for twice.
    /// It is found unless it replaced the save in the instant between the second look and the end.
    SavedUnlocked,
    /// A newer save of the same file came before its turn.
    Superseded,
    /// The save was cancelled; the one before is in its place.
    Cancelled,
}

impl SaveOutcome {
    pub(super) fn of(is_locked: bool) -> Self {
        if is_locked { Self::Saved } else { Self::SavedUnlocked }
    }
}

/// What it takes to write a save: the storage, the options, the limits and the name of the device.
#[derive(Clone)]
pub(super) struct Output {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) options: SaveOptions,
    pub(super) limits: Limits,
    pub(super) device: Option<String>,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            storage: Arc::new(FILES),
            options: SaveOptions::DEFAULT,
            limits: Limits::DEFAULT,
            device: None,
        }
    }
}

impl Output {
    /// Replaces a file by a save with this header, of a generation that is at least `least`.
    pub(super) fn replace(
        &self,
        path: &Path,
        least: u64,
        header: Header,
        write: impl FnOnce(&mut dyn Write, Header) -> Result<()>,
    ) -> Result<SaveOutcome> {
        let Self { storage, options, limits, device } = self;
        let write = Box::new(|out: &mut dyn Write, past: &Past| {
            write(out, past.lead_to(header, device.as_deref(), least))
        });
        storage::replace(&**storage, path, options, limits, write).map(SaveOutcome::of)
    }
}
