//! The values that the program gives as samples: of types that check their content, the library makes up none.

use std::collections::HashMap;

use persist::__tools::{KindSchema, Program, Stored};
use persist::Value;

use crate::lock::Section;

/// The samples of the fields of a version that have the kind that they have today, by their nodes; `resolved` has the
/// program's class for each of the version's.
pub(in crate::lock) fn given(
    section: &Section,
    program: &Program,
    resolved: impl Fn(usize) -> Option<usize>,
) -> HashMap<usize, Value> {
    let stored = Stored::new(section.classes.clone());
    let mut found = HashMap::new();
    for (class, schema) in section.classes.iter().enumerate() {
        let Some(target) = resolved(class) else { continue };
        for (variant, sides) in program.sides(schema, target).into_iter().enumerate() {
            let (sources, first) = (sides.sources(), stored.first(class, variant));
            let Some(new) = sides.new else { continue };
            for (field, source) in sources.into_iter().enumerate() {
                let Some(source) = source else { continue };
                // A value of classes or with references would not fit what else is in a sample.
                let kind = &sides.old[source].kind;
                let is_plain = |kind: &KindSchema| kind.classes().is_empty() && !kind.refers();
                if *kind == new.fields[field].kind && is_plain(kind) {
                    let value = program.sample((new.class, new.variant, field));
                    found.extend(value.map(|value| (first + source, value)));
                }
            }
        }
    }
    found
}
