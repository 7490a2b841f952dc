//! [`Bytes`]: the encoded bytes of fields, inline if there are few.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;

use crate::codec::with::With;

/// Immutable bytes. Up to 22 bytes are stored inline, since an allocation would take more memory than they do.
#[derive(Clone)]
pub struct Bytes(BytesRepr);

const FEW: usize = 22;

#[derive(Clone)]
enum BytesRepr {
    /// Inline bytes, with their number.
    Few(u8, [u8; FEW]),
    Many(Box<[u8]>),
}

impl Bytes {
    /// Returns the bytes of heap memory in use.
    #[cfg(feature = "history")]
    pub(crate) fn held(&self) -> usize {
        Self::held_of(self)
    }

    /// Returns the bytes of heap memory that these bytes would take.
    #[cfg(feature = "history")]
    pub(super) fn held_of(bytes: &[u8]) -> usize {
        if bytes.len() > FEW { bytes.len() } else { 0 }
    }

    /// Creates the bytes from the first `width` little-endian bytes of a number.
    #[cfg(feature = "world")]
    #[inline]
    pub(super) fn of_bits(bits: u64, width: usize) -> Self {
        let mut few = [0; FEW];
        few[..8].copy_from_slice(&bits.to_le_bytes());
        Self(BytesRepr::Few(u8::try_from(width).unwrap_or(8), few))
    }

    fn few(bytes: &[u8]) -> Option<Self> {
        let mut few = [0; FEW];
        few.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self(BytesRepr::Few(u8::try_from(bytes.len()).ok()?, few)))
    }
}

pub(crate) struct AsBytes;

impl With<Bytes> for AsBytes {
    type Stored = Vec<u8>;
    type Error = Infallible;

    fn store(bytes: &Bytes) -> impl Borrow<Vec<u8>> {
        bytes.to_vec()
    }

    fn restore(bytes: Vec<u8>) -> Result<Bytes, Infallible> {
        Ok(bytes.into())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            BytesRepr::Few(len, few) => few.get(..usize::from(*len)).unwrap_or_default(),
            BytesRepr::Many(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self::few(bytes).unwrap_or_else(|| Self(BytesRepr::Many(bytes.into())))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::few(&bytes).unwrap_or_else(|| Self(BytesRepr::Many(bytes.into())))
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self(BytesRepr::Few(0, [0; FEW]))
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_bytes_equal_their_source() {
        let all: Vec<u8> = (0..40).collect();
        for len in 0..all.len() {
            let bytes = Bytes::from(&all[..len]);
            assert_eq!(*bytes, all[..len]);
            assert_eq!(bytes, Bytes::from(all[..len].to_vec()));
            assert_eq!(bytes.held(), if len > FEW { len } else { 0 });
            assert_ne!(bytes, Bytes::from(&all[..len + 1]));
        }
        assert!(size_of::<Bytes>() <= 24);
        assert!(Bytes::default().is_empty());
    }
}
