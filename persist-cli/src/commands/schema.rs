//! `persist schema`.

use std::io::Write;
use std::path::PathBuf;

use persist::debug::escape;
use persist_tools::{ClassSchema, FieldSchema, Form, KindSchema};
use serde::Serialize;
use serde_json::Value as Json;

use crate::exit::{Outcome, Result};
use crate::input::{Damage, Source};
use crate::output::{DIM, HEADING, NAME, Out};
use crate::{json_schema, rust};

/// Show the classes that a save defines: as a table, as Rust types, or as JSON Schema
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,

    /// Print Rust types to paste into a project, which load the save.
    #[arg(long, conflicts_with_all = ["json_schema", "json"])]
    rust: bool,

    /// Print a JSON Schema of the values as `--json` and `convert` write them.
    #[arg(long)]
    json_schema: bool,
    #[command(flatten)]
    damage: Damage,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut source = Source::open(&args.file)?;
    let (mut save, read) = source.save(&args.damage)?;
    if args.rust {
        write!(out, "{}", rust::types(&mut save)?)?;
        return Ok(read);
    }
    let classes = save.classes();
    if args.json_schema {
        out.json(&json_schema::json_schema(classes))?;
    } else if out.is_json() {
        let shown = classes.iter().map(|class| Class::of(class, classes)).collect::<Vec<_>>();
        out.json(&shown)?;
    } else {
        for (number, class) in classes.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            print(class, classes, out)?;
        }
    }
    Ok(read)
}

fn print(class: &ClassSchema, classes: &[ClassSchema], out: &mut Out) -> Result<()> {
    let what = match class.form {
        Form::Struct(_) => "struct",
        Form::Enum(_) => "enum",
        _ => "value",
    };
    let name = out.styled(NAME, &class.name);
    let since = class.since.map_or_else(String::new, |since| format!(", since {since}"));
    let rest = format!("version {}{since}, id {:#018x}", class.version, class.id.0);
    let (what, rest) = (out.styled(HEADING, what), out.styled(DIM, rest));
    writeln!(out, "{what} {name}  {rest}")?;
    match &class.form {
        Form::Struct(fields) => print_fields(fields, classes, "  ", out)?,
        Form::Enum(variants) => {
            for variant in variants {
                writeln!(out, "  {}", escape::line(&variant.name))?;
                print_fields(&variant.fields, classes, "    ", out)?;
            }
        }
        Form::Value(kind) => writeln!(out, "  {}", escape::line(&kind.display(classes)))?,
    }
    Ok(())
}

fn print_fields(
    fields: &[FieldSchema],
    classes: &[ClassSchema],
    indent: &str,
    out: &mut Out,
) -> Result<()> {
    let names: Vec<String> = fields
        .iter()
        .map(|field| match field.id {
            Some(id) => format!("{} = {id}", escape::line(&field.name)),
            None => escape::line(&field.name).into_owned(),
        })
        .collect();
    // A hostile save has names of any length.
    let width = names.iter().map(|name| name.chars().count().min(40)).max().unwrap_or(0);
    for (field, name) in fields.iter().zip(names) {
        let kind = field.kind.display(classes);
        writeln!(out, "{indent}{name:width$}  {}", escape::line(&kind))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Class<'c> {
    name: &'c str,
    id: String,
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u32>,
    form: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<Field<'c>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variants: Option<Vec<Variant<'c>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Json>,
}

#[derive(Serialize)]
struct Field<'c> {
    name: &'c str,
    number: Option<u32>,
    rust: String,
    kind: Json,
}

#[derive(Serialize)]
struct Variant<'c> {
    name: &'c str,
    fields: Vec<Field<'c>>,
}

impl<'c> Class<'c> {
    fn of(class: &'c ClassSchema, classes: &[ClassSchema]) -> Self {
        let fields = |fields: &'c [FieldSchema]| {
            let field = |field: &'c FieldSchema| Field {
                name: &field.name,
                number: field.id,
                rust: field.kind.display(classes),
                kind: kind(&field.kind),
            };
            fields.iter().map(field).collect::<Vec<_>>()
        };
        let mut shown = Self {
            name: &class.name,
            // More bits than every reader of JSON takes.
            id: format!("{:#018x}", class.id.0),
            version: class.version,
            since: class.since,
            form: "value",
            fields: None,
            variants: None,
            kind: None,
        };
        match &class.form {
            Form::Struct(list) => (shown.form, shown.fields) = ("struct", Some(fields(list))),
            Form::Enum(variants) => {
                let variants = variants
                    .iter()
                    .map(|it| Variant { name: &it.name, fields: fields(&it.fields) });
                (shown.form, shown.variants) = ("enum", Some(variants.collect()));
            }
            Form::Value(of) => shown.kind = Some(kind(of)),
        }
        shown
    }
}

/// A kind as JSON: its name, or an object with `kind` and what belongs to it.
fn kind(of: &KindSchema) -> Json {
    use KindSchema as K;
    let container = |name: &str, parts: Vec<&KindSchema>| {
        let parts: Vec<Json> = parts.into_iter().map(kind).collect();
        serde_json::json!({ "kind": name, "of": parts })
    };
    match of {
        K::Option(part) => container("option", vec![part]),
        K::List(part) => container("list", vec![part]),
        K::Set(part) => container("set", vec![part]),
        K::Map(parts) => container("map", parts.iter().collect()),
        K::Tuple(parts) => container("tuple", parts.iter().collect()),
        K::Array(part, len) => {
            serde_json::json!({ "kind": "array", "of": [kind(part)], "length": len })
        }
        K::Class(class) => serde_json::json!({ "kind": "class", "class": class }),
        K::Reference { holder, weak, class } => serde_json::json!({
            "kind": "reference", "holder": holder.type_name(false, "_"), "weak": weak, "class": class,
        }),
        K::TraitReference { holder, weak, name } => serde_json::json!({
            "kind": "reference", "holder": holder.type_name(false, "_"), "weak": weak, "trait": &**name,
        }),
        K::Dynamic(name) => serde_json::json!({ "kind": "dynamic", "trait": &**name }),
        K::Handle(name) => serde_json::json!({ "kind": "handle", "arena": &**name }),
        K::Text => "text".into(),
        K::Unit => "unit".into(),
        K::Unknown => "unknown".into(),
        scalar => scalar.display(&[]).into(),
    }
}
