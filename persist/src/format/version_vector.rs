//! The saves that a save continues, as a version vector with epochs.

use std::hash::{BuildHasher, RandomState};

use crate::codec::{Decoder, NoLinks, count};
use crate::env::Env;

/// Maximum bytes of the name of a device.
pub(crate) const LONGEST_DEVICE: usize = 255;

/// Maximum number of entries in one save.
const MAX_ENTRIES: usize = 256;

/// Maximum count. Like the maximum of object ids, it is half of the maximum of a word.
const MAX_SAVES: u64 = u64::MAX >> 1;

/// The number of saves of each device that a save continues, itself included.
///
/// A device counts in its latest epoch as long as it knows that it made no later save there. Otherwise it begins a new
/// epoch. So no count ever stands for two different saves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VersionVector {
    /// The counts by device and epoch, sorted. There are few, so a list is enough.
    counts: Vec<((String, u64), u64)>,
}

/// The latest epoch of a device, and the number of its saves in it.
pub(crate) type Latest = (u64, u64);

impl VersionVector {
    /// Reads the bytes that [`write`](Self::write) wrote. Returns `None` for any others.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(content, &Env::DEFAULT, &mut links);
        let mut counts: Vec<((String, u64), u64)> = Vec::new();
        while !input.rest().is_empty() {
            let length = input.count().ok().filter(|length| *length <= LONGEST_DEVICE)?;
            let device = std::str::from_utf8(input.take(length).ok()?).ok()?.to_owned();
            let key = (device, count::decode(&mut input).ok()?);
            let count = count::decode(&mut input).ok()?;
            let is_in_order = counts.last().is_none_or(|(last, _)| *last < key);
            if !is_in_order || !(1..=MAX_SAVES).contains(&count) || counts.len() == MAX_ENTRIES {
                return None;
            }
            counts.push((key, count));
        }
        (!counts.is_empty()).then_some(Self { counts })
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for ((device, epoch), count) in &self.counts {
            count::push(device.len() as u64, &mut out);
            out.extend_from_slice(device.as_bytes());
            count::push(*epoch, &mut out);
            count::push(*count, &mut out);
        }
        out
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Iterates over the counts by device and epoch.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.counts.iter().map(|((device, epoch), count)| (&**device, *epoch, *count))
    }

    /// Makes a vector of these counts. Returns `None` if they are invalid.
    pub(super) fn from_counts(counts: Vec<(String, u64, u64)>) -> Option<Self> {
        let length = counts.len();
        if length > MAX_ENTRIES {
            return None;
        }
        let mut this = Self::default();
        for (device, epoch, count) in counts {
            *this.count_mut(&(device, epoch)) = count;
        }
        (this.counts.len() == length).then(|| Self::read(&this.write())).flatten()
    }

    /// Returns the devices by name, each with the number of its saves in all epochs.
    pub(super) fn devices(&self) -> Vec<(&str, u64)> {
        let mut devices: Vec<(&str, u64)> = Vec::new();
        for ((device, _), count) in &self.counts {
            match devices.last_mut() {
                Some((last, sum)) if last == device => *sum = sum.saturating_add(*count),
                _ => devices.push((device, *count)),
            }
        }
        devices
    }

    /// Returns the total number of saves.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Returns true if this vector counts every save that the other counts.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let is_counted = |(key, theirs): &((String, u64), u64)| {
            self.place(key).is_ok_and(|at| self.counts[at].1 >= *theirs)
        };
        other.counts.iter().all(is_counted)
    }

    /// Returns the index of a device and epoch, or as an error the index at which to insert it.
    fn place(&self, key: &(String, u64)) -> Result<usize, usize> {
        self.counts.binary_search_by(|(known, _)| known.cmp(key))
    }

    fn count_mut(&mut self, key: &(String, u64)) -> &mut u64 {
        let at = self.place(key).unwrap_or_else(|at| {
            self.counts.insert(at, (key.clone(), 0));
            at
        });
        &mut self.counts[at].1
    }

    pub(crate) fn latest(&self, device: &str) -> Option<Latest> {
        let own = self.counts.iter().rfind(|((of, _), _)| of == device);
        own.map(|((_, epoch), count)| (*epoch, *count))
    }

    /// Counts every save that the other vector counts, too.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (key, theirs) in &other.counts {
            let own = self.count_mut(key);
            *own = (*own).max(*theirs);
        }
    }

    /// Counts one more save of a device. With `begins_epoch`, or if `known` is later than this vector's entry, it
    /// begins a new epoch.
    pub(crate) fn count(&mut self, device: &str, known: Option<Latest>, begins_epoch: bool) {
        let latest = self.latest(device);
        let epoch = match latest {
            Some((epoch, count)) if !begins_epoch && known <= latest && count < MAX_SAVES => epoch,
            _ => {
                let last = known.max(latest).map_or(0, |(epoch, _)| epoch);
                // The step is random: a slot may be deleted and created again, with no record of its earlier epochs.
                last.saturating_add(1 + (RandomState::new().hash_one(()) >> 32))
            }
        };
        let key = (device.to_owned(), epoch);
        let count = self.count_mut(&key);
        *count = (*count + 1).min(MAX_SAVES);
        // Drop the devices with the fewest saves. Related saves may then appear to diverge, but diverged saves never
        // appear related.
        while self.counts.len() > MAX_ENTRIES {
            let others = self.counts.iter().enumerate().filter(|(_, (other, _))| *other != key);
            let Some((fewest, _)) = others.min_by_key(|(_, (_, count))| *count) else { break };
            self.counts.remove(fewest);
        }
    }
}
