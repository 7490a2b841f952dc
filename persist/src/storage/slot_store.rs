//! Saves by the names of their slots, whatever keeps them.

use std::fmt;
use std::str::FromStr;

use twox_hash::XxHash3_128;

use crate::format::Header;
use crate::{Error, ErrorKind, Result};

/// The slots of one player, in a folder, an object store or a database.
///
/// A [`Storage`](super::Storage) is shaped like a file system: it renames, links and locks. Few services can do that, but
/// most replace an object only if it is still the one that the writer has seen. This trait asks for no more.
/// [`SlotFolder`](super::SlotFolder) implements it for any `Storage`, and the crate `persist-cloud` for object stores and
/// PostgreSQL.
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
/// What every implementation keeps:
///
/// - A save is replaced whole or not at all, and only if it is the one that the writer names. Of two writers that name
///   the same one, at most one succeeds.
/// - Bytes are kept as they are, header included. What is not a whole save is refused.
/// - A call that returned `Ok` is durable in the sense of the engine, and every later `get` sees it.
/// - [`ErrorKind::Conflict`] means that nothing was written. After any other error of a write it may have happened, since
///   an answer can be lost. [`get`](Self::get) shows it: the version of a save is known before it is written.
/// - Names are those that [`check_slot_name`](super::check_slot_name) accepts.
pub trait SlotStore: Send + Sync {
    /// Reads the save of a slot, and its version; `None` if there is no such slot.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidValue`] for the name; whatever is wrong with a damaged save; [`ErrorKind::Io`].
    fn get(&self, slot: &str) -> Result<Option<(Vec<u8>, SlotVersion)>>;

    /// Replaces the save of a slot if it still has this version; `None` creates the slot.
    ///
    /// Returns the new version. A second call with the same save is a conflict, even if the first one wrote these bytes:
    /// two writers may have made equal saves, and each must learn of the other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] if the slot has another version, or exists and should be created, or is gone;
    /// [`ErrorKind::InvalidValue`] for the name; whatever makes the bytes no whole save; [`ErrorKind::Io`].
    fn put_if(&self, slot: &str, version: Option<&SlotVersion>, save: &[u8])
    -> Result<SlotVersion>;

    /// Lists the slots by name, without their saves.
    ///
    /// Slots whose save is damaged are left out: [`get`](Self::get) says what is wrong with them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if they cannot be listed.
    fn list(&self) -> Result<Vec<StoredSlot>>;

    /// Deletes a slot if it still has this version; one that is gone already is `Ok`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] if it has another version; [`ErrorKind::InvalidValue`] for the name; [`ErrorKind::Io`].
    fn delete(&self, slot: &str, version: &SlotVersion) -> Result<()>;
}

/// A slot without its save; [`SlotStore::list`] returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSlot {
    /// The name of the slot.
    pub name: String,
    /// Application, generation, devices and metadata.
    pub header: Header,
    /// Bytes of the save.
    pub size: u64,
    /// Identifies the save.
    pub version: SlotVersion,
}

/// Identifies a save by its bytes: length and hash.
///
/// So a save has one version in every [`SlotStore`], and two copies can be compared without reading them. As text it is
/// 49 characters, for a store to keep beside the save.
///
/// ```
/// use persist::storage::SlotVersion;
///
/// let version = SlotVersion::of(&persist::to_vec(&7_u32)?);
/// assert_eq!(version.to_string().parse::<SlotVersion>()?, version);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlotVersion {
    length: u64,
    hash: u128,
}

impl SlotVersion {
    /// The version of a save.
    #[must_use]
    pub fn of(save: &[u8]) -> Self {
        // Of 128 bits, so that no two saves have the same by chance.
        Self { length: save.len() as u64, hash: XxHash3_128::oneshot(save) }
    }

    /// Bytes of the save.
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
        // Signs and other spellings are not what a version is written as.
        version.filter(|version| version.to_string() == text).ok_or_else(|| {
            error!(
                ErrorKind::InvalidValue,
                "{text:.100?} is not the version of a slot; take it from `get`, `list` or `put_if`"
            )
        })
    }
}
