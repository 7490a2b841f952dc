//! The text of a lock: that of one [`Value`].

use std::collections::{BTreeSet, HashMap, HashSet};

use persist::reflect::Holder;
use persist::save::Registry;
use persist::{Error, ErrorKind, Record, Result, Value};

use super::{ClassCode, Section, SectionEntries};
use crate::classes::{
    ClassNames, ClassReader, Read, cell_of, holder, list, parts, shown, text, with,
};

/// The format of locks.
const FORMAT: u32 = 3;

/// A lock with these sections.
pub(super) fn write<'s>(sections: impl IntoIterator<Item = &'s Section>) -> Value {
    let versions = sections.into_iter().map(|Section { version, after, entries, .. }| {
        let after = Value::Seq(after.iter().map(|name| (&**name).into()).collect());
        let schemas = Value::Seq(entries.values().cloned().collect());
        let name = (&**version).into();
        let written = Record::new("Version");
        with(written, [("name", name), ("after", after), ("schemas", schemas)]).into()
    });
    let versions = Value::Seq(versions.collect());
    with(Record::new("Lock"), [("format", FORMAT.into()), ("versions", versions)]).into()
}

/// Returns the key that identifies a class, a trait or an object in other versions.
fn known_by(entry: &Record) -> Value {
    let mut key = Record::new(entry.class());
    for name in ["name", "id", "class", "holder"] {
        entry.get(name).into_iter().for_each(|value| key.push(name, value.clone()));
    }
    key.into()
}

/// Returns the entries of a program.
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
    let code = (0..registry.program().classes.len()).filter_map(|class| {
        let code = ClassCode::new(registry.program(), class);
        (code != ClassCode::default()).then(|| code.entry(names.class(class)))
    });
    let entries = classes.chain(traits).chain(objects).chain(code);
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
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) if format > u64::from(FORMAT) => {
            bail!(
                ErrorKind::NewerFormat,
                "the lock has format {format}, this library reads {FORMAT}; use a newer version of it"
            );
        }
        Some(format @ 1..) => {
            bail!(
                ErrorKind::Unsupported,
                "the lock has format {format}, of before the first release of this library, which reads {FORMAT}; delete it, and update it at each version that you have released"
            );
        }
        _ => return Err(damaged("it has no `format`, a number of 1 or more")),
    }
    sections(versions).map_err(|what| damaged(&what))
}

fn sections(versions: Option<&Value>) -> Read<Vec<Section>> {
    let mut sections = Vec::new();
    for version in list(versions, "versions")? {
        let [name, after, schemas] = parts(version, "Version", ["name", "after", "schemas"])?;
        let version = text(name, "name")?;
        let section = names(after)
            .and_then(|after| section(version, after, entries_of(schemas)?))
            .map_err(|what| format!("version {version}: {what}"));
        sections.push(section?);
    }
    in_order(sections)
}

/// The versions that one came after.
fn names(after: Option<&Value>) -> Read<BTreeSet<String>> {
    list(after, "after")?.iter().map(|name| Ok(text(Some(name), "after")?.to_owned())).collect()
}

/// The entries of a version, each by what it is known by.
fn entries_of(schemas: Option<&Value>) -> Read<SectionEntries> {
    let mut entries = SectionEntries::new();
    for entry in list(schemas, "schemas")? {
        let is_entry = |it: &&Record| ["Class", "Trait", "Object", "Code"].contains(&it.class());
        let Some(record) = entry.as_record().filter(is_entry) else {
            return Err(format!("{} is no `Class`, `Trait`, `Object` or `Code`", shown(entry)));
        };
        if entries.insert(known_by(record).to_string(), entry.clone()).is_some() {
            return Err(format!("{} stands there twice", shown(entry)));
        }
    }
    Ok(entries)
}

/// Sections in the order in which they came; those of branches by their names.
pub(super) fn in_order(sections: Vec<Section>) -> Read<Vec<Section>> {
    let mut places = HashMap::new();
    for (at, section) in sections.iter().enumerate() {
        if places.insert(section.version.clone(), at).is_some() {
            return Err(format!("version {} stands there twice", section.version));
        }
    }
    // How many versions that are there each still waits for, and those that wait for each. One that was deleted is not
    // there.
    let (mut waits, mut next) = (vec![0; sections.len()], vec![Vec::new(); sections.len()]);
    for (at, section) in sections.iter().enumerate() {
        for previous in section.after.iter().filter_map(|name| places.get(name)) {
            waits[at] += 1;
            next[*previous].push(at);
        }
    }
    let key = |at: usize, section: &Section| (by_number(&section.version), at);
    let ready = sections.iter().enumerate().filter(|(at, _)| waits[*at] == 0);
    let mut ready: BTreeSet<_> = ready.map(|(at, section)| key(at, section)).collect();
    let mut order = Vec::with_capacity(sections.len());
    while let Some((_, at)) = ready.pop_first() {
        order.push(at);
        for later in &next[at] {
            waits[*later] -= 1;
            if waits[*later] == 0 {
                ready.insert(key(*later, &sections[*later]));
            }
        }
    }
    if let Some(at) = waits.iter().position(|waits| *waits > 0) {
        return Err(format!("version {} came after itself", sections[at].version));
    }
    let mut sections: Vec<Option<Section>> = sections.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| sections[at].take()).collect())
}

/// A version such that 0.10.0 is after 0.9.0.
fn by_number(version: &str) -> Vec<(u64, String)> {
    let parts = version.split(|c: char| !c.is_ascii_alphanumeric());
    parts.map(|part| (part.parse().unwrap_or(u64::MAX), part.to_owned())).collect()
}

/// The section of a version that has these entries.
pub(super) fn section(
    version: &str,
    after: BTreeSet<String>,
    entries: SectionEntries,
) -> Read<Section> {
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
    let code = all("Code").map(|entry| {
        let class = entry.as_record().and_then(|it| it.get("class"));
        let class = class.ok_or("a `Code` has no `class`")?;
        Ok((reader.class(class)?, ClassCode::read(entry)?))
    });
    let code = code.collect::<Read<HashMap<usize, ClassCode>>>()?;
    drop(reader);
    Ok(Section { version: version.to_owned(), after, entries, classes, traits, objects, code })
}
