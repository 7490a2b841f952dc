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
    /// In order of device and epoch, none twice.
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    device: String,
    epoch: u64,
    count: u64,
}

impl Entry {
    fn key(&self) -> (&str, u64) {
        (&self.device, self.epoch)
    }
}

/// The latest epoch of a device, and how many saves it made in it.
pub(crate) type Latest = (u64, u64);

impl VersionVector {
    /// Reads what [`write`](Self::write) wrote; `None` for anything else.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(content, &Env::DEFAULT, &mut links);
        let mut entries: Vec<Entry> = Vec::new();
        while !input.rest().is_empty() {
            let length = input.count().ok().filter(|length| *length <= LONGEST_DEVICE)?;
            let device = std::str::from_utf8(input.take(length).ok()?).ok()?.to_owned();
            let (epoch, count) = (count::decode(&mut input).ok()?, count::decode(&mut input).ok()?);
            let entry = Entry { device, epoch, count };
            let is_behind = entries.last().is_none_or(|last| last.key() < entry.key());
            if !is_behind || !(1..=MOST_SAVES).contains(&count) || entries.len() == MOST_ENTRIES {
                return None;
            }
            entries.push(entry);
        }
        (!entries.is_empty()).then_some(Self { entries })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for Entry { device, epoch, count } in &self.entries {
            count::push(device.len() as u64, out);
            out.extend_from_slice(device.as_bytes());
            count::push(*epoch, out);
            count::push(*count, out);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The devices by name, each with how many saves it made in all its epochs.
    pub(super) fn devices(&self) -> impl Iterator<Item = (&str, u64)> {
        self.entries
            .chunk_by(|one, next| one.device == next.device)
            .map(|epochs| (&*epochs[0].device, total(epochs)))
    }

    /// All saves that are counted.
    pub(crate) fn total(&self) -> u64 {
        total(&self.entries)
    }

    /// True if it counts every save that another does.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let covers = |theirs: &Entry| {
            self.place(theirs.key()).is_ok_and(|at| self.entries[at].count >= theirs.count)
        };
        other.entries.iter().all(covers)
    }

    pub(crate) fn latest(&self, device: &str) -> Option<Latest> {
        let own = self.entries.iter().rfind(|entry| entry.device == device);
        own.map(|entry| (entry.epoch, entry.count))
    }

    /// Counts every save that another does, too.
    pub(crate) fn merge(&mut self, other: &Self) {
        for theirs in &other.entries {
            match self.place(theirs.key()) {
                Ok(at) => self.entries[at].count = self.entries[at].count.max(theirs.count),
                Err(at) => self.entries.insert(at, theirs.clone()),
            }
        }
    }

    /// Counts one more save of a device, in a new epoch behind `known` if that is later than what is counted.
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
        let at = self.place((device, epoch)).unwrap_or_else(|at| {
            self.entries.insert(at, Entry { device: device.to_owned(), epoch, count: 0 });
            at
        });
        self.entries[at].count = (self.entries[at].count + 1).min(MOST_SAVES);
        self.leave_room((device, epoch));
    }

    /// Forgets the devices with the fewest saves. That makes strangers of saves that are none, but never hides one.
    fn leave_room(&mut self, kept: (&str, u64)) {
        while self.entries.len() > MOST_ENTRIES {
            let others = self.entries.iter().enumerate().filter(|(_, entry)| entry.key() != kept);
            let Some((at, _)) = others.min_by_key(|(_, entry)| entry.count) else { break };
            self.entries.remove(at);
        }
    }

    fn place(&self, key: (&str, u64)) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.key().cmp(&key))
    }
}

fn total(entries: &[Entry]) -> u64 {
    entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.count))
}
