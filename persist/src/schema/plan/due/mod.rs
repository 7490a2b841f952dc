//! Conversions that come after a step of `migrate`, and values that the step must not read before them.
//!
//! A step gets its record as it was stored. A value in the record may have a conversion of its own that is due. The
//! step may have been written for the value before that conversion, or for the value after it. A save that passed
//! through every version gives it one, and a save that skipped a version gives it the other. So a load refuses a step
//! that reads such a value without saying which one it expects:
//!
//! - A field with a `convert`, or a bare value that a newtype with one takes: the `convert` names the last version that
//!   stored it so ([`WaitingConvert`]).
//! - The fields of a record of another class, whose migrations or converts are due: the step asks for the version of
//!   that record ([`WatchedClasses`]). A step that moves such a record whole reads nothing.
//!
//! If the program no longer has a class, only the lock knows whether a skipped version converted it. Loads of the
//! lock's samples report each such class whose records a step reads without asking for their version.

mod migrate;

pub(in crate::schema) use self::migrate::{MigrationWriter, migrate};

use std::sync::Arc;

use super::Plans;
use super::meaning::Meaning;
use crate::env::Env;
use crate::reflect::OldKind;
use crate::schema::matching::{is_converted, is_older};
use crate::schema::pairing::{find_variant, pair};
use crate::schema::{Form, KindSchema};
use crate::value::{Field, Inspection, Origin, Record, Value};
use crate::{Error, ErrorKind, Result};

/// The maximum depth of the search for a newtype with a `convert`.
const MAX_LEVELS: u32 = 16;

/// A field as it was read, which a `convert` takes when the migrations have run.
struct WaitingConvert {
    /// Its place among the fields that were read.
    place: usize,
    name: Arc<str>,
    /// The field of the program.
    field: &'static str,
    old: OldKind,
    /// The class of the newtype that has the `convert`, if it stands inside of the field.
    newtype: Option<String>,
}

/// The fields of a record that a `convert` is to take.
fn waiting_converts(
    record: &Record,
    version: u32,
    class: usize,
    plans: &Plans<'_>,
) -> Vec<WaitingConvert> {
    let program = plans.program;
    if program.old_kinds.is_empty() {
        return Vec::new();
    }
    let variant = match record.variant() {
        Some(name) => {
            find_variant(name, program.targets[class].map_or(&[], |it| it.class.variants()))
        }
        None => Some(0),
    };
    let Some(variant) = variant else { return Vec::new() };
    let records = program.expected(class, variant).records;
    let fields: Vec<&Field> = record.fields.iter().collect();
    let sources = pair(&fields, records).sources;
    let found = sources.iter().zip(records).enumerate().filter_map(|(i, (source, field))| {
        let source = &record.fields[(*source)?];
        let place = source.place?;
        let name = source.name.clone();
        if field.converts.is_empty() {
            let kind = program.field_kind(class, variant, i)?;
            let (class, old) = convert_inside(plans, &source.value, kind, MAX_LEVELS)?;
            let newtype = Some(program.classes[class].name.clone());
            return Some(WaitingConvert { place, name, field: field.name, old, newtype });
        }
        match Meaning::of_migrated(plans, &source.value, Some(version), (class, variant, i))? {
            Meaning::Own => None,
            Meaning::Older(number) => Some(WaitingConvert {
                place,
                name,
                field: field.name,
                old: field.converts[number],
                newtype: None,
            }),
        }
    });
    found.collect()
}

/// Returns the class of the newtype whose `convert` takes a bare value or a part of it, and that `convert`.
fn convert_inside(
    plans: &Plans<'_>,
    value: &Value,
    kind: &KindSchema,
    levels: u32,
) -> Option<(usize, OldKind)> {
    use KindSchema as K;
    let levels = levels.checked_sub(1)?;
    let inside = |value, kind| convert_inside(plans, value, kind, levels);
    match (value, kind) {
        // A record is watched instead.
        (Value::Struct(_) | Value::Enum(_), _) => None,
        (Value::Option(value), K::Option(part)) => inside(value.as_deref()?, part),
        (Value::Seq(values), K::List(part) | K::Set(part) | K::Array(part, _)) => {
            values.iter().find_map(|value| inside(value, part))
        }
        (Value::Map(entries), K::Map(parts)) => entries
            .iter()
            .find_map(|(key, value)| inside(key, &parts[0]).or_else(|| inside(value, &parts[1]))),
        (Value::Tuple(values), K::Tuple(parts)) => {
            values.iter().zip(&parts[..]).find_map(|(value, part)| inside(value, part))
        }
        (_, K::Class(class)) => {
            let Form::Struct(fields) = &plans.program.classes[*class].form else { return None };
            let values = match value {
                Value::Tuple(values) if values.len() == fields.len() => &values[..],
                value if fields.len() == 1 => std::slice::from_ref(value),
                _ => return None,
            };
            let records = plans.program.expected(*class, 0).records;
            let mut parts = values.iter().zip(fields).zip(records).enumerate();
            parts.find_map(|(i, ((value, field), record))| {
                match Meaning::of_migrated(plans, value, None, (*class, 0, i)) {
                    Some(Meaning::Older(number)) => Some((*class, record.converts[number])),
                    _ => inside(value, &field.kind),
                }
            })
        }
        (value, K::Option(part)) => inside(value, part),
        _ => None,
    }
}

impl WaitingConvert {
    fn find<'r>(&self, record: &'r Record) -> Option<&'r Field> {
        record.fields.iter().find(|field| field.place == Some(self.place))
    }

    /// True if the `convert` names a later version than that of the step, and so runs after it.
    fn is_after(&self, version: u32) -> bool {
        self.newtype.is_none() && self.old.version.is_some_and(|last| last > version)
    }

    /// True if the step may take the field as it is, since its `convert` comes after it, and has changed it.
    fn is_settled(&self, record: &Record, version: u32) -> bool {
        self.is_after(version) && self.find(record).is_none()
    }

    fn was_seen_too_early(&self, record: &Record, version: u32) -> bool {
        let is_untouched = |field: &Field| field.origin != Origin::Created && !field.seen.take();
        !self.is_after(version) && !self.find(record).is_some_and(is_untouched)
    }

    #[cold]
    fn error(&self, record: &Record, version: u32) -> Error {
        let (class, name, after) = (record.class(), &self.name, version + 1);
        let (by, cure) = match &self.newtype {
            Some(newtype) => (
                newtype,
                format!(
                    "give {} a `convert` to {newtype}, with the last version of {class} that stored it so, above {version} if the step is to see it: `convert({after} = function)`",
                    self.field
                ),
            ),
            None => (
                &self.field.to_owned(),
                format!(
                    "write the last version of {class} that stored it so, above {version} if the step is to see it: `convert({after} = {})`",
                    self.old.function.unwrap_or("function")
                ),
            ),
        };
        Error::new(
            ErrorKind::Unsupported,
            format!(
                "`migrate` of {class} from version {version} looks at {name}, which the `convert` of {by} takes as it is stored, so that either may come first; {cure}"
            ),
        )
        .in_field(name)
    }
}

/// Returns the stored classes with conversions that are due. A step says for which version it reads their records. They
/// are found once for each load.
pub(super) fn watched(plans: &mut Plans<'_>, env: &Env<'_>) -> WatchedClasses {
    if let Some(watched) = &plans.watched {
        return watched.clone();
    }
    let mut watched = Vec::new();
    let mut inspections = vec![None; plans.stored.len()];
    for (class, inspection) in inspections.iter_mut().enumerate() {
        let due = match plans.resolve_moved(class) {
            Some(target) => due(plans, class, target),
            None => Some(Due::Unknown).filter(|_| env.is_trial()),
        };
        let Some(due) = due else { continue };
        let stored = &plans.stored[class];
        let class = WatchedClass::new(&stored.name, stored.version, due);
        *inspection = Some(class.inspection());
        watched.push(class);
    }
    plans.reader(&env.limits).inspect(inspections);
    plans.watched.insert(WatchedClasses::new(watched)).clone()
}

/// Returns what is due for the records of a stored class.
fn due(plans: &Plans<'_>, class: usize, target: usize) -> Option<Due> {
    let described = plans.program.targets[target]?.class;
    let version = plans.stored[class].version;
    let is_versioned = is_older(version, described) || is_converted(version, described);
    if is_versioned && version < described.version {
        return Some(Due::Version(described.version));
    }
    has_due_convert(plans, class, target).then_some(Due::Convert)
}

/// True if a `convert` of a class takes a field of a stored class.
fn has_due_convert(plans: &Plans<'_>, class: usize, target: usize) -> bool {
    let stored = &plans.stored[class];
    let mut sides = plans.program.sides(stored, target).into_iter().enumerate();
    sides.any(|(variant, side)| {
        let Some(new) = side.new else { return false };
        side.sources().into_iter().enumerate().any(|(i, source)| {
            let (Some(source), record) = (source, &new.records[i]) else { return false };
            let (node, place) = (plans.stored.first(class, variant) + source, new.place(i));
            !record.converts.is_empty()
                && matches!(
                    Meaning::of_stored(plans, node, Some(stored.version), record, place),
                    Some(Meaning::Older(_))
                )
        })
    })
}

/// The stored classes whose records have conversions that are due, with what notes that a step reads one.
#[derive(Clone)]
pub(super) struct WatchedClasses {
    classes: Arc<[WatchedClass]>,
}

struct WatchedClass {
    name: String,
    version: u32,
    due: Due,
    inspection: Arc<Inspection>,
}

/// The conversions that are due for the records of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// The steps and converts up to this version; the records say which one they have.
    Version(u32),
    /// A `convert` that says no version.
    Convert,
    /// Nothing that is known here: the program does not have the class. For the lock.
    Unknown,
}

impl WatchedClasses {
    fn new(classes: Vec<WatchedClass>) -> Self {
        Self { classes: classes.into() }
    }

    /// Forgets what earlier steps have read.
    fn start(&self) {
        for class in &*self.classes {
            class.inspection.content.take();
            class.inspection.version.take();
        }
    }

    /// Returns the classes that the program does not have, and whose records a step has read without asking for their
    /// version.
    ///
    /// # Errors
    ///
    /// Returns an error if a step of a record has read a record of another class whose conversions are due, and did not
    /// ask for its version.
    fn check(&self, record: &Record, version: u32) -> Result<Vec<&str>> {
        let mut unknown = Vec::new();
        for class in &*self.classes {
            let (is_read, is_asked) =
                (class.inspection.content.take(), class.inspection.version.take());
            if !is_read || is_asked && class.due != Due::Convert {
                continue;
            }
            if class.due != Due::Unknown {
                return Err(class.error(record, version));
            }
            unknown.push(&*class.name);
        }
        Ok(unknown)
    }
}

impl WatchedClass {
    fn new(name: &str, version: u32, due: Due) -> Self {
        Self { name: name.to_owned(), version, due, inspection: Arc::default() }
    }

    fn inspection(&self) -> Arc<Inspection> {
        self.inspection.clone()
    }

    #[cold]
    fn error(&self, record: &Record, version: u32) -> Error {
        let (class, name, stored) = (record.class(), &self.name, self.version);
        let message = match self.due {
            Due::Version(newer) => format!(
                "`migrate` of {class} from version {version} reads a {name} of version {stored}, which {name} itself brings to version {newer} later, so that either may come first; ask that record for its `version()` and treat each version as what it is, or move the record whole"
            ),
            Due::Convert | Due::Unknown => format!(
                "`migrate` of {class} from version {version} reads a {name}, which a `convert` of {name} takes as it is stored, so that either may come first; give {name} `version = {}` and the `convert` its last version, `convert({stored} = function)`, and ask the record for its `version()`, or move it whole",
                stored + 1
            ),
        };
        Error::new(ErrorKind::Unsupported, message)
    }
}
