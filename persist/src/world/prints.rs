//! What objects are, as hashes by which two moments can be compared and what differs named.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::codec::Portable;
use crate::fields::content_of;
use crate::graph::Registry;
use crate::schema::Cursor;
use crate::{ObjectId, Result};

/// A part of an object or of a value, by the hash of its content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Print {
    pub(crate) object: Option<ObjectId>,
    /// `Transform.x`, or what an object has besides components, as `its name`.
    pub(crate) what: String,
    pub(crate) hash: u64,
}

pub(super) fn hash_of(content: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Appends what a value of a class is, field by field if it is a struct.
pub(crate) fn print_value(
    registry: &Registry,
    value: &dyn Portable,
    class: &str,
    object: Option<ObjectId>,
    prints: &mut Vec<Print>,
) -> Result<()> {
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
    Ok(())
}
