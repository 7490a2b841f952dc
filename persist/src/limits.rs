//! Limits on the resources that a save can use.

use std::time::Duration;

use crate::{Error, ErrorKind, Result};

/// Limits what is saved and loaded; on by default.
///
/// The limits apply to saves and loads, so that a load accepts everything that a save accepted. In addition, each
/// length in a file is checked against the remaining bytes before memory is allocated for it.
///
/// # Example
///
/// ```
/// use persist::{ErrorKind, Limits, Saves};
///
/// let mut manager = Saves::new().limits(Limits::new().text(300)).manager();
/// # use std::{cell::RefCell, rc::Rc};
/// # let long = Rc::new(RefCell::new("x".repeat(301)));
/// # manager.add(&long)?;
/// # assert_eq!(manager.to_vec().unwrap_err().kind(), ErrorKind::TooLarge);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest size of a whole save, in bytes. Default 4 GiB.
    pub bytes: u64,
    /// Largest total size of the compressed blocks of a save after decompression, in bytes. Default 1 GiB.
    ///
    /// The decompressed blocks are in memory during a load, beside the loaded values, however small the save is. For
    /// example, 1.3 MB of LZ4 that hold a list of 300 MB load with 2 bytes of memory for each byte of the list, 600 MB
    /// in all. Lower this limit for saves of strangers, such as uploads: a larger save is refused before memory is
    /// allocated for it.
    ///
    /// Blocks of more than 64 MiB in all are also limited by [`expansion`](Self::expansion) for the bytes of the save.
    /// A save stores data that compresses better than that without compression.
    pub decompressed: u64,
    /// Largest size of a program's own metadata in the header of a save, in bytes. A list of saves reads the metadata
    /// of each. Default 1 MiB.
    pub metadata: u32,
    /// Largest number of objects in a save. Default 16,777,216.
    pub objects: u64,
    /// Largest number of bytes of memory that a load may use for each byte of the save. Default 256; 64 MiB are always
    /// allowed.
    ///
    /// This limit covers the empty objects of a save, with their boxes and direct pointers. It also covers elements that
    /// are large for their stored bytes, and the blocks of a compressed save. For objects and elements, a byte of a
    /// compressed save counts as its decompressed bytes, but as at most 16.
    ///
    /// The same limit applies to the records of an older save after the defaults of new fields are filled in. Four
    /// times as much is allowed for migrated records and unknown fields, where a field takes several hundred bytes.
    pub expansion: u64,
    /// Largest depth of nesting inside one value. Each `Box`, sequence or map that can hold a class is a level, and
    /// each 2 KiB of its content's size in memory is one more. Default 128.
    ///
    /// A value of more than 4 KiB in a box is built there, part by part. It counts only with the largest of its parts
    /// up to that size, so a boxed array of numbers is one level, whatever its size. Ranges are built whole.
    ///
    /// A load of a large value outside of a box takes up to twice the value's size of stack, and four times in
    /// unoptimized builds. Unoptimized, a value in a cell takes up to seven times its size, and a component nine times.
    ///
    /// Values that are read without their types (`migrate`, and `Document` and `dump` of `persist-tools`)
    /// may nest four times as deep. There every option, list, map, array, tuple, struct and enum is a level.
    ///
    /// Within the default, loads and saves of small types fit a stack of 128 KiB, or of 512 KiB in unoptimized builds.
    pub depth: u32,
    /// Largest length of one string, in bytes. A string of less than 248 bytes is never refused. Default 64 MiB.
    pub text: usize,
    /// Largest number of elements without bytes in the whole save, such as those of a `Vec<()>`. If a type can be
    /// stored in no bytes, each element counts as one, and as one more for every 64 bytes of its size in memory.
    /// Default 1,048,576.
    pub empty_elements: usize,
    /// Longest time that a save waits for an object that another thread has locked. Default 100 ms.
    pub lock_wait: Duration,
}

impl Limits {
    /// Creates the default limits.
    #[must_use]
    pub const fn new() -> Self {
        Self::DEFAULT
    }

    /// Sets [`bytes`](Self::bytes).
    #[must_use]
    pub const fn bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// Sets [`decompressed`](Self::decompressed).
    #[must_use]
    pub const fn decompressed(self, decompressed: u64) -> Self {
        Self { decompressed, ..self }
    }

    /// Sets [`metadata`](Self::metadata).
    #[must_use]
    pub const fn metadata(self, metadata: u32) -> Self {
        Self { metadata, ..self }
    }

    /// Sets [`objects`](Self::objects).
    #[must_use]
    pub const fn objects(self, objects: u64) -> Self {
        Self { objects, ..self }
    }

    /// Sets [`expansion`](Self::expansion).
    #[must_use]
    pub const fn expansion(self, expansion: u64) -> Self {
        Self { expansion, ..self }
    }

    /// Sets [`depth`](Self::depth).
    #[must_use]
    pub const fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// Sets [`text`](Self::text).
    #[must_use]
    pub const fn text(self, text: usize) -> Self {
        Self { text, ..self }
    }

    /// Sets [`empty_elements`](Self::empty_elements).
    #[must_use]
    pub const fn empty_elements(self, empty_elements: usize) -> Self {
        Self { empty_elements, ..self }
    }

    /// Sets [`lock_wait`](Self::lock_wait).
    #[must_use]
    pub const fn lock_wait(self, lock_wait: Duration) -> Self {
        Self { lock_wait, ..self }
    }

    /// The default limits.
    pub const DEFAULT: Self = Self {
        bytes: 4 << 30,
        decompressed: 1 << 30,
        metadata: 1 << 20,
        objects: 1 << 24,
        expansion: 256,
        depth: 128,
        text: 64 << 20,
        empty_elements: 1 << 20,
        lock_wait: Duration::from_millis(100),
    };
}

impl Limits {
    /// The limits of a visit that frees values that were loaded under any limits.
    pub(crate) const FREEING: Self =
        Self { depth: u32::MAX, lock_wait: Duration::ZERO, ..Self::DEFAULT };

    /// Returns the largest amount of memory that a save of `save` bytes may request.
    pub(crate) fn max_expanded(&self, save: u64) -> u64 {
        save.saturating_mul(self.expansion).max(64 << 20)
    }

    /// The default limits, for headers of files that will be read whole.
    pub(crate) const WHOLE_HEADER: Self = Self { metadata: u32::MAX, ..Self::DEFAULT };

    /// The largest size of metadata that a header can store.
    const MAX_METADATA: u32 = 1 << 30;

    /// Checks the bytes of a save.
    pub(crate) fn check_total(&self, bytes: u64) -> Result<()> {
        let limit = self.bytes;
        check(bytes, limit, || {
            format!("the save is over the limit of {limit} bytes; raise `Limits::bytes`")
        })
    }

    /// Checks the length of the metadata.
    pub(crate) fn check_metadata(&self, length: u64) -> Result<()> {
        let limit = u64::from(self.metadata.min(Self::MAX_METADATA));
        check(length, limit, || {
            format!(
                "the metadata of the save has {length} bytes, over the limit of {limit}; raise `Limits::metadata`"
            )
        })
    }

    /// Checks the length of a header's fields; `others` bytes may be fields other than the metadata.
    pub(crate) fn check_header(&self, length: u64, others: u64) -> Result<()> {
        let limit = self.metadata.min(Self::MAX_METADATA);
        check(length, u64::from(limit) + others, || {
            format!(
                "the header of the save has {length} bytes, more than metadata within the limit of {limit} and {others} for all else; raise `Limits::metadata`"
            )
        })
    }

    /// Checks the decompressed size of the compressed blocks of a save.
    pub(crate) fn check_decompressed(&self, contents: u64) -> Result<()> {
        let limit = self.decompressed;
        check(contents, limit, || {
            format!(
                "the compressed blocks of the save hold more than the limit of {limit} bytes; raise `Limits::decompressed`"
            )
        })
    }

    /// Checks the decompressed size of the compressed blocks of a save of `save` bytes.
    pub(crate) fn check_ratio(&self, save: u64, contents: u64) -> Result<()> {
        let max = self.max_expanded(save);
        check(contents, max, || {
            format!(
                "the compressed blocks of the save hold more than {max} bytes, the limit for a save of {save} bytes; raise `Limits::expansion`"
            )
        })
    }

    /// Checks the memory of the empty objects of a save of `save` bytes.
    pub(crate) fn check_expansion(&self, save: u64, objects: u64) -> Result<()> {
        let max = self.max_expanded(save);
        check(objects, max, || {
            format!(
                "the objects of the save take {objects} bytes even when they are empty, over the limit of {max} for a save of {save} bytes; raise `Limits::expansion`"
            )
        })
    }

    /// Checks the size of the records of an older save in the program's form, with the defaults of new fields filled
    /// in.
    pub(crate) fn check_rewritten(&self, stored: u64, rewritten: u64) -> Result<()> {
        let max = self.max_expanded(stored);
        check(rewritten, max, || {
            format!(
                "the records of the save take over {max} bytes with the defaults of new fields, the limit for {stored} bytes of them as they are stored; raise `Limits::expansion`"
            )
        })
    }
}

/// Refuses a value that exceeds its limit.
fn check(value: u64, limit: u64, message: impl FnOnce() -> String) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::new(ErrorKind::TooLarge, message())) }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
