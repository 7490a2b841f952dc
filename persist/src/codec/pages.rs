//! Pages: parts of a large value that are records of their own. `docs/reference/format.md` describes them.
//!
//! Before a record is written, a visit in [`Phase::Pages`](super::Phase) finds the values in it that have pages: each
//! [`PageSource`] encodes its parts into a [`PageSink`]. The record then holds a list of [`PageEntry`]s.

use std::any::TypeId;

use super::count;
use super::decoder::{Decoder, NoLinks};
use super::encoder::{Encoder, Stop};
use crate::Result;
use crate::env::Env;

/// An entry in the index of a value's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::Persist)]
#[persist(crate = crate, class = "persist.PageEntry")]
pub struct PageEntry {
    /// The id of the first object of the page.
    #[persist(compact)]
    pub first: u64,
    /// The number of its objects.
    #[persist(compact)]
    pub objects: u32,
    /// The bytes from the first page of the record to this one, without compression.
    #[persist(compact)]
    pub position: u64,
    /// The checksum of its block, without compression.
    pub digest: u32,
}

/// The names of the classes of pages, and of the entries of an index.
pub(crate) const PAGE_CLASS: &str = "persist.Page";
pub(crate) const ENTRY_CLASS: &str = "persist.PageEntry";

/// A value whose objects take fewer bytes in all has no pages. The size is that of a block, so that such a world takes
/// no block of its own.
pub(crate) const LEAST_PAGED: usize = 64 << 10;

/// Returns the id of the first object in the payload of a page, and the number of its objects; `None` if the bytes are
/// no page with objects.
pub fn page_head(payload: &[u8]) -> Option<(u64, u32)> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(payload, &Env::DEFAULT, &mut links);
    let classes = input.count().ok()?;
    input.take(classes.checked_mul(size_of::<u64>())?).ok()?;
    let objects = u32::try_from(input.count().ok()?).ok().filter(|objects| *objects > 0)?;
    Some((count::decode(&mut input).ok()?, objects))
}

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

/// A value that writes its parts as pages.
pub(crate) trait PageSource {
    /// Returns the type whose class is that of the pages.
    fn page_type(&self) -> TypeId;

    /// Returns about how many bytes the objects take, at most those of a page.
    fn size_hint(&self) -> usize;

    /// Encodes the objects as they stand in the record, and returns their number; `None` if they take so many bytes that
    /// the value has pages.
    fn encode_small(&self, out: &mut Encoder<'_>) -> Result<Option<usize>, Stop>;

    /// Writes all pages, one after another.
    fn write_pages(&self, sink: &mut dyn PageSink) -> Result<()>;
}

/// Writes the pages of a value.
pub(crate) trait PageSink {
    /// Writes the page whose objects a function encodes. Returns false if it has encoded none.
    fn page(&mut self, encode: &mut EncodePage<'_>) -> Result<bool>;
}

/// What the visit before a record has found for a value in it.
pub(crate) enum PagedObjects {
    /// The index of its pages.
    Index(Vec<PageEntry>),
    /// The objects of a small value, with their number.
    Encoded(usize, Vec<u8>),
}

/// Encodes the objects of a page; returns the id of the first, and their number.
pub(crate) type EncodePage<'e> = dyn FnMut(&mut Encoder<'_>) -> Result<(u64, u32), Stop> + 'e;

/// The classes of a page, in the order in which its objects need them.
#[derive(Default)]
pub(crate) struct PageClasses {
    /// The numbers of the classes in the page, by those in the save; 0 for others.
    by_number: Vec<u64>,
    /// The numbers of the classes in the save.
    numbers: Vec<u64>,
}

impl PageClasses {
    /// Returns the number in the page of a class by its number in the save.
    pub(crate) fn number(&mut self, number: u64) -> u64 {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        if self.by_number.len() <= place {
            self.by_number.resize(place + 1, 0);
        }
        let own = &mut self.by_number[place];
        if *own == 0 {
            self.numbers.push(number);
            *own = self.numbers.len() as u64;
        }
        *own
    }

    /// Returns the head of the page: the ids of its classes, and the number of its objects.
    pub(crate) fn head(&self, objects: u32, id: impl Fn(u64) -> u64) -> Vec<u8> {
        let mut head = Vec::new();
        count::push(self.numbers.len() as u64, &mut head);
        self.numbers.iter().for_each(|number| head.extend_from_slice(&id(*number).to_le_bytes()));
        count::push(objects.into(), &mut head);
        head
    }
}
