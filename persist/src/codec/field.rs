//! Fields whose type is known at run time only.

use std::any::Any;

use super::items::{ListAccess, MapAccess};
use super::with::Adapter;
use super::{Decoder, Encoder, Fail, Persist, Stop};

/// How a field is written and read by itself.
#[derive(Clone, Copy)]
pub struct FieldAccess {
    encode: fn(&dyn Any, &mut Encoder<'_>) -> Result<(), Stop>,
    decode: fn(Option<&mut dyn Any>, &mut Decoder<'_>) -> Result<(), Fail>,
    list: Option<&'static dyn ListAccess>,
    map: Option<&'static dyn MapAccess>,
    has_adapter: bool,
}

impl FieldAccess {
    /// Of a field that is stored as its own type.
    #[must_use]
    pub const fn of<F: Persist>() -> Self {
        Self {
            encode: F::__encode_field,
            decode: F::__decode_field,
            list: F::__LIST,
            map: F::__MAP,
            has_adapter: false,
        }
    }

    /// Of a field of type `F` that an adapter stores.
    #[must_use]
    pub(super) const fn with<F: Any, A: Adapter<F>>() -> Self {
        let (encode, decode) = (encode_with::<F, A>, decode_with::<F, A>);
        Self { encode, decode, list: None, map: None, has_adapter: A::FOREIGN }
    }

    /// True if the field is stored as another type.
    pub(crate) fn has_adapter(&self) -> bool {
        self.has_adapter
    }

    /// How its elements are reached, if it is a list whose elements are stored as they are.
    pub(crate) fn list(&self) -> Option<&'static dyn ListAccess> {
        self.list
    }

    /// How its values are reached, if it is a map whose keys and values are stored as they are.
    pub(crate) fn map(&self) -> Option<&'static dyn MapAccess> {
        self.map
    }

    /// Writes a field.
    pub fn encode(&self, field: &dyn Any, out: &mut Encoder<'_>) -> Result<(), Stop> {
        (self.encode)(field, out)
    }

    /// Reads over a field; reads and drops one if there is none to read over.
    pub fn decode(&self, field: Option<&mut dyn Any>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        (self.decode)(field, input)
    }
}

fn encode_with<F: Any, A: Adapter<F>>(field: &dyn Any, out: &mut Encoder<'_>) -> Result<(), Stop> {
    match field.downcast_ref::<F>() {
        Some(field) => A::put(field, out),
        None => Err(out.no_field()),
    }
}

fn decode_with<F: Any, A: Adapter<F>>(
    field: Option<&mut dyn Any>,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let new = A::get(input)?;
    if let Some(field) = field {
        A::replace(field.downcast_mut().ok_or(Fail::Value)?, new);
    }
    Ok(())
}

/// A type with named fields, as in `value.field`; the derive and the library implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields with names in saves",
    label = "no path leads on from here",
    note = "if the type is yours, add `#[derive(Persist)]` to it"
)]
pub trait FieldNames {
    /// For each field, what the program calls it, and the step to it in a path.
    const STEPS: &'static [(&'static str, FieldStep)];
}

/// The step of a path that leads to a field.
#[derive(Clone, Copy)]
pub enum FieldStep {
    /// This name.
    Name(&'static str),
    /// None: the field is stored in place of its owner.
    Here,
    /// It is not stored.
    Skipped,
}

impl<T: FieldNames> FieldNames for Box<T> {
    const STEPS: &'static [(&'static str, FieldStep)] = T::STEPS;
}
