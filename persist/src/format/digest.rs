//! A digest that identifies a save.

use byteorder::{ByteOrder, LittleEndian};
use twox_hash::XxHash3_128;

use super::broken::cut_short;
use super::{Header, TRAILER_SIZE};
use crate::Result;

/// Which save something follows: a digest of its blocks, and its generation.
///
/// The digest of the blocks identifies what was saved. It does not change when the header is written again, as when two
/// devices are reconciled. The generation distinguishes two saves of one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Of all bytes between the header and the trailer: 128 bits, so that no two saves have the same by chance.
    hash: u128,
    /// How many these are.
    length: u64,
    pub(crate) generation: u64,
}

impl Digest {
    /// Bytes of one that is written.
    pub(crate) const SIZE: usize = 32;

    /// The digest of a whole save.
    pub(crate) fn of(save: &[u8]) -> Result<Self> {
        let (header, start) = Header::parse(save)?;
        let end = save.len().saturating_sub(TRAILER_SIZE);
        let Some(blocks) = save.get(start..end) else { return Err(cut_short(save.len())) };
        Ok(Self {
            hash: XxHash3_128::oneshot(blocks),
            length: blocks.len() as u64,
            generation: header.generation,
        })
    }

    /// True if both are of saves that hold the same.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        (self.hash, self.length) == (other.hash, other.length)
    }

    pub(crate) fn write(&self, out: &mut [u8; Self::SIZE]) {
        LittleEndian::write_u128(&mut out[..16], self.hash);
        LittleEndian::write_u64(&mut out[16..24], self.length);
        LittleEndian::write_u64(&mut out[24..], self.generation);
    }

    pub(crate) fn read(bytes: &[u8; Self::SIZE]) -> Self {
        Self {
            hash: LittleEndian::read_u128(&bytes[..16]),
            length: LittleEndian::read_u64(&bytes[16..24]),
            generation: LittleEndian::read_u64(&bytes[24..]),
        }
    }
}
