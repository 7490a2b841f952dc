//! Which field of a record is bad where the schema does not show it: a set with an element
//! twice, a `NonZero` of 0, what a `with` module refuses.

use super::Loader;
use crate::codec::Decoder;
use crate::schema::{Form, KindSchema};
use crate::{Error, ErrorKind};

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
        let path = self.bad_field(class, payload);
        path.into_iter().rev().fold(error, |error, name| error.in_field(&name))
    }

    /// The names on the way to what cannot be decoded, as far as structs, lists and options lead.
    fn bad_field(&mut self, class: usize, payload: &[u8]) -> Vec<String> {
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
        path
    }
}
