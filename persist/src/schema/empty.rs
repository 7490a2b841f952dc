//! Empty values, by their kinds.

use super::{KindSchema, Program};
use crate::codec::{Encoder, Prototypes, Stop, count};
use crate::{Error, ErrorKind};

/// Writes an empty value: 0, an empty list, the empty value of a class.
pub(super) fn write(
    kind: &KindSchema,
    program: &Program,
    prototypes: &Prototypes<'_>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    match kind {
        KindSchema::Unit => Ok(()),
        KindSchema::Char => out.bytes(&[0; 4]),
        KindSchema::Bool
        | KindSchema::Text
        | KindSchema::Compact(_)
        | KindSchema::Option(_)
        | KindSchema::List(_)
        | KindSchema::Set(_)
        | KindSchema::Map(_)
        | KindSchema::Unknown => count::encode(0, out),
        KindSchema::Array(part, len) => {
            (0..*len).try_for_each(|_| write(part, program, prototypes, out))
        }
        KindSchema::Tuple(parts) => {
            parts.iter().try_for_each(|part| write(part, program, prototypes, out))
        }
        KindSchema::Class(class) => match program.targets[*class] {
            Some(target) => (target.access.encode_empty)(prototypes, out),
            None => Err(out.no_field()),
        },
        KindSchema::Handle(_) => out.bytes(&[0; 9]),
        KindSchema::Reference { weak: true, .. }
        | KindSchema::TraitReference { weak: true, .. } => count::encode(0, out),
        KindSchema::Reference { .. }
        | KindSchema::TraitReference { .. }
        | KindSchema::Dynamic(_) => Err(out.refuse(Error::new(
            ErrorKind::Unsupported,
            "a pointer or trait object has no empty value",
        ))),
        number => out.bytes(&[0; 16][..number.width()]),
    }
}
