//! `Option`: a byte, and the value behind a 1.

use crate::Result;
use crate::codec::{Decoder, Encoder, Fail, Persist, Stop, TypeSet, Visitor};
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

    fn prototype() -> Self {
        None
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
            1 => input.value().map(Some),
            _ => Err(Fail::Value),
        }
    }

    #[inline(always)]
    fn decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        match (head[0], self) {
            (0, this) => *this = None,
            (1, Some(value)) => input.value_into(value)?,
            (1, this) => *this = Some(input.value()?),
            _ => return Err(Fail::Value),
        }
        Ok(())
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        match self {
            Some(value) if !T::LEAF => value.visit(visitor),
            _ => Ok(()),
        }
    }
}
