//! Where classes are held by value: what the program does not know is kept of objects alone.

use crate::lock::section::Section;
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema};

/// For each class of a version a place that holds it by value, if there is one.
pub(super) fn places(section: &Section) -> Vec<Option<String>> {
    let mut places = vec![None; section.classes.len()];
    let mut named = vec![false; section.traits.len()];
    for (place, kind) in section.classes.iter().flat_map(kinds_by_place) {
        let mut hold = |class: usize| {
            places[class].get_or_insert_with(|| place.clone());
        };
        kind.visit(&mut |kind| match kind {
            KindSchema::Class(held) => hold(*held),
            KindSchema::Dynamic(of) | KindSchema::TraitReference { name: of, .. } => {
                let at = section.traits.iter().position(|(name, _)| **name == **of);
                at.into_iter().for_each(|at| named[at] = true);
                if matches!(kind, KindSchema::Dynamic(_)) {
                    section.classes_of(of).iter().for_each(|held| hold(*held));
                }
            }
            _ => {}
        });
    }
    // A trait that no field names is that of components and the like.
    for ((name, classes), _) in section.traits.iter().zip(named).filter(|(_, named)| !named) {
        for class in classes {
            places[*class].get_or_insert_with(|| format!("dyn {name}"));
        }
    }
    places
}

/// Every kind that a class mentions, with its place.
fn kinds_by_place(class: &ClassSchema) -> Vec<(String, &KindSchema)> {
    let of = |owner: String, fields: &'_ [FieldSchema]| {
        let place = |field: &FieldSchema| format!("{owner}.{}", field.name);
        fields.iter().map(place).collect::<Vec<_>>()
    };
    let name = &class.name;
    let places = match &class.form {
        Form::Struct(fields) => of(name.clone(), fields),
        Form::Enum(variants) => {
            let of_variant = |it: &VariantSchema| of(format!("{name}::{}", it.name), &it.fields);
            variants.iter().flat_map(of_variant).collect()
        }
        Form::Value(_) => vec![name.clone()],
    };
    places.into_iter().zip(class.kinds()).collect()
}
