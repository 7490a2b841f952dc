//! The classes of a save as types of other languages: Rust, and JSON Schema.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use persist::save::{ClassSchema, FieldSchema, Form, KindSchema};
use serde_json::{Map, Value as Json, json};

/// Rust types that load the save, as far as it shows them.
pub(crate) fn rust(classes: &[ClassSchema]) -> String {
    let names = Names::of(classes);
    let mut text = String::from("use persist::Persist;\n");
    let mut foreign = Vec::new();
    for (class, schema) in classes.iter().enumerate() {
        let Some(name) = names.own.get(&class) else {
            foreign.push(&schema.name);
            continue;
        };
        text.push('\n');
        // Writing to a `String` cannot fail.
        let _ = names.class(schema, name, classes, &mut text);
    }
    if !foreign.is_empty() {
        text.push_str("\n// Of the library, or of types that stand for themselves:\n");
        for name in foreign {
            let _ = writeln!(text, "// {}", name.replace(char::is_control, "?"));
        }
    }
    text
}

/// Names of Rust types for classes, each another.
struct Names {
    own: HashMap<usize, String>,
}

/// Classes that the library itself has types for.
const KNOWN: [&str; 10] = [
    "Duration",
    "SystemTime",
    "IpAddr",
    "SocketAddr",
    "Range",
    "RangeInclusive",
    "RangeFrom",
    "RangeTo",
    "RangeToInclusive",
    "Result",
];

impl Names {
    fn of(classes: &[ClassSchema]) -> Self {
        let mut taken = HashSet::new();
        let mut own = HashMap::new();
        for (class, schema) in classes.iter().enumerate() {
            let base = schema.name.split('<').next().unwrap_or_default();
            let is_known = KNOWN.contains(&base) || schema.name.starts_with("persist.");
            // What was kept of an object is none of the program's types.
            if is_known || matches!(schema.form, Form::Value(_)) {
                continue;
            }
            let last = schema.name.split('<').next().unwrap_or_default();
            let last = last.rsplit(['.', ':']).next().unwrap_or_default();
            let mut name = identifier(last, true);
            if schema.name.contains('<') {
                name = identifier(&schema.name.replace(['.', ':'], "_"), true);
            }
            let mut free = name.clone();
            for number in 2.. {
                if taken.insert(free.clone()) {
                    break;
                }
                free = format!("{name}{number}");
            }
            own.insert(class, free);
        }
        Self { own }
    }

    fn class(
        &self,
        schema: &ClassSchema,
        name: &str,
        classes: &[ClassSchema],
        out: &mut String,
    ) -> std::fmt::Result {
        writeln!(out, "#[derive(Persist)]")?;
        let mut attributes = Vec::new();
        if schema.name != name {
            attributes.push(format!("class = {:?}", schema.name));
        }
        if schema.id != persist::reflect::ClassId::of(&schema.name) {
            attributes.push(format!("id = {:#x}", schema.id.0));
        }
        if schema.version != 1 {
            attributes.push(format!("version = {}", schema.version));
        }
        if !attributes.is_empty() {
            writeln!(out, "#[persist({})]", attributes.join(", "))?;
        }
        match &schema.form {
            Form::Struct(fields) => {
                let is_tuple = is_tuple(fields);
                write!(out, "pub struct {name}")?;
                self.fields(fields, classes, "pub ", 0, out)?;
                if is_tuple {
                    out.push(';');
                }
                out.push('\n');
            }
            Form::Enum(variants) => {
                writeln!(out, "pub enum {name} {{")?;
                for variant in variants {
                    let known = identifier(&variant.name, true);
                    if known != variant.name {
                        writeln!(out, "    #[persist(rename = {:?})]", variant.name)?;
                    }
                    write!(out, "    {known}")?;
                    if !variant.fields.is_empty() {
                        self.fields(&variant.fields, classes, "", 1, out)?;
                    }
                    out.push_str(",\n");
                }
                out.push_str("}\n");
            }
            _ => {}
        }
        Ok(())
    }

    fn fields(
        &self,
        fields: &[FieldSchema],
        classes: &[ClassSchema],
        visibility: &str,
        level: usize,
        out: &mut String,
    ) -> std::fmt::Result {
        if is_tuple(fields) {
            let kinds = fields.iter().map(|field| {
                let (attribute, kind) = self.field(field, classes);
                let attribute = attribute.map_or(String::new(), |it| format!("#[persist({it})] "));
                format!("{attribute}{visibility}{kind}")
            });
            return write!(out, "({})", kinds.collect::<Vec<_>>().join(", "));
        }
        let indent = "    ".repeat(level);
        out.push_str(" {\n");
        for field in fields {
            let known = identifier(&field.name, false);
            let (attribute, kind) = self.field(field, classes);
            let mut attributes = Vec::new();
            if known.trim_start_matches("r#") != field.name {
                attributes.push(format!("rename = {:?}", field.name));
            }
            attributes.extend(attribute);
            if !attributes.is_empty() {
                writeln!(out, "{indent}    #[persist({})]", attributes.join(", "))?;
            }
            writeln!(out, "{indent}    {visibility}{known}: {kind},")?;
        }
        write!(out, "{indent}}}")
    }

    /// The attributes of a field, and its type.
    fn field(&self, field: &FieldSchema, classes: &[ClassSchema]) -> (Option<String>, String) {
        let mut attributes = Vec::new();
        attributes.extend(field.id.map(|id| format!("id = {id}")));
        if has_compact(&field.kind) {
            attributes.push("compact".into());
        }
        let attributes = (!attributes.is_empty()).then(|| attributes.join(", "));
        (attributes, self.kind(&field.kind, classes))
    }

    fn class_name(&self, class: usize, classes: &[ClassSchema]) -> String {
        match self.own.get(&class) {
            Some(name) => name.clone(),
            None => match classes.get(class).map(|class| &class.form) {
                Some(Form::Value(kind)) if !matches!(kind, KindSchema::Class(_)) => {
                    let name = &classes[class].name;
                    // The type that has this name, such as `Vec<Hero>` and `str`.
                    if name.is_empty() { self.kind(kind, classes) } else { name.clone() }
                }
                _ => classes.get(class).map_or("()".into(), |class| known_type(&class.name)),
            },
        }
    }

    fn kind(&self, kind: &KindSchema, classes: &[ClassSchema]) -> String {
        use KindSchema as K;
        match kind {
            K::Option(part) => format!("Option<{}>", self.kind(part, classes)),
            K::List(part) => format!("Vec<{}>", self.kind(part, classes)),
            K::Set(part) => format!("std::collections::HashSet<{}>", self.kind(part, classes)),
            K::Map(parts) => {
                let [key, value] = [0, 1].map(|part| self.kind(&parts[part], classes));
                format!("std::collections::HashMap<{key}, {value}>")
            }
            K::Array(part, len) => format!("[{}; {len}]", self.kind(part, classes)),
            K::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.kind(part, classes)).collect();
                let comma = if parts.len() == 1 { "," } else { "" };
                format!("({}{comma})", parts.join(", "))
            }
            K::Class(class) => self.class_name(*class, classes),
            K::Reference { holder, weak, class } => {
                with_paths(&holder.around(*weak, &self.class_name(*class, classes)))
            }
            K::TraitReference { holder, weak, name } => {
                with_paths(&holder.around(*weak, &format!("dyn {}", identifier(name, true))))
            }
            K::Dynamic(name) => format!("Box<dyn {}>", identifier(name, true)),
            K::Handle(_) => match kind.display(classes) {
                name if name == "ObjectId" => "persist::ObjectId".into(),
                name => format!("persist::{name}"),
            },
            K::Unknown => "persist::Unknown".into(),
            scalar => scalar.display(classes).trim_start_matches("compact ").to_owned(),
        }
    }
}

/// The pointers of the standard library by their whole names.
fn with_paths(pointer: &str) -> String {
    let (outer, inner) = pointer.split_once('<').unwrap_or((pointer, ""));
    let outer = match outer {
        "Rc" => "std::rc::Rc",
        "Weak" => "std::rc::Weak",
        "Arc" => "std::sync::Arc",
        "sync::Weak" => "std::sync::Weak",
        other => other,
    };
    let cells = [
        ("RefCell<", "std::cell::RefCell<"),
        ("Cell<", "std::cell::Cell<"),
        ("OnceCell<", "std::cell::OnceCell<"),
        ("Mutex<", "std::sync::Mutex<"),
        ("RwLock<", "std::sync::RwLock<"),
        ("OnceLock<", "std::sync::OnceLock<"),
    ];
    let cell = cells.iter().find(|(cell, _)| inner.starts_with(cell));
    let inner = match cell {
        Some((cell, whole)) => format!("{whole}{}", &inner[cell.len()..]),
        None => inner.to_owned(),
    };
    format!("{outer}<{inner}")
}

/// A type of the standard library, or of this one, by the name of its class.
fn known_type(name: &str) -> String {
    match name {
        "persist.World" => "persist::World".into(),
        "Duration" | "SystemTime" => format!("std::time::{name}"),
        "IpAddr" | "SocketAddr" => format!("std::net::{name}"),
        name if name.starts_with("Range") => format!("std::ops::{name}"),
        name => name.to_owned(),
    }
}

fn is_tuple(fields: &[FieldSchema]) -> bool {
    !fields.is_empty() && fields.iter().enumerate().all(|(i, field)| field.name == i.to_string())
}

fn has_compact(kind: &KindSchema) -> bool {
    match kind {
        KindSchema::Compact(_) => true,
        KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
            has_compact(part)
        }
        KindSchema::Array(part, _) => has_compact(part),
        KindSchema::Map(parts) => parts.iter().any(has_compact),
        KindSchema::Tuple(parts) => parts.iter().any(has_compact),
        _ => false,
    }
}

/// A name that Rust takes.
fn identifier(name: &str, is_type: bool) -> String {
    const KEYWORDS: [&str; 40] = [
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum",
        "extern", "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move",
        "mut", "pub", "ref", "return", "self", "Self", "static", "struct", "super", "trait",
        "true", "type", "unsafe", "use", "where", "while", "gen", "try",
    ];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut known: String = name.chars().map(|c| if is_part(c) { c } else { '_' }).collect();
    while is_type && known.ends_with('_') {
        known.pop();
    }
    if known.is_empty() || known.starts_with(|c: char| c.is_ascii_digit()) {
        known.insert(0, if is_type { 'T' } else { '_' });
    }
    if known == "_" {
        known.push('_');
    }
    match known.as_str() {
        "self" | "Self" | "crate" | "super" => format!("{known}_"),
        keyword if KEYWORDS.contains(&keyword) => format!("r#{known}"),
        _ => known,
    }
}

/// A JSON Schema of the objects of a save, as `--json` and `convert` write them.
pub(crate) fn json_schema(classes: &[ClassSchema]) -> Json {
    let mut definitions = Map::new();
    let keys = keys(classes);
    for (class, schema) in classes.iter().enumerate() {
        definitions.insert(keys[&class].clone(), class_schema(schema, &keys, classes));
    }
    let any: Vec<Json> = (0..classes.len()).map(|class| reference(&keys, class)).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "values of the classes of a save",
        "anyOf": any,
        "$defs": definitions,
    })
}

/// A key for each class: its name, with a number if another has it.
fn keys(classes: &[ClassSchema]) -> BTreeMap<usize, String> {
    let mut taken = HashSet::new();
    let key = |(class, schema): (usize, &ClassSchema)| {
        let mut key = schema.name.clone();
        if !taken.insert(key.clone()) {
            key = format!("{key}#{class}");
        }
        (class, key)
    };
    classes.iter().enumerate().map(key).collect()
}

fn reference(keys: &BTreeMap<usize, String>, class: usize) -> Json {
    let key = keys.get(&class).map_or("", String::as_str);
    let key = key.replace('~', "~0").replace('/', "~1").replace('%', "%25");
    json!({ "$ref": format!("#/$defs/{key}") })
}

fn class_schema(
    class: &ClassSchema,
    keys: &BTreeMap<usize, String>,
    classes: &[ClassSchema],
) -> Json {
    let object = |variant: Option<&str>, fields: &[FieldSchema]| {
        let mut properties = Map::new();
        properties.insert("$class".into(), json!({ "const": class.name }));
        let mut required = vec![Json::from("$class")];
        if let Some(variant) = variant {
            properties.insert("$variant".into(), json!({ "const": variant }));
            required.push("$variant".into());
        }
        for field in fields {
            let name = match field.name.strip_prefix('$') {
                Some(_) => format!("${}", field.name),
                None => field.name.clone(),
            };
            properties.insert(name.clone(), kind_schema(&field.kind, keys, classes));
            required.push(name.into());
        }
        json!({ "type": "object", "properties": properties, "required": required })
    };
    match &class.form {
        Form::Struct(fields) => object(None, fields),
        Form::Enum(variants) => {
            let all: Vec<Json> =
                variants.iter().map(|it| object(Some(&it.name), &it.fields)).collect();
            json!({ "oneOf": all })
        }
        Form::Value(kind) => kind_schema(kind, keys, classes),
        _ => Json::Bool(true),
    }
}

fn kind_schema(kind: &KindSchema, keys: &BTreeMap<usize, String>, classes: &[ClassSchema]) -> Json {
    use KindSchema as K;
    let of = |kind: &KindSchema| kind_schema(kind, keys, classes);
    // What JSON has no form for.
    let text =
        json!({ "type": "object", "properties": { "$": { "type": "string" } }, "required": ["$"] });
    let integer = |least: Option<i64>, most: Option<i64>| {
        let mut schema = json!({ "type": "integer" });
        if let (Some(least), Json::Object(map)) = (least, &mut schema) {
            map.insert("minimum".into(), least.into());
        }
        if let (Some(most), Json::Object(map)) = (most, &mut schema) {
            map.insert("maximum".into(), most.into());
        }
        schema
    };
    match kind {
        K::Bool => json!({ "type": "boolean" }),
        K::Text => json!({ "type": "string" }),
        K::F32 | K::F64 => json!({ "anyOf": [{ "type": "number" }, text] }),
        K::Option(part) if matches!(**part, K::Option(_)) => json!({ "anyOf": [
            { "type": "null" },
            { "type": "object", "properties": { "$some": of(part) }, "required": ["$some"] },
        ] }),
        K::Option(part) => json!({ "anyOf": [{ "type": "null" }, of(part)] }),
        K::List(part) | K::Set(part) if **part == K::U8 => {
            json!({ "anyOf": [{ "type": "array", "items": of(part) }, text] })
        }
        K::List(part) | K::Set(part) => json!({ "type": "array", "items": of(part) }),
        K::Array(part, _) if **part == K::U8 => text,
        K::Array(part, len) => {
            json!({ "type": "array", "items": of(part), "minItems": len, "maxItems": len })
        }
        K::Map(parts) if parts[0] == K::Text => {
            json!({ "type": "object", "additionalProperties": of(&parts[1]) })
        }
        K::Map(parts) => json!({ "type": "array", "items": {
            "type": "array", "prefixItems": [of(&parts[0]), of(&parts[1])], "minItems": 2, "maxItems": 2,
        } }),
        K::Tuple(parts) => {
            let (items, len) = (parts.iter().map(of).collect::<Vec<_>>(), parts.len());
            json!({ "type": "array", "prefixItems": items, "minItems": len, "maxItems": len })
        }
        K::Class(class) => reference(keys, *class),
        K::Dynamic(_) | K::Unknown => Json::Bool(true),
        K::U8 => integer(Some(0), Some(u8::MAX.into())),
        K::U16 => integer(Some(0), Some(u16::MAX.into())),
        K::U32 => integer(Some(0), Some(u32::MAX.into())),
        K::I8 => integer(Some(i8::MIN.into()), Some(i8::MAX.into())),
        K::I16 => integer(Some(i16::MIN.into()), Some(i16::MAX.into())),
        K::I32 => integer(Some(i32::MIN.into()), Some(i32::MAX.into())),
        K::U64 | K::U128 => json!({ "anyOf": [integer(Some(0), None), text] }),
        K::I64 | K::I128 => json!({ "anyOf": [integer(None, None), text] }),
        K::Compact(_) => match kind.display(classes).as_str() {
            "compact u16" => integer(Some(0), Some(u16::MAX.into())),
            "compact u32" => integer(Some(0), Some(u32::MAX.into())),
            "compact i16" => integer(Some(i16::MIN.into()), Some(i16::MAX.into())),
            "compact i32" => integer(Some(i32::MIN.into()), Some(i32::MAX.into())),
            "compact u64" => json!({ "anyOf": [integer(Some(0), None), text] }),
            _ => json!({ "anyOf": [integer(None, None), text] }),
        },
        // References, handles, characters, units.
        _ => text,
    }
}
