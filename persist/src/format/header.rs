//! [`Header`]: the header of a save, as bytes and as data.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian};

use super::{
    CRITICAL_FIELD, FIELD_APPLICATION, FIELD_APPLICATION_VERSION, FIELD_GENERATION, FIELD_METADATA,
    FIELD_VERSION, FORMAT_VERSION, MAGIC, cut_short, newer,
};
use crate::codec::{Decoder, NoLinks, count};
use crate::env::Env;
use crate::{Error, ErrorKind, Limits, Result};

/// Bytes before the header's fields: magic number, version, flags and length.
const FIXED: usize = 16;

/// Maximum length of the fields of a header other than the metadata.
const OTHER_FIELDS: u64 = 256 << 10;

/// The header of a save: which program wrote it, and its place among other saves of the same slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Format version of the file, or 0 before it is written.
    pub format: u16,
    /// Name of the program that wrote the save, if the program set one.
    pub application: Option<String>,
    /// Version of that program, as the program sets it.
    pub application_version: Option<String>,
    /// Counts the saves of a file, so that the newer of two copies is known without a clock. It is 0 in a save that was
    /// not made for a file.
    pub generation: u64,
    /// The metadata that the program added.
    pub metadata: Option<Metadata>,
    /// The saves that this save continues.
    pub(crate) version: VersionVector,
    /// The bytes of header fields that this version of the library does not know.
    pub unknown: Vec<u8>,
}

/// Metadata: a whole save inside the header of another.
#[derive(Clone, PartialEq, Eq)]
pub struct Metadata(pub Arc<[u8]>);

impl From<Vec<u8>> for Metadata {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Header {
    /// Reads the header at the start of a save, without reading the rest.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotASave`] for other bytes, and [`ErrorKind::NewerFormat`] for a save of a newer version of
    /// the library. Returns [`ErrorKind::Truncated`] if the bytes end in the header, and [`ErrorKind::Damaged`] if its
    /// checksum does not match.
    ///
    /// ```
    /// let save = persist::to_vec(&7_u8)?;
    /// assert_eq!(persist::save::Header::read(&save)?.format, 1);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn read(save: &[u8]) -> Result<Self> {
        Self::parse(save).map(|(header, _)| header)
    }

    /// Reads the header of a save from a reader, and reads no further.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read), errors of the reader, and [`ErrorKind::TooLarge`] if the
    /// metadata is larger than the default of [`Limits::metadata`].
    pub fn from_reader(reader: impl Read) -> Result<Self> {
        Self::within(reader, &Limits::DEFAULT)
    }

    /// Reads the header like [`from_reader`](Self::from_reader), within other limits than the default ones.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`from_reader`](Self::from_reader), within `limits`.
    pub fn within(mut reader: impl Read, limits: &Limits) -> Result<Self> {
        Self::from_file(&mut reader, u64::MAX, limits)
    }

    /// Reads the header of a file of `size` bytes. A header that claims to be longer is damaged.
    pub(super) fn from_file(reader: &mut dyn Read, size: u64, limits: &Limits) -> Result<Self> {
        let check = |length| limits.check_header(length, OTHER_FIELDS);
        let header = Self::read(&Self::bytes_of(reader, size, &check)?)?;
        limits.check_metadata(header.metadata_length())?;
        Ok(header)
    }

    /// Reads the bytes of the header of a file of `size` bytes, unless `check_length` refuses the length.
    pub(super) fn bytes_of(
        reader: &mut dyn Read,
        size: u64,
        check_length: &dyn Fn(u64) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let failed = |error: io::Error| Error::of_reading("the header of the save", error);
        let mut reader = reader.take(FIXED as u64);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(failed)?;
        // Only a save has a length in this place.
        if let Some(length) = bytes.get(12..FIXED).filter(|_| bytes.starts_with(&MAGIC)) {
            let length = u64::from(LittleEndian::read_u32(length));
            let is_newer = LittleEndian::read_u16(&bytes[8..10]) > FORMAT_VERSION;
            if !is_newer && length + (FIXED as u64 + 4) > size {
                return Err(cut_short(usize::try_from(size).unwrap_or(usize::MAX)));
            }
            check_length(length)?;
            reader.set_limit(length + 4);
            // Most headers take one read. The reservation is small, since a malicious header may claim any length.
            bytes.reserve(usize::try_from(length + 4).unwrap_or(usize::MAX).min(4 << 10));
            reader.read_to_end(&mut bytes).map_err(failed)?;
        }
        Ok(bytes)
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 6]);
        // The lengths fit, since the setters limit texts and metadata.
        let mut field = |tag: u8, content: Option<&[u8]>| {
            let Some(content) = content else { return };
            bytes.push(tag);
            bytes.extend_from_slice(&u32::try_from(content.len()).unwrap_or(0).to_le_bytes());
            bytes.extend_from_slice(content);
        };
        let (generation, version) = (self.generation.to_le_bytes(), self.version.write());
        field(FIELD_APPLICATION, self.application.as_deref().map(str::as_bytes));
        field(FIELD_APPLICATION_VERSION, self.application_version.as_deref().map(str::as_bytes));
        field(FIELD_METADATA, self.metadata.as_ref().map(|metadata| &*metadata.0));
        field(FIELD_GENERATION, (self.generation > 0).then_some(&generation));
        field(FIELD_VERSION, Some(&*version).filter(|version| !version.is_empty()));
        bytes.extend_from_slice(&self.unknown);
        let length = u32::try_from(bytes.len() - FIXED).unwrap_or(0);
        LittleEndian::write_u32(&mut bytes[12..FIXED], length);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    pub(super) fn metadata_length(&self) -> u64 {
        self.metadata.as_ref().map_or(0, |Metadata(bytes)| bytes.len() as u64)
    }

    /// Returns the length in bytes that a header claims to have.
    pub(super) fn length(save: &[u8]) -> Option<usize> {
        let length = LittleEndian::read_u32(save.get(12..FIXED)?) as usize;
        FIXED.checked_add(length)?.checked_add(4)
    }

    /// Returns the header and its length in bytes.
    pub(super) fn parse(save: &[u8]) -> Result<(Self, usize)> {
        if !save.starts_with(&MAGIC[..save.len().min(MAGIC.len())]) || save.is_empty() {
            return Err(not_a_save(save));
        }
        let fixed = save.get(..FIXED).ok_or_else(|| cut_short(save.len()))?;
        let format = LittleEndian::read_u16(&fixed[8..10]);
        let flags = LittleEndian::read_u16(&fixed[10..12]);
        if format == 0 {
            return Err(error!(
                ErrorKind::Damaged,
                "the header is damaged, format version 0 does not exist; restore a backup"
            )
            .at(8));
        }
        if format > FORMAT_VERSION {
            if is_of_this_format(save) {
                return Err(error!(
                    ErrorKind::Damaged,
                    "the header is damaged, by its checksum the format is not {format}; restore a backup"
                )
                .at(8));
            }
            return Err(error!(
                ErrorKind::NewerFormat,
                "the save has format {format}, this program reads up to {FORMAT_VERSION}; load it with a newer version of the program"
            )
            .at(8));
        }
        let length = LittleEndian::read_u32(&fixed[12..FIXED]) as usize;
        let end = FIXED.saturating_add(length);
        let (Some(content), Some(crc)) = (save.get(..end), save.get(end..end.saturating_add(4)))
        else {
            return Err(cut_short(save.len()));
        };
        if crc32fast::hash(content) != LittleEndian::read_u32(crc) {
            return Err(error!(
                ErrorKind::Damaged,
                "the header is damaged, its checksum does not match; restore a backup"
            )
            .at(0));
        }
        if flags != 0 {
            return Err(newer(10, "flag", u64::from(flags)));
        }
        let mut header = Self { format, ..Self::default() };
        header.parse_fields(&content[FIXED..])?;
        Ok((header, end + 4))
    }

    fn parse_fields(&mut self, mut rest: &[u8]) -> Result<()> {
        let whole = rest.len();
        while let Some((&tag, after)) = rest.split_first() {
            let at = (FIXED + whole - rest.len()) as u64;
            let bad = || {
                error!(
                    ErrorKind::Damaged,
                    "the header is damaged, its field {tag} is malformed; restore a backup"
                )
                .at(at)
            };
            let (length, after) = after.split_at_checked(4).ok_or_else(bad)?;
            let length = LittleEndian::read_u32(length) as usize;
            let (content, after) = after.split_at_checked(length).ok_or_else(bad)?;
            let text = || std::str::from_utf8(content).map(str::to_owned).map_err(|_| bad());
            let is_first = match tag {
                FIELD_APPLICATION => self.application.replace(text()?).is_none(),
                FIELD_APPLICATION_VERSION => self.application_version.replace(text()?).is_none(),
                FIELD_METADATA => self.metadata.replace(content.to_vec().into()).is_none(),
                FIELD_GENERATION => {
                    let number = content.try_into().map(u64::from_le_bytes).unwrap_or(0);
                    number > 0 && std::mem::replace(&mut self.generation, number) == 0
                }
                FIELD_VERSION => {
                    let version = VersionVector::read(content).ok_or_else(bad)?;
                    std::mem::replace(&mut self.version, version).is_empty()
                }
                CRITICAL_FIELD.. => return Err(newer(at, "header field", u64::from(tag))),
                _ => {
                    self.unknown.extend_from_slice(&rest[..rest.len() - after.len()]);
                    true
                }
            };
            if !is_first {
                return Err(bad());
            }
            rest = after;
        }
        Ok(())
    }
}

/// The relation of a save to another save of the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lineage {
    /// Both are the same save.
    Same,
    /// This save continues the other: nothing is lost if it replaces the other.
    Newer,
    /// The other save continues this one: nothing is lost if the other replaces it.
    Older,
    /// Each save has, or may have, content that the other lacks.
    Diverged,
}

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "the same save",
            Self::Newer => "newer than the other save",
            Self::Older => "older than the other save",
            Self::Diverged => "diverged from the other save",
        })
    }
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
    /// Iterates over the devices that made this save and those that it continues, each with its number of saves.
    ///
    /// The iterator is empty if no program with a [device](crate::Saves::device) made any of them. The name is empty
    /// for saves that a program without a device made later.
    pub fn devices(&self) -> impl Iterator<Item = (&str, u64)> {
        self.version.devices().into_iter()
    }

    /// Iterates over the counts by device and epoch.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.version.counts()
    }

    /// Sets the counts that [`counts`](Self::counts) returns. Returns `None` if they are invalid.
    pub fn set_counts(&mut self, counts: Vec<(String, u64, u64)>) -> Option<()> {
        self.version = VersionVector::from_counts(counts)?;
        Some(())
    }

    /// Returns whether this save continues another save of the same slot, as far as the headers show.
    ///
    /// It does if every save that the other counts is counted here too. If neither was made with a
    /// [device](crate::Saves::device), the larger generation is newer; that does not show whether the two diverged. If
    /// only one was, the other is older if its generation precedes the first count.
    ///
    /// Contradictions are [`Lineage::Diverged`]: equal counts in headers that differ, more counts without a larger
    /// generation, or a save that was not made for a file beside one that was. Equal headers are [`Lineage::Same`].
    /// [`Slot::compare`](crate::save::Slot::compare) also compares the content after the headers.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::Saves;
    /// use persist::save::{Header, Lineage};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("slot1.sav");
    /// let slot = Saves::new().device("steam-deck")?.file(&path);
    /// slot.save(&1_u32)?;
    /// let first = Header::from_reader(std::fs::File::open(&path)?)?;
    /// slot.save(&2_u32)?;
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
                let base = self.generation.saturating_sub(self.version.total());
                (other.generation <= base).then_some(Ordering::Greater)
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

/// Returns true if the checksum of the header matches for this library's format and no flags. Then only the format
/// number is damaged, and a backup may be whole.
fn is_of_this_format(save: &[u8]) -> bool {
    let header = Header::length(save).and_then(|length| save.get(..length));
    let Some((content, crc)) = header.and_then(|header| header.split_last_chunk()) else {
        return false;
    };
    let mut content = content.to_vec();
    LittleEndian::write_u16(&mut content[8..], FORMAT_VERSION);
    content[10..12].fill(0);
    crc32fast::hash(&content) == u32::from_le_bytes(*crc)
}

fn not_a_save(bytes: &[u8]) -> Error {
    let what = if bytes.is_empty() {
        "the file is empty, it is not a save; restore a backup"
    } else if bytes.iter().take(64).all(|byte| *byte == 0) {
        "the file begins with zeros, it is not a save; restore a backup"
    } else if bytes.starts_with(b"\x89PST")
        || bytes.starts_with(b"\tPST")
        || bytes.starts_with(b"PST\r")
    {
        "the first bytes of the save were changed in transfer, as a text file's are; copy it again in binary mode"
    } else {
        "this is not a save: it begins with other bytes; check the path"
    };
    Error::new(ErrorKind::NotASave, what).at(0)
}

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
    fn read(content: &[u8]) -> Option<Self> {
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

    fn write(&self) -> Vec<u8> {
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
    fn counts(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.counts.iter().map(|((device, epoch), count)| (&**device, *epoch, *count))
    }

    /// Makes a vector of these counts. Returns `None` if they are invalid.
    fn from_counts(counts: Vec<(String, u64, u64)>) -> Option<Self> {
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
    fn devices(&self) -> Vec<(&str, u64)> {
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
    fn covers(&self, other: &Self) -> bool {
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
