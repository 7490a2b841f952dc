//! What the files of a save tell of those that were made before.

use std::path::Path;

use super::Storage;
use super::read::{backups, header, kept, known_header};
use crate::Result;
use crate::format::{Header, Latest, Lineage, VersionVector};

/// The headers of the save that a new one replaces, of its backups and of those that were found damaged, as far
/// as they can be read.
pub(crate) struct Past {
    replaced: Option<Header>,
    backups: Vec<Header>,
    damaged: Vec<Header>,
}

impl Past {
    pub(super) fn read(storage: &dyn Storage, path: &Path) -> Result<Self> {
        let backups = backups(storage, path)?.into_iter();
        let backups = backups.filter_map(|backup| known_header(storage, &backup).transpose());
        Ok(Self {
            backups: backups.collect::<Result<_>>()?,
            replaced: known_header(storage, path)?,
            damaged: kept(storage, path).filter_map(|file| header(storage, &file)).collect(),
        })
    }

    /// What is known where there are no files: the header of the save that a new one replaces.
    pub(crate) fn of(replaced: Option<Header>) -> Self {
        Self { replaced, backups: Vec::new(), damaged: Vec::new() }
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
