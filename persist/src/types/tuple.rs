//! Tuples of up to twelve: the parts one after the other.

use super::{compact_items, whole_items};
use crate::Result;
use crate::codec::compact::Compact;
use crate::codec::persist::checked;
use crate::codec::row::{cut, cut_mut};
use crate::codec::with::{Adapter, Lift};
use crate::codec::{
    Decoder, Encoder, Fail, FieldNames, FieldStep, Generic, Layout, Persist, Prototypes, Stop,
    TypeSet, Visitor, on_stack, out_of_line,
};
use crate::reflect::{Kind, TypeCode};

/// Returns the name of a tuple of parts with these names.
fn named(names: &[String]) -> String {
    let comma = if names.len() == 1 { "," } else { "" };
    format!("({}{comma})", names.join(", "))
}

/// Expands to `Compact`, for a part.
macro_rules! compact {
    ($part:ident) => {
        Compact
    };
}

macro_rules! tuples {
    ($(($($part:ident $adapter:ident $index:tt),+))*) => {$(
        impl<$($part),+> FieldNames for ($($part,)+) {
            const STEPS: &'static [(&'static str, FieldStep)] =
                &[$((stringify!($index), FieldStep::Name(stringify!($index)))),+];
        }

        #[diagnostic::do_not_recommend]
        impl<$($part: Persist),+> Persist for ($($part,)+) {
            const __LAYOUT: Layout = {
                let fixed = true $(&& $part::PLACED_FIXED)+;
                Layout {
                    head: if fixed { 0 $(+ $part::HEAD)+ } else { 0 },
                    fixed,
                    min: 0 $(+ $part::MIN)+,
                    leaf: true $(&& $part::LEAF)+,
                    cost: 1 $(+ $part::PLACED_COST)+,
                    on_stack: on_stack::<Self>(&[$($part::ON_STACK),+]),
                    ..Layout::new::<Self>()
                }
            };
            const __CODE: &'static TypeCode = &TypeCode::Parts(&[$($part::__CODE),+]);

            whole_items!();

            fn persist_kind() -> Kind {
                Kind::Tuple(const { &[$($part::persist_kind as fn() -> Kind),+] })
            }

            fn persist_name() -> String {
                named(&[$($part::persist_name()),+])
            }

            fn __reach(types: &mut TypeSet) {
                $($part::__reach(types);)+
            }

            fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
                Ok(($($part::persist_empty(prototypes)?,)+))
            }

            compact_items!(false $(|| $part::COMPACT)+, ($(compact!($part),)+));

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                if Self::FIXED {
                    let mut head = head;
                    $(self.$index.__encode_head(cut_mut(&mut head, $part::HEAD));)+
                }
            }

            #[inline(always)]
            fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                if !Self::FIXED {
                    $(out.value(&self.$index)?;)+
                }
                Ok(())
            }

            #[inline(always)]
            fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                if Self::FIXED {
                    return checked(head).or_else(|_| {
                        // Read one by one, the parts give the reason.
                        let mut head = head;
                        Ok(($(input.tail::<$part>(cut(&mut head, $part::HEAD))?,)+))
                    });
                }
                Ok(($(input.value::<$part>()?,)+))
            }

            #[inline(never)]
            fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
                let parts = if Self::FIXED {
                    let mut head = head;
                    ($(input.tail_boxed::<$part>(cut(&mut head, $part::HEAD))?,)+)
                } else {
                    ($(input.boxed::<$part>()?,)+)
                };
                Ok(out_of_line(|| Box::new(($(*parts.$index,)+))))
            }

            #[inline(always)]
            fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                let mut head = head;
                ($($part::__decode_fixed(cut(&mut head, $part::HEAD), bad),)+)
            }

            #[inline]
            fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
                if Self::FIXED {
                    *self = Self::__decode(head, input)?;
                } else {
                    $(input.value_into(&mut self.$index)?;)+
                }
                Ok(())
            }

            #[inline]
            fn __keep_skipped(&mut self, old: &mut Self) {
                $(self.$index.__keep_skipped(&mut old.$index);)+
            }

            fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                $($part::__FIELD.visit(&mut self.$index, stringify!($index), visitor)?;)+
                Ok(())
            }

            fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                $($part::__FIELD.visit_shared(&self.$index, stringify!($index), visitor)?;)+
                Ok(())
            }
        }

        tuples!(@lifts ($($part $adapter),+) $($part $index),+);

        impl<$($part: 'static, $adapter: Adapter<$part>),+> Adapter<($($part,)+)> for ($($adapter,)+) {
            const MIN: usize = 0 $(+ $adapter::MIN)+;
            const SKIPS: bool = false $(|| $adapter::SKIPS)+;
            const IS_ADAPTER: bool = false $(|| $adapter::IS_ADAPTER)+;

            fn kind() -> Kind {
                Kind::Tuple(const { &[$($adapter::kind as fn() -> Kind),+] })
            }

            fn name() -> String {
                named(&[$($adapter::name()),+])
            }

            fn reach(types: &mut TypeSet) {
                $($adapter::reach(types);)+
            }

            fn module() -> Option<&'static str> {
                None$(.or_else($adapter::module))+
            }

            #[inline]
            fn encode(value: &($($part,)+), out: &mut Encoder<'_>) -> Result<(), Stop> {
                $($adapter::encode(&value.$index, out)?;)+
                Ok(())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_>) -> Result<($($part,)+), Fail> {
                Ok(($($adapter::decode(input)?,)+))
            }

            #[inline]
            fn decode_into(
                target: &mut ($($part,)+),
                input: &mut Decoder<'_>,
            ) -> Result<(), Fail> {
                $($adapter::decode_into(&mut target.$index, input)?;)+
                Ok(())
            }
        }
    )*};
    (@lifts $all:tt $($part:ident $n:tt),+) => {
        $(tuples!(@lift $all $part $n);)+
    };
    (@lift ($($part:ident $adapter:ident),+) $own:ident $n:tt) => {
        impl<$($part, $adapter),+> Lift<($($part,)+), $n> for ($($adapter,)+) {
            type Part = $own;
        }
    };
}

tuples! {
    (A Aa 0)
    (A Aa 0, B Ba 1)
    (A Aa 0, B Ba 1, C Ca 2)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5, G Ga 6)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5, G Ga 6, H Ha 7)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5, G Ga 6, H Ha 7, I Ia 8)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5, G Ga 6, H Ha 7, I Ia 8, J Ja 9)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5, G Ga 6, H Ha 7, I Ia 8, J Ja 9, K Ka 10)
    (A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5, G Ga 6, H Ha 7, I Ia 8, J Ja 9, K Ka 10, L La 11)
}
