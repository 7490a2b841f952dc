//! Rules for the attributes that migrate older saves to the program's types.

use std::collections::HashMap;

use super::given;
use crate::ast::{Body, Convert, ConvertHow, Field, Fields, Given, Input, Variant};
use crate::ctxt::Ctxt;

/// Notes every mistake.
pub fn check(cx: &Ctxt, input: &Input) {
    // The check of transparent types reports attributes that they cannot have.
    if input.transparent.is_some() {
        return;
    }
    migration(cx, input);
    let version = input.version.as_ref().map_or(1, |given| given.value);
    match &input.body {
        Body::Struct(fields) => {
            ids(cx, fields);
            each(cx, fields, version);
            removed_fields(cx, &input.removed, fields);
        }
        Body::Enum(variants) => {
            others(cx, variants);
            removed_variants(cx, &input.removed, variants);
            for variant in variants {
                ids(cx, &variant.fields);
                removed_fields(cx, &variant.removed, &variant.fields);
                if let (Some(_), Some(Given { span, .. })) =
                    (&variant.other, variant.removed.first())
                {
                    cx.error(*span, "an `other` variant has no fields of its own that could go; name removed variants on the enum, or remove `removed`");
                }
                if variant.other.is_none() {
                    each(cx, &variant.fields, version);
                }
            }
        }
    }
}

/// Each version before the current one needs a step.
fn migration(cx: &Ctxt, input: &Input) {
    let Some(Given { span, value: steps }) = &input.migration else { return };
    let version = input.version.as_ref().map_or(1, |given| given.value);
    if version < 2 {
        cx.error(*span, "`migrate` brings records of older versions to the class's own, and before version 1 there is none; write `version = 2` or more, or remove `migrate`");
        return;
    }
    let mut next = 1;
    for step in steps {
        let Given { span, value: from } = step.from;
        if from == 0 {
            cx.error(span, "versions begin at 1, so no step is from version 0; remove it");
        } else if from >= version {
            cx.error(span, format!("a step from version {from} leads beyond the class, whose version is {version}; remove it or raise `version`"));
        } else if from < next {
            let message = if steps.iter().filter(|other| other.from.value == from).count() > 1 {
                format!("there are several steps from version {from}; remove all but one")
            } else {
                format!(
                    "steps stand in ascending order; put the one from version {from} before that from {}",
                    next - 1
                )
            };
            cx.error(span, message);
        } else {
            // A step that comes later in the list is out of order, not missing.
            let given = |version| steps.iter().any(|step| step.from.value == version);
            if from > next && !given(next) {
                cx.error(span, missing(next));
            }
            next = from + 1;
        }
    }
    if next < version && steps.iter().all(|step| step.from.value < version) {
        cx.error(*span, missing(next));
    }
}

fn missing(from: u32) -> String {
    format!(
        "there is no step from version {from} to {}; add `{from} = function`, with one that does nothing if field names say enough",
        from + 1
    )
}

/// Only one variant may be `other`, and it keeps the unknown variant in one field or not at all.
fn others(cx: &Ctxt, variants: &[Variant]) {
    let mut found = false;
    for variant in variants {
        let Some(Given { span, .. }) = variant.other else { continue };
        if std::mem::replace(&mut found, true) {
            cx.error(span, "only one variant can stand for all that the enum does not have; remove `other` here or on the variant before");
        }
        let mut stored = variant.fields.stored();
        let Some(field) = stored.next() else { continue };
        if let Some(second) = stored.next() {
            cx.error(second.span(), "an `other` variant holds one `persist::Unknown` or nothing; remove this field or mark it `skip`");
        }
        for (name, span) in given(field, &["with", "empty", "convert", "default", "unknown"]) {
            cx.error(span, format!("the field of an `other` variant holds the variant that was stored, as it was; remove `{name}`"));
        }
    }
}

/// Checks the fields of a struct or variant.
fn each(cx: &Ctxt, fields: &Fields, version: u32) {
    let mut found = false;
    for field in &fields.0 {
        convert(cx, field, version);
        unknown(cx, field);
        if let Some(Given { span, .. }) = field.unknown
            && std::mem::replace(&mut found, true)
        {
            cx.error(span, "one field holds all that the type does not have; remove `unknown` here or on the field before");
        }
    }
}

/// A removed name must not be in use.
fn removed_fields(cx: &Ctxt, removed: &[Given<String>], fields: &Fields) {
    let live = fields.stored().map(|field| (&field.name.value, &field.aliases));
    used(cx, "field", removed, &live.collect::<Vec<_>>());
}

/// A removed variant name must not be in use. Its values become the `other` variant, so there must be one.
fn removed_variants(cx: &Ctxt, removed: &[Given<String>], variants: &[Variant]) {
    let live = variants.iter().map(|variant| (&variant.name.value, &variant.aliases));
    used(cx, "variant", removed, &live.collect::<Vec<_>>());
    if variants.iter().all(|variant| variant.other.is_none())
        && let Some(Given { span, value }) = removed.first()
    {
        cx.error(*span, format!("a stored `{value}` must become some variant; mark the one that it becomes with `#[persist(other)]`, or keep `{value}`"));
    }
}

/// Reports removed names that are in use, and duplicates.
fn used(cx: &Ctxt, what: &str, removed: &[Given<String>], live: &[(&String, &Vec<Given<String>>)]) {
    for (i, Given { span, value }) in removed.iter().enumerate() {
        let is_live = live.iter().any(|(name, aliases)| {
            *name == value || aliases.iter().any(|alias| alias.value == *value)
        });
        if is_live {
            cx.error(*span, format!("a {what} has the name \"{value}\", so it is not removed; remove `removed`, or the {what}'s name or `alias`"));
        } else if removed[..i].iter().any(|other| other.value == *value) {
            cx.error(*span, format!("\"{value}\" is removed here twice; remove one"));
        }
    }
}

/// A number in a save must belong to one field.
fn ids(cx: &Ctxt, fields: &Fields) {
    let mut owners = HashMap::new();
    for field in &fields.0 {
        let Some(Given { span, value: id }) = field.id else { continue };
        if let Some(name) = owners.insert(id, &field.name.value) {
            cx.error(span, format!("the fields `{name}` and `{}` have the same `id`; give this one a number that no field has had", field.name.value));
        }
    }
}

fn convert(cx: &Ctxt, field: &Field, version: u32) {
    let Some(Given { value: converts, .. }) = &field.convert else { return };
    let mut next = 1;
    for Convert { from, how } in converts {
        if let (ConvertHow::Function(function), Some(given)) = (how, field.adapter()) {
            let name = given.value.name;
            cx.error_over(function, format!("what `{name}` stores it restores itself, older types too; remove the function or `{name}`; a type that `{name}` stored before, and takes as it is, is named with `as`: `convert(as u32)`"));
        }
        let Some(Given { span, value: from }) = from else { continue };
        if *from == 0 || *from > version {
            cx.error(*span, format!("the class has the versions 1 to {version}, and no version {from} has stored anything; write the last version that stored the older type"));
        } else if *from < next {
            cx.error(*span, "versions stand in ascending order, each once: what an earlier function returns, the later ones take");
        }
        next = from + 1;
    }
}

/// Unknown data is stored unchanged, so its field cannot be stored as another type.
fn unknown(cx: &Ctxt, field: &Field) {
    if field.unknown.is_none() || field.given("skip").is_some() {
        return;
    }
    let reasons = [
        ("default", "is empty where nothing was stored"),
        ("empty", "is empty by itself"),
        ("convert", "has no older type"),
        ("with", "keeps what was stored as it is"),
    ];
    for (name, why) in reasons {
        for (name, span) in given(field, &[name]) {
            cx.error(span, format!("an `unknown` field {why}; remove `{name}`"));
        }
    }
}
