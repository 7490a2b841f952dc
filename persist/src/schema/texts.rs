//! What conversions make of the values of a save: texts that become variants of the program's enums, and classes that
//! become others by their place.

use std::collections::{HashMap, HashSet};

use super::ops::{Conversion, Given, Place};
use super::pairing::{find_variant, pair};
use super::plan::Plans;
use super::{ClassSchema, Form, Program};
use crate::LoadOptions;

/// The nodes of texts that load only if they are names of variants, and the names.
pub(crate) type Texts = HashMap<usize, Vec<&'static str>>;

/// Finds the texts that the program asks for as variants, whether their classes load or not.
pub(crate) fn texts_of_variants(classes: &[ClassSchema], program: &Program) -> Texts {
    let mut plans = Plans::new(classes.to_vec(), program, LoadOptions::default(), None);
    let mut texts = Texts::new();
    each_conversion(&mut plans, &mut |conversion| {
        if let Conversion::Variant { node, class, .. } = conversion
            && let Some(names) = names(program, class)
        {
            texts.insert(node, names);
        }
    });
    texts
}

/// The classes that the program does not have, and whose values become those of another one where they stand.
pub(crate) fn classes_by_place(classes: &[ClassSchema], program: &Program) -> HashSet<usize> {
    let mut plans = Plans::new(classes.to_vec(), program, LoadOptions::default(), None);
    let mut found = HashSet::new();
    each_conversion(&mut plans, &mut |conversion| {
        if let Conversion::Class(class, _) = conversion {
            found.insert(class);
        }
    });
    found.retain(|class| plans.resolve(*class).is_none());
    found
}

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

/// Visits the conversions of all fields, in classes that are reached by others only, too.
fn each_conversion(plans: &mut Plans<'_>, visit: &mut dyn FnMut(Conversion)) {
    let resolved = (0..plans.stored.len()).filter_map(|class| Some((class, plans.resolve(class)?)));
    let mut next: Vec<(usize, usize)> = resolved.collect();
    let mut seen: HashSet<(usize, usize)> = next.iter().copied().collect();
    while let Some((class, target)) = next.pop() {
        let before = plans.conversions.len();
        convert_fields(plans, class, target);
        for conversion in &plans.conversions[before..] {
            visit(*conversion);
            if let Conversion::Class(class, target) = *conversion
                && seen.insert((class, target))
            {
                next.push((class, target));
            }
        }
    }
}

/// Makes the conversions of the fields of a class, where there are any.
fn convert_fields(plans: &mut Plans<'_>, class: usize, target: usize) {
    let (all, program) = (plans.stored.clone(), plans.program);
    let records = program.targets[target].map(|target| target.class);
    let mut pairs = Vec::new();
    match (&all[class].form, &program.classes[target].form, records) {
        (Form::Struct(_), Form::Struct(_), Some(_)) => pairs.push((0, plans.wanted(target, 0))),
        (Form::Enum(old), Form::Enum(_), Some(records)) => {
            let records = records.variants();
            for (i, old) in old.iter().enumerate() {
                if let Some(variant) = find_variant(&old.name, records) {
                    pairs.push((i, plans.wanted(target, variant)));
                }
            }
        }
        (Form::Value(old), Form::Value(new), _) => {
            let place = Place { class: &all[class].name, field: "" };
            plans.conversion(all.first(class, 0), old, new, &place);
        }
        _ => {}
    }
    let is_migrated = plans.is_migrated(class, target);
    for (variant, wanted) in pairs {
        let given = Given::of(&all, class, variant);
        let sources = pair(given.fields, wanted.records).sources;
        let is_free = |source: &usize| !sources.contains(&Some(*source));
        let free: Vec<usize> = (0..given.fields.len()).filter(is_free).collect();
        let pairs = sources.iter().enumerate().flat_map(|(field, source)| {
            // A migration may give a field any other name.
            let renamed = free.iter().filter(|_| is_migrated && source.is_none());
            source.iter().chain(renamed).map(move |source| (field, *source))
        });
        for (field, source) in pairs {
            let place = Place { class: given.class, field: &given.fields[source].name };
            let kind = &given.fields[source].kind;
            plans.field_conversion(given.first + source, kind, &wanted, field, &place);
        }
    }
}
