//! Checks that refuse classes when they are registered, before a save could lose data because of them.

use std::collections::HashMap;

use super::{Implementors, Traits};
use crate::codec::{ADAPTED, CONVERTED};
use crate::reflect::{Body, Class, VariantRecord};
use crate::schema::{KindSchema, Program};
use crate::{Error, ErrorKind, Result};

/// The place of a type as which a type of another crate is stored.
const OTHER_CRATE: &str = "stored in a type of another crate";

/// Returns an error for a type in a place that no visit reaches, if its values must be visited.
pub(super) fn check_unvisited(place: &str, traits: Traits, name: fn() -> String) -> Result<()> {
    // Unknown data in such a place refers to nothing, since its original type could not either. A `convert` gets no
    // classes of the save, so it cannot contain unknown data.
    let is_refused = match place {
        CONVERTED => traits != Traits::default(),
        _ => traits != Traits { references: traits.references, ..Traits::default() },
    };
    if !is_refused {
        return Ok(());
    }
    let what = match traits {
        Traits { pointers: true, .. } => "a shared pointer",
        Traits { dynamic: true, .. } => "a trait object",
        Traits { references: true, .. } => "a `persist::Unknown`",
        _ => "a class with hooks",
    };
    let advice = if place == ADAPTED || place == OTHER_CRATE {
        "what is stored in place of a field is not there to be connected or to run hooks; keep such parts in fields of their own"
    } else if place == CONVERTED {
        "an older value is not there to be connected or to run hooks; use `alias`, or `version` and `migrate`"
    } else if traits.pointers || traits.dynamic {
        "its order or hash would change while references are connected; use a plain id or name there"
    } else {
        "hooks cannot run there; use a plain id or name"
    };
    Err(error!(ErrorKind::Unsupported, "{} holds {what} and cannot be {place}: {advice}", name()))
}

/// Checks the classes from `first` on. Finds mistakes in hand-written tables that the derive would refuse, and mistakes
/// that a derive cannot see.
pub(super) fn check_classes(
    program: &Program,
    implementors: &Implementors,
    first: usize,
) -> Result<()> {
    for (index, target) in program.targets.iter().enumerate().skip(first) {
        let Some(class) = target.map(|target| target.class) else { continue };
        check_migration(class)?;
        check_variants(class)?;
        let is_stand_in = implementors.stand_in(index).is_some();
        let whole;
        let parts = match class.body {
            Body::Enum(variants) => variants,
            Body::Struct(fields) => {
                let removed = class.removed;
                whole = VariantRecord { name: "", aliases: &[], fields, other: false, removed };
                std::slice::from_ref(&whole)
            }
        };
        for (variant, part) in parts.iter().enumerate() {
            let live = part.fields.iter().map(|field| (field.name, field.aliases));
            check_removed(class, part.removed, live)?;
            let mut keeper: Option<&str> = None;
            for (i, field) in part.fields.iter().enumerate() {
                let Some(kind) = program.field_kind(index, variant, i) else { continue };
                let old = program.old_kinds.get(&(index, variant, i)).map_or(&[][..], |old| old);
                // A `convert` with a version is selected by that version, and one without a function says that nothing
                // changed.
                let mut converts = field.converts.iter().zip(old);
                let same = converts.find(|(from, old)| {
                    from.version.is_none() && from.function.is_some() && *old == kind
                });
                let why = if field.keeps_unknown
                    && let Some(known) = keeper.replace(field.name)
                {
                    format!("`{known}` holds all that is unknown already; remove one of the two")
                } else if (field.keeps_unknown || part.other) && *kind != KindSchema::Unknown {
                    let attribute = if part.other { "other" } else { "unknown" };
                    format!(
                        "`{attribute}` keeps what the program does not have in a `persist::Unknown`, and the field is {}; change its type or remove `{attribute}`",
                        field.kind()
                    )
                } else if let Some((from, _)) = same {
                    format!(
                        "`convert` takes {}, which is stored as the field itself is, so that the two cannot be told apart; give the class a `version`, and the `convert` the last version that stored the older type: `convert(1 = {})`",
                        (from.kind)(),
                        from.function.unwrap_or("function")
                    )
                } else if !(field.keeps_unknown || part.other || is_stand_in) && holds_unknown(kind)
                {
                    String::from(
                        "an `Unknown` is saved only in a field of its own marked `#[persist(unknown)]`, in a variant marked `#[persist(other)]`, or as the field of a stand-in, which `#[persist::dynamic(unknown = ...)]` names; register the trait before its stand-in",
                    )
                } else {
                    continue;
                };
                return Err(refused(class, field.name, &why));
            }
        }
    }
    Ok(())
}

/// Returns an error if a class is both registered and declared as removed.
pub(super) fn check_removed_classes(program: &Program, first: usize) -> Result<()> {
    if program.removed.is_empty() {
        return Ok(());
    }
    let targets = program.targets[first..].iter().flatten();
    for class in targets.map(|target| target.class) {
        let name = class.name();
        let names = std::iter::once(&*name).chain(class.aliases.iter().copied());
        if let Some(old) = names.into_iter().find(|name| program.removed.contains(*name)) {
            return Err(error!(
                ErrorKind::Unsupported,
                "`declare_removed_class` says that {old} is gone, and {name} is registered, which has that name or had it; remove one of the two"
            )
            .in_class(name.clone()));
        }
    }
    Ok(())
}

/// Returns true if a value of the kind contains an `Unknown`, other than inside a class.
fn holds_unknown(kind: &KindSchema) -> bool {
    matches!(kind, KindSchema::Unknown) || kind.parts().iter().any(holds_unknown)
}

/// The name and the aliases of one field or variant.
type LiveName = (&'static str, &'static [&'static str]);

/// Returns an error if a field or variant is both declared as removed and present.
fn check_removed(
    class: &Class,
    removed: &[&str],
    live: impl Iterator<Item = LiveName>,
) -> Result<()> {
    for (name, aliases) in live {
        let is_removed = |name: &&str| removed.contains(name);
        if let Some(old) = std::iter::once(&name).chain(aliases).find(|name| is_removed(name)) {
            let why = format!("`{old}` is `removed` and there at once; remove one of the two");
            return Err(refused(class, name, &why));
        }
    }
    Ok(())
}

/// Checks the variants: at most one is `other`, and that one has at most one field.
fn check_variants(class: &Class) -> Result<()> {
    let Body::Enum(variants) = class.body else { return Ok(()) };
    if let Some(old) = class.removed.first()
        && variants.iter().all(|variant| !variant.other)
    {
        let why = format!("a stored `{old}` must become some variant; mark one as `other`");
        return Err(refused(class, old, &why));
    }
    let mut found: Option<&str> = None;
    for variant in variants.iter().filter(|variant| variant.other) {
        if let Some(known) = found.replace(variant.name) {
            let why = format!("`{known}` stands for unknown variants already; remove one `other`");
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
    let live = variants.iter().map(|variant| (variant.name, variant.aliases));
    check_removed(class, class.removed, live)
}

/// Checks that every version before the current one has its migration step.
fn check_migration(class: &Class) -> Result<()> {
    let (name, version) = (class.name(), class.version);
    let refuse = |why: String| Err(Error::new(ErrorKind::Unsupported, why));
    if class.migration.is_empty() {
        return Ok(());
    }
    if version < 2 {
        return refuse(format!(
            "{name} has a `migrate` and is in version {version}, before which there is none; give it `version = 2` or more"
        ));
    }
    let mut next = 1;
    for (from, _) in class.migration {
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

/// Returns an error if two classes claim one name, as a name or an alias. It checks the aliases of the classes from
/// `first` on, and the names of all classes if there are new aliases. `owners` has the first class of each alias.
///
/// Otherwise the order of registration would decide to which of the two classes an old save belongs.
pub(super) fn check_aliases(
    program: &Program,
    first: usize,
    owners: &mut HashMap<&'static str, usize>,
) -> Result<()> {
    let class_of = |index: usize| program.targets[index].map(|target| target.class);
    let known = owners.len();
    for (index, class) in (first..program.targets.len()).filter_map(|i| Some((i, class_of(i)?))) {
        for alias in class.aliases {
            let owner = class_of(*owners.entry(alias).or_insert(index));
            if let Some(other) = owner.filter(|other| !class.is_instance_with(other)) {
                return Err(two_owners(alias, class, &format!("an alias of {}", both(other))));
            }
        }
    }
    if owners.is_empty() {
        return Ok(());
    }
    // A new alias may be the name of a class that was registered earlier.
    let from = if owners.len() > known { 0 } else { first };
    for (index, schema) in program.classes.iter().enumerate().skip(from) {
        let class = class_of(index);
        // An alias of a generic class is an alias of all its instances.
        let generic = class.filter(|class| class.is_generic()).map(Class::base_name);
        for name in [Some(&*schema.name), generic].into_iter().flatten() {
            let Some((alias, owner)) = owners.get_key_value(name) else { continue };
            let Some(owner) = class_of(*owner) else { continue };
            let clashes = class.is_none_or(|class| {
                !owner.is_instance_with(class) && (name == schema.name || owner.is_generic())
            });
            if clashes {
                let other = class.map_or_else(|| String::from("a bare value"), both);
                return Err(two_owners(alias, owner, &format!("the name of {other}")));
            }
        }
    }
    Ok(())
}

/// Returns the name of a class in saves, with its type in the program.
fn both(class: &Class) -> String {
    format!("{} ({})", class.name(), class.type_name())
}

#[cold]
fn two_owners(alias: &str, class: &Class, other: &str) -> Error {
    error!(
        ErrorKind::DuplicateId,
        "`{alias}` is an alias of {} and {other}, so that an old save could mean either; remove the alias from the class that never had that name",
        both(class)
    )
}
