//! Tuples of up to twelve: the parts one after the other.

use super::{compact_items, whole_items};
use crate::Result;
use crate::codec::persist::{Inline, checked};
use crate::codec::row::{cut, cut_mut};
use crate::codec::{
    Decoder, Encoder, Fail, FieldNames, FieldStep, Persist, Prototypes, Stop, TypeSet, Visitor,
    on_stack, out_of_line,
};
use crate::reflect::{Kind, TypeCode};

macro_rules! tuples {
    ($(($($part:ident $index:tt),+))*) => {$(
        impl<$($part),+> FieldNames for ($($part,)+) {
            const STEPS: &'static [(&'static str, FieldStep)] =
                &[$((stringify!($index), FieldStep::Name(stringify!($index)))),+];
        }

        #[diagnostic::do_not_recommend]
        impl<$($part: Persist),+> Persist for ($($part,)+) {
            const __HEAD: usize = if Self::__FIXED { 0 $(+ $part::__HEAD)+ } else { 0 };
            const __FIXED: bool = true $(&& Inline::<$part>::FIXED)+;
            const __MIN: usize = 0 $(+ $part::__MIN)+;
            const __LEAF: bool = true $(&& $part::__LEAF)+;
            const __CODE: &'static TypeCode = &TypeCode::Parts(&[$($part::__CODE),+]);
            const __COST: usize = 1 $(+ Inline::<$part>::COST)+;
            const __ON_STACK: usize = on_stack::<Self>(&[$($part::__ON_STACK),+]);

            whole_items!();

            fn persist_kind() -> Kind {
                Kind::Tuple(const { &[$($part::persist_kind as fn() -> Kind),+] })
            }

            fn persist_name() -> String {
                let names = [$($part::persist_name()),+];
                let comma = if names.len() == 1 { "," } else { "" };
                format!("({}{comma})", names.join(", "))
            }

            fn __reach(types: &mut TypeSet) {
                $($part::__reach(types);)+
            }

            fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
                Ok(($($part::persist_empty(prototypes)?,)+))
            }

            const __COMPACT_MIN: usize = 0 $(+ $part::__COMPACT_MIN)+;

            compact_items!(false $(|| $part::__COMPACT)+,
                Kind::Tuple(const { &[$($part::__compact_kind as fn() -> Kind),+] });
            this, out => {
                $(this.$index.__encode_compact(out)?;)+
                Ok(())
            };
            input => Ok(($($part::__decode_compact(input)?,)+)));

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                if Self::__FIXED {
                    let mut head = head;
                    $(self.$index.__encode_head(cut_mut(&mut head, $part::__HEAD));)+
                }
            }

            #[inline(always)]
            fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                if !Self::__FIXED {
                    $(out.value(&self.$index)?;)+
                }
                Ok(())
            }

            #[inline(always)]
            fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                if Self::__FIXED {
                    return checked(head).or_else(|_| {
                        // Read one by one, the parts give the reason.
                        let mut head = head;
                        Ok(($(input.tail::<$part>(cut(&mut head, $part::__HEAD))?,)+))
                    });
                }
                Ok(($(input.value::<$part>()?,)+))
            }

            #[inline(never)]
            fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
                let parts = if Self::__FIXED {
                    let mut head = head;
                    ($(input.tail_boxed::<$part>(cut(&mut head, $part::__HEAD))?,)+)
                } else {
                    ($(input.boxed::<$part>()?,)+)
                };
                Ok(out_of_line(|| Box::new(($(*parts.$index,)+))))
            }

            #[inline(always)]
            fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                let mut head = head;
                ($($part::__decode_fixed(cut(&mut head, $part::__HEAD), bad),)+)
            }

            #[inline]
            fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
                if Self::__FIXED {
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
                $(self.$index.__visit_field(stringify!($index), visitor)?;)+
                Ok(())
            }

            fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                $(self.$index.__visit_field_shared(stringify!($index), visitor)?;)+
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
