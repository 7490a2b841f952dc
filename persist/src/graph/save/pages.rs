//! Writes the pages of a record before it.

use std::any::TypeId;

use super::Links;
use crate::codec::pages::{EncodePage, LEAST_PAGED, PageClasses, PageEntry, PageSink, PageSource};
use crate::codec::{Buffer, Prototypes, VisitLinks, Within};
use crate::env::Env;
use crate::format::Writer;
use crate::{ErrorKind, Result};

/// A visit of a record that writes the pages of the values in it.
pub(super) struct RecordPages<'p, 's, 'w, 'o> {
    links: &'p mut Links<'s>,
    writer: &'p mut Writer<'w, 'o>,
    env: &'p Env<'p>,
    /// The id of the record.
    id: u64,
    /// The position of its first page.
    first: Option<u64>,
    buffer: Buffer,
}

impl<'p, 's, 'w, 'o> RecordPages<'p, 's, 'w, 'o> {
    pub(super) fn new(
        links: &'p mut Links<'s>,
        writer: &'p mut Writer<'w, 'o>,
        env: &'p Env<'p>,
        id: u64,
    ) -> Self {
        Self { links, writer, env, id, first: None, buffer: Buffer::new() }
    }

    /// Writes a page whose objects are encoded.
    fn write(&mut self, page: TypeId, (head, objects): (&[u8], &[u8])) -> Result<(u64, u32)> {
        let class = self.links.registry.class_of_type(page);
        let Some(class) = class else {
            bail!(ErrorKind::WrongClass, "the class of pages is not registered");
        };
        let number = self.links.class_number(class)?;
        self.writer.define_new(&mut self.links.tables.numbers)?;
        let (position, digest) = self.writer.page(number, self.id, [head, objects])?;
        let first = *self.first.get_or_insert(position);
        Ok((position - first, digest))
    }
}

impl VisitLinks for RecordPages<'_, '_, '_, '_> {
    fn pages(&mut self, source: &dyn PageSource, within: Within) -> Result<()> {
        let page = source.page_type();
        let before = (self.links.held, self.links.empty_elements);
        let mut sink =
            Pages { record: self, page, within, held: Vec::new(), bytes: 0, index: Vec::new() };
        source.write_pages(&mut sink)?;
        let Pages { held, index, .. } = sink;
        if held.is_empty() && !index.is_empty() {
            self.links.pages.insert(std::ptr::from_ref(source).cast::<()>().addr(), index);
        } else {
            // The value is small, and is encoded again where it stands.
            (self.links.held, self.links.empty_elements) = before;
        }
        Ok(())
    }

    fn prototypes(&self) -> Prototypes<'_> {
        Prototypes::bare()
    }
}

/// The pages of one value.
struct Pages<'r, 'p, 's, 'w, 'o> {
    record: &'r mut RecordPages<'p, 's, 'w, 'o>,
    page: TypeId,
    within: Within,
    /// The first pages, until the value is large enough to have pages.
    held: Vec<(u64, u32, Vec<u8>, Vec<u8>)>,
    /// The bytes of the objects so far.
    bytes: usize,
    index: Vec<PageEntry>,
}

impl PageSink for Pages<'_, '_, '_, '_, '_> {
    fn page(&mut self, encode: &mut EncodePage<'_>) -> Result<bool> {
        let RecordPages { links, env, buffer, .. } = &mut *self.record;
        links.page = Some(PageClasses::default());
        let (mut found, within) = ((0, 0), self.within);
        let result = buffer.encode_with(env, &mut **links, |out| {
            out.within(within, |out| {
                found = encode(out)?;
                Ok(())
            })
        });
        let classes = links.page.take().unwrap_or_default();
        let (first, objects) = found;
        let bytes = result?.len();
        if objects == 0 {
            return Ok(false);
        }
        self.bytes += bytes;
        let numbers = &links.tables.numbers;
        let head = classes.head(objects, |number| numbers.id(number).map_or(0, |id| id.0));
        if self.bytes < LEAST_PAGED {
            self.held.push((first, objects, head, buffer.bytes().to_vec()));
            return Ok(true);
        }
        for (first, objects, head, bytes) in std::mem::take(&mut self.held) {
            let (position, digest) = self.record.write(self.page, (&head, &bytes))?;
            self.index.push(PageEntry { first, objects, position, digest });
        }
        let buffer = std::mem::take(&mut self.record.buffer);
        let (position, digest) = self.record.write(self.page, (&head, buffer.bytes()))?;
        self.record.buffer = buffer;
        self.index.push(PageEntry { first, objects, position, digest });
        Ok(true)
    }
}

/// Returns the error for a value whose pages were written, and which is not in the record.
#[cold]
pub(super) fn not_written() -> crate::Error {
    error!(
        ErrorKind::Unsupported,
        "a world was visited that is not written; `persist_parts` lists the parts that `persist_encode` writes, and no others"
    )
}
