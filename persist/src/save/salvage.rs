//! What can be saved of a damaged save.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use super::document::Document;
use crate::format::{DamagedSave, check, nothing_whole};
use crate::schema::{FieldSchema, Form, KindSchema, Stored};
use crate::value::Record;
use crate::{Limits, ObjectId, Result, Value};

/// What a load under [`LoadPolicy::Salvage`](crate::save::LoadPolicy::Salvage) found of a damaged save.
///
/// Its [`Display`](fmt::Display) is a sentence for the player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvage {
    /// The file that the objects are from: of the save and its backups, all damaged, the one that has the most.
    /// `None` for a save in memory.
    pub file: Option<PathBuf>,
    /// Where that file is kept when later saves replace it; `None` if nothing can be written there.
    pub kept: Option<PathBuf>,
    /// Bytes that were not whole, and in how many places they were.
    pub lost_bytes: u64,
    /// The places.
    pub places: usize,
    /// Objects that were found.
    pub objects: u64,
    /// Objects that are lost, if the end of the save is whole and says how many there were.
    pub lost: Option<u64>,
    /// Of those that were found, the ones that cannot be without one that is lost: they hold a bare
    /// pointer to it. They are counted as lost, too.
    pub incomplete: u64,
    /// Pointers to lost objects in an `Option`, a list or a map, which are gone from there.
    pub cut: u64,
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
        match &self.kept {
            Some(kept) => write!(f, "; the damaged file is kept as {}", kept.display()),
            None => Ok(()),
        }
    }
}

/// True if a save is damaged. A newer format or a limit is no damage; the load says so.
pub(super) fn is_wreck(save: &[u8], limits: &Limits) -> bool {
    check(save, limits).is_err_and(|error| error.is_damage())
}

/// Makes a whole save of what is whole of a damaged one.
///
/// # Errors
///
/// If nothing is: an empty game would go for a whole one.
pub(super) fn salvage(save: &[u8], limits: &Limits) -> Result<(Vec<u8>, Salvage)> {
    let (document, found) = salvaged(save, limits)?;
    Ok((document.to_vec()?, found))
}

impl Document {
    /// Reads what is whole of a damaged save, as a load under [`LoadPolicy::Salvage`](crate::save::LoadPolicy::Salvage)
    /// does; `None` stands beside a save that is not damaged.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) if nothing is whole; otherwise those of
    /// [`from_slice`](Self::from_slice) that are no damage.
    ///
    /// # Example
    ///
    /// ```
    /// let mut save = persist::to_vec(&7_u32)?;
    /// save.truncate(save.len() - 1);
    /// assert!(persist::Document::from_slice(&save).is_err());
    /// let (document, salvage) = persist::Document::salvage(&save)?;
    /// assert_eq!(document.root(), Some(&7_u32.into()));
    /// assert_eq!(salvage.unwrap().objects, 1);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn salvage(save: &[u8]) -> Result<(Self, Option<Salvage>)> {
        let limits = &Limits::DEFAULT;
        if !is_wreck(save, limits) {
            return Ok((Self::from_slice(save)?, None));
        }
        let (document, found) = salvaged(save, limits)?;
        // It is whole now, and read as one: what leads to lost objects is gone.
        Ok((Self::from_slice(&document.to_vec()?)?, Some(found)))
    }
}

fn salvaged(save: &[u8], limits: &Limits) -> Result<(Document, Salvage)> {
    let wreck = DamagedSave::read(save, limits)?;
    let mut found =
        Salvage { lost_bytes: wreck.lost_bytes, places: wreck.places, ..Salvage::default() };
    let (scan, classes) = wreck.scan(limits)?;
    let stored = Stored::new(classes.clone());
    let mut document = Document::of_scan(wreck.plain(), scan, classes, limits, |_| Ok(()))?;
    let objects = document.entries().filter(|entry| !entry.is_kept());
    let mut alive: HashSet<ObjectId> = objects.map(|entry| entry.id()).collect();
    loop {
        let mut has_changed = false;
        // What an object leads to mostly stands behind it.
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
    let left = document.entries().count() as u64;
    found.lost = wreck.records().map(|records| records.saturating_sub(left));
    if alive.is_empty() {
        return Err(nothing_whole(found.lost));
    }
    document.retain(&alive);
    Ok((document, found))
}

/// Takes the pointers to lost objects out of a value, each with what cannot be without it. False if the value cannot.
///
/// There is no recursion: a value may nest deeper than the calls of a small thread.
fn mend(
    value: &mut Value,
    class: usize,
    stored: &Stored,
    alive: &HashSet<ObjectId>,
    cut: &mut u64,
) -> bool {
    let own = KindSchema::Class(class);
    let kind = if let Form::Value(kind) = &stored[class].form { kind } else { &own };
    // Each part with its kind and the place of what it is in. The parts of each value begin where `starts` says.
    let (mut parts, mut starts, mut at) = (vec![(&*value, kind, 0)], Vec::new(), 0);
    let mut lost = HashSet::new();
    while let Some(&(part, kind, _)) = parts.get(at) {
        starts.push(parts.len());
        if is_lost(part, kind, alive) {
            let (mut gone, mut around) = (at, parts[at].2);
            while gone > 0 && !may_lose(parts[around].1) {
                (gone, around) = (around, parts[around].2);
            }
            if gone == 0 {
                return false;
            }
            lost.insert(gone);
            if let KindSchema::Map(_) = parts[around].1 {
                // A key goes with its value.
                lost.insert(starts[around] + ((gone - starts[around]) ^ 1));
            }
        }
        let kind_of = |place: usize| match part {
            Value::Struct(record) | Value::Enum(record) => {
                fields(record, stored).get(place).map(|field| &field.kind)
            }
            _ => kind.parts().get(place.checked_rem(kind.parts().len())?),
        };
        // Long lists are of numbers.
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
            let is_kept = !lost.contains(&next.start);
            next.start += of;
            *cut += u64::from(!is_kept);
            is_kept
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

/// True for a pointer that leads to an object that is lost, and must lead to one.
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

/// True if values of a kind can be without one of their parts.
fn may_lose(kind: &KindSchema) -> bool {
    matches!(
        kind,
        KindSchema::Option(_) | KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Map(_)
    )
}

/// The fields that a record was read from.
fn fields<'s>(record: &Record, stored: &'s Stored) -> &'s [FieldSchema] {
    let Some(class) = record.origin.filter(|class| *class < stored.len()) else { return &[] };
    let variant = match &stored[class].form {
        Form::Enum(_) => record.variant.as_deref().and_then(|name| stored.variant(class, name)),
        _ => Some(0),
    };
    variant.map_or(&[], |variant| stored.fields(class, variant))
}
