//! What can be saved of a damaged save.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::vec::IntoIter;

use super::Document;
use crate::format::{Compression, Plain, Wreck, nothing_whole, scan, unpacked};
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
    let found = unpacked(save, limits, |save| scan(save.bytes, limits).map(drop));
    found.is_err_and(|error| error.is_damage())
}

/// Makes a whole save of what is whole of a damaged one.
///
/// # Errors
///
/// If nothing is: an empty game would go for a whole one.
pub(super) fn salvage(save: &[u8], limits: &Limits) -> Result<(Vec<u8>, Salvage)> {
    let wreck = Wreck::read(save, limits)?;
    let compression = Compression::None;
    let save = Plain { bytes: &wreck.blocks, weight: wreck.weight, compression };
    let mut found =
        Salvage { lost_bytes: wreck.lost_bytes, places: wreck.places, ..Salvage::default() };
    let mut document = Document::of_scan(save, wreck.scan, &wreck.definitions, limits, |_| Ok(()))?;
    let alive: HashSet<ObjectId> =
        document.entries().filter(|entry| !entry.is_kept()).map(|entry| entry.id()).collect();
    let classes = document.stored().to_vec();
    let stored = Stored::new(classes);
    let mut mend = Mend { stored: &stored, alive, cut: 0 };
    loop {
        let mut has_changed = false;
        // What an object leads to mostly stands behind it.
        for (class, place) in document.last_first() {
            let Some(entry) = place else { continue };
            let is_whole = mend.alive.contains(&entry.id()) && mend.object(class, &mut entry.value);
            if is_whole {
                continue;
            }
            if !entry.is_kept() && mend.alive.remove(&entry.id()) {
                found.incomplete += 1;
                has_changed = true;
            }
            *place = None;
        }
        if !has_changed {
            break;
        }
    }
    found.cut = mend.cut;
    found.objects = mend.alive.len() as u64;
    found.lost =
        wreck.records.map(|records| records.saturating_sub(document.entries().count() as u64));
    if mend.alive.is_empty() {
        return Err(nothing_whole(found.lost));
    }
    document.retain(&mend.alive);
    Ok((document.to_vec()?, found))
}

/// Takes pointers to lost objects out of values.
struct Mend<'s> {
    stored: &'s Stored,
    alive: HashSet<ObjectId>,
    cut: u64,
}

/// A value some of whose parts are mended.
struct Open<'s> {
    /// Without its parts.
    value: Value,
    kind: &'s KindSchema,
    parts: IntoIter<Value>,
    /// `None` for one that is lost.
    mended: Vec<Option<Value>>,
}

impl Mend<'_> {
    /// False if the object cannot be without something that is lost; its value is gone then.
    fn object(&mut self, class: usize, value: &mut Value) -> bool {
        let whole = std::mem::replace(value, Value::Unit);
        let mended = match &self.stored[class].form {
            Form::Value(kind) => self.value(whole, kind),
            _ => self.value(whole, &KindSchema::Class(class)),
        };
        mended.map(|mended| *value = mended).is_some()
    }

    /// The value without what is lost; `None` if it cannot be without.
    ///
    /// What is open is on a stack of its own: a value may nest deeper than the calls of a small
    /// thread.
    fn value(&mut self, value: Value, kind: &KindSchema) -> Option<Value> {
        let stored = self.stored;
        let mut open = Vec::new();
        let mut mended = self.begin(value, kind, &mut open);
        loop {
            let Some(last) = open.last_mut() else { return mended.flatten() };
            match mended.take() {
                Some(None) if !last.may_lose() => {
                    open.pop();
                    mended = Some(None);
                    continue;
                }
                Some(part) => last.put(part),
                None => {}
            }
            mended = match last.parts.next() {
                None => open.pop().map(|last| Some(last.whole(&mut self.cut))),
                Some(part) => match last.kind_of_next(stored) {
                    Some(kind) => self.begin(part, kind, &mut open),
                    None => Some(Some(part)),
                },
            };
        }
    }

    /// Opens a value with parts; else what becomes of it.
    fn begin<'k>(
        &self,
        mut value: Value,
        kind: &'k KindSchema,
        open: &mut Vec<Open<'k>>,
    ) -> Option<Option<Value>> {
        let is_lost = match (&value, kind) {
            (
                Value::Ref(Some(id)),
                KindSchema::Reference { weak: false, .. }
                | KindSchema::TraitReference { weak: false, .. },
            ) => !self.alive.contains(id),
            _ => false,
        };
        if is_lost || !value.may_have_parts() {
            return Some(Some(value).filter(|_| !is_lost));
        }
        let parts = value.parts_mut().map(|part| std::mem::replace(part, Value::Unit));
        let parts = parts.collect::<Vec<_>>().into_iter();
        open.push(Open { mended: Vec::with_capacity(parts.len()), value, kind, parts });
        None
    }
}

impl Open<'_> {
    /// True if the value can be without one of its parts.
    fn may_lose(&self) -> bool {
        matches!(
            self.kind,
            KindSchema::Option(_) | KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Map(_)
        )
    }

    fn put(&mut self, part: Option<Value>) {
        let is_key = matches!(self.value, Value::Map(_)) && self.mended.len().is_multiple_of(2);
        if part.is_none() && is_key {
            // Its value goes with it.
            drop(self.parts.next());
            self.mended.push(None);
        }
        self.mended.push(part);
    }

    /// The value, when all of its parts are mended; counts those that are lost.
    fn whole(mut self, cut: &mut u64) -> Value {
        match (&mut self.value, self.kind) {
            (Value::Option(value), _) => {
                *value = self.mended.pop().flatten().map(Box::new);
                *cut += u64::from(value.is_none());
            }
            (Value::Seq(items), KindSchema::List(_) | KindSchema::Set(_)) => {
                let before = items.len();
                *items = self.mended.into_iter().flatten().collect();
                *cut += (before - items.len()) as u64;
            }
            (Value::Map(entries), _) => {
                let before = entries.len();
                let mut parts = self.mended.into_iter();
                entries.clear();
                while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                    entries.extend(key.zip(value));
                }
                *cut += (before - entries.len()) as u64;
            }
            (value, _) => {
                let parts = value.parts_mut().zip(self.mended);
                parts.for_each(|(place, part)| *place = part.unwrap_or(Value::Unit));
            }
        }
        self.value
    }
}

impl<'k> Open<'k> {
    /// What the next part is stored as; `None` if it holds no pointers.
    fn kind_of_next<'s: 'k>(&self, stored: &'s Stored) -> Option<&'k KindSchema> {
        let next = self.mended.len();
        match (&self.value, self.kind) {
            (Value::Option(_), KindSchema::Option(kind))
            | (
                Value::Seq(_),
                KindSchema::List(kind) | KindSchema::Set(kind) | KindSchema::Array(kind, _),
            ) => Some(kind),
            (Value::Map(_), KindSchema::Map(kinds)) => Some(&kinds[next % 2]),
            (Value::Tuple(_), KindSchema::Tuple(kinds)) => kinds.get(next),
            (Value::Struct(record) | Value::Enum(record), _) => {
                Some(&fields(record, stored).get(next)?.kind)
            }
            _ => None,
        }
    }
}

/// The fields that a record was read from.
fn fields<'s>(record: &Record, stored: &'s Stored) -> &'s [FieldSchema] {
    match record.origin.and_then(|class| stored.get(class)) {
        Some(class) => match &class.form {
            Form::Struct(fields) => fields,
            Form::Enum(variants) => {
                let is_it = |name: &str| record.variant.as_deref() == Some(name);
                let variant = variants.iter().find(|variant| is_it(&variant.name));
                variant.map_or(&[], |variant| &variant.fields)
            }
            Form::Value(_) => &[],
        },
        None => &[],
    }
}
