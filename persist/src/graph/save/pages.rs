//! Writes the pages of a record before it.

use std::any::TypeId;

use super::Links;
use crate::codec::page_source::{EncodePage, PageCopy, PageSink, PageSource};
use crate::codec::pages::{PageEntry, PagedObjects};
use crate::codec::{Buffer, Prototypes, SaveLinks, VisitLinks, Within};
use crate::env::Env;
use crate::format::{Writer, WrittenPage};
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

    /// Returns the number of the class of pages, and the id of the record.
    fn record(&mut self, page: TypeId) -> Result<(u64, u64)> {
        let class = self.links.registry.class_of_type(page);
        let Some(class) = class else {
            bail!(ErrorKind::WrongClass, "the class of pages is not registered");
        };
        let number = self.links.class_number(class)?;
        self.writer.define_new(&mut self.links.tables.numbers)?;
        Ok((number, self.id))
    }

    /// Returns the entry of a page in the index of its value.
    fn entry(&mut self, (first, objects): (u64, u32), page: &WrittenPage) -> PageEntry {
        let position = page.position - *self.first.get_or_insert(page.position);
        PageEntry { first, objects, position, digest: page.digest }
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
                let (page, index, last) = (source.page_type(), Vec::new(), None);
                let mut sink = WrittenPages { record: self, page, within, buffer, index, last };
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
    pub objects: PagedObjects,
    pub charged: (u64, usize),
}

/// The pages of one value.
struct WrittenPages<'r, 'p, 's, 'w, 'o> {
    record: &'r mut RecordPages<'p, 's, 'w, 'o>,
    page: TypeId,
    within: Within,
    buffer: Buffer,
    index: Vec<PageEntry>,
    /// The last page, if the save keeps it.
    last: Option<PageCopy>,
}

impl PageSink for WrittenPages<'_, '_, '_, '_, '_> {
    fn page(&mut self, encode: &mut EncodePage<'_>) -> Result<bool> {
        let RecordPages { links, env, .. } = &mut *self.record;
        links.page = Some(PageClasses::default());
        let before = (links.held, links.empty_elements);
        let ((mut first, mut objects), within) = ((0, 0), self.within);
        let result = self.buffer.encode_with(env, &mut **links, |out| {
            out.within(within, |out| {
                (first, objects) = encode(out)?;
                Ok(())
            })
        });
        let charged = (links.held - before.0, links.empty_elements - before.1);
        let classes = links.page.take().unwrap_or_default();
        let bytes = result?;
        self.last = None;
        if objects == 0 {
            return Ok(false);
        }
        let numbers = &links.tables.numbers;
        let head = classes.head(objects, |number| numbers.id(number).map_or(0, |id| id.0));
        let (limits, objects) = (env.limits, (first, objects));
        let record = self.record.record(self.page)?;
        let mut page = self.record.writer.page(record.0, record.1, [&head, bytes])?;
        self.index.push(self.record.entry(objects, &page));
        if let (Some(block), Some(classes)) = (page.block.take(), classes.into_types()) {
            self.last = Some(PageCopy { block, objects, record, classes, head, charged, limits });
        }
        Ok(true)
    }

    fn retains_pages(&self) -> bool {
        self.record.writer.retains_pages()
    }

    fn take_page(&mut self) -> Option<PageCopy> {
        self.last.take()
    }

    fn saved_page(&mut self, page: &PageCopy) -> Result<bool> {
        let RecordPages { links, env, .. } = &mut *self.record;
        if page.limits != env.limits {
            return Ok(false);
        }
        links.page = Some(PageClasses::default());
        let mut types = page.classes.iter();
        let known = types.all(|(class, of)| links.class(*class, *of, &String::new).is_ok());
        let classes = links.page.take().unwrap_or_default();
        let numbers = &links.tables.numbers;
        let id = |number| numbers.id(number).map_or(0, |id| id.0);
        let is_same = known && classes.head(page.objects.1, id) == page.head;
        if !is_same || self.record.record(self.page)? != page.record {
            return Ok(false);
        }
        self.record.links.charge(page.charged.1, page.charged.0, &page.limits)?;
        let written = self.record.writer.saved_page(&page.block)?;
        self.index.push(self.record.entry(page.objects, &written));
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
