//! The text of a lock: that of one [`Value`], in which each version has what was not so in the version before.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::section::{Section, cell_of};
use crate::format::{KIND_DEPTH, SCALARS};
use crate::reflect::{ClassId, Holder, Integer};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema, inner_first};
use crate::value::{Record, Value};
use crate::{Error, ErrorKind, Result};

/// The newest format of locks.
const FORMAT: u32 = 2;

/// The class of the values that are kinds.
const KIND: &str = "kind";

/// What a version has, by the text of what each is known by.
type Entries = BTreeMap<String, Value>;

/// The sections, each as what differs from the one before.
pub(super) fn write(sections: &[Section]) -> Value {
    let mut before = Entries::new();
    let mut versions = Vec::new();
    for section in sections {
        let entries: Entries =
            entries(section).into_iter().map(|it| (known_by(&it).to_string(), it.into())).collect();
        let removed = before.iter().filter(|(key, _)| !entries.contains_key(*key));
        let removed: Vec<Value> =
            removed.filter_map(|(_, it)| Some(known_by(it.as_record()?))).collect();
        let added = entries.iter().filter(|(key, value)| before.get(*key) != Some(*value));
        let added = Value::Seq(added.map(|(_, value)| value.clone()).collect());
        let mut version = struct_of("Version", [("name", (&*section.version).into())]);
        if !removed.is_empty() {
            version.set("removed", Value::Seq(removed));
        }
        version.set("added", added);
        versions.push(version.into());
        before = entries;
    }
    struct_of("Lock", [("format", FORMAT.into()), ("versions", Value::Seq(versions))]).into()
}

fn struct_of<const N: usize>(class: &str, fields: [(&str, Value); N]) -> Record {
    let mut record = Record::new(class);
    fields.into_iter().for_each(|(name, value)| record.push(name, value));
    record
}

fn kind_of<const N: usize>(word: &str, fields: [(&str, Value); N]) -> Value {
    let mut record = Record::of_variant(KIND, word);
    fields.into_iter().for_each(|(name, value)| record.push(name, value));
    record.into()
}

/// What a class, a trait or an object is known by in the versions after it.
fn known_by(entry: &Record) -> Value {
    let mut key = Record::new(entry.class());
    for name in ["name", "id", "class", "holder"] {
        entry.get(name).into_iter().for_each(|value| key.push(name, value.clone()));
    }
    key.into()
}

fn entries(section: &Section) -> Vec<Record> {
    let names = Names(&section.classes);
    let classes = section.classes.iter().map(|class| {
        let id = class.id.to_string().into();
        let name = (&*class.name).into();
        let head = [("name", name), ("id", id), ("version", class.version.into())];
        let mut record = struct_of("Class", head);
        match &class.form {
            Form::Struct(fields) => record.push("fields", names.fields(fields)),
            Form::Value(kind) => record.push("value", names.kind(kind)),
            Form::Enum(variants) => {
                let fields = |it: &VariantSchema| ((&*it.name).into(), names.fields(&it.fields));
                record.push("variants", Value::Map(variants.iter().map(fields).collect()));
            }
        }
        record
    });
    let traits = section.traits.iter().map(|(name, classes)| {
        let classes = Value::Seq(classes.iter().map(|class| names.class(*class)).collect());
        struct_of("Trait", [("name", (&**name).into()), ("classes", classes)])
    });
    let objects = section.objects.iter().map(|(class, holder)| {
        let holder = cell_of(*holder).into();
        struct_of("Object", [("class", names.class(*class)), ("holder", holder)])
    });
    classes.chain(traits).chain(objects).collect()
}

/// How the classes of a section are named in it.
struct Names<'c>(&'c [ClassSchema]);

impl Names<'_> {
    /// The name of a class, with its id if others have the name too.
    fn class(&self, class: usize) -> Value {
        let Some(class) = self.0.get(class) else { return Value::Unit };
        let mut mention = Record::new(&*class.name);
        // The classes are in the order of names.
        let first = self.0.partition_point(|other| other.name < class.name);
        if self.0.get(first + 1).is_some_and(|next| next.name == class.name) {
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
        let dynamic = |name: &str| kind_of("Dyn", [("of", name.into())]);
        let pointer = |holder: &Holder, weak: bool, to: Value| {
            let word = if weak { "Weak" } else { "Strong" };
            kind_of(word, [("holder", cell_of(*holder).into()), ("to", to)])
        };
        match kind {
            KindSchema::Unit => Value::Unit,
            KindSchema::Option(inner) => Value::Option(Some(Box::new(self.kind(inner)))),
            KindSchema::List(inner) => Value::Seq(vec![self.kind(inner)]),
            KindSchema::Array(inner, len) => {
                Value::Seq(vec![self.kind(inner), Value::U64(*len as u64)])
            }
            KindSchema::Set(inner) => kind_of("Set", [("of", self.kind(inner))]),
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
                pointer(holder, *weak, dynamic(name))
            }
            KindSchema::Dynamic(name) => dynamic(name),
            KindSchema::Handle(name) => kind_of("Handle", [("of", (&**name).into())]),
            // The words of the kinds without parts are the library's own.
            scalar => scalar.display(&[]).into(),
        }
    }
}

/// What is wrong with a lock, and where.
type Read<T> = std::result::Result<T, String>;

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

fn sections(versions: Option<&Value>) -> Read<Vec<Section>> {
    let mut entries = Entries::new();
    let mut sections: Vec<Section> = Vec::new();
    for version in list(versions, "versions")? {
        let [name, removed, added] = parts(version, "Version", ["name", "removed", "added"])?;
        let version = text(name, "name")?.to_owned();
        if sections.iter().any(|section| section.version == version) {
            return Err(format!("version {version} stands there twice"));
        }
        let section =
            enter(removed, added, &mut entries).and_then(|()| section(&version, &entries));
        sections.push(section.map_err(|what| format!("version {version}: {what}"))?);
    }
    Ok(sections)
}

/// Makes the entries of a version those of the next one.
fn enter(removed: Option<&Value>, added: Option<&Value>, entries: &mut Entries) -> Read<()> {
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
        let key = key(entry).unwrap_or_default();
        if !own.insert(key.clone()) {
            return Err(format!("{} stands there twice", shown(entry)));
        }
        entries.insert(key, entry.clone());
    }
    Ok(())
}

/// What a version has.
fn section(version: &str, entries: &Entries) -> Read<Section> {
    let (mut heads, mut traits, mut objects) = (Vec::new(), Vec::new(), Vec::new());
    let mut ids = HashSet::new();
    for entry in entries.values() {
        match entry.as_record().map(Record::class) {
            Some("Class") => {
                let [name, id, version, fields, variants, value] = parts(
                    entry,
                    "Class",
                    ["name", "id", "version", "fields", "variants", "value"],
                )?;
                let (name, id) = (text(name, "name")?, class_id(id)?);
                let version = version.and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
                let version = version.filter(|version| *version > 0);
                let version = version
                    .ok_or_else(|| format!("class {name}: its `version` is no number from 1 on"))?;
                if !ids.insert(id) {
                    return Err(format!("class id {id} stands there twice"));
                }
                heads.push((name, id, version, [fields, variants, value]));
            }
            Some("Trait") => traits.push(parts(entry, "Trait", ["name", "classes"])?),
            Some("Object") => objects.push(parts(entry, "Object", ["class", "holder"])?),
            _ => return Err(format!("{} is no `Class`, `Trait` or `Object`", shown(entry))),
        }
    }
    let mut known: HashMap<&str, Vec<(ClassId, usize)>> = HashMap::new();
    for (class, (name, id, ..)) in heads.iter().enumerate() {
        known.entry(*name).or_default().push((*id, class));
    }
    let reader = KindReader { known };
    let class = |(name, id, version, form): &(&str, ClassId, u32, [Option<&Value>; 3])| {
        let form = reader.form(*form).map_err(|what| format!("class {name}: {what}"))?;
        Ok(ClassSchema { id: *id, name: (*name).to_owned(), version: *version, form })
    };
    let classes = heads.iter().map(class).collect::<Read<Vec<_>>>()?;
    let traits = traits.into_iter().map(|[name, classes]| {
        let classes = list(classes, "classes")?.iter().map(|class| reader.class(class));
        let classes = classes.collect::<Read<Vec<usize>>>()?;
        let name = text(name, "name")?.to_owned();
        if classes.iter().collect::<HashSet<_>>().len() < classes.len() {
            return Err(format!("trait {name}: a class of it stands there twice"));
        }
        Ok((name, classes))
    });
    let traits = traits.collect::<Read<Vec<_>>>()?;
    let objects = objects.into_iter().map(|[class, holder_of]| {
        let class = class.ok_or("an `Object` has no `class`")?;
        Ok((reader.class(class)?, holder(holder_of)?))
    });
    let objects = objects.collect::<Read<Vec<(usize, Holder)>>>()?;
    if objects.iter().collect::<HashSet<_>>().len() < objects.len() {
        return Err(String::from("an object stands there twice"));
    }
    if let Err(class) = inner_first(&classes) {
        let name = &classes[class].name;
        return Err(format!("class {name} holds itself by value, without an end"));
    }
    Ok(Section { version: version.to_owned(), classes, traits, objects }.in_order())
}

/// Reads what mentions the classes of a version.
struct KindReader<'v> {
    /// By their names.
    known: HashMap<&'v str, Vec<(ClassId, usize)>>,
}

impl KindReader<'_> {
    /// The class that a record without fields names.
    fn class(&self, mention: &Value) -> Read<usize> {
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

    fn form(&self, form: [Option<&Value>; 3]) -> Read<Form> {
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
                let variants = variants.iter().map(variant).collect::<Read<Vec<_>>>()?;
                unique(variants.iter().map(|variant| &*variant.name))?;
                Ok(Form::Enum(variants))
            }
            [None, None, Some(value)] => Ok(Form::Value(self.kind(value, KIND_DEPTH)?)),
            _ => Err(String::from("it has none of `fields`, `variants` and `value`, or several")),
        }
    }

    fn fields(&self, fields: &Value) -> Read<Vec<FieldSchema>> {
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
        let fields = fields.iter().map(field).collect::<Read<Vec<_>>>()?;
        unique(fields.iter().map(|field| &*field.name))?;
        Ok(fields)
    }

    fn kind(&self, value: &Value, depth: u32) -> Read<KindSchema> {
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
            Value::Tuple(parts) => KindSchema::Tuple(parts.iter().map(inner).collect::<Read<_>>()?),
            Value::Struct(_) => KindSchema::Class(self.class(value)?),
            Value::Enum(record) => return self.word(value, record.variant(), depth),
            Value::Text(word) => scalars()
                .find(|scalar| scalar.display(&[]) == *word)
                .ok_or_else(|| format!("there is no kind {}", shown(value)))?,
            _ => return Err(format!("{} is no kind", shown(value))),
        })
    }

    /// A kind that begins with a word.
    fn word(&self, value: &Value, word: Option<&str>, depth: u32) -> Read<KindSchema> {
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

fn holder(value: Option<&Value>) -> Read<Holder> {
    let word = text(value, "holder")?;
    let mut all = (0..=u8::MAX).filter_map(Holder::from_code).filter(|it| it.parts().is_some());
    all.find(|holder| cell_of(*holder) == word)
        .ok_or_else(|| format!("there is no pointer `{}`", word.escape_debug()))
}

fn class_id(value: Option<&Value>) -> Read<ClassId> {
    let digits = text(value, "id")?.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    let id = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    id.map(ClassId).ok_or_else(|| String::from("an `id` is none of a class, such as \"0x7\""))
}

fn unique<'n>(names: impl Iterator<Item = &'n str>) -> Read<()> {
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
) -> Read<[Option<&'v Value>; N]> {
    let Some(record) = value.as_record().filter(|record| record.class() == class) else {
        return Err(format!("{} stands where `{class}` is expected", shown(value)));
    };
    match record.fields().find(|(name, _)| !names.contains(name)) {
        Some((other, _)) => Err(format!("`{class}` has no field `{other}`")),
        None => Ok(names.map(|name| record.get(name))),
    }
}

fn text<'v>(value: Option<&'v Value>, name: &str) -> Read<&'v str> {
    value.and_then(Value::as_text).ok_or_else(|| format!("`{name}` has no text"))
}

fn list<'v>(value: Option<&'v Value>, name: &str) -> Read<&'v [Value]> {
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
