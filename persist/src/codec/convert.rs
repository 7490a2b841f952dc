//! Fields whose type differs from that in older saves: the functions of `convert`.

use std::fmt::Display;
use std::marker::PhantomData;

use super::class::Reflect;
use super::compact::Compact;
use super::decoder::{Decoder, NoLinks};
use super::encoder::{Buffer, Encoder, Stop, left_over};
use super::persist::Persist;
use super::type_set::TypeSet;
use super::with::{Adapter, Same};
use crate::env::Env;
use crate::reflect::{Class, Kind, KindFn};
use crate::{Error, ErrorKind};

/// Converts the bytes of an older value into those of the field, by the first function of its `convert`. `variant` is 0
/// for a struct.
pub fn convert<T: Reflect>(variant: usize, field: usize, bytes: &[u8]) -> crate::Result<Vec<u8>> {
    let mut buffer = Buffer::new();
    let mut left = 0;
    buffer.append(&Env::DEFAULT, &mut NoLinks::default(), |out| {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(bytes, &Env::DEFAULT, &mut links);
        let result = T::persist_make_field(variant, field, Some((0, &mut input)), out);
        left = input.rest().len();
        result
    })?;
    if left > 0 {
        return Err(left_over(left).at((bytes.len() - left) as u64));
    }
    Ok(buffer.into_bytes())
}

/// The place of a type that a `convert` takes, for an error message.
pub(crate) const CONVERTED: &str = "taken by a field's `convert`";

/// Holds a function of a field's `convert`, from an older type `A` to a field of type `T`.
///
/// All bounds on the types are on [`new`](Self::new), so that a wrong function is one compile error however often the
/// derived code uses this type.
#[doc(hidden)]
pub struct FieldConversion<A, R, T> {
    function: fn(A) -> R,
    kind: KindFn,
    reach: fn(&mut TypeSet),
    write: Write<A, R>,
    to: PhantomData<fn() -> T>,
}

/// Reads an older value, converts it by the function and writes the result. The inner error is a refusal by the
/// function.
type Write<A, R> =
    fn(fn(A) -> R, &mut Decoder<'_>, &mut Encoder<'_>) -> Result<Result<(), String>, Stop>;

impl<A, R, T> FieldConversion<A, R, T> {
    /// Wraps a function of a `convert`.
    pub fn new(function: fn(A) -> R) -> Self
    where
        A: Persist,
        R: Converted<T>,
        T: Persist,
    {
        Self {
            function,
            kind: A::persist_kind,
            reach: reach::<A>,
            write: write::<Same, A, R, T>,
            to: PhantomData,
        }
    }

    /// Like [`new`](Self::new), for a field with `compact`.
    pub fn compact(function: fn(A) -> R) -> Self
    where
        A: Persist,
        R: Converted<T>,
        T: Persist,
    {
        Self { write: write::<Compact, A, R, T>, ..Self::new(function) }
    }

    /// Returns the kind of the older value.
    pub fn kind(&self) -> Kind {
        (self.kind)()
    }

    /// Adds the classes of the older type.
    pub fn reach(&self, types: &mut TypeSet) {
        (self.reach)(types);
    }

    /// Reads an older value, converts it and writes the field.
    pub fn run(
        &self,
        class: &Class,
        variant: usize,
        field: usize,
        input: &mut Decoder<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        (self.write)(self.function, input, out)?.map_err(|reason| {
            let name = place(class, variant, field);
            let message = format!("`convert` of {name} refused: {reason}");
            out.refuse(Error::new(ErrorKind::Refused, message))
        })
    }
}

/// Adds the older type, and notes that no visit reaches its values.
fn reach<A: Persist>(types: &mut TypeSet) {
    A::__reach(types);
    types.unvisited(CONVERTED, A::persist_kind, A::persist_name);
}

fn write<C: Adapter<T>, A: Persist, R: Converted<T>, T: Persist>(
    function: fn(A) -> R,
    input: &mut Decoder<'_>,
    out: &mut Encoder<'_>,
) -> Result<Result<(), String>, Stop> {
    let old = match input.value::<A>() {
        Ok(old) => old,
        Err(fail) => {
            let error = input.take_error().unwrap_or_else(|| fail.into());
            return Err(out.refuse(error));
        }
    };
    match function(old).into_result() {
        Ok(new) => C::encode(&new, out).map(Ok),
        Err(reason) => Ok(Err(reason)),
    }
}

/// Names a field by its indices: `Hero.name`, `Shape::Circle.radius`.
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

/// Unwraps the return value of a function in a chain of them, for the next one.
pub fn converted<T, R: Converted<T>>(returned: R) -> Result<T, String> {
    returned.into_result()
}

/// Marks the return types of a `convert` function: the field, or a `Result` whose error can be shown.
#[diagnostic::on_unimplemented(
    message = "`convert` returns the field's `{T}` or `Result<{T}, impl Display>`, not `{Self}`",
    label = "does not return the field's type"
)]
#[doc(hidden)]
pub trait Converted<T> {
    /// Returns the field, or the reason of a refusal as text.
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
