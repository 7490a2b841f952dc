//! Fields that left one class and came in another, and the `migrate` that moves their values.

use super::Changes;
use super::guesses::is_named;
use super::versions::{From, Item, Owner};
use crate::lock::report::{Difference, Verdict};
use crate::lock::source;
use crate::reflect::Migration;
use crate::schema::{FieldSchema, Form, KindSchema};

/// A stored field that went.
pub(super) struct Left {
    /// The stored class.
    pub(super) stored: usize,
    /// What it was in, if the program still has that.
    pub(super) from: Option<Owner>,
    pub(super) name: String,
    pub(super) kind: KindSchema,
    /// The difference that says so.
    pub(super) row: usize,
}

/// A field of a struct of the program that old saves do not have.
#[derive(Clone, Copy)]
pub(super) struct Came {
    pub(super) class: usize,
    pub(super) field: usize,
}

impl Changes<'_> {
    /// Reports which fields may have been moved to another class.
    pub(super) fn moves(&mut self) {
        for left in std::mem::take(&mut self.left) {
            let found = self.came.iter().copied().find(|came| self.is_move(&left, *came));
            let Some(to) = found else { continue };
            let row = self.moved(&left, to, &self.differences[left.row]);
            self.differences[left.row] = row;
        }
    }

    fn is_move(&self, left: &Left, came: Came) -> bool {
        let from = left.from.map(|from| from.class);
        // A class that came as a whole is not what a class that went was.
        if from == Some(came.class) || from.is_none() && !self.resolved.contains(&Some(came.class))
        {
            return false;
        }
        let Some(field) = self.field(came) else { return false };
        let Some(target) = self.program.targets[came.class] else { return false };
        let is_alike = if field.name == left.name {
            self.is_akin(&left.kind, &field.kind)
        } else {
            let (old, new) = (&left.kind, &field.kind);
            is_named(old)
                && is_named(new)
                && old.display(&self.stored) == new.display(&self.program.classes)
        };
        let name = &self.section.classes[left.stored].name;
        let gone = left.from.map_or(From::Gone(name), From::Program);
        let to = Owner { class: came.class, variant: None };
        is_alike
            && self.versions.may_become(
                Item::GoneField(gone, &left.name),
                Item::Field(to, &target.class.fields()[came.field]),
            )
    }

    fn field(&self, came: Came) -> Option<&FieldSchema> {
        match &self.program.classes[came.class].form {
            Form::Struct(fields) => fields.get(came.field),
            _ => None,
        }
    }

    /// What is said of a field that seems to have been moved.
    fn moved(&self, left: &Left, to: Came, before: &Difference) -> Difference {
        // A migration may take it from an object, too, with which it would be kept.
        let migrated = before.stored.clone().filter(|_| self.migrated[left.stored]);
        let row = Difference { verdict: Verdict::Loses, code: None, migrated, ..before.clone() };
        let row = row.shown_by(left.stored);
        let Some(field) = self.field(to) else { return row };
        let into = &self.program.classes[to.class].name;
        let name = &left.name;
        let Some(from) = left.from else {
            let class = &self.section.classes[left.stored].name;
            let change = format!(
                "the class went, and its field {name} came in {into}, where old values do not get: keep the class, and move them in an `after_load`; or say that the class is not needed any more"
            );
            let attribute = Some(format!("registry.removed_class({class:?})?;"));
            return Difference { change, attribute, above: None, ..row };
        };
        let or = format!(
            "or say that the old values are not needed any more, by `#[persist(removed = {name:?})]` on {}",
            self.head(from.class)
        );
        let change =
            format!("the field went, and {into}.{} came, where old values do not get", field.name);
        if let Some((owner, code)) = self.migration(left, from, to, &field.name) {
            let version = self.next_version(owner);
            let change = format!("{change} by themselves: move them in a `migrate`; {or}");
            let attribute = format!("#[persist(version = {version}, migrate = to_{version})]");
            let code = format!(
                "fn to_{version}({}: &mut persist::Record, _from: u32) {{\n{code}}}",
                variable(&self.type_name(owner))
            );
            let row = Difference { change, code: Some(code), ..row };
            return row.paste(attribute, self.head(owner));
        }
        let change =
            format!("{change}: keep the field, and move its values in an `after_load`; {or}");
        let line = format!("{name}: {}", source::kind(&self.stored, &left.kind));
        Difference { change, ..row }.paste(String::from("#[persist(default)]"), line)
    }

    /// The version that records of a class are migrated to.
    fn next_version(&self, class: usize) -> u32 {
        let now = self.program.classes[class].version;
        let stored = self.resolved.iter().position(|found| *found == Some(class));
        let was = stored.map_or(now, |stored| self.stored[stored].version);
        let migrates = self.program.targets[class]
            .is_some_and(|target| !matches!(target.class.migration, Migration::None));
        if now > was && !migrates { now } else { now.saturating_add(1) }
    }

    /// The class whose `migrate` sees both places of a value, and the body of the function.
    fn migration(&self, left: &Left, from: Owner, to: Came, new: &str) -> Option<(usize, String)> {
        if from.variant.is_some() {
            return None;
        }
        let name = &left.name;
        // Into what the class holds.
        if let Some((field, is_old)) = self.holder(from.class, to.class) {
            let outer = variable(&self.type_name(from.class));
            let inner = variable(&self.type_name(to.class));
            let class = &self.program.classes[to.class].name;
            let code = if is_old {
                format!(
                    "    let moved = {outer}.take({name:?});\n    let {inner} = {outer}.get_mut({field:?}).and_then(persist::Value::as_record_mut);\n    if let (Some(moved), Some({inner})) = (moved, {inner}) {{\n        {inner}.set({new:?}, moved);\n    }}\n"
                )
            } else {
                // Several such bodies in one function fill one record.
                format!(
                    "    if let Some(moved) = {outer}.take({name:?}) {{\n        if {outer}.get({field:?}).is_none() {{\n            {outer}.set({field:?}, persist::Record::new({class:?}));\n        }}\n        let {inner} = {outer}.get_mut({field:?}).and_then(persist::Value::as_record_mut);\n        if let Some({inner}) = {inner} {{\n            {inner}.set({new:?}, moved);\n        }}\n    }}\n"
                )
            };
            return Some((from.class, code));
        }
        // Out of it, into what holds the class.
        let (field, is_old) = self.holder(to.class, from.class)?;
        if !is_old {
            return None;
        }
        let outer = variable(&self.type_name(to.class));
        let inner = variable(&self.type_name(from.class));
        Some((
            to.class,
            format!(
                "    let {inner} = {outer}.get_mut({field:?}).and_then(persist::Value::as_record_mut);\n    if let Some(moved) = {inner}.and_then(|{inner}| {inner}.take({name:?})) {{\n        {outer}.set({new:?}, moved);\n    }}\n"
            ),
        ))
    }

    /// The field of one struct that holds another by value, and whether old saves have it.
    fn holder(&self, outer: usize, inner: usize) -> Option<(&str, bool)> {
        let Form::Struct(fields) = &self.program.classes[outer].form else { return None };
        let at = fields.iter().position(|field| field.kind == KindSchema::Class(inner))?;
        let came = self.came.iter().any(|came| came.class == outer && came.field == at);
        // A class that came has nothing that could be migrated.
        self.resolved.contains(&Some(outer)).then_some((&*fields[at].name, !came))
    }
}

/// Words of Rust that are names of types in other letters.
const KEYWORDS: [&str; 38] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "override", "priv", "pub", "ref", "return", "static",
    "struct", "trait", "try", "type", "use",
];

/// The name of a variable for a value of a type: `hero_of_old` for `HeroOfOld`, `loop_` for `Loop`.
fn variable(name: &str) -> String {
    let mut variable = String::new();
    for (i, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && i > 0 {
            variable.push('_');
        }
        variable.extend(letter.to_lowercase());
    }
    if KEYWORDS.contains(&&*variable) {
        variable.push('_');
    }
    variable
}
