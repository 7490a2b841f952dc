//! Classes, by the tables that the derive writes.

use std::any::Any;

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::field::FieldAccess;
use super::persist::Persist;
use super::type_set::{ClassAccess, DynamicFields, FieldCodec, TypeSet};
use crate::reflect::{Class, FieldRecord, Kind, VariantRecord};

/// A struct or an enum with field records of its own; the derive implements it.
///
/// The methods reach a field by its index in [`FIELDS`](Reflect::FIELDS), or in the records of the value's variant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no field records: it does not derive `Persist`",
    note = "add `#[derive(Persist)]` to it; `transparent` types and std types have none of their own"
)]
pub trait Reflect: Persist {
    /// The class.
    const CLASS: &'static Class;

    /// The field records of a struct, in declaration order; none for an enum.
    const FIELDS: &'static [FieldRecord];

    /// The variants of an enum, in declaration order; none for a struct.
    const VARIANTS: &'static [VariantRecord];

    /// Index of the value's variant; 0 for a struct.
    fn persist_variant(&self) -> usize {
        0
    }

    /// One field.
    fn persist_field(&self, field: usize) -> Option<&dyn Any>;

    /// One field, to be changed.
    fn persist_field_mut(&mut self, field: usize) -> Option<&mut dyn Any>;

    /// What is known of the fields' types: of a struct, or of each variant.
    #[doc(hidden)]
    const __ROWS: &'static [&'static [FieldCodec]];

    /// Writes a field that a save does not have as it is: what the function of a number in its `convert` makes of the
    /// older value in `from`, its `sample` if the number is [`SAMPLE`], or its default if there is none.
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

/// The number by which [`persist_make_field`](Reflect::persist_make_field) is asked for the `sample` of a field.
#[doc(hidden)]
pub const SAMPLE: usize = usize::MAX;

/// The kind of a class.
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

    fn field_mut(&mut self, field: usize) -> Option<&mut dyn Any> {
        self.persist_field_mut(field)
    }
}

impl ClassAccess {
    const fn of<T: Reflect>() -> Self {
        Self {
            rows: T::__ROWS,
            whole: FieldAccess::of::<T>(),
            open: |value| Some(value.downcast_ref::<T>()?),
            open_mut: |value| Some(value.downcast_mut::<T>()?),
            make_field: T::persist_make_field,
            encode_empty: T::__encode_empty,
        }
    }
}

impl TypeSet {
    /// Enters a class; true the first time, and then its fields are to be reached.
    pub fn class<T: Reflect>(&mut self) -> bool {
        let first = self.enter::<T>();
        if first {
            self.classes.push((T::CLASS, const { &ClassAccess::of::<T>() }));
        }
        first
    }
}
