//! Hashes of the parts of objects. Comparing them at two times shows which parts have changed.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::compare::content_of;
use crate::codec::Portable;
use crate::graph::Registry;
use crate::schema::Cursor;
use crate::{ObjectId, Result};

/// The hash of a part of an object or of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Print {
    pub object: Option<ObjectId>,
    /// The part: a field such as `Transform.x`, or another property of an object, such as `its name`.
    pub what: String,
    pub hash: u64,
}

pub(crate) fn hash_of(content: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Appends the hash of a value, or those of its fields if it is a struct. Returns the bytes of the value.
pub(crate) fn print_value(
    registry: &Registry,
    value: &dyn Portable,
    class: &str,
    object: Option<ObjectId>,
    prints: &mut Vec<Print>,
) -> Result<usize> {
    let bytes = content_of(registry, value)?;
    let any: &dyn Any = value;
    let mut add = |what, bytes: &[u8]| prints.push(Print { object, what, hash: hash_of(bytes) });
    match registry.entry(any) {
        Some((index, target)) if !target.class.fields().is_empty() => {
            let mut cursor = Cursor::of_class(registry.program().layout(), index, &bytes);
            for (field, record) in target.class.fields().iter().enumerate() {
                let range = cursor.pass_field(index, field)?;
                add(format!("{class}.{}", record.name), &bytes[range]);
            }
        }
        _ => add(class.to_owned(), &bytes),
    }
    Ok(bytes.len())
}
