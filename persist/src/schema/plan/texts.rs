//! Lists the conversions of a save that depend on stored values: texts that become variants of the program's enums, and
//! classes that become others by their place.

use std::collections::{HashMap, HashSet};

use super::{ClassPlan, Conversion, FieldName, Plans};
use crate::schema::pairing::pair;
use crate::schema::{Form, Program};

/// The nodes of texts that load only if they are names of variants, and the names.
pub type Texts = HashMap<usize, Vec<&'static str>>;

/// The texts that load as variants of an enum; `None` if all do.
fn names(program: &Program, class: usize) -> Option<Vec<&'static str>> {
    let variants = program.targets[class]?.class.variants();
    if variants.iter().any(|variant| variant.other && variant.fields.is_empty()) {
        return None;
    }
    let units = variants.iter().filter(|variant| variant.fields.is_empty());
    let names: Vec<_> = units.map(|variant| variant.name).collect();
    Some(names).filter(|names| !names.is_empty())
}

/// The texts that the program asks for as variants, and the classes that it does not have, and whose values become
/// those of another one where they stand; whether what they are in loads or not.
pub fn texts_and_classes_by_place(plans: &mut Plans<'_>) -> (Texts, HashSet<usize>) {
    let (mut texts, mut by_place) = (Texts::new(), HashSet::new());
    let resolved = (0..plans.stored.len()).filter_map(|class| Some((class, plans.resolve(class)?)));
    let mut next: Vec<(usize, usize)> = resolved.collect();
    let mut seen: HashSet<(usize, usize)> = next.iter().copied().collect();
    while let Some((class, target)) = next.pop() {
        let previous = plans.conversions.len();
        convert_fields(plans, class, target);
        for conversion in &plans.conversions[previous..] {
            match *conversion {
                Conversion::Variant { node, class, .. } => {
                    texts.extend(names(plans.program, class).map(|names| (node, names)));
                }
                Conversion::Class(place) => {
                    let ClassPlan { class, target, .. } = plans.plans[place];
                    if seen.insert((class, target)) {
                        next.push((class, target));
                        by_place.extend(plans.resolve(class).is_none().then_some(class));
                    }
                }
                _ => {}
            }
        }
    }
    (texts, by_place)
}

/// Makes the conversions of the fields of a class, where there are any.
fn convert_fields(plans: &mut Plans<'_>, class: usize, target: usize) {
    let (all, program) = (plans.stored.clone(), plans.program);
    if let (Form::Value(_), Form::Value(new)) = (&all[class].form, &program.classes[target].form) {
        let place = FieldName { class: &all[class].name, field: "" };
        plans.conversion(all.first(class, 0), new, &place);
    }
    let (is_migrated, version) = (plans.is_migrated(class, target), all[class].version);
    for (variant, side) in program.sides(&all[class], target).into_iter().enumerate() {
        let Some(expected) = side.new else { continue };
        let members = all.members(class, variant);
        let sources = pair(&members, expected.records).sources;
        let is_free = |source: &usize| !sources.contains(&Some(*source));
        let free: Vec<usize> = (0..members.len()).filter(is_free).collect();
        let pairs = sources.iter().enumerate().flat_map(|(field, source)| {
            // A migration may give a field any other name.
            let renamed = free.iter().filter(|_| is_migrated && source.is_none());
            source.iter().chain(renamed).map(move |source| (field, *source))
        });
        for (field, source) in pairs {
            let place = FieldName { class: &all[class].name, field: &members[source].name };
            if let Some(node) = members[source].stored {
                plans.field_conversion(node, Some(version), &expected, field, &place);
            }
        }
    }
}
