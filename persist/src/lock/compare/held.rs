//! Where classes are held by value: what the program does not know is kept of objects alone.

use crate::lock::section::Section;
use crate::schema::{Form, KindSchema};

/// For each class of a version a place that holds it by value, if there is one.
pub(super) fn places(section: &Section) -> Vec<Option<String>> {
    let mut places = vec![None; section.classes.len()];
    let mut named = vec![false; section.traits.len()];
    for class in &section.classes {
        let mut meet = |kind: &KindSchema, place: &dyn Fn() -> String| {
            kind.visit(&mut |kind| match kind {
                KindSchema::Class(held) => {
                    places[*held].get_or_insert_with(place);
                }
                KindSchema::Dynamic(of) => {
                    if let Some(at) = section.traits.iter().position(|(name, _)| **name == **of) {
                        named[at] = true;
                        for held in &section.traits[at].1 {
                            places[*held].get_or_insert_with(place);
                        }
                    }
                }
                KindSchema::TraitReference { name: of, .. } => {
                    let at = section.traits.iter().position(|(name, _)| **name == **of);
                    at.into_iter().for_each(|at| named[at] = true);
                }
                _ => {}
            });
        };
        match &class.form {
            Form::Struct(fields) => {
                for field in fields {
                    meet(&field.kind, &|| format!("{}.{}", class.name, field.name));
                }
            }
            Form::Enum(variants) => {
                for variant in variants {
                    for field in &variant.fields {
                        let name = (&class.name, &variant.name, &field.name);
                        meet(&field.kind, &|| format!("{}::{}.{}", name.0, name.1, name.2));
                    }
                }
            }
            Form::Value(kind) => meet(kind, &|| class.name.clone()),
        }
    }
    // A trait that no field names is that of components and the like.
    for ((name, classes), _) in section.traits.iter().zip(named).filter(|(_, named)| !named) {
        for class in classes {
            places[*class].get_or_insert_with(|| format!("dyn {name}"));
        }
    }
    places
}
