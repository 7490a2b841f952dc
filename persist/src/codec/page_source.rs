//! Values that are written as pages.
//!
//! Before a record is written, a visit in [`Phase::Pages`](super::Phase) finds the values in it that have pages: each
//! [`PageSource`] encodes its parts into a [`PageSink`]. The record then holds a list of
//! [`PageEntry`](super::pages::PageEntry)s.

use std::any::TypeId;
use std::sync::Arc;

use super::encoder::{Encoder, Stop};
use super::pages::PageBlock;
use crate::reflect::TraitName;
use crate::{Limits, Result};

/// A value that writes its parts as pages.
pub(crate) trait PageSource {
    /// Returns the type whose class is that of the pages.
    fn page_type(&self) -> TypeId;

    /// Returns about how many bytes the objects take, at most those of a page.
    fn size_hint(&self) -> usize;

    /// Encodes the objects as they stand in the record, and returns their number; `None` if they are
    /// enough for pages.
    fn encode_small(&self, out: &mut Encoder<'_>) -> Result<Option<usize>, Stop>;

    /// Writes all pages, one after another.
    fn write_pages(&self, sink: &mut dyn PageSink) -> Result<()>;
}

/// Writes the pages of a value.
pub(crate) trait PageSink {
    /// Writes the page whose objects a function encodes. Returns false if it has encoded none.
    fn page(&mut self, encode: &mut EncodePage<'_>) -> Result<bool>;

    /// Returns true if the save stays in memory for a while, so that its pages can serve later saves as well.
    fn retains_pages(&self) -> bool;

    /// Takes the page that was written last; `None` if another save could write it differently, though its objects did
    /// not change.
    fn take_page(&mut self) -> Option<PageCopy>;

    /// Writes a page of an earlier save, whose objects have not changed since. Returns false, and writes nothing, if
    /// this save would write it differently.
    fn saved_page(&mut self, page: &PageCopy) -> Result<bool>;
}

/// A page of a save, with all that its bytes depend on beside its objects.
#[derive(Clone)]
pub(crate) struct PageCopy {
    pub block: Arc<PageBlock>,
    /// The id of the first object, and their number.
    pub objects: (u64, u32),
    /// The number of the class of pages, and the id of the record.
    pub record: (u64, u64),
    /// The types of the page's classes, with the trait as which their values are stored.
    pub classes: Vec<(TypeId, TraitName)>,
    /// The bytes before the objects, which list the classes.
    pub head: Vec<u8>,
    /// The memory and the elements without bytes that were counted for the objects.
    pub charged: (u64, usize),
    /// The limits under which the objects were encoded.
    pub limits: Limits,
}

/// Encodes the objects of a page; returns the id of the first, and their number.
pub(crate) type EncodePage<'e> = dyn FnMut(&mut Encoder<'_>) -> Result<(u64, u32), Stop> + 'e;
