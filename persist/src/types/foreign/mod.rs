//! Implements `Persist` for types of other crates: one file for each crate, each with its own feature. Crates
//! that share a stored form lie below it: `calendar` and `list`.
//!
//! This library defines their bytes: those of a plain type such as `[f32; 3]`, and never the crate's memory or its
//! serde form. So a new version of the crate cannot change a save. The kind is that of the plain type too, so one crate
//! can replace another. Values are built by the crate's own checked constructors.

#[cfg(any(feature = "chrono-0_4", feature = "jiff-0_2", feature = "time-0_3"))]
mod calendar;
#[cfg(any(
    feature = "arrayvec-0_7",
    feature = "smallvec",
    feature = "thin-vec-0_2",
    feature = "tinyvec"
))]
mod list;
#[cfg(any(
    feature = "arcstr",
    feature = "arrayvec-0_7",
    feature = "compact_str-0_8",
    feature = "compact_str-0_9",
    feature = "smol_str-0_2",
    feature = "smol_str-0_3"
))]
mod text;

#[cfg(feature = "arcstr")]
mod arcstr;
mod bitflags;
#[cfg(feature = "bytes")]
mod bytes;
#[cfg(any(feature = "compact_str-0_8", feature = "compact_str-0_9"))]
mod compact_str;
#[cfg(feature = "enum-map")]
mod enum_map;
#[cfg(feature = "fastrand")]
mod fastrand;
#[cfg(feature = "fixed")]
mod fixed;
#[cfg(feature = "fixedbitset-0_5")]
mod fixedbitset;
#[cfg(any(
    feature = "glam-0_27",
    feature = "glam-0_29",
    feature = "glam-0_30",
    feature = "glam-0_32",
    feature = "glam-0_33",
    feature = "glam-0_34",
))]
mod glam;
#[cfg(feature = "half")]
mod half;
#[cfg(any(feature = "hashbrown-0_15", feature = "hashbrown-0_16", feature = "hashbrown-0_17"))]
mod hashbrown;
#[cfg(feature = "indexmap")]
mod indexmap;
#[cfg(any(
    feature = "rand_pcg-0_3",
    feature = "rand_pcg-0_9",
    feature = "rand_pcg-0_10",
    feature = "rand_xoshiro-0_6",
    feature = "rand_xoshiro-0_7",
    feature = "rand_xoshiro-0_8",
))]
mod integers;
#[cfg(feature = "mint-0_5")]
mod mint;
#[cfg(any(feature = "nalgebra-0_33", feature = "nalgebra-0_34", feature = "nalgebra-0_35"))]
mod nalgebra;
#[cfg(feature = "ordered-float")]
mod ordered_float;
#[cfg(any(feature = "rand_chacha-0_3", feature = "rand_chacha-0_9", feature = "rand_chacha-0_10",))]
mod rand_chacha;
#[cfg(any(feature = "rand_pcg-0_3", feature = "rand_pcg-0_9", feature = "rand_pcg-0_10"))]
mod rand_pcg;
#[cfg(any(
    feature = "rand_xoshiro-0_6",
    feature = "rand_xoshiro-0_7",
    feature = "rand_xoshiro-0_8",
))]
mod rand_xoshiro;
#[cfg(feature = "rgb-0_8")]
mod rgb;
#[cfg(feature = "slotmap")]
mod slotmap;
#[cfg(any(feature = "smol_str-0_2", feature = "smol_str-0_3"))]
mod smol_str;
#[cfg(feature = "thunderdome-0_6")]
mod thunderdome;
#[cfg(feature = "uuid")]
mod uuid;

pub use bitflags::unknown_bits;

use std::fmt::Display;

use crate::codec::{Decoder, Fail, Persist, TypeSet};
use crate::reflect::Kind;
use crate::{Error, ErrorKind};

/// A type that is stored as another one, and restored from it.
///
/// No visit reaches the content of such a value, so it must be plain data. A collection has an `impl Persist` of its
/// own instead.
pub trait StoredAs: Sized + 'static {
    /// The type whose bytes are stored.
    type Stored: Persist;

    /// Returns the kind of the stored type.
    fn kind() -> Kind {
        Self::Stored::persist_kind()
    }

    /// Returns the kind of the compact form.
    fn compact_kind() -> Kind {
        Self::Stored::__compact_kind()
    }

    /// Returns a value to be filled, or to replace an invalid one.
    fn empty() -> Self;

    /// Converts the value to the stored type.
    fn store(&self) -> Self::Stored;

    /// Converts the stored value back. An error is a sentence with the reason.
    #[expect(clippy::missing_errors_doc, reason = "the type says when there is none")]
    fn restore(stored: Self::Stored) -> Result<Self, impl Display>;
}

/// Records why a stored value is invalid.
#[cold]
pub fn refuse(why: &dyn Display, input: &mut Decoder<'_>) -> Fail {
    input.refuse(Error::new(ErrorKind::InvalidValue, why.to_string()))
}

/// Adds the stored type of another type, and notes that no visit reaches its values.
pub fn reach_stored<T: Persist>(types: &mut TypeSet) {
    T::__reach(types);
    types.unvisited("stored in a type of another crate", T::persist_kind, T::persist_name);
}

/// Implements `Persist` through another type, in one line for each type: the stored type, the empty value, and the
/// functions that convert between the two. With a `?` the conversion back may fail, with a sentence as its error.
///
/// ```ignore
/// stored_as! {
///     Uuid as [u8; 16] = Uuid::nil(), |id| id.into_bytes() => Uuid::from_bytes;
///     {T: Persist + Float} NotNan<T> as T = NotNan::default(), |x| x.into_inner() =>? NotNan::new;
/// }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __stored_as {
    () => {};
    (
        $({$($generics:tt)*})? $ty:ty as $stored:ty = $empty:expr, $store:expr
            =>? $restore:expr; $($rest:tt)*
    ) => {
        $crate::__stored_as! { @type {$($($generics)*)?} $ty as $stored = $empty, $store, $restore }
        $crate::__persist_through! { {$($($generics)*)?} $ty; }
        $crate::__stored_as! { $($rest)* }
    };
    (
        $({$($generics:tt)*})? $ty:ty as $stored:ty = $empty:expr, $store:expr
            => $restore:expr; $($rest:tt)*
    ) => {
        $crate::__stored_as! {
            @total {$($($generics)*)?} $ty as $stored = $empty, $store, $restore
        }
        $crate::__persist_through! { {$($($generics)*)?} $ty; }
        $crate::__stored_as! { $($rest)* }
    };
    (
        @total {$($generics:tt)*} $ty:ty as $stored:ty = $empty:expr, $store:expr, $restore:expr
    ) => {
        $crate::__stored_as! {
            @type {$($generics)*} $ty as $stored = $empty, $store, |stored| {
                let restore: fn($stored) -> Self = $restore;
                $crate::__private::Result::<Self, $crate::__private::std::convert::Infallible>::Ok(
                    restore(stored),
                )
            }
        }
    };
    (@type {$($generics:tt)*} $ty:ty as $stored:ty = $empty:expr, $store:expr, $restore:expr) => {
        impl<$($generics)*> $crate::__private::StoredAs for $ty {
            type Stored = $stored;

            #[inline(always)]
            fn empty() -> Self {
                $empty
            }

            #[inline(always)]
            fn store(&self) -> $stored {
                let store: fn(&Self) -> $stored = $store;
                store(self)
            }

            #[inline(always)]
            fn restore(
                stored: $stored,
            ) -> $crate::__private::Result<Self, impl $crate::__private::std::fmt::Display> {
                let restore: fn($stored) -> $crate::__private::Result<Self, _> = $restore;
                restore(stored)
            }
        }
    };
}

/// Implements `Persist` for a type that is [`StoredAs`] another, with additional items of the trait if needed. A
/// function of `Layout` may follow the type.
#[doc(hidden)]
#[macro_export]
macro_rules! __persist_through {
    ({$($generics:tt)*} $ty:ty $(, $form:ident)?; $($more:tt)*) => {
        const _: () = {
            use $crate::__private as _persist;

            type __Stored<T> = <T as _persist::StoredAs>::Stored;

            #[diagnostic::do_not_recommend]
            impl<$($generics)*> _persist::Persist for $ty {
                const __LAYOUT: _persist::Layout =
                    <__Stored<Self> as _persist::Persist>::__LAYOUT
                        .stored_for::<Self>()
                        $(.$form())?;
                const __COMPACT: _persist::Option<_persist::usize> =
                    <__Stored<Self> as _persist::Persist>::__COMPACT;

                fn persist_kind() -> _persist::Kind {
                    <Self as _persist::StoredAs>::kind()
                }

                fn __compact_kind() -> _persist::Kind {
                    <Self as _persist::StoredAs>::compact_kind()
                }

                fn __reach(types: &mut _persist::TypeSet) {
                    _persist::reach_stored::<__Stored<Self>>(types);
                }

                fn persist_empty(
                    _: &_persist::Prototypes<'_>,
                ) -> _persist::Result<Self, _persist::Error> {
                    _persist::Result::Ok(<Self as _persist::StoredAs>::empty())
                }

                #[inline]
                fn persist_encode(
                    &self,
                    out: &mut _persist::Encoder<'_>,
                ) -> _persist::Result<(), _persist::Stop> {
                    _persist::encode_row(self, out)
                }

                #[inline]
                fn persist_decode(
                    input: &mut _persist::Decoder<'_>,
                ) -> _persist::Result<Self, _persist::Fail> {
                    _persist::decode_row(input)
                }

                #[inline]
                fn __encode_compact(
                    &self,
                    out: &mut _persist::Encoder<'_>,
                ) -> _persist::Result<(), _persist::Stop> {
                    let stored = <Self as _persist::StoredAs>::store(self);
                    _persist::Persist::__encode_compact(&stored, out)
                }

                #[inline]
                fn __decode_compact(
                    input: &mut _persist::Decoder<'_>,
                ) -> _persist::Result<Self, _persist::Fail> {
                    let stored = _persist::Persist::__decode_compact(input)?;
                    <Self as _persist::StoredAs>::restore(stored)
                        .map_err(|why| _persist::refuse(&why, input))
                }

                #[inline(always)]
                fn __encode_head(&self, head: &mut [_persist::u8]) {
                    if const { <Self as _persist::Persist>::__LAYOUT.head > 0 } {
                        let stored = <Self as _persist::StoredAs>::store(self);
                        _persist::Persist::__encode_head(&stored, head);
                    }
                }

                #[inline(always)]
                fn __encode_tail(
                    &self,
                    out: &mut _persist::Encoder<'_>,
                ) -> _persist::Result<(), _persist::Stop> {
                    if const { <Self as _persist::Persist>::__LAYOUT.fixed } {
                        return _persist::Result::Ok(());
                    }
                    let stored = <Self as _persist::StoredAs>::store(self);
                    _persist::Persist::__encode_tail(&stored, out)
                }

                #[inline(always)]
                fn __decode(
                    head: &[_persist::u8],
                    input: &mut _persist::Decoder<'_>,
                ) -> _persist::Result<Self, _persist::Fail> {
                    let stored = _persist::Persist::__decode(head, input)?;
                    <Self as _persist::StoredAs>::restore(stored)
                        .map_err(|why| _persist::refuse(&why, input))
                }

                #[inline(always)]
                fn __decode_fixed(head: &[_persist::u8], bad: &mut _persist::bool) -> Self {
                    let stored = _persist::Persist::__decode_fixed(head, bad);
                    <Self as _persist::StoredAs>::restore(stored).unwrap_or_else(|_| {
                        *bad = true;
                        <Self as _persist::StoredAs>::empty()
                    })
                }

                $($more)*
            }

            #[diagnostic::do_not_recommend]
            impl<$($generics)*> _persist::Pointee for $ty {
                type As = Self;
            }
        };
    };
}

/// Like [`__stored_as`], for types whose memory is an array of the stored numbers, as bytemuck guarantees. They are
/// copied as blocks.
#[allow(unused_macros, reason = "not every feature has such types")]
macro_rules! block_as {
    ($($ty:ty as $stored:ty = $empty:expr, $store:expr => $restore:expr;)*) => {$(
        $crate::__stored_as! { @total {} $ty as $stored = $empty, $store, $restore }

        impl $crate::codec::pod::PodBlock for $ty {}

        const _: () = assert!(size_of::<$ty>() == size_of::<$stored>());

        $crate::__persist_through! { {} $ty, pod;
            #[inline(always)]
            fn __encode_slice(
                items: &[Self],
                out: &mut _persist::Encoder<'_>,
            ) -> Result<(), _persist::Stop> {
                _persist::pod::encode_slice(items, out)
            }

            #[inline(always)]
            fn __decode_list(
                count: usize,
                input: &mut _persist::Decoder<'_>,
            ) -> Result<Vec<Self>, _persist::Fail> {
                _persist::pod::decode_list(count, input)
            }

            #[inline(always)]
            fn __decode_list_into(
                list: &mut Vec<Self>,
                count: usize,
                input: &mut _persist::Decoder<'_>,
            ) -> Result<(), _persist::Fail> {
                _persist::pod::decode_list_into(list, count, input)
            }
        }
    )*};
}

#[allow(unused_imports, reason = "without a feature there are no such types")]
use {__persist_through as persist_through, __stored_as as stored_as, block_as};
