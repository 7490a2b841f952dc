//! The meaning of a value for a field: a value of the field's own kind, or the argument of one of its `convert`
//! functions.
//!
//! A value is taken as it is only where its meaning cannot have changed. A field with a `convert` names the kinds that
//! it takes, and refuses all others: a number of cents that was widened first would be taken for gold. Stored values
//! and values that a migration made both go through [`Meaning`].

use super::Plans;
use crate::reflect::{FieldRecord, Integer, OldKind};
use crate::schema::number::Width;
use crate::schema::{FieldPlace, Form, KindSchema};
use crate::value::Value;

/// Classes of the standard library in one another, in a kind that is compared.
const MAX_LEVELS: u32 = 16;

/// The meaning of a value for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// One of the field itself, which the rules of conversion fit to it.
    Own,
    /// One that the function of this number in the `convert` of the field takes.
    Older(usize),
}

impl Meaning {
    /// Returns the meaning of a stored value for a field, or `None` if it is ambiguous or refused.
    ///
    /// `version` is the version of the class that stored the value, or `None` for a value without a class around it.
    pub(super) fn of_stored(
        plans: &Plans<'_>,
        node: usize,
        version: Option<u32>,
        record: &FieldRecord,
        field: FieldPlace,
    ) -> Option<Self> {
        let stored = &plans.stored.node(node).kind;
        Self::find(plans, record, field, version, &|kind| is_same_kind(plans, stored, kind))
    }

    /// Returns the meaning of a value that a migration made.
    ///
    /// `version` is the version of the class for which the migration made it, if that is known.
    pub(super) fn of_migrated(
        plans: &Plans<'_>,
        value: &Value,
        version: Option<u32>,
        field: FieldPlace,
    ) -> Option<Self> {
        let record = &plans.program.expected(field.0, field.1).records[field.2];
        Self::find(plans, record, field, version, &|kind| is_of_kind(plans, value, kind))
    }

    fn find(
        plans: &Plans<'_>,
        record: &FieldRecord,
        field: FieldPlace,
        version: Option<u32>,
        is_of: &dyn Fn(&KindSchema) -> bool,
    ) -> Option<Self> {
        if !record.names_its_kinds() {
            return Some(Meaning::Own);
        }
        let is_own = plans.program.field_kind(field.0, field.1, field.2).is_some_and(is_of);
        let old_kinds = plans.program.old_kinds.get(&field).map_or(&[][..], |kinds| kinds);
        let is_in_force = |old: &OldKind| match (old.version, version) {
            (Some(last), Some(version)) => version <= last,
            _ => true,
        };
        let mut fits = record.converts.iter().zip(old_kinds).enumerate();
        let fit = fits.find(|(_, (old, kind))| is_in_force(old) && is_of(kind));
        match fit {
            // The version tells them apart, if there is one.
            Some((_, (old, _))) if is_own && old.function.is_some() => {
                let is_known = old.version.is_some() && version.is_some();
                fit.filter(|_| is_known).map(|(number, _)| Meaning::Older(number))
            }
            Some((number, (OldKind { function: Some(_), .. }, _))) => Some(Meaning::Older(number)),
            Some(_) => Some(Meaning::Own),
            None => is_own.then_some(Meaning::Own),
        }
    }
}

/// True if two kinds differ at most in the fields of classes of one name, and in how compact their numbers are.
pub(super) fn is_same_kind(plans: &Plans<'_>, stored: &KindSchema, kind: &KindSchema) -> bool {
    is_same_within(plans, stored, kind, MAX_LEVELS)
}

fn is_same_within(plans: &Plans<'_>, stored: &KindSchema, kind: &KindSchema, levels: u32) -> bool {
    let classes = &plans.program.classes;
    let Some(levels) = levels.checked_sub(1) else { return false };
    plain(stored).is_like(&plain(kind), false, &mut |class, target| {
        let (old, new) = (&plans.stored[class], &classes[target]);
        let is_std = plans.program.targets[target].is_none_or(|target| target.class.is_std());
        // A class of the standard library, and a bare value behind a pointer, are what is in them.
        if is_std {
            let base = |name: &str| name.split('<').next().map(str::to_owned);
            let is_bare = matches!((&old.form, &new.form), (Form::Value(_), Form::Value(_)));
            if !is_bare && base(&old.name) != base(&new.name) {
                return false;
            }
            let mut kinds = old.kinds().zip(new.kinds());
            return old.kinds().count() == new.kinds().count()
                && kinds.all(|(old, new)| is_same_within(plans, old, new, levels));
        }
        plans.resolve(class) == Some(target)
            || old.name == new.name
            || (!plans.program.is_instance(target, old)
                && plans.matched.is_related(class, plans.program, target))
    })
}

/// True if a value has the form in which one of the kind is read.
fn is_of_kind(plans: &Plans<'_>, value: &Value, kind: &KindSchema) -> bool {
    use KindSchema as K;
    let all = |values: &[Value], kind| values.iter().all(|value| is_of_kind(plans, value, kind));
    match (value, kind) {
        (Value::Unit, K::Unit)
        | (Value::Bool(_), K::Bool)
        | (Value::Char(_), K::Char)
        | (Value::Text(_), K::Text)
        | (Value::Ref(_), K::Reference { .. } | K::TraitReference { .. })
        | (Value::Handle(_), K::Handle(_))
        | (Value::Option(None), K::Option(_))
        | (Value::Struct(_) | Value::Enum(_), K::Dynamic(_))
        | (Value::Seq(_), K::Unknown) => true,
        (Value::Option(Some(value)), K::Option(part)) => is_of_kind(plans, value, part),
        (Value::Bytes(_), K::List(part) | K::Set(part)) => **part == K::U8,
        (Value::Bytes(bytes), K::Array(part, len)) => **part == K::U8 && bytes.len() == *len,
        (Value::Seq(values), K::List(part) | K::Set(part)) => all(values, part),
        (Value::Seq(values), K::Array(part, len)) => values.len() == *len && all(values, part),
        (Value::Tuple(values), K::Tuple(parts)) => {
            values.len() == parts.len()
                && values.iter().zip(&parts[..]).all(|(value, kind)| is_of_kind(plans, value, kind))
        }
        (Value::Map(entries), K::Map(parts)) => entries.iter().all(|(key, value)| {
            is_of_kind(plans, key, &parts[0]) && is_of_kind(plans, value, &parts[1])
        }),
        (Value::Struct(record) | Value::Enum(record), K::Class(class)) => {
            let resolved = record.origin().and_then(|origin| plans.resolve(origin));
            let target = plans.program.targets[*class];
            resolved == Some(*class)
                || record.class() == plans.program.classes[*class].name
                || target.is_some_and(|it| it.class.aliases.contains(&record.class()))
        }
        (number, kind) => number_kind(number)
            .is_some_and(|number| Width::from_kind(&number) == Width::from_kind(&plain(kind))),
    }
}

/// A kind with numbers that are not compact: the form of a number says nothing about what it means.
fn plain(kind: &KindSchema) -> KindSchema {
    kind.mapped(&|kind| match kind {
        KindSchema::Compact(integer) => match integer {
            Integer::U16 => KindSchema::U16,
            Integer::U32 => KindSchema::U32,
            Integer::U64 => KindSchema::U64,
            Integer::I16 => KindSchema::I16,
            Integer::I32 => KindSchema::I32,
            Integer::I64 => KindSchema::I64,
        },
        kind => kind.clone(),
    })
}

fn number_kind(value: &Value) -> Option<KindSchema> {
    Some(match value {
        Value::U8(_) => KindSchema::U8,
        Value::U16(_) => KindSchema::U16,
        Value::U32(_) => KindSchema::U32,
        Value::U64(_) => KindSchema::U64,
        Value::U128(_) => KindSchema::U128,
        Value::I8(_) => KindSchema::I8,
        Value::I16(_) => KindSchema::I16,
        Value::I32(_) => KindSchema::I32,
        Value::I64(_) => KindSchema::I64,
        Value::I128(_) => KindSchema::I128,
        Value::F32(_) => KindSchema::F32,
        Value::F64(_) => KindSchema::F64,
        _ => return None,
    })
}
