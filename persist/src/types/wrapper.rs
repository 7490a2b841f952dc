//! Thin wrappers, stored as what they hold.

use std::cmp::Reverse;
use std::num::{Saturating, Wrapping};

use crate::Result;
use crate::codec::{
    Decoder, Encoder, Fail, FieldNames, FieldStep, Order, Persist, Prototypes, Stop, TypeSet,
    Visitor,
};
use crate::reflect::Kind;

macro_rules! wrappers {
    ($($wrapper:ident)*) => {$(
        impl<T> FieldNames for $wrapper<T> {
            const STEPS: &'static [(&'static str, FieldStep)] = &[("0", FieldStep::Here)];
        }

        impl<T: Persist> Persist for $wrapper<T> {
            const HEAD: usize = T::HEAD;
            const FIXED: bool = T::FIXED;
            const MIN: usize = T::MIN;
            const LEAF: bool = T::LEAF;

            fn kind() -> Kind {
                T::kind()
            }

            fn name() -> String {
                format!(concat!(stringify!($wrapper), "<{}>"), T::name())
            }

            fn reach(types: &mut TypeSet) {
                T::reach(types);
            }

            fn prototype(prototypes: &Prototypes<'_>) -> Result<Self> {
                T::prototype(prototypes).map(Self)
            }

            #[inline(always)]
            fn encode_head(&self, head: &mut [u8]) {
                self.0.encode_head(head);
            }

            #[inline(always)]
            fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                self.0.encode_tail(out)
            }

            #[inline(always)]
            fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                T::decode(head, input).map(Self)
            }

            #[inline(always)]
            fn decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                Self(T::decode_fixed(head, bad))
            }

            #[inline]
            fn decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
                self.0.decode_into(head, input)
            }

            #[inline]
            fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
                T::decode_ordered(order, input).map(Self)
            }

            #[inline]
            fn decode_ordered_into(
                &mut self,
                order: Order<'_>,
                input: &mut Decoder<'_>,
            ) -> Result<(), Fail> {
                self.0.decode_ordered_into(order, input)
            }

            fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                self.0.visit(visitor)
            }

            fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                self.0.visit_shared(visitor)
            }
        }
    )*};
}

wrappers! { Wrapping Saturating Reverse }
