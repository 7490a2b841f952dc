//! Thin wrappers, stored as what they hold.

use std::cmp::Reverse;
use std::num::{Saturating, Wrapping};

use crate::Result;
use crate::codec::{Decoder, Encoder, Fail, Persist, Stop, TypeSet, Visitor};
use crate::reflect::Kind;

macro_rules! wrappers {
    ($($wrapper:ident)*) => {$(
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

            fn prototype() -> Self {
                Self(T::prototype())
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

            fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                self.0.visit(visitor)
            }
        }
    )*};
}

wrappers! { Wrapping Saturating Reverse }

/// A box is a level of nesting; its consts do not look inside, so that a type
/// may box itself.
impl<T: Persist> Persist for Box<T> {
    // A type without size has no bytes; of others, a list checks it when it is
    // saved.
    const MIN: usize = if size_of::<T>() == 0 { 0 } else { 1 };
    const LEAF: bool = false;

    fn kind() -> Kind {
        T::kind()
    }

    fn name() -> String {
        format!("Box<{}>", T::name())
    }

    fn reach(types: &mut TypeSet) {
        T::reach(types);
    }

    fn prototype() -> Self {
        Box::new(T::prototype())
    }

    #[inline]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.nested_in::<T>(|out| out.value(&**self))
    }

    #[inline]
    fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.nested_in::<T, _>(|input| input.value().map(Box::new))
    }

    #[inline]
    fn decode_into(&mut self, _: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.nested_in::<T, _>(|input| input.value_into(&mut **self))
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        if T::LEAF { Ok(()) } else { visitor.nested(|visitor| (**self).visit(visitor)) }
    }
}
