//! The pages that a world writes, and those that it keeps for its next save.
//!
//! A save in the background stays in memory until it is written. The world keeps its pages, too, and the next save of
//! the world takes a page from there if none of its objects was handed out mutably since. Nothing of that shows in the
//! bytes of a save.
//!
//! Each block of a column has a mark, which [`Occupancy::seen`] replaces by the number of the save. So a page of a save
//! is as it was if all blocks from which it was made were last changed before it was encoded. Snapshots have numbers of
//! the same sequence.
//!
//! [`Occupancy::seen`]: super::column::Occupancy::seen

use std::any::TypeId;
use std::sync::Weak;

use hashbrown::HashMap;

use super::World;
use super::column::{BLOCKS, Page};
use super::objects::SnapshotState;
use super::stored::{NextObject, PARENT, RUN, SIZE, StoredObject, StoredPage, WorldWriter};
use crate::Result;
use crate::codec::page_source::{PageCopy, PageSink, PageSource};
use crate::codec::pages::{LEAST_PAGED, PageCut};
use crate::codec::{Encoder, Stop};

/// The fewest bytes of an object: id, name, parent, activity, and two counts.
const MIN_OBJECT: usize = 6;

/// The pages that a world keeps.
#[derive(Default)]
pub(super) struct PageCache {
    /// The number of the world's last save or snapshot that looked at the marks.
    pub number: u64,
    /// The number of the last such save.
    save: u64,
    /// The last snapshot that was taken or restored, if it still exists, with its number.
    pub snapshot: (Weak<SnapshotState>, u64),
    /// By the first id of the row in which the page begins, and the place in the row.
    pages: HashMap<(u64, usize), RetainedPage>,
}

/// A page of an earlier save.
#[derive(Clone)]
struct RetainedPage {
    page: PageCopy,
    /// The number of the save that encoded it.
    save: u64,
    /// The first ids of the rows from which it was made, with the empty ones between and after them.
    rows: Vec<u64>,
    /// The place in the last row at which the next page begins; 0 for the row after it.
    end: usize,
    /// The bytes of its objects.
    bytes: usize,
}

/// A row of ids, as a save finds it.
struct RowState {
    first: u64,
    /// The number of the first save that saw the row as it is; the largest number if the row may change without a mark.
    seen: u64,
}

impl RetainedPage {
    /// Returns the next object after the page; `None` if the page would be another one now.
    fn end(&self, next: NextObject, rows: &[RowState]) -> Option<NextObject> {
        let (of_page, after) = rows.get(next.row..)?.split_at_checked(self.rows.len())?;
        let mut pairs = of_page.iter().zip(&self.rows);
        if !pairs.all(|(row, first)| row.first == *first && row.seen <= self.save) {
            return None;
        }
        let last = *self.rows.last()?;
        if self.end > 0 {
            return Some(NextObject { row: next.row + self.rows.len() - 1, place: self.end });
        }
        // A page that ends before its cell does would also have ended before any other row.
        let is_cut_at = |row: &RowState| PageCut::is_between(last, row.first, self.bytes);
        let is_end = after.first().is_none_or(is_cut_at);
        is_end.then_some(NextObject { row: next.row + self.rows.len(), place: 0 })
    }
}

impl PageSource for World {
    fn page_type(&self) -> TypeId {
        TypeId::of::<StoredPage>()
    }

    fn size_hint(&self) -> usize {
        self.count.saturating_mul(SIZE).min(LEAST_PAGED) + RUN * (SIZE + PARENT)
    }

    fn encode_small(&self, out: &mut Encoder<'_>) -> Result<Option<usize>, Stop> {
        if self.count.saturating_mul(MIN_OBJECT) >= LEAST_PAGED {
            return Ok(None);
        }
        let mut writer = WorldWriter::of_all(self);
        let start = out.position();
        out.nested_in::<StoredObject>(|out| writer.encode_all(LEAST_PAGED, out))?;
        Ok((out.position() - start < LEAST_PAGED).then_some(self.count))
    }

    fn write_pages(&self, sink: &mut dyn PageSink) -> Result<()> {
        if sink.retains_pages() || !self.page_cache.borrow().pages.is_empty() {
            let mut saved = self.page_cache.take();
            let result = write_changed_pages(self, &mut saved, sink);
            self.page_cache.replace(saved);
            return result;
        }
        let (mut writer, mut next) = (WorldWriter::of_all(self), NextObject::default());
        while sink.page(&mut |out| writer.encode_page(&mut next, out))? {}
        Ok(())
    }
}

/// Writes all pages, and encodes those whose objects may have changed since an earlier save.
fn write_changed_pages(
    world: &World,
    saved: &mut PageCache,
    sink: &mut dyn PageSink,
) -> Result<()> {
    if !saved.pages.is_empty() {
        mark_moved_children(world, saved.save);
    }
    saved.number += 1;
    saved.save = saved.number;
    let rows = rows(world, saved.save);
    let mut retained = HashMap::with_capacity(saved.pages.len());
    let (mut writer, mut next) = (WorldWriter::of_all(world), NextObject::default());
    loop {
        skip_empty(world, &mut next);
        let Some(first) = rows.get(next.row) else { break };
        let key = (first.first, next.place);
        if let Some(page) = saved.pages.get(&key)
            && let Some(end) = page.end(next, &rows)
            && sink.saved_page(&page.page)?
        {
            retained.insert(key, page.clone());
            next = end;
            continue;
        }
        let (begin, mut bytes) = (next.row, 0);
        let is_written = sink.page(&mut |out| {
            let start = out.position();
            let objects = writer.encode_page(&mut next, out)?;
            bytes = out.position() - start;
            Ok(objects)
        })?;
        if !is_written {
            break;
        }
        if let Some(page) = sink.take_page() {
            skip_empty(world, &mut next);
            let rows = &rows[begin..next.row + usize::from(next.place > 0)];
            let (rows, end) = (rows.iter().map(|row| row.first).collect(), next.place);
            retained.insert(key, RetainedPage { page, save: saved.save, rows, end, bytes });
        }
    }
    if sink.retains_pages() {
        saved.pages = retained;
    }
    Ok(())
}

/// Moves on to a row with objects after the place, if there is one.
fn skip_empty(world: &World, next: &mut NextObject) {
    let len = |row| world.objects.page(row).map_or(0, |objects| objects.items().len());
    while next.row < world.directory.len() && next.place >= len(next.row) {
        *next = NextObject { row: next.row + 1, place: 0 };
    }
}

/// Returns all rows, and takes their marks.
fn rows(world: &World, save: u64) -> Vec<RowState> {
    let frozen: Vec<bool> = world.columns.iter().map(|entry| entry.is_frozen()).collect();
    let row = |row| {
        let columns = world.columns.iter().zip(&frozen).map(|(entry, is_frozen)| {
            let seen = entry.column.occupancy(row).map_or(0, |ids| ids.seen(save));
            // A value that changes through `&` leaves no mark.
            if *is_frozen || seen == 0 { seen } else { u64::MAX }
        });
        let objects = world.objects.page(row).map_or(0, |objects| objects.occupancy().seen(save));
        RowState { first: world.directory.first(row), seen: columns.fold(objects, u64::max) }
    };
    (0..world.directory.len()).map(row).collect()
}

/// Marks the children whose index among their siblings has changed since a save: it is stored with them.
fn mark_moved_children(world: &World, save: u64) {
    let pages = (0..world.directory.len()).filter_map(|row| world.objects.page(row));
    let has_changed =
        |page: &&Page<_>| (0..BLOCKS).any(|block| page.occupancy().has_changed(block, save));
    for parent in pages.filter(has_changed).flat_map(Page::items) {
        for child in parent.moved_children() {
            let Some(location) = world.directory.location(*child) else { continue };
            world.objects.page(location.page).into_iter().for_each(|page| page.mark(location.bit));
        }
    }
}
