//! Reports attributes of serde beside the derive which would have no effect here, with the attribute that has the same
//! meaning.

use crate::ast::{Body, DefaultValue, Field, Given, Input, SerdeItem, Variant};
use crate::ctxt::Ctxt;

const MEANT: &str = "or `#[persist(ignore_serde)]` if the difference is meant";

/// Notes every difference, unless the type says that it is intended.
pub fn check(cx: &Ctxt, input: &Input) {
    if input.ignore_serde.is_some() {
        return;
    }
    of_type(cx, input);
    // A type that is stored as another type has no fields in a save.
    if input.via.is_some() {
        return;
    }
    let fields: Vec<&Field> = match &input.body {
        Body::Struct(fields) => fields.0.iter().collect(),
        // Serde has no counterpart for an `other` variant.
        Body::Enum(variants) => {
            let known = variants.iter().filter(|variant: &&Variant| variant.other.is_none());
            known.flat_map(|variant| &variant.fields.0).collect()
        }
    };
    for field in fields.into_iter().filter(|field| field.given("ignore_serde").is_none()) {
        skip(cx, field);
        default(cx, input, field);
        with(cx, field);
    }
}

fn of_type(cx: &Ctxt, input: &Input) {
    let find = |names: &[&str]| input.serde.iter().find(|item| names.contains(&&*item.value.name));
    if let (Some(Given { span, value }), None) = (find(&["from", "try_from", "into"]), &input.via) {
        let name = &value.name;
        let stored = value.value.as_deref().unwrap_or("Stored");
        cx.error(*span, format!("serde's `{name}` stores this type as another one, and `persist` would save its fields; write `#[persist(via = \"{stored}\")]`, {MEANT}"));
    }
    // A missing `Option` is `None`, which may differ from its value in the default.
    let is_missing =
        |field: &Field| field.default.is_none() && !field.inherits && field.unknown.is_none();
    if let (Some(Given { span, value }), Body::Struct(fields)) = (find(&["default"]), &input.body)
        && input.via.is_none()
        && input.transparent.is_none()
        && fields.0.iter().any(is_missing)
    {
        let line = default_line(value);
        cx.error(*span, format!("serde's `default` gives missing fields those of a default value, and `persist` is not told; write `#[persist({line})]`, {MEANT}"));
    }
}

/// The first item with one of these names that a field has.
fn find<'f>(field: &'f Field, names: &[&str]) -> Option<&'f Given<SerdeItem>> {
    field.serde.iter().find(|item| names.contains(&&*item.value.name))
}

fn skip(cx: &Ctxt, field: &Field) {
    let Some(Given { span, value }) =
        find(field, &["skip", "skip_serializing", "skip_deserializing"])
    else {
        return;
    };
    if !field.is_stored() || field.unknown.is_some() {
        return;
    }
    let name = &value.name;
    let default = match find(field, &["default"]) {
        Some(Given { value, .. }) if value.value.is_some() && field.default.is_none() => {
            format!(", {}", default_line(value))
        }
        _ => String::new(),
    };
    cx.error(*span, format!("serde's `{name}` leaves this field out, and `persist` would save it; write `#[persist(skip{default})]`, {MEANT}"));
}

fn default(cx: &Ctxt, input: &Input, field: &Field) {
    let Some(Given { span, value }) = find(field, &["default"]) else { return };
    let is_skipped = find(field, &["skip"]).is_some() && field.is_stored();
    let is_whole = input.transparent.is_some() && field.is_stored();
    // A skipped field has its default without an attribute, and a missing `Option` is `None`. Neither has a function.
    let has_own = match (&value.value, &field.default) {
        (None, default) => default.is_some() || !field.is_stored() || field.has_default(),
        (Some(_), Some(Given { value: DefaultValue::Std, .. })) => false,
        (Some(_), default) => default.is_some() || field.inherits,
    };
    if is_skipped || is_whole || has_own || field.unknown.is_some() {
        return;
    }
    let line = default_line(value);
    cx.error(*span, format!("serde's `default` says what this field has where it is missing, and `persist` is not told; write `#[persist({line})]`, {MEANT}"));
}

fn with(cx: &Ctxt, field: &Field) {
    let names = ["with", "serialize_with", "deserialize_with"];
    let Some(Given { span, value }) = find(field, &names) else { return };
    if !field.is_stored() || field.adapter().is_some() || find(field, &["skip"]).is_some() {
        return;
    }
    let SerdeItem { name, value } = value;
    let module = value.as_deref().filter(|_| name == "with").unwrap_or("my_module");
    cx.error(*span, format!("serde's `{name}` says how this field is stored, and `persist` would store it as its own type; write `#[persist(with = {module})]` and give the module `Stored`, `store` and `restore`, {MEANT}"));
}

fn default_line(item: &SerdeItem) -> String {
    match &item.value {
        Some(function) => format!("default = \"{function}\""),
        None => String::from("default"),
    }
}
