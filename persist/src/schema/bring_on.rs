//! The values inside of what a migration has made, brought on in their turn, with what a program
//! kept of them.

use super::matching::{find_variant, is_older};
use super::migrate::{Written, migrate};
use super::{Change, FieldSchema, Form, KindSchema};
use crate::Result;
use crate::value::{Field, PartsMut, Record, Value, next_part};

/// What was kept of a record.
struct Kept {
    /// Parts that are no fields of it.
    rest: Vec<Value>,
    /// Those that are; a field of the record has the place here as its origin.
    fields: Vec<Record>,
    /// The version that the record is of.
    version: u32,
}

impl Written<'_, '_> {
    /// A value whose own parts have been brought on, too.
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

    /// Brings on a record, not the values inside; those that are to follow.
    fn bring_on_head<'v>(&mut self, value: &'v mut Value) -> Result<PartsMut<'v>> {
        let class = value.as_record().and_then(|record| record.origin);
        let Some((class, target)) =
            class.and_then(|class| Some((class, self.plans.resolve(class)?)))
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

    /// Brings on a record; how many of its fields are its own, before what is kept of it.
    fn bring_on_record(
        &mut self,
        record: &mut Record,
        class: usize,
        target: usize,
    ) -> Result<usize> {
        let mut kept = self.unpack(record, class, target);
        if let Some(described) = self.plans.program.targets[target].map(|target| target.class)
            && is_older(kept.version, described)
        {
            migrate(record, kept.version..described.version, described.migration)?;
        }
        let variant = self.variant_of(target, record);
        let used = self.sources(target, variant, record);
        let mut fields = Vec::with_capacity(record.fields.len());
        for (place, mut field) in std::mem::take(&mut record.fields).into_iter().enumerate() {
            let part = field.origin.take().and_then(|origin| kept.fields.get_mut(origin));
            match part {
                Some(part) if !used.contains(&Some(place)) => {
                    // It stays as it is stored.
                    part.fields[0].value = field.value;
                    kept.rest.push(Value::Struct(part.clone()));
                }
                _ => fields.push(field),
            }
        }
        record.fields = fields;
        let is_kept = self.keep(record, kept.rest, target, variant);
        Ok(record.len() - usize::from(is_kept))
    }

    /// Makes what was kept of a record fields of it, or the variant that it was.
    fn unpack(&mut self, record: &mut Record, class: usize, target: usize) -> Kept {
        let stored = self.plans.stored.clone();
        let mut kept =
            Kept { rest: Vec::new(), fields: Vec::new(), version: stored[class].version };
        let fields: &[FieldSchema] = match &stored[class].form {
            Form::Struct(fields) => fields,
            Form::Enum(variants) => {
                let name = record.variant();
                let found = variants.iter().find(|variant| Some(&*variant.name) == name);
                found.map_or(&[], |variant| &variant.fields)
            }
            Form::Value(_) => &[],
        };
        let unknown = fields.iter().find(|field| field.kind == KindSchema::Unknown);
        let Some(parts) = unknown.and_then(|unknown| record.take(&unknown.name)) else {
            return kept;
        };
        let Value::Seq(parts) = parts else { return kept };
        for part in parts {
            match part {
                Value::Struct(mut part) if part.len() == 1 => {
                    let name = part.fields[0].name.clone();
                    let of_variant = record.variant().is_none_or(|variant| {
                        part.class().ends_with(&format!("::{variant}.{name}"))
                    });
                    if !of_variant || record.get(&name).is_some() {
                        kept.rest.push(Value::Struct(part));
                        continue;
                    }
                    let value = std::mem::replace(&mut part.fields[0].value, Value::Unit);
                    record.fields.push(Field { name, value, origin: Some(kept.fields.len()) });
                    kept.fields.push(part);
                }
                Value::Enum(part) if fields.len() == 1 && self.knows(target, &part) => {
                    kept.version = part.origin.map_or(kept.version, |of| stored[of].version);
                    record.variant = part.variant;
                    record.fields = part.fields;
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
        let room = self.fields(target, variant).0.iter();
        let room = room.clone().find(|field| field.kind == KindSchema::Unknown);
        match room.map(|room| room.name.clone()) {
            Some(room) if !kept.is_empty() => {
                record.take(&room);
                record.push(room, Value::Seq(kept));
                return true;
            }
            Some(_) => {}
            None => {
                for part in kept {
                    let name = part.as_record().map_or("", Record::class);
                    self.plans.happened(Change::Dropped, name, "", "", self.id);
                }
            }
        }
        false
    }

    /// True if the program has a variant.
    fn knows(&self, target: usize, part: &Record) -> bool {
        let target = self.plans.program.targets[target].map(|target| target.class);
        target
            .zip(part.variant())
            .is_some_and(|(target, variant)| find_variant(variant, target.variants()).is_some())
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
