//! Integers, floats, `bool`, `char`, `NonZero*`, `usize`.

use std::cmp::Ordering;
use std::fmt::Display;
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
};

use crate::codec::compact::{unzigzag, zigzag};
use crate::codec::row::put;
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Layout, Persist, Prototypes, Stop, count, pod,
};
use crate::reflect::{Integer, Kind};
use crate::{ErrorKind, Result};

/// Expands to the items that all number types share.
macro_rules! fixed_items {
    () => {
        $crate::types::number::fixed_items!(head, input => {
            let _ = input;
            $crate::codec::persist::checked(head)
        });
    };
    ($head:ident, $input:ident => $decode:block) => {
        $crate::types::whole_items!();

        #[inline(always)]
        fn __decode($head: &[u8], $input: &mut Decoder<'_>) -> Result<Self, Fail> {
            $decode
        }

        #[inline(always)]
        fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
            *self = Self::__decode(head, input)?;
            Ok(())
        }
    };
}
pub(super) use fixed_items;

/// Expands to the items of an integer that has a compact form, from the functions that convert it to a count and back.
macro_rules! count_items {
    ($kind:ident, $to:expr, $from:expr) => {
        const __COMPACT: Option<usize> = Some(1);

        fn __compact_kind() -> Kind {
            Kind::Compact(Integer::$kind)
        }

        #[inline(always)]
        fn __encode_compact(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
            count::encode($to(*self), out)
        }

        #[inline(always)]
        fn __decode_compact(input: &mut Decoder<'_>) -> Result<Self, Fail> {
            let count = count::decode(input)?;
            $from(count).ok_or(Fail::Value)
        }
    };
}

macro_rules! unsigned {
    ($number:ident $kind:ident) => {
        count_items!($kind, u64::from, |count| $number::try_from(count).ok());
    };
}

macro_rules! signed {
    ($number:ident $kind:ident) => {
        count_items!($kind, |number| zigzag(i64::from(number)), |count| {
            $number::try_from(unzigzag(count)).ok()
        });
    };
}

macro_rules! numbers {
    ($($number:ident $kind:ident $($form:ident)?;)*) => {$(
        impl pod::PodBlock for $number {}

        #[diagnostic::do_not_recommend]
        impl Persist for $number {
            const __LAYOUT: Layout = Layout::number::<Self>(size_of::<$number>()).pod();

            fixed_items!();
            $($form!($number $kind);)?

            fn persist_kind() -> Kind {
                Kind::$kind
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok(Self::default())
            }

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                put(head, self.to_le_bytes());
            }

            #[inline(always)]
            fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                match head.try_into() {
                    Ok(bytes) => Self::from_le_bytes(bytes),
                    Err(_) => {
                        *bad = true;
                        Self::default()
                    }
                }
            }

            #[inline(always)]
            fn __encode_slice(items: &[Self], out: &mut Encoder<'_>) -> Result<(), Stop> {
                pod::encode_slice(items, out)
            }
        }
    )*};
}

numbers! {
    u8 U8; u16 U16 unsigned; u32 U32 unsigned; u64 U64 unsigned; u128 U128;
    i8 I8; i16 I16 signed; i32 I32 signed; i64 I64 signed; i128 I128;
    f32 F32; f64 F64;
}

/// Refuses a number that the type does not have, such as 0 for a `NonZeroU8`.
#[cold]
fn not_one(number: &dyn Display, ty: &str, stored: &str, input: &mut Decoder<'_>) -> Fail {
    input.refuse(error!(
        ErrorKind::InvalidValue,
        "{number} is no {ty}; use another number, or for old saves keep {stored} as the type, or give the class a `version` and a `migrate` that puts another number there"
    ))
}

/// Expands to the impls of types that two functions convert to a number and back.
macro_rules! stored_as_number {
    ($($ty:ty, $number:ident, $prototype:expr, $to:expr, $from:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Persist for $ty {
            const __LAYOUT: Layout = Layout::number::<Self>($number::HEAD);

            fixed_items!(head, input => {
                crate::codec::persist::checked(head).map_err(|_| {
                    let found = $number::__decode_fixed(head, &mut false);
                    not_one(&found, stringify!($ty), stringify!($number), input)
                })
            });

            const __COMPACT: Option<usize> = $number::__COMPACT;

            fn __compact_kind() -> Kind {
                <$number as Persist>::__compact_kind()
            }

            #[inline]
            fn __encode_compact(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                let to: fn($ty) -> $number = $to;
                to(*self).__encode_compact(out)
            }

            #[inline]
            fn __decode_compact(input: &mut Decoder<'_>) -> Result<Self, Fail> {
                let from: fn($number) -> Option<$ty> = $from;
                let found = <$number as Persist>::__decode_compact(input)?;
                from(found).ok_or_else(|| {
                    not_one(&found, stringify!($ty), stringify!($number), input)
                })
            }

            fn persist_kind() -> Kind {
                <$number as Persist>::persist_kind()
            }

            fn persist_name() -> String {
                String::from(stringify!($ty))
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok($prototype)
            }

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                let to: fn($ty) -> $number = $to;
                to(*self).__encode_head(head);
            }

            #[inline(always)]
            fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                let from: fn($number) -> Option<$ty> = $from;
                from($number::__decode_fixed(head, bad)).unwrap_or_else(|| {
                    *bad = true;
                    $prototype
                })
            }
        }
    )*};
}

macro_rules! non_zero {
    ($($ty:ident $number:ident)*) => {
        stored_as_number! {$(
            $ty, $number, <$ty>::new(1).unwrap_or(<$ty>::MAX), <$ty>::get, <$ty>::new;
        )*}
    };
}

non_zero! {
    NonZeroU8 u8  NonZeroU16 u16  NonZeroU32 u32  NonZeroU64 u64  NonZeroU128 u128
    NonZeroI8 i8  NonZeroI16 i16  NonZeroI32 i32  NonZeroI64 i64  NonZeroI128 i128
    NonZeroUsize usize  NonZeroIsize isize
}

// A `usize` has at most 64 bits, so storing one never fails. A load checks it, since the machine may be a smaller one.
stored_as_number! {
    usize, u64, 0, |size| size as u64, |word| usize::try_from(word).ok();
    isize, i64, 0, |size| size as i64, |word| isize::try_from(word).ok();
    Ordering, i8, Ordering::Equal, |order| order as i8, |number| match number {
        -1 => Some(Ordering::Less),
        0 => Some(Ordering::Equal),
        1 => Some(Ordering::Greater),
        _ => None,
    };
}

#[diagnostic::do_not_recommend]
impl Persist for char {
    const __LAYOUT: Layout = Layout::number::<Self>(4);

    fixed_items!();

    fn persist_kind() -> Kind {
        Kind::Char
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok('\0')
    }

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        u32::from(*self).__encode_head(head);
    }

    #[inline(always)]
    fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
        char::from_u32(u32::__decode_fixed(head, bad)).unwrap_or_else(|| {
            *bad = true;
            '\0'
        })
    }
}

#[diagnostic::do_not_recommend]
impl Persist for bool {
    const __LAYOUT: Layout = Layout::number::<Self>(1);

    fixed_items!();

    fn persist_kind() -> Kind {
        Kind::Bool
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(false)
    }

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        head[0] = u8::from(*self);
    }

    #[inline(always)]
    fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
        *bad |= head[0] > 1;
        head[0] == 1
    }

    #[inline(always)]
    fn __encode_slice(items: &[Self], out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.bytes(bytemuck::cast_slice(items))
    }
}

#[diagnostic::do_not_recommend]
impl Persist for () {
    const __LAYOUT: Layout = Layout::number::<Self>(0);

    fixed_items!();

    fn persist_kind() -> Kind {
        Kind::Unit
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(())
    }

    #[inline(always)]
    fn __decode_fixed(_: &[u8], _: &mut bool) -> Self {}
}

impl<T: ?Sized + 'static> Persist for std::marker::PhantomData<T> {
    const __LAYOUT: Layout = Layout::number::<Self>(0);

    fixed_items!();

    fn persist_kind() -> Kind {
        Kind::Unit
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn __decode_fixed(_: &[u8], _: &mut bool) -> Self {
        Self
    }
}
