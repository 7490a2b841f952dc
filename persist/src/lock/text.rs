//! The text of a lock: that of one [`Value`], in which each version has what was not so in the version before.

use std::collections::HashSet;
use std::iter;

use super::section::{Section, SectionEntries};
use crate::format::as_value::{
    ClassNames, ClassReader, Read, cell_of, holder, list, parts, shown, text, with,
};
use crate::graph::Registry;
use crate::reflect::Holder;
use crate::value::{Record, Value};
use crate::{Error, ErrorKind, Result};

/// The newest format of locks.
const FORMAT: u32 = 2;

/// The sections, each as what differs from the one before.
pub(super) fn write(sections: &[Section]) -> Value {
    let nothing = SectionEntries::new();
    let before = iter::once(&nothing).chain(sections.iter().map(|section| &section.entries));
    let versions = before.zip(sections).map(|(before, Section { version, entries, .. })| {
        let removed = before.iter().filter(|(key, _)| !entries.contains_key(*key));
        let removed: Vec<Value> =
            removed.filter_map(|(_, it)| Some(known_by(it.as_record()?))).collect();
        let added = entries.iter().filter(|(key, value)| before.get(*key) != Some(*value));
        let added = Value::Seq(added.map(|(_, value)| value.clone()).collect());
        let mut written = with(Record::new("Version"), [("name", (&**version).into())]);
        if !removed.is_empty() {
            written.push("removed", Value::Seq(removed));
        }
        with(written, [("added", added)]).into()
    });
    let versions = Value::Seq(versions.collect());
    with(Record::new("Lock"), [("format", FORMAT.into()), ("versions", versions)]).into()
}

/// What a class, a trait or an object is known by in the versions after it.
fn known_by(entry: &Record) -> Value {
    let mut key = Record::new(entry.class());
    for name in ["name", "id", "class", "holder"] {
        entry.get(name).into_iter().for_each(|value| key.push(name, value.clone()));
    }
    key.into()
}

/// What a program has.
pub(super) fn entries(registry: &Registry) -> SectionEntries {
    let names = ClassNames::new(&registry.program().classes);
    let classes = registry.program().classes.iter().map(|class| names.definition(class));
    let traits = registry.trait_classes().map(|(name, mut classes)| {
        classes.sort_by_key(|class| {
            (&registry.program().classes[*class].name, registry.program().classes[*class].id)
        });
        let classes = Value::Seq(classes.into_iter().map(|class| names.class(class)).collect());
        with(Record::new("Trait"), [("name", name.into()), ("classes", classes)])
    });
    let objects = registry.object_types().map(|(class, holder)| {
        let holder = cell_of(holder).into();
        with(Record::new("Object"), [("class", names.class(class)), ("holder", holder)])
    });
    let entries = classes.chain(traits).chain(objects);
    entries.map(|it| (known_by(&it).to_string(), it.into())).collect()
}

/// Reads the sections of a lock.
pub(super) fn read(text: &str) -> Result<Vec<Section>> {
    let damaged = |what: &str| {
        error!(
            ErrorKind::Damaged,
            "the lock: {what}; restore it from version control, or mend it by hand"
        )
    };
    let lock: Value = text.parse().map_err(|error: Error| damaged(error.message()))?;
    let [format, versions] =
        parts(&lock, "Lock", ["format", "versions"]).map_err(|it| damaged(&it))?;
    match format.and_then(Value::as_u64) {
        Some(format @ 1..) if format <= u64::from(FORMAT) => {}
        Some(format @ 1..) => {
            bail!(
                ErrorKind::NewerFormat,
                "the lock has format {format}, this library reads up to {FORMAT}; use a newer version of it"
            );
        }
        _ => return Err(damaged("it has no `format`, a number of 1 or more")),
    }
    sections(versions).map_err(|what| damaged(&what))
}

fn sections(versions: Option<&Value>) -> Read<Vec<Section>> {
    let mut entries = SectionEntries::new();
    let (mut sections, mut names) = (Vec::<Section>::new(), HashSet::new());
    for version in list(versions, "versions")? {
        let [name, removed, added] = parts(version, "Version", ["name", "removed", "added"])?;
        let version = text(name, "name")?;
        if !names.insert(version) {
            return Err(format!("version {version} stands there twice"));
        }
        let section = enter(removed, added, &mut entries)
            .and_then(|()| section(version, entries.clone()))
            .map_err(|what| format!("version {version}: {what}"));
        sections.push(section?);
    }
    Ok(sections)
}

/// Makes the entries of a version those of the next one.
fn enter(removed: Option<&Value>, added: Option<&Value>, entries: &mut SectionEntries) -> Read<()> {
    let key = |entry: &Value| entry.as_record().map(|entry| known_by(entry).to_string());
    if let Some(removed) = removed {
        for gone in list(Some(removed), "removed")? {
            if key(gone).and_then(|key| entries.remove(&key)).is_none() {
                return Err(format!("{} was not in the version before", shown(gone)));
            }
        }
    }
    let mut own = HashSet::new();
    for entry in list(added, "added")? {
        let class = entry.as_record().map(Record::class);
        let key = key(entry).filter(|_| matches!(class, Some("Class" | "Trait" | "Object")));
        let Some(key) = key else {
            return Err(format!("{} is no `Class`, `Trait` or `Object`", shown(entry)));
        };
        if !own.insert(key.clone()) {
            return Err(format!("{} stands there twice", shown(entry)));
        }
        entries.insert(key, entry.clone());
    }
    Ok(())
}

/// The section of a version that has these entries.
pub(super) fn section(version: &str, entries: SectionEntries) -> Read<Section> {
    let all = |of: &'static str| {
        entries.values().filter(move |it| it.as_record().is_some_and(|it| it.class() == of))
    };
    let mut reader = ClassReader::default();
    let classes = reader.classes(all("Class"))?;
    let traits = all("Trait").map(|entry| {
        let [name, of] = parts(entry, "Trait", ["name", "classes"])?;
        let of = list(of, "classes")?.iter().map(|class| reader.class(class));
        let of = of.collect::<Read<Vec<usize>>>()?;
        let name = text(name, "name")?.to_owned();
        if of.iter().collect::<HashSet<_>>().len() < of.len() {
            return Err(format!("trait {name}: a class of it stands there twice"));
        }
        Ok((name, of))
    });
    let traits = traits.collect::<Read<Vec<_>>>()?;
    let objects = all("Object").map(|entry| {
        let [class, in_holder] = parts(entry, "Object", ["class", "holder"])?;
        let class = class.ok_or("an `Object` has no `class`")?;
        Ok((reader.class(class)?, holder(in_holder)?))
    });
    let mut objects = objects.collect::<Read<Vec<(usize, Holder)>>>()?;
    objects.sort_unstable();
    if objects.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(String::from("an object stands there twice"));
    }
    drop(reader);
    Ok(Section { version: version.to_owned(), entries, classes, traits, objects })
}
