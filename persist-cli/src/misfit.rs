//! Says why a new value does not fit, in the terms of the person who typed it.

use persist::{Record, Value};
use persist_tools::{ClassSchema, Form};

use crate::exit::{Failure, Result};
use crate::input::Save;
use crate::path::{component_text, push_name};
use crate::shown::short;
use crate::values::{innermost, parts};

/// The most names that a message lists.
const MAX_NAMED: usize = 20;

/// Returns an error if a value cannot replace another one, and more can be said about it than the library does.
pub(crate) fn check(label: &str, old: &Value, new: &Value, save: &Save<'_>) -> Result<()> {
    let classes = save.classes();
    let is_none = matches!((old, new), (Value::Option(_), Value::Option(None)));
    let (old, value) = (innermost(old), innermost(new));
    let what = match (old.as_record(), value.as_record()) {
        (Some(old), None) if !is_none => Some(no_record(label, old, value, classes)),
        _ => unknown_variant(value, classes),
    };
    match what {
        Some(what) => Err(Failure::new(what)),
        None => Ok(()),
    }
}

/// Adds the variants that there are to the reason why a text is no value.
pub(crate) fn explained(what: String, old: &Value, save: &Save<'_>) -> Failure {
    match innermost(old) {
        Value::Enum(record) => {
            let variants = variants(record.class(), save.classes());
            Failure::new(format!("{what}; {} has {variants}", component_text(record.class())))
        }
        _ => Failure::new(what),
    }
}

/// Says how to write a struct or an enum in whose place another value was typed.
fn no_record(label: &str, old: &Record, new: &Value, classes: &[ClassSchema]) -> String {
    let (class, new) = (component_text(old.class()), short(new));
    let place = if label.is_empty() { "." } else { label };
    let head = format!("{new} cannot replace {place}, which is a {class}");
    if old.variant().is_some() {
        let variants = variants(old.class(), classes);
        return format!("{head}; write one of its variants: {variants}");
    }
    let Some((first, _)) = old.fields().next() else { return format!("{head}, without fields") };
    let mut path = String::from(label);
    push_name(&mut path, first);
    if old.len() == 1 {
        return format!("{head}; set {path}, or write {class} {{ {first}: {new} }}");
    }
    let names = listed(old.fields().map(|(name, _)| name.to_owned()));
    format!("{head} with the fields {names}; set one of them, such as {path}")
}

/// Describes a variant in a value that its enum does not have, or that stands there without its enum.
fn unknown_variant(new: &Value, classes: &[ClassSchema]) -> Option<String> {
    let mut open = vec![new];
    while let Some(value) = open.pop() {
        open.extend(parts(value).into_iter().map(|(_, part)| part));
        let Some(record) = value.as_record() else { continue };
        let mut of_name = classes.iter().filter(|class| *class.name == *record.class()).peekable();
        let Some(variant) = record.variant() else {
            let is_known = of_name.peek().is_some();
            let of_enum = classes.iter().find(|class| has_variant(class, record.class()));
            let Some(class) = of_enum.filter(|_| !is_known) else { continue };
            let (class, name) = (component_text(&class.name), record.class());
            let fields = if record.is_empty() { "" } else { " { .. }" };
            return Some(format!("{name} is a variant of {class}; write {class}::{name}{fields}"));
        };
        let enums = of_name.filter(|class| matches!(class.form, Form::Enum(_)));
        let enums: Vec<_> = enums.collect();
        if !enums.is_empty() && !enums.iter().any(|class| has_variant(class, variant)) {
            let (class, variants) = (record.class(), variants(record.class(), classes));
            return Some(format!("{class} has no variant {variant}; it has {variants}"));
        }
    }
    None
}

fn has_variant(class: &ClassSchema, name: &str) -> bool {
    matches!(&class.form, Form::Enum(variants) if variants.iter().any(|it| *it.name == *name))
}

/// Lists the variants of an enum as they are written.
fn variants(class: &str, classes: &[ClassSchema]) -> String {
    let variants = classes.iter().filter(|it| *it.name == *class).flat_map(|it| match &it.form {
        Form::Enum(variants) => &variants[..],
        _ => &[],
    });
    listed(variants.map(|variant| {
        let fields: Vec<&str> = variant.fields.iter().map(|field| &*field.name).collect();
        match &fields[..] {
            [] => variant.name.to_string(),
            fields => format!("{} {{ {} }}", variant.name, fields.join(", ")),
        }
    }))
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.take(MAX_NAMED + 1).collect();
    if names.len() > MAX_NAMED {
        names[MAX_NAMED] = String::from("..");
    }
    names.join(", ")
}
