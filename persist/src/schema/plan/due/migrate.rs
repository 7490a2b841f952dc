//! Records of older versions, migrated by the program's functions.

use std::collections::HashMap;
use std::ops::Range;

use super::super::Plans;
use super::super::meaning::Meaning;
use super::{waiting_converts, watched};
use crate::codec::{Buffer, Decoder, Encoder, NoLinks, Prototypes, count};
use crate::env::Env;
use crate::reflect::{Class, MigrationSteps};
use crate::schema::matching::is_older;
use crate::schema::pairing::{find_variant, pair};
use crate::schema::walk::{FieldsByName, shown};
use crate::schema::{
    FieldPlace, FieldSchema, Form, KindSchema, LoadEvent, Stored, Strict, WriteTarget, empty,
    write_value,
};
use crate::value::{Field, Origin, Record, Value, next_part};
use crate::{Error, ErrorKind, Limits, Result};

/// Brings a record of a class of the program on, version by version.
///
/// # Errors
///
/// Returns an error if a step fails, or if it read a value whose own conversion is due and may belong before it (see
/// [`due`](super::super::due)).
pub(in crate::schema) fn migrate(
    record: &mut Record,
    from: u32,
    class: usize,
    described: &Class,
    plans: &mut Plans<'_>,
    env: &Env<'_>,
    id: u64,
) -> Result<()> {
    // By their places, since a step may rename them.
    let names = record.fields.iter().filter(|field| field.place.is_some() && env.is_trial());
    let mut names: Vec<_> = names.map(|field| (field.place, field.name.clone())).collect();
    let variant = record.variant().filter(|_| env.is_trial()).map(str::to_owned);
    let stored = record.class.clone();
    let mut waiting = waiting_converts(record, from, class, plans);
    let watched = watched(plans, env);
    for version in from..described.version {
        record.version = version;
        watched.start();
        step(record, version, described.migration, env)?;
        for class in watched.check(record, version)? {
            let detail = format!("`migrate` of {stored} from version {version}");
            plans.happened(LoadEvent::Migrated, class, "", &detail, id);
        }
        for field in &mut record.fields {
            if field.origin == Origin::Created && field.since == 0 {
                field.since = version + 1;
            }
        }
        waiting.retain(|waiting| !waiting.is_settled(record, version));
        if let Some(waiting) = waiting.iter().find(|it| it.was_seen_too_early(record, version)) {
            return Err(waiting.error(record, version));
        }
        names.retain(|(place, name)| {
            let mut fields = record.fields.iter();
            let left = fields.find(|it| it.place == *place && it.origin != Origin::Created);
            let what = match left {
                Some(field) if field.seen.take() => "looked at",
                Some(_) => return true,
                None => "taken",
            };
            let path = match &variant {
                Some(variant) => format!("{variant}.{name}"),
                None => name.to_string(),
            };
            plans.happened(LoadEvent::Migrated, &stored, &path, what, id);
            left.is_some()
        });
    }
    Ok(())
}

/// Runs the function that brings a record from a version to the next.
fn step(record: &mut Record, version: u32, steps: MigrationSteps, env: &Env<'_>) -> Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let Some((_, function)) = steps.iter().find(|(from, _)| *from == version) else {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the save holds version {version} of {}, from which `migrate` has no step; add one, `migrate({version} = function)`",
                record.class()
            ),
        ));
    };
    let migrated =
        function(record, version, env).map_err(|error| error.in_hook("migrate", record.class()))?;
    migrated.map_err(|reason| {
        Error::new(
            ErrorKind::Refused,
            format!("`migrate` of {} from version {version} refused: {reason}", record.class()),
        )
    })
}

/// The program's classes, as what values of a migration are written.
pub(in crate::schema) struct MigrationWriter<'w, 'p> {
    pub plans: &'w mut Plans<'p>,
    pub env: &'w Env<'w>,
    pub id: u64,
    /// The ranges of written bytes that are still in stored form, each with the conversion to the program's form.
    pub stored: Vec<(Range<usize>, usize)>,
    /// The version of the class that has the value so, until it is written.
    pub since: Option<u32>,
    /// True in what a `convert` takes: nothing in it is written as it was stored.
    pub is_whole: bool,
}

impl MigrationWriter<'_, '_> {
    /// Migrates the records in a value that the `migrate` of another has changed, so that they are no longer as they
    /// were stored. All others are rewritten from their stored form, as those are that no migration has seen.
    pub(crate) fn migrate_changed(&mut self, value: &mut Value) -> Result<()> {
        let mut open = Vec::new();
        let mut next = Some(value);
        while let Some(value) = next {
            let is_stored = match value.as_record_mut() {
                Some(record) if !self.is_stored(record) => {
                    self.migrate_record(record)?;
                    false
                }
                record => record.is_some(),
            };
            if !is_stored {
                open.push(value.parts_mut());
            }
            next = next_part(&mut open);
        }
        Ok(())
    }

    fn migrate_record(&mut self, record: &mut Record) -> Result<()> {
        let Some(class) = record.origin() else { return self.migrate_created(record) };
        let Some(target) = self.plans.resolve_moved(class) else { return Ok(()) };
        let Some(described) = self.plans.program.targets[target] else { return Ok(()) };
        let (version, described) = (self.plans.stored[class].version, described.class);
        self.plans.check_since(class, target)?;
        if is_older(version, described) {
            // Its own step may read it.
            record.inspection = None;
            self.migrate_from(record, version, target, described)?;
        }
        self.restore_unknown(record, class, target);
        self.report_left(record, class, target);
        Ok(())
    }

    /// Reports the fields of a changed record that are lost: the program does not have them, and no migration read
    /// them.
    fn report_left(&mut self, record: &Record, class: usize, target: usize) {
        let variant = match record.variant() {
            Some(name) => self.variant(target, name),
            None => Some(0),
        };
        let Some(variant) = variant else { return };
        let expected = self.plans.program.expected(target, variant);
        let fields: Vec<&Field> = record.fields.iter().collect();
        let pairing = pair(&fields, expected.records);
        let stored = self.plans.stored.clone();
        for (i, field) in fields.iter().enumerate() {
            let is_left = field.origin == Origin::Written && !field.seen.take();
            let is_lost =
                !pairing.sources.contains(&Some(i)) && !expected.removed.contains(&&*field.name);
            if is_left && is_lost {
                let event = match pairing.is_superseded[i] {
                    true => LoadEvent::Superseded,
                    false => LoadEvent::Dropped,
                };
                let path = match record.variant() {
                    Some(variant) => format!("{variant}.{}", field.name),
                    None => field.name.to_string(),
                };
                self.plans.happened(event, &stored[class].name, &path, "", self.id);
            }
        }
    }

    /// Migrates a record that a migration has made: of a class of several versions it says which one it has.
    fn migrate_created(&mut self, record: &mut Record) -> Result<()> {
        let program = self.plans.program;
        let target = program.classes.iter().position(|class| class.name == record.class());
        let Some(target) = target else { return Ok(()) };
        let Some(described) = program.targets[target].map(|it| it.class) else { return Ok(()) };
        match record.version {
            0 if described.version > 1 => {
                let (class, version) = (record.class(), described.version);
                Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "`migrate` has made a {class} without its version, and {class} has {version} of them; write the one that its fields are of, `Record::new(\"{class}\").at_version({version})`"
                    ),
                ))
            }
            0 => Ok(()),
            version if version > described.version => {
                let (class, last) = (record.class(), described.version);
                Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("`migrate` has made version {version} of {class}, which has {last}"),
                ))
            }
            version => self.migrate_from(record, version, target, described),
        }
    }

    fn migrate_from(
        &mut self,
        record: &mut Record,
        version: u32,
        target: usize,
        described: &Class,
    ) -> Result<()> {
        if version >= described.version {
            return Ok(());
        }
        migrate(record, version, target, described, self.plans, self.env, self.id)?;
        let detail = format!("version {version} to {}", described.version);
        self.plans.happened(LoadEvent::Migrated, record.class(), "", &detail, self.id);
        record.class = self.plans.program.classes[target].name.as_str().into();
        record.set_origin(None);
        record.version = described.version;
        Ok(())
    }

    /// Gives a record the fields back that were kept of it and that the program has; the rest stays kept.
    fn restore_unknown(&mut self, record: &mut Record, class: usize, target: usize) {
        let stored = self.plans.stored.clone();
        let fields = fields_of(&stored, class, record).unwrap_or_default();
        let unknown = fields.iter().find(|field| field.kind == KindSchema::Unknown);
        let Some(Value::Seq(parts)) = unknown.and_then(|unknown| record.take(&unknown.name)) else {
            return;
        };
        let variant = record.variant().and_then(|name| self.variant(target, name)).unwrap_or(0);
        let records = self.plans.program.expected(target, variant).records;
        let is_copy = |part: &Value| {
            let class = part.as_record().and_then(Record::origin);
            class.is_some_and(|class| stored[class].is_synthesized())
        };
        let (copies, parts): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_copy);
        mark_synthesized(record, &copies);
        let mut rest = Vec::new();
        for part in parts {
            match part {
                Value::Struct(Record { mut fields, .. })
                    if fields.len() == 1 && records.iter().any(|it| it.may_be(&&fields[0])) =>
                {
                    fields[0].origin = Origin::Unknown;
                    record.fields.append(&mut fields);
                }
                part => rest.push(part),
            }
        }
        let room = records.iter().find(|record| record.keeps_unknown);
        match room.filter(|_| !self.plans.options.drop_unknown) {
            Some(room) => record.push(room.name, Value::Seq(rest)),
            None => {
                for part in rest {
                    let name = part.as_record().map_or("", Record::class);
                    self.plans.happened(LoadEvent::Dropped, name, "", "", self.id);
                }
            }
        }
    }

    /// The error for a value that is of none of the kinds that a field names.
    #[cold]
    fn other_kind(&self, value: &Value, (class, variant, field): FieldPlace) -> Error {
        let expected = self.plans.program.expected(class, variant);
        let classes = &self.plans.program.classes;
        let old = self.plans.program.old_kinds.get(&(class, variant, field));
        let old = old.into_iter().flatten().map(|kind| kind.display(classes).to_string());
        let own = expected.fields[field].kind.display(classes).to_string();
        let kinds: Vec<_> = std::iter::once(own).chain(old).collect();
        Error::new(
            ErrorKind::KindMismatch,
            format!(
                "`migrate` has made {} of field {} of {}, which takes {} and no other kind; make a value of one of these",
                shown(value),
                expected.fields[field].name,
                classes[class].name,
                kinds.join(" and ")
            ),
        )
    }

    /// Appends a value of a stored class in the form in which it was stored.
    fn write_stored(&self, class: usize, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let stored = &self.plans.stored;
        let mut target = Strict::new(stored, &self.env.limits, &|_, _| Ok(()));
        write_value(&mut target, stored, stored.root(class), value, out)
    }

    /// True for a record that is as it was read.
    fn is_stored(&self, record: &Record) -> bool {
        let Some(class) = record.origin() else { return false };
        let fields = fields_of(&self.plans.stored, class, record);
        fields.is_some_and(|fields| fields.len() == record.len())
            && record.fields.iter().all(|field| field.origin == Origin::Written)
    }
}

/// Marks the fields of a record that still have the values that a program synthesized for them.
fn mark_synthesized(record: &mut Record, copies: &[Value]) {
    if copies.is_empty() {
        return;
    }
    let written = record.fields.iter_mut().filter(|field| field.origin == Origin::Written);
    let mut by_name: HashMap<_, _> =
        written.map(|field| ((field.name.clone(), field.number), field)).collect();
    for copy in copies.iter().filter_map(|copy| copy.as_record()?.fields.first()) {
        if let Some(field) = by_name.get_mut(&(copy.name.clone(), copy.number))
            && field.value == copy.value
        {
            field.origin = Origin::Synthesized;
        }
    }
}

/// The fields that a record of a stored class had when it was read.
fn fields_of<'s>(stored: &'s Stored, class: usize, record: &Record) -> Option<&'s [FieldSchema]> {
    let variant = match &stored[class].form {
        Form::Struct(_) => 0,
        Form::Enum(_) => stored.variant(class, record.variant()?)?,
        Form::Value(_) => return None,
    };
    Some(stored.fields(class, variant))
}

impl WriteTarget for MigrationWriter<'_, '_> {
    fn check_class(&self, class: usize, record: &Record) -> Result<()> {
        let program = self.plans.program;
        let expected = &program.classes[class].name;
        let is_alias = || {
            program.targets[class]
                .is_some_and(|target| target.class.aliases.contains(&record.class()))
        };
        let is_resolved = || {
            record.origin().is_some_and(|origin| {
                let stored = &self.plans.stored[origin];
                // Where several instances could be meant, the place decides. Its version was not asked for then.
                let is_instance = || {
                    program.is_instance(class, stored)
                        && stored.version == program.classes[class].version
                };
                self.plans.resolve_moved(origin).map_or_else(is_instance, |moved| moved == class)
            })
        };
        if record.class() == expected || is_resolved() || is_alias() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::KindMismatch,
            format!("`migrate` has made a {}, where {expected} is wanted", record.class()),
        ))
    }

    fn variant(&self, class: usize, name: &str) -> Option<usize> {
        find_variant(name, self.plans.program.targets[class]?.class.variants())
    }

    fn find<'r>(
        &self,
        (class, variant, field): FieldPlace,
        record: &'r Record,
        _: &mut FieldsByName<'r>,
    ) -> Option<&'r Field> {
        let fields: Vec<&Field> = record.fields.iter().collect();
        let pairing = pair(&fields, self.plans.program.expected(class, variant).records);
        record.fields.get(pairing.sources.get(field).copied().flatten()?)
    }

    fn missing(&mut self, (class, variant, field): FieldPlace, out: &mut Vec<u8>) -> Result<()> {
        let program = self.plans.program;
        let expected = self.plans.program.expected(class, variant);
        let (name, record) = (&expected.fields[field].name, &expected.records[field]);
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
        let mut buffer = Buffer::new();
        let encode = |out: &mut Encoder<'_>| match program.targets[class] {
            Some(target) if is_default => (target.access.make_field)(variant, field, None, out),
            _ => empty::write(&expected.fields[field].kind, program, &Prototypes::bare(), out),
        };
        let bytes = buffer.encode_with(self.env, &mut NoLinks::default(), encode)?;
        out.extend_from_slice(bytes);
        Ok(())
    }

    fn check_rest(&self, _: usize, _: usize, _: usize, _: &Record) -> Result<()> {
        // A migration may leave fields that the program does not have.
        Ok(())
    }

    fn wraps(&self) -> bool {
        true
    }

    fn check_bare(&self, class: usize) -> Result<()> {
        if self.plans.enters_as_it_is(class) {
            return Ok(());
        }
        let name = &self.plans.program.classes[class].name;
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "`migrate` has made a bare value where {name} is wanted, which has migrations; make a record of the version that it is of, `Record::new({name:?}).at_version(1)`"
            ),
        ))
    }

    fn class_of(&mut self, record: &Record) -> Result<(usize, u64)> {
        let by_origin = record.origin().and_then(|origin| self.plans.resolve(origin));
        let named =
            || self.plans.program.classes.iter().position(|class| class.name == record.class());
        let class = by_origin.or_else(named).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("`migrate` has made a {}, which the program does not have", record.class()),
            )
        })?;
        // The decoder knows classes by their numbers in the save.
        let found = self.plans.matched.first_stored(class);
        Ok((class, found.map_or(0, |found| found as u64 + 1)))
    }

    fn field(&mut self, node: usize, value: &Value, out: &mut Vec<u8>) -> Result<bool> {
        let (since, program) = (self.since.take(), self.plans.program);
        let Some(field) = program.naming_field(node) else { return Ok(false) };
        let number = match Meaning::of_migrated(self.plans, value, since, field) {
            Some(Meaning::Own) => return Ok(false),
            Some(Meaning::Older(number)) => number,
            None => return Err(self.other_kind(value, field)),
        };
        let (Some(target), Some(node)) =
            (program.targets[field.0], program.old_node(field, number))
        else {
            return Ok(false);
        };
        let (mut old, is_whole) = (Vec::new(), std::mem::replace(&mut self.is_whole, true));
        write_value(self, program.layout(), node, value, &mut old)?;
        self.is_whole = is_whole;
        let mut buffer = Buffer::new();
        let bytes = buffer.encode_with(self.env, &mut NoLinks::default(), |out| {
            let mut links = NoLinks::default();
            let mut input = Decoder::new(&old, self.env, &mut links);
            (target.access.make_field)(field.1, field.2, Some((number, &mut input)), out)
        })?;
        out.extend_from_slice(bytes);
        Ok(true)
    }

    fn stored(&mut self, class: usize, value: &Value, out: &mut Vec<u8>) -> Result<bool> {
        let Some(record) = value.as_record().filter(|record| self.is_stored(record)) else {
            return Ok(false);
        };
        let Some(origin) = record.origin() else { return Ok(false) };
        let is_own = self.plans.resolve_moved(origin) == Some(class);
        if !is_own && !self.plans.matched.is_related(origin, self.plans.program, class) {
            return Ok(false);
        }
        if self.is_whole && !self.plans.is_identical(origin) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "`migrate` has put a {} of an older version where a `convert` takes it; set its fields too",
                    record.class()
                ),
            ));
        }
        let start = out.len();
        self.write_stored(origin, value, out)?;
        if self.plans.resolve(origin) != Some(class) || !self.plans.is_identical(origin) {
            let conversion = self.plans.class_conversion(origin, class);
            self.stored.push((start..out.len(), conversion));
        }
        Ok(true)
    }

    fn unknown(&mut self, part: &Value, out: &mut Vec<u8>) -> Result<bool> {
        let Some(class) = part.as_record().and_then(Record::origin) else {
            return Ok(false);
        };
        count::push(class as u64 + 1, out);
        self.write_stored(class, part, out)?;
        Ok(true)
    }

    fn limits(&self) -> &Limits {
        &self.env.limits
    }
}
