//! `fixed`: stored as the bits, in a class with the crate's short name of the type, such as `I16F16`. With another
//! number of fractional bits they would be another number, so each such type is a class of its own.

use std::any::Any;
use std::marker::PhantomData;

use fixed::types::extra::Unsigned;
use fixed::{
    FixedI8, FixedI16, FixedI32, FixedI64, FixedI128, FixedU8, FixedU16, FixedU32, FixedU64,
    FixedU128,
};

use crate::Result;
use crate::codec::type_set::FieldCodec;
use crate::codec::{
    Decoder, Fail, Generic, Layout, Persist, Pointee, Prototypes, Reflect, TypeSet,
};
use crate::reflect::class::Body;
use crate::reflect::{Class, FieldRecord, Kind, VariantRecord};
use crate::types::number::fixed_items;

/// Writes the short name of a type of `fixed`.
struct Name<T>(PhantomData<T>);

const fn name(signed: bool, integer: u32, fraction: u32) -> ([u8; 8], usize) {
    let mut name = [0; 8];
    let mut len = 0;
    let parts = [(if signed { b'I' } else { b'U' }, integer), (b'F', fraction)];
    let mut part = 0;
    while part < parts.len() {
        let (letter, bits) = parts[part];
        name[len] = letter;
        len += 1;
        let mut unit = if bits >= 100 {
            100
        } else if bits >= 10 {
            10
        } else {
            1
        };
        while unit > 0 {
            name[len] = b'0' + (bits / unit % 10) as u8;
            len += 1;
            unit /= 10;
        }
        part += 1;
    }
    (name, len)
}

const fn text((name, len): &([u8; 8], usize)) -> &str {
    match std::str::from_utf8(name.split_at(*len).0) {
        Ok(text) => text,
        Err(_) => panic!("letters and digits are UTF-8"),
    }
}

macro_rules! numbers {
    ($($name:ident $bits:ident)*) => {$(
        impl<Frac: Unsigned> Name<$name<Frac>> {
            const BYTES: ([u8; 8], usize) =
                name($bits::MIN != 0, $bits::BITS - Frac::U32, Frac::U32);
            const TEXT: &'static str = text(&Self::BYTES);
        }

        #[diagnostic::do_not_recommend]
        impl<Frac: Unsigned + 'static> Reflect for $name<Frac> {
            const CLASS: &'static Class =
                &Class::new::<Self>(Name::<$name<Frac>>::TEXT, Body::Struct(Self::FIELDS));
            const FIELDS: &'static [FieldRecord] =
                &[FieldRecord::new::<$bits>("bits", None, <$bits as Persist>::persist_kind)];
            const VARIANTS: &'static [VariantRecord] = &[];
            const __ROWS: &'static [&'static [FieldCodec]] = &[&[<$bits as Persist>::__FIELD.part()]];

            fn persist_field(&self, _: usize) -> Option<&dyn Any> {
                None
            }

            fn persist_field_mut(&mut self, _: usize) -> Option<&mut dyn Any> {
                None
            }
        }

        #[diagnostic::do_not_recommend]
        impl<Frac: Unsigned + 'static> Persist for $name<Frac> {
            const __LAYOUT: Layout = Layout::number::<Self>($bits::HEAD);

            fixed_items!();

            fn persist_kind() -> Kind {
                Kind::Class(|| Self::CLASS)
            }

            fn __reach(types: &mut TypeSet) {
                types.class::<Self>();
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok(Self::from_bits(0))
            }

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                self.to_bits().__encode_head(head);
            }

            #[inline(always)]
            fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                Self::from_bits(<$bits as Persist>::__decode_fixed(head, bad))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<Frac: Unsigned + 'static> Pointee for $name<Frac> {
            type As = Self;
        }
    )*};
}

numbers! {
    FixedI8 i8 FixedI16 i16 FixedI32 i32 FixedI64 i64 FixedI128 i128
    FixedU8 u8 FixedU16 u16 FixedU32 u32 FixedU64 u64 FixedU128 u128
}
