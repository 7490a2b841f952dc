//! Writes the pages of a record before it.

use std::any::TypeId;

use super::Links;
use crate::codec::page_source::{EncodePage, PageSink, PageSource};
use crate::codec::pages::{PageEntry, PagedObjects};
use crate::codec::{Buffer, Prototypes, VisitLinks, Within};
use crate::env::Env;
use crate::format::Writer;
use crate::schema::PageClasses;
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
}

impl<'p, 's, 'w, 'o> RecordPages<'p, 's, 'w, 'o> {
    pub(super) fn new(
        links: &'p mut Links<'s>,
        writer: &'p mut Writer<'w, 'o>,
        env: &'p Env<'p>,
        id: u64,
    ) -> Self {
        Self { links, writer, env, id, first: None }
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
        let before = (self.links.held, self.links.empty_elements);
        let mut small = None;
        let mut buffer = Buffer::with_size(source.size_hint());
        buffer.encode_with(self.env, &mut *self.links, |out| {
            out.within(within, |out| {
                small = source.encode_small(out)?;
                Ok(())
            })
        })?;
        let objects = match small {
            Some(count) => PagedObjects::Encoded(count, buffer.into_bytes()),
            None => {
                (self.links.held, self.links.empty_elements) = before;
                let page = source.page_type();
                let mut sink =
                    WrittenPages { record: self, page, within, buffer, index: Vec::new() };
                source.write_pages(&mut sink)?;
                PagedObjects::Index(sink.index)
            }
        };
        let links = &mut *self.links;
        let charged = (links.held - before.0, links.empty_elements - before.1);
        let address = std::ptr::from_ref(source).cast::<()>().addr();
        links.pages.insert(address, FoundPages { objects, charged });
        Ok(())
    }

    fn prototypes(&self) -> Prototypes<'_> {
        Prototypes::bare()
    }
}

/// The result of the visit for a value that may have pages. `charged` is the memory that was counted for it, and the
/// number of elements without bytes.
pub(super) struct FoundPages {
    pub(super) objects: PagedObjects,
    pub(super) charged: (u64, usize),
}

/// The pages of one value.
struct WrittenPages<'r, 'p, 's, 'w, 'o> {
    record: &'r mut RecordPages<'p, 's, 'w, 'o>,
    page: TypeId,
    within: Within,
    buffer: Buffer,
    index: Vec<PageEntry>,
}

impl PageSink for WrittenPages<'_, '_, '_, '_, '_> {
    fn page(&mut self, encode: &mut EncodePage<'_>) -> Result<bool> {
        let RecordPages { links, env, .. } = &mut *self.record;
        links.page = Some(PageClasses::default());
        let ((mut first, mut objects), within) = ((0, 0), self.within);
        let result = self.buffer.encode_with(env, &mut **links, |out| {
            out.within(within, |out| {
                (first, objects) = encode(out)?;
                Ok(())
            })
        });
        let classes = links.page.take().unwrap_or_default();
        let bytes = result?;
        if objects == 0 {
            return Ok(false);
        }
        let numbers = &links.tables.numbers;
        let head = classes.head(objects, |number| numbers.id(number).map_or(0, |id| id.0));
        let (position, digest) = self.record.write(self.page, (&head, bytes))?;
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
