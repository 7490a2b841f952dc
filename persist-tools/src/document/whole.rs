//! The whole objects of a damaged save, without their values.

use std::collections::{HashMap, HashSet};

use persist::__tools::{DamagedSave, KindSchema, Reader, Stored, is_damaged, put_objects};
use persist::Limits;

/// The number of whole objects of a damaged save, and what is lost.
pub struct WholeObjects {
    /// The number of whole objects.
    pub objects: u64,
    /// True if a repair saves all of them. If not, some may hold a bare pointer to a lost object.
    pub is_exact: bool,
    /// The number of lost objects; `None` if the end of the save is damaged.
    pub lost: Option<u64>,
    /// True if the header is lost.
    pub lost_header: bool,
    /// True if the head of a world is lost. The world has the objects of its pages.
    pub lost_head: bool,
    /// The number of objects of worlds in lost pages.
    pub lost_in_worlds: u64,
    /// The number of damaged bytes of numbers, which a repair replaces by zeros.
    pub zeroed_bytes: u64,
}

impl WholeObjects {
    /// Counts the whole objects of a save; `None` if it is not damaged, or nothing of it is whole.
    ///
    /// The counts are those of [`Document::salvage`](super::Document::salvage), which holds all values in memory: about
    /// 100 times the size of the save. Here, only values that may have an index of pages are read, one at a time.
    #[must_use]
    pub fn count(save: &[u8]) -> Option<Self> {
        let limits = &Limits::DEFAULT;
        if !is_damaged(save, limits) {
            return None;
        }
        let damaged = DamagedSave::read(save, true, limits).ok()?;
        let (scan, classes) = damaged.scan(limits).ok()?;
        let (plain, stored) = (damaged.plain(), Stored::new(classes));
        let mut reader = Reader::new(limits, plain.weight);
        // The digests of the pages of each record.
        let mut pages: HashMap<u64, Vec<Option<u32>>> = HashMap::new();
        let (mut ids, mut used) = (HashSet::new(), HashSet::new());
        let (mut counted, mut lost_in_worlds) = (0, 0);
        for record in scan.records.iter() {
            let class = record.class as usize;
            if record.is_page() {
                pages.entry(record.id).or_default().push(record.page_digest(plain.bytes));
                continue;
            }
            if record.is_kept() {
                counted += 1;
                continue;
            }
            if record.id == 0 || ids.contains(&record.id) {
                continue;
            }
            if stored.page_class().is_some() {
                let payload = record.payload(plain.bytes);
                let Ok(mut value) = reader.payload(&stored, class, payload, limits) else {
                    continue;
                };
                let mut digests = pages.remove(&record.id).unwrap_or_default();
                counted += digests.len() as u64;
                let missing = put_objects(&mut value, &stored, &mut |page| {
                    let whole = digests.iter().position(|digest| *digest == Some(page.digest));
                    Ok(whole.map(|place| {
                        digests.swap_remove(place);
                        Vec::new()
                    }))
                });
                for page in missing.unwrap_or_default() {
                    counted += 1;
                    lost_in_worlds += u64::from(page.objects);
                }
            }
            counted += 1;
            ids.insert(record.id);
            used.insert(class);
        }
        // A world may be made of its pages alone.
        let lost_head = counted == 0 && pages.len() == 1;
        if lost_head {
            counted = 1 + pages.values().map(|pages| pages.len() as u64).sum::<u64>();
        }
        let objects = ids.len() as u64 + u64::from(lost_head);
        let lost = damaged.records().map(|records| records.saturating_sub(counted));
        let zeroed = damaged.damaged_parts.iter().filter(|part| part.is_zeroed);
        (objects > 0).then(|| Self {
            objects,
            is_exact: lost == Some(0) || !may_need_others(used, &stored),
            lost,
            lost_header: damaged.header.is_none(),
            lost_head,
            lost_in_worlds,
            zeroed_bytes: zeroed.map(|part| part.bytes.end - part.bytes.start).sum(),
        })
    }
}

/// Returns true if values of these classes may hold a pointer outside of options, lists, sets and maps: then they are
/// lost with the object that it leads to.
fn may_need_others(classes: HashSet<usize>, stored: &Stored) -> bool {
    let mut open: Vec<_> = classes.iter().flat_map(|class| stored[*class].kinds()).collect();
    let mut visited = classes;
    while let Some(kind) = open.pop() {
        match kind {
            KindSchema::Reference { weak: false, .. }
            | KindSchema::TraitReference { weak: false, .. }
            | KindSchema::Dynamic(_) => return true,
            KindSchema::Option(_)
            | KindSchema::List(_)
            | KindSchema::Set(_)
            | KindSchema::Map(_) => {}
            KindSchema::Class(class) if visited.insert(*class) => {
                open.extend(stored[*class].kinds());
            }
            _ => open.extend(kind.parts()),
        }
    }
    false
}
