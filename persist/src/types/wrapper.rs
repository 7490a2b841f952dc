//! Thin wrappers, stored as their content.

use std::cmp::Reverse;
use std::num::{Saturating, Wrapping};

use super::{compact_items, whole_items};
use crate::Result;
use crate::codec::{
    Decoder, Encoder, Fail, FieldNames, FieldStep, Layout, Persist, Prototypes, Stop, TypeSet,
    Visitor, out_of_line,
};
use crate::reflect::{Kind, TypeCode};

macro_rules! wrappers {
    ($($wrapper:ident)*) => {$(
        impl<T> FieldNames for $wrapper<T> {
            const STEPS: &'static [(&'static str, FieldStep)] = &[("0", FieldStep::Here)];
        }

        impl<T: Persist> Persist for $wrapper<T> {
            const __LAYOUT: Layout = T::__LAYOUT.wrapped::<Self>();
            const __CODE: &'static TypeCode = T::__CODE;

            whole_items!();

            fn persist_kind() -> Kind {
                T::persist_kind()
            }

            fn persist_name() -> String {
                format!(concat!(stringify!($wrapper), "<{}>"), T::persist_name())
            }

            fn __reach(types: &mut TypeSet) {
                T::__reach(types);
            }

            fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
                T::persist_empty(prototypes).map(Self)
            }

            compact_items!(min: T::__COMPACT, T::__compact_kind();
                this, out => this.0.__encode_compact(out);
                input => T::__decode_compact(input).map(Self));

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                self.0.__encode_head(head);
            }

            #[inline(always)]
            fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                self.0.__encode_tail(out)
            }

            #[inline(always)]
            fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                T::__decode(head, input).map(Self)
            }

            fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
                T::__decode_boxed(head, input).map(|value| out_of_line(|| Box::new(Self(*value))))
            }

            #[inline(always)]
            fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                Self(T::__decode_fixed(head, bad))
            }

            #[inline]
            fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
                self.0.__decode_into(head, input)
            }

            #[inline]
            fn __keep_skipped(&mut self, old: &mut Self) {
                self.0.__keep_skipped(&mut old.0);
            }

            fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                self.0.__visit(visitor)
            }

            fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                self.0.__visit_shared(visitor)
            }
        }
    )*};
}

wrappers! { Wrapping Saturating Reverse }
