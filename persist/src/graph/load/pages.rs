//! Reads the pages of the record that is being read.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::loader::in_save;
use super::{DefaultedFields, Loader, Table};
#[cfg(feature = "world")]
use crate::codec::Within;
use crate::codec::pages::PageEntry;
use crate::codec::{Decoder, Fail, NoLinks};
use crate::format::RecordLocation;
use crate::schema::{SourceRecord, missing_page, page_fault, page_head, renumbered};
use crate::{Error, Result};

/// A page of the record that is being read.
#[cfg_attr(not(feature = "world"), allow(dead_code, reason = "worlds read pages"))]
pub(super) struct LoadedPage<'l> {
    pub(super) location: RecordLocation,
    /// The payload in the program's form, with the fields that get their default values without a conversion.
    payload: (Cow<'l, [u8]>, DefaultedFields),
    /// The numbers of its classes in the save; `None` if the payload has these already.
    numbers: Option<Arc<[u64]>>,
    /// True until a value has read it.
    is_left: bool,
}

/// A page whose objects cannot be read.
pub(super) struct FailedPage {
    pub(super) location: RecordLocation,
    /// The payload, if it was converted.
    pub(super) converted: Option<Vec<u8>>,
    pub(super) refused: Option<Error>,
    pub(super) left: usize,
    pub(super) fail: Option<Fail>,
}

impl<'l> Loader<'l> {
    /// Lets the values in a record read its pages. Those of a record that is read into the program's form are converted
    /// into it.
    pub(super) fn open_pages(&mut self, id: u64, converts: bool) -> Result<()> {
        self.table.pages.clear();
        let Some(locations) = self.pages.get(&id).cloned() else { return Ok(()) };
        for location in locations {
            let page = self.open_page(location, converts).map_err(|error| {
                let error = self.table.plans.of_other_class(location.class as usize, error);
                self.table.of_record(&location, in_save(&location, error))
            })?;
            self.table.pages.push(page);
        }
        Ok(())
    }

    fn open_page(&mut self, location: RecordLocation, converts: bool) -> Result<LoadedPage<'l>> {
        let (class, stored) = (location.class as usize, location.payload(self.save));
        let is_left = true;
        let plans = &self.table.plans;
        // A program without worlds keeps their pages as they are.
        if !converts || plans.is_identical(class) || plans.resolve(class).is_none() {
            let numbers = self.table.plans.stored.page_numbers(class, stored)?.map(Arc::from);
            let payload = (Cow::Borrowed(stored), DefaultedFields::default());
            return Ok(LoadedPage { location, payload, numbers, is_left });
        }
        let limits = &self.table.env.limits;
        let own = renumbered(class, &self.table.plans.stored, stored, limits)?;
        let source = SourceRecord { class, id: location.id, payload: &own, unknown: &[] };
        let mut payload = Vec::new();
        let rest = self.transcode(&source, &mut payload)?;
        let defaulted = DefaultedFields::new(rest.defaulted, payload.len());
        for value in rest.shared {
            self.add_shared(value)?;
        }
        let payload = (Cow::Owned(payload), defaulted);
        Ok(LoadedPage { location, payload, numbers: None, is_left })
    }

    /// Returns the error for a page whose objects could not be read, if there is one.
    pub(super) fn failed_page(&mut self) -> Option<Error> {
        let FailedPage { location, converted, refused, left, fail } =
            self.table.failed_page.take()?;
        let is_identical = converted.is_none();
        self.scratch = converted.unwrap_or_default();
        Some(self.explained(&location, is_identical, refused, left, fail))
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

/// Takes the page of an entry in an index. A value is the first that reads it.
fn take_page<'t, 'l>(
    table: &'t mut Table<'l>,
    entry: &PageEntry,
) -> Result<&'t mut LoadedPage<'l>> {
    let first = table.pages.first().map_or(0, |page| page.location.start);
    let position = |page: &LoadedPage<'_>| (page.location.start - first) as u64;
    let place = table.pages.binary_search_by_key(&entry.position, position);
    let page = place.ok().and_then(|place| table.pages.get_mut(place));
    let is_right = |page: &&mut LoadedPage<'_>| {
        page.is_left && page.location.page_digest(table.save) == Some(entry.digest)
    };
    let page = page.filter(is_right).ok_or_else(|| missing_page(entry))?;
    page.is_left = false;
    Ok(page)
}

/// Returns the bytes of the objects of a page, with the numbers that the classes have in the save.
pub(super) fn objects_of_page(table: &mut Table<'_>, entry: &PageEntry) -> Result<Vec<u8>> {
    let save = table.save;
    let location = take_page(table, entry)?.location;
    let (class, payload) = (location.class as usize, location.payload(save));
    let whole = renumbered(class, &table.plans.stored, payload, &table.env.limits)
        .map_err(|error| in_save(&location, error))?;
    let mut links = NoLinks::default();
    let mut input = Decoder::new(&whole, table.env, &mut links);
    input.value::<Vec<u64>>()?;
    input.count()?;
    match page_head(payload) == Some((entry.first, entry.objects)) {
        true => Ok(input.rest().to_vec()),
        false => Err(missing_page(entry)),
    }
}

/// Reads the page of an entry in an index.
#[cfg(feature = "world")]
pub(super) fn read_page(
    table: &mut Table<'_>,
    entry: &PageEntry,
    within: Within,
    read: &mut dyn FnMut(&mut Decoder<'_>) -> Result<(), Fail>,
) -> Result<()> {
    let page = take_page(table, entry)?;
    let (payload, defaulted) = std::mem::take(&mut page.payload);
    let (location, numbers) = (page.location, page.numbers.take());
    let outer_numbers = std::mem::replace(&mut table.page_numbers, numbers.clone());
    let outer_defaulted = std::mem::replace(&mut table.defaulted, defaulted);
    let env = table.env;
    let mut input = Decoder::new(&payload, env, table).in_page(numbers.as_deref()).inside(within);
    let result = read(&mut input);
    let left = input.rest().len();
    let refused = input.take_error();
    (table.page_numbers, table.defaulted) = (outer_numbers, outer_defaulted);
    if result == Ok(()) && left == 0 {
        return Ok(());
    }
    let converted = match payload {
        Cow::Borrowed(_) => None,
        Cow::Owned(payload) => Some(payload),
    };
    let fail = result.err();
    table.failed_page = Some(FailedPage { location, converted, refused, left, fail });
    // The failed page has the error.
    Err(missing_page(entry))
}

#[cold]
fn unnamed(page: &RecordLocation) -> Error {
    page_fault(page.id, "is in the index of no world of that object").at(page.start as u64)
}
