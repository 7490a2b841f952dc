//! What was recorded of components and resources, perhaps by a program with other versions of their classes.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use super::any_component::AnyComponent;
use super::compare::{FieldChange, content_of};
use super::part::follow;
use super::path::{FieldPath, Steps};
use super::resources::AnyResource;
use crate::codec::TraitObject as _;
use crate::schema::{Cursor, Stored};
use crate::{Error, ObjectId, Result};

/// What was done to the bytes of a field.
pub(crate) enum ByteChange<'b> {
    /// It became these.
    Put(&'b [u8]),
    /// A list got an element before the one of this index, or at its end.
    Insert(u64, &'b [u8]),
    /// A list lost the element of this index.
    Remove(u64),
    /// The element of a list that had the first index got the second one.
    Move(u64, u64),
}

/// The bytes of a value of a class of a layout with a change made in it.
///
/// # Errors
///
/// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the path leads nowhere.
pub(crate) fn changed(
    (stored, class): (&Stored, usize),
    bytes: &[u8],
    path: &FieldPath,
    change: &ByteChange<'_>,
) -> Result<Vec<u8>> {
    let steps = path.steps();
    let cursor = follow(Cursor::of_class(stored, class, bytes), steps, 0)?;
    let make = || match change {
        ByteChange::Put(value) => {
            let range = cursor.range()?;
            Ok([&bytes[..range.start], value, &bytes[range.end..]].concat())
        }
        ByteChange::Insert(index, element) => cursor.list()?.inserted(*index, element),
        ByteChange::Remove(index) => cursor.list()?.removed(*index),
        ByteChange::Move(from, to) => cursor.list()?.moved(*from, *to),
    };
    make().map_err(|error: Error| error.in_field(&Steps(steps).to_string()))
}

impl World {
    /// The bytes of a component or a resource of this class in the form that this world has, of bytes that another program numbered.
    pub(crate) fn own_content(
        &self,
        is_resource: bool,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
    ) -> Result<Vec<u8>> {
        if is_resource {
            let value = self.decode_numbered::<dyn AnyResource>(number, bytes, numbers)?;
            content_of(&self.registry, (*value).portable())
        } else {
            let value = self.decode_numbered::<dyn AnyComponent>(number, bytes, numbers)?;
            content_of(&self.registry, (*value).portable())
        }
    }

    /// The fields in which two contents of a component or a resource differ.
    pub(crate) fn changes_between(
        &self,
        is_resource: bool,
        class: &str,
        old: &[u8],
        new: &[u8],
    ) -> Result<Vec<FieldChange>> {
        let Some(number) = self.registry.named(class).filter(|_| old != new) else {
            return Ok(Vec::new());
        };
        if is_resource {
            let value = self.decode_numbered::<dyn AnyResource>(number, new, None)?;
            self.compared(class, (*value).portable(), old, new)
        } else {
            let value = self.decode_numbered::<dyn AnyComponent>(number, new, None)?;
            self.compared(class, (*value).portable(), old, new)
        }
    }

    /// The contents of components of parked objects.
    pub(crate) fn parked_contents(
        &self,
        wanted: BTreeSet<(ObjectId, String)>,
    ) -> Result<Vec<(ObjectId, String, Vec<u8>)>> {
        // Of many that are parked together, each is not looked for among all.
        let mut by_top = BTreeMap::<ObjectId, BTreeSet<(ObjectId, String)>>::new();
        for key in wanted {
            if let Some(top) = self.parked_below.get(&key.0) {
                by_top.entry(*top).or_default().insert(key);
            }
        }
        let mut found = Vec::new();
        for (top, wanted) in by_top {
            for object in self.parked.get(&top).into_iter().flat_map(|parked| &parked.objects) {
                for (column, component) in &object.components {
                    let key = (object.id, (self.columns[*column].of.name)());
                    if wanted.contains(&key) {
                        let content = content_of(&self.registry, (**component).portable())?;
                        found.push((key.0, key.1, content));
                    }
                }
            }
        }
        Ok(found)
    }
}
