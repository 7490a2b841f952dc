//! The values that the program gives as samples: of types that check their content, the library makes up none.

use std::collections::HashMap;

use crate::Limits;
use crate::codec::class::SAMPLE;
use crate::codec::{Buffer, Decoder, NoLinks};
use crate::env::Env;
use crate::lock::section::Section;
use crate::schema::{FieldPlace, KindSchema, Program, Reader, Stored};
use crate::value::Value;

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
                    let value = of_field(program, (new.class, new.variant, field));
                    found.extend(value.map(|value| (first + source, value)));
                }
            }
        }
    }
    found
}

/// Returns the value of a field's `sample`.
fn of_field(program: &Program, field: FieldPlace) -> Option<Value> {
    let make = program.targets[field.0]?.access.make_field;
    let (limits, mut buffer) = (Limits::DEFAULT, Buffer::new());
    let mut links = NoLinks::default();
    let mut nothing = Decoder::new(&[], &Env::DEFAULT, &mut links);
    let bytes = buffer.encode_with(&Env::DEFAULT, &mut NoLinks::default(), |out| {
        make(field.1, field.2, Some((SAMPLE, &mut nothing)), out)
    });
    let (bytes, layout) = (bytes.ok()?, program.layout());
    let node = layout.first(field.0, field.1) + field.2;
    Reader::new(&limits, bytes.len() as u64).whole(layout, node, bytes, &limits).ok()
}
