//! Detects whether a file was replaced or changed, without reading it.

use std::io::{self, Read, SeekFrom};

use twox_hash::XxHash3_128;

use super::StoredFile;

/// Identifies the content of a file at one moment, as [`Storage::stamp`](super::Storage::stamp) returns it.
///
/// Only two stamps of the same path can be compared. Equal stamps mean that the file was neither replaced nor changed
/// in between.
///
/// ```
/// use persist::storage::FileStamp;
///
/// let (number, length) = (17_u64, 1_200_u64);
/// let stamp = FileStamp::from_bytes(&[number.to_le_bytes(), length.to_le_bytes()].concat());
/// assert_ne!(stamp, FileStamp::from_bytes(b"another version"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileStamp(u128);

impl FileStamp {
    /// Makes a stamp from the data that a storage has about a file, such as its number, length and time of
    /// modification.
    #[must_use]
    pub fn from_bytes(known: &[u8]) -> Self {
        // 128 bits, so that two stamps do not collide by chance.
        Self(XxHash3_128::oneshot(known))
    }

    /// Makes a stamp from the length of a file and from its first and last bytes. In a save, these include its
    /// generation and checksums.
    pub(super) fn of_ends(file: &mut dyn StoredFile) -> io::Result<Self> {
        /// Bytes of each end.
        const END: u64 = 128;
        let length = file.seek(SeekFrom::End(0))?;
        let mut known = length.to_le_bytes().to_vec();
        file.rewind()?;
        (&mut *file).take(END).read_to_end(&mut known)?;
        file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
        (&mut *file).take(END).read_to_end(&mut known)?;
        Ok(Self::from_bytes(&known))
    }
}
