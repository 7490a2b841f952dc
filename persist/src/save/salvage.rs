//! What can be saved of a damaged save.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use super::file::Rescue;
use super::{Document, SaveManager};
use crate::format::{Compression, Plain, Wreck, nothing_whole, scan, unpacked, weight};
use crate::schema::{FieldSchema, Form, KindSchema, Stored};
use crate::value::Record;
use crate::{Limits, LoadPolicy, ObjectId, Result, Value};

/// What a load under [`LoadPolicy::Salvage`](crate::LoadPolicy::Salvage) found of a damaged save.
///
/// Its [`Display`](fmt::Display) is a sentence for the player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvage {
    /// The file that the objects are from: of the save and its backups, all damaged, the one that has the most.
    /// `None` for a save in memory.
    pub file: Option<PathBuf>,
    /// Where that file is kept when saves go on to replace it; `None` if nothing can be written there.
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

impl SaveManager {
    /// The save, or what is whole of it, if that is asked for.
    pub(super) fn mended<'s>(&self, save: &'s [u8]) -> Result<(Cow<'s, [u8]>, Rescue)> {
        if self.options.policy != LoadPolicy::Salvage || !is_wreck(save, &self.limits) {
            return Ok((Cow::Borrowed(save), Rescue::default()));
        }
        let (save, salvage) = salvage(save, &self.limits)?;
        Ok((Cow::Owned(save), Rescue { salvage: Some(salvage), ..Rescue::default() }))
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
    let plain = Wreck::unpacked(save, limits)?;
    let weight = weight(plain.len() as u64, save.len() as u64);
    let save = Plain { bytes: &plain, weight, compression: Compression::None };
    let wreck = Wreck::scan(save.bytes, limits)?;
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

impl Mend<'_> {
    fn object(&mut self, class: usize, value: &mut Value) -> bool {
        let stored = self.stored;
        match &stored[class].form {
            Form::Value(kind) => self.value(value, kind),
            _ => self.value(value, &KindSchema::Class(class)),
        }
    }

    /// False if the value cannot be without something that is lost.
    fn value(&mut self, value: &mut Value, kind: &KindSchema) -> bool {
        match (value, kind) {
            (
                Value::Ref(Some(id)),
                KindSchema::Reference { weak: false, .. }
                | KindSchema::TraitReference { weak: false, .. },
            ) => self.alive.contains(id),
            (option @ Value::Option(Some(_)), KindSchema::Option(kind)) => {
                let Value::Option(Some(inner)) = option else { return true };
                if !self.value(inner, kind) {
                    *option = Value::Option(None);
                    self.cut += 1;
                }
                true
            }
            (Value::Seq(items), KindSchema::List(kind) | KindSchema::Set(kind)) => {
                let before = items.len();
                items.retain_mut(|item| self.value(item, kind));
                self.cut += (before - items.len()) as u64;
                true
            }
            (Value::Seq(items), KindSchema::Array(kind, _)) => {
                items.iter_mut().all(|item| self.value(item, kind))
            }
            (Value::Map(entries), KindSchema::Map(kinds)) => {
                let before = entries.len();
                entries.retain_mut(|(key, value)| {
                    self.value(key, &kinds.0) && self.value(value, &kinds.1)
                });
                self.cut += (before - entries.len()) as u64;
                true
            }
            (Value::Tuple(parts), KindSchema::Tuple(kinds)) => {
                parts.iter_mut().zip(kinds).all(|(part, kind)| self.value(part, kind))
            }
            (Value::Struct(record) | Value::Enum(record), _) => self.record(record),
            _ => true,
        }
    }

    fn record(&mut self, record: &mut Record) -> bool {
        let stored = self.stored;
        let fields: &[FieldSchema] = match record.origin.and_then(|class| stored.get(class)) {
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
        };
        record
            .fields
            .iter_mut()
            .zip(fields)
            .all(|(field, schema)| self.value(&mut field.value, &schema.kind))
    }
}
