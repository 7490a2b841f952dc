//! Fields of another type than in older saves: what the code of a `convert` calls.

use std::fmt::Display;
use std::marker::PhantomData;

use super::{Decoder, Encoder, Persist, Stop, TypeSet};
use crate::reflect::{Class, Kind};
use crate::{Error, ErrorKind};

/// Where `reach` says that a type is taken by a `convert`.
pub(crate) const CONVERTED: &str = "taken by a field's `convert`";

/// The function of a field's `convert`, from an older type `A` to a field of type `T`.
#[doc(hidden)]
pub struct Conversion<A, R, T> {
    function: fn(A) -> R,
    to: PhantomData<fn() -> T>,
}

impl<A: Persist, R: Converted<T>, T: Persist> Conversion<A, R, T> {
    /// That of this function.
    pub fn of(function: fn(A) -> R) -> Self {
        Self { function, to: PhantomData }
    }

    /// Kind of the older value.
    pub fn kind(&self) -> Kind {
        A::kind()
    }

    /// Enters the classes of the older type, whose values no visit reaches.
    pub fn reach(&self, types: &mut TypeSet) {
        A::reach(types);
        types.unvisited(CONVERTED, A::kind, A::name);
    }

    /// Reads an older value and writes the field that the function makes of it.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit, the bytes are not such a value, or the function refuses.
    pub fn run(
        &self,
        class: &Class,
        variant: usize,
        field: usize,
        input: &mut Decoder<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let old = match input.value::<A>() {
            Ok(old) => old,
            Err(fail) => {
                let error = input.take_error().unwrap_or_else(|| fail.into());
                return Err(out.refuse(error));
            }
        };
        match (self.function)(old).into_result() {
            Ok(new) => out.value(&new),
            Err(reason) => {
                let name = place(class, variant, field);
                let message = format!("`convert` of {name} refused: {reason}");
                Err(out.refuse(Error::new(ErrorKind::Refused, message)))
            }
        }
    }
}

/// A field by its indices: `Hero.name`, `Shape::Circle.radius`.
fn place(class: &Class, variant: usize, field: usize) -> String {
    let mut name = class.name();
    let variant = class.variants().get(variant);
    if let Some(variant) = variant {
        name = format!("{name}::{}", variant.name);
    }
    let fields = variant.map_or(class.fields(), |variant| variant.fields);
    match fields.get(field) {
        Some(field) => format!("{name}.{}", field.name),
        None => name,
    }
}

/// What a `convert` function may return: the field, or a `Result` whose error can be shown.
#[diagnostic::on_unimplemented(
    message = "`convert` returns the field's `{T}` or `Result<{T}, impl Display>`, not `{Self}`",
    label = "does not return the field's type"
)]
#[doc(hidden)]
pub trait Converted<T> {
    /// The field; the reason against it as text.
    ///
    /// # Errors
    ///
    /// The function's own.
    fn into_result(self) -> Result<T, String>;
}

impl<T> Converted<T> for T {
    fn into_result(self) -> Result<T, String> {
        Ok(self)
    }
}

impl<T, E: Display> Converted<T> for Result<T, E> {
    fn into_result(self) -> Result<T, String> {
        self.map_err(|error| error.to_string())
    }
}
