//! What classes must not be, found when they are registered, before a save could be lost by it.

use std::collections::HashMap;

use super::{Implementors, Traits};
use crate::codec::{ADAPTED, CONVERTED};
use crate::reflect::{Body, Class, FieldRecord, Migration, VariantRecord};
use crate::schema::{FieldSchema, Form, KindSchema, Program};
use crate::{Error, ErrorKind, Result};

/// What a foreign type is stored as.
const FOREIGN: &str = "stored in a type of another crate";

/// Refuses a type whose values no visit reaches if they hold what must be visited.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`]
pub(super) fn check_unvisited(place: &str, traits: Traits, name: fn() -> String) -> Result<()> {
    if traits == Traits::default() {
        return Ok(());
    }
    let what = match traits {
        Traits { references: true, .. } => "a shared pointer",
        Traits { dynamic: true, .. } => "a trait object",
        _ => "a class with hooks",
    };
    let advice = if place == ADAPTED || place == FOREIGN {
        "what is stored in place of a field is not there to be connected or to run hooks; keep such parts in fields of their own"
    } else if place == CONVERTED {
        "an older value is not there to be connected or to run hooks; use `alias`, or `version` and `migrate`"
    } else if traits.references || traits.dynamic {
        "its order or hash would change while references are connected; use a plain id or name there"
    } else {
        "hooks cannot run there; use a plain id or name"
    };
    Err(Error::new(
        ErrorKind::Unsupported,
        format!("{} holds {what} and cannot be {place}: {advice}", name()),
    ))
}

/// The kind of a field in the program, and of what its `convert` takes.
type FieldKinds = (KindSchema, Option<KindSchema>);

/// A struct's fields, or those of one variant, and whether it is an `other` one.
type Part<'c> = (&'c [FieldSchema], &'static [FieldRecord], bool);

/// Finds what a derive would have refused in a table written by hand, and what
/// a derive cannot know.
///
/// `kinds` has the kind of each field in the program, and of what its `convert` takes.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`], with the field.
pub(super) fn check_evolution(
    class: &'static Class,
    kinds: &mut dyn FnMut(&FieldRecord) -> Result<FieldKinds>,
) -> Result<()> {
    check_migration(class)?;
    match class.body {
        Body::Struct(fields) => {
            check_removed(class, class.removed, names(fields))?;
            check_fields(class, fields, false, kinds)
        }
        Body::Enum(variants) => {
            check_others(class, variants)?;
            let live = variants.iter().map(|variant| (variant.name, variant.aliases));
            check_removed(class, class.removed, live)?;
            variants.iter().try_for_each(|variant| {
                check_removed(class, variant.removed, names(variant.fields))?;
                check_fields(class, variant.fields, variant.other, kinds)
            })
        }
    }
}

fn check_fields(
    class: &Class,
    records: &[FieldRecord],
    other: bool,
    kinds: &mut dyn FnMut(&FieldRecord) -> Result<FieldKinds>,
) -> Result<()> {
    let mut keeper: Option<&str> = None;
    for record in records {
        let (kind, old) = kinds(record)?;
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
            && old.as_ref() == Some(&kind)
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
///
/// # Errors
///
/// [`ErrorKind::Unsupported`], with the field.
pub(super) fn check_unknown(
    program: &Program,
    implementors: &Implementors,
    first: usize,
) -> Result<()> {
    for index in first..program.classes.len() {
        let Some(class) = program.targets[index].map(|target| target.class) else { continue };
        if implementors.stand_in(index).is_some() {
            continue;
        }
        for (fields, records, other) in parts(&program.classes[index].form, class) {
            for (field, record) in fields.iter().zip(records) {
                let is_kept = field.kind == KindSchema::Unknown && (record.keeps_unknown || other);
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
///
/// # Errors
///
/// [`ErrorKind::Unsupported`]
pub(super) fn check_removed_classes(program: &Program, first: usize) -> Result<()> {
    if program.removed.is_empty() {
        return Ok(());
    }
    let targets = program.targets[first..].iter().flatten();
    for class in targets.map(|target| target.class) {
        let name = class.name();
        let names = std::iter::once(&*name).chain(class.aliases.iter().copied());
        if let Some(gone) = names.into_iter().find(|name| program.removed.contains(*name)) {
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
    matches!(kind, KindSchema::Unknown) || kind.parts().iter().any(holds_unknown)
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

/// Refuses an alias of the classes from `first` on that another class has too, as its name or as an alias of its own;
/// and names that others have as aliases. `owners` has the aliases of the classes before them.
///
/// The order in which the two were registered would decide which of them an old save means.
///
/// # Errors
///
/// [`ErrorKind::DuplicateId`], with both classes.
pub(super) fn check_aliases(
    program: &Program,
    first: usize,
    owners: &mut HashMap<&'static str, &'static Class>,
) -> Result<()> {
    let mut has_new = false;
    for class in program.targets[first..].iter().flatten().map(|target| target.class) {
        for alias in class.aliases {
            has_new = true;
            if let Some(other) = owners.insert(alias, class)
                && !class.is_instance_with(other)
            {
                return Err(two_owners(alias, class, &format!("an alias of {}", both(other))));
            }
        }
    }
    if owners.is_empty() {
        return Ok(());
    }
    // A new alias may be the name of any class.
    let from = if has_new { 0 } else { first };
    let schemas = program.classes.iter().zip(&program.targets);
    for (schema, target) in schemas.skip(from) {
        let class = target.map(|target| target.class);
        // The alias of a generic class is one of all its instances.
        let generic = class.filter(|class| class.is_generic());
        let by_generic = generic.and_then(|class| owners.get_key_value(class.base_name()));
        let by_name = owners.get_key_value(&*schema.name);
        for (alias, owner) in by_name.into_iter().chain(by_generic) {
            let clashes = match class {
                Some(class) if owner.is_instance_with(class) => false,
                Some(class) => *alias == class.name() || owner.is_generic(),
                None => true,
            };
            if clashes {
                let other = class.map_or_else(|| String::from("a bare value"), both);
                return Err(two_owners(alias, owner, &format!("the name of {other}")));
            }
        }
    }
    Ok(())
}

/// The name of a class in saves and in the program.
fn both(class: &Class) -> String {
    format!("{} ({})", class.name(), class.type_name())
}

#[cold]
fn two_owners(alias: &str, class: &Class, other: &str) -> Error {
    Error::new(
        ErrorKind::DuplicateId,
        format!(
            "`{alias}` is an alias of {} and {other}, so that an old save could mean either; remove the alias from the class that never had that name",
            both(class)
        ),
    )
}
