//! Records of older versions, migrated by the program's functions.

use std::ops::Range;
use std::sync::Arc;

use super::alone::Alone;
use super::matching::find_variant;
use super::pairing::pair;
use super::plan::{Plans, Step, Wanted};
use super::{KindSchema, LoadEvent, Reader, Strict, WriteTarget, empty, write_class, write_value};
use crate::codec::{Buffer, Encoder, NoLinks, Prototypes, count};
use crate::env::Env;
use crate::reflect::Migration;
use crate::value::{Field, Record, Value};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// Brings a record on, version by version.
pub(super) fn migrate(
    record: &mut Record,
    versions: Range<u32>,
    migration: Migration,
    env: &Env<'_>,
) -> Result<()> {
    for version in versions {
        let function = match migration {
            Migration::Every(function) => function,
            Migration::Steps(steps) => {
                let Some((_, function)) = steps.iter().find(|(from, _)| *from == version) else {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!(
                            "the save holds version {version} of {}, from which `migrate` has no step; add one, `migrate({version} = function)`",
                            record.class()
                        ),
                    ));
                };
                *function
            }
            Migration::None => return Ok(()),
        };
        let migrated = function(record, version, env)
            .map_err(|error| error.in_hook("migrate", record.class()))?;
        migrated.map_err(|reason| {
            Error::new(
                ErrorKind::Refused,
                format!("`migrate` of {} from version {version} refused: {reason}", record.class()),
            )
        })?;
    }
    Ok(())
}

impl Plans<'_> {
    /// What reads records as values, within what all that was rewritten so far may take.
    pub(super) fn reader(&mut self, limits: &Limits) -> &mut Reader {
        let before = self.before;
        let reader = self.reader.get_or_insert_with(|| Reader::new(limits, before));
        reader.allow_in_all(limits, before);
        reader
    }

    /// The name of the stored field of this node.
    pub(super) fn field_name(&mut self, node: usize, name: &str) -> Arc<str> {
        self.names.entry(node).or_insert_with(|| name.into()).clone()
    }
}

/// The program's classes, as what values of a migration are written.
pub(super) struct Written<'w, 'p> {
    pub(super) plans: &'w mut Plans<'p>,
    pub(super) env: &'w Env<'w>,
    pub(super) id: u64,
}

impl<'p> Written<'_, 'p> {
    /// The program's fields of a class or a variant.
    pub(super) fn wanted(&self, class: usize, variant: usize) -> Wanted<'p> {
        self.plans.wanted(class, variant)
    }
}

impl WriteTarget for Written<'_, '_> {
    fn check_class(&self, class: usize, record: &Record) -> Result<()> {
        let program = self.plans.program;
        let wanted = &program.classes[class].name;
        let is_alias = || {
            program.targets[class]
                .is_some_and(|target| target.class.aliases.contains(&record.class()))
        };
        let is_resolved = || {
            record.origin.is_some_and(|origin| {
                let stored = &self.plans.stored[origin];
                // Where several instances could be meant, the place decides. Its version was not asked for then.
                let is_instance = || {
                    program.is_instance(class, stored)
                        && stored.version == program.classes[class].version
                };
                self.plans.resolve_moved(origin).map_or_else(is_instance, |moved| moved == class)
            })
        };
        if record.class() == wanted || is_resolved() || is_alias() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::KindMismatch,
            format!("`migrate` has made a {}, where {wanted} is wanted", record.class()),
        ))
    }

    fn variant(&self, class: usize, name: &str) -> Option<usize> {
        find_variant(name, self.plans.program.targets[class]?.class.variants())
    }

    fn find<'r>(
        &self,
        class: usize,
        variant: usize,
        field: usize,
        record: &'r Record,
    ) -> Option<&'r Field> {
        let fields: Vec<&Field> = record.fields.iter().collect();
        let pairing = pair(&fields, self.wanted(class, variant).records);
        record.fields.get(pairing.sources.get(field).copied().flatten()?)
    }

    fn missing(
        &mut self,
        class: usize,
        variant: usize,
        field: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let program = self.plans.program;
        let wanted = self.wanted(class, variant);
        let (name, record) = (&wanted.fields[field].name, &wanted.records[field]);
        let is_default = record.has_default && !record.keeps_unknown;
        if !is_default && !record.keeps_unknown && !self.plans.options.fill {
            return Err(Error::new(
                ErrorKind::MissingField,
                format!(
                    "`migrate` has not made field {name} of {}; give it `#[persist(default)]`, or set it",
                    program.classes[class].name
                ),
            ));
        }
        let event = if is_default { LoadEvent::Defaulted } else { LoadEvent::Filled };
        if !record.keeps_unknown {
            self.plans.happened(event, &program.classes[class].name, name, "", self.id);
        }
        let step = Step::Default { variant, field };
        let mut buffer = Buffer::new();
        let bytes = buffer.encode_with(
            self.env,
            &mut NoLinks::default(),
            |out: &mut Encoder<'_>| match (step, program.targets[class]) {
                (Step::Default { variant, field }, Some(target)) if is_default => {
                    target.access.make_field(variant, field, None, out)
                }
                _ => match program.field_kind(class, variant, field) {
                    Some(kind) => empty::write(kind, program, &Prototypes::bare(), out),
                    None => Err(out.no_field()),
                },
            },
        )?;
        out.extend_from_slice(bytes);
        Ok(())
    }

    fn check_rest(&self, _: usize, _: usize, _: usize, _: &Record) -> Result<()> {
        // What a migration leaves is not asked for.
        Ok(())
    }

    fn class_of(&self, record: &Record) -> Result<usize> {
        let by_origin = record.origin.and_then(|origin| self.plans.resolve(origin));
        let named =
            || self.plans.program.classes.iter().position(|class| class.name == record.class());
        by_origin.or_else(named).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("`migrate` has made a {}, which the program does not have", record.class()),
            )
        })
    }

    fn number(&mut self, class: usize) -> u64 {
        // The decoder knows classes by their numbers in the save.
        let stored = 0..self.plans.stored.len();
        let found = stored.into_iter().find(|stored| self.plans.resolve(*stored) == Some(class));
        found.map_or(0, |found| found as u64 + 1)
    }

    fn kept(&mut self, part: &Value, out: &mut Vec<u8>) -> Result<bool> {
        let Some(class) = part.as_record().and_then(|record| record.origin) else {
            return Ok(false);
        };
        let stored = self.plans.stored.clone();
        count::push(class as u64 + 1, out);
        let mut target = Strict::new(&stored, &self.env.limits, &|_, _| Ok(()));
        match (stored.alone(class), part) {
            (Some(Alone::Field { field, .. }), Value::Struct(part)) if part.len() == 1 => {
                write_value(&mut target, &stored, &field.kind, &part.fields[0].value, out)?;
            }
            _ => write_class(&mut target, &stored, class, part, out)?,
        }
        Ok(true)
    }

    fn limits(&self) -> &Limits {
        &self.env.limits
    }

    fn check_reference(&self, _: &KindSchema, _: Option<ObjectId>) -> Result<()> {
        // The load checks every reference.
        Ok(())
    }
}
