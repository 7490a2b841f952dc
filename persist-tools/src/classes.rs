//! Converts class definitions to values, whose text people read, and back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use persist::__tools::{
    Cell, ClassSchema, FieldSchema, Form, Integer, KIND_DEPTH, KindSchema, SCALARS, VariantSchema,
    inner_first,
};
use persist::reflect::{ClassId, Holder};
use persist::{Record, Value};

/// The class name of values that describe kinds.
const KIND: &str = "kind";

/// A value, or a description of the mistake in the text that it is read from.
pub(crate) type Read<T> = std::result::Result<T, String>;

/// The names of the classes of a program or a save.
pub(crate) struct ClassNames<'c> {
    classes: &'c [ClassSchema],
    /// The names that several classes share.
    shared: HashSet<&'c str>,
}

impl<'c> ClassNames<'c> {
    /// Creates the names of these classes.
    pub(crate) fn new(classes: &'c [ClassSchema]) -> Self {
        let mut seen = HashSet::new();
        let is_shared = |name: &&'c str| !seen.insert(*name);
        let shared = classes.iter().map(|class| &*class.name).filter(is_shared).collect();
        Self { classes, shared }
    }

    /// Returns the whole definition of a class.
    pub(crate) fn definition(&self, class: &ClassSchema) -> Record {
        let (name, id) = ((&*class.name).into(), class.id.to_string().into());
        let head = [("name", name), ("id", id), ("version", class.version.into())];
        let since = class.since.map(|since| ("since", since.into()));
        let form = match &class.form {
            Form::Struct(fields) => ("fields", self.fields(fields)),
            Form::Value(kind) => ("value", self.kind(kind)),
            Form::Enum(variants) => {
                let fields = |it: &VariantSchema| ((&*it.name).into(), self.fields(&it.fields));
                ("variants", Value::Map(variants.iter().map(fields).collect()))
            }
        };
        let mut record = with(Record::new("Class"), head);
        since.into_iter().for_each(|(name, since)| record.push(name, since));
        with(record, [form])
    }

    /// Returns the name of a class, with its id if other classes share the name.
    pub(crate) fn class(&self, class: usize) -> Value {
        let class = &self.classes[class];
        let mut mention = Record::new(&*class.name);
        if self.shared.contains(&*class.name) {
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
            |word: &str, of: Value| with(Record::with_variant(KIND, word), [("of", of)]).into();
        let pointer = |holder: &Holder, weak: bool, to: Value| {
            let pointer = Record::with_variant(KIND, if weak { "Weak" } else { "Strong" });
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
            // Kinds without parts have the library's own words.
            scalar => scalar.display(&[]).into(),
        }
    }
}

/// Reads class definitions, and references to classes.
#[derive(Default)]
pub(crate) struct ClassReader<'v> {
    /// The id and index of each class, by its name.
    known: HashMap<&'v str, Vec<(ClassId, usize)>>,
}

impl<'v> ClassReader<'v> {
    /// Reads the classes that [`ClassNames::definition`] describes.
    ///
    /// # Errors
    ///
    /// Returns a description of the mistake in the value.
    pub(crate) fn classes(
        &mut self,
        entries: impl Iterator<Item = &'v Value>,
    ) -> Read<Vec<ClassSchema>> {
        let (mut heads, mut ids) = (Vec::new(), HashSet::new());
        for entry in entries {
            let names = ["name", "id", "version", "since", "fields", "variants", "value"];
            let [name, id, version, since, fields, variants, value] = parts(entry, "Class", names)?;
            let (name, id) = (text(name, "name")?, class_id(id)?);
            let version = version.and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
            let version = version
                .filter(|version| *version > 0)
                .ok_or_else(|| format!("class {name}: its `version` is no number from 1 on"))?;
            let number = |since: &Value| since.as_u64().and_then(|it| u32::try_from(it).ok());
            let is_right = |since: &u32| (1..=version).contains(since);
            let since = match since {
                None => None,
                Some(since) => Some(number(since).filter(is_right).ok_or_else(|| {
                    format!("class {name}: its `since` is no number from 1 to its version")
                })?),
            };
            if !ids.insert(id) {
                return Err(format!("class id {id} stands there twice"));
            }
            self.known.entry(name).or_default().push((id, heads.len()));
            heads.push((name, id, (version, since), [fields, variants, value]));
        }
        let classes = heads.into_iter().map(|(name, id, (version, since), form)| {
            let form = self.form(form).map_err(|what| format!("class {name}: {what}"))?;
            Ok(ClassSchema { id, name: name.to_owned(), version, since, form })
        });
        let classes = classes.collect::<Read<Vec<_>>>()?;
        if let Err(class) = inner_first(&classes) {
            let name = &classes[class].name;
            return Err(format!("class {name} holds itself by value, without an end"));
        }
        Ok(classes)
    }

    /// Returns the class that a record without fields names.
    ///
    /// # Errors
    ///
    /// Returns a description of the mistake in the value.
    pub(crate) fn class(&self, mention: &Value) -> Read<usize> {
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

    /// Reads a kind that begins with a word.
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

/// Iterates over the kinds without parts.
fn scalars() -> impl Iterator<Item = KindSchema> {
    let compact = Integer::ALL.into_iter().map(KindSchema::Compact);
    SCALARS.into_iter().chain([KindSchema::Unknown]).chain(compact)
}

/// Returns the text of a holder without its target, such as `Rc<RefCell>`.
pub(crate) fn cell_of(holder: Holder) -> String {
    match holder.parts() {
        Some((pointer, Cell::None)) => format!("{pointer:?}"),
        Some((pointer, cell)) => format!("{pointer:?}<{cell:?}>"),
        None => String::new(),
    }
}

/// Reads a holder, such as `Rc<RefCell>`.
///
/// # Errors
///
/// Returns a description of the mistake in the value.
pub(crate) fn holder(value: Option<&Value>) -> Read<Holder> {
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

/// Adds these fields to a record.
pub(crate) fn with<const N: usize>(mut record: Record, fields: [(&str, Value); N]) -> Record {
    fields.into_iter().for_each(|(name, value)| record.push(name, value));
    record
}

/// Returns the fields of a record of a class by their names. Returns an error if it has other fields.
///
/// # Errors
///
/// Returns a description of the mistake in the value.
pub(crate) fn parts<'v, const N: usize>(
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

/// Returns the text of a field.
///
/// # Errors
///
/// Returns a description of the mistake in the value.
pub(crate) fn text<'v>(value: Option<&'v Value>, name: &str) -> Read<&'v str> {
    value.and_then(Value::as_text).ok_or_else(|| format!("`{name}` has no text"))
}

/// Returns the elements of a field that is a list.
///
/// # Errors
///
/// Returns a description of the mistake in the value.
pub(crate) fn list<'v>(value: Option<&'v Value>, name: &str) -> Read<&'v [Value]> {
    match value {
        Some(Value::Seq(values)) => Ok(values),
        _ => Err(format!("`{name}` is no list")),
    }
}

/// Returns the text of a value, or the beginning of a long one.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 60 { text } else { text.chars().take(60).chain("...".chars()).collect() }
}
