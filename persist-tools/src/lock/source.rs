//! Lines of the program's source, to be found and pasted.

use persist::__tools::{Body, FieldSchema, Program, rust_type};

/// The name of a class's type in the source, without modules and arguments.
pub(super) fn type_name(program: &Program, class: usize) -> &str {
    let Some(target) = program.targets[class] else { return &program.classes[class].name };
    let path = target.class.type_name();
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path)
}

/// How the type of a class begins: `struct Hero`.
pub(super) fn head(program: &Program, class: usize) -> String {
    let body = program.targets[class].map(|target| &target.class.body);
    let word = match body {
        Some(Body::Enum(_)) => "enum ",
        Some(Body::Struct(_)) => "struct ",
        None => "",
    };
    format!("{word}{}", type_name(program, class))
}

/// A field of a struct (`variant` is 0) or of a variant, as it stands in the source; by its kind where
/// that is not known.
pub(super) fn field(
    program: &Program,
    (class, variant, field): (usize, usize, usize),
    schema: &FieldSchema,
) -> String {
    let written = program.targets[class].and_then(|target| {
        let previous = target.class.variants().iter().take(variant);
        let previous: usize = previous.map(|variant| variant.fields.len()).sum();
        target.class.written.get(previous + field)
    });
    written.map_or_else(
        || format!("{}: {}", schema.name, rust_type(&schema.kind.display(&program.classes))),
        |written| (*written).to_owned(),
    )
}
