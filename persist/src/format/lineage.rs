//! Which saves a save comes after: a version vector with epochs, and how two saves compare by theirs.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use super::Header;
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
    /// By device and epoch.
    counts: BTreeMap<(String, u64), u64>,
}

/// The latest epoch of a device, and how many saves it made in it.
pub(crate) type Latest = (u64, u64);

impl VersionVector {
    /// Reads what [`write`](Self::write) wrote; `None` for anything else.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(content, &Env::DEFAULT, &mut links);
        let mut counts = BTreeMap::new();
        while !input.rest().is_empty() {
            let length = input.count().ok().filter(|length| *length <= LONGEST_DEVICE)?;
            let device = std::str::from_utf8(input.take(length).ok()?).ok()?.to_owned();
            let key = (device, count::decode(&mut input).ok()?);
            let count = count::decode(&mut input).ok()?;
            let is_in_order = counts.last_key_value().is_none_or(|(last, _)| *last < key);
            if !is_in_order || !(1..=MOST_SAVES).contains(&count) || counts.len() == MOST_ENTRIES {
                return None;
            }
            counts.insert(key, count);
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

    /// All saves that are counted.
    pub(crate) fn total(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// True if it counts every save that another does.
    fn covers(&self, other: &Self) -> bool {
        other.counts.iter().all(|(key, theirs)| self.counts.get(key) >= Some(theirs))
    }

    pub(crate) fn latest(&self, device: &str) -> Option<Latest> {
        let own = self.counts.iter().rfind(|((of, _), _)| of == device);
        own.map(|((_, epoch), count)| (*epoch, *count))
    }

    /// Counts every save that another does, too.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (key, theirs) in &other.counts {
            let own = self.counts.entry(key.clone()).or_default();
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
        let count = self.counts.entry(key.clone()).or_default();
        *count = (*count + 1).min(MOST_SAVES);
        // Forgets the devices with the fewest saves. That makes strangers of saves that are none, but never hides one.
        while self.counts.len() > MOST_ENTRIES {
            let others = self.counts.iter().filter(|(other, _)| **other != key);
            let Some((fewest, _)) = others.min_by_key(|(_, count)| **count) else { break };
            let fewest = fewest.clone();
            self.counts.remove(&fewest);
        }
    }
}

/// How a save stands to another save of the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lineage {
    /// They are one save.
    Same,
    /// This save continues the other: nothing is lost if it replaces the other.
    Newer,
    /// The other save continues this one: nothing is lost if the other replaces it.
    Older,
    /// Each has, or may have, what the other does not.
    Diverged,
}

impl Lineage {
    fn reversed(self) -> Self {
        match self {
            Self::Newer => Self::Older,
            Self::Older => Self::Newer,
            other => other,
        }
    }
}

impl Header {
    /// The devices that made this save and those that it continues, by name, each with the number of saves it made.
    ///
    /// Empty if no program with a [device](crate::SaveManager::set_device) made any of them. The name is empty for saves
    /// that a program without a device made since.
    pub fn devices(&self) -> impl Iterator<Item = (&str, u64)> {
        let mut devices: Vec<(&str, u64)> = Vec::new();
        for ((device, _), count) in &self.version.counts {
            match devices.last_mut() {
                Some((last, sum)) if last == device => *sum = sum.saturating_add(*count),
                _ => devices.push((device, *count)),
            }
        }
        devices.into_iter()
    }

    /// Whether this save continues another save of the same slot, as far as the headers show.
    ///
    /// It does if every save that the other counts is counted here. Where neither was made with a
    /// [device](crate::SaveManager::set_device), the larger generation is the newer one; that does not show whether they
    /// differ. Where one was, the other is older if its generation is from before the first count.
    ///
    /// Whatever does not fit together is [`Lineage::Diverged`]: equal counts in headers that differ, more counts without a
    /// larger generation, or a save that was not made for a file beside one that was. Headers that are equal are [`Lineage::Same`];
    /// [`SaveManager::compare`](crate::SaveManager::compare) looks at what follows them, too.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::SaveManager;
    /// use persist::save::{Header, Lineage};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("slot1.sav");
    /// let mut saves = SaveManager::new();
    /// saves.set_device("steam-deck")?;
    /// saves.save_value(&path, &1_u32)?;
    /// let first = Header::from_reader(std::fs::File::open(&path)?)?;
    /// saves.save_value(&path, &2_u32)?;
    /// let second = Header::from_reader(std::fs::File::open(&path)?)?;
    ///
    /// assert_eq!(second.compare(&first), Lineage::Newer);
    /// assert!(second.devices().eq([("steam-deck", 2)]));
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn compare(&self, other: &Self) -> Lineage {
        if self == other {
            return Lineage::Same;
        }
        if self.generation == 0 || other.generation == 0 {
            return Lineage::Diverged;
        }
        let by_generation = self.generation.cmp(&other.generation);
        let by_counts = match (self.version.is_empty(), other.version.is_empty()) {
            (true, true) => Some(by_generation),
            (true, false) => return other.compare(self).reversed(),
            (false, true) => {
                let before = self.generation.saturating_sub(self.version.total());
                (other.generation <= before).then_some(Ordering::Greater)
            }
            (false, false) => {
                match (self.version.covers(&other.version), other.version.covers(&self.version)) {
                    (true, false) => Some(Ordering::Greater),
                    (false, true) => Some(Ordering::Less),
                    _ => None,
                }
            }
        };
        match (by_counts, by_generation) {
            (Some(Ordering::Greater), Ordering::Greater) => Lineage::Newer,
            (Some(Ordering::Less), Ordering::Less) => Lineage::Older,
            _ => Lineage::Diverged,
        }
    }
}
