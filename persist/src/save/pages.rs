//! The pages of a damaged save.

use std::collections::{HashMap, HashSet};

use crate::codec::pages::PageEntry;
use crate::format::RecordLocation;
use crate::schema::{Reader, Stored, each_paged, objects_in_page, put_objects, world_of};
use crate::sorting::sort;
use crate::value::Record;
use crate::{Limits, ObjectId, Value};

/// A page of a damaged save that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostPage {
    /// The id of the record in which the world is.
    pub record: ObjectId,
    /// The id of the first object of the page, and the number of its objects.
    pub first: ObjectId,
    /// The number of lost objects.
    pub objects: u32,
}

/// The lost parts of worlds.
#[derive(Default)]
pub(super) struct LostParts {
    /// The pages that an index names, and that are damaged.
    pub pages: Vec<LostPage>,
    /// The pages that are whole.
    pub whole: u64,
    /// The records whose worlds lack objects.
    pub worlds: HashSet<ObjectId>,
    /// True if a world is made of its pages alone.
    pub has_no_head: bool,
}

/// The whole pages of a damaged save, by the ids of their records.
#[derive(Default)]
pub(super) struct WholePages {
    by_id: HashMap<u64, Vec<RecordLocation>>,
}

impl WholePages {
    pub(super) fn add(&mut self, page: &RecordLocation) {
        self.by_id.entry(page.id).or_default().push(*page);
    }

    /// Puts the objects of whole pages into the worlds of an entry.
    pub(super) fn put(
        &mut self,
        (id, value): (ObjectId, &mut Value),
        (stored, limits): (&Stored, &Limits),
        save: &[u8],
        reader: &mut Reader,
        lost: &mut LostParts,
    ) {
        let pages = self.by_id.remove(&id.get()).unwrap_or_default();
        // Positions mean nothing in a damaged save. Two pages of a world with one digest have the same bytes.
        let digests = pages.iter().map(|page| (page.page_digest(save), page));
        let mut by_digest: HashMap<Option<u32>, Vec<&RecordLocation>> = HashMap::new();
        digests.for_each(|(digest, page)| by_digest.entry(digest).or_default().push(page));
        let mut put = |index: &PageEntry| {
            // Each page is read once, however many entries name it.
            let page = by_digest.get_mut(&Some(index.digest)).and_then(Vec::pop);
            Ok(page.and_then(|page| objects_of(page, (stored, limits), save, reader)))
        };
        let Ok(missing) = put_objects(value, stored, &mut put) else { return };
        lost.whole += pages.len() as u64;
        if missing.is_empty() {
            return;
        }
        let page = |index: &PageEntry| {
            let first = ObjectId::new(index.first)?;
            Some(LostPage { record: id, first, objects: index.objects })
        };
        lost.pages.extend(missing.iter().filter_map(page));
        lost.worlds.insert(id);
    }

    /// Returns a world of the pages of a save whose record is lost, with its class, if the save holds one world.
    ///
    /// Its head is lost with that record: the resources, and the last id. So that no id is used again, the next ones are
    /// far above those that are known.
    pub(super) fn without_head(
        mut self,
        (stored, limits): (&Stored, &Limits),
        save: &[u8],
        reader: &mut Reader,
        lost: &mut LostParts,
    ) -> Option<(ObjectId, usize, Value)> {
        let mut ids: Vec<u64> = self.by_id.keys().copied().collect();
        let (id, class) = (ids.pop().filter(|_| ids.is_empty())?, 0);
        let pages = self.by_id.remove(&id)?;
        let mut objects = Vec::new();
        for page in &pages {
            objects.append(&mut objects_of(page, (stored, limits), save, reader)?);
        }
        let value = world_of(stored, class, objects, limits.objects.min(u32::MAX.into()))?;
        let id = ObjectId::new(id)?;
        lost.worlds.insert(id);
        (lost.whole, lost.has_no_head) = (pages.len() as u64, true);
        Some((id, class, value))
    }
}

/// Returns the objects of a page; `None` if they cannot be read.
fn objects_of(
    page: &RecordLocation,
    (stored, limits): (&Stored, &Limits),
    save: &[u8],
    reader: &mut Reader,
) -> Option<Vec<Value>> {
    let class = page.class as usize;
    if stored.page_class() != Some(class) {
        return None;
    }
    objects_in_page(reader.payload(stored, class, page.payload(save), limits).ok()?)
}

/// Makes the objects of worlds trees again. Objects whose parent is lost get the one of `adopt` or none, and the other
/// children of each parent get indices without gaps. Returns the number of objects whose parent is lost.
pub(super) fn mend_trees(
    value: &mut Value,
    stored: &Stored,
    adopt: &mut dyn FnMut(&mut Record) -> u64,
) -> u64 {
    let mut orphans = 0;
    let _ = each_paged(value, stored, &mut |world, _| {
        orphans += adopt(world);
        let Some(Value::Seq(objects)) = world.get_mut("objects") else { return Ok(true) };
        let id = |object: &Value| object.as_record()?.fields.first()?.value.as_u64();
        let ids: HashSet<u64> = objects.iter().filter_map(id).collect();
        // The children of each parent: their indices, and their places in the list of objects.
        let mut families: HashMap<u64, Vec<(u64, usize)>> = HashMap::new();
        for (place, object) in objects.iter_mut().enumerate() {
            let Some(parent) = parent_of(object) else { continue };
            let number = |name| parent.as_record()?.get(name)?.as_u64();
            let (Some(id), Some(index)) = (number("object"), number("index")) else { continue };
            if ids.contains(&id) {
                families.entry(id).or_default().push((index, place));
            } else if let Some(object) = object.as_record_mut() {
                object.set("parent", Value::Option(None));
                orphans += 1;
            }
        }
        for mut children in families.into_values() {
            sort(&mut children);
            for (index, (_, place)) in (0_u32..).zip(children) {
                let parent = parent_of(&mut objects[place]).and_then(Value::as_record_mut);
                parent.map(|parent| parent.set("index", index));
            }
        }
        Ok(true)
    });
    orphans
}

/// Returns the parent that an object of a world has, with its index there.
fn parent_of(object: &mut Value) -> Option<&mut Value> {
    match object.as_record_mut()?.get_mut("parent")? {
        Value::Option(parent) => parent.as_deref_mut(),
        _ => None,
    }
}
