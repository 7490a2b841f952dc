//! How much a save may ask for, in one place.

use std::time::Duration;

use crate::{Error, ErrorKind, Result};

/// Bounds on what is saved and loaded, on by default.
///
/// They hold on both sides, so that what `save` accepts `load` accepts. A
/// length in a file is checked against the bytes that are left before anything
/// is allocated for it; these limits come on top of that.
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
    /// Bytes of a whole save. Default 4 GiB.
    pub bytes: u64,
    /// Bytes that the compressed blocks of a save hold. Default 1 GiB.
    ///
    /// They are in memory during a load, beside what is made of them: a load takes this much and the size of its values,
    /// however small the save is. 1.3 MB of LZ4 that hold a list of 300 MB load with 2 bytes of memory for each byte of
    /// the list, 600 MB in all. Lower this limit for saves of strangers, such as uploads: what is over it is refused
    /// before memory is taken for it.
    ///
    /// Beyond 64 MiB they may also be no more than [`expansion`](Self::expansion) allows for the bytes of the save: a
    /// save writes what compresses better than that as it is.
    pub decompressed: u64,
    /// Bytes of a program's own metadata in the header of a save, which a list of saves reads of each. Default 1 MiB.
    pub metadata: u32,
    /// Objects in a save. Default 16,777,216.
    pub objects: u64,
    /// Bytes of memory that a load may use for each byte of the save. Default 256; 64 MiB are always allowed.
    ///
    /// It does not count the blocks of a compressed save themselves, which [`decompressed`](Self::decompressed) limits.
    /// It limits the empty objects of a save, with their boxes and bare pointers, and elements that are large for their
    /// bytes. A byte of a compressed save counts for what it holds, for at most 16. The same limit holds for the records of an
    /// older save with the defaults of new fields filled in. Four times as much is allowed for what is migrated or kept of
    /// them, where a field counts several hundred bytes.
    pub expansion: u64,
    /// Levels of nesting inside one value: each `Box`, sequence or map that
    /// can hold a class is a level, and one more for every 2 KiB that what is
    /// inside has in memory. Default 128.
    ///
    /// A value of more than 4 KiB in a box is built there, part by part. It counts only for the largest of its parts that
    /// are no larger than that, so a boxed array of numbers is one level, whatever its size. Ranges are built whole.
    ///
    /// A load of a large value that is not in a box takes up to twice its size of stack, and four times in unoptimized
    /// builds. Unoptimized, a value in a cell takes up to seven times its size, and a component nine times.
    ///
    /// Where values are read without their types ([`Document`](crate::Document), [`dump`](crate::save::dump), `migrate`),
    /// they may nest four times as deep: there every option, list, map, array, tuple, struct and enum is a level.
    ///
    /// Within the default, loads and saves of small types fit in a stack of 128 KiB, or 512 KiB in
    /// unoptimized builds.
    pub depth: u32,
    /// Bytes of one string; shorter than 248 bytes is never refused.
    /// Default 64 MiB.
    pub text: usize,
    /// Elements without bytes in the whole save, such as those of a `Vec<()>`;
    /// of types whose `Persist::MIN` is 0 every element counts, once for every
    /// 64 bytes of its size in memory. Default
    /// 1,048,576.
    pub empty_elements: usize,
    /// How long a save waits for an object that another thread has locked. Default 100 ms.
    pub lock_wait: Duration,
}

impl Limits {
    /// Makes the default limits.
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
    /// The limits of a visit that frees what was loaded under any limits.
    pub(crate) const FREEING: Self =
        Self { depth: u32::MAX, lock_wait: Duration::ZERO, ..Self::DEFAULT };

    /// The most memory that a save of `save` bytes may ask for.
    pub(crate) fn most_expanded(&self, save: u64) -> u64 {
        save.saturating_mul(self.expansion).max(64 << 20)
    }

    /// The default limits, for headers of files that will be read whole.
    pub(crate) const WHOLE_HEADER: Self = Self { metadata: u32::MAX, ..Self::DEFAULT };

    /// The most bytes of metadata, for which a header has room.
    const MOST_METADATA: u32 = 1 << 30;

    /// Checks the bytes of a save.
    pub(crate) fn check_total(&self, bytes: u64) -> Result<()> {
        let limit = self.bytes;
        check(bytes, limit, || {
            format!("the save is over the limit of {limit} bytes; raise `Limits::bytes`")
        })
    }

    /// Checks the length of the metadata.
    pub(crate) fn check_metadata(&self, length: u64) -> Result<()> {
        let limit = u64::from(self.metadata.min(Self::MOST_METADATA));
        check(length, limit, || {
            format!(
                "the metadata of the save has {length} bytes, over the limit of {limit}; raise `Limits::metadata`"
            )
        })
    }

    /// Checks the length of a header's fields; `others` bytes may be fields other than the metadata.
    pub(crate) fn check_header(&self, length: u64, others: u64) -> Result<()> {
        let limit = self.metadata.min(Self::MOST_METADATA);
        check(length, u64::from(limit) + others, || {
            format!(
                "the header of the save has {length} bytes, more than metadata within the limit of {limit} and {others} for all else; raise `Limits::metadata`"
            )
        })
    }

    /// Checks what the compressed blocks of a save hold.
    pub(crate) fn check_decompressed(&self, contents: u64) -> Result<()> {
        let limit = self.decompressed;
        check(contents, limit, || {
            format!(
                "the compressed blocks of the save hold more than the limit of {limit} bytes; raise `Limits::decompressed`"
            )
        })
    }

    /// Checks what the compressed blocks of a save of `save` bytes hold.
    pub(crate) fn check_ratio(&self, save: u64, contents: u64) -> Result<()> {
        let most = self.most_expanded(save);
        check(contents, most, || {
            format!(
                "the compressed blocks of the save hold more than {most} bytes, the limit for a save of {save} bytes; raise `Limits::expansion`"
            )
        })
    }

    /// Checks what the empty objects of a save of `save` bytes take.
    pub(crate) fn check_expansion(&self, save: u64, objects: u64) -> Result<()> {
        let most = self.most_expanded(save);
        check(objects, most, || {
            format!(
                "the objects of the save take {objects} bytes even when they are empty, over the limit of {most} for a save of {save} bytes; raise `Limits::expansion`"
            )
        })
    }

    /// Checks what the records of an older save take in the form of the program,
    /// with the defaults of new fields filled in.
    pub(crate) fn check_rewritten(&self, stored: u64, rewritten: u64) -> Result<()> {
        let most = self.most_expanded(stored);
        check(rewritten, most, || {
            format!(
                "the records of the save take over {most} bytes with the defaults of new fields, the limit for {stored} bytes of them as they are stored; raise `Limits::expansion`"
            )
        })
    }
}

/// Refuses what is over its limit.
fn check(value: u64, limit: u64, message: impl FnOnce() -> String) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::new(ErrorKind::TooLarge, message())) }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
