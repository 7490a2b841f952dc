//! The classes of a save as a JSON Schema.

use std::collections::{BTreeMap, HashSet};

use persist_tools::{ClassSchema, FieldSchema, Form, KindSchema};
use serde_json::{Map, Value as Json, json};

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
    let mut used = HashSet::new();
    let key = |(class, schema): (usize, &ClassSchema)| {
        let mut key = schema.name.clone();
        if !used.insert(key.clone()) {
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
    }
}

fn kind_schema(kind: &KindSchema, keys: &BTreeMap<usize, String>, classes: &[ClassSchema]) -> Json {
    use KindSchema as K;
    let of = |kind: &KindSchema| kind_schema(kind, keys, classes);
    // The schema of values that have no form in JSON: an object with the key `$`.
    let text =
        json!({ "type": "object", "properties": { "$": { "type": "string" } }, "required": ["$"] });
    let integer = |min: Option<i64>, max: Option<i64>| {
        let mut schema = json!({ "type": "integer" });
        if let (Some(min), Json::Object(map)) = (min, &mut schema) {
            map.insert("minimum".into(), min.into());
        }
        if let (Some(max), Json::Object(map)) = (max, &mut schema) {
            map.insert("maximum".into(), max.into());
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
