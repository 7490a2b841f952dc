//! A save against the locked versions.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::fmt;

use persist::__tools::{ClassSchema, FieldSchema, Form, VariantSchema, is_same_class};
use persist::reflect::ClassId;

use super::report::{Difference, Verdict};
use super::{Fit, KnownFields, Lock, Section, fit};
use crate::Document;

/// The locked versions that may have written a save, as [`Lock::check_save`] finds them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SaveCheck {
    /// The versions that have all classes of the save as they are, oldest first. While the test of the lock passes, the
    /// program loads the saves of each.
    pub versions: Vec<String>,
    /// If there are none: what differs from the newest version, worst first.
    pub differences: Vec<Difference>,
}

impl SaveCheck {
    /// True if the save is of a locked version.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        !self.versions.is_empty()
    }

    /// False if a program with the classes of the newest version cannot load the save, whatever attributes it has.
    #[must_use]
    pub fn may_load(&self) -> bool {
        !self.differences.iter().any(|difference| difference.verdict == Verdict::Breaks)
    }
}

impl fmt::Display for SaveCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.versions[..], &self.differences[..]) {
            ([.., newest], _) => writeln!(f, "of version {newest}"),
            ([], []) => f.write_str("of no locked version\n"),
            ([], differences) => {
                f.write_str("of no locked version\n")?;
                differences.iter().try_for_each(|difference| {
                    write!(f, "  {}: {}", difference.verdict, difference.class)?;
                    if let Some(field) = &difference.field {
                        write!(f, ".{field}")?;
                    }
                    writeln!(f, ": {}", difference.change)
                })
            }
        }
    }
}

impl Lock {
    /// Finds out which locked versions a save is of, or how it differs from the newest one.
    ///
    /// Neither the lock nor the save has the program's attributes. So a save of no locked version may load: by a
    /// default, an alias, a conversion or a migration. [`Difference::verdict`] is [`Verdict::Untested`] for what one of
    /// these helps, and [`Verdict::Breaks`] for what none does.
    ///
    /// # Example
    ///
    /// ```
    /// # use persist::{Persist, Saves};
    /// # use persist_tools::{Document, lock::Lock};
    /// # #[derive(Persist)] struct Hero { name: String }
    /// let saves = Saves::new();
    /// saves.register::<Hero>()?;
    /// let mut lock = Lock::new();
    /// lock.update("0.1.0", &saves.registry())?;
    ///
    /// let save = persist::to_vec(&Hero { name: "Ada".into() })?;
    /// let found = lock.check_save(&Document::from_slice(&save)?);
    /// assert_eq!(found.versions, ["0.1.0"]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn check_save(&self, save: &Document) -> SaveCheck {
        let classes = save.classes();
        // Unknown data that programs kept for others belongs to no version.
        let own: Vec<usize> = (0..classes.len())
            .filter(|class| classes[*class].unknown_field().is_none())
            .filter(|class| classes[*class].unknown_variant().is_none())
            .filter(|class| !matches!(classes[*class].form, Form::Value(_)))
            // A program that has no worlds does not lock them.
            .filter(|class| !classes[*class].name.starts_with("persist."))
            .collect();
        let has = |section: &&Section| {
            let by_id = by_id(section);
            // A save without classes says nothing of its version.
            !own.is_empty()
                && own.iter().all(|class| {
                    let found = by_id.get(&classes[*class].id);
                    found.is_some_and(|found| {
                        is_same_class((classes, *class), (&section.classes, *found))
                    })
                })
        };
        let versions: Vec<String> =
            self.sections.iter().filter(has).map(|section| section.version.clone()).collect();
        let mut found = Vec::new();
        if let Some(newest) = self.sections.last().filter(|_| versions.is_empty()) {
            let by_id = by_id(newest);
            let new = |old: &ClassSchema| by_id.get(&old.id).map(|new| &newest.classes[*new]);
            let all = own.iter().map(|class| &classes[*class]);
            let all = all.flat_map(|old| differences((old, new(old)), classes, newest));
            found = all.collect();
            found.sort_by_key(|difference| Reverse(difference.verdict));
        }
        SaveCheck { versions, differences: found }
    }
}

/// The classes of a version by the ids by which saves know them.
fn by_id(section: &Section) -> HashMap<ClassId, usize> {
    section.classes.iter().enumerate().rev().map(|(at, class)| (class.id, at)).collect()
}

/// How a class of a save differs from that of the newest version.
fn differences(
    (old, new): (&ClassSchema, Option<&ClassSchema>),
    classes: &[ClassSchema],
    newest: &Section,
) -> Vec<Difference> {
    let (mut found, version) = (Vec::new(), &newest.version);
    let mut add = |field: Option<String>, verdict: Verdict, change: String| {
        let difference = Difference::new(&old.name, verdict, change);
        found.push(Difference { field, versions: vec![version.clone()], ..difference });
    };
    let Some(new) = new else {
        let change = format!("{version} does not have it; objects of it are kept as unknown");
        add(None, Verdict::Untested, change);
        return found;
    };
    match (old.version.cmp(&new.version), &old.form, &new.form) {
        (Ordering::Greater, ..) => {
            let change = format!(
                "it has version {}, which is newer than {} of {version}",
                old.version, new.version
            );
            add(None, Verdict::Breaks, change);
        }
        (Ordering::Less, ..) => {
            let change =
                format!("it has version {}, which is migrated to {}", old.version, new.version);
            add(None, Verdict::Untested, change);
        }
        (_, Form::Struct(old), Form::Struct(new)) => {
            fields((old, classes), (new, newest), &mut |name, change| {
                add(Some(name.to_owned()), Verdict::Untested, change);
            });
        }
        (_, Form::Enum(old), Form::Enum(new)) => {
            let by_name: HashMap<&str, &VariantSchema> =
                new.iter().rev().map(|variant| (&*variant.name, variant)).collect();
            for variant in old {
                let Some(known) = by_name.get(&*variant.name) else {
                    let change = format!("{version} does not have the variant; it needs an alias");
                    add(Some(variant.name.clone()), Verdict::Untested, change);
                    continue;
                };
                let sides = ((&*variant.fields, classes), (&*known.fields, newest));
                fields(sides.0, sides.1, &mut |name, change| {
                    add(Some(format!("{}.{name}", variant.name)), Verdict::Untested, change);
                });
            }
        }
        _ => add(
            None,
            Verdict::Untested,
            "it is a struct in one and an enum in the other, which a migration must convert".into(),
        ),
    }
    found
}

/// Compares fields by their numbers, else by their names; `add` gets a name, and how the field differs.
fn fields(
    (old, classes): (&[FieldSchema], &[ClassSchema]),
    (new, newest): (&[FieldSchema], &Section),
    add: &mut dyn FnMut(&str, String),
) {
    let (known_new, known_old) = (KnownFields::new(new), KnownFields::new(old));
    let version = &newest.version;
    for field in old {
        let Some(known) = known_new.find(field).map(|known| &new[known]) else {
            let change = format!(
                "{version} does not have it; it is kept as unknown, unless a field has it as an alias"
            );
            add(&field.name, change);
            continue;
        };
        let (was, is) = (field.kind.display(classes), known.kind.display(&newest.classes));
        // The classes in them are compared by themselves.
        if was != is {
            let needs = match fit(&field.kind, &known.kind) {
                Fit::Whole => "every value fits",
                _ => "some values may need a `convert`",
            };
            add(&field.name, format!("it is {was}, and {is} in {version}; {needs}"));
        }
    }
    for field in new.iter().filter(|field| known_old.find(field).is_none()) {
        add(&field.name, format!("the save does not have it; {version} loads it by a default"));
    }
}
