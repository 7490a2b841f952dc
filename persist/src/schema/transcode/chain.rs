//! [`ByteChain`]: bytes that stay where they are while others are appended.

use std::cell::OnceCell;

/// Bytes that are made while others that were made before are read: a list that grows at its end.
#[derive(Default)]
pub(super) struct ByteChain {
    bytes: Vec<u8>,
    next: OnceCell<Box<Self>>,
}

impl ByteChain {
    /// Holds bytes after these, which are the last ones.
    pub(super) fn with(&self, bytes: Vec<u8>) -> &Self {
        // Pieces of the record borrow the bytes of all earlier links, so a link is added through `&`. A list of buffers
        // would need `&mut`.
        self.next.get_or_init(|| Box::new(Self { bytes, next: OnceCell::new() }))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Without recursion: a record may have any number of fields that are made.
impl Drop for ByteChain {
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut link) = next {
            next = link.next.take();
        }
    }
}
