//! The text of a lock: that of one [`Value`], in which each version has what was not so in the version before.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::Arc;

use super::section::{Section, SectionEntries, cell_of};
use crate::format::{KIND_DEPTH, SCALARS};
use crate::graph::Registry;
use crate::reflect::{ClassId, Holder, Integer};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema, inner_first};
use crate::value::{Record, Value};
use crate::{Error, ErrorKind, Result};

/// The newest format of locks.
const FORMAT: u32 = 2;

/// The class of the values that are kinds.
const KIND: &str = "kind";

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

fn with<const N: usize>(mut record: Record, fields: [(&str, Value); N]) -> Record {
    fields.into_iter().for_each(|(name, value)| record.push(name, value));
    record
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
    let names = ClassNames(&registry.program().classes);
    let classes = names.0.iter().map(|class| {
        let (name, id) = ((&*class.name).into(), class.id.to_string().into());
        let head = [("name", name), ("id", id), ("version", class.version.into())];
        let form = match &class.form {
            Form::Struct(fields) => ("fields", names.fields(fields)),
            Form::Value(kind) => ("value", names.kind(kind)),
            Form::Enum(variants) => {
                let fields = |it: &VariantSchema| ((&*it.name).into(), names.fields(&it.fields));
                ("variants", Value::Map(variants.iter().map(fields).collect()))
            }
        };
        with(with(Record::new("Class"), head), [form])
    });
    let traits = registry.trait_classes().map(|(name, mut classes)| {
        classes.sort_by_key(|class| (&names.0[*class].name, names.0[*class].id));
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

/// How the classes of a program are named in the text.
struct ClassNames<'c>(&'c [ClassSchema]);

impl ClassNames<'_> {
    /// The name of a class, with its id if others have the name too.
    fn class(&self, class: usize) -> Value {
        let class = &self.0[class];
        let mut mention = Record::new(&*class.name);
        if self.0.iter().any(|other| other.name == class.name && other.id != class.id) {
            mention.push("id", class.id.to_string().into());
        }
        mention.into()
    }

    fn fields(&self, fields: &[FieldSchema]) -> Value {
        let entry = |field: &FieldSchema| {
            let name = Value::from(&*field.name);
            let key = match field.id {
                Some(id) => Value::Tuple(vec![name, id.into()]),
                None => name,
            };
            (key, self.kind(&field.kind))
        };
        Value::Map(fields.iter().map(entry).collect())
    }

    fn kind(&self, kind: &KindSchema) -> Value {
        let word =
            |word: &str, of: Value| with(Record::of_variant(KIND, word), [("of", of)]).into();
        let pointer = |holder: &Holder, weak: bool, to: Value| {
            let pointer = Record::of_variant(KIND, if weak { "Weak" } else { "Strong" });
            with(pointer, [("holder", cell_of(*holder).into()), ("to", to)]).into()
        };
        match kind {
            KindSchema::Unit => Value::Unit,
            KindSchema::Option(inner) => Value::Option(Some(Box::new(self.kind(inner)))),
            KindSchema::List(inner) => Value::Seq(vec![self.kind(inner)]),
            KindSchema::Array(inner, len) => {
                Value::Seq(vec![self.kind(inner), Value::U64(*len as u64)])
            }
            KindSchema::Set(inner) => word("Set", self.kind(inner)),
            KindSchema::Map(parts) => {
                Value::Map(vec![(self.kind(&parts[0]), self.kind(&parts[1]))])
            }
            KindSchema::Tuple(parts) => {
                Value::Tuple(parts.iter().map(|part| self.kind(part)).collect())
            }
            KindSchema::Class(class) => self.class(*class),
            KindSchema::Reference { holder, weak, class } => {
                pointer(holder, *weak, self.class(*class))
            }
            KindSchema::TraitReference { holder, weak, name } => {
                pointer(holder, *weak, word("Dyn", (&**name).into()))
            }
            KindSchema::Dynamic(name) => word("Dyn", (&**name).into()),
            KindSchema::Handle(name) => word("Handle", (&**name).into()),
            // The words of the kinds without parts are the library's own.
            scalar => scalar.display(&[]).into(),
        }
    }
}

/// What is wrong with a lock, and where.
type TextResult<T> = std::result::Result<T, String>;

/// Reads the sections of a lock.
pub(super) fn read(text: &str) -> Result<Vec<Section>> {
    let damaged = |what: &str| {
        Error::new(
            ErrorKind::Damaged,
            format!("the lock: {what}; restore it from version control, or mend it by hand"),
        )
    };
    let lock: Value = text.parse().map_err(|error: Error| damaged(error.message()))?;
    let [format, versions] =
        parts(&lock, "Lock", ["format", "versions"]).map_err(|it| damaged(&it))?;
    match format.and_then(Value::as_u64) {
        Some(format @ 1..) if format <= u64::from(FORMAT) => {}
        Some(format @ 1..) => {
            return Err(Error::new(
                ErrorKind::NewerFormat,
                format!(
                    "the lock has format {format}, this library reads up to {FORMAT}; use a newer version of it"
                ),
            ));
        }
        _ => return Err(damaged("it has no `format`, a number of 1 or more")),
    }
    sections(versions).map_err(|what| damaged(&what))
}

fn sections(versions: Option<&Value>) -> TextResult<Vec<Section>> {
    let mut entries = SectionEntries::new();
    let mut sections: Vec<Section> = Vec::new();
    for version in list(versions, "versions")? {
        let [name, removed, added] = parts(version, "Version", ["name", "removed", "added"])?;
        let version = text(name, "name")?;
        if sections.iter().any(|section| section.version == version) {
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
fn enter(
    removed: Option<&Value>,
    added: Option<&Value>,
    entries: &mut SectionEntries,
) -> TextResult<()> {
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
pub(super) fn section(version: &str, entries: SectionEntries) -> TextResult<Section> {
    let all = |of: &'static str| {
        entries.values().filter(move |it| it.as_record().is_some_and(|it| it.class() == of))
    };
    let (mut reader, mut heads, mut ids) = (KindReader::default(), Vec::new(), HashSet::new());
    for entry in all("Class") {
        let names = ["name", "id", "version", "fields", "variants", "value"];
        let [name, id, version, fields, variants, value] = parts(entry, "Class", names)?;
        let (name, id) = (text(name, "name")?, class_id(id)?);
        let version = version.and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
        let version = version
            .filter(|version| *version > 0)
            .ok_or_else(|| format!("class {name}: its `version` is no number from 1 on"))?;
        if !ids.insert(id) {
            return Err(format!("class id {id} stands there twice"));
        }
        reader.known.entry(name).or_default().push((id, heads.len()));
        heads.push((name, id, version, [fields, variants, value]));
    }
    let classes = heads.into_iter().map(|(name, id, version, form)| {
        let form = reader.form(form).map_err(|what| format!("class {name}: {what}"))?;
        Ok(ClassSchema { id, name: name.to_owned(), version, form })
    });
    let classes = classes.collect::<TextResult<Vec<_>>>()?;
    let traits = all("Trait").map(|entry| {
        let [name, of] = parts(entry, "Trait", ["name", "classes"])?;
        let of = list(of, "classes")?.iter().map(|class| reader.class(class));
        let of = of.collect::<TextResult<Vec<usize>>>()?;
        let name = text(name, "name")?.to_owned();
        if of.iter().collect::<HashSet<_>>().len() < of.len() {
            return Err(format!("trait {name}: a class of it stands there twice"));
        }
        Ok((name, of))
    });
    let traits = traits.collect::<TextResult<Vec<_>>>()?;
    let objects = all("Object").map(|entry| {
        let [class, in_holder] = parts(entry, "Object", ["class", "holder"])?;
        let class = class.ok_or("an `Object` has no `class`")?;
        Ok((reader.class(class)?, holder(in_holder)?))
    });
    let mut objects = objects.collect::<TextResult<Vec<(usize, Holder)>>>()?;
    objects.sort_unstable();
    if objects.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(String::from("an object stands there twice"));
    }
    if let Err(class) = inner_first(&classes) {
        let name = &classes[class].name;
        return Err(format!("class {name} holds itself by value, without an end"));
    }
    drop(reader);
    Ok(Section { version: version.to_owned(), entries, classes, traits, objects })
}

/// Reads what mentions the classes of a version.
#[derive(Default)]
struct KindReader<'v> {
    /// By their names.
    known: HashMap<&'v str, Vec<(ClassId, usize)>>,
}

impl KindReader<'_> {
    /// The class that a record without fields names.
    fn class(&self, mention: &Value) -> TextResult<usize> {
        let Value::Struct(record) = mention else {
            return Err(format!("{} is no class, such as `Hero {{}}`", shown(mention)));
        };
        let name = record.class();
        let [id] = parts(mention, name, ["id"])?;
        let id = id.map(|id| class_id(Some(id))).transpose()?;
        let found = self.known.get(name).map_or(&[][..], |found| found);
        let mut found = found.iter().filter(|(known, _)| id.is_none_or(|id| id == *known));
        match (found.next(), found.next()) {
            (Some((_, class)), None) => Ok(*class),
            (None, _) => Err(format!("there is no such class {}", shown(mention))),
            _ => Err(format!(
                "there are several classes {name}; say which, as in `{name} {{ id: \"0x7\" }}`"
            )),
        }
    }

    fn form(&self, form: [Option<&Value>; 3]) -> TextResult<Form> {
        match form {
            [Some(fields), None, None] => Ok(Form::Struct(self.fields(fields)?)),
            [None, Some(Value::Map(variants)), None] => {
                let count = variants.len();
                if count == 0 || count > 1 << 16 {
                    return Err(format!("an enum has {count} variants, not 1 to 65536"));
                }
                let variant = |(name, fields): &(Value, Value)| {
                    let name = text(Some(name), "variants")?.to_owned();
                    let fields = self.fields(fields).map_err(|what| format!("{name}: {what}"))?;
                    Ok(VariantSchema { name, fields })
                };
                let variants = variants.iter().map(variant).collect::<TextResult<Vec<_>>>()?;
                unique(variants.iter().map(|variant| &*variant.name))?;
                Ok(Form::Enum(variants))
            }
            [None, None, Some(value)] => Ok(Form::Value(self.kind(value, KIND_DEPTH)?)),
            _ => Err(String::from("it has none of `fields`, `variants` and `value`, or several")),
        }
    }

    fn fields(&self, fields: &Value) -> TextResult<Vec<FieldSchema>> {
        let Value::Map(fields) = fields else {
            return Err(format!("{} are no fields with their kinds", shown(fields)));
        };
        let field = |(key, kind): &(Value, Value)| {
            let (name, id) = match key {
                Value::Tuple(parts) => match &parts[..] {
                    [name, id] => (name, id.as_u64().and_then(|id| u32::try_from(id).ok())),
                    _ => (key, None),
                },
                name => (name, None),
            };
            let Some(name) = name.as_text().filter(|_| id.is_some() || key.as_text().is_some())
            else {
                return Err(format!(
                    "{} is no field, such as `\"hp\"` or `(\"hp\", 3)`",
                    shown(key)
                ));
            };
            let name = name.to_owned();
            let kind = self.kind(kind, KIND_DEPTH).map_err(|what| format!("{name}: {what}"))?;
            Ok(FieldSchema { name, id, kind })
        };
        let fields = fields.iter().map(field).collect::<TextResult<Vec<_>>>()?;
        unique(fields.iter().map(|field| &*field.name))?;
        Ok(fields)
    }

    fn kind(&self, value: &Value, depth: u32) -> TextResult<KindSchema> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(format!("a kind is nested deeper than {KIND_DEPTH}"));
        };
        let inner = |part: &Value| self.kind(part, depth);
        Ok(match value {
            Value::Unit => KindSchema::Unit,
            Value::Option(Some(part)) => KindSchema::Option(Arc::new(inner(part)?)),
            Value::Seq(parts) => match &parts[..] {
                [part] => KindSchema::List(Arc::new(inner(part)?)),
                [part, len] => {
                    let len = len.as_u64().and_then(|len| usize::try_from(len).ok());
                    let len = len.ok_or("the length of an array is no number from 0 on")?;
                    KindSchema::Array(Arc::new(inner(part)?), len)
                }
                _ => return Err(format!("{} is no kind", shown(value))),
            },
            Value::Map(parts) if parts.len() == 1 => {
                let (key, value) = &parts[0];
                KindSchema::Map(Arc::new([inner(key)?, inner(value)?]))
            }
            Value::Tuple(parts) => {
                KindSchema::Tuple(parts.iter().map(inner).collect::<TextResult<_>>()?)
            }
            Value::Struct(_) => KindSchema::Class(self.class(value)?),
            Value::Enum(record) => return self.word(value, record.variant(), depth),
            Value::Text(word) => scalars()
                .find(|scalar| scalar.display(&[]) == *word)
                .ok_or_else(|| format!("there is no kind {}", shown(value)))?,
            _ => return Err(format!("{} is no kind", shown(value))),
        })
    }

    /// A kind that begins with a word.
    fn word(&self, value: &Value, word: Option<&str>, depth: u32) -> TextResult<KindSchema> {
        let [of, in_holder, to] = parts(value, KIND, ["of", "holder", "to"])?;
        let name = || text(of, "of").map(Arc::from);
        Ok(match (word.unwrap_or_default(), of, to) {
            ("Dyn", ..) => KindSchema::Dynamic(name()?),
            ("Handle", ..) => KindSchema::Handle(name()?),
            ("Set", Some(of), _) => KindSchema::Set(Arc::new(self.kind(of, depth)?)),
            (word @ ("Strong" | "Weak"), _, Some(to)) => {
                let (holder, weak) = (holder(in_holder)?, word == "Weak");
                match self.kind(to, depth)? {
                    KindSchema::Class(class) => KindSchema::Reference { holder, weak, class },
                    KindSchema::Dynamic(name) => KindSchema::TraitReference { holder, weak, name },
                    _ => return Err(format!("{} leads to no class or trait", shown(value))),
                }
            }
            _ => return Err(format!("{} is no kind", shown(value))),
        })
    }
}

/// The kinds without parts.
fn scalars() -> impl Iterator<Item = KindSchema> {
    let compact = Integer::ALL.into_iter().map(KindSchema::Compact);
    SCALARS.into_iter().chain([KindSchema::Unknown]).chain(compact)
}

fn holder(value: Option<&Value>) -> TextResult<Holder> {
    let word = text(value, "holder")?;
    let mut all = (0..=u8::MAX).filter_map(Holder::from_code).filter(|it| it.parts().is_some());
    all.find(|holder| cell_of(*holder) == word)
        .ok_or_else(|| format!("there is no pointer `{}`", word.escape_debug()))
}

fn class_id(value: Option<&Value>) -> TextResult<ClassId> {
    let digits = text(value, "id")?.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    let id = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    id.map(ClassId).ok_or_else(|| String::from("an `id` is none of a class, such as \"0x7\""))
}

fn unique<'n>(names: impl Iterator<Item = &'n str>) -> TextResult<()> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(format!("{name} stands there twice"));
        }
    }
    Ok(())
}

/// The fields of a record of a class, by their names; there must be no others.
fn parts<'v, const N: usize>(
    value: &'v Value,
    class: &str,
    names: [&str; N],
) -> TextResult<[Option<&'v Value>; N]> {
    let Some(record) = value.as_record().filter(|record| record.class() == class) else {
        return Err(format!("{} stands where `{class}` is expected", shown(value)));
    };
    match record.fields().find(|(name, _)| !names.contains(name)) {
        Some((other, _)) => Err(format!("`{class}` has no field `{other}`")),
        None => Ok(names.map(|name| record.get(name))),
    }
}

fn text<'v>(value: Option<&'v Value>, name: &str) -> TextResult<&'v str> {
    value.and_then(Value::as_text).ok_or_else(|| format!("`{name}` has no text"))
}

fn list<'v>(value: Option<&'v Value>, name: &str) -> TextResult<&'v [Value]> {
    match value {
        Some(Value::Seq(values)) => Ok(values),
        _ => Err(format!("`{name}` is no list")),
    }
}

/// A value, or the beginning of a long one.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 60 { text } else { text.chars().take(60).chain("...".chars()).collect() }
}
