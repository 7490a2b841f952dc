//! `Option`: a byte, and the value behind a 1.

use crate::Result;
use crate::codec::{Decoder, Encoder, Fail, Order, Persist, Prototypes, Stop, TypeSet, Visitor};
use crate::reflect::Kind;

impl<T: Persist> Persist for Option<T> {
    const HEAD: usize = 1;
    const LEAF: bool = T::LEAF;

    fn kind() -> Kind {
        Kind::Option(T::kind)
    }

    fn name() -> String {
        format!("Option<{}>", T::name())
    }

    fn reach(types: &mut TypeSet) {
        T::reach(types);
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(None)
    }

    #[inline(always)]
    fn encode_head(&self, head: &mut [u8]) {
        head[0] = u8::from(self.is_some());
    }

    #[inline(always)]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match self {
            Some(value) => out.value(value),
            None => Ok(()),
        }
    }

    #[inline(always)]
    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        match head[0] {
            0 => Ok(None),
            1 => T::decode_some(input),
            _ => Err(Fail::Value),
        }
    }

    #[inline(always)]
    fn decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        match (head[0], self) {
            (0, this) => *this = None,
            (1, Some(value)) if !T::NULLABLE => input.value_into(value)?,
            (1, this) => *this = T::decode_some(input)?,
            _ => return Err(Fail::Value),
        }
        Ok(())
    }

    #[inline]
    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        if order.is_same() {
            return input.value();
        }
        let some = input.value::<bool>()?;
        some.then(|| T::decode_ordered(order.each()?, input)).transpose()
    }

    #[inline]
    fn decode_ordered_into(
        &mut self,
        order: Order<'_>,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        match self {
            Some(value) if !order.is_same() => {
                if input.value::<bool>()? {
                    return value.decode_ordered_into(order.each()?, input);
                }
                *self = None;
            }
            _ => *self = Self::decode_ordered(order, input)?,
        }
        Ok(())
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        match self {
            Some(value) if !T::LEAF => value.visit(visitor),
            _ => Ok(()),
        }
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        match self {
            Some(value) if !T::LEAF => value.visit_shared(visitor),
            _ => Ok(()),
        }
    }
}
