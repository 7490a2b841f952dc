//! Tuples of up to twelve: the parts one after the other.

use super::number::fixed;
use crate::Result;
use crate::codec::layout::{cut, cut_mut};
use crate::codec::{
    Decoder, Encoder, Fail, FieldNames, FieldStep, Order, Persist, Prototypes, Stop, TypeSet,
    Visitor,
};
use crate::reflect::Kind;

macro_rules! tuples {
    ($(($($part:ident $index:tt),+))*) => {$(
        impl<$($part),+> FieldNames for ($($part,)+) {
            const STEPS: &'static [(&'static str, FieldStep)] =
                &[$((stringify!($index), FieldStep::Name(stringify!($index)))),+];
        }

        impl<$($part: Persist),+> Persist for ($($part,)+) {
            const HEAD: usize = if Self::FIXED { 0 $(+ $part::HEAD)+ } else { 0 };
            const FIXED: bool = true $(&& $part::FIXED)+;
            const MIN: usize = 0 $(+ $part::MIN)+;
            const LEAF: bool = true $(&& $part::LEAF)+;

            fn kind() -> Kind {
                Kind::Tuple(const { &[$($part::kind as fn() -> Kind),+] })
            }

            fn name() -> String {
                let names = [$($part::name()),+];
                let comma = if names.len() == 1 { "," } else { "" };
                format!("({}{comma})", names.join(", "))
            }

            fn reach(types: &mut TypeSet) {
                $($part::reach(types);)+
            }

            fn prototype(prototypes: &Prototypes<'_>) -> Result<Self> {
                Ok(($($part::prototype(prototypes)?,)+))
            }

            #[inline(always)]
            fn encode_head(&self, head: &mut [u8]) {
                if Self::FIXED {
                    let mut head = head;
                    $(self.$index.encode_head(cut_mut(&mut head, $part::HEAD));)+
                }
            }

            #[inline(always)]
            fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                if !Self::FIXED {
                    $(out.value(&self.$index)?;)+
                }
                Ok(())
            }

            #[inline(always)]
            fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                if Self::FIXED {
                    return fixed(head);
                }
                Ok(($(input.value::<$part>()?,)+))
            }

            #[inline(always)]
            fn decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                let mut head = head;
                ($($part::decode_fixed(cut(&mut head, $part::HEAD), bad),)+)
            }

            #[inline]
            fn decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
                if Self::FIXED {
                    *self = fixed(head)?;
                } else {
                    $(input.value_into(&mut self.$index)?;)+
                }
                Ok(())
            }

            fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
                if order.is_same() {
                    return input.value();
                }
                Ok(($($part::decode_ordered(order.part($index)?, input)?,)+))
            }

            fn decode_ordered_into(
                &mut self,
                order: Order<'_>,
                input: &mut Decoder<'_>,
            ) -> Result<(), Fail> {
                if order.is_same() {
                    return input.value_into(self);
                }
                $(self.$index.decode_ordered_into(order.part($index)?, input)?;)+
                Ok(())
            }

            fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                $(if !$part::LEAF {
                    self.$index.visit(visitor).map_err(|error| error.in_field(stringify!($index)))?;
                })+
                Ok(())
            }

            fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                $(if !$part::LEAF {
                    self.$index
                        .visit_shared(visitor)
                        .map_err(|error| error.in_field(stringify!($index)))?;
                })+
                Ok(())
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}
