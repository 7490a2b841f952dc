//! The code of a version: the attributes that convert, create or refuse values.

use std::collections::{BTreeMap, HashMap};

use crate::format::as_value::{Read, list, parts, text, with};
use crate::reflect::{Kind, VariantRecord};
use crate::schema::{KindSchema, Program};
use crate::value::{Record, Value};

/// The code of a class in one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ClassCode {
    /// `migrate` and `validate`, as they stand in the source.
    pub(super) attributes: Vec<String>,
    /// The names of `removed` fields and variants. A field of a variant follows the name of the variant.
    pub(super) removed: Vec<String>,
    /// By the name of the field, after that of its variant.
    pub(super) fields: BTreeMap<String, FieldCode>,
}

/// The code of a field in one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FieldCode {
    /// `with` and its like, and `default`, as they stand in the source.
    pub(super) attributes: Vec<String>,
    pub(super) converts: Vec<ConvertCode>,
}

/// One part of a `convert`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConvertCode {
    /// The kind that it takes.
    pub(super) takes: String,
    /// The function; `None` if the kind is taken as it is.
    pub(super) by: Option<String>,
    /// The last version of the class that stored the kind.
    pub(super) until: Option<u32>,
}

impl ConvertCode {
    /// The name of the function, without the modules in which it lies.
    pub(super) fn function(&self) -> Option<&str> {
        self.by.as_deref().map(last_part)
    }

    /// True if it takes what a version of the class stored as this kind.
    pub(super) fn takes_of(&self, kind: &str, version: u32) -> bool {
        self.takes == kind && self.until.is_none_or(|until| version <= until)
    }
}

/// A kind as the code of a version names it: how compact its numbers are says nothing about what they mean.
pub(super) fn kind_text(kind: &KindSchema, classes: &[crate::schema::ClassSchema]) -> String {
    kind.display(classes).replace("compact ", "")
}

/// The name of a function, without the modules in which it lies.
pub(super) fn last_part(function: &str) -> &str {
    function.rsplit("::").next().unwrap_or(function)
}

/// A field's name, after that of its variant.
pub(super) fn path(variant: Option<&str>, name: &str) -> String {
    variant.map_or_else(|| name.to_owned(), |variant| format!("{variant}.{name}"))
}

impl ClassCode {
    /// Returns the code of all classes of a program.
    pub(super) fn all(program: &Program) -> HashMap<usize, Self> {
        (0..program.classes.len()).map(|class| (class, Self::of(program, class))).collect()
    }

    /// Returns the code of a class of a program.
    pub(super) fn of(program: &Program, class: usize) -> Self {
        let Some(target) = program.targets[class] else { return Self::default() };
        let described = target.class;
        let said = |of: usize| {
            let of_it = described.code.iter().filter(move |(it, _)| *it == of);
            of_it.map(|(_, text)| (*text).to_owned()).collect::<Vec<_>>()
        };
        let mut code = Self { attributes: said(0), ..Self::default() };
        code.removed.extend(described.removed.iter().map(|name| (*name).to_owned()));
        let whole = [(None, described.fields())];
        let of_variant = |it: &'static VariantRecord| (Some(it.name), it.fields);
        let rows = whole.into_iter().filter(|_| described.variants().is_empty());
        let rows: Vec<_> = rows.chain(described.variants().iter().map(of_variant)).collect();
        for variant in described.variants() {
            code.removed.extend(variant.removed.iter().map(|name| path(Some(variant.name), name)));
        }
        let mut number = 0;
        for (row, (variant, fields)) in rows.into_iter().enumerate() {
            for (at, field) in fields.iter().enumerate() {
                number += 1;
                let kinds = program.old_kinds.get(&(class, row, at)).map_or(&[][..], |it| it);
                let converts = field.converts.iter().zip(kinds).map(|(from, kind)| ConvertCode {
                    takes: kind_text(kind, &program.classes),
                    by: from.function.map(str::to_owned),
                    until: from.version,
                });
                let mut found =
                    FieldCode { attributes: said(number), converts: converts.collect() };
                // Attributes of its type, or of types inside of it, are code of the field.
                let of_type = field.type_code.texts().into_iter();
                found.attributes.extend(of_type.map(str::to_owned));
                // The default of the whole struct counts, too. Every option has one, which is no code.
                let is_given = field.has_default && !field.keeps_unknown;
                let is_option = matches!(field.kind(), Kind::Option(_));
                if is_given && !is_option && found.given_default().is_none() {
                    found.attributes.push(String::from("default"));
                }
                if found != FieldCode::default() {
                    code.fields.insert(path(variant, field.name), found);
                }
            }
        }
        code
    }

    /// The entry of it for a class.
    pub(super) fn entry(&self, class: Value) -> Record {
        let texts = |texts: &[String]| Value::Seq(texts.iter().map(|it| (&**it).into()).collect());
        let mut entry = with(Record::new("Code"), [("class", class)]);
        if !self.attributes.is_empty() {
            entry.push("attributes", texts(&self.attributes));
        }
        if !self.removed.is_empty() {
            entry.push("removed", texts(&self.removed));
        }
        let fields = self.fields.iter().map(|(name, code)| ((&**name).into(), code.value()));
        let fields: Vec<(Value, Value)> = fields.collect();
        if !fields.is_empty() {
            entry.push("fields", Value::Map(fields));
        }
        entry
    }

    /// Reads it from its entry.
    pub(super) fn read(entry: &Value) -> Read<Self> {
        let names = ["class", "attributes", "removed", "fields"];
        let [_, attributes, removed, fields] = parts(entry, "Code", names)?;
        let fields = match fields {
            None => BTreeMap::new(),
            Some(Value::Map(fields)) => fields
                .iter()
                .map(|(name, code)| Ok((text(Some(name), "fields")?.to_owned(), field(code)?)))
                .collect::<Read<_>>()?,
            Some(_) => return Err(String::from("`fields` of a `Code` are no map")),
        };
        Ok(Self { attributes: texts(attributes)?, removed: texts(removed)?, fields })
    }

    /// The functions that migrate older records, each by the version that it takes.
    pub(super) fn steps(&self) -> BTreeMap<u32, &str> {
        let lists = self.attributes.iter().filter_map(|attribute| {
            attribute.strip_prefix("migrate(").and_then(|rest| rest.strip_suffix(')'))
        });
        let steps = lists.flat_map(|list| list.split(", "));
        steps
            .filter_map(|step| {
                let (version, function) = step.split_once(" = ")?;
                Some((version.parse().ok()?, function))
            })
            .collect()
    }

    /// The attribute that migrates records of one version more, of a class that may be raised for it.
    pub(super) fn migrate_with(&self, raised: Option<u32>, step: u32, function: &str) -> String {
        let mut all: Vec<_> = self.steps().into_iter().chain([(step, function)]).collect();
        all.sort_unstable();
        let all: Vec<_> = all.iter().map(|(step, by)| format!("{step} = {by}")).collect();
        let version = raised.map(|version| format!("version = {version}, ")).unwrap_or_default();
        format!("#[persist({version}migrate({}))]", all.join(", "))
    }

    /// Returns the functions that upgrade records to the next version of the class, by the version that they take and
    /// by their attribute: `migrate`, or the `convert` of a field.
    pub(super) fn raises(&self) -> BTreeMap<(u32, String), &str> {
        let steps = self.steps().into_iter();
        let steps = steps.map(|(step, by)| ((step, String::from("migrate")), last_part(by)));
        let converts = self.fields.iter().flat_map(|(path, code)| {
            code.converts.iter().filter_map(move |it| {
                Some(((it.until?, format!("{path} from {}", it.takes)), it.function()?))
            })
        });
        steps.chain(converts).collect()
    }

    /// The function that checks values.
    pub(super) fn validate(&self) -> Option<&str> {
        self.attributes.iter().find_map(|attribute| attribute.strip_prefix("validate = "))
    }
}

impl FieldCode {
    fn value(&self) -> Value {
        let converts = self.converts.iter().map(|ConvertCode { takes, by, until }| {
            let mut convert = with(Record::new("Convert"), [("takes", (&**takes).into())]);
            by.iter().for_each(|by| convert.push("by", (&**by).into()));
            until.iter().for_each(|until| convert.push("until", (*until).into()));
            convert.into()
        });
        let attributes = self.attributes.iter().map(|attribute| (&**attribute).into());
        Value::Seq(attributes.chain(converts).collect())
    }

    /// How the field is stored as another type, without the modules in which things lie: they may move.
    pub(super) fn module(&self) -> Option<String> {
        let all = self.attributes.iter().filter(|it| !it.starts_with("default"));
        let all: Vec<String> = all.map(|attribute| without_modules(attribute)).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    pub(super) fn given_default(&self) -> Option<&str> {
        self.attributes.iter().map(|it| &**it).find(|attribute| attribute.starts_with("default"))
    }
}

/// An attribute, with the last parts of the paths in its value.
fn without_modules(attribute: &str) -> String {
    let (name, of) = attribute.split_once(" = ").unwrap_or((attribute, ""));
    let mut plain = String::new();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let of: String = of.split_whitespace().collect();
    for part in of.split("::") {
        plain.truncate(plain.trim_end_matches(is_word).len());
        plain.push_str(part);
    }
    let plain = plain.trim_matches('"');
    if plain.is_empty() { name.to_owned() } else { format!("{name} = {plain}") }
}

fn texts(value: Option<&Value>) -> Read<Vec<String>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let texts = list(Some(value), "attributes")?.iter();
    texts.map(|it| Ok(text(Some(it), "attributes")?.to_owned())).collect()
}

fn field(code: &Value) -> Read<FieldCode> {
    let mut found = FieldCode::default();
    for part in list(Some(code), "fields")? {
        if let Some(attribute) = part.as_text() {
            found.attributes.push(attribute.to_owned());
            continue;
        }
        let [takes, by, until] = parts(part, "Convert", ["takes", "by", "until"])?;
        let until = until.map(|it| it.as_u64().and_then(|it| u32::try_from(it).ok()));
        let until = until.map(|it| it.ok_or("`until` is no version of a class")).transpose()?;
        let by = by.map(|by| text(Some(by), "by").map(str::to_owned)).transpose()?;
        let takes = text(takes, "takes")?.to_owned();
        found.converts.push(ConvertCode { takes, by, until });
    }
    Ok(found)
}
