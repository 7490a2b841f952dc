//! Fields that left one class and came in another, and the `migrate` that moves their values.

use persist::__tools::{ClassSchema, FieldSchema, Form, KindSchema, Program, rust_type};

use super::{GoneField, ItemName, Moves, NewField, VersionComparison, atoms, head};
use crate::lock::report::{Difference, Verdict};

impl NewField {
    fn schema(self, program: &Program) -> Option<&FieldSchema> {
        match &program.classes[self.class].form {
            Form::Struct(fields) => fields.get(self.field),
            _ => None,
        }
    }
}

impl Moves {
    /// Says in the findings of the fields that went which of them may have been moved to another class.
    pub(super) fn report(&self, comparison: &mut VersionComparison<'_>) {
        for left in &self.left {
            let found = self.came.iter().find(|came| is_move(comparison, left, **came));
            let Some(to) = found else { continue };
            let moved = self.moved(comparison, left, *to);
            let finding = &mut comparison.findings[left.finding];
            finding.of = moved;
            // A migration may take it from an object, too, with which it would be kept.
            finding.is_migrated = comparison.migrated[left.class] && finding.of.field.is_some();
            finding.shown_by = Some(left.class);
        }
    }

    /// Enters the finding about a field that seems to have been moved.
    fn moved(
        &self,
        comparison: &VersionComparison<'_>,
        left: &GoneField,
        to: NewField,
    ) -> Difference {
        let (program, name) = (comparison.program, &left.name);
        let previous = comparison.findings[left.finding].of.clone();
        let row = Difference { verdict: Verdict::Loses, above: None, code: None, ..previous };
        let into = &program.classes[to.class].name;
        let new = to.schema(program).map_or("", |field| &field.name);
        let Some(from) = left.target else {
            let class = &comparison.section.classes[left.class].name;
            let change = format!(
                "the class went, and its field {name} came in {into}, where old values do not get: keep the class, and move them in an `after_load`; or say that the class is not needed any more"
            );
            let attribute = Some(format!("registry.declare_removed_class({class:?})?;"));
            return Difference { change, attribute, ..row };
        };
        let or = format!(
            "or say that the old values are not needed any more, by `#[persist(removed = {name:?})]` on {}",
            head(program, from)
        );
        let change = format!("the field went, and {into}.{new} came, where old values do not get");
        let inner = |field: &str| {
            format!("record.get_mut({field:?}).and_then(persist::Value::as_record_mut)")
        };
        let found = if let Some(field) =
            holder(comparison, from, to.class).filter(|_| left.is_struct)
        {
            // Several such bodies in one function fill one record.
            let body = format!(
                "    if let Some(moved) = record.take({name:?}) {{\n        if record.get({field:?}).is_none() {{\n            record.set({field:?}, persist::Record::new({into:?}));\n        }}\n        if let Some(inner) = {} {{\n            inner.set({new:?}, moved);\n        }}\n    }}\n",
                inner(field)
            );
            Some((from, body))
        } else {
            let field = holder(comparison, to.class, from).filter(|_| left.is_struct);
            let is_old = |old: &&str| {
                let mut came = self.came.iter().filter(|came| came.class == to.class);
                came.all(|came| came.schema(program).is_none_or(|came| came.name != **old))
            };
            field.filter(is_old).map(|field| {
                let body = format!(
                    "    let inner = {};\n    if let Some(moved) = inner.and_then(|inner| inner.take({name:?})) {{\n        record.set({new:?}, moved);\n    }}\n",
                    inner(field)
                );
                (to.class, body)
            })
        };
        let Some((owner, body)) = found else {
            let change =
                format!("{change}: keep the field, and move its values in an `after_load`; {or}");
            let above =
                Some(format!("{name}: {}", rust_type(&left.kind.display(&comparison.stored))));
            let attribute = Some(String::from("#[persist(default)]"));
            return Difference { change, attribute, above, ..row };
        };
        let version = next_version(comparison, owner);
        let (head, last) = (head(program, owner), version - 1);
        let is_first = comparison.program.targets[owner]
            .is_none_or(|target| target.class.migration.is_empty());
        let steps: Vec<_> = (1..version).map(|from| format!("{from} = to_{}", from + 1)).collect();
        let attribute = format!("#[persist(version = {version}, migrate({}))]", steps.join(", "));
        // The functions of the steps that are there have no names here.
        let (advice, attribute, above) = match is_first {
            true => ("move them in a `migrate`".to_owned(), Some(attribute), Some(head)),
            false => {
                let advice = format!(
                    "move them in one more step of `migrate`: give {head} `version = {version}`, and add `{last} = to_{version}` to its `migrate(..)`"
                );
                (advice, None, None)
            }
        };
        let change = format!("{change} by themselves: {advice}; {or}");
        let mut code = String::new();
        for to in (2..version).filter(|_| is_first) {
            code += &format!("fn to_{to}(_: &mut persist::Record, _from: u32) {{}}\n");
        }
        code += &format!("fn to_{version}(record: &mut persist::Record, _from: u32) {{\n{body}}}");
        let code = Some(code);
        Difference { change, attribute, above, code, ..row }
    }
}

fn is_move(comparison: &VersionComparison<'_>, left: &GoneField, came: NewField) -> bool {
    // A class that came as a whole is not what a class that went was.
    if left.target == Some(came.class)
        || left.target.is_none() && !comparison.resolved.contains(&Some(came.class))
    {
        return false;
    }
    let Some(field) = came.schema(comparison.program) else { return false };
    let (stored, classes) = (&comparison.stored, &comparison.program.classes);
    let is_alike = if field.name == left.name {
        comparison.is_akin(&left.kind, &field.kind)
    } else {
        is_named(&left.kind, stored)
            && is_named(&field.kind, classes)
            && left.kind.display(stored) == field.kind.display(classes)
    };
    let now = [ItemName::Now(came.class), ItemName::Now(came.field)];
    is_alike && comparison.versions.may_become(comparison.version, &left.dropped, &now)
}

/// True for a kind that holds values of a class or of a trait.
fn is_named(kind: &KindSchema, classes: &[ClassSchema]) -> bool {
    atoms(kind, classes).iter().any(|atom| !atom.starts_with(' '))
}

/// The version that records of a class are migrated to.
fn next_version(comparison: &VersionComparison<'_>, class: usize) -> u32 {
    let now = comparison.program.classes[class].version;
    let stored = comparison.resolved.iter().position(|found| *found == Some(class));
    let was = stored.map_or(now, |stored| comparison.stored[stored].version);
    let migrates =
        comparison.program.targets[class].is_some_and(|target| !target.class.migration.is_empty());
    if now > was && !migrates { now } else { now.saturating_add(1) }
}

/// The field of one struct that holds another by value; of a class that came nothing could be migrated.
fn holder<'c>(
    comparison: &'c VersionComparison<'_>,
    outer: usize,
    inner: usize,
) -> Option<&'c str> {
    let Form::Struct(fields) = &comparison.program.classes[outer].form else { return None };
    let field = fields.iter().find(|field| field.kind == KindSchema::Class(inner))?;
    comparison.resolved.contains(&Some(outer)).then_some(&field.name)
}
