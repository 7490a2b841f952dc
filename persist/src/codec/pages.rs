//! Pages: parts of a large value that are records of their own. `docs/reference/format.md` describes them.

/// An entry in the index of a value's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageEntry {
    /// The id of the first object of the page.
    pub first: u64,
    /// The number of its objects.
    pub objects: u32,
    /// The bytes from the first page of the record to this one, without compression.
    pub position: u64,
    /// The checksum of its block, without compression.
    pub digest: u32,
}

/// The block of a page without compression: its bytes from the tag on, without the checksum.
pub(crate) struct PageBlock {
    pub bytes: Vec<u8>,
    /// The checksum.
    pub digest: u32,
}

/// The names of the classes of pages, and of the entries of an index.
pub(crate) const PAGE_CLASS: &str = "persist.Page";
pub(crate) const ENTRY_CLASS: &str = "persist.PageEntry";

/// A value whose objects take fewer bytes in all has no pages. The size is that of a block, so that such a world takes
/// no block of its own.
pub(crate) const LEAST_PAGED: usize = 64 << 10;

/// Decides where a page ends. The rule depends on the ids and sizes of its objects alone, so that a page in which
/// nothing has changed keeps its bytes.
pub(crate) struct PageCut;

impl PageCut {
    /// A page ends with the object with which it reaches this size. The size is that of a block: damage to one byte
    /// costs as much as in other records.
    const FULL: usize = 64 << 10;
    /// A page ends at the end of a row if it has this size. Smaller ends would take more than 1 % of the save.
    const ROW_BYTES: usize = 16 << 10;
    /// The ids of a row. They are those of a page of columns, which is written at a time.
    const ROW: u64 = 4 << 10;
    /// The ids of a cell. No page crosses its end, so that a change moves no end of a page beyond it.
    const CELL: u64 = 64 << 10;

    /// Returns true if a page whose objects take that many bytes ends here.
    #[inline]
    pub(crate) fn is_full(bytes: usize) -> bool {
        bytes >= Self::FULL
    }

    /// Returns how many more bytes a page takes that has this many.
    #[cfg(feature = "world")]
    pub(crate) fn room(bytes: usize) -> usize {
        Self::FULL.saturating_sub(bytes)
    }

    /// Returns true if a page whose objects take that many bytes ends between two objects.
    #[inline]
    pub(crate) fn is_between(last: u64, next: u64, bytes: usize) -> bool {
        last / Self::CELL != next / Self::CELL
            || last / Self::ROW != next / Self::ROW && bytes >= Self::ROW_BYTES
    }
}

/// The result of the visit before a record, for a value in it.
pub(crate) enum PagedObjects {
    /// The index of its pages.
    Index(Vec<PageEntry>),
    /// The objects of a small value, with their number.
    Encoded(usize, Vec<u8>),
}
