//! Values that are written as pages.
//!
//! Before a record is written, a visit in [`Phase::Pages`](super::Phase) finds the values in it that have pages: each
//! [`PageSource`] encodes its parts into a [`PageSink`]. The record then holds a list of
//! [`PageEntry`](super::pages::PageEntry)s.

use std::any::TypeId;

use super::encoder::{Encoder, Stop};
use crate::Result;

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
}

/// Encodes the objects of a page; returns the id of the first, and their number.
pub(crate) type EncodePage<'e> = dyn FnMut(&mut Encoder<'_>) -> Result<(u64, u32), Stop> + 'e;
