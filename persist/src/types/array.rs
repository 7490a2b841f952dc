//! Arrays of any length: the elements, without a count.

use crate::codec::{Decoder, Encoder, Fail, Order, Persist, Prototypes, Stop, TypeSet, Visitor};
use crate::reflect::Kind;
use crate::{Error, ErrorKind, Result};

/// Bytes of an array that is made on the stack twice over.
const SMALL: usize = 4096;

#[cold]
fn incomplete() -> Error {
    Error::new(ErrorKind::Unsupported, "an element has no empty value")
}

impl<T: Persist, const N: usize> Persist for [T; N] {
    const HEAD: usize = if T::FIXED { N * T::HEAD } else { 0 };
    const FIXED: bool = T::FIXED;
    const MIN: usize = N * T::MIN;
    const LEAF: bool = T::LEAF;

    fn kind() -> Kind {
        Kind::Array(T::kind, N)
    }

    fn name() -> String {
        format!("[{}; {N}]", T::name())
    }

    fn reach(types: &mut TypeSet) {
        T::reach(types);
    }

    fn prototype(prototypes: &Prototypes<'_>) -> Result<Self> {
        if size_of::<Self>() > SMALL {
            let items: Result<Vec<T>> = (0..N).map(|_| T::prototype(prototypes)).collect();
            return items?.try_into().map_err(|_| incomplete());
        }
        let items: [Option<T>; N] = std::array::from_fn(|_| T::prototype(prototypes).ok());
        match items.iter().position(Option::is_none) {
            // The same once more, for the reason.
            Some(_) => Err(T::prototype(prototypes).err().unwrap_or_else(incomplete)),
            None => Ok(items.map(|item| item.unwrap_or_else(|| unreachable!("all are there")))),
        }
    }

    #[inline(always)]
    fn encode_head(&self, head: &mut [u8]) {
        if T::FIXED && T::HEAD > 0 {
            for (item, head) in self.iter().zip(head.chunks_exact_mut(T::HEAD)) {
                item.encode_head(head);
            }
        }
    }

    #[inline]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        if T::FIXED { Ok(()) } else { T::encode_slice(self, out) }
    }

    #[inline(always)]
    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        if T::FIXED {
            return super::number::fixed(head);
        }
        // The elements are whole or the list is not returned.
        T::decode_list(N, input)?.try_into().map_err(|_| Fail::Count)
    }

    #[inline(always)]
    fn decode_fixed(head: &[u8], bad: &mut bool) -> Self {
        let mut rest = head;
        std::array::from_fn(|_| {
            let (item, after) = rest.split_at(T::HEAD);
            rest = after;
            T::decode_fixed(item, bad)
        })
    }

    #[inline]
    fn decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        if T::FIXED {
            *self = super::number::fixed(head)?;
            return Ok(());
        }
        self.iter_mut().try_for_each(|item| input.value_into(item))
    }

    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        if order.is_same() {
            return input.value();
        }
        let order = order.each()?;
        let mut items = Vec::new();
        items.try_reserve_exact(N).map_err(|_| Fail::Limit)?;
        for _ in 0..N {
            items.push(T::decode_ordered(order, input)?);
        }
        items.try_into().map_err(|_| Fail::Count)
    }

    fn decode_ordered_into(
        &mut self,
        order: Order<'_>,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        if order.is_same() {
            return input.value_into(self);
        }
        let order = order.each()?;
        self.iter_mut().try_for_each(|item| item.decode_ordered_into(order, input))
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        super::sequence::visit_each(self, visitor)
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        super::sequence::visit_each_shared(self, visitor)
    }
}
