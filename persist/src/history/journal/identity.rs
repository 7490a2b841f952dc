//! Checks that the save of a session is still the one that its journal follows.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::format::Digest;
use crate::save::LoadReport;
use crate::storage::recover::is_between;
use crate::storage::{FileStamp, Storage, read_save};
use crate::{Error, ErrorKind, Limits};

/// The result of comparing a save with the one that a journal follows.
pub(super) enum SaveIdentity {
    Same,
    /// It is the last save of the session, although that save returned an error.
    Saved,
    /// It was replaced, or is certainly missing.
    Changed,
    /// The system does not let it be read at the moment, so nothing is known.
    Unknown(Error),
}

/// The save that a journal follows, as last seen.
pub(super) struct FollowedSave {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    limits: Limits,
    expected: Expected,
    /// A save of the session that may or may not be in place: the system did not say.
    undecided: Option<Digest>,
    stamp: Option<FileStamp>,
    /// The stamp of a save that is known to be different, so that its content is read only once.
    other: Option<FileStamp>,
}

enum Expected {
    Missing,
    Save(Digest),
    /// A file that was not loaded, since it is damaged or refused, and a backup was. Only its stamp is known.
    Unloaded,
}

impl FollowedSave {
    /// Creates the state for a save that is about to be loaded.
    pub(super) fn new(storage: Arc<dyn Storage>, path: PathBuf, limits: &Limits) -> Self {
        let stamp = storage.stamp(&path).ok();
        let (limits, expected) = (*limits, Expected::Missing);
        Self { storage, path, limits, expected, undecided: None, stamp, other: None }
    }

    /// Notes what was loaded.
    pub(super) fn loaded(&mut self, digest: Option<Digest>, report: Option<&LoadReport>) {
        // A load that recovers has replaced the file. Any other program may have done so as well, so the stamp is only
        // trusted if it is the one from before the load.
        let stamp = self.storage.stamp(&self.path).ok();
        let is_unloaded = report.is_some_and(|report| {
            let is_left =
                report.recovery().is_some_and(|it| it.backup.is_some() && it.damaged.is_none());
            is_left || report.salvage().is_some()
        });
        self.expected = match digest {
            None => Expected::Missing,
            Some(_) if is_unloaded => Expected::Unloaded,
            Some(digest) => Expected::Save(digest),
        };
        self.stamp = match self.expected {
            Expected::Missing => None,
            Expected::Unloaded => stamp,
            Expected::Save(_) => stamp.filter(|stamp| self.stamp == Some(*stamp)),
        };
    }

    /// Notes that this save is in place now.
    pub(super) fn follow(&mut self, digest: Digest, stamp: Option<FileStamp>) {
        (self.expected, self.stamp, self.other) = (Expected::Save(digest), stamp, None);
        self.undecided = None;
    }

    /// Notes that this save may be in place, or that the last such save is not.
    pub(super) fn set_undecided(&mut self, digest: Option<Digest>) {
        (self.undecided, self.other) = (digest, None);
    }

    /// Compares the save with the one that the journal follows, by its stamp. If the stamp differs, by its content.
    pub(super) fn check(&mut self) -> SaveIdentity {
        let stamp = match self.storage.stamp(&self.path) {
            Ok(stamp) if self.stamp == Some(stamp) => return SaveIdentity::Same,
            Ok(stamp) if self.other == Some(stamp) => return SaveIdentity::Changed,
            Ok(stamp) => stamp,
            Err(error) => return self.missing(error),
        };
        let expected = match &self.expected {
            Expected::Save(digest) => Some(*digest),
            Expected::Missing | Expected::Unloaded => None,
        };
        let identity = match (&self.expected, self.undecided) {
            // The system gave no stamp when the session was opened, so there is nothing to compare.
            (Expected::Unloaded, None) if self.stamp.is_none() => SaveIdentity::Same,
            (Expected::Missing | Expected::Unloaded, None) => SaveIdentity::Changed,
            (_, undecided) => {
                // The rename of a save may return an error and still have happened. Then only the content shows which
                // save is in place.
                let save = read_save(&*self.storage, &self.path, &self.limits);
                match save.and_then(|save| Digest::from_save(&save)) {
                    Ok(found) if expected == Some(found) => SaveIdentity::Same,
                    Ok(found) if undecided == Some(found) => SaveIdentity::Saved,
                    Err(error) if error.kind().is_of_system() => SaveIdentity::Unknown(error),
                    _ => SaveIdentity::Changed,
                }
            }
        };
        match identity {
            SaveIdentity::Same => self.stamp = Some(stamp),
            SaveIdentity::Changed => self.other = Some(stamp),
            SaveIdentity::Saved | SaveIdentity::Unknown(_) => {}
        }
        identity
    }

    /// The result for a file without a stamp.
    fn missing(&self, error: io::Error) -> SaveIdentity {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        match self.expected {
            Expected::Missing if is_missing => SaveIdentity::Same,
            // On some systems, the save has no name for a moment while another program saves.
            _ if is_missing && !is_between(&*self.storage, &self.path) => SaveIdentity::Changed,
            _ if error.kind() == io::ErrorKind::InvalidData => SaveIdentity::Changed,
            _ => SaveIdentity::Unknown(Error::io("read", &self.path, error)),
        }
    }

    #[cold]
    pub(super) fn conflict(&self) -> Error {
        let path = self.path.display();
        Error::new(
            ErrorKind::Conflict,
            format!(
                "the save {path} is not the one that this session follows, another program has replaced or deleted it; `overwrite` saves in its place and keeps it as a backup, or save elsewhere, or open the session again to continue with that save"
            ),
        )
    }
}
