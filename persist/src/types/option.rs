//! `Option`: a byte, and the value after a 1.

use super::{compact_items, skipping_items, whole_items};
use crate::Result;
use crate::codec::compact::Compact;
use crate::codec::skip::Skipping;
use crate::codec::with::Same;
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Layout, Persist, Prototypes, Stop, TypeSet, Visitor, on_stack,
    out_of_line,
};
use crate::reflect::{Kind, TypeCode};

impl<T: Persist> Persist for Option<T> {
    const __LAYOUT: Layout = Layout {
        head: 1,
        leaf: T::LEAF,
        cost: 1 + T::PLACED_COST,
        on_stack: on_stack::<Self>(&[T::ON_STACK]),
        skips: true,
        ..Layout::new::<Self>()
    };
    const __CODE: &'static TypeCode = T::__CODE;

    whole_items!();
    skipping_items!(Option<Skipping<Same>>);

    fn persist_kind() -> Kind {
        Kind::Option(T::persist_kind)
    }

    fn persist_name() -> String {
        format!("Option<{}>", T::persist_name())
    }

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(None)
    }

    compact_items!(T::COMPACT, Option<Compact>);

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        head[0] = u8::from(self.is_some());
    }

    #[inline(always)]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match self {
            Some(value) => out.value(value),
            None => Ok(()),
        }
    }

    #[inline(never)]
    fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
        match head[0] {
            0 => Ok(Box::new(None)),
            // Only types of a pointer's size are nullable, so no large value becomes `None`.
            1 => input.boxed().map(|value| out_of_line(|| Box::new(Some(*value)))),
            _ => Err(Fail::Value),
        }
    }

    #[inline(always)]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        match head[0] {
            0 => Ok(None),
            1 => T::__decode_some(input),
            _ => Err(Fail::Value),
        }
    }

    #[inline(always)]
    fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        match (head[0], self) {
            (0, this) => *this = None,
            (1, Some(value)) if !T::NULLABLE => input.value_into(value)?,
            (1, this) => *this = T::__decode_some(input)?,
            _ => return Err(Fail::Value),
        }
        Ok(())
    }

    #[inline]
    fn __keep_skipped(&mut self, old: &mut Self) {
        if let (Some(new), Some(old), false) = (self, old, T::NULLABLE) {
            new.__keep_skipped(old);
        }
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        match self {
            Some(value) if !T::LEAF => value.__visit(visitor),
            _ => Ok(()),
        }
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        match self {
            Some(value) if !T::LEAF => value.__visit_shared(visitor),
            _ => Ok(()),
        }
    }
}
