//! Adapters: fields that are stored as another type.
//!
//! An adapter is a type that stores a `T` as another type. The derive builds one for each field with `with`,
//! `with_iter` or `via`. `#[persist(with = "HashMap<_, Option<m>>")]` becomes
//! `HashMap<Same, Option<Through<marker of m>>>`. The containers of the standard library are adapters themselves
//! (`types/lift.rs`), around the adapters of their content.

use std::any::{Any, TypeId, type_name};
use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt::Display;
use std::marker::PhantomData;

use super::count;
use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::field_access::FieldAccess;
use super::links::Prototypes;
use super::persist::CALL;
use super::persist::Generic;
use super::persist::Persist;
use super::type_set::{ADAPTED, FieldCodec, TypeSet};
use crate::ErrorKind;
use crate::reflect::Kind;

/// Stores values of a type `T` that is not `Persist`, as another type.
///
/// A field names the type that implements this trait: `#[persist(with = Tiles)]`. A module with `Stored`, `store` and
/// `restore` is shorter; the trait is for types with parameters.
///
/// ```
/// use std::borrow::Borrow;
/// use std::convert::Infallible;
///
/// use persist::{Persist, With};
///
/// /// Stands for another crate.
/// mod grid {
///     #[derive(Default, Debug, PartialEq)]
///     pub struct Grid { pub cells: Vec<u8> }
/// }
///
/// struct Cells;
///
/// impl With<grid::Grid> for Cells {
///     type Stored = Vec<u8>;
///     type Error = Infallible;
///
///     // The cells are written from where they are.
///     fn store(grid: &grid::Grid) -> impl Borrow<Vec<u8>> {
///         &grid.cells
///     }
///
///     fn restore(cells: Vec<u8>) -> Result<grid::Grid, Infallible> {
///         Ok(grid::Grid { cells })
///     }
/// }
///
/// #[derive(Persist, Debug, PartialEq)]
/// struct Level {
///     #[persist(with = Cells)]
///     ground: grid::Grid,
///     #[persist(with = "Vec<Cells>")]
///     floors: Vec<grid::Grid>,
/// }
///
/// let grid = |cells: &[u8]| grid::Grid { cells: cells.to_vec() };
/// let level = Level { ground: grid(&[1, 2]), floors: vec![grid(&[3])] };
/// assert_eq!(persist::from_slice::<Level>(&persist::to_vec(&level)?)?, level);
/// # Ok::<(), persist::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to store a `{T}`: it does not implement `With<{T}>`",
    label = "not `With<{T}>`",
    note = "a path that begins with a capital letter names a type that implements `persist::With`, any other a module with `Stored`, `store` and `restore`"
)]
pub trait With<T>: 'static {
    /// The type that is saved.
    type Stored: Persist;

    /// Why a stored value cannot become a `T`; [`Infallible`](std::convert::Infallible) if every one can.
    type Error: Display;

    /// Converts a value to its stored form: a `Stored`, a `&Stored` or a `Cow<Stored>`.
    fn store(value: &T) -> impl Borrow<Self::Stored>;

    /// Converts the stored form back to the value.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such value. The error of the load names the object, the class and the field.
    fn restore(stored: Self::Stored) -> Result<T, Self::Error>;

    /// Restores over an existing value, which can keep its allocations: for [`decode_into`](crate::codec::decode_into),
    /// undo and redo.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`restore`](With::restore). The target must be a valid value then too.
    fn restore_into(target: &mut T, stored: Self::Stored) -> Result<(), Self::Error> {
        *target = Self::restore(stored)?;
        Ok(())
    }
}

/// Stores values of type `T`, for derived code.
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` cannot be stored through `{Self}`",
    label = "`with` has another form than the type of the field",
    note = "write `with` in the form of the field's type: `Vec<Option<m>>` where the field is a list of options; `_` is what is `Persist`"
)]
pub trait Adapter<T: 'static>: Sized + 'static {
    /// The fewest bytes that a value can take.
    const MIN: usize;

    /// True if an element that cannot be loaded is skipped.
    const SKIPS: bool = false;

    /// True if no value can hold nested values, references or unknown content.
    const LEAF: bool = false;

    /// Returns the kind of the stored type, which says what its bytes mean.
    fn kind() -> Kind;

    /// Returns the name of the stored type, as part of the name of a generic class.
    fn name() -> String;

    /// Adds the classes of the stored type.
    fn reach(types: &mut TypeSet);

    /// Returns the name of the module or type that restores values, for the error of two keys that become equal.
    #[must_use]
    fn module() -> Option<&'static str> {
        None
    }

    /// Writes a value.
    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads a value.
    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail>;

    /// Reads over an existing value.
    fn decode_into(target: &mut T, input: &mut Decoder<'_>) -> Result<(), Fail> {
        *target = Self::decode(input)?;
        Ok(())
    }

    /// Writes a key of a map in the form by which visits order the values.
    fn encode_key(key: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        Self::encode(key, out)
    }

    /// Replaces a value by a newly read one.
    #[inline]
    fn replace(target: &mut T, new: T) {
        *target = new;
    }

    // The derived code for a field. As functions of the trait they all fail alike where the adapter does not fit the
    // field, and rustc shows one error. Each is a level of nesting, since the stored type may hold the type itself.

    /// True if a value of another type is stored than the field. No visit looks into it, because it may hold the type
    /// itself. Errors name its elements, which the bytes alone do not show. Otherwise, a visit reaches the value, and
    /// it adds no level of nesting.
    const IS_ADAPTER: bool = true;

    /// Describes the field, for a layout.
    const PART: FieldCodec = FieldCodec::with::<T, Self>(0, true);

    /// Writes a field by itself.
    #[inline]
    fn put(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        if !Self::IS_ADAPTER {
            return Self::encode(value, out);
        }
        if out.only_lists() {
            // The stored value holds no references. The drop of a loaded value lists references too. The program's own
            // functions might panic then, because its context may have changed or be borrowed.
            return out.take(Self::MIN).map(drop);
        }
        out.nested(|out| Self::encode(value, out))
    }

    /// Reads a field by itself.
    #[inline]
    fn get(input: &mut Decoder<'_>) -> Result<T, Fail> {
        if Self::IS_ADAPTER { input.nested(Self::decode) } else { Self::decode(input) }
    }

    /// Reads over a field.
    #[inline]
    fn get_into(target: &mut T, input: &mut Decoder<'_>) -> Result<(), Fail> {
        if !Self::IS_ADAPTER {
            return Self::decode_into(target, input);
        }
        input.nested(|input| Self::decode_into(target, input))
    }

    /// Adds the stored type of a field, and notes that no visit reaches it.
    fn reach_field(types: &mut TypeSet) {
        Self::reach(types);
        if Self::IS_ADAPTER {
            types.unvisited(ADAPTED, Self::kind, Self::name);
        }
    }
}

impl FieldCodec {
    /// Describes a field of type `F` that an adapter stores in at least `min` bytes.
    #[must_use]
    pub const fn with<F: Any, A: Adapter<F>>(min: usize, leaf: bool) -> Self {
        Self {
            head: 0,
            fixed: false,
            min,
            leaf,
            cost: CALL,
            on_stack: size_of::<F>(),
            reach: A::reach_field,
            access: const { &FieldAccess::with::<F, A>() },
        }
    }
}

impl FieldAccess {
    /// Describes a field of type `F` that an adapter stores.
    #[must_use]
    const fn with<F: Any, A: Adapter<F>>() -> Self {
        let (encode, decode) = (encode_with::<F, A>, decode_with::<F, A>);
        Self {
            encode,
            decode,
            list: None,
            map: None,
            walk: None,
            has_adapter: A::IS_ADAPTER,
            is_plain: false,
            visit: None,
        }
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

/// Gives the type of a part of the container `T`, at place `N`. The derive uses it to find the types of the parts in
/// `with = "HashMap<_, m>"`, so that the field's type may be an alias.
#[diagnostic::on_unimplemented(
    message = "`with` has another form than the field, whose type is `{T}`",
    label = "the field is no such container",
    note = "write `with` in the form of the field's type: `Vec<Option<m>>` where the field is a list of options; `_` is what is `Persist`"
)]
pub trait Lift<T, const N: usize> {
    /// The type of the part.
    type Part;
}

/// Takes the place of the adapter of `#[persist(serde)]` where this library's feature `serde` is off. It implements no
/// adapter, so the compile error names the feature.
#[cfg(not(feature = "serde"))]
pub enum NeedsFeatureSerde {}

/// Expands to the items of an adapter that stores values as an `S`, by this module.
macro_rules! stored_as {
    ($stored:ty, $module:expr) => {
        stored_as!($stored);

        fn module() -> Option<&'static str> {
            Some($module)
        }
    };
    ($stored:ty) => {
        const MIN: usize = <$stored as Generic>::MIN;

        fn kind() -> Kind {
            <$stored>::persist_kind()
        }

        fn name() -> String {
            <$stored>::persist_name()
        }

        fn reach(types: &mut TypeSet) {
            <$stored>::__reach(types);
        }
    };
}

/// Stores a value as it is: `_` in the attribute `with`.
pub enum Same {}

impl<T: Persist> Adapter<T> for Same {
    stored_as!(T);

    #[inline(always)]
    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(value)
    }

    #[inline(always)]
    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail> {
        input.value()
    }

    #[inline(always)]
    fn decode_into(target: &mut T, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.value_into(target)
    }
}

/// Stores the parts of a container in their usual form. Unlike [`Same`], it belongs to no attribute: visits reach the
/// parts.
pub(crate) enum Usual {}

impl<T: Persist> Adapter<T> for Usual {
    stored_as!(T);
    const LEAF: bool = T::LEAF;
    const IS_ADAPTER: bool = false;

    #[inline(always)]
    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(value)
    }

    #[inline(always)]
    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail> {
        input.value()
    }
}

/// Stores values by a type that implements [`With`].
pub struct By<W>(PhantomData<W>);

impl<T: 'static, W: With<T>> Adapter<T> for By<W> {
    stored_as!(W::Stored, short_name::<W>());

    #[inline]
    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(W::store(value).borrow())
    }

    #[inline]
    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail> {
        restored(W::restore(input.value()?), short_name::<W>, input)
    }

    #[inline]
    fn decode_into(target: &mut T, input: &mut Decoder<'_>) -> Result<(), Fail> {
        restored(W::restore_into(target, input.value()?), short_name::<W>, input)
    }
}

/// Calls the functions of a `with` module, for a type `Self` that has such a field. `M` is a marker of that type's own,
/// one for each module.
pub trait Module<M>: 'static {
    /// The type of the field.
    type Field: 'static;

    /// The type that is saved.
    type Stored: Persist;

    /// The module's path, as it is written in the attribute.
    const NAME: &'static str;

    /// Writes the stored form of a field.
    fn store(field: &Self::Field, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads the stored form and restores the field.
    fn restore(input: &mut Decoder<'_>) -> Result<Self::Field, Fail>;

    /// Reads the stored form and restores it over a field.
    fn restore_into(target: &mut Self::Field, input: &mut Decoder<'_>) -> Result<(), Fail>;

    // The derived code calls the following functions. As functions of the trait they need no further bound, whose
    // failure would be a second error.

    /// Writes the return value of the module's `store`: a `Stored`, a `&Stored` or a `Cow<Stored>`.
    #[inline(always)]
    fn put<B: Borrow<Self::Stored>>(stored: &B, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(stored.borrow())
    }

    /// Reads the stored form.
    #[inline(always)]
    fn get(input: &mut Decoder<'_>) -> Result<Self::Stored, Fail> {
        input.value()
    }

    /// Unwraps the return value of the module's `restore`.
    #[inline(always)]
    fn restored<E: Display>(
        result: Result<Self::Field, E>,
        input: &mut Decoder<'_>,
    ) -> Result<Self::Field, Fail> {
        result.map_err(|error| refused(Self::NAME, &error, input))
    }

    /// Unwraps the return value of the module's `restore_into`. Returns the stored form if the module has no such
    /// function.
    #[inline(always)]
    fn placed<P: RestoredInto<Self::Stored>>(
        result: P,
        input: &mut Decoder<'_>,
    ) -> Result<Option<Self::Stored>, Fail> {
        result.placed().map_err(|error| refused(Self::NAME, &error, input))
    }
}

/// Marks the return types of a module's `restore_into`: a `Result<(), E>`, where `E` can be shown as text.
#[diagnostic::on_unimplemented(
    message = "`restore_into` of a module returns a `Result<(), E>` whose `E` can be shown as text, not `{Self}`",
    label = "not a `Result<(), E>`"
)]
pub trait RestoredInto<S> {
    /// The error of a stored value that cannot be put into the field.
    type Error: Display;

    /// Returns the stored form, if it was not put into the field.
    ///
    /// # Errors
    ///
    /// Returns an error if the stored value cannot be put into the field.
    fn placed(self) -> Result<Option<S>, Self::Error>;
}

impl<S, E: Display> RestoredInto<S> for Result<(), E> {
    type Error = E;

    #[inline(always)]
    fn placed(self) -> Result<Option<S>, E> {
        self.map(|()| None)
    }
}

/// Returns the stored form to the caller, for a module without a `restore_into` of its own.
pub struct NotInPlace<S>(S);

impl<S> RestoredInto<S> for NotInPlace<S> {
    type Error = Infallible;

    #[inline(always)]
    fn placed(self) -> Result<Option<S>, Infallible> {
        Ok(Some(self.0))
    }
}

/// Takes the place of `restore_into` for a module that has no function of that name.
#[inline(always)]
pub fn restore_into<T, S>(_: &mut T, stored: S) -> NotInPlace<S> {
    NotInPlace(stored)
}

/// Like [`restore_into`], for a field with `context`.
#[inline(always)]
pub fn restore_into_with_context<T, S, C>(_: &mut T, stored: S, _: &C) -> NotInPlace<S> {
    NotInPlace(stored)
}

/// Stores values by a [`Module`] of the type `S`.
pub struct Through<S, M>(PhantomData<(S, M)>);

impl<S: Module<M>, M: 'static> Adapter<S::Field> for Through<S, M> {
    stored_as!(S::Stored, S::NAME);

    #[inline]
    fn encode(value: &S::Field, out: &mut Encoder<'_>) -> Result<(), Stop> {
        S::store(value, out)
    }

    #[inline]
    fn decode(input: &mut Decoder<'_>) -> Result<S::Field, Fail> {
        S::restore(input)
    }

    #[inline]
    fn decode_into(target: &mut S::Field, input: &mut Decoder<'_>) -> Result<(), Fail> {
        S::restore_into(target, input)
    }
}

/// Stores values as an `S`, by `From` and `TryFrom`.
pub struct Via<S>(PhantomData<S>);

impl<T, S> Adapter<T> for Via<S>
where
    T: 'static,
    S: Persist + for<'a> From<&'a T>,
    T: TryFrom<S, Error: Display>,
{
    stored_as!(S, short_name::<S>());

    #[inline]
    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(&S::from(value))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail> {
        restored(T::try_from(input.value()?), short_name::<S>, input)
    }
}

/// Gives the empty value of a field with an adapter, where neither `default` nor `empty` gives one.
#[diagnostic::on_unimplemented(
    message = "there is no value of type `{Self}` that a load can fill: `{Self}` does not implement `Default`",
    label = "has no default value",
    note = "give the field `#[persist(default = value)]`, or, beside `with`, `serde` and `via`, `#[persist(empty = value)]`; the module in `with` may have it as `pub fn empty()`"
)]
pub trait DefaultValue: Sized {
    /// Returns the value.
    #[must_use]
    fn default_value() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> DefaultValue for T {
    #[inline]
    fn default_value() -> Self {
        Self::default()
    }
}

/// True if the save lacks this field of a `T`, so that it gets its default. The bytes that stand for the default are
/// skipped: the default does not go through `store` and `restore`, which may refuse or change it.
#[must_use]
#[inline(never)]
pub fn is_missing<T: 'static>(input: &mut Decoder<'_>, variant: usize, field: usize) -> bool {
    input.pass_default(TypeId::of::<T>(), variant, field)
}

/// Takes the place of `empty` for a module that has no function of that name.
#[must_use]
#[inline]
pub fn empty<T: DefaultValue>() -> T {
    T::default_value()
}

/// Restores the empty value of a type with `via` from the empty value of its stored type.
pub fn empty_via<T, S>(prototypes: &Prototypes<'_>) -> crate::Result<T>
where
    S: Persist,
    T: TryFrom<S, Error: Display>,
{
    T::try_from(S::persist_empty(prototypes)?).map_err(|error| {
        let name = short_name::<T>();
        error!(
            ErrorKind::Refused,
            "the empty value of `{}` is no `{name}`: {error}; give `{name}` one by `#[persist(default = value)]`",
            short_name::<S>()
        )
    })
}

/// Returns the name of a type without its modules and arguments. A type without a name of its own, such as a tuple, is
/// named in full.
fn short_name<T>() -> &'static str {
    let name = type_name::<T>();
    if !name.starts_with(|first: char| first.is_alphabetic() || first == '_') {
        return name;
    }
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

/// Returns the restored value, or records the refusal under the name of the module or type.
#[inline(always)]
fn restored<T, E: Display>(
    result: Result<T, E>,
    name: fn() -> &'static str,
    input: &mut Decoder<'_>,
) -> Result<T, Fail> {
    result.map_err(|error| refused(name(), &error, input))
}

#[cold]
#[inline(never)]
fn refused(name: &str, error: &dyn Display, input: &mut Decoder<'_>) -> Fail {
    input.refuse(error!(ErrorKind::Refused, "`{name}` refused: {error}"))
}

/// Returns the failure of a key or element that becomes equal to an earlier one. Indices begin at 0.
#[cold]
#[inline(never)]
pub(crate) fn clash(
    module: Option<&str>,
    what: &str,
    index: usize,
    input: &mut Decoder<'_>,
) -> Fail {
    match module {
        None => Fail::Duplicate,
        Some(module) => input.refuse(error!(
            ErrorKind::InvalidValue,
            "`{module}` makes {what} {index} equal to one before it, so that one of the two would be lost"
        )),
    }
}

// The derived code of a module calls the following function.

/// Writes the items that the `store` of a `with_iter` module yields, as a list.
pub fn put_each<S: Persist, I: ExactSizeIterator<Item: Borrow<S>>>(
    items: I,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let (count, mut left) = (items.len(), items.len());
    out.take(1)?[0] = count::head(count as u64);
    out.elements::<S>(count, S::MIN, S::LEAF, |out| {
        out.fork(|out| {
            let mut items = items;
            items.try_for_each(|item| match left.checked_sub(1) {
                Some(after) => {
                    left = after;
                    out.value(item.borrow())
                }
                None => Err(miscounted(count, out)),
            })
        })?;
        if left == 0 { Ok(()) } else { Err(miscounted(count, out)) }
    })
}

#[cold]
fn miscounted(count: usize, out: &mut Encoder<'_>) -> Stop {
    out.refuse(error!(
        ErrorKind::InvalidValue,
        "the iterator of a `with_iter` module said that it had {count} items, and had another number; correct its `len`"
    ))
}
