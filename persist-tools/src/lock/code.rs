//! The code of a version: the attributes that convert, create or refuse values.

use std::collections::{BTreeMap, HashMap};

use persist::__tools::{KindSchema, Program};
use persist::reflect::{Kind, VariantRecord};
use persist::{Record, Value};

use super::{ClassCode, ConvertCode, FieldCode};
use crate::classes::{Read, list, parts, text, with};

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
pub(super) fn kind_text(kind: &KindSchema, classes: &[persist::__tools::ClassSchema]) -> String {
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
        (0..program.classes.len()).map(|class| (class, Self::new(program, class))).collect()
    }

    /// Returns the code of a class of a program.
    pub(super) fn new(program: &Program, class: usize) -> Self {
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
                let mut found = FieldCode {
                    attributes: said(number),
                    converts: converts.collect(),
                    ..FieldCode::default()
                };
                // Attributes of its type, or of types inside of it, are code of the field.
                found.attributes.extend(field.type_code.is_some().then(|| field.type_code.text()));
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

    /// Returns the attribute that migrates records of one version more. `version` is the version of the class then, and
    /// each version before it has a step.
    pub(super) fn migrate_with(
        &self,
        version: u32,
        step: u32,
        function: &str,
        is_raised: bool,
    ) -> String {
        let mut all = self.steps();
        all.insert(step, function);
        for step in 1..version {
            all.entry(step).or_insert(function);
        }
        let all: Vec<_> = all.iter().map(|(step, by)| format!("{step} = {by}")).collect();
        let raised = if is_raised { format!("version = {version}, ") } else { String::new() };
        format!("#[persist({raised}migrate({}))]", all.join(", "))
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
        let all: Vec<String> = all.map(|attribute| in_places(attribute)).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    pub(super) fn given_default(&self) -> Option<&str> {
        self.attributes.iter().map(|it| &**it).find(|attribute| attribute.starts_with("default"))
    }
}

/// An attribute without the containers and the paths in its value, each module in its place: `(with = seconds, _)` for
/// `with = "Vec<(time::seconds, _)>"`.
fn in_places(attribute: &str) -> String {
    let Some((name, of)) = attribute.split_once(" = ") else { return attribute.to_owned() };
    // The code of a type has its places already.
    if name.contains([':', '(']) {
        return attribute.to_owned();
    }
    let plain: String =
        of.chars().filter(|letter| !letter.is_whitespace() && *letter != '"').collect();
    places(name, &plain)
}

fn places(name: &str, of: &str) -> String {
    let inside = |open: char, close: char| of.strip_prefix(open)?.strip_suffix(close);
    if of == "_" {
        return String::from("_");
    }
    let parts = if let Some(parts) = inside('(', ')') {
        parts
    } else if let Some(array) = inside('[', ']') {
        return places(name, array.split(';').next().unwrap_or(array));
    } else if let Some((container, arguments)) =
        of.strip_suffix('>').and_then(|of| of.split_once('<'))
    {
        if !CONTAINERS.contains(&last_part(container)) {
            return format!("{name} = {}", last_part(of));
        }
        arguments
    } else {
        return format!("{name} = {}", last_part(of));
    };
    let parts: Vec<String> = split(parts).into_iter().map(|part| places(name, part)).collect();
    match &parts[..] {
        [only] => only.clone(),
        all => format!("({})", all.join(", ")),
    }
}

/// Containers whose elements are stored by a module. One may replace another.
const CONTAINERS: [&str; 16] = [
    "Option",
    "Box",
    "Vec",
    "VecDeque",
    "LinkedList",
    "BinaryHeap",
    "HashMap",
    "HashSet",
    "BTreeMap",
    "BTreeSet",
    "IndexMap",
    "IndexSet",
    "Cell",
    "RefCell",
    "Mutex",
    "RwLock",
];

/// The arguments of a type or the parts of a tuple.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.is_empty());
    parts
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
