//! Reads the pages of the record that is being read.

use std::collections::HashSet;
use std::ops::Range;
#[cfg(feature = "world")]
use std::sync::Arc;

use super::Loader;
#[cfg(feature = "world")]
use super::Table;
use super::loader::in_save;
#[cfg(feature = "world")]
use crate::codec::Within;
use crate::codec::pages::PageEntry;
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::format::RecordLocation;
use crate::schema::{LocalValue, length, missing_page, page_fault, page_head, renumbered};
use crate::{Error, Result};

/// A page of the record that is being read.
#[cfg_attr(not(feature = "world"), allow(dead_code, reason = "worlds read pages"))]
pub(super) struct LoadedPage {
    pub location: RecordLocation,
    /// True until a value has read it.
    is_left: bool,
}

/// A page whose objects cannot be read.
pub(super) struct FailedPage {
    pub location: RecordLocation,
    pub refused: Option<Error>,
    pub left: usize,
    pub fail: Option<Fail>,
}

impl Loader<'_> {
    /// Puts the objects of pages into the records that they belong to, if some record is converted: it may become part
    /// of another one, or an object of its own.
    pub(super) fn put_objects(&mut self) -> Result<()> {
        let plans = &self.table.plans;
        let is_converted = !self.earlier.is_empty()
            || (0..plans.stored.len()).any(|class| !plans.is_identical(class));
        if !is_converted {
            return Ok(());
        }
        for id in self.pages.keys() {
            let Some(index) = self.table.objects.find(*id) else { continue };
            let record = self.table.objects.records.get(index as usize);
            let whole = self.with_objects(&record).map_err(|error| {
                let error =
                    if error.offset().is_some() { error } else { error.at(record.start as u64) };
                self.table.of_record(&record, error)
            })?;
            self.wholes.insert(*id, whole.into());
        }
        Ok(())
    }

    /// Returns the payload of a record whose worlds have their objects, in place of the indexes of their pages.
    fn with_objects(&self, record: &RecordLocation) -> Result<Vec<u8>> {
        let (payload, class) = (record.payload(self.save), record.class as usize);
        let (stored, limits) = (&self.table.plans.stored, &self.table.env.limits);
        let mut indexes: Vec<(Range<usize>, Vec<PageEntry>)> = Vec::new();
        let mut visit = |value: LocalValue<'_>, before: usize, after: usize| {
            if let LocalValue::Pages(index) = value
                && !index.is_empty()
            {
                let place = payload.len() - before..payload.len() - after;
                indexes.push((place, index.to_vec()));
            }
            true
        };
        length((class, stored), payload, None, limits, &mut visit)
            .map_err(|error| in_save(record, error))?;
        let all: Vec<PageEntry> = indexes.iter().flat_map(|(_, index)| index).copied().collect();
        self.check_index(record, &all)?;
        let pages = self.pages.get(&record.id).map_or(&[][..], |pages| pages);
        let start = pages.first().map_or(0, |page| page.start);
        let (mut whole, mut copied) = (Vec::new(), 0);
        for (place, index) in &indexes {
            // The index follows the list of objects, which is empty.
            let list = place.start.checked_sub(1).filter(|list| payload[*list] == 0);
            let Some(list) = list else { return Err(missing_page(&index[0])) };
            whole.extend_from_slice(&payload[copied..list]);
            let count = index.iter().map(|entry| u64::from(entry.objects)).sum();
            count::push(count, &mut whole);
            for entry in index {
                let position = |page: &RecordLocation| (page.start - start) as u64;
                let page = pages.binary_search_by_key(&entry.position, position);
                let page = page.map_err(|_| missing_page(entry))?;
                self.append_objects(&pages[page], &mut whole)?;
            }
            whole.push(0);
            copied = place.end;
        }
        whole.extend_from_slice(&payload[copied..]);
        Ok(whole)
    }

    /// Appends the objects of a page, with the numbers that their classes have in the save.
    fn append_objects(&self, page: &RecordLocation, out: &mut Vec<u8>) -> Result<()> {
        let (class, payload) = (page.class as usize, page.payload(self.save));
        let own = renumbered(class, &self.table.plans.stored, payload, &self.table.env.limits)
            .map_err(|error| in_save(page, error))?;
        let mut links = NoLinks::default();
        let mut input = Decoder::new(&own, self.table.env, &mut links);
        input.value::<Vec<u64>>()?;
        input.count()?;
        out.extend_from_slice(input.rest());
        Ok(())
    }

    /// Lets the values in a record read its pages. One that is converted has its objects in itself.
    pub(super) fn open_pages(&mut self, id: u64, is_identical: bool) {
        let pages = self.pages.get(&id).filter(|_| is_identical);
        let pages = pages.map_or(&[][..], |pages| pages);
        let pages = pages.iter().map(|page| LoadedPage { location: *page, is_left: true });
        self.table.pages = pages.collect();
    }

    /// Returns the error for a page whose objects could not be read, if there is one.
    pub(super) fn failed_page(&mut self) -> Option<Error> {
        let FailedPage { location, refused, left, fail } = self.table.failed_page.take()?;
        Some(self.explained(&location, true, refused, left, fail))
    }

    /// Checks that the indexes of a record are those of its pages, for a record whose values do not read them.
    pub(super) fn check_index(&self, record: &RecordLocation, index: &[PageEntry]) -> Result<()> {
        let pages = self.pages.get(&record.id).filter(|_| record.is_object());
        let pages = pages.map_or(&[][..], |pages| pages);
        let start = pages.first().map_or(0, |page| page.start);
        let position = |page: &RecordLocation| (page.start - start) as u64;
        let mut named = HashSet::new();
        for entry in index {
            let place = pages.binary_search_by_key(&entry.position, position);
            let page = place.ok().map(|place| &pages[place]);
            let is_right = page.is_some_and(|page| {
                page.page_digest(self.save) == Some(entry.digest)
                    && page_head(page.payload(self.save)) == Some((entry.first, entry.objects))
            });
            if !is_right || !named.insert(entry.position) {
                return Err(missing_page(entry));
            }
        }
        match pages.iter().find(|page| !named.contains(&position(page))) {
            None => Ok(()),
            Some(page) => Err(unnamed(page)),
        }
    }

    /// Checks that the values of a record have read all of its pages.
    pub(super) fn check_pages(&self) -> Result<()> {
        match self.table.pages.iter().find(|page| page.is_left) {
            None => Ok(()),
            Some(page) => Err(unnamed(&page.location)),
        }
    }
}

/// Reads the page of an entry in an index. A value is the first that reads it.
#[cfg(feature = "world")]
pub(super) fn read_page(
    table: &mut Table<'_>,
    entry: &PageEntry,
    within: Within,
    read: &mut dyn FnMut(&mut Decoder<'_>) -> Result<(), Fail>,
) -> Result<()> {
    // The worlds in a page have none: a chain of them would take the stack.
    let is_in_page = table.page_numbers.is_some();
    let (save, env) = (table.save, table.env);
    let first = table.pages.first().map_or(0, |page| page.location.start);
    let position = |page: &LoadedPage| (page.location.start - first) as u64;
    let place = table.pages.binary_search_by_key(&entry.position, position);
    let page = place.ok().and_then(|place| table.pages.get_mut(place));
    let is_right = |page: &&mut LoadedPage| {
        page.is_left && page.location.page_digest(save) == Some(entry.digest)
    };
    let Some(page) = page.filter(is_right).filter(|_| !is_in_page) else {
        return Err(missing_page(entry));
    };
    page.is_left = false;
    let location = page.location;
    let (class, payload) = (location.class as usize, location.payload(save));
    let numbers: Arc<[u64]> = match table.plans.stored.page_numbers(class, payload) {
        Ok(numbers) => numbers.unwrap_or_default().into(),
        Err(error) => {
            let (refused, left) = (Some(error), payload.len());
            table.failed_page = Some(FailedPage { location, refused, left, fail: None });
            return Err(missing_page(entry));
        }
    };
    table.page_numbers = Some(numbers.clone());
    let mut input = Decoder::new(payload, env, table).in_page(Some(&numbers)).inside(within);
    let result = read(&mut input);
    let left = input.rest().len();
    let refused = input.take_error();
    table.page_numbers = None;
    if result == Ok(()) && left == 0 {
        return Ok(());
    }
    let fail = result.err();
    table.failed_page = Some(FailedPage { location, refused, left, fail });
    // The failed page has the error.
    Err(missing_page(entry))
}

#[cold]
fn unnamed(page: &RecordLocation) -> Error {
    page_fault(page.id, "is in the index of no world of that object").at(page.start as u64)
}
