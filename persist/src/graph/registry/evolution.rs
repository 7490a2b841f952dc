//! What classes say of older saves, checked when they are registered.

use super::Registry;
use crate::reflect::{Body, Class, FieldRecord, Migration, VariantRecord};
use crate::schema::{FieldSchema, Form, KindSchema};
use crate::{Error, ErrorKind, Result};

/// A struct's fields, or those of one variant, and whether it is an `other` one.
type Part<'c> = (&'c [FieldSchema], &'static [FieldRecord], bool);

impl Registry {
    /// Finds what a derive would have refused in a table written by hand, and what
    /// a derive cannot know.
    pub(super) fn check_evolution(&mut self, class: &'static Class) -> Result<()> {
        check_migration(class)?;
        match class.body {
            Body::Struct(fields) => {
                check_removed(class, class.removed, names(fields))?;
                self.check_fields(class, fields, false)
            }
            Body::Enum(variants) => {
                check_others(class, variants)?;
                let live = variants.iter().map(|variant| (variant.name, variant.aliases));
                check_removed(class, class.removed, live)?;
                variants.iter().try_for_each(|variant| {
                    check_removed(class, variant.removed, names(variant.fields))?;
                    self.check_fields(class, variant.fields, variant.other)
                })
            }
        }
    }

    fn check_fields(&mut self, class: &Class, records: &[FieldRecord], other: bool) -> Result<()> {
        let mut keeper: Option<&str> = None;
        for record in records {
            let kind = self.kind(record.kind(), 0)?;
            let name = record.name;
            if (record.keeps_unknown || other) && kind != KindSchema::Unknown {
                let attribute = if other { "other" } else { "unknown" };
                return Err(refused(
                    class,
                    name,
                    &format!(
                        "`{attribute}` keeps what the program does not have in a `persist::Unknown`, and the field is {}; change its type or remove `{attribute}`",
                        record.kind()
                    ),
                ));
            }
            if record.keeps_unknown
                && let Some(before) = keeper.replace(name)
            {
                return Err(refused(
                    class,
                    name,
                    &format!("`{before}` holds all that is unknown already; remove one of the two"),
                ));
            }
            if let Some(from) = record.convert
                && self.kind(from(), 0)? == kind
            {
                return Err(refused(
                    class,
                    name,
                    &format!(
                        "`convert` takes {}, which is stored as the field itself is, so that the two cannot be told apart; give the class a `version` and a `migrate`",
                        from()
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Finds an `Unknown` that no load would fill. It may stand in the one field of a
    /// stand-in, so all traits must be known.
    pub(super) fn check_unknown(&self) -> Result<()> {
        for (index, target) in self.program.targets.iter().enumerate() {
            let Some(class) = target.map(|target| target.class) else { continue };
            if self.implementors.stand_in(index).is_some() {
                continue;
            }
            for (fields, records, other) in parts(&self.program.classes[index].form, class) {
                for (field, record) in fields.iter().zip(records) {
                    let is_kept =
                        field.kind == KindSchema::Unknown && (record.keeps_unknown || other);
                    if !is_kept && holds_unknown(&field.kind) {
                        return Err(refused(
                            class,
                            &field.name,
                            "an `Unknown` is saved only in a field of its own marked `#[persist(unknown)]`, in a variant marked `#[persist(other)]`, or as the field of a stand-in, which `#[persist::dynamic(unknown = ...)]` names; register the trait before its stand-in",
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds a class that is gone for good and there at once.
    pub(super) fn check_removed_classes(&self) -> Result<()> {
        for class in self.classes() {
            let name = class.name();
            let names = std::iter::once(&*name).chain(class.aliases.iter().copied());
            if let Some(gone) = names.into_iter().find(|name| self.is_removed_class(name)) {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "`removed_class` says that {gone} is gone, and {name} is registered, which has that name or had it; remove one of the two"
                    ),
                )
                .in_class(name.clone()));
            }
        }
        Ok(())
    }
}

fn parts<'c>(form: &'c Form, class: &'static Class) -> Vec<Part<'c>> {
    match (form, class.body) {
        (Form::Struct(fields), Body::Struct(records)) => vec![(fields, records, false)],
        (Form::Enum(variants), Body::Enum(records)) => {
            let both = variants.iter().zip(records);
            both.map(|(variant, record)| (&*variant.fields, record.fields, record.other)).collect()
        }
        _ => Vec::new(),
    }
}

/// True if a value of the kind has an `Unknown` in it, other than in a class.
fn holds_unknown(kind: &KindSchema) -> bool {
    *kind == KindSchema::Unknown || kind.parts().iter().any(holds_unknown)
}

/// A name and the older ones of the same field or variant.
type Names = (&'static str, &'static [&'static str]);

fn names(fields: &'static [FieldRecord]) -> impl Iterator<Item = Names> {
    fields.iter().map(|field| (field.name, field.aliases))
}

/// What is gone for good is not there.
fn check_removed(class: &Class, removed: &[&str], live: impl Iterator<Item = Names>) -> Result<()> {
    for (name, aliases) in live {
        let is_gone = |name: &&str| removed.contains(name);
        if let Some(gone) = std::iter::once(&name).chain(aliases).find(|name| is_gone(name)) {
            let why = format!("`{gone}` is `removed` and there at once; remove one of the two");
            return Err(refused(class, name, &why));
        }
    }
    Ok(())
}

/// One variant for all that the enum does not have, which holds one field at most.
fn check_others(class: &Class, variants: &[VariantRecord]) -> Result<()> {
    if let Some(gone) = class.removed.first()
        && variants.iter().all(|variant| !variant.other)
    {
        let why = format!("a stored `{gone}` must become some variant; mark one as `other`");
        return Err(refused(class, gone, &why));
    }
    let mut found: Option<&str> = None;
    for variant in variants.iter().filter(|variant| variant.other) {
        if let Some(before) = found.replace(variant.name) {
            let why = format!("`{before}` stands for unknown variants already; remove one `other`");
            return Err(refused(class, variant.name, &why));
        }
        if variant.fields.len() > 1 {
            let why = format!(
                "an `other` variant holds one `persist::Unknown` or nothing, and this one has {} fields; remove all but one",
                variant.fields.len()
            );
            return Err(refused(class, variant.name, &why));
        }
    }
    Ok(())
}

/// Every version before the class's own has its step.
fn check_migration(class: &Class) -> Result<()> {
    let (name, version) = (class.name(), class.version);
    let refuse = |why: String| Err(Error::new(ErrorKind::Unsupported, why));
    let steps = match class.migration {
        Migration::None => return Ok(()),
        _ if version < 2 => {
            return refuse(format!(
                "{name} has a `migrate` and is in version {version}, before which there is none; give it `version = 2` or more"
            ));
        }
        Migration::Every(_) => return Ok(()),
        Migration::Steps(steps) => steps,
    };
    let mut next = 1;
    for (from, _) in steps {
        let from = *from;
        if from == 0 || from >= version {
            return refuse(format!(
                "`migrate` of {name} has a step from version {from}; steps begin at versions 1 to {}, below that of the class",
                version - 1
            ));
        }
        if from < next {
            return refuse(format!(
                "`migrate` of {name} has the step from version {from} after that from version {}; give one step for each version, in ascending order",
                next - 1
            ));
        }
        if from > next {
            break;
        }
        next = from + 1;
    }
    if next < version {
        return refuse(format!(
            "`migrate` of {name} has no step from version {next} to {}; add one, which may do nothing if field names say enough",
            next + 1
        ));
    }
    Ok(())
}

fn refused(class: &Class, field: &str, why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, why).in_class(class.name()).in_field(field)
}
