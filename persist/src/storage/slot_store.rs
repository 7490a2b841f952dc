//! A store of saves by the names of their slots, independent of where they are stored.

use std::fmt;
use std::str::FromStr;

use twox_hash::XxHash3_128;

use crate::format::Header;
use crate::{Error, ErrorKind, Result};

/// The slots of one player, in a folder, an object store or a database.
///
/// A [`Storage`](super::Storage) works like a file system: it renames, links and locks. Few services can do that, but
/// most can replace an object only if it is still the one that the writer has read. This trait needs no more.
/// [`SlotFolder`](super::SlotFolder) implements it for any `Storage`, and the crate `persist-cloud` for object stores
/// and PostgreSQL.
///
/// ```
/// use persist::ErrorKind;
/// use persist::storage::{Memory, SlotFolder, SlotStore};
///
/// let store = SlotFolder::new(Memory::default(), "saves");
/// let first = store.put_if("Ada", None, &persist::to_vec(&1_u32)?)?;
///
/// // Two servers continue the first save. Only one of them can replace it.
/// store.put_if("Ada", Some(&first), &persist::to_vec(&2_u32)?)?;
/// let late = store.put_if("Ada", Some(&first), &persist::to_vec(&3_u32)?).unwrap_err();
/// assert_eq!(late.kind(), ErrorKind::Conflict);
///
/// let (save, _version) = store.get("Ada")?.unwrap();
/// assert_eq!(persist::from_slice::<u32>(&save)?, 2);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// Every implementation guarantees:
///
/// - A save is replaced completely or not at all, and only if it is the version that the writer names. If two writers
///   name the same version, at most one succeeds.
/// - Bytes are stored unchanged, including the header. Anything but a complete save is refused.
/// - A call that returned `Ok` is durable in the sense of the engine, and every later `get` sees its effect.
/// - [`ErrorKind::Conflict`] means that nothing was written. After any other error of a write, the write may have
///   happened, since an answer can be lost. [`get`](Self::get) shows whether it did: the version of a save is known
///   before it is written.
/// - Valid names are those that [`check_slot_name`](super::check_slot_name) accepts.
pub trait SlotStore: Send + Sync {
    /// Reads the save of a slot, and its version. Returns `None` if there is no such slot.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidValue`] for an invalid name, the error of a damaged save, and [`ErrorKind::Io`].
    fn get(&self, slot: &str) -> Result<Option<(Vec<u8>, SlotVersion)>>;

    /// Replaces the save of a slot if it still has this version. `None` creates the slot.
    ///
    /// Returns the new version. A second call with the same save is a conflict, even if the first call wrote these
    /// bytes. Two writers may have made equal saves, and each must learn of the other.
    ///
    /// # Errors
    ///
    /// Returns an error in these cases:
    ///
    /// - [`ErrorKind::Conflict`] if the slot has another version, was deleted, or exists and should be created.
    /// - [`ErrorKind::InvalidValue`] for an invalid name.
    /// - The error of the damage, such as [`ErrorKind::Truncated`], if the bytes are not a complete save.
    /// - [`ErrorKind::Io`] if the write fails. It may have happened nevertheless.
    fn put_if(&self, slot: &str, version: Option<&SlotVersion>, save: &[u8])
    -> Result<SlotVersion>;

    /// Lists the slots by name, without their saves.
    ///
    /// Slots with a damaged save are left out. [`get`](Self::get) returns their errors.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Io`] if the slots cannot be listed.
    fn list(&self) -> Result<Vec<StoredSlot>>;

    /// Deletes a slot if it still has this version. Returns `Ok` for a slot that is deleted already.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Conflict`] if the slot has another version, [`ErrorKind::InvalidValue`] for an invalid
    /// name, and [`ErrorKind::Io`].
    fn delete(&self, slot: &str, version: &SlotVersion) -> Result<()>;
}

/// A slot without its save, as [`SlotStore::list`] returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSlot {
    /// The name of the slot.
    pub name: String,
    /// The header of the save: application, generation, devices and metadata.
    pub header: Header,
    /// Bytes of the save.
    pub size: u64,
    /// The version of the save.
    pub version: SlotVersion,
}

/// Identifies a save by its bytes: length and hash.
///
/// A save has the same version in every [`SlotStore`], so two copies can be compared without reading them. As text, a
/// version has 49 characters, for a store to keep beside the save.
///
/// ```
/// use persist::storage::SlotVersion;
///
/// let version = SlotVersion::from_save(&persist::to_vec(&7_u32)?);
/// assert_eq!(version.to_string().parse::<SlotVersion>()?, version);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlotVersion {
    length: u64,
    hash: u128,
}

impl SlotVersion {
    /// Returns the version of a save.
    #[must_use]
    pub fn from_save(save: &[u8]) -> Self {
        // 128 bits, so that two saves do not collide by chance.
        Self { length: save.len() as u64, hash: XxHash3_128::oneshot(save) }
    }

    /// Returns the length of the save in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.length
    }
}

impl fmt::Display for SlotVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:032x}", self.length, self.hash)
    }
}

impl fmt::Debug for SlotVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SlotVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let version = text.split_once('-').and_then(|(length, hash)| {
            let length = u64::from_str_radix(length, 16).ok()?;
            Some(Self { length, hash: u128::from_str_radix(hash, 16).ok()? })
        });
        // Reject signs and other spellings, which `Display` never writes.
        version.filter(|version| version.to_string() == text).ok_or_else(|| {
            error!(
                ErrorKind::InvalidValue,
                "{text:.100?} is not the version of a slot; take it from `get`, `list` or `put_if`"
            )
        })
    }
}
