//! What conversions make of the values of a save: texts that become variants of the program's enums, and classes that
//! become others by their place.

use std::collections::{HashMap, HashSet};

use super::ops::{Conversion, Given, Place};
use super::pairing::{find_variant, pair};
use super::plan::Plans;
use super::{Form, Program};

/// The nodes of texts that load only if they are names of variants, and the names.
pub(crate) type Texts = HashMap<usize, Vec<&'static str>>;

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
pub(crate) fn texts_and_classes_by_place(plans: &mut Plans<'_>) -> (Texts, HashSet<usize>) {
    let (mut texts, mut by_place) = (Texts::new(), HashSet::new());
    let resolved = (0..plans.stored.len()).filter_map(|class| Some((class, plans.resolve(class)?)));
    let mut next: Vec<(usize, usize)> = resolved.collect();
    let mut seen: HashSet<(usize, usize)> = next.iter().copied().collect();
    while let Some((class, target)) = next.pop() {
        let before = plans.conversions.len();
        convert_fields(plans, class, target);
        for conversion in &plans.conversions[before..] {
            match *conversion {
                Conversion::Variant { node, class, .. } => {
                    texts.extend(names(plans.program, class).map(|names| (node, names)));
                }
                Conversion::Class(class, target) if seen.insert((class, target)) => {
                    next.push((class, target));
                    by_place.extend(plans.resolve(class).is_none().then_some(class));
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
    let records = program.targets[target].map(|target| target.class);
    let pairs = match (&all[class].form, &program.classes[target].form, records) {
        (Form::Struct(_), Form::Struct(_), Some(_)) => vec![(0, 0)],
        (Form::Enum(old), Form::Enum(_), Some(records)) => {
            let places = old.iter().map(|old| find_variant(&old.name, records.variants()));
            places.enumerate().filter_map(|(i, place)| Some((i, place?))).collect()
        }
        (Form::Value(old), Form::Value(new), _) => {
            let place = Place { class: &all[class].name, field: "" };
            plans.conversion(all.first(class, 0), old, new, &place);
            return;
        }
        _ => return,
    };
    let is_migrated = plans.is_migrated(class, target);
    for (variant, place) in pairs {
        let (given, wanted) = (Given::of(&all, class, variant), plans.wanted(target, place));
        let sources = pair(given.fields, wanted.records).sources;
        for (field, source) in sources.iter().enumerate() {
            // A migration may give a field any other name.
            let is_free =
                |old: &usize| is_migrated && source.is_none() && !sources.contains(&Some(*old));
            let renamed = (0..given.fields.len()).filter(is_free);
            for source in source.iter().copied().chain(renamed) {
                let stored = &given.fields[source];
                let place = Place { class: given.class, field: &stored.name };
                let node = given.first + source;
                plans.field_conversion(node, &stored.kind, &wanted, field, &place);
            }
        }
    }
}
