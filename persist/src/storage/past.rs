//! What the files of a save tell of those that were made before.

use std::path::{Path, PathBuf};

use super::read::{backups, header, is_save, kept, known_header};
use super::{Storage, names};
use crate::Result;
use crate::format::{Header, Latest, Lineage, VersionVector};

/// The headers of the save that a new one replaces, of its backups and of those that were found damaged, as far
/// as they can be read.
pub(crate) struct Past {
    replaced: Option<Header>,
    backups: Vec<Header>,
    damaged: Vec<Header>,
    /// Backups beyond the number that is kept, by their numbers in ascending order.
    surplus: Vec<PathBuf>,
}

impl Past {
    /// `most` backups are kept.
    pub(super) fn read(storage: &dyn Storage, path: &Path, most: u32) -> Result<Self> {
        let files = backups(storage, path)?;
        let headers =
            files.iter().filter_map(|(_, backup)| known_header(storage, backup).transpose());
        let damaged = kept(storage, path, names::damaged);
        Ok(Self {
            backups: headers.collect::<Result<_>>()?,
            replaced: known_header(storage, path)?,
            damaged: damaged.filter_map(|file| header(storage, &file)).collect(),
            surplus: files
                .into_iter()
                .filter(|(number, _)| *number > most)
                .map(|(_, file)| file)
                .collect(),
        })
    }

    /// Removes the backups beyond the number that is kept, the oldest first. If one cannot be removed, the next save tries
    /// again.
    pub(super) fn remove_surplus(&self, storage: &dyn Storage) {
        // A file of such a name that is no save is somebody else's.
        let mut surplus = self.surplus.iter().rev().filter(|file| is_save(storage, file));
        let _ = surplus.try_for_each(|file| storage.remove(file));
    }

    pub(super) fn has_surplus(&self) -> bool {
        !self.surplus.is_empty()
    }

    /// What is known where there are no files: the header of the save that a new one replaces.
    pub(crate) fn of(replaced: Option<Header>) -> Self {
        Self { replaced, backups: Vec::new(), damaged: Vec::new(), surplus: Vec::new() }
    }

    /// The header of the save that a new one replaces.
    pub(super) fn replaced(&self) -> Option<&Header> {
        self.replaced.as_ref()
    }

    /// The header of a save that continues the one that it replaces; its generation is no smaller than `least`.
    pub(crate) fn lead_to(&self, header: Header, device: Option<&str>, least: u64) -> Header {
        let mut version = self.version();
        if device.is_some() || !version.is_empty() {
            let device = device.unwrap_or_default();
            version.count(device, self.latest(device), self.is_restored());
        }
        Header { generation: self.next_generation().max(least), version, ..header }
    }

    /// The header of a save that continues the one that it replaces and another, with the content of one of the two.
    pub(crate) fn reconcile(&self, kept: Header, other: &Header, device: Option<&str>) -> Header {
        let mut version = self.version();
        version.merge(&other.version);
        let mut generation = self.next_generation().max(other.generation.saturating_add(1));
        if device.is_some() || !version.is_empty() {
            let device = device.unwrap_or_default();
            let begins_epoch = self.is_restored() || self.is_behind(other, device);
            version.count(device, self.latest(device), begins_epoch);
        }
        let headers = self.replaced.iter().chain([other]);
        for uncounted in headers.filter(|header| header.version.is_empty()) {
            // By this a comparison knows that it comes before the first count.
            let before = uncounted.generation.saturating_add(version.total());
            generation = generation.max(before);
        }
        Header { generation, version, ..kept }
    }

    /// True if a save may replace the current one as it is: it continues that one, and this device can continue it.
    pub(crate) fn is_before(&self, other: &Header, device: Option<&str>) -> bool {
        let is_before = |replaced| other.compare(replaced) == Lineage::Newer;
        self.replaced.as_ref().is_none_or(is_before)
            && !self.is_restored()
            && !self.is_behind(other, device.unwrap_or_default())
    }

    /// True if another save counts more of this device than is known here. What it has forgotten of itself may be more still.
    fn is_behind(&self, other: &Header, device: &str) -> bool {
        other.version.latest(device) > self.version().latest(device)
    }

    /// True if the save is a backup that was put in its place: others may have what was made after it.
    fn is_restored(&self) -> bool {
        self.replaced.as_ref().is_some_and(|replaced| self.backups.contains(replaced))
    }

    fn version(&self) -> VersionVector {
        self.replaced.as_ref().map(|header| header.version.clone()).unwrap_or_default()
    }

    fn headers(&self) -> impl Iterator<Item = &Header> {
        self.replaced.iter().chain(&self.backups).chain(&self.damaged)
    }

    /// The latest that a device is known to have counted.
    fn latest(&self, device: &str) -> Option<Latest> {
        self.headers().filter_map(|header| header.version.latest(device)).max()
    }

    fn next_generation(&self) -> u64 {
        self.headers().map(|header| header.generation).max().unwrap_or(0).saturating_add(1)
    }
}
