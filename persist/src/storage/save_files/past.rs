//! Collects the headers of earlier saves, from which the header of a new save follows.

use std::path::{Path, PathBuf};

use super::{backups, header, is_save, known_header, preserved};
use crate::Result;
use crate::format::{Header, Latest, Lineage, VersionVector};
use crate::storage::{Storage, names};

/// The headers of the save that a new one replaces, of its backups and of its damaged files, as far as they can be
/// read.
pub(crate) struct Past {
    replaced: Option<Header>,
    backups: Vec<Header>,
    damaged: Vec<Header>,
    /// The backups beyond the number to keep, in ascending order.
    surplus: Vec<PathBuf>,
}

impl Past {
    /// Reads the headers of the files of a save. The save keeps `max` backups.
    pub(super) fn read(storage: &dyn Storage, path: &Path, max: u32) -> Result<Self> {
        let files = backups(storage, path)?;
        let headers =
            files.iter().filter_map(|(_, backup)| known_header(storage, backup).transpose());
        let damaged = preserved(storage, path, names::damaged);
        Ok(Self {
            backups: headers.collect::<Result<_>>()?,
            replaced: known_header(storage, path)?,
            damaged: damaged.filter_map(|file| header(storage, &file)).collect(),
            surplus: files
                .into_iter()
                .filter(|(number, _)| *number > max)
                .map(|(_, file)| file)
                .collect(),
        })
    }

    /// Removes the backups beyond the number to keep, the oldest first. If one cannot be removed, the next save tries
    /// again.
    pub(super) fn remove_surplus(&self, storage: &dyn Storage) {
        // A file with such a name that is no save belongs to somebody else.
        let mut surplus = self.surplus.iter().rev().filter(|file| is_save(storage, file));
        let _ = surplus.try_for_each(|file| storage.remove(file));
    }

    pub(super) fn has_surplus(&self) -> bool {
        !self.surplus.is_empty()
    }

    /// Makes a past without files, from the header of the save that a new one replaces.
    pub(crate) fn new(replaced: Option<Header>) -> Self {
        Self { replaced, backups: Vec::new(), damaged: Vec::new(), surplus: Vec::new() }
    }

    /// Returns the header of the save that a new one replaces.
    pub(super) fn replaced(&self) -> Option<&Header> {
        self.replaced.as_ref()
    }

    /// Returns the header of a save that continues the one that it replaces. Its generation is at least `min`.
    pub(crate) fn lead_to(&self, header: Header, device: Option<&str>, min: u64) -> Header {
        let mut version = self.version();
        if device.is_some() || !version.is_empty() {
            let device = device.unwrap_or_default();
            version.count(device, self.latest(device), self.is_restored());
        }
        Header { generation: self.next_generation().max(min), version, ..header }
    }

    /// Returns the header of a save that continues both the one that it replaces and another save. `chosen` is the
    /// header of the one of the two whose content it has.
    pub(crate) fn reconcile(&self, chosen: Header, other: &Header, device: Option<&str>) -> Header {
        let mut version = self.version();
        version.merge(&other.version);
        let mut generation = self.next_generation().max(other.generation.saturating_add(1));
        if device.is_some() || !version.is_empty() {
            let device = device.unwrap_or_default();
            let begins_epoch = self.is_restored() || self.is_outdated(other, device);
            version.count(device, self.latest(device), begins_epoch);
        }
        let headers = self.replaced.iter().chain([other]);
        for uncounted in headers.filter(|header| header.version.is_empty()) {
            // A comparison concludes from this generation that the save without counts precedes the first count.
            let min = uncounted.generation.saturating_add(version.total());
            generation = generation.max(min);
        }
        Header { generation, version, ..chosen }
    }

    /// Returns true if another save may replace the current one unchanged: it continues the current one, and this
    /// device can continue it.
    pub(crate) fn is_replaceable_by(&self, other: &Header, device: Option<&str>) -> bool {
        let is_newer = |replaced| other.compare(replaced) == Lineage::Newer;
        self.replaced.as_ref().is_none_or(is_newer)
            && !self.is_restored()
            && !self.is_outdated(other, device.unwrap_or_default())
    }

    /// Returns true if another save counts more saves of this device than are known here. This device may have made
    /// even more that it no longer knows.
    fn is_outdated(&self, other: &Header, device: &str) -> bool {
        other.version.latest(device) > self.version().latest(device)
    }

    /// Returns true if the save is a restored backup. Other devices may have saves that came after it.
    fn is_restored(&self) -> bool {
        self.replaced.as_ref().is_some_and(|replaced| self.backups.contains(replaced))
    }

    fn version(&self) -> VersionVector {
        self.replaced.as_ref().map(|header| header.version.clone()).unwrap_or_default()
    }

    fn headers(&self) -> impl Iterator<Item = &Header> {
        self.replaced.iter().chain(&self.backups).chain(&self.damaged)
    }

    /// Returns the latest known count of a device.
    fn latest(&self, device: &str) -> Option<Latest> {
        self.headers().filter_map(|header| header.version.latest(device)).max()
    }

    fn next_generation(&self) -> u64 {
        self.headers().map(|header| header.generation).max().unwrap_or(0).saturating_add(1)
    }
}
