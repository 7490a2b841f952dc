//! Decoding of recorded components and resources, perhaps of a program with other versions of their classes.

use super::component::AnyComponent;
use super::resources::AnyResource;
use crate::codec::{AsTrait, BoxOf, Portable, TraitObject, count};
use crate::fields::{FieldLinks, NumberedBytes, Owner, content_of};
use crate::graph::Registry;
use crate::{Error, ErrorKind, Result};

/// Decodes a component or resource, and calls a function with it. `numbers` maps the class numbers in its content to
/// those of this program.
pub(super) fn decode_value<R>(
    registry: &Registry,
    (owner, number): (Owner, usize),
    (bytes, numbers): NumberedBytes<'_>,
    read: impl FnOnce(&dyn Portable) -> Result<R>,
) -> Result<R> {
    match owner {
        Owner::Object(_) => decode_numbered::<dyn AnyComponent>(registry, number, bytes, numbers)
            .and_then(|value| read((*value).portable())),
        Owner::Resource => decode_numbered::<dyn AnyResource>(registry, number, bytes, numbers)
            .and_then(|value| read((*value).portable())),
    }
}

/// Returns roughly the bytes of memory of a value: its own size, or its encoded size if that is larger.
pub(super) fn content_size(registry: &Registry, value: &dyn Portable) -> usize {
    let content = content_of(registry, value);
    size_of_val(value).max(content.map_or(0, |content| content.len()))
}

/// Decodes a value of a class as a trait object.
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

/// Decodes a value of the class with this number. `numbers` maps the class numbers of another program to those of this
/// one.
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
