//! The pages of a save that is read.

use std::collections::HashMap;

use persist::__tools::{
    PageEntry, RecordLocation, Stored, StreamBlock, missing_page, page_fault, page_head,
};
use persist::Result;

use super::Position;

/// A page, as an index must have it.
#[derive(Clone, Copy)]
pub struct SavedPage {
    /// The position of its record.
    pub place: Position,
    /// The entry of the index.
    pub entry: PageEntry,
    class: u32,
    /// The offset of the record in the save.
    at: u64,
    is_named: bool,
    /// True if the pass over the save has reached it.
    is_seen: bool,
}

/// The pages of a save, by the ids of their records: 56 bytes for each.
#[derive(Default)]
pub struct SavedPages {
    by_id: HashMap<u64, PagesOfRecord>,
}

struct PagesOfRecord {
    /// The position of the first page in the save, without compression.
    first: u64,
    pages: Vec<SavedPage>,
}

impl SavedPages {
    /// Returns the pages of a record, in their order.
    pub fn of(&self, id: u64) -> &[SavedPage] {
        self.by_id.get(&id).map_or(&[], |of| &of.pages)
    }

    /// Returns the page of a record at a position among them.
    pub fn find(&self, id: u64, position: u64) -> Option<&SavedPage> {
        let pages = self.of(id);
        let place = pages.binary_search_by_key(&position, |page| page.entry.position);
        place.ok().map(|place| &pages[place])
    }

    /// Returns the entry of the page of a record whose own record is there.
    pub fn at(&self, id: u64, place: Position) -> Option<PageEntry> {
        let pages = self.of(id);
        let page = pages.binary_search_by_key(&place, |page| page.place);
        page.ok().map(|page| pages[page].entry)
    }

    /// Adds a page. `position` is that of its block, which is block number `number`, in the save without compression.
    ///
    /// # Errors
    ///
    /// Returns an error if the record is no page.
    pub fn add(
        &mut self,
        record: &RecordLocation,
        block: &StreamBlock<'_>,
        (number, position): (usize, u64),
    ) -> Result<()> {
        let (payload, at) = (record.payload(block.content), block.place(record.start as u64));
        if record.whole_length(payload.len()) != block.content.len() {
            return Err(page_fault(record.id, "shares its block with other items").at(at));
        }
        let (first, objects) = page_head(payload)
            .ok_or_else(|| page_fault(record.id, "has no objects, or too many").at(at))?;
        let of = self.by_id.entry(record.id);
        let of = of.or_insert_with(|| PagesOfRecord { first: position, pages: Vec::new() });
        let position = position - of.first;
        let entry = PageEntry { first, objects, position, digest: block.digest() };
        let place = Position::new(number, record.start);
        of.pages.push(SavedPage {
            place,
            entry,
            class: record.class,
            at,
            is_named: false,
            is_seen: true,
        });
        Ok(())
    }

    /// Checks the indexes of a record: each entry is that of a page of the record that no other entry names.
    ///
    /// # Errors
    ///
    /// Returns an error if one is not.
    pub fn name(&mut self, id: u64, index: &[PageEntry], at: u64) -> Result<()> {
        for entry in index {
            let pages = self.by_id.get_mut(&id).map_or(&mut [][..], |of| &mut of.pages);
            let place = pages.binary_search_by_key(&entry.position, |page| page.entry.position);
            let page = place.ok().map(|place| &mut pages[place]);
            match page.filter(|page| page.entry == *entry && page.is_seen && !page.is_named) {
                Some(page) => page.is_named = true,
                None => return Err(missing_page(entry).at(at).in_object(id)),
            }
        }
        Ok(())
    }

    /// Notes that another pass has reached a page.
    pub fn see(&mut self, id: u64, at: u64) {
        let pages = self.by_id.get_mut(&id).map_or(&mut [][..], |of| &mut of.pages);
        if let Ok(place) = pages.binary_search_by_key(&at, |page| page.at) {
            pages[place].is_seen = true;
        }
    }

    /// Forgets which pages are reached, and named by an index, before another pass.
    pub fn forget_names(&mut self) {
        let pages = self.by_id.values_mut().flat_map(|of| &mut of.pages);
        pages.for_each(|page| (page.is_named, page.is_seen) = (false, false));
    }

    /// Checks that all pages are of the class of pages, and that an index names each.
    ///
    /// # Errors
    ///
    /// Returns an error for the first page that is not.
    pub fn check(&self, stored: &Stored) -> Result<()> {
        let pages = self.by_id.iter().flat_map(|(id, of)| of.pages.iter().map(|page| (*id, page)));
        let check = |(id, page): (u64, &SavedPage)| {
            stored.check_page(page.class as usize, id, true).map_err(|error| error.at(page.at))?;
            match page.is_named {
                true => Ok(()),
                false => {
                    let what = "is in the index of no world of that object";
                    Err(page_fault(id, what).at(page.at))
                }
            }
        };
        let faults = pages.filter_map(|page| check(page).err());
        faults.min_by_key(|error| error.offset()).map_or(Ok(()), Err)
    }
}
