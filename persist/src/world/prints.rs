//! What objects are, as hashes by which two moments can be compared and what differs named.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::World;
use super::fields::Owner;
use crate::codec::{Portable, TraitObject as _};
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

fn hash_of(content: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

impl World {
    /// Appends what an object is; nothing if it is not there. Components whose content cannot be told, since they hold shared pointers, are left out.
    pub(crate) fn print_object(&self, id: ObjectId, prints: &mut Vec<Print>) {
        let Some(object) = self.object(id) else { return };
        let mut add = |what: &str, hash| {
            prints.push(Print { object: Some(id), what: what.to_owned(), hash });
        };
        add("its name", hash_of(self.name(id).unwrap_or_default()));
        // Its index is its parent's.
        add("its parent", hash_of(&object.parent));
        add("its children", hash_of(object.children()));
        add("its activity", object.activity as u64);
        let columns = self.shapes.columns(object.shape);
        // Their order may be another one if some have been started meanwhile.
        let name = |column: &usize| (self.columns[*column].of.name)();
        let mut classes: Vec<String> = columns.iter().map(name).collect();
        classes.sort_unstable();
        add("its components", hash_of(&classes));
        for column in columns {
            let class = (self.columns[*column].of.name)();
            if let Ok(root) = self.root(Owner::Object(id), &class) {
                // What cannot be told is not compared.
                let _ = print_value(&self.registry, root, &class, Some(id), prints);
            }
        }
    }

    /// Appends what the resources are.
    pub(crate) fn print_resources(&self, prints: &mut Vec<Print>) {
        for (_, class, value) in &self.resources.values {
            let _ = print_value(&self.registry, (**value).portable(), class, None, prints);
        }
    }
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
