//! The classes that kinds hold, and the traits that their types need for that.

use std::ops::Range;

use persist::reflect::Holder;
use persist_tools::{ClassSchema, Form, KindSchema};

use crate::components::components;

/// The traits that a type needs at its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// It is a key of a map or an element of a set.
    pub(super) key: bool,
    /// It is in a `Cell`.
    pub(super) copy: bool,
    /// It is in a component or a resource of a world.
    pub(super) send: bool,
}

impl Needs {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            key: self.key || other.key,
            copy: self.copy || other.copy,
            send: self.send || other.send,
        }
    }
}

/// The pointer and the cell that hold an object; the cell is empty if there is none.
pub(super) fn parts_of(holder: &Holder, weak: bool) -> (String, String) {
    let written = holder.type_name(weak, "");
    let mut parts = written.trim_end_matches('>').split('<').map(str::to_owned);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// The component of each class in the graph of those that hold one another without a list or a pointer between.
pub(super) fn cycles(classes: &[ClassSchema]) -> Vec<usize> {
    let mut targets = Vec::new();
    let outgoing = classes.iter().map(|class| {
        let start = targets.len();
        for kind in kinds(class) {
            held(kind, false, &mut |held| targets.extend((held < classes.len()).then_some(held)));
        }
        start..targets.len()
    });
    let outgoing: Vec<Range<usize>> = outgoing.collect();
    let mut found = vec![0; classes.len()];
    for (number, component) in components(&outgoing, &targets).into_iter().enumerate() {
        for class in component {
            found[class] = number;
        }
    }
    found
}

/// The kinds that a class mentions.
pub(super) fn kinds(class: &ClassSchema) -> Vec<&KindSchema> {
    match &class.form {
        Form::Struct(fields) => fields.iter().map(|field| &field.kind).collect(),
        Form::Enum(variants) => {
            variants.iter().flat_map(|it| &it.fields).map(|field| &field.kind).collect()
        }
        Form::Value(kind) => vec![kind],
    }
}

/// The kinds right inside of a kind.
fn parts(kind: &KindSchema) -> &[KindSchema] {
    match kind {
        KindSchema::Option(part)
        | KindSchema::List(part)
        | KindSchema::Set(part)
        | KindSchema::Array(part, _) => std::slice::from_ref(part),
        KindSchema::Map(parts) => &parts[..],
        KindSchema::Tuple(parts) => parts,
        _ => &[],
    }
}

/// Calls `visit` with a kind and all kinds in it. A save nests at most 64 of them.
pub(super) fn each<'k>(kind: &'k KindSchema, visit: &mut dyn FnMut(&'k KindSchema)) {
    visit(kind);
    parts(kind).iter().for_each(|part| each(part, visit));
}

/// Calls `visit` with the classes whose values lie directly in the values of a kind. `without_options` excludes those
/// in options.
pub(super) fn held(kind: &KindSchema, without_options: bool, visit: &mut dyn FnMut(usize)) {
    match kind {
        KindSchema::Class(class) => visit(*class),
        KindSchema::Option(_) if without_options => {}
        KindSchema::Option(_) | KindSchema::Array(..) | KindSchema::Tuple(_) => {
            parts(kind).iter().for_each(|part| held(part, without_options, visit));
        }
        _ => {}
    }
}

/// Calls `visit` with the classes that a kind mentions, and the needs that they inherit from the kind.
pub(super) fn mentions(kind: &KindSchema, needs: Needs, visit: &mut dyn FnMut(usize, Needs)) {
    match kind {
        KindSchema::Class(class) => visit(*class, needs),
        KindSchema::Reference { holder, class, .. } => {
            let copy = parts_of(holder, false).1 == "Cell";
            visit(*class, Needs { key: false, copy, ..needs });
        }
        KindSchema::Set(part) => mentions(part, Needs { key: true, ..needs }, visit),
        KindSchema::Map(parts) => {
            mentions(&parts[0], Needs { key: true, ..needs }, visit);
            mentions(&parts[1], needs, visit);
        }
        kind => parts(kind).iter().for_each(|part| mentions(part, needs, visit)),
    }
}

/// True if a kind has a class in it.
pub(super) fn holds_class(kind: &KindSchema) -> bool {
    matches!(kind, KindSchema::Class(_)) || parts(kind).iter().any(holds_class)
}

pub(super) fn has_compact(kind: &KindSchema) -> bool {
    matches!(kind, KindSchema::Compact(_)) || parts(kind).iter().any(has_compact)
}
