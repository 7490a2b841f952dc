//! What was recorded of components and resources, perhaps by a program with other versions of their classes.

use super::object::Owner;
use super::resources::AnyResource;
use super::world::{AnyComponent, World};
use crate::codec::{AsTrait, BoxOf, Portable, TraitObject, count};
use crate::fields::{FieldChange, FieldLinks, Paths, compared, content_of};
use crate::graph::Registry;
use crate::{Error, ErrorKind, Result};

/// The contents of the values of a target: the components and resources of a world, or any other target itself.
pub(crate) trait Recorded {
    fn registry(&self) -> &Registry;

    fn paths(&self) -> &Paths;

    /// Shows the value of a class that has a content, whose classes have these numbers here.
    fn decoded(
        &self,
        owner: Owner,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
        show: &mut dyn FnMut(&dyn Portable) -> Result<()>,
    ) -> Result<()>;

    /// A content in the form that this program has, of one that another program numbered.
    fn own_content(
        &self,
        owner: Owner,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
    ) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        self.decoded(owner, number, bytes, numbers, &mut |value| {
            content = content_of(self.registry(), value)?;
            Ok(())
        })?;
        Ok(content)
    }

    /// The fields in which two contents of a value differ.
    fn changes_between(
        &self,
        owner: Owner,
        class: &str,
        old: &[u8],
        new: &[u8],
    ) -> Result<Vec<FieldChange>> {
        let mut changes = Vec::new();
        if let Some(number) = self.registry().named(class).filter(|_| old != new) {
            self.decoded(owner, number, new, None, &mut |value| {
                changes = compared(self.registry(), self.paths(), class, value, (old, new))?;
                Ok(())
            })?;
        }
        Ok(changes)
    }
}

impl Recorded for World {
    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn decoded(
        &self,
        owner: Owner,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
        show: &mut dyn FnMut(&dyn Portable) -> Result<()>,
    ) -> Result<()> {
        let registry = &self.registry;
        match owner {
            Owner::Object(_) => {
                decode_numbered::<dyn AnyComponent>(registry, number, bytes, numbers)
                    .and_then(|value| show((*value).portable()))
            }
            Owner::Resource => decode_numbered::<dyn AnyResource>(registry, number, bytes, numbers)
                .and_then(|value| show((*value).portable())),
        }
    }
}

/// Its own, and as many as what it leads to takes in a save.
pub(super) fn content_size(registry: &Registry, value: &dyn Portable) -> usize {
    let content = content_of(registry, value);
    size_of_val(value).max(content.map_or(0, |content| content.len()))
}

/// Reads a value of a class as a trait object.
pub(super) fn decode_boxed<D: ?Sized + TraitObject>(
    registry: &Registry,
    class: &str,
    bytes: &[u8],
) -> Result<Box<D>>
where
    AsTrait: BoxOf<D>,
{
    match registry.named(class) {
        Some(number) => decode_numbered(registry, number, bytes, None),
        None => {
            let message = format!("class {class} is not registered; register it before");
            Err(Error::new(ErrorKind::WrongClass, message))
        }
    }
    .map_err(|error| error.in_class(class))
}

/// Decodes a value of a class with this number, in this program or another.
fn decode_numbered<D: ?Sized + TraitObject>(
    registry: &Registry,
    number: usize,
    bytes: &[u8],
    numbers: Option<&[Option<usize>]>,
) -> Result<Box<D>>
where
    AsTrait: BoxOf<D>,
{
    let mut whole = Vec::with_capacity(bytes.len() + 9);
    count::push(number as u64 + 1, &mut whole);
    whole.extend_from_slice(bytes);
    let links = FieldLinks::new(registry).numbered(numbers);
    links.decode(&whole, <AsTrait as BoxOf<D>>::decode)
}
