//! Sequences: a count, then the elements.

use std::collections::{BinaryHeap, VecDeque};

use super::counted_items;
use crate::Result;
use crate::codec::{
    Decoder, Encoder, Fail, Order, Persist, Prototypes, Stop, TypeSet, Visitor, count,
};
use crate::reflect::Kind;

/// Writes what follows the head of a sequence.
#[inline(always)]
fn encode_tail<T: Persist>(
    len: usize,
    out: &mut Encoder<'_>,
    elements: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    count::encode_tail(len as u64, out)?;
    out.count_empty::<T>(len);
    if T::LEAF {
        return elements(out);
    }
    out.filled::<T>(len, |out| out.nested_in::<T>(elements))
}

/// Writes a sequence whole.
pub(super) fn encode<T: Persist>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    out.take(1)?[0] = count::head(items.len() as u64);
    encode_tail::<T>(items.len(), out, |out| T::encode_slice(items, out))
}

#[inline(always)]
fn decode_vec<T: Persist>(head: &[u8], input: &mut Decoder<'_>) -> Result<Vec<T>, Fail> {
    let count = input.elements::<T>(head)?;
    if T::LEAF {
        T::decode_list(count, input)
    } else {
        input.nested_in::<T, _>(|input| T::decode_list(count, input))
    }
}

/// Visits the elements, each named by its index in an error.
pub(super) fn visit_each<'t, T: Persist>(
    items: impl IntoIterator<Item = &'t mut T>,
    visitor: &mut Visitor<'_>,
) -> Result<()> {
    if T::LEAF {
        return Ok(());
    }
    visitor.nested(|visitor| {
        for (i, item) in items.into_iter().enumerate() {
            item.visit(visitor).map_err(|error| error.in_field(&format!("[{i}]")))?;
        }
        Ok(())
    })
}

/// The same, through shared pointers.
pub(super) fn visit_each_shared<'t, T: Persist>(
    items: impl IntoIterator<Item = &'t T>,
    visitor: &mut Visitor<'_>,
) -> Result<()> {
    if T::LEAF {
        return Ok(());
    }
    visitor.nested(|visitor| {
        for (i, item) in items.into_iter().enumerate() {
            item.visit_shared(visitor).map_err(|error| error.in_field(&format!("[{i}]")))?;
        }
        Ok(())
    })
}

impl<T: Persist> Persist for Vec<T> {
    counted_items!(Kind::List(T::kind), "Vec<{}>", T::name());

    fn reach(types: &mut TypeSet) {
        T::reach(types);
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Vec::new())
    }

    #[inline(always)]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_tail::<T>(self.len(), out, |out| T::encode_slice(self, out))
    }

    #[inline(always)]
    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input)
    }

    #[inline]
    fn decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        if self.capacity() == 0 {
            *self = decode_vec(head, input)?;
            return Ok(());
        }
        let count = input.elements::<T>(head)?;
        if T::FIXED && T::HEAD > 0 {
            let segment = input.take(count.checked_mul(T::HEAD).ok_or(Fail::End)?)?;
            let mut bad = false;
            self.clear();
            self.extend(segment.chunks_exact(T::HEAD).map(|head| T::decode_fixed(head, &mut bad)));
            return if bad { Err(Fail::Value) } else { Ok(()) };
        }
        let mut elements = |input: &mut Decoder<'_>| {
            self.truncate(count);
            for item in self.iter_mut() {
                input.value_into(item)?;
            }
            self.try_reserve(count - self.len()).map_err(|_| Fail::Limit)?;
            while self.len() < count {
                self.push(input.value()?);
            }
            Ok(())
        };
        if T::LEAF { elements(input) } else { input.nested_in::<T, _>(elements) }
    }

    #[inline]
    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let mut items = Vec::new();
        items.decode_ordered_into(order, input)?;
        Ok(items)
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
        let head = input.take(1)?;
        let count = input.elements::<T>(head)?;
        let mut elements = |input: &mut Decoder<'_>| {
            self.truncate(count);
            for item in self.iter_mut() {
                item.decode_ordered_into(order, input)?;
            }
            self.try_reserve_exact(count - self.len()).map_err(|_| Fail::Limit)?;
            while self.len() < count {
                // Never so; the compiler builds the item where it belongs.
                if self.len() == self.capacity() {
                    return Err(Fail::Count);
                }
                self.push(T::decode_ordered(order, input)?);
            }
            Ok(())
        };
        if T::LEAF { elements(input) } else { input.nested_in::<T, _>(elements) }
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self, visitor)
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self, visitor)
    }
}

impl<T: Persist> Persist for Box<[T]> {
    counted_items!(Kind::List(T::kind), "Box<[{}]>", T::name());

    fn reach(types: &mut TypeSet) {
        T::reach(types);
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Box::new([]))
    }

    #[inline]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_tail::<T>(self.len(), out, |out| T::encode_slice(self, out))
    }

    #[inline]
    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Vec::into_boxed_slice)
    }

    #[inline]
    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Vec::decode_ordered(order, input).map(Self::from)
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self.iter_mut(), visitor)
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self.iter(), visitor)
    }
}

impl<T: Persist> Persist for VecDeque<T> {
    counted_items!(Kind::List(T::kind), "VecDeque<{}>", T::name());

    fn reach(types: &mut TypeSet) {
        T::reach(types);
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(VecDeque::new())
    }

    #[inline]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let (front, back) = self.as_slices();
        encode_tail::<T>(self.len(), out, |out| {
            T::encode_slice(front, out)?;
            T::encode_slice(back, out)
        })
    }

    #[inline]
    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Self::from)
    }

    #[inline]
    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Vec::decode_ordered(order, input).map(Self::from)
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self, visitor)
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self, visitor)
    }
}

/// Stored in ascending order, so that equal heaps have equal bytes whatever
/// their history; elements that compare equal keep their order in the heap.
impl<T: Persist + Ord> Persist for BinaryHeap<T> {
    counted_items!(Kind::List(T::kind), "BinaryHeap<{}>", T::name());

    fn reach(types: &mut TypeSet) {
        T::reach(types);
        types.unvisited("a `BinaryHeap`", T::kind, T::name);
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(BinaryHeap::new())
    }

    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let mut items: Vec<&T> = self.iter().collect();
        items.sort();
        encode_tail::<T>(items.len(), out, |out| items.iter().try_for_each(|item| out.value(*item)))
    }

    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Self::from)
    }
}
