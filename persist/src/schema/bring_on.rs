//! Migrates the values inside of what a migration has made, with what a program
//! kept of them.

use super::conversion::Place;
use super::event::REMOVED;
use super::matching::{find_variant, is_older};
use super::migrate::{Written, migrate};
use super::pairing::pair;
use super::{FieldSchema, Form, KindSchema, LoadEvent};
use crate::Result;
use crate::value::{Field, Origin, PartsMut, Record, Value, next_part};

/// What was kept of a record.
struct Kept {
    /// Its fields, each in a struct of its own.
    fields: Vec<Record>,
    /// Parts that are no fields of it.
    rest: Vec<Value>,
    /// The version that the record is of.
    version: u32,
    /// Node of the first field that was stored.
    first: usize,
}

impl Written<'_, '_> {
    /// A value whose own parts have been migrated, too.
    pub(super) fn migrated(&mut self, mut value: Value) -> Result<Value> {
        self.bring_on(&mut value)?;
        Ok(value)
    }

    /// Without recursion, each record before the values inside of it.
    fn bring_on(&mut self, value: &mut Value) -> Result<()> {
        let mut open = Vec::new();
        let mut next = Some(value);
        while let Some(value) = next {
            open.push(self.bring_on_head(value)?);
            next = next_part(&mut open);
        }
        Ok(())
    }

    /// Migrates a record, not the values inside; returns those that follow.
    fn bring_on_head<'v>(&mut self, value: &'v mut Value) -> Result<PartsMut<'v>> {
        let class = value.as_record().and_then(|record| record.origin);
        let Some((class, target)) =
            class.and_then(|class| Some((class, self.plans.resolve_moved(class)?)))
        else {
            return Ok(value.parts_mut());
        };
        match value {
            Value::Struct(record) | Value::Enum(record) => {
                let brought = self.bring_on_record(record, class, target)?;
                Ok(PartsMut::Fields(record.fields[..brought].iter_mut()))
            }
            value => Ok(value.parts_mut()),
        }
    }

    /// Migrates a record; returns how many of its fields are its own, before what is kept of it.
    fn bring_on_record(
        &mut self,
        record: &mut Record,
        class: usize,
        target: usize,
    ) -> Result<usize> {
        let mut kept = self.unpack(record, class, target);
        let read = record.fields.len();
        let described = self.plans.program.targets[target].map(|target| target.class);
        if let Some(described) = described.filter(|described| is_older(kept.version, described)) {
            let shown = self.show_kept(record, &mut kept.fields, target);
            migrate(record, kept.version..described.version, described.migration, self.env)?;
            let detail = format!("version {} to {}", kept.version, described.version);
            self.plans.happened(LoadEvent::Migrated, record.class(), "", &detail, self.id);
            self.take_back(record, read, shown, &mut kept.fields);
        }
        if self.is_removed(target, record) {
            self.replace(record, target);
            return Ok(0);
        }
        let variant = self.variant_of(target, record);
        self.settle(record, &mut kept, target, variant)?;
        let is_kept = self.keep(record, kept.rest, target, variant);
        Ok(record.len() - usize::from(is_kept))
    }

    /// Makes those fields that were kept fields of the record, but those that the program knows as they
    /// are: no migration is to see them. Returns those that it sees.
    fn show_kept(
        &mut self,
        record: &mut Record,
        kept: &mut Vec<Record>,
        target: usize,
    ) -> Vec<Record> {
        let variant = self.variant_of(target, record);
        let pairing = {
            let fields = candidates(record, kept);
            pair(&fields, self.wanted(target, variant).records)
        };
        let read = record.fields.len();
        let mut shown = Vec::new();
        for (i, mut part) in std::mem::take(kept).into_iter().enumerate() {
            if pairing.superseded.contains(&(read + i)) {
                self.superseded(record, &part.fields[0]);
            } else if pairing.sources.contains(&Some(read + i)) {
                kept.push(part);
            } else {
                let field = &mut part.fields[0];
                let value = std::mem::replace(&mut field.value, Value::Unit);
                let (name, place) = (field.name.clone(), Some(read + shown.len()));
                record.fields.push(Field { name, value, place, ..*field });
                shown.push(part);
            }
        }
        shown
    }

    /// Takes those fields that a migration saw, and left as they were, for kept ones again.
    fn take_back(
        &mut self,
        record: &mut Record,
        read: usize,
        mut shown: Vec<Record>,
        kept: &mut Vec<Record>,
    ) {
        record.fields.retain_mut(|field| {
            let part = field.place.and_then(|place| place.checked_sub(read));
            let part = part.and_then(|part| shown.get_mut(part));
            let Some(part) = part.filter(|_| field.origin == Origin::Kept) else {
                return true;
            };
            part.fields[0].value = std::mem::replace(&mut field.value, Value::Unit);
            kept.push(part.clone());
            false
        });
    }

    /// Gives the record the program's fields, where there are any; others join the rest that is kept.
    fn settle(
        &mut self,
        record: &mut Record,
        kept: &mut Kept,
        target: usize,
        variant: usize,
    ) -> Result<()> {
        let wanted = self.wanted(target, variant);
        let pairing = {
            let fields = candidates(record, &kept.fields);
            let pairing = pair(&fields, wanted.records);
            pairing.check(record.class(), &fields, wanted.records)?;
            pairing
        };
        let stored = self.plans.stored.clone();
        let read = record.fields.len();
        let mut fields: Vec<Option<Field>> =
            std::mem::take(&mut record.fields).into_iter().map(Some).collect();
        let mut parts: Vec<Option<Record>> =
            std::mem::take(&mut kept.fields).into_iter().map(Some).collect();
        for lost in &pairing.superseded {
            let part = lost.checked_sub(read).map(|part| parts[part].take());
            let field = match part {
                None => fields[*lost].take(),
                Some(part) => part.and_then(|mut part| part.fields.pop()),
            };
            if let Some(field) = field {
                self.superseded(record, &field);
            }
        }
        for (i, (source, made)) in pairing.sources.into_iter().zip(pairing.made).enumerate() {
            let Some(source) = source else { continue };
            let made = made.and_then(|made| fields[made].take());
            let field = match source.checked_sub(read).map(|part| parts[part].take()) {
                None => fields[source].take(),
                Some(None) => made,
                Some(Some(mut part)) => {
                    let path = path(record, &part.fields[0].name);
                    let class = part.origin.filter(|_| made.is_some());
                    let place = Place { class: record.class(), field: &path };
                    let fits = class.is_none_or(|class| {
                        let Form::Struct(old) = &stored[class].form else { return false };
                        let node = stored.first(class, 0);
                        let kind = &old[0].kind;
                        self.plans.field_conversion(node, kind, &wanted, i, &place).is_some()
                    });
                    if !fits {
                        self.superseded(record, &part.fields[0]);
                        made
                    } else {
                        if made.is_some() {
                            let name = record.class();
                            self.plans.happened(LoadEvent::Restored, name, &path, "", self.id);
                        }
                        part.fields.pop()
                    }
                }
            };
            // From here on it has the program's name, so that nothing else is taken for it.
            let name = wanted.fields[i].name.as_str().into();
            let number = wanted.fields[i].id;
            record.fields.extend(field.map(|field| Field { name, number, ..field }));
        }
        for part in parts.into_iter().flatten() {
            let name = &part.fields[0].name;
            if wanted.is_removed(name) {
                let path = path(record, name);
                self.plans.happened(LoadEvent::Dropped, record.class(), &path, REMOVED, self.id);
            } else {
                kept.rest.push(Value::Struct(part));
            }
        }
        for field in fields.into_iter().flatten() {
            let path = path(record, &field.name);
            if wanted.is_removed(&field.name) {
                self.plans.happened(LoadEvent::Dropped, record.class(), &path, REMOVED, self.id);
                continue;
            }
            let is_stored = field.origin == Origin::Written && self.room(target, variant).is_some();
            let place = field.place.filter(|_| is_stored);
            // It stays a field of the variant that it was stored in, if a migration has made another of it.
            let alone = place.map(|place| stored.field_alone(kept.first + place));
            let event = match alone.zip(alone.and_then(|of| stored.alone(of))) {
                Some((class, alone)) => {
                    let mut part = Record::new(alone.name());
                    part.origin = Some(class);
                    part.fields.push(field);
                    kept.rest.push(Value::Struct(part));
                    LoadEvent::Kept
                }
                None => LoadEvent::Dropped,
            };
            self.plans.happened(event, record.class(), &path, "", self.id);
        }
        Ok(())
    }

    /// Reports a field that is dropped, since another took its place.
    fn superseded(&mut self, record: &Record, field: &Field) {
        let path = path(record, &field.name);
        self.plans.happened(LoadEvent::Superseded, record.class(), &path, "", self.id);
    }

    /// Takes what was kept of a record out of it, or makes it the variant that it was.
    fn unpack(&mut self, record: &mut Record, class: usize, target: usize) -> Kept {
        let stored = self.plans.stored.clone();
        let (variant, fields): (usize, &[FieldSchema]) = match &stored[class].form {
            Form::Struct(fields) => (0, fields),
            Form::Enum(variants) => {
                let name = record.variant();
                let found = variants.iter().position(|variant| Some(&*variant.name) == name);
                found.map_or((0, &[]), |variant| (variant, &variants[variant].fields))
            }
            Form::Value(_) => (0, &[]),
        };
        let (version, first) = (stored[class].version, stored.first(class, variant));
        let mut kept = Kept { rest: Vec::new(), fields: Vec::new(), version, first };
        let unknown = fields.iter().find(|field| field.kind == KindSchema::Unknown);
        let Some(parts) = unknown.and_then(|unknown| record.take(&unknown.name)) else {
            return kept;
        };
        let Value::Seq(parts) = parts else { return kept };
        for part in parts {
            match part {
                Value::Struct(mut part) if part.len() == 1 => {
                    part.fields[0].origin = Origin::Kept;
                    let name = &part.fields[0].name;
                    let is_own = record.variant().is_none_or(|variant| {
                        part.class().ends_with(&format!("::{variant}.{name}"))
                    });
                    if is_own {
                        kept.fields.push(part);
                    } else {
                        kept.rest.push(Value::Struct(part));
                    }
                }
                Value::Enum(part) if fields.len() == 1 && self.knows(target, &part) => {
                    if let Some(of) = part.origin {
                        (kept.version, kept.first) = (stored[of].version, stored.first(of, 0));
                    }
                    record.variant = part.variant;
                    record.fields = part.fields;
                }
                Value::Enum(part) if self.is_removed(target, &part) => {
                    let variant = part.variant().unwrap_or_default();
                    let name = record.class();
                    self.plans.happened(LoadEvent::Replaced, name, variant, REMOVED, self.id);
                }
                part => kept.rest.push(part),
            }
        }
        kept
    }

    /// Puts what is kept of a record into the field for it, if there is one, as the last; true if
    /// something is.
    fn keep(
        &mut self,
        record: &mut Record,
        kept: Vec<Value>,
        target: usize,
        variant: usize,
    ) -> bool {
        if kept.is_empty() {
            return false;
        }
        if let Some(room) = self.room(target, variant) {
            record.take(room);
            record.push(room, Value::Seq(kept));
            return true;
        }
        for part in kept {
            let (class, field) = match &part {
                Value::Struct(part) if part.len() == 1 => {
                    (record.class(), path(record, &part.fields[0].name))
                }
                part => (part.as_record().map_or("", Record::class), String::new()),
            };
            self.plans.happened(LoadEvent::Dropped, class, &field, "", self.id);
        }
        false
    }

    /// The program's field for what it does not have, unless that is to be dropped.
    fn room(&self, target: usize, variant: usize) -> Option<&str> {
        if self.plans.options.drop_unknown {
            return None;
        }
        let fields = self.wanted(target, variant).fields;
        fields.iter().find(|field| field.kind == KindSchema::Unknown).map(|field| &*field.name)
    }

    /// True if the program has a variant.
    fn knows(&self, target: usize, part: &Record) -> bool {
        let target = self.plans.program.targets[target].map(|target| target.class);
        target
            .zip(part.variant())
            .is_some_and(|(target, variant)| find_variant(variant, target.variants()).is_some())
    }

    /// Makes the program's `other` variant of one that is gone for good, with nothing in it.
    fn replace(&mut self, record: &mut Record, target: usize) {
        let variants = self.plans.program.targets[target].map(|target| target.class.variants());
        let other = variants.into_iter().flatten().find(|variant| variant.other);
        let variant = record.variant().unwrap_or_default();
        self.plans.happened(LoadEvent::Replaced, record.class(), variant, REMOVED, self.id);
        record.variant = other.map(|other| other.name.into());
        record.fields.clear();
    }

    /// True for a variant that is gone for good.
    fn is_removed(&self, target: usize, part: &Record) -> bool {
        part.variant().is_some_and(|variant| self.plans.is_removed_variant(target, variant))
    }

    /// The program's variant that a record is of; 0 of a struct.
    fn variant_of(&self, target: usize, record: &Record) -> usize {
        let target = self.plans.program.targets[target].map(|target| target.class);
        let found = target
            .zip(record.variant())
            .and_then(|(target, variant)| find_variant(variant, target.variants()));
        found.unwrap_or(0)
    }
}

/// The fields of a record, then those that were kept of it.
fn candidates<'r>(record: &'r Record, kept: &'r [Record]) -> Vec<&'r Field> {
    record.fields.iter().chain(kept.iter().map(|part| &part.fields[0])).collect()
}

/// A field's name, after that of the variant.
fn path(record: &Record, field: &str) -> String {
    record.variant().map_or_else(|| field.to_owned(), |variant| format!("{variant}.{field}"))
}
