//! Which saves a save comes after: a version vector with epochs.

use std::hash::{BuildHasher, RandomState};

use crate::codec::{Decoder, NoLinks, count};
use crate::env::Env;

/// Bytes of the name of a device.
pub(crate) const LONGEST_DEVICE: usize = 255;

/// Entries of one save.
const MOST_ENTRIES: usize = 256;

/// The largest count, as that of object ids: half of what a word holds.
const MOST_SAVES: u64 = u64::MAX >> 1;

/// How many saves of each device a save comes after, itself included.
///
/// A device counts on in its latest epoch while it is sure that it made no later save in it, and begins another one
/// else, so that no count ever means two saves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VersionVector {
    /// By device and epoch, in their order. They are few.
    counts: Vec<((String, u64), u64)>,
}

/// The latest epoch of a device, and how many saves it made in it.
pub(crate) type Latest = (u64, u64);

impl VersionVector {
    /// Reads what [`write`](Self::write) wrote; `None` for anything else.
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
            if !is_in_order || !(1..=MOST_SAVES).contains(&count) || counts.len() == MOST_ENTRIES {
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

    /// Each device and epoch with its count.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.counts.iter().map(|((device, epoch), count)| (&**device, *epoch, *count))
    }

    /// Of these counts; `None` if a save cannot have them.
    pub(super) fn of(counts: Vec<(String, u64, u64)>) -> Option<Self> {
        let length = counts.len();
        if length > MOST_ENTRIES {
            return None;
        }
        let mut this = Self::default();
        for (device, epoch, count) in counts {
            *this.count_mut(&(device, epoch)) = count;
        }
        (this.counts.len() == length).then(|| Self::read(&this.write())).flatten()
    }

    /// The devices by name, each with how many saves it made in all its epochs.
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

    /// All saves that are counted.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// True if it counts every save that another does.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let is_counted = |(key, theirs): &((String, u64), u64)| {
            self.place(key).is_ok_and(|at| self.counts[at].1 >= *theirs)
        };
        other.counts.iter().all(is_counted)
    }

    /// Where a device and epoch is, or would be.
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

    /// Counts every save that another does, too.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (key, theirs) in &other.counts {
            let own = self.count_mut(key);
            *own = (*own).max(*theirs);
        }
    }

    /// Counts one more save of a device, in a new epoch after `known` if that is later than what is counted.
    pub(crate) fn count(&mut self, device: &str, known: Option<Latest>, begins_epoch: bool) {
        let latest = self.latest(device);
        let epoch = match latest {
            Some((epoch, count)) if !begins_epoch && known <= latest && count < MOST_SAVES => epoch,
            _ => {
                let last = known.max(latest).map_or(0, |(epoch, _)| epoch);
                // By chance, since a slot may be deleted and begun again, and nothing be left of the epoch before.
                last.saturating_add(1 + (RandomState::new().hash_one(()) >> 32))
            }
        };
        let key = (device.to_owned(), epoch);
        let count = self.count_mut(&key);
        *count = (*count + 1).min(MOST_SAVES);
        // Forgets the devices with the fewest saves. That makes strangers of saves that are none, but never hides one.
        while self.counts.len() > MOST_ENTRIES {
            let others = self.counts.iter().enumerate().filter(|(_, (other, _))| *other != key);
            let Some((fewest, _)) = others.min_by_key(|(_, (_, count))| *count) else { break };
            self.counts.remove(fewest);
        }
    }
}
