//! Fields whose type is known at run time only.

use std::any::Any;

use super::{Decoder, Encoder, Fail, Persist, Stop};

/// How a field is written and read by itself.
#[derive(Clone, Copy)]
pub struct FieldAccess {
    encode: fn(&dyn Any, &mut Encoder<'_>) -> Result<(), Stop>,
    decode: fn(&mut dyn Any, &mut Decoder<'_>) -> Result<(), Fail>,
}

impl FieldAccess {
    /// Of a field that is stored as its own type.
    #[must_use]
    pub const fn of<F: Persist>() -> Self {
        Self { encode: encode::<F>, decode: decode::<F> }
    }

    /// Of a field that a `with` module stores.
    #[must_use]
    pub const fn with(
        encode: fn(&dyn Any, &mut Encoder<'_>) -> Result<(), Stop>,
        decode: fn(&mut dyn Any, &mut Decoder<'_>) -> Result<(), Fail>,
    ) -> Self {
        Self { encode, decode }
    }
}

fn encode<F: Persist>(field: &dyn Any, out: &mut Encoder<'_>) -> Result<(), Stop> {
    match field.downcast_ref::<F>() {
        Some(field) => field.persist_encode(out),
        None => Err(out.no_field()),
    }
}

fn decode<F: Persist>(field: &mut dyn Any, input: &mut Decoder<'_>) -> Result<(), Fail> {
    let field = field.downcast_mut::<F>().ok_or(Fail::Value)?;
    let mut new = F::persist_decode(input)?;
    new.__keep_skipped(field);
    *field = new;
    Ok(())
}

/// A field of a value.
#[derive(Clone, Copy)]
pub struct FieldRef<'v> {
    value: &'v dyn Any,
    access: &'static FieldAccess,
}

impl<'v> FieldRef<'v> {
    /// A field that is stored as its own type.
    #[must_use]
    pub fn of<F: Persist>(value: &'v F) -> Self {
        Self::with(value, const { &FieldAccess::of::<F>() })
    }

    /// A field that is stored in this way.
    #[doc(hidden)]
    #[must_use]
    pub fn with(value: &'v dyn Any, access: &'static FieldAccess) -> Self {
        Self { value, access }
    }

    /// The field itself.
    #[must_use]
    pub fn value(self) -> &'v dyn Any {
        self.value
    }

    /// Writes the field.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the field does not fit or refuses.
    pub fn encode(self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        (self.access.encode)(self.value, out)
    }
}

/// A field of a value, to be changed.
pub struct FieldMut<'v> {
    value: &'v mut dyn Any,
    access: &'static FieldAccess,
}

impl<'v> FieldMut<'v> {
    /// A field that is stored as its own type.
    #[must_use]
    pub fn of<F: Persist>(value: &'v mut F) -> Self {
        Self::with(value, const { &FieldAccess::of::<F>() })
    }

    /// A field that is stored in this way.
    #[doc(hidden)]
    #[must_use]
    pub fn with(value: &'v mut dyn Any, access: &'static FieldAccess) -> Self {
        Self { value, access }
    }

    /// The field itself.
    #[must_use]
    pub fn value(self) -> &'v mut dyn Any {
        self.value
    }

    /// Reads over the field.
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the bytes are not such a field.
    pub fn decode(self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        (self.access.decode)(self.value, input)
    }
}
