//! Which field of a record is bad where the schema does not show it: a set with an element
//! twice, a `NonZero` of 0, what a `with` module refuses.

use super::Loader;
use crate::codec::Decoder;
use crate::schema::{Cursor, Form, KindSchema, Program};
use crate::{Error, ErrorKind, Value};

/// Levels of a path that are looked for: each is decoded anew.
const LEVELS: usize = 32;

impl Loader<'_> {
    /// An error of decoding a payload that has the form of the program's class, with the field.
    pub(super) fn in_bad_field(&mut self, error: Error, class: usize, payload: &[u8]) -> Error {
        // Another decode would come upon a limit elsewhere.
        if matches!(error.kind(), ErrorKind::TooLarge | ErrorKind::TooDeep)
            || error.field().is_some()
        {
            return error;
        }
        let (path, reason) = self.bad_field(class, payload);
        let error = match reason.filter(|_| error.kind() == ErrorKind::InvalidValue) {
            Some(reason) => error.reworded(reason),
            None => error,
        };
        path.into_iter().rev().fold(error, |error, name| error.in_field(&name))
    }

    /// The names on the way to what cannot be decoded, as far as structs, lists and options lead, and
    /// why it cannot be, if that is known.
    fn bad_field(&mut self, class: usize, payload: &[u8]) -> (Vec<String>, Option<String>) {
        let program = self.registry.program();
        let mut input = Decoder::new(payload, self.limits, &mut self.table);
        let mut path = Vec::new();
        let mut kind = &KindSchema::Class(class);
        let access = |class: usize| program.targets[class].map(|target| target.access);
        while path.len() < LEVELS {
            match kind {
                KindSchema::Class(class) => match &program.classes[*class].form {
                    Form::Value(inner) => kind = inner,
                    Form::Struct(fields) => {
                        let found =
                            access(*class).and_then(|access| access.find_bad_field(&mut input));
                        let Some(field) = found.and_then(|field| fields.get(field)) else { break };
                        path.push(field.name.clone());
                        kind = &field.kind;
                    }
                    Form::Enum(_) => break,
                },
                KindSchema::Option(inner) => {
                    if input.value::<bool>() != Ok(true) {
                        break;
                    }
                    kind = inner;
                }
                KindSchema::List(part) | KindSchema::Array(part, _) => {
                    let KindSchema::Class(class) = **part else { break };
                    let count = match kind {
                        KindSchema::Array(_, len) => Ok(*len),
                        _ => input.count(),
                    };
                    let (Ok(count), Some(access)) = (count, access(class)) else { break };
                    let Some(place) = access.find_bad_value(count, &mut input) else { break };
                    path.push(format!("[{place}]"));
                    kind = part;
                }
                _ => break,
            }
        }
        let reason = match input.take_error() {
            Some(reason) => Some(reason.message().to_owned()),
            None => twice(program, class, payload, &path).map(|value| {
                format!(
                    "{value} stands twice, where a {} has it once; give the field a `convert` that drops one, or keep the old type",
                    kind.display(&program.classes)
                )
            }),
        };
        (path, reason)
    }
}

/// The element of a set, or key of a map, that stands twice at the end of a path.
fn twice(program: &Program, class: usize, payload: &[u8], path: &[String]) -> Option<Value> {
    let mut cursor = Cursor::of_class(program.layout(), class, payload);
    for name in path {
        let index = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')?.parse().ok());
        match index {
            Some(index) => cursor.index(index).ok()?,
            None => cursor.field(name).ok()?,
        }
    }
    cursor.twice()
}
