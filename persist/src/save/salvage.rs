//! Salvage: rescues the intact objects of a damaged save.

use std::collections::HashSet;
use std::fmt;
use std::mem;
use std::path::PathBuf;

use super::pages::{LostPage, LostParts, mend_trees};
use super::untyped::UntypedSave;
use crate::format::{DamagedPart, DamagedSave, check, nothing_whole, shown};
use crate::schema::{FieldSchema, Form, KindSchema, Stored};
use crate::value::Record;
use crate::{Limits, ObjectId, Result, Value};

/// The result of a load under [`LoadPolicy::Salvage`](crate::save::LoadPolicy::Salvage): what was rescued and lost.
///
/// Its [`Display`](fmt::Display) is a sentence for the player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvage {
    /// The file that the objects were loaded from; `None` for a save in memory.
    ///
    /// If the save and all its backups are damaged, this is the file with the most intact objects.
    pub file: Option<PathBuf>,
    /// The path of a copy of that file, which later saves do not remove; `None` if the copy could not be written.
    pub kept: Option<PathBuf>,
    /// The number of damaged bytes.
    pub lost_bytes: u64,
    /// The number of places with damaged bytes.
    pub places: usize,
    /// The number of rescued objects.
    pub objects: u64,
    /// The number of lost objects; `None` if the end of the save, which holds the total, is damaged.
    pub lost: Option<u64>,
    /// The number of intact objects that were dropped, since they hold a bare pointer to a lost object.
    ///
    /// They are counted in [`lost`](Self::lost), too.
    pub incomplete: u64,
    /// The number of pointers to lost objects that were removed from options, lists, sets and maps.
    pub cut: u64,
    /// True if the header is lost, and with it the name and version of the application, the generation and the
    /// metadata.
    ///
    /// A load takes the defaults of a [`Header`](crate::save::Header) for them.
    pub lost_header: bool,
    /// The lost pages of worlds that could be rescued. Their other objects are whole.
    pub lost_pages: Vec<LostPage>,
    /// True if the head of a world is lost, and with it the resources. The world has the objects of its pages.
    pub lost_head: bool,
    /// The number of rescued objects of worlds whose parent is lost. A load leaves them without a parent.
    pub orphans: u64,
    /// The damaged parts of long records, as far as they are known.
    ///
    /// A record of more than 128 KiB, such as a page of a world, has a checksum for each 64 KiB, unless it is compressed.
    /// If all of its damaged bytes are numbers, the record is rescued with zeros in their place.
    pub damaged_parts: Vec<DamagedPart>,
}

impl fmt::Display for Salvage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the save was damaged, ")?;
        match self.objects {
            1 => f.write_str("1 object could be rescued")?,
            objects => write!(f, "{objects} objects could be rescued")?,
        }
        if let Some(file) = &self.file {
            write!(f, " from {}", file.display())?;
        }
        match self.lost {
            Some(0) => f.write_str(" and none is lost")?,
            Some(1) => f.write_str(" and 1 is lost")?,
            Some(lost) => write!(f, " and {lost} are lost")?,
            None => f.write_str(", and it is not known how many are lost")?,
        }
        let in_pages: u64 = self.lost_pages.iter().map(|page| u64::from(page.objects)).sum();
        match (in_pages, self.lost_pages.len()) {
            (0, _) => {}
            (objects, 1) => write!(f, "; {objects} objects of a world are lost, with 1 page")?,
            (objects, pages) => {
                write!(f, "; {objects} objects of worlds are lost, with {pages} pages")?;
            }
        }
        match self.orphans {
            0 => {}
            1 => f.write_str("; 1 object of a world has lost its parent")?,
            orphans => write!(f, "; {orphans} objects of worlds have lost their parents")?,
        }
        f.write_str(&shown(&self.damaged_parts))?;
        if self.lost_head {
            f.write_str("; the head of the world is lost, with its resources")?;
        }
        if self.lost_header {
            f.write_str(
                "; the header is lost, with the application, the generation and the metadata",
            )?;
        }
        match &self.kept {
            Some(kept) => write!(f, "; the damaged file is kept as {}", kept.display()),
            None => Ok(()),
        }
    }
}

/// Returns true if a save is damaged. A newer format and an exceeded limit are not damage; the load reports them.
pub fn is_damaged(save: &[u8], limits: &Limits) -> bool {
    check(save, limits).is_err_and(|error| error.is_damage())
}

/// Writes the intact objects of a damaged save as a new save. If `zeros_numbers`, long records whose damaged bytes are
/// numbers are intact, with zeros in place of these.
///
/// # Errors
///
/// Returns an error if no object is intact: an empty save could be mistaken for a good one.
pub(super) fn salvage(
    save: &[u8],
    zeros_numbers: bool,
    limits: &Limits,
) -> Result<(Vec<u8>, Salvage)> {
    let (document, found) = salvaged(save, zeros_numbers, limits, &mut |_| 0)?;
    Ok((document.to_vec()?, found))
}

/// Reads the intact objects of a damaged save. If `zeros_numbers`, long records whose damaged bytes are numbers are
/// intact, with zeros in place of these. `adopt` may give other parents to the objects of a world whose parent is lost.
/// It leaves the others without one.
///
/// # Errors
///
/// Returns an error if no object is intact.
pub fn salvaged(
    save: &[u8],
    zeros_numbers: bool,
    limits: &Limits,
    adopt: &mut dyn FnMut(&mut Record) -> u64,
) -> Result<(UntypedSave, Salvage)> {
    let mut damaged = DamagedSave::read(save, zeros_numbers, limits)?;
    let mut found = Salvage {
        lost_bytes: damaged.lost_bytes,
        places: damaged.places,
        lost_header: damaged.header.is_none(),
        damaged_parts: mem::take(&mut damaged.damaged_parts),
        ..Salvage::default()
    };
    let (scan, classes) = damaged.scan(limits)?;
    let stored = Stored::new(classes.clone());
    let mut lost = LostParts::default();
    let mut document = UntypedSave::from_scan(damaged.plain(), scan, classes, limits, &mut lost);
    (found.lost_pages, found.lost_head) = (lost.pages, lost.has_no_head);
    for entry in document.last_first().filter_map(|(_, place)| place.as_mut()) {
        if !entry.is_kept() && lost.worlds.contains(&entry.id()) {
            found.orphans += mend_trees(&mut entry.value, &stored, adopt);
        }
    }
    let objects = document.entries().filter(|entry| !entry.is_kept());
    let mut alive: HashSet<ObjectId> = objects.map(|entry| entry.id()).collect();
    loop {
        let mut has_changed = false;
        // Objects mostly refer to later objects, so going backwards usually finds all losses in one pass.
        for (class, place) in document.last_first() {
            let Some(entry) = place else { continue };
            let is_whole = alive.contains(&entry.id())
                && mend(&mut entry.value, class, &stored, &alive, &mut found.cut);
            if is_whole {
                continue;
            }
            if !entry.is_kept() && alive.remove(&entry.id()) {
                found.incomplete += 1;
                has_changed = true;
            }
            *place = None;
        }
        if !has_changed {
            break;
        }
    }
    found.objects = alive.len() as u64;
    let pages = lost.whole + found.lost_pages.len() as u64;
    let left = document.entries().count() as u64 + pages;
    found.lost = damaged.records().map(|records| records.saturating_sub(left));
    if alive.is_empty() {
        return Err(nothing_whole(found.lost, &found.damaged_parts));
    }
    document.retain(&alive);
    Ok((document, found))
}

/// Removes the pointers to lost objects from a value. Each is removed with the smallest element around it that an
/// option, list, set or map can do without. Returns false if there is no such element: the value as a whole is lost.
///
/// It does not recurse: values may be nested too deeply for the stack of a small thread.
fn mend(
    value: &mut Value,
    class: usize,
    stored: &Stored,
    alive: &HashSet<ObjectId>,
    cut: &mut u64,
) -> bool {
    let own = KindSchema::Class(class);
    let kind = if let Form::Value(kind) = &stored[class].form { kind } else { &own };
    // Each part has its kind and the index of its container. The parts of value `i` begin at `starts[i]`.
    let (mut parts, mut starts, mut at) = (vec![(&*value, kind, 0)], Vec::new(), 0);
    let mut lost = HashSet::new();
    while let Some(&(part, kind, _)) = parts.get(at) {
        starts.push(parts.len());
        if is_lost(part, kind, alive) {
            let (mut removed, mut container) = (at, parts[at].2);
            while removed > 0 && !may_lose(parts[container].1) {
                (removed, container) = (container, parts[container].2);
            }
            if removed == 0 {
                return false;
            }
            lost.insert(removed);
            if let KindSchema::Map(_) = parts[container].1 {
                // Keys and values alternate; a key is removed with its value and a value with its key.
                lost.insert(starts[container] + ((removed - starts[container]) ^ 1));
            }
        }
        let kind_of = |place: usize| match part {
            Value::Struct(record) | Value::Enum(record) => {
                fields(record, stored).get(place).map(|field| &field.kind)
            }
            _ => kind.parts().get(place.checked_rem(kind.parts().len())?),
        };
        // Elements without references are not listed as parts: lists of a million numbers are common.
        let leads = |kind: &KindSchema| kind.has_parts() || kind.refers();
        if matches!(part, Value::Struct(_) | Value::Enum(_)) || kind.parts().iter().any(leads) {
            let inner = part.parts().enumerate();
            parts.extend(
                inner.map(|(place, part)| (part, kind_of(place).unwrap_or(&KindSchema::Unit), at)),
            );
        }
        at += 1;
    }
    starts.push(parts.len());
    let mut open = if lost.is_empty() { Vec::new() } else { vec![(0, value)] };
    while let Some((at, value)) = open.pop() {
        let parts = starts[at]..starts[at + 1];
        if parts.is_empty() {
            continue;
        }
        let mut next = parts.clone();
        let mut count = |of: usize| {
            let is_intact = !lost.contains(&next.start);
            next.start += of;
            *cut += u64::from(!is_intact);
            is_intact
        };
        match value {
            Value::Option(part) => *part = part.take().filter(|_| count(1)),
            Value::Seq(items) => items.retain(|_| count(1)),
            Value::Map(entries) => entries.retain(|_| count(2)),
            _ => {}
        }
        open.extend(parts.filter(|part| !lost.contains(part)).zip(value.parts_mut()));
    }
    true
}

/// Returns true for a strong pointer to a lost object. Weak pointers may dangle.
fn is_lost(value: &Value, kind: &KindSchema, alive: &HashSet<ObjectId>) -> bool {
    match (value, kind) {
        (
            Value::Ref(Some(id)),
            KindSchema::Reference { weak: false, .. }
            | KindSchema::TraitReference { weak: false, .. },
        ) => !alive.contains(id),
        _ => false,
    }
}

/// Returns true if one part can be removed from values of a kind.
fn may_lose(kind: &KindSchema) -> bool {
    matches!(
        kind,
        KindSchema::Option(_) | KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Map(_)
    )
}

/// Returns the fields of the class or variant that a record was read from.
fn fields<'s>(record: &Record, stored: &'s Stored) -> &'s [FieldSchema] {
    let Some(class) = record.origin().filter(|class| *class < stored.len()) else { return &[] };
    let variant = match &stored[class].form {
        Form::Enum(_) => record.variant.as_deref().and_then(|name| stored.variant(class, name)),
        _ => Some(0),
    };
    variant.map_or(&[], |variant| stored.fields(class, variant))
}
