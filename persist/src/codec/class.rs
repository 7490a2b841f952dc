//! Access to the fields of classes, by the tables that the derive writes.

use std::any::Any;

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::field_access::FieldAccess;
use super::persist::Generic;
use super::persist::Persist;
use super::type_set::{ClassAccess, DynamicFields, FieldCodec, TypeSet};
use crate::reflect::{Class, FieldRecord, Kind, VariantRecord};

/// Gives the tables of a struct or an enum that derives `Persist`, and access to its fields.
///
/// The methods take the index of a field in [`FIELDS`](Reflect::FIELDS), or in the records of the value's variant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no field records: it does not derive `Persist`",
    note = "add `#[derive(Persist)]` to it; `transparent` types and std types have none of their own"
)]
pub trait Reflect: Persist {
    /// Describes the class: its name, version, fields or variants.
    const CLASS: &'static Class;

    /// Lists the field records of a struct, in declaration order. It is empty for an enum.
    const FIELDS: &'static [FieldRecord];

    /// Lists the variants of an enum, in declaration order. It is empty for a struct.
    const VARIANTS: &'static [VariantRecord];

    /// Returns the index of the value's variant; 0 for a struct.
    fn persist_variant(&self) -> usize {
        0
    }

    /// Returns a field; `None` if there is no stored field of this index.
    fn persist_field(&self, field: usize) -> Option<&dyn Any>;

    /// Returns a field mutably; `None` if there is no stored field of this index.
    fn persist_field_mut(&mut self, field: usize) -> Option<&mut dyn Any>;

    /// Codecs of the fields: one row for a struct, one for each variant of an enum.
    #[doc(hidden)]
    const __ROWS: &'static [&'static [FieldCodec]];

    /// Writes a field that a save lacks or holds as an older type.
    ///
    /// With `from`, the decoder holds an older value. A function of the field's `convert`, chosen by the number,
    /// converts it to the field. The number [`SAMPLE`] writes the field's `sample`. Without `from`, the field's default
    /// is written.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the field does not fit or has no default or `convert`, if the bytes are not such a value, or
    /// if the function refuses.
    fn persist_make_field(
        variant: usize,
        field: usize,
        from: Option<(usize, &mut Decoder<'_>)>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let _ = (variant, field, from);
        Err(out.no_field())
    }
}

/// The number with which [`persist_make_field`](Reflect::persist_make_field) writes the `sample` of a field.
#[doc(hidden)]
pub const SAMPLE: usize = usize::MAX;

/// Returns the kind of a class.
#[doc(hidden)]
pub fn kind_of_class<T: Reflect>() -> Kind {
    Kind::Class(|| T::CLASS)
}

impl<T: Reflect> DynamicFields for T {
    fn variant(&self) -> usize {
        self.persist_variant()
    }

    fn field(&self, field: usize) -> Option<&dyn Any> {
        self.persist_field(field)
    }

    #[cfg(any(feature = "history", feature = "world"))]
    fn field_mut(&mut self, field: usize) -> Option<&mut dyn Any> {
        self.persist_field_mut(field)
    }
}

impl ClassAccess {
    const fn new<T: Reflect>() -> Self {
        Self {
            rows: T::__ROWS,
            whole: FieldAccess::new::<T>(),
            open: |value| Some(value.downcast_ref::<T>()?),
            open_mut: |value| Some(value.downcast_mut::<T>()?),
            make_field: T::persist_make_field,
            encode_empty: T::encode_empty,
        }
    }
}

impl TypeSet {
    /// Adds a class. Returns true the first time; then the caller adds the types of its fields.
    pub fn class<T: Reflect>(&mut self) -> bool {
        let first = self.enter::<T>();
        if first {
            self.classes.push((T::CLASS, const { &ClassAccess::new::<T>() }));
        }
        first
    }
}
