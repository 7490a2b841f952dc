//! What fields are called in saves, by what the program calls them.

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
